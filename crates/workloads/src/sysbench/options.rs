//! The options of sysbench's OLTP scripts, under their own names.

use std::collections::BTreeMap;

use crate::params::Reader;

use super::random::Distribution;

/// Ids are INTEGER columns, whose last value this is.
const MAX_TABLE_SIZE: i64 = i32::MAX as i64;
/// Nine statements per table must stay below the 65 536 that a catalogue numbers.
const MAX_TABLES: i64 = 7_000;
/// No script makes sense with more repetitions of one statement, and a typo should not.
const MAX_REPEATS: i64 = 100_000;

/// Which script is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Script {
    /// One SELECT by key, outside any transaction.
    PointSelect,
    /// Point and range SELECTs in a transaction.
    ReadOnly,
    /// SELECTs, UPDATEs, a DELETE and an INSERT in a transaction.
    ReadWrite,
    /// The UPDATEs, DELETE and INSERT alone, in a transaction.
    WriteOnly,
}

const SCRIPTS: [(&str, Script); 4] = [
    ("oltp_point_select", Script::PointSelect),
    ("oltp_read_only", Script::ReadOnly),
    ("oltp_read_write", Script::ReadWrite),
    ("oltp_write_only", Script::WriteOnly),
];

impl Script {
    /// The name that users of sysbench know, as the only kind of transaction.
    pub fn kinds(self) -> &'static [&'static str] {
        match self {
            Self::PointSelect => &["oltp_point_select"],
            Self::ReadOnly => &["oltp_read_only"],
            Self::ReadWrite => &["oltp_read_write"],
            Self::WriteOnly => &["oltp_write_only"],
        }
    }

    /// The name that users of sysbench know.
    pub fn name(self) -> &'static str {
        self.kinds()[0]
    }

    pub(super) fn reads(self) -> bool {
        self != Self::WriteOnly
    }

    pub(super) fn writes(self) -> bool {
        matches!(self, Self::ReadWrite | Self::WriteOnly)
    }
}

/// The names of the two distributions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RandType {
    /// Every id alike.
    Uniform,
    /// Most ids from a narrow band in the middle; see [`Distribution::Special`].
    Special,
}

/// Options of a script with their effective values. Names and defaults are those of sysbench 1.0.20, but for
/// `rand_type`: 1.0.20 defaults to `special`, whose re-used branch variable makes its numbers odd; ours is `uniform`, as
/// in sysbench 1.1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Which script.
    pub script: Script,
    /// How many tables, `sbtest1` to `sbtestN`.
    pub tables: u32,
    /// Rows per table; ids are 1 to this.
    pub table_size: u32,
    /// Ids per range SELECT.
    pub range_size: u32,
    /// SELECTs by key per transaction; `oltp_point_select` does one, whatever is given.
    pub point_selects: u32,
    /// `SELECT c … BETWEEN` per transaction.
    pub simple_ranges: u32,
    /// `SELECT SUM(k) … BETWEEN` per transaction.
    pub sum_ranges: u32,
    /// `SELECT c … BETWEEN … ORDER BY c` per transaction.
    pub order_ranges: u32,
    /// `SELECT DISTINCT c … BETWEEN … ORDER BY c` per transaction.
    pub distinct_ranges: u32,
    /// `UPDATE … SET k=k+1` per transaction.
    pub index_updates: u32,
    /// `UPDATE … SET c=?` per transaction.
    pub non_index_updates: u32,
    /// DELETE and INSERT of the same id, pairs per transaction.
    pub delete_inserts: u32,
    /// Whether the four range SELECTs are done at all.
    pub range_selects: bool,
    /// Whether BEGIN and COMMIT are left out, so that every statement commits for itself.
    pub skip_trx: bool,
    /// Whether `id` is AUTO_INCREMENT. Loading names every id all the same.
    pub auto_inc: bool,
    /// Whether `id` has a plain index in place of the primary key.
    pub secondary: bool,
    /// Whether `k` has an index, made after the load.
    pub create_secondary: bool,
    /// How ids and `k` are drawn.
    pub rand_type: RandType,
    /// Percent of the ids that are the middle band of `special`.
    pub rand_spec_pct: u32,
    /// Percent of the draws that fall into that band.
    pub rand_spec_res: u32,
    /// Uniform numbers averaged for a draw outside it.
    pub rand_spec_iter: u32,
    /// The ENGINE clause of MySQL.
    pub mysql_storage_engine: String,
}

impl Options {
    /// Reads the options; every problem goes to the reader.
    pub fn read(reader: &mut Reader<'_>) -> Self {
        let mut int = |key, low, high, default| reader.int(key, low..=high, default) as u32;
        let tables = int("tables", 1, MAX_TABLES, 1);
        let table_size = int("table_size", 1, MAX_TABLE_SIZE, 10_000);
        let range_size = int("range_size", 1, MAX_TABLE_SIZE, 100);
        let mut repeats = |key, default| int(key, 0, MAX_REPEATS, default);
        let point_selects = repeats("point_selects", 10);
        let simple_ranges = repeats("simple_ranges", 1);
        let sum_ranges = repeats("sum_ranges", 1);
        let order_ranges = repeats("order_ranges", 1);
        let distinct_ranges = repeats("distinct_ranges", 1);
        let index_updates = repeats("index_updates", 1);
        let non_index_updates = repeats("non_index_updates", 1);
        let delete_inserts = repeats("delete_inserts", 1);
        let rand_spec_pct = int("rand_spec_pct", 1, 100, 1);
        let rand_spec_res = int("rand_spec_res", 0, 100, 75);
        let rand_spec_iter = int("rand_spec_iter", 1, 1_000, 12);
        let options = Self {
            script: reader.word("script", &SCRIPTS, Script::ReadWrite),
            tables,
            table_size,
            range_size,
            point_selects,
            simple_ranges,
            sum_ranges,
            order_ranges,
            distinct_ranges,
            index_updates,
            non_index_updates,
            delete_inserts,
            range_selects: reader.switch("range_selects", true),
            skip_trx: reader.switch("skip_trx", false),
            auto_inc: reader.switch("auto_inc", true),
            secondary: reader.switch("secondary", false),
            create_secondary: reader.switch("create_secondary", true),
            rand_type: reader.word("rand_type", &RAND_TYPES, RandType::Uniform),
            rand_spec_pct,
            rand_spec_res,
            rand_spec_iter,
            mysql_storage_engine: reader.identifier("mysql_storage_engine", "innodb"),
        };
        if options.statements_per_event() == 0 {
            let message = format!("`{}` would send no statement: all its counts are 0", options.script.name());
            reader.problem("script", message, "give at least one of its statements a count above 0");
        }
        options
    }

    /// Every option with its effective value, in sysbench's notation.
    pub fn parameters(&self) -> BTreeMap<String, String> {
        let mut all = self.data_parameters();
        let mut put = |key: &str, value: String| all.insert(key.to_owned(), value);
        put("script", self.script.name().to_owned());
        put("range_size", self.range_size.to_string());
        put("point_selects", self.point_selects().to_string());
        put("simple_ranges", self.simple_ranges.to_string());
        put("sum_ranges", self.sum_ranges.to_string());
        put("order_ranges", self.order_ranges.to_string());
        put("distinct_ranges", self.distinct_ranges.to_string());
        put("index_updates", self.index_updates.to_string());
        put("non_index_updates", self.non_index_updates.to_string());
        put("delete_inserts", self.delete_inserts.to_string());
        put("range_selects", on_off(self.range_selects));
        put("skip_trx", on_off(self.skip_trx));
        put("rand_spec_pct", self.rand_spec_pct.to_string());
        put("rand_spec_res", self.rand_spec_res.to_string());
        put("rand_spec_iter", self.rand_spec_iter.to_string());
        all
    }

    /// The options that decide the data, so that all scripts can run on the same tables.
    pub(super) fn data_parameters(&self) -> BTreeMap<String, String> {
        let mut all = BTreeMap::new();
        let mut put = |key: &str, value: String| all.insert(key.to_owned(), value);
        put("tables", self.tables.to_string());
        put("table_size", self.table_size.to_string());
        put("auto_inc", on_off(self.auto_inc));
        put("secondary", on_off(self.secondary));
        put("create_secondary", on_off(self.create_secondary));
        put("mysql_storage_engine", self.mysql_storage_engine.clone());
        let rand_type = RAND_TYPES.iter().find(|(_, t)| *t == self.rand_type).map_or("", |(word, _)| word);
        put("rand_type", rand_type.to_owned());
        if self.rand_type == RandType::Special {
            put("rand_spec_pct", self.rand_spec_pct.to_string());
            put("rand_spec_res", self.rand_spec_res.to_string());
            put("rand_spec_iter", self.rand_spec_iter.to_string());
        }
        all
    }

    /// SELECTs by key per transaction.
    pub(super) fn point_selects(&self) -> u32 {
        if self.script == Script::PointSelect { 1 } else { self.point_selects }
    }

    /// How ids and `k` are drawn.
    pub(super) fn distribution(&self) -> Distribution {
        match self.rand_type {
            RandType::Uniform => Distribution::Uniform,
            RandType::Special => {
                let (band_percent, share_percent) = (self.rand_spec_pct, self.rand_spec_res);
                Distribution::Special { band_percent, share_percent, averaged: self.rand_spec_iter }
            }
        }
    }

    /// Statements of one event, BEGIN and COMMIT aside.
    fn statements_per_event(&self) -> u64 {
        let mut all = 0;
        if self.script.reads() {
            all += u64::from(self.point_selects());
        }
        if self.script.reads() && self.script != Script::PointSelect && self.range_selects {
            let ranges = [self.simple_ranges, self.sum_ranges, self.order_ranges, self.distinct_ranges];
            all += ranges.into_iter().map(u64::from).sum::<u64>();
        }
        if self.script.writes() {
            let writes = [self.index_updates, self.non_index_updates, self.delete_inserts];
            all += writes.into_iter().map(u64::from).sum::<u64>();
        }
        all
    }
}

const RAND_TYPES: [(&str, RandType); 2] = [("uniform", RandType::Uniform), ("special", RandType::Special)];

fn on_off(value: bool) -> String {
    if value { "on" } else { "off" }.to_owned()
}

#[cfg(test)]
pub(super) mod tests {
    use perbuck_core::study::{Located, Scalar};

    use super::*;
    use crate::params::ParamProblem;

    fn read(pairs: &[(&str, Scalar)]) -> Result<Options, Vec<ParamProblem>> {
        let given = pairs.iter().map(|(k, v)| ((*k).to_owned(), Located { value: v.clone(), line: 1 })).collect();
        let mut reader = Reader::new(&given);
        let options = Options::read(&mut reader);
        reader.finish().map(|()| options)
    }

    /// Options from integers and words, for the tests of the neighbours.
    pub(in super::super) fn options(script: &str, numbers: &[(&str, i64)], words: &[(&str, &str)]) -> Options {
        let mut pairs = vec![("script", Scalar::Text(script.to_owned()))];
        pairs.extend(numbers.iter().map(|(k, v)| (*k, Scalar::Int(*v))));
        pairs.extend(words.iter().map(|(k, v)| (*k, Scalar::Text((*v).to_owned()))));
        read(&pairs).unwrap()
    }

    #[test]
    fn defaults_are_those_of_sysbench() {
        let all = read(&[]).unwrap().parameters();
        let expected = [
            ("auto_inc", "on"),
            ("create_secondary", "on"),
            ("delete_inserts", "1"),
            ("distinct_ranges", "1"),
            ("index_updates", "1"),
            ("mysql_storage_engine", "innodb"),
            ("non_index_updates", "1"),
            ("order_ranges", "1"),
            ("point_selects", "10"),
            ("rand_spec_iter", "12"),
            ("rand_spec_pct", "1"),
            ("rand_spec_res", "75"),
            ("rand_type", "uniform"),
            ("range_selects", "on"),
            ("range_size", "100"),
            ("script", "oltp_read_write"),
            ("secondary", "off"),
            ("simple_ranges", "1"),
            ("skip_trx", "off"),
            ("sum_ranges", "1"),
            ("table_size", "10000"),
            ("tables", "1"),
        ];
        assert_eq!(all.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn every_problem_is_reported() {
        let given = [
            ("table_size", Scalar::Int(1 << 31)),
            ("script", Scalar::Text("oltp_read_wrte".into())),
            ("mysql_storage_engine", Scalar::Text("innodb; DROP TABLE x".into())),
            ("rand_type", Scalar::Text("zipfian".into())),
            ("table-size", Scalar::Int(5)),
        ];
        let problems = read(&given).unwrap_err();
        let mut keys: Vec<&str> = problems.iter().map(|p| p.key.as_str()).collect();
        keys.sort_unstable();
        assert_eq!(keys, ["mysql_storage_engine", "rand_type", "script", "table-size", "table_size"]);
        assert!(problems.iter().any(|p| p.help.contains("oltp_read_write")), "{problems:?}");
    }

    #[test]
    fn a_script_that_would_do_nothing_is_refused() {
        let none = [("index_updates", 0), ("non_index_updates", 0), ("delete_inserts", 0)];
        let mut pairs: Vec<(&str, Scalar)> = none.iter().map(|(k, v)| (*k, Scalar::Int(*v))).collect();
        assert!(read(&pairs).is_ok());
        pairs.push(("script", Scalar::Text("oltp_write_only".into())));
        assert_eq!(read(&pairs).unwrap_err()[0].key, "script");
    }

    #[test]
    fn scripts_share_their_data() {
        let of = |script| options(script, &[("point_selects", 3)], &[]).data_parameters();
        assert_eq!(of("oltp_read_only"), of("oltp_write_only"));
        assert_eq!(options("oltp_point_select", &[("point_selects", 3)], &[]).parameters()["point_selects"], "1");
    }
}
