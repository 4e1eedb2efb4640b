//! `perbuck tpch` beside go-tpc: its command lines work, what people parse its output with reads ours, and a wrong answer is a
//! failed query.

use std::collections::BTreeMap;
use std::process::Stdio;

use crate::common::maria::Maria;
use crate::common::postgres::Postgres;
use crate::common::side::Side;
use crate::common::{Desk, server, signal, wait_until};

/// Seconds by query of the lines of go-tpc with that prefix (682637f: `[Summary] Q1: 5.02s`).
fn seconds(out: &str, prefix: &str) -> BTreeMap<String, f64> {
    let line = |line: &str| {
        let (operation, seconds) = line.strip_prefix(prefix)?.split_once(": ")?;
        Some((operation.to_owned(), seconds.strip_suffix('s')?.parse().unwrap()))
    };
    out.lines().filter_map(line).collect()
}

fn names(out: &str) -> Vec<String> {
    seconds(out, "[Summary] ").into_keys().collect()
}

/// All 22 with the values of validation.
fn answers_are_right(side: &Side) {
    let ran = side.good(&["run", "--check", "--count=22", "--results=checked"]);
    assert_eq!((names(&ran.out).len(), ran.out.matches("right answers 1\n").count()), (22, 22), "{ran:#?}");
    let record = side.desk.records("checked").pop().unwrap();
    let checked: u64 = record.measured.transactions.values().filter_map(|t| t.facts.get("answers_checked")).sum();
    assert_eq!((checked, record.workload.metric.metric().name.as_ref(), record.load.model.as_str()), (22, "queries", "closed"));
}

#[test]
fn a_script_of_go_tpc_works_on_mariadb() {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "tpch_command");
    maria.sql("DROP DATABASE tpch_command");
    let address =
        ["-H", &maria.host, "-P", &maria.port, "-U", "root", "-p", &maria.password, "-D", "tpch_command", "--sf", "0.01"];
    let side = Side::of("tpch", desk, &address);
    side.refused(&["prepare", "--tiflash-replica", "1"], 2, &["--tiflash-replica is for TiDB", "remove --tiflash-replica"]);
    let prepared = side.good(&["prepare", "-T", "2", "--analyze", "--tidb_build_stats_concurrency=8"]);
    assert!(prepared.out.starts_with("creating table region\n") && prepared.out.ends_with("\nFinished\n"), "{prepared:#?}");
    assert_eq!(prepared.out.matches(" holds: ").count(), 20, "{prepared:#?}");
    assert!(prepared.err.contains("the password stood on the command line") && prepared.err.contains("--analyze: nothing to do"));
    let keys = "SELECT COUNT(DISTINCT index_name) FROM information_schema.statistics WHERE table_schema = DATABASE()";
    assert_eq!(maria.sql(keys).trim(), "1", "primary keys alone, as in go-tpc");
    side.refused(&["prepare"], 4, &["table region exists already", "--dropdata"]);
    side.refused(&["run", "--sf=1"], 4, &["which are those of SF 0.01, and --sf is 1", "give --sf 0.01"]);

    answers_are_right(&side);
    queries_run_in_the_order_of_go_tpc(&side, &maria);
    wrong_answers_and_errors(&side, &maria);
    let cleaned = side.good(&["cleanup"]);
    assert!(cleaned.out.starts_with("DROP TABLE IF EXISTS lineitem\n") && cleaned.out.ends_with("Finished\n"), "{cleaned:#?}");
    assert_eq!(maria.sql("SHOW TABLES"), "");
    side.refused(&["run", "--time=1s"], 1, &["perbuck tpch prepare makes the tables"]);
}

fn queries_run_in_the_order_of_go_tpc(side: &Side, maria: &Maria) {
    let words =
        ["run", "--queries=q6,q1,q14", "--time=2s", "--interval=1s", "--conn-params=sort_buffer_size=1048576&charset=utf8"];
    let ran = side.good(&words);
    assert_eq!((names(&ran.out), seconds(&ran.out, "[Current] ").len()), (["Q1", "Q14", "Q6"].map(str::to_owned).to_vec(), 3));
    let last = ran.out.split("\nFinished\n").nth(1).unwrap();
    assert!(last.lines().all(|line| line.starts_with("[Summary] Q")), "{ran:#?}");
    assert!(ran.out.contains("not a TPC result") && ran.out.contains("\nOther than go-tpc:\n"), "{ran:#?}");
    assert!(ran.err.contains("charset: nothing to do"), "{ran:#?}");
    let record = side.desk.records("state/perbuck/tpch").pop().unwrap();
    assert!(record.target.address.ends_with("?set.sort_buffer_size=1048576"), "{}", record.target.address);
    assert_eq!(record.target.variables["session sort_buffer_size"], "1048576");
    assert!(!record.to_json().unwrap().contains(&maria.password));
    assert_eq!((record.workload.parameters["substitution"].as_str(), record.health.gaps.len()), ("go-tpc", 0));
    // Each thread starts with another query: so many as there are threads are in flight first.
    for (threads, first) in [("1", &["Q6"][..]), ("2", &["Q1", "Q6"]), ("3", &["Q1", "Q14", "Q6"])] {
        let count = format!("--count={threads}");
        let ran = side.good(&["run", "--queries=q6,q1,q14", "-T", threads, &count, "--no-record"]);
        assert_eq!(names(&ran.out), first, "{ran:#?}");
    }
    let json = side.good(&["run", "--queries=q6,q1", "--count=6", "--output=json", "--check", "--no-record"]);
    let json: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!((json["right_answers"].as_u64(), json["summary"][0]["Count"].as_u64()), (Some(6), Some(3)));
    assert!(json["queries_per_hour"].as_f64().unwrap() > 0.0 && json["parameters"]["substitution"] == "validation");
}

fn wrong_answers_and_errors(side: &Side, maria: &Maria) {
    maria.sql("UPDATE lineitem SET l_extendedprice = l_extendedprice * 2 WHERE l_orderkey % 2 = 0");
    let wrong = ["run", "--queries=q6,q4", "--count=4", "--check", "--results=wrong"];
    let failed = side.refused(&wrong, 1, &["2 answers were wrong, as in: the answer of Q6 with DATE = 1994-01-01", "--dropdata"]);
    assert_eq!(names(&failed.out), ["Q4", "Q6_ERR"], "{failed:#?}");
    assert!(failed.out.contains("    client wrong answer (failed):"), "{failed:#?}");
    assert_eq!(side.desk.records("wrong")[0].measured.transactions["Q6"].failed, 2);
    side.refused(&[&wrong[..], &["--ignore-error"]].concat(), 1, &["2 answers were wrong"]);
    // Without --check nothing is known to be wrong.
    side.good(&["run", "--queries=q6,q4", "--count=2", "--no-record"]);

    maria.sql("ALTER TABLE region RENAME TO region_");
    let ended = side.refused(&["run", "--queries=q6,q2", "--count=4"], 1, &["an error ended the run", "(mysql 1146)"]);
    assert_eq!(ended.out, "");
    let counted = side.good(&["run", "--queries=q6,q2", "--count=4", "--ignore-error", "--no-record"]);
    assert_eq!(names(&counted.out), ["Q2_ERR", "Q6"], "{counted:#?}");
    maria.sql("ALTER TABLE region_ RENAME TO region");
}

#[test]
fn a_script_of_go_tpc_works_on_postgres() {
    let mut desk = Desk::new();
    let postgres = Postgres::fresh(&mut desk, "tpch_command");
    desk.set("PGPASSWORD", &postgres.password);
    let address = ["-d", "postgres", "-H", "127.0.0.1", "-P", &postgres.port, "-U", "perbuck", "-D", "tpch_command"];
    let rest = ["--conn-params", "sslmode=disable&work_mem=65536", "--sf=0.01"];
    let side = Side::of("tpch", desk, &[&address[..], &rest].concat());
    let prepared = side.good(&["prepare", "-T4", "--dropdata"]);
    assert!(prepared.err.contains("--conn-params: variables are set in the sessions of a run"), "{prepared:#?}");
    answers_are_right(&side);
    assert_eq!(side.desk.records("checked")[0].target.variables["session work_mem"], "64MB");
    side.good(&["cleanup"]);
    assert_eq!(postgres.sql("SELECT COUNT(*) FROM pg_tables WHERE schemaname = 'public'").trim(), "0");
}

#[test]
fn duckdb_gives_right_answers() {
    // Without the library each command would fail, and say so less clearly.
    server("PERBUCK_DUCKDB_LIBRARY");
    let side = Side::of("tpch", Desk::new(), &["--target=duckdb:t.duckdb", "--sf=0.01"]);
    side.good(&["prepare"]);
    answers_are_right(&side);
}

#[test]
fn sqlite_gives_right_answers_and_compare_and_report_read_the_records() {
    let side = Side::of("tpch", Desk::new(), &["--target=sqlite:t.db", "--sf=0.01"]);
    side.good(&["prepare"]);
    answers_are_right(&side);
    let words = ["run", "-T2", "--queries=q1,q6", "--time=1s", "--output=table"];
    let ran = side.good(&words);
    assert!(
        ran.out.contains("\n|   PREFIX   | OPERATION | AVG(S) |\n") && ran.out.contains("| [Summary]  | Q6        | "),
        "{ran:#?}"
    );
    side.good(&words);
    let record = ran.err.lines().find_map(|l| l.strip_prefix("record: ")).unwrap();
    let folder = record.split("/t/").next().unwrap();
    assert!(side.desk.read(&format!("{folder}/t/tpch/c00002/002.json")).contains("\"trial\": 2"));
    let compared = side.desk.good(&["compare", folder]);
    assert!(compared.out.contains(" queries/h") && !compared.err.contains("service was away"), "{compared:#?}");
    side.desk.good(&["report", folder]);
    let report = side.desk.read(&format!("{folder}/report.md"));
    for part in ["| Q6 | 2 |", "queries of TPC-H per hour", "repeated chosen queries", "the parameters of go-tpc"] {
        assert!(report.contains(part), "{part}: {report}");
    }
    assert!(!report.contains("without a stall"), "{report}");
    side.desk.good(&["verify", folder]);

    // A refresh by a study leaves other data, to which the right answers are not known.
    let study = "schema = 1\nname = \"s\"\n[[contender]]\nname = \"t\"\ntarget = \"sqlite:t.db\"\n[[workload]]\nname = \"w\"\nkind = \"tpch\"\nscale = 0.01\nindexes = false\n[sweep]\nstreams = [1]\ntrials = 1\n";
    side.desk.write("s.toml", study);
    side.good(&["cleanup"]);
    side.desk.good(&["run", "s.toml"]);
    side.refused(
        &["run", "--check", "--count=1"],
        1,
        &["ran 2 times on the data", "perbuck tpch prepare --dropdata loads them again"],
    );

    // Ctrl-C is the way to end a run that has no end.
    let mut command = side.desk.command(&["tpch"]);
    command.args(["run", "--queries=q6", "--interval=1s", "--no-record"]).args(&side.address);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut out, &mut line).unwrap();
    assert!(line.starts_with("[Current] Q6: "), "{line}");
    signal(&child, "INT");
    std::io::Read::read_to_string(&mut out, &mut line).unwrap();
    wait_until("it has ended", || child.try_wait().unwrap().is_some());
    assert!(child.wait().unwrap().code() == Some(0) && names(&line) == ["Q6"], "{line}");
    side.good(&["cleanup"]);
}

#[test]
fn wrong_words_are_named_with_the_way_out_and_nothing_is_done() {
    let desk = Desk::new();
    for (words, code, parts) in [
        (&["run", "--queries=q23"][..], 2, &["--queries holds \"q23\"", "q1,q6"][..]),
        (&["run", "--sf=0"], 2, &["--sf", "0.01"]),
        (&["run", "--sf=ten"], 2, &["\"ten\" for \"--sf\" flag", "such as 1 or 0.1"]),
        (&["run", "--check", "--sf=10"], 2, &["the right answers are not known at --sf 10", "--sf 1 or --sf 0.01"]),
        (&["run", "--query=q1"], 2, &["unknown flag: --query", "perbuck tpch --help lists the options"]),
        (&["run", "--use-explain"], 2, &["--use-explain: perbuck tpch keeps no plans", "EXPLAIN ANALYZE"]),
        (&["run", "--use-plan-replayer"], 2, &["--use-plan-replayer: ", "PLAN REPLAYER DUMP"]),
        (&["run", "--tiflash-replica=1"], 2, &["unknown flag: --tiflash-replica", "an option of prepare"]),
        (&["run", "--time=60"], 2, &["\"60\" for \"--time\" flag", "10s"]),
        (&["prepare", "--output-type=csv"], 2, &["without --output-dir"]),
        (
            &["prepare", "--output-type=csv", "--output-dir=x", "--target=sqlite:t.db"],
            2,
            &["no CSV files for SQLite", "-d mysql"],
        ),
        (&["prepare", "--ssl-cert=c"], 2, &["--ssl-cert: client certificates"]),
        (&["check"], 2, &["unknown command \"check\"", "prepare, run or cleanup"]),
        (&[], 2, &["no command is given"]),
        (&["run", "-P", "1", "--time=1s"], 3, &["unable to connect", "host and port"]),
        (&["cleanup", "--target=sqlite:none/t.db"], 3, &["none/t.db"]),
    ] {
        let ended = desk.perbuck(&[&["tpch"], words].concat());
        assert_eq!((ended.code, ended.out.as_str()), (Some(code), ""), "{words:?}: {ended:#?}");
        assert!(parts.iter().all(|p| ended.err.contains(p)), "{words:?}: {ended:#?}");
    }
    let mut left = Vec::new();
    crate::common::files(&desk.path("."), &mut left);
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn rows_are_written_as_files_without_a_database() {
    let desk = Desk::new();
    let ended = desk.good(&["tpch", "prepare", "--sf=0.01", "-T2", "-D", "shop", "--output-type=csv", "--output-dir=rows"]);
    assert!(ended.out.ends_with("\nFinished\n") && ended.out.contains("60,175 rows"), "{ended:#?}");
    let mut files = Vec::new();
    crate::common::files(&desk.path("rows"), &mut files);
    let of = files.iter().filter(|f| f.to_string_lossy().contains("/shop.lineitem."));
    let rows: usize = of.map(|f| std::fs::read_to_string(f).unwrap().lines().count()).sum();
    assert_eq!(rows, 60_175, "{files:?}");
}
