//! The rows of a study as files for bulk importers; no database is needed.

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use perbuck_core::study::WorkloadSpec;
use perbuck_core::units::thousands;
use perbuck_database::Dialect;
use perbuck_load::loader::csv::CsvFormat;
use perbuck_load::stop::StopToken;

use super::{self as csv, CsvProgress, CsvRequest, CsvTable};
use crate::error::LabError;
use crate::inputs::Inputs;
use crate::progress::{Done, Progress};
use crate::stage;

/// What is written, and where.
#[derive(Debug, Clone, Default)]
pub struct FileOptions {
    /// Folder for the files; the current one if not given.
    pub folder: Option<PathBuf>,
    /// These tables alone; all if empty.
    pub tables: Vec<String>,
    /// Files for each table; 1 if not given.
    pub files: Option<u32>,
    /// The format; that of the targets if not given.
    pub format: Option<CsvFormat>,
    /// Threads that make the rows; as many as processors if not given.
    pub threads: Option<u32>,
}

/// Writes the rows of every workload of the study, once each.
///
/// # Errors
/// Targets that do not agree on a format, a folder that cannot be written, a file that is there.
pub fn write_study(
    inputs: &Inputs,
    options: &FileOptions,
    progress: &mut dyn Progress,
    stop: &StopToken,
) -> Result<(), LabError> {
    let dialect = dialect(inputs, options.format)?;
    let Some(words) = dialect.csv() else { return Err(no_format()) };
    let folder = options.folder.as_deref().unwrap_or(Path::new("."));
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get) as u32;
    let threads = options.threads.unwrap_or(processors);
    let (files, tables) = (options.files.unwrap_or(1), options.tables.as_slice());
    let mut done = Vec::new();
    for (spec, plan) in inputs.study.workloads.iter().zip(&inputs.plans) {
        let database = database(inputs, spec)?;
        // Workloads of one kind that share a database share their rows.
        if done.contains(&(database.clone(), spec.kind.value.clone())) {
            continue;
        }
        let request = CsvRequest { folder, database: &database, tables, files, threads, csv: words };
        if let Some((message, help)) = plan.refusal(dialect) {
            return Err(LabError::usage(format!("{}: {message}", spec.name), help));
        }
        let (seed, began) = (stage::data_seed(&inputs.study, spec), Instant::now());
        let mut show = |p: CsvProgress| show_files(progress, &format!("{}: ", spec.name), &p, began.elapsed());
        let written = csv::write(&*plan.dataset(dialect, seed), &request, stop, &mut show)?;
        for table in &written {
            progress.line(&format!("{}: {}", spec.name, table_text(table)));
        }
        progress.line(&format!("{}: {}", spec.name, end_text(&request, &written, began.elapsed())));
        done.push((database, spec.kind.value.clone()));
    }
    Ok(())
}

/// The database whose files are wanted: that of the targets, or the first that reads the format that is asked for.
fn dialect(inputs: &Inputs, asked: Option<CsvFormat>) -> Result<&'static dyn Dialect, LabError> {
    let format_of = |dialect: &&dyn Dialect| dialect.csv().map(|words| words.format);
    let of_targets: Vec<&'static dyn Dialect> = inputs.targets.iter().flatten().map(|target| target.dialect()).collect();
    let mut formats: Vec<Option<CsvFormat>> = of_targets.iter().map(format_of).collect();
    formats.dedup();
    let format = match (asked, formats.as_slice()) {
        (Some(format), _) => format,
        (None, [Some(format)]) => *format,
        _ => return Err(no_format()),
    };
    let mut same = of_targets.into_iter().filter(|d| format_of(d) == Some(format));
    let Some(first) = same.next() else {
        return (inputs.registry.dialects)().into_iter().find(|d| format_of(d) == Some(format)).ok_or_else(no_format);
    };
    same.find(|other| other.name() != first.name()).map_or(Ok(first), |other| {
        let message = format!("the targets are {} and {}, and each wants other words for its tables", first.name(), other.name());
        Err(LabError::usage(message, "write the files from a study whose contenders are of one kind"))
    })
}

fn no_format() -> LabError {
    let message = "the targets of this study do not say whose CSV is wanted";
    LabError::usage(message, "add --csv-format mysql or --csv-format postgres")
}

/// The name of the database for which the files are: that of the workload, or else that of the targets; the kind of the
/// workload where they have none.
fn database(inputs: &Inputs, spec: &WorkloadSpec) -> Result<String, LabError> {
    if let Some(name) = &spec.database {
        return Ok(name.clone());
    }
    let mut names: Vec<String> = inputs.targets.iter().flatten().filter_map(|t| Some(t.server()?.database.clone())).collect();
    names.dedup();
    match names.as_slice() {
        [] => Ok(spec.kind.value.clone()),
        [name] => Ok(name.clone()),
        [one, two, ..] => {
            let message = format!("the targets name several databases ({one}, {two}), and files carry the name of one");
            Err(LabError::usage(message, format!("give workload `{}` its own `database`", spec.name)))
        }
    }
}

/// Shows how far it is after that time; `head` says which workload is written.
pub fn show_files(progress: &mut dyn Progress, head: &str, p: &CsvProgress, elapsed: Duration) {
    let (megabytes, seconds) = (p.bytes / 1_000_000, elapsed.as_secs_f64().max(0.001));
    let share = f64::from(p.parts) / f64::from(p.of.max(1));
    // Too early for a guess as long as no part is done.
    let left = (p.parts > 0).then(|| elapsed.mul_f64(1.0 / share - 1.0));
    let text = format!("{head}{} MB, {:.0} MB/s", thousands(megabytes), p.bytes as f64 / 1e6 / seconds);
    progress.advancing(&text, Done { share, left });
}

/// The files of a table with what they hold.
pub fn table_text(table: &CsvTable) -> String {
    let names: Vec<String> = table.files.iter().filter_map(|f| Some(f.file_name()?.to_string_lossy().into_owned())).collect();
    let files = match names.as_slice() {
        [] => "no file".to_owned(),
        [one] => one.clone(),
        [first, .., last] => format!("{first} to {last}"),
    };
    format!("{files} with {} rows, {} bytes", thousands(table.rows), thousands(table.bytes))
}

/// What was written, and what takes it in.
pub fn end_text(request: &CsvRequest<'_>, written: &[CsvTable], elapsed: Duration) -> String {
    let bytes: u64 = written.iter().map(|t| t.bytes).sum();
    let name = request.database;
    format!(
        "{} MB in {:.1} s; {name}-tables.sql, {name}-load.sql and {name}-indexes.sql take them in",
        thousands(bytes / 1_000_000),
        elapsed.as_secs_f64()
    )
}
