//! The line to a guard: what is asked goes there, what it says comes back. Dropped, the line ends, and with it the guard's server.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use std::{io, mem};

use perbuck_observe::CpuTime;

use super::folder::POLL;
use super::host::{self, Host};
use super::instance::without_passwords;
use super::talk::{Ask, Told};
use crate::error::{ErrorKind, LabError};

/// How long a guard may take to be there: `ssh` connects within ten seconds, and a program is sent.
const HERE: Duration = Duration::from_secs(60);
/// How long it may take to answer. To look at a machine it runs a program.
const ANSWER: Duration = Duration::from_secs(30);
/// How long it may take to answer while a trial is measured.
const SAMPLE: Duration = Duration::from_secs(1);
/// How often a guard on another machine is told that perbuck is there.
const PULSE: Duration = Duration::from_secs(1);
/// How long the guard of a host may take to end: longer than it takes to remove a server, and `ssh` to see that its connection is cut.
const END: Duration = Duration::from_secs(90);
/// Bytes of `ssh`'s own words that are kept.
const WORDS: usize = 4_000;

type Shared<T> = Arc<Mutex<T>>;

fn locked<T>(shared: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) struct Line {
    host: Host,
    guard: Mutex<Child>,
    pid: u32,
    /// Closed, it tells the guard to end.
    input: Shared<Option<ChildStdin>>,
    /// What comes by itself.
    told: Mutex<Receiver<Told>>,
    /// What was asked for.
    answers: Mutex<Receiver<Told>>,
    /// What `ssh` said.
    words: Shared<String>,
}

impl Line {
    /// Starts a guard on a host; `folder` is where it makes servers, if not where that machine has temporary files.
    pub(super) fn open(who: &str, host: &Host, folder: Option<&Path>) -> Result<Self, LabError> {
        let failed = |e: io::Error| {
            let (what, help) = match host {
                Host::Here => ("a guard", ""),
                Host::There(_) => ("ssh", "install OpenSSH's client"),
            };
            LabError::failed(format!("{who}: cannot start {what}: {e}"), help)
        };
        let line = Self::spawn(host, folder).map_err(failed)?;
        line.launch(who)?;
        if matches!(host, Host::There(_)) {
            let input = Arc::clone(&line.input);
            thread::Builder::new().name("pulse".to_owned()).spawn(move || pulse(&input)).map_err(failed)?;
        }
        Ok(line)
    }

    fn spawn(host: &Host, folder: Option<&Path>) -> io::Result<Self> {
        let is_remote = matches!(host, Host::There(_));
        let mut guard = without_passwords(&mut host.command(folder)?)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(if is_remote { Stdio::piped() } else { Stdio::null() })
            // Ctrl-C is for us: the server must live until the last trial is written.
            .process_group(0)
            .spawn()?;
        let (tell, told) = channel();
        let (answer, answers) = channel();
        let (output, errors) = (guard.stdout.take(), guard.stderr.take());
        let (input, words, pid) = (Arc::new(Mutex::new(guard.stdin.take())), Shared::<String>::default(), guard.id());
        let (guard, told, answers) = (Mutex::new(guard), Mutex::new(told), Mutex::new(answers));
        let line = Self { host: host.clone(), guard, pid, input, told, answers, words: Arc::clone(&words) };
        thread::Builder::new().name("guard".to_owned()).spawn(move || sort(output, &tell, &answer))?;
        if is_remote {
            thread::Builder::new().name("ssh".to_owned()).spawn(move || keep(errors, &words))?;
        }
        Ok(line)
    }

    /// Brings the program there, if it must be brought, and waits until it runs.
    fn launch(&self, who: &str) -> Result<(), LabError> {
        if let Host::There(address) = &self.host {
            let Some(Told::Hello(machine)) = self.next(HERE) else { return Err(self.unreached(who)) };
            let program = host::program_for(&machine).map_err(|why| {
                let help = "put perbuck for that architecture beside this one under that name";
                LabError::new(ErrorKind::Target, format!("{who}: {address}: {why}"), help)
            })?;
            let sent = locked(&self.input).as_mut().map_or(Ok(()), |input| host::send(&program, input));
            // Where the other side has gone, its words say more than a broken pipe.
            if sent.is_err() {
                return Err(self.unreached(who));
            }
        }
        match self.next(HERE) {
            Some(Told::Here(version)) if version == env!("CARGO_PKG_VERSION") => Ok(()),
            Some(Told::Here(version)) => {
                let message = format!("{who}: its guard is perbuck {version}, and this is {}", env!("CARGO_PKG_VERSION"));
                Err(LabError::new(ErrorKind::Target, message, "use the same version on both machines"))
            }
            _ => Err(self.unreached(who)),
        }
    }

    fn unreached(&self, who: &str) -> LabError {
        let Host::There(address) = &self.host else {
            return LabError::failed(format!("{who}: its guard does not run"), "");
        };
        let ended = self.wait(POLL * 40);
        let how = match ended {
            Some(status) if !status.success() => format!("ssh ended ({status})"),
            Some(_) => "the session ended".to_owned(),
            None => format!("no answer within {} s", HERE.as_secs()),
        };
        let help =
            format!("try `ssh {}`: it must log in without a question, and have room for perbuck's program", address.arguments());
        LabError::new(ErrorKind::Target, format!("{who}: cannot use {address}: {how}{}", self.said()), help)
    }

    /// What `ssh` said, for the end of a message.
    fn said(&self) -> String {
        let words = locked(&self.words);
        let lines: Vec<&str> = words.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        if lines.is_empty() { String::new() } else { format!("; it said: {}", lines.join("; ")) }
    }

    pub(super) fn host(&self) -> &Host {
        &self.host
    }

    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    pub(super) fn send(&self, ask: &Ask) -> io::Result<()> {
        let text = serde_json::to_string(ask)? + "\n";
        locked(&self.input).as_mut().map_or(Ok(()), |input| input.write_all(text.as_bytes()))
    }

    /// Asks, and waits for the answer; `None` where there is none.
    pub(super) fn ask(&self, ask: &Ask) -> Option<Told> {
        self.send(ask).ok().and_then(|()| self.next(ANSWER))
    }

    /// The CPU time of the server so far, where its guard tells it at once.
    pub(super) fn cpu(&self) -> Option<CpuTime> {
        self.send(&Ask::Cpu).ok()?;
        match self.next(SAMPLE)? {
            Told::Cpu(time) => time.map(|(user_ns, system_ns)| CpuTime { user_ns, system_ns }),
            _ => None,
        }
    }

    fn next(&self, limit: Duration) -> Option<Told> {
        locked(&self.answers).recv_timeout(limit).ok()
    }

    /// That its guard does not answer.
    pub(super) fn lost(&self, who: &str) -> LabError {
        LabError::new(ErrorKind::Target, format!("{who}: its guard does not answer{}", self.said()), "")
    }

    /// The next thing that the guard said by itself, if there is any.
    pub(super) fn told(&self) -> Option<Told> {
        let told = locked(&self.told).try_recv();
        match told {
            Ok(told) => Some(told),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => {
                let how = match &self.host {
                    Host::Here => "its guard was killed".to_owned(),
                    Host::There(address) => format!("the connection to {address} ended{}", self.said()),
                };
                Some(Told::Ended { process: "server".to_owned(), how, words: String::new() })
            }
        }
    }

    /// Waits for the end of the guard's process.
    fn wait(&self, limit: Duration) -> Option<ExitStatus> {
        let began = Instant::now();
        loop {
            match locked(&self.guard).try_wait() {
                Ok(None) if began.elapsed() < limit => {}
                ended => return ended.ok().flatten(),
            }
            thread::sleep(POLL);
        }
    }

    /// Ends the server and its guard; whether nothing is left of it for certain.
    pub(super) fn end(&self) -> bool {
        self.end_within(END)
    }

    /// The same; a session with another machine is given up after a while.
    pub(super) fn end_within(&self, limit: Duration) -> bool {
        drop(mem::take(&mut *locked(&self.input)));
        let guard = || locked(&self.guard);
        match self.host {
            // The guard kills a server that does not end, so this ends.
            Host::Here => guard().wait().is_ok_and(|status| status.success()),
            Host::There(_) => self.wait(limit).map_or_else(
                || {
                    // It is our own `ssh` that is killed; the guard sees that the connection is gone.
                    let _ = guard().kill().and_then(|()| guard().wait());
                    false
                },
                |status| status.success(),
            ),
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.end();
    }
}

/// Sorts what a guard says. Lines that are none of its words are those of login scripts.
fn sort(output: Option<impl Read>, tell: &Sender<Told>, answer: &Sender<Told>) {
    for line in output.into_iter().flat_map(|output| BufReader::new(output).lines()).map_while(Result::ok) {
        let Ok(told) = serde_json::from_str::<Told>(&line) else { continue };
        if (if told.answers() { answer } else { tell }).send(told).is_err() {
            return;
        }
    }
}

/// Keeps the last words of `ssh`.
fn keep(errors: Option<impl Read>, words: &Mutex<String>) {
    for line in errors.into_iter().flat_map(|errors| BufReader::new(errors).lines()).map_while(Result::ok) {
        let mut words = locked(words);
        if words.len() + line.len() < WORDS {
            words.push_str(&line);
            words.push('\n');
        }
    }
}

/// Tells a guard that perbuck is there, as long as the line is open.
fn pulse(input: &Mutex<Option<ChildStdin>>) {
    let Ok(text) = serde_json::to_string(&Ask::Pulse) else { return };
    loop {
        thread::sleep(PULSE);
        let mut input = locked(input);
        let Some(open) = input.as_mut() else { return };
        if open.write_all((text.clone() + "\n").as_bytes()).is_err() {
            return;
        }
    }
}
