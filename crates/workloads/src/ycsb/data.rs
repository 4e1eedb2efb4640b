//! The table `usertable`, its rows, and what must hold of them.

use std::collections::BTreeMap;

use perbuck_core::units::Seed;
use perbuck_database::dialect::{Dialect, Feature};
use perbuck_load::driver::BulkTable;
use perbuck_load::query::Query;
use perbuck_load::records::Action;
use perbuck_load::values::{Params, Value};
use perbuck_load::workload::{Check, Dataset, Part, TableSpec};

use super::options::Options;
use super::row::Records;
use super::schema::{self, KEY};

/// Records of a part: small enough that many sessions share a load, large enough that their order costs nothing.
const RECORDS_PER_PART: u64 = 10_000;
/// Bytes of text of a batch, about.
pub(super) const BATCH_BYTES: usize = 400_000;
/// Records whose keys, and in data-integrity mode whose fields, are looked up by a check.
const SAMPLE: u64 = 20;

/// The records of the load.
#[derive(Debug, Clone)]
pub struct YcsbData {
    options: Options,
    dialect: &'static dyn Dialect,
    records: Records,
}

impl YcsbData {
    /// The data of these options. Where the run itself is the load the table begins empty.
    pub fn new(options: Options, dialect: &'static dyn Dialect, seed: Seed) -> Self {
        let records = Records::new(&options, seed);
        Self { options, dialect, records }
    }

    fn loaded(&self) -> u64 {
        if self.options.dotransactions { self.options.insertcount } else { 0 }
    }

    /// The rows of records spread evenly over so many of the load, the first and the last among them: keys, and values.
    fn sample(&self, count: u64) -> Vec<(String, Vec<String>)> {
        let some = SAMPLE.min(count);
        let (mut cells, mut key) = (Params::default(), Vec::new());
        let mut row = |i| {
            let record = self.options.insertstart + if some > 1 { i * (count - 1) / (some - 1) } else { 0 };
            cells.clear();
            self.records.row(&mut cells, &mut key, record);
            let text =
                |value| if let Value::Text(bytes) = value { String::from_utf8_lossy(bytes).into_owned() } else { String::new() };
            let mut row = cells.iter().map(text);
            (row.next().unwrap_or_default(), row.collect())
        };
        (0..some).map(&mut row).collect()
    }

    /// What must hold after a run whose operations were the load (`dotransactions=false`), in a table that may hold other records, too.
    /// Values are compared where they are a function of their key, and where they need no quotes.
    pub fn checks_of_inserts(&self) -> Vec<Check> {
        let sample = self.sample(self.options.insertcount);
        let mut all = vec![self.keys_check(&sample)];
        if self.options.dataintegrity || !self.speaks_sql() {
            all.push(self.values_check(&sample));
        }
        // A database with SQL has refused what it did not take; to count a large table takes minutes there.
        if !self.speaks_sql() {
            all.push(self.rows_check(self.options.insertcount, true));
        }
        all
    }

    fn speaks_sql(&self) -> bool {
        self.dialect.lacks(Feature::Sql).is_none()
    }

    /// A check of `compared` things, in SQL or by operations on records.
    fn check(&self, name: &str, what: String, compared: usize, violations: Query, column: &'static str) -> Check {
        let compared = if self.speaks_sql() { format!("SELECT {compared}").into() } else { Query::Known(compared as u64) };
        let name = format!("{} {name}", self.options.table);
        Check { name, what, compared, violations, columns: vec![column], unless_used: None }
    }

    /// That the table has so many rows, or at least so many.
    fn rows_check(&self, loaded: u64, or_more: bool) -> Check {
        let table = &self.options.table;
        let (wrong, most, least) = if or_more { ("<", u64::MAX, "at least ") } else { ("<>", loaded, "") };
        let what = format!("{table} has {least}{loaded} rows");
        if !self.speaks_sql() {
            // What is compared is the one number of rows.
            let violations = Query::records::<&str>(table, Action::CountUnless(loaded..=most), []);
            return self.check("rows", what, 1, violations, "rows");
        }
        let violations = format!("SELECT n FROM (SELECT COUNT(*) AS n FROM {table}) AS counted WHERE n {wrong} {loaded}");
        // An empty table is no failure where nothing is loaded: the table itself is what is compared then.
        let compared = format!("SELECT COUNT(*) + {} FROM {table}", u8::from(loaded == 0)).into();
        Check { compared, ..self.check("rows", what, 0, violations.into(), "rows") }
    }

    fn keys_check(&self, sample: &[(String, Vec<String>)]) -> Check {
        let table = &self.options.table;
        let violations = if self.speaks_sql() {
            let some: Vec<String> = sample.iter().map(|(key, _)| format!("SELECT '{key}' AS k")).collect();
            let missing = format!("NOT EXISTS (SELECT 1 FROM {table} WHERE {KEY} = sample.k)");
            format!("SELECT k FROM ({}) AS sample WHERE {missing}", some.join(" UNION ALL ")).into()
        } else {
            Query::records(table, Action::Absent, sample.iter().map(|(key, _)| key))
        };
        let what = format!("{} records from the first to the last have their keys", sample.len());
        self.check("keys", what, sample.len(), violations, "key")
    }

    fn values_check(&self, sample: &[(String, Vec<String>)]) -> Check {
        let (table, fields) = (&self.options.table, &schema::columns(&self.options)[1..]);
        let violations = if self.speaks_sql() {
            let differs = |(field, value): (&String, &String)| format!("{field} IS NULL OR {field} <> '{value}'");
            let wrong = sample.iter().map(|(key, values)| {
                let differs: Vec<String> = fields.iter().zip(values).map(differs).collect();
                format!("({KEY} = '{key}' AND ({}))", differs.join(" OR "))
            });
            format!("SELECT {KEY} FROM {table} WHERE {}", wrong.collect::<Vec<_>>().join(" OR ")).into()
        } else {
            let cells = sample.iter().flat_map(|(key, values)| std::iter::once(key).chain(values));
            Query::records(table, Action::Different(fields.len() as u64), cells)
        };
        let what = format!("{} records from the first to the last have the values of their seed", sample.len());
        self.check("values", what, sample.len(), violations, "key")
    }
}

impl Dataset for YcsbData {
    fn tables(&self) -> Vec<TableSpec> {
        vec![TableSpec {
            bulk: BulkTable { name: self.options.table.clone(), columns: schema::columns(&self.options) },
            create: schema::create(&self.options, self.dialect),
            after_load: Vec::new(),
            statistics: self.dialect.statistics(&self.options.table),
            rows: Some(self.loaded()),
            rows_vary: false,
            numbered: false,
        }]
    }

    fn parts(&self) -> u32 {
        // At most 10⁸: there are no more than 10¹² records.
        self.loaded().div_ceil(RECORDS_PER_PART) as u32
    }

    fn part(&self, index: u32) -> Box<dyn Part> {
        let first = u64::from(index) * RECORDS_PER_PART;
        let end = (first + RECORDS_PER_PART).min(self.loaded());
        let start = self.options.insertstart;
        Box::new(YcsbPart { records: self.records.clone(), key: Vec::new(), next: start + first, end: start + end })
    }

    fn checks(&self) -> Vec<Check> {
        let mut all = vec![self.rows_check(self.loaded(), self.options.grows())];
        let sample = self.sample(self.loaded());
        if !sample.is_empty() {
            all.push(self.keys_check(&sample));
            if self.options.dataintegrity {
                all.push(self.values_check(&sample));
            }
        }
        all
    }

    fn parameters(&self) -> BTreeMap<String, String> {
        self.options.data_parameters()
    }

    fn grows(&self) -> bool {
        self.options.grows()
    }
}

/// A run of records.
#[derive(Debug, Clone)]
pub struct YcsbPart {
    records: Records,
    key: Vec<u8>,
    next: u64,
    end: u64,
}

impl Part for YcsbPart {
    fn next_batch(&mut self, cells: &mut Params) -> Option<usize> {
        cells.clear();
        if self.next >= self.end {
            return None;
        }
        while self.next < self.end && cells.text_bytes() < BATCH_BYTES {
            self.records.row(cells, &mut self.key, self.next);
            self.next += 1;
        }
        Some(0)
    }
}
