//! Bulk loading by LOAD DATA LOCAL INFILE with rows that are made as they are sent: no statement to parse, no file. It
//! needs `local_infile` of the server; where that is off, INSERTs do the same work ([`crate::bulk`]).

use perbuck_load::driver::BulkTable;
use perbuck_load::error::DriverError;
use perbuck_load::values::{Params, Value};

use crate::errors::code;
use crate::wire::Wire;
use crate::wire::packets::Done;
use crate::wire::protocol::command;
use perbuck_database::bulk::{needs_escapes, put_columns, put_line};
use perbuck_database::sql::put_name;
use perbuck_net::reader::Reader;
use perbuck_net::{Malformed, Parsed};

/// Rows are sent in packets of about this size, which the processor's caches hold.
const PACKET_BYTES: usize = 256 * 1024;

/// Errors by which servers say that they take no local file: MySQL 5 and TiDB, MySQL 8, MariaDB.
const NOT_ALLOWED: [u16; 3] = [1148, 3948, 4166];

/// The end of a LOAD DATA ("OK_Packet"), and how many warnings it has.
fn parse_loaded(payload: &[u8]) -> Parsed<(Done, u16)> {
    let mut r = Reader::new(payload);
    if r.u8()? != 0 {
        return Err(Malformed("an OK packet was expected after a file"));
    }
    Ok((Done::read(&mut r)?, r.le_u16()?))
}

/// Loads the rows, and counts the warnings; `None` where the server takes no local file. Cells come in whole rows.
pub(crate) async fn load_data(wire: &mut Wire, table: &BulkTable, cells: &Params) -> Result<Option<(Done, u16)>, DriverError> {
    let out = wire.command()?;
    out.push(command::QUERY);
    put_load_data(out, table);
    wire.send_command().await?;
    let packet = wire.packet().await?;
    match wire.bytes(&packet) {
        [0xfb, ..] => {}
        [0xff, ..] => {
            let error = wire.server_error(&packet);
            return if NOT_ALLOWED.map(code).contains(&error.code) { Ok(None) } else { Err(error) };
        }
        _ => return Err(wire.malformed(Malformed("it does not ask for the file that it was offered"))),
    }
    let plain = !needs_escapes(cells);
    let mut rest = cells.iter();
    while rest.len() > 0 {
        put_rows(wire.reply(), &mut rest, table.columns.len(), plain);
        wire.send_reply().await?;
    }
    // An empty packet is the end of the file.
    wire.reply();
    wire.send_reply().await?;
    let packet = wire.packet().await?;
    let loaded = match wire.bytes(&packet) {
        [0xff, ..] => return Err(wire.server_error(&packet)),
        payload => parse_loaded(payload).map_err(|why| wire.malformed(why))?,
    };
    wire.answered();
    Ok(Some(loaded))
}

/// Bytes in hexadecimal mean the same in every `sql_mode`. The character set `binary` keeps the server from looking for
/// characters where it looks for tabs; columns still take only what is text in their own character set.
fn put_load_data(out: &mut Vec<u8>, table: &BulkTable) {
    out.extend_from_slice(b"LOAD DATA LOCAL INFILE 'perbuck' INTO TABLE ");
    put_name(out, &table.name, b'`');
    out.extend_from_slice(
        b" CHARACTER SET binary FIELDS TERMINATED BY 0x09 ENCLOSED BY '' ESCAPED BY 0x5C LINES TERMINATED BY 0x0A ",
    );
    put_columns(out, table, b'`');
}

/// Appends whole rows until a packet is full, at least one; `plain` says that no text needs an escape.
fn put_rows<'a>(out: &mut Vec<u8>, cells: &mut impl ExactSizeIterator<Item = Value<'a>>, width: usize, plain: bool) {
    while cells.len() > 0 && out.len() < PACKET_BYTES {
        put_line(out, cells.by_ref().take(width), plain, |byte| match byte {
            b'\t' => Some(b"\\\t"),
            b'\n' => Some(b"\\\n"),
            b'\\' => Some(b"\\\\"),
            0 => Some(b"\\0"),
            _ => None,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_escaped_where_they_would_end() {
        let mut cells = Params::default();
        cells.int(-7).text(b"a\tb\nc\\d\0e\rf").null().decimal(-5, 2).int(8).text(b"").text("\u{e9}".as_bytes()).null();
        let mut out = Vec::new();
        put_rows(&mut out, &mut cells.iter(), 4, !needs_escapes(&cells));
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
            put_rows(&mut out, &mut rest, 2, !needs_escapes(&cells));
            assert!(out.ends_with(b"x\n") && out.len() < PACKET_BYTES + 200);
            rows += out.iter().filter(|b| **b == b'\n').count();
            packets += 1;
        }
        assert_eq!((rows, packets), (5_000, 3));
    }

    #[test]
    fn the_end_says_how_many_warnings_there_were() {
        let loaded = (Done { affected: 256, status: 2 }, 3);
        assert_eq!(parse_loaded(&[0, 0xfc, 0, 1, 0, 2, 0, 3, 0]), Ok(loaded));
        assert!(parse_loaded(&[0, 0, 0, 2, 0]).is_err() && parse_loaded(&[0xfe, 0, 0, 2, 0, 0, 0]).is_err());
    }
}
