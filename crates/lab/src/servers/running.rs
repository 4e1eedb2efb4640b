//! The processes of one private server, as their guard holds them: started stage by stage, and watched.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use perbuck_deploy::local::Process;

use super::folder::POLL;
use super::guard::{say, start, tell};
use super::log::last_words;
use super::order::Charge;
use super::talk::{Restart, Told};
use crate::error::{ErrorKind, LabError};

/// How long a process may take until others can use it.
const READY_TIMEOUT: Duration = Duration::from_secs(120);
/// How long a process may take to end: a server writes the changed pages of its memory.
const STOP_TIMEOUT: Duration = Duration::from_secs(20 * 60);
/// How often a process that was told to end is looked at: a restore waits for it.
const LOOK: Duration = Duration::from_millis(5);
/// How long the status port of a process may take to answer.
const ASK_TIMEOUT: Duration = Duration::from_secs(1);

pub(super) struct Running<'a> {
    pub(super) folder: &'a Path,
    pub(super) charge: &'a Charge,
    /// Tells that perbuck has gone.
    pub(super) gone: &'a Receiver<Restart>,
    pub(super) processes: Vec<(String, Child)>,
}

/// What a guard finds after a moment.
pub(super) enum Pause {
    /// All processes run.
    Goes,
    /// perbuck has gone.
    Gone,
    /// perbuck wants them stopped, and started again.
    Restart(Restart),
}

impl Running<'_> {
    /// Starts all stages, each when those before can be used; whether all of it runs and perbuck is still there.
    pub(super) fn start(&mut self, stages: &[Vec<Process>]) -> Result<bool, LabError> {
        for stage in stages {
            for process in stage {
                let input = if process.input.is_empty() { Stdio::null() } else { Stdio::piped() };
                let program = (process.program.as_path(), process.arguments.as_slice());
                let mut child = start(self.folder, self.charge, program, (&log_of(&process.name), input))?;
                say(&mut child, &process.input);
                self.processes.push((process.name.clone(), child));
            }
            for process in stage {
                if !self.is_ready(process)? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Waits until others can use a process, if they are to.
    fn is_ready(&mut self, process: &Process) -> Result<bool, LabError> {
        let Some((at, path)) = &process.ready else { return Ok(true) };
        let began = Instant::now();
        while !answers(*at, path) {
            if began.elapsed() > READY_TIMEOUT {
                let words = last_words(self.folder, &process.name, &self.charge.order.password);
                let (who, name, seconds) = (&self.charge.order.who, &process.name, READY_TIMEOUT.as_secs());
                let message = format!("{who}: {name} is not ready after {seconds} s; it said:\n{words}");
                return Err(LabError::new(ErrorKind::Target, message, "mend the `config` of its `server`, or what it says"));
            }
            if !matches!(self.pause()?, Pause::Goes) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Ends all processes, the last that were started first: `at_once`, or in the way in which each writes what it still holds.
    pub(super) fn stop(&mut self, at_once: bool) -> Result<(), LabError> {
        let signal = match (self.charge.recipe.quits, at_once) {
            // SIGTERM would let PostgreSQL wait for its clients.
            (true, false) => Signal::SIGINT,
            (true, true) => Signal::SIGQUIT,
            (false, false) => Signal::SIGTERM,
            (false, true) => Signal::SIGKILL,
        };
        for (name, mut process) in self.processes.drain(..).rev() {
            // One that has ended, too, is no failure here: it is started again.
            let _ = kill(Pid::from_raw(process.id().cast_signed()), signal);
            let began = Instant::now();
            while process.try_wait().map_err(LabError::of_file("wait for the server in", self.folder))?.is_none() {
                if began.elapsed() > STOP_TIMEOUT {
                    let (who, minutes) = (&self.charge.order.who, STOP_TIMEOUT.as_secs() / 60);
                    let message = format!("{who}: {name} has not ended {minutes} minutes after it was told to");
                    // It goes with its guard.
                    let _ = process.kill();
                    return Err(LabError::new(ErrorKind::Target, message, "look at its disk: it has pages to write"));
                }
                if matches!(self.gone.recv_timeout(LOOK), Err(RecvTimeoutError::Disconnected)) {
                    // perbuck has gone, and the data with it.
                    let _ = process.kill();
                    thread::sleep(POLL);
                }
            }
        }
        Ok(())
    }

    /// Waits for a moment, and says what was found. Where one has ended, the others are ended, too: what is
    /// left of a cluster is not what the study measures. It then waits until perbuck has gone, since the logs can be read until then.
    pub(super) fn pause(&mut self) -> Result<Pause, LabError> {
        for i in 0..self.processes.len() {
            let (name, process) = &mut self.processes[i];
            if let Some(status) = process.try_wait().map_err(LabError::of_file("wait for the server in", self.folder))? {
                let words = last_words(self.folder, name, &self.charge.order.password);
                tell(0, &Told::Ended { process: name.clone(), how: status.to_string(), words });
                for (_, other) in &mut self.processes {
                    // One that has ended, too, is no failure.
                    let _ = other.kill();
                }
                while self.gone.recv().is_ok() {}
                return Ok(Pause::Gone);
            }
        }
        Ok(match self.gone.recv_timeout(POLL) {
            Ok(restart) => Pause::Restart(restart),
            Err(RecvTimeoutError::Timeout) => Pause::Goes,
            Err(RecvTimeoutError::Disconnected) => Pause::Gone,
        })
    }
}

/// Whether a GET there is answered by 200.
fn answers(at: SocketAddr, path: &str) -> bool {
    let asked = || {
        let mut stream = TcpStream::connect_timeout(&at, ASK_TIMEOUT)?;
        stream.set_read_timeout(Some(ASK_TIMEOUT))?;
        write!(stream, "GET {path} HTTP/1.0\r\nHost: {at}\r\n\r\n")?;
        let mut status = [0; "HTTP/1.0 200".len()];
        stream.read_exact(&mut status)?;
        io::Result::Ok(status.ends_with(b" 200"))
    };
    // What does not answer is not ready.
    asked().unwrap_or(false)
}

/// The file with what a process says.
pub(super) fn log_of(process: &str) -> String {
    format!("{process}.log")
}
