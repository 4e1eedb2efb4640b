//! The statements that make, warm and drop the tables, for each dialect.

use perbuck_load::statement::Dialect;

use super::options::Options;
use super::script::Script;
use crate::family::{create_index, valid_indexes};

/// The statements that make table `n`, empty: in the words of sysbench for MySQL and PostgreSQL.
///
/// For SQLite the primary key is the rowid, which numbers itself: `auto_inc` makes no difference (AUTOINCREMENT
/// would add a table of counters to every INSERT). Index names are global there and in PostgreSQL, hence `xid_N`.
///
/// CockroachDB numbers rows by [`UNIQUE_ROWID`], and YugabyteDB deals rows by the hash of their key, so that each range of
/// ids would read the whole table, unless the key says ASC.
pub(super) fn create(options: &Options, dialect: Dialect, n: u32) -> Vec<String> {
    if options.script == Script::BulkInsert {
        return vec![format!("CREATE TABLE sbtest{n} (id INTEGER NOT NULL, k INTEGER DEFAULT '0' NOT NULL, PRIMARY KEY (id))")];
    }
    let &Options { auto_inc, secondary, .. } = options;
    let columns = "k INTEGER DEFAULT '0' NOT NULL, c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL";
    let tail = match options.create_table_options.as_str() {
        "" => String::new(),
        text => format!(" {text}"),
    };
    let id = match dialect {
        Dialect::Mysql if auto_inc => "INTEGER NOT NULL AUTO_INCREMENT",
        Dialect::Postgres | Dialect::Yugabyte if auto_inc => "SERIAL",
        Dialect::Cockroach if auto_inc => UNIQUE_ROWID,
        Dialect::Sqlite if !secondary => "INTEGER PRIMARY KEY",
        _ => "INTEGER NOT NULL",
    };
    let key = match dialect {
        Dialect::Mysql if secondary => ", KEY xid (id)",
        Dialect::Mysql | Dialect::Postgres | Dialect::Cockroach if !secondary => ", PRIMARY KEY (id)",
        Dialect::Yugabyte if !secondary => ", PRIMARY KEY (id ASC)",
        _ => "",
    };
    let engine = match dialect {
        Dialect::Mysql => format!(" /*! ENGINE = {} */", options.mysql_storage_engine),
        _ => String::new(),
    };
    let mut all = vec![format!("CREATE TABLE sbtest{n} (id {id}, {columns}{key}){engine}{tail}")];
    if secondary && dialect != Dialect::Mysql {
        // sysbench writes `KEY xid` here, too, which these refuse.
        all.push(format!("CREATE INDEX xid_{n} ON sbtest{n} (id{})", in_order(dialect)));
    }
    all
}

/// What SERIAL is in CockroachDB by default: numbers of 64 bits made of the time and the node, in no order among nodes and with
/// no end in sight. Written out, because there `serial_normalization` may make SERIAL something else.
const UNIQUE_ROWID: &str = "INT8 DEFAULT unique_rowid() NOT NULL";

/// What an index of YugabyteDB needs to be of use to a range.
fn in_order(dialect: Dialect) -> &'static str {
    if dialect == Dialect::Yugabyte { " ASC" } else { "" }
}

/// The statements after the rows of table `n` are in. PostgreSQL learns nothing of the ids that a load names, nor of a new
/// table's contents before its autovacuum comes round.
pub(super) fn after_load(options: &Options, dialect: Dialect, n: u32) -> Vec<String> {
    let mut all = Vec::new();
    if options.script == Script::BulkInsert {
        return all;
    }
    if options.create_secondary {
        all.push(format!("{} k_{n} ON sbtest{n}(k{})", create_index(dialect), in_order(dialect)));
        all.extend(valid_indexes(dialect, &format!("sbtest{n}")));
    }
    let rows = options.rows_per_table();
    if dialect.follows_postgres() && rows > 0 {
        // CockroachDB's numbers come from no sequence.
        if options.auto_inc && dialect != Dialect::Cockroach {
            all.push(format!("SELECT setval(pg_get_serial_sequence('sbtest{n}', 'id'), {rows})"));
        }
        all.push(format!("ANALYZE sbtest{n}"));
    }
    all
}

/// The statements that bring the tables into the server's memory and its statistics up to date, table by table, each of
/// which may take as long as reading a table takes. Every column is read, so that no index can stand in for the rows.
pub fn prewarm(options: &Options, dialect: Dialect) -> Vec<String> {
    (1..=options.table_count()).flat_map(|n| warm_table(options, dialect, n)).collect()
}

fn warm_table(options: &Options, dialect: Dialect, n: u32) -> Vec<String> {
    let bulk = options.script == Script::BulkInsert;
    let mut all = vec![match dialect {
        Dialect::Mysql => format!("ANALYZE TABLE sbtest{n}"),
        // Its kin have nothing to vacuum. Also writes down which rows all can see, which else the first readers do.
        Dialect::Postgres => format!("VACUUM (ANALYZE) sbtest{n}"),
        _ => format!("ANALYZE sbtest{n}"),
    }];
    if dialect == Dialect::Postgres {
        // A scan of a large table uses a small ring of buffers; the extension, where it is installed, fills them all.
        all.push(format!(
            "DO $$ BEGIN IF EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'pg_prewarm') THEN \
             PERFORM pg_prewarm('sbtest{n}'); \
             PERFORM pg_prewarm(indexrelid::regclass) FROM pg_index WHERE indrelid = 'sbtest{n}'::regclass; \
             END IF; END $$"
        ));
    }
    let columns = if bulk { "SUM(k)" } else { "SUM(k), SUM(LENGTH(c)), SUM(LENGTH(pad))" };
    all.push(format!("SELECT {columns} FROM sbtest{n}"));
    if options.create_secondary && !bulk {
        let index = match dialect {
            Dialect::Mysql => format!(" FORCE INDEX (k_{n})"),
            Dialect::Sqlite => format!(" INDEXED BY k_{n}"),
            Dialect::Cockroach => format!("@k_{n}"),
            _ => String::new(),
        };
        all.push(format!("SELECT COUNT(k) FROM sbtest{n}{index} WHERE k > -2147483648"));
    }
    all
}

/// The statements that drop the tables, whoever made them.
pub fn cleanup(options: &Options, _dialect: Dialect) -> Vec<String> {
    (1..=options.table_count()).map(|n| format!("DROP TABLE IF EXISTS sbtest{n}")).collect()
}

#[cfg(test)]
mod tests {
    use super::super::options::tests::options;
    use super::*;

    const DIALECTS: [Dialect; 5] = [Dialect::Mysql, Dialect::Postgres, Dialect::Sqlite, Dialect::Cockroach, Dialect::Yugabyte];

    #[test]
    fn mysql_tables_are_those_of_sysbench() {
        let table = |words: &[(&str, &str)]| create(&options("oltp_read_write", &[], words), Dialect::Mysql, 2).remove(0);
        let expected = "CREATE TABLE sbtest2 (id INTEGER NOT NULL AUTO_INCREMENT, k INTEGER DEFAULT '0' NOT NULL, \
                        c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id)) \
                        /*! ENGINE = innodb */";
        assert_eq!(table(&[]), expected);
        let other = table(&[("auto_inc", "off"), ("secondary", "on"), ("mysql_storage_engine", "rocksdb")]);
        assert!(other.starts_with("CREATE TABLE sbtest2 (id INTEGER NOT NULL, k "), "{other}");
        assert!(other.ends_with("KEY xid (id)) /*! ENGINE = rocksdb */"), "{other}");
        for name in ["create_table_options", "mysql_table_options"] {
            assert!(table(&[(name, "ROW_FORMAT=COMPRESSED")]).ends_with("/*! ENGINE = innodb */ ROW_FORMAT=COMPRESSED"));
        }
    }

    #[test]
    fn postgres_numbers_its_rows_after_the_loaded_ones() {
        let made = |script, words: &[(&str, &str)]| {
            let options = options(script, &[("table_size", 500)], words);
            (create(&options, Dialect::Postgres, 1).remove(0), after_load(&options, Dialect::Postgres, 1))
        };
        let (table, after) = made("oltp_insert", &[]);
        assert!(table.starts_with("CREATE TABLE sbtest1 (id SERIAL, ") && table.ends_with("PRIMARY KEY (id))"), "{table}");
        let setval = "SELECT setval(pg_get_serial_sequence('sbtest1', 'id'), 500)";
        assert_eq!(after, ["CREATE INDEX k_1 ON sbtest1(k)", setval, "ANALYZE sbtest1"]);
        let (table, after) = made("oltp_insert", &[("auto_inc", "off")]);
        assert!(table.contains("(id INTEGER NOT NULL, "), "{table}");
        assert_eq!(after, ["CREATE INDEX k_1 ON sbtest1(k)"], "nothing is loaded");
        let (table, after) = made("oltp_read_write", &[("pgsql_variant", "redshift")]);
        assert!(table.contains("(id INTEGER NOT NULL, ") && after == ["ANALYZE sbtest1"], "{table} {after:?}");
    }

    #[test]
    fn cockroach_numbers_its_rows_without_a_sequence() {
        let options = options("oltp_insert", &[("table_size", 500)], &[]);
        let table = create(&options, Dialect::Cockroach, 1).remove(0);
        let expected = "CREATE TABLE sbtest1 (id INT8 DEFAULT unique_rowid() NOT NULL, k INTEGER";
        assert!(table.starts_with(expected) && table.ends_with(", PRIMARY KEY (id))"), "{table}");
        assert_eq!(after_load(&options, Dialect::Cockroach, 1), ["CREATE INDEX k_1 ON sbtest1(k)", "ANALYZE sbtest1"]);
        let warmed = prewarm(&options, Dialect::Cockroach).join("; ");
        assert!(warmed.contains("FROM sbtest1@k_1 WHERE") && !warmed.contains("VACUUM") && !warmed.contains("DO $$"), "{warmed}");
    }

    #[test]
    fn yugabyte_keeps_rows_and_indexes_in_order() {
        let made = |words: &[(&str, &str)]| {
            let options = options("oltp_read_write", &[("table_size", 500)], words);
            [create(&options, Dialect::Yugabyte, 1), after_load(&options, Dialect::Yugabyte, 1)].concat()
        };
        let all = made(&[]);
        assert!(all[0].starts_with("CREATE TABLE sbtest1 (id SERIAL,") && all[0].ends_with("PRIMARY KEY (id ASC))"), "{all:?}");
        assert_eq!(all[1], "CREATE INDEX IF NOT EXISTS k_1 ON sbtest1(k ASC)");
        assert!(all[2].contains("NOT indisvalid") && all[3].starts_with("SELECT setval("), "{all:?}");
        let split = made(&[("create_table_options", "SPLIT AT VALUES ((100), (200))")]);
        assert!(split[0].ends_with("PRIMARY KEY (id ASC)) SPLIT AT VALUES ((100), (200))"), "{split:?}");
        assert_eq!(made(&[("secondary", "on")])[1], "CREATE INDEX xid_1 ON sbtest1 (id ASC)");
        let warmed = prewarm(&options("oltp_read_write", &[], &[]), Dialect::Yugabyte).join("; ");
        assert!(warmed.starts_with("ANALYZE sbtest1") && !warmed.contains("VACUUM"), "{warmed}");
    }

    #[test]
    fn sqlite_uses_the_rowid_unless_a_plain_index_is_wanted() {
        let made = |words: &[(&str, &str)]| create(&options("oltp_read_write", &[], words), Dialect::Sqlite, 1);
        assert!(made(&[])[0].contains("id INTEGER PRIMARY KEY,"));
        assert_eq!(made(&[("secondary", "on")])[1], "CREATE INDEX xid_1 ON sbtest1 (id)");
    }

    #[test]
    fn bulk_tables_have_two_columns_and_are_one_for_each_thread() {
        let options = options("bulk_insert", &[("threads", 3)], &[]);
        for dialect in DIALECTS {
            let table = create(&options, dialect, 3);
            assert!(table.len() == 1 && table[0].contains("sbtest3 (id INTEGER NOT NULL, k INTEGER"), "{table:?}");
            assert!(after_load(&options, dialect, 3).is_empty());
            assert_eq!(cleanup(&options, dialect).len(), 3);
        }
    }

    #[test]
    fn sqlite_takes_every_statement_of_every_script() {
        for (script, _) in super::super::SCRIPTS {
            let words: &[(&str, &str)] = if script == "bulk_insert" { &[] } else { &[("create_secondary", "on")] };
            let options = options(script, &[], words);
            let database = rusqlite::Connection::open_in_memory().unwrap();
            let mut all = create(&options, Dialect::Sqlite, 1);
            all.extend(after_load(&options, Dialect::Sqlite, 1));
            all.extend(prewarm(&options, Dialect::Sqlite));
            all.extend(cleanup(&options, Dialect::Sqlite));
            all.extend(cleanup(&options, Dialect::Sqlite));
            for sql in all {
                database.execute_batch(&sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
            }
        }
    }

    #[test]
    fn every_table_is_warmed_and_dropped() {
        let options = options("oltp_read_write", &[("tables", 3)], &[]);
        for dialect in DIALECTS {
            for n in 1..=3 {
                let warmed = prewarm(&options, dialect);
                assert!(warmed.iter().filter(|sql| sql.contains(&format!("sbtest{n}"))).count() >= 3, "{warmed:?}");
                assert!(cleanup(&options, dialect).contains(&format!("DROP TABLE IF EXISTS sbtest{n}")));
            }
        }
    }
}
