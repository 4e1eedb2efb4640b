//! An agent that a guard runs on a machine that `ssh` reaches: the same line that holds a server holds an agent.

use std::net::SocketAddr;
use std::sync::mpsc::Receiver;
use std::thread;
use std::time::Duration;

use perbuck_fleet::{Build, Token};
use perbuck_load::stop::StopToken;

use super::guard::{Asked, SILENCE, tell};
use super::host::{Address, Host};
use super::line::Line;
use super::order::{free_port, reached_at};
use super::talk::{Ask, Told};
use crate::error::{ErrorKind, Failure, LabError};
use crate::fleet::{AgentOptions, serve as serve_coordinators};
use crate::process;
use crate::progress::Quiet;
use crate::registry::Registry;

/// How long an agent may take to end.
const END: Duration = Duration::from_secs(3);

/// An agent that perbuck started on another machine; dropped, it ends.
pub(crate) struct RemoteAgent {
    line: Line,
    /// Where it listens, as `host:port`.
    pub(crate) at: String,
    /// What it and this process alone know.
    pub(crate) token: Token,
}

impl RemoteAgent {
    /// Starts one on the machine of an address, such as `ssh://user@load-1`.
    pub(crate) fn start(address: &str, stop: &StopToken) -> Result<Self, LabError> {
        let who = format!("agent {address}");
        let host = Address::read(address)
            .map_err(|why| LabError::usage(format!("--agents: {why}"), "write it like ssh://user@load-1"))?;
        let made = Token::made().and_then(|text| Ok((Token::of(&text)?, text)));
        let (token, text) = made.map_err(|e| LabError::failed(format!("{who}: {e}"), ""))?;
        let line = Line::open(&who, &Host::There(host), None, stop)?;
        match line.ask(&Ask::Serve(text)) {
            Some(Told::Serves(Ok(at))) => Ok(Self { line, at: at.to_string(), token }),
            Some(Told::Serves(Err(failure))) => Err(failure.error()),
            _ => Err(line.lost(&who)),
        }
    }
}

impl Drop for RemoteAgent {
    fn drop(&mut self) {
        // It leaves nothing on its machine, so there is nothing to wait for.
        self.line.end_within(END);
    }
}

/// Serves the coordinator that asked for it, until that is gone.
pub(super) fn serve(token: &str, number: u64, asks: &Receiver<Asked>) -> Result<(), LabError> {
    process::begin(|_| {});
    process::keep_private();
    let options = match options(token) {
        Ok(options) => options,
        Err(error) => {
            tell(number, &Told::Serves(Err(Failure::from(error))));
            return Ok(());
        }
    };
    let serving = thread::spawn(move || {
        let mut listening = |at: SocketAddr| tell(number, &Told::Serves(Ok(at)));
        if let Err(error) = serve_coordinators(&options, &mut listening, &mut Quiet, &StopToken::default()) {
            tell(number, &Told::Serves(Err(error.into())));
        }
    });
    // Only pulses come. The process ends after them, and its sessions with it.
    while asks.recv_timeout(SILENCE).is_ok() && !serving.is_finished() {}
    Ok(())
}

fn options(token: &str) -> Result<AgentOptions, LabError> {
    let failed = |e: String| LabError::new(ErrorKind::Target, format!("the agent cannot start: {e}"), "");
    let token = Token::of(token).map_err(failed)?;
    let address = reached_at("the agent")?;
    let listen = SocketAddr::new(address, free_port(address).map_err(|e| failed(e.to_string()))?);
    Ok(AgentOptions { listen, token, build: Build::running(), clock_ahead_ns: 0, registry: Registry::default() })
}
