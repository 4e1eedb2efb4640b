//! Reads a TOML file key by key and collects every problem, so that a user sees all of them at once.
//!
//! Keys that were not asked for are reported as unknown by [`Section::finish`]; what is known is what was asked for, so
//! the list cannot go stale. Messages never quote the source line: a secret typed into a study must not be printed.

mod decimals;
mod remaining;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::Range;

use toml_edit::{Document, Item, TableLike, Value};

use crate::problem::{Problem, did_you_mean};
use crate::units::{MicroUsd, TEN_YEARS_NS, parse_duration_ns};
pub use decimals::Digits;

/// The longest file in bytes; price lists of whole clouds are tens of times shorter.
pub const LONGEST: usize = 8 << 20;
/// Values, keys and tables of a file at most. Each takes up to a kilobyte of memory, and the longest studies have some thousand.
const MARKS: usize = 200_000;
/// Keys of a table at most whose meaning another reader knows.
const SCALARS: usize = 1000;
/// Problems that are kept; a reader mends some and checks again.
const PROBLEMS: usize = 1000;

/// A parsed file and what was found wrong in it so far.
#[derive(Debug)]
pub struct TomlFile {
    name: String,
    /// Where its lines end.
    line_ends: Vec<usize>,
    document: Document<String>,
    problems: RefCell<Vec<Problem>>,
}

/// A value and the line it stands on.
#[derive(Debug, Clone, PartialEq)]
pub struct Located<T> {
    /// The value.
    pub value: T,
    /// 1-based line.
    pub line: usize,
}

/// A scalar whose meaning the reader of the file does not know (a workload's parameter).
#[derive(Debug, Clone, PartialEq)]
pub enum Scalar {
    /// An integer.
    Int(i64),
    /// A decimal number.
    Float(f64),
    /// `true` or `false`.
    Bool(bool),
    /// A string.
    Text(String),
}

impl std::fmt::Display for Scalar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Int(v) => v.fmt(f),
            Self::Float(v) => v.fmt(f),
            Self::Bool(v) => v.fmt(f),
            Self::Text(v) => v.fmt(f),
        }
    }
}

impl TomlFile {
    /// Parses `text`; `name` is how messages call the file.
    ///
    /// # Errors
    /// The one syntax error that stopped the parser, with its line, or a file that is larger than any of its kind.
    pub fn parse(name: &str, text: String) -> Result<Self, Problem> {
        let line_ends: Vec<usize> = text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(i, _)| i).collect();
        let refused = |line, message, help: &str| Problem { file: name.to_owned(), line, message, help: help.to_owned() };
        // Before the parser, which needs many times as much memory as the text.
        let marks = text.bytes().enumerate().filter(|(_, b)| matches!(b, b'=' | b',' | b'[' | b'{' | b'.'));
        if let Some((at, _)) = marks.clone().nth(MARKS) {
            let message = format!("has more than {MARKS} values, keys and tables; this is the line of the first one beyond");
            return Err(refused(line_at(&line_ends, at), message, "divide it into several files"));
        }
        if text.len() > LONGEST {
            let message = format!("has {} bytes, above {LONGEST}", text.len());
            return Err(refused(1, message, "shorten its texts, or divide it into several files"));
        }
        Document::parse(text)
            .map_err(|error| {
                let message = format!("not valid TOML: {}", error.message().replace('\n', ", "));
                let line = line_at(&line_ends, error.span().map_or(0, |s| s.start));
                refused(line, message, "mend the syntax on this line; strings need quotes and tables their brackets")
            })
            .map(|document| Self { name: name.to_owned(), line_ends: line_ends.clone(), document, problems: RefCell::default() })
    }

    /// The top level of the file.
    pub fn root(&self) -> Section<'_> {
        Section { file: self, table: self.document.as_table(), path: String::new(), line: 1, asked: RefCell::default() }
    }

    /// The problems found so far, in the order of their lines.
    pub fn into_problems(self) -> Vec<Problem> {
        let mut problems = self.problems.into_inner();
        problems.sort_by_key(|p| p.line);
        problems
    }

    /// Adds a problem that the caller found.
    pub fn report(&self, line: usize, message: impl Into<String>, help: impl Into<String>) {
        let mut problems = self.problems.borrow_mut();
        if problems.len() < PROBLEMS {
            problems.push(Problem { file: self.name.clone(), line, message: message.into(), help: help.into() });
        }
    }

    /// Adds problems of another file that this one names.
    pub fn adopt(&self, problems: Vec<Problem>) {
        self.problems.borrow_mut().extend(problems);
    }

    fn line(&self, span: Option<Range<usize>>) -> usize {
        line_at(&self.line_ends, span.map_or(0, |s| s.start))
    }
}

/// The 1-based line of a byte.
fn line_at(line_ends: &[usize], byte: usize) -> usize {
    line_ends.partition_point(|end| *end < byte) + 1
}

/// One table of the file.
pub struct Section<'a> {
    file: &'a TomlFile,
    table: &'a dyn TableLike,
    path: String,
    line: usize,
    asked: RefCell<Vec<String>>,
}

impl<'a> Section<'a> {
    /// The line of the table's header.
    pub fn line(&self) -> usize {
        self.line
    }

    /// The file this table stands in.
    pub fn file(&self) -> &'a TomlFile {
        self.file
    }

    /// The line of a key of this table, or of the table where the key is absent.
    pub fn line_of(&self, key: &str) -> usize {
        match self.table.get_key_value(key) {
            Some((k, item)) => self.file.line(k.span().or_else(|| item.span())),
            None => self.line,
        }
    }

    /// Whether the key is present; counts as asking for it.
    pub fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Whether the key holds a string, for keys that take a word or a list.
    pub fn is_text(&self, key: &str) -> bool {
        self.table.get(key).is_some_and(Item::is_str)
    }

    /// Reports a problem of one key of this table.
    pub fn report(&self, key: &str, message: impl Into<String>, help: impl Into<String>) {
        self.file.report(self.line_of(key), message, help);
    }

    fn full(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    fn get(&self, key: &str) -> Option<&'a Item> {
        self.asked.borrow_mut().push(key.to_owned());
        self.table.get(key).filter(|item| !item.is_none())
    }

    fn wrong_type(&self, key: &str, expected: &str, found: &Item) {
        let message = format!("`{}` is {}, but must be {expected}", self.full(key), describe(found));
        self.report(key, message, format!("write `{key} = …` with {expected}"));
    }

    fn missing(&self, key: &str, example: &str) {
        let message = format!("`{}` is missing", self.full(key));
        self.file.report(self.line, message, format!("add for instance `{key} = {example}`"));
    }

    /// What `take` makes of a key, with its line; where it makes nothing of it, the user is told what is `expected`.
    fn found<T>(&self, key: &str, expected: &str, take: impl FnOnce(&'a Item) -> Option<T>) -> Option<Located<T>> {
        let item = self.get(key)?;
        let taken = take(item);
        if taken.is_none() {
            self.wrong_type(key, expected, item);
        }
        taken.map(|value| Located { value, line: self.line_of(key) })
    }

    fn read<T>(&self, key: &str, expected: &str, take: impl Fn(&Value) -> Option<T>) -> Option<Located<T>> {
        self.found(key, expected, |item| item.as_value().and_then(take))
    }

    /// What `parse` makes of a text; where it says what is wrong instead, the user is told that and `help`.
    fn parsed<T>(
        &self,
        key: &str,
        typed: &Located<String>,
        parse: impl Fn(&str) -> Result<T, String>,
        help: &str,
    ) -> Option<Located<T>> {
        let read = parse(&typed.value).map_err(|why| self.report(key, format!("`{}`: {why}", self.full(key)), help));
        read.ok().map(|value| Located { value, line: typed.line })
    }

    /// An optional string.
    pub fn text(&self, key: &str) -> Option<Located<String>> {
        self.read(key, "a string", |v| v.as_str().map(str::to_owned))
    }

    /// A string that must be there; `example` is shown where it is not.
    pub fn required_text(&self, key: &str, example: &str) -> Option<Located<String>> {
        self.require(key, example, Self::text)
    }

    fn require<T>(&self, key: &str, example: &str, read: impl Fn(&Self, &str) -> Option<T>) -> Option<T> {
        let value = read(self, key);
        if value.is_none() && self.get(key).is_none() {
            self.missing(key, example);
        }
        value
    }

    /// An optional integer within `range`.
    pub fn int(&self, key: &str, range: std::ops::RangeInclusive<i64>) -> Option<Located<i64>> {
        let found = self.read(key, "an integer", Value::as_integer)?;
        self.in_range(key, found, &range)
    }

    /// An integer that must be there.
    pub fn required_int(&self, key: &str, range: std::ops::RangeInclusive<i64>, example: &str) -> Option<Located<i64>> {
        self.require(key, example, |s, k| s.int(k, range.clone()))
    }

    /// An optional count within `range`, which ends below 2³².
    pub fn count(&self, key: &str, range: std::ops::RangeInclusive<i64>) -> Option<u32> {
        self.int(key, range).map(|found| found.value as u32)
    }

    fn in_range(&self, key: &str, found: Located<i64>, range: &std::ops::RangeInclusive<i64>) -> Option<Located<i64>> {
        if range.contains(&found.value) {
            return Some(found);
        }
        let (low, high) = (range.start(), range.end());
        let message = format!("`{}` is {}, outside {low}..={high}", self.full(key), found.value);
        self.report(key, message, format!("give a value from {low} to {high}"));
        None
    }

    /// An optional boolean.
    pub fn boolean(&self, key: &str) -> Option<Located<bool>> {
        self.read(key, "true or false", Value::as_bool)
    }

    /// An optional number in the open interval from `low` to `high`.
    pub fn number(&self, key: &str, low: f64, high: f64) -> Option<Located<f64>> {
        let found = self.read(key, "a number", |v| v.as_float().or_else(|| v.as_integer().map(|i| i as f64)))?;
        if found.value > low && found.value < high {
            return Some(found);
        }
        let message = format!("`{}` is {}, not between {low} and {high}", self.full(key), found.value);
        self.report(key, message, format!("give a number above {low} and below {high}"));
        None
    }

    /// An optional amount of dollars, read from the digits as typed, so that 0.1 stays 0.1. A quoted number is taken too.
    pub fn usd(&self, key: &str) -> Option<Located<MicroUsd>> {
        let typed = self.read(key, "an amount in dollars", |v| self.typed(v))?;
        self.parsed(key, &typed, MicroUsd::parse_usd, "write dollars as digits, for instance 0.0784")
    }

    /// An optional duration in nanoseconds, written as a string with a unit (`"30s"`).
    pub fn duration_ns(&self, key: &str) -> Option<Located<u64>> {
        let typed = self.read(key, "a duration such as \"30s\"", |v| v.as_str().map(str::to_owned))?;
        // Sums of some durations must fit their type.
        let parse = |text: &str| match parse_duration_ns(text)? {
            ns if ns > TEN_YEARS_NS => Err(format!("\"{text}\" is longer than ten years")),
            ns => Ok(ns),
        };
        self.parsed(key, &typed, parse, "write a number and a unit: \"500ms\", \"30s\", \"10m\"")
    }

    fn list<T>(&self, key: &str, expected: &str, take: impl Fn(&Value) -> Option<T>) -> Option<Located<Vec<T>>> {
        self.found(key, expected, |item| item.as_array()?.iter().map(take).collect())
    }

    /// An optional list of strings.
    pub fn texts(&self, key: &str) -> Option<Located<Vec<String>>> {
        self.list(key, "a list of strings", |v| v.as_str().map(str::to_owned))
    }

    /// An optional list of integers within `range`.
    pub fn ints(&self, key: &str, range: std::ops::RangeInclusive<i64>) -> Option<Located<Vec<i64>>> {
        let found = self.list(key, "a list of integers", Value::as_integer)?;
        let mut good = true;
        for value in &found.value {
            good &= self.in_range(key, Located { value: *value, line: found.line }, &range).is_some();
        }
        good.then_some(found)
    }

    /// An optional sub-table, in either notation.
    pub fn table(&self, key: &str) -> Option<Section<'a>> {
        let found = self.found(key, "a table", |item| Some((item.as_table_like()?, item.span())))?;
        let (table, span) = found.value;
        Some(self.child(key, table, span.map_or(found.line, |s| self.file.line(Some(s)))))
    }

    fn child(&self, key: &str, table: &'a dyn TableLike, line: usize) -> Section<'a> {
        Section { file: self.file, table, path: self.full(key), line, asked: RefCell::default() }
    }

    /// All tables of a `[[key]]` list or of an array of inline tables; empty where the key is absent.
    pub fn tables(&self, key: &str) -> Vec<Section<'a>> {
        let inline = |v: &'a Value| Some(self.child(key, v.as_inline_table()?, self.file.line(v.span())));
        let found = self.found(key, "a list of tables", |item| match item.as_array_of_tables() {
            Some(tables) => Some(tables.iter().map(|t| self.child(key, t, self.file.line(t.span()))).collect()),
            None => item.as_array()?.iter().map(inline).collect(),
        });
        found.map_or_else(Vec::new, |found| found.value)
    }

    /// What `read` makes of each table of a list; `None` where it makes nothing of one. All of them are read.
    pub fn each<T>(&self, key: &str, read: impl Fn(&Self) -> Option<T>) -> Option<Vec<T>> {
        let all: Vec<Option<T>> = self.tables(key).iter().map(read).collect();
        all.into_iter().collect()
    }

    /// The keys that were not asked for yet, in the order of the file.
    fn unasked(&self) -> Vec<String> {
        let asked = self.asked.borrow();
        self.table.iter().map(|(key, _)| key.to_owned()).filter(|key| !asked.contains(key)).collect()
    }

    /// Reports every key that was not asked for.
    pub fn finish(&self) {
        let asked = self.asked.borrow();
        let known: Vec<&str> = asked.iter().map(String::as_str).collect::<BTreeSet<_>>().into_iter().collect();
        for key in self.unasked().into_iter().take(PROBLEMS) {
            let help = did_you_mean(&key, &known, || format!("known here: {}", known.join(", ")));
            self.report(&key, format!("unknown key `{}`", self.full(&key)), help);
        }
    }
}

fn describe(item: &Item) -> &'static str {
    match item {
        Item::Value(Value::String(_)) => "a string",
        Item::Value(Value::Integer(_)) => "an integer",
        Item::Value(Value::Float(_)) => "a decimal number",
        Item::Value(Value::Boolean(_)) => "a boolean",
        Item::Value(Value::Datetime(_)) => "a date",
        Item::Value(Value::Array(_)) => "a list",
        _ => "a table",
    }
}

#[cfg(test)]
mod tests;
