//! What stores answer (kvrpcpb.proto), as far as a session needs it.

use perbuck_grpc::Parsed;
use perbuck_grpc::kvproto::kvrpcpb::{
    action, check_txn_status_response, commit_response, get_response, key_error, kv_pair, lock_info, pessimistic_lock_response,
    prewrite_response, raw_get_response, raw_put_response,
};
use perbuck_grpc::proto::{Value, fields, numbers};

/// Why a key cannot be read or written now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum KeyError {
    /// Another transaction holds it.
    Locked(Lock),
    /// Another transaction was faster.
    Conflict,
    /// The transaction would wait for itself.
    Deadlock,
    /// The time of the commit is too early by now.
    CommitTooEarly,
    /// Nobody knows the transaction.
    TxnNotFound,
    /// Something else, in the server's words.
    Other(String),
}

/// A lock.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Lock {
    pub(crate) primary: Vec<u8>,
    pub(crate) version: u64,
    pub(crate) key: Vec<u8>,
    pub(crate) ttl_ms: u64,
    pub(crate) async_commit: bool,
    pub(crate) min_commit_ts: u64,
    pub(crate) has_secondaries: bool,
}

impl Lock {
    fn parse(message: &[u8]) -> Parsed<Self> {
        let mut lock = Self::default();
        for field in fields(message) {
            match field? {
                (lock_info::PRIMARY_LOCK, Value::Bytes(primary)) => lock.primary = primary.to_vec(),
                (lock_info::LOCK_VERSION, Value::Varint(version)) => lock.version = version,
                (lock_info::KEY, Value::Bytes(key)) => lock.key = key.to_vec(),
                (lock_info::LOCK_TTL, Value::Varint(ttl)) => lock.ttl_ms = ttl,
                (lock_info::USE_ASYNC_COMMIT, Value::Varint(on)) => lock.async_commit = on != 0,
                (lock_info::MIN_COMMIT_TS, Value::Varint(ts)) => lock.min_commit_ts = ts,
                (lock_info::SECONDARIES, Value::Bytes(_)) => lock.has_secondaries = true,
                _ => {}
            }
        }
        Ok(lock)
    }
}

impl KeyError {
    #[cold]
    pub(crate) fn parse(message: &[u8]) -> Parsed<Self> {
        let mut error = Self::Other("an unknown error of a key".to_owned());
        for field in fields(message) {
            error = match field? {
                (key_error::LOCKED, Value::Bytes(lock)) => Self::Locked(Lock::parse(lock)?),
                (key_error::RETRYABLE | key_error::ABORT, Value::Bytes(words)) if !words.is_empty() => {
                    Self::Other(perbuck_net::printable(words))
                }
                (key_error::CONFLICT, _) => Self::Conflict,
                (key_error::DEADLOCK, _) => Self::Deadlock,
                (key_error::COMMIT_TS_EXPIRED, _) => Self::CommitTooEarly,
                (key_error::TXN_NOT_FOUND, _) => Self::TxnNotFound,
                _ => error,
            };
        }
        Ok(error)
    }
}

/// The value of `RawGetResponse` or `GetResponse`, or the bytes of its error.
#[inline]
pub(crate) fn value(answer: &[u8]) -> Parsed<Result<Option<&[u8]>, &[u8]>> {
    const { assert!(get_response::VALUE == raw_get_response::VALUE && get_response::NOT_FOUND == raw_get_response::NOT_FOUND) };
    let (mut found, mut absent) = (None, false);
    for field in fields(answer) {
        match field? {
            (get_response::ERROR, Value::Bytes(error)) if !error.is_empty() => return Ok(Err(error)),
            (get_response::VALUE, Value::Bytes(value)) => found = Some(value),
            (get_response::NOT_FOUND, Value::Varint(not_found)) => absent = not_found != 0,
            _ => {}
        }
    }
    // An empty value is left out by proto3, and is one all the same unless it says that there is none.
    Ok(Ok(if absent { None } else { found.or(Some(&[])) }))
}

/// The text of the error of a raw command, if it is one.
#[inline]
pub(crate) fn error(answer: &[u8]) -> Parsed<Option<&[u8]>> {
    for field in fields(answer) {
        if let (raw_put_response::ERROR, Value::Bytes(error)) = field?
            && !error.is_empty()
        {
            return Ok(Some(error));
        }
    }
    Ok(None)
}

/// The first error of a key: `error` and `errors` have one number.
pub(crate) fn key_error(answer: &[u8]) -> Parsed<Option<KeyError>> {
    const { assert!(commit_response::ERROR == prewrite_response::ERRORS) };
    const { assert!(commit_response::ERROR == pessimistic_lock_response::ERRORS) };
    for field in fields(answer) {
        if let (commit_response::ERROR, Value::Bytes(error)) = field? {
            return KeyError::parse(error).map(Some);
        }
    }
    Ok(None)
}

/// A row of a scan: error, key and value.
pub(crate) fn pair(message: &[u8]) -> Parsed<(Option<KeyError>, &[u8], &[u8])> {
    let (mut error, mut key, mut value) = (None, &[][..], &[][..]);
    for field in fields(message) {
        match field? {
            (kv_pair::ERROR, Value::Bytes(told)) => error = Some(KeyError::parse(told)?),
            (kv_pair::KEY, Value::Bytes(bytes)) => key = bytes,
            (kv_pair::VALUE, Value::Bytes(bytes)) => value = bytes,
            _ => {}
        }
    }
    Ok((error, key, value))
}

/// `PrewriteResponse`: when it is committed at the earliest, and when it was in one step.
pub(crate) fn prewritten(answer: &[u8]) -> Parsed<(u64, u64)> {
    let (mut min_commit_ts, mut one_pc) = (0, 0);
    for field in fields(answer) {
        match field? {
            (prewrite_response::MIN_COMMIT_TS, Value::Varint(ts)) => min_commit_ts = ts,
            (prewrite_response::ONE_PC_COMMIT_TS, Value::Varint(ts)) => one_pc = ts,
            _ => {}
        }
    }
    Ok((min_commit_ts, one_pc))
}

/// The value that `PessimisticLockResponse` returns, if there is one.
pub(crate) fn locked_value(answer: &[u8]) -> Parsed<Option<&[u8]>> {
    let (mut found, mut absent) = (None, false);
    for field in fields(answer) {
        match field? {
            (pessimistic_lock_response::VALUES, Value::Bytes(value)) => found = Some(value),
            (pessimistic_lock_response::NOT_FOUNDS, flags) => numbers(flags, |flag| absent |= flag != 0)?,
            _ => {}
        }
    }
    Ok(if absent { None } else { found })
}

/// `CheckTxnStatusResponse`.
#[derive(Debug, Default)]
pub(crate) struct TxnStatus {
    pub(crate) error: Option<KeyError>,
    pub(crate) ttl_ms: u64,
    pub(crate) commit_ts: u64,
    /// Whether the earliest time of its commit was moved behind the reader's.
    pub(crate) pushed: bool,
    pub(crate) lock: Lock,
}

impl TxnStatus {
    pub(crate) fn parse(answer: &[u8]) -> Parsed<Self> {
        let mut status = Self::default();
        for field in fields(answer) {
            match field? {
                (check_txn_status_response::ERROR, Value::Bytes(error)) => status.error = Some(KeyError::parse(error)?),
                (check_txn_status_response::LOCK_TTL, Value::Varint(ttl)) => status.ttl_ms = ttl,
                (check_txn_status_response::COMMIT_VERSION, Value::Varint(ts)) => status.commit_ts = ts,
                (check_txn_status_response::ACTION, Value::Varint(taken)) => {
                    status.pushed = taken == u64::from(action::MIN_COMMIT_TS_PUSHED);
                }
                (check_txn_status_response::LOCK_INFO, Value::Bytes(lock)) => status.lock = Lock::parse(lock)?,
                _ => {}
            }
        }
        Ok(status)
    }
}
