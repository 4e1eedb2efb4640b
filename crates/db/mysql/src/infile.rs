//! Bulk loading by LOAD DATA LOCAL INFILE with rows that are made as they are sent: no statement to parse, no file. It
//! needs `local_infile` of the server; where that is off, INSERTs do the same work ([`crate::bulk`]).
//!
//! LOCAL turns what would be an error (a duplicate key, a value that does not fit) into a warning, and goes on without
//! the row or with another value. So a warning is an error here.

use perbuck_load::driver::{BulkTable, Session};
use perbuck_load::error::{DriverError, ErrorClass};
use perbuck_load::values::{Params, Rows, Value, write_decimal};

use crate::errors::code;
use crate::session::MysqlSession;
use crate::wire::bytes::MysqlReader as _;
use crate::wire::protocol::command;
use perbuck_database::sql::put_name;
use perbuck_net::reader::Reader;
use perbuck_net::{Malformed, Parsed};

/// Rows are sent in packets of about this size, which the processor's caches hold.
const PACKET_BYTES: usize = 256 * 1024;

/// Errors by which servers say that they take no local file: MySQL 5 and TiDB, MySQL 8, MariaDB.
const NOT_ALLOWED: [u16; 3] = [1148, 3948, 4166];

/// The end of a LOAD DATA ("OK_Packet").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Loaded {
    affected: u64,
    status: u16,
    warnings: u16,
}

impl Loaded {
    fn parse(payload: &[u8]) -> Parsed<Self> {
        let mut r = Reader::new(payload);
        if r.u8()? != 0 {
            return Err(Malformed("an OK packet was expected after a file"));
        }
        let affected = r.lenenc()?;
        r.lenenc()?;
        Ok(Self { affected, status: r.u16()?, warnings: r.u16()? })
    }
}

/// Loads the rows; `None` where the server takes no local file. Cells come in whole rows.
pub(crate) async fn load_data(session: &mut MysqlSession, table: &BulkTable, cells: &Params) -> Result<Option<u64>, DriverError> {
    let out = session.wire.command()?;
    out.push(command::QUERY);
    put_load_data(out, table);
    session.wire.send_command().await?;
    let packet = session.wire.packet().await?;
    match session.wire.bytes(&packet) {
        [0xfb, ..] => {}
        [0xff, ..] => {
            let error = session.wire.server_error(&packet);
            return if takes_no_file(&error) { Ok(None) } else { Err(error) };
        }
        _ => return Err(session.wire.malformed(Malformed("it does not ask for the file that it was offered"))),
    }
    let plain = !may_need_escapes(cells.all_text());
    let mut rest = cells.iter();
    while rest.len() > 0 {
        put_rows(session.wire.reply(), &mut rest, table.columns.len(), plain);
        session.wire.send_reply().await?;
    }
    // An empty packet is the end of the file.
    session.wire.reply();
    session.wire.send_reply().await?;
    let loaded = loaded(session).await?;
    session.reader.status = loaded.status;
    if loaded.warnings > 0 {
        return Err(warned(session, table, loaded.warnings).await?);
    }
    Ok(Some(loaded.affected))
}

async fn loaded(session: &mut MysqlSession) -> Result<Loaded, DriverError> {
    let packet = session.wire.packet().await?;
    let loaded = match session.wire.bytes(&packet) {
        [0xff, ..] => return Err(session.wire.server_error(&packet)),
        payload => Loaded::parse(payload).map_err(|why| session.wire.malformed(why))?,
    };
    session.wire.answered();
    Ok(loaded)
}

/// What the server did not take as it was, in its own words.
async fn warned(session: &mut MysqlSession, table: &BulkTable, count: u16) -> Result<DriverError, DriverError> {
    let mut rows = Rows::default();
    session.query("SHOW WARNINGS LIMIT 3", &mut rows).await?;
    let mut words = Vec::new();
    for row in 0..rows.len() as usize {
        words.push(rows.display(row, 2)?);
    }
    let message =
        format!("the server did not take {count} values or rows for `{}` as they are: {}", table.name, words.join("; "));
    Ok(DriverError::client(ErrorClass::Fatal, "load", message))
}

fn takes_no_file(error: &DriverError) -> bool {
    NOT_ALLOWED.map(code).contains(&error.code)
}

/// Bytes in hexadecimal mean the same in every `sql_mode`. The character set `binary` keeps the server from looking for
/// characters where it looks for tabs; columns still take only what is text in their own character set.
fn put_load_data(out: &mut Vec<u8>, table: &BulkTable) {
    out.extend_from_slice(b"LOAD DATA LOCAL INFILE 'perbuck' INTO TABLE ");
    put_name(out, &table.name, b'`');
    out.extend_from_slice(
        b" CHARACTER SET binary FIELDS TERMINATED BY 0x09 ENCLOSED BY '' ESCAPED BY 0x5C LINES TERMINATED BY 0x0A (",
    );
    for (i, column) in table.columns.iter().enumerate() {
        if i > 0 {
            out.extend_from_slice(b", ");
        }
        put_name(out, column, b'`');
    }
    out.push(b')');
}

/// Whether any text may have something special in it. Nearly none has; all of it is looked at at once, and without a branch,
/// so that many bytes are compared at a time.
fn may_need_escapes(text: &[u8]) -> bool {
    text.iter().fold(false, |found, byte| found | (*byte < b' ') | (*byte == b'\\'))
}

/// Appends whole rows until a packet is full, at least one; `plain` says that no text needs an escape.
fn put_rows<'a>(out: &mut Vec<u8>, cells: &mut impl ExactSizeIterator<Item = Value<'a>>, width: usize, plain: bool) {
    while cells.len() > 0 && out.len() < PACKET_BYTES {
        for (i, value) in cells.by_ref().take(width).enumerate() {
            if i > 0 {
                out.push(b'\t');
            }
            put_field(out, value, plain);
        }
        out.push(b'\n');
    }
}

fn put_field(out: &mut Vec<u8>, value: Value<'_>, plain: bool) {
    match value {
        Value::Null => out.extend_from_slice(b"\\N"),
        Value::Int(v) => write_decimal(out, v, 0),
        Value::Decimal { unscaled, scale } => write_decimal(out, unscaled, scale),
        Value::Text(text) if plain => out.extend_from_slice(text),
        Value::Text(text) => put_text(out, text),
    }
}

fn is_special(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | b'\\' | 0)
}

fn put_text(out: &mut Vec<u8>, text: &[u8]) {
    let mut rest = text;
    while let Some(at) = rest.iter().position(|byte| is_special(*byte)) {
        out.extend_from_slice(&rest[..at]);
        out.push(b'\\');
        out.push(if rest[at] == 0 { b'0' } else { rest[at] });
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_escaped_where_they_would_end() {
        let mut cells = Params::default();
        cells.int(-7).text(b"a\tb\nc\\d\0e\rf").null().decimal(-5, 2).int(8).text(b"").text("\u{e9}".as_bytes()).null();
        let mut out = Vec::new();
        put_rows(&mut out, &mut cells.iter(), 4, !may_need_escapes(cells.all_text()));
        let expected = "-7\ta\\\tb\\\nc\\\\d\\0e\rf\t\\N\t-0.05\n8\t\t\u{e9}\t\\N\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn a_packet_ends_with_a_row() {
        let mut cells = Params::default();
        for i in 0..5_000 {
            cells.int(i).text(&[b'x'; 150]);
        }
        let (mut rest, mut rows, mut packets) = (cells.iter(), 0, 0);
        while rest.len() > 0 {
            let mut out = Vec::new();
            put_rows(&mut out, &mut rest, 2, !may_need_escapes(cells.all_text()));
            assert!(out.ends_with(b"x\n") && out.len() < PACKET_BYTES + 200);
            rows += out.iter().filter(|b| **b == b'\n').count();
            packets += 1;
        }
        assert_eq!((rows, packets), (5_000, 3));
    }

    #[test]
    fn the_end_says_how_many_warnings_there_were() {
        let loaded = Loaded { affected: 256, status: 2, warnings: 3 };
        assert_eq!(Loaded::parse(&[0, 0xfc, 0, 1, 0, 2, 0, 3, 0]), Ok(loaded));
        assert!(Loaded::parse(&[0, 0, 0, 2, 0]).is_err() && Loaded::parse(&[0xfe, 0, 0, 2, 0, 0, 0]).is_err());
    }
}
