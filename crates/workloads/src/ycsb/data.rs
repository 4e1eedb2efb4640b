//! The table `usertable`, its rows, and what must hold of them.

use std::collections::BTreeMap;

use perbuck_core::units::Seed;
use perbuck_database::dialect::{Dialect, Feature};
use perbuck_load::driver::BulkTable;
use perbuck_load::query::Query;
use perbuck_load::records::{self, Action};
use perbuck_load::values::Params;
use perbuck_load::workload::{Check, Dataset, Part, TableSpec};

use super::options::Options;
use super::row::Records;
use super::schema::{self, KEY};

/// Records of a part: small enough that many sessions share a load, large enough that their order costs nothing.
const RECORDS_PER_PART: u64 = 10_000;
/// Bytes of text of a batch, about.
const BATCH_BYTES: usize = 400_000;
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

    /// Records spread evenly over those of the load, the first and the last among them.
    fn sample(&self) -> Vec<u64> {
        let count = self.loaded();
        let some = SAMPLE.min(count);
        (0..some).map(|i| self.options.insertstart + if some > 1 { i * (count - 1) / (some - 1) } else { 0 }).collect()
    }

    fn check(
        &self,
        name: &str,
        what: String,
        compared: impl Into<Query>,
        violations: impl Into<Query>,
        column: &'static str,
    ) -> Check {
        let (name, compared, violations) = (format!("{} {name}", self.options.table), compared.into(), violations.into());
        Check { name, what, compared, violations, columns: vec![column], unless_used: None }
    }

    fn rows_check(&self) -> Check {
        let (table, loaded) = (&self.options.table, self.loaded());
        let (wrong, least) = if self.options.grows() { ("<", "at least ") } else { ("<>", "") };
        let what = format!("{table} has {least}{loaded} rows");
        let violations = format!("SELECT n FROM (SELECT COUNT(*) AS n FROM {table}) AS counted WHERE n {wrong} {loaded}");
        // An empty table is no failure where nothing is loaded: the table itself is what is compared then.
        self.check("rows", what, format!("SELECT COUNT(*) + {} FROM {table}", u8::from(loaded == 0)), violations, "rows")
    }

    fn keys_check(&self, sample: &[u64]) -> Check {
        let table = &self.options.table;
        let some: Vec<String> = sample.iter().map(|r| format!("SELECT '{}' AS k", self.records.keys.text(*r))).collect();
        let what = format!("{} records from the first to the last have their keys", sample.len());
        let missing = format!("NOT EXISTS (SELECT 1 FROM {table} WHERE {KEY} = sample.k)");
        let violations = format!("SELECT k FROM ({}) AS sample WHERE {missing}", some.join(" UNION ALL "));
        self.check("keys", what, format!("SELECT {}", sample.len()), violations, "key")
    }

    fn values_check(&self, sample: &[u64]) -> Check {
        let (table, fields) = (&self.options.table, &schema::columns(&self.options)[1..]);
        let mut expected = Vec::new();
        let mut wrong = Vec::new();
        for record in sample {
            let key = self.records.keys.text(*record);
            let mut differs = Vec::new();
            for (i, field) in fields.iter().enumerate() {
                self.records.expected(&mut expected, key.as_bytes(), i);
                let value = String::from_utf8_lossy(&expected).into_owned();
                differs.push(format!("{field} IS NULL OR {field} <> '{value}'"));
            }
            wrong.push(format!("({KEY} = '{key}' AND ({}))", differs.join(" OR ")));
        }
        let what = format!("{} records from the first to the last have the values of data-integrity mode", sample.len());
        let violations = format!("SELECT {KEY} FROM {table} WHERE {}", wrong.join(" OR "));
        self.check("values", what, format!("SELECT {}", sample.len()), violations, "key")
    }
}

impl YcsbData {
    /// The same conditions as operations on records.
    fn checks_without_sql(&self) -> Vec<Check> {
        let (table, loaded, sample) = (&self.options.table, self.loaded(), self.sample());
        let (most, words) = if self.options.grows() { (u64::MAX, "at least ") } else { (loaded, "") };
        let of = |action| records::Records::new(table, action);
        let what = format!("{table} has {words}{loaded} rows");
        // What is compared is the one number of rows.
        let rows = Query::Records(of(Action::CountUnless(loaded..=most)), Params::default());
        let mut all = vec![self.check("rows", what, Query::Known(1), rows, "rows")];
        if sample.is_empty() {
            return all;
        }
        let (mut keys, mut rows, mut expected) = (Params::default(), Params::default(), Vec::new());
        for record in &sample {
            let key = self.records.keys.text(*record);
            keys.text(key.as_bytes());
            rows.text(key.as_bytes());
            for field in 0..self.records.width() {
                self.records.expected(&mut expected, key.as_bytes(), field);
                rows.text(&expected);
            }
        }
        let count = sample.len() as u64;
        let what = format!("{count} records from the first to the last have their keys");
        all.push(self.check("keys", what, Query::Known(count), Query::Records(of(Action::Absent), keys), "key"));
        if self.options.dataintegrity {
            let what = format!("{count} records from the first to the last have the values of data-integrity mode");
            let different = of(Action::Different(self.records.width() as u64));
            all.push(self.check("values", what, Query::Known(count), Query::Records(different, rows), "key"));
        }
        all
    }
}

impl Dataset for YcsbData {
    type Part = YcsbPart;

    fn tables(&self) -> Vec<TableSpec> {
        vec![TableSpec {
            bulk: BulkTable { name: self.options.table.clone(), columns: schema::columns(&self.options) },
            create: schema::create(&self.options, self.dialect),
            after_load: schema::after_load(&self.options, self.dialect),
            rows: Some(self.loaded()),
            rows_by_seed: false,
            numbered: false,
        }]
    }

    fn parts(&self) -> u32 {
        // At most 10⁸: there are no more than 10¹² records.
        self.loaded().div_ceil(RECORDS_PER_PART) as u32
    }

    fn part(&self, index: u32) -> YcsbPart {
        let first = u64::from(index) * RECORDS_PER_PART;
        let end = (first + RECORDS_PER_PART).min(self.loaded());
        let start = self.options.insertstart;
        YcsbPart { records: self.records.clone(), key: Vec::new(), next: start + first, end: start + end }
    }

    fn checks(&self) -> Vec<Check> {
        if self.dialect.lacks(Feature::Sql).is_some() {
            return self.checks_without_sql();
        }
        let mut all = vec![self.rows_check()];
        let sample = self.sample();
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
