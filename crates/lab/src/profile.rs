//! Profiles of perbuck and of its servers, taken in the warm-up of a trial: under the load of the trial, and over before its measured
//! window opens. The functions get their names after the trial, since that takes processor time.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use perbuck_core::run_record::{MOST_SYMBOLS, Profile};
use perbuck_core::study::{Contender, Profiled, Study};
use perbuck_observe::{Profiler, Sampled, Taken, family_of, try_out};

use crate::error::{ErrorKind, LabError};
use crate::servers::Holder;
use crate::trial::{Context, Task};

/// How long before the window `perf` is asked to end that has not ended by itself, as on a busy machine where it began late.
const ASKED: Duration = Duration::from_millis(1500);
/// How long before the window it is killed.
const KILLED: Duration = Duration::from_millis(500);
/// How often it is looked whether `perf` has ended.
const LOOK: Duration = Duration::from_millis(20);
const LATE: &str = "perf had not ended in time before the window; it was ended";

/// Of perbuck, and of its server.
#[derive(Debug)]
pub(crate) struct Both<T> {
    pub(crate) client: Option<T>,
    pub(crate) server: Option<T>,
}

impl<T> Default for Both<T> {
    fn default() -> Self {
        Self { client: None, server: None }
    }
}

type Samples = Both<Result<Taken, String>>;

/// Profiles of one trial; dropped, they end.
pub(crate) struct Profiling {
    /// Whether this process is profiled.
    of_client: bool,
    /// What is profiled of the server.
    server: Server,
    length: Duration,
    running: Option<(Sender<()>, JoinHandle<Samples>)>,
    opened: Option<Instant>,
}

/// Where a server is profiled.
enum Server {
    /// It is not.
    Not,
    /// It is the children of this process.
    ChildrenOf(u32),
    /// On its machine, by its guard.
    There(Holder),
}

impl Server {
    fn of(holder: &Holder) -> Self {
        holder.local_pid().map_or_else(|| Self::There(holder.clone()), Self::ChildrenOf)
    }

    fn guard(&self) -> Option<u32> {
        if let Self::ChildrenOf(guard) = self { Some(*guard) } else { None }
    }
}

impl Profiling {
    /// What is profiled in a trial; `None` where that is nothing.
    pub(crate) fn of(context: &Context<'_>, task: &Task<'_>) -> Option<Self> {
        let wanted = context.study.sweep_of(&task.key.workload).profile.as_ref()?.value;
        let length_ns = Profiled::length_ns(task.spec.warmup_ns)?;
        let server = task.stage.holder.as_ref().filter(|_| wanted.has_servers()).map_or(Server::Not, Server::of);
        let of_client = wanted.has_client() && context.fleet.is_none();
        let length = Duration::from_nanos(length_ns);
        (of_client || !matches!(server, Server::Not)).then_some(Self { of_client, server, length, running: None, opened: None })
    }

    /// A profile of the children of a process alone.
    pub(crate) fn of_children(guard: u32, length: Duration) -> Self {
        Self { of_client: false, server: Server::ChildrenOf(guard), length, running: None, opened: None }
    }

    /// The start was given.
    pub(crate) fn start(&mut self, opens_in: Duration) {
        let (stop, stopped) = channel();
        let opens = Instant::now() + opens_in;
        let (of_client, guard, length) = (self.of_client, self.server.guard(), self.length);
        if let Server::There(holder) = &self.server {
            holder.profile(length, opens_in);
        }
        let run = move || {
            let from = opens.checked_sub(Duration::from_nanos(Profiled::BEFORE_WINDOW_NS) + length);
            let is_stopped = |wait| !matches!(stopped.recv_timeout(wait), Err(RecvTimeoutError::Timeout));
            if from.is_none_or(|from| is_stopped(from.saturating_duration_since(Instant::now()))) {
                return Samples::default();
            }
            let own = of_client.then(|| Profiler::start(&[std::process::id()], length));
            let server = guard.map(|guard| Profiler::start(&children(guard), length));
            wait([&own, &server], opens, &stopped);
            Samples { client: own.map(taken), server: server.map(taken) }
        };
        // Without a thread there are no profiles, which the record says.
        self.running = Builder::new().name("profile".to_owned()).spawn(run).ok().map(|thread| (stop, thread));
    }

    /// The window opens.
    pub(crate) fn open(&mut self) {
        self.opened = Some(Instant::now());
    }

    /// The profiles, with the names of functions.
    pub(crate) fn finish(mut self) -> Both<Profile> {
        let opened = self.opened.unwrap_or_else(Instant::now);
        let samples = self.end().unwrap_or_default();
        let one = |samples: Option<Result<Taken, String>>| {
            let samples = samples.unwrap_or_else(|| Err("the trial ended before it".to_owned()));
            samples.and_then(|taken| named(taken, opened)).unwrap_or_else(Profile::not_taken)
        };
        let client = self.of_client.then(|| one(samples.client));
        let server = match &self.server {
            Server::Not => None,
            Server::ChildrenOf(_) => Some(one(samples.server)),
            Server::There(holder) => Some(holder.profiled()),
        };
        Both { client, server }
    }

    /// Ends what still runs.
    fn end(&mut self) -> Option<Samples> {
        let (stop, thread) = self.running.take()?;
        drop(stop);
        thread.join().ok()
    }
}

impl Drop for Profiling {
    fn drop(&mut self) {
        self.end();
    }
}

/// Until both have ended, the window is near, or the trial is over.
fn wait(both: [&Option<Result<Profiler, String>>; 2], opens: Instant, stopped: &Receiver<()>) {
    let profilers = || both.into_iter().flatten().flatten();
    let left = || opens.saturating_duration_since(Instant::now());
    while profilers().any(|profiler| !profiler.is_over()) && left() > KILLED {
        if left() < ASKED {
            profilers().for_each(Profiler::ask_to_end);
        }
        if !matches!(stopped.recv_timeout(LOOK), Err(RecvTimeoutError::Timeout)) {
            return;
        }
    }
}

fn taken(started: Result<Profiler, String>) -> Result<Taken, String> {
    let profiler = started?;
    if profiler.is_over() {
        return profiler.take();
    }
    profiler.end();
    // Its end is waited for.
    drop(profiler.take());
    Err(LATE.to_owned())
}

/// The processes of the server: the guard itself is none.
fn children(guard: u32) -> Vec<u32> {
    family_of(guard).into_iter().filter(|pid| *pid != guard).collect()
}

fn named(taken: Taken, opened: Instant) -> Result<Profile, String> {
    let before_ms = |at: Instant| opened.checked_duration_since(at).map(|d| u32::try_from(d.as_millis()).unwrap_or(u32::MAX));
    let (Some(began_before_ms), Some(ended_before_ms)) = (before_ms(taken.began), before_ms(taken.ended)) else {
        return Err(LATE.to_owned());
    };
    let Sampled { mut symbols, user_only } = taken.named()?;
    let samples = symbols.iter().fold(0, |sum: u64, symbol| sum.saturating_add(symbol.samples));
    symbols.truncate(MOST_SYMBOLS);
    Ok(Profile { began_before_ms, ended_before_ms, samples, user_only, symbols, not_taken: None })
}

/// Whether the profiles that a study asks for can be taken on this machine.
///
/// # Errors
/// Why they cannot, and the ways out.
pub(crate) fn possible(study: &Study, by_agents: bool) -> Result<(), LabError> {
    let Some(asked) = &study.sweep.profile else { return Ok(()) };
    let line = asked.line;
    if by_agents && asked.value.has_client() {
        let message = format!("line {line}: perbuck profiles itself, and here agents apply the load");
        return Err(LabError::usage(message, "write `profile = \"servers\"`, leave it out, or run without agents"));
    }
    // Servers on this machine have the same `perf` as this process.
    let is_here = |c: &Contender| c.server.as_ref().is_some_and(|server| server.host.is_none());
    let of_client = asked.value.has_client();
    if !of_client && !study.contenders.iter().any(is_here) {
        return Ok(());
    }
    try_out(of_client).map_err(|why| impossible(line, "here", &why))
}

/// That `perf` cannot be used on a machine.
pub(crate) fn impossible(line: usize, machine: &str, why: &str) -> LabError {
    let help = "install linux-perf (Debian) or linux-tools (Ubuntu), run perbuck as root, or leave `profile` out";
    LabError::new(ErrorKind::Usage, format!("line {line}: `profile` is not possible {machine}: {why}"), help)
}
