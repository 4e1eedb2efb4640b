//! Agents on this machine, each in a process of its own.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, reason = "each test binary uses its own part of this")]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::thread;

use super::Desk;

/// An agent that ends with the test, and where it listens.
pub struct Running(pub Child, pub String);

impl Running {
    /// With the file `token` of the desk.
    pub fn start(desk: &Desk) -> Self {
        Self::of(desk.command(&["agent", "--listen", "127.0.0.1:0", "--token-file", "token"]))
    }

    /// By this command.
    pub fn of(mut agent: Command) -> Self {
        let mut child = agent.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let first = lines.next().unwrap().unwrap();
        // The pipe is kept empty.
        thread::spawn(move || lines.for_each(drop));
        let (_, address) = first.split_once(" listens at ").unwrap_or_else(|| panic!("the agent said: {first}"));
        Self(child, address.to_owned())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A desk with a token, and so many agents.
pub fn agents(desk: &Desk, count: usize) -> Vec<Running> {
    let made = desk.good(&["fleet", "token"]);
    desk.write("token", &made.out);
    (0..count).map(|_| Running::start(desk)).collect()
}

/// Their addresses, as a command takes them.
pub fn addresses(agents: &[Running]) -> String {
    agents.iter().map(|a| a.1.clone()).collect::<Vec<_>>().join(",")
}
