//! Statements on real databases: values, errors, transactions, rows in bulk, and what happens to connections.

use std::sync::Arc;
use std::time::{Duration, Instant};

use perbuck_load::driver::{Access, BulkTable, Driver, Effect, Session};
use perbuck_load::error::{Cause, DriverError, ErrorClass, ErrorCode};
use perbuck_load::statement::{Catalogue, Verb};
use perbuck_load::values::{Params, Rows};

use crate::servers::{
    Server, SharedServer, assert_error, bound, cells, count, error_of, on_each, prepare_read, run, select, table,
};

/// Rows in bulk, more than one statement takes.
const ROWS: i64 = 10_000;

/// The values of every type, and NULL.
pub fn every_type_comes_back_the_same_from_a_text_and_from_a_prepared_statement<S: Server>() {
    on_each(async |server: &S| {
        let mut session = server.session("").await;
        let columns: Vec<String> = S::TYPES.iter().enumerate().map(|(i, (kind, ..))| format!("c{i} {kind} NULL")).collect();
        let name = table::<S>(&mut session, "types", &format!("id int PRIMARY KEY, {}", columns.join(", "))).await;
        let values: Vec<&str> = S::TYPES.iter().map(|(_, value, _)| *value).collect();
        run(&mut session, &format!("INSERT INTO {name} VALUES (1, {})", values.join(", "))).await;
        run(&mut session, &format!("INSERT INTO {name} (id) VALUES (2)")).await;
        let sql = format!("SELECT * FROM {name} ORDER BY id");
        let text = select(&mut session, &sql).await;
        let id = prepare_read(&mut session, &sql).await;
        let mut rows = Rows::default();
        assert_eq!(session.execute(id, &Params::default(), &mut rows).await, Ok(Effect::ResultSet));
        assert_eq!(cells(&rows), text, "{server:?}");
        for (i, (kind, _, expected)) in S::TYPES.iter().enumerate() {
            // A floating number prints in its own way; the cells are equal as numbers.
            let scientific = expected.contains("e1").then(|| expected.parse::<f64>().unwrap().to_string());
            let expected = scientific.as_deref().unwrap_or(expected);
            assert_eq!((&*text[0][i + 1], &*text[1][i + 1]), (expected, "NULL"), "{server:?}: {kind}");
            assert_eq!(rows.is_null(1, i + 1), Ok(true), "{server:?}: {kind}");
        }
        run(&mut session, &format!("DROP TABLE {name}")).await;
        session.close().await;
    });
}

/// Values of every kind in columns of every kind.
pub fn parameters_of_every_kind_arrive_and_change_their_kinds<S: Server>() {
    on_each(async |server: &S| {
        let mut session = server.session("").await;
        let name = table::<S>(&mut session, "params", &format!("id int PRIMARY KEY, {}", S::PARAMETERS)).await;
        let all = S::parameters();
        let markers = vec!["?"; all[0].0.len()].join(", ");
        let mut catalogue = Catalogue::default();
        let insert = catalogue.add(Verb::Insert, format!("INSERT INTO {name} VALUES ({markers})"));
        let read = catalogue.add_read(format!("SELECT d, b, '?', x.* FROM {name} x WHERE id = ?"));
        let counted = catalogue.add(Verb::Select, format!("SELECT * FROM {name} WHERE id > ?"));
        let update = catalogue.add(Verb::Update, format!("UPDATE {name} SET i = ? WHERE id = ?"));
        let several = catalogue.add(Verb::Update, format!("UPDATE {name} SET i = 78 WHERE id >= ?"));
        let delete = catalogue.add(Verb::Delete, format!("DELETE FROM {name} WHERE id = ?"));
        session.prepare(&Arc::new(catalogue)).await.unwrap();
        let mut rows = Rows::default();
        for (params, _) in &all {
            assert_eq!(session.execute(insert, params, &mut rows).await, Ok(Effect::Affected(1)), "{server:?}");
        }
        for (id, (_, expected)) in (1..).zip(&all) {
            session.execute(read, Params::default().int(id), &mut rows).await.unwrap();
            assert_eq!(cells(&rows)[0][2], "?");
            assert_eq!(cells(&rows)[0][3..], expected[..], "{server:?}");
            if id == 1 {
                assert_eq!((rows.decimal(0, 0, 2), rows.text(0, 1)), (Ok(-1230), Ok(&b"\0\xff\x80"[..])), "{server:?}");
            }
        }
        assert_eq!(session.execute(counted, Params::default().int(1), &mut rows).await, Ok(Effect::ResultSet));
        assert_eq!((rows.len(), rows.width()), (all.len() as u64 - 1, 0));
        for (id, affected) in S::UPDATES {
            let effect = session.execute(update, Params::default().int(77).int(*id), &mut rows).await;
            assert_eq!(effect, Ok(Effect::Affected(*affected)), "{server:?}: {id}");
        }
        for (statement, id, affected) in [(several, 3, all.len() as u64 - 2), (delete, 99, 0), (delete, 2, 1)] {
            let effect = session.execute(statement, Params::default().int(id), &mut rows).await;
            assert_eq!(effect, Ok(Effect::Affected(affected)), "{server:?}");
        }
        let error = session.execute(read, &Params::default(), &mut rows).await.unwrap_err();
        assert_error(&error, ErrorClass::Fatal, ErrorCode::Word("client", S::WRONG_COUNT[0]));
        assert_eq!(session.execute(read, Params::default().int(1), &mut rows).await, Ok(Effect::ResultSet));
        run(&mut session, &format!("DROP TABLE {name}")).await;
        session.close().await;
    });
}

/// Values that take several packets, messages or pages.
pub fn large_values_go_both_ways<S: Server>() {
    on_each(async |server: &S| {
        let mut session = server.session("").await;
        let (kind, lengths) = S::LARGE;
        let name = table::<S>(&mut session, "large", &format!("id int PRIMARY KEY, b {kind}")).await;
        let mut catalogue = Catalogue::default();
        let insert = catalogue.add(Verb::Insert, format!("INSERT INTO {name} VALUES (?, ?)"));
        let read = catalogue.add_read(format!("SELECT b FROM {name} WHERE id = ?"));
        let counted = catalogue.add(Verb::Select, format!("SELECT b FROM {name} WHERE id >= ?"));
        session.prepare(&Arc::new(catalogue)).await.unwrap();
        let mut rows = Rows::default();
        for (id, length) in (0..).zip(lengths) {
            let value: Vec<u8> = (0..*length).map(|i| (i % 251) as u8).collect();
            let params = bound(|p| _ = p.int(id).text(&value));
            assert_eq!(session.execute(insert, &params, &mut rows).await, Ok(Effect::Affected(1)));
            session.execute(read, Params::default().int(id), &mut rows).await.unwrap();
            assert!(rows.text(0, 0).unwrap() == value, "{server:?} {length}");
            session.query(&format!("SELECT b FROM {name} WHERE id = {id}"), &mut rows).await.unwrap();
            assert!(rows.text(0, 0).unwrap() == value, "{server:?} {length}");
        }
        session.execute(counted, Params::default().int(0), &mut rows).await.unwrap();
        assert_eq!(rows.len(), lengths.len() as u64);
        run(&mut session, &format!("DROP TABLE {name}")).await;
        session.close().await;
    });
}

/// Errors of texts and of prepared statements.
pub fn errors_have_the_classes_that_the_engine_acts_on_and_leave_the_connection_usable<S: Server>() {
    on_each(async |server: &S| {
        let mut session = server.session("").await;
        let name = table::<S>(&mut session, "errors", "id int PRIMARY KEY, v varchar(3)").await;
        run(&mut session, &format!("INSERT INTO {name} VALUES (1, 'a')")).await;
        let both = [
            (format!("INSERT INTO {name} VALUES (1, 'b')"), ErrorClass::Failed, S::DUPLICATE),
            ("SELECT * FROM no_such_table".to_owned(), ErrorClass::Fatal, S::NO_TABLE),
        ];
        for (sql, class, code) in S::errors(&name).into_iter().chain(both) {
            assert_error(&error_of(&mut session, &sql).await, class, code);
        }
        // The same by a prepared statement, when it is prepared and when it is executed.
        let mut catalogue = Catalogue::default();
        let missing = catalogue.add_read("SELECT * FROM no_such_table");
        let insert = catalogue.add(Verb::Insert, format!("INSERT INTO {name} VALUES (?, ?)"));
        session.prepare(&Arc::new(catalogue)).await.unwrap();
        let mut rows = Rows::default();
        let error = session.execute(missing, &Params::default(), &mut rows).await.unwrap_err();
        assert_error(&error, ErrorClass::Fatal, S::NO_TABLE);
        for (id, expected) in [(1, Err(S::DUPLICATE)), (2, Ok(Effect::Affected(1))), (2, Err(S::DUPLICATE))] {
            let result = session.execute(insert, Params::default().int(id).text(b"x"), &mut rows).await;
            assert_eq!(result.map_err(|error| error.code), expected, "{server:?}");
        }
        run(&mut session, &format!("DROP TABLE {name}")).await;
    });
}

/// What is rolled back is gone, and what is committed is there for the next session.
pub fn transactions_commit_and_roll_back<S: Server>() {
    on_each(async |server: &S| {
        let mut session = server.session("").await;
        let name = table::<S>(&mut session, "transactions", "id int PRIMARY KEY").await;
        // Rolling back where nothing is open does nothing.
        session.rollback().await.unwrap();
        session.begin(Access::Write).await.unwrap();
        run(&mut session, &format!("INSERT INTO {name} VALUES (1)")).await;
        session.rollback().await.unwrap();
        session.rollback().await.unwrap();
        assert_eq!(count(&mut session, &name).await, 0);
        session.begin(Access::Write).await.unwrap();
        run(&mut session, &format!("INSERT INTO {name} VALUES (2)")).await;
        session.commit().await.unwrap();
        session.close().await;
        let mut session = server.session("").await;
        assert_eq!(select(&mut session, &format!("SELECT id FROM {name}")).await, [["2"]], "{server:?}");
        run(&mut session, &format!("DROP TABLE {name}")).await;
    });
}

/// A table for rows in bulk.
pub async fn bulk_table<S: Server>(session: &mut impl Session, name: &str) -> BulkTable {
    let (columns, [d, t, last]) = S::BULK;
    let name = table::<S>(session, name, &format!("id int PRIMARY KEY, {columns}")).await;
    BulkTable { name, columns: ["id", d, t, last].map(str::to_owned).to_vec() }
}

/// Rows for such a table: of every second one the last cell is NULL.
pub fn odd_rows<S: Server>() -> Params {
    bound(|cells| {
        for i in 0..ROWS {
            let (text, bytes) = S::odd(i);
            cells.int(i).decimal(-i, 2).text(text.as_bytes());
            _ = if i % 2 == 0 { cells.null() } else { cells.text(bytes) };
        }
    })
}

/// The same with a last row whose key is there.
pub fn odd_rows_with_a_duplicate<S: Server>() -> Params {
    let mut cells = odd_rows::<S>();
    cells.int(0).decimal(0, 2).text(b"again").null();
    cells
}

/// All rows are there and as they were sent.
pub async fn assert_odd_rows<S: Server>(session: &mut impl Session, table: &BulkTable, what: &str) {
    let mut rows = Rows::default();
    session.query(&format!("SELECT * FROM {} ORDER BY id", table.name), &mut rows).await.unwrap();
    assert_eq!(rows.len(), ROWS as u64, "{what}");
    for (row, id) in (0..ROWS).enumerate() {
        let (text, bytes) = S::odd(id);
        assert_eq!((rows.int(row, 0), rows.decimal(row, 1, 2)), (Ok(id), Ok(-id)), "{what}");
        assert_eq!(rows.text(row, 2), Ok(text.as_bytes()), "{what}: row {row}");
        assert_eq!(rows.is_null(row, 3), Ok(row % 2 == 0), "{what}: row {row}");
        assert!(row % 2 == 0 || rows.text(row, 3) == Ok(bytes), "{what}: row {row}");
    }
}

/// By INSERT statements.
pub fn rows_are_inserted_as_they_are_all_or_none<S: Server>() {
    bulk::<S>("inserted", async |session, table, cells| session.insert_rows(table, cells).await);
}

/// By the fastest way that the database has.
pub fn rows_are_loaded_as_they_are_all_or_none<S: Server>() {
    bulk::<S>("loaded", async |session, table, cells| session.load_rows(table, cells).await);
}

type SessionOf<S> = <<S as Server>::Driver as Driver>::Session;

fn bulk<S: Server>(name: &str, put: impl AsyncFn(&mut SessionOf<S>, &BulkTable, &Params) -> Result<u64, DriverError>) {
    on_each(async |server: &S| {
        for mode in std::iter::once(&"").chain(S::MODES) {
            let what = format!("{server:?} {mode}");
            let mut session = server.session("").await;
            if !mode.is_empty() {
                run(&mut session, mode).await;
            }
            let table = bulk_table::<S>(&mut session, name).await;
            // Several statements, the last of which fails.
            let error = put(&mut session, &table, &odd_rows_with_a_duplicate::<S>()).await.unwrap_err();
            assert_error(&error, ErrorClass::Failed, S::DUPLICATE);
            assert_eq!(count(&mut session, &table.name).await, 0, "{what}");
            assert_eq!(put(&mut session, &table, &odd_rows::<S>()).await, Ok(ROWS as u64), "{what}");
            assert_odd_rows::<S>(&mut session, &table, &what).await;
            // What was there before stays.
            let mut more = bound(|p| _ = p.int(ROWS).decimal(0, 2).text(b"more").null());
            more.int(7).decimal(0, 2).text(b"again").null();
            assert_error(&put(&mut session, &table, &more).await.unwrap_err(), ErrorClass::Failed, S::DUPLICATE);
            assert_eq!(count(&mut session, &table.name).await, ROWS, "{what}");
            assert_eq!(put(&mut session, &table, &Params::default()).await, Ok(0), "{what}");
            // Within a transaction they belong to it.
            run(&mut session, &format!("DELETE FROM {}", table.name)).await;
            session.begin(Access::Write).await.unwrap();
            assert_eq!(put(&mut session, &table, &odd_rows::<S>()).await, Ok(ROWS as u64), "{what}");
            session.rollback().await.unwrap();
            assert_eq!(count(&mut session, &table.name).await, 0, "{what}");
            // A table that is not there takes none, and the connection goes on.
            let missing = BulkTable { name: "no_such_table".to_owned(), ..table.clone() };
            let error = put(&mut session, &missing, &odd_rows::<S>()).await.unwrap_err();
            assert_error(&error, ErrorClass::Fatal, S::NO_TABLE);
            let torn = put(&mut session, &table, Params::default().int(1)).await.unwrap_err();
            assert_error(&torn, ErrorClass::Fatal, ErrorCode::Word("client", S::WRONG_COUNT[1]));
            run(&mut session, &format!("DROP TABLE {}", table.name)).await;
            session.close().await;
        }
    });
}

/// Two transactions that wait for each other over the rows 1 and 2.
pub fn a_deadlock_may_be_retried<S: SharedServer>() {
    on_each(async |server: &S| {
        let mut session = server.session("").await;
        let name = table::<S>(&mut session, "deadlock", "id int PRIMARY KEY, v int").await;
        run(&mut session, &format!("INSERT INTO {name} VALUES (1, 0), (2, 0)")).await;
        let mut both = perbuck_event::TaskSet::default();
        let mut sessions = [(server.session("").await, 1, 2), (server.session("").await, 2, 1)];
        for (session, id, _) in &mut sessions {
            session.begin(Access::Write).await.unwrap();
            run(session, &format!("UPDATE {name} SET v = 1 WHERE id = {id}")).await;
        }
        for (mut session, _, other) in sessions {
            let sql = format!("UPDATE {name} SET v = 2 WHERE id = {other}");
            both.spawn(async move {
                let result = session.query(&sql, &mut Rows::default()).await;
                session.rollback().await.unwrap();
                // Rolling back where nothing is open does nothing.
                session.rollback().await.unwrap();
                result
            });
        }
        let (one, other) = (both.next().await.unwrap(), both.next().await.unwrap());
        assert_error(&one.and(other).unwrap_err(), ErrorClass::Retry, S::DEADLOCK);
        run(&mut session, &format!("DROP TABLE {name}")).await;
    });
}

/// A connection that another one ends, within a transaction and without one.
pub fn a_killed_connection_is_lost<S: SharedServer>() {
    on_each(async |server: &S| {
        let mut admin = server.admin().await;
        for within in [false, true] {
            let mut victim = server.session("").await;
            let id = select(&mut victim, S::CONNECTION).await[0][0].clone();
            if within {
                victim.begin(Access::Write).await.unwrap();
            }
            run(&mut admin, &S::kill(&id)).await;
            let error = error_of(&mut victim, "SELECT 1").await;
            let known = [ErrorCode::Word("client", "closed"), S::KILLED];
            assert!(error.class == ErrorClass::Lost && known.contains(&error.code), "{server:?}: {error} {error:?}");
            assert_eq!(error_of(&mut victim, "SELECT 1").await.class, ErrorClass::Lost);
            assert_eq!(victim.rollback().await.unwrap_err().class, ErrorClass::Lost);
            victim.close().await;
        }
    });
}

/// A statement that takes longer than the limit.
pub fn an_answer_that_stays_out_is_lost_in_time<S: SharedServer>() {
    on_each(async |server: &S| {
        let mut session = server.session("read_timeout=400ms").await;
        select(&mut session, &S::sleep(0.2)).await;
        let started = Instant::now();
        let error = error_of(&mut session, &S::sleep(5.0)).await;
        let took = started.elapsed();
        assert_error(&error, ErrorClass::Lost, ErrorCode::Word("client", "timeout"));
        // It was logged in, so the port is right.
        let words = error.message.ends_with(" did not answer within the limit");
        assert!(words && error.cause == Some(Cause::Timeout), "{server:?}: {error}");
        assert!(took >= Duration::from_millis(400) && took < Duration::from_secs(2), "{took:?}");
    });
}

/// Transactions over the 200 rows of a table (`id`, `k`, `d`, `c`): a read that is kept, one that is counted, and a change.
async fn transactions(mut session: impl Session, table: &str, (count, each_time): (i64, bool)) {
    let mut catalogue = Catalogue::default();
    if each_time {
        catalogue.parse_each_time();
    }
    let read = catalogue.add_read(format!("SELECT c, k FROM {table} WHERE id BETWEEN ? AND ?"));
    let counted = catalogue.add(Verb::Select, format!("SELECT c FROM {table} WHERE id >= ?"));
    let update = catalogue.add(Verb::Update, format!("UPDATE {table} SET k = k + 1, c = ?, d = ? WHERE id = ?"));
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
    }
}

/// A statement allocates nothing once the session is warm. The test must be alone in its process.
pub fn more_statements_need_no_more_allocations<S: SharedServer>() {
    let server = &S::all()[0];
    let columns = "id int PRIMARY KEY, k int DEFAULT 0, d decimal(12,2), c char(120)";
    let prepare = async {
        let mut session = server.session("tls=disabled").await;
        let name = table::<S>(&mut session, "allocations", columns).await;
        let rows: Vec<String> = (1..=200).map(|id| format!("({id}, REPEAT('x', 120))")).collect();
        run(&mut session, &format!("INSERT INTO {name} (id, c) VALUES {}", rows.join(", "))).await;
        name
    };
    let name = perbuck_event::block_on(prepare).unwrap();
    let allocations = |count, each_time| {
        let work = async { transactions(server.session("tls=disabled").await, &name, (count, each_time)).await };
        allocation_counter::measure(|| perbuck_event::block_on(work).unwrap()).count_total
    };
    // A database that knows no other way prepares its statements both times.
    let counted = [false, true].map(|each_time| (allocations(50, each_time), allocations(1050, each_time)));
    perbuck_event::block_on(async { run(&mut server.session("").await, &format!("DROP TABLE {name}")).await }).unwrap();
    // 5,000 statements more; what is left over is the server's: answers that arrive in other portions.
    assert!(counted.iter().all(|(few, many)| *many <= few + 5), "few allocations, then many: {counted:?}");
}
