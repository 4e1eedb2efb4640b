//! The tables of scripts: pgbench's four, those of `init`, or none.

use std::collections::BTreeMap;
use std::sync::Arc;

use perbuck_core::units::Seed;
use perbuck_database::Dialect;
use perbuck_database::dialect::Type;
use perbuck_load::driver::BulkTable;
use perbuck_load::values::Params;
use perbuck_load::workload::{Check, Dataset, Part, TableSpec};

use super::Options;
use super::options::Init;
use crate::generated::Rows;

/// Branches, tellers and accounts for each unit of scale.
const TELLERS: u64 = 10;
const ACCOUNTS: u64 = 100_000;
/// Parts of the accounts of one unit of scale.
const PARTS: u64 = 4;
const ROWS_PER_BATCH: u64 = 2_500;
/// From this scale on an account's number has 64 bits, as in pgbench.
const WIDE_FROM: u32 = 20_000;

/// The names of pgbench's tables, in the order of creation.
pub const TABLES: [&str; 4] = ["pgbench_branches", "pgbench_tellers", "pgbench_accounts", "pgbench_history"];

/// The tables of scripts.
#[derive(Debug, Clone)]
pub struct ScriptData {
    options: Options,
    dialect: &'static dyn Dialect,
    /// The rows that are drawn.
    rows: Arc<Rows>,
}

impl ScriptData {
    /// Those of these options, with rows drawn from a seed.
    pub fn new(options: Options, dialect: &'static dyn Dialect, seed: Seed) -> Self {
        let rows = Arc::new(Rows::new(&options.generated, seed));
        Self { options, dialect, rows }
    }

    /// The tables of `init`.
    fn made(&self, init: &Init) -> Vec<TableSpec> {
        let Options { generated, finish, .. } = &self.options;
        let numbers = |name: &str| {
            let made = init.file.statements.iter().find(|sql| made_table(sql).as_deref() == Some(name));
            made.is_some_and(|sql| sql.to_ascii_uppercase().contains("AUTO_INCREMENT"))
        };
        let table = |(i, name): (usize, &String)| {
            let drawn = generated.table(name);
            TableSpec {
                numbered: drawn.is_some() && numbers(name),
                rows_vary: drawn.is_none() || self.options.changes_row_counts(),
                rows: drawn.as_ref().map(|(rows, _)| *rows),
                bulk: BulkTable { name: name.clone(), columns: drawn.map(|(_, columns)| columns).unwrap_or_default() },
                // All of them, once: their order is the user's.
                create: if i == 0 { init.file.statements.clone() } else { Vec::new() },
                after_load: Vec::new(),
                statistics: self.dialect.statistics(name),
            }
        };
        let mut tables: Vec<TableSpec> = init.tables.iter().enumerate().map(table).collect();
        if let (Some(finish), false) = (finish, tables.is_empty()) {
            // Statistics after all indexes: one session executes both, one after the other.
            let statistics: Vec<String> = tables.iter_mut().filter_map(|table| table.statistics.take()).collect();
            tables[0].after_load = finish.statements.iter().cloned().chain(statistics).collect();
        }
        tables
    }

    fn columns(&self, table: usize) -> Vec<(&'static str, Type)> {
        let number = if self.options.scale >= WIDE_FROM { Type::BigInt } else { Type::Int };
        match table {
            0 => vec![("bid", Type::Int), ("bbalance", Type::Int), ("filler", Type::Char(88))],
            1 => vec![("tid", Type::Int), ("bid", Type::Int), ("tbalance", Type::Int), ("filler", Type::Char(84))],
            2 => vec![("aid", number), ("bid", Type::Int), ("abalance", Type::Int), ("filler", Type::Char(84))],
            _ => vec![
                ("tid", Type::Int),
                ("bid", Type::Int),
                ("aid", number),
                ("delta", Type::Int),
                ("mtime", Type::DateTime),
                ("filler", Type::Char(22)),
            ],
        }
    }

    fn table(&self, table: usize) -> TableSpec {
        let (name, columns, options) = (TABLES[table], self.columns(table), &self.options);
        let has_key = table < 3;
        let column = |(i, (name, kind)): (usize, &(&str, Type))| {
            format!("{name} {}{}", self.dialect.type_words(*kind), if i == 0 && has_key { " NOT NULL" } else { "" })
        };
        let mut parts: Vec<String> = columns.iter().enumerate().map(column).collect();
        if has_key {
            parts.push(format!("PRIMARY KEY ({}){}", columns[0].0, self.dialect.clustered()));
        }
        let create = self.dialect.create_unlogged().filter(|_| options.unlogged).unwrap_or("CREATE TABLE");
        let fills = has_key && options.fillfactor < 100;
        let fill = if fills { self.dialect.fill_factor(options.fillfactor) } else { String::new() };
        let rows = [1, TELLERS, ACCOUNTS, 0][table] * u64::from(options.scale);
        TableSpec {
            bulk: BulkTable { name: name.to_owned(), columns: columns.iter().map(|(name, _)| (*name).to_owned()).collect() },
            create: vec![format!("{create} {name} ({}){fill}", parts.join(", "))],
            after_load: Vec::new(),
            statistics: if rows == 0 { None } else { self.dialect.statistics(name) },
            rows: Some(rows),
            rows_vary: table == 3 || options.changes_row_counts() && !options.builtin,
            numbered: false,
        }
    }
}

/// That a table has so many rows.
fn row_check(table: &str, rows: u64) -> Check {
    Check {
        name: format!("{table} rows"),
        what: format!("{table} has {rows} rows"),
        compared: format!("SELECT COUNT(*) FROM {table}").into(),
        violations: format!("SELECT n FROM (SELECT COUNT(*) AS n FROM {table}) AS counted WHERE n <> {rows}").into(),
        columns: vec!["rows"],
        unless_used: None,
    }
}

/// The table that a statement makes, if it makes one that stays.
pub(super) fn made_table(sql: &str) -> Option<String> {
    let mut words = sql.split(|c: char| c.is_whitespace() || c == '(').filter(|word| !word.is_empty());
    let is = |word: Option<&str>, one: &str| word.is_some_and(|word| word.eq_ignore_ascii_case(one));
    if !is(words.next(), "create") {
        return None;
    }
    let mut word = words.next();
    if is(word, "unlogged") {
        word = words.next();
    }
    if !is(word, "table") {
        return None;
    }
    let mut name = words.next()?;
    if name.eq_ignore_ascii_case("if") {
        name = words.nth(2)?;
    }
    Some(name.to_owned())
}

impl Dataset for ScriptData {
    fn tables(&self) -> Vec<TableSpec> {
        if let Some(init) = &self.options.init {
            return self.made(init);
        }
        if self.options.scale == 0 { Vec::new() } else { (0..TABLES.len()).map(|table| self.table(table)).collect() }
    }

    fn parts(&self) -> u32 {
        if self.options.scale == 0 { self.rows.parts() } else { self.options.scale * PARTS as u32 }
    }

    fn part(&self, index: u32) -> Box<dyn Part> {
        if self.options.scale == 0 {
            let tables = self.options.init.as_ref().map(|init| &*init.tables).unwrap_or_default();
            return Box::new(self.rows.part(index, tables));
        }
        let first = u64::from(index) * (ACCOUNTS / PARTS) + 1;
        let branch = u64::from(index) / PARTS + 1;
        Box::new(AccountsPart {
            branch,
            next: first,
            end: first + ACCOUNTS / PARTS,
            small: u64::from(index).is_multiple_of(PARTS).then_some(0),
        })
    }

    fn checks(&self) -> Vec<Check> {
        if self.options.scale == 0 {
            let kept = self.tables().into_iter().filter(|table| !table.rows_vary);
            return kept.filter_map(|table| Some(row_check(&table.bulk.name, table.rows?))).collect();
        }
        let scale = u64::from(self.options.scale);
        let mut all: Vec<Check> =
            TABLES.iter().zip([1, TELLERS, ACCOUNTS]).map(|(table, rows)| row_check(table, rows * scale)).collect();
        if self.options.builtin {
            all.push(Check {
                name: "accounts and history".to_owned(),
                what: "the balances of all accounts are the sum of the changes in pgbench_history".to_owned(),
                compared: "SELECT COUNT(*) FROM pgbench_accounts".into(),
                violations: "SELECT a, h FROM (SELECT SUM(abalance) AS a FROM pgbench_accounts) AS accounts, \
                             (SELECT COALESCE(SUM(delta), 0) AS h FROM pgbench_history) AS history WHERE a <> h"
                    .into(),
                columns: vec!["accounts", "history"],
                unless_used: None,
            });
        }
        all
    }

    fn parameters(&self) -> BTreeMap<String, String> {
        self.options.data_parameters()
    }

    fn grows(&self) -> bool {
        self.options.changes_row_counts()
    }
}

/// Accounts of one branch; the first part of a branch also has the branch itself and its tellers.
#[derive(Debug, Clone)]
pub struct AccountsPart {
    branch: u64,
    next: u64,
    end: u64,
    /// The next of the two small tables, if any.
    small: Option<usize>,
}

impl Part for AccountsPart {
    fn next_batch(&mut self, cells: &mut Params) -> Option<usize> {
        cells.clear();
        let branch = self.branch as i64;
        if let Some(table) = self.small {
            self.small = (table == 0).then_some(1);
            if table == 0 {
                cells.int(branch).int(0).null();
            } else {
                let first = (branch - 1) * TELLERS as i64 + 1;
                (first..first + TELLERS as i64).for_each(|teller| _ = cells.int(teller).int(branch).int(0).null());
            }
            return Some(table);
        }
        if self.next >= self.end {
            return None;
        }
        let end = (self.next + ROWS_PER_BATCH).min(self.end);
        (self.next..end).for_each(|account| _ = cells.int(account as i64).int(branch).int(0).text(b""));
        self.next = end;
        Some(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_found_in_the_statements_that_make_them() {
        for (sql, name) in [
            ("CREATE TABLE orders (id int)", Some("orders")),
            ("create table if not exists lines(id int)", Some("lines")),
            ("CREATE UNLOGGED TABLE u AS SELECT 1", Some("u")),
            ("CREATE TEMP TABLE t (id int)", None),
            ("CREATE INDEX i ON orders (id)", None),
            ("INSERT INTO orders VALUES (1)", None),
        ] {
            assert_eq!(made_table(sql).as_deref(), name, "{sql}");
        }
    }
}
