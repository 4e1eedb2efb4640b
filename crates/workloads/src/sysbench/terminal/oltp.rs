//! The scripts whose events are statements by id, each on one of many tables.

use perbuck_core::rng::OpRng;
use perbuck_load::connection::Connection;
use perbuck_load::driver::{Access, Session};
use perbuck_load::statement::{Catalogue, StatementId, Verb};
use perbuck_load::values::Params;

use super::for_each_table;
use crate::Result;
use crate::sysbench::options::Options;
use crate::sysbench::random::{C_GROUPS, Ids, PAD_GROUPS, write_groups};
use crate::sysbench::script::Script;

/// The same statement on every table, repeated so many times per event on the table drawn for the group.
#[derive(Debug, Clone, Copy)]
pub(super) struct Group {
    pub(super) kind: Kind,
    /// The statement on `sbtest1`; that on `sbtestN` is N − 1 further.
    first: StatementId,
    repeats: u32,
}

/// What the statements of a group bind, in the order of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// An id: points and updates of the index.
    Id,
    Range,
    TextAndId,
    Delete,
    Replace,
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
    /// Those that the script uses, in the order of an event.
    pub(super) groups: Vec<Group>,
    /// The inserts after deletes.
    pub(super) inserts: Group,
}

const IN_RANGE: &str = "WHERE id BETWEEN ? AND ?";
const SORTED: &str = "WHERE id BETWEEN ? AND ? ORDER BY c";

impl Oltp {
    pub(super) fn new(options: &Options, catalogue: &mut Catalogue) -> Self {
        let script = options.script;
        let tables = options.tables;
        // A group that is not used has no statements to prepare.
        let mut add = |kind, label, verb, repeats: u32, head: &str, tail: &str| {
            let tables = if repeats > 0 { tables } else { 0 };
            let first = for_each_table(catalogue, tables, label, verb, |table| format!("{head} sbtest{table} {tail}"));
            Group { kind, first, repeats }
        };
        let [points, simple, sum, order, distinct, index_updates, non_index_updates, deletes, pairs] = options.repeats();
        let access = if script == Script::ReadOnly { Access::Read } else { Access::Write };
        let replaces = if pairs > 0 { Kind::Replace } else { Kind::Delete };
        let groups = [
            add(Kind::Id, "point_select", Verb::Select, points, "SELECT c FROM", "WHERE id=?"),
            add(Kind::Range, "simple_range", Verb::Select, simple, "SELECT c FROM", IN_RANGE),
            add(Kind::Range, "sum_range", Verb::Select, sum, "SELECT SUM(k) FROM", IN_RANGE),
            add(Kind::Range, "order_range", Verb::Select, order, "SELECT c FROM", SORTED),
            add(Kind::Range, "distinct_range", Verb::Select, distinct, "SELECT DISTINCT c FROM", SORTED),
            add(Kind::Id, "index_update", Verb::Update, index_updates, "UPDATE", "SET k=k+1 WHERE id=?"),
            add(Kind::TextAndId, "non_index_update", Verb::Update, non_index_updates, "UPDATE", "SET c=? WHERE id=?"),
            add(replaces, "delete", Verb::Delete, deletes, "DELETE FROM", "WHERE id=?"),
        ];
        Self {
            transaction: (script.has_transactions() && !options.skip_trx).then_some(access),
            tables,
            range_size: options.range_size,
            ids: options.ids(),
            groups: groups.into_iter().filter(|group| group.repeats > 0).collect(),
            inserts: add(Kind::Replace, "insert", Verb::Insert, pairs, "INSERT INTO", "(id, k, c, pad) VALUES (?, ?, ?, ?)"),
        }
    }

    #[expect(
        clippy::manual_async_fn,
        reason = "an async fn holds each parameter twice: as given, and as the variable it becomes"
    )]
    pub(super) fn transaction<S: Session>(
        &self,
        connection: &mut Connection<S>,
        rng: &mut OpRng,
    ) -> impl Future<Output = Result<()>> {
        async move {
            if let Some(access) = self.transaction {
                connection.begin(access).await?;
            }
            let mut at = Position::default();
            while let Some(statement) = self.next(&mut at, rng, connection.bind()) {
                connection.execute(statement).await?;
            }
            if self.transaction.is_some() {
                connection.commit().await?;
            }
            Ok(())
        }
    }

    /// Binds the next statement of the transaction; `None` after the last one. Statements come in the order of
    /// sysbench's scripts; the table is drawn once per group.
    #[inline]
    fn next(&self, at: &mut Position, rng: &mut OpRng, params: &mut Params) -> Option<StatementId> {
        loop {
            let group = self.groups.get(at.group)?;
            if at.repeat == group.repeats {
                (at.group, at.repeat) = (at.group + 1, 0);
                continue;
            }
            if at.repeat == 0 && !at.deleted {
                at.table = rng.below(u64::from(self.tables)) as u16;
            }
            match group.kind {
                Kind::Id | Kind::Delete => {
                    params.int(self.ids.draw(rng));
                }
                Kind::Range => {
                    let start = self.ids.draw(rng);
                    // The end may be after the last row, as in sysbench: fewer rows come then.
                    params.int(start).int(start + i64::from(self.range_size) - 1);
                }
                Kind::TextAndId => {
                    params.text_with(|out| write_groups(out, rng, C_GROUPS)).int(self.ids.draw(rng));
                }
                Kind::Replace if !at.deleted => {
                    (at.id, at.k, at.deleted) = (self.ids.draw(rng), self.ids.draw(rng), true);
                    params.int(at.id);
                    return Some(group.on(at.table));
                }
                Kind::Replace => {
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
}

/// Where in its transaction a terminal is.
#[derive(Debug, Default)]
struct Position {
    /// Among the groups that are used.
    group: usize,
    repeat: u32,
    table: u16,
    /// The row that was deleted and is to be inserted again.
    deleted: bool,
    id: i64,
    k: i64,
}
