//! The values of kept rows, from both forms of result sets ("Binary Protocol Resultset Row", "Text Resultset Row").
//! Both give the same cells: integers as integers, FLOAT and DOUBLE as floating numbers, all else as the text that the
//! text protocol prints.

use std::fmt;
use std::io::{Cursor, Write};

use perbuck_load::values::Rows;

use crate::wire::bytes::lenenc_bytes;
use crate::wire::packets::Column;
use crate::wire::protocol::kind;
use perbuck_net::reader::Reader;
use perbuck_net::{Malformed, Parsed};

/// How the rows of an answer are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Of a text query.
    Text,
    /// Of a prepared statement.
    Binary,
}

pub(crate) fn keep_row(form: Form, payload: &[u8], columns: &[Column], rows: &mut Rows) -> Parsed<()> {
    let mut r = Reader::new(payload);
    match form {
        Form::Binary => keep_binary(&mut r, columns, rows)?,
        Form::Text => keep_text(&mut r, columns, rows)?,
    }
    if r.left() > 0 {
        return Err(Malformed("a row is shorter or longer than its columns"));
    }
    rows.end_row();
    Ok(())
}

fn keep_binary(r: &mut Reader<'_>, columns: &[Column], rows: &mut Rows) -> Parsed<()> {
    if r.u8()? != 0 {
        return Err(Malformed("a row of a prepared statement starts with an invalid byte"));
    }
    // The bitmap of NULLs has an offset of two bits in rows.
    let nulls = r.take((columns.len() + 9) / 8)?;
    for (i, column) in columns.iter().enumerate() {
        let bit = i + 2;
        if nulls.get(bit / 8).is_some_and(|byte| byte & (1 << (bit % 8)) != 0) {
            rows.push_null();
        } else {
            binary_cell(r, *column, rows)?;
        }
    }
    Ok(())
}

fn keep_text(r: &mut Reader<'_>, columns: &[Column], rows: &mut Rows) -> Parsed<()> {
    for column in columns {
        let mut peek = r.clone();
        if peek.u8()? == 0xfb {
            *r = peek;
            rows.push_null();
        } else {
            text_cell(lenenc_bytes(r)?, *column, rows)?;
        }
    }
    Ok(())
}

fn binary_cell(r: &mut Reader<'_>, column: Column, rows: &mut Rows) -> Parsed<()> {
    let unsigned = column.unsigned;
    match column.kind {
        kind::TINY if unsigned => rows.push_int(r.u8()?.into()),
        kind::TINY => rows.push_int(r.u8()?.cast_signed().into()),
        kind::SHORT if !unsigned => rows.push_int(r.le_u16()?.cast_signed().into()),
        kind::SHORT | kind::YEAR => rows.push_int(r.le_u16()?.into()),
        kind::LONG | kind::INT24 if unsigned => rows.push_int(r.le_u32()?.into()),
        kind::LONG | kind::INT24 => rows.push_int(r.le_u32()?.cast_signed().into()),
        kind::LONGLONG => push_u64(r.le_u64()?, unsigned, rows),
        kind::FLOAT => rows.push_float(f64::from(f32::from_bits(r.le_u32()?))),
        kind::DOUBLE => rows.push_float(f64::from_bits(r.le_u64()?)),
        kind::NULL => rows.push_null(),
        kind::DATE | kind::DATETIME | kind::TIMESTAMP => push_date(r, column, rows)?,
        kind::TIME => push_time(r, column, rows)?,
        _ => rows.push_text(lenenc_bytes(r)?),
    }
    Ok(())
}

/// BIGINT UNSIGNED goes beyond what a cell holds as an integer; those values are kept as their digits.
fn push_u64(bits: u64, unsigned: bool, rows: &mut Rows) {
    match i64::try_from(bits) {
        Err(_) if unsigned => rows.push_text(bits.to_string().as_bytes()),
        _ => rows.push_int(bits.cast_signed()),
    }
}

fn text_cell(text: &[u8], column: Column, rows: &mut Rows) -> Parsed<()> {
    let as_str = || std::str::from_utf8(text).map_err(|_| Malformed("a number is not made of digits"));
    match column.kind {
        kind::TINY | kind::SHORT | kind::LONG | kind::INT24 | kind::LONGLONG | kind::YEAR => {
            let digits = as_str()?;
            match digits.parse::<i64>() {
                Ok(value) => rows.push_int(value),
                Err(_) if digits.parse::<u64>().is_ok() => rows.push_text(text),
                Err(_) => return Err(Malformed("a number is not made of digits")),
            }
        }
        // Through f32, so that the same value comes out of both forms of a result set.
        kind::FLOAT => rows.push_float(f64::from(as_str()?.parse::<f32>().map_err(|_| Malformed("not a number"))?)),
        kind::DOUBLE => rows.push_float(as_str()?.parse().map_err(|_| Malformed("not a number"))?),
        _ => rows.push_text(text),
    }
    Ok(())
}

/// "MYSQL_TYPE_DATE", "…_DATETIME", "…_TIMESTAMP" of the binary protocol: trailing zeros are left out in steps.
fn push_date(r: &mut Reader<'_>, column: Column, rows: &mut Rows) -> Parsed<()> {
    let fields = fields(r, &[0, 4, 7, 11])?;
    let mut fields = Reader::new(&fields);
    let (year, month, day) = (fields.le_u16()?, fields.u8()?, fields.u8()?);
    let (hour, minute, second, micros) = (fields.u8()?, fields.u8()?, fields.u8()?, fields.le_u32()?);
    if column.kind == kind::DATE {
        push_short(rows, format_args!("{year:04}-{month:02}-{day:02}"), 0, 0);
    } else {
        let time = format_args!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}");
        push_short(rows, time, micros, column.decimals);
    }
    Ok(())
}

/// "MYSQL_TYPE_TIME": days and hours are apart there and together in the text.
fn push_time(r: &mut Reader<'_>, column: Column, rows: &mut Rows) -> Parsed<()> {
    let fields = fields(r, &[0, 8, 12])?;
    let mut fields = Reader::new(&fields);
    let (negative, days) = (fields.u8()?, fields.le_u32()?);
    let (hour, minute, second, micros) = (fields.u8()?, fields.u8()?, fields.u8()?, fields.le_u32()?);
    let (sign, hours) = (if negative == 1 { "-" } else { "" }, u64::from(days) * 24 + u64::from(hour));
    push_short(rows, format_args!("{sign}{hours:02}:{minute:02}:{second:02}"), micros, column.decimals);
    Ok(())
}

/// The fields of a date or time, filled up with the zeros that were left out.
fn fields(r: &mut Reader<'_>, lengths: &[u8]) -> Parsed<[u8; 16]> {
    let length = r.u8()?;
    if !lengths.contains(&length) {
        return Err(Malformed("a date or time has an impossible length"));
    }
    let mut all = [0; 16];
    let bytes = r.take(usize::from(length))?;
    all[..bytes.len()].copy_from_slice(bytes);
    Ok(all)
}

/// Pushes a date or time with as many digits of a second as the column has; where that varies, with all or none. It is made on
/// the stack: the longest is a time with all its fields at their maximum, 31 bytes.
fn push_short(rows: &mut Rows, what: fmt::Arguments<'_>, micros: u32, decimals: u8) {
    let mut text = Cursor::new([0_u8; 64]);
    let digits = match decimals {
        0..=6 => usize::from(decimals),
        _ if micros > 0 => 6,
        _ => 0,
    };
    let written = match digits {
        0 => text.write_fmt(what),
        _ => write!(text, "{what}.{:0digits$}", micros / 10_u32.pow(6 - digits as u32)),
    };
    debug_assert!(written.is_ok(), "a date or time is longer than any can be");
    rows.push_text(&text.get_ref()[..text.position() as usize]);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn column(kind: u8, unsigned: bool, decimals: u8) -> Column {
        Column { kind, unsigned, decimals }
    }

    fn shown(rows: &Rows) -> Vec<String> {
        (0..rows.width()).map(|i| rows.display(0, i).unwrap()).collect()
    }

    fn binary(columns: &[Column], payload: &[u8]) -> Parsed<Vec<String>> {
        let mut rows = Rows::default();
        rows.start(true);
        keep_row(Form::Binary, payload, columns, &mut rows).map(|()| shown(&rows))
    }

    #[test]
    fn binary_values_of_every_type_are_read() {
        let columns = [
            column(kind::TINY, false, 0),
            column(kind::TINY, true, 0),
            column(kind::SHORT, false, 0),
            column(kind::YEAR, true, 0),
            column(kind::INT24, false, 0),
            column(kind::LONGLONG, true, 0),
            column(kind::LONGLONG, false, 0),
            column(kind::FLOAT, false, 31),
            column(kind::DOUBLE, false, 31),
            column(kind::VAR_STRING, false, 0),
            column(kind::NEWDECIMAL, false, 2),
        ];
        let mut payload = vec![0, 0, 0, 0xff, 0xff, 0xfe, 0xff, 0xe8, 0x07, 0xfd, 0xff, 0xff, 0xff];
        payload.extend_from_slice(&u64::MAX.to_le_bytes());
        payload.extend_from_slice(&(-9_i64).to_le_bytes());
        payload.extend_from_slice(&1.5_f32.to_le_bytes());
        payload.extend_from_slice(&(-2.25_f64).to_le_bytes());
        payload.extend_from_slice(b"\x02ab\x041.50");
        let expected = ["-1", "255", "-2", "2024", "-3", "18446744073709551615", "-9", "1.5", "-2.25", "ab", "1.50"];
        assert_eq!(binary(&columns, &payload).unwrap(), expected);
        assert!(binary(&columns, &payload[..payload.len() - 1]).is_err());
        payload.push(0);
        assert!(binary(&columns, &payload).is_err());
    }

    #[test]
    fn nulls_are_where_the_bitmap_says() {
        let columns = [column(kind::LONG, false, 0); 9];
        let mut payload = vec![0, 0b1111_0100, 0b0000_0111];
        payload.extend_from_slice(&7_u32.to_le_bytes());
        let expected = ["NULL", "7", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL"];
        assert_eq!(binary(&columns, &payload).unwrap(), expected);
    }

    /// The examples of the pages "MYSQL_TYPE_DATETIME" and "MYSQL_TYPE_TIME".
    #[test]
    fn dates_and_times_are_the_text_that_the_text_protocol_prints() {
        let stamp = [0x0b, 0xda, 0x07, 0x0a, 0x11, 0x13, 0x1b, 0x1e, 1, 0, 0, 0];
        let time = [12, 1, 0x78, 0, 0, 0, 0x13, 0x1b, 0x1e, 1, 0, 0, 0];
        let seconds = [&[8], &time[1..9]].concat();
        for (kind, decimals, value, expected) in [
            (kind::DATETIME, 6, &stamp[..], "2010-10-17 19:27:30.000001"),
            (kind::DATETIME, 31, &stamp, "2010-10-17 19:27:30.000001"),
            (kind::DATETIME, 0, &[4, 0xda, 7, 10, 17], "2010-10-17 00:00:00"),
            (kind::DATETIME, 3, &[0], "0000-00-00 00:00:00.000"),
            (kind::DATE, 0, &[4, 0xda, 7, 10, 17], "2010-10-17"),
            (kind::TIME, 6, &time, "-2899:27:30.000001"),
            (kind::TIME, 0, &seconds, "-2899:27:30"),
            (kind::TIME, 2, &[0], "00:00:00.00"),
        ] {
            let row = [&[0, 0], value].concat();
            assert_eq!(binary(&[column(kind, false, decimals)], &row).unwrap(), [expected], "{value:?}");
        }
        assert!(binary(&[column(kind::TIME, false, 0)], &[0, 0, 5, 1, 2, 3, 4, 5]).is_err());
    }

    #[test]
    fn text_values_become_the_same_cells() {
        let mut rows = Rows::default();
        rows.start(true);
        let columns = [
            column(kind::LONG, false, 0),
            column(kind::LONGLONG, true, 0),
            column(kind::FLOAT, false, 31),
            column(kind::VAR_STRING, false, 0),
        ];
        keep_row(Form::Text, b"\x05-0012\x1418446744073709551615\x030.1\xfb", &columns, &mut rows).unwrap();
        assert_eq!(rows.int(0, 0), Ok(-12));
        assert_eq!(shown(&rows)[1..], ["18446744073709551615", &f64::from(0.1_f32).to_string(), "NULL"]);
        assert!(keep_row(Form::Text, b"\x02ab", &columns[..1], &mut rows).is_err());
        assert!(keep_row(Form::Text, b"\xfc\x02", &columns[3..], &mut rows).is_err());
    }

    proptest! {
        #[test]
        fn no_row_makes_the_reader_panic(
            mut bytes in proptest::collection::vec(any::<u8>(), 0..120),
            kinds in proptest::collection::vec((any::<u8>(), any::<bool>(), any::<u8>()), 0..12),
        ) {
            let columns: Vec<Column> = kinds.iter().map(|(k, u, d)| column(if *k < 128 { k % 16 } else { *k }, *u, *d)).collect();
            let mut rows = Rows::default();
            rows.start(true);
            let _ = keep_row(Form::Text, &bytes, &columns, &mut rows);
            if let Some(first) = bytes.first_mut() {
                *first = 0;
            }
            let _ = keep_row(Form::Binary, &bytes, &columns, &mut rows);
        }
    }
}
