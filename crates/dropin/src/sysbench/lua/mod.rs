//! Scripts in Lua: which file is meant, what it declares, and its commands.

mod file;
mod settings;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use perbuck_console::{print, stop_on_signal};
use perbuck_core::load_model::LoadModel;
use perbuck_core::study::NO_LIMIT_NS;
use perbuck_lab::error::{ErrorKind, LabError};
use perbuck_load::limit::Tolerance;
use perbuck_load::observer::{Observer, SecondSeen};
use perbuck_load::trial::TrialSpec;
use perbuck_lua::{Described, LuaScript, MainState};
use perbuck_workloads::Plan;

pub(super) use file::wanted;

use super::log::Log;
use super::parse;
use super::printer::Lines;
use super::settings::{Output, Settings};
use super::subject::Subject;
use super::{AGENTS, COMMAND, TOKEN_FILE, agents, asked, begin, hide, machine, password, target, text};
use crate::refused::{End, Refused};
use crate::run::Run;
use crate::study::{Series, Workload};

/// Does what the command line asks a script for; `log` becomes that of its settings.
pub(super) fn ordered(words: &[OsString], path: &Path, log: &mut Log) -> Result<ExitCode, End> {
    let plain = parse::parse(&settings::known(words), &[])?;
    let driver = target::target(&plain, false).map(|target| settings::driver_name(target.dialect()))?;
    let mut script = settings::script(path, &plain)?;
    let described = perbuck_lua::describe(&script, driver).map_err(|e| failed(&e))?;
    let specs = settings::specs(&described, words);
    let given = parse::parse(words, &specs)?;
    hide(words, &given, log.called)?;
    if let Some(text) = asked(&given, log.called) {
        return Ok(print(&text).map_or_else(|error| perbuck_console::fail(&error), |()| ExitCode::SUCCESS));
    }
    let settings = begin(&given, log)?;
    let (log, mut out) = (*log, log.streams());
    settings::complete(&mut script, &given, &specs, &described, &settings)?;
    given.remarks.iter().for_each(|remark| out.say(&format!("perbuck: {remark}")));
    (script.serverless, script.shares) = (!described.asks_database, described.shares);
    script.modules = described.modules.clone().into();
    let command = given.command.as_ref().map(|typed| command(typed, &described)).transpose()?;
    let main = MainState::new(&script, driver).map_err(|e| failed(&e))?;
    // Without a command the text of the script itself is all that runs, as under sysbench.
    let Some(command) = command else { return Ok(ExitCode::SUCCESS) };
    if command == "help" {
        if !main.call("help").map_err(|e| failed(&e))? {
            print(&settings::help(path, &specs))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let named = agents::named(&super::settings::list(&given, AGENTS.0), super::settings::text(&given, TOKEN_FILE.0))?;
    agents::none(named.as_ref(), "a script in Lua")?;
    let target = target::target(&given, settings.as_text)?;
    let password = password(&given)?;
    let series = series(&script, &settings);
    let run = Run {
        command: &COMMAND,
        series: &series,
        target: &target,
        password: &password,
        records: &settings.records,
        agents: None,
    };
    if command != "run" {
        return perform(&run, command, &described, &settings, log).map(|()| ExitCode::SUCCESS);
    }
    if !described.has_event {
        let message = format!("cannot find the event() function in {}", path.display());
        return Err(Refused::fatal(message, "a load calls function event(); the commands of the script need none").into());
    }
    apply(&run, &main, settings.dry_run || script.serverless, &settings, log)
}

/// That the script fails before anything runs.
fn failed(message: &str) -> Refused {
    Refused::fatal(message, "")
}

/// The command that is asked for, which the script must have.
fn command<'a>(typed: &'a str, described: &Described) -> Result<&'a str, Refused> {
    let own = described.commands.iter().map(|(name, _)| name.as_str());
    let functions = described.functions.iter().map(String::as_str).filter(|name| !matches!(*name, "init" | "done"));
    let mut all: Vec<&str> = Vec::new();
    for name in own.chain(functions).chain(["run", "help"]) {
        if !all.contains(&name) {
            all.push(name);
        }
    }
    if all.contains(&typed) {
        return Ok(typed);
    }
    Err(Refused::usage(format!("Unknown command: {typed}"), format!("the script has: {}", all.join(", "))))
}

fn series(script: &LuaScript, settings: &Settings) -> Series {
    let (name, parameters) = (settings::study_name(&script.path), settings::parameters(script));
    let workload = Workload { name, parameters, plan: Plan::of(script.clone()) };
    Series::new(workload, settings.load.clone(), &format!(" {:?}", settings.ignored))
}

/// Applies a load; `rehearses` where no server takes part.
fn apply(run: &Run<'_>, main: &MainState, rehearses: bool, settings: &Settings, log: Log) -> Result<ExitCode, End> {
    let mut streams = log.streams();
    let out = &mut *streams;
    run.check_name()?;
    let stop = stop_on_signal("stopping; this run is thrown away")?;
    let stage = match rehearses {
        true => run.rehearsal(&stop)?,
        false => run.stage(run.series.load.longest_s(), &stop)?,
    };
    log.notice(&text::banner(settings, log.adds()), out)?;
    main.call("init").map_err(|e| failed(&e))?;
    if !rehearses {
        run.reach(&stage, &stop)?;
        run.note_use(&stage)?;
    }
    if settings.output == Output::Csv {
        out.print(&machine::csv_header(settings))?;
    }
    let subject = Subject::Lua(&run.series.workload.name, main);
    let mut lines = Lines::new(settings, &run.series.workload, subject, run.target.dialect(), log);
    let ended = run.drive(&stage, &mut lines, out, &stop)?;
    run.finish(&ended, !rehearses, &lines, out)?;
    main.reports_end();
    main.call("done").map_err(|e| failed(&e))?;
    let cut_off = ended.record.health.aborted > 0 && settings.forced_shutdown_s.is_some();
    Ok(if cut_off { ExitCode::from(super::CUT_OFF) } else { ExitCode::SUCCESS })
}

/// Shows nothing: a command prints for itself.
struct Silent;

impl Observer for Silent {
    fn second(&mut self, _seen: &SecondSeen<'_>) {}
}

/// Runs a command of the script, in every thread where it says so.
fn perform(run: &Run<'_>, command: &str, described: &Described, settings: &Settings, log: Log) -> Result<(), End> {
    let parallel = described.commands.iter().any(|(name, parallel)| name == command && *parallel);
    let threads = if parallel { settings.load.connections } else { 1 };
    let stop = stop_on_signal("stopping")?;
    let stage = if described.asks_database { run.stage(None, &stop)? } else { run.rehearsal(&stop)? };
    if described.asks_database {
        run.reach(&stage, &stop)?;
    }
    if threads > 1 {
        log.notice("Initializing worker threads...\n\n", &mut *log.streams())?;
    }
    let spec = TrialSpec {
        load: LoadModel::closed(),
        connections: threads,
        warmup_ns: 0,
        duration_ns: NO_LIMIT_NS,
        max_events: None,
        max_attempts: 1,
        time_statements: false,
        tolerance: Tolerance::Listed { codes: Vec::new(), retries: false, losses: false },
        ..run.series.load.spec()
    };
    match stage.trials.run(&spec, &stop, &mut Silent) {
        Ok(_) => Ok(()),
        Err(error) => Err(run.explained(&stage, &error).into()),
    }
}

/// The kind of a file that cannot be read.
fn unreadable(path: &Path, error: &std::io::Error) -> End {
    LabError::new(ErrorKind::Usage, format!("cannot read {}: {error}", path.display()), "name a script that can be read").into()
}

#[cfg(test)]
mod tests;
