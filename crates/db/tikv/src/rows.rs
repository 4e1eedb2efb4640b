//! The rows of tables as keys and values: how a session reads, writes and scans them, and what it is asked of a whole table.

use std::rc::Rc;
use std::sync::Arc;

use perbuck_grpc::kvproto::kvrpcpb::{delete_range_request, scan_response};
use perbuck_grpc::proto::{elements, put_bytes};
use perbuck_load::driver::Effect;
use perbuck_load::error::{DriverError, ErrorClass};
use perbuck_load::records::Action;
use perbuck_load::statement::Catalogue;
use perbuck_load::values::{Params, Rows, Value};

use crate::hub::Hub;
use crate::later::Later;
use crate::pairs::Pairs;
use crate::request::Requests;
use crate::row::Row;
use crate::wire::answers;
use crate::wire::call::Command;
use crate::{keys, raw, txn};

/// Keys of one answer while rows are counted; TiKV gives at most 10,240.
const COUNTED_AT_ONCE: u32 = 4_096;

/// A session of a TiKV cluster. Its requests travel over connections that all sessions of its thread share.
pub struct TikvSession {
    pub(crate) requests: Requests,
    pub(crate) later: Later,
    /// The operations of the catalogue, with what the keys of their tables start with.
    pub(crate) statements: Rc<[(Vec<u8>, Action)]>,
    pub(crate) catalogue: Arc<Catalogue>,
    pub(crate) key: Vec<u8>,
    pub(crate) row: Vec<u8>,
    pub(crate) pairs: Pairs,
}

pub(crate) fn text<'a>(value: Option<Value<'a>>) -> Result<&'a [u8], DriverError> {
    match value {
        Some(Value::Text(bytes)) => Ok(bytes),
        other => {
            let message = format!("a key or a field must be text, but {other:?} was bound");
            Err(DriverError::client(ErrorClass::Fatal, "parameters", message))
        }
    }
}

pub(crate) fn wrong_shape() -> DriverError {
    DriverError::client(ErrorClass::Fatal, "parameters", "the statement has the wrong number of parameters")
}

impl TikvSession {
    pub(crate) fn new(hub: Rc<Hub>, session: u32) -> Self {
        let (requests, later, pairs) = (Requests::new(hub, session), Later::default(), Pairs::default());
        Self { requests, later, statements: Rc::from([]), catalogue: Arc::default(), key: Vec::new(), row: Vec::new(), pairs }
    }

    pub(crate) fn transactional(&self) -> bool {
        self.requests.hub.settings.target.transactional
    }

    pub(crate) fn pessimistic(&self) -> bool {
        self.requests.hub.settings.target.pessimistic
    }

    /// What the keys of a table start with.
    pub(crate) fn prefix_of(&self, table: &str) -> Vec<u8> {
        [&self.requests.hub.settings.prefix, table.as_bytes(), b":"].concat()
    }

    pub(crate) fn set_key(&mut self, table: &[u8], key: &[u8]) {
        self.key.clear();
        self.key.extend_from_slice(table);
        self.key.extend_from_slice(key);
    }

    #[inline]
    pub(crate) async fn read(&mut self) -> Result<(), DriverError> {
        if !self.transactional() {
            return raw::get(&mut self.requests, &self.key).await;
        }
        let txn = txn::begin(&mut self.requests, &mut self.later).await?;
        txn::get(&mut self.requests, txn, &self.key).await
    }

    /// Writes the row to the key, in a transaction that may have begun before.
    #[inline]
    pub(crate) async fn write(&mut self, begun: Option<txn::Txn>) -> Result<(), DriverError> {
        if !self.transactional() {
            return raw::put(&mut self.requests, &self.key, &self.row).await;
        }
        let begins = begun.is_none();
        let mut txn = match begun {
            Some(txn) => txn,
            None => txn::begin(&mut self.requests, &mut self.later).await?,
        };
        if begins && self.pessimistic() {
            txn::lock(&mut self.requests, &mut txn, &self.key).await?;
        }
        self.pairs.clear();
        self.pairs.add(&self.key, &self.row);
        txn::commit(&mut self.requests, &mut self.later, txn, &self.pairs, 0).await.map(drop)
    }

    /// Calls `each` with keys (without their table) and values from the key on, at most `limit` of the table.
    pub(crate) async fn scan(
        &mut self,
        table: &[u8],
        limit: u32,
        keys_only: bool,
        mut each: impl FnMut(&[u8], &[u8]),
    ) -> Result<(), DriverError> {
        let end = keys::after(table);
        let txn = if self.transactional() { Some(txn::begin(&mut self.requests, &mut self.later).await?) } else { None };
        let mut left = limit;
        while left > 0 {
            let (asked, key, requests) = (left.min(COUNTED_AT_ONCE), &self.key, &mut self.requests);
            let region_end = match txn {
                Some(txn) => txn::scan(requests, txn, key, &end, asked, keys_only).await?,
                None => raw::scan(requests, key, &end, asked, keys_only).await?,
            };
            let (mut count, last) = (0, &mut self.row);
            self.requests.answer(|answer| {
                for pair in elements(answer, scan_response::PAIRS) {
                    let (_, key, value) = answers::pair(pair?)?;
                    each(key.get(table.len()..).unwrap_or_default(), value);
                    count += 1;
                    last.clear();
                    last.extend_from_slice(key);
                }
                Ok(())
            })?;
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

/// What is asked of a table outside of the operations that are measured.
impl TikvSession {
    /// How many rows a table has, at most `limit`.
    pub(crate) async fn rows_of(&mut self, table: &[u8], limit: u32) -> Result<u64, DriverError> {
        self.set_key(table, b"");
        let mut count = 0;
        self.scan(table, limit, true, |_, _| count += 1).await?;
        Ok(count)
    }

    /// What is asked of a table outside of transactions that are measured.
    #[cold]
    pub(crate) async fn ask_of_table(
        &mut self,
        table: &[u8],
        action: &Action,
        params: &Params,
        rows: &mut Rows,
    ) -> Result<Effect, DriverError> {
        let cells: Vec<&[u8]> = params.iter().map(|value| text(Some(value))).collect::<Result<_, _>>()?;
        match action {
            Action::Exists => push_number(rows, self.rows_of(table, 1).await?),
            Action::CountUnless(expected) => {
                let found = self.rows_of(table, u32::MAX).await?;
                if !expected.contains(&found) {
                    push_number(rows, found);
                }
            }
            Action::Count => {
                let mut found = 0;
                for key in cells {
                    found += u64::from(self.matches(table, key, |row| row.is_some()).await?);
                }
                push_number(rows, found);
            }
            Action::Absent => {
                for key in cells {
                    if !self.matches(table, key, |row| row.is_some()).await? {
                        push_key(rows, key);
                    }
                }
            }
            Action::Different(width) => {
                for cells in cells.chunks(*width as usize + 1) {
                    let same = |value: Option<&[u8]>| {
                        let row = Row::new(value.unwrap_or_default());
                        cells[1..].iter().enumerate().all(|(i, cell)| row.find(i as u64) == Ok(Some(cell)))
                    };
                    if !self.matches(table, cells[0], same).await? {
                        push_key(rows, cells[0]);
                    }
                }
            }
            Action::Get(_) | Action::Put | Action::Update(_) | Action::Scan { .. } => return Err(wrong_shape()),
        }
        Ok(Effect::ResultSet)
    }

    /// Whether the row of a key is as expected; `None` is that there is none.
    async fn matches(&mut self, table: &[u8], key: &[u8], expected: impl Fn(Option<&[u8]>) -> bool) -> Result<bool, DriverError> {
        self.set_key(table, key);
        self.read().await?;
        self.requests.answer(|answer| answers::read_value(answer, self.transactional()).map(expected))
    }

    /// Deletes every row of a table, region by region; of a transaction's with all their versions.
    pub(crate) async fn delete_all(&mut self, table: &[u8]) -> Result<(), DriverError> {
        let (mut start, end) = (table.to_vec(), keys::after(table));
        let command = if self.transactional() { Command::DELETE_RANGE } else { Command::RAW_DELETE_RANGE };
        loop {
            let sent = self.requests.send(command, &start, |out, region| {
                put_bytes(out, delete_range_request::START_KEY, &start);
                put_bytes(out, delete_range_request::END_KEY, crate::nearer(&region.end, &end));
            });
            let region = sent.await?;
            if let Some(words) = self.requests.answer(|answer| Ok(answers::error(answer)?.map(perbuck_net::printable)))? {
                return Err(crate::refused(ErrorClass::Fatal, format!("the rows cannot be deleted: {words}")));
            }
            if region.end.is_empty() || region.end >= end {
                return Ok(());
            }
            start.clone_from(&region.end);
        }
    }
}

fn push_number(rows: &mut Rows, number: u64) {
    rows.push_int(number as i64);
    rows.end_row();
}

fn push_key(rows: &mut Rows, key: &[u8]) {
    rows.push_text(key);
    rows.end_row();
}
