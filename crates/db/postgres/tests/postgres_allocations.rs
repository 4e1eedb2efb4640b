//! A statement on a real server allocates nothing once the session is warm.
#![allow(clippy::unwrap_used)] // A panic is how a test fails.

mod postgres_support;

use perbuck_event::block_on;
use postgres_support::{owner, run, transactions};

/// How often memory is allocated by so many transactions on a session of their own.
fn allocations(count: i64) -> u64 {
    let work = async { transactions(owner("tls=disabled").await, "allocation_test", count).await };
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
    let (few, many) = (allocations(50), allocations(1050));
    // 5,000 statements more; what is left over is the server's: answers that arrive in other portions.
    assert!(many <= few + 5, "{few} allocations, then {many}");
}
