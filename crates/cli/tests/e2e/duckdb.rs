//! DuckDB as a target: all workloads, a load that is killed, and what is wrong with a file or a library.

use std::process::Stdio;

use crate::common::{Desk, LONG_ENOUGH, QUICK, edited, server, signal, wait_until};

/// The variable that names the library; `dev/with-servers` sets it.
const LIBRARY: &str = "PERBUCK_DUCKDB_LIBRARY";

/// A study of the same form as those on SQLite, on two DuckDB files.
fn study(edits: &[(&str, &str)]) -> String {
    // Without it each command would fail, and say so less clearly.
    server(LIBRARY);
    let files = [
        ("sqlite:full.db?synchronous=FULL", "duckdb:full.duckdb?threads=2&memory_limit=1GiB"),
        ("sqlite:off.db?synchronous=OFF", "duckdb:off.duckdb?threads=1&memory_limit=1GiB"),
    ];
    edited(&[&files, edits].concat())
}

/// The trials of a study: some work was done, and no error but those that are tried again.
fn assert_sound(desk: &Desk, trials: usize) {
    let records = desk.records("results");
    assert_eq!(records.len(), trials);
    for record in &records {
        assert!(record.target.version.starts_with("DuckDB "), "{record:#?}");
        assert!(record.target.variables["memory_limit"] == "1.0 GiB" && record.target.variables.contains_key("threads"));
        assert!(record.errors.values().all(|e| e.class == "retry"), "{:#?}", record.errors);
        assert!(record.measured.transactions.values().map(|t| t.committed).sum::<u64>() > 0, "{record:#?}");
        assert_eq!(record.measured.transactions.values().map(|t| t.failed).sum::<u64>(), 0);
    }
}

#[test]
fn sysbench_runs_as_a_study() {
    for script in ["oltp_point_select", "oltp_read_only", "oltp_read_write"] {
        let desk = Desk::new();
        let script = format!("table_size = 1000\nscript = \"{script}\"");
        desk.write("study.toml", &study(&[("table_size = 1000", &script), LONG_ENOUGH, ("[1, 2]", "[2]"), QUICK[1]]));
        let ran = desk.good(&["run", "study.toml"]);
        assert!(!ran.err.contains("BROKEN"), "{ran:#?}");
        assert_sound(&desk, 2);
    }
}

#[test]
fn tpcc_is_loaded_run_and_consistent() {
    let desk = Desk::new();
    let tpcc = (
        "name = \"rw\"\nkind = \"sysbench\"\ntable_size = 1000",
        "name = \"tpcc\"\nkind = \"tpcc\"\nwarehouses = 1\nisolation = \"repeatable-read\"",
    );
    // A conflict is an error at once, and the other transaction goes on for a while: ten attempts end before it does.
    let trials = ("trials = 2", "trials = 1\nmax_attempts = 1000");
    desk.write("study.toml", &study(&[tpcc, ("[1, 2]", "[4]"), ("\"200ms\"", "\"3s\""), trials]));
    let prepared = desk.good(&["prepare", "study.toml"]);
    assert!(prepared.err.contains("full, tpcc: 12 of 12 conditions hold\n"), "{prepared:#?}");
    let ran = desk.good(&["run", "study.toml"]);
    assert!(ran.err.contains("after the last trial 22 of 24 conditions hold, 2 do not apply\n"), "{ran:#?}");
    assert_sound(&desk, 2);
    // Another level than it has is refused before anything runs.
    let other = desk.read("study.toml").replace("repeatable-read", "serializable").replace("\"small\"", "\"other\"");
    desk.write("other.toml", &other);
    let refused = desk.perbuck(&["run", "other.toml"]);
    let words = "other.toml:10: full: perbuck asked for isolation level SERIALIZABLE, but DuckDB uses REPEATABLE READ; ask for the level \
                 that it uses (client isolation)\n";
    assert!(refused.code == Some(3) && refused.err.contains(words) && !refused.err.contains("script"), "{refused:#?}");
}

/// Every answer at this scale is compared with the right one; a wrong one is a failed query.
#[test]
fn tpch_gives_the_right_answers_and_is_refreshed() {
    for (more, metric) in [("substitution = \"validation\"\nrefresh = false", "QpH"), ("refresh = true", "QphH")] {
        let desk = Desk::new();
        let tpch = format!("name = \"tpch\"\nkind = \"tpch\"\nscale = 0.01\n{more}");
        let workload = "name = \"rw\"\nkind = \"sysbench\"\ntable_size = 1000";
        let sweep = ("connections = [1, 2]\nwarmup = \"50ms\"\nduration = \"200ms\"\n", "");
        desk.write("study.toml", &study(&[(workload, &tpch), sweep, QUICK[1]]));
        let ran = desk.good(&["run", "study.toml"]);
        assert!(ran.err.contains(metric) && !ran.err.contains("BROKEN"), "{ran:#?}");
        assert_sound(&desk, 2);
    }
}

#[test]
fn sysbench_and_ycsb_run_by_their_command_lines() {
    server(LIBRARY);
    let desk = Desk::new();
    for script in ["oltp_insert", "bulk_insert"] {
        let words = ["sysbench", "--db-driver=duckdb", "--duckdb-db=sb.duckdb?threads=1", "--time=1", "--no-record", script];
        for order in ["prepare", "run", "cleanup"] {
            let done = desk.good(&[&words[..], &[order]].concat());
            assert!(order != "run" || done.out.contains("transactions:"), "{done:#?}");
        }
    }
    let ycsb = |order: &str| {
        let words = ["ycsb", order, "duckdb", "-p", "duckdb.db=y.duckdb?threads=1", "--results=results"];
        desk.good(&[&words[..], &["-P", "workloada", "-p", "recordcount=500", "-p", "operationcount=500"]].concat())
    };
    ycsb("load");
    let ran = ycsb("run");
    assert!(ran.out.contains("READ") && ran.out.contains("UPDATE") && !ran.out.contains("ERROR"), "{ran:#?}");
}

#[test]
fn a_load_that_is_killed_goes_on_after_its_last_commit() {
    let desk = Desk::new();
    let tpcc = ("name = \"rw\"\nkind = \"sysbench\"\ntable_size = 1000", "name = \"tpcc\"\nkind = \"tpcc\"\nwarehouses = 1");
    desk.write("study.toml", &study(&[tpcc, ("[1, 2]", "[1]"), QUICK[1]]));
    let mut command = desk.command(&["prepare", "study.toml"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let length = |name: &str| std::fs::metadata(desk.path(name)).map_or(0, |file| file.len());
    // The first contender's data have about 74 MB.
    wait_until("some rows are in", || length("full.duckdb") + length("full.duckdb.wal") > 12_000_000);
    signal(&child, "KILL");
    assert_eq!(child.wait().unwrap().code(), None, "killed");
    assert!(!desk.path("off.duckdb").exists(), "killed in the first load");
    let resumed = desk.good(&["prepare", "study.toml"]);
    let line = resumed.err.lines().find(|l| l.contains("going on with a load that was cut off after "));
    let rows = line
        .unwrap_or_else(|| panic!("{resumed:#?}"))
        .rsplit("after ")
        .next()
        .unwrap()
        .trim_end_matches(" rows")
        .replace(',', "");
    assert!(rows.parse::<u64>().unwrap() > 10_000, "{resumed:#?}");
    assert!(resumed.err.contains("full, tpcc: 12 of 12 conditions hold\n"), "{resumed:#?}");
}

#[test]
fn a_wrong_library_and_a_wrong_file_are_named_with_the_way_out() {
    let desk = Desk::new();
    desk.write("letter.db", &"This is a letter, and not a short one. ".repeat(1000));
    let run = |target: &str, library: &str| {
        let mut command = desk.command(&["tpcc", "prepare", "--warehouses", "1", "--target", target]);
        crate::common::ended(command.env(LIBRARY, library).output().unwrap())
    };
    let library = server(LIBRARY);
    for (target, library, words) in [
        ("duckdb:a.duckdb", "/nowhere/libduckdb.so", ["/nowhere/libduckdb.so", "libduckdb-linux-amd64.zip"]),
        ("duckdb:a.duckdb?library=other.so", &*library, ["other.so", "@duckdb/node-bindings-linux-x64"]),
        ("duckdb:letter.db", &library, ["letter.db", "not a valid DuckDB database"]),
        ("duckdb:missing/a.duckdb", &library, ["missing/a.duckdb", "check that its folder exists"]),
    ] {
        let refused = run(target, library);
        assert_eq!(refused.code, Some(3), "{target}: {refused:#?}");
        assert!(words.iter().all(|w| refused.err.contains(w)), "{target}: {refused:#?}");
    }
    assert!(!desk.path("a.duckdb").exists());
}

#[test]
fn a_file_that_another_process_has_open_is_refused() {
    let desk = Desk::new();
    let library = server(LIBRARY);
    let words = ["--target", "duckdb:t.duckdb?threads=1", "--warehouses", "1"];
    desk.good(&[&["tpcc", "prepare"], &words[..]].concat());
    let mut holder = desk.command(&[&["tpcc", "run"], &words[..], &["--time", "60s", "--no-record"]].concat());
    let mut holder = holder.env(LIBRARY, &library).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // DuckDB keeps its log from the first change to the end.
    wait_until("it runs", || std::fs::metadata(desk.path("t.duckdb.wal")).is_ok_and(|log| log.len() > 100_000));
    // As another program, which knows nothing of the lease of perbuck.
    let _ = std::fs::remove_file(desk.path("t.duckdb.perbuck-lease"));
    let refused = desk.perbuck(&[&["tpcc", "check"], &words[..]].concat());
    holder.kill().unwrap();
    holder.wait().unwrap();
    assert_eq!(refused.code, Some(3), "{refused:#?}");
    assert!(refused.err.contains("one process at a time opens a DuckDB file"), "{refused:#?}");
}
