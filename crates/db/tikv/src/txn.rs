//! Keys and values in transactions of Percolator's protocol: optimistic or pessimistic, committed in one step where all keys
//! lie in one region (1PC), without waiting for the second step (async commit), or in two.

use std::cell::Cell;
use std::rc::Rc;

use perbuck_grpc::Parsed;
use perbuck_grpc::kvproto::kvrpcpb::{
    batch_rollback_request, check_txn_status_request, get_request, mutation, op, pessimistic_action, pessimistic_lock_request,
    pessimistic_rollback_request, prewrite_request, resolve_lock_request, scan_request,
};
use perbuck_grpc::proto::{put_bytes, put_element, put_message, put_uint};
use perbuck_load::error::{DriverError, ErrorClass, ErrorCode};

use crate::later::{Later, put_commit};
use crate::pairs::Pairs;
use crate::regions::Region;
use crate::request::Requests;
use crate::retry::Why;
use crate::wire::answers::{self, KeyError, Lock, TxnStatus};
use crate::wire::call::Command;

/// How long a lock lives unless its transaction goes on, in milliseconds: of a transaction that is being committed, and of a
/// pessimistic one, as client-go has them.
const TTL_MS: u64 = 3_000;
const TTL_PESSIMISTIC_MS: u64 = 20_000;
/// Bits of a timestamp after its milliseconds.
const LOGICAL_BITS: u32 = 18;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Txn {
    pub(crate) start_ts: u64,
    /// Of its last pessimistic lock; 0 where it has none.
    for_update_ts: u64,
}

fn conflict(word: &'static str, message: &str) -> DriverError {
    DriverError::new(ErrorClass::Retry, ErrorCode::Word("tikv", word), message)
}

/// What an error of a key means where nothing more can be done about it.
fn verdict(error: KeyError) -> DriverError {
    match error {
        KeyError::Conflict => conflict("write_conflict", "another transaction wrote the key first"),
        KeyError::Deadlock => conflict("deadlock", "deadlock with another transaction"),
        KeyError::TxnNotFound => conflict("txn_not_found", "the transaction was rolled back by another one"),
        KeyError::CommitTooEarly => conflict("commit_ts_expired", "the transaction took too long to commit"),
        KeyError::Locked(_) => conflict("locked", "another transaction holds the key"),
        KeyError::Other(words) => crate::refused(ErrorClass::Failed, format!("the store refused: {words}")),
    }
}

pub(crate) async fn begin(requests: &mut Requests, later: &mut Later) -> Result<Txn, DriverError> {
    later.finish_before_next(requests).await;
    requests.lock_tries.restart();
    Ok(Txn { start_ts: requests.timestamp().await?, for_update_ts: 0 })
}

/// Reads a key; its value is then in the answer ([`answers::value`]).
pub(crate) async fn get(requests: &mut Requests, txn: Txn, key: &[u8]) -> Result<(), DriverError> {
    let write = |out: &mut Vec<u8>, _: &Region| {
        put_bytes(out, get_request::KEY, key);
        put_uint(out, get_request::VERSION, txn.start_ts);
    };
    let error = |answer: &[u8]| answers::value(answer)?.err().map(KeyError::parse).transpose();
    read(requests, txn, (Command::GET, key), write, error).await.map(drop)
}

/// Reads at most `limit` pairs of one region, as [`crate::raw::scan`].
pub(crate) async fn scan(
    requests: &mut Requests,
    txn: Txn,
    start: &[u8],
    end: &[u8],
    limit: u32,
    keys_only: bool,
) -> Result<Vec<u8>, DriverError> {
    let write = |out: &mut Vec<u8>, region: &Region| {
        put_element(out, scan_request::START_KEY, start);
        put_uint(out, scan_request::LIMIT, limit.into());
        put_uint(out, scan_request::VERSION, txn.start_ts);
        put_uint(out, scan_request::KEY_ONLY, keys_only.into());
        put_bytes(out, scan_request::END_KEY, crate::nearer(&region.end, end));
    };
    let region = read(requests, txn, (Command::SCAN, start), write, answers::scan_error).await?;
    Ok(region.end.clone())
}

/// Sends a command that reads, until no lock is in its way.
///
/// # Errors
/// As [`Requests::send`], or the store's words.
#[inline]
async fn read(
    requests: &mut Requests,
    txn: Txn,
    (command, key): (Command, &[u8]),
    mut write: impl FnMut(&mut Vec<u8>, &Region),
    error: impl Fn(&[u8]) -> Parsed<Option<KeyError>>,
) -> Result<Rc<Region>, DriverError> {
    let mut passed = Vec::new();
    loop {
        let region = requests.send_past(command, key, &passed, &mut write).await?;
        match requests.answer(&error)? {
            None => return Ok(region),
            Some(KeyError::Locked(lock)) => passed.extend(Box::pin(clear_lock(requests, &lock, txn.start_ts)).await?),
            Some(error) => return Err(verdict(error)),
        }
    }
}

/// Locks a key; whether it has a value, which is then in the answer ([`answers::locked_value`]).
pub(crate) async fn lock(requests: &mut Requests, txn: &mut Txn, key: &[u8]) -> Result<(), DriverError> {
    txn.for_update_ts = txn.start_ts;
    loop {
        let wanted = *txn;
        let sent = requests.send(Command::PESSIMISTIC_LOCK, key, |out, _| {
            put_message(out, pessimistic_lock_request::MUTATIONS, |lock| {
                put_uint(lock, mutation::OP, op::PESSIMISTIC_LOCK.into());
                put_bytes(lock, mutation::KEY, key);
            });
            put_bytes(out, pessimistic_lock_request::PRIMARY_LOCK, key);
            put_uint(out, pessimistic_lock_request::START_VERSION, wanted.start_ts);
            put_uint(out, pessimistic_lock_request::LOCK_TTL, TTL_PESSIMISTIC_MS);
            put_uint(out, pessimistic_lock_request::FOR_UPDATE_TS, wanted.for_update_ts);
            put_uint(out, pessimistic_lock_request::IS_FIRST_LOCK, 1);
            put_uint(out, pessimistic_lock_request::RETURN_VALUES, 1);
        });
        sent.await?;
        match requests.answer(answers::key_error)? {
            None => return Ok(()),
            Some(KeyError::Locked(lock)) => drop(Box::pin(clear_lock(requests, &lock, 0)).await?),
            // Another transaction committed since: what is locked is what is there now.
            Some(KeyError::Conflict) => txn.for_update_ts = requests.timestamp().await?,
            Some(error) => return Err(verdict(error)),
        }
    }
}

pub(crate) async fn unlock(requests: &mut Requests, txn: Txn, key: &[u8]) -> Result<(), DriverError> {
    let sent = requests.send(Command::PESSIMISTIC_ROLLBACK, key, |out, _| {
        put_uint(out, pessimistic_rollback_request::START_VERSION, txn.start_ts);
        put_uint(out, pessimistic_rollback_request::FOR_UPDATE_TS, txn.for_update_ts);
        put_element(out, pessimistic_rollback_request::KEYS, key);
    });
    sent.await.map(drop)
}

/// Writes the first of some pairs from `from` on, in the order of their keys, and commits them: as many as one region has; how
/// many.
///
/// # Errors
/// `Retry` where another transaction wrote the key first.
pub(crate) async fn commit(
    requests: &mut Requests,
    later: &mut Later,
    txn: Txn,
    pairs: &Pairs,
    from: usize,
) -> Result<usize, DriverError> {
    let count = Cell::new(1);
    let written = prewrite(requests, txn, pairs, from, &count).await;
    let committed = match written {
        Ok(Prewritten::Committed) => Ok(()),
        Ok(Prewritten::Later(commit_ts)) => {
            later.send(requests, (txn.start_ts, commit_ts), pairs.from(from).take(count.get())).await;
            Ok(())
        }
        Ok(Prewritten::Locked) => Box::pin(second_step(requests, txn, pairs, from, count.get())).await,
        Err(error) => Err(error),
    };
    if committed.is_err() {
        // Whatever of it is there must not stand in the way of others until its time is over.
        let back = requests.send(Command::BATCH_ROLLBACK, pairs.key(from), |out, _| {
            put_uint(out, batch_rollback_request::START_VERSION, txn.start_ts);
            let keys = pairs.from(from).take(count.get());
            keys.for_each(|(key, _)| put_element(out, batch_rollback_request::KEYS, key));
        });
        // What the transaction met is what counts.
        let _ = Box::pin(back).await;
    }
    committed.map(|()| count.get())
}

enum Prewritten {
    /// In one step.
    Committed,
    /// It counts as committed; the locks are to be replaced at this time.
    Later(u64),
    /// The second step follows.
    Locked,
}

async fn prewrite(
    requests: &mut Requests,
    txn: Txn,
    pairs: &Pairs,
    from: usize,
    count: &Cell<usize>,
) -> Result<Prewritten, DriverError> {
    let target = &requests.hub.settings.target;
    let (async_commit, one_pc) = (target.async_commit, target.one_pc);
    // Where the store chooses the time of the commit it must lie after everything that was committed before now.
    let latest = if async_commit || one_pc { requests.timestamp().await? } else { txn.start_ts };
    loop {
        let sent = requests.send(Command::PREWRITE, pairs.key(from), |out, region| {
            // A split between two attempts leaves fewer of them.
            let ours = || pairs.from(from).take_while(|(key, _)| region.has(key));
            count.set(ours().count());
            ours().for_each(|(key, value)| put_mutation(out, key, value));
            put_bytes(out, prewrite_request::PRIMARY_LOCK, pairs.key(from));
            put_uint(out, prewrite_request::START_VERSION, txn.start_ts);
            put_uint(out, prewrite_request::LOCK_TTL, if txn.for_update_ts > 0 { TTL_PESSIMISTIC_MS } else { TTL_MS });
            if txn.for_update_ts > 0 {
                const CHECK: u8 = pessimistic_action::DO_PESSIMISTIC_CHECK as u8;
                let fill = |actions: &mut Vec<u8>| actions.resize(actions.len() + count.get(), CHECK);
                put_message(out, prewrite_request::PESSIMISTIC_ACTIONS, fill);
            }
            put_uint(out, prewrite_request::TXN_SIZE, count.get() as u64);
            put_uint(out, prewrite_request::FOR_UPDATE_TS, txn.for_update_ts);
            put_uint(out, prewrite_request::MIN_COMMIT_TS, latest.max(txn.for_update_ts) + 1);
            put_uint(out, prewrite_request::USE_ASYNC_COMMIT, async_commit.into());
            if async_commit {
                ours().skip(1).for_each(|(key, _)| put_element(out, prewrite_request::SECONDARIES, key));
            }
            put_uint(out, prewrite_request::TRY_ONE_PC, one_pc.into());
        });
        sent.await?;
        match requests.answer(answers::key_error)? {
            None => break,
            Some(KeyError::Locked(lock)) => drop(Box::pin(clear_lock(requests, &lock, 0)).await?),
            Some(error) => return Err(verdict(error)),
        }
    }
    // Without a time the store went back to two steps.
    Ok(match requests.answer(answers::prewritten)? {
        (_, 1..) => Prewritten::Committed,
        (ts @ 1.., 0) if async_commit => Prewritten::Later(ts),
        _ => Prewritten::Locked,
    })
}

fn put_mutation(out: &mut Vec<u8>, key: &[u8], value: &[u8]) {
    put_message(out, prewrite_request::MUTATIONS, |put| {
        put_uint(put, mutation::OP, op::PUT.into());
        put_bytes(put, mutation::KEY, key);
        put_bytes(put, mutation::VALUE, value);
    });
}

async fn second_step(requests: &mut Requests, txn: Txn, pairs: &Pairs, from: usize, count: usize) -> Result<(), DriverError> {
    loop {
        let commit_ts = requests.timestamp().await?;
        let write = |out: &mut Vec<u8>, _: &Region| put_commit(out, (txn.start_ts, commit_ts), pairs.from(from).take(count));
        requests.send(Command::COMMIT, pairs.key(from), write).await?;
        match requests.answer(answers::key_error)? {
            None => return Ok(()),
            // A reader has moved the earliest time of the commit.
            Some(KeyError::CommitTooEarly) => {}
            Some(error) => return Err(verdict(error)),
        }
    }
}

/// Finds out what became of the transaction that holds a lock, and clears the lock away, or waits a moment. Whether a reader of
/// time `reader` may pass it by from now on.
async fn clear_lock(requests: &mut Requests, lock: &Lock, reader: u64) -> Result<Option<u64>, DriverError> {
    let now = requests.timestamp().await?;
    let expired = (now >> LOGICAL_BITS).saturating_sub(lock.version >> LOGICAL_BITS) >= lock.ttl_ms;
    let sent = requests.send(Command::CHECK_TXN_STATUS, &lock.primary, |out, _| {
        put_bytes(out, check_txn_status_request::PRIMARY_KEY, &lock.primary);
        put_uint(out, check_txn_status_request::LOCK_TS, lock.version);
        put_uint(out, check_txn_status_request::CALLER_START_TS, reader);
        put_uint(out, check_txn_status_request::CURRENT_TS, now);
        put_uint(out, check_txn_status_request::ROLLBACK_IF_NOT_EXIST, expired.into());
    });
    sent.await?;
    let status = requests.answer(TxnStatus::parse)?;
    let commit_ts = match &status.error {
        None if status.commit_ts > 0 || status.ttl_ms == 0 => Some(status.commit_ts),
        // Its session is gone, and it has no other keys that would have to be asked.
        None if expired && status.lock.async_commit && !status.lock.has_secondaries => Some(status.lock.min_commit_ts),
        None if status.pushed && reader > 0 => return Ok(Some(lock.version)),
        None | Some(KeyError::TxnNotFound) => None,
        Some(error) => return Err(verdict(error.clone())),
    };
    let Some(commit_ts) = commit_ts else {
        let counts = &requests.hub.settings.counts;
        requests.lock_tries.retry(Why::Locked, "another transaction holds the key", counts).await?;
        return Ok(None);
    };
    let sent = requests.send(Command::RESOLVE_LOCK, &lock.key, |out, _| {
        put_uint(out, resolve_lock_request::START_VERSION, lock.version);
        put_uint(out, resolve_lock_request::COMMIT_VERSION, commit_ts);
        put_element(out, resolve_lock_request::KEYS, &lock.key);
    });
    sent.await?;
    Ok(None)
}
