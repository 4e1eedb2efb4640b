//! The loader against a store that forgets what was not committed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use crate::driver::{Access, BulkTable, Effect, TargetFacts};
use crate::error::{DriverError, ErrorClass};
use crate::sim::SimDriver;
use crate::statement::{Catalogue, StatementId};
use crate::values::{Params, Rows, Value};
use crate::workload::{Check, Part, TableSpec};

use super::*;

mod resume;

/// Two tables; part `p` has rows `1000p` and on, in batches that change tables half way.
struct Numbers {
    parts: u32,
    batches: u32,
    rows_per_batch: i64,
    row_bytes: usize,
}

struct NumbersPart {
    next: i64,
    batch: u32,
    batches: u32,
    rows: i64,
    text: Vec<u8>,
}

impl Part for NumbersPart {
    fn next_batch(&mut self, cells: &mut Params) -> Option<usize> {
        if self.batch == self.batches {
            return None;
        }
        for _ in 0..self.rows {
            // Large, so that a part takes several transactions.
            cells.int(self.next).text(&self.text);
            self.next += 1;
        }
        self.batch += 1;
        Some(usize::from(self.batch > self.batches / 2))
    }
}

impl Dataset for Numbers {
    fn tables(&self) -> Vec<TableSpec> {
        let rows = Some(u64::from(self.parts * self.batches) * self.rows_per_batch as u64 / 2);
        let table = |name: &str| TableSpec {
            bulk: BulkTable { name: name.to_owned(), columns: ["n", "x"].map(str::to_owned).to_vec() },
            create: vec![format!("CREATE TABLE {name}")],
            after_load: vec![format!("CREATE INDEX ON {name}")],
            statistics: Some(format!("ANALYZE {name}")),
            rows,
            rows_vary: false,
            numbered: name == "low",
        };
        vec![table("low"), table("high")]
    }

    fn parts(&self) -> u32 {
        self.parts
    }

    fn part(&self, index: u32) -> Box<dyn Part> {
        let text = vec![b'x'; self.row_bytes];
        Box::new(NumbersPart {
            next: i64::from(index) * 100_000,
            batch: 0,
            batches: self.batches,
            rows: self.rows_per_batch,
            text,
        })
    }

    fn checks(&self) -> Vec<Check> {
        Vec::new()
    }

    fn parameters(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    fn grows(&self) -> bool {
        false
    }
}

#[derive(Default)]
struct Stored {
    tables: BTreeMap<String, Vec<i64>>,
    statements: Vec<String>,
    calls: u64,
    /// The call from which on the server is dead; 0 while it lives.
    dies_at: u64,
    ledger: Vec<PartState>,
    /// Tables that were loaded, other than by INSERT.
    loaded: BTreeSet<String>,
}

impl Stored {
    /// That it has the rows of so many parts, half of each in either table, and none twice.
    fn holds(&self, parts: i64, half: i64, when: &str) {
        for (table, first) in [("low", 0), ("high", half)] {
            let mut rows = self.tables[table].clone();
            rows.sort_unstable();
            let expected: Vec<i64> = (0..parts).flat_map(|p| (0..half).map(move |i| p * 100_000 + first + i)).collect();
            assert!(rows == expected, "{table} has {} rows {when}", rows.len());
        }
    }
}

/// A database that fails every n-th call with a conflict, which undoes the transaction.
#[derive(Clone, Default)]
struct Forgetful {
    stored: Arc<Mutex<Stored>>,
    fails_every: u64,
    /// Loses a row of each batch without a word.
    loses: bool,
    /// Keeps the transaction whose COMMIT it does not live to answer.
    commits_in_death: bool,
    /// See [`Session::numbers_one_at_a_time`].
    numbers_one_at_a_time: bool,
}

struct ForgetfulSession {
    database: Forgetful,
    open: Vec<(String, i64)>,
    noted: Option<(usize, PartState)>,
}

impl ForgetfulSession {
    fn call(&mut self) -> Result<(), DriverError> {
        let mut stored = self.database.stored.lock().unwrap();
        stored.calls += 1;
        if stored.dies_at > 0 && stored.calls >= stored.dies_at {
            return Err(DriverError::client(ErrorClass::Lost, "closed", "the server is gone"));
        }
        if self.database.fails_every > 0 && stored.calls.is_multiple_of(self.database.fails_every) {
            self.open.clear();
            self.noted = None;
            return Err(SimDriver::error(ErrorClass::Retry, 1213));
        }
        Ok(())
    }
}

impl Driver for Forgetful {
    type Session = ForgetfulSession;

    async fn connect(&self, _id: SessionId) -> Result<ForgetfulSession, DriverError> {
        Ok(ForgetfulSession { database: self.clone(), open: Vec::new(), noted: None })
    }

    async fn facts(&self) -> Result<TargetFacts, DriverError> {
        Ok(TargetFacts::default())
    }
}

impl Session for ForgetfulSession {
    async fn prepare(&mut self, _catalogue: &Arc<Catalogue>) -> Result<(), DriverError> {
        Ok(())
    }

    async fn execute(&mut self, _id: StatementId, _params: &Params, _rows: &mut Rows) -> Result<Effect, DriverError> {
        Ok(Effect::Affected(0))
    }

    async fn begin(&mut self, _access: Access) -> Result<(), DriverError> {
        assert!(self.open.is_empty(), "a transaction within another");
        Ok(())
    }

    async fn commit(&mut self) -> Result<(), DriverError> {
        let answer = self.call();
        let mut stored = self.database.stored.lock().unwrap();
        // Only the first COMMIT into death can still be carried out.
        let last_words = self.database.commits_in_death && stored.calls == stored.dies_at;
        if answer.is_err() && !last_words {
            return answer;
        }
        for (table, row) in self.open.drain(..) {
            stored.tables.entry(table).or_default().push(row);
        }
        if let Some((part, state)) = self.noted.take() {
            stored.ledger[part] = state;
        }
        answer
    }

    async fn rollback(&mut self) -> Result<bool, DriverError> {
        self.open.clear();
        self.noted = None;
        Ok(true)
    }

    async fn query(&mut self, sql: &str, rows: &mut Rows) -> Result<Effect, DriverError> {
        if let Some(words) = sql.strip_prefix("ledger ") {
            self.call()?;
            return Ok(resume::ledger(self, words, rows));
        }
        if !sql.starts_with("SELECT") {
            self.call()?;
        }
        let mut stored = self.database.stored.lock().unwrap();
        if let Some(table) = sql.strip_prefix("SELECT COUNT(*) FROM ") {
            rows.start(true);
            rows.push_int(stored.tables.get(table).map_or(0, Vec::len) as i64);
            rows.end_row();
            return Ok(Effect::ResultSet);
        }
        stored.statements.push(sql.to_owned());
        Ok(Effect::Affected(0))
    }

    async fn insert_rows(&mut self, table: &BulkTable, cells: &Params) -> Result<u64, DriverError> {
        self.call()?;
        let numbers = cells.iter().filter_map(|v| if let Value::Int(n) = v { Some(n) } else { None });
        let before = self.open.len();
        self.open.extend(numbers.skip(usize::from(self.database.loses)).map(|n| (table.name.clone(), n)));
        Ok((self.open.len() - before) as u64)
    }

    async fn load_rows(&mut self, table: &BulkTable, cells: &Params) -> Result<u64, DriverError> {
        self.database.stored.lock().unwrap().loaded.insert(table.name.clone());
        self.insert_rows(table, cells).await
    }

    async fn numbers_one_at_a_time(&mut self) -> Result<bool, DriverError> {
        Ok(self.database.numbers_one_at_a_time)
    }

    async fn close(self) {}
}

fn run(database: &Forgetful, data: &Numbers, sessions: u32) -> (Result<(), LoadError>, LoadProgress) {
    let (mut last, waiting) = (LoadProgress::default(), Waiting::default());
    let result =
        Load { driver: database, dataset: data, making: None, ledger: None, sessions, waiting: &waiting }.run(&mut |p| last = p);
    (result, last)
}

#[test]
fn conflicts_neither_lose_nor_double_a_row() {
    // A transaction takes five calls at most, so that one of them gets through.
    for (fails_every, sessions) in [(0, 1), (0, 3), (7, 1), (11, 4), (13, 3)] {
        let database = Forgetful { fails_every, ..Forgetful::default() };
        let (result, progress) =
            run(&database, &Numbers { parts: 5, batches: 10, rows_per_batch: 1_200, row_bytes: 1_000 }, sessions);
        assert_eq!(result, Ok(()), "{fails_every} {sessions}");
        let stored = database.stored.lock().unwrap();
        stored.holds(5, 6_000, "");
        let sent = |sql: String| stored.statements.contains(&sql);
        assert!(["low", "high"].iter().all(|table| sent(format!("CREATE INDEX ON {table}")) && sent(format!("ANALYZE {table}"))));
        let expected = LoadProgress { rows: 60_000, parts: 5, of: 5, tables_finished: 2, tables: 2, ..LoadProgress::default() };
        assert_eq!(LoadProgress { statistics_ms: 0, ..progress }, expected);
    }
}

#[test]
fn sessions_that_would_wait_for_each_other_insert() {
    // Two tables, of which one is numbered.
    for (numbers_one_at_a_time, sessions, loaded) in
        [(false, 3, ["high", "low"].as_slice()), (true, 2, &["high", "low"]), (true, 3, &["high"])]
    {
        let database = Forgetful { numbers_one_at_a_time, ..Forgetful::default() };
        let (result, progress) = run(&database, &Numbers { parts: 5, batches: 2, rows_per_batch: 10, row_bytes: 100 }, sessions);
        assert_eq!((result, progress.rows), (Ok(()), 100));
        assert!(database.stored.lock().unwrap().loaded.iter().eq(loaded), "{sessions} sessions");
    }
}

#[test]
fn a_load_that_cannot_succeed_says_why() {
    let numbers = Numbers { parts: 2, batches: 2, rows_per_batch: 3, row_bytes: 1_000 };
    let conflicts = Forgetful { fails_every: 1, ..Forgetful::default() };
    assert!(matches!(run(&conflicts, &numbers, 1).0, Err(LoadError::Server { .. })), "the server's words");
    let loses = Forgetful { loses: true, ..Forgetful::default() };
    let missed = LoadError::WrongCount { table: "low".to_owned(), expected: 3, found: 2 };
    assert_eq!(run(&loses, &numbers, 2).0, Err(missed), "a row that is lost silently");
}
