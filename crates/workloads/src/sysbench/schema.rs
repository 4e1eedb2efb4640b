//! The statements that make, warm and drop the tables, for each dialect.

use perbuck_database::dialect::{Dialect, Type};

use super::options::Options;
use super::script::Script;

/// The statements that make table `n`, empty: in the words of sysbench.
///
/// Where a database has a key that numbers itself and no other numbered column, `auto_inc` makes no difference. Index names are
/// global in some, hence `xid_N`.
pub(super) fn create(options: &Options, dialect: &dyn Dialect, n: u32) -> Vec<String> {
    let int = dialect.type_words(Type::Integer);
    if options.script == Script::BulkInsert {
        return vec![format!("CREATE TABLE sbtest{n} (id {int} NOT NULL, k {int} DEFAULT '0' NOT NULL, PRIMARY KEY (id))")];
    }
    let &Options { auto_inc, secondary, .. } = options;
    let (c, pad) = (dialect.type_words(Type::Char(120)), dialect.type_words(Type::Char(60)));
    let columns = format!("k {int} DEFAULT '0' NOT NULL, c {c} DEFAULT '' NOT NULL, pad {pad} DEFAULT '' NOT NULL");
    let tail = match options.create_table_options.as_str() {
        "" => String::new(),
        text => format!(" {text}"),
    };
    let is_key = dialect.numbered_is_key();
    let numbered = if is_key { !secondary } else { auto_inc };
    let id = if numbered { dialect.numbered(false).to_owned() } else { format!("{int} NOT NULL") };
    let within = dialect.index_in_table();
    let key = match secondary {
        true if within => ", KEY xid (id)".to_owned(),
        false if !is_key => format!(", PRIMARY KEY (id{})", dialect.in_order()),
        _ => String::new(),
    };
    let engine = dialect.engine(&options.mysql_storage_engine);
    let mut all = vec![format!("CREATE TABLE sbtest{n} (id {id}, {columns}{key}){engine}{tail}")];
    if secondary && !within {
        // sysbench writes `KEY xid` here, too, which these refuse.
        all.push(format!("CREATE INDEX xid_{n} ON sbtest{n} (id{})", dialect.in_order()));
    }
    all
}

/// The statements after the rows of table `n` are in.
pub(super) fn after_load(options: &Options, dialect: &dyn Dialect, n: u32) -> Vec<String> {
    let mut all = Vec::new();
    if options.script == Script::BulkInsert {
        return all;
    }
    let table = format!("sbtest{n}");
    if options.create_secondary {
        all.push(format!("{} k_{n} ON {table}(k{})", dialect.create_index(), dialect.in_order()));
        all.extend(dialect.valid_indexes(&table));
    }
    let rows = options.rows_per_table();
    if rows > 0 && options.auto_inc {
        all.extend(dialect.number_after(&table, "id", rows.into()));
    }
    all
}

/// The statements that bring the tables into the server's memory and its statistics up to date, table by table, each of
/// which may take as long as reading a table takes. Every column is read, so that no index can replace the rows.
pub fn prewarm(options: &Options, dialect: &dyn Dialect) -> Vec<String> {
    (1..=options.table_count()).flat_map(|n| warm_table(options, dialect, n)).collect()
}

fn warm_table(options: &Options, dialect: &dyn Dialect, n: u32) -> Vec<String> {
    let bulk = options.script == Script::BulkInsert;
    let mut all = dialect.warm_up(&format!("sbtest{n}"));
    let columns = if bulk { "SUM(k)" } else { "SUM(k), SUM(LENGTH(c)), SUM(LENGTH(pad))" };
    all.push(format!("SELECT {columns} FROM sbtest{n}"));
    if options.create_secondary && !bulk {
        let index = dialect.forced_index(&format!("k_{n}"));
        all.push(format!("SELECT COUNT(k) FROM sbtest{n}{index} WHERE k > -2147483648"));
    }
    all
}

/// The statements that drop the tables, also those of another program.
pub fn cleanup(options: &Options, _dialect: &dyn Dialect) -> Vec<String> {
    (1..=options.table_count()).map(|n| format!("DROP TABLE IF EXISTS sbtest{n}")).collect()
}

#[cfg(test)]
mod tests {
    use super::super::options::tests::options;
    use super::*;
    use crate::testing::SQLITE;

    #[test]
    fn sqlite_takes_every_statement_of_every_script() {
        for (script, _) in super::super::SCRIPTS {
            let words: &[(&str, &str)] = if script == "bulk_insert" { &[] } else { &[("create_secondary", "on")] };
            let options = options(script, words);
            let database = rusqlite::Connection::open_in_memory().unwrap();
            let made = [create(&options, SQLITE, 1), after_load(&options, SQLITE, 1), prewarm(&options, SQLITE)].concat();
            for sql in [made, cleanup(&options, SQLITE), cleanup(&options, SQLITE)].concat() {
                database.execute_batch(&sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
            }
        }
    }
}
