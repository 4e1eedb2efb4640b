//! Statements on real servers: the suite of all drivers, and what is true of this protocol alone.
#![allow(clippy::unwrap_used)] // A panic is how a test fails.

mod mysql_support;

use std::sync::Arc;

use mysql_support::{Mysql, Server as _, SharedServer as _, bound, cells, run, table};
use perbuck_database::dialect::Dialect as _;
use perbuck_event::block_on;
use perbuck_load::driver::{DataSize, Driver, Effect, Session, SessionId};
use perbuck_load::error::ErrorClass;
use perbuck_load::statement::{Catalogue, Verb};
use perbuck_load::values::{Params, Rows};
use perbuck_mysql::MysqlDialect;

// How rows are loaded depends on settings of the server: see mysql_load.rs.
perbuck_driver_suite::tests!(Mysql: statements::{
    every_type_comes_back_the_same_from_a_text_and_from_a_prepared_statement,
    parameters_of_every_kind_arrive_and_change_their_kinds,
    errors_have_the_classes_that_the_engine_acts_on_and_leave_the_connection_usable,
    transactions_commit_and_roll_back,
    rows_are_inserted_as_they_are_all_or_none,
    a_deadlock_may_be_retried,
    a_killed_connection_is_lost,
    an_answer_that_stays_out_is_lost_in_time,
});

#[test]
fn values_beyond_16_mib_go_both_ways() {
    block_on(async {
        for server in Mysql::all() {
            run(&mut server.session("").await, "SET GLOBAL max_allowed_packet = 67108864").await;
        }
    })
    .unwrap();
    perbuck_driver_suite::statements::large_values_go_both_ways::<Mysql>();
}

/// On the server that may be disturbed, since the limit is everybody's.
#[test]
fn where_no_more_can_be_prepared_statements_are_sent_as_text() {
    block_on(async {
        let driver = Mysql("PERBUCK_TEST_MARIADB_KILL").owner("");
        let mut admin = driver.connect(SessionId::Own(0)).await.unwrap();
        let name = table::<Mysql>(&mut admin, "fallback", "id int PRIMARY KEY, d decimal(12,2), t varchar(40)").await;
        run(&mut admin, "SET GLOBAL max_prepared_stmt_count = 0").await;
        let mut outcome = Vec::new();
        for mode in ["", "NO_BACKSLASH_ESCAPES"] {
            let mut session = driver.connect(SessionId::Own(1)).await.unwrap();
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
fn statements_that_are_prepared_ahead_are_prepared_once() {
    block_on(async {
        for server in Mysql::all() {
            let mut session = server.session("").await;
            let mut catalogue = Catalogue::default();
            let reads: Vec<_> = (1..=6).map(|number| catalogue.add_read(format!("SELECT {number}, ?"))).collect();
            let broken = catalogue.add_read("SELECT * FROM no_such_table");
            session.prepare(&Arc::new(catalogue)).await.unwrap();
            // Statements before the one that fails stay prepared, and the connection stays usable.
            assert_eq!(session.prepare_ahead().await.unwrap_err().class, ErrorClass::Fatal, "{server:?}");
            let mut rows = Rows::default();
            for (number, read) in (1..).zip(reads) {
                // Where the type of a value is not the one that MySQL 9 expects, it prepares once more.
                session.execute(read, Params::default().text(b"7"), &mut rows).await.unwrap();
                assert_eq!((rows.int(0, 0), rows.int(0, 1)), (Ok(number), Ok(7)), "{server:?}");
            }
            session.query("SHOW SESSION STATUS LIKE 'Com_stmt_prepare'", &mut rows).await.unwrap();
            // The one that fails counts, too.
            assert_eq!(cells(&rows)[0][1], "7", "{server:?}");
            assert!(session.execute(broken, &Params::default(), &mut rows).await.is_err());
            session.close().await;
        }
    })
    .unwrap();
}

#[test]
fn the_size_of_data_is_that_of_the_files_of_their_tables() {
    block_on(async {
        for server in Mysql::all() {
            let (driver, mut session) = (server.driver(""), server.session("").await);
            let mut tables = Vec::new();
            for (name, partitions) in [("size_whole", ""), ("size_parts", " PARTITION BY HASH (id) PARTITIONS 3")] {
                let columns = "id int PRIMARY KEY, k int, pad char(180), KEY k_1 (k)";
                run(&mut session, &format!("DROP TABLE IF EXISTS {name}")).await;
                run(&mut session, &format!("CREATE TABLE {name} ({columns}) ENGINE=InnoDB{partitions}")).await;
                run(&mut session, &format!("INSERT INTO {name} VALUES (0, 0, REPEAT('x', 180))")).await;
                for rows in (0..15).map(|power| 1 << power) {
                    run(&mut session, &format!("INSERT INTO {name} SELECT id + {rows}, id * 7, pad FROM {name}")).await;
                }
                run(&mut session, &format!("ANALYZE TABLE {name}")).await;
                tables.push(name.to_owned());
            }
            let mut rows = Rows::default();
            session.query("SELECT CONCAT(@@datadir, '/', DATABASE())", &mut rows).await.unwrap();
            let files = std::fs::read_dir(cells(&rows)[0][0].as_str()).unwrap().map(|file| file.unwrap());
            let sizes: Vec<(String, u64)> =
                files.map(|file| (file.file_name().into_string().unwrap(), file.metadata().unwrap().len())).collect();
            for tables in [&tables[..1], &tables[1..], &tables[..]] {
                let of = |file: &str| file.ends_with(".ibd") && tables.iter().any(|t| file.split(['#', '.']).next() == Some(t));
                let files: u64 = sizes.iter().filter(|(file, _)| of(file)).map(|(_, bytes)| bytes).sum();
                let size = driver.data_size(tables).await.unwrap();
                let (rows, keys) = (size.tables_bytes.unwrap(), size.indexes_bytes.unwrap());
                assert_eq!(size.store_bytes, Some(files), "{server:?} {tables:?} {sizes:?}");
                assert!(rows > 32_768 * 180 * tables.len() as u64 && keys > 32_768 * 8 && keys < rows / 4, "{size:?}");
                // Each file holds space for rows to come.
                assert!(rows + keys <= files && rows + keys > files / 5, "{size:?} in {files}");
            }
            assert_eq!(driver.data_size(&["size_none".to_owned()]).await.unwrap(), DataSize::default());
            assert_eq!(driver.facts().await.unwrap().page_memory_bytes, Some(256 << 20));
            for name in tables {
                run(&mut session, &format!("DROP TABLE {name}")).await;
            }
        }
    })
    .unwrap();
}

#[test]
fn scans_read_a_table_and_each_of_its_indexes() {
    block_on(async {
        for server in Mysql::all() {
            let mut session = server.session("").await;
            let names = ["scan_keyed", "scan_plain", "scan_parts"];
            let columns =
                ["id int PRIMARY KEY, k int, KEY k_1 (k), KEY `k-2` (k, id)", "k int", "id int PRIMARY KEY, k int, KEY k_1 (k)"];
            for (i, name) in names.iter().enumerate() {
                let parts = if i == 2 { " PARTITION BY HASH (id) PARTITIONS 2" } else { "" };
                run(&mut session, &format!("DROP TABLE IF EXISTS {name}")).await;
                run(&mut session, &format!("CREATE TABLE {name} ({}) ENGINE=InnoDB{parts}", columns[i])).await;
                let values = if i == 1 { "(7), (8), (NULL)" } else { "(1, 7), (2, 8), (3, NULL)" };
                run(&mut session, &format!("INSERT INTO {name} VALUES {values}")).await;
            }
            for (name, indexes) in names.iter().zip([["k_1", "k-2"].as_slice(), &[], &["k_1"]]) {
                let mut rows = Rows::default();
                for wanted in [false, true] {
                    session.query(&MysqlDialect.scans(name, wanted), &mut rows).await.unwrap();
                    let scans: Vec<String> = cells(&rows).into_iter().map(|row| row[0].clone()).collect();
                    assert_eq!(scans.len(), 1 + if wanted { indexes.len() } else { 0 }, "{server:?} {scans:?}");
                    for (i, scan) in scans.iter().enumerate() {
                        session.query(scan, &mut rows).await.unwrap();
                        // Rows, or those without a value in the first column.
                        assert_eq!(cells(&rows), [[if i == 0 { "3" } else { "1" }]], "{scan}");
                        session.query(&format!("EXPLAIN {scan}"), &mut rows).await.unwrap();
                        let plan = cells(&rows)[0].join(" ");
                        assert!(i == 0 || indexes.iter().any(|index| plan.contains(index)), "{scan}: {plan}");
                    }
                }
                run(&mut session, &format!("DROP TABLE {name}")).await;
            }
        }
    })
    .unwrap();
}
