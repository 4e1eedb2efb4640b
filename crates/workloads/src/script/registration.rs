//! What scripts declare.

use perbuck_core::workload_kind::{Decides, Parameter, ParameterKind, Parameters, WorkloadKind};
use perbuck_load::statement::Verb;

use super::Options;
use crate::benchmark::Benchmark;
use crate::generated::TABLE;

/// What comes after the rows of tables.
pub const FINISH: Parameter = Parameter::new(
    "finish",
    ParameterKind::Files,
    "",
    Decides::Data,
    "statements after the rows of `table` are in, such as indexes and foreign keys",
);

/// The parameters of scripts.
pub static OPTIONS: [Parameter; 10] = [
    Parameter::new(
        "file",
        ParameterKind::Files,
        "",
        Decides::Run,
        "scripts with their weights: \"a.sql@3, b.sql, builtin:tpcb-like\"",
    ),
    Parameter::new(
        "init",
        ParameterKind::Files,
        "",
        Decides::Data,
        "a script that makes and fills the tables, executed once by `prepare`",
    ),
    TABLE,
    FINISH,
    Parameter::new(
        "scale",
        ParameterKind::Whole(1, 1_000_000),
        "",
        Decides::Data,
        "makes pgbench's four tables: 100,000 accounts for each 1",
    ),
    Parameter::new(
        "fillfactor",
        ParameterKind::Whole(10, 100),
        "100",
        Decides::Data,
        "percent of a page that the load fills, where the database can be told",
    ),
    Parameter::new(
        "unlogged",
        ParameterKind::Switch,
        "false",
        Decides::Data,
        "makes tables that have no log, where the database has such",
    ),
    Parameter::new("variables", ParameterKind::Text, "", Decides::Run, "variables of the scripts: \"rows=1000, mode=fast\""),
    Parameter::new("reconnect", ParameterKind::Switch, "false", Decides::Run, "opens a new connection for each transaction"),
    Parameter::new(
        "protocol",
        ParameterKind::Text,
        "prepared",
        Decides::Run,
        "\"prepared\"; \"extended\" to parse each time; \"simple\" for statements as text",
    ),
];

/// Scripts among the kinds of workload.
pub static KIND: WorkloadKind =
    WorkloadKind { parameters: &OPTIONS, writes, ..WorkloadKind::plain("script", "SQL scripts in pgbench's language") };

/// Whether any statement may write; where the scripts cannot be read, one may.
fn writes(parameters: &Parameters) -> bool {
    Options::checked(parameters).map_or(true, |options| options.writes())
}

/// Whether a statement of this kind may write.
pub(super) fn may_write(verb: Verb) -> bool {
    verb != Verb::Select
}
