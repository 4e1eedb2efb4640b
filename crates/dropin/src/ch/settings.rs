//! The values of a command line with their types and limits: those of `tpcc`, and more.

use crate::flags::Given;
use crate::go_tpc::words;
use crate::refused::Refused;
use crate::tpcc;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Prepare,
    Run,
    Cleanup,
}

const ORDERS: [(&str, Order); 3] = [("prepare", Order::Prepare), ("run", Order::Run), ("cleanup", Order::Cleanup)];

impl Order {
    pub(super) fn of(given: &Given) -> Result<Self, Refused> {
        words::order(given, &ORDERS, "prepare --warehouses 10")
    }

    pub(super) fn word(self) -> &'static str {
        words::word_of(self, &ORDERS)
    }
}

/// The most query streams of the workload.
const STREAMS: u32 = 1_024;

/// A command line with everything about it checked, but for the database and the workload.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    /// The connections of its load are the query streams where there are no terminals.
    pub(super) tpcc: tpcc::settings::Settings,
    /// Query streams.
    pub(super) streams: u32,
    /// Whether the command line says how many warehouses there are.
    pub(super) warehouses: bool,
    /// Whether the statistics of tables that were there are gathered.
    pub(super) analyze: bool,
    /// TiFlash replicas that each table gets.
    pub(super) replicas: Option<u32>,
}

impl Settings {
    pub(super) fn read(given: &Given) -> Result<Self, Refused> {
        let streams = given.count("acThreads", 0, STREAMS)?;
        let mut tpcc = tpcc::settings::Settings::of(given, words::output(given)?, u32::from(streams == 0))?;
        tpcc.records = words::records(given, super::COMMAND.word);
        if tpcc.terminals == 0 {
            tpcc.load.connections = streams;
        }
        Ok(Self {
            tpcc,
            streams,
            warehouses: given.has("warehouses"),
            analyze: given.switch("analyze"),
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
    use crate::style::Style;

    fn read(words: &[&str]) -> Result<Settings, Refused> {
        Settings::read(&given(words)?)
    }

    #[test]
    fn defaults_are_those_of_go_tpc() {
        let s = read(&["run"]).unwrap();
        assert_eq!((s.tpcc.terminals, s.tpcc.load.connections, s.streams), (1, 1, 1));
        assert_eq!((s.tpcc.load.window_ns, s.tpcc.load.events), (None, None));
        assert_eq!((s.tpcc.interval_s, s.tpcc.ignore_error, s.tpcc.output, s.tpcc.go_tpc), (10, false, Style::Plain, false));
        assert_eq!((s.warehouses, s.analyze, s.replicas), (false, false, None));
        assert!(!s.tpcc.summary && s.tpcc.records.folder.unwrap().ends_with("perbuck/ch"));
    }

    #[test]
    fn values_are_read_as_go_reads_them() {
        let s = read(&["run", "-T", "50", "-t", "2", "--warehouses=1000", "--time=1h", "--output=json"]).unwrap();
        assert_eq!((s.tpcc.load.connections, s.streams, s.warehouses), (50, 2, true));
        assert_eq!((s.tpcc.load.window_ns, s.tpcc.output), (Some(3_600 * SECOND_NS), Style::Json));
        let s = read(&["prepare", "--analyze", "--tiflash-replica", "2", "--dropdata"]).unwrap();
        assert_eq!((s.analyze, s.replicas, s.tpcc.drop_data), (true, Some(2), true));
        let s = read(&["run", "-T0", "-t3"]).unwrap();
        assert_eq!((s.tpcc.terminals, s.streams, s.tpcc.load.connections), (0, 3, 3));
        assert!(read(&["run", "-t0", "--use-explain=false", "--use-plan-replayer=false", "--conn-refresh-interval=0s"]).is_ok());
    }

    #[test]
    fn wrong_values_are_named_with_the_way_out() {
        let read_all = |words: &[&str]| given(words).and_then(|g| Order::of(&g).and_then(|_| Settings::read(&g)));
        let cases: &[(&[&str], &str)] = &[
            (&["run", "--threads=0", "-t0"], "invalid argument \"0\" for \"-T, --threads\" flag"),
            (&["run", "-t1025"], "invalid argument \"1025\" for \"-t, --acThreads\" flag"),
            (&["run", "--output=xml"], "invalid argument \"xml\" for \"--output\" flag"),
            (&["prepare", "--output=data"], "invalid argument \"data\" for \"--output\" flag"),
            (&["run", "--compat=ch"], "invalid argument \"ch\" for \"--compat\" flag"),
            (&["run", "--use-explain"], "--use-explain: perbuck ch keeps no plans"),
            (&["run", "--plan-replayer-dir=x"], "--plan-replayer-dir: perbuck keeps no plan replayer files"),
            (&["run", "--conn-refresh-interval=10s"], "--conn-refresh-interval: connections are kept"),
            (&["run", "--agents=a,b"], "--agents: query streams and transactions are measured within one process"),
            (&["run", "--analyze"], "unknown flag: --analyze"),
            (&["prepare", "--ap-host=a"], "unknown flag: --ap-host"),
            (&["prepare", "--weight=45,43,4,4,4"], "unknown flag: --weight"),
            (&["run", "--wait"], "unknown flag: --wait"),
            (&["check"], "unknown command \"check\""),
            (&[], "no command is given"),
        ];
        hold_refused(read_all, cases);
    }
}
