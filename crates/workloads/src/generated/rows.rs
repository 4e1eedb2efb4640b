//! The rows themselves, part by part.

use std::sync::Arc;

use perbuck_core::rng::Streams;
use perbuck_core::units::Seed;
use perbuck_load::values::{Params, write_decimal};
use perbuck_load::workload::Part;

use super::rule::{Rule, SECONDS_PER_DAY, Value};
use super::{Generated, Table};
use crate::characters::{Pairs, pairs, write_chars};
use crate::day::{Day, write_pair};

/// About how many bytes of values a part has, and a batch: several sessions load one table, and a batch stays in the processor's caches.
const PART_BYTES: u64 = 5 << 20;
const BATCH_BYTES: u64 = 400 << 10;
const MOST_ROWS_PER_PART: u64 = 100_000;
const MOST_ROWS_PER_BATCH: u64 = 5_000;
const MOST_PARTS: u64 = 1_000_000;

/// Letters, digits and two marks, none of which needs an escape.
static CHARACTERS: Pairs = pairs(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_");

/// Tables whose rows are drawn from one seed.
#[derive(Debug)]
pub(crate) struct Rows {
    tables: Vec<Drawn>,
    /// The table of each part, and its position among those of the table.
    parts: Vec<(u32, u32)>,
}

#[derive(Debug)]
struct Drawn {
    name: String,
    rows: u64,
    per_part: u64,
    per_batch: u64,
    columns: Vec<DrawnColumn>,
}

#[derive(Debug)]
struct DrawnColumn {
    rule: Rule,
    values: Streams,
    /// The share of rows without a value, and what decides which.
    nulls: Option<(f64, Streams)>,
}

impl Rows {
    /// Rows of that seed.
    pub(crate) fn new(generated: &Generated, seed: Seed) -> Self {
        let tables: Vec<Drawn> = generated.tables.iter().map(|table| drawn(generated, table, seed)).collect();
        let mut parts: Vec<(f64, u32, u32)> = Vec::new();
        for (table, of) in tables.iter().enumerate() {
            let count = of.rows.div_ceil(of.per_part);
            // Sessions take parts in turn, and several in one table get in each other's way: from all tables at the same pace.
            parts.extend((0..count).map(|part| ((part as f64 + 0.5) / count as f64, table as u32, part as u32)));
        }
        parts.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        Self { tables, parts: parts.into_iter().map(|(_, table, part)| (table, part)).collect() }
    }

    /// How many parts they have.
    pub(crate) fn parts(&self) -> u32 {
        self.parts.len() as u32
    }

    /// The rows of a part, of a data set with these tables.
    pub(crate) fn part(self: &Arc<Self>, index: u32, tables: &[String]) -> GeneratedPart {
        let (table, part) = self.parts[index as usize];
        let of = &self.tables[table as usize];
        let next = u64::from(part) * of.per_part;
        let end = (next + of.per_part).min(of.rows);
        let position = tables.iter().position(|name| *name == of.name).unwrap_or(0);
        GeneratedPart { rows: Arc::clone(self), table: table as usize, position, next, end }
    }

    /// Appends the value of a column in a row, which is counted from 0.
    fn write(&self, table: usize, column: usize, row: u64, cells: &mut Params) {
        let of = &self.tables[table].columns[column];
        if let Some((share, nulls)) = &of.nulls
            && nulls.at(row).unit_f64() < *share
        {
            cells.null();
            return;
        }
        let rng = &mut of.values.at(row);
        match &of.rule {
            Rule::Sequence { start, step, repeat } => _ = cells.int(start + (row / repeat) as i64 * step),
            Rule::Number { low, decimals: 0, pick } => _ = cells.int(low + pick.position(rng, row) as i64),
            // As text: a database that stores decimals as text or as numbers takes it for what it is.
            Rule::Number { low, decimals, pick } => {
                let unscaled = low + pick.position(rng, row) as i64;
                cells.text_with(|out| write_decimal(out, unscaled, *decimals));
            }
            Rule::Text { shortest, pick } => {
                let length = shortest + pick.position(rng, row);
                cells.text_with(|out| write_chars(out, rng, &CHARACTERS, length as usize));
            }
            Rule::Date { first, pick } => {
                let day = first + pick.position(rng, row) as u32;
                cells.text_with(|out| Day::write(day, out));
            }
            Rule::Timestamp { first, pick } => {
                let second = first + pick.position(rng, row);
                cells.text_with(|out| write_timestamp(out, second));
            }
            Rule::Choice { values, pick } => match &values[pick.position(rng, row) as usize] {
                Value::Int(value) => _ = cells.int(*value),
                Value::Text(text) => _ = cells.text(text.as_bytes()),
            },
            Rule::Reference { table, column, pick } => self.write(*table, *column, pick.position(rng, row), cells),
        }
    }
}

fn drawn(generated: &Generated, table: &Table, seed: Seed) -> Drawn {
    let streams = |label: &str| Streams::new(seed.derive(label), 0);
    let columns = table.columns.iter().map(|column| DrawnColumn {
        rule: column.rule.clone(),
        values: streams(&column.stream),
        nulls: (column.null > 0.0).then(|| (column.null, streams(&format!("{}.{} null", table.name, column.name)))),
    });
    let bytes = generated.row_bytes(table);
    let per_batch = (BATCH_BYTES / bytes).clamp(1, MOST_ROWS_PER_BATCH);
    // Whole batches, so that no part ends with a small one.
    let per_part =
        (PART_BYTES / bytes).clamp(1, MOST_ROWS_PER_PART).max(table.rows.div_ceil(MOST_PARTS)).next_multiple_of(per_batch);
    Drawn { name: table.name.clone(), rows: table.rows, per_part, per_batch, columns: columns.collect() }
}

/// `YYYY-MM-DD HH:MM:SS`, from seconds since the day with number 0.
fn write_timestamp(out: &mut Vec<u8>, second: u64) {
    Day::write((second / SECONDS_PER_DAY) as u32, out);
    let of_day = (second % SECONDS_PER_DAY) as u32;
    for (value, mark) in [(of_day / 3600, b' '), (of_day / 60 % 60, b':'), (of_day % 60, b':')] {
        out.push(mark);
        write_pair(value, out);
    }
}

/// A run of rows of one table.
#[derive(Debug)]
pub(crate) struct GeneratedPart {
    rows: Arc<Rows>,
    table: usize,
    position: usize,
    next: u64,
    end: u64,
}

impl Part for GeneratedPart {
    fn next_batch(&mut self, cells: &mut Params) -> Option<usize> {
        cells.clear();
        if self.next >= self.end {
            return None;
        }
        let of = &self.rows.tables[self.table];
        let last = (self.next + of.per_batch).min(self.end);
        for row in self.next..last {
            (0..of.columns.len()).for_each(|column| self.rows.write(self.table, column, row, cells));
        }
        self.next = last;
        Some(self.position)
    }
}
