//! The answer to a statement ("Message Flow"): rows and how many, an error, and at the end that the server is ready.

use perbuck_load::driver::Effect;
use perbuck_load::error::DriverError;
use perbuck_load::values::Rows;

use crate::wire::cells::{Columns, Type, keep_row};
use crate::wire::messages::{Message, column_types, kind, message_at, ready_status, rows_of, status};
use crate::wire::{Wire, is_aside};
use perbuck_net::Malformed;
use perbuck_net::sent::SessionSent;

/// Rows that are kept stay in memory until the statement is done; a server must not fill it.
const MAX_KEPT_BYTES: usize = 1024 * 1024 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked<'a> {
    /// A text: the answer describes its columns, values come as text.
    Text,
    /// A text that is followed by data of ours.
    Copy,
    /// A prepared statement with these columns, or one that returns no rows.
    Prepared(Option<&'a [Type]>),
    /// An unnamed statement: the answer describes its columns, values come as text.
    Unnamed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// The start.
    Head,
    /// An unnamed statement is parsed: it is bound next.
    Bound,
    /// An unnamed statement is bound: what it returns is described next.
    Described,
    /// The end of a statement that returns no rows.
    End,
    /// Rows, or the end of a statement.
    Rows,
    /// The end of a statement has come: another one's beginning may follow.
    Further,
    /// Nothing but that it is ready.
    Ready,
}

/// Reads answers; keeps what it needs from one to the next.
pub(crate) struct ResultReader {
    /// What the server last said of the transaction.
    pub(crate) status: u8,
    /// Transactions that ended, the one of the login included.
    sent: SessionSent,
    next: Next,
    /// The effect of the statements before this one; once there were rows, further ones are not wanted.
    effect: Option<Effect>,
    /// What the statement failed of; the answer goes on to its end all the same.
    error: Option<DriverError>,
    /// Memory that the kept rows take, about.
    kept: usize,
    /// Columns of rows that their answer describes.
    columns: Columns,
}

impl ResultReader {
    /// Of a session whose login ended with this status.
    pub(crate) fn new(status: u8, sent: SessionSent) -> Self {
        let mut reader = Self { status, sent, next: Next::Head, effect: None, error: None, kept: 0, columns: Columns::new() };
        reader.ready(status);
        reader
    }

    /// The server is ready for the next statement. Outside of a transaction it has ended one, be it of a single statement.
    #[inline]
    pub(crate) fn ready(&mut self, status: u8) {
        self.sent.add(u64::from(status == status::IDLE));
        self.status = status;
    }

    /// The server has come to a Sync of a batch, in which so many transactions ended.
    pub(crate) fn ready_after(&mut self, status: u8, ended: u64) {
        self.sent.add(ended);
        self.status = status;
    }

    /// Reads a message of a batch; the effect of its statement where that ends.
    pub(crate) fn part_of_batch(
        &mut self,
        wire: &mut Wire,
        message: &Message,
        asked: Asked<'_>,
        rows: &mut Rows,
    ) -> Result<Option<Effect>, DriverError> {
        self.part(wire, message, asked, rows)?;
        if self.next != Next::Ready {
            return Ok(None);
        }
        let effect = self.effect;
        self.begin();
        Ok(effect)
    }

    /// A new answer is waited for.
    #[inline]
    pub(crate) fn begin(&mut self) {
        (self.next, self.effect, self.error, self.kept) = (Next::Head, None, None, 0);
    }

    /// Reads what has arrived of the answer; `None` where more must come. Of several statements in one text the effect
    /// and the rows are those of the first that returns rows, or else of the last.
    #[inline]
    pub(crate) fn read(&mut self, wire: &mut Wire, asked: Asked<'_>, rows: &mut Rows) -> Result<Option<Effect>, DriverError> {
        match self.scan(wire, asked, rows) {
            None => self.advance(wire, asked, rows),
            effect => Ok(effect),
        }
    }

    /// The answer that nearly always comes: rows or none, without an error, all of it there. `None` where it is anything
    /// else, of which then nothing was taken: [`Self::advance`] will say what it is.
    #[inline]
    fn scan(&mut self, wire: &mut Wire, asked: Asked<'_>, rows: &mut Rows) -> Option<Effect> {
        if self.next != Next::Head {
            // The start is gone.
            return None;
        }
        let bytes = wire.inbox.arrived();
        let (effect, status) = match asked {
            Asked::Prepared(columns) => {
                let (kind, _, at) = message_at(bytes, 0)?;
                if kind != kind::BIND_COMPLETE {
                    return None;
                }
                match columns {
                    None => scan_end(bytes, at)?,
                    Some(columns) => scan_rows(bytes, at, (columns, true), rows)?,
                }
            }
            Asked::Unnamed => {
                let at = scan_unnamed(bytes)?;
                let (kind, body, at) = message_at(bytes, at)?;
                match kind {
                    kind::NO_DATA => scan_end(bytes, at)?,
                    kind::ROW_DESCRIPTION => {
                        if rows.keeps() {
                            self.columns_are(body).ok()?;
                        }
                        scan_rows(bytes, at, (&self.columns, false), rows)?
                    }
                    _ => return None,
                }
            }
            // BEGIN and COMMIT.
            Asked::Text => scan_end(bytes, 0)?,
            Asked::Copy => return None,
        };
        self.ready(status);
        wire.inbox.take_all();
        wire.answered();
        Some(effect)
    }

    fn advance(&mut self, wire: &mut Wire, asked: Asked<'_>, rows: &mut Rows) -> Result<Option<Effect>, DriverError> {
        while let Some(message) = wire.take()? {
            match message.kind {
                kind::READY if matches!(self.next, Next::Further | Next::Ready) => {
                    self.ready(ready_status(wire.body(&message)).map_err(|why| wire.malformed(why))?);
                    wire.answered();
                    return match self.error.take() {
                        Some(error) => Err(error),
                        None => Ok(self.effect),
                    };
                }
                kind::ERROR => {
                    let found = wire.server_error(&message);
                    if found.ends_connection {
                        return Err(found.error);
                    }
                    // The first is the reason.
                    self.error.get_or_insert(found.error);
                    self.next = Next::Ready;
                }
                kind if is_aside(kind) => {}
                _ => self.part(wire, &message, asked, rows)?,
            }
        }
        Ok(None)
    }

    /// Keeps the types of columns.
    #[inline]
    fn columns_are(&mut self, description: &[u8]) -> Result<(), Malformed> {
        let types = column_types(description)?;
        self.columns.clear();
        self.columns.extend(types.iter().map(|oid| Type::of(*oid)));
        Ok(())
    }

    /// A message of a statement that has not failed.
    fn part(&mut self, wire: &mut Wire, message: &Message, asked: Asked<'_>, rows: &mut Rows) -> Result<(), DriverError> {
        let is_text = matches!(asked, Asked::Text | Asked::Copy);
        match (message.kind, self.next) {
            (kind::BIND_COMPLETE, Next::Head) if matches!(asked, Asked::Prepared(_)) => self.next = Next::Rows,
            (kind::PARSE_COMPLETE, Next::Head) if asked == Asked::Unnamed => self.next = Next::Bound,
            (kind::BIND_COMPLETE, Next::Bound) => self.next = Next::Described,
            (kind::NO_DATA, Next::Described) => self.next = Next::End,
            (kind::ROW_DESCRIPTION, Next::Described) => {
                if rows.keeps() {
                    self.columns_are(wire.body(message)).map_err(|why| wire.malformed(why))?;
                }
                self.next = Next::Rows;
            }
            (kind::COPY_IN, Next::Head) if asked == Asked::Copy => self.next = Next::Rows,
            (kind::COPY_IN | kind::COPY_OUT | kind::COPY_BOTH, _) => {
                return Err(wire.malformed(Malformed("it started to copy data without a COPY statement")));
            }
            (kind::ROW_DESCRIPTION, Next::Head | Next::Further) if is_text => {
                if self.wanted() {
                    rows.start(rows.keeps());
                }
                self.columns_are(wire.body(message)).map_err(|why| wire.malformed(why))?;
                self.effect = self.effect.filter(|e| *e == Effect::ResultSet);
                self.next = Next::Rows;
            }
            (kind::DATA_ROW, Next::Rows) => self.row(wire, message, asked, rows)?,
            (kind::COMMAND_COMPLETE, next) => {
                let count = rows_of(wire.body(message)).map_err(|why| wire.malformed(why))?;
                self.ended(asked, next, count).map_err(|why| wire.malformed(why))?;
            }
            (kind::EMPTY_QUERY, next @ (Next::Head | Next::Rows | Next::End)) => {
                let next = if next == Next::Rows { Next::Head } else { next };
                self.ended(asked, next, 0).map_err(|why| wire.malformed(why))?;
            }
            _ => return Err(wire.malformed(Malformed("a message is out of order"))),
        }
        Ok(())
    }

    fn ended(&mut self, asked: Asked<'_>, next: Next, count: u64) -> Result<(), Malformed> {
        let effect = match (asked, next) {
            (Asked::Prepared(Some(_)) | Asked::Unnamed | Asked::Text, Next::Rows) => Effect::ResultSet,
            (Asked::Prepared(None) | Asked::Copy, Next::Rows)
            | (Asked::Text, Next::Head | Next::Further)
            | (Asked::Unnamed, Next::End) => Effect::Affected(count),
            _ => return Err(Malformed("a statement ended before it started")),
        };
        // Of several the first with rows counts.
        let first = self.effect.filter(|e| *e == Effect::ResultSet);
        self.effect = Some(first.unwrap_or(effect));
        self.next = if asked == Asked::Text { Next::Further } else { Next::Ready };
        Ok(())
    }

    /// Whether the rows of this statement are wanted.
    fn wanted(&self) -> bool {
        self.effect != Some(Effect::ResultSet)
    }

    fn row(&mut self, wire: &mut Wire, message: &Message, asked: Asked<'_>, rows: &mut Rows) -> Result<(), DriverError> {
        let (columns, binary) = match asked {
            Asked::Text | Asked::Unnamed => (&self.columns[..], false),
            Asked::Prepared(Some(columns)) => (columns, true),
            _ => return Err(wire.malformed(Malformed("a row comes from a statement that returns none"))),
        };
        if !self.wanted() {
            return Ok(());
        }
        if !rows.keeps() {
            rows.end_row();
            return Ok(());
        }
        // A cell costs memory of its own, however short it is.
        self.kept += message.body.len() + columns.len() * 32;
        if self.kept > MAX_KEPT_BYTES {
            return Err(wire.malformed(Malformed("its result is larger than 1 GiB")));
        }
        keep_row(wire.body(message), columns, binary, rows).map_err(|why| wire.malformed(why))
    }
}

/// The end of a statement that returned no rows, that the server is ready, and nothing after it.
#[inline]
fn scan_end(bytes: &[u8], at: usize) -> Option<(Effect, u8)> {
    let (kind, tag, at) = message_at(bytes, at)?;
    if kind != kind::COMMAND_COMPLETE {
        return None;
    }
    let rows = rows_of(tag).ok()?;
    Some((Effect::Affected(rows), scan_ready(bytes, at)?))
}

/// Where what follows the start of an unnamed statement lies: it is parsed and bound.
#[inline]
fn scan_unnamed(bytes: &[u8]) -> Option<usize> {
    let (parsed, _, at) = message_at(bytes, 0)?;
    let (bound, _, at) = message_at(bytes, at)?;
    (parsed == kind::PARSE_COMPLETE && bound == kind::BIND_COMPLETE).then_some(at)
}

#[inline]
fn scan_ready(bytes: &[u8], at: usize) -> Option<u8> {
    let (kind, body, at) = message_at(bytes, at)?;
    (kind == kind::READY && at == bytes.len()).then(|| ready_status(body).ok()).flatten()
}

/// Rows to their end, that the server is ready, and nothing after it. The values are kept where they are wanted. Where it is anything
/// else, no row is kept.
#[inline]
fn scan_rows(bytes: &[u8], at: usize, columns: (&[Type], bool), rows: &mut Rows) -> Option<(Effect, u8)> {
    let Some((count, status)) = scan_each_row(bytes, at, columns, rows) else {
        rows.start(rows.keeps());
        return None;
    };
    rows.count_to(count);
    Some((Effect::ResultSet, status))
}

/// How many rows there are, and the state of the transaction; columns are in binary form or text.
#[inline]
fn scan_each_row(bytes: &[u8], mut at: usize, (columns, binary): (&[Type], bool), rows: &mut Rows) -> Option<(u64, u8)> {
    let mut count = 0;
    loop {
        let (kind, body, next) = message_at(bytes, at)?;
        at = next;
        match kind {
            kind::DATA_ROW => count += 1,
            kind::COMMAND_COMPLETE => {
                rows_of(body).ok()?;
                return Some((count, scan_ready(bytes, at)?));
            }
            _ => return None,
        }
        if rows.keeps() {
            keep_row(body, columns, binary, rows).ok()?;
        }
    }
}
