//! Pipelines beside those of the real pgbench: what the server is sent, what it counts, and how scripts end.

use super::extended::{Sent, eavesdrop, extended};
use super::output::{commands, of_command};
use super::*;

const SCRIPT: &str = "\\set id random(1, 100)\n\\set d 5\n\\startpipeline\nBEGIN;\nSELECT abalance FROM pgbench_accounts WHERE aid = 7;\n\
                      \\if :d > 4\nUPDATE pgbench_accounts SET abalance = abalance + :d WHERE aid = 7;\n\\endif\n\
                      INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (1, 1, 7, :d, '2026-01-01');\nEND;\n\\endpipeline\n\
                      SELECT 1;\n";

/// What the session that applied the load sent.
fn sent_by(program: Program, desk: &Desk, postgres: &Postgres, words: &[&str]) -> Vec<(char, Vec<u8>)> {
    let sent = Sent::default();
    let tapped = Postgres { port: eavesdrop(&postgres.port, &sent), ..postgres.clone() };
    good(program, desk, &tapped, words);
    let all = sent.lock().unwrap();
    let loads = all.iter().map(|sent| extended(sent)).filter(|messages| messages.iter().any(|(kind, _)| *kind == 'B'));
    let [load]: [_; 1] = loads.collect::<Vec<_>>().try_into().unwrap();
    load
}

#[test]
fn a_pipeline_is_sent_as_by_pgbench() {
    let mut desk = Desk::new();
    let postgres = Postgres::fresh(&mut desk, "pgbench_pipeline");
    good(theirs, &desk, &postgres, &["-i", "-q"]);
    desk.write("a.sql", SCRIPT);
    let words = |protocol| ["-n", "-t", "3", "-c", "1", "-M", protocol, "-f", "a.sql"];
    let [ours, theirs] = PROGRAMS.map(|program| sent_by(program, &desk, &postgres, &words("extended")));
    // Three transactions of five statements in a pipeline and one after it, which have a Sync each.
    assert_eq!((theirs.len(), theirs.iter().filter(|(kind, _)| *kind == 'S').count()), (3 * (6 * 4 + 2), 6));
    let shown = |(kind, body): &(char, Vec<u8>)| format!("{kind} {}", String::from_utf8_lossy(body).escape_debug());
    assert_eq!(ours.iter().map(shown).collect::<Vec<_>>(), theirs.iter().map(shown).collect::<Vec<_>>());
    // What is prepared is described once, and not at each execution.
    let kinds = |messages: Vec<(char, Vec<u8>)>| {
        let executed = messages.into_iter().map(|(kind, _)| kind).skip_while(|kind| *kind != 'B');
        executed.filter(|kind| *kind != 'D').collect::<String>()
    };
    let [ours, theirs] = PROGRAMS.map(|program| kinds(sent_by(program, &desk, &postgres, &words("prepared"))));
    assert!(ours.contains("BEBEBEBEBES") && ours.matches('S').count() >= 6, "{ours}");
    let executed = |kinds: &str| kinds.replace('P', "").replace("SS", "S");
    assert_eq!(executed(&ours), executed(&theirs));
}

#[test]
fn pipelines_count_as_those_of_pgbench() {
    let mut desk = Desk::new();
    desk.write("a.sql", SCRIPT);
    for protocol in ["-Mextended", "-Mprepared"] {
        let counts = PROGRAMS.map(|program| {
            let postgres = Postgres::fresh(&mut desk, "pgbench_pipelines");
            good(theirs, &desk, &postgres, &["-i", "-q"]);
            postgres.admin_sql("SELECT pg_stat_reset()");
            let out = good(program, &desk, &postgres, &["-n", "-t", "50", "-c", "2", "-j", "2", protocol, "-f", "a.sql"]);
            assert!(out.contains("number of transactions actually processed: 100/100\n"), "{out}");
            crate::common::wait_until("the sessions have ended", || {
                postgres.sql("SELECT COUNT(*) FROM pg_stat_activity WHERE datname = 'pgbench_pipelines'").trim() == "1"
            });
            assert_eq!(postgres.sql("SELECT abalance FROM pgbench_accounts WHERE aid = 7").trim(), "500");
            counted(&postgres)
        });
        assert_eq!(counts[0], counts[1], "{protocol}");
    }
}

/// A script with its protocol, how it ends, and what each program says of it.
const ENDS: &[(&str, &str, i32, &str)] = &[
    ("\\startpipeline\n\\endpipeline\n", "extended", 0, "processed: 3/3"),
    ("\\STARTPIPELINE\nSELECT 1;\n\\EndPipeline\n", "prepared", 0, "processed: 3/3"),
    ("\\startpipeline\nBEGIN ISOLATION LEVEL SERIALIZABLE;\nSELECT 1;\nEND;\n\\endpipeline\n", "prepared", 0, "processed: 3/3"),
    ("\\startpipeline\nBEGIN;\nSELECT 1;\n\\endpipeline\nSELECT 2;\nEND;\n", "prepared", 0, "processed: 3/3"),
    ("BEGIN;\n\\startpipeline\n\\set i debug(3)\n\\sleep 1 ms\nSELECT :i;\n\\endpipeline\nEND;\n", "extended", 0, "int 3"),
    ("\\startpipeline\nSELECT 1;\n\\endpipeline\nSELECT 2 AS i \\gset\n\\set i debug(:i)\n", "prepared", 0, "int 2"),
    ("\\startpipeline\nSELECT 1;\n\\endpipeline\n", "simple", 2, "cannot use pipeline mode with the simple query protocol"),
    ("\\startpipeline\nSELECT 1;\n\\startpipeline\n", "prepared", 2, "already in pipeline mode"),
    ("SELECT 1;\n\\endpipeline\n", "prepared", 2, "not in pipeline mode"),
    ("\\startpipeline\nSELECT 1;\n", "prepared", 2, "end of script reached with pipeline open"),
    ("\\startpipeline\nBEGIN;\n\\endpipeline\n", "prepared", 2, "end of script reached without completing the last transaction"),
    ("\\startpipeline\nSELECT 1 AS i \\gset\n\\endpipeline\n", "extended", 2, "\\gset is not allowed in pipeline mode"),
    ("\\startpipeline\nSELECT 1 AS i \\aset\n\\endpipeline\n", "prepared", 2, "\\aset is not allowed in pipeline mode"),
    ("\\startpipeline\nSELECT 1;\nSELECT 1 / 0;\nSELECT 2;\n\\endpipeline\n", "prepared", 2, "division by zero"),
    ("\\startpipeline\nSELECT 1;\nSELECT 1 / 0;\nSELECT 2;\n\\endpipeline\n", "extended", 2, "division by zero"),
    ("\\startpipeline\nSELECTED 1;\n\\endpipeline\n", "prepared", 2, "syntax error at or near \"SELECTED\""),
    ("\\startpipeline now\n", "prepared", 1, "unexpected argument in command \"startpipeline\""),
];

#[test]
fn scripts_with_pipelines_end_as_in_pgbench() {
    let mut desk = Desk::new();
    let postgres = Postgres::fresh(&mut desk, "pgbench_pipeline_ends");
    for (script, protocol, code, said) in ENDS {
        desk.write("a.sql", script);
        for program in PROGRAMS {
            let ended = program(&desk, &postgres, &["-n", "-t", "3", "-M", protocol, "-f", "a.sql"]);
            let all = format!("{}{}", ended.out, ended.err);
            assert!(ended.code == Some(*code) && all.contains(said), "{script}: {ended:#?}");
        }
    }
}

/// After a point statements go on, whatever failed before it; pgbench has that command from version 17 on.
#[test]
fn a_point_in_a_pipeline_ends_what_an_error_ends() {
    let mut desk = Desk::new();
    let postgres = Postgres::fresh(&mut desk, "pgbench_points");
    postgres.sql("CREATE TABLE t (id int)");
    let middle = "INSERT INTO t VALUES (1);\n\\syncpipeline\nINSERT INTO t VALUES (2);\nSELECT 1 / (:bad - 1);\n\\syncpipeline\n";
    desk.write("a.sql", &format!("\\startpipeline\n{middle}INSERT INTO t VALUES (3);\n\\endpipeline\n"));
    for (bad, code, rows) in [("0", 0, "1,2,3"), ("1", 2, "1,3")] {
        postgres.sql("TRUNCATE t");
        let words = ["-n", "-t", "1", "-M", "prepared", "-f", "a.sql", "-D", &format!("bad={bad}")];
        let ended = ours(&desk, &postgres, &words);
        assert_eq!(ended.code, Some(code), "{ended:#?}");
        assert_eq!(postgres.sql("SELECT string_agg(id::text, ',' ORDER BY id) FROM t").trim(), rows);
    }
}

/// The time of a pipeline, and its failures, are those of its end.
#[test]
fn pipelines_are_timed_and_retried_as_in_pgbench() {
    let mut desk = Desk::new();
    let postgres = Postgres::fresh(&mut desk, "pgbench_pipeline_tries");
    postgres.sql("CREATE TABLE one (id int, n int)");
    postgres.sql("INSERT INTO one VALUES (1, 0)");
    let script = "\\set a 1\n\\startpipeline\nBEGIN ISOLATION LEVEL REPEATABLE READ;\nSELECT n FROM one;\nSELECT pg_sleep(0.005);\n\
                  \\set a :a + 1\nUPDATE one SET n = n + :a - 1;\nEND;\n\\endpipeline\n";
    desk.write("a.sql", script);
    let number = |text: &str, before: &str| -> u64 {
        let rest = text.split(before).nth(1).unwrap_or_else(|| panic!("{before}: {text}"));
        rest.trim_start().split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap()
    };
    for protocol in ["-Mextended", "-Mprepared"] {
        let reports = PROGRAMS.map(|program| {
            postgres.sql("UPDATE one SET n = 0");
            let words = ["-n", "-c", "4", "-j", "2", "-t", "25", "-r", protocol, "-f", "a.sql"];
            let out = good(program, &desk, &postgres, &words);
            let (done, failed) = (number(&out, "actually processed:"), number(&out, "failed transactions:"));
            assert!(failed > 0 && done + failed == 100, "{out}");
            assert_eq!(postgres.sql("SELECT n FROM one").trim(), done.to_string());
            let (end, sleep) = (of_command(&out, "  \\endpipeline"), of_command(&out, "  SELECT pg_sleep(0.005);"));
            assert!(end[0] > 5.0 && end[1] == failed as f64 && sleep[0] < 5.0 && sleep[1] == 0.0, "{out}");
            let tried = good(program, &desk, &postgres, &[&words[..], &["--max-tries=1000"]].concat());
            let retries = number(&tried, "total number of retries:");
            assert!(number(&tried, "actually processed:") == 100 && retries > 0, "{tried}");
            assert_eq!(of_command(&tried, "  \\endpipeline")[2], retries as f64, "{tried}");
            assert_eq!(postgres.sql("SELECT n FROM one").trim(), (done + 100).to_string());
            (commands(&out), commands(&tried))
        });
        assert_eq!(reports[0], reports[1], "{protocol}");
    }
}

/// More than the buffers of both sides hold: the client reads while it sends.
#[test]
fn a_pipeline_may_be_larger_than_all_buffers() {
    let mut desk = Desk::new();
    let postgres = Postgres::fresh(&mut desk, "pgbench_pipeline_large");
    desk.write("a.sql", &format!("\\startpipeline\n{}\\endpipeline\n", "SELECT repeat(:word, 3);\n".repeat(200)));
    let word = format!("word={}", "x".repeat(100_000));
    for protocol in ["-Mextended", "-Mprepared"] {
        let out = good(ours, &desk, &postgres, &["-n", "-t", "2", protocol, "-D", &word, "-f", "a.sql"]);
        assert!(out.contains("processed: 2/2"), "{out}");
    }
}

#[test]
fn a_study_has_pipelines_and_other_databases_say_why_not() {
    let mut desk = Desk::new();
    let postgres = Postgres::fresh(&mut desk, "pgbench_pipeline_study");
    desk.write("init.sql", "CREATE TABLE t (id int PRIMARY KEY, n int);\nINSERT INTO t VALUES (1, 0);\n");
    desk.write("a.sql", "\\startpipeline\nBEGIN;\nUPDATE t SET n = n + 1 WHERE id = 1;\nSELECT n FROM t;\nEND;\n\\endpipeline\n");
    let study = |target: &str| {
        format!(
            "schema = 1\nname = \"piped\"\n[[contender]]\nname = \"m\"\ntarget = \"{target}\"\n[[workload]]\nname = \"w\"\n\
             kind = \"script\"\nfile = \"a.sql\"\ninit = \"init.sql\"\n[sweep]\nconnections = [2]\nwarmup = \"100ms\"\nduration = \"1s\"\ntrials = 1\n"
        )
    };
    desk.write("piped.toml", &study(&postgres.url()));
    desk.good(&["run", "piped.toml"]);
    let record = &desk.records("results/piped")[0];
    let (committed, statements) = (record.measured.transactions["a.sql"].committed, &record.measured.statements);
    assert!(committed > 10, "{record:?}");
    let edge = |count: u64| count.abs_diff(committed) <= 2;
    assert!([statements.begin, statements.commit, statements.update, statements.select].into_iter().all(edge), "{statements:?}");
    // Nothing else worked on the server, so what perbuck sent is all that the server executed.
    assert!(!format!("{:?}", record.flags).contains("ForeignLoad"), "{:?}", record.flags);
    for target in ["mysql://root@127.0.0.1:1/x", "tidb://root@127.0.0.1:1/x", "sqlite:a.db"] {
        let name = target.split(':').next().unwrap();
        desk.write("other.toml", &study(target).replace("\"piped\"", &format!("\"{name}\"")));
        let refused = desk.perbuck(&["run", "other.toml"]);
        let said = "before the answer to the one before, so there is no pipeline as in a.sql:1";
        assert!(refused.code != Some(0) && format!("{}{}", refused.out, refused.err).contains(said), "{target}: {refused:#?}");
    }
}
