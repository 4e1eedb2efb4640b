//! A statement on a real server allocates nothing once the session is warm.
#![allow(clippy::unwrap_used)] // A panic is how a test fails.

mod postgres_support;

use std::sync::Arc;

use perbuck_event::block_on;
use perbuck_load::driver::{Access, Session};
use perbuck_load::statement::{Catalogue, Verb};
use perbuck_load::values::{Params, Rows};
use postgres_support::{owner, run};

/// Runs so many transactions on a session of their own; returns how often memory was allocated.
fn transactions(count: i64) -> u64 {
    let work = async {
        let mut session = owner("tls=disabled").await;
        let mut catalogue = Catalogue::default();
        let read = catalogue.add_read("SELECT c, k FROM allocation_test WHERE id BETWEEN ? AND ?");
        let counted = catalogue.add(Verb::Select, "SELECT c FROM allocation_test WHERE id >= ?");
        let update = catalogue.add(Verb::Update, "UPDATE allocation_test SET k = k + 1, c = ?, d = ? WHERE id = ?");
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
            session.rollback().await.unwrap();
        }
    };
    allocation_counter::measure(|| block_on(work).unwrap()).count_total
}

#[test]
fn more_statements_need_no_more_allocations() {
    block_on(async {
        let mut session = owner("tls=disabled").await;
        run(&mut session, "DROP TABLE IF EXISTS allocation_test").await;
        run(&mut session, "CREATE TABLE allocation_test (id int PRIMARY KEY, k int DEFAULT 0, d numeric(12,2), c char(120))")
            .await;
        run(&mut session, "INSERT INTO allocation_test (id, c) SELECT i, REPEAT('x', 120) FROM generate_series(1, 200) i").await;
    })
    .unwrap();
    let (few, many) = (transactions(50), transactions(1050));
    // 5,000 statements more; what is left over is the server's: answers that arrive in other portions.
    assert!(many <= few + 5, "{few} allocations, then {many}");
}
