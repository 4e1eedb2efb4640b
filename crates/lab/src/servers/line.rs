//! The line to a guard: what is asked goes there, what it says comes back. Dropped, the line ends, and with it the guard's server.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use std::{io, mem};

use perbuck_core::run_record::{MachineSamples, Profile};
use perbuck_load::stop::StopToken;

use super::folder::POLL;
use super::host::{self, Host};
use super::instance::without_passwords;
use super::talk::{Ask, Numbered, Told};
use crate::error::{ErrorKind, LabError};
use crate::sampler::ServerSeen;

/// How long a guard may take to be there: `ssh` connects within ten seconds, and a program is sent.
const HERE: Duration = Duration::from_secs(60);
/// How long it may take to answer. To look at a machine it runs a program.
const ANSWER: Duration = Duration::from_secs(30);
/// How long it may take to name the symbols of a profile.
const NAMES: Duration = Duration::from_secs(180);
/// How long it may take to answer while a trial is measured.
const SAMPLE: Duration = Duration::from_secs(1);
/// How often a guard on another machine is told that perbuck is there.
const PULSE: Duration = Duration::from_secs(1);
/// How long the guard of a host may take to remove a server with its data. `ssh` itself sees within seconds that its connection is cut.
const END: Duration = Duration::from_secs(600);
/// Lines of `ssh`'s own words that are kept, and characters of each.
const LINES: usize = 4;
const LINE_MAX: usize = 300;

/// What helps where a line has ended.
pub(super) const GONE: &str = "is its machine up? run the same command again; finished trials are kept";

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
    /// What was asked for, each with the number of its question.
    answers: Mutex<Receiver<Numbered<Told>>>,
    /// The number of the last question.
    asked: AtomicU64,
    /// What `ssh` said.
    words: Shared<VecDeque<String>>,
}

impl Line {
    /// Starts a guard on a host; `folder` is where it makes servers, if not where that machine has temporary files.
    pub(super) fn open(who: &str, host: &Host, folder: Option<&Path>, stop: &StopToken) -> Result<Self, LabError> {
        let failed = |e: io::Error| {
            let (what, help) = match host {
                Host::Here => ("a guard", ""),
                Host::There(_) => ("ssh", "install OpenSSH's client"),
            };
            LabError::new(ErrorKind::Target, format!("{who}: cannot start {what}: {e}"), help)
        };
        let line = Self::spawn(host, folder).map_err(failed)?;
        line.launch(who, stop)?;
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
        let (input, words, pid) = (Arc::new(Mutex::new(guard.stdin.take())), Shared::<VecDeque<String>>::default(), guard.id());
        let (guard, told, answers) = (Mutex::new(guard), Mutex::new(told), Mutex::new(answers));
        let (host, asked) = (host.clone(), AtomicU64::new(0));
        let line = Self { host, guard, pid, input, told, answers, asked, words: Arc::clone(&words) };
        thread::Builder::new().name("guard".to_owned()).spawn(move || sort(output, &tell, &answer))?;
        if is_remote {
            thread::Builder::new().name("ssh".to_owned()).spawn(move || keep(errors, &words))?;
        }
        Ok(line)
    }

    /// Brings the program there, if it must be brought, and waits until it runs.
    fn launch(&self, who: &str, stop: &StopToken) -> Result<(), LabError> {
        if let Host::There(address) = &self.host {
            let Some(Told::Hello(machine)) = self.first(stop) else { return Err(self.unreached(who, stop)) };
            let program = host::program_for(&machine).map_err(|why| {
                let help = "put perbuck for that architecture beside this one under that name";
                LabError::new(ErrorKind::Target, format!("{who}: {address}: {why}"), help)
            })?;
            let sent = locked(&self.input).as_mut().map_or(Ok(()), |input| host::send(&program, input));
            // Where the other side has gone, its words say more than a broken pipe.
            if sent.is_err() {
                return Err(self.unreached(who, stop));
            }
        }
        match self.first(stop) {
            Some(Told::Here(version)) if version == env!("CARGO_PKG_VERSION") => Ok(()),
            Some(Told::Here(version)) => {
                let message = format!("{who}: its guard is perbuck {version}, and this is {}", env!("CARGO_PKG_VERSION"));
                Err(LabError::new(ErrorKind::Target, message, "use the same version on both machines"))
            }
            _ => Err(self.unreached(who, stop)),
        }
    }

    /// The next thing that comes before anything is asked.
    fn first(&self, stop: &StopToken) -> Option<Told> {
        let began = Instant::now();
        while !stop.requested() && began.elapsed() < HERE {
            match locked(&self.answers).recv_timeout(POLL) {
                Ok((_, told)) => return Some(told),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
        None
    }

    fn unreached(&self, who: &str, stop: &StopToken) -> LabError {
        let Host::There(address) = &self.host else {
            return LabError::failed(format!("{who}: its guard does not run"), "");
        };
        let ended = self.wait(POLL * 20);
        if ended.is_none() {
            self.kill();
        }
        // Its last words are read by another thread, which then gives up its share of them.
        let began = Instant::now();
        while Arc::strong_count(&self.words) > 1 && began.elapsed() < POLL * 20 {
            thread::sleep(POLL);
        }
        if stop.requested() {
            return LabError::interrupted();
        }
        let how = match ended {
            Some(status) if !status.success() => format!("ssh ended ({status})"),
            Some(_) => "the session ended".to_owned(),
            None => format!("no answer within {} s", HERE.as_secs()),
        };
        let help = format!(
            "try `ssh {}`: it must log in without a question; its folder for temporary files, or `folder` of the `server`, must have room \
             for perbuck's program and let it run",
            address.arguments()
        );
        LabError::new(ErrorKind::Target, format!("{who}: cannot use {address}: {how}{}", self.said()), help)
    }

    /// What `ssh` said, for the end of a message.
    fn said(&self) -> String {
        let words = locked(&self.words);
        let lines: Vec<&str> = words.iter().map(|line| line.trim()).filter(|line| !line.is_empty()).collect();
        if lines.is_empty() { String::new() } else { format!("; it said: {}", lines.join("; ")) }
    }

    pub(super) fn host(&self) -> &Host {
        &self.host
    }

    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    /// Sends something; the number that an answer to it has.
    pub(super) fn send(&self, ask: &Ask) -> io::Result<u64> {
        let number = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        let text = serde_json::to_string(&(number, ask))? + "\n";
        locked(&self.input).as_mut().map_or(Ok(()), |input| input.write_all(text.as_bytes()))?;
        Ok(number)
    }

    /// Asks, and waits for the answer; `None` where there is none.
    pub(super) fn ask(&self, ask: &Ask) -> Option<Told> {
        let limit = if matches!(ask, Ask::Clean(_)) { END } else { ANSWER };
        self.answer_within(ask, limit)
    }

    /// The CPU time of the server so far, and what limits did to it, where its guard tells it at once.
    pub(super) fn seen(&self) -> Option<ServerSeen> {
        if let Told::Seen(seen) = self.answer_within(&Ask::See, SAMPLE)? { seen } else { None }
    }

    /// What its machine did since the guard was asked to watch it.
    pub(super) fn watched(&self) -> Option<MachineSamples> {
        if let Told::Watched(samples) = self.answer_within(&Ask::Watched, ANSWER)? { samples.map(|all| *all) } else { None }
    }

    /// The answer to what takes long, unless a stop is requested before.
    pub(super) fn ask_until(&self, ask: &Ask, limit: Duration, stop: &StopToken) -> Option<Told> {
        let answers = locked(&self.answers);
        let (number, until) = (self.send(ask).ok()?, Instant::now() + limit);
        while !stop.requested() && Instant::now() < until {
            match answers.recv_timeout(POLL) {
                Ok((of, told)) if of == number => return Some(told),
                Ok(_) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
        None
    }

    /// Where its server's processes spent their processor time; the symbols of programs are read for it.
    pub(super) fn profiled(&self) -> Option<Box<Profile>> {
        if let Told::Profiled(profile) = self.answer_within(&Ask::Profiled, NAMES)? { profile } else { None }
    }

    fn answer_within(&self, ask: &Ask, limit: Duration) -> Option<Told> {
        let answers = locked(&self.answers);
        let (number, until) = (self.send(ask).ok()?, Instant::now() + limit);
        loop {
            let (of, told) = answers.recv_timeout(until.saturating_duration_since(Instant::now())).ok()?;
            if of == number {
                return Some(told);
            }
        }
    }

    /// That its guard does not answer.
    pub(super) fn lost(&self, who: &str) -> LabError {
        LabError::new(ErrorKind::Target, format!("{who}: its guard does not answer{}", self.said()), GONE)
    }

    /// The next thing that the guard said by itself, if there is any.
    pub(super) fn told(&self) -> Option<Told> {
        let told = locked(&self.told).try_recv();
        match told {
            Ok(told) => Some(told),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(Told::Gone(match &self.host {
                Host::Here => "its guard was killed".to_owned(),
                Host::There(address) => format!("the connection to {address} ended{}", self.said()),
            })),
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
        match self.host {
            // The guard kills a server that does not end, so this ends.
            Host::Here => locked(&self.guard).wait().is_ok_and(|status| status.success()),
            Host::There(_) => self.wait(limit).map_or_else(|| self.kill(), |status| status.success()),
        }
    }

    /// Kills our own `ssh`: the guard sees that the connection is gone. Nothing is known of what is left.
    fn kill(&self) -> bool {
        let mut guard = locked(&self.guard);
        // One that has ended meanwhile is no failure.
        let _ = guard.kill();
        let _ = guard.wait();
        false
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.end();
    }
}

/// Sorts what a guard says. Lines that are none of its words are those of login scripts.
fn sort(output: Option<impl Read>, tell: &Sender<Told>, answer: &Sender<Numbered<Told>>) {
    for line in output.into_iter().flat_map(|output| BufReader::new(output).split(b'\n')).map_while(Result::ok) {
        // By text, as records are read: a reader of bytes for the same types would be a second one in the program.
        let read = str::from_utf8(&line).ok().and_then(|line| serde_json::from_str::<Numbered<Told>>(line).ok());
        let Some((number, told)) = read else { continue };
        let sent = if told.answers() { answer.send((number, told)).is_ok() } else { tell.send(told).is_ok() };
        if !sent {
            return;
        }
    }
}

/// Keeps the last lines of `ssh`: a banner comes before what matters.
fn keep(errors: Option<impl Read>, words: &Mutex<VecDeque<String>>) {
    for line in errors.into_iter().flat_map(|errors| BufReader::new(errors).split(b'\n')).map_while(Result::ok) {
        let mut words = locked(words);
        if words.len() == LINES {
            words.pop_front();
        }
        words.push_back(String::from_utf8_lossy(&line).chars().take(LINE_MAX).collect());
    }
}

/// Tells a guard that perbuck is there, as long as the line is open.
fn pulse(input: &Mutex<Option<ChildStdin>>) {
    let Ok(text) = serde_json::to_string(&(0, Ask::Pulse)) else { return };
    loop {
        thread::sleep(PULSE);
        let mut input = locked(input);
        let Some(open) = input.as_mut() else { return };
        if open.write_all((text.clone() + "\n").as_bytes()).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// A guard that is a script of a shell.
    fn line(script: &str) -> Line {
        let mut guard = Command::new("sh")
            .args(["-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .unwrap();
        let ((tell, told), (answer, answers)) = (channel(), channel());
        let (output, input, pid) = (guard.stdout.take(), guard.stdin.take(), guard.id());
        thread::spawn(move || sort(output, &tell, &answer));
        let host = Host::There(host::Address::read("ssh://a").unwrap());
        let (guard, told, answers) = (Mutex::new(guard), Mutex::new(told), Mutex::new(answers));
        let (asked, input, words) = (AtomicU64::new(0), Arc::new(Mutex::new(input)), Shared::default());
        Line { host, guard, pid, input, told, answers, asked, words }
    }

    #[test]
    fn a_late_answer_is_taken_for_no_other() {
        // It answers the first question after the limit, together with the second one; login scripts said something before.
        let slow = line(
            "printf 'hello \\377\\n'; read a; read b; echo '[1,{\"Here\":\"1\"}]'; echo '[2,{\"Here\":\"2\"}]'; cat >/dev/null",
        );
        assert!(slow.answer_within(&Ask::See, Duration::from_millis(50)).is_none());
        let Some(Told::Here(told)) = slow.answer_within(&Ask::See, Duration::from_secs(60)) else { panic!() };
        assert_eq!(told, "2");
        assert!(slow.end(), "it ends with its input");
    }

    #[test]
    fn the_last_words_of_a_session_are_told() {
        let refused = line("exit 255");
        let words = Arc::clone(&refused.words);
        let reader = thread::spawn(move || {
            thread::sleep(POLL * 2);
            keep(Some(&b"Connection refused\n"[..]), &words);
        });
        let told = refused.unreached("c", &StopToken::default());
        assert!(told.words().0.contains("exit status: 255); it said: Connection refused"), "{told:?}");
        reader.join().unwrap();
    }

    #[test]
    fn a_session_that_does_not_end_is_killed() {
        let stuck = line("exec sleep 600");
        assert!(!stuck.end_within(Duration::from_millis(200)), "nothing is known of what it held");
    }
}
