//! Commands of transactions. They are executed one after the other, which no client can tell from any other order.

use std::ops::Bound;
use std::sync::atomic::Ordering;

use perbuck_grpc::proto::{put_bytes, put_element, put_message, put_uint};

use crate::cluster::{Shared, State, now_ms};
use crate::kv::{before, put_pair, within};
use crate::message::{all, bytes, uint, uints};
use crate::mvcc::{Entry, Fate, Lock, Mvcc};

/// KvGet, KvScan and KvBatchGet.
pub(crate) fn read(shared: &Shared, state: &State, tag: u32, message: &[u8], out: &mut Vec<u8>) {
    let passed = uints(bytes(message, 1), 13);
    let version = match tag {
        2 => uint(message, 4),
        _ => uint(message, 3),
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
        1 => {
            let key = bytes(message, 2);
            match state.mvcc.get(key).map(|entry| value(key, entry)) {
                Some(Ok(Some(found))) => put_bytes(out, 3, &found),
                Some(Err(error)) => put_element(out, 2, &error),
                _ => put_uint(out, 4, 1),
            }
        }
        7 => all(message, 2).for_each(|key| match state.mvcc.get(key).map(|entry| value(key, entry)) {
            Some(Ok(Some(found))) => put_pair(out, 2, key, &found),
            Some(Err(error)) => put_message(out, 2, |pair| put_element(pair, 1, &error)),
            _ => {}
        }),
        _ => {
            let (start, limit, keys_only) = (bytes(message, 2), uint(message, 3) as usize, uint(message, 5) != 0);
            let end = within(state, start, bytes(message, 7), true);
            let mut count = 0;
            for (key, entry) in state.mvcc.range::<[u8], _>((Bound::Included(start), before(&end))) {
                match value(key, entry) {
                    Ok(Some(found)) => put_pair(out, 2, key, if keys_only { b"" } else { &found }),
                    Ok(None) => continue,
                    Err(error) => put_message(out, 2, |pair| {
                        put_element(pair, 1, &error);
                        put_bytes(pair, 2, key);
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
        3 => prewrite(shared, mvcc, message, out),
        4 => commit(mvcc, message, out),
        6 => {
            let (key, start_ts) = (bytes(message, 2), uint(message, 3));
            let entry = mvcc.entry(key.to_vec()).or_default();
            match entry.fate(start_ts) {
                Fate::Committed(ts) => put_uint(out, 3, ts),
                _ => entry.roll_back(start_ts),
            }
        }
        8 => {
            let start_ts = uint(message, 2);
            for key in all(message, 3) {
                let entry = mvcc.entry(key.to_vec()).or_default();
                if let Fate::Committed(_) = entry.fate(start_ts) {
                    return put_message(out, 2, |error| put_bytes(error, 3, b"committed already"));
                }
                entry.roll_back(start_ts);
            }
        }
        9 => scan_lock(mvcc, message, out),
        10 => resolve_lock(mvcc, message),
        12 => {
            let (start, end) = (bytes(message, 2), bytes(message, 3));
            mvcc.retain(|key, _| key.as_slice() < start || (!end.is_empty() && key.as_slice() >= end));
        }
        23 => pessimistic_lock(mvcc, message, out),
        24 => {
            let start_ts = uint(message, 2);
            for key in all(message, 4) {
                if let Some(entry) = mvcc.get_mut(key) {
                    entry.lock.take_if(|lock| lock.pessimistic && lock.start_ts == start_ts);
                }
            }
        }
        25 => check_txn_status(mvcc, message, out),
        26 => {
            let lock = mvcc.get_mut(bytes(message, 2)).and_then(|entry| entry.lock.as_mut());
            match lock.filter(|lock| lock.start_ts == uint(message, 3)) {
                Some(lock) => {
                    lock.ttl_ms = lock.ttl_ms.max(uint(message, 4));
                    put_uint(out, 3, lock.ttl_ms);
                }
                None => put_message(out, 2, |error| txn_not_found(error, uint(message, 3), bytes(message, 2))),
            }
        }
        _ => check_secondaries(mvcc, message, out),
    }
}

fn put_lock(out: &mut Vec<u8>, key: &[u8], lock: &Lock) {
    put_bytes(out, 1, &lock.primary);
    put_uint(out, 2, lock.start_ts);
    put_bytes(out, 3, key);
    put_uint(out, 4, lock.ttl_ms);
    put_uint(out, 6, if lock.pessimistic { 5 } else { 0 });
    put_uint(out, 7, lock.for_update_ts);
    put_uint(out, 8, lock.async_commit.into());
    put_uint(out, 9, lock.min_commit_ts);
    lock.secondaries.iter().for_each(|key| put_element(out, 10, key));
}

/// A `KeyError` of a lock.
fn locked(key: &[u8], lock: &Lock) -> Vec<u8> {
    let mut error = Vec::new();
    put_message(&mut error, 1, |m| put_lock(m, key, lock));
    error
}

fn put_conflict(out: &mut Vec<u8>, key: &[u8], start_ts: u64, (commit_ts, by): (u64, u64)) {
    put_message(out, 4, |conflict| {
        put_uint(conflict, 1, start_ts);
        put_uint(conflict, 2, by);
        put_bytes(conflict, 3, key);
        put_uint(conflict, 5, commit_ts);
    });
}

fn txn_not_found(out: &mut Vec<u8>, start_ts: u64, primary: &[u8]) {
    put_message(out, 8, |not_found| {
        put_uint(not_found, 1, start_ts);
        put_bytes(not_found, 2, primary);
    });
}

fn prewrite(shared: &Shared, mvcc: &mut Mvcc, message: &[u8], out: &mut Vec<u8>) {
    let (primary, start_ts, for_update_ts) = (bytes(message, 3), uint(message, 4), uint(message, 9));
    let pessimistic = uints(message, 7);
    let (async_commit, one_pc) = (uint(message, 11) != 0, uint(message, 13) != 0);
    let mutations: Vec<&[u8]> = all(message, 2).collect();
    for (i, mutation) in mutations.iter().enumerate() {
        let key = bytes(mutation, 2);
        let entry = mvcc.entry(key.to_vec()).or_default();
        match entry.fate(start_ts) {
            // An answer was lost, and the request came again.
            Fate::Committed(ts) => {
                put_uint(out, 3, if async_commit { ts } else { 0 });
                return put_uint(out, 4, if one_pc { ts } else { 0 });
            }
            Fate::RolledBack => return put_message(out, 2, |e| put_conflict(e, key, start_ts, (start_ts, start_ts))),
            Fate::Unknown => {}
        }
        let locks = pessimistic.get(i).is_some_and(|flag| *flag == 1);
        match &entry.lock {
            Some(lock) if lock.start_ts != start_ts => return put_element(out, 2, &locked(key, lock)),
            None if locks => return put_message(out, 2, |e| put_bytes(e, 3, b"the pessimistic lock is gone")),
            Some(_) => {}
            None => {
                if let Some(last) = entry.last().filter(|(commit_ts, _)| *commit_ts > start_ts) {
                    return put_message(out, 2, |e| put_conflict(e, key, start_ts, last));
                }
            }
        }
        // Insert and CheckNotExists.
        if matches!(uint(mutation, 1), 4 | 6) && entry.read(u64::MAX).is_some() {
            return put_message(out, 2, |e| put_message(e, 5, |exists| put_bytes(exists, 1, key)));
        }
    }
    let earliest = uint(message, 10).max(shared.max_ts.load(Ordering::SeqCst) + 1).max(start_ts + 1).max(for_update_ts + 1);
    let secondaries: Vec<Vec<u8>> = all(message, 12).map(<[u8]>::to_vec).collect();
    for mutation in mutations {
        let (operation, key) = (uint(mutation, 1), bytes(mutation, 2));
        let value = match operation {
            0 | 4 => Some(bytes(mutation, 3).to_vec()),
            1 => None,
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
            ttl_ms: uint(message, 5),
            for_update_ts,
            pessimistic: false,
            value,
            async_commit,
            min_commit_ts: if async_commit { earliest } else { uint(message, 10) },
            secondaries: if key == primary { secondaries.clone() } else { Vec::new() },
        });
    }
    put_uint(out, 3, if async_commit && !one_pc { earliest } else { 0 });
    put_uint(out, 4, if one_pc { earliest } else { 0 });
}

fn commit(mvcc: &mut Mvcc, message: &[u8], out: &mut Vec<u8>) {
    let (start_ts, commit_ts) = (uint(message, 2), uint(message, 4));
    for key in all(message, 3) {
        let entry = mvcc.entry(key.to_vec()).or_default();
        if let Some(lock) = entry.lock.as_ref().filter(|lock| lock.start_ts == start_ts && lock.min_commit_ts > commit_ts) {
            let earliest = lock.min_commit_ts;
            return put_message(out, 2, |error| {
                put_message(error, 7, |expired| {
                    put_uint(expired, 1, start_ts);
                    put_uint(expired, 2, commit_ts);
                    put_bytes(expired, 3, key);
                    put_uint(expired, 4, earliest);
                });
            });
        }
        if !entry.commit(start_ts, commit_ts) && !matches!(entry.fate(start_ts), Fate::Committed(_)) {
            return put_message(out, 2, |error| txn_not_found(error, start_ts, key));
        }
    }
    put_uint(out, 3, commit_ts);
}

fn scan_lock(mvcc: &Mvcc, message: &[u8], out: &mut Vec<u8>) {
    let (max, start, limit) = (uint(message, 2), bytes(message, 3), uint(message, 4) as usize);
    let held = mvcc.range::<[u8], _>((Bound::Included(start), Bound::Unbounded));
    let held = held.filter_map(|(key, entry)| entry.lock.as_ref().map(|lock| (key, lock)));
    for (key, lock) in held.filter(|(_, lock)| lock.start_ts <= max).take(limit) {
        put_message(out, 3, |m| put_lock(m, key, lock));
    }
}

fn resolve_lock(mvcc: &mut Mvcc, message: &[u8]) {
    let (start_ts, commit_ts) = (uint(message, 2), uint(message, 3));
    let keys: Vec<&[u8]> = all(message, 5).collect();
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
    let (start_ts, for_update_ts) = (uint(message, 4), uint(message, 6));
    let mutations: Vec<&[u8]> = all(message, 2).collect();
    for mutation in &mutations {
        let key = bytes(mutation, 2);
        let entry = mvcc.entry(key.to_vec()).or_default();
        if let Some(lock) = entry.lock.as_ref().filter(|lock| lock.start_ts != start_ts) {
            return put_element(out, 2, &locked(key, lock));
        }
        if let Some(last) = entry.last().filter(|(commit_ts, _)| *commit_ts > for_update_ts) {
            return put_message(out, 2, |e| put_conflict(e, key, start_ts, last));
        }
        if entry.fate(start_ts) == Fate::RolledBack {
            return put_message(out, 2, |e| put_conflict(e, key, start_ts, (start_ts, start_ts)));
        }
    }
    let (mut values, mut absent) = (Vec::new(), Vec::new());
    for mutation in mutations {
        let entry = mvcc.entry(bytes(mutation, 2).to_vec()).or_default();
        let value = entry.read(u64::MAX).cloned();
        entry.lock = Some(Lock {
            primary: bytes(message, 3).to_vec(),
            start_ts,
            ttl_ms: uint(message, 5),
            for_update_ts,
            pessimistic: true,
            min_commit_ts: uint(message, 11),
            ..Lock::default()
        });
        absent.push(u8::from(value.is_none()));
        values.push(value.unwrap_or_default());
    }
    if uint(message, 10) != 0 {
        values.iter().for_each(|value| put_element(out, 5, value));
    }
    if uint(message, 10) != 0 || uint(message, 12) != 0 {
        put_bytes(out, 6, &absent);
    }
}

fn check_txn_status(mvcc: &mut Mvcc, message: &[u8], out: &mut Vec<u8>) {
    let (primary, lock_ts, caller, now) = (bytes(message, 2), uint(message, 3), uint(message, 4), uint(message, 5));
    let entry = mvcc.entry(primary.to_vec()).or_default();
    if let Some(lock) = entry.lock.as_mut().filter(|lock| lock.start_ts == lock_ts) {
        let now_ms = if now == u64::MAX { u64::MAX } else { now >> 18 };
        let expired = (lock_ts >> 18) + lock.ttl_ms <= now_ms.max(now_ms_of_machine(now));
        if expired && !lock.async_commit {
            entry.roll_back(lock_ts);
            return put_uint(out, 5, 1);
        }
        put_uint(out, 3, lock.ttl_ms);
        // A reader need not wait for a transaction that will commit behind its time.
        if caller > 0 && caller != u64::MAX && !lock.async_commit && !lock.pessimistic {
            lock.min_commit_ts = lock.min_commit_ts.max(caller + 1);
            put_uint(out, 5, 3);
        }
        let lock = lock.clone();
        return put_message(out, 6, |m| put_lock(m, primary, &lock));
    }
    match entry.fate(lock_ts) {
        Fate::Committed(ts) => put_uint(out, 4, ts),
        Fate::RolledBack => {}
        Fate::Unknown if uint(message, 6) != 0 => {
            entry.roll_back(lock_ts);
            put_uint(out, 5, 2);
        }
        Fate::Unknown => put_message(out, 2, |error| txn_not_found(error, lock_ts, primary)),
    }
}

/// The machine's time where the caller gives none.
fn now_ms_of_machine(now: u64) -> u64 {
    if now == 0 { now_ms() } else { 0 }
}

fn check_secondaries(mvcc: &mut Mvcc, message: &[u8], out: &mut Vec<u8>) {
    let start_ts = uint(message, 3);
    for key in all(message, 2) {
        let entry = mvcc.entry(key.to_vec()).or_default();
        match entry.lock.clone().filter(|lock| lock.start_ts == start_ts && !lock.pessimistic) {
            Some(lock) => put_message(out, 3, |m| put_lock(m, key, &lock)),
            None => match entry.fate(start_ts) {
                Fate::Committed(ts) => return put_uint(out, 4, ts),
                _ => return entry.roll_back(start_ts),
            },
        }
    }
}
