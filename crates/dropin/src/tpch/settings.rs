//! The values of a command line with their types and limits.

use perbuck_core::units::Seed;
use perbuck_lab::trial::DRAIN_NS;
use perbuck_load::limit::Tolerance;

use crate::flags::Given;
use crate::go_tpc::words;
use crate::load::Load;
use crate::refused::Refused;
use crate::run::Records;
use crate::style::Style;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Prepare,
    Run,
    Cleanup,
}

const ORDERS: [(&str, Order); 3] = [("prepare", Order::Prepare), ("run", Order::Run), ("cleanup", Order::Cleanup)];

/// A wrong answer as records write it: its query has failed, and the run goes on.
pub(super) const WRONG_ANSWER: &str = "client wrong answer";

impl Order {
    pub(super) fn of(given: &Given) -> Result<Self, Refused> {
        words::order(given, &ORDERS, "prepare --sf 1")
    }

    pub(super) fn word(self) -> &'static str {
        words::word_of(self, &ORDERS)
    }
}

/// A command line with everything about it checked, but for the database and the workload.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    /// Connections that load; `None` where the command line does not say how many.
    pub(super) sessions: Option<u32>,
    pub(super) load: Load,
    pub(super) interval_s: u32,
    pub(super) ignore_error: bool,
    /// Whether answers are compared with the right ones.
    pub(super) check: bool,
    /// Whether TiDB's optimizer is told to do as go-tpc has it.
    pub(super) tuning: bool,
    /// How numbers are laid out; as JSON they are one document at the end.
    pub(super) output: Style,
    pub(super) records: Records,
    /// Whether tables that are there are dropped before a load.
    pub(super) drop_data: bool,
    /// TiFlash replicas that each table gets.
    pub(super) replicas: Option<u32>,
}

impl Settings {
    pub(super) fn read(given: &Given) -> Result<Self, Refused> {
        let threads = given.count("threads", 1, 1_000_000)?;
        let some = |number: u32| Some(number).filter(|n| *n > 0);
        let ignore_error = given.switch("ignore-error");
        Ok(Self {
            sessions: given.has("threads").then_some(threads).filter(|n| *n > 1),
            load: Load {
                connections: threads,
                rate: None,
                warmup_ns: words::warmup_ns(given)?,
                window_ns: words::time_ns(given)?,
                events: some(given.count("count", 0, u32::MAX)?).map(u64::from),
                workers: some(given.count("max-procs", 0, 1024)?),
                // The time of a query is that of one attempt, as in go-tpc.
                attempts: 1,
                drain_ns: DRAIN_NS,
                time_statements: false,
                tolerance: if ignore_error {
                    Tolerance::Every
                } else {
                    Tolerance::Listed { codes: vec![WRONG_ANSWER.to_owned()], retries: false, losses: false }
                },
                // Nothing is drawn.
                seed: Seed(1).derive("perbuck tpch"),
            },
            interval_s: words::interval_s(given)?,
            ignore_error,
            check: given.switch("check"),
            tuning: given.switch("enable-query-tuning"),
            output: words::output(given)?,
            records: words::records(given, super::COMMAND.word),
            drop_data: given.switch("dropdata"),
            replicas: words::replicas(given)?,
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
        assert_eq!((s.load.connections, s.sessions, s.load.window_ns, s.load.events), (1, None, None, None));
        assert_eq!((s.interval_s, s.ignore_error, s.check, s.tuning, s.output), (10, false, false, true, Style::Plain));
        assert!(s.records.folder.unwrap().ends_with("perbuck/tpch"));
        assert_eq!((s.replicas, s.drop_data), (None, false));
    }

    #[test]
    fn values_are_read_as_go_reads_them() {
        let s = read(&["run", "-T", "4", "--time=1h", "--count=22", "--check", "--enable-query-tuning=false"]).unwrap();
        assert_eq!((s.load.connections, s.load.window_ns, s.load.events), (4, Some(3_600 * SECOND_NS), Some(22)));
        assert_eq!((s.check, s.tuning, s.load.attempts), (true, false, 1));
        assert!(read(&["run", "--use-explain=false", "--use-plan-replayer=false"]).is_ok());
        assert_eq!(read(&["prepare", "--tiflash-replica", "2"]).unwrap().replicas, Some(2));
        assert_eq!(Order::of(&given(&["prep", "--analyze"]).unwrap()), Ok(Order::Prepare));
    }

    #[test]
    fn wrong_values_are_named_with_the_way_out() {
        let read_all = |words: &[&str]| given(words).and_then(|g| Order::of(&g).and_then(|_| Settings::read(&g)));
        let cases: &[(&[&str], &str)] = &[
            (&["run", "--threads=0"], "invalid argument \"0\" for \"-T, --threads\" flag"),
            (&["run", "--time=60"], "invalid argument \"60\" for \"--time\" flag"),
            (&["run", "--interval=500ms"], "invalid argument \"500ms\" for \"--interval\" flag"),
            (&["run", "--output=xml"], "invalid argument \"xml\" for \"--output\" flag"),
            (&["run", "--use-explain"], "--use-explain: perbuck tpch keeps no plans"),
            (&["run", "--use-plan-replayer"], "--use-plan-replayer: perbuck keeps no plan replayer files"),
            (&["run", "--analyze"], "unknown flag: --analyze"),
            (&["prepare", "--enable-query-tuning"], "unknown flag: --enable-query-tuning"),
            (&["prepare", "--tiflash-replica=100"], "invalid argument \"100\" for \"--tiflash-replica\" flag"),
            (&["run", "--query=q1"], "unknown flag: --query"),
            (&["check"], "unknown command \"check\""),
            (&["run", "q1"], "there is a word after the command"),
            (&[], "no command is given"),
        ];
        hold_refused(read_all, cases);
    }
}
