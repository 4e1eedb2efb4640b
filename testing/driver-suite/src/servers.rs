//! What the tests against real servers share, whatever the protocol. The servers are those of `dev/with-servers`.

use std::sync::Arc;

use perbuck_event::TaskSet;
use perbuck_load::driver::{Access, Effect, Session};
use perbuck_load::error::DriverError;
use perbuck_load::statement::{Catalogue, StatementId, Verb};
use perbuck_load::values::{Params, Rows};

/// An environment variable of `dev/with-servers`.
pub fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set: run this test under dev/with-servers"))
}

/// Runs a statement whose rows do not matter.
pub async fn run<S: Session>(session: &mut S, sql: &str) -> Effect {
    let mut rows = Rows::default();
    session.query(sql, &mut rows).await.unwrap_or_else(|error| panic!("{sql}: {error}"))
}

/// The cells of a query, for people.
pub async fn select<S: Session>(session: &mut S, sql: &str) -> Vec<Vec<String>> {
    let mut rows = Rows::default();
    session.query(sql, &mut rows).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    cells(&rows)
}

/// The error of a statement that must fail.
pub async fn error_of<S: Session>(session: &mut S, sql: &str) -> DriverError {
    let mut rows = Rows::default();
    session.query(sql, &mut rows).await.unwrap_err()
}

/// The cells of kept rows, for people.
pub fn cells(rows: &Rows) -> Vec<Vec<String>> {
    let cell = |row, column| rows.display(row, column).unwrap();
    (0..rows.len() as usize).map(|row| (0..rows.width()).map(|column| cell(row, column)).collect()).collect()
}

/// A catalogue of one read whose rows are kept.
pub async fn prepare_read<S: Session>(session: &mut S, sql: &str) -> StatementId {
    let mut catalogue = Catalogue::default();
    let id = catalogue.add_read(sql);
    session.prepare(&Arc::new(catalogue)).await.unwrap();
    id
}

/// Parameters.
pub fn bound(fill: impl FnOnce(&mut Params)) -> Params {
    let mut params = Params::default();
    fill(&mut params);
    params
}

/// Two transactions that wait for each other over the rows 1 and 2 of a table (`id`, `v`): the error of the one that the
/// server chose, both rolled back.
pub async fn deadlock<S: Session>(one: S, two: S, table: &str) -> DriverError {
    let mut both = TaskSet::default();
    let mut sessions = [(one, 1, 2), (two, 2, 1)];
    for (session, id, _) in &mut sessions {
        session.begin(Access::Write).await.unwrap();
        run(session, &format!("UPDATE {table} SET v = 1 WHERE id = {id}")).await;
    }
    for (mut session, _, other) in sessions {
        let sql = format!("UPDATE {table} SET v = 2 WHERE id = {other}");
        both.spawn(async move {
            let result = session.query(&sql, &mut Rows::default()).await;
            session.rollback().await.unwrap();
            // Rolling back where nothing is open does nothing.
            session.rollback().await.unwrap();
            result
        });
    }
    let (a, b) = (both.next().await.unwrap(), both.next().await.unwrap());
    a.and(b).unwrap_err()
}

/// Transactions over the 200 rows of a table (`id`, `k`, `c`): a read that is kept, one that is counted, and a change.
pub async fn transactions<S: Session>(mut session: S, table: &str, count: i64) {
    let mut catalogue = Catalogue::default();
    let read = catalogue.add_read(format!("SELECT c, k FROM {table} WHERE id BETWEEN ? AND ?"));
    let counted = catalogue.add(Verb::Select, format!("SELECT c FROM {table} WHERE id >= ?"));
    let update = catalogue.add(Verb::Update, format!("UPDATE {table} SET k = k + 1, c = ?, d = ? WHERE id = ?"));
    session.prepare(&Arc::new(catalogue)).await.unwrap();
    let (mut params, mut rows) = (Params::default(), Rows::default());
    for i in 0..count {
        session.begin(Access::Write).await.unwrap();
        params.clear().int(i % 100).int(i % 100 + 99);
        session.execute(read, &params, &mut rows).await.unwrap();
        params.clear().int(1);
        session.execute(counted, &params, &mut rows).await.unwrap();
        assert_eq!(rows.len(), 200);
        params.clear().text(b"0123456789").decimal(-1230, 2).int(7);
        session.execute(update, &params, &mut rows).await.unwrap();
        session.commit().await.unwrap();
    }
}
