//! One session as the engine uses it: statements become requests to the regions of their keys.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use perbuck_grpc::Parsed;
use perbuck_grpc::kvproto::kvrpcpb::scan_response;
use perbuck_grpc::proto::{Value as Field, fields};
use perbuck_load::driver::{Access, BulkTable, Effect, Session};
use perbuck_load::error::{DriverError, ErrorClass, ErrorCode};
use perbuck_load::statement::{Catalogue, StatementId};
use perbuck_load::values::{Params, Rows, Value};

use crate::hub::Hub;
use crate::later;
use crate::pairs::Pairs;
use crate::request::Requests;
use crate::row::{self, Row};
use crate::sentence::Sentence;
use crate::wire::answers::{self, KeyError};
use crate::{keys, raw, txn};

/// The limit for an answer while data are made, counted and checked.
const PATIENCE: Duration = Duration::from_secs(48 * 3600);
/// Keys of one answer while rows are counted; TiKV gives at most 10,240.
const COUNTED_AT_ONCE: u32 = 4_096;

/// A session of a TiKV cluster. Its requests travel over connections that all sessions of its thread share.
pub struct TikvSession {
    pub(crate) requests: Requests,
    statements: Rc<[Sentence]>,
    catalogue: Arc<Catalogue>,
    key: Vec<u8>,
    row: Vec<u8>,
    pairs: Pairs,
}

/// How the value of a key came: they lie in different fields of the answers.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Came {
    Read,
    Locked,
}

impl Came {
    pub(crate) fn value(self, answer: &[u8]) -> Parsed<Option<&[u8]>> {
        match self {
            Self::Read => answers::value(answer).map(Result::unwrap_or_default),
            Self::Locked => answers::locked_value(answer),
        }
    }
}

pub(crate) fn text<'a>(value: Option<Value<'a>>) -> Result<&'a [u8], DriverError> {
    match value {
        Some(Value::Text(bytes)) => Ok(bytes),
        other => {
            let message = format!("a key or a field is to be text, and {other:?} was bound");
            Err(DriverError::client(ErrorClass::Fatal, "parameters", message))
        }
    }
}

/// The first error of the rows of a scan: their own, or that of the whole.
pub(crate) fn scan_error(answer: &[u8]) -> Parsed<Option<KeyError>> {
    for field in fields(answer) {
        match field? {
            (scan_response::PAIRS, Field::Bytes(pair)) => {
                if let (Some(error), ..) = answers::pair(pair)? {
                    return Ok(Some(error));
                }
            }
            (scan_response::ERROR, Field::Bytes(error)) => return KeyError::parse(error).map(Some),
            _ => {}
        }
    }
    Ok(None)
}

/// Pushes so many fields of a row. One that is missing is NULL; so is every field of what is no row.
fn push_fields(rows: &mut Rows, value: &[u8], first: u64, count: u64) {
    let row = Row::new(value);
    let mut next = row.clone();
    for field in first..first + count {
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

impl TikvSession {
    pub(crate) fn new(hub: Rc<Hub>, session: u32) -> Self {
        let (statements, catalogue) = (Rc::from([]), Arc::new(Catalogue::default()));
        let (key, row, pairs) = (Vec::new(), Vec::new(), Pairs::default());
        Self { requests: Requests::new(hub, session), statements, catalogue, key, row, pairs }
    }

    pub(crate) fn transactional(&self) -> bool {
        self.requests.hub.settings.target.transactional
    }

    fn pessimistic(&self) -> bool {
        self.requests.hub.settings.target.pessimistic
    }

    pub(crate) fn set_key(&mut self, table: &[u8], key: &[u8]) {
        self.key.clear();
        self.key.extend_from_slice(table);
        self.key.extend_from_slice(key);
    }

    /// Executes a statement.
    #[inline]
    async fn run(&mut self, sentence: &Sentence, params: &Params, rows: &mut Rows) -> Result<Effect, DriverError> {
        match sentence {
            Sentence::Get { table, first, count } => {
                self.set_key(table, text(params.iter().next())?);
                self.read().await?;
                let found = self.requests.call.with(|answer| {
                    let value = Came::Read.value(answer)?;
                    if let (Some(value), true) = (value, rows.keeps()) {
                        push_fields(rows, value, *first, *count);
                    }
                    Ok(value.is_some())
                });
                if found.map_err(crate::malformed)? {
                    rows.end_row();
                }
                Ok(Effect::ResultSet)
            }
            Sentence::Put { table } => {
                let mut values = params.iter();
                self.set_key(table, text(values.next())?);
                self.row.clear();
                for (field, value) in values.enumerate() {
                    row::put_field(&mut self.row, field as u64, text(Some(value))?);
                }
                row::finish(&mut self.row);
                self.write(None).await.map(|()| Effect::Affected(1))
            }
            Sentence::Update { table, first, count } => self.update(table, *first, *count, params).await,
            Sentence::Scan { table, first, count, keys } => {
                let mut given = params.iter();
                self.set_key(table, text(given.next())?);
                let Some(Value::Int(limit)) = given.next() else { return Err(wrong_shape()) };
                let limit = u32::try_from(limit).unwrap_or(u32::MAX);
                self.scan(table, limit, false, |key, value| {
                    if rows.keeps() {
                        if *keys {
                            rows.push_text(key);
                        }
                        push_fields(rows, value, *first, *count);
                    }
                    rows.end_row();
                })
                .await?;
                Ok(Effect::ResultSet)
            }
            other => Box::pin(self.keep_house(other, params, rows)).await,
        }
    }

    /// Reads the key.
    #[inline]
    pub(crate) async fn read(&mut self) -> Result<(), DriverError> {
        if !self.transactional() {
            return raw::get(&mut self.requests, &self.key).await;
        }
        let txn = txn::begin(&mut self.requests).await?;
        txn::get(&mut self.requests, txn, &self.key).await
    }

    /// Writes the row to the key, in a transaction that may have begun before.
    #[inline]
    async fn write(&mut self, begun: Option<txn::Txn>) -> Result<(), DriverError> {
        if !self.transactional() {
            return raw::put(&mut self.requests, &self.key, &self.row).await;
        }
        let begins = begun.is_none();
        let mut txn = match begun {
            Some(txn) => txn,
            None => txn::begin(&mut self.requests).await?,
        };
        if begins && self.pessimistic() {
            txn::lock(&mut self.requests, &mut txn, &self.key).await?;
        }
        self.pairs.clear();
        self.pairs.add(&self.key, &self.row);
        txn::commit(&mut self.requests, txn, &self.pairs, 0).await.map(drop)
    }

    /// Reads a row, changes it and writes it, as go-ycsb does.
    async fn update(&mut self, table: &[u8], first: u64, count: u64, params: &Params) -> Result<Effect, DriverError> {
        let values = params.iter();
        if values.len() as u64 != count + 1 {
            return Err(wrong_shape());
        }
        self.set_key(table, text(values.clone().last())?);
        let (mut begun, mut came) = (None, Came::Read);
        if self.transactional() {
            let mut txn = txn::begin(&mut self.requests).await?;
            if self.pessimistic() {
                txn::lock(&mut self.requests, &mut txn, &self.key).await?;
                came = Came::Locked;
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
            let Some(old) = came.value(answer)? else { return Ok(false) };
            for field in Row::new(old) {
                let (number, value) = field?;
                if !(first..first + count).contains(&number) {
                    row::put_field(new, number, value);
                }
            }
            Ok(true)
        });
        if found != Ok(true) {
            if let (Some(txn), Came::Locked) = (begun, came) {
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
        for (number, value) in (first..first + count).zip(values) {
            row::put_field(&mut self.row, number, text(Some(value))?);
        }
        self.write(begun).await.map(|()| Effect::Affected(1))
    }

    /// Calls `each` with keys (without their table) and values from the key on, at most `limit` of the table.
    pub(crate) async fn scan(
        &mut self,
        table: &[u8],
        limit: u32,
        keys_only: bool,
        mut each: impl FnMut(&[u8], &[u8]),
    ) -> Result<(), DriverError> {
        let end = keys::behind(table);
        let txn = if self.transactional() { Some(txn::begin(&mut self.requests).await?) } else { None };
        let mut left = limit;
        while left > 0 {
            let (asked, key, requests) = (left.min(COUNTED_AT_ONCE), &self.key, &mut self.requests);
            let region_end = match txn {
                Some(txn) => txn::scan(requests, txn, key, &end, asked, keys_only).await?,
                None => raw::scan(requests, key, &end, asked, keys_only).await?,
            };
            let (mut count, last) = (0, &mut self.row);
            let read = self.requests.call.with(|answer| {
                for field in fields(answer) {
                    let (scan_response::PAIRS, Field::Bytes(pair)) = field? else { continue };
                    let (_, key, value) = answers::pair(pair)?;
                    each(key.get(table.len()..).unwrap_or_default(), value);
                    count += 1;
                    last.clear();
                    last.extend_from_slice(key);
                }
                Ok(())
            });
            read.map_err(crate::malformed)?;
            left -= count.min(left);
            // Fewer than asked for: the region has no more.
            if count < asked {
                if region_end.is_empty() || region_end >= end {
                    break;
                }
                self.key = region_end;
            } else {
                self.key.clone_from(&self.row);
                self.key.push(0);
            }
        }
        Ok(())
    }
}

pub(crate) fn wrong_shape() -> DriverError {
    DriverError::client(ErrorClass::Fatal, "parameters", "the statement does not have the parameters that it wants")
}

impl Session for TikvSession {
    async fn prepare(&mut self, catalogue: &Arc<Catalogue>) -> Result<(), DriverError> {
        let prefix = &self.requests.hub.settings.prefix;
        let one = |sql: &str| Sentence::parse(sql, prefix, &mut Params::default());
        self.statements = catalogue.statements().iter().map(|s| one(&s.sql)).collect::<Result<_, _>>()?;
        self.catalogue = Arc::clone(catalogue);
        Ok(())
    }

    fn be_patient(&mut self) {
        self.requests.set_limit(PATIENCE);
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

    async fn query(&mut self, sql: &str, rows: &mut Rows) -> Result<Effect, DriverError> {
        rows.start(true);
        let mut params = Params::default();
        let sentence = Sentence::parse(sql, &self.requests.hub.settings.prefix, &mut params)?;
        self.run(&sentence, &params, rows).await
    }

    async fn insert_rows(&mut self, table: &BulkTable, cells: &Params) -> Result<u64, DriverError> {
        let prefix = [&self.requests.hub.settings.prefix, table.name.as_bytes(), b":"].concat();
        self.pairs.clear();
        let mut cells = cells.iter();
        while let Some(key) = cells.next() {
            self.set_key(&prefix, text(Some(key))?);
            self.row.clear();
            for (field, value) in cells.by_ref().take(table.columns.len() - 1).enumerate() {
                row::put_field(&mut self.row, field as u64, text(Some(value))?);
            }
            row::finish(&mut self.row);
            self.pairs.add(&self.key, &self.row);
        }
        self.pairs.sort();
        let mut done = 0;
        while done < self.pairs.len() {
            done += if self.transactional() {
                let txn = txn::begin(&mut self.requests).await?;
                txn::commit(&mut self.requests, txn, &self.pairs, done).await?
            } else {
                raw::put_some(&mut self.requests, &self.pairs, done).await?
            };
        }
        Ok(done as u64)
    }

    async fn close(mut self) {
        later::finish(&mut self.requests, true).await;
    }
}
