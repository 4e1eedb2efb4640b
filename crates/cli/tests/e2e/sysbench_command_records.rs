//! `perbuck sysbench`: its records, its passwords, SQLite, and what it says of words that are wrong.

use std::process::Stdio;
use std::sync::mpsc::channel;

use crate::common::maria::Maria;
use crate::common::{Desk, Ended, ended, files, wait_until};

const LINE: [&str; 6] = ["sysbench", "--db-driver=sqlite", "--tables=2", "--table-size=500", "oltp_read_write", "--time=1"];

/// Occurs nowhere by chance.
const SECRET: &str = "pl0ugh'share%41&x=y";

fn on_sqlite(desk: &Desk, words: &[&str]) -> Ended {
    desk.perbuck(&[&LINE[..], words].concat())
}

fn good(ended: Ended) -> Ended {
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    ended
}

/// The results folder of the only study below `results`.
fn study(desk: &Desk, results: &str) -> String {
    let folders: Vec<_> = std::fs::read_dir(desk.path(results)).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(folders.len(), 1, "{folders:?}");
    format!("{results}/{}", folders[0].to_string_lossy())
}

#[test]
fn sqlite_is_prepared_run_and_cleaned_up() {
    let desk = Desk::new();
    let prepared = good(on_sqlite(&desk, &["prepare"]));
    for line in
        ["Creating table 'sbtest2'...", "Inserting 500 records into 'sbtest1'", "Creating a secondary index on 'sbtest2'..."]
    {
        assert!(prepared.out.contains(line), "{prepared:#?}");
    }
    let rerun = on_sqlite(&desk, &["prepare"]);
    assert!(rerun.code == Some(1) && rerun.out.contains("FATAL: Table 'sbtest1' already exists"), "{rerun:#?}");
    good(on_sqlite(&desk, &["prewarm"]));
    let ran = good(on_sqlite(&desk, &["--threads=2", "run"]));
    assert!(ran.out.contains("    transactions: ") && ran.err.contains("/state/perbuck/sysbench/oltp_read_write-2-"), "{ran:#?}");
    good(on_sqlite(&desk, &["cleanup"]));
    let gone = on_sqlite(&desk, &["run"]);
    assert!(gone.code == Some(1) && gone.err.contains("prepare makes the tables"), "{gone:#?}");
    let database = rusqlite::Connection::open(desk.path("sbtest.db")).unwrap();
    let tables: u32 = database
        .query_row("SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'", [], |r| r.get(0))
        .unwrap();
    assert_eq!(tables, 0, "not even a note of ours");
}

#[test]
fn runs_of_one_command_line_are_trials_of_one_study_and_databases_its_contenders() {
    let desk = Desk::new();
    for database in ["a.db", "b.db?synchronous=OFF"] {
        let database = format!("--sqlite-db={database}");
        good(on_sqlite(&desk, &[&database, "prepare"]));
        for seed in ["--rand-seed=1", "--rand-seed=2", "--rand-seed=0"] {
            good(on_sqlite(&desk, &[&database, seed, "run"]));
        }
    }
    let root = study(&desk, "state/perbuck/sysbench");
    let records = desk.records(&root);
    let names: Vec<(&str, u32)> = records.iter().map(|r| (r.key.contender.as_str(), r.key.trial)).collect();
    assert_eq!(names, [("a", 1), ("a", 2), ("a", 3), ("b", 1), ("b", 2), ("b", 3)]);
    assert!(records.iter().all(|r| r.measured.transactions["oltp_read_write"].committed > 0));
    let compared = desk.good(&["compare", &root]);
    assert!(compared.out.contains("oltp_read_write") && compared.out.contains("TPS"), "{compared:#?}");
    desk.good(&["report", &root]);
    let report = desk.read(&format!("{root}/report.md"));
    for part in ["started one by one", "up to 3 times", "a measured window of 1 s"] {
        assert!(report.contains(part), "{part}: {report}");
    }
    assert!(!report.contains("Rows of each table"), "nobody counted them: {report}");
    // Other parameters are another study; the same one under another name is another contender.
    good(on_sqlite(&desk, &["--sqlite-db=a.db", "--threads=2", "run"]));
    assert_eq!(std::fs::read_dir(desk.path("state/perbuck/sysbench")).unwrap().count(), 2);
    good(on_sqlite(&desk, &["--sqlite-db=a.db", "--contender=mine", "run"]));
    assert!(desk.path(&format!("{root}/mine/oltp_read_write/c00001/001.json")).exists());
    let taken = on_sqlite(&desk, &["--sqlite-db=b.db", "--contender=a", "run"]);
    assert!(taken.code == Some(1) && taken.out.contains("contender `a` is sqlite:a.db"), "{taken:#?}");
    assert!(!taken.out.contains("Threads started"), "said before the run: {taken:#?}");
    // Records of two files of the same name keep their own.
    good(on_sqlite(&desk, &["--sqlite-db=a.db?synchronous=OFF", "run"]));
    assert!(desk.path(&format!("{root}/a-2")).exists());
}

#[test]
fn a_run_that_is_limited_by_its_transactions_is_reported_as_such() {
    let desk = Desk::new();
    good(on_sqlite(&desk, &["prepare"]));
    let ran = good(on_sqlite(&desk, &["--time=0", "--events=30", "--output=json", "--results=here", "run"]));
    let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(json["summary"]["transactions"].as_u64(), Some(30), "{ran:#?}");
    let root = study(&desk, "here");
    let record = &desk.records(&root)[0];
    assert_eq!(record.measured.transactions["oltp_read_write"].committed, 30);
    assert_eq!(record.load.duration_ns, record.measured.window_ns);
    desk.good(&["report", &root]);
    assert!(desk.read(&format!("{root}/report.md")).contains("a measured window of 30 transactions"));
}

#[test]
fn data_of_a_study_are_no_longer_fresh_after_a_run() {
    let desk = Desk::new();
    let quick = [("[1, 2]", "[1]"), ("trials = 2", "trials = 1"), ("\"200ms\"", "\"1s\"")];
    let study = crate::common::edited(&quick).replace("kind = \"sysbench\"", "kind = \"sysbench\"\nreset = \"per-block\"");
    desk.write("study.toml", &study);
    desk.good(&["prepare", "study.toml"]);
    let line = ["sysbench", "--db-driver=sqlite", "--sqlite-db=full.db", "--table-size=1000", "--events=5", "oltp_read_write"];
    good(desk.perbuck(&[&line[..], &["run"]].concat()));
    desk.good(&["run", "study.toml"]);
    let records = desk.records("results/small");
    let data: Vec<(&str, &str)> = records.iter().map(|r| (r.key.contender.as_str(), r.workload.data.as_str())).collect();
    assert_eq!(data, [("full", "reloaded"), ("off", "kept")]);
    good(desk.perbuck(&[&line[..], &["cleanup"]].concat()));
    good(desk.perbuck(&[&line[..], &["prepare"]].concat()));
}

#[test]
fn a_run_without_any_limit_ends_when_somebody_asks() {
    let desk = Desk::new();
    good(on_sqlite(&desk, &["prepare"]));
    let mut command = desk.command(&[&LINE[..], &["--time=0", "--report-interval=1", "run"]].concat());
    let log = std::fs::File::create(desk.path("log")).unwrap();
    let mut child = command.stdin(Stdio::null()).stdout(log).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("a second is over", || desk.read("log").contains("[ 1s ] thds: 1"));
    crate::common::signal(&child, "INT");
    wait_until("it has ended", || child.try_wait().unwrap().is_some());
    let stopped = ended(child.wait_with_output().unwrap());
    assert_eq!(stopped.code, Some(130), "{}", desk.read("log"));
    assert!(stopped.err.contains("nothing of this run is kept") && !stopped.err.contains("trial"), "{stopped:#?}");
    assert!(!desk.path("state").exists(), "half a run is no run");
}

#[test]
fn no_record_is_kept_where_none_is_wanted_and_its_loss_is_said() {
    let desk = Desk::new();
    good(on_sqlite(&desk, &["prepare"]));
    let ran = good(on_sqlite(&desk, &["--no-record", "run"]));
    assert!(!desk.path("state").exists() && !ran.err.contains("record:"), "{ran:#?}");
    // A file stands where the folder should be.
    desk.write("state", "");
    let ran = good(on_sqlite(&desk, &["run"]));
    assert!(ran.out.contains("Threads fairness:") && ran.err.contains("no record of this run was kept"), "{ran:#?}");
    let asked = on_sqlite(&desk, &["--results=state/x", "run"]);
    assert!(asked.code == Some(1) && asked.err.contains("help:"), "{asked:#?}");
}

#[test]
fn wrong_words_are_named_with_the_way_out_and_nothing_is_done() {
    let desk = Desk::new();
    for (words, parts) in [
        (&["--threads=0", "run"][..], &["Invalid value for --threads: 0", "give at least 1"][..]),
        (&["--thread=4", "run"], &["invalid option: --thread", "did you mean --threads?"]),
        (&["--oltp-table-size=4", "run"], &["invalid option", "did you mean --table-size?"]),
        (&["--table-size=3000000000", "run"], &["3000000000", "2147483647"]),
        (&["--table-size=10K", "run"], &["'10K'", "without a unit"]),
        (&["--config-file=nowhere", "run"], &["nowhere", "--config-file"]),
        (&["--contender=a/b", "run"], &["--contender=a/b", "letters, digits"]),
        (&["dance"], &["Unknown command: dance", "use one of prepare"]),
        (&["runn"], &["Unknown command: runn", "did you mean run?"]),
        (&["--sqlite-db=:memory:", "run"], &["in memory", "/dev/shm"]),
    ] {
        let ended = on_sqlite(&desk, words);
        assert_eq!(ended.code, Some(1), "{words:?}: {ended:#?}");
        let said = format!("{}{}", ended.out, ended.err);
        assert!(parts.iter().all(|p| said.contains(p)) && ended.err.contains("help: "), "{words:?}: {ended:#?}");
    }
    let mut found = Vec::new();
    files(&desk.path("."), &mut found);
    assert!(found.is_empty(), "{found:?}");
    for script in ["cpu", "./mine.lua", "oltp_read_wrong", "-"] {
        let ended = desk.perbuck(&["sysbench", script, "run"]);
        assert!(ended.code == Some(1) && ended.err.contains("help: "), "{ended:#?}");
    }
}

#[test]
fn the_help_lists_what_there_is() {
    let desk = Desk::new();
    let general = desk.good(&["sysbench", "--help"]).out;
    for option in ["--threads=N", "--mysql-host=[LIST,...]", "--percentile=", "--output=STRING", "oltp_update_non_index"] {
        assert!(general.contains(option), "{option}: {general}");
    }
    let script = desk.good(&["sysbench", "select_random_points", "help"]).out;
    assert!(script.contains("--random_points=N") && script.contains("[10]"), "{script}");
    assert!(desk.good(&["sysbench", "--version"]).out.contains("1.0.20"));
    assert!(desk.good(&["help", "sysbench"]).out.contains("perbuck sysbench --help"));
}

#[test]
fn a_password_on_the_command_line_is_taken_off_it_and_kept_nowhere() {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "sbc_secret");
    maria.sql("CREATE USER IF NOT EXISTS 'sbc_secret'@'%' IDENTIFIED BY 'x'; GRANT ALL ON sbc_secret.* TO 'sbc_secret'@'%'");
    maria.sql(&format!("ALTER USER 'sbc_secret'@'%' IDENTIFIED BY '{}'", SECRET.replace('\'', "''")));
    let address = [format!("--mysql-host={}", maria.host), format!("--mysql-port={}", maria.port)];
    let password = format!("--mysql-password={SECRET}");
    let words = |rest: &'static [&'static str]| {
        let fixed = ["sysbench", &address[0], &address[1], "--mysql-user=sbc_secret", "--mysql-db=sbc_secret"];
        let all: Vec<String> = fixed.iter().chain(rest).map(|w| (*w).to_owned()).collect();
        all
    };
    let run = |words: &[String]| desk.perbuck(&words.iter().map(String::as_str).collect::<Vec<_>>());
    let with = |rest: &'static [&'static str]| [words(rest), vec![password.clone()]].concat();
    good(run(&with(&["oltp_point_select", "--table-size=100", "prepare"])));
    // Looked at while it runs.
    let line = with(&["oltp_point_select", "--table-size=100", "--time=30", "--report-interval=1", "run"]);
    let mut started = desk.command(&line.iter().map(String::as_str).collect::<Vec<_>>());
    let mut child = started.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let running = || maria.sql("SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'sbc_secret'").trim() != "0";
    wait_until("perbuck is connected", running);
    let shown = std::fs::read(format!("/proc/{}/cmdline", child.id())).unwrap();
    let shown = String::from_utf8_lossy(&shown);
    assert!(shown.contains("sysbench\0") && shown.contains("--time=30") && !shown.contains("pl0ugh"), "{shown}");
    crate::common::signal(&child, "INT");
    let (tell, told) = channel();
    let out = child.stdout.take().unwrap();
    std::thread::spawn(move || tell.send(std::io::read_to_string(out)));
    let stopped = ended(child.wait_with_output().unwrap());
    assert_eq!(stopped.code, Some(130), "{stopped:#?}");
    let ran = good(run(&with(&["oltp_point_select", "--table-size=100", "--time=1", "run"])));
    assert_eq!(ran.err.matches("the password stood on the command line").count(), 1, "{ran:#?}");
    // A password that is wrong is named as little as one that is right.
    let wrong = run(&[words(&["oltp_point_select", "run"]), vec![format!("--mysql-password={SECRET}x")]].concat());
    assert!(
        wrong.code == Some(1) && wrong.out.contains("error 1045") && wrong.err.contains("PERBUCK_SYSBENCH_PASSWORD"),
        "{wrong:#?}"
    );
    for slip in [["--mysql-pasword=", SECRET].concat(), ["--password=", SECRET].concat()] {
        let ended = run(&[words(&["oltp_point_select", "run"]), vec![slip]].concat());
        assert!(ended.code == Some(1) && !format!("{ended:?}").contains("pl0ugh"), "{ended:#?}");
    }
    let said = told.recv().unwrap().unwrap();
    let mut found = Vec::new();
    files(&desk.path("."), &mut found);
    assert!(found.iter().any(|p| p.extension().is_some_and(|e| e == "json")), "{found:?}");
    for path in found {
        let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
        assert!(!text.contains("pl0ugh"), "{} holds the password", path.display());
    }
    for text in [format!("{stopped:?}"), format!("{ran:?}"), format!("{wrong:?}"), said] {
        assert!(!text.contains("pl0ugh"), "{text}");
    }
}

#[test]
fn a_password_comes_from_a_file_a_variable_or_an_option_file() {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "sbc_keys");
    desk.write("key", &format!("{}\n", maria.password));
    desk.write("options.cnf", &format!("mysql-password={}\n", maria.password));
    let (host, port) = (format!("--mysql-host={}", maria.host), format!("--mysql-port={}", maria.port));
    let line = ["sysbench", &host, &port, "--mysql-user=root", "--mysql-db=sbc_keys", "oltp_read_only", "cleanup"];
    assert_eq!(desk.perbuck(&line).code, Some(1));
    for word in ["--password-file=key", "--config-file=options.cnf"] {
        let ended = good(desk.perbuck(&[&line[..], &[word]].concat()));
        assert!(!ended.err.contains("command line"), "{ended:#?}");
    }
    for variable in ["PERBUCK_SYSBENCH_PASSWORD", "MYSQL_PWD"] {
        let mut command = desk.command(&line);
        good(ended(command.env(variable, &maria.password).output().unwrap()));
    }
}

#[test]
fn a_lost_connection_ends_the_run_unless_it_is_listed() {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "sbc_lost");
    desk.set("MYSQL_PWD", &maria.password);
    let (host, port) = (format!("--mysql-host={}", maria.host), format!("--mysql-port={}", maria.port));
    let line = |rest: &[&'static str]| {
        let fixed = ["sysbench", &host, &port, "--mysql-user=root", "--mysql-db=sbc_lost", "oltp_point_select", "--threads=4"];
        fixed.iter().chain(rest).map(|w| (*w).to_owned()).collect::<Vec<String>>()
    };
    let start = |words: &[String]| {
        let mut command = desk.command(&words.iter().map(String::as_str).collect::<Vec<_>>());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    good(ended(start(&line(&["--table-size=100", "prepare"])).wait_with_output().unwrap()));
    let kill_one = |time: &'static str, listed: &'static str| {
        let child = start(&line(&["--table-size=100", time, listed, "run"]));
        let mine = "FROM information_schema.processlist WHERE db = 'sbc_lost' AND id <> CONNECTION_ID()";
        // One more reads the metrics of the server, and rests most of the time.
        wait_until("all are connected", || maria.sql(&format!("SELECT COUNT(*) {mine}")).trim() == "5");
        let id = maria.sql(&format!("SELECT id {mine} ORDER BY time_ms LIMIT 1"));
        maria.sql(&format!("KILL {id}"));
        ended(child.wait_with_output().unwrap())
    };
    let ended = kill_one("--time=60", "--mysql-ignore-errors=1213");
    assert!(ended.code == Some(1) && ended.out.contains("FATAL: "), "{ended:#?}");
    let ended = good(kill_one("--time=3", "--mysql-ignore-errors=2013"));
    assert!(ended.out.contains("    reconnects:                          1 "), "{ended:#?}");
    assert!(ended.out.contains("    ignored errors:                      0 ") && ended.out.contains(" (lost): "), "{ended:#?}");
}
