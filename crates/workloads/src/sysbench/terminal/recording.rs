//! A session that records what is sent to it and answers everything.

use std::cell::RefCell;
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use perbuck_load::driver::{Access, BulkTable, Effect, Session};
use perbuck_load::error::DriverError;
use perbuck_load::statement::{Catalogue, StatementId, Verb};
use perbuck_load::values::{Params, Rows, Value};

/// What was sent: text with values in place of `?`, and BEGIN and COMMIT.
pub(super) type Log = Rc<RefCell<Vec<String>>>;

pub(super) struct Recording {
    pub(super) catalogue: Arc<Catalogue>,
    pub(super) log: Log,
    /// What a query outside the catalogue returns.
    pub(super) answer: i64,
    /// What an INSERT of many rows ends with, if not well.
    pub(super) refusal: Rc<RefCell<Option<DriverError>>>,
}

impl Recording {
    fn note(&self, text: &str) {
        self.log.borrow_mut().push(text.to_owned());
    }
}

impl Session for Recording {
    async fn prepare(&mut self, catalogue: &Arc<Catalogue>) -> Result<(), DriverError> {
        self.catalogue = Arc::clone(catalogue);
        Ok(())
    }

    async fn execute(&mut self, id: StatementId, params: &Params, rows: &mut Rows) -> Result<Effect, DriverError> {
        let statement = self.catalogue.get(id);
        let mut text = String::new();
        let mut pieces = statement.sql.split('?');
        text.push_str(pieces.next().unwrap());
        assert_eq!(params.len(), statement.sql.matches('?').count());
        for (value, piece) in params.iter().zip(pieces) {
            match value {
                Value::Int(v) => text.push_str(&v.to_string()),
                Value::Text(t) => text.push_str(&format!("'{}'", String::from_utf8_lossy(t))),
                other => panic!("{other:?}"),
            }
            text.push_str(piece);
        }
        self.note(&text);
        rows.start(false);
        Ok(if statement.verb == Verb::Select { Effect::ResultSet } else { Effect::Affected(1) })
    }

    async fn begin(&mut self, access: Access) -> Result<(), DriverError> {
        self.note(if access == Access::Write { "BEGIN write" } else { "BEGIN read" });
        Ok(())
    }

    async fn commit(&mut self) -> Result<(), DriverError> {
        self.note("COMMIT");
        Ok(())
    }

    async fn rollback(&mut self) -> Result<bool, DriverError> {
        self.note("ROLLBACK");
        Ok(true)
    }

    async fn query(&mut self, _sql: &str, rows: &mut Rows) -> Result<Effect, DriverError> {
        rows.start(true);
        rows.push_int(self.answer);
        rows.end_row();
        Ok(Effect::ResultSet)
    }

    async fn insert_rows(&mut self, table: &BulkTable, cells: &Params) -> Result<u64, DriverError> {
        if let Some(refusal) = self.refusal.borrow_mut().take() {
            return Err(refusal);
        }
        let values: Vec<Value<'_>> = cells.iter().collect();
        let rows = values.len() / table.columns.len();
        self.note(&format!("{rows} rows into {}, {:?} to {:?}", table.name, values[0], values[values.len() - 1]));
        Ok(rows as u64)
    }

    async fn close(self) {}
}

/// The recording session never waits, so one poll finishes.
pub(super) fn now<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("the fake session waited"),
    }
}
