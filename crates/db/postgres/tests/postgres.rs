//! Statements on a real PostgreSQL: the suite of all drivers, and what is true of it alone.
#![allow(clippy::unwrap_used)] // A panic is how a test fails.

mod postgres_support;

use std::sync::Arc;

use perbuck_database::dialect::Dialect as _;
use perbuck_driver_suite::statements::bulk_table;
use perbuck_event::block_on;
use perbuck_load::driver::{Access, Driver as _, Effect, Session, SessionId};
use perbuck_load::error::ErrorClass;
use perbuck_load::statement::{Catalogue, Verb};
use perbuck_load::values::{Params, Rows};
use perbuck_postgres::Family;
use postgres_support::{
    ADMIN, OWNER_PASSWORD, Postgres, SERVER, Server as _, SharedServer as _, assert_error, bound, cells, error_of, prepare_read,
    run, select, state, table,
};

perbuck_driver_suite::tests!(Postgres: statements::{
    every_type_comes_back_the_same_from_a_text_and_from_a_prepared_statement,
    parameters_of_every_kind_arrive_and_change_their_kinds,
    large_values_go_both_ways,
    errors_have_the_classes_that_the_engine_acts_on_and_leave_the_connection_usable,
    transactions_commit_and_roll_back,
    rows_are_inserted_as_they_are_all_or_none,
    rows_are_loaded_as_they_are_all_or_none,
    a_deadlock_may_be_retried,
    a_killed_connection_is_lost,
    an_answer_that_stays_out_is_lost_in_time,
});

#[test]
fn rows_that_are_returned_and_values_out_of_range() {
    block_on(async {
        let mut session = SERVER.session("").await;
        let name = table::<Postgres>(&mut session, "returning", "id int PRIMARY KEY, d numeric(12,2)").await;
        run(&mut session, &format!("INSERT INTO {name} VALUES (1, 9.10), (2, 0)")).await;
        let mut catalogue = Catalogue::default();
        let read = catalogue.add_read(format!("SELECT d FROM {name} WHERE id = ?"));
        let returning = catalogue.add_read(format!("DELETE FROM {name} WHERE id = ? RETURNING d"));
        session.prepare(&Arc::new(catalogue)).await.unwrap();
        let mut rows = Rows::default();
        assert_eq!(session.execute(returning, Params::default().int(1), &mut rows).await, Ok(Effect::ResultSet));
        assert_eq!(rows.decimal(0, 0, 2), Ok(910));
        // What is no value of the type is an error of this statement alone.
        let too_large = session.execute(read, Params::default().int(1 << 40), &mut rows).await.unwrap_err();
        assert_error(&too_large, ErrorClass::Failed, state(b"22003"));
        assert_eq!(session.execute(read, Params::default().int(2), &mut rows).await, Ok(Effect::ResultSet));
        run(&mut session, &format!("DROP TABLE {name}")).await;
    })
    .unwrap();
}

#[test]
fn statements_that_are_prepared_ahead_are_prepared_once() {
    block_on(async {
        let mut session = SERVER.session("").await;
        let mut catalogue = Catalogue::default();
        let reads: Vec<_> = (1..=6).map(|number| catalogue.add_read(format!("SELECT {number}, ?::bigint"))).collect();
        let broken = catalogue.add_read("SELECT * FROM no_such_table");
        session.prepare(&Arc::new(catalogue)).await.unwrap();
        // Statements before the one that fails stay prepared, and the connection stays usable.
        assert_eq!(session.prepare_ahead().await.unwrap_err().class, ErrorClass::Fatal);
        let mut rows = Rows::default();
        let prepared = "SELECT string_agg(name || ' ' || prepare_time, ' ' ORDER BY name) FROM pg_prepared_statements";
        session.query(prepared, &mut rows).await.unwrap();
        let before = cells(&rows);
        for (number, read) in (1..).zip(reads) {
            session.execute(read, Params::default().int(7), &mut rows).await.unwrap();
            assert_eq!((rows.int(0, 0), rows.int(0, 1)), (Ok(number), Ok(7)));
        }
        session.query(prepared, &mut rows).await.unwrap();
        assert_eq!((cells(&rows), before[0][0].matches('s').count()), (before, 6));
        assert!(session.execute(broken, &Params::default(), &mut rows).await.is_err());
        session.close().await;
    })
    .unwrap();
}

/// Nothing stays prepared, every kind of value arrives, and an error leaves the connection usable.
#[test]
fn statements_that_are_parsed_each_time_leave_nothing_behind() {
    block_on(async {
        let mut session = SERVER.session("").await;
        let name =
            table::<Postgres>(&mut session, "unnamed", "id int, s smallint, i bigint, d numeric(12,2), f real, t varchar(40)")
                .await;
        let mut catalogue = Catalogue::default();
        catalogue.parse_each_time();
        let insert = catalogue.add(Verb::Insert, format!("INSERT INTO {name} VALUES (?, ?, ?, ?, ?, ?)"));
        let read = catalogue.add_read(format!("SELECT id, s, i, d, f, t FROM {name} WHERE id >= ? ORDER BY 1"));
        let broken = catalogue.add_read("SELECT * FROM no_such_table WHERE i = ?");
        let (divide, empty) = (catalogue.add_read("SELECT 1 / ?::int"), catalogue.add(Verb::Other, ""));
        session.prepare(&Arc::new(catalogue)).await.unwrap();
        let mut rows = Rows::default();
        session.begin(Access::Write).await.unwrap();
        let first = bound(|p| _ = p.int(1).int(-5).int(i64::MIN).decimal(-1230, 2).text(b"0.5").text("ä'\\".as_bytes()));
        let second = bound(|p| _ = p.int(2).null().null().null().null().null());
        for values in [first, second] {
            assert_eq!(session.execute(insert, &values, &mut rows).await, Ok(Effect::Affected(1)));
        }
        session.commit().await.unwrap();
        assert_eq!(session.execute(empty, &Params::default(), &mut rows).await, Ok(Effect::Affected(0)));
        for _ in 0..2 {
            assert_eq!(session.execute(read, Params::default().int(1), &mut rows).await, Ok(Effect::ResultSet));
            let one = ["1", "-5", "-9223372036854775808", "-12.30", "0.5", "ä'\\"];
            assert_eq!(cells(&rows), [&one[..], &["2", "NULL", "NULL", "NULL", "NULL", "NULL"]]);
            let gone = session.execute(broken, Params::default().int(1), &mut rows).await.unwrap_err();
            assert_error(&gone, ErrorClass::Fatal, state(b"42P01"));
            let zero = session.execute(divide, Params::default().int(0), &mut rows).await.unwrap_err();
            assert_error(&zero, ErrorClass::Failed, state(b"22012"));
        }
        assert!(session.execute(divide, &Params::default(), &mut rows).await.is_err(), "a value is missing");
        assert_eq!(select(&mut session, "SELECT COUNT(*) FROM pg_prepared_statements").await, [["0"]]);
        run(&mut session, &format!("DROP TABLE {name}")).await;
    })
    .unwrap();
}

#[test]
fn bytes_that_are_no_text_are_refused_and_not_bent() {
    block_on(async {
        let mut session = SERVER.session("").await;
        let table = bulk_table::<Postgres>(&mut session, "bytes").await;
        let cells = bound(|p| _ = p.int(1).null().text(b"\xff").null());
        for error in [session.load_rows(&table, &cells).await, session.insert_rows(&table, &cells).await] {
            assert_error(&error.unwrap_err(), ErrorClass::Failed, state(b"22021"));
        }
        run(&mut session, &format!("DROP TABLE {}", table.name)).await;
    })
    .unwrap();
}

#[test]
fn waiting_too_long_for_a_lock_may_be_retried() {
    block_on(async {
        let (mut one, mut two) = (SERVER.session("").await, SERVER.session("").await);
        let name = table::<Postgres>(&mut one, "lock", "id int PRIMARY KEY").await;
        run(&mut two, "SET lock_timeout = '20ms'").await;
        one.begin(Access::Write).await.unwrap();
        run(&mut one, &format!("LOCK TABLE {name}")).await;
        let error = error_of(&mut two, &format!("SELECT * FROM {name}")).await;
        assert_error(&error, ErrorClass::Retry, state(b"55P03"));
        one.rollback().await.unwrap();
        run(&mut one, &format!("DROP TABLE {name}")).await;
    })
    .unwrap();
}

#[test]
fn a_failed_transaction_is_never_taken_for_committed() {
    block_on(async {
        let mut session = SERVER.session("").await;
        let name = table::<Postgres>(&mut session, "failed", "id int PRIMARY KEY").await;
        session.begin(Access::Write).await.unwrap();
        run(&mut session, &format!("INSERT INTO {name} VALUES (1)")).await;
        assert_eq!(error_of(&mut session, "SELECT 1 / 0").await.code, state(b"22012"));
        let next = error_of(&mut session, "SELECT 1").await;
        assert_error(&next, ErrorClass::Failed, state(b"25P02"));
        // The server itself would answer ROLLBACK to this, and call it no error.
        let error = session.commit().await.unwrap_err();
        assert_error(&error, ErrorClass::Failed, state(b"25P02"));
        assert_eq!(select(&mut session, &format!("SELECT COUNT(*) FROM {name}")).await, [["0"]]);
        run(&mut session, &format!("DROP TABLE {name}")).await;
    })
    .unwrap();
}

#[test]
fn a_statement_whose_table_changed_or_that_is_gone_may_be_retried() {
    block_on(async {
        let mut session = SERVER.session("").await;
        let name = table::<Postgres>(&mut session, "stale", "id int PRIMARY KEY").await;
        run(&mut session, &format!("INSERT INTO {name} VALUES (1)")).await;
        let read = prepare_read(&mut session, &format!("SELECT * FROM {name}")).await;
        let mut rows = Rows::default();
        for change in [&*format!("ALTER TABLE {name} ADD COLUMN t text DEFAULT 'x'"), "DEALLOCATE ALL", "DISCARD ALL"] {
            session.execute(read, &Params::default(), &mut rows).await.unwrap();
            run(&mut session, change).await;
            let error = session.execute(read, &Params::default(), &mut rows).await.unwrap_err();
            assert_eq!((error.class, error.code), (ErrorClass::Retry, state(b"26000")), "{change}: {error}");
            session.execute(read, &Params::default(), &mut rows).await.unwrap();
            assert_eq!(cells(&rows), [["1", "x"]]);
        }
        // Another catalogue leaves nothing of the one before on the server.
        let count = "SELECT COUNT(*) FROM pg_prepared_statements";
        assert_eq!(select(&mut session, count).await, [["1"]]);
        session.prepare(&Arc::new(Catalogue::default())).await.unwrap();
        assert_eq!(select(&mut session, count).await, [["0"]]);
        run(&mut session, &format!("DROP TABLE {name}")).await;
    })
    .unwrap();
}

#[test]
fn a_statement_that_is_stopped_fails_alone() {
    block_on(async {
        let mut session = SERVER.session("").await;
        run(&mut session, "SET statement_timeout = '20ms'").await;
        let error = error_of(&mut session, "SELECT pg_sleep(5)").await;
        assert_error(&error, ErrorClass::Failed, state(b"57014"));
        assert_eq!(select(&mut session, "SELECT 1").await, [["1"]]);
    })
    .unwrap();
}

#[test]
fn the_size_of_data_is_that_of_the_files_of_their_tables() {
    block_on(async {
        let mut owner = SERVER.admin().await;
        run(&mut owner, "DROP DATABASE IF EXISTS perbuck_sizes").await;
        run(&mut owner, "CREATE DATABASE perbuck_sizes OWNER perbuck").await;
        // Other tests would change the size of a database that they share with it.
        let driver = Postgres::driver_in("perbuck_sizes", (Postgres::OWNER, OWNER_PASSWORD));
        let mut session = driver.connect(SessionId::Own(0)).await.unwrap();
        let mut admin = Postgres::driver_in("perbuck_sizes", ADMIN).connect(SessionId::Own(1)).await.unwrap();
        let mut rows = Rows::default();
        run(&mut session, "CREATE TABLE size_whole (id int PRIMARY KEY, k int, pad text)").await;
        run(&mut session, "CREATE TABLE size_parts (id int PRIMARY KEY, k int, pad text) PARTITION BY HASH (id)").await;
        for part in 0..2 {
            let values = format!("FOR VALUES WITH (MODULUS 2, REMAINDER {part})");
            run(&mut session, &format!("CREATE TABLE size_parts_p{part} PARTITION OF size_parts {values}")).await;
        }
        for name in ["size_whole", "size_parts"] {
            run(&mut session, &format!("CREATE INDEX ON {name} (k)")).await;
            run(&mut session, &format!("INSERT INTO {name} SELECT i, i * 7, repeat('x', 180) FROM generate_series(1, 20000) i")).await;
            run(&mut session, &format!("VACUUM ANALYZE {name}")).await;
        }
        let of_kind = |like: &str, kind: &str| {
            format!(
                "SELECT current_setting('data_directory') || '/' || pg_relation_filepath(c.oid) FROM pg_class c LEFT JOIN pg_index i \
                 ON i.indexrelid = c.oid WHERE c.relkind = '{kind}' AND coalesce(i.indrelid, c.oid)::regclass::text LIKE '{like}'"
            )
        };
        for (name, like) in [("size_whole", "size\\_whole"), ("size_parts", "size\\_parts\\_p_")] {
            let mut bytes = Vec::new();
            for kind in ["r", "i"] {
                admin.query(&of_kind(like, kind), &mut rows).await.unwrap();
                // The main fork, the free space map and the visibility map.
                let forks = |path: &str| ["", "_fsm", "_vm"].map(|fork| std::fs::metadata(format!("{path}{fork}")).map_or(0, |m| m.len()));
                bytes.push(cells(&rows).iter().flat_map(|row| forks(&row[0])).sum::<u64>());
            }
            let size = driver.data_size(&[name.to_owned()]).await.unwrap();
            let toast = size.tables_bytes.unwrap() - bytes[0];
            // An empty TOAST table has an index of one page.
            assert!(bytes[0] > 20_000 * 180 && toast <= 2 * 8_192, "{size:?} {bytes:?}");
            assert_eq!(size.indexes_bytes, Some(bytes[1]), "{name}");
            session.query("SELECT pg_database_size(current_database())", &mut rows).await.unwrap();
            assert_eq!(size.store_bytes.unwrap(), cells(&rows)[0][0].parse::<u64>().unwrap());
        }
        session.query("SELECT setting::bigint * 8192 FROM pg_settings WHERE name = 'shared_buffers'", &mut rows).await.unwrap();
        let memory = driver.facts().await.unwrap().page_memory_bytes;
        assert_eq!(memory.unwrap().to_string(), cells(&rows)[0][0]);
        for (extension, of_tables, of_all) in [("DROP EXTENSION IF EXISTS pg_prewarm", 2, 2), ("CREATE EXTENSION pg_prewarm", 4, 8)] {
            admin.query(extension, &mut rows).await.unwrap();
            for (indexes, expected) in [(false, of_tables), (true, of_all)] {
                // Two partitions, each with its TOAST table and two indexes, and the index of each TOAST table.
                session.query(&Family::Postgres.scans("size_parts", indexes), &mut rows).await.unwrap();
                let scans = cells(&rows);
                assert_eq!(scans.len(), expected + if indexes && of_all > 2 { 2 } else { 0 }, "{scans:?}");
                for scan in scans {
                    session.query(&scan[0], &mut rows).await.unwrap();
                }
            }
        }
        session.close().await;
        admin.close().await;
        run(&mut owner, "DROP DATABASE perbuck_sizes WITH (FORCE)").await;
    })
    .unwrap();
}
