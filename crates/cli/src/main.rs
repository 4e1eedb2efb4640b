//! perbuck: which database system gives the most work per buck?
//!
//! A study goes one way: file → [`inputs`] → [`commands::run`] (plan, [`stage`], [`trial`]) → [`store`] → compare → report.

mod args;
mod commands;
mod csv;
mod data;
mod error;
mod flags;
mod globals;
mod inputs;
mod live;
mod looks;
mod progress;
mod results;
mod servers;
mod stage;
mod store;
mod stored;
mod tiflash;
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
        Command::Prices(a) => commands::prices::run(a),
        Command::Prepare(a) => commands::prepare::run(a),
        Command::Run(a) => commands::run::run(a),
        Command::Capacity(a) => commands::capacity::run(a),
        // Its exit codes are those of sysbench.
        Command::Sysbench(a) => return commands::sysbench::run(a),
        Command::HoldServer(a) => servers::guard::run(&a.folder),
        Command::Tpcc(a) => commands::tpcc::run(a),
        Command::Ycsb(a) => return commands::ycsb::run(a),
        Command::Compare(a) => commands::compare::run(a),
        Command::Report(a) => commands::report::run(a),
        Command::Serve(a) => commands::serve::run(a),
        Command::Verify(a) => commands::verify::run(a),
        Command::Replay(a) => commands::replay::run(a),
        Command::Audit(a) => commands::audit::run(a),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => error.print(),
    }
}
