//! The answer to a statement ("COM_QUERY Response", "Binary Protocol Resultset"): OK, an error, or a result set, and
//! after each perhaps another.

use perbuck_load::driver::Effect;
use perbuck_load::error::DriverError;
use perbuck_load::values::Rows;

use super::bytes::{Malformed, Parsed, Reader};
use super::cells::{keep_binary_row, keep_text_row};
use super::inbox::MAX_CHUNK;
use super::packets::{Column, Done, capability, status};
use super::wire::Wire;

/// No server has tables this wide.
const MAX_COLUMNS: u64 = 65_535;
/// Rows that are kept stay in memory until the statement is done; a server must not fill it.
const MAX_KEPT_BYTES: usize = 1024 * 1024 * 1024;

/// How the rows of an answer are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Of a text query.
    Text,
    /// Of a prepared statement.
    Binary,
}

/// Reads answers; keeps what it needs from one to the next.
pub(super) struct ResultReader {
    deprecate_eof: bool,
    /// Status flags of the last answer.
    pub(super) status: u16,
    /// Columns of the rows being kept.
    columns: Vec<Column>,
}

impl ResultReader {
    pub(super) fn new(capabilities: u32, status: u16) -> Self {
        Self { deprecate_eof: capabilities & capability::DEPRECATE_EOF != 0, status, columns: Vec::new() }
    }

    /// The answer that nearly always comes: an OK or a result set, all of it there. `None` where it is anything else, of
    /// which then nothing was taken: [`Self::read`] will say what it is.
    #[inline]
    pub(super) fn scan(&mut self, wire: &mut Wire, form: Form, rows: &mut Rows) -> Option<Effect> {
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

    /// Reads the whole answer. The effect and the rows are those of its first part that is a result set, or else of
    /// its last part: a stored procedure answers with its results and then with an OK.
    #[inline]
    pub(super) async fn read(&mut self, wire: &mut Wire, form: Form, rows: &mut Rows) -> Result<Effect, DriverError> {
        let mut effect = self.read_part(wire, form, rows).await?;
        while self.status & status::MORE_RESULTS != 0 {
            let mut further = Rows::default();
            let has_rows = effect == Effect::ResultSet;
            let next = self.read_part(wire, form, if has_rows { &mut further } else { &mut *rows }).await?;
            effect = if has_rows { effect } else { next };
        }
        wire.answered();
        Ok(effect)
    }

    #[inline]
    async fn read_part(&mut self, wire: &mut Wire, form: Form, rows: &mut Rows) -> Result<Effect, DriverError> {
        let packet = wire.packet().await?;
        let columns = match wire.bytes(&packet) {
            payload @ [0x00, ..] => {
                let done = Done::parse_ok(payload).map_err(|why| wire.malformed(why))?;
                self.status = done.status;
                return Ok(Effect::Affected(done.affected));
            }
            [0xff, ..] => return Err(wire.server_error(&packet)),
            [0xfb, ..] => return Err(wire.malformed(Malformed("it asks for a file of this machine, which nobody offered"))),
            payload => column_count(payload).map_err(|why| wire.malformed(why))?,
        };
        let end = if rows.keeps() {
            self.read_definitions(wire, columns).await?;
            self.keep_rows(wire, form, rows).await?
        } else {
            self.skip_definitions(wire, columns).await?;
            wire.count_rows(rows).await?
        };
        match wire.bytes(&end) {
            [0xff, ..] => Err(wire.server_error(&end)),
            payload => {
                let done = Done::parse_end(payload, self.deprecate_eof).map_err(|why| wire.malformed(why))?;
                self.status = done.status;
                Ok(Effect::ResultSet)
            }
        }
    }

    /// Passes over the definitions of columns or parameters.
    #[inline]
    pub(super) async fn skip_definitions(&self, wire: &mut Wire, count: usize) -> Result<(), DriverError> {
        for _ in 0..count {
            let packet = wire.packet().await?;
            // Every definition begins with the catalogue's name, "def".
            if wire.bytes(&packet).first().is_none_or(|byte| *byte >= 0xfb) {
                return Err(not_a_definition(wire, &packet));
            }
        }
        self.end_of_definitions(wire, count).await
    }

    async fn read_definitions(&mut self, wire: &mut Wire, count: usize) -> Result<(), DriverError> {
        self.columns.clear();
        for _ in 0..count {
            let packet = wire.packet().await?;
            match Column::parse(wire.bytes(&packet)) {
                Ok(column) => self.columns.push(column),
                Err(_) => return Err(not_a_definition(wire, &packet)),
            }
        }
        self.end_of_definitions(wire, count).await
    }

    #[inline]
    async fn end_of_definitions(&self, wire: &mut Wire, count: usize) -> Result<(), DriverError> {
        if self.deprecate_eof || count == 0 {
            return Ok(());
        }
        let packet = wire.packet().await?;
        match Done::parse_end(wire.bytes(&packet), false) {
            Ok(_) => Ok(()),
            Err(_) => Err(not_a_definition(wire, &packet)),
        }
    }

    async fn keep_rows(&self, wire: &mut Wire, form: Form, rows: &mut Rows) -> Result<std::ops::Range<usize>, DriverError> {
        let mut kept = 0_usize;
        loop {
            let packet = wire.packet().await?;
            if wire.ends_rows(&packet) {
                return Ok(packet);
            }
            // A cell costs memory of its own, however short it is.
            kept += packet.len() + self.columns.len() * 32;
            if kept > MAX_KEPT_BYTES {
                return Err(wire.malformed(Malformed("it sends more rows to be kept than fit into 1 GiB")));
            }
            let row = match form {
                Form::Binary => keep_binary_row(wire.bytes(&packet), &self.columns, rows),
                Form::Text => keep_text_row(wire.bytes(&packet), &self.columns, rows),
            };
            row.map_err(|why| wire.malformed(why))?;
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

/// One OK packet and nothing behind it.
#[inline]
fn scan_ok(bytes: &[u8], sequence: u8) -> Option<(Effect, u16)> {
    let (payload, end) = packet_at(bytes, 0, sequence)?;
    let done = Done::parse_ok(payload).ok().filter(|_| end == bytes.len())?;
    Some((Effect::Affected(done.affected), done.status))
}

/// A whole result set and nothing behind it: how many rows, and its status flags. The values go into the last argument,
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
        match &mut kept {
            None => {}
            Some((known, Form::Binary, rows)) => keep_binary_row(row, known, rows).ok()?,
            Some((known, Form::Text, rows)) => keep_text_row(row, known, rows).ok()?,
        }
        at = next;
    }
}

#[inline]
fn column_count(payload: &[u8]) -> Parsed<usize> {
    let mut r = Reader::new(payload);
    match r.lenenc()? {
        count @ 1..=MAX_COLUMNS if r.left() == 0 => Ok(count as usize),
        _ => Err(Malformed("the number of columns is impossible")),
    }
}

/// A server may still fail where it should describe a column.
#[cold]
fn not_a_definition(wire: &mut Wire, packet: &std::ops::Range<usize>) -> DriverError {
    match wire.bytes(packet) {
        [0xff, ..] => wire.server_error(packet),
        _ => wire.malformed(Malformed("the definition of a column was expected")),
    }
}
