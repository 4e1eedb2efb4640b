//! What a TPC-C run may be told.

use std::collections::BTreeMap;

use perbuck_database::dialect::{Dialect, Feature};

use super::compat::drives;
use crate::params::Reader;

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
    /// Its name in SQL.
    pub(super) fn sql(self) -> &'static str {
        match self {
            Self::ReadUncommitted => "READ UNCOMMITTED",
            Self::ReadCommitted => "READ COMMITTED",
            Self::RepeatableRead => "REPEATABLE READ",
            Self::Serializable => "SERIALIZABLE",
        }
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
    /// Shares of the five transactions in percent, in the order of their names in figures, each transaction drawn by itself
    /// (5.2.4.1); dealt from a deck (5.2.4.2) where none is given.
    pub weights: Option<[u8; 5]>,
    /// Variables that every session sets when it opens: name, and value as SQL has it.
    pub session: Vec<(String, String)>,
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
            weights: None,
            session: Vec::new(),
        }
    }
}

const ISOLATIONS: [(&str, Option<Isolation>); 4] = [
    ("read-uncommitted", Some(Isolation::ReadUncommitted)),
    ("read-committed", Some(Isolation::ReadCommitted)),
    ("repeatable-read", Some(Isolation::RepeatableRead)),
    ("serializable", Some(Isolation::Serializable)),
];
const PARTITION_TYPES: [(&str, PartitionType); 3] =
    [("hash", PartitionType::Hash), ("range", PartitionType::Range), ("list", PartitionType::List)];
const COMPATS: [(&str, Option<Compat>); 1] = [("go-tpc", Some(Compat::GoTpc))];

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
        reader.problem(
            "weights",
            message,
            "give them for new_order, payment, order_status, delivery, stock_level, as in \"45,43,4,4,4\"",
        );
    }
    whole
}

/// `session = "name=value&name='text'"`.
fn session(reader: &mut Reader<'_>) -> Vec<(String, String)> {
    let text = reader.text("session");
    let mut all = Vec::new();
    for part in text.split('&').filter(|p| !p.is_empty()) {
        match part.split_once('=') {
            Some((name, value)) if is_name(name) && is_value(value) => all.push((name.to_owned(), value.to_owned())),
            _ => {
                let message = format!("`session` holds \"{part}\", which is no NAME=VALUE");
                reader.problem("session", message, "give a number, a word or 'text' for each variable, with & between them");
            }
        }
    }
    all
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

/// The word for a value.
fn word<T: PartialEq>(words: &[(&'static str, T)], value: &T) -> Option<&'static str> {
    words.iter().find(|(_, v)| v == value).map(|(word, _)| *word)
}

impl Options {
    /// Reads the parameters. Problems stay in the reader.
    pub fn read(reader: &mut Reader<'_>) -> Self {
        let mut int = |key| u32::try_from(reader.int(key)).unwrap_or(1);
        let (warehouses, partitions) = (int("warehouses"), int("partitions"));
        let options = Self {
            warehouses,
            partitions,
            wait: reader.switch("wait"),
            batch: reader.switch("batch"),
            isolation: reader.word("isolation", &ISOLATIONS, None),
            foreign_keys: reader.switch("foreign_keys"),
            partition_type: reader.word("partition_type", &PARTITION_TYPES, PartitionType::Hash),
            history_key: reader.switch("history_key"),
            compat: reader.word("compat", &COMPATS, None),
            weights: weights(reader),
            session: session(reader),
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
        if let Some(weights) = self.weights {
            all.insert("weights".to_owned(), weights.map(|w| w.to_string()).join(","));
        }
        if !self.session.is_empty() {
            let set: Vec<String> = self.session.iter().map(|(name, value)| format!("{name}={value}")).collect();
            all.insert("session".to_owned(), set.join("&"));
        }
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
    pub fn refusal(&self, dialect: &dyn Dialect) -> Option<(String, String)> {
        let (split, refers) = (self.partitions > 1, self.foreign_keys);
        let dirty = self.isolation == Some(Isolation::ReadUncommitted);
        let wanted = [
            (split, Feature::Partitions, "`partitions` is given, and", "leave `partitions` out"),
            (refers, Feature::ForeignKeys, "`foreign_keys` is given, and", "leave `foreign_keys` out"),
            (!self.session.is_empty(), Feature::SessionVariables, "`session` is given, and", "leave `session` out"),
            (
                split && refers,
                Feature::ForeignKeysOfPartitions,
                "`foreign_keys` is given beside `partitions`, and",
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
        missing.find_map(lack).or_else(|| {
            (self.compat == Some(Compat::GoTpc) && !drives(dialect)).then(|| {
                let message = format!("`compat` is \"go-tpc\", which does not know {}", dialect.name());
                (message, "leave `compat` out, or use another target".to_owned())
            })
        })
    }

    /// What a session is told when it opens.
    pub(super) fn session_statements(&self, dialect: &dyn Dialect) -> Vec<String> {
        let set = self.session.iter().map(|(name, value)| dialect.set_variable(name, value));
        set.chain(self.isolation.and_then(|level| dialect.set_isolation(level.sql()))).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::databases::{COCKROACH, MYSQL, POSTGRES, SQLITE, YUGABYTE};
    use perbuck_core::study::{Located, Scalar};

    use super::*;
    use crate::tpcc::registration::PARAMETERS;

    fn read(given: &[(&str, Scalar)]) -> Result<Options, Vec<String>> {
        let located = |(key, value): &(&str, Scalar)| ((*key).to_owned(), Located { value: value.clone(), line: 1 });
        let given = given.iter().map(located).collect();
        let mut reader = Reader::new(&given, &PARAMETERS);
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
        assert!(split.refusal(MYSQL).is_some() && split.refusal(POSTGRES).is_none());
        assert!(split.refusal(SQLITE).is_some());
        assert!(split.refusal(YUGABYTE).is_some_and(|(message, _)| message.contains("2.25")));
        let alone = Options { foreign_keys: false, ..split.clone() };
        assert!(alone.refusal(YUGABYTE).is_none() && alone.refusal(MYSQL).is_none());
        assert!(split.refusal(COCKROACH).is_some_and(|(message, _)| message.contains("ranges by itself")));
        let dirty = Options { isolation: Some(Isolation::ReadUncommitted), ..Options::default() };
        assert!(dirty.refusal(POSTGRES).is_none() && dirty.refusal(COCKROACH).is_some());
        assert!(dirty.refusal(YUGABYTE).is_some_and(|(message, _)| message.contains("YugabyteDB")));
    }

    #[test]
    fn shares_add_up_and_variables_have_values() {
        let of = |key, value: &str| read(&[(key, text(value))]);
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
            assert!(of("session", wrong).unwrap_err()[0].contains("no NAME=VALUE"), "{wrong}");
        }
    }

    #[test]
    fn the_isolation_level_is_that_of_the_server_unless_given() {
        let with = |isolation| Options { isolation, ..Options::default() };
        assert!(with(None).session_statements(MYSQL).is_empty());
        let serializable = with(Some(Isolation::Serializable));
        assert_eq!(serializable.session_statements(MYSQL), ["SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE"]);
        assert!(serializable.session_statements(POSTGRES)[0].ends_with("ISOLATION LEVEL SERIALIZABLE"));
        assert!(serializable.session_statements(SQLITE).is_empty(), "it has no other");
        for dialect in [COCKROACH, YUGABYTE] {
            assert_eq!(serializable.session_statements(dialect), serializable.session_statements(POSTGRES));
        }
    }
}
