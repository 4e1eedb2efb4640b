//! Alone in its process, so that only its own memory is measured.
#![allow(clippy::unwrap_used)] // A panic is how a test fails.

mod mysql_support;

use std::sync::Arc;

use mysql_support::{MARIADB, Server as _, run};
use perbuck_event::block_on;
use perbuck_load::driver::{Access, Session};
use perbuck_load::statement::{Catalogue, Verb};
use perbuck_load::values::{Params, Rows};

fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn thousands_of_statements_need_no_more_memory_than_hundreds() {
    block_on(async {
        let mut session = MARIADB.session("").await;
        run(&mut session, "CREATE OR REPLACE TABLE memory_test (id int PRIMARY KEY, c char(120))").await;
        run(&mut session, "INSERT INTO memory_test SELECT seq, REPEAT('x', 120) FROM seq_1_to_200").await;
        let mut catalogue = Catalogue::default();
        let read = catalogue.add_read("SELECT c FROM memory_test WHERE id BETWEEN ? AND ?");
        let count = catalogue.add(Verb::Select, "SELECT c FROM memory_test WHERE id >= ?");
        session.prepare(&Arc::new(catalogue)).await.unwrap();
        let (mut params, mut rows) = (Params::default(), Rows::default());
        let mut before = 0;
        for i in 0..6_000 {
            if i == 1_000 {
                before = resident_kib();
            }
            session.begin(Access::Read).await.unwrap();
            params.clear().int(i % 100).int(i % 100 + 99);
            session.execute(read, &params, &mut rows).await.unwrap();
            params.clear().int(1);
            session.execute(count, &params, &mut rows).await.unwrap();
            assert_eq!(rows.len(), 200);
            session.commit().await.unwrap();
        }
        let after = resident_kib();
        run(&mut session, "DROP TABLE memory_test").await;
        assert!(after < before + 1_024, "{before} KiB became {after} KiB");
    })
    .unwrap();
}
