//! COM_STMT_EXECUTE: the one packet that a load generator sends all day.

use perbuck_load::values::{Params, Value, write_decimal};
use smallvec::{SmallVec, smallvec};

use crate::wire::bytes::put_lenenc_bytes;
use crate::wire::packets::PrepareOk;
use crate::wire::protocol::{command, kind};

/// A statement that the server has prepared for this connection.
pub(crate) struct Prepared {
    pub(crate) id: u32,
    /// The type of each parameter when it was sent last.
    types: SmallVec<[u8; 16]>,
    /// Whether the server knows `types`; it keeps them from one execution to the next.
    types_known: bool,
}

impl Prepared {
    pub(crate) fn new(ok: PrepareOk) -> Self {
        Self { id: ok.id, types: smallvec![kind::NULL; usize::from(ok.params)], types_known: false }
    }

    /// How many parameters it has.
    #[inline]
    pub(crate) fn params(&self) -> usize {
        self.types.len()
    }

    /// The types will be sent again.
    pub(crate) fn forget_types(&mut self) {
        self.types_known = false;
    }
}

/// Appends "COM_STMT_EXECUTE"; as many parameters are bound as the statement has.
#[inline]
pub(crate) fn put_execute(out: &mut Vec<u8>, prepared: &mut Prepared, params: &Params) {
    let [a, b, c, d] = prepared.id.to_le_bytes();
    // No cursor, one iteration.
    out.extend_from_slice(&[command::STMT_EXECUTE, a, b, c, d, 0, 1, 0, 0, 0]);
    if prepared.types.is_empty() {
        return;
    }
    let nulls_at = out.len();
    out.resize(nulls_at + prepared.types.len().div_ceil(8) + 1, 0);
    let bound_at = out.len() - 1;
    let mut send_types = !prepared.types_known;
    for (i, (value, known)) in params.iter().zip(&mut prepared.types).enumerate() {
        let sent = match value {
            Value::Null => {
                if let Some(byte) = out.get_mut(nulls_at + i / 8) {
                    *byte |= 1 << (i % 8);
                }
                // The bitmap says it all: a NULL among integers is no reason to send the types twice.
                continue;
            }
            Value::Int(_) => kind::LONGLONG,
            Value::Decimal { .. } => kind::NEWDECIMAL,
            Value::Text(_) => kind::VAR_STRING,
        };
        send_types |= *known != sent;
        *known = sent;
    }
    if send_types {
        if let Some(flag) = out.get_mut(bound_at) {
            *flag = 1;
        }
        for sent in &prepared.types {
            out.extend_from_slice(&[*sent, 0]);
        }
        prepared.types_known = true;
    }
    for value in params.iter() {
        match value {
            Value::Null => {}
            Value::Int(v) => out.extend_from_slice(&v.to_le_bytes()),
            Value::Text(text) => put_lenenc_bytes(out, text),
            Value::Decimal { unscaled, scale } => put_decimal(out, unscaled, scale),
        }
    }
}

/// A decimal as digits after their number, which is one byte since there are fewer than 251.
fn put_decimal(out: &mut Vec<u8>, unscaled: i64, scale: u8) {
    let at = out.len();
    out.push(0);
    write_decimal(out, unscaled, scale);
    let length = out.len() - at - 1;
    if let Some(byte) = out.get_mut(at) {
        *byte = length as u8;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn execute(prepared: &mut Prepared, params: &Params) -> Vec<u8> {
        let mut out = Vec::new();
        put_execute(&mut out, prepared, params);
        out
    }

    #[test]
    fn the_example_of_the_protocol_page_comes_out_byte_by_byte() {
        let mut prepared = Prepared::new(PrepareOk { id: 1, columns: 0, params: 1 });
        let mut params = Params::default();
        params.text(b"foo");
        // The page sends 0xFE (STRING); VAR_STRING is what client libraries send for it.
        let expected = b"\x17\x01\0\0\0\0\x01\0\0\0\0\x01\xfd\0\x03foo";
        assert_eq!(execute(&mut prepared, &params), expected);
        // The second time the types are known.
        assert_eq!(execute(&mut prepared, &params), b"\x17\x01\0\0\0\0\x01\0\0\0\0\0\x03foo");
    }

    #[test]
    fn types_are_sent_when_they_change_and_nulls_change_none() {
        let mut prepared = Prepared::new(PrepareOk { id: 2, columns: 0, params: 2 });
        let mut p = Params::default();
        p.int(5).decimal(-1230, 2);
        let head = b"\x17\x02\0\0\0\0\x01\0\0\0".to_vec();
        let with = |tail: &[u8]| [&head, tail].concat();
        assert_eq!(execute(&mut prepared, &p), with(b"\0\x01\x08\0\xf6\0\x05\0\0\0\0\0\0\0\x06-12.30"));
        p.clear().null().decimal(1, 0);
        assert_eq!(execute(&mut prepared, &p), with(b"\x01\0\x011"));
        p.clear().int(-1).text(b"x");
        assert_eq!(execute(&mut prepared, &p), with(b"\0\x01\x08\0\xfd\0\xff\xff\xff\xff\xff\xff\xff\xff\x01x"));
        prepared.forget_types();
        p.clear().null().null();
        assert_eq!(execute(&mut prepared, &p), with(b"\x03\x01\x08\0\xfd\0"));
    }

    #[test]
    fn without_parameters_there_is_neither_bitmap_nor_flag() {
        let mut prepared = Prepared::new(PrepareOk { id: 3, columns: 1, params: 0 });
        assert_eq!(execute(&mut prepared, &Params::default()), b"\x17\x03\0\0\0\0\x01\0\0\0");
    }
}
