//! perbuck: which database system gives the most work per buck?
//!
//! Each command reads its arguments, calls the library ([`perbuck_lab`]), prints, and ends with an exit code. Place on the
//! floor plan: the main door, with `dropin` and `serve` beside it.

mod args;
mod commands;

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use perbuck_console::Verbosity;
use perbuck_dropin::sysbench::Called;
use perbuck_lab::LabError;

use args::{Arguments, Command};

fn main() -> ExitCode {
    perbuck_lab::process::keep_private();
    // A private server is held by this same program, started again.
    if let Some(held) = perbuck_lab::servers::guard_if_asked() {
        return ended(held);
    }
    perbuck_lab::process::begin(|line| perbuck_console::say(&format!("perbuck: {line}")));
    if let Some(code) = replaced() {
        return code;
    }
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return explained(&error),
    };
    perbuck_console::set_verbosity(match (arguments.quiet, arguments.verbose) {
        (true, _) => Verbosity::Quiet,
        (_, true) => Verbosity::Verbose,
        _ => Verbosity::Normal,
    });
    ended(match &arguments.command {
        Command::Demo(a) => commands::demo::run(a),
        Command::Init(a) => commands::init::run(a),
        Command::List(a) => commands::list::run(a),
        Command::Facts(a) => commands::facts::run(a),
        Command::Doctor(a) => commands::doctor::run(a),
        Command::Completions(a) => commands::reference::completions(a),
        Command::Man(a) => commands::reference::man(a),
        Command::Help(a) => commands::reference::help(a),
        Command::Check(a) => commands::check::run(a),
        Command::Plan(a) => commands::plan(a),
        Command::Price(a) => commands::price(a),
        Command::Prices(a) => commands::prices::run(a),
        Command::Prepare(a) => commands::prepare(a),
        Command::Data(a) => commands::data::run(a),
        Command::Run(a) => commands::run(a),
        Command::Agent(a) => commands::fleet::agent(a),
        Command::Fleet(a) => commands::fleet::run(a),
        Command::Deploy(a) => commands::deploy::run(a),
        Command::Capacity(a) => commands::capacity(a),
        Command::Import(a) => commands::import::run(a),
        Command::Sysbench(_) | Command::Tpcc(_) | Command::Tpch(_) | Command::Ch(_) | Command::Ycsb(_) | Command::Pgbench(_) => {
            Err(not_of_replacements())
        }
        Command::Dashboard => commands::dashboard(),
        Command::Compare(a) => commands::compare(a),
        Command::Report(a) => commands::report(a),
        Command::Serve(a) => commands::serve(a),
        Command::Verify(a) => commands::verify(a),
        Command::Replay(a) => commands::replay(a),
        Command::Audit(a) => commands::audit(a),
    })
}

/// Runs a command that replaces another program. A link `sysbench` to perbuck is called as that program is. To that program every word after its name is its own, `--quiet` and `--verbose`
/// as well, and its exit codes are those of the program.
fn replaced() -> Option<ExitCode> {
    let mut words = env::args_os();
    let called = words.next().map(PathBuf::from);
    if called.as_deref().and_then(Path::file_name) == Some(OsStr::new("sysbench")) {
        let words: Vec<OsString> = words.collect();
        return Some(perbuck_dropin::sysbench::run(&words, Called::Sysbench));
    }
    let name = words.next()?;
    let words: Vec<OsString> = words.collect();
    match name.to_str()? {
        "sysbench" => Some(perbuck_dropin::sysbench::run(&words, Called::Perbuck)),
        "tpcc" => Some(ended(perbuck_dropin::tpcc::run(&words))),
        "tpch" => Some(ended(perbuck_dropin::tpch::run(&words))),
        "ch" => Some(ended(perbuck_dropin::ch::run(&words))),
        "ycsb" => Some(perbuck_dropin::ycsb::run(&words)),
        "pgbench" => Some(perbuck_dropin::pgbench::run(&words)),
        _ => None,
    }
}

/// What stands before the name of such a command is for perbuck, which has nothing to say in its output.
fn not_of_replacements() -> LabError {
    let message = "--quiet and --verbose do not apply to sysbench, tpcc, tpch, ch, ycsb and pgbench, which print the lines of the programs that they replace";
    LabError::usage(message, "remove the option")
}

/// Help, the version, or what is wrong with the command line. An error quotes words that may be names of files, so it is printed as
/// all messages are.
fn explained(error: &clap::Error) -> ExitCode {
    if error.use_stderr() {
        perbuck_console::say(error.render().to_string().trim_end());
    } else {
        // A reader that is gone needs no help.
        let _ = error.print();
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

fn ended(done: Result<(), LabError>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => perbuck_console::fail(&error),
    }
}
