//! Bind, Execute and Sync, after Parse where nothing stays prepared: what a load generator sends all day, in one write.

use perbuck_load::values::{Params, Value, write_decimal};
use smallvec::SmallVec;

use crate::wire::cells::{Columns, Type};
use crate::wire::messages::{put_message, put_text, set_length};

/// A statement that the server has prepared for this connection.
///
/// The result is not described again with every execution: its columns are known from when it was prepared.
pub(crate) struct Prepared {
    /// The message Bind up to its first value.
    head: SmallVec<[u8; 64]>,
    /// Where in it the forms of the parameters stand, two bytes each.
    formats_at: usize,
    params: SmallVec<[Type; 16]>,
    /// The rest of Bind, which says the forms of the columns.
    formats: SmallVec<[u8; 16]>,
    /// The columns of its result; none where it returns no rows.
    columns: Option<Columns>,
}

/// The length of Sync.
const SYNC_LENGTH: usize = 5;
/// Execute of the unnamed portal without a limit of rows, and Sync.
const EXECUTE_SYNC: &[u8] = b"E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04";

impl Prepared {
    pub(crate) fn new(name: &str, params: &[u32], columns: Option<&[u32]>) -> Self {
        let params: SmallVec<[Type; 16]> = params.iter().map(|oid| Type::of(*oid)).collect();
        let columns: Option<Columns> = columns.map(|oids| oids.iter().map(|oid| Type::of(*oid)).collect());
        let count = (params.len() as u16).to_be_bytes();
        // The unnamed portal.
        let mut head = SmallVec::from_slice(b"B\0\0\0\0\0");
        head.extend_from_slice(name.as_bytes());
        head.push(0);
        head.extend_from_slice(&count);
        let formats_at = head.len();
        for param in &params {
            head.extend_from_slice(&[0, param.format()]);
        }
        head.extend_from_slice(&count);
        let formats = formats(columns.as_deref().unwrap_or_default());
        Self { head, formats_at, params, formats, columns }
    }

    /// How many parameters it has.
    #[inline]
    pub(crate) fn params(&self) -> usize {
        self.params.len()
    }

    #[inline]
    pub(crate) fn columns(&self) -> Option<&[Type]> {
        self.columns.as_deref()
    }
}

/// One code stands for all columns, and none for text.
fn formats(columns: &[Type]) -> SmallVec<[u8; 16]> {
    let codes: SmallVec<[u8; 16]> = columns.iter().map(|column| column.format()).collect();
    let mut out = SmallVec::new();
    match codes.first() {
        first if codes.iter().all(|code| Some(code) == first) => match first {
            Some(1) => out.extend_from_slice(&[0, 1, 0, 1]),
            _ => out.extend_from_slice(&[0, 0]),
        },
        _ => {
            out.extend_from_slice(&(codes.len() as u16).to_be_bytes());
            codes.iter().for_each(|code| out.extend_from_slice(&[0, *code]));
        }
    }
    out
}

/// Appends Parse and Describe of a statement, after closing what may have had its name, and Sync.
pub(crate) fn put_prepare(out: &mut Vec<u8>, name: &str, sql: &str) {
    put_close(out, name);
    put_message(out, b'P', |out| {
        put_text(out, name.as_bytes());
        put_text(out, sql.as_bytes());
        // The server finds out the types of the parameters.
        out.extend_from_slice(&[0, 0]);
    });
    put_describe(out, name);
}

/// Appends Describe of a prepared statement, and Sync.
pub(crate) fn put_describe(out: &mut Vec<u8>, name: &str) {
    put_message(out, b'D', |out| {
        out.push(b'S');
        put_text(out, name.as_bytes());
    });
    put_sync(out);
}

pub(crate) fn put_close(out: &mut Vec<u8>, name: &str) {
    put_message(out, b'C', |out| {
        out.push(b'S');
        put_text(out, name.as_bytes());
    });
}

/// Appends Sync, which the server answers with ReadyForQuery.
pub(crate) fn put_sync(out: &mut Vec<u8>) {
    put_message(out, b'S', |_| {});
}

/// Takes the Sync off again that ends what was appended.
pub(crate) fn drop_sync(out: &mut Vec<u8>) {
    out.truncate(out.len() - SYNC_LENGTH);
}

/// Appends Bind, Execute and Sync; as many parameters are bound as the statement has.
#[inline]
pub(crate) fn put_execute(out: &mut Vec<u8>, prepared: &Prepared, params: &Params) {
    let at = out.len();
    out.extend_from_slice(&prepared.head);
    for (i, (value, kind)) in params.iter().zip(&prepared.params).enumerate() {
        match (value, kind) {
            (Value::Null, _) => out.extend_from_slice(&u32::MAX.to_be_bytes()),
            (Value::Int(v), Type::Int4) if i32::try_from(v).is_ok() => {
                let [.., a, b, c, d] = v.to_be_bytes();
                out.extend_from_slice(&[0, 0, 0, 4, a, b, c, d]);
            }
            (Value::Int(v), Type::Int8) => {
                out.extend_from_slice(&8_u32.to_be_bytes());
                out.extend_from_slice(&v.to_be_bytes());
            }
            (Value::Int(v), Type::Int2) if i16::try_from(v).is_ok() => {
                let [.., a, b] = v.to_be_bytes();
                out.extend_from_slice(&[0, 0, 0, 2, a, b]);
            }
            (Value::Text(text), Type::Other | Type::Bytes) => {
                out.extend_from_slice(&(text.len() as u32).to_be_bytes());
                out.extend_from_slice(text);
            }
            _ => {
                // The server reads it as whatever the parameter is, and says whether it fits.
                if let Some(format) = out.get_mut(at + prepared.formats_at + 2 * i + 1) {
                    *format = 0;
                }
                put_as_text(out, value);
            }
        }
    }
    out.extend_from_slice(&prepared.formats);
    set_length(out, at + 1);
    out.extend_from_slice(EXECUTE_SYNC);
}

/// Appends Parse, Bind, Describe, Execute and Sync of the unnamed statement: the bytes of libpq's `PQsendQueryParams`. All values are text.
#[inline]
pub(crate) fn put_unnamed(out: &mut Vec<u8>, sql: &[u8], params: &Params) {
    put_message(out, b'P', |out| {
        out.push(0);
        put_text(out, sql);
        // The server finds out the types of the parameters.
        out.extend_from_slice(&[0, 0]);
    });
    let at = out.len();
    // The unnamed portal of the unnamed statement; without forms every value is text.
    out.extend_from_slice(b"B\0\0\0\0\0\0\0\0");
    out.extend_from_slice(&(params.len() as u16).to_be_bytes());
    for value in params.iter() {
        match value {
            Value::Null => out.extend_from_slice(&u32::MAX.to_be_bytes()),
            value => put_as_text(out, value),
        }
    }
    // One form for all columns: text.
    out.extend_from_slice(&[0, 1, 0, 0]);
    set_length(out, at + 1);
    out.extend_from_slice(b"D\0\0\0\x06P\0");
    out.extend_from_slice(EXECUTE_SYNC);
}

/// Appends a value as text, with its length.
#[inline]
fn put_as_text(out: &mut Vec<u8>, value: Value<'_>) {
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    match value {
        Value::Null => {}
        Value::Int(v) => write_decimal(out, v, 0),
        Value::Decimal { unscaled, scale } => write_decimal(out, unscaled, scale),
        Value::Text(text) => out.extend_from_slice(text),
    }
    let length = (out.len() - at - 4) as u32;
    if let Some(length_bytes) = out.get_mut(at..).and_then(|rest| rest.first_chunk_mut()) {
        *length_bytes = length.to_be_bytes();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INT4: u32 = 23;
    const CHAR: u32 = 1042;
    const NUMERIC: u32 = 1700;

    fn execute(prepared: &Prepared, fill: impl FnOnce(&mut Params)) -> Vec<u8> {
        let mut params = Params::default();
        fill(&mut params);
        let mut out = Vec::new();
        put_execute(&mut out, prepared, &params);
        let end = out.split_off(out.len() - EXECUTE_SYNC.len());
        assert_eq!(end, EXECUTE_SYNC);
        out
    }

    #[test]
    fn a_point_select_is_these_bytes() {
        let prepared = Prepared::new("s0", &[INT4], Some(&[CHAR]));
        let expected = b"B\0\0\0\x18\0s0\0\0\x01\0\x01\0\x01\0\0\0\x04\0\0\x04\xd2\0\0";
        assert_eq!(execute(&prepared, |p| _ = p.int(1234)), expected);
        assert_eq!(prepared.columns().map(<[Type]>::len), Some(1));
    }

    #[test]
    fn every_kind_of_value_goes_to_every_kind_of_parameter() {
        let prepared = Prepared::new("s", &[INT4, CHAR, NUMERIC], None);
        let with = |formats: &[u8], values: &[u8]| {
            let formats: Vec<u8> = formats.iter().flat_map(|f| [0, *f]).collect();
            let mut bytes = [b"B\0\0\0\0\0s\0\0\x03", &formats[..], b"\0\x03", values, b"\0\0"].concat();
            bytes[4] = (bytes.len() - 1) as u8;
            bytes
        };
        let found = execute(&prepared, |p| _ = p.int(-1).text(b"x").decimal(-1230, 2));
        assert_eq!(found, with(&[1, 0, 0], b"\0\0\0\x04\xff\xff\xff\xff\0\0\0\x01x\0\0\0\x06-12.30"));
        // What does not fit or is of another kind is left to the server, as text.
        let found = execute(&prepared, |p| _ = p.int(1 << 40).int(7).int(8));
        assert_eq!(found, with(&[0, 0, 0], b"\0\0\0\x0d1099511627776\0\0\0\x017\0\0\0\x018"));
        let found = execute(&prepared, |p| _ = p.text(b"12").null().null());
        assert_eq!(found, with(&[0, 0, 0], b"\0\0\0\x0212\xff\xff\xff\xff\xff\xff\xff\xff"));
    }

    #[test]
    fn small_and_large_integers_are_sent_in_their_own_width() {
        let prepared = Prepared::new("s", &[21, 20, 17], None);
        let found = execute(&prepared, |p| _ = p.int(-2).int(i64::MAX).text(b"\0"));
        let values = b"\0\0\0\x02\xff\xfe\0\0\0\x08\x7f\xff\xff\xff\xff\xff\xff\xff\0\0\0\x01\0\0\0";
        assert!(found.ends_with(values), "{found:?}");
        assert_eq!(found[10..16], [0, 1, 0, 1, 0, 1]);
    }

    #[test]
    fn columns_get_their_forms_in_the_shortest_way() {
        let tail = |columns: &[u32]| Prepared::new("s", &[], Some(columns)).formats.to_vec();
        assert_eq!(tail(&[CHAR, NUMERIC]), [0, 0]);
        assert_eq!(tail(&[INT4, INT4]), [0, 1, 0, 1]);
        assert_eq!(tail(&[INT4, CHAR]), [0, 2, 0, 1, 0, 0]);
        assert_eq!(tail(&[]), [0, 0]);
    }

    #[test]
    fn an_unnamed_statement_is_these_bytes() {
        let mut params = Params::default();
        params.int(-12).null().text(b"x");
        let mut out = Vec::new();
        put_unnamed(&mut out, b"SELECT $1, $2, $3", &params);
        let parse = b"P\0\0\0\x19\0SELECT $1, $2, $3\0\0\0";
        let bind = b"B\0\0\0\x1e\0\0\0\0\0\x03\0\0\0\x03-12\xff\xff\xff\xff\0\0\0\x01x\0\x01\0\0";
        assert_eq!(out, [&parse[..], bind, b"D\0\0\0\x06P\0", EXECUTE_SYNC].concat());
    }

    #[test]
    fn a_statement_is_prepared_by_these_messages() {
        let mut out = Vec::new();
        put_prepare(&mut out, "s0", "SELECT 1");
        let expected = b"C\0\0\0\x08Ss0\0P\0\0\0\x12s0\0SELECT 1\0\0\0D\0\0\0\x08Ss0\0S\0\0\0\x04";
        assert_eq!(out, expected);
    }
}
