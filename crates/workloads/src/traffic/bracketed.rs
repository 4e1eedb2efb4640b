//! Logs of a server in which each entry is a line of fields in brackets, such as `[conn=7]`; some entries are the statements of clients.

use std::io::BufRead;

use super::Fault;
use super::builder::{At, Builder};
use super::lines::Lines;
use super::one_line;
use super::spread::{Kept, Spread};
use super::time;

/// The field of an entry that is a statement.
const STATEMENT: &str = "GENERAL_LOG";

/// Whether a line is an entry.
pub(super) fn begins(line: &str) -> bool {
    fields(line).next().is_some_and(|field| at_us(&field).is_some())
}

/// Reads a log; returns its length in bytes.
pub(super) fn read(reader: impl BufRead, file: &str, builder: &mut Builder) -> Result<u64, Fault> {
    let mut lines = Lines::new(reader, file);
    let mut spread = Spread::default();
    while let Some((line, number)) = lines.next()? {
        // Other entries may be of any form.
        if !line.contains(STATEMENT) {
            continue;
        }
        if take(line, number, &mut spread, (builder, file)).is_none() {
            builder.note("lines that are no entry of such a log", At { file, line: number });
        }
    }
    spread.pass_on(builder, file);
    Ok(lines.bytes())
}

/// Takes the statement of an entry; `None` where it is none.
fn take(line: &str, number: u64, spread: &mut Spread, (builder, file): (&mut Builder, &str)) -> Option<()> {
    let mut time_us = None;
    let (mut is_statement, mut session, mut database, mut sql) = (false, None, String::new(), None);
    for field in fields(line) {
        match field.split_once('=') {
            _ if time_us.is_none() => time_us = Some(at_us(&field)?),
            Some(("conn", value)) => session = value.parse().ok(),
            Some(("currentDB", value)) => value.clone_into(&mut database),
            Some(("sql", value)) => sql = Some(value.to_owned()),
            _ => is_statement |= field == STATEMENT,
        }
    }
    let (time_us, session, sql) = (time_us?, session.filter(|_| is_statement)?, sql?);
    spread.time((time_us, true), builder, file);
    if sql.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("use ")) {
        return Some(());
    }
    match one_line::read(&sql, None) {
        Ok((sql, prepared)) => spread.statement(Kept { session, database, sql, prepared, rows: None, took_us: None }, number),
        Err(why) => builder.note(why, At { file, line: number }),
    }
    Some(())
}

/// The time of a field such as `2026/07/11 10:00:00.123 +00:00`.
fn at_us(field: &str) -> Option<i64> {
    time::read_us(&field.replacen('/', "-", 2))
}

/// The fields of a line without their brackets; a value in quotes is without them, too. It ends where a line has another form.
fn fields(line: &str) -> impl Iterator<Item = String> {
    let mut rest = line;
    std::iter::from_fn(move || {
        let field = rest.trim_start().strip_prefix('[')?;
        let (mut quoted, mut escaped) = (false, false);
        let end = field.find(|c: char| {
            let was_escaped = std::mem::take(&mut escaped);
            match c {
                '"' if !was_escaped => quoted = !quoted,
                '\\' if quoted && !was_escaped => escaped = true,
                ']' => return !quoted,
                _ => {}
            }
            false
        })?;
        rest = &field[end + 1..];
        let field = &field[..end];
        match field.split_once('=') {
            Some((key, value)) if value.starts_with('"') => {
                Some(format!("{key}={}", serde_json::from_str::<String>(value).ok()?))
            }
            _ => Some(field.to_owned()),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_with_their_quotes() {
        let line = "[2026/07/11 10:00:00.123 +00:00] [INFO] [a.rs:7] [GENERAL_LOG] [conn=7] [user=] [sql=\"a \\\"]\\\" [x=1] \\\\\"] [b=c]";
        let all: Vec<String> = fields(line).collect();
        assert_eq!(all[3..], ["GENERAL_LOG", "conn=7", "user=", "sql=a \"]\" [x=1] \\", "b=c"]);
        assert!(begins(line) && !begins("[INFO] [a]") && !begins("2026/07/11"));
        assert_eq!(at_us(&all[0]), time::read_us("2026-07-11 10:00:00.123"));
    }
}
