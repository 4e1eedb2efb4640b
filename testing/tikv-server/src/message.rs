//! Fields of requests, by their numbers. What is malformed reads as absent: a test server need not say more.

use perbuck_grpc::proto::{Value, fields, numbers};

/// The bytes of a field; empty where it is absent.
pub(crate) fn bytes(message: &[u8], field: u32) -> &[u8] {
    all(message, field).last().unwrap_or_default()
}

/// Every element of a repeated field of bytes.
pub(crate) fn all(message: &[u8], field: u32) -> impl Iterator<Item = &[u8]> {
    fields(message).filter_map(move |read| match read {
        Ok((number, Value::Bytes(bytes))) if number == field => Some(bytes),
        _ => None,
    })
}

/// A number; 0 where it is absent.
pub(crate) fn uint(message: &[u8], field: u32) -> u64 {
    let one = |read| match read {
        Ok((number, Value::Varint(value))) if number == field => Some(value),
        _ => None,
    };
    fields(message).filter_map(one).last().unwrap_or(0)
}

/// Every number of a repeated field.
pub(crate) fn uints(message: &[u8], field: u32) -> Vec<u64> {
    let mut out = Vec::new();
    for (number, value) in fields(message).flatten() {
        if number == field && numbers(value, |n| out.push(n)).is_err() {
            break;
        }
    }
    out
}
