//! One session as the engine uses it: operations on records become requests to the regions of their keys.

use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use perbuck_grpc::Parsed;
use perbuck_load::driver::{Access, BulkTable, Effect, Session};
use perbuck_load::error::{DriverError, ErrorClass, ErrorCode};
use perbuck_load::records::{Action, Records};
use perbuck_load::statement::{Catalogue, Statement, StatementId};
use perbuck_load::values::{Params, Rows, Value};
use perbuck_net::watchdog::{LONG_READ_TIMEOUT, Watchdog};

use crate::row::{self, Row};
use crate::rows::{TikvSession, text, wrong_shape};
use crate::wire::answers;
use crate::{raw, txn};

/// Pushes the wanted fields of a row. One that is missing is NULL; so is every field of what is no row.
fn push_fields(rows: &mut Rows, value: &[u8], wanted: &Range<u64>) {
    let row = Row::new(value);
    let mut next = row.clone();
    for field in wanted.clone() {
        // As a rule fields lie in their order.
        let found = match next.next() {
            Some(Ok((number, value))) if number == field => Ok(Some(value)),
            _ => row.find(field),
        };
        match found {
            Ok(Some(value)) => rows.push_text(value),
            _ => rows.push_null(),
        }
    }
}

fn no_sql(text: &str) -> DriverError {
    let message = format!("TiKV cannot execute `{text}`: it stores keys and values and has no SQL");
    DriverError::client(ErrorClass::Fatal, "statement", message)
}

impl TikvSession {
    #[inline]
    async fn run(
        &mut self,
        (table, action): &(Vec<u8>, Action),
        params: &Params,
        rows: &mut Rows,
    ) -> Result<Effect, DriverError> {
        match action {
            Action::Get(wanted) => {
                self.set_key(table, text(params.iter().next())?);
                self.read().await?;
                let transactional = self.transactional();
                let found = self.requests.answer(|answer| {
                    let value = answers::read_value(answer, transactional)?;
                    if let (Some(value), true) = (value, rows.keeps()) {
                        push_fields(rows, value, wanted);
                    }
                    Ok(value.is_some())
                });
                if found? {
                    rows.end_row();
                }
                Ok(Effect::ResultSet)
            }
            Action::Put => {
                let mut values = params.iter();
                self.set_key(table, text(values.next())?);
                self.set_row(values)?;
                self.write(None).await.map(|()| Effect::Affected(1))
            }
            Action::Update(changed) => self.update(table, changed, params).await,
            Action::Scan { fields, keys } => {
                let mut given = params.iter();
                self.set_key(table, text(given.next())?);
                let Some(Value::Int(limit)) = given.next() else { return Err(wrong_shape()) };
                let limit = u32::try_from(limit).unwrap_or(u32::MAX);
                self.scan(table, limit, false, |key, value| {
                    if rows.keeps() {
                        if *keys {
                            rows.push_text(key);
                        }
                        push_fields(rows, value, fields);
                    }
                    rows.end_row();
                })
                .await?;
                Ok(Effect::ResultSet)
            }
            other => Box::pin(self.ask_of_table(table, other, params, rows)).await,
        }
    }

    #[inline]
    fn set_row<'a>(&mut self, fields: impl Iterator<Item = Value<'a>>) -> Result<(), DriverError> {
        self.row.clear();
        for (field, value) in fields.enumerate() {
            row::put_field(&mut self.row, field as u64, text(Some(value))?);
        }
        row::finish(&mut self.row);
        Ok(())
    }

    /// Reads a row, changes it and writes it, as go-ycsb does.
    async fn update(&mut self, table: &[u8], changed: &Range<u64>, params: &Params) -> Result<Effect, DriverError> {
        let values = params.iter();
        if values.len() as u64 != changed.end - changed.start + 1 {
            return Err(wrong_shape());
        }
        self.set_key(table, text(values.clone().last())?);
        let transactional = self.transactional();
        let (mut begun, locks) = (None, transactional && self.pessimistic());
        if transactional {
            let mut txn = txn::begin(&mut self.requests, &mut self.later).await?;
            if locks {
                txn::lock(&mut self.requests, &mut txn, &self.key).await?;
            } else {
                txn::get(&mut self.requests, txn, &self.key).await?;
            }
            begun = Some(txn);
        } else {
            raw::get(&mut self.requests, &self.key).await?;
        }
        let new = &mut self.row;
        new.clear();
        let found: Parsed<bool> = self.requests.call.with(|answer| {
            let value = if locks { answers::locked_value(answer)? } else { answers::read_value(answer, transactional)? };
            let Some(old) = value else { return Ok(false) };
            for field in Row::new(old) {
                let (number, value) = field?;
                if !changed.contains(&number) {
                    row::put_field(new, number, value);
                }
            }
            Ok(true)
        });
        if found != Ok(true) {
            if let (Some(txn), true) = (begun, locks) {
                txn::unlock(&mut self.requests, txn, &self.key).await?;
            }
            return match found {
                Ok(_) => Ok(Effect::Affected(0)),
                Err(why) => {
                    let message = format!("the row of {} cannot be changed: {}", String::from_utf8_lossy(&self.key), why.0);
                    Err(DriverError::new(ErrorClass::Failed, ErrorCode::Word("tikv", "row"), message))
                }
            };
        }
        for (number, value) in changed.clone().zip(values) {
            row::put_field(&mut self.row, number, text(Some(value))?);
        }
        self.write(begun).await.map(|()| Effect::Affected(1))
    }
}

impl Session for TikvSession {
    async fn prepare(&mut self, catalogue: &Arc<Catalogue>) -> Result<(), DriverError> {
        let action = |statement: &Statement| {
            let records = statement.records.as_ref().ok_or_else(|| no_sql(&statement.sql))?;
            Ok((self.prefix_of(&records.table), records.action.clone()))
        };
        self.statements = catalogue.statements().iter().map(action).collect::<Result<_, DriverError>>()?;
        self.catalogue = Arc::clone(catalogue);
        Ok(())
    }

    fn lift_timeout(&mut self) {
        self.requests.watchdog = Watchdog::new(LONG_READ_TIMEOUT);
    }

    #[inline]
    async fn execute(&mut self, id: StatementId, params: &Params, rows: &mut Rows) -> Result<Effect, DriverError> {
        rows.start(self.catalogue.brief(id).keep_rows);
        let statements = Rc::clone(&self.statements);
        self.run(&statements[usize::from(id.0)], params, rows).await
    }

    async fn begin(&mut self, _access: Access) -> Result<(), DriverError> {
        // Every statement is a transaction of its own, as go-ycsb has it.
        Ok(())
    }

    async fn commit(&mut self) -> Result<(), DriverError> {
        Ok(())
    }

    async fn rollback(&mut self) -> Result<bool, DriverError> {
        Ok(false)
    }

    async fn query(&mut self, sql: &str, _rows: &mut Rows) -> Result<Effect, DriverError> {
        Err(no_sql(sql))
    }

    async fn query_records(&mut self, records: &Records, params: &Params, rows: &mut Rows) -> Result<Effect, DriverError> {
        rows.start(true);
        self.run(&(self.prefix_of(&records.table), records.action.clone()), params, rows).await
    }

    async fn drop_table(&mut self, table: &str) -> Result<(), DriverError> {
        let prefix = self.prefix_of(table);
        self.delete_all(&prefix).await
    }

    async fn count_rows(&mut self, table: &str) -> Result<u64, DriverError> {
        let prefix = self.prefix_of(table);
        self.rows_of(&prefix, u32::MAX).await
    }

    async fn insert_rows(&mut self, table: &BulkTable, cells: &Params) -> Result<u64, DriverError> {
        let prefix = self.prefix_of(&table.name);
        self.pairs.clear();
        let mut cells = cells.iter();
        while let Some(key) = cells.next() {
            self.set_key(&prefix, text(Some(key))?);
            self.set_row(cells.by_ref().take(table.columns.len() - 1))?;
            self.pairs.add(&self.key, &self.row);
        }
        self.pairs.sort();
        let mut done = 0;
        while done < self.pairs.len() {
            done += if self.transactional() {
                let txn = txn::begin(&mut self.requests, &mut self.later).await?;
                txn::commit(&mut self.requests, &mut self.later, txn, &self.pairs, done).await?
            } else {
                raw::put_some(&mut self.requests, &self.pairs, done).await?
            };
        }
        Ok(done as u64)
    }

    async fn close(mut self) {
        self.later.finish(&mut self.requests, true).await;
    }
}
