//! TiKV stores keys and values and has no SQL: perbuck sends it operations on records.

use perbuck_database::dialect::{Dialect, Feature, Lack, NO_COPIES, Type};
use perbuck_database::settings::SettingWords;
use perbuck_load::query::Query;
use perbuck_load::records::Action;

/// The words of TiKV. Those of tables and types are empty: a workload that makes tables is refused before.
#[derive(Debug)]
pub struct TikvDialect;

impl Dialect for TikvDialect {
    fn name(&self) -> &'static str {
        "TiKV"
    }

    fn family(&self) -> &'static str {
        "tikv"
    }

    fn lacks(&self, feature: Feature) -> Option<Lack> {
        match feature {
            Feature::Csv => Lack::of("TiKV does not load CSV files"),
            Feature::Copies | Feature::CopiesOfPartitions => Some(NO_COPIES),
            Feature::Sql
            | Feature::Partitions
            | Feature::ForeignKeys
            | Feature::ForeignKeysOfPartitions
            | Feature::SessionVariables
            | Feature::ReadUncommitted => Some(Lack {
                why: "TiKV has no SQL, which this workload needs",
                help: "run TiDB on the cluster and write a tidb:// target, or use kind = \"ycsb\"",
            }),
        }
    }

    fn type_words(&self, _kind: Type) -> String {
        String::new()
    }

    fn numbered(&self, _wide: bool) -> &'static str {
        ""
    }

    fn warm_up(&self, _table: &str) -> Vec<String> {
        Vec::new()
    }

    fn set_variable(&self, _name: &str, _value: &str) -> String {
        String::new()
    }

    fn row_lock(&self) -> &'static str {
        ""
    }

    fn table_exists(&self, table: &str) -> Query {
        Query::records::<&str>(table, Action::Exists, [])
    }

    fn row_of(&self, table: &str, columns: [&str; 2], (_, key): (&str, &str)) -> Query {
        Query::records(table, Action::Get(0..columns.len() as u64), [key])
    }

    fn upsert(&self, table: &str, _columns: [&str; 3], values: [&str; 3]) -> Query {
        Query::records(table, Action::Put, values)
    }

    fn server_settings(&self) -> Result<&'static SettingWords, Lack> {
        Err(Lack { why: "TiKV has no SQL, so perbuck cannot apply", help: "write the settings as options of the target" })
    }
}
