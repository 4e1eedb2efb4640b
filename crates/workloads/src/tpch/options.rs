//! What a TPC-H run may be told.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use perbuck_core::units::Seed;
use perbuck_core::workload_kind::WorkloadKind;
use perbuck_database::dialect::{Dialect, Feature};
use perbuck_load::workload::Dataset;

use super::data::{DataOptions, TpchData};
use super::queries::{self, Substitution};
use super::registration::{KIND, PARAMETERS, Words};
use super::{QUERIES, Scale, Tpch};
use crate::benchmark::{Benchmark, DataSize, Explained, speaks_sql};
use crate::params::{Reader, other_data, put, word_for};

/// What a TPC-H run may be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// SF of the specification.
    pub scale: Scale,
    /// Whether dates and foreign keys have indexes.
    pub indexes: bool,
    /// Whether the references between the tables are declared.
    pub foreign_keys: bool,
    /// Partitions of ORDERS and LINEITEM; 1 is none. 1 to 1024.
    pub partitions: u32,
    /// Which substitution parameters queries have.
    pub substitution: Values,
    /// The numbers of the queries that each connection repeats in this order, in place of both tests; empty for the tests.
    pub queries: Vec<usize>,
    /// Whether the refresh functions run.
    pub refresh: bool,
    /// Seconds after which the server ends a query. 1 to 86 400.
    pub limit_s: u32,
}

/// Which substitution parameters queries have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Values {
    /// Drawn at random (2.4.x.3).
    Random,
    /// Those of validation, so that every answer is compared with the right one (2.4.x.4).
    Validation,
    /// Those of go-tpc.
    GoTpc,
}

const VALUES: [(&str, Values); 3] = [("random", Values::Random), ("validation", Values::Validation), ("go-tpc", Values::GoTpc)];

impl Default for Options {
    fn default() -> Self {
        Self::read(&mut Reader::new(&BTreeMap::new(), &PARAMETERS))
    }
}

/// The most queries of one round: several of each.
const ROUND: usize = 1_000;

/// `queries = "q1,q6"`.
pub(crate) fn chosen(reader: &mut Reader<'_>) -> Vec<usize> {
    let text = reader.text("queries");
    let number = |word: &str| word.trim().strip_prefix('q')?.parse().ok().filter(|number| (1..=QUERIES).contains(number));
    let mut all = Vec::new();
    for word in text.split(',').filter(|_| !text.is_empty()) {
        match number(word) {
            Some(number) if all.len() < ROUND => all.push(number),
            _ => {
                let message = format!("`queries` holds \"{}\", which is none of q1 to q{QUERIES}", word.trim());
                reader.problem("queries", message, format!("name at most {ROUND} with commas between them, as in \"q1,q6\""));
                break;
            }
        }
    }
    all
}

/// As they were read.
pub(crate) fn chosen_text(queries: &[usize]) -> String {
    queries.iter().map(|number| format!("q{number}")).collect::<Vec<_>>().join(",")
}

/// Rows of scale 1 (1.4.1 and 4.2.5), and about their bytes.
const ROWS: u64 = 8_661_245;
const BYTES: u64 = 1_100_000_000;

impl Options {
    /// After which a query has failed.
    pub(super) fn limit(&self) -> Duration {
        Duration::from_secs(u64::from(self.limit_s))
    }

    /// Connections of the power test and of the refresh stream.
    pub(super) fn connections_beside(&self) -> u32 {
        if self.queries.is_empty() { 1 + u32::from(self.refresh) } else { 0 }
    }

    fn data(&self) -> DataOptions {
        let Self { scale, indexes, foreign_keys, partitions, .. } = *self;
        DataOptions { scale, indexes, foreign_keys, partitions }
    }

    fn data_parameters(&self) -> Words {
        let mut all = BTreeMap::new();
        let mut put = |key: &str, value: &dyn ToString| put(&mut all, key, value);
        put("scale", &self.scale.factor());
        put("indexes", &self.indexes);
        put("foreign_keys", &self.foreign_keys);
        put("partitions", &self.partitions);
        all
    }
}

impl Benchmark for Options {
    type Workload = Tpch;

    fn kind() -> &'static WorkloadKind {
        &KIND
    }

    fn read(reader: &mut Reader<'_>) -> Self {
        let factor = reader.number("scale");
        let hundredths = (factor * 100.0).round();
        if (factor * 100.0 - hundredths).abs() > 1e-6 {
            let message = format!("`scale` is {factor}, which has more than two decimals");
            reader.problem("scale", message, "give whole hundredths, such as 0.01, 0.1, 1 or 10");
        }
        let options = Self {
            scale: Scale::hundredths(hundredths as u32),
            indexes: reader.switch("indexes"),
            foreign_keys: reader.switch("foreign_keys"),
            partitions: reader.int("partitions") as u32,
            substitution: reader.word("substitution", &VALUES, Values::Random),
            queries: chosen(reader),
            refresh: reader.switch("refresh"),
            limit_s: reader.int("limit") as u32,
        };
        if !options.queries.is_empty() && options.refresh {
            let message = "`queries` is given, and `refresh` belongs to the tests in whose place they run";
            reader.problem("queries", message, "add `refresh = false`, or leave `queries` out");
        }
        let validation = options.substitution == Values::Validation;
        if validation && options.refresh {
            let message =
                "`substitution` is \"validation\", and the answers of validation hold for fresh data, which `refresh` changes";
            reader.problem("substitution", message, "add `refresh = false`, or leave `substitution` out");
        }
        if validation && !queries::known(options.scale) {
            let message = format!("`substitution` is \"validation\", and the right answers are not known at scale {factor}");
            reader.problem("substitution", message, "give `scale = 0.01` or `scale = 1`, or leave `substitution` out");
        }
        options
    }

    fn dataset(&self, dialect: &'static dyn Dialect, _: Seed) -> Arc<dyn Dataset> {
        // The specification says the data (4.2): they follow from the scale, and from no seed.
        Arc::new(TpchData::new(dialect, self.data()))
    }

    fn workload(&self, dialect: &'static dyn Dialect, _: Seed) -> Tpch {
        Tpch::new(self.clone(), dialect)
    }

    fn parameters(&self) -> Words {
        let mut all = self.data_parameters();
        let mut put = |key: &str, value: &dyn ToString| put(&mut all, key, value);
        put("substitution", &word_for(&VALUES, &self.substitution));
        if !self.queries.is_empty() {
            put("queries", &chosen_text(&self.queries));
        }
        put("refresh", &self.refresh);
        put("limit", &self.limit_s);
        all
    }

    fn conflict(&self, other: &dyn Benchmark) -> Option<String> {
        let other: &Self = other.options()?;
        other_data(&self.data_parameters(), &other.data_parameters())
    }

    fn size(&self) -> DataSize {
        DataSize { rows: self.scale.times(ROWS), bytes: self.scale.times(BYTES), grows: false }
    }

    fn explained(&self) -> Option<Explained> {
        Some(Explained { names: (1..=QUERIES).map(|number| format!("Q{number}")).collect(), limit: self.limit() })
    }

    /// With the values of validation (2.4.x.4), whatever those of the trial are: random ones are others in each trial and stream.
    fn explained_query(&self, position: usize, dialect: &dyn Dialect) -> String {
        queries::statement(&Substitution::validation(position + 1, self.scale), dialect)
    }

    fn refusal(&self, dialect: &dyn Dialect) -> Option<(String, String)> {
        let wanted = [
            (self.partitions > 1, Feature::Partitions, "`partitions` is given, and", "leave `partitions` out"),
            (self.foreign_keys, Feature::ForeignKeys, "`foreign_keys` is given, and", "leave `foreign_keys` out"),
            (
                self.partitions > 1 && self.foreign_keys,
                Feature::ForeignKeysOfPartitions,
                "`foreign_keys` and `partitions` are both given, and",
                "leave one of them out",
            ),
        ];
        let lack = |(_, feature, said, help): (bool, Feature, &str, &str)| {
            dialect.lacks(feature).map(|lack| (format!("{said} {}", lack.why), help.to_owned()))
        };
        speaks_sql(dialect).or_else(|| wanted.into_iter().filter(|(wanted, ..)| *wanted).find_map(lack))
    }
}
