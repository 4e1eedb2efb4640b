//! The SQL of a database and its features. A workload asks for these, never for a product.

use std::fmt::Debug;

pub use perbuck_core::study::TransactionChoice;
use perbuck_load::error::ErrorCode;
use perbuck_load::loader::csv::CsvFormat;
use perbuck_load::query::Query;

use crate::plans::PlanWords;
use crate::settings::{ReplicaWords, SettingWords};

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// A whole number of 32 bits.
    Int,
    /// The same by the long name that sysbench uses.
    Integer,
    /// A whole number of 64 bits.
    BigInt,
    /// An exact number: digits in all, and digits after the point.
    Decimal(u8, u8),
    /// Text of a fixed length, in the order that the database prefers.
    Char(u32),
    /// Text of at most so many characters, in the order that the database prefers.
    Varchar(u32),
    /// Text of a fixed length that is compared byte by byte.
    BytewiseChar(u32),
    /// Text of at most so many characters that is compared byte by byte.
    BytewiseVarchar(u32),
    /// Text of at most so many bytes, without a length in the table.
    Text(u32),
    /// A date without a time.
    Date,
    /// A date with a time, to the second.
    DateTime,
}

/// What a workload may need and a database may lack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feature {
    /// Statements in SQL.
    Sql,
    /// Tables in partitions.
    Partitions,
    /// Foreign keys that are added to existing tables.
    ForeignKeys,
    /// Foreign keys that refer to partitioned tables.
    ForeignKeysOfPartitions,
    /// Variables of a session.
    SessionVariables,
    /// The isolation level READ UNCOMMITTED.
    ReadUncommitted,
    /// CSV files that the database itself reads.
    Csv,
    /// Copies of its data that perbuck saves and restores.
    Copies,
    /// Copies of partitioned tables.
    CopiesOfPartitions,
}

/// Why a database lacks a [`Feature`], in its own words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lack {
    /// A clause, such as `X has no partitioned tables`.
    pub why: &'static str,
    /// What the user can do, where the database knows it; else the workload says it.
    pub help: &'static str,
}

impl Lack {
    /// One without help of its own: the workload says what the user can do.
    pub fn of(why: &'static str) -> Option<Self> {
        Some(Self { why, help: "" })
    }
}

/// What servers lack that perbuck did not start.
pub const NO_COPIES: Lack = Lack {
    why: "perbuck restores the data of servers that it starts itself, of MySQL, MariaDB and PostgreSQL databases, of TiDB by its backups, and of \
          SQLite and DuckDB files",
    help: "let perbuck start the server (`server = { kind = … }`), give a contender with TiDB a storage (`backup = \"s3://BUCKET/FOLDER\"`), \
           or write `reset = \"per-block\"`",
};

/// How rows are distributed to the partitions of a table, by the number in one column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Partitions {
    /// By a hash, into so many partitions.
    Hash(u32),
    /// By ranges: the first number of each; the last range has no end.
    Range(Vec<u64>),
    /// By lists: the numbers of each.
    List(Vec<Vec<u64>>),
}

/// The SQL that makes partitions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PartitionWords {
    /// What follows CREATE TABLE.
    pub clause: String,
    /// Further statements.
    pub statements: Vec<String>,
}

/// How a database reads CSV files.
#[derive(Debug, Clone, Copy)]
pub struct CsvWords {
    /// The format of the files.
    pub format: CsvFormat,
    /// The command that loads a file (its name) into a table (its name and its columns), run in the folder of the file.
    pub take_in: fn(&str, &str, &str) -> String,
}

/// How to learn the isolation level that transactions really have.
#[derive(Debug, Clone, Copy)]
pub struct IsolationQuestion {
    /// A query for the level; NULL where the version cannot tell it.
    pub ask: &'static str,
    /// How the user enables another level, as an instruction; `None` where there is no other.
    pub switch: Option<&'static str>,
}

/// The SQL of a database. Every one must give what differs. A default is standard SQL, or says that it lacks the feature.
pub trait Dialect: Debug + Send + Sync {
    /// The name of the database, for messages.
    fn name(&self) -> &'static str;

    /// The database whose protocol and SQL it follows, or its own name, in lower case. Only the tables of `compat` ask for it.
    fn family(&self) -> &'static str;

    /// Why it lacks a feature; `None` where it has it.
    fn lacks(&self, feature: Feature) -> Option<Lack>;

    /// The same for the product that the scheme of a target names, where several speak this SQL.
    fn lacks_as(&self, _product: Option<&str>, feature: Feature) -> Option<Lack> {
        self.lacks(feature)
    }

    /// Whether its servers may save copies of their data in a storage themselves (`backup` of a contender).
    fn backs_up(&self) -> bool {
        false
    }

    /// A type of a column, without NOT NULL.
    fn type_words(&self, kind: Type) -> String;

    /// Whether [`Type::Decimal`] holds decimals; else it holds their smallest units, and money is written in cents.
    fn exact_decimals(&self) -> bool {
        true
    }

    /// The number of days from a date (`YYYY-MM-DD`) to the one in a column of [`Type::Date`].
    fn days_since(&self, date: &str, column: &str) -> String {
        format!("({column} - DATE '{date}')")
    }

    /// A date as a literal: of `YYYY-MM-DD`.
    fn date_literal(&self, date: &str) -> String {
        format!("DATE '{date}'")
    }

    /// The year of a date, as a number.
    fn year_of(&self, date: &str) -> String {
        format!("EXTRACT(YEAR FROM {date})")
    }

    /// The code of the first character of a text, which is one of ASCII.
    fn character_code(&self, text: &str) -> String {
        format!("ASCII({text})")
    }

    /// A statement after which LIKE tells capitals from small letters, where it does not without.
    fn bytewise_like(&self) -> Option<String> {
        None
    }

    /// The first so many characters of a text.
    fn first_characters(&self, text: &str, count: u32) -> String {
        format!("SUBSTRING({text} FROM 1 FOR {count})")
    }

    /// The type of a column that numbers its rows, with 32 bits or, where it is `wide`, with 64.
    fn numbered(&self, wide: bool) -> &'static str;

    /// Whether [`Self::numbered`] makes the column the primary key of its table, so that no other one can be numbered.
    fn numbered_is_key(&self) -> bool {
        false
    }

    /// The statement that lets a numbered column go on after rows that came with their numbers.
    fn number_after(&self, _table: &str, _column: &str, _last: u64) -> Option<String> {
        None
    }

    /// What follows PRIMARY KEY so that rows lie in the key itself.
    fn clustered(&self) -> &'static str {
        ""
    }

    /// What follows a column of a key, or of an index, that ranges are read from.
    fn in_order(&self) -> &'static str {
        ""
    }

    /// Whether CREATE TABLE can make a plain index.
    fn index_in_table(&self) -> bool {
        false
    }

    /// What follows CREATE TABLE; `short_rows` says that rows are short enough to lie in the primary key.
    fn table_words(&self, _short_rows: bool) -> &'static str {
        ""
    }

    /// What follows CREATE TABLE to choose a storage engine.
    fn engine(&self, _name: &str) -> String {
        String::new()
    }

    /// What makes partitions of a new table.
    fn partitions(&self, _table: &str, _column: &str, _partitions: &Partitions) -> PartitionWords {
        PartitionWords::default()
    }

    /// The first words of the statement that makes an index.
    fn create_index(&self) -> &'static str {
        "CREATE INDEX"
    }

    /// A statement that fails where an index of a table cannot be used, on databases that leave such an index.
    fn valid_indexes(&self, _table: &str) -> Option<String> {
        None
    }

    /// Whether columns of these many characters fit into a row as VARCHAR.
    fn row_holds(&self, _characters: u64) -> bool {
        true
    }

    /// What makes a table that has no log of its changes begins so; `None` where each table has one.
    fn create_unlogged(&self) -> Option<&'static str> {
        None
    }

    /// What follows the columns of a new table so that a load fills this percentage of each page.
    fn fill_factor(&self, _percent: u32) -> String {
        String::new()
    }

    /// Whether one text may hold several statements, and a truth value is a word in it.
    fn takes_several_statements(&self) -> bool {
        false
    }

    /// Whether a session can send a statement with its parameters for one execution, so that nothing stays prepared.
    fn parses_each_time(&self) -> bool {
        false
    }

    /// Whether a session can send statements before the answers to those before have come.
    fn takes_batches(&self) -> bool {
        false
    }

    /// Brings the statistics of a table up to date after a load: a server that does so by itself may do it in the middle of a trial, or
    /// plan without them until then. `None` where there is nothing to do.
    fn statistics(&self, _table: &str) -> Option<String> {
        None
    }

    /// The first statements that warm a table up, before its rows are read.
    fn warm_up(&self, table: &str) -> Vec<String>;

    /// A statement that lets [`Self::scans`] leave more in memory, where this user may run it.
    fn before_scans(&self) -> Option<&'static str> {
        None
    }

    /// A query of which each row is a statement; together they read all of a table and, where `indexes` says so, of its indexes, as far as the
    /// database can be told to.
    fn scans(&self, table: &str, _indexes: bool) -> String {
        format!("SELECT 'SELECT COUNT(*) FROM {table}'")
    }

    /// What follows the name of a table so that an index is used.
    fn forced_index(&self, _index: &str) -> String {
        String::new()
    }

    /// What follows the name of a table so that its primary key is used.
    fn forced_key(&self) -> &'static str {
        ""
    }

    /// Sets a variable of a session.
    fn set_variable(&self, name: &str, value: &str) -> String;

    /// Lets the server end a query of the session after so many seconds, as a failure of that query; `None` where it cannot.
    fn statement_limit(&self, _seconds: u32) -> Option<String> {
        None
    }

    /// Sets the isolation level of a session; `None` where there is one level only.
    fn set_isolation(&self, _level: &str) -> Option<String> {
        None
    }

    /// How to learn the level that transactions really have; `None` where a server uses the level that was set, or refuses it.
    fn isolation_in_effect(&self) -> Option<IsolationQuestion> {
        None
    }

    /// What follows a query whose rows the transaction changes next.
    fn row_lock(&self) -> &'static str {
        " FOR UPDATE"
    }

    /// Whether that may follow a query of a sum.
    fn locks_sums(&self) -> bool {
        false
    }

    /// A parameter that is used in arithmetic with whole numbers.
    fn int_parameter(&self) -> &'static str {
        "?"
    }

    /// The word between IN and a list of rows.
    fn row_list(&self) -> &'static str {
        ""
    }

    /// Settings of a session that checks much data.
    fn room_for_checks(&self) -> &'static [&'static str] {
        &[]
    }

    /// A query of one number, above 0 where there is a table of that name.
    fn table_exists(&self, table: &str) -> Query;

    /// A query that returns no row where the database of the session does not exist, if it says so only then, and the code by
    /// which others say it at the login.
    fn database_exists(&self) -> Option<(&'static str, ErrorCode)> {
        None
    }

    /// Reads some columns of the row of a key.
    fn row_of(&self, table: &str, columns: [&str; 2], (key, value): (&str, &str)) -> Query {
        format!("SELECT {} FROM {table} WHERE {key} = '{value}'", columns.join(", ")).into()
    }

    /// Writes a row of texts, whether its key, the first column, is there or not: in one statement.
    fn upsert(&self, table: &str, columns: [&str; 3], values: [&str; 3]) -> Query;

    /// The statement that makes a database, and one that is always there to say it in.
    fn create_database(&self, _name: &str) -> Option<(&'static str, String)> {
        None
    }

    /// Queries for the sessions that block those of perbuck: a text in each row. The first one that returns rows counts.
    fn blockers(&self) -> &'static [&'static str] {
        &[]
    }

    /// How it tells the plan of a query, where perbuck can read that.
    fn plans(&self) -> Option<&'static PlanWords> {
        None
    }

    /// Bytes of rows that a load brings in a second, about: rough, measured with the release build on two processors that
    /// MariaDB or PostgreSQL shared (TPC-C with 10 warehouses, 47 MB/s with ANALYZE and the check of the rows). It serves a first estimate.
    fn load_bytes_per_s(&self) -> u64 {
        50_000_000
    }

    /// How many times as large as others the parts of data are that it loads, where they can be cut at any row. A transaction ends with its part.
    fn part_factor(&self) -> u32 {
        1
    }

    /// How it reads CSV files, where it does.
    fn csv(&self) -> Option<CsvWords> {
        None
    }

    /// The words for settings of a server, or why it has none that perbuck can change, and the way out.
    fn server_settings(&self) -> Result<&'static SettingWords, Lack>;

    /// The variable of a session by which its transactions work as a study asks, and its value; `None` where there is none.
    fn transactions(&self, _choice: TransactionChoice) -> Option<(&'static str, String)> {
        None
    }

    /// The words for replicas of tables in another form, where it has some.
    fn replicas(&self) -> Option<&'static ReplicaWords> {
        None
    }
}
