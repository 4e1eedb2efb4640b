//! A store: commands one by one or in batches, each checked for being in the right place first.

use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use perbuck_grpc::proto::{Value, fields, put_bytes, put_element, put_message, put_uint, put_varint};

use crate::cluster::{Shared, State};
use crate::http::Service;
use crate::message::{all, bytes, uint};
use crate::regions::{encoded, refusal};
use crate::txn;

/// A store as one connection sees it.
pub(crate) struct Kv {
    shared: Arc<Shared>,
    store: u64,
}

/// Commands by their fields in a batch, with their methods.
const COMMANDS: [(u32, &str); 23] = [
    (1, "KvGet"),
    (2, "KvScan"),
    (3, "KvPrewrite"),
    (4, "KvCommit"),
    (6, "KvCleanup"),
    (7, "KvBatchGet"),
    (8, "KvBatchRollback"),
    (9, "KvScanLock"),
    (10, "KvResolveLock"),
    (12, "KvDeleteRange"),
    (13, "RawGet"),
    (14, "RawBatchGet"),
    (15, "RawPut"),
    (16, "RawBatchPut"),
    (17, "RawDelete"),
    (18, "RawBatchDelete"),
    (19, "RawScan"),
    (20, "RawDeleteRange"),
    (23, "KvPessimisticLock"),
    (24, "KVPessimisticRollback"),
    (25, "KvCheckTxnStatus"),
    (26, "KvTxnHeartBeat"),
    (33, "KvCheckSecondaryLocks"),
];
/// The commands without transactions.
const RAW: std::ops::RangeInclusive<u32> = 13..=20;
/// That of the test of a connection.
const EMPTY: u32 = 255;

impl Kv {
    pub(crate) fn new(shared: Arc<Shared>, store: u64) -> Self {
        Self { shared, store }
    }

    /// Answers one command.
    fn command(&self, tag: u32, message: &[u8], out: &mut Vec<u8>) {
        if tag == EMPTY {
            return put_uint(out, 1, uint(message, 1));
        }
        if let Some(error) = self.misplaced(tag, message) {
            self.shared.refused.fetch_add(1, Ordering::Relaxed);
            return put_element(out, 1, &error);
        }
        match tag {
            13 | 14 | 19 => raw_read(&self.shared.read(), tag, message, out),
            tag if RAW.contains(&tag) => raw_write(&mut self.shared.write(), tag, message),
            1 | 2 | 7 => txn::read(&self.shared, &self.shared.read(), tag, message, out),
            tag => txn::write(&self.shared, &mut self.shared.write(), tag, message, out),
        }
    }

    /// The region error of a command that is in the wrong place, or comes at the wrong time.
    fn misplaced(&self, tag: u32, message: &[u8]) -> Option<Vec<u8>> {
        let store = self.shared.stores.iter().find(|store| store.id == self.store)?;
        if store.is_busy() {
            return Some(refusal("too much to do", 6, |detail| put_bytes(detail, 1, b"as ordered")));
        }
        let context = context(message);
        // Version 2 has raw keys in the encoded form, too.
        let plain = RAW.contains(&tag) && uint(context, 21) != 2;
        let state = self.shared.read();
        for key in first_keys(tag, message) {
            let checked = if plain {
                state.regions.check(context, self.store, key)
            } else {
                state.regions.check(context, self.store, &encoded(key))
            };
            if let Err(error) = checked {
                return Some(error);
            }
        }
        None
    }
}

/// The `Context` of a command. Of two the second alone counts: TiKV's decoder (rust-protobuf 2) clears a message field before it
/// reads it again, where the specification of protocol buffers would merge them. TiKV 8.5.4 answers such a request with
/// `store_not_match`, as if it were for store 0.
fn context(message: &[u8]) -> &[u8] {
    bytes(message, 1)
}

/// The keys of a command that must lie in its region.
fn first_keys(tag: u32, message: &[u8]) -> Vec<&[u8]> {
    match tag {
        3 | 23 => all(message, 2).map(|mutation| bytes(mutation, 2)).collect(),
        4 => all(message, 3).collect(),
        8 => all(message, 3).collect(),
        24 => all(message, 4).collect(),
        7 | 14 | 18 => all(message, 2).collect(),
        16 => all(message, 2).map(|pair| bytes(pair, 2)).collect(),
        // Without keys it is about the whole region.
        10 => all(message, 5).collect(),
        9 => vec![bytes(message, 3)],
        33 => all(message, 2).collect(),
        _ => vec![bytes(message, 2)],
    }
}

impl Service for Kv {
    fn streams(&self, path: &str) -> bool {
        path == "/tikvpb.Tikv/BatchCommands"
    }

    fn answer(&self, path: &str, message: &[u8], out: &mut Vec<u8>) -> Result<(), (u32, String)> {
        let method = path.strip_prefix("/tikvpb.Tikv/").unwrap_or(path);
        if method == "BatchCommands" {
            self.batch(message, out);
            return Ok(());
        }
        if path == "/grpc.health.v1.Health/Check" {
            put_uint(out, 1, 1);
            return Ok(());
        }
        let Some((tag, _)) = COMMANDS.iter().find(|(_, name)| *name == method) else {
            return Err((12, format!("the test server does not know {path}")));
        };
        self.command(*tag, message, out);
        Ok(())
    }
}

impl Kv {
    fn batch(&self, message: &[u8], out: &mut Vec<u8>) {
        let mut ids = Vec::new();
        for field in fields(message).flatten() {
            match field {
                (1, Value::Bytes(request)) => {
                    let Some(Ok((tag, Value::Bytes(command)))) = fields(request).next() else { continue };
                    put_message(out, 1, |response| put_message(response, tag, |answer| self.command(tag, command, answer)));
                }
                (2, Value::Bytes(packed)) => ids.extend_from_slice(packed),
                (2, Value::Varint(id)) => put_varint(&mut ids, id),
                _ => {}
            }
        }
        put_bytes(out, 2, &ids);
    }
}

/// The value of a raw key, unless reads of it are stale.
fn raw_value<'a>(state: &'a State, key: &[u8]) -> Option<&'a Vec<u8>> {
    if !state.stale.is_empty()
        && let Some(frozen) = state.stale.get(key)
    {
        return frozen.as_ref();
    }
    state.raw.get(key)
}

fn raw_read(state: &State, tag: u32, message: &[u8], out: &mut Vec<u8>) {
    match tag {
        13 => match raw_value(state, bytes(message, 2)) {
            Some(value) => put_bytes(out, 3, value),
            None => put_uint(out, 4, 1),
        },
        14 => {
            for key in all(message, 2) {
                if let Some(value) = raw_value(state, key) {
                    put_pair(out, 2, key, value);
                }
            }
        }
        _ => {
            let (start, keys_only) = (bytes(message, 2), uint(message, 4) != 0);
            let end = within(state, start, bytes(message, 7), uint(context(message), 21) == 2);
            let limit = uint(message, 3) as usize;
            for (key, _) in state.raw.range::<[u8], _>((Bound::Included(start), before(&end))).take(limit) {
                if let Some(value) = raw_value(state, key) {
                    put_pair(out, 2, key, if keys_only { b"" } else { value });
                }
            }
        }
    }
}

/// The end of what a scan may read: of its range, or of the region, whichever comes first. Empty is the end of all keys.
pub(crate) fn within(state: &State, start: &[u8], end: &[u8], transactional: bool) -> Vec<u8> {
    let sought = if transactional { encoded(start) } else { start.to_vec() };
    let border = state.regions.of(&sought).map(|region| region.end.clone()).unwrap_or_default();
    let border = if transactional { decoded(&border) } else { border };
    if border.is_empty() || (!end.is_empty() && end < border.as_slice()) { end.to_vec() } else { border }
}

/// A key out of the form that PD has.
fn decoded(border: &[u8]) -> Vec<u8> {
    let mut key = Vec::new();
    for group in border.chunks(9) {
        let zeros = usize::from(0xff - group.last().copied().unwrap_or(0xff));
        key.extend_from_slice(&group[..8usize.saturating_sub(zeros).min(group.len())]);
    }
    key
}

pub(crate) fn before(end: &[u8]) -> Bound<&[u8]> {
    if end.is_empty() { Bound::Unbounded } else { Bound::Excluded(end) }
}

pub(crate) fn put_pair(out: &mut Vec<u8>, field: u32, key: &[u8], value: &[u8]) {
    put_message(out, field, |pair| {
        put_bytes(pair, 2, key);
        put_bytes(pair, 3, value);
    });
}

fn raw_write(state: &mut State, tag: u32, message: &[u8]) {
    match tag {
        15 => drop(state.raw.insert(bytes(message, 2).to_vec(), bytes(message, 3).to_vec())),
        16 => {
            for pair in all(message, 2) {
                state.raw.insert(bytes(pair, 2).to_vec(), bytes(pair, 3).to_vec());
            }
        }
        17 => drop(state.raw.remove(bytes(message, 2))),
        18 => all(message, 2).for_each(|key| drop(state.raw.remove(key))),
        _ => {
            let (start, end) = (bytes(message, 2), bytes(message, 3));
            state.raw.retain(|key, _| key.as_slice() < start || (!end.is_empty() && key.as_slice() >= end));
        }
    }
}
