//! Statements on real servers: values, errors and what happens to connections.
#![allow(clippy::unwrap_used)] // A panic is how a test fails.

mod mysql_support;

use std::sync::Arc;
use std::time::{Duration, Instant};

use mysql_support::{SERVERS, bound, cells, deadlock, error_of, prepare_read, root, root_driver, run, select};
use perbuck_event::block_on;
use perbuck_load::driver::{BulkTable, Driver, Effect, Session, SessionId};
use perbuck_load::error::{Cause, ErrorClass, ErrorCode};
use perbuck_load::statement::{Catalogue, Verb};
use perbuck_load::values::{Params, Rows};
use perbuck_mysql::MysqlSession;

/// A table of this test alone.
async fn table(session: &mut MysqlSession, name: &str, columns: &str) -> String {
    let name = format!("{name}_{}", std::process::id());
    run(session, &format!("DROP TABLE IF EXISTS {name}")).await;
    run(session, &format!("CREATE TABLE {name} ({columns}) ENGINE=InnoDB")).await;
    name
}

const TYPES: [(&str, &str, &str); 27] = [
    ("tinyint", "-128", "-128"),
    ("tinyint unsigned", "255", "255"),
    ("smallint", "-32768", "-32768"),
    ("smallint unsigned", "65535", "65535"),
    ("mediumint", "-8388608", "-8388608"),
    ("mediumint unsigned", "16777215", "16777215"),
    ("int", "-2147483648", "-2147483648"),
    ("int unsigned", "4294967295", "4294967295"),
    ("bigint", "-9223372036854775808", "-9223372036854775808"),
    ("bigint unsigned", "18446744073709551615", "18446744073709551615"),
    ("decimal(20,4)", "-1234567890123456.7890", "-1234567890123456.7890"),
    ("float", "1.5", "1.5"),
    ("double", "-2.25e100", "-2.25e100"),
    ("year", "2024", "2024"),
    ("date", "'2024-02-29'", "2024-02-29"),
    ("datetime", "'2024-02-29 23:59:58'", "2024-02-29 23:59:58"),
    ("datetime(6)", "'2024-02-29 23:59:58.000123'", "2024-02-29 23:59:58.000123"),
    ("datetime(3)", "'2024-02-29 00:00:00'", "2024-02-29 00:00:00.000"),
    ("timestamp", "'2024-02-29 01:02:03'", "2024-02-29 01:02:03"),
    ("time", "'-838:59:59'", "-838:59:59"),
    ("time(2)", "'00:00:00.5'", "00:00:00.50"),
    ("char(5)", "'abc'", "abc"),
    ("varchar(100)", "'ä''\\\\€😀'", "ä'\\€😀"),
    ("text", "'t'", "t"),
    ("blob", "x'00ff'", "\0\u{fffd}"),
    ("enum('a','b')", "'b'", "b"),
    ("set('a','b')", "'a,b'", "a,b"),
];

#[test]
fn every_type_comes_back_by_both_protocols() {
    block_on(async {
        for server in SERVERS {
            let mut session = root(server, "").await;
            let columns: Vec<String> = TYPES.iter().enumerate().map(|(i, (kind, _, _))| format!("c{i} {kind} NULL")).collect();
            let name = table(&mut session, "types", &format!("id int PRIMARY KEY, {}, b bit(12)", columns.join(", "))).await;
            let values: Vec<&str> = TYPES.iter().map(|(_, value, _)| *value).collect();
            run(&mut session, &format!("INSERT INTO {name} VALUES (1, {}, b'000101100001')", values.join(", "))).await;
            run(&mut session, &format!("INSERT INTO {name} (id) VALUES (2)")).await;
            let sql = format!("SELECT * FROM {name} ORDER BY id");
            let text = select(&mut session, &sql).await;
            let id = prepare_read(&mut session, &sql).await;
            let mut rows = Rows::default();
            assert_eq!(session.execute(id, &Params::default(), &mut rows).await, Ok(Effect::ResultSet));
            let binary = cells(&rows);
            for (i, (kind, _, expected)) in TYPES.iter().enumerate() {
                // A float prints in its own way; the cells are equal as numbers.
                let number = |text: &str| text.parse::<f64>().ok().filter(|_| *kind == "double");
                for form in [&text, &binary] {
                    assert!(
                        form[0][i + 1] == *expected || number(&form[0][i + 1]).is_some_and(|n| Some(n) == number(expected)),
                        "{kind}"
                    );
                }
                assert_eq!((&*text[1][i + 1], &*binary[1][i + 1]), ("NULL", "NULL"), "{kind}");
            }
            assert_eq!(text[0], binary[0]);
            assert_eq!(rows.text(0, TYPES.len() + 1), Ok(&[1, 0x61][..]));
            run(&mut session, &format!("DROP TABLE {name}")).await;
            session.close().await;
        }
    })
    .unwrap();
}

#[test]
fn parameters_of_every_kind_arrive_and_change_their_kinds() {
    block_on(async {
        for server in SERVERS {
            let mut session = root(server, "").await;
            let name =
                table(&mut session, "params", "id int PRIMARY KEY, i bigint, d decimal(12,2), t varchar(40), b blob").await;
            let mut catalogue = Catalogue::default();
            let insert = catalogue.add(Verb::Insert, format!("INSERT INTO {name} VALUES (?, ?, ?, ?, ?)"));
            let read = catalogue.add_read(format!("SELECT i, d, t, b FROM {name} WHERE id = ?"));
            let count = catalogue.add(Verb::Select, format!("SELECT * FROM {name} WHERE id > ?"));
            let update = catalogue.add(Verb::Update, format!("UPDATE {name} SET i = ? WHERE id = ?"));
            session.prepare(&Arc::new(catalogue)).await.unwrap();
            let mut rows = Rows::default();
            let all = [
                bound(|p| _ = p.int(1).int(i64::MIN).decimal(-1230, 2).text("ä'\\".as_bytes()).text(b"\0\xff\x80")),
                bound(|p| _ = p.int(2).null().null().null().null()),
                bound(|p| _ = p.int(3).decimal(7, 0).int(5).int(12).text(b"")),
                bound(|p| _ = p.int(4).text(b"8").text(b"9.10").null().int(1)),
            ];
            for params in &all {
                assert_eq!(session.execute(insert, params, &mut rows).await, Ok(Effect::Affected(1)), "{server}");
            }
            let expected = [["-9223372036854775808", "-12.30", "ä'\\"], ["NULL"; 3], ["7", "5.00", "12"], ["8", "9.10", "NULL"]];
            for (id, row) in (1..).zip(expected) {
                session.execute(read, Params::default().int(id), &mut rows).await.unwrap();
                assert_eq!(cells(&rows)[0][..3], row, "{server}");
                if id == 1 {
                    assert_eq!(rows.text(0, 3), Ok(&b"\0\xff\x80"[..]));
                    assert_eq!(rows.decimal(0, 1, 2), Ok(-1230));
                }
            }
            session.execute(count, Params::default().int(1), &mut rows).await.unwrap();
            assert_eq!((rows.len(), rows.width()), (3, 0));
            // Without FOUND_ROWS an update that changes nothing has changed no row.
            for affected in [1, 0] {
                let effect = session.execute(update, Params::default().int(77).int(3), &mut rows).await;
                assert_eq!(effect, Ok(Effect::Affected(affected)));
            }
            let error = session.execute(read, &Params::default(), &mut rows).await.unwrap_err();
            assert_eq!((error.class, error.code), (ErrorClass::Fatal, ErrorCode::Word("client", "parameters")));
            run(&mut session, &format!("DROP TABLE {name}")).await;
            session.close().await;
        }
    })
    .unwrap();
}

#[test]
fn values_beyond_16_mib_go_both_ways() {
    block_on(async {
        for server in SERVERS {
            let mut admin = root(server, "").await;
            run(&mut admin, "SET GLOBAL max_allowed_packet = 67108864").await;
            let mut session = root(server, "").await;
            let name = table(&mut session, "large", "id int PRIMARY KEY, b longblob").await;
            let mut catalogue = Catalogue::default();
            let insert = catalogue.add(Verb::Insert, format!("INSERT INTO {name} VALUES (?, ?)"));
            let read = catalogue.add_read(format!("SELECT b FROM {name} WHERE id = ?"));
            let count = catalogue.add(Verb::Select, format!("SELECT b FROM {name} WHERE id >= ?"));
            session.prepare(&Arc::new(catalogue)).await.unwrap();
            let mut rows = Rows::default();
            // Around the largest packet in one part, for rows of both protocols, and beyond two parts.
            let lengths = [16_777_209, 16_777_210, 16_777_211, 16_777_212, 16_777_215, 34_000_000];
            for (id, length) in (0..).zip(lengths) {
                let value: Vec<u8> = (0..length).map(|i: u32| (i % 251) as u8).collect();
                let params = bound(|p| _ = p.int(id).text(&value));
                assert_eq!(session.execute(insert, &params, &mut rows).await, Ok(Effect::Affected(1)));
                session.execute(read, Params::default().int(id), &mut rows).await.unwrap();
                assert!(rows.text(0, 0).unwrap() == value, "{server} {length}");
                session.query(&format!("SELECT b FROM {name} WHERE id = {id}"), &mut rows).await.unwrap();
                assert!(rows.text(0, 0).unwrap() == value, "{server} {length}");
            }
            session.execute(count, Params::default().int(0), &mut rows).await.unwrap();
            assert_eq!(rows.len(), lengths.len() as u64);
            run(&mut session, &format!("DROP TABLE {name}")).await;
            session.close().await;
        }
    })
    .unwrap();
}

/// On the server that may be disturbed, since the limit is everybody's.
#[test]
fn where_no_more_can_be_prepared_statements_are_sent_as_text() {
    block_on(async {
        let driver = root_driver("PERBUCK_TEST_MARIADB_KILL", "");
        let mut admin = driver.connect(SessionId(0)).await.unwrap();
        let name = table(&mut admin, "fallback", "id int PRIMARY KEY, d decimal(12,2), t varchar(40)").await;
        run(&mut admin, "SET GLOBAL max_prepared_stmt_count = 0").await;
        let mut outcome = Vec::new();
        for mode in ["", "NO_BACKSLASH_ESCAPES"] {
            let mut session = driver.connect(SessionId(1)).await.unwrap();
            run(&mut session, &format!("SET sql_mode = '{mode}'")).await;
            run(&mut session, &format!("DELETE FROM {name}")).await;
            let mut catalogue = Catalogue::default();
            let insert = catalogue.add(Verb::Insert, format!("INSERT INTO {name} VALUES (?, ?, ?)"));
            let read = catalogue.add_read(format!("SELECT d, t, '?' FROM {name} WHERE id = ?"));
            session.prepare(&Arc::new(catalogue)).await.unwrap();
            let mut rows = Rows::default();
            for _ in 0..3 {
                run(&mut session, &format!("DELETE FROM {name}")).await;
                let params = bound(|p| _ = p.int(1).decimal(-1230, 2).text(b"a'b\\'\"; -- ?\0"));
                outcome.push(session.execute(insert, &params, &mut rows).await);
                session.execute(read, Params::default().int(1), &mut rows).await.unwrap();
                assert_eq!(cells(&rows), [["-12.30", "a'b\\'\"; -- ?\0", "?"]], "{mode}");
            }
            session.close().await;
        }
        run(&mut admin, "SET GLOBAL max_prepared_stmt_count = 1048576").await;
        assert_eq!(outcome, vec![Ok(Effect::Affected(1)); 6]);
        assert_eq!(driver.text_fallbacks(), 4);
        run(&mut admin, &format!("DROP TABLE {name}")).await;
    })
    .unwrap();
}

#[test]
fn a_deadlock_may_be_tried_again() {
    block_on(async {
        for server in SERVERS {
            let mut admin = root(server, "").await;
            let name = table(&mut admin, "deadlock", "id int PRIMARY KEY, v int").await;
            run(&mut admin, &format!("INSERT INTO {name} VALUES (1, 0), (2, 0)")).await;
            let error = deadlock(root(server, "").await, root(server, "").await, &name).await;
            assert_eq!((error.class, error.code), (ErrorClass::Retry, ErrorCode::Number("mysql", 1213)), "{error}");
            run(&mut admin, &format!("DROP TABLE {name}")).await;
        }
    })
    .unwrap();
}

#[test]
fn errors_have_the_classes_that_the_engine_acts_on_and_leave_the_connection_usable() {
    block_on(async {
        for server in SERVERS {
            let mut session = root(server, "").await;
            let name = table(&mut session, "errors", "id int PRIMARY KEY, v varchar(3)").await;
            run(&mut session, &format!("INSERT INTO {name} VALUES (1, 'a')")).await;
            for (sql, class, code) in [
                (format!("INSERT INTO {name} VALUES (1, 'b')"), ErrorClass::Failed, 1062),
                (format!("INSERT INTO {name} VALUES (2, 'long')"), ErrorClass::Failed, 1406),
                ("SELECT * FROM no_such_table".to_owned(), ErrorClass::Fatal, 1146),
                ("SELEC 1".to_owned(), ErrorClass::Fatal, 1064),
                (format!("SELECT no_such_column FROM {name}"), ErrorClass::Fatal, 1054),
            ] {
                let error = error_of(&mut session, &sql).await;
                assert_eq!((error.class, error.code), (class, ErrorCode::Number("mysql", code)), "{error}");
            }
            // The same by a prepared statement, when it is prepared and when it is executed.
            let mut catalogue = Catalogue::default();
            let missing = catalogue.add_read("SELECT * FROM no_such_table");
            let insert = catalogue.add(Verb::Insert, format!("INSERT INTO {name} VALUES (?, ?)"));
            session.prepare(&Arc::new(catalogue)).await.unwrap();
            let mut rows = Rows::default();
            let error = session.execute(missing, &Params::default(), &mut rows).await.unwrap_err();
            assert_eq!((error.class, error.code), (ErrorClass::Fatal, ErrorCode::Number("mysql", 1146)));
            for (id, expected) in [
                (1, Err(ErrorCode::Number("mysql", 1062))),
                (2, Ok(Effect::Affected(1))),
                (2, Err(ErrorCode::Number("mysql", 1062))),
            ] {
                let result = session.execute(insert, Params::default().int(id).text(b"x"), &mut rows).await;
                assert_eq!(result.map_err(|error| error.code), expected);
            }
            run(&mut session, &format!("DROP TABLE {name}")).await;
        }
    })
    .unwrap();
}

#[test]
fn a_killed_connection_is_lost() {
    block_on(async {
        for server in SERVERS {
            let mut admin = root(server, "").await;
            let mut victim = root(server, "").await;
            let id = select(&mut victim, "SELECT CONNECTION_ID()").await[0][0].clone();
            run(&mut admin, &format!("KILL {id}")).await;
            let error = error_of(&mut victim, "SELECT 1").await;
            assert_eq!(error.class, ErrorClass::Lost, "{server}: {error}");
            assert_eq!(error_of(&mut victim, "SELECT 1").await.class, ErrorClass::Lost);
            victim.close().await;
        }
    })
    .unwrap();
}

#[test]
fn an_answer_that_stays_out_is_lost_in_time() {
    block_on(async {
        for server in SERVERS {
            let mut session = root(server, "read_timeout=400ms").await;
            select(&mut session, "SELECT SLEEP(0.2)").await;
            let started = Instant::now();
            let error = error_of(&mut session, "SELECT SLEEP(5)").await;
            let took = started.elapsed();
            assert_eq!((error.class, error.code), (ErrorClass::Lost, ErrorCode::Word("client", "timeout")), "{error}");
            // It was logged in, so the port is right.
            let words = error.message.ends_with(" did not answer within the limit");
            assert!(words && error.cause == Some(Cause::Timeout), "{error}");
            assert!(took >= Duration::from_millis(400) && took < Duration::from_secs(2), "{took:?}");
        }
    })
    .unwrap();
}

#[test]
fn rows_are_loaded_in_bulk_all_or_none() {
    block_on(async {
    for server in SERVERS {
        for mode in ["", "NO_BACKSLASH_ESCAPES"] {
            let mut session = root(server, "").await;
            run(&mut session, &format!("SET sql_mode = '{mode}'")).await;
            let name = table(&mut session, "bulk", "id int PRIMARY KEY, d decimal(12,2), t varchar(200), b blob").await;
            let bulk = BulkTable { name: name.clone(), columns: vec!["id", "d", "t", "b"] };
            let mut cells = Params::default();
            let count = 10_000;
            for i in 0..count {
                cells.int(i).decimal(-i, 2).text(format!("{i} '\\ {}", "x".repeat(100)).as_bytes());
                _ = if i % 2 == 0 { cells.null() } else { cells.text(b"\xff'\\") };
            }
            // Several statements, the last of which fails.
            let mut broken = cells.clone();
            broken.int(0).null().null().null();
            let error = session.insert_rows(&bulk, &broken).await.unwrap_err();
            assert_eq!((error.class, error.code), (ErrorClass::Failed, ErrorCode::Number("mysql", 1062)), "{error}");
            assert_eq!(select(&mut session, &format!("SELECT COUNT(*) FROM {name}")).await, [["0"]]);
            assert_eq!(session.insert_rows(&bulk, &cells).await, Ok(count as u64));
            let sums = format!(
                "SELECT COUNT(*), SUM(d), SUM(t = CONCAT(id, ' \\'', CHAR(92), ' ', REPEAT('x', 100))), SUM(b = x'ff275c') FROM {name}"
            );
            let sums = if mode.is_empty() { sums } else { sums.replace("\\'", "''") };
            assert_eq!(select(&mut session, &sums).await, [["10000", "-499950.00", "10000", "5000"]], "{server} {mode}");
            assert_eq!(session.insert_rows(&bulk, &Params::default()).await, Ok(0));
            run(&mut session, &format!("DROP TABLE {name}")).await;
        }
    }
    })
    .unwrap();
}
