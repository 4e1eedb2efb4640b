//! Where processes spend their processor time, by samples that Linux' `perf` takes of them.
//!
//! `perf` writes through a pipe, so that no file is left of a program that is killed. It ends by itself after the length that it was
//! given, and before that with the processes that it samples.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use perbuck_core::run_record::SymbolSamples;

use crate::cpu_time::children_of;

/// Samples of each second of processor time. No divisor of the kernel's ticks, so that none of its timers is met each time.
const PER_S: &str = "499";
/// How long `perf` may take to name the functions: it reads the symbols of every program.
const REPORT_LIMIT: Duration = Duration::from_secs(120);
/// How long [`try_out`] samples.
const TRIED: Duration = Duration::from_millis(200);
/// What `perf` calls a program or library that it does not know.
const UNKNOWN: &str = "[unknown]";

/// `perf` that samples processes.
#[derive(Debug)]
pub struct Profiler {
    group: Pid,
    waits: JoinHandle<(io::Result<Output>, Instant)>,
    began: Instant,
    /// Whether it was asked to end.
    asked: AtomicBool,
}

/// What was sampled, not yet with names.
#[derive(Debug)]
pub struct Taken {
    data: Vec<u8>,
    /// When it began.
    pub began: Instant,
    /// When `perf` had ended.
    pub ended: Instant,
}

/// The functions that were sampled.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sampled {
    /// By their samples, most first.
    pub symbols: Vec<SymbolSamples>,
    /// Whether the kernel's part is missing.
    pub user_only: bool,
}

/// A process and all that it and its children have started.
pub fn family_of(pid: u32) -> Vec<u32> {
    let mut family = vec![pid];
    let mut next = 0;
    while let Some(parent) = family.get(next).copied() {
        family.extend(children_of(parent).unwrap_or_default().into_iter().map(|(child, _)| child));
        next += 1;
    }
    family
}

impl Profiler {
    /// Samples these processes for so long.
    ///
    /// # Errors
    /// There is no `perf`, in words.
    pub fn start(pids: &[u32], length: Duration) -> Result<Self, String> {
        let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
        let mut command = perf();
        // Without build ids it need not read the programs at its end; with the events of BPF programs its end takes up to a second.
        command.args([
            "record",
            "-q",
            "-N",
            "-B",
            "--no-bpf-event",
            "-e",
            "cpu-clock",
            "-F",
            PER_S,
            "-o",
            "-",
            "-p",
            &pids.join(","),
        ]);
        command.args(["--", "sleep", &format!("{:.3}", length.as_secs_f64())]);
        let began = Instant::now();
        let child = started(&mut command)?;
        let group = Pid::from_raw(child.id().cast_signed());
        let waits = Builder::new().name("perf".to_owned()).spawn(move || (child.wait_with_output(), Instant::now()));
        match waits {
            Ok(waits) => Ok(Self { group, waits, began, asked: AtomicBool::new(false) }),
            Err(e) => {
                end(group);
                Err(format!("the system gave no thread for perf: {e}"))
            }
        }
    }

    /// Whether it has ended.
    pub fn is_over(&self) -> bool {
        self.waits.is_finished()
    }

    /// Asks it to write what it has, and to end.
    pub fn ask_to_end(&self) {
        if !self.is_over() && !self.asked.swap(true, Ordering::Relaxed) {
            // One that has ended is gone already.
            let _ = killpg(self.group, Signal::SIGINT);
        }
    }

    /// Ends it where it still runs.
    pub fn end(&self) {
        if !self.is_over() {
            end(self.group);
        }
    }

    /// What it has sampled, when it has ended.
    ///
    /// # Errors
    /// What `perf` says.
    pub fn take(self) -> Result<Taken, String> {
        let Ok((output, ended)) = self.waits.join() else { return Err("the thread that waits for perf failed".to_owned()) };
        let output = output.map_err(|e| format!("cannot read from perf: {e}"))?;
        // After it has written everything it ends by the signal that it was sent.
        let as_asked = self.asked.load(Ordering::Relaxed) && output.status.signal() == Some(Signal::SIGINT as i32);
        if !output.status.success() && !as_asked {
            return Err(words(&output));
        }
        Ok(Taken { data: output.stdout, began: self.began, ended })
    }
}

impl Taken {
    /// The functions. That may take seconds, since `perf` reads the symbols of every program.
    ///
    /// # Errors
    /// What `perf` says, in words.
    pub fn named(self) -> Result<Sampled, String> {
        let mut command = perf();
        command.args(["report", "-i", "-", "--stdio", "--no-children", "--no-inline", "-g", "none", "--percent-limit", "0"]);
        command.args(["--sort", "dso,sym", "-F", "sample,dso,sym", "-t", "\t"]);
        let output = finished(&mut command, self.data, REPORT_LIMIT)?;
        if output.status.success() { Ok(read(&String::from_utf8_lossy(&output.stdout))) } else { Err(words(&output)) }
    }
}

/// Whether `perf` can sample this process, or else a program of this user, and name its functions. A fraction of a second is tried.
///
/// # Errors
/// Why it cannot, in words.
pub fn try_out(own: bool) -> Result<(), String> {
    let mut busy = None;
    if !own {
        let started = Command::new("sh").args(["-c", "while :; do :; done"]).stdin(Stdio::null()).spawn();
        busy = Some(started.map_err(|e| format!("cannot run a program to sample: {e}"))?);
    }
    let pid = busy.as_ref().map_or_else(std::process::id, Child::id);
    let found = sampled(pid);
    if let Some(mut busy) = busy {
        // It runs until it is killed.
        let _ = busy.kill();
        let _ = busy.wait();
    }
    let found = found?;
    match found.symbols.iter().any(|symbol| symbol.object != UNKNOWN) {
        true => Ok(()),
        false if found.symbols.is_empty() => Err("perf took no samples of a process that worked".to_owned()),
        false => Err("perf may not read which programs a process is made of (/proc/PID/maps)".to_owned()),
    }
}

/// The functions of a process, which has processor time as long as this one works.
fn sampled(pid: u32) -> Result<Sampled, String> {
    let profiler = Profiler::start(&[pid], TRIED)?;
    let mut x = 1u64;
    while !profiler.is_over() && profiler.began.elapsed() < REPORT_LIMIT {
        x = std::hint::black_box(x.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    }
    profiler.end();
    profiler.take()?.named()
}

/// `perf`, which gets nothing of this process' environment but where programs are: neither secrets, nor settings of its own, nor a server
/// for symbols on the network.
fn perf() -> Command {
    let mut command = Command::new("perf");
    command
        .env_clear()
        .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
        .env("PERF_CONFIG", "/dev/null")
        .env("LC_ALL", "C");
    // In its own group, so that all of it can be ended, and a signal from the terminal reaches perbuck alone.
    command.process_group(0).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn started(command: &mut Command) -> Result<Child, String> {
    command.spawn().map_err(|e| match e.kind() {
        io::ErrorKind::NotFound => "there is no `perf` on this machine".to_owned(),
        _ => format!("cannot run perf: {e}"),
    })
}

fn end(group: Pid) {
    // One that has ended is gone already.
    let _ = killpg(group, Signal::SIGKILL);
}

/// Runs it with that input, and ends it after a limit.
fn finished(command: &mut Command, input: Vec<u8>, limit: Duration) -> Result<Output, String> {
    let mut child = started(command.stdin(Stdio::piped()))?;
    let group = Pid::from_raw(child.id().cast_signed());
    let pipe = child.stdin.take();
    let (tell, told) = channel();
    let failed = |e: io::Error| {
        end(group);
        format!("the system gave no thread for perf: {e}")
    };
    // One that ends early reads no more; its status says why.
    let writes = move || pipe.map(|mut pipe| pipe.write_all(&input));
    Builder::new().name("perf input".to_owned()).spawn(writes).map_err(failed)?;
    let waits = move || tell.send(child.wait_with_output());
    Builder::new().name("perf".to_owned()).spawn(waits).map_err(failed)?;
    match told.recv_timeout(limit) {
        Ok(output) => output.map_err(|e| format!("cannot read from perf: {e}")),
        Err(_) => {
            end(group);
            Err(format!("perf did not name the functions within {} s", limit.as_secs()))
        }
    }
}

/// The first lines that `perf` says of an error.
fn words(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty() && *line != "Error:").take(2).collect();
    if lines.is_empty() { format!("perf failed ({})", output.status) } else { format!("perf says: {}", lines.join(" ")) }
}

/// Reads the table of `perf report`: samples, program or library, and function, with tabs between them.
fn read(text: &str) -> Sampled {
    let user_only = text.lines().any(|line| line.starts_with("# Samples:") && line.contains("cpu-clock:u"));
    let mut sums: BTreeMap<(String, String), u64> = BTreeMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let mut columns = line.splitn(3, '\t').map(str::trim);
        let (Some(samples), Some(object), Some(symbol)) = (columns.next(), columns.next(), columns.next()) else { continue };
        let Ok(samples) = samples.parse::<u64>() else { continue };
        *sums.entry((object.to_owned(), named(symbol))).or_default() += samples;
    }
    let one = |((object, symbol), samples)| SymbolSamples { symbol, object, samples };
    let mut symbols: Vec<SymbolSamples> = sums.into_iter().map(one).collect();
    symbols.sort_by_key(|symbol| std::cmp::Reverse(symbol.samples));
    Sampled { symbols, user_only }
}

/// `[.] main` is a function; `[.] 0x00000000000068e1` is an address of a program that names none.
fn named(symbol: &str) -> String {
    let name = symbol.split_once("] ").map_or(symbol, |(_, name)| name).trim();
    let digits = name.strip_prefix("0x").filter(|digits| !digits.is_empty() && digits.chars().all(|c| c.is_ascii_hexdigit()));
    if digits.is_some() || name.is_empty() { SymbolSamples::NO_SYMBOL.to_owned() } else { name.to_owned() }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by it")]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_perf_becomes_symbols_by_their_samples() {
        let text = "# To display the perf.data header info, please use --header/--header-only options.\n#\n# Samples: 12  of event 'cpu-clock'\n\
            #      Samples\tShared Object       \tSymbol   \n 4          \tmariadbd            \t[.] Item_func::val_int() const  \n \
            1          \tmariadbd            \t[.] 0x00000000000068e1\n 2          \tmariadbd            \t[.] 0x000000000000aecb\n \
            5          \t[kernel.kallsyms]   \t[k] finish_task_switch.isra.0\n\n";
        let found = read(text);
        let symbols: Vec<(&str, &str, u64)> = found.symbols.iter().map(|s| (&*s.object, &*s.symbol, s.samples)).collect();
        let expected = [
            ("[kernel.kallsyms]", "finish_task_switch.isra.0", 5),
            ("mariadbd", "Item_func::val_int() const", 4),
            ("mariadbd", "(no symbol)", 3),
        ];
        assert_eq!((symbols, found.user_only), (expected.to_vec(), false));
        assert!(read(&text.replace("cpu-clock", "cpu-clock:u")).user_only);
        assert_eq!(read(""), Sampled::default());
    }

    #[test]
    fn a_family_has_children_of_children() {
        let mut child =
            Command::new("sh").args(["-c", "sh -c 'echo $$; sleep 60; :'; :"]).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        io::BufRead::read_line(&mut io::BufReader::new(child.stdout.take().unwrap()), &mut line).unwrap();
        let family = family_of(child.id());
        assert!(family.contains(&line.trim().parse().unwrap()) && family[0] == child.id(), "{family:?}: {line}");
        for pid in family.iter().rev() {
            // One that waited for another may have ended with it.
            nix::sys::signal::kill(Pid::from_raw(pid.cast_signed()), Signal::SIGKILL).ok();
        }
        child.wait().unwrap();
    }
}
