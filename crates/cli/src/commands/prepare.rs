//! `perbuck prepare STUDY`

use perbuck_console::{Display, TRIAL_STOPS, stop_on_signal};
use perbuck_lab::csv::study::{FileOptions, write_study};
use perbuck_lab::prepare::{self, Preparation};
use perbuck_lab::registry::Registry;
use perbuck_lab::{LabError, inputs};
use perbuck_load::loader::csv::CsvFormat;

use crate::args::PrepareArguments;

/// Loads what a study needs and checks it, or writes its rows as files.
pub(crate) fn run(arguments: &PrepareArguments) -> Result<(), LabError> {
    let inputs = inputs::read_to_measure(&arguments.study, None, Registry::default())?;
    let files = &arguments.files;
    if files.output_type.is_some() {
        let format = files.csv_format.as_deref().map(|f| if f == "mysql" { CsvFormat::Backslash } else { CsvFormat::Quotes });
        let (folder, tables) = (files.output_dir.clone(), files.tables.clone());
        let options = FileOptions { folder, tables, files: files.files, format, threads: files.threads };
        let stop = stop_on_signal("stopping; no file is kept")?;
        return write_study(&inputs, &options, &mut Display::default(), &stop);
    }
    let preparation = match (arguments.check, arguments.force) {
        (true, _) => Preparation::CheckOnly,
        (_, true) => Preparation::Force,
        _ => Preparation::Missing,
    };
    let stop = stop_on_signal(TRIAL_STOPS)?;
    let how = (arguments.sessions, arguments.password.asked());
    prepare::study(&inputs, preparation, how, &mut Display::default(), &stop)
}
