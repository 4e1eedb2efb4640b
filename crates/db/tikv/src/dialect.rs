//! TiKV holds keys and values and knows no SQL: it is asked by operations on records.

use perbuck_database::dialect::{Dialect, Feature, Lack, Type};
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
            Feature::Csv => Lack::of("TiKV takes no CSV files in"),
            Feature::Sql
            | Feature::Partitions
            | Feature::ForeignKeys
            | Feature::ForeignKeysOfPartitions
            | Feature::SessionVariables
            | Feature::ReadUncommitted => Some(Lack {
                why: "TiKV holds keys and values, and this workload speaks SQL",
                help: "drive TiDB in front of it by a tidb:// target, or use kind = \"ycsb\"",
            }),
        }
    }

    fn type_words(&self, _kind: Type) -> String {
        String::new()
    }

    fn numbered(&self, _wide: bool) -> &'static str {
        ""
    }

    fn statistics(&self, _table: &str) -> Option<String> {
        None
    }

    fn statistics_follow(&self) -> bool {
        true
    }

    fn warm_up(&self, _table: &str) -> Vec<String> {
        Vec::new()
    }

    fn set_variable(&self, _name: &str, _value: &str) -> String {
        String::new()
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

    fn server_settings(&self) -> Result<&'static dyn SettingWords, Lack> {
        Err(Lack {
            why: "TiKV is not asked by SQL, and takes no",
            help: "put what there is to set into the options of the target",
        })
    }
}
