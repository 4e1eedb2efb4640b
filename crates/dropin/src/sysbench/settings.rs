//! The values of a command line with their types and limits.

use perbuck_core::load_model::HIGHEST_PER_S;
use perbuck_core::units::Seed;
use perbuck_lab::trial::DRAIN_NS;
use perbuck_load::limit::Tolerance;
use perbuck_workloads::sysbench::Compat;

use super::options::find;
use super::parse::Given;
use super::target::scheme;
use crate::load::{Load, MOST_WORKERS, SECOND_NS, drawn_seed};
use crate::option::chosen;
use crate::refused::Refused;
use crate::run::Records;

/// How often a transaction is tried, at most; beyond it, it counts as failed and the next one starts.
const ATTEMPTS: u32 = 1000;
/// The most connections that a study can name.
const MOST_THREADS: u32 = 1_000_000;

/// What standard output holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Output {
    /// sysbench's lines.
    Text,
    /// One JSON document at the end.
    Json,
    /// A line of comma-separated values per interval.
    Csv,
}

/// After which errors a run goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ignored {
    /// Those after which a transaction can be tried again, as the driver knows them; the command line lists none.
    Default,
    /// All of them.
    All,
    /// These numbers.
    Listed(Vec<u16>),
}

/// A command line with everything about it checked, but for the database and the script.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    /// Whose defaults, draws and summary; `None` draws as a study without `compat`.
    pub(super) compat: Option<Compat>,
    pub(super) load: Load,
    /// Seconds of the measured window; `None` is no limit.
    pub(super) time_s: Option<u32>,
    /// Seconds before it.
    pub(super) warmup_s: u32,
    /// Seconds between interval lines.
    pub(super) report_interval_s: Option<u32>,
    /// Seconds at which a full report is due, ascending.
    pub(super) checkpoints_s: Vec<u32>,
    /// Seconds to wait for the last transactions; `None` is perbuck's own limit.
    pub(super) forced_shutdown_s: Option<u32>,
    /// Percentiles of the latency to show, as typed and as number; empty shows none.
    pub(super) percentiles: Vec<(String, f64)>,
    pub(super) histogram: bool,
    /// 0 to 5.
    pub(super) verbosity: u8,
    /// The seed of the operations; never 0.
    pub(super) seed: i32,
    /// Whether it was drawn from the time, as none was given.
    pub(super) seed_drawn: bool,
    /// Whether `--debug` is given, which the banner says.
    pub(super) debug: bool,
    /// Whether `--validate` is given, which the banner says.
    pub(super) validate: bool,
    pub(super) output: Output,
    pub(super) ignored: Ignored,
    pub(super) as_text: bool,
    /// Whether a run has a simulated database in place of the server.
    pub(super) dry_run: bool,
    pub(super) records: Records,
}

impl Settings {
    pub(super) fn read(given: &Given) -> Result<Self, Refused> {
        let compats = [Some(Compat::Sysbench10), Some(Compat::Sysbench11), None].map(|compat| (compat_word(compat), compat));
        let compat = word(given, "compat", &compats, "use sysbench-1.0, sysbench-1.1 or perbuck")?;
        let time_s = count(given, "time")?;
        let events = count(given, "events")?;
        let percentiles = percentiles(given)?;
        let histogram = switch(given, "histogram");
        if histogram && percentiles.is_empty() {
            let help = "leave one of the two out";
            return Err(Refused::fatal("--histogram cannot be used with --percentile=0", help));
        }
        let typed_seed = text(given, "rand-seed").parse().ok().filter(|s| *s != 0);
        let threads = at_most(given, "threads", MOST_THREADS)?.ok_or_else(|| invalid(given, "threads", "give at least 1"))?;
        let (warmup_s, forced_shutdown_s) = (count(given, "warmup-time")?.unwrap_or(0), forced_shutdown(given, time_s)?);
        let (ignored, ns) = (ignored(given)?, |seconds: u32| u64::from(seconds) * SECOND_NS);
        // One that was drawn from the time can be given again: 31 bits, and not 0.
        let seed = typed_seed.unwrap_or_else(|| ((drawn_seed() & 0x7fff_ffff) as i32).max(1));
        let load = Load {
            connections: threads,
            rate: at_most(given, "rate", HIGHEST_PER_S)?,
            warmup_ns: ns(warmup_s),
            window_ns: time_s.map(ns),
            events: events.map(u64::from),
            workers: at_most(given, "workers", MOST_WORKERS)?,
            attempts: ATTEMPTS,
            drain_ns: forced_shutdown_s.map_or(DRAIN_NS, ns),
            time_statements: switch(given, "statement-latency"),
            tolerance: tolerance(scheme(given)?, &ignored),
            seed: Seed(u64::from(seed.unsigned_abs())).derive("perbuck sysbench"),
        };
        let outputs = [("text", Output::Text), ("json", Output::Json), ("csv", Output::Csv)];
        Ok(Self {
            compat,
            load,
            time_s,
            warmup_s,
            report_interval_s: count(given, "report-interval")?,
            checkpoints_s: checkpoints(given, time_s)?,
            forced_shutdown_s,
            percentiles,
            histogram,
            verbosity: verbosity(given)?,
            seed,
            seed_drawn: typed_seed.is_none(),
            debug: switch(given, "debug"),
            validate: switch(given, "validate"),
            output: word(given, "output", &outputs, "use text, json or csv")?,
            ignored,
            as_text: ps_mode(given)?,
            dry_run: switch(given, "mysql-dry-run"),
            records: Records::new(
                "sysbench",
                given.has("results").then(|| text(given, "results")),
                switch(given, "record") && !switch(given, "no-record"),
                Some(text(given, "contender")),
            ),
        })
    }

    /// Seconds to wait for the last transactions.
    pub(super) fn drain_s(&self) -> u32 {
        (self.load.drain_ns / SECOND_NS) as u32
    }

    /// The percentile of the interval lines: the 95th where it is asked for, as sysbench's default, else the first.
    pub(super) fn headline(&self) -> Option<&(String, f64)> {
        #[expect(clippy::float_cmp, reason = "95 is a float, and typed")]
        let usual = self.percentiles.iter().find(|(_, p)| *p == 95.0);
        usual.or_else(|| self.percentiles.first())
    }
}

pub(super) fn compat_word(compat: Option<Compat>) -> &'static str {
    compat.map_or("perbuck", Compat::name)
}

pub(super) fn text<'a>(given: &'a Given, name: &str) -> &'a str {
    given.general.get(name).map_or_else(|| find(name).map_or("", |o| o.default), String::as_str)
}

/// The parts of a list, without empty ones.
pub(super) fn list<'a>(given: &'a Given, name: &str) -> Vec<&'a str> {
    text(given, name).split(',').map(str::trim).filter(|p| !p.is_empty()).collect()
}

pub(super) fn switch(given: &Given, name: &str) -> bool {
    text(given, name) == "on"
}

fn invalid(given: &Given, name: &str, help: &str) -> Refused {
    Refused::fatal(format!("Invalid value for --{name}: {}", text(given, name)), help)
}

/// A count; 0 is none.
fn count(given: &Given, name: &str) -> Result<Option<u32>, Refused> {
    let number: i64 = text(given, name).parse().unwrap_or(0);
    match u32::try_from(number) {
        Ok(0) => Ok(None),
        Ok(number) => Ok(Some(number)),
        Err(_) => Err(invalid(given, name, "give 0 or more")),
    }
}

/// After which errors the run goes on. sysbench knows numbers of MySQL, and three states of PostgreSQL.
fn tolerance(scheme: &str, ignored: &Ignored) -> Tolerance {
    let retries = |codes| Tolerance::Listed { codes, retries: true, losses: false };
    match (scheme, ignored) {
        ("mysql" | "tidb", Ignored::All) => Tolerance::Every,
        ("mysql" | "tidb", Ignored::Listed(codes)) => {
            // The numbers of the client library for a connection that is gone.
            let losses = codes.iter().any(|n| matches!(n, 2006 | 2011 | 2013 | 2055));
            Tolerance::Listed { codes: codes.iter().map(|n| format!("mysql {n}")).collect(), retries: false, losses }
        }
        ("mysql" | "tidb" | "sqlite" | "duckdb", _) => retries(Vec::new()),
        _ => retries(vec!["sqlstate 23505".to_owned()]),
    }
}

/// One of a closed set of words.
fn word<T: Copy>(given: &Given, name: &str, words: &[(&str, T)], help: &str) -> Result<T, Refused> {
    chosen(text(given, name), words).ok_or_else(|| invalid(given, name, help))
}

/// The same where a study can name no more.
fn at_most(given: &Given, name: &str, most: u32) -> Result<Option<u32>, Refused> {
    match count(given, name)? {
        Some(number) if number > most => Err(invalid(given, name, &format!("give at most {most}"))),
        number => Ok(number),
    }
}

fn percentiles(given: &Given) -> Result<Vec<(String, f64)>, Refused> {
    let mut all = Vec::new();
    for part in list(given, "percentile") {
        let number: f64 = part.parse().map_err(|_| {
            let message = format!("Invalid value for the 'percentile' option: '{part}'");
            Refused::usage(message, "give numbers from 1 to 100, several with commas between them, or 0 for none")
        })?;
        if !(0.0..=100.0).contains(&number) {
            let message = format!("Invalid value for --percentile: {part}");
            return Err(Refused::fatal(message, "give numbers from 1 to 100, or 0 for none"));
        }
        if number > 0.0 {
            all.push((part.to_owned(), number));
        }
    }
    Ok(all)
}

/// The seconds of `--report-checkpoints` that come before the end: at the end itself stands the report of the end.
fn checkpoints(given: &Given, time_s: Option<u32>) -> Result<Vec<u32>, Refused> {
    let second = |part: &str| {
        let message = format!("Invalid value for --report-checkpoints: '{part}'");
        part.parse().map_err(|_| Refused::fatal(message, "give whole seconds, several with commas between them, such as 60,120"))
    };
    let mut all = list(given, "report-checkpoints").into_iter().map(second).collect::<Result<Vec<u32>, _>>()?;
    all.sort_unstable();
    all.dedup();
    all.retain(|second| *second > 0 && time_s.is_none_or(|time_s| *second < time_s));
    Ok(all)
}

/// Seconds, a share of `--time`, or off.
fn forced_shutdown(given: &Given, time_s: Option<u32>) -> Result<Option<u32>, Refused> {
    let typed = text(given, "forced-shutdown");
    let Some(time_s) = time_s.filter(|_| !typed.eq_ignore_ascii_case("off")) else { return Ok(None) };
    let seconds = match typed.strip_suffix('%') {
        Some(share) => share.parse::<u32>().ok().map(|share| u64::from(time_s) * u64::from(share) / 100),
        None => typed.parse::<u32>().ok().map(u64::from),
    };
    let help = "give seconds, a share of --time such as 5%, or off";
    let seconds = seconds.and_then(|s| u32::try_from(s).ok());
    seconds.map(Some).ok_or_else(|| Refused::fatal(format!("Invalid value for --forced-shutdown: '{typed}'"), help))
}

fn verbosity(given: &Given) -> Result<u8, Refused> {
    if switch(given, "debug") {
        return Ok(5);
    }
    let number: i64 = text(given, "verbosity").parse().unwrap_or(3);
    match u8::try_from(number) {
        Ok(number) if number <= 5 => Ok(number),
        _ => Err(Refused::usage(format!("Invalid value for verbosity: {number}"), "give 0 to 5")),
    }
}

fn ignored(given: &Given) -> Result<Ignored, Refused> {
    if !given.has("mysql-ignore-errors") {
        return Ok(Ignored::Default);
    }
    let mut listed = Vec::new();
    for part in list(given, "mysql-ignore-errors") {
        if part.eq_ignore_ascii_case("all") {
            return Ok(Ignored::All);
        }
        let message = || format!("Invalid value for --mysql-ignore-errors: {part}");
        let number = part.parse().map_err(|_| Refused::fatal(message(), "give error numbers such as 1213,1062, or all"))?;
        listed.push(number);
    }
    Ok(Ignored::Listed(listed))
}

fn ps_mode(given: &Given) -> Result<bool, Refused> {
    let typed = text(given, "db-ps-mode");
    let refused = || Refused::fatal(format!("Invalid value for db-ps-mode: {typed}"), "use auto or disable");
    chosen(typed, &[("auto", false), ("disable", true)]).ok_or_else(refused)
}

#[cfg(test)]
mod tests {
    use super::super::golden::settings as read;
    use super::*;

    #[test]
    fn defaults_are_those_of_sysbench() {
        let s = read(&[]).unwrap();
        assert_eq!((s.load.connections, s.load.events, s.time_s, s.load.rate), (1, None, Some(10), None));
        assert_eq!((s.report_interval_s, s.verbosity, s.seed_drawn, s.warmup_s), (None, 3, true, 0));
        assert!(s.seed > 0 && read(&["--rand-seed=-7"]).unwrap().seed == -7);
        assert_eq!((s.percentiles.as_slice(), s.histogram), ([("95".to_owned(), 95.0)].as_slice(), false));
        assert_eq!((s.compat, s.ignored, s.forced_shutdown_s), (Some(Compat::Sysbench10), Ignored::Default, None));
        assert!(s.records.folder.unwrap().ends_with("perbuck/sysbench"));
        assert_eq!(read(&["--no-record"]).unwrap().records.folder, None);
        assert_eq!(read(&["--record=off"]).unwrap().records.folder, None);
    }

    #[test]
    fn lists_and_shares_are_read() {
        let s = read(&["--percentile=50,95,99.9", "--report-checkpoints=9,3,9", "--time=200", "--forced-shutdown"]).unwrap();
        assert_eq!(s.percentiles.iter().map(|p| p.1).collect::<Vec<_>>(), [50.0, 95.0, 99.9]);
        assert_eq!(s.headline().unwrap().0, "95");
        assert_eq!((s.checkpoints_s, s.forced_shutdown_s), (vec![3, 9], Some(10)));
        assert_eq!(read(&["--report-checkpoints=0,2,4,5", "--time=4"]).unwrap().checkpoints_s, [2]);
        assert_eq!(read(&["--percentile=99.9,50"]).unwrap().headline().unwrap().0, "99.9");
        assert!(read(&["--percentile=0"]).unwrap().percentiles.is_empty());
        assert_eq!(read(&["--forced-shutdown=7"]).unwrap().forced_shutdown_s, Some(7));
        assert_eq!(read(&["--mysql-ignore-errors=1062,1213"]).unwrap().ignored, Ignored::Listed(vec![1062, 1213]));
        assert_eq!(read(&["--mysql-ignore-errors=all"]).unwrap().ignored, Ignored::All);
    }

    #[test]
    fn wrong_values_are_refused_as_sysbench_does() {
        for (word, said) in [
            ("--threads=0", "Invalid value for --threads: 0"),
            ("--threads=-1", "Invalid value for --threads: -1"),
            ("--time=-1", "Invalid value for --time: -1"),
            ("--percentile=101", "Invalid value for --percentile: 101"),
            ("--percentile=x", "Invalid value for the 'percentile' option: 'x'"),
            ("--verbosity=7", "Invalid value for verbosity: 7"),
            ("--db-ps-mode=foo", "Invalid value for db-ps-mode: foo"),
            ("--forced-shutdown=x", "Invalid value for --forced-shutdown: 'x'"),
            ("--report-checkpoints=1,x", "Invalid value for --report-checkpoints: 'x'"),
            ("--output=xml", "Invalid value for --output: xml"),
            ("--compat=sysbench", "Invalid value for --compat: sysbench"),
            ("--mysql-ignore-errors=dup", "Invalid value for --mysql-ignore-errors: dup"),
        ] {
            let refused = read(&[word]).unwrap_err();
            assert_eq!(refused.message, said);
            assert!(!refused.help.is_empty(), "{word}");
        }
        let both = read(&["--histogram", "--percentile=0"]).unwrap_err();
        assert_eq!(both.message, "--histogram cannot be used with --percentile=0");
    }
}
