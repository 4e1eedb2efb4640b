//! What a TPC-C run may be told.

use std::collections::BTreeMap;
use std::sync::Arc;

use perbuck_core::units::Seed;
use perbuck_core::workload_kind::WorkloadKind;
use perbuck_database::dialect::{Dialect, Feature};
use perbuck_load::workload::Dataset;

use super::compat::drives;
use super::registration::{KIND, PARAMETERS};
use super::{ITEMS, Tpcc, TpccData};
use crate::benchmark::{Benchmark, DataSize, speaks_sql};
use crate::params::{Reader, other_data, put, word_for};

/// The isolation level of the sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    /// A statement sees what others have not committed yet; lower than what 3.4.1 allows.
    ReadUncommitted,
    /// Each statement sees what was committed before it.
    ReadCommitted,
    /// A transaction sees what was committed before its first read.
    RepeatableRead,
    /// As if transactions ran one after the other; what 3.4.1 asks for, beside lower levels for some pairs.
    Serializable,
}

impl Isolation {
    pub(super) fn sql(self) -> String {
        word_for(&ISOLATIONS, &Some(self)).replace('-', " ").to_uppercase()
    }
}

/// How rows are dealt to partitions by their warehouse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartitionType {
    /// By a hash of the warehouse.
    Hash,
    /// Neighbouring warehouses together.
    Range,
    /// Every N-th warehouse together, by name.
    List,
}

/// What a TPC-C run may be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// W of the specification (1.2.1): how many warehouses the database has, 1 to 100 000.
    pub warehouses: u32,
    /// Whether terminals key and think (5.2.5).
    pub wait: bool,
    /// Whether the lines of an order, and the districts of a delivery, are read and written by statements of many rows.
    pub batch: bool,
    /// The isolation level; that of the server where none is given.
    pub isolation: Option<Isolation>,
    /// Whether the ten references between the tables are declared.
    pub foreign_keys: bool,
    /// Partitions of every table but ITEM; 1 is none. 1 to 1024.
    pub partitions: u32,
    /// How rows are dealt to them.
    pub partition_type: PartitionType,
    /// Whether HISTORY has a key of its own, for servers that want one of every table (`sql_require_primary_key`).
    pub history_key: bool,
    /// Whether the traffic of go-tpc is reproduced, which `tiup bench tpcc` runs (`compat = "go-tpc"`).
    pub go_tpc: bool,
    /// Shares of the five transactions in percent, in the order in which they are printed, each transaction drawn by itself
    /// (5.2.4.1); dealt from a deck (5.2.4.2) where none is given.
    pub weights: Option<[u8; 5]>,
    /// Variables that every session sets when it opens: name, and value as SQL has it.
    pub session: Vec<(String, String)>,
}

impl Default for Options {
    fn default() -> Self {
        Self::read(&mut Reader::new(&BTreeMap::new(), &PARAMETERS))
    }
}

/// Rows of a warehouse at its start, an order having ten lines on average (4.3.3.1).
const WAREHOUSE_ROWS: u64 = 499_011;
/// Their bytes and those of ITEM, by the typical lengths of rows in 4.2.2, rounded down.
const WAREHOUSE_BYTES: u64 = 68_000_000;
const ITEM_BYTES: u64 = 8_000_000;

const ISOLATIONS: [(&str, Option<Isolation>); 4] = [
    ("read-uncommitted", Some(Isolation::ReadUncommitted)),
    ("read-committed", Some(Isolation::ReadCommitted)),
    ("repeatable-read", Some(Isolation::RepeatableRead)),
    ("serializable", Some(Isolation::Serializable)),
];
const PARTITION_TYPES: [(&str, PartitionType); 3] =
    [("hash", PartitionType::Hash), ("range", PartitionType::Range), ("list", PartitionType::List)];

/// `weights = "45,43,4,4,4"`.
fn weights(reader: &mut Reader<'_>) -> Option<[u8; 5]> {
    let text = reader.text("weights");
    if text.is_empty() {
        return None;
    }
    let numbers: Option<Vec<u8>> = text.split(',').map(|n| n.trim().parse().ok()).collect();
    let weights = numbers.and_then(|n| <[u8; 5]>::try_from(n).ok());
    let whole = weights.filter(|w| w.iter().map(|w| u32::from(*w)).sum::<u32>() == 100);
    if whole.is_none() {
        let message = format!("`weights` is \"{text}\", not five shares that add up to 100");
        let help = "give them for new_order, payment, order_status, delivery, stock_level, as in \"45,43,4,4,4\"";
        reader.problem("weights", message, help);
    }
    whole
}

/// `session = "name=value&name='text'"`.
pub(crate) fn session(reader: &mut Reader<'_>, key: &'static str) -> Vec<(String, String)> {
    let text = reader.text(key);
    let mut all = Vec::new();
    for part in text.split('&').filter(|p| !p.is_empty()) {
        match part.split_once('=') {
            Some((name, value)) if is_name(name) && is_value(value) => all.push((name.to_owned(), value.to_owned())),
            _ => {
                let message = format!("`{key}` holds \"{part}\", not NAME=VALUE");
                reader.problem(key, message, "give a number, a word or 'text' for each variable, with & between them");
            }
        }
    }
    all
}

/// As it was read.
pub(crate) fn session_text(set: &[(String, String)]) -> String {
    set.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("&")
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.'))
}

/// A number, a word, or text in single quotes without another one in it.
fn is_value(text: &str) -> bool {
    let quoted = text.strip_prefix('\'').and_then(|t| t.strip_suffix('\''));
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '+');
    match quoted {
        Some(inner) => !inner.contains(['\'', '\\']),
        None => !text.is_empty() && text.chars().all(plain),
    }
}

impl Options {
    /// The parameters that decide the data. Those at their defaults are left out, so that data which were loaded before
    /// there was such a parameter are still known.
    pub fn data_parameters(&self) -> BTreeMap<String, String> {
        let mut all = BTreeMap::new();
        let mut put = |key: &str, value: &dyn ToString| put(&mut all, key, value);
        put("warehouses", &self.warehouses);
        if self.foreign_keys {
            put("foreign_keys", &true);
        }
        if self.partitions > 1 {
            put("partitions", &self.partitions);
            put("partition_type", &word_for(&PARTITION_TYPES, &self.partition_type));
        }
        if self.history_key {
            put("history_key", &true);
        }
        all
    }

    pub(super) fn session_statements(&self, dialect: &dyn Dialect) -> Vec<String> {
        let set = self.session.iter().map(|(name, value)| dialect.set_variable(name, value));
        set.chain(self.isolation.and_then(|level| dialect.set_isolation(&level.sql()))).collect()
    }
}

impl Benchmark for Options {
    type Workload = Tpcc;

    fn kind() -> &'static WorkloadKind {
        &KIND
    }

    fn read(reader: &mut Reader<'_>) -> Self {
        let (warehouses, partitions) = (reader.int("warehouses") as u32, reader.int("partitions") as u32);
        let options = Self {
            warehouses,
            partitions,
            wait: reader.switch("wait"),
            batch: reader.switch("batch"),
            isolation: reader.word("isolation", &ISOLATIONS, None),
            foreign_keys: reader.switch("foreign_keys"),
            partition_type: reader.word("partition_type", &PARTITION_TYPES, PartitionType::Hash),
            history_key: reader.switch("history_key"),
            go_tpc: reader.word("compat", &[("go-tpc", true)], false),
            weights: weights(reader),
            session: session(reader, "session"),
        };
        if partitions > warehouses && options.partition_type != PartitionType::Hash {
            let message = format!("`partitions` is {partitions}, but there are only {warehouses} warehouses");
            reader.problem("partitions", message, format!("give {warehouses} at most"));
        }
        if reader.has("partition_type") && partitions == 1 {
            let message = "`partition_type` is given, but there is only one partition";
            reader.problem("partition_type", message, "add `partitions` of at least 2, or leave `partition_type` out");
        }
        if options.go_tpc && reader.has("batch") {
            let message = "`batch` and `compat` are both given; `compat` decides which statements are sent";
            reader.problem("batch", message, "leave one of them out");
        }
        options
    }

    fn dataset(&self, dialect: &'static dyn Dialect, seed: Seed) -> Arc<dyn Dataset> {
        Arc::new(TpccData::new(self.clone(), dialect, seed))
    }

    fn workload(&self, dialect: &'static dyn Dialect, seed: Seed) -> Tpcc {
        Tpcc::new(self.clone(), dialect, seed)
    }

    fn parameters(&self) -> BTreeMap<String, String> {
        let mut all = self.data_parameters();
        let mut put = |key: &str, value: &dyn ToString| put(&mut all, key, value);
        put("wait", &self.wait);
        put("batch", &(self.batch || self.go_tpc));
        put("isolation", &self.isolation.map_or("the server's", |_| word_for(&ISOLATIONS, &self.isolation)));
        put("compat", &if self.go_tpc { "go-tpc" } else { "none" });
        put("foreign_keys", &self.foreign_keys);
        put("partitions", &self.partitions);
        put("history_key", &self.history_key);
        if let Some(weights) = self.weights {
            put("weights", &weights.map(|w| w.to_string()).join(","));
        }
        if !self.session.is_empty() {
            put("session", &session_text(&self.session));
        }
        all
    }

    fn conflict(&self, other: &dyn Benchmark) -> Option<String> {
        let other: &Self = other.options()?;
        other_data(&self.data_parameters(), &other.data_parameters())
    }

    fn size(&self) -> DataSize {
        let warehouses = u64::from(self.warehouses);
        let (rows, bytes) = (ITEMS as u64 + warehouses * WAREHOUSE_ROWS, ITEM_BYTES + warehouses * WAREHOUSE_BYTES);
        DataSize { rows, bytes, grows: true }
    }

    fn refusal(&self, dialect: &dyn Dialect) -> Option<(String, String)> {
        let (split, refers) = (self.partitions > 1, self.foreign_keys);
        let dirty = self.isolation == Some(Isolation::ReadUncommitted);
        let wanted = [
            (split, Feature::Partitions, "`partitions` is given, and", "leave `partitions` out"),
            (refers, Feature::ForeignKeys, "`foreign_keys` is given, and", "leave `foreign_keys` out"),
            (!self.session.is_empty(), Feature::SessionVariables, "`session` is given, and", "leave `session` out"),
            (
                split && refers,
                Feature::ForeignKeysOfPartitions,
                "`foreign_keys` and `partitions` are both given, and",
                "leave one of them out",
            ),
            (
                dirty,
                Feature::ReadUncommitted,
                "`isolation` is \"read-uncommitted\",",
                "ask for \"read-committed\", or leave `isolation` out",
            ),
        ];
        let mut missing = wanted.into_iter().filter(|(wanted, ..)| *wanted);
        let lack = |(_, feature, said, help): (bool, Feature, &str, &str)| {
            dialect.lacks(feature).map(|lack| (format!("{said} {}", lack.why), help.to_owned()))
        };
        speaks_sql(dialect).or_else(|| missing.find_map(lack)).or_else(|| {
            (self.go_tpc && !drives(dialect)).then(|| {
                let message = format!("`compat` is \"go-tpc\", which does not know {}", dialect.name());
                (message, "leave `compat` out, or use another target".to_owned())
            })
        })
    }

    fn paced_by(&self) -> Option<&'static str> {
        self.wait.then_some("wait")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, MYSQL, SQLITE};

    fn read(words: &[(&str, &str)]) -> Result<Options, Vec<String>> {
        testing::read(words).map_err(|found| found.into_iter().map(|p| p.message).collect())
    }

    #[test]
    fn warehouses_have_a_default_and_limits() {
        let of = |warehouses| Options { warehouses, ..Options::default() };
        assert_eq!(read(&[]), Ok(of(1)));
        assert_eq!(read(&[("warehouses", "100000")]), Ok(of(100_000)));
        assert!(read(&[("warehouses", "0")]).is_err());
        assert!(read(&[("warehouses", "100001")]).is_err());
        assert_eq!(of(7).parameters()["warehouses"], "7");
        assert_eq!(of(7).data_parameters(), BTreeMap::from([("warehouses".to_owned(), "7".to_owned())]));
    }

    #[test]
    fn what_decides_the_data_is_told_from_what_decides_the_run() {
        let run = read(&[("wait", "true"), ("isolation", "serializable"), ("batch", "true")]);
        let run = run.unwrap();
        assert_eq!(run.data_parameters(), Options::default().data_parameters());
        assert_eq!((run.parameters()["isolation"].as_str(), run.parameters()["wait"].as_str()), ("serializable", "true"));
        let data = read(&[("warehouses", "8"), ("partitions", "4"), ("partition_type", "range"), ("history_key", "true")]);
        let keys: Vec<String> = data.unwrap().data_parameters().into_keys().collect();
        assert_eq!(keys, ["history_key", "partition_type", "partitions", "warehouses"]);
    }

    #[test]
    fn what_makes_no_sense_together_is_refused() {
        let range = [("warehouses", "2"), ("partitions", "3"), ("partition_type", "list")];
        assert_eq!(read(&range).unwrap_err(), ["`partitions` is 3, but there are only 2 warehouses"]);
        assert!(read(&[("partition_type", "hash")]).unwrap_err()[0].contains("only one partition"));
        let both = read(&[("compat", "go-tpc"), ("batch", "true")]);
        assert!(both.unwrap_err()[0].contains("both given"));
        assert!(read(&[("isolation", "snapshot")]).unwrap_err()[0].contains("\"snapshot\""));
    }

    #[test]
    fn shares_add_up_and_variables_have_values() {
        let of = |key, value: &str| read(&[(key, value)]);
        assert_eq!(of("weights", "45, 43,4,4,4").unwrap().weights, Some([45, 43, 4, 4, 4]));
        assert_eq!(of("weights", "100,0,0,0,0").unwrap().parameters()["weights"], "100,0,0,0,0");
        for wrong in ["45,43,4,4", "45,43,4,4,5", "45,43,4,4,4,0", "a,b,c,d,e", "256,0,0,0,0", "-1,101,0,0,0"] {
            assert!(of("weights", wrong).unwrap_err()[0].contains("add up to 100"), "{wrong}");
        }
        let set = of("session", "tidb_isolation_read_engines='tiflash'&sort_buffer_size=1024").unwrap();
        let expected = ["SET SESSION tidb_isolation_read_engines = 'tiflash'", "SET SESSION sort_buffer_size = 1024"];
        assert_eq!(set.session_statements(MYSQL), expected);
        assert!(set.refusal(SQLITE).is_some() && set.data_parameters() == Options::default().data_parameters());
        for wrong in ["x", "x=", "=1", "x=1; DROP TABLE item", "x='a'b'", "x y=1"] {
            assert!(of("session", wrong).unwrap_err()[0].contains("not NAME=VALUE"), "{wrong}");
        }
    }
}
