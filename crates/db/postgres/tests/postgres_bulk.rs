//! Loading rows into a real PostgreSQL, by COPY and by INSERT.
#![allow(clippy::unwrap_used)] // A panic is how a test fails.

mod postgres_support;

use perbuck_event::block_on;
use perbuck_load::driver::{Access, BulkTable, Session};
use perbuck_load::error::{DriverError, ErrorClass};
use perbuck_load::values::Params;
use postgres_support::{owner, run, select, state, table};

const ROWS: i64 = 10_000;

/// Text with everything that could end a value, a row or an escape.
fn odd_rows() -> Params {
    let mut cells = Params::default();
    for i in 0..ROWS {
        cells.int(i).decimal(-i, 2).text(format!("{i}\t'\\\n\r\\.\\N\"é😀\u{8}").as_bytes());
        _ = if i % 2 == 0 { cells.null() } else { cells.text(b"") };
    }
    cells
}

async fn insert(
    session: &mut perbuck_postgres::PostgresSession,
    copy: bool,
    table: &BulkTable,
    cells: &Params,
) -> Result<u64, DriverError> {
    if copy { session.load_rows(table, cells).await } else { session.insert_rows(table, cells).await }
}

#[test]
fn rows_are_loaded_as_they_are_all_or_none() {
    block_on(async {
        for copy in [true, false] {
            let mut session = owner("").await;
            let columns = "id int PRIMARY KEY, d numeric(12,2), t varchar(200), \"Order\" text";
            let name = table(&mut session, "bulk", columns).await;
            let bulk = BulkTable { name: name.clone(), columns: vec!["id", "d", "t", "Order"] };
            let count = format!("SELECT COUNT(*) FROM {name}");
            // The last row fails.
            let mut broken = odd_rows();
            broken.int(0).null().null().null();
            let error = insert(&mut session, copy, &bulk, &broken).await.unwrap_err();
            assert_eq!((error.class, error.code), (ErrorClass::Failed, state(b"23505")), "{error}");
            assert_eq!(select(&mut session, &count).await, [["0"]]);
            assert_eq!(insert(&mut session, copy, &bulk, &odd_rows()).await, Ok(ROWS as u64));
            let text = "t = id || E'\\t''\\\\\\n\\r\\\\.\\\\N\"é😀\\b'";
            let sums = format!(
                "SELECT COUNT(*), SUM(d), COUNT(*) FILTER (WHERE {text}), COUNT(\"Order\"), SUM(LENGTH(\"Order\")) FROM {name}"
            );
            assert_eq!(select(&mut session, &sums).await, [["10000", "-499950.00", "10000", "5000", "0"]]);
            assert_eq!(insert(&mut session, copy, &bulk, &Params::default()).await, Ok(0));
            // Within a transaction they belong to it.
            run(&mut session, &format!("TRUNCATE {name}")).await;
            session.begin(Access::Write).await.unwrap();
            assert_eq!(insert(&mut session, copy, &bulk, &odd_rows()).await, Ok(ROWS as u64));
            session.rollback().await.unwrap();
            assert_eq!(select(&mut session, &count).await, [["0"]]);
            // A table that is not there takes none, and the connection goes on.
            let missing = BulkTable { name: "no_such_table".to_owned(), ..bulk.clone() };
            let error = insert(&mut session, copy, &missing, &odd_rows()).await.unwrap_err();
            assert_eq!((error.class, error.code), (ErrorClass::Fatal, state(b"42P01")), "{error}");
            let mut torn = Params::default();
            assert_eq!(insert(&mut session, copy, &bulk, torn.int(1)).await.unwrap_err().class, ErrorClass::Fatal);
            // What is no text is refused and not bent.
            let bytes = insert(&mut session, copy, &bulk, torn.clear().int(1).null().text(b"\xff").null()).await.unwrap_err();
            assert_eq!((bytes.class, bytes.code), (ErrorClass::Failed, state(b"22021")), "{bytes}");
            run(&mut session, &format!("DROP TABLE {name}")).await;
            session.close().await;
        }
    })
    .unwrap();
}
