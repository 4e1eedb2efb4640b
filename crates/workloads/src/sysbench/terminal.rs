//! The statements of the scripts and the order in which an event sends them.

use std::sync::Arc;

use perbuck_core::rng::OpRng;
use perbuck_load::connection::Connection;
use perbuck_load::driver::{Access, Session};
use perbuck_load::error::DriverError;
use perbuck_load::statement::{Catalogue, Dialect, StatementId, Verb};
use perbuck_load::values::Params;
use perbuck_load::workload::{Done, Operation, Terminal, TerminalId, Workload};

use super::options::{Options, Script};
use super::random::{C_GROUPS, Distribution, PAD_GROUPS, write_groups};

/// One of the scripts with its options.
#[derive(Debug)]
pub struct Sysbench {
    catalogue: Arc<Catalogue>,
    terminal: SysbenchTerminal,
}

impl Sysbench {
    /// The script of `options`. Its statements are the same in every dialect.
    pub fn new(options: &Options, _dialect: Dialect) -> Self {
        let mut catalogue = Catalogue::default();
        let terminal = SysbenchTerminal::new(options, &mut catalogue);
        Self { catalogue: Arc::new(catalogue), terminal }
    }
}

impl Workload for Sysbench {
    type Terminal = SysbenchTerminal;

    fn catalogue(&self) -> Arc<Catalogue> {
        Arc::clone(&self.catalogue)
    }

    fn kinds(&self) -> &'static [&'static str] {
        self.terminal.script.kinds()
    }

    /// All terminals are alike: an event depends on its random stream alone.
    fn terminal(&self, _id: TerminalId) -> Self::Terminal {
        self.terminal.clone()
    }
}

/// The same statement on every table, repeated so many times per event on the table drawn for the group.
#[derive(Debug, Clone, Copy)]
struct Group {
    /// The statement on `sbtest1`; that on `sbtestN` is N − 1 further.
    first: StatementId,
    repeats: u32,
}

impl Group {
    /// Adds the statements of a group that is used; one that is not has no statements to prepare.
    fn new(catalogue: &mut Catalogue, tables: u32, repeats: u32, verb: Verb, sql: impl Fn(u32) -> String) -> Self {
        let first = StatementId(catalogue.statements().len() as u16);
        if repeats > 0 {
            for table in 1..=tables {
                catalogue.add(verb, sql(table));
            }
        }
        Self { first, repeats }
    }

    #[inline]
    fn on(self, table: u16) -> StatementId {
        StatementId(self.first.0 + table)
    }
}

/// One connection of a script; it has no state of its own.
#[derive(Debug, Clone)]
pub struct SysbenchTerminal {
    script: Script,
    /// BEGIN and COMMIT, and what the transaction will do; `None` where every statement commits for itself.
    transaction: Option<Access>,
    tables: u32,
    table_size: u32,
    range_size: u32,
    distribution: Distribution,
    points: Group,
    /// Simple, sum, order and distinct, in this order.
    ranges: [Group; 4],
    index_updates: Group,
    non_index_updates: Group,
    deletes: Group,
    inserts: Group,
}

impl SysbenchTerminal {
    fn new(options: &Options, catalogue: &mut Catalogue) -> Self {
        let script = options.script;
        let tables = options.tables;
        let points = if script.reads() { options.point_selects() } else { 0 };
        let ranged = script.reads() && script != Script::PointSelect && options.range_selects;
        let range = |repeats| if ranged { repeats } else { 0 };
        let write = |repeats| if script.writes() { repeats } else { 0 };
        let mut add = |repeats, verb, head: &str, tail: &str| {
            Group::new(catalogue, tables, repeats, verb, |table| format!("{head} sbtest{table} {tail}"))
        };
        const IN_RANGE: &str = "WHERE id BETWEEN ? AND ?";
        const SORTED: &str = "WHERE id BETWEEN ? AND ? ORDER BY c";
        let access = if script.writes() { Access::Write } else { Access::Read };
        Self {
            script,
            transaction: (script != Script::PointSelect && !options.skip_trx).then_some(access),
            tables,
            table_size: options.table_size,
            range_size: options.range_size,
            distribution: options.distribution(),
            points: add(points, Verb::Select, "SELECT c FROM", "WHERE id=?"),
            ranges: [
                add(range(options.simple_ranges), Verb::Select, "SELECT c FROM", IN_RANGE),
                add(range(options.sum_ranges), Verb::Select, "SELECT SUM(k) FROM", IN_RANGE),
                add(range(options.order_ranges), Verb::Select, "SELECT c FROM", SORTED),
                add(range(options.distinct_ranges), Verb::Select, "SELECT DISTINCT c FROM", SORTED),
            ],
            index_updates: add(write(options.index_updates), Verb::Update, "UPDATE", "SET k=k+1 WHERE id=?"),
            non_index_updates: add(write(options.non_index_updates), Verb::Update, "UPDATE", "SET c=? WHERE id=?"),
            deletes: add(write(options.delete_inserts), Verb::Delete, "DELETE FROM", "WHERE id=?"),
            inserts: add(write(options.delete_inserts), Verb::Insert, "INSERT INTO", "(id, k, c, pad) VALUES (?, ?, ?, ?)"),
        }
    }

    /// From 0.
    #[inline]
    fn table(&self, rng: &mut OpRng) -> u16 {
        rng.below(u64::from(self.tables)) as u16
    }

    #[inline]
    fn id(&self, rng: &mut OpRng) -> i64 {
        self.distribution.draw(rng, self.table_size)
    }

    /// Binds the next statement of the transaction; `None` after the last one. Statements come in the order of
    /// sysbench's scripts; the table is drawn once per group.
    #[inline]
    fn next(&self, at: &mut Place, rng: &mut OpRng, params: &mut Params) -> Option<StatementId> {
        loop {
            let group = self.group(at.group)?;
            if at.repeat == group.repeats {
                (at.group, at.repeat) = (at.group + 1, 0);
                continue;
            }
            if at.repeat == 0 && !at.deleted {
                at.table = self.table(rng);
            }
            match at.group {
                POINTS | INDEX_UPDATES => {
                    params.int(self.id(rng));
                }
                SIMPLE_RANGES..=DISTINCT_RANGES => {
                    let start = self.id(rng);
                    // The end may lie behind the last row, as in sysbench: fewer rows come then.
                    params.int(start).int(start + i64::from(self.range_size) - 1);
                }
                NON_INDEX_UPDATES => {
                    params.text_with(|out| write_groups(out, rng, C_GROUPS)).int(self.id(rng));
                }
                _ if !at.deleted => {
                    (at.id, at.k, at.deleted) = (self.id(rng), self.id(rng), true);
                    params.int(at.id);
                    return Some(self.deletes.on(at.table));
                }
                _ => {
                    let row = params.int(at.id).int(at.k);
                    row.text_with(|out| write_groups(out, rng, C_GROUPS)).text_with(|out| write_groups(out, rng, PAD_GROUPS));
                    at.deleted = false;
                    at.repeat += 1;
                    return Some(self.inserts.on(at.table));
                }
            }
            at.repeat += 1;
            return Some(group.on(at.table));
        }
    }

    #[inline]
    fn group(&self, number: u8) -> Option<Group> {
        Some(match number {
            POINTS => self.points,
            SIMPLE_RANGES..=DISTINCT_RANGES => self.ranges[usize::from(number - SIMPLE_RANGES)],
            INDEX_UPDATES => self.index_updates,
            NON_INDEX_UPDATES => self.non_index_updates,
            DELETES => self.deletes,
            _ => return None,
        })
    }
}

/// Groups in the order of a transaction.
const POINTS: u8 = 0;
const SIMPLE_RANGES: u8 = 1;
const DISTINCT_RANGES: u8 = 4;
const INDEX_UPDATES: u8 = 5;
const NON_INDEX_UPDATES: u8 = 6;
const DELETES: u8 = 7;

/// Where in its transaction a terminal is.
#[derive(Debug, Default)]
struct Place {
    group: u8,
    repeat: u32,
    table: u16,
    /// The row that was deleted and is to be inserted again.
    deleted: bool,
    id: i64,
    k: i64,
}

impl Terminal for SysbenchTerminal {
    fn kind(&mut self, _operation: &Operation) -> u8 {
        0
    }

    async fn transaction<S: Session>(
        &mut self,
        connection: &mut Connection<S>,
        operation: &mut Operation,
    ) -> Result<Done, DriverError> {
        let rng = &mut operation.rng;
        if let Some(access) = self.transaction {
            connection.begin(access).await?;
        }
        let mut at = Place::default();
        while let Some(statement) = self.next(&mut at, rng, connection.bind()) {
            connection.execute(statement).await?;
        }
        if self.transaction.is_some() {
            connection.commit().await?;
        }
        Ok(Done { kind: 0, rolled_back: false })
    }
}

#[cfg(test)]
#[path = "terminal_tests.rs"]
mod tests;
