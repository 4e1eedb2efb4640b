//! The SQL of PostgreSQL, and what CockroachDB and YugabyteDB, which follow it, have otherwise.

use perbuck_database::dialect::{
    CsvWords, Dialect, Feature, IsolationQuestion, Lack, NO_COPIES, PartitionWords, Partitions, TransactionChoice, Type,
};
use perbuck_database::plans::PlanWords;
use perbuck_database::settings::SettingWords;
use perbuck_load::error::ErrorCode;
use perbuck_load::loader::csv::CsvFormat;
use perbuck_load::query::Query;

use crate::facts::ISOLATION;
use crate::family::Family::{self, Cockroach, Postgres, Yugabyte};

/// What SERIAL is in CockroachDB by default: numbers of 64 bits made of the time and the node, in no order among nodes and with
/// no end in sight. Written out, because there `serial_normalization` may make SERIAL something else.
const UNIQUE_ROWID: &str = "INT8 DEFAULT unique_rowid() NOT NULL";

/// Sessions that hold a lock for which a session of perbuck waits. Of a session of another user the server tells little more than its
/// number.
const BLOCKERS: &str = "\
SELECT DISTINCT 'blocked by session ' || b.pid || ' of ' || coalesce(b.usename, 'an unknown user') \
  || coalesce(' (' || nullif(b.application_name, '') || ')', '') || coalesce(', ' || b.state, '') \
  || coalesce(' for ' || round(extract(epoch FROM clock_timestamp() - b.state_change)) || ' s', '') \
  || coalesce(': ' || nullif(left(b.query, 60), ''), '') \
FROM pg_stat_activity w JOIN pg_stat_activity b ON b.pid = ANY (pg_blocking_pids(w.pid)) \
WHERE w.usename = current_user AND w.datname = current_database() AND w.pid <> pg_backend_pid() \
  AND w.application_name = current_setting('application_name') LIMIT 3";

impl Dialect for Family {
    fn name(&self) -> &'static str {
        match self {
            Postgres => "PostgreSQL",
            Cockroach => "CockroachDB",
            Yugabyte => "YugabyteDB",
        }
    }

    fn family(&self) -> &'static str {
        "postgres"
    }

    fn create_unlogged(&self) -> Option<&'static str> {
        Some("CREATE UNLOGGED TABLE")
    }

    fn fill_factor(&self, percent: u32) -> String {
        format!(" WITH (fillfactor={percent})")
    }

    fn takes_several_statements(&self) -> bool {
        true
    }

    fn parses_each_time(&self) -> bool {
        true
    }

    fn takes_batches(&self) -> bool {
        true
    }

    fn lacks(&self, feature: Feature) -> Option<Lack> {
        match (feature, self) {
            (Feature::Partitions, Cockroach) => {
                Lack::of("CockroachDB does not support the partitions of PostgreSQL; it splits tables into ranges itself")
            }
            (Feature::ForeignKeysOfPartitions, Yugabyte) => {
                Lack::of("YugabyteDB before 2.25 has no foreign keys to partitioned tables")
            }
            (Feature::Copies, Cockroach) => {
                Some(Lack { why: "CockroachDB makes no database from another one", help: NO_COPIES.help })
            }
            (Feature::Copies, Yugabyte) => Some(Lack {
                why: "YugabyteDB makes no database from one that holds tables: they lie in tablets",
                help: NO_COPIES.help,
            }),
            (Feature::ReadUncommitted, Cockroach) => Lack::of("which CockroachDB does not support"),
            (Feature::ReadUncommitted, Yugabyte) => Lack::of("which YugabyteDB does not support"),
            (
                Feature::Sql
                | Feature::Partitions
                | Feature::ForeignKeys
                | Feature::ForeignKeysOfPartitions
                | Feature::SessionVariables
                | Feature::ReadUncommitted
                | Feature::Csv
                | Feature::Copies
                | Feature::CopiesOfPartitions,
                _,
            ) => None,
        }
    }

    fn type_words(&self, kind: Type) -> String {
        // CockroachDB compares text bytewise, and takes no column that says so.
        let bytewise = if *self == Cockroach { "" } else { " COLLATE \"C\"" };
        match kind {
            Type::Int | Type::Integer => "INTEGER".to_owned(),
            Type::BigInt => "BIGINT".to_owned(),
            Type::Decimal(digits, scale) => format!("NUMERIC({digits}, {scale})"),
            Type::Char(length) => format!("CHAR({length})"),
            Type::Varchar(length) => format!("VARCHAR({length})"),
            Type::BytewiseChar(length) => format!("CHAR({length}){bytewise}"),
            Type::BytewiseVarchar(length) => format!("VARCHAR({length}){bytewise}"),
            Type::Text(_) => "TEXT".to_owned(),
            Type::Date => "DATE".to_owned(),
            Type::DateTime => "TIMESTAMP".to_owned(),
        }
    }

    fn numbered(&self, wide: bool) -> &'static str {
        match self {
            Cockroach => UNIQUE_ROWID,
            Postgres | Yugabyte if wide => "BIGSERIAL NOT NULL",
            Postgres | Yugabyte => "SERIAL",
        }
    }

    /// PostgreSQL learns nothing of the ids that a load names. CockroachDB's numbers come from no sequence.
    fn number_after(&self, table: &str, column: &str, last: u64) -> Option<String> {
        (*self != Cockroach).then(|| format!("SELECT setval(pg_get_serial_sequence('{table}', '{column}'), {last})"))
    }

    /// YugabyteDB deals rows by the hash of their key, so that each range would read the whole table, unless the key says ASC.
    fn in_order(&self) -> &'static str {
        if *self == Yugabyte { " ASC" } else { "" }
    }

    /// The partitions are tables.
    fn partitions(&self, table: &str, column: &str, partitions: &Partitions) -> PartitionWords {
        let (method, values): (&str, Vec<String>) = match partitions {
            Partitions::Hash(n) => ("HASH", (0..*n).map(|i| format!("WITH (MODULUS {n}, REMAINDER {i})")).collect()),
            Partitions::Range(first) => {
                let ends = first.iter().skip(1).map(ToString::to_string).chain(["MAXVALUE".to_owned()]);
                ("RANGE", first.iter().zip(ends).map(|(from, to)| format!("FROM ({from}) TO ({to})")).collect())
            }
            Partitions::List(lists) => {
                let list = |all: &Vec<u64>| all.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
                ("LIST", lists.iter().map(|all| format!("IN ({})", list(all))).collect())
            }
        };
        let part = |(i, values)| format!("CREATE TABLE {table}_p{i} PARTITION OF {table} FOR VALUES {values}");
        let statements = values.iter().enumerate().map(part).collect();
        PartitionWords { clause: format!(" PARTITION BY {method} ({column})"), statements }
    }

    /// YugabyteDB may have left an index where it says that the statement is to be tried again; whether it can be used
    /// is asked afterwards, by [`Dialect::valid_indexes`].
    fn create_index(&self) -> &'static str {
        if *self == Yugabyte { "CREATE INDEX IF NOT EXISTS" } else { "CREATE INDEX" }
    }

    /// YugabyteDB makes an index in steps and leaves it, invalid, where one of them failed; a load that goes on would
    /// take it for made.
    fn valid_indexes(&self, table: &str) -> Option<String> {
        (*self == Yugabyte).then(|| {
            format!(
                "DO $$ BEGIN IF EXISTS (SELECT 1 FROM pg_index WHERE indrelid = '{table}'::regclass AND NOT indisvalid) THEN \
                 RAISE EXCEPTION 'an index of {table} is invalid: load the data again'; END IF; END $$"
            )
        })
    }

    fn statistics(&self, table: &str) -> Option<String> {
        Some(format!("ANALYZE {table}"))
    }

    fn before_scans(&self) -> Option<&'static str> {
        (*self == Postgres).then_some("CREATE EXTENSION IF NOT EXISTS pg_prewarm")
    }

    /// A scan of a large table uses a small ring of buffers; the extension, where it is there, fills them all.
    fn scans(&self, table: &str, indexes: bool) -> String {
        match self {
            Postgres => crate::scans::of(table, indexes),
            Cockroach | Yugabyte => format!("SELECT 'SELECT COUNT(*) FROM {table}'"),
        }
    }

    fn warm_up(&self, table: &str) -> Vec<String> {
        match self {
            // It also writes down which rows all can see, which else the first readers do. A scan of a large table uses a small ring
            // of buffers; the extension, where it is installed, fills them all.
            Postgres => vec![
                format!("VACUUM (ANALYZE) {table}"),
                format!(
                    "DO $$ BEGIN IF EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'pg_prewarm') THEN \
                     PERFORM pg_prewarm('{table}'); \
                     PERFORM pg_prewarm(indexrelid::regclass) FROM pg_index WHERE indrelid = '{table}'::regclass; \
                     END IF; END $$"
                ),
            ],
            // They have nothing to vacuum.
            Cockroach | Yugabyte => vec![format!("ANALYZE {table}")],
        }
    }

    fn forced_index(&self, index: &str) -> String {
        match self {
            Cockroach => format!("@{index}"),
            Postgres | Yugabyte => String::new(),
        }
    }

    fn set_variable(&self, name: &str, value: &str) -> String {
        format!("SET {name} = {value}")
    }

    fn statement_limit(&self, seconds: u32) -> Option<String> {
        Some(format!("SET statement_timeout = '{seconds}s'"))
    }

    fn set_isolation(&self, level: &str) -> Option<String> {
        Some(format!("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL {level}"))
    }

    /// Both that follow PostgreSQL silently take a stricter level where the one that is asked for is switched off: CockroachDB by
    /// `sql.txn.read_committed_isolation.enabled` and its like, YugabyteDB unless its servers were started with
    /// `yb_enable_read_committed_isolation`.
    fn isolation_in_effect(&self) -> Option<IsolationQuestion> {
        match self {
            Postgres => None,
            Cockroach => Some(IsolationQuestion {
                ask: "SHOW transaction_isolation",
                switch: Some("enable that level on the cluster (cluster settings sql.txn.*_isolation.enabled)"),
            }),
            Yugabyte => Some(IsolationQuestion {
                ask: "SELECT current_setting('yb_effective_transaction_isolation_level', true)",
                switch: Some("start its servers with --yb_enable_read_committed_isolation"),
            }),
        }
    }

    /// A parameter has the type of what it is compared with, which need not be that of the arithmetic.
    fn int_parameter(&self) -> &'static str {
        "CAST(? AS INTEGER)"
    }

    fn table_exists(&self, table: &str) -> Query {
        format!("SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = current_schema() AND table_name = '{table}'")
            .into()
    }

    /// CockroachDB lets in who names a database that it does not have, and speaks of it only when tables are asked for (its issue
    /// 109992).
    fn database_exists(&self) -> Option<(&'static str, ErrorCode)> {
        let ask = "SELECT current_database() FROM pg_catalog.pg_database WHERE datname = current_database()";
        (*self == Cockroach).then_some((ask, ErrorCode::State("sqlstate", *b"3D000")))
    }

    fn upsert(&self, table: &str, [key, b, c]: [&str; 3], [value, d, e]: [&str; 3]) -> Query {
        format!(
            "INSERT INTO {table} VALUES ('{value}', '{d}', '{e}') ON CONFLICT ({key}) DO UPDATE SET {b} = EXCLUDED.{b}, {c} = EXCLUDED.{c}"
        ).into()
    }

    fn create_database(&self, name: &str) -> Option<(&'static str, String)> {
        let name = name.replace('"', "\"\"");
        Some(("postgres", format!("CREATE DATABASE \"{name}\"")))
    }

    fn blockers(&self) -> &'static [&'static str] {
        // CockroachDB has no such function, and answers with an error.
        &[BLOCKERS]
    }

    fn csv(&self) -> Option<CsvWords> {
        let take_in = |file: &str, table: &str, columns: &str| {
            format!("\\copy {table} ({columns}) from '{file}' with (format csv, encoding 'UTF8')\n")
        };
        Some(CsvWords { format: CsvFormat::Quotes, take_in })
    }

    fn plans(&self) -> Option<&'static PlanWords> {
        crate::plans::of(*self)
    }

    fn transactions(&self, choice: TransactionChoice) -> Option<(&'static str, String)> {
        match choice {
            TransactionChoice::Isolation(level) => Some((ISOLATION, level.replace('-', " "))),
            _ => None,
        }
    }

    fn server_settings(&self) -> Result<&'static SettingWords, Lack> {
        Err(match self {
            Postgres => Lack {
                why: "PostgreSQL has no SET GLOBAL, so perbuck cannot apply",
                help: "set them on the server yourself (ALTER SYSTEM, then pg_reload_conf()), or for sessions by `set.NAME=VALUE` in the target",
            },
            Cockroach => Lack {
                why: "CockroachDB has no SET GLOBAL, so perbuck cannot apply",
                help: "set them on the cluster yourself (SET CLUSTER SETTING), or for sessions by `set.NAME=VALUE` in the target",
            },
            Yugabyte => Lack {
                why: "YugabyteDB has no SET GLOBAL, so perbuck cannot apply",
                help: "start its servers with the flags that you want, or set variables of sessions by `set.NAME=VALUE` in the target",
            },
        })
    }
}
