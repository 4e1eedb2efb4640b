//! `prepare --output-type csv`: the rows as files for bulk importers, with no database in sight. Before May 2020 the option
//! was `--output FOLDER`.

use perbuck_workloads::tpcc::{Options, TpccData};

use super::settings::Order;
use crate::flags::Given;
use crate::go_tpc::files;
use crate::option::chosen;
use crate::refused::{End, Refused};
use crate::run::Run;
use crate::style::STYLES;

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
    if old_folder(given)?.is_some() && !given.has("output-dir") {
        return Ok(true);
    }
    files::asked(given, &["output-dir", "tables"])
}

/// Writes them: as many files for each table as there are threads, as go-tpc does.
pub(super) fn write(given: &Given, options: &Options, run: &Run<'_>) -> Result<(), End> {
    let data = TpccData::new(options.clone(), run.target.dialect(), run.data_seed());
    let tables: Vec<String> = given.list("tables").into_iter().map(str::to_owned).collect();
    let folder = old_folder(given)?.unwrap_or_else(|| given.text("output-dir"));
    let then = "The data are not checked: load the files and use perbuck tpcc check";
    files::write(run, &data, (folder, run.series.load.connections, &tables), then)
}

#[cfg(test)]
mod tests {
    use super::super::golden::read;
    use super::super::settings::Settings;
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
