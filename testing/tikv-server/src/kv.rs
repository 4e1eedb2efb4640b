//! A store: commands one by one or in batches, each checked for being in the right place first.

use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use perbuck_grpc::kvproto::errorpb;
use perbuck_grpc::kvproto::kvrpcpb::{
    api_version, batch_get_request, batch_rollback_request, check_secondary_locks_request, check_txn_status_request,
    commit_request, context, delete_range_request, get_request, get_response, kv_pair, mutation, pessimistic_lock_request,
    pessimistic_rollback_request, prewrite_request, raw_batch_delete_request, raw_batch_get_request, raw_batch_get_response,
    raw_batch_put_request, raw_delete_request, raw_get_request, raw_get_response, raw_put_request, raw_scan_request,
    raw_scan_response, resolve_lock_request, scan_lock_request, scan_request, txn_heart_beat_request,
};
use perbuck_grpc::kvproto::tikvpb::{
    batch_commands_empty_request, batch_commands_request, batch_commands_response, request as command,
};
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
    (command::GET, "KvGet"),
    (command::SCAN, "KvScan"),
    (command::PREWRITE, "KvPrewrite"),
    (command::COMMIT, "KvCommit"),
    (command::CLEANUP, "KvCleanup"),
    (command::BATCH_GET, "KvBatchGet"),
    (command::BATCH_ROLLBACK, "KvBatchRollback"),
    (command::SCAN_LOCK, "KvScanLock"),
    (command::RESOLVE_LOCK, "KvResolveLock"),
    (command::DELETE_RANGE, "KvDeleteRange"),
    (command::RAW_GET, "RawGet"),
    (command::RAW_BATCH_GET, "RawBatchGet"),
    (command::RAW_PUT, "RawPut"),
    (command::RAW_BATCH_PUT, "RawBatchPut"),
    (command::RAW_DELETE, "RawDelete"),
    (command::RAW_BATCH_DELETE, "RawBatchDelete"),
    (command::RAW_SCAN, "RawScan"),
    (command::RAW_DELETE_RANGE, "RawDeleteRange"),
    (command::PESSIMISTIC_LOCK, "KvPessimisticLock"),
    (command::PESSIMISTIC_ROLLBACK, "KVPessimisticRollback"),
    (command::CHECK_TXN_STATUS, "KvCheckTxnStatus"),
    (command::TXN_HEART_BEAT, "KvTxnHeartBeat"),
    (command::CHECK_SECONDARY_LOCKS, "KvCheckSecondaryLocks"),
];
/// The commands without transactions.
const RAW: std::ops::RangeInclusive<u32> = command::RAW_GET..=command::RAW_DELETE_RANGE;
/// `status` of `HealthCheckResponse` (grpc/health/v1/health.proto), and its value SERVING.
pub(crate) const HEALTH: (u32, u64) = (1, 1);

impl Kv {
    pub(crate) fn new(shared: Arc<Shared>, store: u64) -> Self {
        Self { shared, store }
    }

    /// Answers one command.
    fn command(&self, tag: u32, message: &[u8], out: &mut Vec<u8>) {
        if tag == command::EMPTY {
            return put_uint(out, batch_commands_empty_request::TEST_ID, uint(message, batch_commands_empty_request::TEST_ID));
        }
        if let Some(error) = self.misplaced(tag, message) {
            self.shared.refused.fetch_add(1, Ordering::Relaxed);
            return put_element(out, get_response::REGION_ERROR, &error);
        }
        match tag {
            command::RAW_GET | command::RAW_BATCH_GET | command::RAW_SCAN => raw_read(&self.shared.read(), tag, message, out),
            tag if RAW.contains(&tag) => raw_write(&mut self.shared.write(), tag, message),
            command::GET | command::SCAN | command::BATCH_GET => txn::read(&self.shared, &self.shared.read(), tag, message, out),
            tag => txn::write(&self.shared, &mut self.shared.write(), tag, message, out),
        }
    }

    /// The region error of a command that is in the wrong place, or comes at the wrong time.
    fn misplaced(&self, tag: u32, message: &[u8]) -> Option<Vec<u8>> {
        let store = self.shared.stores.iter().find(|store| store.id == self.store)?;
        if store.is_busy() {
            return Some(refusal("too much to do", errorpb::error::SERVER_IS_BUSY, |detail| {
                put_bytes(detail, errorpb::server_is_busy::REASON, b"as ordered");
            }));
        }
        let context = context_of(message);
        // Version 2 has raw keys in the encoded form, too.
        let plain = RAW.contains(&tag) && !is_v2(context);
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
fn context_of(message: &[u8]) -> &[u8] {
    bytes(message, get_request::CONTEXT)
}

fn is_v2(context: &[u8]) -> bool {
    uint(context, context::API_VERSION) == u64::from(api_version::V2)
}

/// The keys of a command that must lie in its region.
fn first_keys(tag: u32, message: &[u8]) -> Vec<&[u8]> {
    match tag {
        command::PREWRITE => all(message, prewrite_request::MUTATIONS).map(|m| bytes(m, mutation::KEY)).collect(),
        command::PESSIMISTIC_LOCK => all(message, pessimistic_lock_request::MUTATIONS).map(|m| bytes(m, mutation::KEY)).collect(),
        command::COMMIT => all(message, commit_request::KEYS).collect(),
        command::BATCH_ROLLBACK => all(message, batch_rollback_request::KEYS).collect(),
        command::PESSIMISTIC_ROLLBACK => all(message, pessimistic_rollback_request::KEYS).collect(),
        command::BATCH_GET => all(message, batch_get_request::KEYS).collect(),
        command::RAW_BATCH_GET | command::RAW_BATCH_DELETE => all(message, raw_batch_get_request::KEYS).collect(),
        command::RAW_BATCH_PUT => all(message, raw_batch_put_request::PAIRS).map(|pair| bytes(pair, kv_pair::KEY)).collect(),
        // Without keys it is about the whole region.
        command::RESOLVE_LOCK => all(message, resolve_lock_request::KEYS).collect(),
        command::SCAN_LOCK => vec![bytes(message, scan_lock_request::START_KEY)],
        command::CHECK_SECONDARY_LOCKS => all(message, check_secondary_locks_request::KEYS).collect(),
        command::SCAN | command::DELETE_RANGE | command::RAW_SCAN | command::RAW_DELETE_RANGE => {
            vec![bytes(message, scan_request::START_KEY)]
        }
        command::CHECK_TXN_STATUS => vec![bytes(message, check_txn_status_request::PRIMARY_KEY)],
        command::TXN_HEART_BEAT => vec![bytes(message, txn_heart_beat_request::PRIMARY_LOCK)],
        _ => vec![bytes(message, get_request::KEY)],
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
            put_uint(out, HEALTH.0, HEALTH.1);
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
                (batch_commands_request::REQUESTS, Value::Bytes(request)) => {
                    let Some(Ok((tag, Value::Bytes(command)))) = fields(request).next() else { continue };
                    put_message(out, batch_commands_response::RESPONSES, |response| {
                        put_message(response, tag, |answer| self.command(tag, command, answer));
                    });
                }
                (batch_commands_request::REQUEST_IDS, Value::Bytes(packed)) => ids.extend_from_slice(packed),
                (batch_commands_request::REQUEST_IDS, Value::Varint(id)) => put_varint(&mut ids, id),
                _ => {}
            }
        }
        put_bytes(out, batch_commands_response::REQUEST_IDS, &ids);
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
        command::RAW_GET => match raw_value(state, bytes(message, raw_get_request::KEY)) {
            Some(value) => put_bytes(out, raw_get_response::VALUE, value),
            None => put_uint(out, raw_get_response::NOT_FOUND, 1),
        },
        command::RAW_BATCH_GET => {
            for key in all(message, raw_batch_get_request::KEYS) {
                if let Some(value) = raw_value(state, key) {
                    put_pair(out, raw_batch_get_response::PAIRS, key, value);
                }
            }
        }
        _ => {
            let start = bytes(message, raw_scan_request::START_KEY);
            let end = within(state, start, bytes(message, raw_scan_request::END_KEY), is_v2(context_of(message)));
            let limit = uint(message, raw_scan_request::LIMIT) as usize;
            let keys_only = uint(message, raw_scan_request::KEY_ONLY) != 0;
            for (key, _) in state.raw.range::<[u8], _>((Bound::Included(start), before(&end))).take(limit) {
                if let Some(value) = raw_value(state, key) {
                    put_pair(out, raw_scan_response::KVS, key, if keys_only { b"" } else { value });
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
        put_bytes(pair, kv_pair::KEY, key);
        put_bytes(pair, kv_pair::VALUE, value);
    });
}

fn raw_write(state: &mut State, tag: u32, message: &[u8]) {
    match tag {
        command::RAW_PUT => {
            let (key, value) = (bytes(message, raw_put_request::KEY), bytes(message, raw_put_request::VALUE));
            state.raw.insert(key.to_vec(), value.to_vec());
        }
        command::RAW_BATCH_PUT => {
            for pair in all(message, raw_batch_put_request::PAIRS) {
                state.raw.insert(bytes(pair, kv_pair::KEY).to_vec(), bytes(pair, kv_pair::VALUE).to_vec());
            }
        }
        command::RAW_DELETE => drop(state.raw.remove(bytes(message, raw_delete_request::KEY))),
        command::RAW_BATCH_DELETE => all(message, raw_batch_delete_request::KEYS).for_each(|key| drop(state.raw.remove(key))),
        _ => {
            let (start, end) = (bytes(message, delete_range_request::START_KEY), bytes(message, delete_range_request::END_KEY));
            state.raw.retain(|key, _| key.as_slice() < start || (!end.is_empty() && key.as_slice() >= end));
        }
    }
}
