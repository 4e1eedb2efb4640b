//! The tables of sysbench, their rows, and what must hold of them.

use std::collections::BTreeMap;

use perbuck_core::rng::OpRng;
use perbuck_core::units::Seed;
use perbuck_database::Dialect;
use perbuck_load::driver::BulkTable;
use perbuck_load::values::Params;
use perbuck_load::workload::{Check, Dataset, Part, TableSpec};

use super::options::Options;
use super::random::{C_GROUPS, Ids, PAD_GROUPS, write_groups};
use super::schema;
use super::script::Script;

/// Small enough that many sessions load one table, large enough that their order costs nothing.
const ROWS_PER_PART: u32 = 25_000;
/// About 190 bytes each: below half a megabyte, as sysbench's buffer.
const ROWS_PER_BATCH: u32 = 2_500;
/// Sets the random streams of rows apart from those of terminals, which have small numbers.
const ROW_STREAMS: u64 = 0x7362_7465_7374_0000;

/// The tables `sbtest1` to `sbtestN`.
#[derive(Debug, Clone)]
pub struct SysbenchData {
    options: Options,
    dialect: &'static dyn Dialect,
    seed: Seed,
}

impl SysbenchData {
    /// The data of these options. All scripts but `bulk_insert` have the same rows; `oltp_insert` begins with none where
    /// the client numbers them.
    pub fn new(options: Options, dialect: &'static dyn Dialect, seed: Seed) -> Self {
        Self { options, dialect, seed }
    }

    fn parts_per_table(&self) -> u32 {
        self.options.rows_per_table().div_ceil(ROWS_PER_PART)
    }

    /// What must hold of table `n` after any number of runs of the script.
    fn checks_of(&self, n: u32) -> Vec<Check> {
        let Options { script, skip_trx, .. } = self.options;
        let loaded = self.options.rows_per_table();
        // An empty table is no failure of a script that may leave one: then the table itself is compared, too.
        let compared = if script.changes_row_counts() { "COUNT(*) + 1" } else { "COUNT(*)" };
        let check = |name: &str, what: String, violations: String, column| Check {
            name: format!("sbtest{n} {name}"),
            what,
            compared: format!("SELECT {compared} FROM sbtest{n}").into(),
            violations: violations.into(),
            columns: vec![column],
            unless_used: None,
        };
        let rows = |words: &str, wrong: &str| {
            let violations = format!("SELECT n FROM (SELECT COUNT(*) AS n FROM sbtest{n}) AS counted WHERE n {wrong} {loaded}");
            check("rows", format!("sbtest{n} has {words}{loaded} rows"), violations, "rows")
        };
        let ids = |name: &str, what: String, wrong: &str| {
            check(name, what, format!("SELECT id FROM sbtest{n} WHERE {wrong} LIMIT 5"), "id")
        };
        let within = || ids("ids", format!("every id of sbtest{n} lies in 1 to {loaded}"), &format!("id < 1 OR id > {loaded}"));
        match script {
            Script::BulkInsert => {
                vec![ids("rows", format!("every row of sbtest{n} has its id, from 1, in k"), "id < 1 OR k <> id")]
            }
            Script::Insert => {
                let what = format!("every row of sbtest{n} with an id above {loaded} has text in c and pad");
                let wrong = format!("id > {loaded} AND (LENGTH(c) <> 119 OR LENGTH(pad) <> 59)");
                vec![rows("at least ", "<"), ids("new rows", what, &wrong)]
            }
            Script::Delete => vec![rows("at most ", ">"), within()],
            // Without transactions a run that is cut between a DELETE and its INSERT leaves a row out, as in sysbench.
            _ if skip_trx && script.deletes_and_inserts() => vec![within()],
            _ => vec![rows("", "<>"), within()],
        }
    }
}

/// Table `sbtestN` of `bulk_insert`.
pub(super) fn bulk_table(n: u32) -> BulkTable {
    BulkTable { name: format!("sbtest{n}"), columns: ["id", "k"].map(str::to_owned).to_vec() }
}

impl Dataset for SysbenchData {
    fn tables(&self) -> Vec<TableSpec> {
        let table = |n: u32| TableSpec {
            bulk: match self.options.script {
                Script::BulkInsert => bulk_table(n),
                _ => BulkTable { columns: ["id", "k", "c", "pad"].map(str::to_owned).to_vec(), ..bulk_table(n) },
            },
            create: schema::create(&self.options, self.dialect, n),
            after_load: schema::after_load(&self.options, self.dialect, n),
            statistics: match self.options.rows_per_table() {
                0 => None,
                _ => self.dialect.statistics(&format!("sbtest{n}")),
            },
            rows: Some(u64::from(self.options.rows_per_table())),
            rows_vary: false,
            numbered: self.options.auto_inc,
        };
        (1..=self.options.table_count()).map(table).collect()
    }

    fn parts(&self) -> u32 {
        // At most 7 000 tables of 214 749 parts: below 2³². Tables that begin empty have none.
        self.options.table_count() * self.parts_per_table()
    }

    fn part(&self, index: u32) -> Box<dyn Part> {
        // Sessions take parts in turn, and several in one table get in each other's way: from all tables first.
        let tables = self.options.table_count();
        let first = index / tables * ROWS_PER_PART + 1;
        Box::new(SysbenchPart {
            seed: self.seed,
            table: index % tables,
            ids: self.options.loaded_ks(),
            next: first,
            end: first.saturating_add(ROWS_PER_PART - 1).min(self.options.rows_per_table()),
        })
    }

    fn checks(&self) -> Vec<Check> {
        (1..=self.options.table_count()).flat_map(|n| self.checks_of(n)).collect()
    }

    fn parameters(&self) -> BTreeMap<String, String> {
        self.options.data_parameters()
    }

    /// In the other scripts every DELETE is followed by an INSERT of the same id.
    fn grows(&self) -> bool {
        self.options.script.changes_row_counts()
    }
}

/// A run of rows of one table.
#[derive(Debug, Clone)]
pub struct SysbenchPart {
    seed: Seed,
    /// From 0.
    table: u32,
    ids: Ids,
    next: u32,
    end: u32,
}

impl Part for SysbenchPart {
    fn next_batch(&mut self, cells: &mut Params) -> Option<usize> {
        cells.clear();
        if self.next > self.end {
            return None;
        }
        let last = (self.next + (ROWS_PER_BATCH - 1)).min(self.end);
        for id in self.next..=last {
            let mut rng = OpRng::at(self.seed, ROW_STREAMS | u64::from(self.table), u64::from(id));
            let k = self.ids.draw(&mut rng);
            cells.int(i64::from(id)).int(k);
            cells.text_with(|out| write_groups(out, &mut rng, C_GROUPS));
            cells.text_with(|out| write_groups(out, &mut rng, PAD_GROUPS));
        }
        self.next = last + 1;
        Some(self.table as usize)
    }
}

#[cfg(test)]
#[path = "data_tests.rs"]
mod tests;
