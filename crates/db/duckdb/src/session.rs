//! One connection to a DuckDB file.

use std::ffi::CString;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use perbuck_load::driver::{Access, BulkTable, Effect, Session};
use perbuck_load::error::{DriverError, ErrorClass};
use perbuck_load::statement::{Catalogue, Statement as Sql, StatementId};
use perbuck_load::values::{Params, Rows, Value};
use perbuck_load::watch;

use crate::cells::keep_rows;
use crate::database::Shared;
use crate::dialect::LIMIT;
use crate::errors::driver_error;
use crate::ffi::{Answer, Bind, Connection, Kind, Outcome, Statement};
use crate::insert;
use crate::load::Loads;

/// One connection. Its calls block the thread.
#[derive(Debug)]
pub struct DuckdbSession {
    /// Those of the catalogue, by their number, once they were used.
    prepared: Vec<Option<Statement>>,
    catalogue: Arc<Catalogue>,
    /// Whether a transaction was begun that has not ended.
    open: bool,
    /// The limit of a statement, where the session has set one.
    limit: Option<Duration>,
    /// What the open transaction has appended to tables. Any other statement writes it first.
    loads: Loads,
    path: Arc<Path>,
    shared: Shared,
}

impl DuckdbSession {
    pub(crate) fn new(shared: Shared, path: Arc<Path>) -> Self {
        let (prepared, catalogue, loads) = (Vec::new(), Arc::default(), Loads::default());
        Self { prepared, catalogue, open: false, limit: None, loads, path, shared }
    }

    fn error(&self, message: &str) -> DriverError {
        driver_error(message, &self.path)
    }

    /// A text for DuckDB, which ends at a NUL.
    fn text(&self, sql: &str) -> Result<CString, DriverError> {
        CString::new(sql).map_err(|_| {
            let message = format!("DuckDB file {}: a statement holds a NUL", self.path.display());
            DriverError::client(ErrorClass::Fatal, "statement", message)
        })
    }

    fn control(&self, sql: &'static std::ffi::CStr) -> Result<(), DriverError> {
        self.shared.connection.query(sql).map(drop).map_err(|message| self.error(&message))
    }

    /// The statement of an id, which is prepared on its first use.
    fn statement(&mut self, id: StatementId) -> Result<&Statement, DriverError> {
        let index = usize::from(id.0);
        if self.prepared[index].is_none() {
            let sql = self.text(&self.catalogue.get(id).sql)?;
            let made = Statement::prepare(&self.shared.connection, &sql).map_err(|message| self.error(&message))?;
            self.prepared[index] = Some(made);
        }
        self.prepared[index].as_ref().ok_or_else(|| DriverError::client(ErrorClass::Fatal, "statement", "it was not prepared"))
    }

    fn finish_loads(&mut self) -> Result<(), DriverError> {
        self.loads.finish().map_err(|message| self.error(&message))
    }

    /// Does `work` on the connection: within the open transaction, else within one of its own, of which an error keeps nothing.
    fn in_transaction<T>(&mut self, work: impl FnOnce(&Rc<Connection>) -> Result<T, String>) -> Result<T, DriverError> {
        if self.open {
            return work(&self.shared.connection).map_err(|message| self.error(&message));
        }
        self.control(c"BEGIN TRANSACTION")?;
        let done = work(&self.shared.connection);
        // A COMMIT that fails has ended the transaction.
        let (done, ended) = match done {
            Ok(done) => (Ok(done), self.control(c"COMMIT")),
            Err(message) => (Err(self.error(&message)), self.control(c"ROLLBACK")),
        };
        let done = done?;
        ended.map(|()| done)
    }
}

impl Session for DuckdbSession {
    async fn prepare(&mut self, catalogue: &Arc<Catalogue>) -> Result<(), DriverError> {
        self.prepared.clear();
        self.prepared.resize_with(catalogue.statements().len(), || None);
        self.catalogue = Arc::clone(catalogue);
        Ok(())
    }

    async fn prepare_ahead(&mut self) -> Result<(), DriverError> {
        (0..self.prepared.len()).try_for_each(|index| self.statement(StatementId(index as u16)).map(drop))
    }

    async fn add_statement(&mut self, catalogue: &mut Arc<Catalogue>, statement: Sql) -> Result<(), DriverError> {
        // Without another owner it grows in place.
        *catalogue = Arc::default();
        self.prepared.push(None);
        let id = Arc::make_mut(&mut self.catalogue).push(statement.verb.word(), statement);
        let prepared = self.statement(id).map(drop);
        if prepared.is_err() {
            self.prepared.pop();
            Arc::make_mut(&mut self.catalogue).pop();
        }
        *catalogue = Arc::clone(&self.catalogue);
        prepared
    }

    async fn execute(&mut self, id: StatementId, params: &Params, rows: &mut Rows) -> Result<Effect, DriverError> {
        let keep = self.catalogue.brief(id).keep_rows;
        rows.start(keep);
        self.finish_loads()?;
        let (path, limit, connection) = (Arc::clone(&self.path), self.limit, Rc::clone(&self.shared.connection));
        let statement = self.statement(id)?;
        if statement.parameters().len() != params.len() {
            let message = format!(
                "DuckDB file {}: a statement has {} parameters, and {} values were given",
                path.display(),
                statement.parameters().len(),
                params.len()
            );
            return Err(DriverError::client(ErrorClass::Fatal, "parameters", message));
        }
        let done = bind_all(statement, params.iter()).and_then(|()| connection.within(limit, || statement.execute()));
        finish(done, rows).map_err(|message| driver_error(&message, &path))
    }

    async fn begin(&mut self, _access: Access) -> Result<(), DriverError> {
        self.control(c"BEGIN TRANSACTION")?;
        self.open = true;
        Ok(())
    }

    async fn commit(&mut self) -> Result<(), DriverError> {
        // Rows that DuckDB refuses leave the transaction open, to be rolled back; a COMMIT that fails ends it.
        self.finish_loads()?;
        self.open = false;
        self.control(c"COMMIT")
    }

    async fn rollback(&mut self) -> Result<bool, DriverError> {
        if !std::mem::take(&mut self.open) {
            return Ok(false);
        }
        self.loads.discard();
        self.control(c"ROLLBACK").map(|()| true)
    }

    async fn query(&mut self, sql: &str, rows: &mut Rows) -> Result<Effect, DriverError> {
        watch::asks(self.path.display(), sql);
        rows.start(true);
        self.finish_loads()?;
        let (text, connection) = (self.text(sql)?, &self.shared.connection);
        let answer = connection.within(self.limit, || connection.query(&text));
        let effect = finish(answer, rows).map_err(|message| self.error(&message))?;
        if let Some(Ok(seconds)) = sql.strip_prefix(LIMIT).map(str::parse) {
            self.limit = Some(Duration::from_secs(seconds));
        }
        Ok(effect)
    }

    async fn insert_rows(&mut self, table: &BulkTable, cells: &Params) -> Result<u64, DriverError> {
        check_shape(table, cells)?;
        self.finish_loads()?;
        self.in_transaction(|connection| insert::insert(connection, table, cells))
    }

    async fn load_rows(&mut self, table: &BulkTable, cells: &Params) -> Result<u64, DriverError> {
        check_shape(table, cells)?;
        self.shared.begin_load().map_err(|message| self.error(&message))?;
        if self.open {
            let appended = self.loads.append(&self.shared.connection, table, cells);
            return appended.map_err(|message| self.error(&message));
        }
        self.in_transaction(|connection| {
            let mut loads = Loads::default();
            let rows = loads.append(connection, table, cells)?;
            loads.finish().map(|()| rows)
        })
    }

    async fn close(self) {}
}

fn check_shape(table: &BulkTable, cells: &Params) -> Result<(), DriverError> {
    let width = table.columns.len();
    if width > 0 && cells.len().is_multiple_of(width) {
        return Ok(());
    }
    let message = format!("{} values do not fill rows of {width} columns for table {}", cells.len(), table.name);
    Err(DriverError::client(ErrorClass::Fatal, "shape", message))
}

/// Gives all parameters their values.
pub(crate) fn bind_all<'a>(statement: &Statement, values: impl Iterator<Item = Value<'a>>) -> Result<(), String> {
    for (position, (value, kind)) in values.zip(statement.parameters()).enumerate() {
        statement.bind(position, bind_of(value, *kind))?;
    }
    Ok(())
}

/// A value in the type of its parameter: with another one DuckDB plans the statement again.
fn bind_of(value: Value<'_>, kind: Kind) -> Bind<'_> {
    match (value, kind) {
        (Value::Null, _) => Bind::Null,
        (Value::Int(v), Kind::Int8) if i8::try_from(v).is_ok() => Bind::Int8(v as i8),
        (Value::Int(v), Kind::Int16) if i16::try_from(v).is_ok() => Bind::Int16(v as i16),
        (Value::Int(v), Kind::Int32) if i32::try_from(v).is_ok() => Bind::Int32(v as i32),
        (Value::Int(v), Kind::Decimal { width, scale }) => {
            decimal(v, 0, (width, scale)).map_or(Bind::Int64(v), |unscaled| Bind::Decimal { unscaled, width, scale })
        }
        (Value::Int(v), _) => Bind::Int64(v),
        (Value::Decimal { unscaled, scale }, Kind::Decimal { width, scale: wanted }) => {
            match decimal(unscaled, scale, (width, wanted)) {
                Some(unscaled) => Bind::Decimal { unscaled, width, scale: wanted },
                None => any_decimal(unscaled, scale),
            }
        }
        (Value::Decimal { unscaled, scale }, _) => any_decimal(unscaled, scale),
        (Value::Text(bytes), Kind::Bytes) => Bind::Bytes(bytes),
        (Value::Text(bytes), _) => Bind::Text(bytes),
    }
}

/// As many digits as 64 bits have.
fn any_decimal<'a>(unscaled: i64, scale: u8) -> Bind<'a> {
    Bind::Decimal { unscaled, width: 19, scale }
}

/// A decimal with another number of digits after the point, where it is exactly one of so many digits.
pub(crate) fn decimal(unscaled: i64, scale: u8, (width, wanted): (u8, u8)) -> Option<i64> {
    let more = wanted.checked_sub(scale)?;
    let value = unscaled.checked_mul(10_i64.checked_pow(more.into())?)?;
    // 18 digits are in every number of 64 bits.
    let limit = 10_i64.checked_pow(width.min(18).into())?;
    (value.checked_abs()? < limit).then_some(value)
}

/// Takes an answer to its end: every row is fetched, whether its cells are kept or not.
fn finish(answer: Result<Answer, String>, rows: &mut Rows) -> Result<Effect, String> {
    let mut answer = answer?;
    match answer.outcome() {
        Outcome::Changed(count) => Ok(Effect::Affected(count)),
        Outcome::Rows => keep_rows(&mut answer, rows).map(|()| Effect::ResultSet),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_bound_in_the_type_of_their_parameter_where_it_holds_them() {
        let decimal = |unscaled, width, scale| Bind::Decimal { unscaled, width, scale };
        for (value, kind, bind) in [
            (Value::Int(7), Kind::Int32, Bind::Int32(7)),
            (Value::Int(1 << 40), Kind::Int32, Bind::Int64(1 << 40)),
            (Value::Int(-129), Kind::Int8, Bind::Int64(-129)),
            (Value::Int(5), Kind::Decimal { width: 38, scale: 2 }, decimal(500, 38, 2)),
            (Value::Int(1_000), Kind::Decimal { width: 4, scale: 1 }, Bind::Int64(1_000)),
            (Value::Decimal { unscaled: -5, scale: 1 }, Kind::Decimal { width: 4, scale: 2 }, decimal(-50, 4, 2)),
            (Value::Decimal { unscaled: 5, scale: 3 }, Kind::Decimal { width: 4, scale: 2 }, decimal(5, 19, 3)),
            (Value::Decimal { unscaled: 5, scale: 3 }, Kind::Float64, decimal(5, 19, 3)),
            (Value::Text(b"a"), Kind::Bytes, Bind::Bytes(b"a")),
            (Value::Text(b"a"), Kind::Timestamp, Bind::Text(b"a")),
            (Value::Null, Kind::Int64, Bind::Null),
        ] {
            assert_eq!(bind_of(value, kind), bind, "{value:?} {kind:?}");
        }
    }
}
