//! The SQL of MySQL, MariaDB and TiDB.

use perbuck_database::dialect::{
    CsvWords, Dialect, Feature, Lack, NO_COPIES, PartitionWords, Partitions, TransactionChoice, Type,
};
use perbuck_database::plans::PlanWords;
use perbuck_database::settings::{ReplicaWords, SettingWords};
use perbuck_load::loader::csv::CsvFormat;
use perbuck_load::query::Query;

use crate::blockers::BLOCKERS;
use crate::plans::PLANS;
use crate::settings::{GLOBALS, TIFLASH, of_transactions};

/// Bytes that the columns of a row may take, texts outside of it aside; a little less than 65 535.
const ROW: u64 = 65_000;
/// Bytes of a character of utf8mb4, at most.
const CHARACTER: u64 = 4;
/// Bytes of a TEXT column, at most.
const TEXT: u32 = 65_535;

/// The dialect of the three.
#[derive(Debug, Clone)]
pub struct MysqlDialect;

impl Dialect for MysqlDialect {
    fn name(&self) -> &'static str {
        "MySQL"
    }

    fn family(&self) -> &'static str {
        "mysql"
    }

    fn backs_up(&self) -> bool {
        true
    }

    fn lacks(&self, feature: Feature) -> Option<Lack> {
        match feature {
            Feature::ForeignKeysOfPartitions => Lack::of("MySQL and MariaDB have no foreign keys on partitioned tables"),
            Feature::CopiesOfPartitions => Lack::of("MariaDB takes no files of partitions in place of others"),
            Feature::Sql
            | Feature::Partitions
            | Feature::ForeignKeys
            | Feature::SessionVariables
            | Feature::ReadUncommitted
            | Feature::Csv
            | Feature::Copies => None,
        }
    }

    fn lacks_as(&self, product: Option<&str>, feature: Feature) -> Option<Lack> {
        match (product, feature) {
            (Some("TiDB"), Feature::Copies) => Some(NO_COPIES),
            _ => self.lacks(feature),
        }
    }

    fn type_words(&self, kind: Type) -> String {
        match kind {
            Type::Int => "INT".to_owned(),
            Type::Integer => "INTEGER".to_owned(),
            Type::BigInt => "BIGINT".to_owned(),
            Type::Decimal(digits, scale) => format!("DECIMAL({digits}, {scale})"),
            // Bytewise by the collation of the table.
            Type::Char(length) | Type::BytewiseChar(length) => format!("CHAR({length})"),
            Type::Varchar(length) | Type::BytewiseVarchar(length) => format!("VARCHAR({length})"),
            Type::Text(bytes) if bytes > TEXT => "MEDIUMTEXT".to_owned(),
            Type::Text(_) => "TEXT".to_owned(),
            Type::Date => "DATE".to_owned(),
            Type::DateTime => "DATETIME".to_owned(),
        }
    }

    /// The difference of two dates is no number of days there.
    fn days_since(&self, date: &str, column: &str) -> String {
        format!("DATEDIFF({column}, '{date}')")
    }

    fn numbered(&self, wide: bool) -> &'static str {
        if wide { "BIGINT NOT NULL AUTO_INCREMENT" } else { "INTEGER NOT NULL AUTO_INCREMENT" }
    }

    /// TiDB reads the comment: rows lie in the key itself, as in InnoDB, on every version.
    fn clustered(&self) -> &'static str {
        " /*T![clustered_index] CLUSTERED */"
    }

    fn index_in_table(&self) -> bool {
        true
    }

    /// One collation everywhere: "ordered by C_FIRST" (TPC-C 2.5.2.2) must choose the same customer on every server.
    fn table_words(&self, _short_rows: bool) -> &'static str {
        " DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
    }

    fn engine(&self, name: &str) -> String {
        format!(" /*! ENGINE = {name} */")
    }

    fn partitions(&self, _table: &str, column: &str, partitions: &Partitions) -> PartitionWords {
        let each = |all: Vec<String>| {
            let named = all.iter().enumerate().map(|(i, values)| format!("PARTITION p{i} VALUES {values}"));
            named.collect::<Vec<_>>().join(", ")
        };
        let clause = match partitions {
            Partitions::Hash(n) => format!(" PARTITION BY HASH ({column}) PARTITIONS {n}"),
            Partitions::Range(first) => {
                let below = first.iter().skip(1).map(|next| format!("LESS THAN ({next})"));
                let all = below.chain(["LESS THAN MAXVALUE".to_owned()]).collect();
                format!(" PARTITION BY RANGE ({column}) ({})", each(all))
            }
            Partitions::List(lists) => {
                let all = lists.iter().map(|list| format!("IN ({})", joined(list))).collect();
                format!(" PARTITION BY LIST ({column}) ({})", each(all))
            }
        };
        PartitionWords { clause, statements: Vec::new() }
    }

    fn row_holds(&self, characters: u64) -> bool {
        characters * CHARACTER <= ROW
    }

    fn statistics(&self, table: &str) -> Option<String> {
        Some(format!("ANALYZE TABLE {table}"))
    }

    fn warm_up(&self, table: &str) -> Vec<String> {
        vec![format!("ANALYZE TABLE {table}")]
    }

    /// Without an index InnoDB reads the primary key, in which the rows are. MySQL counts rows there whatever index is forced, so a scan of
    /// another one asks for its first column. TiDB would read TiFlash, which warms no store.
    fn scans(&self, table: &str, indexes: bool) -> String {
        let hint = format!("/*+ READ_FROM_STORAGE(TIKV[{table}]) */");
        let mut all = format!("SELECT 'SELECT {hint} COUNT(*) FROM {table} USE INDEX ()'");
        if indexes {
            all += &format!(
                " UNION ALL SELECT CONCAT('SELECT {hint} SUM(`', column_name, '` IS NULL) FROM {table} FORCE INDEX (`', index_name, '`)') \
                 FROM information_schema.STATISTICS WHERE table_schema = DATABASE() AND table_name = '{table}' AND seq_in_index = 1 \
                 AND index_name <> 'PRIMARY'"
            );
        }
        all
    }

    fn forced_index(&self, index: &str) -> String {
        format!(" FORCE INDEX ({index})")
    }

    fn forced_key(&self) -> &'static str {
        " FORCE INDEX(`PRIMARY`)"
    }

    fn set_variable(&self, name: &str, value: &str) -> String {
        format!("SET SESSION {name} = {value}")
    }

    /// MySQL and TiDB have another variable than MariaDB, each in comments that only it reads. MariaDB leaves out those of versions 5.7.
    fn statement_limit(&self, seconds: u32) -> Option<String> {
        let ms = u64::from(seconds) * 1000;
        Some(format!("SET SESSION /*M! max_statement_time = {seconds} *//*!50708 max_execution_time = {ms} */"))
    }

    fn set_isolation(&self, level: &str) -> Option<String> {
        Some(format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}"))
    }

    fn locks_sums(&self) -> bool {
        true
    }

    /// What a sort or a table between two steps may take of the server's memory before it goes to the disk: else a check costs
    /// more for each row the more there are (measured on MariaDB).
    fn room_for_checks(&self) -> &'static [&'static str] {
        &[
            "SET SESSION sort_buffer_size = 67108864",
            "SET SESSION tmp_table_size = 67108864",
            "SET SESSION max_heap_table_size = 67108864",
        ]
    }

    fn table_exists(&self, table: &str) -> Query {
        format!("SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = '{table}'")
            .into()
    }

    fn upsert(&self, table: &str, _columns: [&str; 3], [a, b, c]: [&str; 3]) -> Query {
        format!("REPLACE INTO {table} VALUES ('{a}', '{b}', '{c}')").into()
    }

    fn create_database(&self, name: &str) -> Option<(&'static str, String)> {
        let name = name.replace('`', "``");
        Some(("information_schema", format!("CREATE DATABASE IF NOT EXISTS `{name}`")))
    }

    fn blockers(&self) -> &'static [&'static str] {
        BLOCKERS
    }

    /// It is also what TiDB Lightning reads by default, but for the header that it expects then.
    fn csv(&self) -> Option<CsvWords> {
        // In hexadecimal a backslash is the same in every sql_mode; `binary` looks for no characters across a separator.
        let take_in = |file: &str, table: &str, columns: &str| {
            format!(
                "LOAD DATA LOCAL INFILE '{file}' INTO TABLE {table} CHARACTER SET binary FIELDS TERMINATED BY ',' \
                 OPTIONALLY ENCLOSED BY '\"' ESCAPED BY 0x5C LINES TERMINATED BY '\\n' ({columns});\n"
            )
        };
        Some(CsvWords { format: CsvFormat::Backslash, take_in })
    }

    fn plans(&self) -> Option<&'static PlanWords> {
        Some(&PLANS)
    }

    fn server_settings(&self) -> Result<&'static SettingWords, Lack> {
        Ok(&GLOBALS)
    }

    fn transactions(&self, choice: TransactionChoice) -> Option<(&'static str, String)> {
        Some(of_transactions(choice))
    }

    fn replicas(&self) -> Option<&'static ReplicaWords> {
        Some(&TIFLASH)
    }
}

fn joined(numbers: &[u64]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
