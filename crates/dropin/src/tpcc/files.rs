//! `prepare --output-type csv`: the rows as files for bulk importers, with no database in sight. Before May 2020 the option
//! was `--output FOLDER`.

use std::path::Path;
use std::time::Instant;

use perbuck_load::workload::Dataset;
use perbuck_workloads::tpcc::{Options, TpccData};

use super::settings::{Order, Settings};
use crate::flags::Given;
use crate::option::chosen;
use crate::refused::{End, Refused};
use crate::run::Run;
use crate::style::STYLES;
use perbuck_console::{Display, print, stop_on_signal};
use perbuck_lab::csv::study::{end_text, show_files, table_text};
use perbuck_lab::csv::{self, CsvRequest};
use perbuck_lab::stage;

/// What is said where `--output` names a folder.
pub(super) const OLD: &str =
    "--output: taken as the folder of CSV files, as in tiup bench before May 2020; now it is --output-type csv --output-dir";

/// The folder that `--output` of `prepare` names; the words of today are no folders.
pub(super) fn old_folder(given: &Given) -> Result<Option<&str>, Refused> {
    let word = given.text("output");
    let old = given.text("output-type").is_empty() && !word.is_empty() && chosen(word, &STYLES).is_none();
    Ok((old && Order::of(given)? == Order::Prepare).then_some(word))
}

pub(super) fn asked(given: &Given) -> Result<bool, Refused> {
    match given.text("output-type") {
        "" if old_folder(given)?.is_some() && !given.has("output-dir") => Ok(true),
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
        return Err(Refused::usage("--output-type: there are no CSV files for SQLite, DuckDB and TiKV", help).into());
    };
    let database = server.database.as_str();
    let study = run.series.study(&[], 1);
    let seed = stage::data_seed(&study, &study.workloads[0]);
    let data = TpccData::new(options.clone(), run.target.dialect(), seed);
    let tables: Vec<String> = given.list("tables").into_iter().map(str::to_owned).collect();
    let folder = old_folder(given)?.unwrap_or_else(|| given.text("output-dir"));
    let (folder, files) = (Path::new(folder), settings.load.connections.min(data.parts()));
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

#[cfg(test)]
mod tests {
    use super::super::golden::read;
    use super::*;
    use crate::cases::hold_refused;
    use crate::style::Style;

    #[test]
    fn the_folder_of_an_old_command_line_is_that_of_the_files() {
        let of = |words: &[&str]| {
            let given = read(words).unwrap();
            (old_folder(&given).unwrap().map(str::to_owned), asked(&given), Settings::read(&given).map(|s| s.output))
        };
        let plain = || Ok(Style::Plain);
        assert_eq!(of(&["prepare", "--output", "data", "--tables=item"]), (Some("data".to_owned()), Ok(true), plain()));
        assert_eq!(of(&["prepare", "--output=./table"]).0.as_deref(), Some("./table"));
        assert_eq!(of(&["prepare", "--output=table"]), (None, Ok(false), Ok(Style::Table)));
        assert_eq!(of(&["prepare", "--output-type=csv", "--output-dir=data"]), (None, Ok(true), plain()));
        assert_eq!(of(&["prepare"]), (None, Ok(false), plain()));
    }

    #[test]
    fn a_folder_is_no_output_elsewhere() {
        let read_all = |words: &[&str]| {
            let given = read(words)?;
            Settings::read(&given).and_then(|_| asked(&given))
        };
        let output = "invalid argument \"data\" for \"--output\" flag";
        let cases: &[(&[&str], &str)] = &[
            (&["run", "--output=data"], output),
            (&["prepare", "--output=data", "--output-type=csv", "--output-dir=d"], output),
            (&["prepare", "--output=data", "--output-dir=d"], "--output-dir is given without --output-type"),
            (&["prepare", "--tables=item"], "--tables is given without --output-type"),
        ];
        hold_refused(read_all, cases);
    }
}
