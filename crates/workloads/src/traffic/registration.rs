//! What recorded traffic declares.

use perbuck_core::workload_kind::{Decides, Parameter, ParameterKind, Parameters, Streams, WorkloadKind};

use super::options::Options;
use crate::benchmark::Benchmark;
use crate::generated::TABLE;
use crate::script::FINISH;

/// The parameters of recorded traffic.
pub(super) static OPTIONS: [Parameter; 8] = [
    Parameter::new(
        "log",
        ParameterKind::Log,
        "",
        Decides::Run,
        "the log of a server, or several files of it in their order: \"server.csv\"",
    ),
    Parameter::new(
        "format",
        ParameterKind::Text,
        "auto",
        Decides::Run,
        "\"csvlog\", \"jsonlog\", \"general\" or \"slow\"; known by the first lines",
    ),
    Parameter::new(
        "speed",
        ParameterKind::Text,
        "1.0",
        Decides::Run,
        "how many times as fast as recorded, or \"max\": as fast as it goes",
    ),
    Parameter::new("reads_only", ParameterKind::Switch, "false", Decides::Run, "leaves out transactions that may write"),
    Parameter::new(
        "init",
        ParameterKind::Files,
        "",
        Decides::Data,
        "a script that makes and fills the tables, executed by `prepare`; without it they are there",
    ),
    TABLE,
    FINISH,
    Parameter::new(
        "recorded_database",
        ParameterKind::Text,
        "",
        Decides::Run,
        "whose sessions are replayed, where the log has those of several databases",
    ),
];

/// Recorded traffic among the kinds of workload.
pub static KIND: WorkloadKind = WorkloadKind {
    parameters: &OPTIONS,
    writes,
    streams,
    ..WorkloadKind::plain("traffic", "recorded traffic: the log of a server, replayed")
};

/// One for each session at a time; where the log cannot be read, one.
fn streams(parameters: &Parameters) -> Option<Streams> {
    let unread = Streams { default: 1, schedule_ns: 0 };
    Some(Options::checked(parameters).map_or(unread, |options| options.streams()))
}

/// Whether anything that is replayed may write; where the log cannot be read, it may.
fn writes(parameters: &Parameters) -> bool {
    Options::checked(parameters).map_or(true, |options| options.writes())
}
