//! A transaction of a script allocates nothing once its terminal is warm.

use std::sync::Arc;

use perbuck_core::rng::OpRng;
use perbuck_core::units::Seed;
use perbuck_load::batch::Batch;
use perbuck_load::connection::Connection;
use perbuck_load::driver::{Access, BulkTable, Effect, Session};
use perbuck_load::error::DriverError;
use perbuck_load::share::Share;
use perbuck_load::statement::{Catalogue, StatementId};
use perbuck_load::values::{Params, Rows};
use perbuck_load::workload::{Operation, Terminal, TerminalId, Workload};

use super::{Options, Scripts};
use crate::benchmark::Benchmark;
use crate::testing::{POSTGRES, block_on, parameters};

/// A session that answers each statement with a row of a number and a text, and allocates nothing itself.
pub(crate) struct OneRow;

impl OneRow {
    fn answer(rows: &mut Rows) -> Effect {
        rows.start(true);
        rows.push_int(7);
        rows.push_text(b"a word");
        rows.end_row();
        Effect::ResultSet
    }
}

impl Session for OneRow {
    async fn prepare(&mut self, _: &Arc<Catalogue>) -> Result<(), DriverError> {
        Ok(())
    }

    async fn columns(&mut self, _: StatementId) -> Result<Option<Vec<String>>, DriverError> {
        Ok(Some(vec!["found".to_owned(), "word".to_owned()]))
    }

    async fn execute(&mut self, _: StatementId, _: &Params, rows: &mut Rows) -> Result<Effect, DriverError> {
        Ok(Self::answer(rows))
    }

    async fn batch(&mut self, _: Batch<'_>) -> Result<(), DriverError> {
        Ok(())
    }

    async fn begin(&mut self, _: Access) -> Result<(), DriverError> {
        Ok(())
    }

    async fn commit(&mut self) -> Result<(), DriverError> {
        Ok(())
    }

    async fn rollback(&mut self) -> Result<bool, DriverError> {
        Ok(true)
    }

    async fn query(&mut self, _: &str, rows: &mut Rows) -> Result<Effect, DriverError> {
        Ok(Self::answer(rows))
    }

    async fn insert_rows(&mut self, _: &BulkTable, _: &Params) -> Result<u64, DriverError> {
        Ok(0)
    }

    async fn close(self) {}
}

#[test]
fn a_warm_terminal_allocates_nothing() {
    let script = "\\set a random_zipfian(1, 1000, 1.2) + permute(3, 10) + case when :scale > 0 then 1 else 2 end\n\\set d sqrt(:a) * 1.5\n\
                  BEGIN;\nSELECT n AS found, t AS word FROM t WHERE id = :a AND d > :d \\gset\n\\if :found = 7\n\
                  UPDATE t SET n = :found, t = :word;\n\\endif\nEND;\nSELECT :a, :none;";
    let piped =
        format!("{script}\n\\startpipeline\nBEGIN;\n\\set a :a + 1\nSELECT :a, :word;\n\\syncpipeline\nEND;\n\\endpipeline");
    for (protocol, script) in [("prepared", &*piped), ("extended", &piped), ("simple", script)] {
        let words = [("file", "a.sql, builtin:tpcb-like@2"), ("file a.sql", script), ("protocol", protocol)];
        let scripts = Scripts::new(&Options::checked(&parameters(&words)).unwrap(), POSTGRES);
        let id = TerminalId { index: 0, of: 1, seed: Seed(1), share: Share::WHOLE };
        let mut terminal = scripts.terminal(id);
        let mut connection = block_on(Connection::open(OneRow, scripts.catalogue())).unwrap();
        let mut run = |from: u64, to: u64| {
            for sequence in from..to {
                let mut operation = Operation { sequence, rng: OpRng::at(id.seed, 0, sequence) };
                terminal.kind(&operation);
                block_on(terminal.transaction(&mut connection, &mut operation)).unwrap();
            }
        };
        run(0, 2000);
        let counted = allocation_counter::measure(|| run(2000, 2100));
        assert_eq!(counted.count_total, 0, "{protocol}");
    }
}
