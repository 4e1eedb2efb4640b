//! Runs a study and prints its verdicts: `cargo run --release -p perbuck-lab --example verdict studies/demo.toml`
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program of its own")]

use std::error::Error;
use std::path::PathBuf;

use perbuck_lab::progress::Progress;
use perbuck_lab::{Lab, LabOptions, servers};
use perbuck_load::stop::StopToken;
use perbuck_report::text::{Screen, verdicts};

/// Progress as lines on standard error.
struct Lines;

impl Progress for Lines {
    fn line(&mut self, text: &str) {
        eprintln!("{text}");
    }

    fn passing(&mut self, _text: &str) {}
}

fn main() -> Result<(), Box<dyn Error>> {
    // Where the study has private servers, this program is started again to hold each of them.
    if let Some(held) = servers::guard_if_asked() {
        return Ok(held?);
    }
    let study = std::env::args_os().nth(1).map(PathBuf::from).ok_or("usage: verdict STUDY")?;
    let lab = Lab::open(&study, LabOptions::default())?;
    let results = lab.run(&mut Lines, &StopToken::default())?;
    print!("{}", verdicts(&results.study, &results.comparison, Screen::default()));
    Ok(())
}
