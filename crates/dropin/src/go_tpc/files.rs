//! `prepare --output-type csv`: the rows as files for bulk importers, with no database in sight.

use std::path::Path;
use std::time::Instant;

use perbuck_console::{Display, print, stop_on_signal};
use perbuck_lab::csv::study::{end_text, show_files, table_text};
use perbuck_lab::csv::{self, CsvRequest};
use perbuck_load::workload::Dataset;

use crate::flags::Given;
use crate::refused::{End, Refused};
use crate::run::Run;

/// Whether a command line asks for files in the words of today; `others` are options that need that.
pub(crate) fn asked(given: &Given, others: &[&'static str]) -> Result<bool, Refused> {
    match given.text("output-type") {
        "" => match others.iter().find(|name| given.has(name)) {
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

/// Writes them: at most so many files for each table. `tables` are those that were asked for, and `then` how data are checked later.
pub(crate) fn write(
    run: &Run<'_>,
    data: &dyn Dataset,
    (folder, files, tables): (&str, u32, &[String]),
    then: &str,
) -> Result<(), End> {
    let (Some(server), Some(words)) = (run.target.server(), run.target.dialect().csv()) else {
        let help = "name the database for the files with -d mysql or -d postgres, and --db";
        return Err(Refused::usage("--output-type: there are no CSV files for SQLite, DuckDB and TiKV", help).into());
    };
    let (folder, threads) = (Path::new(folder), run.series.load.connections);
    let request = CsvRequest { folder, database: &server.database, tables, files: files.min(data.parts()), threads, csv: words };
    let stop = stop_on_signal("stopping; no file is kept")?;
    let (mut progress, began) = (Display::default(), Instant::now());
    let written = csv::write(data, &request, &stop, &mut |p| show_files(&mut progress, "", &p, began.elapsed()))?;
    drop(progress);
    for table in &written {
        print(&format!("{}\n", table_text(table)))?;
    }
    print(&format!("{}\n", end_text(&request, &written, began.elapsed())))?;
    print(&format!("{then}\nFinished\n"))?;
    Ok(())
}
