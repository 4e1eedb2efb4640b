//! What a TPC-C run may be told.

use std::collections::BTreeMap;

use perbuck_load::statement::Dialect;

use crate::params::Reader;

/// The isolation level of the sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    /// Each statement sees what was committed before it.
    ReadCommitted,
    /// A transaction sees what was committed before its first read.
    RepeatableRead,
    /// As if transactions ran one after the other; what 3.4.1 asks for, beside lower levels for some pairs.
    Serializable,
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

/// Another program whose traffic is reproduced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compat {
    /// go-tpc, which `tiup bench tpcc` runs.
    GoTpc,
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
    /// Whose traffic is reproduced; by the specification where none is given.
    pub compat: Option<Compat>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            warehouses: 1,
            wait: false,
            batch: false,
            isolation: None,
            foreign_keys: false,
            partitions: 1,
            partition_type: PartitionType::Hash,
            history_key: false,
            compat: None,
        }
    }
}

const ISOLATIONS: [(&str, Option<Isolation>); 3] = [
    ("read-committed", Some(Isolation::ReadCommitted)),
    ("repeatable-read", Some(Isolation::RepeatableRead)),
    ("serializable", Some(Isolation::Serializable)),
];
const PARTITION_TYPES: [(&str, PartitionType); 3] =
    [("hash", PartitionType::Hash), ("range", PartitionType::Range), ("list", PartitionType::List)];
const COMPATS: [(&str, Option<Compat>); 1] = [("go-tpc", Some(Compat::GoTpc))];

/// The word for a value.
fn word<T: PartialEq>(words: &[(&'static str, T)], value: &T) -> Option<&'static str> {
    words.iter().find(|(_, v)| v == value).map(|(word, _)| *word)
}

impl Options {
    /// Reads the parameters. Problems stay in the reader.
    pub fn read(reader: &mut Reader<'_>) -> Self {
        let mut int = |key, most| u32::try_from(reader.int(key, 1..=most, 1)).unwrap_or(1);
        let (warehouses, partitions) = (int("warehouses", 100_000), int("partitions", 1_024));
        let options = Self {
            warehouses,
            partitions,
            wait: reader.switch("wait", false),
            batch: reader.switch("batch", false),
            isolation: reader.word("isolation", &ISOLATIONS, None),
            foreign_keys: reader.switch("foreign_keys", false),
            partition_type: reader.word("partition_type", &PARTITION_TYPES, PartitionType::Hash),
            history_key: reader.switch("history_key", false),
            compat: reader.word("compat", &COMPATS, None),
        };
        if partitions > warehouses && options.partition_type != PartitionType::Hash {
            let message = format!("`partitions` is {partitions}, and there are {warehouses} warehouses to deal to them");
            reader.problem("partitions", message, format!("give {warehouses} at most"));
        }
        if reader.has("partition_type") && partitions == 1 {
            let message = "`partition_type` says how rows are dealt to partitions, and there is one only";
            reader.problem("partition_type", message, "add `partitions`, from 2 on");
        }
        if options.compat.is_some() && reader.has("batch") {
            let message = "`batch` is given beside `compat`, which sends the statements of that program";
            reader.problem("batch", message, "leave one of them out");
        }
        options
    }

    /// Every parameter with its effective value.
    pub fn parameters(&self) -> BTreeMap<String, String> {
        let none = || "none".to_owned();
        let word_or = |word: Option<&str>, other: &str| word.unwrap_or(other).to_owned();
        let mut all = BTreeMap::from([
            ("wait".to_owned(), self.wait.to_string()),
            ("batch".to_owned(), (self.batch || self.compat.is_some()).to_string()),
            ("isolation".to_owned(), word_or(word(&ISOLATIONS, &self.isolation), "the server's")),
            ("compat".to_owned(), word(&COMPATS, &self.compat).map_or_else(none, str::to_owned)),
            ("foreign_keys".to_owned(), self.foreign_keys.to_string()),
            ("partitions".to_owned(), self.partitions.to_string()),
            ("history_key".to_owned(), self.history_key.to_string()),
        ]);
        all.extend(self.data_parameters());
        all
    }

    /// The parameters that decide the data. Those at their defaults are left out, so that data which were loaded before
    /// there was such a parameter are still known.
    pub fn data_parameters(&self) -> BTreeMap<String, String> {
        let mut data = BTreeMap::from([("warehouses".to_owned(), self.warehouses.to_string())]);
        if self.foreign_keys {
            data.insert("foreign_keys".to_owned(), "true".to_owned());
        }
        if self.partitions > 1 {
            data.insert("partitions".to_owned(), self.partitions.to_string());
            let dealt = word(&PARTITION_TYPES, &self.partition_type).unwrap_or_default();
            data.insert("partition_type".to_owned(), dealt.to_owned());
        }
        if self.history_key {
            data.insert("history_key".to_owned(), "true".to_owned());
        }
        data
    }

    /// What that kind of database does not have: what is wrong, and the way out.
    pub fn refusal(&self, dialect: Dialect) -> Option<(String, String)> {
        let refuse = |message: &str, help: &str| Some((message.to_owned(), help.to_owned()));
        match dialect {
            Dialect::Sqlite if self.partitions > 1 => {
                refuse("`partitions` is given, and SQLite has no partitioned tables", "leave `partitions` out")
            }
            Dialect::Sqlite if self.foreign_keys => {
                refuse("`foreign_keys` is given, and SQLite cannot add them to tables that are there", "leave `foreign_keys` out")
            }
            Dialect::Sqlite if self.compat == Some(Compat::GoTpc) => {
                refuse("`compat` is \"go-tpc\", which does not know SQLite", "leave `compat` out, or use another target")
            }
            Dialect::Mysql if self.partitions > 1 && self.foreign_keys => refuse(
                "`foreign_keys` is given beside `partitions`, and MySQL and MariaDB have no foreign keys on partitioned tables",
                "leave one of them out",
            ),
            Dialect::Mysql | Dialect::Postgres | Dialect::Sqlite => None,
        }
    }

    /// What a session is told when it opens. SQLite has one level, which is serializable.
    pub(super) fn session_statements(&self, dialect: Dialect) -> Vec<String> {
        let Some(level) = self.isolation else { return Vec::new() };
        let level = match level {
            Isolation::ReadCommitted => "READ COMMITTED",
            Isolation::RepeatableRead => "REPEATABLE READ",
            Isolation::Serializable => "SERIALIZABLE",
        };
        match dialect {
            Dialect::Mysql => vec![format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}")],
            Dialect::Postgres => vec![format!("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL {level}")],
            Dialect::Sqlite => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use perbuck_core::study::{Located, Scalar};

    use super::*;

    fn read(given: &[(&str, Scalar)]) -> Result<Options, Vec<String>> {
        let located = |(key, value): &(&str, Scalar)| ((*key).to_owned(), Located { value: value.clone(), line: 1 });
        let given = given.iter().map(located).collect();
        let mut reader = Reader::new(&given);
        let options = Options::read(&mut reader);
        reader.finish().map(|()| options).map_err(|found| found.into_iter().map(|p| p.message).collect())
    }

    fn text(word: &str) -> Scalar {
        Scalar::Text(word.to_owned())
    }

    #[test]
    fn warehouses_have_a_default_and_limits() {
        let of = |warehouses| Options { warehouses, ..Options::default() };
        assert_eq!(read(&[]), Ok(of(1)));
        assert_eq!(read(&[("warehouses", Scalar::Int(100_000))]), Ok(of(100_000)));
        assert!(read(&[("warehouses", Scalar::Int(0))]).is_err());
        assert!(read(&[("warehouses", Scalar::Int(100_001))]).is_err());
        assert_eq!(of(7).parameters()["warehouses"], "7");
        assert_eq!(of(7).data_parameters(), BTreeMap::from([("warehouses".to_owned(), "7".to_owned())]));
    }

    #[test]
    fn what_decides_the_data_is_told_from_what_decides_the_run() {
        let run = read(&[("wait", Scalar::Bool(true)), ("isolation", text("serializable")), ("batch", Scalar::Bool(true))]);
        let run = run.unwrap();
        assert_eq!(run.data_parameters(), Options::default().data_parameters());
        assert_eq!((run.parameters()["isolation"].as_str(), run.parameters()["wait"].as_str()), ("serializable", "true"));
        let data = read(&[
            ("warehouses", Scalar::Int(8)),
            ("partitions", Scalar::Int(4)),
            ("partition_type", text("range")),
            ("history_key", Scalar::Bool(true)),
        ]);
        let keys: Vec<String> = data.unwrap().data_parameters().into_keys().collect();
        assert_eq!(keys, ["history_key", "partition_type", "partitions", "warehouses"]);
    }

    #[test]
    fn what_makes_no_sense_together_is_refused() {
        let range = [("warehouses", Scalar::Int(2)), ("partitions", Scalar::Int(3)), ("partition_type", text("list"))];
        assert_eq!(read(&range).unwrap_err(), ["`partitions` is 3, and there are 2 warehouses to deal to them"]);
        assert!(read(&[("partition_type", text("hash"))]).unwrap_err()[0].contains("one only"));
        let both = read(&[("compat", text("go-tpc")), ("batch", Scalar::Bool(true))]);
        assert!(both.unwrap_err()[0].contains("beside `compat`"));
        assert!(read(&[("isolation", text("snapshot"))]).unwrap_err()[0].contains("\"snapshot\""));
        let split = Options { partitions: 2, foreign_keys: true, ..Options::default() };
        assert!(split.refusal(Dialect::Mysql).is_some() && split.refusal(Dialect::Postgres).is_none());
        assert!(split.refusal(Dialect::Sqlite).is_some());
    }

    #[test]
    fn the_isolation_level_is_that_of_the_server_unless_given() {
        let with = |isolation| Options { isolation, ..Options::default() };
        assert!(with(None).session_statements(Dialect::Mysql).is_empty());
        let serializable = with(Some(Isolation::Serializable));
        assert_eq!(serializable.session_statements(Dialect::Mysql), ["SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE"]);
        assert!(serializable.session_statements(Dialect::Postgres)[0].ends_with("ISOLATION LEVEL SERIALIZABLE"));
        assert!(serializable.session_statements(Dialect::Sqlite).is_empty(), "it has no other");
    }
}
