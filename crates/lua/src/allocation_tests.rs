//! An event of a script allocates nothing once its terminal is warm: neither perbuck, nor the API within Lua. What a script allocates itself,
//! such as texts that it puts together, is its own.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use perbuck_core::rng::OpRng;
use perbuck_core::units::Seed;
use perbuck_load::connection::Connection;
use perbuck_load::driver::{Access, BulkTable, Effect, Session};
use perbuck_load::error::DriverError;
use perbuck_load::share::Share;
use perbuck_load::statement::{Catalogue, Statement, StatementId};
use perbuck_load::values::{Params, Rows};
use perbuck_load::workload::{Operation, Terminal, TerminalId};

use crate::*;

/// A session that answers each statement with a row, and allocates nothing itself.
struct OneRow;

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

    async fn add_statement(&mut self, catalogue: &mut Arc<Catalogue>, statement: Statement) -> Result<(), DriverError> {
        Arc::make_mut(catalogue).push(statement.verb.word(), statement);
        Ok(())
    }

    async fn execute(&mut self, _: StatementId, _: &Params, rows: &mut Rows) -> Result<Effect, DriverError> {
        Ok(Self::answer(rows))
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

/// The result of what never waits.
fn at_once<T>(work: impl Future<Output = T>) -> T {
    match pin!(work).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(done) => done,
        Poll::Pending => panic!("it waits"),
    }
}

#[test]
fn an_event_allocates_nothing() {
    let text = "function thread_init()\n\
                  con = sysbench.sql.driver():connect()\n\
                  begin, commit = con:prepare('BEGIN'), con:prepare('COMMIT')\n\
                  stmt = con:prepare('SELECT a, b FROM t WHERE id BETWEEN ? AND ?')\n\
                  from, to = stmt:bind_create(sysbench.sql.type.INT), stmt:bind_create(sysbench.sql.type.BIGINT)\n\
                  stmt:bind_param(from, to)\n\
                end\n\
                function event()\n\
                  begin:execute()\n\
                  for _ = 1, 10 do\n\
                    local id = sysbench.rand.default(1, 100000)\n\
                    from:set(id)\n\
                    to:set(id + sysbench.rand.uniform(1, 9))\n\
                    stmt:execute()\n\
                  end\n\
                  con:query('SELECT 1')\n\
                  commit:execute()\n\
                end";
    let script = LuaScript::of_file("/of/a/test.lua".into(), "test.lua".to_owned(), text.as_bytes().to_vec());
    for shares in [false, true] {
        let script = Arc::new(LuaScript { shares, command: Some("run".to_owned()), ..script.clone() });
        let id = TerminalId { index: 0, of: 1, seed: Seed(1), share: Share::WHOLE };
        let mut terminal = LuaTerminal::new(script, id, "mysql");
        let catalogue = Arc::new(Catalogue::labelled(&["select", "insert", "update", "delete", "other"]));
        let mut connection = at_once(Connection::open(OneRow, catalogue)).unwrap();
        at_once(terminal.start(&mut connection)).unwrap();
        let mut run = |from: u64, to: u64| {
            for sequence in from..to {
                let mut operation = Operation { sequence, rng: OpRng::at(id.seed, 0, sequence) };
                terminal.kind(&operation);
                at_once(terminal.transaction(&mut connection, &mut operation)).unwrap();
            }
        };
        run(0, 2000);
        let counted = allocation_counter::measure(|| run(2000, 2100));
        assert_eq!(counted.count_total, 0, "shared: {shares}");
    }
}
