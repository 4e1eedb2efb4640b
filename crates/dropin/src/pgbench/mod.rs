//! `perbuck pgbench`: takes the place of pgbench on PostgreSQL, and runs its scripts on MySQL, TiDB and others.
//!
//! A command line goes one way: [`options`] (words), [`settings`] and [`target`] (what they mean), then [`tables`] or the runner with
//! [`printer`] and [`summary`].

#[cfg(test)]
mod golden;
mod log;
mod options;
mod printer;
mod settings;
mod summary;
mod tables;
mod target;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::process::ExitCode;

use perbuck_console::{fail, print, say, stop_by_signal, stop_on_signal};
use perbuck_core::study::Scalar;
use perbuck_database::registry::AnyTarget;
use perbuck_database::secret::Secret;
use perbuck_lab::error::{ErrorKind, LabError};
use perbuck_lab::stage::Stage;
use perbuck_load::stop::StopToken;
use perbuck_workloads::script::{BUILTINS, Builtin, Options, say_debug_by};

use log::Log;
use options::{TABLE, help};
use printer::Lines;
use settings::Settings;
use summary::aborting;

use crate::advice::{Advice, answer_text};
use crate::flags::Given;
use crate::notes;
use crate::output::Standard;
use crate::refused::{End, Refused};
use crate::run::{DropIn, Run};
use crate::secret::PasswordSources;
use crate::study::{Series, Workload};

/// The kind of workload that it runs.
const KIND: &str = "script";

const COMMAND: DropIn = DropIn {
    word: "pgbench",
    variable: "PERBUCK_PGBENCH_PASSWORD",
    advice: Advice {
        password: "check user and password; the password comes from PERBUCK_PGBENCH_PASSWORD, PGPASSWORD, MYSQL_PWD or --password-file",
        database: "create the database first, or name another one",
        tables: "perbuck pgbench -i makes pgbench's tables; those of your own scripts are yours",
        connections: "raise max_connections of the server, or lower --client",
        errors: "--max-tries tries a transaction again after a serialization failure or a deadlock",
        reach: "check that the server runs, and the options of host and port",
    },
    unreachable: |target, answer| {
        format!("connection to server at {} failed: FATAL:  {}", target.described(), answer_text(answer))
    },
    connects: |_| true,
    ended: (answer_text, ""),
};

/// Runs the command. Its exit codes are pgbench's: 1 for wrong words and a server that cannot be reached, 2 for a run that failed, and 130
/// after Ctrl-C.
pub fn run(words: &[OsString]) -> ExitCode {
    match ordered(words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(End::Refused(refused)) => told(&refused.message, &refused.help, 1),
        Err(End::Failed(error)) if error.kind() == ErrorKind::Interrupted => fail(&error),
        Err(End::Failed(error)) => {
            let code = if error.kind() == ErrorKind::Failed { 2 } else { 1 };
            told(error.words().0, COMMAND.advice.of_failure(&error), code)
        }
    }
}

fn told(message: &str, help: &str, code: u8) -> ExitCode {
    say(&format!("pgbench: error: {message}"));
    if !help.is_empty() {
        say(&format!("pgbench: hint: {help}"));
    }
    ExitCode::from(code)
}

fn ordered(words: &[OsString]) -> Result<(), End> {
    let given = &TABLE.read(words)?;
    if let Some(text) = asked(given)? {
        return Ok(print(&text)?);
    }
    given.remarks.iter().for_each(|remark| say(&format!("perbuck: {remark}")));
    let settings = Settings::read(given)?;
    let target = target::target(given)?;
    let password = password(given, &target)?;
    say_debug_by(say);
    if given.has("random-seed") {
        say(&format!("pgbench: setting random seed to {}", settings.seed));
    }
    if given.switch("initialize") {
        initialize(given, &settings, &target, &password)
    } else {
        measure(&settings, &target, &password)
    }
}

fn version() -> String {
    format!("pgbench (perbuck {})\n", env!("CARGO_PKG_VERSION"))
}

/// What a command line asks to be told; `None` where it asks for work.
fn asked(given: &Given) -> Result<Option<String>, Refused> {
    if given.switch("help") {
        return Ok(Some(help()));
    }
    if given.switch("version") {
        return Ok(Some(version()));
    }
    if given.list("builtin").contains(&"list") {
        let line = |builtin: &Builtin| format!("{:>13}: {}\n", builtin.name, builtin.title);
        return Ok(Some(format!("Available builtin scripts:\n{}", BUILTINS.iter().map(line).collect::<String>())));
    }
    if !given.has("show-script") {
        return Ok(None);
    }
    let builtin = Builtin::named(given.text("show-script"));
    builtin
        .map(|builtin| Some(format!("-- {}: {}\n{}", builtin.name, builtin.title, builtin.text)))
        .ok_or_else(|| given.invalid("show-script", "the scripts are tpcb-like, simple-update and select-only"))
}

fn password(given: &Given, target: &AnyTarget) -> Result<Secret, Refused> {
    if target.server().is_none() {
        return Ok(Secret::default());
    }
    let client = target::password_variable(target);
    let sources = PasswordSources { typed: None, file: given.text("password-file"), filed: None, client };
    Ok(COMMAND.password(&sources)?.unwrap_or_default())
}

/// The workload of a command line; what is wrong with a script is one message with its file and line.
fn workload(settings: &Settings, parameters: BTreeMap<String, Scalar>) -> Result<(Workload, Options), Refused> {
    let read = Workload::of::<Options>(&settings.workload_name(), parameters);
    read.map_err(|problems| {
        let first = problems.into_iter().next();
        first.map_or_else(
            || Refused::usage("the scripts cannot be read", ""),
            |problem| Refused::usage(problem.message, problem.help),
        )
    })
}

fn initialize(given: &Given, settings: &Settings, target: &AnyTarget, password: &Secret) -> Result<(), End> {
    let steps = tables::steps(given)?;
    let mut parameters = settings.parameters(settings.scale);
    let fillfactor = given.count("fillfactor", 10, 100)?;
    parameters.insert("scale".to_owned(), Scalar::Int(i64::from(settings.scale)));
    parameters.insert("fillfactor".to_owned(), Scalar::Int(i64::from(fillfactor)));
    parameters.insert("unlogged".to_owned(), Scalar::Bool(given.switch("unlogged-tables")));
    let series = Series::new(workload(settings, parameters)?.0, settings.load.clone(), "");
    let run = Run { command: &COMMAND, series: &series, target, password, records: &settings.records, agents: None };
    let stop = stop_on_signal("stopping the load")?;
    let stage = run.stage(None, &stop)?;
    run.reach(&stage, &stop)?;
    let filled = tables::initialize(&stage, steps, is_postgres(target));
    Ok(filled.map_err(|error| notes::half_loaded(error, "perbuck pgbench -i"))?)
}

/// Whether it is PostgreSQL's own VACUUM that a database has.
fn is_postgres(target: &AnyTarget) -> bool {
    target.dialect().name() == "PostgreSQL"
}

fn series(settings: &Settings, scale: u32) -> Result<Series, Refused> {
    Ok(Series::new(workload(settings, settings.parameters(scale))?.0, settings.load.clone(), ""))
}

fn measure(settings: &Settings, target: &AnyTarget, password: &Secret) -> Result<(), End> {
    let stop = stop_by_signal(StopToken::keeping(), "ending the run")?;
    let first = series(settings, settings.scale)?;
    let scale = {
        let run = Run { command: &COMMAND, series: &first, target, password, records: &settings.records, agents: None };
        run.check_name()?;
        let stage = run.stage(None, &stop)?;
        run.reach(&stage, &stop)?;
        print(&version())?;
        before(settings, target, &stage)?
    };
    let series = series(settings, scale)?;
    let run = Run { command: &COMMAND, series: &series, target, password, records: &settings.records, agents: None };
    let stage = run.stage(settings.load.longest_s(), &stop)?;
    notes::used(&stage, KIND, "perbuck pgbench")?;
    let commands = workload(settings, settings.parameters(scale))?.1.commands();
    let mut lines = Lines::new((settings, &commands, Log::create(settings)?), scale, stop.clone());
    let ended = run.drive(&stage, &mut lines, &mut Standard, &stop)?;
    lines.end_log(ended.record.measured.window_ns)?;
    let aborted = aborting(&ended.record.errors).next().is_some();
    run.finish(&ended, !ended.early && !aborted, &lines, &mut Standard)?;
    if aborted {
        let message = "Run was aborted; the above results are incomplete.";
        return Err(LabError::new(ErrorKind::Failed, message, "").into());
    }
    if ended.early {
        let message = "interrupted: the numbers cover the time until then, and no record is kept";
        return Err(LabError::new(ErrorKind::Interrupted, message, "").into());
    }
    Ok(())
}

/// Finds the scale of the tables, and makes them ready.
fn before(settings: &Settings, target: &AnyTarget, stage: &Stage) -> Result<u32, LabError> {
    let scale = if settings.has_builtin() {
        let found = tables::scale(stage)?;
        if settings.scale_given {
            say(&format!("pgbench: warning: scale option ignored, using count from pgbench_branches table ({found})"));
        }
        found
    } else {
        settings.scale
    };
    let truncates = matches!(target.dialect().family(), "postgres" | "mysql");
    tables::vacuum(stage, settings.vacuum, (is_postgres(target), truncates))?;
    Ok(scale)
}

#[cfg(test)]
mod tests {
    use perbuck_workloads::script::Protocol;

    use super::*;
    use crate::cases::hold_refused;
    use crate::study::hold_against_its_text;

    fn read(words: &[&str]) -> Result<Settings, Refused> {
        Settings::read(&golden::read(words)?)
    }

    #[test]
    fn every_command_line_is_a_study_that_can_be_read() {
        let folder = std::env::temp_dir().join(format!("perbuck-pgbench-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("my script.sql");
        std::fs::write(&file, "\\set a \"1\"\n".replace('"', "") + "SELECT 'it''s \"here\"', :a;\n").unwrap();
        let file = format!("-f{}@2", file.display());
        for words in
            [&["-S"][..], &["-b", "t@3", "-b", "se", "-T", "5", "-R", "7"], &[&file, "-M", "prepared", "-D", "x=y", "-C"]]
        {
            let settings = read(words).unwrap();
            hold_against_its_text(&series(&settings, 10).unwrap());
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn values_are_read_as_pgbench_reads_them() {
        let s = read(&["-c8", "-j", "2", "-t", "100", "-b", "si@2", "-S", "-n", "-P", "5", "-L", "1.5", "-D", "a=b=c", "db"])
            .unwrap();
        assert_eq!((s.load.connections, s.load.workers, s.load.events, s.transactions), (8, Some(2), Some(800), Some(100)));
        assert_eq!(
            s.scripts.iter().map(|script| (script.title(), script.weight)).collect::<Vec<_>>(),
            [("<builtin: simple update>", 2), ("<builtin: select only>", 1)]
        );
        assert_eq!((s.progress_s, s.latency_limit_ms, s.vacuum), (Some(5), Some(1.5), settings::Vacuum::None));
        assert_eq!((s.variables["a"].as_str(), s.protocol, s.workload_name().as_str()), ("b=c", Protocol::Simple, "scripts"));
        let s = read(&["-T", "30", "-M", "prepared", "--max-tries=0"]).unwrap();
        assert_eq!((s.time_s, s.transactions, s.load.events, s.protocol), (Some(30), None, None, Protocol::Prepared));
        assert_eq!((s.workload_name().as_str(), s.max_tries, s.load.attempts), ("tpcb-like", 0, 1_000_000));
        assert_eq!(read(&[]).unwrap().transactions, Some(10));
    }

    #[test]
    fn wrong_values_are_named_with_the_way_out() {
        let all = |words: &[&str]| {
            golden::read(words).and_then(|given| {
                asked(&given)?;
                target::target(&given)?;
                tables::steps(&given)?;
                series(&Settings::read(&given)?, 1)
            })
        };
        hold_refused(
            all,
            &[
                (&["-c", "0"], "invalid argument \"0\" for \"-c, --client\" flag"),
                (&["-t", "5", "-T", "5"], "specify either a number of transactions (-t) or a duration (-T), not both"),
                (&["-M", "odd"], "invalid argument \"odd\""),
                (&["-b", "nothing"], "no builtin script found for name \"nothing\""),
                (&["-b", "select-only@x"], "invalid weight specification: @x"),
                (&["-b", "select-only@0"], "`file`: all weights are 0"),
                (&["-f", "/nowhere/a.sql"], "…/nowhere/a.sql"),
                (&["-D", "novalue"], "invalid variable definition: \"novalue\""),
                (&["-D", "a=1,2"], "-D a: perbuck takes no comma"),
                (&["-D", "1a=2"], "`1a=2` defines no variable"),
                (&["--log-prefix=x"], "log file prefix (--log-prefix) is allowed only when logging transactions (-l)"),
                (&["--sampling-rate=0.5"], "log sampling (--sampling-rate) is allowed only when logging transactions (-l)"),
                (&["--aggregate-interval=2"], "log aggregation is allowed only when actually logging transactions"),
                (&["-l", "--sampling-rate=0"], "invalid sampling rate: \"0\""),
                (&["-l", "--sampling-rate=1.5"], "invalid sampling rate: \"1.5\""),
                (
                    &["-l", "--sampling-rate=1", "--aggregate-interval=1"],
                    "log sampling (--sampling-rate) and aggregation (--aggregate-interval) cannot be used at the same time",
                ),
                (&["-l", "--aggregate-interval=0"], "invalid argument \"0\""),
                (
                    &["-l", "--aggregate-interval=7", "-T5"],
                    "number of seconds for aggregation (7) must not be higher than test duration (5)",
                ),
                (&["-l", "--aggregate-interval=2", "-T5"], "duration (5) must be a multiple of aggregation interval (2)"),
                (&["--partitions=2"], "--partitions: perbuck makes pgbench_accounts as one table"),
                (&["-I", "dtx"], "unrecognized initialization step \"x\""),
                (&["-I", "dt"], "-I dt: perbuck makes, fills and keys the tables in one step"),
                (&["a", "b"], "too many command-line arguments (first is \"b\")"),
                (&["--driver=oracle"], "invalid argument \"oracle\""),
                (&["-L", "0"], "invalid argument \"0\" for \"-L, --latency-limit\" flag"),
                (&["--random-seed=x"], "invalid argument \"x\""),
                (&["--show-script=x"], "invalid argument \"x\""),
            ],
        );
    }
}
