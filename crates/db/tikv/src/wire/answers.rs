//! What stores answer (kvrpcpb.proto), as far as a session needs it.

use perbuck_grpc::Parsed;
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
                (1, Value::Bytes(primary)) => lock.primary = primary.to_vec(),
                (2, Value::Varint(version)) => lock.version = version,
                (3, Value::Bytes(key)) => lock.key = key.to_vec(),
                (4, Value::Varint(ttl)) => lock.ttl_ms = ttl,
                (8, Value::Varint(on)) => lock.async_commit = on != 0,
                (9, Value::Varint(ts)) => lock.min_commit_ts = ts,
                (10, Value::Bytes(_)) => lock.has_secondaries = true,
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
                (1, Value::Bytes(lock)) => Self::Locked(Lock::parse(lock)?),
                (2 | 3, Value::Bytes(words)) if !words.is_empty() => Self::Other(perbuck_net::printable(words)),
                (4, _) => Self::Conflict,
                (6, _) => Self::Deadlock,
                (7, _) => Self::CommitTooEarly,
                (8, _) => Self::TxnNotFound,
                _ => error,
            };
        }
        Ok(error)
    }
}

/// The value of `RawGetResponse` or `GetResponse`, or the bytes of its error.
#[inline]
pub(crate) fn value(answer: &[u8]) -> Parsed<Result<Option<&[u8]>, &[u8]>> {
    let (mut found, mut absent) = (None, false);
    for field in fields(answer) {
        match field? {
            (2, Value::Bytes(error)) if !error.is_empty() => return Ok(Err(error)),
            (3, Value::Bytes(value)) => found = Some(value),
            (4, Value::Varint(not_found)) => absent = not_found != 0,
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
        if let (2, Value::Bytes(error)) = field?
            && !error.is_empty()
        {
            return Ok(Some(error));
        }
    }
    Ok(None)
}

/// The first error of a key in field 2.
pub(crate) fn key_error(answer: &[u8]) -> Parsed<Option<KeyError>> {
    for field in fields(answer) {
        if let (2, Value::Bytes(error)) = field? {
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
            (1, Value::Bytes(told)) => error = Some(KeyError::parse(told)?),
            (2, Value::Bytes(bytes)) => key = bytes,
            (3, Value::Bytes(bytes)) => value = bytes,
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
            (3, Value::Varint(ts)) => min_commit_ts = ts,
            (4, Value::Varint(ts)) => one_pc = ts,
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
            (5, Value::Bytes(value)) => found = Some(value),
            (6, flags) => numbers(flags, |flag| absent |= flag != 0)?,
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
                (2, Value::Bytes(error)) => status.error = Some(KeyError::parse(error)?),
                (3, Value::Varint(ttl)) => status.ttl_ms = ttl,
                (4, Value::Varint(ts)) => status.commit_ts = ts,
                (5, Value::Varint(action)) => status.pushed = action == 3,
                (6, Value::Bytes(lock)) => status.lock = Lock::parse(lock)?,
                _ => {}
            }
        }
        Ok(status)
    }
}
