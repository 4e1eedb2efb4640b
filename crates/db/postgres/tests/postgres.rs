//! Statements on a real PostgreSQL: values, errors and what happens to connections.
#![allow(clippy::unwrap_used)] // A panic is how a test fails.

mod postgres_support;

use std::sync::Arc;
use std::time::{Duration, Instant};

use perbuck_event::block_on;
use perbuck_load::driver::{Access, Effect, Session};
use perbuck_load::error::{ErrorClass, ErrorCode};
use perbuck_load::statement::{Catalogue, Verb};
use perbuck_load::values::{Params, Rows};
use postgres_support::{admin, bound, cells, deadlock, error_of, owner, prepare_read, run, select, state, table};

const TYPES: [(&str, &str, &str); 19] = [
    ("smallint", "-32768", "-32768"),
    ("integer", "-2147483648", "-2147483648"),
    ("bigint", "-9223372036854775808", "-9223372036854775808"),
    ("numeric(20,4)", "-1234567890123456.7890", "-1234567890123456.7890"),
    ("numeric", "'NaN'", "NaN"),
    ("real", "1.5", "1.5"),
    ("double precision", "-2.25", "-2.25"),
    ("boolean", "true", "t"),
    ("date", "'2024-02-29'", "2024-02-29"),
    ("timestamp", "'2024-02-29 23:59:58.000123'", "2024-02-29 23:59:58.000123"),
    ("time", "'00:00:00.5'", "00:00:00.5"),
    ("char(5)", "'abc'", "abc  "),
    ("varchar(100)", "'ä''\\€😀'", "ä'\\€😀"),
    ("text", "'t'", "t"),
    ("bytea", "'\\x00ff'", "\0\u{fffd}"),
    ("uuid", "'00000000-0000-0000-0000-000000000007'", "00000000-0000-0000-0000-000000000007"),
    ("jsonb", "'{\"a\": 1}'", "{\"a\": 1}"),
    ("integer[]", "'{1,2}'", "{1,2}"),
    ("oid", "4294967295", "4294967295"),
];

#[test]
fn every_type_comes_back_the_same_from_a_text_and_from_a_prepared_statement() {
    block_on(async {
        let mut session = owner("").await;
        let columns: Vec<String> = TYPES.iter().enumerate().map(|(i, (kind, _, _))| format!("c{i} {kind} NULL")).collect();
        let name = table(&mut session, "types", &format!("id int PRIMARY KEY, {}", columns.join(", "))).await;
        let values: Vec<&str> = TYPES.iter().map(|(_, value, _)| *value).collect();
        run(&mut session, &format!("INSERT INTO {name} VALUES (1, {})", values.join(", "))).await;
        run(&mut session, &format!("INSERT INTO {name} (id) VALUES (2)")).await;
        let sql = format!("SELECT * FROM {name} ORDER BY id");
        let text = select(&mut session, &sql).await;
        let id = prepare_read(&mut session, &sql).await;
        let mut rows = Rows::default();
        assert_eq!(session.execute(id, &Params::default(), &mut rows).await, Ok(Effect::ResultSet));
        assert_eq!(cells(&rows), text);
        for (i, (kind, _, expected)) in TYPES.iter().enumerate() {
            assert_eq!((&*text[0][i + 1], &*text[1][i + 1]), (*expected, "NULL"), "{kind}");
        }
        run(&mut session, &format!("DROP TABLE {name}")).await;
        session.close().await;
    })
    .unwrap();
}

#[test]
fn parameters_of_every_kind_arrive_and_change_their_kinds() {
    block_on(async {
        let mut session = owner("").await;
        let columns = "id int PRIMARY KEY, s smallint, i bigint, d numeric(12,2), f real, t varchar(40), b bytea";
        let name = table(&mut session, "params", columns).await;
        let mut catalogue = Catalogue::default();
        let insert = catalogue.add(Verb::Insert, format!("INSERT INTO {name} VALUES (?, ?, ?, ?, ?, ?, ?)"));
        let read = catalogue.add_read(format!("SELECT s, i, d, f, t, b, '?' FROM {name} WHERE id = ?"));
        let count = catalogue.add(Verb::Select, format!("SELECT * FROM {name} WHERE id > ?"));
        let update = catalogue.add(Verb::Update, format!("UPDATE {name} SET i = ? WHERE id = ?"));
        let returning = catalogue.add_read(format!("DELETE FROM {name} WHERE id = ? RETURNING d"));
        session.prepare(&Arc::new(catalogue)).await.unwrap();
        let mut rows = Rows::default();
        let all = [
            bound(|p| _ = p.int(1).int(-5).int(i64::MIN).decimal(-1230, 2).int(3).text("ä'\\".as_bytes()).text(b"\0\xff\x80")),
            bound(|p| _ = p.int(2).null().null().null().null().null().null()),
            bound(|p| _ = p.text(b"3").text(b"4").int(0).int(5).decimal(25, 1).int(12).text(b"")),
            bound(|p| _ = p.int(4).int(8).text(b"9").text(b"9.10").text(b"0.5").null().text(b"x")),
        ];
        for params in &all {
            assert_eq!(session.execute(insert, params, &mut rows).await, Ok(Effect::Affected(1)));
        }
        let expected = [
            ["-5", "-9223372036854775808", "-12.30", "3", "ä'\\", "\0\u{fffd}\u{fffd}", "?"],
            ["NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "?"],
            ["4", "0", "5.00", "2.5", "12", "", "?"],
            ["8", "9", "9.10", "0.5", "NULL", "x", "?"],
        ];
        for (id, row) in (1..).zip(expected) {
            session.execute(read, Params::default().int(id), &mut rows).await.unwrap();
            assert_eq!(cells(&rows)[0], row);
        }
        session.execute(read, Params::default().int(1), &mut rows).await.unwrap();
        assert_eq!((rows.text(0, 5), rows.decimal(0, 2, 2)), (Ok(&b"\0\xff\x80"[..]), Ok(-1230)));
        session.execute(count, Params::default().int(1), &mut rows).await.unwrap();
        assert_eq!((rows.len(), rows.width()), (3, 0));
        // A row that is found counts as changed, whatever it is set to; one that is not found does not.
        for (id, affected) in [(3, 1), (3, 1), (99, 0)] {
            let effect = session.execute(update, Params::default().int(77).int(id), &mut rows).await;
            assert_eq!(effect, Ok(Effect::Affected(affected)));
        }
        assert_eq!(session.execute(returning, Params::default().int(4), &mut rows).await, Ok(Effect::ResultSet));
        assert_eq!(rows.decimal(0, 0, 2), Ok(910));
        // What is no value of the type is an error of this statement alone.
        let too_large = session.execute(read, Params::default().int(1 << 40), &mut rows).await.unwrap_err();
        assert_eq!((too_large.class, too_large.code), (ErrorClass::Failed, state(b"22003")), "{too_large}");
        let error = session.execute(read, &Params::default(), &mut rows).await.unwrap_err();
        assert_eq!((error.class, error.code), (ErrorClass::Fatal, ErrorCode::Word("client", "parameters")));
        assert_eq!(session.execute(read, Params::default().int(1), &mut rows).await, Ok(Effect::ResultSet));
        run(&mut session, &format!("DROP TABLE {name}")).await;
        session.close().await;
    })
    .unwrap();
}

#[test]
fn large_values_go_both_ways() {
    block_on(async {
        let mut session = owner("").await;
        let name = table(&mut session, "large", "id int PRIMARY KEY, b bytea").await;
        let mut catalogue = Catalogue::default();
        let insert = catalogue.add(Verb::Insert, format!("INSERT INTO {name} VALUES (?, ?)"));
        let read = catalogue.add_read(format!("SELECT b FROM {name} WHERE id = ?"));
        let count = catalogue.add(Verb::Select, format!("SELECT b FROM {name} WHERE id >= ?"));
        session.prepare(&Arc::new(catalogue)).await.unwrap();
        let mut rows = Rows::default();
        let lengths = [0, 32_768, 65_536, 20_000_000];
        for (id, length) in (0..).zip(lengths) {
            let value: Vec<u8> = (0..length).map(|i: u32| (i % 251) as u8).collect();
            let params = bound(|p| _ = p.int(id).text(&value));
            assert_eq!(session.execute(insert, &params, &mut rows).await, Ok(Effect::Affected(1)));
            session.execute(read, Params::default().int(id), &mut rows).await.unwrap();
            assert!(rows.text(0, 0).unwrap() == value, "{length}");
            session.query(&format!("SELECT b FROM {name} WHERE id = {id}"), &mut rows).await.unwrap();
            assert!(rows.text(0, 0).unwrap() == value, "{length}");
        }
        session.execute(count, Params::default().int(0), &mut rows).await.unwrap();
        assert_eq!(rows.len(), lengths.len() as u64);
        run(&mut session, &format!("DROP TABLE {name}")).await;
    })
    .unwrap();
}

#[test]
fn a_deadlock_may_be_tried_again() {
    block_on(async {
        let mut session = owner("").await;
        let name = table(&mut session, "deadlock", "id int PRIMARY KEY, v int").await;
        run(&mut session, &format!("INSERT INTO {name} VALUES (1, 0), (2, 0)")).await;
        let error = deadlock(owner("").await, owner("").await, &name).await;
        assert_eq!((error.class, error.code), (ErrorClass::Retry, state(b"40P01")), "{error}");
        run(&mut session, &format!("DROP TABLE {name}")).await;
    })
    .unwrap();
}

#[test]
fn waiting_too_long_for_a_lock_may_be_tried_again() {
    block_on(async {
        let (mut one, mut two) = (owner("").await, owner("").await);
        let name = table(&mut one, "lock", "id int PRIMARY KEY").await;
        run(&mut two, "SET lock_timeout = '20ms'").await;
        one.begin(Access::Write).await.unwrap();
        run(&mut one, &format!("LOCK TABLE {name}")).await;
        let error = error_of(&mut two, &format!("SELECT * FROM {name}")).await;
        assert_eq!((error.class, error.code), (ErrorClass::Retry, state(b"55P03")), "{error}");
        one.rollback().await.unwrap();
        run(&mut one, &format!("DROP TABLE {name}")).await;
    })
    .unwrap();
}

#[test]
fn errors_have_the_classes_that_the_engine_acts_on_and_leave_the_connection_usable() {
    block_on(async {
        let mut session = owner("").await;
        let name = table(&mut session, "errors", "id int PRIMARY KEY, v varchar(3)").await;
        run(&mut session, &format!("INSERT INTO {name} VALUES (1, 'a')")).await;
        for (sql, class, code) in [
            (format!("INSERT INTO {name} VALUES (1, 'b')"), ErrorClass::Failed, b"23505"),
            (format!("INSERT INTO {name} VALUES (2, 'long')"), ErrorClass::Failed, b"22001"),
            ("SELECT 1 / 0".to_owned(), ErrorClass::Failed, b"22012"),
            ("SELECT * FROM no_such_table".to_owned(), ErrorClass::Fatal, b"42P01"),
            ("SELEC 1".to_owned(), ErrorClass::Fatal, b"42601"),
            (format!("SELECT no_such_column FROM {name}"), ErrorClass::Fatal, b"42703"),
            ("SELECT * FROM pg_authid".to_owned(), ErrorClass::Refused, b"42501"),
        ] {
            let error = error_of(&mut session, &sql).await;
            assert_eq!((error.class, error.code), (class, state(code)), "{error}");
        }
        // The same by a prepared statement, when it is prepared and when it is executed.
        let mut catalogue = Catalogue::default();
        let missing = catalogue.add_read("SELECT * FROM no_such_table");
        let insert = catalogue.add(Verb::Insert, format!("INSERT INTO {name} VALUES (?, ?)"));
        session.prepare(&Arc::new(catalogue)).await.unwrap();
        let mut rows = Rows::default();
        let error = session.execute(missing, &Params::default(), &mut rows).await.unwrap_err();
        assert_eq!((error.class, error.code), (ErrorClass::Fatal, state(b"42P01")));
        for (id, expected) in [(1, Err(state(b"23505"))), (2, Ok(Effect::Affected(1))), (2, Err(state(b"23505")))] {
            let result = session.execute(insert, Params::default().int(id).text(b"x"), &mut rows).await;
            assert_eq!(result.map_err(|error| error.code), expected);
        }
        run(&mut session, &format!("DROP TABLE {name}")).await;
    })
    .unwrap();
}

#[test]
fn a_failed_transaction_is_never_taken_for_committed() {
    block_on(async {
        let mut session = owner("").await;
        let name = table(&mut session, "failed", "id int PRIMARY KEY").await;
        session.begin(Access::Write).await.unwrap();
        run(&mut session, &format!("INSERT INTO {name} VALUES (1)")).await;
        assert_eq!(error_of(&mut session, "SELECT 1 / 0").await.code, state(b"22012"));
        let next = error_of(&mut session, "SELECT 1").await;
        assert_eq!((next.class, next.code), (ErrorClass::Failed, state(b"25P02")), "{next}");
        // The server itself would answer ROLLBACK to this, and call it no error.
        let error = session.commit().await.unwrap_err();
        assert_eq!((error.class, error.code), (ErrorClass::Failed, state(b"25P02")), "{error}");
        assert_eq!(select(&mut session, &format!("SELECT COUNT(*) FROM {name}")).await, [["0"]]);
        // Where nothing is open, rolling back does nothing, and says nothing to the server.
        session.rollback().await.unwrap();
        session.begin(Access::Write).await.unwrap();
        run(&mut session, &format!("INSERT INTO {name} VALUES (1)")).await;
        session.rollback().await.unwrap();
        session.begin(Access::Write).await.unwrap();
        run(&mut session, &format!("INSERT INTO {name} VALUES (2)")).await;
        session.commit().await.unwrap();
        assert_eq!(select(&mut session, &format!("SELECT id FROM {name}")).await, [["2"]]);
        run(&mut session, &format!("DROP TABLE {name}")).await;
    })
    .unwrap();
}

#[test]
fn a_statement_whose_table_changed_or_that_is_gone_is_prepared_again() {
    block_on(async {
        let mut session = owner("").await;
        let name = table(&mut session, "stale", "id int PRIMARY KEY").await;
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
fn a_killed_connection_is_lost() {
    block_on(async {
        let mut admin = admin().await;
        for within in [false, true] {
            let mut victim = owner("").await;
            let id = select(&mut victim, "SELECT pg_backend_pid()").await[0][0].clone();
            if within {
                victim.begin(Access::Write).await.unwrap();
            }
            run(&mut admin, &format!("SELECT pg_terminate_backend({id}, 5000)")).await;
            let error = error_of(&mut victim, "SELECT 1").await;
            assert_eq!(error.class, ErrorClass::Lost, "{error}");
            assert!(matches!(
                error.code,
                ErrorCode::State("sqlstate", [b'5', b'7', b'P', b'0', b'1']) | ErrorCode::Word("client", "closed")
            ));
            assert_eq!(error_of(&mut victim, "SELECT 1").await.class, ErrorClass::Lost);
            assert_eq!(victim.rollback().await.unwrap_err().class, ErrorClass::Lost);
            victim.close().await;
        }
    })
    .unwrap();
}

#[test]
fn an_answer_that_stays_out_is_lost_in_time() {
    block_on(async {
        let mut session = owner("read_timeout=400ms").await;
        select(&mut session, "SELECT pg_sleep(0.2)").await;
        let started = Instant::now();
        let error = error_of(&mut session, "SELECT pg_sleep(5)").await;
        let took = started.elapsed();
        assert_eq!((error.class, error.code), (ErrorClass::Lost, ErrorCode::Word("client", "timeout")), "{error}");
        assert!(took >= Duration::from_millis(400) && took < Duration::from_secs(2), "{took:?}");
    })
    .unwrap();
}

#[test]
fn a_statement_that_is_stopped_fails_alone() {
    block_on(async {
        let mut session = owner("").await;
        run(&mut session, "SET statement_timeout = '20ms'").await;
        let error = error_of(&mut session, "SELECT pg_sleep(5)").await;
        assert_eq!((error.class, error.code), (ErrorClass::Failed, state(b"57014")), "{error}");
        assert_eq!(select(&mut session, "SELECT 1").await, [["1"]]);
    })
    .unwrap();
}
