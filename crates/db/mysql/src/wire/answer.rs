//! The answer to a statement ("COM_QUERY Response", "Binary Protocol Resultset"): OK, an error, or a result set, and
//! after each perhaps another.

use std::ops::Range;

use perbuck_load::driver::Effect;
use perbuck_load::error::DriverError;
use perbuck_load::values::Rows;

use crate::wire::Wire;
use crate::wire::bytes::lenenc;
use crate::wire::cells::{Form, keep_row};
use crate::wire::cutter::{MAX_CHUNK, ends_rows};
use crate::wire::packets::{Column, Done};
use crate::wire::protocol::{capability, status};
use perbuck_net::reader::Reader;
use perbuck_net::{Malformed, Parsed};

/// No server has tables this wide.
const MAX_COLUMNS: u64 = 65_535;
/// Rows that are kept stay in memory until the statement is done; a server must not fill it.
const MAX_KEPT_BYTES: usize = 1024 * 1024 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// OK, an error, or the number of columns.
    Head,
    /// So many definitions of columns.
    Definitions(usize),
    /// The packet that ends the definitions, from servers that send one.
    EndOfDefinitions,
    /// A row, or the packet that ends them.
    Row,
}

/// Reads answers; keeps what it needs from one to the next.
pub(crate) struct ResultReader {
    deprecate_eof: bool,
    /// Status flags of the last answer.
    pub(crate) status: u16,
    next: Next,
    /// The effect of the parts before this one; once there were rows, further ones are not wanted.
    effect: Option<Effect>,
    /// Memory that the kept rows take, about.
    kept: usize,
    /// Columns of the rows being kept.
    columns: Vec<Column>,
}

impl ResultReader {
    pub(crate) fn new(capabilities: u32, status: u16) -> Self {
        let deprecate_eof = capabilities & capability::DEPRECATE_EOF != 0;
        Self { deprecate_eof, status, next: Next::Head, effect: None, kept: 0, columns: Vec::new() }
    }

    /// A new answer is waited for.
    #[inline]
    pub(crate) fn begin(&mut self) {
        (self.next, self.effect, self.kept) = (Next::Head, None, 0);
    }

    /// Reads what has arrived of the answer; `None` where more must come. The effect and the rows are those of its first
    /// part that is a result set, or else of its last part: a stored procedure answers with its results and then with
    /// an OK.
    #[inline]
    pub(crate) fn read(&mut self, wire: &mut Wire, form: Form, rows: &mut Rows) -> Result<Option<Effect>, DriverError> {
        match self.scan(wire, form, rows) {
            None => self.advance(wire, form, rows),
            effect => Ok(effect),
        }
    }

    /// The answer that nearly always comes: an OK or a result set, all of it there. `None` where it is anything else, of
    /// which then nothing was taken: [`Self::advance`] will say what it is.
    #[inline]
    fn scan(&mut self, wire: &mut Wire, form: Form, rows: &mut Rows) -> Option<Effect> {
        if self.next != Next::Head || self.effect.is_some() {
            // The start is gone.
            return None;
        }
        let (bytes, sequence) = wire.arrived();
        let (effect, done) = match bytes.get(4)? {
            0x00 => scan_ok(bytes, sequence)?,
            0xfb.. => return None,
            _ => {
                let kept = rows.keeps().then_some((&mut self.columns, form, &mut *rows));
                let Some((count, done)) = scan_rows(bytes, sequence, self.deprecate_eof, kept) else {
                    rows.start(rows.keeps());
                    return None;
                };
                rows.count_to(count);
                (Effect::ResultSet, done)
            }
        };
        if done & status::MORE_RESULTS != 0 {
            rows.start(rows.keeps());
            return None;
        }
        self.status = done;
        wire.take_all();
        Some(effect)
    }

    fn advance(&mut self, wire: &mut Wire, form: Form, rows: &mut Rows) -> Result<Option<Effect>, DriverError> {
        while let Some(packet) = wire.take()? {
            let ended = match self.next {
                Next::Head => self.head(wire, &packet, rows)?,
                Next::Definitions(left) => self.definition(wire, &packet, left, rows)?,
                Next::EndOfDefinitions => {
                    if Done::parse_end(wire.bytes(&packet), false).is_err() {
                        return Err(not_a_definition(wire, &packet));
                    }
                    self.next = Next::Row;
                    None
                }
                Next::Row => self.row(wire, &packet, form, rows)?,
            };
            if let Some(effect) = ended {
                // Of several parts the first with rows counts.
                let first = self.effect.filter(|e| *e == Effect::ResultSet);
                self.effect = Some(first.unwrap_or(effect));
                self.next = Next::Head;
                if self.status & status::MORE_RESULTS == 0 {
                    wire.answered();
                    return Ok(self.effect);
                }
            }
        }
        Ok(None)
    }

    /// Whether the rows of this part are wanted.
    fn wanted(&self) -> bool {
        self.effect != Some(Effect::ResultSet)
    }

    fn head(&mut self, wire: &mut Wire, packet: &Range<usize>, rows: &mut Rows) -> Result<Option<Effect>, DriverError> {
        let columns = match wire.bytes(packet) {
            payload @ [0x00, ..] => {
                let done = Done::parse_ok(payload).map_err(|why| wire.malformed(why))?;
                self.status = done.status;
                return Ok(Some(Effect::Affected(done.affected)));
            }
            [0xff, ..] => return Err(wire.server_error(packet)),
            [0xfb, ..] => return Err(wire.malformed(Malformed("it asks for a local file that perbuck did not offer"))),
            payload => column_count(payload).map_err(|why| wire.malformed(why))?,
        };
        if self.wanted() {
            rows.start(rows.keeps());
        }
        self.columns.clear();
        self.next = Next::Definitions(columns);
        Ok(None)
    }

    fn definition(
        &mut self,
        wire: &mut Wire,
        packet: &Range<usize>,
        left: usize,
        rows: &Rows,
    ) -> Result<Option<Effect>, DriverError> {
        let payload = wire.bytes(packet);
        if rows.keeps() {
            match Column::parse(payload) {
                Ok(column) => self.columns.push(column),
                Err(_) => return Err(not_a_definition(wire, packet)),
            }
        } else if payload.first().is_none_or(|byte| *byte >= 0xfb) {
            // Every definition begins with the catalogue's name, "def".
            return Err(not_a_definition(wire, packet));
        }
        self.next = match left {
            2.. => Next::Definitions(left - 1),
            _ if self.deprecate_eof => Next::Row,
            _ => Next::EndOfDefinitions,
        };
        Ok(None)
    }

    fn row(
        &mut self,
        wire: &mut Wire,
        packet: &Range<usize>,
        form: Form,
        rows: &mut Rows,
    ) -> Result<Option<Effect>, DriverError> {
        if ends_rows(wire.bytes(packet)) {
            return match wire.bytes(packet) {
                [0xff, ..] => Err(wire.server_error(packet)),
                payload => {
                    let done = Done::parse_end(payload, self.deprecate_eof).map_err(|why| wire.malformed(why))?;
                    self.status = done.status;
                    Ok(Some(Effect::ResultSet))
                }
            };
        }
        if !self.wanted() {
            return Ok(None);
        }
        if !rows.keeps() {
            rows.end_row();
            return Ok(None);
        }
        // A cell costs memory of its own, however short it is.
        self.kept += packet.len() + self.columns.len() * 32;
        if self.kept > MAX_KEPT_BYTES {
            return Err(wire.malformed(Malformed("its result is larger than 1 GiB")));
        }
        keep_row(form, wire.bytes(packet), &self.columns, rows).map(|()| None).map_err(|why| wire.malformed(why))
    }

    /// Passes over the definitions of parameters or columns of a prepared statement.
    pub(crate) async fn definitions(
        &self,
        wire: &mut Wire,
        count: usize,
        mut each: impl FnMut(&[u8]) -> Parsed<()>,
    ) -> Result<(), DriverError> {
        for _ in 0..count {
            let packet = wire.packet().await?;
            if wire.bytes(&packet).first().is_none_or(|byte| *byte >= 0xfb) {
                return Err(not_a_definition(wire, &packet));
            }
            each(wire.bytes(&packet)).map_err(|why| wire.malformed(why))?;
        }
        if self.deprecate_eof || count == 0 {
            return Ok(());
        }
        let packet = wire.packet().await?;
        match Done::parse_end(wire.bytes(&packet), false) {
            Ok(_) => Ok(()),
            Err(_) => Err(not_a_definition(wire, &packet)),
        }
    }
}

/// The packet at `at`: its payload and where the next one begins. Its number must be `sequence` (modulo 256).
#[inline]
fn packet_at(bytes: &[u8], at: usize, sequence: u8) -> Option<(&[u8], usize)> {
    let &[a, b, c, number] = bytes.get(at..)?.first_chunk()?;
    let length = u32::from_le_bytes([a, b, c, 0]) as usize;
    let begin = at + 4;
    let payload = bytes.get(begin..begin + length)?;
    (number == sequence && length < MAX_CHUNK).then_some((payload, begin + length))
}

/// One OK packet and nothing after it.
#[inline]
fn scan_ok(bytes: &[u8], sequence: u8) -> Option<(Effect, u16)> {
    let (payload, end) = packet_at(bytes, 0, sequence)?;
    let done = Done::parse_ok(payload).ok().filter(|_| end == bytes.len())?;
    Some((Effect::Affected(done.affected), done.status))
}

/// A whole result set and nothing after it: how many rows, and its status flags. The values go into the last argument,
/// where they are wanted.
#[inline]
fn scan_rows(
    bytes: &[u8],
    sequence: u8,
    deprecate_eof: bool,
    mut kept: Option<(&mut Vec<Column>, Form, &mut Rows)>,
) -> Option<(u64, u16)> {
    let (first, mut at) = packet_at(bytes, 0, sequence)?;
    let columns = column_count(first).ok()?;
    let mut number = sequence;
    if let Some((known, ..)) = &mut kept {
        known.clear();
    }
    for _ in 0..columns {
        number = number.wrapping_add(1);
        let (definition, next) = packet_at(bytes, at, number)?;
        // Every definition begins with the catalogue's name, "def".
        if *definition.first()? >= 0xfb {
            return None;
        }
        if let Some((known, ..)) = &mut kept {
            known.push(Column::parse(definition).ok()?);
        }
        at = next;
    }
    if !deprecate_eof {
        number = number.wrapping_add(1);
        let (end, next) = packet_at(bytes, at, number)?;
        Done::parse_end(end, false).ok()?;
        at = next;
    }
    let mut count = 0;
    loop {
        number = number.wrapping_add(1);
        let (row, next) = packet_at(bytes, at, number)?;
        match row.first()? {
            0xfe => {
                let done = Done::parse_end(row, deprecate_eof).ok().filter(|_| next == bytes.len())?;
                return Some((count, done.status));
            }
            0xff => return None,
            _ => count += 1,
        }
        if let Some((known, form, rows)) = &mut kept {
            keep_row(*form, row, known, rows).ok()?;
        }
        at = next;
    }
}

#[inline]
fn column_count(payload: &[u8]) -> Parsed<usize> {
    let mut r = Reader::new(payload);
    match lenenc(&mut r)? {
        count @ 1..=MAX_COLUMNS if r.left() == 0 => Ok(count as usize),
        _ => Err(Malformed("the number of columns is impossible")),
    }
}

/// A server may still fail where it should describe a column.
#[cold]
fn not_a_definition(wire: &mut Wire, packet: &Range<usize>) -> DriverError {
    match wire.bytes(packet) {
        [0xff, ..] => wire.server_error(packet),
        _ => wire.malformed(Malformed("the definition of a column was expected")),
    }
}
