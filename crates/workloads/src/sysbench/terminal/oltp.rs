//! The scripts whose events are statements by id, each on one of many tables.

use perbuck_core::rng::OpRng;
use perbuck_load::connection::Connection;
use perbuck_load::driver::{Access, Session};
use perbuck_load::error::DriverError;
use perbuck_load::statement::{Catalogue, StatementId, Verb};
use perbuck_load::values::Params;

use super::for_each_table;
use crate::sysbench::options::Options;
use crate::sysbench::random::{C_GROUPS, Ids, PAD_GROUPS, write_groups};
use crate::sysbench::script::Script;

/// The same statement on every table, repeated so many times per event on the table drawn for the group.
#[derive(Debug, Clone, Copy)]
pub(super) struct Group {
    /// The statement on `sbtest1`; that on `sbtestN` is N − 1 further.
    first: StatementId,
    repeats: u32,
}

impl Group {
    #[inline]
    pub(super) fn on(self, table: u16) -> StatementId {
        StatementId(self.first.0 + table)
    }
}

/// The groups of a script; its terminals are alike, since an event depends on its random stream alone.
#[derive(Debug, Clone)]
pub(super) struct Oltp {
    /// BEGIN and COMMIT, and what the transaction will do; `None` where every statement commits for itself.
    transaction: Option<Access>,
    tables: u32,
    range_size: u32,
    ids: Ids,
    points: Group,
    /// Simple, sum, order and distinct, in this order.
    ranges: [Group; 4],
    index_updates: Group,
    pub(super) non_index_updates: Group,
    deletes: Group,
    pub(super) inserts: Group,
}

const IN_RANGE: &str = "WHERE id BETWEEN ? AND ?";
const SORTED: &str = "WHERE id BETWEEN ? AND ? ORDER BY c";

impl Oltp {
    pub(super) fn new(options: &Options, catalogue: &mut Catalogue) -> Self {
        let script = options.script;
        let tables = options.tables;
        // A group that is not used has no statements to prepare.
        let mut add = |label, verb, repeats: u32, head: &str, tail: &str| {
            let tables = if repeats > 0 { tables } else { 0 };
            let first = for_each_table(catalogue, tables, label, verb, |table| format!("{head} sbtest{table} {tail}"));
            Group { first, repeats }
        };
        let when = |done: bool, repeats: u32| if done { repeats } else { 0 };
        let points = when(script.selects_points(), options.point_selects());
        let ranged = script.selects_ranges() && options.range_selects;
        let pairs = when(script.deletes_and_inserts(), options.delete_inserts);
        let deletes = if script == Script::Delete { 1 } else { pairs };
        let index_updates = when(script.updates_index(), options.index_updates);
        let non_index_updates = when(script.updates_non_index(), options.non_index_updates);
        let access = if script == Script::ReadOnly { Access::Read } else { Access::Write };
        let (simple, sum) = (when(ranged, options.simple_ranges), when(ranged, options.sum_ranges));
        let (order, distinct) = (when(ranged, options.order_ranges), when(ranged, options.distinct_ranges));
        Self {
            transaction: (script.has_transactions() && !options.skip_trx).then_some(access),
            tables,
            range_size: options.range_size,
            ids: options.ids(),
            points: add("point_select", Verb::Select, points, "SELECT c FROM", "WHERE id=?"),
            ranges: [
                add("simple_range", Verb::Select, simple, "SELECT c FROM", IN_RANGE),
                add("sum_range", Verb::Select, sum, "SELECT SUM(k) FROM", IN_RANGE),
                add("order_range", Verb::Select, order, "SELECT c FROM", SORTED),
                add("distinct_range", Verb::Select, distinct, "SELECT DISTINCT c FROM", SORTED),
            ],
            index_updates: add("index_update", Verb::Update, index_updates, "UPDATE", "SET k=k+1 WHERE id=?"),
            non_index_updates: add("non_index_update", Verb::Update, non_index_updates, "UPDATE", "SET c=? WHERE id=?"),
            deletes: add("delete", Verb::Delete, deletes, "DELETE FROM", "WHERE id=?"),
            inserts: add("insert", Verb::Insert, pairs, "INSERT INTO", "(id, k, c, pad) VALUES (?, ?, ?, ?)"),
        }
    }

    pub(super) async fn transaction<S: Session>(
        &self,
        connection: &mut Connection<S>,
        rng: &mut OpRng,
    ) -> Result<(), DriverError> {
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
        Ok(())
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
                at.table = rng.below(u64::from(self.tables)) as u16;
            }
            match at.group {
                POINTS | INDEX_UPDATES => {
                    params.int(self.ids.draw(rng));
                }
                SIMPLE_RANGES..=DISTINCT_RANGES => {
                    let start = self.ids.draw(rng);
                    // The end may lie behind the last row, as in sysbench: fewer rows come then.
                    params.int(start).int(start + i64::from(self.range_size) - 1);
                }
                NON_INDEX_UPDATES => {
                    params.text_with(|out| write_groups(out, rng, C_GROUPS)).int(self.ids.draw(rng));
                }
                _ if self.inserts.repeats == 0 => {
                    params.int(self.ids.draw(rng));
                }
                _ if !at.deleted => {
                    (at.id, at.k, at.deleted) = (self.ids.draw(rng), self.ids.draw(rng), true);
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
