//! Bulk loading on real servers, by LOAD DATA LOCAL where the server takes it.
#![allow(clippy::unwrap_used)] // A panic is how a test fails.

mod mysql_support;

use mysql_support::{Mysql, Server as _, assert_error, count, number, run, select};
use perbuck_driver_suite::statements::{assert_odd_rows, bulk_table, odd_rows, odd_rows_with_a_duplicate};
use perbuck_event::block_on;
use perbuck_load::driver::{Access, Session};
use perbuck_load::error::{ErrorClass, ErrorCode};
use perbuck_load::values::Params;
use perbuck_mysql::MysqlSession;

/// How many statements of LOAD DATA the session has sent.
async fn loads(session: &mut MysqlSession) -> u64 {
    select(session, "SHOW SESSION STATUS LIKE 'Com_load'").await[0][1].parse().unwrap()
}

// One test: whether a server takes local files is a setting of the whole server.
#[test]
fn rows_are_loaded_all_or_none_whatever_they_hold() {
    block_on(async {
        for server in Mysql::all() {
            for (mode, local) in [("", 1), ("NO_BACKSLASH_ESCAPES", 1), ("", 0), ("NO_BACKSLASH_ESCAPES", 0)] {
                let what = format!("{server:?}, mode «{mode}», local_infile {local}");
                let mut session = server.session("").await;
                run(&mut session, &format!("SET GLOBAL local_infile = {local}")).await;
                run(&mut session, &format!("SET sql_mode = '{mode}'")).await;
                let table = bulk_table::<Mysql>(&mut session, "loaded").await;
                let rows = odd_rows::<Mysql>();
                let all = rows.len() as u64 / 4;
                let error = session.load_rows(&table, &odd_rows_with_a_duplicate::<Mysql>()).await.unwrap_err();
                if local == 1 {
                    // LOAD DATA LOCAL would have left the row out with a warning.
                    assert_error(&error, ErrorClass::Fatal, ErrorCode::Word("client", "load"));
                    assert!(error.message.contains("Duplicate entry '0'"), "{error}");
                } else {
                    assert_error(&error, ErrorClass::Failed, number(1062));
                }
                assert_eq!(count(&mut session, &table.name).await, 0, "{what}");
                assert_eq!(session.load_rows(&table, &rows).await, Ok(all), "{what}");
                assert_odd_rows::<Mysql>(&mut session, &table, &what).await;
                assert_eq!(loads(&mut session).await > 1, local == 1, "{what}");
                run(&mut session, &format!("DELETE FROM {}", table.name)).await;
                // Within a transaction the rows belong to it.
                session.begin(Access::Write).await.unwrap();
                assert_eq!(session.load_rows(&table, &rows).await, Ok(all), "{what}");
                session.rollback().await.unwrap();
                assert_eq!(count(&mut session, &table.name).await, 0, "{what}");
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
        for server in Mysql::all() {
            let mut session = server.session("").await;
            told.push(session.numbers_one_at_a_time().await.unwrap());
            session.close().await;
        }
        told.sort_unstable();
        assert_eq!(told, [false, true], "{:?}", Mysql::all());
    })
    .unwrap();
}

#[test]
fn a_value_that_does_not_fit_is_an_error_and_not_another_value() {
    block_on(async {
        for server in Mysql::all() {
            let mut session = server.session("").await;
            let table = bulk_table::<Mysql>(&mut session, "unfit").await;
            let mut cells = Params::default();
            cells.int(1).decimal(1, 2).text(&[b'x'; 201]).null();
            let error = session.load_rows(&table, &cells).await.unwrap_err();
            assert!(error.message.contains("`t`") || error.message.contains("'t'"), "{server:?}: {error}");
            assert_eq!(count(&mut session, &table.name).await, 0, "{server:?}");
            run(&mut session, &format!("DROP TABLE {}", table.name)).await;
            session.close().await;
        }
    })
    .unwrap();
}
