//! `reset = "restore"` on a PostgreSQL that perbuck does not hold: the server makes the copies, by CREATE DATABASE … TEMPLATE.

use std::process::{Child, Command, Stdio};

use crate::common::maria::study;
use crate::common::postgres::Postgres;
use crate::common::{Desk, Ended, ended, signal, wait_until};

const TPCC: &str = "kind = \"tpcc\"\nwarehouses = 1\nreset = \"restore\"";
const SWEEP: &str = "connections = [2]\nwarmup = \"100ms\"\nduration = \"1s\"\ntrials = 3";

/// A database whose owner may make others.
fn fresh(desk: &mut Desk, name: &str) -> Postgres {
    let postgres = Postgres::fresh(desk, name);
    postgres.admin_sql("ALTER ROLE perbuck CREATEDB");
    desk.write("s.toml", &study(&postgres.url(), TPCC, SWEEP));
    postgres
}

/// The databases that perbuck made beside others, by the word in their names.
fn beside(postgres: &Postgres) -> Vec<String> {
    let sql = format!(
        "SELECT split_part(datname, '_', 2) FROM pg_database WHERE datname ~ '^perbuck_(keep|new|old)_{}$'",
        postgres.database
    );
    let mut found: Vec<String> = elsewhere(postgres, &sql).lines().map(str::to_owned).collect();
    found.sort();
    found
}

/// Asks in another database: a session in this one would be in the way.
fn elsewhere(postgres: &Postgres, sql: &str) -> String {
    Postgres { database: "postgres".to_owned(), ..postgres.clone() }.admin_sql(sql)
}

/// A sum over all rows of all tables.
fn sums(postgres: &Postgres) -> Vec<String> {
    let tables = ["warehouse", "district", "customer", "history", "orders", "new_order", "order_line", "stock", "item"];
    let sum = |table| postgres.sql(&format!("SELECT COUNT(*), SUM(hashtextextended(t::text, 0)::numeric) FROM {table} AS t"));
    tables.map(sum).to_vec()
}

fn data_of(desk: &Desk) -> Vec<String> {
    let mut records = desk.records("results/s");
    records.sort_by_key(|record| record.key.trial);
    records.into_iter().map(|record| record.workload.data).collect()
}

/// A client of the superuser that says something in a database, until it is ended.
fn psql(postgres: &Postgres, database: &str, sql: &str) -> Child {
    let mut command = Command::new("psql");
    command.args(["--no-psqlrc", "--host=127.0.0.1", &format!("--port={}", postgres.port), "--username=postgres"]);
    command.args(["-c", sql, database]).env("PGPASSWORD", &postgres.admin_password);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// A session of another program in the database.
fn stranger(postgres: &Postgres) -> Child {
    let child = psql(postgres, &postgres.database, "SELECT pg_sleep(120)");
    let there =
        format!("SELECT COUNT(*) FROM pg_stat_activity WHERE datname = '{}' AND query LIKE '%pg_sleep%'", postgres.database);
    wait_until("the session is there", || elsewhere(postgres, &there).trim() == "1");
    child
}

/// A client that ends while the server makes a database with this word from another one of perbuck's or of the user's: an empty one is made before
/// the load.
fn making(postgres: &Postgres, word: &str) -> Child {
    let there = format!(
        "EXISTS (SELECT FROM pg_stat_activity WHERE state = 'active' AND pid <> pg_backend_pid() \
         AND query LIKE 'CREATE DATABASE \"perbuck_{word}_{}\" TEMPLATE %' AND query NOT LIKE '%template0%')",
        postgres.database
    );
    let look = format!("LOOP PERFORM pg_stat_clear_snapshot(); EXIT WHEN {there}; PERFORM pg_sleep(0.002); END LOOP;");
    psql(postgres, "postgres", &format!("DO $$ BEGIN {look} END $$"))
}

#[test]
fn blocks_begin_with_the_data_that_were_saved_and_with_what_belongs_to_the_database() {
    let mut desk = Desk::new();
    let postgres = fresh(&mut desk, "restored");
    postgres.admin_sql(
        "ALTER DATABASE restored SET work_mem = '7MB'; ALTER DATABASE restored SET search_path = public, \"Odd, name\"; \
         GRANT CONNECT ON DATABASE restored TO tls_user WITH GRANT OPTION; COMMENT ON DATABASE restored IS 'it''s ours'; \
         ALTER DATABASE restored CONNECTION LIMIT 60",
    );
    let about = "SELECT datdba, datconnlimit, datacl, shobj_description(d.oid, 'pg_database'), setconfig FROM pg_database d \
                 JOIN pg_db_role_setting ON setdatabase = d.oid WHERE datname = 'restored'";
    let (before, oid) = (elsewhere(&postgres, about), "SELECT oid FROM pg_database WHERE datname = 'restored'");
    let first = elsewhere(&postgres, oid);
    let ran = desk.good(&["run", "--verbose", "s.toml"]);
    let count = |words: &str| ran.err.matches(words).count();
    assert_eq!([count("m, w: loaded "), count("m, w: saved a copy of the data in ")], [1, 1], "{ran:#?}");
    assert_eq!(count("m, w: restored the data in "), 2, "{ran:#?}");
    assert!(ran.err.contains("after the last trial 11 of 12 conditions hold, 1 does not apply"), "{ran:#?}");
    assert_eq!(data_of(&desk), ["kept", "restored", "restored"]);
    let records = desk.records("results/s");
    assert!(records.iter().all(|r| r.workload.rows_before == records[0].workload.rows_before));
    assert_ne!(records[0].workload.rows_after, records[0].workload.rows_before);
    assert_eq!(elsewhere(&postgres, about), before);
    assert_ne!(elsewhere(&postgres, oid), first, "it is another database of that name");
    assert_eq!(beside(&postgres), Vec::<String>::new());
    assert_eq!(postgres.sql("SELECT COUNT(*) FROM pg_tables WHERE tablename = 'perbuck_lease'").trim(), "0");
}

/// Kills a run at a moment; returns how it would have ended where the moment did not come.
fn killed(desk: &Desk, when: &mut dyn FnMut() -> bool) -> Ended {
    let mut command = desk.command(&["run", "s.toml"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("the moment", || when() || child.try_wait().unwrap().is_some());
    let _ = child.try_wait().unwrap().is_none().then(|| signal(&child, "KILL"));
    ended(child.wait_with_output().unwrap())
}

#[test]
fn a_kill_leaves_the_old_data_or_the_restored_ones_and_the_next_run_goes_on() {
    let mut desk = Desk::new();
    let postgres = fresh(&mut desk, "cut_off");
    desk.good(&["prepare", "s.toml"]);
    let loaded = sums(&postgres);
    // While the copy is made, and while a database is made from it.
    for word in ["keep", "new"] {
        let mut making = making(&postgres, word);
        let ended = killed(&desk, &mut || making.try_wait().unwrap().is_some());
        assert_eq!(ended.code, None, "killed: {ended:#?}");
        assert_eq!(sums(&postgres), loaded, "{word}");
    }
    // While it is restored for the second block, which begins with a check.
    let second = desk.path("results/s/m/w/c00002/001.json");
    let mut watch = None;
    let mut is_making = || second.exists() && watch.get_or_insert_with(|| making(&postgres, "new")).try_wait().unwrap().is_some();
    let ended = killed(&desk, &mut is_making);
    assert_eq!(ended.code, None, "killed: {ended:#?}");
    let (orders, had) = (postgres.sql("SELECT COUNT(*) FROM orders"), sums(&postgres));
    assert!(had == loaded || orders.trim().parse::<u64>().unwrap() > 30_000, "{orders}");
    assert!(beside(&postgres).contains(&"keep".to_owned()));
    let resumed = desk.good(&["run", "--verbose", "s.toml"]);
    assert!(!resumed.err.contains("m, w: loaded "), "{resumed:#?}");
    assert!(resumed.err.contains("going on with the copy of the data that a run before left"), "{resumed:#?}");
    assert_eq!(data_of(&desk), ["kept", "restored", "restored"], "{resumed:#?}");
    assert_eq!(beside(&postgres), Vec::<String>::new());
}

#[test]
fn restored_rows_are_those_that_were_loaded() {
    let mut desk = Desk::new();
    let postgres = fresh(&mut desk, "same_rows");
    desk.good(&["prepare", "s.toml"]);
    let loaded = sums(&postgres);
    let trial = desk.path("results/s/m/w/c00002/001.json");
    // After the second block began, so that its data were restored over those that the first one had changed.
    let lines = |desk: &Desk| desk.read("results/s/live.jsonl");
    let ended = killed(&desk, &mut || trial.exists() && beside(&postgres) == ["keep"] && !lines(&desk).is_empty());
    assert_eq!(ended.code, None, "killed: {ended:#?}");
    elsewhere(&postgres, "ALTER DATABASE perbuck_keep_same_rows ALLOW_CONNECTIONS true");
    assert_eq!(sums(&Postgres { database: "perbuck_keep_same_rows".to_owned(), ..postgres.clone() }), loaded);
    let tables = "SELECT COUNT(*) FROM pg_stats WHERE tablename IN ('stock', 'customer')";
    assert_ne!(postgres.sql(tables).trim(), "0", "statistics come with the files");
    elsewhere(&postgres, "DROP DATABASE perbuck_keep_same_rows");
}

#[test]
fn what_is_in_the_way_of_copies_is_told_before_the_load() {
    let mut desk = Desk::new();
    let postgres = fresh(&mut desk, "in_the_way");
    let refused = |desk: &Desk, words: &[&str]| {
        for command in [&["check", "--connect", "s.toml"][..], &["run", "s.toml"], &["prepare", "s.toml"]] {
            let ended = desk.perbuck(command);
            assert_eq!(ended.code, Some(3), "{command:?}: {ended:#?}");
            assert!(words.iter().all(|word| ended.err.contains(word)), "{command:?}: {words:?}: {ended:#?}");
        }
        assert_eq!(postgres.admin_sql("SELECT COUNT(*) FROM pg_tables WHERE schemaname = 'public'").trim(), "0", "loaded");
        assert_eq!(beside(&postgres), Vec::<String>::new());
    };
    // The session of another program is named, and lives on.
    let mut other = stranger(&postgres);
    refused(&desk, &["others use database `in_the_way`", "of postgres (psql)", "perbuck ends none of others"]);
    assert!(other.try_wait().unwrap().is_none());
    other.kill().unwrap();
    other.wait().unwrap();
    elsewhere(&postgres, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'in_the_way'");
    // What a new database would lack.
    postgres.admin_sql("ALTER ROLE tls_user IN DATABASE in_the_way SET work_mem = '9MB'");
    refused(&desk, &["would not have what `in_the_way` has: setting of tls_user: work_mem=9MB"]);
    postgres.admin_sql("ALTER ROLE tls_user IN DATABASE in_the_way RESET ALL");
    // Rights.
    postgres.admin_sql("ALTER DATABASE in_the_way OWNER TO postgres; GRANT ALL ON SCHEMA public TO perbuck");
    let owner = "database in_the_way belongs to postgres, so user perbuck may not replace it";
    refused(&desk, &[owner, "ALTER DATABASE in_the_way OWNER TO perbuck", "reset = \"per-block\""]);
    postgres.admin_sql("ALTER DATABASE in_the_way OWNER TO perbuck; ALTER ROLE perbuck NOCREATEDB");
    refused(&desk, &["user perbuck may not make databases", "ALTER ROLE perbuck CREATEDB"]);
    let elsewhere = study(&postgres.url().replace("in_the_way", "postgres"), TPCC, SWEEP);
    desk.write("s.toml", &elsewhere);
    refused(&desk, &["database `postgres` belongs to the server"]);
}

#[test]
fn a_session_that_comes_later_is_named_and_left_alone() {
    let mut desk = Desk::new();
    let postgres = fresh(&mut desk, "visited");
    let child = desk.command(&["run", "s.toml"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // In the first trial.
    let used = "SELECT COUNT(*) FROM perbuck_data WHERE used_by LIKE '%running'";
    let exists = "SELECT COUNT(*) FROM pg_tables WHERE tablename = 'perbuck_data'";
    wait_until("the copy is saved", || beside(&postgres).contains(&"keep".to_owned()));
    wait_until("the first trial runs", || {
        beside(&postgres) == ["keep"] && postgres.admin_sql(exists).trim() == "1" && postgres.admin_sql(used).trim() == "1"
    });
    let mut other = stranger(&postgres);
    let ended = ended(child.wait_with_output().unwrap());
    assert!(ended.code.is_some_and(|code| code > 0), "{ended:#?}");
    assert!(ended.err.contains("others use database `visited`") && ended.err.contains("of postgres (psql)"), "{ended:#?}");
    assert!(other.try_wait().unwrap().is_none());
    other.kill().unwrap();
    other.wait().unwrap();
    elsewhere(&postgres, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'visited'");
    desk.good(&["run", "s.toml"]);
    assert_eq!(data_of(&desk).len(), 3);
    assert_eq!(beside(&postgres), Vec::<String>::new());
}

#[test]
fn databases_that_follow_postgresql_are_refused_by_name() {
    let desk = Desk::new();
    for (scheme, says) in
        [("cockroach", "CockroachDB makes no database from another one"), ("yugabyte", "YugabyteDB makes no database")]
    {
        desk.write("s.toml", &study(&format!("{scheme}://u@127.0.0.1:1/x"), TPCC, SWEEP));
        let refused = desk.perbuck(&["check", "s.toml"]);
        assert!(refused.code == Some(2) && refused.err.contains(says) && refused.err.contains("per-block"), "{refused:#?}");
    }
}
