//! `prepare --output-type csv`: the rows as files for bulk importers, with no database in sight.

use std::path::Path;
use std::time::Instant;

use perbuck_load::workload::Dataset;
use perbuck_workloads::tpcc::{Options, TpccData};

use super::settings::Settings;
use crate::flags::Given;
use crate::refused::{End, Refused};
use crate::run::Run;
use perbuck_console::{Display, print, stop_on_signal};
use perbuck_lab::csv::study::{end_text, show_files, table_text};
use perbuck_lab::csv::{self, CsvRequest};
use perbuck_lab::stage;

pub(super) fn asked(given: &Given) -> Result<bool, Refused> {
    match given.text("output-type") {
        "" => match ["output-dir", "tables"].into_iter().find(|name| given.has(name)) {
            Some(name) => Err(Refused::usage(format!("--{name} is given without --output-type"), "add --output-type csv")),
            None => Ok(false),
        },
        "csv" | "CSV" if given.text("output-dir").is_empty() => {
            Err(Refused::usage("--output-type csv is given without --output-dir", "name a folder with --output-dir"))
        }
        "csv" | "CSV" => Ok(true),
        _ => Err(given.invalid("output-type", "use csv, or leave it out to load the tables directly")),
    }
}

/// Writes them: as many files for each table as there are threads, as go-tpc does.
pub(super) fn write(given: &Given, settings: &Settings, options: &Options, run: &Run<'_>) -> Result<(), End> {
    let (Some(server), Some(words)) = (run.target.server(), run.target.dialect().csv()) else {
        let help = "name the database for the files with -d mysql or -d postgres, and --db";
        return Err(Refused::usage("--output-type: SQLite and TiKV cannot import CSV files", help).into());
    };
    let database = server.database.as_str();
    let study = run.series.study(&[], 1);
    let seed = stage::data_seed(&study, &study.workloads[0]);
    let data = TpccData::new(options.clone(), run.target.dialect(), seed);
    let tables: Vec<String> = given.list("tables").into_iter().map(str::to_owned).collect();
    let (folder, files) = (Path::new(given.text("output-dir")), settings.load.connections.min(data.parts()));
    let request = CsvRequest { folder, database, tables: &tables, files, threads: settings.load.connections, csv: words };
    let stop = stop_on_signal("stopping; no file is kept")?;
    let (mut progress, began) = (Display::default(), Instant::now());
    let written = csv::write(&data, &request, &stop, &mut |p| show_files(&mut progress, "", &p, began.elapsed()))?;
    drop(progress);
    for table in &written {
        print(&format!("{}\n", table_text(table)))?;
    }
    print(&format!("{}\n", end_text(&request, &written, began.elapsed())))?;
    print("The data are not checked: load the files and use perbuck tpcc check\nFinished\n")?;
    Ok(())
}
