//! What a user of a version of sysbench must know: whose defaults and draws are taken, and what is done otherwise.

use perbuck_database::Dialect;

use super::options::{Options, RandType};
use super::script::Script;
use crate::params::word_for;

/// A version of sysbench whose defaults are taken, and whose draws where they follow a law.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compat {
    /// The releases 1.0, up to 1.0.20.
    Sysbench10,
    /// The development version, which calls itself 1.1.
    Sysbench11,
}

pub(super) const COMPATS: [(&str, Compat); 2] = [("sysbench-1.0", Compat::Sysbench10), ("sysbench-1.1", Compat::Sysbench11)];

impl Compat {
    /// The name that options use: `sysbench-1.0` or `sysbench-1.1`.
    pub fn name(self) -> &'static str {
        word_for(&COMPATS, &self)
    }

    /// The version of that name.
    pub fn named(name: &str) -> Option<Self> {
        COMPATS.iter().find(|(n, _)| *n == name).map(|(_, compat)| *compat)
    }

    pub(super) fn rand_type(compat: Option<Self>) -> RandType {
        if compat == Some(Self::Sysbench10) { RandType::Special } else { RandType::Uniform }
    }

    pub(super) fn knows(self, rand_type: RandType) -> bool {
        match rand_type {
            RandType::Uniform | RandType::Gaussian | RandType::Pareto => true,
            RandType::Special => self == Self::Sysbench10,
            RandType::Zipfian => self == Self::Sysbench11,
        }
    }
}

/// What perbuck does otherwise than the version of sysbench that `compat` names, for this script, these options and a
/// database of this dialect: one sentence for each, without a full stop. None without `compat`.
pub fn compat_notes(options: &Options, dialect: &'static dyn Dialect) -> Vec<String> {
    let Some(compat) = options.compat else { return Vec::new() };
    let script = options.script;
    let mut notes = Vec::new();
    let mut note = |text: &str| notes.push(text.to_owned());
    match options.rand_type {
        // It draws nothing.
        _ if script == Script::BulkInsert => {}
        RandType::Special => note(
            "special is drawn as the code of sysbench 1.0 draws it, which never picks the first part of its hot band; \
             with --compat=perbuck the whole band is hot, as its documentation says",
        ),
        RandType::Gaussian if compat == Compat::Sysbench11 => note(
            "gaussian is drawn around the middle; sysbench 1.1 gives the lowest id every time, because it averages no number \
             at all, so its results are of another workload",
        ),
        _ => {}
    }
    if options.rand_scramble && script != Script::BulkInsert {
        note("hot ids are spread over the table by rand_scramble, which sysbench does not have");
    }
    match script {
        Script::RandomPoints | Script::RandomRanges => {
            note(
                "each connection asks for values of its own slice of 0 to table_size, as in sysbench; with --compat=perbuck all ask for all of 1 to table_size",
            );
            if options.tables > 1 {
                note("only sbtest1 is read, as in sysbench, however many tables there are");
            }
        }
        Script::Insert => {
            note("rows are inserted by a prepared statement; sysbench sends the text of each");
            if !options.auto_inc {
                note(
                    "new ids lie above those that the tables have; sysbench draws its ids again in each run from all of 32 bits, so that a later run meets duplicate keys",
                );
            }
        }
        Script::BulkInsert => note(
            "ids go on after those that the tables have; sysbench begins with 1 in every run, so that its second run fails with \
             duplicate keys",
        ),
        _ => {}
    }
    if !dialect.in_order().is_empty() && script != Script::BulkInsert {
        note(
            "the primary key and the index on k are in order (ASC); sysbench's lie by the hash of the key there, so that each of its ranges reads a whole table",
        );
    }
    if dialect.family() == "mysql" && script.has_transactions() && !options.skip_trx {
        note(
            "a transaction that fails is rolled back before its retry; sysbench sends no ROLLBACK to MySQL, so that after a lock wait timeout its next BEGIN commits one half of it",
        );
    }
    notes
}
