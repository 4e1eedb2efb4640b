//! `perbuck demo`: the whole pipeline on an embedded database, in half a minute or less.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use perbuck_console::{Display, TRIAL_STOPS, print, print_styled, stop_on_signal};
use perbuck_lab::progress::Progress;
use perbuck_lab::registry::Registry;
use perbuck_lab::results::Basis;
use perbuck_lab::run::RunOptions;
use perbuck_lab::{ErrorKind, LabError, inputs, report, results, run};

use super::screen;
use crate::args::DemoArguments;

/// The demo is a study like any other; `{folder}` stands for the folder of this demo.
const STUDY: &str = include_str!("../../reference/demo.toml");

pub(crate) fn run(arguments: &DemoArguments) -> Result<(), LabError> {
    let folder = folder(arguments)?;
    let databases = folder.join("databases");
    fs::create_dir_all(&databases).map_err(|e| LabError::file("make the folder", &databases, &e))?;
    let text = STUDY.replace("sqlite:perbuck-demo/", &format!("sqlite:{}/", databases.display()));
    let inputs = inputs::check("the demo's study", text, None, Registry::default()).map_err(|p| LabError::problems(&p))?;
    let stop = stop_on_signal(TRIAL_STOPS)?;
    let mut display = Display::default();
    display.line(
        "SQLite with full and with relaxed durability, sysbench and TPC-C: half a minute or less, and about 0.7 GB on disk",
    );
    let options = RunOptions { results: folder.clone(), ..RunOptions::default() };
    let done = run::study(&inputs, &options, &mut display, &stop);
    drop(display);
    // The databases are a few hundred megabytes and of no use after the demo; the records stay.
    fs::remove_dir_all(&databases).map_err(|e| LabError::file("remove", &databases, &e))?;
    let root = done?;
    let results = results::read(&root, &Basis::default())?;
    print_styled(&perbuck_report::text::verdicts(&results.study, &results.comparison, screen()))?;
    let html = report::write_for(&root)?;
    print(&format!("\nReport: {}\n", absolute(&html).display()))
}

/// The folder of this demo: as asked, or a new one named by the time in the current folder.
fn folder(arguments: &DemoArguments) -> Result<PathBuf, LabError> {
    let wanted = match &arguments.out {
        Some(out) => out.clone(),
        None => {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
            Path::new("perbuck-demo").join(now.to_string())
        }
    };
    if wanted.exists() {
        let message = format!("{} exists already", wanted.display());
        return Err(LabError::new(ErrorKind::Refused, message, "name a folder that does not exist, or remove that one"));
    }
    Ok(wanted)
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
