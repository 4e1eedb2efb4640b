//! Logs of statements with their times and row counts: lines of facts that begin with `#`, then the text.

use std::io::BufRead;

use perbuck_load::statement::Verb;

use super::Fault;
use super::builder::{At, Builder};
use super::general_log::is_heading;
use super::lex::{Quotes, words};
use super::lines::Lines;
use super::one_line;
use super::spread::{Kept, Spread};
use super::time;
use crate::script::verb_of;

/// What the facts of an entry say.
#[derive(Debug, Default)]
struct Facts {
    session: Option<u64>,
    schema: Option<String>,
    took_us: i64,
    sent: Option<u64>,
    affected: Option<u64>,
    /// Whether the server says that the statement failed.
    failed: bool,
    /// Whether it was prepared: of servers that say so, whose statements are each in one line.
    prepared: Option<bool>,
    /// Whether the server sent it to itself.
    internal: bool,
}

/// Facts that hold any words.
const FREE: [&str; 2] = ["# Prev_stmt: ", "# Warnings: "];

/// An entry that is being read.
#[derive(Debug, Default)]
struct Entry {
    facts: Facts,
    text: String,
    line: u64,
}

/// Reads a log; returns its length in bytes.
pub(super) fn read(reader: impl BufRead, file: &str, builder: &mut Builder) -> Result<u64, Fault> {
    let mut lines = Lines::new(reader, file);
    let (mut spread, mut entry, mut database) = (Spread::default(), Entry::default(), String::new());
    while let Some((line, number)) = lines.next()? {
        let at = At { file, line: number };
        // Such a line may also stand within a string.
        let is_between = entry.text.is_empty() || entry.text.ends_with(';');
        if is_between && (line.starts_with("# Time: ") || line.starts_with("# User@Host: ")) {
            take(std::mem::take(&mut entry), &mut spread, &mut database, (builder, file));
        }
        if let Some(time) = line.strip_prefix("# Time: ").filter(|_| is_between) {
            match time::read_us(time) {
                Some(time_us) => spread.time((time_us, time.contains('.')), builder, file),
                None => builder.note("lines that are no entry of such a log", at),
            }
        } else if entry.text.is_empty() && line.starts_with("# ") && !line.starts_with("# administrator command: ") {
            entry.facts.add(line);
        } else if is_between && is_heading(line) {
            take(std::mem::take(&mut entry), &mut spread, &mut database, (builder, file));
        } else if !line.is_empty() || !entry.text.is_empty() {
            if entry.text.is_empty() {
                entry.line = number;
            } else {
                entry.text.push('\n');
            }
            entry.text.push_str(line);
        }
    }
    take(entry, &mut spread, &mut database, (builder, file));
    spread.pass_on(builder, file);
    Ok(lines.bytes())
}

impl Facts {
    /// Adds a line such as `# Thread_id: 10  Schema: shop  QC_hit: No`.
    fn add(&mut self, line: &str) {
        if FREE.iter().any(|start| line.starts_with(start)) {
            return;
        }
        let mut parts = line.trim_start_matches('#').split_whitespace().peekable();
        while let Some(key) = parts.next() {
            let Some(key) = key.strip_suffix(':') else { continue };
            // An empty value: the next word is a key.
            let Some(value) = parts.next_if(|value| !value.ends_with(':')) else { continue };
            match key {
                "Thread_id" | "Id" | "Conn_ID" => self.session = value.parse().ok(),
                "Schema" | "DB" => self.schema = Some(value.to_owned()),
                "Query_time" => self.took_us = value.parse::<f64>().map_or(0, |seconds| (seconds * 1e6) as i64),
                "Rows_sent" | "Result_rows" => self.sent = value.parse().ok(),
                "Rows_affected" => self.affected = value.parse().ok(),
                "Errno" | "Last_errno" => self.failed = value != "0",
                "Succ" => self.failed = value == "false",
                "Prepared" => self.prepared = Some(value == "true"),
                "Is_internal" => self.internal = value == "true",
                _ => {}
            }
        }
    }

    /// The rows that a statement of this kind returned or changed.
    fn rows(&self, sql: &str) -> Option<u64> {
        let all = words(sql, Quotes::Backslash, 8);
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        match verb_of(&all) {
            Verb::Select => self.sent,
            Verb::Insert | Verb::Update | Verb::Delete => self.sent.filter(|rows| *rows > 0).or(self.affected),
            Verb::Other => None,
        }
    }
}

fn take(entry: Entry, spread: &mut Spread, database: &mut String, (builder, file): (&mut Builder, &str)) {
    let Entry { facts, text, line } = entry;
    let at = At { file, line };
    let mut sql = text.as_str();
    loop {
        let (first, rest) = sql.split_once('\n').unwrap_or((sql, ""));
        let used = first.strip_prefix("use ").filter(|_| !rest.is_empty());
        if let Some(used) = used {
            used.trim_matches([' ', ';', '`']).clone_into(database);
        } else if !first.starts_with("SET timestamp=") {
            break;
        }
        sql = rest;
    }
    if sql.is_empty() {
        return;
    }
    if facts.internal {
        return builder.note("statements of the server itself left out", at);
    }
    let Some(session) = facts.session.filter(|_| spread.has_time()) else {
        return builder.note("statements without a time or a connection left out", at);
    };
    if let Some(command) = sql.strip_prefix("# administrator command: ") {
        if command.starts_with("Quit") {
            spread.end(session);
        }
        return;
    }
    if !sql.ends_with(';') {
        return builder.note("entries that are cut off left out", at);
    }
    if facts.failed {
        return builder.note("statements that failed in the log left out", at);
    }
    let (rows, took_us) = (facts.rows(sql), facts.took_us);
    match facts.schema {
        Some(schema) => *database = schema,
        // Such a server names the database of each statement that has one.
        None if facts.prepared.is_some() => database.clear(),
        None => {}
    }
    if sql.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("use ")) {
        return;
    }
    let read = match facts.prepared {
        Some(_) => one_line::read(sql, facts.prepared),
        None => Ok((sql.to_owned(), None)),
    };
    match read {
        Ok((sql, prepared)) => {
            let kept = Kept { session, database: database.clone(), sql, prepared, rows, took_us: Some(took_us) };
            spread.statement(kept, line);
        }
        Err(why) => builder.note(why, at),
    }
}
