//! The values of a command line with their types and limits.

use perbuck_core::units::Seed;
use perbuck_lab::trial::DRAIN_NS;
use perbuck_load::limit::Tolerance;

use super::files;
use crate::flags::Given;
use crate::go_tpc::words;
use crate::load::Load;
use crate::option::chosen;
use crate::refused::Refused;
use crate::run::Records;
use crate::style::Style;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Prepare,
    Run,
    Check,
    Cleanup,
}

const ORDERS: [(&str, Order); 4] =
    [("prepare", Order::Prepare), ("run", Order::Run), ("check", Order::Check), ("cleanup", Order::Cleanup)];

impl Order {
    pub(super) fn of(given: &Given) -> Result<Self, Refused> {
        words::order(given, &ORDERS, "prepare --warehouses 10")
    }

    pub(super) fn word(self) -> &'static str {
        words::word_of(self, &ORDERS)
    }
}

/// A command line with everything about it checked, but for the database and the workload.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// Connections that load; `None` where the command line does not say how many.
    pub(crate) sessions: Option<u32>,
    /// Connections that run transactions; in `ch` there may be none.
    pub(crate) terminals: u32,
    pub(crate) load: Load,
    pub(crate) interval_s: u32,
    pub(crate) ignore_error: bool,
    /// Whether the run does as go-tpc does.
    pub(crate) go_tpc: bool,
    /// How numbers are laid out; as JSON they are one document at the end.
    pub(crate) output: Style,
    /// Whether the lines of an interval hold the total so far, and the last one `tpmC` alone.
    pub(crate) summary: bool,
    /// The seed of the operations, as `--seed` takes it.
    pub(crate) seed: u64,
    pub(crate) records: Records,
    /// Whether tables that are there are dropped before a load.
    pub(crate) drop_data: bool,
    /// Whether the data are checked after a load.
    pub(crate) check: bool,
    /// Whether the condition that is stated for fresh data is checked, too.
    pub(crate) check_all: bool,
}

/// How often a transaction is tried, at most, where the specification is run; beyond it, it counts as failed.
const ATTEMPTS: u32 = 1000;

impl Settings {
    pub(super) fn read(given: &Given) -> Result<Self, Refused> {
        // The folder of an old command line says nothing of the output.
        let output = if files::old_folder(given)?.is_some() { Style::Plain } else { words::output(given)? };
        Self::of(given, output, 1)
    }

    /// Those of a command line whose numbers are laid out so, with so many terminals at least. `ch` has the options of a run, too.
    pub(crate) fn of(given: &Given, output: Style, least: u32) -> Result<Self, Refused> {
        let threads = given.count("threads", least, 1_000_000)?;
        let some = |number: u32| Some(number).filter(|n| *n > 0);
        let ignore_error = given.switch("ignore-error");
        let go_tpc = chosen(given.text("compat"), &[("", false), ("go-tpc", true)])
            .ok_or_else(|| given.invalid("compat", "use go-tpc, or leave it out for the specification"))?;
        let (time_ns, warmup_ns) = (words::time_ns(given)?, words::warmup_ns(given)?);
        let seed = words::seed(given)?;
        Ok(Self {
            sessions: given.has("threads").then_some(threads).filter(|n| *n > 1),
            terminals: threads,
            load: Load {
                connections: threads,
                rate: None,
                warmup_ns,
                window_ns: time_ns,
                events: some(given.count("count", 0, u32::MAX)?).map(u64::from),
                workers: some(given.count("max-procs", 0, 1024)?),
                // go-tpc never tries again.
                attempts: if go_tpc { 1 } else { ATTEMPTS },
                drain_ns: DRAIN_NS,
                time_statements: false,
                // By the specification a transaction that the server asks to send again is sent again.
                tolerance: if ignore_error {
                    Tolerance::Every
                } else {
                    Tolerance::Listed { codes: Vec::new(), retries: !go_tpc, losses: false }
                },
                seed: Seed(seed).derive("perbuck tpcc"),
            },
            interval_s: words::interval_s(given)?,
            ignore_error,
            go_tpc,
            output,
            summary: given.switch("summary"),
            seed,
            records: words::records(given, super::COMMAND.word),
            drop_data: given.switch("dropdata"),
            check: !given.switch("no-check"),
            check_all: given.switch("check-all"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::golden::read as given;
    use super::*;
    use crate::cases::hold_refused;
    use crate::load::SECOND_NS;

    fn read(words: &[&str]) -> Result<Settings, Refused> {
        Settings::read(&given(words)?)
    }

    #[test]
    fn defaults_are_those_of_go_tpc() {
        let s = read(&["run"]).unwrap();
        let load = &s.load;
        assert_eq!((load.connections, s.sessions, load.window_ns, load.events), (1, None, None, None));
        assert_eq!((s.interval_s, load.warmup_ns), (10, 0));
        assert_eq!((s.ignore_error, s.go_tpc, s.output, s.check, s.check_all), (false, false, Style::Plain, true, false));
        assert!(s.load.attempts == ATTEMPTS && s.records.folder.unwrap().ends_with("perbuck/tpcc"));
        assert!(s.seed > 0 && s.seed < 1 << 53);
    }

    #[test]
    fn values_are_read_as_go_reads_them() {
        let s = read(&["run", "-T", "64", "--time=1h30m", "--interval", "1m", "--count=5", "--max-procs=2", "--seed=9"]).unwrap();
        let load = &s.load;
        assert_eq!((load.connections, load.window_ns), (64, Some(5_400 * SECOND_NS)));
        assert_eq!((s.interval_s, load.events, load.workers, s.seed), (60, Some(5), Some(2), 9));
        let s = read(&["run", "--compat=go-tpc", "--ignore-error", "--no-record", "--output=table"]).unwrap();
        assert_eq!((s.load.attempts, s.ignore_error, s.output, s.records.folder), (1, true, Style::Table, None));
        assert_eq!(Order::of(&given(&["prep", "--no-check"]).unwrap()), Ok(Order::Prepare));
        assert_eq!(Order::of(&given(&["-T4", "r"]).unwrap()), Ok(Order::Run));
    }

    #[test]
    fn wrong_values_are_named_with_the_way_out() {
        let read_all = |words: &[&str]| given(words).and_then(|g| Order::of(&g).and_then(|_| Settings::read(&g)));
        let cases: &[(&[&str], &str)] = &[
            (&["run", "--threads=0"], "invalid argument \"0\" for \"-T, --threads\" flag"),
            (&["run", "--threads=x"], "invalid argument \"x\" for \"-T, --threads\" flag"),
            (&["run", "--time=60"], "invalid argument \"60\" for \"--time\" flag"),
            (&["run", "--time=0"], "invalid argument \"0\" for \"--time\" flag"),
            (&["run", "--interval=500ms"], "invalid argument \"500ms\" for \"--interval\" flag"),
            (&["run", "--interval=1500ms"], "invalid argument \"1500ms\" for \"--interval\" flag"),
            (&["run", "--warmup=2562047h"], "invalid argument \"2562047h\" for \"--warmup\" flag"),
            (&["run", "--output=xml"], "invalid argument \"xml\" for \"--output\" flag"),
            (&["run", "--compat=tpcc"], "invalid argument \"tpcc\" for \"--compat\" flag"),
            (&["run", "--seed=-1"], "invalid argument \"-1\" for \"--seed\" flag"),
            (&["run", "--warehouse=4"], "unknown flag: --warehouse"),
            (&["run", "--no-check"], "unknown flag: --no-check"),
            (&["prepare", "--wait"], "unknown flag: --wait"),
            (&["run", "--conn-refresh-interval=10s"], "--conn-refresh-interval: connections are kept"),
            (&["run", "--threads"], "flag needs an argument: --threads"),
            (&["run", "-x"], "unknown shorthand flag: 'x'"),
            (&["ru", "n"], "there is a word after the command"),
            (&["load"], "unknown command \"load\""),
            (&["c"], "unknown command \"c\""),
            (&[], "no command is given"),
        ];
        hold_refused(read_all, cases);
        assert!(read(&["run", "--conn-refresh-interval=0s"]).is_ok());
        assert_eq!(read(&["run", "--time=2562047h47m16.854775807s"]).unwrap().load.window_ns, None);
    }
}
