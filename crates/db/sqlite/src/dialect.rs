//! The SQL of SQLite.

use perbuck_database::dialect::{Dialect, Feature, Lack, Type};
use perbuck_database::plans::PlanWords;
use perbuck_database::settings::SettingWords;
use perbuck_load::query::Query;

use crate::plans::PLANS;

/// The dialect of SQLite. Its one isolation level is serializable.
#[derive(Debug)]
pub struct SqliteDialect;

impl Dialect for SqliteDialect {
    fn name(&self) -> &'static str {
        "SQLite"
    }

    fn family(&self) -> &'static str {
        "sqlite"
    }

    fn lacks(&self, feature: Feature) -> Option<Lack> {
        match feature {
            Feature::Partitions => Lack::of("SQLite has no partitioned tables"),
            Feature::ForeignKeys => Lack::of("SQLite cannot add them to existing tables"),
            Feature::SessionVariables => Lack::of("SQLite has no session variables"),
            Feature::Csv => Lack::of("SQLite does not load CSV files"),
            Feature::Sql
            | Feature::ForeignKeysOfPartitions
            | Feature::ReadUncommitted
            | Feature::Copies
            | Feature::CopiesOfPartitions => None,
        }
    }

    fn type_words(&self, kind: Type) -> String {
        match kind {
            // Decimals are unscaled: SQLite has none, and floating point would break the conditions of TPC-C.
            Type::Int | Type::Integer | Type::BigInt | Type::Decimal(..) => "INTEGER".to_owned(),
            Type::Char(length) => format!("CHAR({length})"),
            Type::Varchar(length) => format!("VARCHAR({length})"),
            Type::BytewiseChar(_) | Type::BytewiseVarchar(_) | Type::Text(_) | Type::Date | Type::DateTime => "TEXT".to_owned(),
        }
    }

    fn exact_decimals(&self) -> bool {
        false
    }

    fn days_since(&self, date: &str, column: &str) -> String {
        format!("CAST(julianday({column}) - julianday('{date}') AS INTEGER)")
    }

    /// Dates are texts.
    fn date_literal(&self, date: &str) -> String {
        format!("'{date}'")
    }

    fn year_of(&self, date: &str) -> String {
        format!("CAST(strftime('%Y', {date}) AS INTEGER)")
    }

    fn character_code(&self, text: &str) -> String {
        format!("UNICODE({text})")
    }

    fn bytewise_like(&self) -> Option<String> {
        Some("PRAGMA case_sensitive_like = ON".to_owned())
    }

    fn first_characters(&self, text: &str, count: u32) -> String {
        format!("SUBSTR({text}, 1, {count})")
    }

    /// The rowid, which numbers itself; AUTOINCREMENT would add a table of counters to every INSERT.
    fn numbered(&self, _wide: bool) -> &'static str {
        "INTEGER PRIMARY KEY"
    }

    fn numbered_is_key(&self) -> bool {
        true
    }

    /// Its documentation advises against it for rows beyond a twentieth of a page.
    fn table_words(&self, short_rows: bool) -> &'static str {
        if short_rows { " WITHOUT ROWID" } else { "" }
    }

    fn warm_up(&self, table: &str) -> Vec<String> {
        vec![format!("ANALYZE {table}")]
    }

    fn scans(&self, table: &str, indexes: bool) -> String {
        let mut all = format!("SELECT 'SELECT COUNT(*) FROM {table} NOT INDEXED'");
        if indexes {
            all += &format!(
                " UNION ALL SELECT 'SELECT COUNT(*) FROM {table} INDEXED BY ' || name FROM pragma_index_list('{table}') WHERE origin = 'c'"
            );
        }
        all
    }

    fn forced_index(&self, index: &str) -> String {
        format!(" INDEXED BY {index}")
    }

    fn set_variable(&self, name: &str, value: &str) -> String {
        format!("PRAGMA {name} = {value}")
    }

    /// It has one writer at a time, and knows of it from BEGIN IMMEDIATE.
    fn row_lock(&self) -> &'static str {
        ""
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

    fn plans(&self) -> Option<&'static PlanWords> {
        Some(&PLANS)
    }

    fn server_settings(&self) -> Result<&'static SettingWords, Lack> {
        Err(Lack { why: "SQLite has no server, so perbuck cannot apply", help: "write the settings as options of the target" })
    }
}
