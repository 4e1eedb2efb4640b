//! Load of other programs on the target, and a second perbuck on it: on real servers, on SQLite and on TiKV's test server.

use std::process::{Child, Stdio};
use std::time::Instant;

use crate::common::maria::{Maria, study};
use crate::common::postgres::Postgres;
use crate::common::{Desk, Ended, ended, signal, wait_until};
use perbuck_core::run_record::{Flag, RunRecord, ServerWork};

const RW: &str = "kind = \"sysbench\"\ntables = 1\ntable_size = 1000";
const LONG: &str = "connections = [2]\nwarmup = \"0s\"\nduration = \"60s\"\ntrials = 1";
/// What the stranger sends: the real sysbench.
const SELECTS: u64 = 14_000;
const STRANGER: [&str; 6] = ["oltp_point_select", "--tables=1", "--table-size=1000", "--threads=4", "--events=14000", "--time=0"];

/// Starts a run, and waits until a trial has seconds.
fn running(desk: &Desk, file: &str, name: &str) -> Child {
    let child = desk.command(&["run", file]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let live = desk.path(&format!("results/{name}/live.jsonl"));
    wait_until("a trial runs", || std::fs::read_to_string(&live).is_ok_and(|text| text.contains("\"second\"")));
    child
}

fn end(child: Child) -> Ended {
    ended(child.wait_with_output().unwrap())
}

fn foreign(record: &RunRecord) -> Option<(u64, u64)> {
    record.flags.iter().find_map(|flag| match flag {
        Flag::ForeignLoad { foreign, all, .. } => Some((*foreign, *all)),
        _ => None,
    })
}

/// A trial during which a stranger uses the server is flagged and not compared, unless the user insists.
fn a_stranger_is_seen(desk: &Desk, url: &str, sysbench: &dyn Fn(&[&str]) -> String) {
    // At this rate the stranger's share does not depend on how fast the machine is.
    let sweep = "connections = [1]\nrate = [100]\nwarmup = \"1s\"\nduration = \"20s\"\ntrials = 1";
    desk.write("s.toml", &study(url, RW, sweep));
    let child = running(desk, "s.toml", "s");
    sysbench(&[&STRANGER[..], &["run"]].concat());
    let run = end(child);
    assert_eq!(run.code, Some(4), "{run:#?}");
    assert!(run.err.contains("(other clients used the server: ") && run.err.contains("--insist foreign-load"), "{}", run.err);
    let record = desk.records("results/s").remove(0);
    let (seen, all) = foreign(&record).unwrap();
    // The client's own questions at its start, and whatever the server does by itself.
    assert!((SELECTS..SELECTS + 60).contains(&seen) && seen * 20 > all, "{seen} of {all}");
    assert_eq!(desk.perbuck(&["compare", "results/s"]).code, Some(4));
    let insisted = desk.good(&["compare", "results/s", "--insist", "foreign-load"]);
    assert!(insisted.out.contains("other clients used the server for more than 1 % of its work"), "{}", insisted.out);
}

#[test]
fn a_stranger_on_mariadb_flags_the_trial() {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "stranger");
    a_stranger_is_seen(&desk, &maria.url(), &|words| maria.sysbench(words));
}

#[test]
fn a_stranger_on_postgresql_flags_the_trial() {
    let mut desk = Desk::new();
    let postgres = Postgres::fresh(&mut desk, "stranger");
    let _still = postgres.without_autovacuum();
    a_stranger_is_seen(&desk, &postgres.url(), &|words| postgres.sysbench(words));
}

/// Twenty trials with deadlocks, rollbacks, text in place of prepared statements, reloads and several hosts, and no foreign work in any.
fn honest(desk: &Desk, url: &str, more: &[(&str, &str)]) {
    let hot = "kind = \"sysbench\"\ntables = 1\ntable_size = 100";
    let sweep = "connections = [8]\nwarmup = \"200ms\"\nduration = \"1s\"\ntrials = 5";
    let writes = format!("{hot}\nscript = \"oltp_write_only\"");
    let mut cases = vec![
        ("hot", url, hot),
        ("orders", url, "kind = \"tpcc\"\nwarehouses = 1\nreset = \"never\""),
        ("writes", url, writes.as_str()),
    ];
    cases.extend(more.iter().map(|(name, url)| (*name, *url, hot)));
    for (name, url, workload) in cases {
        desk.write("s.toml", &study(url, workload, sweep).replace("name = \"s\"", &format!("name = \"{name}\"")));
        // So many deadlocks are no fair measurement, which the exit code says; the records are kept.
        let run = desk.perbuck(&["run", "s.toml"]);
        assert!(matches!(run.code, Some(0 | 4)) && !run.err.contains("other clients"), "{name}: {run:#?}");
        let records = desk.records(&format!("results/{name}"));
        assert_eq!(records.len(), 5, "{name}: {run:#?}");
        for record in records {
            let (seen, all, _) =
                record.target.work.as_ref().and_then(ServerWork::foreign).unwrap_or_else(|| panic!("{name}: {run:#?}"));
            assert!(all > 10 && seen < 40 && foreign(&record).is_none(), "{name}: {seen} of {all}: {:?}", record.errors);
        }
    }
}

#[test]
fn honest_trials_of_mariadb_have_no_foreign_work() {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "honest");
    let (text, url) = (format!("{}?statements=text", maria.url()), maria.url());
    // Two names of one server: its counters count once.
    let twice = url.replace(&format!(":{}/", maria.port), &format!(":{0},localhost:{0}/", maria.port));
    honest(&desk, &url, &[("text", &text), ("twice", &twice)]);
}

#[test]
fn honest_trials_of_mysql_have_no_foreign_work() {
    let mut desk = Desk::new();
    let mysql = Maria::fresh(&mut desk, "PERBUCK_TEST_MYSQL9", "honest");
    honest(&desk, &mysql.url(), &[("text", &format!("{}?statements=text", mysql.url()))]);
}

#[test]
fn honest_trials_of_postgresql_have_no_foreign_work() {
    let mut desk = Desk::new();
    let postgres = Postgres::fresh(&mut desk, "honest");
    let url = postgres.url();
    let twice = url.replace(&format!(":{}/", postgres.port), &format!(":{0},localhost:{0}/", postgres.port));
    honest(&desk, &url, &[("twice", &twice)]);
}

#[test]
fn where_nothing_counts_the_work_it_is_said_once() {
    let desk = Desk::new();
    let two = |text: String| text.replace("trials = 1", "trials = 3");
    let sweep = "connections = [1]\nwarmup = \"0s\"\nduration = \"200ms\"\ntrials = 1";
    desk.write("s.toml", &two(study("sqlite:x.db", RW, sweep)));
    let run = desk.good(&["run", "s.toml"]);
    assert_eq!(
        run.out.matches("other load on the server was not looked for: it has no counters of its work (all 3 trials)").count(),
        1,
        "{}",
        run.out
    );
}

/// A second perbuck is told who uses the database; it goes on at once when that one has ended, however it ended.
fn one_at_a_time(desk: &Desk, url: &str, cleanup: Option<&[&str]>) {
    desk.write("first.toml", &study(url, RW, LONG).replace("name = \"s\"", "name = \"first\""));
    let short = LONG.replace("60s", "300ms");
    desk.write("second.toml", &study(url, RW, &short).replace("name = \"s\"", "name = \"second\""));
    let child = running(desk, "first.toml", "first");
    for command in [&["run", "second.toml"][..], &["prepare", "--force", "second.toml"]] {
        let refused = desk.perbuck(command);
        assert_eq!(refused.code, Some(4), "{refused:#?}");
        let who = format!("process {} on ", child.id());
        for words in [
            "m, w: another perbuck uses its database: ",
            &who,
            " for study `first` since 20",
            "help: wait until it has ended, or stop it",
        ] {
            assert!(refused.err.contains(words), "{words}: {}", refused.err);
        }
    }
    if let Some(cleanup) = cleanup {
        let refused = desk.perbuck(cleanup);
        assert!(refused.code == Some(1) && refused.out.contains("another perbuck uses its database: process "), "{refused:#?}");
    }
    desk.good(&["prepare", "--check", "second.toml"]);
    signal(&child, "INT");
    assert_eq!(end(child).code, Some(130));
    desk.good(&["run", "second.toml"]);

    let mut killed = running(desk, "first.toml", "first");
    killed.kill().unwrap();
    killed.wait().unwrap();
    std::fs::remove_dir_all(desk.path("results/second")).unwrap();
    let began = Instant::now();
    desk.good(&["run", "second.toml"]);
    assert!(began.elapsed().as_secs() < 12, "{:?}", began.elapsed());
}

#[test]
fn one_perbuck_at_a_time_uses_a_database_of_mariadb() {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "lease");
    desk.set("MYSQL_PWD", &maria.password);
    let (host, port) = (format!("--mysql-host={}", maria.host), format!("--mysql-port={}", maria.port));
    let cleanup = ["sysbench", &host, &port, "--mysql-user=root", "--mysql-db=lease", "--tables=1", "oltp_read_write", "cleanup"];
    one_at_a_time(&desk, &maria.url(), Some(&cleanup));
    assert_eq!(maria.sql("SHOW TABLES LIKE 'perbuck_lease'").trim(), "");
    assert_eq!(maria.sql("SELECT COUNT(*) FROM sbtest1").trim(), "1000");
}

#[test]
fn one_perbuck_at_a_time_uses_a_database_of_postgresql() {
    let mut desk = Desk::new();
    let postgres = Postgres::fresh(&mut desk, "lease");
    one_at_a_time(&desk, &postgres.url(), None);
    assert_eq!(postgres.sql("SELECT relname FROM pg_stat_user_tables WHERE relname = 'perbuck_lease'").trim(), "");
}

#[test]
fn one_perbuck_at_a_time_uses_an_sqlite_file() {
    let desk = Desk::new();
    let cleanup = ["sysbench", "--db-driver=sqlite3", "--sqlite-db=x.db", "--tables=1", "oltp_read_write", "cleanup"];
    one_at_a_time(&desk, "sqlite:x.db", Some(&cleanup));
    assert!(desk.path("x.db").exists() && !desk.path("x.db.perbuck-lease").exists());
}

/// A study of two contenders on one database is one perbuck; one that another machine's perbuck holds is watched for a sign.
#[test]
fn a_lease_of_another_machine_is_watched_and_taken_over_when_its_signs_end() {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "leases");
    let twice = |url: &str| format!("[[contender]]\nname = \"n\"\ntarget = \"{url}\"\npassword_file = \"p\"\n[[workload]]");
    desk.write("p", &maria.password);
    let short = LONG.replace("60s", "300ms");
    desk.write(
        "s.toml",
        &study(&maria.url(), RW, &short).replace("[[workload]]", &twice(&maria.url().replace("127.0.0.1", "localhost"))),
    );
    desk.good(&["run", "s.toml"]);

    let row = "'run', '7', 'token far-away other-study 1785576612000 elsewhere-1 4711 99'";
    let columns = "name VARCHAR(64) NOT NULL PRIMARY KEY, beat VARCHAR(64) NOT NULL, holder VARCHAR(400) NOT NULL";
    maria.sql(&format!("CREATE TABLE perbuck_lease ({columns}); INSERT INTO perbuck_lease VALUES ({row})"));
    std::fs::remove_dir_all(desk.path("results")).unwrap();
    let who = "process 4711 on far-away for study `other-study` since 2026-08-01 09:30:12 UTC";
    let waiting = format!("the lease of its database is that of {who}; waiting up to 16 s for a sign of it");
    let err = std::fs::File::create(desk.path("err")).unwrap();
    let mut child = desk.command(&["run", "s.toml"]).stdout(Stdio::null()).stderr(err).spawn().unwrap();
    wait_until("it waits", || desk.read("err").contains(&waiting));
    maria.sql("UPDATE perbuck_lease SET beat = '8'");
    wait_until("the sign is seen", || child.try_wait().unwrap().is_some());
    let (code, err) = (child.wait().unwrap().code(), desk.read("err"));
    assert!(code == Some(4) && err.contains(&format!("another perbuck uses its database: {who}\n")), "{err}");
    // No more signs.
    let taken = desk.good(&["run", "s.toml"]);
    assert!(
        taken.err.contains(&waiting) && taken.err.contains(&format!("{who} was killed; its lease is taken over")),
        "{}",
        taken.err
    );
    assert_eq!(maria.sql("SHOW TABLES LIKE 'perbuck_lease'").trim(), "");
}

#[test]
fn a_run_whose_lease_another_one_took_ends_and_a_user_who_can_make_no_table_runs_without() {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "lost_lease");
    desk.write("s.toml", &study(&maria.url(), RW, &LONG.replace("60s", "8s")));
    let child = running(&desk, "s.toml", "s");
    maria.sql("UPDATE perbuck_lease SET holder = 'token far-away other 1785576612000 elsewhere-1 4711 99'");
    let lost = end(child);
    assert_eq!(lost.code, Some(4), "{lost:#?}");
    assert!(
        lost.err.contains("process 4711 on far-away for study `other`") && lost.err.contains("took over the lease"),
        "{}",
        lost.err
    );
    assert!(maria.sql("SELECT holder FROM perbuck_lease").contains("far-away"), "it is not ours to remove");
    maria.sql("DROP TABLE perbuck_lease; DROP TABLE perbuck_data");

    maria.sql(
        "DROP USER IF EXISTS reader@'%'; CREATE USER reader@'%' IDENTIFIED BY 'r'; GRANT SELECT ON lost_lease.* TO reader@'%'",
    );
    desk.set("PERBUCK_M_PASSWORD", "r");
    let read_only = format!("{RW}\nscript = \"oltp_read_only\"");
    desk.write("r.toml", &study(&maria.url().replace("root@", "reader@"), &read_only, &LONG.replace("60s", "300ms")));
    std::fs::remove_dir_all(desk.path("results")).unwrap();
    let run = desk.good(&["run", "r.toml"]);
    assert!(run.err.contains("m, w: no lease keeps a second perbuck away: "), "{}", run.err);
}
