//! The rows of tables as keys and values: how a session reads, writes and scans them.

use std::rc::Rc;
use std::sync::Arc;

use perbuck_grpc::Parsed;
use perbuck_grpc::kvproto::kvrpcpb::scan_response;
use perbuck_grpc::proto::{Value as Field, fields};
use perbuck_load::error::{DriverError, ErrorClass};
use perbuck_load::records::Action;
use perbuck_load::statement::Catalogue;
use perbuck_load::values::Value;

use crate::hub::Hub;
use crate::later::Later;
use crate::pairs::Pairs;
use crate::request::Requests;
use crate::wire::answers;
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

pub(crate) fn wrong_shape() -> DriverError {
    DriverError::client(ErrorClass::Fatal, "parameters", "the statement does not have the parameters that it wants")
}

impl TikvSession {
    pub(crate) fn new(hub: Rc<Hub>, session: u32) -> Self {
        let (statements, catalogue) = (Rc::from([]), Arc::new(Catalogue::default()));
        let (key, row, pairs) = (Vec::new(), Vec::new(), Pairs::default());
        Self { requests: Requests::new(hub, session), later: Later::new(), statements, catalogue, key, row, pairs }
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
