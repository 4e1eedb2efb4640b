//! The options of sysbench's scripts, under their own names.

mod list;

#[cfg(test)]
#[path = "tests.rs"]
pub(super) mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use perbuck_core::units::Seed;
use perbuck_core::workload_kind::WorkloadKind;
use perbuck_database::Dialect;
use perbuck_load::workload::Dataset;

use crate::benchmark::{Benchmark, DataSize, speaks_sql};
use crate::params::{Reader, other_data, put, word_for};

use super::compat::{COMPATS, Compat};
use super::random::Ids;
use super::script::{SCRIPTS, Script};
use super::{KIND, Sysbench, SysbenchData};
use list::on_off;

pub use list::{OPTIONS, option_help, option_value};

/// Ids are INTEGER columns, whose last value this is.
const MAX_TABLE_SIZE: i64 = i32::MAX as i64;
/// Nine statements per table must stay below the 65 536 that a catalogue numbers.
const MAX_TABLES: i64 = 7_000;
/// No script makes sense with more repetitions of one statement, and a typo should not.
const MAX_REPEATS: i64 = 100_000;
/// Values of one statement; every database takes this many, and not many more.
const MAX_VALUES: i64 = 10_000;
/// Tables of bulk_insert; as many connections as one client can well have.
const MAX_THREADS: i64 = 100_000;

/// Bytes of the values of a row: `c` has 119, `pad` 59.
const ROW_BYTES: u64 = 190;

/// How ids are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RandType {
    /// Every id alike.
    Uniform,
    /// The mean of so many uniform draws over the whole range (`rand_spec_iter`): nearly Gaussian, hottest in the middle.
    Gaussian,
    /// A share of the draws (`rand_spec_res`, in percent) falls evenly into a band in the middle of the range. Its width is
    /// `rand_spec_pct` percent of the range, at least one id. The other draws are as in [`Self::Gaussian`]. This is what the
    /// documentation of sysbench 1.0 promises; its code never picks the first part of the band, and `compat` takes its draws.
    Special,
    /// The share of the draws that fall among the first `x` of `n` ids is `(x / n)^(ln(1 − h) / ln h)`: the first `h · n` ids
    /// get the share `1 − h` (`rand_pareto_h`).
    Pareto,
    /// The id of rank `r` is drawn in proportion to `r^−exponent` (`rand_zipfian_exp`).
    Zipfian,
}

const RAND_TYPES: [(&str, RandType); 5] = [
    ("uniform", RandType::Uniform),
    ("gaussian", RandType::Gaussian),
    ("special", RandType::Special),
    ("pareto", RandType::Pareto),
    ("zipfian", RandType::Zipfian),
];

impl RandType {
    /// The word that options use.
    pub fn name(self) -> &'static str {
        word_for(&RAND_TYPES, &self)
    }
}

/// Options of a script with their effective values. Names and defaults are those of sysbench, whose versions 1.0.20 and
/// 1.1 differ in the default of `rand_type` alone: ours is `uniform`, as in 1.1. [`OPTIONS`] says what each option does.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Which script.
    pub script: Script,
    /// Whose defaults and draws are taken.
    pub(crate) compat: Option<Compat>,
    /// How many tables, `sbtest1` to `sbtestN`.
    pub tables: u32,
    /// Rows per table; ids are 1 to this.
    pub table_size: u32,
    pub(crate) range_size: u32,
    /// SELECTs by key per transaction; `oltp_point_select` does one, whatever is given.
    pub(crate) point_selects: u32,
    pub(crate) simple_ranges: u32,
    pub(crate) sum_ranges: u32,
    pub(crate) order_ranges: u32,
    pub(crate) distinct_ranges: u32,
    /// `UPDATE … SET k=k+1` per transaction, or per event of `oltp_update_index`.
    pub(crate) index_updates: u32,
    /// `UPDATE … SET c=?` per transaction, or per event of `oltp_update_non_index`.
    pub(crate) non_index_updates: u32,
    pub(crate) delete_inserts: u32,
    pub(crate) range_selects: bool,
    /// Whether BEGIN and COMMIT are left out, so that every statement commits for itself.
    pub skip_trx: bool,
    /// Whether the database numbers new rows. Loading names every id all the same.
    pub(crate) auto_inc: bool,
    pub(crate) secondary: bool,
    pub(crate) create_secondary: bool,
    /// Events after which a connection is opened again; 0 is never.
    pub(crate) reconnect: u32,
    pub(crate) mysql_storage_engine: String,
    pub(crate) create_table_options: String,
    /// Whether tables are made for Redshift: no index on `k`, no DELETE and INSERT, no SERIAL.
    pub(crate) redshift: bool,
    pub(crate) random_points: u32,
    pub(crate) number_of_ranges: u32,
    /// Distance between the ends of such a range, both of which belong to it.
    pub(crate) delta: u32,
    pub(crate) threads: u32,
    /// How ids are drawn, and `k` of the rows that transactions insert.
    pub rand_type: RandType,
    /// How `k` of the loaded rows is drawn.
    pub(crate) data_rand_type: RandType,
    /// Uniform numbers averaged for a draw of `gaussian`, and of `special` outside its band.
    pub(crate) rand_spec_iter: u32,
    pub(crate) rand_spec_pct: u32,
    pub(crate) rand_spec_res: u32,
    pub(crate) rand_pareto_h: f64,
    pub(crate) rand_zipfian_exp: f64,
    pub(crate) rand_scramble: bool,
}

impl Options {
    /// The options that decide the data, so that all scripts can run on the same tables.
    pub(super) fn data_parameters(&self) -> BTreeMap<String, String> {
        let mut all = BTreeMap::new();
        let mut put = |key: &str, value: &dyn ToString| put(&mut all, key, value);
        if self.script == Script::BulkInsert {
            put("columns", &"id, k");
            put("threads", &self.threads);
            return all;
        }
        put("tables", &self.tables);
        put("table_size", &self.table_size);
        if self.rows_per_table() == 0 {
            put("rows", &"0");
        }
        put("auto_inc", &on_off(self.auto_inc));
        put("secondary", &on_off(self.secondary));
        put("create_secondary", &on_off(self.create_secondary));
        put("mysql_storage_engine", &self.mysql_storage_engine);
        if !self.create_table_options.is_empty() {
            put("create_table_options", &self.create_table_options);
        }
        if self.redshift {
            put("pgsql_variant", &"redshift");
        }
        put("rand_type", &self.data_rand_type.name());
        if matches!(self.data_rand_type, RandType::Special | RandType::Gaussian) {
            put("rand_spec_iter", &self.rand_spec_iter);
        }
        match self.data_rand_type {
            RandType::Uniform | RandType::Gaussian => {}
            RandType::Special => {
                put("rand_spec_pct", &self.rand_spec_pct);
                put("rand_spec_res", &self.rand_spec_res);
                if self.compat == Some(Compat::Sysbench10) {
                    put("compat", &Compat::Sysbench10.name());
                }
            }
            RandType::Pareto => put("rand_pareto_h", &self.rand_pareto_h),
            RandType::Zipfian => put("rand_zipfian_exp", &self.rand_zipfian_exp),
        }
        if self.rand_scramble && self.data_rand_type != RandType::Uniform {
            put("rand_scramble", &on_off(true));
        }
        all
    }

    /// What the values do not allow together.
    fn check(&self, reader: &mut Reader<'_>) {
        for option in OPTIONS.iter().filter(|o| !list::belongs_to(o.name, self.script)) {
            if !reader.has(option.name) {
                continue;
            }
            let (name, script) = (option.name, self.script.name());
            let help = match (self.script, name) {
                (Script::BulkInsert, "tables") => "it fills one table for each connection; `threads` says how many",
                _ => "leave it out",
            };
            reader.problem(name, format!("`{name}` is no option of {script}"), help);
        }
        if self.script != Script::BulkInsert && self.statements_per_event() == 0 {
            let message = format!("`{}` would send no statement: all its counts are 0", self.script.name());
            reader.problem("script", message, "give at least one of its statements a count above 0");
        }
        for (key, rand_type) in [("rand_type", self.rand_type), ("data_rand_type", self.data_rand_type)] {
            if let Some(compat) = self.compat.filter(|c| !c.knows(rand_type) && (key == "rand_type" || reader.has(key))) {
                let message = format!("`{key}` is \"{}\", which {} does not have", rand_type.name(), compat.name());
                reader.problem(key, message, "choose another distribution, or leave out `compat`");
            }
        }
    }

    pub(super) fn point_selects(&self) -> u32 {
        if self.script == Script::PointSelect { 1 } else { self.point_selects }
    }

    /// Draws ids of a table, and values of `k` of new rows.
    pub fn ids(&self) -> Ids {
        Ids::new((self, self.rand_type), 1, i64::from(self.table_size))
    }

    /// Draws values of `k` of the rows that are loaded.
    pub(super) fn loaded_ks(&self) -> Ids {
        Ids::new((self, self.data_rand_type), 1, i64::from(self.table_size))
    }

    /// Rows that the load puts into each table. As in sysbench, the client numbers its new rows in tables that begin empty.
    pub(super) fn rows_per_table(&self) -> u32 {
        match self.script {
            Script::BulkInsert => 0,
            Script::Insert if !self.auto_inc => 0,
            _ => self.table_size,
        }
    }

    /// The tables are `sbtest1` to this.
    pub fn table_count(&self) -> u32 {
        if self.script == Script::BulkInsert { self.threads } else { self.tables }
    }

    /// How often an event does each of its statements by id: points, four ranges, updates of `k` and of `c`, DELETEs, INSERTs.
    pub(super) fn repeats(&self) -> [u32; 9] {
        let script = self.script;
        let when = |done: bool, repeats: u32| if done { repeats } else { 0 };
        let (reads, writes) = (matches!(script, Script::ReadOnly | Script::ReadWrite), script.deletes_and_inserts());
        let ranged = reads && self.range_selects;
        let pairs = when(writes, self.delete_inserts);
        [
            when(reads || script == Script::PointSelect, self.point_selects()),
            when(ranged, self.simple_ranges),
            when(ranged, self.sum_ranges),
            when(ranged, self.order_ranges),
            when(ranged, self.distinct_ranges),
            when(writes || script == Script::UpdateIndex, self.index_updates),
            when(writes || script == Script::UpdateNonIndex, self.non_index_updates),
            if script == Script::Delete { 1 } else { pairs },
            pairs,
        ]
    }

    /// Statements of one event, BEGIN and COMMIT aside.
    pub(super) fn statements_per_event(&self) -> u64 {
        match self.script {
            Script::Insert | Script::RandomPoints | Script::RandomRanges => 1,
            _ => self.repeats().map(u64::from).iter().sum(),
        }
    }
}

impl Benchmark for Options {
    type Workload = Sysbench;

    fn kind() -> &'static WorkloadKind {
        &KIND
    }

    fn read(reader: &mut Reader<'_>) -> Self {
        let script = reader.word("script", &SCRIPTS, Script::ReadWrite);
        let compat = reader.word("compat", &COMPATS.map(|(name, compat)| (name, Some(compat))), None);
        let rand_type = reader.word("rand_type", &RAND_TYPES, Compat::rand_type(compat));
        let mut options = Self {
            script,
            compat,
            tables: reader.int("tables") as u32,
            table_size: reader.int("table_size") as u32,
            range_size: reader.int("range_size") as u32,
            point_selects: reader.int("point_selects") as u32,
            simple_ranges: reader.int("simple_ranges") as u32,
            sum_ranges: reader.int("sum_ranges") as u32,
            order_ranges: reader.int("order_ranges") as u32,
            distinct_ranges: reader.int("distinct_ranges") as u32,
            index_updates: reader.int("index_updates") as u32,
            non_index_updates: reader.int("non_index_updates") as u32,
            delete_inserts: reader.int("delete_inserts") as u32,
            range_selects: reader.switch("range_selects"),
            skip_trx: reader.switch("skip_trx"),
            auto_inc: reader.switch("auto_inc"),
            secondary: reader.switch("secondary"),
            create_secondary: reader.switch("create_secondary"),
            reconnect: reader.int("reconnect") as u32,
            mysql_storage_engine: reader.identifier("mysql_storage_engine"),
            create_table_options: table_options(reader),
            redshift: reader.word("pgsql_variant", &[("", false), ("redshift", true)], false),
            random_points: reader.int("random_points") as u32,
            number_of_ranges: reader.int("number_of_ranges") as u32,
            delta: reader.int("delta") as u32,
            threads: reader.int("threads") as u32,
            rand_type,
            data_rand_type: reader.word("data_rand_type", &RAND_TYPES, rand_type),
            rand_spec_iter: reader.int("rand_spec_iter") as u32,
            rand_spec_pct: reader.int("rand_spec_pct") as u32,
            rand_spec_res: reader.int("rand_spec_res") as u32,
            rand_pareto_h: reader.number("rand_pareto_h"),
            rand_zipfian_exp: reader.number("rand_zipfian_exp"),
            rand_scramble: reader.switch("rand_scramble"),
        };
        if options.redshift {
            (options.auto_inc, options.create_secondary, options.delete_inserts) = (false, false, 0);
        }
        options.check(reader);
        options
    }

    fn dataset(&self, dialect: &'static dyn Dialect, seed: Seed) -> Arc<dyn Dataset> {
        Arc::new(SysbenchData::new(self.clone(), dialect, seed))
    }

    fn workload(&self, dialect: &'static dyn Dialect, _seed: Seed) -> Sysbench {
        Sysbench::new(self, dialect)
    }

    /// Those that bear on the script, in sysbench's notation.
    fn parameters(&self) -> BTreeMap<String, String> {
        let mut all = self.data_parameters();
        let mut put = |key: &str, value: &dyn ToString| put(&mut all, key, value);
        put("script", &self.script.name());
        if self.rand_type != self.data_rand_type {
            put("data_rand_type", &self.data_rand_type.name());
            put("rand_type", &self.rand_type.name());
        }
        if let Some(compat) = self.compat {
            put("compat", &compat.name());
        }
        if self.reconnect > 0 {
            put("reconnect", &self.reconnect);
        }
        match self.script {
            Script::PointSelect | Script::ReadOnly | Script::ReadWrite | Script::WriteOnly => {
                put("range_size", &self.range_size);
                put("point_selects", &self.point_selects());
                put("simple_ranges", &self.simple_ranges);
                put("sum_ranges", &self.sum_ranges);
                put("order_ranges", &self.order_ranges);
                put("distinct_ranges", &self.distinct_ranges);
                put("index_updates", &self.index_updates);
                put("non_index_updates", &self.non_index_updates);
                put("delete_inserts", &self.delete_inserts);
                put("range_selects", &on_off(self.range_selects));
                put("skip_trx", &on_off(self.skip_trx));
                put("rand_spec_pct", &self.rand_spec_pct);
                put("rand_spec_res", &self.rand_spec_res);
                put("rand_spec_iter", &self.rand_spec_iter);
            }
            Script::UpdateIndex => put("index_updates", &self.index_updates),
            Script::UpdateNonIndex => put("non_index_updates", &self.non_index_updates),
            Script::RandomPoints => put("random_points", &self.random_points),
            Script::RandomRanges => {
                put("number_of_ranges", &self.number_of_ranges);
                put("delta", &self.delta);
            }
            Script::Insert | Script::Delete | Script::BulkInsert => {}
        }
        all
    }

    fn conflict(&self, other: &dyn Benchmark) -> Option<String> {
        let other: &Self = other.options()?;
        if let Some(why) = other_data(&self.data_parameters(), &other.data_parameters()) {
            return Some(why);
        }
        let changing = [self, other].into_iter().find(|o| o.script.changes_row_counts() && self.script != other.script)?;
        Some(format!("{} changes how many rows they have", changing.script.name()))
    }

    fn refusal(&self, dialect: &dyn Dialect) -> Option<(String, String)> {
        speaks_sql(dialect)
    }

    fn size(&self) -> DataSize {
        let rows = u64::from(self.rows_per_table()) * u64::from(self.table_count());
        DataSize { rows, bytes: rows * ROW_BYTES, grows: self.script.changes_row_counts() }
    }

    fn connections_max(&self) -> Option<(u32, &'static str)> {
        (self.script == Script::BulkInsert).then_some((self.threads, "threads"))
    }

    fn needs_values(&self) -> bool {
        false
    }
}

/// The text after CREATE TABLE, under its name of 1.1 or the older one.
fn table_options(reader: &mut Reader<'_>) -> String {
    let (text, older) = (reader.text("create_table_options"), reader.text("mysql_table_options"));
    if !text.is_empty() && !older.is_empty() {
        let message = "`mysql_table_options` is the older name of `create_table_options`, and both are given";
        reader.problem("mysql_table_options", message, "give one of them");
    }
    if text.is_empty() { older } else { text }
}
