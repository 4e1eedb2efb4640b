//! What stores answer (kvrpcpb.proto), as far as a session needs it.

use perbuck_grpc::Parsed;
use perbuck_grpc::kvproto::kvrpcpb::{
    action, check_txn_status_response, commit_response, get_response, key_error, kv_pair, lock_info, pessimistic_lock_response,
    prewrite_response, raw_get_response, raw_put_response, scan_response,
};
use perbuck_grpc::proto::{Value, bytes, elements, fields, numbers, uints};

/// Why a key cannot be read or written now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum KeyError {
    Locked(Lock),
    Conflict,
    /// The transaction would wait for itself.
    Deadlock,
    /// The time of the commit is too early by now.
    CommitTooEarly,
    /// The store does not know the transaction.
    TxnNotFound,
    /// Something else, in the server's words.
    Other(String),
}

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
        let [primary, key] = bytes(message, [lock_info::PRIMARY_LOCK, lock_info::KEY])?;
        let wanted = [lock_info::LOCK_VERSION, lock_info::LOCK_TTL, lock_info::USE_ASYNC_COMMIT, lock_info::MIN_COMMIT_TS];
        let [version, ttl_ms, async_commit, min_commit_ts] = uints(message, wanted)?;
        Ok(Self {
            primary: primary.to_vec(),
            version,
            key: key.to_vec(),
            ttl_ms,
            async_commit: async_commit != 0,
            min_commit_ts,
            has_secondaries: elements(message, lock_info::SECONDARIES).next().is_some(),
        })
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

/// The value of `RawGetResponse` or `GetResponse`, if there is one. In transactions an empty value is none, as in client-go,
/// whether or not the answer says that it found nothing.
pub(crate) fn read_value(answer: &[u8], transactional: bool) -> Parsed<Option<&[u8]>> {
    let value = value(answer).map(Result::unwrap_or_default)?;
    Ok(value.filter(|bytes| !(transactional && bytes.is_empty())))
}

/// The text of the error of a raw command, if it is one.
#[inline]
pub(crate) fn error(answer: &[u8]) -> Parsed<Option<&[u8]>> {
    elements(answer, raw_put_response::ERROR).find(|error| error.is_err() || error.is_ok_and(|text| !text.is_empty())).transpose()
}

/// The first error of a key: `error` and `errors` have one number.
pub(crate) fn key_error(answer: &[u8]) -> Parsed<Option<KeyError>> {
    const { assert!(commit_response::ERROR == prewrite_response::ERRORS) };
    const { assert!(commit_response::ERROR == pessimistic_lock_response::ERRORS) };
    elements(answer, commit_response::ERROR).next().map(|error| KeyError::parse(error?)).transpose()
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

/// The first error of the rows of a scan: their own, or that of the whole.
pub(crate) fn scan_error(answer: &[u8]) -> Parsed<Option<KeyError>> {
    for field in fields(answer) {
        match field? {
            (scan_response::PAIRS, Value::Bytes(message)) => {
                if let (Some(error), ..) = pair(message)? {
                    return Ok(Some(error));
                }
            }
            (scan_response::ERROR, Value::Bytes(error)) => return KeyError::parse(error).map(Some),
            _ => {}
        }
    }
    Ok(None)
}

/// `PrewriteResponse`: when it is committed at the earliest, and when it was in one step.
pub(crate) fn prewritten(answer: &[u8]) -> Parsed<(u64, u64)> {
    let [min_commit_ts, one_pc] = uints(answer, [prewrite_response::MIN_COMMIT_TS, prewrite_response::ONE_PC_COMMIT_TS])?;
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
    Ok(found.filter(|bytes| !absent && !bytes.is_empty()))
}

/// `CheckTxnStatusResponse`.
#[derive(Debug)]
pub(crate) struct TxnStatus {
    pub(crate) error: Option<KeyError>,
    pub(crate) ttl_ms: u64,
    pub(crate) commit_ts: u64,
    /// Whether the earliest time of its commit was moved after the reader's.
    pub(crate) pushed: bool,
    pub(crate) lock: Lock,
}

impl TxnStatus {
    pub(crate) fn parse(answer: &[u8]) -> Parsed<Self> {
        use check_txn_status_response::{ACTION, COMMIT_VERSION, ERROR, LOCK_INFO, LOCK_TTL};

        let [ttl_ms, commit_ts, taken] = uints(answer, [LOCK_TTL, COMMIT_VERSION, ACTION])?;
        let [lock] = bytes(answer, [LOCK_INFO])?;
        let error = elements(answer, ERROR).next().map(|error| KeyError::parse(error?)).transpose()?;
        let pushed = taken == u64::from(action::MIN_COMMIT_TS_PUSHED);
        Ok(Self { error, ttl_ms, commit_ts, pushed, lock: Lock::parse(lock)? })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_empty_value_is_one_without_transactions_alone() {
        let (mut empty, mut absent, mut locked) = (Vec::new(), Vec::new(), Vec::new());
        perbuck_grpc::proto::put_element(&mut empty, get_response::VALUE, b"");
        perbuck_grpc::proto::put_uint(&mut absent, get_response::NOT_FOUND, 1);
        perbuck_grpc::proto::put_element(&mut locked, pessimistic_lock_response::VALUES, b"");
        for answer in [&b""[..], &empty] {
            assert_eq!((read_value(answer, false), read_value(answer, true)), (Ok(Some(&b""[..])), Ok(None)));
        }
        assert_eq!((read_value(&absent, false), read_value(&absent, true)), (Ok(None), Ok(None)));
        assert_eq!(locked_value(&locked), Ok(None));
    }

    /// Bytes that often are fields: a number and a type, a length, and what may be a field again.
    fn fields_or_bytes() -> impl Strategy<Value = Vec<u8>> {
        let bytes = prop::collection::vec(any::<u8>(), 0..12).boxed();
        let field = bytes.clone().prop_recursive(3, 40, 5, |inner| {
            let one = (1u8..16, inner, 0u8..8, any::<u8>()).prop_map(|(number, value, kind, number_value)| match kind {
                0 => vec![number << 3, number_value & 127],
                1 => [vec![number << 3 | 2, number_value], value].concat(),
                _ => [vec![number << 3 | 2, u8::try_from(value.len().min(127)).unwrap_or(127)], value].concat(),
            });
            prop::collection::vec(one, 0..5).prop_map(|all| all.concat())
        });
        prop_oneof![bytes, field]
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in fields_or_bytes()) {
            let _ = (value(&bytes), error(&bytes), key_error(&bytes), pair(&bytes), scan_error(&bytes));
            let _ = (prewritten(&bytes), locked_value(&bytes), TxnStatus::parse(&bytes), KeyError::parse(&bytes));
        }
    }
}
