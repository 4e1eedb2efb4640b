//! perbuck: which database system gives the most work per buck?
//!
//! A study goes one way: file → [`inputs`] → [`commands::run`] (plan, [`stage`], [`trial`]) → [`store`] → compare → report.

mod args;
mod commands;
mod data;
mod error;
mod flags;
mod inputs;
mod progress;
mod results;
mod stage;
mod store;
mod trial;

use std::process::ExitCode;

use clap::Parser;

use args::{Arguments, Command};

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = match &arguments.command {
        Command::Demo(a) => commands::demo::run(a),
        Command::Check(a) => commands::check::run(a),
        Command::Price(a) => commands::price::run(a),
        Command::Prepare(a) => commands::prepare::run(a),
        Command::Run(a) => commands::run::run(a),
        Command::Capacity(a) => commands::capacity::run(a),
        // Its exit codes are those of sysbench.
        Command::Sysbench(a) => return commands::sysbench::run(a),
        Command::Compare(a) => commands::compare::run(a),
        Command::Report(a) => commands::report::run(a),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => error.print(),
    }
}
