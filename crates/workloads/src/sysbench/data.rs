//! The tables of sysbench and their rows.

use std::collections::BTreeMap;

use perbuck_core::rng::OpRng;
use perbuck_core::units::Seed;
use perbuck_load::driver::BulkTable;
use perbuck_load::statement::Dialect;
use perbuck_load::values::Params;
use perbuck_load::workload::{Check, Dataset, Part, TableSpec};

use super::options::Options;
use super::random::{C_GROUPS, Distribution, PAD_GROUPS, write_groups};

/// Small enough that many sessions load one table, large enough that their order costs nothing.
const ROWS_PER_PART: u32 = 10_000;
/// About 190 bytes each: below half a megabyte, as sysbench's buffer.
const ROWS_PER_BATCH: u32 = 2_500;
/// Sets the streams of rows apart from those of terminals, which have small lane numbers.
const ROW_LANES: u64 = 0x7362_7465_7374_0000;

/// The tables `sbtest1` to `sbtestN`.
#[derive(Debug, Clone)]
pub struct SysbenchData {
    options: Options,
    dialect: Dialect,
    seed: Seed,
}

impl SysbenchData {
    /// The data of these options; the script does not matter.
    pub fn new(options: Options, dialect: Dialect, seed: Seed) -> Self {
        Self { options, dialect, seed }
    }

    fn parts_per_table(&self) -> u32 {
        self.options.table_size.div_ceil(ROWS_PER_PART)
    }

    /// The statements that make table `n`, word for word those of sysbench for MySQL.
    ///
    /// For SQLite the primary key is the rowid, which numbers itself: `auto_inc` makes no difference (AUTOINCREMENT
    /// would add a table of counters to every INSERT). Its index names are global, hence `xid_N`.
    fn create(&self, n: u32) -> Vec<String> {
        let Options { auto_inc, secondary, .. } = self.options;
        let columns = "k INTEGER DEFAULT '0' NOT NULL, c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL";
        match self.dialect {
            Dialect::Mysql => {
                let id = if auto_inc { "INTEGER NOT NULL AUTO_INCREMENT" } else { "INTEGER NOT NULL" };
                let key = if secondary { "KEY xid" } else { "PRIMARY KEY" };
                let engine = &self.options.mysql_storage_engine;
                vec![format!("CREATE TABLE sbtest{n} (id {id}, {columns}, {key} (id)) /*! ENGINE = {engine} */")]
            }
            Dialect::Postgres => {
                let id = if auto_inc { "SERIAL" } else { "INTEGER NOT NULL" };
                if secondary {
                    // sysbench writes `KEY xid`, which PostgreSQL refuses; index names are global there.
                    vec![
                        format!("CREATE TABLE sbtest{n} (id {id}, {columns})"),
                        format!("CREATE INDEX xid_{n} ON sbtest{n} (id)"),
                    ]
                } else {
                    vec![format!("CREATE TABLE sbtest{n} (id {id}, {columns}, PRIMARY KEY (id))")]
                }
            }
            Dialect::Sqlite if secondary => vec![
                format!("CREATE TABLE sbtest{n} (id INTEGER NOT NULL, {columns})"),
                format!("CREATE INDEX xid_{n} ON sbtest{n} (id)"),
            ],
            Dialect::Sqlite => vec![format!("CREATE TABLE sbtest{n} (id INTEGER PRIMARY KEY, {columns})")],
        }
    }
}

impl Dataset for SysbenchData {
    type Part = SysbenchPart;

    fn tables(&self) -> Vec<TableSpec> {
        let table = |n: u32| TableSpec {
            bulk: BulkTable { name: format!("sbtest{n}"), columns: vec!["id", "k", "c", "pad"] },
            create: self.create(n),
            after_load: if self.options.create_secondary {
                vec![format!("CREATE INDEX k_{n} ON sbtest{n}(k)")]
            } else {
                Vec::new()
            },
            rows: Some(u64::from(self.options.table_size)),
        };
        (1..=self.options.tables).map(table).collect()
    }

    fn parts(&self) -> u32 {
        // At most 7 000 tables of 214 749 parts: below 2³².
        self.options.tables * self.parts_per_table()
    }

    fn part(&self, index: u32) -> SysbenchPart {
        let first = index % self.parts_per_table() * ROWS_PER_PART + 1;
        SysbenchPart {
            seed: self.seed,
            table: index / self.parts_per_table(),
            table_size: self.options.table_size,
            distribution: self.options.distribution(),
            next: first,
            end: first.saturating_add(ROWS_PER_PART - 1).min(self.options.table_size),
        }
    }

    fn checks(&self) -> Vec<Check> {
        let size = self.options.table_size;
        let mut checks = Vec::new();
        for n in 1..=self.options.tables {
            let compared = format!("SELECT COUNT(*) FROM sbtest{n}");
            // Without transactions a run that is cut between a DELETE and its INSERT leaves a row out, as in sysbench.
            if !self.options.skip_trx {
                checks.push(Check {
                    name: format!("sbtest{n} rows"),
                    what: format!("sbtest{n} has {size} rows"),
                    compared: compared.clone(),
                    violations: format!("SELECT n FROM (SELECT COUNT(*) AS n FROM sbtest{n}) AS counted WHERE n <> {size}"),
                    columns: vec!["rows"],
                });
            }
            checks.push(Check {
                name: format!("sbtest{n} ids"),
                what: format!("every id of sbtest{n} lies in 1 to {size}"),
                compared,
                violations: format!("SELECT id FROM sbtest{n} WHERE id < 1 OR id > {size} LIMIT 5"),
                columns: vec!["id"],
            });
        }
        checks
    }

    fn parameters(&self) -> BTreeMap<String, String> {
        self.options.data_parameters()
    }

    /// Every DELETE of the scripts is followed by an INSERT of the same id.
    fn grows(&self) -> bool {
        false
    }
}

/// A run of rows of one table.
#[derive(Debug, Clone)]
pub struct SysbenchPart {
    seed: Seed,
    /// From 0.
    table: u32,
    table_size: u32,
    distribution: Distribution,
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
            let mut rng = OpRng::at(self.seed, ROW_LANES | u64::from(self.table), u64::from(id));
            let k = self.distribution.draw(&mut rng, self.table_size);
            cells.int(i64::from(id)).int(k);
            cells.text_with(|out| write_groups(out, &mut rng, C_GROUPS));
            cells.text_with(|out| write_groups(out, &mut rng, PAD_GROUPS));
        }
        self.next = last + 1;
        Some(self.table as usize)
    }
}

#[cfg(test)]
mod tests {
    use perbuck_load::values::Value;

    use super::super::options::tests::options;
    use super::*;

    fn data(numbers: &[(&str, i64)], words: &[(&str, &str)], dialect: Dialect) -> SysbenchData {
        SysbenchData::new(options("oltp_read_write", numbers, words), dialect, Seed(42))
    }

    /// Every row of the parts taken in that order, by table and id.
    fn rows(data: &SysbenchData, parts: impl Iterator<Item = u32>) -> BTreeMap<(usize, i64), Vec<u8>> {
        let mut all = BTreeMap::new();
        let mut cells = Params::default();
        for part in parts {
            let mut part = data.part(part);
            while let Some(table) = part.next_batch(&mut cells) {
                assert!(cells.text_bytes() < 500 * 1024);
                let values: Vec<Value<'_>> = cells.iter().collect();
                for row in values.chunks(4) {
                    let [Value::Int(id), Value::Int(k), Value::Text(c), Value::Text(pad)] = row else { panic!("{row:?}") };
                    assert_eq!((c.len(), pad.len()), (119, 59));
                    assert!((1..=i64::from(data.options.table_size)).contains(k));
                    let text = [k.to_string().as_bytes(), c, pad].concat();
                    assert!(all.insert((table, *id), text).is_none(), "id {id} twice");
                }
            }
        }
        all
    }

    #[test]
    fn data_are_the_same_in_any_order_of_parts() {
        let data = data(&[("tables", 2), ("table_size", 23_456)], &[], Dialect::Mysql);
        assert_eq!(data.parts(), 6);
        let forward = rows(&data, 0..6);
        assert_eq!(forward.len(), 2 * 23_456);
        assert_eq!((forward.keys().next(), forward.keys().last()), (Some(&(0, 1)), Some(&(1, 23_456))));
        assert!(forward == rows(&data, (0..6).rev()));
        assert_ne!(forward[&(0, 7)], forward[&(1, 7)]);
        let other = SysbenchData::new(data.options, Dialect::Mysql, Seed(43));
        assert_ne!(forward[&(0, 7)], rows(&other, 0..1)[&(0, 7)]);
    }

    #[test]
    fn the_largest_table_has_its_last_row() {
        let data = data(&[("tables", 7_000), ("table_size", i64::from(i32::MAX))], &[], Dialect::Mysql);
        let last = rows(&data, data.parts() - 1..data.parts());
        assert_eq!(last.keys().last(), Some(&(6_999, i64::from(i32::MAX))));
    }

    #[test]
    fn mysql_tables_are_those_of_sysbench() {
        let tables = data(&[("tables", 2)], &[], Dialect::Mysql).tables();
        let expected = "CREATE TABLE sbtest2 (id INTEGER NOT NULL AUTO_INCREMENT, k INTEGER DEFAULT '0' NOT NULL, \
                        c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id)) \
                        /*! ENGINE = innodb */";
        assert_eq!((tables.len(), tables[1].create.as_slice()), (2, [expected.to_owned()].as_slice()));
        assert_eq!(tables[1].after_load, ["CREATE INDEX k_2 ON sbtest2(k)"]);
        let words = [("auto_inc", "off"), ("secondary", "on"), ("create_secondary", "off"), ("mysql_storage_engine", "rocksdb")];
        let table = data(&[], &words, Dialect::Mysql).tables().remove(0);
        assert!(table.create[0].starts_with("CREATE TABLE sbtest1 (id INTEGER NOT NULL, k "));
        assert!(table.create[0].ends_with("KEY xid (id)) /*! ENGINE = rocksdb */"));
        assert!(table.after_load.is_empty());
    }

    #[test]
    fn sqlite_uses_the_rowid_unless_a_plain_index_is_wanted() {
        let table = data(&[], &[], Dialect::Sqlite).tables().remove(0);
        assert!(table.create[0].contains("id INTEGER PRIMARY KEY,"));
        let table = data(&[], &[("secondary", "on")], Dialect::Sqlite).tables().remove(0);
        assert_eq!(table.create[1], "CREATE INDEX xid_1 ON sbtest1 (id)");
    }

    #[test]
    fn rows_are_counted_only_where_a_run_cannot_lose_one() {
        let names = |words: &[(&str, &str)]| -> Vec<String> {
            data(&[], words, Dialect::Sqlite).checks().into_iter().map(|c| c.name).collect()
        };
        assert_eq!(names(&[]), ["sbtest1 rows", "sbtest1 ids"]);
        assert_eq!(names(&[("skip_trx", "on")]), ["sbtest1 ids"]);
    }
}
