//! The values of kept rows ("DataRow"). Integers and floating numbers of prepared statements come in binary, all else as
//! text; either way the cells are the same: integers as integers, floating numbers as such, and the server's text.

use perbuck_load::values::Rows;
use smallvec::SmallVec;

use crate::wire::messages::value;
use perbuck_net::reader::Reader;
use perbuck_net::{Malformed, Parsed};

/// A type, as far as it matters to the form of values. Decimals are text, so that they stay exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Type {
    Int2,
    Int4,
    Int8,
    Float4,
    Float8,
    /// `bytea`, whose text is an encoding of its bytes.
    Bytes,
    Other,
}

impl Type {
    /// By the number in pg_type, which is the same in every server.
    pub(crate) fn of(oid: u32) -> Self {
        match oid {
            17 => Self::Bytes,
            20 => Self::Int8,
            21 => Self::Int2,
            23 => Self::Int4,
            700 => Self::Float4,
            701 => Self::Float8,
            _ => Self::Other,
        }
    }

    /// Whether values travel in binary: 1, or as text: 0 ("Overview, Formats and Format Codes").
    #[inline]
    pub(crate) fn format(self) -> u8 {
        u8::from(self != Self::Other)
    }
}

pub(crate) type Columns = SmallVec<[Type; 16]>;

pub(crate) fn keep_row(body: &[u8], columns: &[Type], binary: bool, rows: &mut Rows) -> Parsed<()> {
    let mut r = Reader::new(body);
    if usize::from(r.be_u16()?) != columns.len() {
        return Err(Malformed("a row and its description differ in the number of columns"));
    }
    for column in columns {
        match value(&mut r)? {
            None => rows.push_null(),
            Some(value) if binary => binary_cell(value, *column, rows)?,
            Some(value) => text_cell(value, *column, rows)?,
        }
    }
    if r.left() > 0 {
        return Err(Malformed("a row goes on after its last column"));
    }
    rows.end_row();
    Ok(())
}

fn binary_cell(value: &[u8], column: Type, rows: &mut Rows) -> Parsed<()> {
    match column {
        Type::Int2 => rows.push_int(i16::from_be_bytes(sized(value)?).into()),
        Type::Int4 => rows.push_int(i32::from_be_bytes(sized(value)?).into()),
        Type::Int8 => rows.push_int(i64::from_be_bytes(sized(value)?)),
        Type::Float4 => rows.push_float(f32::from_be_bytes(sized(value)?).into()),
        Type::Float8 => rows.push_float(f64::from_be_bytes(sized(value)?)),
        Type::Bytes | Type::Other => rows.push_text(value),
    }
    Ok(())
}

fn sized<const N: usize>(value: &[u8]) -> Parsed<[u8; N]> {
    value.try_into().map_err(|_| Malformed("a number has the length of another type"))
}

fn text_cell(value: &[u8], column: Type, rows: &mut Rows) -> Parsed<()> {
    let no_number = Malformed("a number is not made of digits");
    let text = || std::str::from_utf8(value).map_err(|_| no_number);
    match column {
        Type::Int2 | Type::Int4 | Type::Int8 => rows.push_int(text()?.parse().map_err(|_| no_number)?),
        // Through f32, so that the same value comes out of both forms.
        Type::Float4 => rows.push_float(text()?.parse::<f32>().map_err(|_| no_number)?.into()),
        Type::Float8 => rows.push_float(text()?.parse().map_err(|_| no_number)?),
        Type::Bytes => push_bytes(value, rows)?,
        Type::Other => rows.push_text(value),
    }
    Ok(())
}

/// `\x00ff`, which is how servers print bytes unless told otherwise ("bytea Hex Format").
fn push_bytes(value: &[u8], rows: &mut Rows) -> Parsed<()> {
    let broken = Malformed("a bytea value is not in hexadecimal digits");
    let digits = value.strip_prefix(b"\\x").filter(|digits| digits.len() % 2 == 0).ok_or(broken)?;
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|d| d as u8).ok_or(broken);
    let bytes: Parsed<Vec<u8>> = digits.chunks(2).map(|pair| Ok(digit(pair[0])? << 4 | digit(pair[1])?)).collect();
    rows.push_text(&bytes?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ALL: [Type; 7] = [Type::Int2, Type::Int4, Type::Int8, Type::Float4, Type::Float8, Type::Bytes, Type::Other];

    fn row(values: &[Option<&[u8]>]) -> Vec<u8> {
        let mut body = (values.len() as u16).to_be_bytes().to_vec();
        for value in values {
            body.extend_from_slice(&value.map_or(u32::MAX, |v| v.len() as u32).to_be_bytes());
            body.extend_from_slice(value.unwrap_or_default());
        }
        body
    }

    fn cells(body: &[u8], columns: &[Type], binary: bool) -> Parsed<Vec<String>> {
        let mut rows = Rows::default();
        rows.start(true);
        keep_row(body, columns, binary, &mut rows)?;
        Ok((0..rows.width()).map(|i| rows.display(0, i).unwrap()).collect())
    }

    #[test]
    fn both_forms_give_the_same_cells() {
        let binary: [&[u8]; 7] = [
            &(-2_i16).to_be_bytes(),
            &(-3_i32).to_be_bytes(),
            &i64::MIN.to_be_bytes(),
            &1.5_f32.to_be_bytes(),
            &(-2.25_f64).to_be_bytes(),
            b"\0z",
            b"12.30",
        ];
        let text: [&[u8]; 7] = [b"-2", b"-3", b"-9223372036854775808", b"1.5", b"-2.25", b"\\x007A", b"12.30"];
        let expected = ["-2", "-3", "-9223372036854775808", "1.5", "-2.25", "\0z", "12.30"];
        assert_eq!(cells(&row(&binary.map(Some)), &ALL, true).unwrap(), expected);
        assert_eq!(cells(&row(&text.map(Some)), &ALL, false).unwrap(), expected);
        assert_eq!(cells(&row(&[None; 7]), &ALL, true).unwrap(), ["NULL"; 7]);
    }

    #[test]
    fn rows_of_another_shape_are_refused() {
        let short: &[u8] = b"\0";
        for column in &ALL[..5] {
            assert!(cells(&row(&[Some(short)]), &[*column], true).is_err());
            assert!(cells(&row(&[Some(b"x")]), &[*column], false).is_err());
        }
        assert!(cells(&row(&[Some(b"\\x0")]), &[Type::Bytes], false).is_err());
        assert!(cells(&row(&[Some(b"a")]), &[Type::Other; 2], false).is_err());
        assert!(cells(&[&row(&[Some(b"a")])[..], b"b"].concat(), &[Type::Other], false).is_err());
    }

    proptest! {
        #[test]
        fn no_row_makes_the_reader_panic(
            body in proptest::collection::vec(any::<u8>(), 0..60), columns in proptest::sample::subsequence(ALL.to_vec(), 0..7), binary: bool,
        ) {
            let mut body = body;
            if let Some(head) = body.first_chunk_mut() {
                *head = (columns.len() as u16).to_be_bytes();
            }
            let _ = cells(&body, &columns, binary);
        }
    }
}
