//! Keys and values without transactions.

use perbuck_grpc::kvproto::kvrpcpb::{kv_pair, raw_batch_put_request, raw_get_request, raw_put_request, raw_scan_request};
use perbuck_grpc::proto::{put_bytes, put_element, put_message, put_uint};
use perbuck_load::error::{DriverError, ErrorClass};

use crate::request::Requests;
use crate::wire::answers;
use crate::wire::call::Command;

fn refused(words: &[u8]) -> DriverError {
    crate::refused(ErrorClass::Fatal, format!("the store refused: {}", perbuck_net::printable(words)))
}

/// Reads a key; its value is then in the answer ([`answers::value`]).
#[inline]
pub(crate) async fn get(requests: &mut Requests, key: &[u8]) -> Result<(), DriverError> {
    requests.send(Command::RAW_GET, key, |out, _| put_bytes(out, raw_get_request::KEY, key)).await?;
    requests.answer(|answer| Ok(answers::value(answer)?.map(drop).map_err(refused)))?
}

#[inline]
pub(crate) async fn put(requests: &mut Requests, key: &[u8], value: &[u8]) -> Result<(), DriverError> {
    let written = requests.send(Command::RAW_PUT, key, |out, _| {
        put_bytes(out, raw_put_request::KEY, key);
        put_bytes(out, raw_put_request::VALUE, value);
    });
    written.await?;
    done(requests)
}

fn done(requests: &Requests) -> Result<(), DriverError> {
    requests.answer(|answer| Ok(answers::error(answer)?.map(refused)))?.map_or(Ok(()), Err)
}

/// Writes the first of some pairs, in the order of their keys: as many as one region has; how many.
///
/// # Errors
/// As [`get`]; any of them may have been written then, and may be written again.
pub(crate) async fn put_some(requests: &mut Requests, pairs: &crate::pairs::Pairs, from: usize) -> Result<usize, DriverError> {
    let mut count = 0;
    let sent = requests.send(Command::RAW_BATCH_PUT, pairs.key(from), |out, region| {
        count = 0;
        for (key, value) in pairs.from(from).take_while(|(key, _)| region.has(key)) {
            put_message(out, raw_batch_put_request::PAIRS, |pair| {
                put_bytes(pair, kv_pair::KEY, key);
                put_bytes(pair, kv_pair::VALUE, value);
            });
            count += 1;
        }
    });
    sent.await?;
    done(requests).map(|()| count)
}

/// Reads at most `limit` pairs of one region from `start` on, before `end`; the last key of that region, empty at the end of all.
pub(crate) async fn scan(
    requests: &mut Requests,
    start: &[u8],
    end: &[u8],
    limit: u32,
    keys_only: bool,
) -> Result<Vec<u8>, DriverError> {
    let scanned = requests.send(Command::RAW_SCAN, start, |out, region| {
        put_element(out, raw_scan_request::START_KEY, start);
        put_uint(out, raw_scan_request::LIMIT, limit.into());
        put_uint(out, raw_scan_request::KEY_ONLY, keys_only.into());
        put_bytes(out, raw_scan_request::END_KEY, crate::nearer(&region.end, end));
    });
    Ok(scanned.await?.end.clone())
}
