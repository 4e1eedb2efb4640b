//! A statement on a real server allocates nothing once the session is warm.
#![allow(clippy::unwrap_used)] // A panic is how a test fails.

mod mysql_support;

use mysql_support::{root, run, transactions};
use perbuck_event::block_on;

const SERVER: &str = "PERBUCK_TEST_MARIADB";

/// How often memory is allocated by so many transactions on a session of their own.
fn allocations(count: i64) -> u64 {
    let work = async { transactions(root(SERVER, "tls=disabled").await, "allocation_test", count).await };
    allocation_counter::measure(|| block_on(work).unwrap()).count_total
}

#[test]
fn more_statements_need_no_more_allocations() {
    block_on(async {
        let mut session = root(SERVER, "tls=disabled").await;
        let columns = "id int PRIMARY KEY, k int DEFAULT 0, d decimal(12,2), c char(120)";
        run(&mut session, &format!("CREATE OR REPLACE TABLE allocation_test ({columns})")).await;
        run(&mut session, "INSERT INTO allocation_test (id, c) SELECT seq, REPEAT('x', 120) FROM seq_1_to_200").await;
    })
    .unwrap();
    let (few, many) = (allocations(50), allocations(1050));
    // 5,000 statements more; what is left over is the server's: answers that arrive in other portions.
    assert!(many <= few + 5, "{few} allocations, then {many}");
}
