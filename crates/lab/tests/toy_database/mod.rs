//! A seventh database in one folder: words of its own, kept by SQLite.

use perbuck_database::address::TargetProblem;
use perbuck_database::dialect::{Dialect, Feature, Lack, Type};
use perbuck_database::secret::Secret;
use perbuck_database::settings::SettingWords;
use perbuck_database::{Database, Target, Wishes};
use perbuck_load::error::DriverError;
use perbuck_load::query::Query;
use perbuck_sqlite::{SqliteDriver, SqliteTarget};

/// The registration.
pub(crate) struct Toybase;

impl Database for Toybase {
    type Target = ToyTarget;
    type Driver = SqliteDriver;

    const SCHEMES: &'static [&'static str] = &["toybase:"];
    const FORM: &'static str = "toybase:FILE";

    fn parse(scheme: &str, rest: &str) -> Option<Result<ToyTarget, TargetProblem>> {
        (scheme == "toybase").then(|| SqliteTarget::parse(rest).map(ToyTarget))
    }

    fn dialect() -> &'static dyn Dialect {
        &ToyDialect
    }

    fn driver(target: &ToyTarget, _: &Secret, _: &Wishes) -> Result<SqliteDriver, DriverError> {
        SqliteDriver::new(target.0.clone())
    }
}

/// `toybase:FILE`.
#[derive(Debug, Clone)]
pub(crate) struct ToyTarget(SqliteTarget);

impl Target for ToyTarget {
    fn dialect(&self) -> &'static dyn Dialect {
        &ToyDialect
    }

    fn scheme(&self) -> &'static str {
        "toybase"
    }

    fn address(&self) -> String {
        self.0.address().replacen("sqlite:", "toybase:", 1)
    }

    fn with_database(&self, name: &str) -> Box<dyn Target> {
        Box::new(Self(SqliteTarget { path: self.0.path.with_extension(name), ..self.0.clone() }))
    }

    fn copied(&self) -> Box<dyn Target> {
        Box::new(self.clone())
    }

    fn label(&self) -> String {
        self.0.label()
    }

    fn described(&self) -> String {
        "the toy".to_owned()
    }
}

/// No type of it is one of PostgreSQL's, and none has the name of one that another database has.
#[derive(Debug)]
pub(crate) struct ToyDialect;

impl Dialect for ToyDialect {
    fn name(&self) -> &'static str {
        "Toybase"
    }

    fn family(&self) -> &'static str {
        "toybase"
    }

    fn lacks(&self, feature: Feature) -> Option<Lack> {
        match feature {
            Feature::Sql | Feature::ForeignKeysOfPartitions | Feature::ReadUncommitted => None,
            Feature::Partitions => Lack::of("Toybase has one partition"),
            Feature::ForeignKeys | Feature::SessionVariables | Feature::Csv | Feature::Copies | Feature::CopiesOfPartitions => {
                Lack::of("Toybase is too small for it")
            }
        }
    }

    fn type_words(&self, kind: Type) -> String {
        match kind {
            // SQLite takes any name for a type, and numbers as they are where it holds INT.
            Type::Int | Type::Integer | Type::BigInt => "TOYINT".to_owned(),
            Type::Decimal(digits, scale) => format!("TOYINT_DECIMAL({digits}, {scale})"),
            Type::Char(length) | Type::Varchar(length) => format!("TOYTEXT({length})"),
            Type::BytewiseChar(length) | Type::BytewiseVarchar(length) => format!("TOYTEXT_BYTES({length})"),
            Type::Text(_) => "TOYTEXT".to_owned(),
            Type::Date | Type::DateTime => "TOYTEXT_TIME".to_owned(),
        }
    }

    fn exact_decimals(&self) -> bool {
        false
    }

    fn days_since(&self, date: &str, column: &str) -> String {
        format!("CAST(julianday({column}) - julianday('{date}') AS INTEGER)")
    }

    fn numbered(&self, _wide: bool) -> &'static str {
        "INTEGER PRIMARY KEY"
    }

    fn numbered_is_key(&self) -> bool {
        true
    }

    fn statistics(&self, table: &str) -> Option<String> {
        Some(format!("ANALYZE {table}"))
    }

    fn warm_up(&self, table: &str) -> Vec<String> {
        vec![format!("ANALYZE {table}")]
    }

    fn set_variable(&self, name: &str, value: &str) -> String {
        format!("PRAGMA {name} = {value}")
    }

    fn set_isolation(&self, _level: &str) -> Option<String> {
        None
    }

    fn row_lock(&self) -> &'static str {
        ""
    }

    fn locks_sums(&self) -> bool {
        false
    }

    fn int_parameter(&self) -> &'static str {
        "?"
    }

    fn row_list(&self) -> &'static str {
        "VALUES "
    }

    fn table_exists(&self, table: &str) -> Query {
        format!("SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = '{table}'").into()
    }

    fn upsert(&self, table: &str, _columns: [&str; 3], [a, b, c]: [&str; 3]) -> Query {
        format!("REPLACE INTO {table} VALUES ('{a}', '{b}', '{c}')").into()
    }

    fn server_settings(&self) -> Result<&'static SettingWords, Lack> {
        Err(Lack { why: "Toybase has no server for", help: "leave it out" })
    }
}
