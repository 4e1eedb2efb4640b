//! `perbuck pgbench` beside the real pgbench on a real PostgreSQL.

#[path = "pgbench/extended.rs"]
mod extended;
#[path = "pgbench/output.rs"]
mod output;
#[path = "pgbench/pipelines.rs"]
mod pipelines;

use std::process::Command;

use crate::common::postgres::Postgres;
use crate::common::{Desk, Ended};

/// What both programs are given to reach the database.
fn connection(postgres: &Postgres) -> [String; 4] {
    ["-h127.0.0.1".to_owned(), format!("-p{}", postgres.port), "-Uperbuck".to_owned(), postgres.database.clone()]
}

fn ours(desk: &Desk, postgres: &Postgres, words: &[&str]) -> Ended {
    let connection = connection(postgres);
    let all: Vec<&str> =
        ["pgbench"].into_iter().chain(words.iter().copied()).chain(connection.iter().map(String::as_str)).collect();
    crate::common::ended(desk.command(&all).env("PGPASSWORD", &postgres.password).output().unwrap())
}

fn theirs(desk: &Desk, postgres: &Postgres, words: &[&str]) -> Ended {
    let mut command = Command::new("pgbench");
    command.args(words).args(connection(postgres)).env("PGPASSWORD", &postgres.password).current_dir(desk.path("."));
    crate::common::ended(command.output().unwrap())
}

type Program = fn(&Desk, &Postgres, &[&str]) -> Ended;
const PROGRAMS: [Program; 2] = [ours, theirs];

fn good(program: Program, desk: &Desk, postgres: &Postgres, words: &[&str]) -> String {
    let ended = program(desk, postgres, words);
    assert_eq!(ended.code, Some(0), "{words:?}: {ended:#?}");
    ended.out
}

/// The server's counters of the four tables, and rows and sums of the history.
fn counted(postgres: &Postgres) -> Vec<String> {
    let counters = "SELECT relname, n_tup_ins, n_tup_upd, n_tup_del, CASE WHEN relname = 'pgbench_accounts' THEN idx_scan END \
                    FROM pg_stat_user_tables WHERE relname LIKE 'pgbench%' ORDER BY relname";
    let mut all: Vec<String> = postgres.sql(counters).lines().map(str::to_owned).collect();
    all.push(postgres.sql("SELECT COUNT(*) FROM pgbench_history").trim().to_owned());
    all
}

#[test]
fn the_scripts_count_as_those_of_pgbench() {
    let mut desk = Desk::new();
    for protocol in ["-Msimple", "-Mextended", "-Mprepared"] {
        for script in ["tpcb-like", "simple-update", "select-only"] {
            let counts = PROGRAMS.map(|program| {
                let postgres = Postgres::fresh(&mut desk, "pgbench_counts");
                good(theirs, &desk, &postgres, &["-i", "-q"]);
                postgres.admin_sql("SELECT pg_stat_reset()");
                let out = good(program, &desk, &postgres, &["-n", "-t", "150", "-c", "1", protocol, "-b", script]);
                assert!(out.contains("number of transactions actually processed: 150/150\n"), "{out}");
                // The counters of a session are the server's when it has ended.
                crate::common::wait_until("the sessions have ended", || {
                    postgres.sql("SELECT COUNT(*) FROM pg_stat_activity WHERE datname = 'pgbench_counts'").trim() == "1"
                });
                counted(&postgres)
            });
            assert_eq!(counts[0], counts[1], "{script} {protocol}");
        }
    }
}

#[test]
fn each_runs_on_the_tables_of_the_other() {
    let mut desk = Desk::new();
    for (fills, runs) in [(PROGRAMS[0], PROGRAMS[1]), (PROGRAMS[1], PROGRAMS[0])] {
        let postgres = Postgres::fresh(&mut desk, "pgbench_tables");
        // A second time: what is there is dropped.
        good(fills, &desk, &postgres, &["-i", "-s", "2", "--foreign-keys", "-F", "90"]);
        good(fills, &desk, &postgres, &["-i", "-s", "2", "--foreign-keys", "-F", "90"]);
        let shape = "SELECT table_name, column_name, data_type, character_maximum_length, is_nullable FROM information_schema.columns \
                     WHERE table_name LIKE 'pgbench%' ORDER BY 1, ordinal_position";
        let rows = "SELECT COUNT(*), MIN(aid), MAX(aid), SUM(bid), SUM(abalance), MAX(LENGTH(filler)) FROM pgbench_accounts";
        assert_eq!(postgres.sql(rows).trim(), "200000\t1\t200000\t300000\t0\t0");
        assert_eq!(postgres.sql("SELECT COUNT(*), SUM(bid), COUNT(filler) FROM pgbench_tellers").trim(), "20\t30\t0");
        assert_eq!(postgres.sql(shape).lines().count(), 17, "{}", postgres.sql(shape));
        assert_eq!(postgres.sql("SELECT COUNT(*) FROM pg_constraint WHERE contype = 'f'").trim(), "5");
        assert!(postgres.sql("SELECT reloptions FROM pg_class WHERE relname = 'pgbench_accounts'").contains("fillfactor=90"));
        let out = good(runs, &desk, &postgres, &["-t", "20", "-c", "4", "-j", "2", "-P", "1"]);
        for line in
            ["scaling factor: 2\n", "number of clients: 4\n", "number of threads: 2\n", "processed: 80/80\n", "latency stddev = "]
        {
            assert!(out.contains(line), "{line}: {out}");
        }
        let sums = "SELECT (SELECT SUM(abalance) FROM pgbench_accounts), (SELECT SUM(tbalance) FROM pgbench_tellers), \
                    (SELECT SUM(bbalance) FROM pgbench_branches), (SELECT SUM(delta) FROM pgbench_history)";
        let sums = postgres.sql(sums);
        let first = sums.trim().split('\t').next().unwrap();
        assert!(sums.trim().split('\t').all(|sum| sum == first), "{sums}");
    }
}

/// The lines of the summary have the words of pgbench's, in its order.
#[test]
fn the_summary_has_the_lines_of_pgbench() {
    let mut desk = Desk::new();
    let postgres = Postgres::fresh(&mut desk, "pgbench_summary");
    good(theirs, &desk, &postgres, &["-i", "-q"]);
    let lines = |text: &str| {
        let plain = |line: &str| line.split(|c: char| c.is_ascii_digit()).next().unwrap_or_default().trim_end().to_owned();
        text.lines().skip(1).map(plain).collect::<Vec<_>>()
    };
    for words in [
        &["-n", "-t", "20"][..],
        &["-n", "-T", "1", "-S", "-c", "2", "-M", "prepared"],
        &["-n", "-t", "20", "-N", "-M", "extended"],
        &["-n", "-t", "20", "-b", "tpcb-like@2", "-b", "select-only@1", "-P", "5"],
        &["-n", "-t", "20", "-L", "1000", "--max-tries=2", "-N"],
        &["-n", "-t", "20", "--failures-detailed"],
        &["-n", "-T", "1", "-R", "50", "-S"],
    ] {
        let [ours, theirs] = PROGRAMS.map(|program| lines(&good(program, &desk, &postgres, words)));
        assert_eq!(ours, theirs, "{words:?}");
    }
}

/// A script, the words of its command line, how it ends, and what each program says of it.
const SCRIPTS: &[(&str, &[&str], i32, &str)] = &[
    (
        "\\set id random(1, :scale * 100000)\nBEGIN;\nSELECT abalance FROM pgbench_accounts WHERE aid = :id;\nCOMMIT;\n",
        &[],
        0,
        "processed: 3/3",
    ),
    ("\\set n 2\nSELECT :n::int + :scale::int * :client_id::int;\n", &["-Mprepared"], 0, "processed: 3/3"),
    ("CREATE TYPE pg_temp.mood AS ENUM ('a', 'b'); DROP TYPE pg_temp.mood;", &["-Mprepared"], 0, "processed: 3/3"),
    ("SELECT 3 AS a, 4 AS b \\gset x_\n\\set sum debug(:x_a + :x_b)\n", &[], 0, "command=2): int 7"),
    ("SELECT 8 AS i UNION SELECT 9 ORDER BY 1 \\aset\n\\set i debug(:i)\n", &[], 0, "command=2): int 9"),
    ("\\; SELECT 6 AS i \\; SELECT 7 AS j \\; \\aset\n\\set i debug(:i * :j)\n", &[], 0, "command=2): int 42"),
    ("SELECT 1 AS i UNION SELECT 2 \\gset\n", &[], 2, "expected one row, got 2"),
    ("SELECT 1 AS i WHERE FALSE \\gset\n", &[], 2, "expected one row, got 0"),
    ("SELECT 1 AS \"no name!\" \\gset\n", &[], 2, "error storing into variable no name!"),
    (
        "\\if 1 > 0\n\\set a debug(65)\n\\elif 1\n\\set a debug(0)\n\\else\n\\set a debug(1)\n\\endif\n",
        &[],
        0,
        "command=2): int 65",
    ),
    ("\\set h debug(hash(10, 5432))\n\\set f debug(hash_fnv1a(10, 5432))\n", &[], 0, "command=1): int -5817877081768721676"),
    ("\\set t debug(case when :zero = 0 or 1 / :zero < 0 then 1e30 else 0 end)\n", &["-Dzero=0"], 0, "command=1): double 1e+30"),
    ("\\sleep :ms ms\n\\sleep 100 us\nSELECT 1;\n", &["-Dms=1"], 0, "processed: 3/3"),
    ("\\set i 1 / 0\n", &[], 2, "division by zero"),
    ("\\set i :nosuch\n", &[], 2, "undefined variable \"nosuch\""),
    ("\\set i :foo + 1\n", &["-Dfoo=bla"], 2, "malformed variable \"foo\" value: \"bla\""),
    ("\\set i TRUE + 2\n", &[], 2, "cannot coerce boolean to int"),
    ("\\set i (1 << 62) + (1 << 62)\n", &[], 2, "int add out of range"),
    ("\\set i random(5, 3)\n", &[], 2, "empty range given to random"),
    ("\\set i 1 +\n", &[], 1, "syntax error"),
    ("\\set i noSuch()\n", &[], 1, "unexpected function name"),
    ("\\set i ln(1, 2)\n", &[], 1, "unexpected number of arguments"),
    ("\\nosuchcommand\n", &[], 1, "invalid command"),
    ("\\sleep 1 week\n", &[], 1, "unrecognized time unit"),
    ("\\gset\n", &[], 1, "gset must follow an SQL command"),
    ("", &[], 1, "empty command list for script"),
    ("SELECT 1 + ;\n", &[], 2, "syntax error"),
    ("BEGIN;\nSELECT 1;\n", &[], 2, "end of script reached without completing the last transaction"),
];

#[test]
fn scripts_end_as_in_pgbench() {
    let mut desk = Desk::new();
    let postgres = Postgres::fresh(&mut desk, "pgbench_scripts");
    good(theirs, &desk, &postgres, &["-i", "-q"]);
    for (script, words, code, said) in SCRIPTS {
        desk.write("a.sql", script);
        for program in PROGRAMS {
            let ended = program(&desk, &postgres, &[&["-n", "-t", "3", "-f", "a.sql"], *words].concat());
            let all = format!("{}{}", ended.out, ended.err);
            assert!(ended.code == Some(*code) && all.contains(said), "{script}: {ended:#?}");
        }
    }
}

/// Two sessions update the same row: the one that fails is tried again, or counts as failed.
#[test]
fn transactions_have_as_many_attempts_as_asked() {
    let mut desk = Desk::new();
    let postgres = Postgres::fresh(&mut desk, "pgbench_tries");
    postgres.sql("CREATE TABLE one (id int, n int)");
    postgres.sql("INSERT INTO one VALUES (1, 0)");
    desk.write(
        "a.sql",
        "BEGIN ISOLATION LEVEL REPEATABLE READ;\nSELECT n FROM one;\n\\sleep 2 ms\nUPDATE one SET n = n + 1;\nEND;\n",
    );
    let number = |text: &str, before: &str| -> u64 {
        let rest = text.split(before).nth(1).unwrap_or_else(|| panic!("{before}: {text}"));
        rest.trim_start().split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap()
    };
    for program in PROGRAMS {
        postgres.sql("UPDATE one SET n = 0");
        let words = ["-n", "-c", "4", "-j", "2", "-t", "25", "-f", "a.sql"];
        let out = good(program, &desk, &postgres, &words);
        let (done, failed) = (number(&out, "actually processed:"), number(&out, "failed transactions:"));
        assert!(failed > 0 && done + failed == 100, "{out}");
        assert_eq!(postgres.sql("SELECT n FROM one").trim(), done.to_string());
        let out = good(program, &desk, &postgres, &[&words[..], &["--max-tries=1000"]].concat());
        assert!(number(&out, "actually processed:") == 100 && number(&out, "number of retries:") > 0, "{out}");
    }
}

#[test]
fn without_a_server_or_tables_it_says_what_to_do() {
    let mut desk = Desk::new();
    let postgres = Postgres::fresh(&mut desk, "pgbench_bare");
    for program in PROGRAMS {
        let ended = program(&desk, &postgres, &["-n"]);
        assert!(ended.code == Some(1) && ended.err.contains("Perhaps you need to do initialization"), "{ended:#?}");
        let away = Postgres { database: "no_such_database".to_owned(), ..postgres.clone() };
        let ended = program(&desk, &away, &["-n"]);
        assert!(ended.code == Some(1) && ended.err.contains("database \"no_such_database\" does not exist"), "{ended:#?}");
    }
}

/// Records are kept where the user asks for them, and are a study like any other.
#[test]
fn a_record_is_kept_where_it_is_asked_for() {
    let mut desk = Desk::new();
    let postgres = Postgres::fresh(&mut desk, "pgbench_records");
    good(ours, &desk, &postgres, &["-i"]);
    desk.write("mine.sql", "\\set id random(1, 100000)\nSELECT abalance FROM pgbench_accounts WHERE aid = :id;\n");
    for _ in 0..2 {
        good(ours, &desk, &postgres, &["-n", "-t", "50", "-f", "mine.sql", "--results", "kept", "--contender", "pg"]);
    }
    assert!(!desk.path("state").exists());
    let folder = std::fs::read_dir(desk.path("kept")).unwrap().next().unwrap().unwrap().path();
    let records = desk.records(&format!("kept/{}", folder.file_name().unwrap().to_string_lossy()));
    assert_eq!(records.iter().map(|r| r.measured.transactions["mine.sql"].committed).collect::<Vec<_>>(), [50, 50]);
    assert_eq!(records[0].measured.statements.select, 50);
    desk.good(&["compare", folder.to_str().unwrap()]);
}
