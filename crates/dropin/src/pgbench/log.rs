//! The log of transactions (`-l`): a file for each load thread, with lines as pgbench writes them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use perbuck_core::rng::OpRng;
use perbuck_core::units::Seed;
use perbuck_lab::error::LabError;
use perbuck_load::error::{ErrorClass, ErrorCode};
use perbuck_load::listed::Listed;
use perbuck_load::recorder::Outcome;

use super::settings::Settings;
use crate::flags::Given;
use crate::load::SECOND_NS;
use crate::refused::Refused;

/// How long after its end an interval is written: until then workers report what ended in it.
const REPORTED_NS: u64 = 3 * SECOND_NS;

/// What is written of the transactions.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LogSettings {
    /// What the names of its files begin with.
    prefix: String,
    /// The share of transactions that get a line.
    sampling: Option<f64>,
    /// Seconds of a line, where lines are sums.
    interval_s: Option<u32>,
}

impl LogSettings {
    /// What a command line asks for; `time_s` is how long it runs.
    pub(super) fn read(given: &Given, time_s: Option<u32>) -> Result<Option<Self>, Refused> {
        let on = given.switch("log");
        let (sampled, summed) = (given.has("sampling-rate"), given.has("aggregate-interval"));
        for (asked, message) in [
            (sampled, "log sampling (--sampling-rate) is allowed only when logging transactions (-l)"),
            (given.has("log-prefix"), "log file prefix (--log-prefix) is allowed only when logging transactions (-l)"),
            (summed, "log aggregation is allowed only when actually logging transactions"),
        ] {
            if asked && !on {
                return Err(Refused::usage(message, "add -l, or leave the option out"));
            }
        }
        if sampled && summed {
            let message = "log sampling (--sampling-rate) and aggregation (--aggregate-interval) cannot be used at the same time";
            return Err(Refused::usage(message, "leave one of them out"));
        }
        let rate = |typed: &str| typed.parse().ok().filter(|rate: &f64| *rate > 0.0 && *rate <= 1.0);
        let invalid =
            || Refused::usage(format!("invalid sampling rate: \"{}\"", given.text("sampling-rate")), "give 0.1 for a tenth");
        let sampling = sampled.then(|| rate(given.text("sampling-rate")).ok_or_else(invalid)).transpose()?;
        let interval_s = summed.then(|| given.count("aggregate-interval", 1, i32::MAX as u32)).transpose()?;
        if let (Some(interval), Some(time)) = (interval_s, time_s) {
            if interval > time {
                let message =
                    format!("number of seconds for aggregation ({interval}) must not be higher than test duration ({time})");
                return Err(Refused::usage(message, "give a shorter interval"));
            }
            if time % interval != 0 {
                let message = format!("duration ({time}) must be a multiple of aggregation interval ({interval})");
                return Err(Refused::usage(message, "give another interval, or another -T"));
            }
        }
        Ok(on.then(|| Self { prefix: given.text("log-prefix").to_owned(), sampling, interval_s }))
    }
}

/// The log of a run.
pub(super) struct Log<'a> {
    settings: &'a Settings,
    asked: &'a LogSettings,
    files: Vec<LogFile>,
    /// When the run began, in microseconds since 1970.
    began_us: i64,
}

struct LogFile {
    name: String,
    out: BufWriter<File>,
    /// The intervals that are not written, by number.
    intervals: BTreeMap<u64, Interval>,
    /// The first of them.
    first: u64,
    /// Lines that were drawn for.
    drawn: u64,
}

/// The latencies, or the delays, of an interval in microseconds.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    sum: f64,
    squares: f64,
    min: f64,
    max: f64,
}

impl Sums {
    fn add(&mut self, us: i64, first: bool) {
        let us = us as f64;
        self.sum += us;
        self.squares += us * us;
        self.min = if first { us } else { self.min.min(us) };
        self.max = self.max.max(us);
    }

    fn text(&self) -> String {
        format!("{:.0} {:.0} {:.0} {:.0}", self.sum, self.squares, self.min, self.max)
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Interval {
    completed: u64,
    latency: Sums,
    lag: Sums,
    retried: u64,
    retries: u64,
    serialization: u64,
    deadlocks: u64,
}

impl Interval {
    fn add(&mut self, one: &Listed, s: &Settings) {
        self.retried += u64::from(one.retries > 0);
        self.retries += u64::from(one.retries);
        match one.sample.outcome {
            Outcome::Failed => {
                let deadlock = is_deadlock(one);
                self.deadlocks += u64::from(s.failures_detailed && deadlock);
                self.serialization += u64::from(s.failures_detailed && !deadlock);
            }
            _ => {
                self.latency.add(latency_us(one, s), self.completed == 0);
                if s.load.rate.is_some() {
                    self.lag.add(lag_us(one), self.completed == 0);
                }
                self.completed += 1;
            }
        }
    }
}

/// Since a transaction was due, or else since it started.
fn latency_us(one: &Listed, s: &Settings) -> i64 {
    let from_ns = if s.load.rate.is_some() { one.sample.intended_ns } else { one.sample.started_ns };
    (one.sample.finished_ns - from_ns).max(0) / 1000
}

/// How much later than due it started.
fn lag_us(one: &Listed) -> i64 {
    (one.sample.started_ns - one.sample.intended_ns).max(0) / 1000
}

fn is_deadlock(one: &Listed) -> bool {
    matches!(
        one.error,
        Some((_, ErrorCode::State("sqlstate", [b'4', b'0', b'P', b'0', b'1']) | ErrorCode::Number("mysql", 1213)))
    )
}

impl<'a> Log<'a> {
    /// Opens the files of the log that was asked for, if any, which no run may start without.
    pub(super) fn create(settings: &'a Settings) -> Result<Option<Self>, Refused> {
        let Some(asked) = &settings.log else { return Ok(None) };
        let file = |thread: u32| {
            let (id, number) = (std::process::id(), if thread == 0 { String::new() } else { format!(".{thread}") });
            let name = format!("{}.{id}{number}", asked.prefix);
            match File::create(&name) {
                Ok(file) => {
                    let out = BufWriter::new(file);
                    Ok(LogFile { name, out, intervals: BTreeMap::new(), first: 0, drawn: 0 })
                }
                Err(error) => {
                    let message = format!("could not open logfile \"{name}\": {}", reason(&error));
                    Err(Refused::usage(message, "--log-prefix names another folder"))
                }
            }
        };
        let files = (0..settings.threads()).map(file).collect::<Result<_, _>>()?;
        Ok(Some(Self { settings, asked, files, began_us: 0 }))
    }

    /// The run starts so long from now.
    pub(super) fn starts(&mut self, from_now: Duration) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default() + from_now;
        self.began_us = i64::try_from(now.as_micros()).unwrap_or(i64::MAX);
    }

    /// Writes transactions down. Those of an error that ends a client have no line.
    pub(super) fn add(&mut self, all: &[Listed]) -> Result<(), LabError> {
        let (s, threads) = (self.settings, self.files.len() as u64);
        for one in all {
            if one.error.is_some_and(|(class, _)| class != ErrorClass::Retry) {
                continue;
            }
            // The engine deals terminals to its workers so: worker i has those from i parts of all on.
            let thread = ((u64::from(one.terminal) + 1) * threads - 1) / u64::from(s.load.connections.max(1));
            let Some(file) = self.files.get_mut(thread as usize) else { continue };
            if let Some(seconds) = self.asked.interval_s {
                let interval = one.sample.finished_ns.unsigned_abs() / (u64::from(seconds) * SECOND_NS);
                file.intervals.entry(interval.max(file.first)).or_default().add(one, s);
                continue;
            }
            file.drawn += 1;
            let share = self.asked.sampling.unwrap_or(1.0);
            if share < 1.0 && OpRng::at(Seed(s.seed), u64::MAX - thread, file.drawn).unit_f64() > share {
                continue;
            }
            file.line(one, s, self.began_us)?;
        }
        Ok(())
    }

    /// So much of the run is over.
    pub(super) fn pass(&mut self, passed_ns: u64) -> Result<(), LabError> {
        self.write_intervals(passed_ns.saturating_sub(REPORTED_NS))?;
        self.files.iter_mut().try_for_each(LogFile::flush)
    }

    /// The run took so long, and is over.
    pub(super) fn end(&mut self, took_ns: u64) -> Result<(), LabError> {
        self.write_intervals(took_ns)?;
        self.files.iter_mut().try_for_each(LogFile::flush)
    }

    /// Writes all intervals that ended by then. As in pgbench, one that the end of a run cuts has no line.
    fn write_intervals(&mut self, until_ns: u64) -> Result<(), LabError> {
        let Some(seconds) = self.asked.interval_s else { return Ok(()) };
        let ended = until_ns / (u64::from(seconds) * SECOND_NS);
        for file in &mut self.files {
            while file.first < ended {
                let starts_s = self.began_us / 1_000_000 + file.first as i64 * i64::from(seconds);
                let one = file.intervals.remove(&file.first).unwrap_or_default();
                file.interval(starts_s, &one, self.settings)?;
                file.first += 1;
            }
        }
        Ok(())
    }
}

impl LogFile {
    fn line(&mut self, one: &Listed, s: &Settings, began_us: i64) -> Result<(), LabError> {
        let (client, number, script) = (one.terminal, one.number + 1, one.sample.kind);
        let ended_us = began_us + one.sample.finished_ns / 1000;
        let (second, us) = (ended_us / 1_000_000, ended_us % 1_000_000);
        let latency = match one.sample.outcome {
            Outcome::Failed if !s.failures_detailed => "failed".to_owned(),
            Outcome::Failed if is_deadlock(one) => "deadlock".to_owned(),
            Outcome::Failed => "serialization".to_owned(),
            _ => latency_us(one, s).to_string(),
        };
        let mut line = format!("{client} {number} {latency} {script} {second} {us}");
        if s.load.rate.is_some() {
            line += &format!(" {}", lag_us(one));
        }
        if s.max_tries != 1 {
            line += &format!(" {}", one.retries);
        }
        let written = writeln!(self.out, "{line}");
        self.written(written)
    }

    /// Fifteen numbers, as pgbench 15 writes them: no transaction is skipped.
    fn interval(&mut self, starts_s: i64, one: &Interval, s: &Settings) -> Result<(), LabError> {
        let (latency, lag) = (one.latency.text(), one.lag.text());
        let (retried, retries) = if s.max_tries == 1 { (0, 0) } else { (one.retried, one.retries) };
        let (completed, serialization, deadlocks) = (one.completed, one.serialization, one.deadlocks);
        let written =
            writeln!(self.out, "{starts_s} {completed} {latency} {lag} 0 {retried} {retries} {serialization} {deadlocks}");
        self.written(written)
    }

    fn flush(&mut self) -> Result<(), LabError> {
        let written = self.out.flush();
        self.written(written)
    }

    fn written(&self, written: io::Result<()>) -> Result<(), LabError> {
        written.map_err(|error| {
            let message = format!("could not write to logfile \"{}\": {}", self.name, reason(&error));
            LabError::failed(message, "free space there, or name another folder by --log-prefix")
        })
    }
}

/// What the system says, without the number.
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}
