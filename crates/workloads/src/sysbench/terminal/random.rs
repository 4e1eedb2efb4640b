//! `select_random_points` and `select_random_ranges`: one SELECT of several values of the indexed column of `sbtest1`.

use perbuck_core::rng::OpRng;
use perbuck_load::connection::Connection;
use perbuck_load::driver::Session;
use perbuck_load::statement::{Catalogue, StatementId, Verb};
use perbuck_load::workload::TerminalId;

use crate::Result;
use crate::sysbench::options::Options;
use crate::sysbench::random::Ids;
use crate::sysbench::script::Script;

#[derive(Debug, Clone)]
pub(super) struct Random {
    statement: StatementId,
    values: u32,
    /// The distance of a range's end from its start; `None` for points.
    delta: Option<i64>,
    ids: Ids,
}

impl Random {
    pub(super) fn new(options: &Options, catalogue: &mut Catalogue) -> Self {
        let list = |one: &str, many: u32, between: &str| vec![one; many as usize].join(between);
        let (label, sql, values, delta) = if options.script == Script::RandomPoints {
            let values = options.random_points;
            let sql = format!("SELECT id, k, c, pad FROM sbtest1 WHERE k IN ({})", list("?", values, ", "));
            ("random_points", sql, values, None)
        } else {
            let values = options.number_of_ranges;
            let sql = format!("SELECT COUNT(k) FROM sbtest1 WHERE {}", list("k BETWEEN ? AND ?", values, " OR "));
            ("random_ranges", sql, values, Some(i64::from(options.delta)))
        };
        Self { statement: catalogue.add_named(label, Verb::Select, false, sql), values, delta, ids: options.ids() }
    }

    /// In sysbench each thread draws from a slice of its own, both ends of which the neighbours share, and the first of
    /// which begins with 0. The cost of an event depends on the number of threads then, so ours do it for comparison only.
    pub(super) fn assign(&mut self, id: TerminalId, options: &Options) {
        if options.compat.is_some() {
            let length = f64::from(options.table_size) / f64::from(id.of.max(1));
            let start = length * f64::from(id.index);
            self.ids = Ids::new((options, options.rand_type), start as i64, (start + length) as i64);
        }
    }

    pub(super) async fn transaction<S: Session>(&self, connection: &mut Connection<S>, rng: &mut OpRng) -> Result<()> {
        let params = connection.bind();
        for _ in 0..self.values {
            let value = self.ids.draw(rng);
            params.int(value);
            if let Some(delta) = self.delta {
                params.int(value + delta);
            }
        }
        connection.execute(self.statement).await?;
        Ok(())
    }
}
