//! Bulk loading on real servers, by LOAD DATA LOCAL where the server takes it.
#![allow(clippy::unwrap_used)] // A panic is how a test fails.

mod mysql_support;

use mysql_support::{SERVERS, root, run, select};
use perbuck_event::block_on;
use perbuck_load::driver::{Access, BulkTable, Session};
use perbuck_load::error::{ErrorClass, ErrorCode};
use perbuck_load::values::Params;
use perbuck_mysql::MysqlSession;

const ROWS: i64 = 10_000;

async fn table(session: &mut MysqlSession, name: &str) -> BulkTable {
    let name = format!("{name}_{}", std::process::id());
    run(session, &format!("DROP TABLE IF EXISTS {name}")).await;
    let columns = "id int PRIMARY KEY, d decimal(12,2), t varchar(200), b blob";
    run(session, &format!("CREATE TABLE {name} ({columns}) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4")).await;
    BulkTable { name, columns: vec!["id", "d", "t", "b"] }
}

/// Text with everything that ends a field or a row, and bytes that are no text.
fn odd_rows() -> Params {
    let mut cells = Params::default();
    for i in 0..ROWS {
        cells.int(i).decimal(-i, 2).text(format!("{i}\t'\\\n\u{e9}\u{1f600}\0\\N\r").as_bytes());
        _ = if i % 2 == 0 { cells.null() } else { cells.text(b"\xff\x00\t\\") };
    }
    cells
}

/// All rows are there and as they were sent.
async fn assert_odd_rows(session: &mut MysqlSession, table: &BulkTable, what: &str) {
    let text = "CONCAT(id, x'09275c0a', _utf8mb4 x'c3a9f09f9880', x'005c4e0d')";
    let sums = format!("SELECT COUNT(*), SUM(d), SUM(t = {text}), SUM(b = x'ff00095c'), SUM(b IS NULL) FROM {}", table.name);
    assert_eq!(select(session, &sums).await, [["10000", "-499950.00", "10000", "5000", "5000"]], "{what}");
}

/// How many statements of LOAD DATA the session has sent.
async fn loads(session: &mut MysqlSession) -> u64 {
    select(session, "SHOW SESSION STATUS LIKE 'Com_load'").await[0][1].parse().unwrap()
}

// One test: whether a server takes local files is a setting of the whole server.
#[test]
fn rows_are_loaded_all_or_none_whatever_they_hold() {
    block_on(async {
        for server in SERVERS {
            for (mode, local) in [("", 1), ("NO_BACKSLASH_ESCAPES", 1), ("", 0), ("NO_BACKSLASH_ESCAPES", 0)] {
                let what = format!("{server}, mode «{mode}», local_infile {local}");
                let mut session = root(server, "").await;
                run(&mut session, &format!("SET GLOBAL local_infile = {local}")).await;
                run(&mut session, &format!("SET sql_mode = '{mode}'")).await;
                let table = table(&mut session, "loaded").await;
                let mut broken = odd_rows();
                broken.int(0).null().null().null();
                let error = session.load_rows(&table, &broken).await.unwrap_err();
                if local == 1 {
                    // LOAD DATA LOCAL would have left the row out with a warning.
                    assert_eq!(
                        (error.class, error.code),
                        (ErrorClass::Fatal, ErrorCode::Word("client", "load")),
                        "{what}: {error}"
                    );
                    assert!(error.message.contains("Duplicate entry '0'"), "{error}");
                } else {
                    assert_eq!(
                        (error.class, error.code),
                        (ErrorClass::Failed, ErrorCode::Number("mysql", 1062)),
                        "{what}: {error}"
                    );
                }
                assert_eq!(select(&mut session, &format!("SELECT COUNT(*) FROM {}", table.name)).await, [["0"]], "{what}");
                assert_eq!(session.load_rows(&table, &odd_rows()).await, Ok(ROWS as u64), "{what}");
                assert_odd_rows(&mut session, &table, &what).await;
                assert_eq!(loads(&mut session).await > 1, local == 1, "{what}");
                run(&mut session, &format!("DELETE FROM {}", table.name)).await;
                // Within a transaction the rows belong to it.
                session.begin(Access::Write).await.unwrap();
                assert_eq!(session.load_rows(&table, &odd_rows()).await, Ok(ROWS as u64), "{what}");
                session.rollback().await.unwrap();
                assert_eq!(select(&mut session, &format!("SELECT COUNT(*) FROM {}", table.name)).await, [["0"]], "{what}");
                run(&mut session, &format!("DROP TABLE {}", table.name)).await;
                run(&mut session, "SET GLOBAL local_infile = 1").await;
                session.close().await;
            }
        }
    })
    .unwrap();
}

/// The AUTO-INC lock of InnoDB: the default of MariaDB is 1 ("consecutive"), of MySQL 9 it is 2 ("interleaved").
#[test]
fn servers_tell_whether_they_number_for_one_load_at_a_time() {
    block_on(async {
        let mut told = Vec::new();
        for server in SERVERS {
            let mut session = root(server, "").await;
            told.push(session.numbers_one_at_a_time().await.unwrap());
            session.close().await;
        }
        told.sort_unstable();
        assert_eq!(told, [false, true], "{SERVERS:?}");
    })
    .unwrap();
}

#[test]
fn a_value_that_does_not_fit_is_an_error_and_not_another_value() {
    block_on(async {
        for server in SERVERS {
            let mut session = root(server, "").await;
            let table = table(&mut session, "unfit").await;
            let mut cells = Params::default();
            cells.int(1).decimal(1, 2).text(&[b'x'; 201]).null();
            let error = session.load_rows(&table, &cells).await.unwrap_err();
            assert!(error.message.contains("`t`") || error.message.contains("'t'"), "{server}: {error}");
            assert_eq!(select(&mut session, &format!("SELECT COUNT(*) FROM {}", table.name)).await, [["0"]], "{server}");
            run(&mut session, &format!("DROP TABLE {}", table.name)).await;
            session.close().await;
        }
    })
    .unwrap();
}
