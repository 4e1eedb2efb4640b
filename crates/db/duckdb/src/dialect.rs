//! The SQL of DuckDB.

use std::ffi::CStr;

use perbuck_database::dialect::{Dialect, Feature, IsolationQuestion, Lack, Type};
use perbuck_database::plans::PlanWords;
use perbuck_database::settings::SettingWords;
use perbuck_load::query::Query;

use crate::plans::PLANS;

/// What numbered columns take their numbers from: no sequence can be set to a number later, so it starts above those of loaded rows.
pub(crate) const NUMBERS: &CStr = c"CREATE SEQUENCE IF NOT EXISTS perbuck_numbers START 1000000001";

/// What sets the limit of a session's statements, in seconds. DuckDB has none: a variable says it, and perbuck interrupts.
pub(crate) const LIMIT: &str = "SET VARIABLE perbuck_limit_s = ";

/// The dialect of DuckDB. Its one isolation level is snapshot isolation.
#[derive(Debug)]
pub struct DuckdbDialect;

impl Dialect for DuckdbDialect {
    fn name(&self) -> &'static str {
        "DuckDB"
    }

    fn family(&self) -> &'static str {
        "duckdb"
    }

    fn lacks(&self, feature: Feature) -> Option<Lack> {
        match feature {
            Feature::Partitions => Lack::of("DuckDB has no partitioned tables"),
            Feature::ForeignKeys => Lack::of("DuckDB cannot add them to existing tables"),
            Feature::SessionVariables => Some(Lack {
                why: "the settings of DuckDB are those of the database and not of a session",
                help: "write them as options of the target",
            }),
            Feature::ReadUncommitted => Lack::of("DuckDB has one isolation level, snapshot isolation"),
            Feature::Csv => Lack::of("perbuck loads DuckDB by its appender, and writes no CSV files for it"),
            Feature::Sql | Feature::ForeignKeysOfPartitions | Feature::Copies | Feature::CopiesOfPartitions => None,
        }
    }

    /// Lengths of texts are not kept: DuckDB ignores them, and pads nothing. It compares texts byte by byte.
    fn type_words(&self, kind: Type) -> String {
        match kind {
            Type::Int | Type::Integer => "INTEGER".to_owned(),
            Type::BigInt => "BIGINT".to_owned(),
            Type::Decimal(digits, scale) => format!("DECIMAL({digits}, {scale})"),
            Type::Char(_) | Type::Varchar(_) | Type::BytewiseChar(_) | Type::BytewiseVarchar(_) | Type::Text(_) => {
                "VARCHAR".to_owned()
            }
            Type::Date => "DATE".to_owned(),
            Type::DateTime => "TIMESTAMP".to_owned(),
        }
    }

    fn numbered(&self, wide: bool) -> &'static str {
        if wide { "BIGINT DEFAULT nextval('perbuck_numbers')" } else { "INTEGER DEFAULT nextval('perbuck_numbers')" }
    }

    /// The counts of distinct values. What a load has left in the log goes into the file, so that no trial does it.
    fn statistics(&self, table: &str) -> Option<String> {
        Some(format!("ANALYZE {table}; CHECKPOINT"))
    }

    fn warm_up(&self, _table: &str) -> Vec<String> {
        Vec::new()
    }

    /// COUNT(*) would be answered without the columns, and MIN or MAX from their statistics.
    fn scans(&self, table: &str, _indexes: bool) -> String {
        format!(
            "SELECT 'SELECT ' || string_agg('bit_xor(hash(' || column_name || '))', ', ') || ' FROM {table}' \
             FROM duckdb_columns() WHERE table_name = '{table}' AND database_name = current_database()"
        )
    }

    fn set_variable(&self, name: &str, value: &str) -> String {
        format!("SET {name} = {value}")
    }

    fn statement_limit(&self, seconds: u32) -> Option<String> {
        Some(format!("{LIMIT}{seconds}"))
    }

    /// Snapshot isolation is what others call REPEATABLE READ; a study that asks for another level is refused.
    fn isolation_in_effect(&self) -> Option<IsolationQuestion> {
        Some(IsolationQuestion { ask: "SELECT 'REPEATABLE READ'", switch: None })
    }

    /// A transaction that changes a row that another one has changed since it began is refused, so no lock is needed.
    fn row_lock(&self) -> &'static str {
        ""
    }

    fn table_exists(&self, table: &str) -> Query {
        format!("SELECT COUNT(*) FROM duckdb_tables() WHERE table_name = '{table}' AND database_name = current_database()").into()
    }

    fn upsert(&self, table: &str, _columns: [&str; 3], [a, b, c]: [&str; 3]) -> Query {
        format!("INSERT OR REPLACE INTO {table} VALUES ('{a}', '{b}', '{c}')").into()
    }

    fn load_bytes_per_s(&self) -> u64 {
        40_000_000
    }

    /// A transaction that brings a whole row group, of 122,880 rows, writes it to the file at once. Fewer rows go into the log, and are
    /// written again at the next checkpoint.
    fn part_factor(&self) -> u32 {
        13
    }

    fn plans(&self) -> Option<&'static PlanWords> {
        Some(&PLANS)
    }

    fn server_settings(&self) -> Result<&'static SettingWords, Lack> {
        Err(Lack { why: "DuckDB has no server, so perbuck cannot apply", help: "write the settings as options of the target" })
    }
}
