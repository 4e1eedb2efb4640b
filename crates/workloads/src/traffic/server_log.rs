//! Logs with one entry for each event of a server process, as CSV or as JSON: what an entry says, and both ways of writing it.

use std::io::BufRead;

use serde::Deserialize;

use super::Fault;
use super::builder::{At, Builder, Said};
use super::plan::Logged;
use super::time;

/// Cells of a row in the oldest version that is read; later ones have more.
const CELLS: usize = 23;
/// Positions of cells.
const TIME: usize = 0;
const DATABASE: usize = 2;
const SESSION: usize = 5;
const SEVERITY: usize = 11;
const STATE: usize = 12;
const MESSAGE: usize = 13;
const DETAIL: usize = 14;
const QUERY: usize = 19;

/// An entry, whatever its form.
#[derive(Debug, Default, Deserialize)]
struct Entry<'a> {
    #[serde(default, rename = "timestamp", borrow)]
    time: std::borrow::Cow<'a, str>,
    #[serde(default, rename = "dbname", borrow)]
    database: std::borrow::Cow<'a, str>,
    #[serde(default, rename = "session_id", borrow)]
    session: std::borrow::Cow<'a, str>,
    #[serde(default, rename = "error_severity", borrow)]
    severity: std::borrow::Cow<'a, str>,
    #[serde(default, rename = "state_code", borrow)]
    state: std::borrow::Cow<'a, str>,
    #[serde(default, borrow)]
    message: std::borrow::Cow<'a, str>,
    #[serde(default, borrow)]
    detail: std::borrow::Cow<'a, str>,
    #[serde(default, rename = "statement", borrow)]
    query: std::borrow::Cow<'a, str>,
}

/// Reads a log of CSV; returns its length in bytes.
pub(super) fn csv(reader: impl BufRead, file: &str, builder: &mut Builder) -> Result<u64, Fault> {
    let mut rows = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(reader);
    let mut row = csv::ByteRecord::new();
    loop {
        let line = rows.position().line();
        let more = rows.read_byte_record(&mut row).map_err(|e| Fault::unread(file, line, &e))?;
        if !more {
            return Ok(rows.position().byte());
        }
        let at = At { file, line };
        let cell = |position: usize| String::from_utf8_lossy(row.get(position).unwrap_or_default());
        let entry = Entry {
            time: cell(TIME),
            database: cell(DATABASE),
            session: cell(SESSION),
            severity: cell(SEVERITY),
            state: cell(STATE),
            message: cell(MESSAGE),
            detail: cell(DETAIL),
            query: cell(QUERY),
        };
        if row.len() < CELLS || take(&entry, builder, at).is_none() {
            builder.note("lines that are no entry of such a log", at);
        }
    }
}

/// Reads a log of JSON, one entry a line; returns its length in bytes.
pub(super) fn json(mut reader: impl BufRead, file: &str, builder: &mut Builder) -> Result<u64, Fault> {
    let (mut bytes, mut line, mut number) = (0, Vec::new(), 0);
    loop {
        line.clear();
        number += 1;
        let read = reader.read_until(b'\n', &mut line).map_err(|e| Fault::unread(file, number, &e))?;
        if read == 0 {
            return Ok(bytes);
        }
        bytes += read as u64;
        let at = At { file, line: number };
        let text = String::from_utf8_lossy(&line);
        let entry: Option<Entry<'_>> = serde_json::from_str(&text).ok();
        if !text.trim().is_empty() && entry.is_none_or(|entry| take(&entry, builder, at).is_none()) {
            builder.note("lines that are no entry of such a log", at);
        }
    }
}

/// Takes what an entry says; `None` where it is none.
fn take(entry: &Entry<'_>, builder: &mut Builder, at: At<'_>) -> Option<()> {
    let logged_us = time::read_us(&entry.time)?;
    if entry.severity.is_empty() {
        return None;
    }
    // Processes of the server have no session.
    let Some(session) = session(&entry.session) else { return Some(()) };
    builder.answered(session, logged_us);
    if matches!(&*entry.severity, "ERROR" | "FATAL" | "PANIC") {
        builder.failed(session, Some(&*entry.query).filter(|query| !query.is_empty()), &entry.state, at);
        return Some(());
    }
    let (took_us, message) = duration(&entry.message);
    if message.starts_with("plan:") {
        match Logged::of(message) {
            Some(logged) => builder.planned(session, logged),
            None => builder.note("plans without a row count", at),
        }
        return Some(());
    }
    let sent = message.split_once(": ").map_or((message, ""), |(what, sql)| (what, sql));
    let values;
    let (sql, values) = match sent {
        ("statement", sql) => (sql, None),
        (what, _) if what.starts_with("execute fetch from ") => {
            builder.note("fetches from portals left out", at);
            return Some(());
        }
        (what, sql) if what.starts_with("execute ") => {
            values = parameters(&entry.detail);
            (sql, Some(values.as_slice()))
        }
        ("fastpath function call", _) => {
            builder.note("calls of functions by their fast path left out", at);
            return Some(());
        }
        ("disconnection", _) => {
            builder.end(session);
            return Some(());
        }
        _ => return Some(()),
    };
    let said = Said { session, database: &entry.database, logged_us, took_us, sql, template: None, values, rows: None };
    builder.statement(&said, at);
    Some(())
}

/// The number of a session, such as `6a01b2c3.1f4`.
fn session(id: &str) -> Option<u64> {
    let (start, process) = id.split_once('.')?;
    let part = |text| u64::from_str_radix(text, 16).ok();
    Some(part(start)? << 32 | part(process)? & 0xffff_ffff)
}

/// How long a statement took that is logged at its end, and the rest of the message.
fn duration(message: &str) -> (Option<i64>, &str) {
    let Some(rest) = message.strip_prefix("duration: ") else { return (None, message) };
    let (number, rest) = rest.split_once(" ms").unwrap_or((rest, ""));
    (Some(number.parse::<f64>().map_or(0, |ms| (ms * 1e3) as i64)), rest.trim_start())
}

/// The values of `Parameters: $1 = '5', $2 = NULL`.
fn parameters(detail: &str) -> Vec<Option<String>> {
    let Some(mut rest) =
        detail.get(.."parameters: ".len()).filter(|start| start.eq_ignore_ascii_case("parameters: ")).map(|s| &detail[s.len()..])
    else {
        return Vec::new();
    };
    let mut values = Vec::new();
    while let Some((_, value)) = rest.split_once(" = ") {
        if let Some(after) = value.strip_prefix('\'') {
            let (text, length) = unquoted(after);
            values.push(Some(text));
            rest = &after[length..];
        } else {
            values.push(None);
            rest = value;
        }
    }
    values
}

/// The text up to a quote that is not doubled, and where the rest starts.
fn unquoted(text: &str) -> (String, usize) {
    let (mut out, mut from) = (String::new(), 0);
    while let Some(quote) = text[from..].find('\'') {
        out.push_str(&text[from..from + quote]);
        from += quote + 1;
        if !text[from..].starts_with('\'') {
            return (out, from);
        }
        out.push('\'');
        from += 1;
    }
    out.push_str(&text[from..]);
    (out, text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_the_server_writes_them() {
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(
            parameters("parameters: $1 = '5', $2 = NULL, $3 = 'it''s, $4 = ''x'''"),
            [some("5"), None, some("it's, $4 = 'x'")]
        );
        assert_eq!(parameters("Parameters: $1 = ''"), [some("")]);
        assert_eq!(parameters(""), []);
        assert_eq!(duration("duration: 1.250 ms  statement: SELECT 1"), (Some(1250), "statement: SELECT 1"));
        assert_eq!(session("6a01b2c3.1f4"), Some(0x6a01_b2c3_0000_01f4));
    }
}
