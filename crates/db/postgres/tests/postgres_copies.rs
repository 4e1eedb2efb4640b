//! Copies of a database: each row as it was saved, and what the driver leaves on the server.
#![allow(clippy::unwrap_used)] // A panic is how a test fails.

mod postgres_support;

use perbuck_event::block_on;
use perbuck_load::driver::{CopyScope, Driver as _, Session as _, SessionId};
use perbuck_load::query::Query;
use perbuck_postgres::{PostgresDriver, PostgresSession};
use postgres_support::{OWNER_PASSWORD, Postgres, SharedServer as _, run, select};

async fn sums(driver: &PostgresDriver) -> Vec<Vec<String>> {
    let mut session = driver.connect(SessionId::Own(0)).await.unwrap();
    let found =
        select(&mut session, "SELECT COUNT(*)::text, SUM(hashtextextended(t::text, 0)::numeric)::text FROM kept AS t").await;
    session.close().await;
    found
}

async fn on(driver: &PostgresDriver, statements: &[&str]) {
    let mut session = driver.connect(SessionId::Own(0)).await.unwrap();
    for statement in statements {
        run(&mut session, statement).await;
    }
    session.close().await;
}

async fn beside(admin: &mut PostgresSession) -> Vec<String> {
    let sql = "SELECT datname::text FROM pg_database WHERE datname ~ 'copies of it' AND datname <> 'copies of it' ORDER BY 1";
    select(admin, sql).await.concat()
}

#[test]
fn restored_rows_are_those_that_were_saved() {
    block_on(async {
        let mut admin = Postgres.admin().await;
        for sql in [
            "ALTER ROLE perbuck CREATEDB",
            "DROP DATABASE IF EXISTS \"copies of it\"",
            "CREATE DATABASE \"copies of it\" OWNER perbuck",
        ] {
            run(&mut admin, sql).await;
        }
        let driver = Postgres::driver_in("copies of it", (Postgres::OWNER, OWNER_PASSWORD));
        assert_eq!(driver.copy_problems(&CopyScope::default()).await.unwrap(), []);
        assert!(!driver.has_copy().await.unwrap());
        let make = "CREATE TABLE kept AS SELECT i AS id, repeat(i::text, 3) AS text FROM generate_series(1, 20000) AS i";
        on(&driver, &[make, "ANALYZE kept"]).await;
        let saved = sums(&driver).await;
        // What a killed run left.
        run(&mut admin, "CREATE DATABASE \"perbuck_new_copies of it\" OWNER perbuck").await;
        driver.save_copy(&CopyScope::default()).await.unwrap();
        assert_eq!(beside(&mut admin).await, ["perbuck_keep_copies of it"]);
        assert!(driver.has_copy().await.unwrap());
        for note in ["one", "two"] {
            on(&driver, &["UPDATE kept SET text = 'changed'", "DELETE FROM kept WHERE id % 7 = 0", "CREATE TABLE more (id INT)"])
                .await;
            assert_ne!(sums(&driver).await, saved);
            let notes =
                ["CREATE TABLE noted (what TEXT)".to_owned(), format!("INSERT INTO noted VALUES ('{note}')")].map(Query::from);
            driver.restore_copy(&CopyScope::default(), &notes).await.unwrap();
            assert_eq!(sums(&driver).await, saved);
            let mut session = driver.connect(SessionId::Own(0)).await.unwrap();
            assert_eq!(select(&mut session, "SELECT what, to_regclass('more') IS NULL FROM noted").await[0][0], note);
            let statistics = select(&mut session, "SELECT COUNT(*)::text FROM pg_stats WHERE tablename = 'kept'").await;
            assert_eq!(statistics[0][0], "2");
            session.close().await;
            assert_eq!(beside(&mut admin).await, ["perbuck_keep_copies of it"]);
        }
        // A note that fails leaves the data as they were.
        on(&driver, &["DELETE FROM kept"]).await;
        let empty = sums(&driver).await;
        driver.restore_copy(&CopyScope::default(), &["no SQL".into()]).await.unwrap_err();
        assert_eq!(sums(&driver).await, empty);
        assert_eq!(beside(&mut admin).await, ["perbuck_keep_copies of it"]);
        for _ in 0..2 {
            driver.drop_copy().await.unwrap();
            assert_eq!(beside(&mut admin).await, Vec::<String>::new());
        }
        driver.restore_copy(&CopyScope::default(), &[]).await.unwrap_err();
        assert_eq!(sums(&driver).await, empty);
        run(&mut admin, "DROP DATABASE \"copies of it\"").await;
    })
    .unwrap();
}
