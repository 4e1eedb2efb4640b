//! Scripts in pgbench's language on MariaDB: its counters, and results in variables.

use crate::common::Desk;
use crate::common::maria::{Maria, study};

const STATEMENTS: [&str; 5] = ["Com_select", "Com_insert", "Com_update", "Com_delete", "Com_commit"];

fn counters(maria: &Maria) -> [i64; 5] {
    STATEMENTS.map(|name| maria.status(name))
}

fn pgbench(desk: &Desk, maria: &Maria, words: &[&str]) -> String {
    let target = maria.url();
    let all = [&["pgbench", "--target", &target], words].concat();
    let ended = crate::common::ended(desk.command(&all).env("PERBUCK_PGBENCH_PASSWORD", &maria.password).output().unwrap());
    assert_eq!(ended.code, Some(0), "{words:?}: {ended:#?}");
    ended.out
}

#[test]
fn the_scripts_of_pgbench_are_counted_by_the_server() {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "pgbench_maria");
    for protocol in ["-Mprepared", "-Msimple"] {
        pgbench(&desk, &maria, &["-i", "--foreign-keys"]);
        let before = counters(&maria);
        let out = pgbench(&desk, &maria, &["-t", "100", "-c", "2", "-b", "tpcb-like", protocol, "--max-tries=100"]);
        assert!(out.contains("actually processed: 200/200\n"), "{out}");
        let after = counters(&maria);
        let counted: Vec<i64> = before.iter().zip(after).map(|(before, after)| after - before).collect();
        // What perbuck itself asks for are SELECTs, and a deadlock's statements count, too.
        assert!(
            counted[0] >= 200 && counted[1] >= 200 && counted[2] >= 600 && counted[3] == 0 && counted[4] == 200,
            "{counted:?}"
        );
        assert!(counted[1] <= 220 && counted[2] <= 700, "{counted:?}");
        let sums = "SELECT (SELECT SUM(abalance) FROM pgbench_accounts), (SELECT SUM(tbalance) FROM pgbench_tellers), \
                    (SELECT SUM(bbalance) FROM pgbench_branches), (SELECT SUM(delta) FROM pgbench_history)";
        let (sums, rows) = (maria.sql(sums), maria.sql("SELECT COUNT(*) FROM pgbench_history"));
        let first = sums.trim().split('\t').next().unwrap();
        assert!(sums.trim().split('\t').all(|sum| sum == first) && rows.trim() == "200", "{sums} {rows}");
    }
}

#[test]
fn a_study_of_scripts_counts_as_the_server_does() {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "script_maria");
    desk.write(
        "tables.sql",
        "CREATE TABLE shop (id INT PRIMARY KEY, n INT, t VARCHAR(20));\nINSERT INTO shop VALUES (1, 5, 'x'), (2, 6, 'y');\n",
    );
    desk.write(
        "a.sql",
        "SELECT n AS found, t AS word FROM shop WHERE id = 2 \\gset\n\\if :found = 6\nUPDATE shop SET n = n WHERE t = :word;\n\\endif\n\
         SELECT n FROM shop WHERE n > :low / 2.0;\n",
    );
    let workload = "kind = \"script\"\nfile = \"a.sql\"\ninit = \"tables.sql\"\nvariables = \"low=3\"";
    desk.write(
        "s.toml",
        &study(&maria.url(), workload, "connections = [2]\nwarmup = \"0s\"\nduration = \"20s\"\nevents = 300\ntrials = 1"),
    );
    let before = counters(&maria);
    desk.good(&["run", "s.toml"]);
    let after = counters(&maria);
    let record = desk.records("results/s").remove(0);
    assert_eq!((record.measured.transactions["a.sql"].committed, record.errors.len()), (300, 0));
    let statements = &record.measured.statements;
    assert_eq!((statements.select, statements.update, statements.begin), (600, 300, 0));
    // One more is perbuck's note that the run used the data.
    assert!((300..=301).contains(&(after[2] - before[2])), "{before:?} {after:?}");
    // A wrong column ends the run before any load, with its file and line.
    desk.write("a.sql", "SELECT 1;\nSELECT missing FROM shop;\n");
    desk.write("s.toml", &desk.read("s.toml").replace("name = \"s\"", "name = \"wrong\""));
    let wrong = desk.perbuck(&["run", "s.toml"]);
    assert!(wrong.code != Some(0) && wrong.err.contains("a.sql:2: ") && wrong.err.contains("missing"), "{wrong:#?}");
}
