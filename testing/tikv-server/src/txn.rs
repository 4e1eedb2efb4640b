//! Commands of transactions. They are executed one after the other, which no client can tell from any other order.

use std::ops::Bound;
use std::sync::atomic::Ordering;

use perbuck_grpc::kvproto::kvrpcpb::{
    action, already_exist, batch_get_request, batch_get_response, batch_rollback_request, batch_rollback_response,
    check_secondary_locks_request, check_secondary_locks_response, check_txn_status_request, check_txn_status_response,
    cleanup_request, cleanup_response, commit_request, commit_response, commit_ts_expired, context, delete_range_request,
    get_request, get_response, key_error, kv_pair, lock_info, mutation, op, pessimistic_action, pessimistic_lock_request,
    pessimistic_lock_response, pessimistic_rollback_request, prewrite_request, prewrite_response, resolve_lock_request,
    scan_lock_request, scan_lock_response, scan_request, scan_response, txn_heart_beat_request, txn_heart_beat_response,
    txn_not_found, write_conflict,
};
use perbuck_grpc::kvproto::tikvpb::request as command;
use perbuck_grpc::proto::{put_bytes, put_element, put_message, put_uint};

use crate::cluster::{Shared, State, now_ms};
use crate::kv::{before, put_pair, within};
use crate::message::{all, bytes, uint, uints};
use crate::mvcc::{Entry, Fate, Lock, Mvcc};

/// KvGet, KvScan and KvBatchGet.
pub(crate) fn read(shared: &Shared, state: &State, tag: u32, message: &[u8], out: &mut Vec<u8>) {
    let passed = uints(bytes(message, get_request::CONTEXT), context::RESOLVED_LOCKS);
    let version = match tag {
        command::GET => uint(message, get_request::VERSION),
        command::SCAN => uint(message, scan_request::VERSION),
        _ => uint(message, batch_get_request::VERSION),
    };
    if version != u64::MAX {
        shared.max_ts.fetch_max(version, Ordering::SeqCst);
    }
    let value = |key: &[u8], entry: &Entry| -> Result<Option<Vec<u8>>, Vec<u8>> {
        if let Some(frozen) = state.stale.get(key) {
            return Ok(frozen.clone());
        }
        match &entry.lock {
            Some(lock) if !lock.pessimistic && lock.start_ts <= version && !passed.contains(&lock.start_ts) => {
                Err(locked(key, lock))
            }
            _ => Ok(entry.read(version).cloned()),
        }
    };
    match tag {
        command::GET => {
            let key = bytes(message, get_request::KEY);
            match state.mvcc.get(key).map(|entry| value(key, entry)) {
                Some(Ok(Some(found))) => put_bytes(out, get_response::VALUE, &found),
                Some(Err(error)) => put_element(out, get_response::ERROR, &error),
                _ => put_uint(out, get_response::NOT_FOUND, 1),
            }
        }
        command::BATCH_GET => {
            for key in all(message, batch_get_request::KEYS) {
                match state.mvcc.get(key).map(|entry| value(key, entry)) {
                    Some(Ok(Some(found))) => put_pair(out, batch_get_response::PAIRS, key, &found),
                    Some(Err(error)) => put_message(out, batch_get_response::PAIRS, |p| put_element(p, kv_pair::ERROR, &error)),
                    _ => {}
                }
            }
        }
        _ => {
            let start = bytes(message, scan_request::START_KEY);
            let limit = uint(message, scan_request::LIMIT) as usize;
            let keys_only = uint(message, scan_request::KEY_ONLY) != 0;
            let end = within(state, start, bytes(message, scan_request::END_KEY), true);
            let mut count = 0;
            for (key, entry) in state.mvcc.range::<[u8], _>((Bound::Included(start), before(&end))) {
                match value(key, entry) {
                    Ok(Some(found)) => put_pair(out, scan_response::PAIRS, key, if keys_only { b"" } else { &found }),
                    Ok(None) => continue,
                    Err(error) => put_message(out, scan_response::PAIRS, |pair| {
                        put_element(pair, kv_pair::ERROR, &error);
                        put_bytes(pair, kv_pair::KEY, key);
                    }),
                }
                count += 1;
                if count >= limit {
                    break;
                }
            }
        }
    }
}

/// Every other command.
pub(crate) fn write(shared: &Shared, state: &mut State, tag: u32, message: &[u8], out: &mut Vec<u8>) {
    let mvcc = &mut state.mvcc;
    match tag {
        command::PREWRITE => prewrite(shared, mvcc, message, out),
        command::COMMIT => commit(mvcc, message, out),
        command::CLEANUP => {
            let (key, start_ts) = (bytes(message, cleanup_request::KEY), uint(message, cleanup_request::START_VERSION));
            let entry = mvcc.entry(key.to_vec()).or_default();
            match entry.fate(start_ts) {
                Fate::Committed(ts) => put_uint(out, cleanup_response::COMMIT_VERSION, ts),
                _ => entry.roll_back(start_ts),
            }
        }
        command::BATCH_ROLLBACK => {
            let start_ts = uint(message, batch_rollback_request::START_VERSION);
            for key in all(message, batch_rollback_request::KEYS) {
                let entry = mvcc.entry(key.to_vec()).or_default();
                if let Fate::Committed(_) = entry.fate(start_ts) {
                    return put_message(out, batch_rollback_response::ERROR, |error| {
                        put_bytes(error, key_error::ABORT, b"committed already");
                    });
                }
                entry.roll_back(start_ts);
            }
        }
        command::SCAN_LOCK => scan_lock(mvcc, message, out),
        command::RESOLVE_LOCK => resolve_lock(mvcc, message),
        command::DELETE_RANGE => {
            let (start, end) = (bytes(message, delete_range_request::START_KEY), bytes(message, delete_range_request::END_KEY));
            mvcc.retain(|key, _| key.as_slice() < start || (!end.is_empty() && key.as_slice() >= end));
        }
        command::PESSIMISTIC_LOCK => pessimistic_lock(mvcc, message, out),
        command::PESSIMISTIC_ROLLBACK => {
            let start_ts = uint(message, pessimistic_rollback_request::START_VERSION);
            for key in all(message, pessimistic_rollback_request::KEYS) {
                if let Some(entry) = mvcc.get_mut(key) {
                    entry.lock.take_if(|lock| lock.pessimistic && lock.start_ts == start_ts);
                }
            }
        }
        command::CHECK_TXN_STATUS => check_txn_status(mvcc, message, out),
        command::TXN_HEART_BEAT => heart_beat(mvcc, message, out),
        _ => check_secondaries(mvcc, message, out),
    }
}

fn heart_beat(mvcc: &mut Mvcc, message: &[u8], out: &mut Vec<u8>) {
    let primary = bytes(message, txn_heart_beat_request::PRIMARY_LOCK);
    let start_ts = uint(message, txn_heart_beat_request::START_VERSION);
    let lock = mvcc.get_mut(primary).and_then(|entry| entry.lock.as_mut());
    match lock.filter(|lock| lock.start_ts == start_ts) {
        Some(lock) => {
            lock.ttl_ms = lock.ttl_ms.max(uint(message, txn_heart_beat_request::ADVISE_LOCK_TTL));
            put_uint(out, txn_heart_beat_response::LOCK_TTL, lock.ttl_ms);
        }
        None => put_message(out, txn_heart_beat_response::ERROR, |error| put_txn_not_found(error, start_ts, primary)),
    }
}

fn put_lock(out: &mut Vec<u8>, key: &[u8], lock: &Lock) {
    put_bytes(out, lock_info::PRIMARY_LOCK, &lock.primary);
    put_uint(out, lock_info::LOCK_VERSION, lock.start_ts);
    put_bytes(out, lock_info::KEY, key);
    put_uint(out, lock_info::LOCK_TTL, lock.ttl_ms);
    put_uint(out, lock_info::LOCK_TYPE, if lock.pessimistic { op::PESSIMISTIC_LOCK } else { op::PUT }.into());
    put_uint(out, lock_info::LOCK_FOR_UPDATE_TS, lock.for_update_ts);
    put_uint(out, lock_info::USE_ASYNC_COMMIT, lock.async_commit.into());
    put_uint(out, lock_info::MIN_COMMIT_TS, lock.min_commit_ts);
    lock.secondaries.iter().for_each(|key| put_element(out, lock_info::SECONDARIES, key));
}

/// A `KeyError` of a lock.
fn locked(key: &[u8], lock: &Lock) -> Vec<u8> {
    let mut error = Vec::new();
    put_message(&mut error, key_error::LOCKED, |m| put_lock(m, key, lock));
    error
}

fn put_conflict(out: &mut Vec<u8>, key: &[u8], start_ts: u64, (commit_ts, by): (u64, u64)) {
    put_message(out, key_error::CONFLICT, |conflict| {
        put_uint(conflict, write_conflict::START_TS, start_ts);
        put_uint(conflict, write_conflict::CONFLICT_TS, by);
        put_bytes(conflict, write_conflict::KEY, key);
        put_uint(conflict, write_conflict::CONFLICT_COMMIT_TS, commit_ts);
    });
}

fn put_txn_not_found(out: &mut Vec<u8>, start_ts: u64, primary: &[u8]) {
    put_message(out, key_error::TXN_NOT_FOUND, |not_found| {
        put_uint(not_found, txn_not_found::START_TS, start_ts);
        put_bytes(not_found, txn_not_found::PRIMARY_KEY, primary);
    });
}

fn prewrite(shared: &Shared, mvcc: &mut Mvcc, message: &[u8], out: &mut Vec<u8>) {
    let (primary, start_ts) = (bytes(message, prewrite_request::PRIMARY_LOCK), uint(message, prewrite_request::START_VERSION));
    let for_update_ts = uint(message, prewrite_request::FOR_UPDATE_TS);
    let pessimistic = uints(message, prewrite_request::PESSIMISTIC_ACTIONS);
    let async_commit = uint(message, prewrite_request::USE_ASYNC_COMMIT) != 0;
    let one_pc = uint(message, prewrite_request::TRY_ONE_PC) != 0;
    let mutations: Vec<&[u8]> = all(message, prewrite_request::MUTATIONS).collect();
    let refuse = |out: &mut Vec<u8>, error: &dyn Fn(&mut Vec<u8>)| put_message(out, prewrite_response::ERRORS, error);
    for (i, wanted) in mutations.iter().enumerate() {
        let key = bytes(wanted, mutation::KEY);
        let entry = mvcc.entry(key.to_vec()).or_default();
        match entry.fate(start_ts) {
            // An answer was lost, and the request came again.
            Fate::Committed(ts) => {
                put_uint(out, prewrite_response::MIN_COMMIT_TS, if async_commit { ts } else { 0 });
                return put_uint(out, prewrite_response::ONE_PC_COMMIT_TS, if one_pc { ts } else { 0 });
            }
            Fate::RolledBack => return refuse(out, &|e| put_conflict(e, key, start_ts, (start_ts, start_ts))),
            Fate::Unknown => {}
        }
        let locks = pessimistic.get(i) == Some(&pessimistic_action::DO_PESSIMISTIC_CHECK.into());
        match &entry.lock {
            Some(lock) if lock.start_ts != start_ts => {
                return put_element(out, prewrite_response::ERRORS, &locked(key, lock));
            }
            None if locks => return refuse(out, &|e| put_bytes(e, key_error::ABORT, b"the pessimistic lock is gone")),
            Some(_) => {}
            None => {
                if let Some(last) = entry.last().filter(|(commit_ts, _)| *commit_ts > start_ts) {
                    return refuse(out, &|e| put_conflict(e, key, start_ts, last));
                }
            }
        }
        if matches!(operation(wanted), op::INSERT | op::CHECK_NOT_EXISTS) && entry.read(u64::MAX).is_some() {
            let exists = |exists: &mut Vec<u8>| put_bytes(exists, already_exist::KEY, key);
            return refuse(out, &|e| put_message(e, key_error::ALREADY_EXIST, exists));
        }
    }
    let min_commit_ts = uint(message, prewrite_request::MIN_COMMIT_TS);
    let earliest = min_commit_ts.max(shared.max_ts.load(Ordering::SeqCst) + 1).max(start_ts + 1).max(for_update_ts + 1);
    let secondaries: Vec<Vec<u8>> = all(message, prewrite_request::SECONDARIES).map(<[u8]>::to_vec).collect();
    for wanted in mutations {
        let key = bytes(wanted, mutation::KEY);
        let value = match operation(wanted) {
            op::PUT | op::INSERT => Some(bytes(wanted, mutation::VALUE).to_vec()),
            op::DEL => None,
            // A key that is only locked, or only looked at, keeps its value.
            _ => mvcc.get(key).and_then(|entry| entry.read(u64::MAX)).cloned(),
        };
        let entry = mvcc.entry(key.to_vec()).or_default();
        if one_pc {
            entry.lock = None;
            entry.write(start_ts, earliest, value);
            continue;
        }
        entry.lock = Some(Lock {
            primary: primary.to_vec(),
            start_ts,
            ttl_ms: uint(message, prewrite_request::LOCK_TTL),
            for_update_ts,
            pessimistic: false,
            value,
            async_commit,
            min_commit_ts: if async_commit { earliest } else { min_commit_ts },
            secondaries: if key == primary { secondaries.clone() } else { Vec::new() },
        });
    }
    put_uint(out, prewrite_response::MIN_COMMIT_TS, if async_commit && !one_pc { earliest } else { 0 });
    put_uint(out, prewrite_response::ONE_PC_COMMIT_TS, if one_pc { earliest } else { 0 });
}

fn operation(wanted: &[u8]) -> u32 {
    uint(wanted, mutation::OP) as u32
}

fn commit(mvcc: &mut Mvcc, message: &[u8], out: &mut Vec<u8>) {
    let start_ts = uint(message, commit_request::START_VERSION);
    let commit_ts = uint(message, commit_request::COMMIT_VERSION);
    for key in all(message, commit_request::KEYS) {
        let entry = mvcc.entry(key.to_vec()).or_default();
        if let Some(lock) = entry.lock.as_ref().filter(|lock| lock.start_ts == start_ts && lock.min_commit_ts > commit_ts) {
            let earliest = lock.min_commit_ts;
            return put_message(out, commit_response::ERROR, |error| {
                put_message(error, key_error::COMMIT_TS_EXPIRED, |expired| {
                    put_uint(expired, commit_ts_expired::START_TS, start_ts);
                    put_uint(expired, commit_ts_expired::ATTEMPTED_COMMIT_TS, commit_ts);
                    put_bytes(expired, commit_ts_expired::KEY, key);
                    put_uint(expired, commit_ts_expired::MIN_COMMIT_TS, earliest);
                });
            });
        }
        if !entry.commit(start_ts, commit_ts) && !matches!(entry.fate(start_ts), Fate::Committed(_)) {
            return put_message(out, commit_response::ERROR, |error| put_txn_not_found(error, start_ts, key));
        }
    }
    put_uint(out, commit_response::COMMIT_VERSION, commit_ts);
}

fn scan_lock(mvcc: &Mvcc, message: &[u8], out: &mut Vec<u8>) {
    let (max, start) = (uint(message, scan_lock_request::MAX_VERSION), bytes(message, scan_lock_request::START_KEY));
    let limit = uint(message, scan_lock_request::LIMIT) as usize;
    let held = mvcc.range::<[u8], _>((Bound::Included(start), Bound::Unbounded));
    let held = held.filter_map(|(key, entry)| entry.lock.as_ref().map(|lock| (key, lock)));
    for (key, lock) in held.filter(|(_, lock)| lock.start_ts <= max).take(limit) {
        put_message(out, scan_lock_response::LOCKS, |m| put_lock(m, key, lock));
    }
}

fn resolve_lock(mvcc: &mut Mvcc, message: &[u8]) {
    let start_ts = uint(message, resolve_lock_request::START_VERSION);
    let commit_ts = uint(message, resolve_lock_request::COMMIT_VERSION);
    let keys: Vec<&[u8]> = all(message, resolve_lock_request::KEYS).collect();
    let meant = |key: &Vec<u8>| keys.is_empty() || keys.contains(&key.as_slice());
    for (_, entry) in
        mvcc.iter_mut().filter(|(key, entry)| meant(key) && entry.lock.as_ref().is_some_and(|l| l.start_ts == start_ts))
    {
        if commit_ts > 0 {
            entry.commit(start_ts, commit_ts);
        } else {
            entry.roll_back(start_ts);
        }
    }
}

fn pessimistic_lock(mvcc: &mut Mvcc, message: &[u8], out: &mut Vec<u8>) {
    let start_ts = uint(message, pessimistic_lock_request::START_VERSION);
    let for_update_ts = uint(message, pessimistic_lock_request::FOR_UPDATE_TS);
    let keys: Vec<&[u8]> = all(message, pessimistic_lock_request::MUTATIONS).map(|wanted| bytes(wanted, mutation::KEY)).collect();
    for &key in &keys {
        let entry = mvcc.entry(key.to_vec()).or_default();
        if let Some(lock) = entry.lock.as_ref().filter(|lock| lock.start_ts != start_ts) {
            return put_element(out, pessimistic_lock_response::ERRORS, &locked(key, lock));
        }
        if let Some(last) = entry.last().filter(|(commit_ts, _)| *commit_ts > for_update_ts) {
            return put_message(out, pessimistic_lock_response::ERRORS, |e| put_conflict(e, key, start_ts, last));
        }
        if entry.fate(start_ts) == Fate::RolledBack {
            return put_message(out, pessimistic_lock_response::ERRORS, |e| put_conflict(e, key, start_ts, (start_ts, start_ts)));
        }
    }
    let (mut values, mut absent) = (Vec::new(), Vec::new());
    for key in keys {
        let entry = mvcc.entry(key.to_vec()).or_default();
        let value = entry.read(u64::MAX).cloned();
        entry.lock = Some(Lock {
            primary: bytes(message, pessimistic_lock_request::PRIMARY_LOCK).to_vec(),
            start_ts,
            ttl_ms: uint(message, pessimistic_lock_request::LOCK_TTL),
            for_update_ts,
            pessimistic: true,
            min_commit_ts: uint(message, pessimistic_lock_request::MIN_COMMIT_TS),
            ..Lock::default()
        });
        absent.push(u8::from(value.is_none()));
        values.push(value.unwrap_or_default());
    }
    let return_values = uint(message, pessimistic_lock_request::RETURN_VALUES) != 0;
    if return_values {
        values.iter().for_each(|value| put_element(out, pessimistic_lock_response::VALUES, value));
    }
    if return_values || uint(message, pessimistic_lock_request::CHECK_EXISTENCE) != 0 {
        put_bytes(out, pessimistic_lock_response::NOT_FOUNDS, &absent);
    }
}

fn check_txn_status(mvcc: &mut Mvcc, message: &[u8], out: &mut Vec<u8>) {
    let primary = bytes(message, check_txn_status_request::PRIMARY_KEY);
    let lock_ts = uint(message, check_txn_status_request::LOCK_TS);
    let caller = uint(message, check_txn_status_request::CALLER_START_TS);
    let now = uint(message, check_txn_status_request::CURRENT_TS);
    let put_action = |out: &mut Vec<u8>, taken: u32| put_uint(out, check_txn_status_response::ACTION, taken.into());
    let entry = mvcc.entry(primary.to_vec()).or_default();
    if let Some(lock) = entry.lock.as_mut().filter(|lock| lock.start_ts == lock_ts) {
        let now_ms = if now == u64::MAX { u64::MAX } else { now >> 18 };
        let expired = (lock_ts >> 18) + lock.ttl_ms <= now_ms.max(now_ms_of_machine(now));
        if expired && !lock.async_commit {
            entry.roll_back(lock_ts);
            return put_action(out, action::TTL_EXPIRE_ROLLBACK);
        }
        put_uint(out, check_txn_status_response::LOCK_TTL, lock.ttl_ms);
        // A reader need not wait for a transaction that will commit after its time.
        if caller > 0 && caller != u64::MAX && !lock.async_commit && !lock.pessimistic {
            lock.min_commit_ts = lock.min_commit_ts.max(caller + 1);
            put_action(out, action::MIN_COMMIT_TS_PUSHED);
        }
        let lock = lock.clone();
        return put_message(out, check_txn_status_response::LOCK_INFO, |m| put_lock(m, primary, &lock));
    }
    match entry.fate(lock_ts) {
        Fate::Committed(ts) => put_uint(out, check_txn_status_response::COMMIT_VERSION, ts),
        Fate::RolledBack => {}
        Fate::Unknown if uint(message, check_txn_status_request::ROLLBACK_IF_NOT_EXIST) != 0 => {
            entry.roll_back(lock_ts);
            put_action(out, action::LOCK_NOT_EXIST_ROLLBACK);
        }
        Fate::Unknown => {
            put_message(out, check_txn_status_response::ERROR, |error| put_txn_not_found(error, lock_ts, primary));
        }
    }
}

/// The machine's time where the caller gives none.
fn now_ms_of_machine(now: u64) -> u64 {
    if now == 0 { now_ms() } else { 0 }
}

fn check_secondaries(mvcc: &mut Mvcc, message: &[u8], out: &mut Vec<u8>) {
    let start_ts = uint(message, check_secondary_locks_request::START_VERSION);
    for key in all(message, check_secondary_locks_request::KEYS) {
        let entry = mvcc.entry(key.to_vec()).or_default();
        match entry.lock.clone().filter(|lock| lock.start_ts == start_ts && !lock.pessimistic) {
            Some(lock) => put_message(out, check_secondary_locks_response::LOCKS, |m| put_lock(m, key, &lock)),
            None => match entry.fate(start_ts) {
                Fate::Committed(ts) => return put_uint(out, check_secondary_locks_response::COMMIT_TS, ts),
                _ => return entry.roll_back(start_ts),
            },
        }
    }
}
