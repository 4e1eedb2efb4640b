//! Wrong inputs: each has its exit code, names the thing and the place, says the way out, and leaves nothing half-done.

use std::fs::{self, File};
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use crate::common::{Desk, Ended, QUICK, SQLITE_STUDY, edited, files, nothing_half_written};

/// A study with something replaced, and what perbuck says to it.
struct Wrong {
    edits: &'static [(&'static str, &'static str)],
    says: &'static [&'static str],
}

const FULL: &str = "sqlite:full.db?synchronous=FULL";

/// Wrong in the file itself: `check` and `run` say the same and exit with 2, and no folder is made.
const WRONG_STUDIES: [Wrong; 25] = [
    Wrong { edits: &[("[sweep]", "[sweep")], says: &["study.toml:20: not valid TOML", "help: mend the syntax"] },
    Wrong { edits: &[("trials =", "trails =")], says: &["study.toml:24: unknown key `sweep.trails`", "did you mean `trials`?"] },
    Wrong { edits: &[("schema = 1\n", "")], says: &["study.toml:1: `schema` is missing", "help: add for instance `schema = 1`"] },
    Wrong { edits: &[("schema = 1", "schema = 2")], says: &["study.toml:1: `schema` is 2", "help: give a value from 1 to 1"] },
    Wrong {
        edits: &[("\"small\"", "\"../small\"")],
        says: &["study.toml:2: `name` cannot be the name of a folder", "help: use"],
    },
    Wrong { edits: &[("baseline = \"full\"", "baseline = \"ful\"")], says: &["study.toml:3:", "`ful`", "did you mean `full`?"] },
    Wrong { edits: &[("m7g.large", "m7g.lrge")], says: &["study.toml:11: `m7g.lrge` has no price in us-east-1", "`m7g.large`?"] },
    Wrong {
        edits: &[("us-east-1", "us-east-9")],
        says: &["study.toml:7:", "no region `us-east-9`", "did you mean `us-east-1`?"],
    },
    Wrong { edits: &[("aws-2026-07", "aws-2026-70")], says: &["study.toml:6:", "`aws-2026-70`", "did you mean `aws-2026-07`?"] },
    Wrong { edits: &[("\"sysbench\"", "\"sysbnch\"")], says: &["study.toml:18:", "\"sysbnch\"", "did you mean \"sysbench\"?"] },
    Wrong { edits: &[("table_size", "tabel_size")], says: &["study.toml:19:", "`tabel_size`", "did you mean `table_size`?"] },
    Wrong { edits: &[("= 1000", "= 0")], says: &["study.toml:19:", "`table_size` is 0", "help: give an integer from 1 to"] },
    Wrong { edits: &[("\"off\"", "\"full\"")], says: &["study.toml:12: two `[[contender]]` are named `full`", "its own name"] },
    Wrong { edits: &[("200ms", "200")], says: &["study.toml:23: `sweep.duration`", "has no unit", "\"500ms\""] },
    Wrong { edits: &[("200ms", "1ms")], says: &["study.toml:23: `sweep.duration` is too short", "help: give at least"] },
    Wrong { edits: &[("[1, 2]", "[]")], says: &["study.toml:21: `sweep.connections` is empty", "help: give at least one"] },
    Wrong { edits: &[("trials = 2", "trials = \"2\"")], says: &["study.toml:24: `sweep.trials` is a string", "an integer"] },
    Wrong {
        edits: &[("sqlite:off.db", "mysql://root:hunter2@localhost/test")],
        says: &["study.toml:14: contender `off`: the target holds a password", "PERBUCK_<CONTENDER>_PASSWORD"],
    },
    Wrong {
        edits: &[("sqlite:off.db", "mysql://root@localhost/test?password=hunter2")],
        says: &["study.toml:14: contender `off`: the target holds a password", "`password_file`"],
    },
    Wrong {
        edits: &[("sqlite:off.db", "oracle:off")],
        says: &["study.toml:14: contender `off`", "help: use sqlite:, duckdb:, mysql:"],
    },
    Wrong {
        edits: &[("table_size = 1000", "script = \"oltp_read_only\"\nrandom_points = 3")],
        says: &["study.toml:20: workload `rw`: `random_points` is no option of oltp_read_only", "help: leave it out"],
    },
    Wrong {
        edits: &[(
            "[sweep]",
            "[[workload]]\nname = \"new\"\nkind = \"sysbench\"\nscript = \"oltp_insert\"\ntable_size = 1000\n[sweep]",
        )],
        says: &["study.toml:20: workloads `rw` and `new` cannot share", "changes how many rows", "its own `database = "],
    },
    Wrong {
        edits: &[("table_size = 1000", "script = \"bulk_insert\"")],
        says: &["study.toml:16: workload `rw`: `threads` is 1, and the sweep has 2 connections", "help: set `threads = 2`"],
    },
    Wrong { edits: &[("=OFF", "=OF")], says: &["study.toml:14: contender `off`: `OF` is not a value", "help: use one of OFF"] },
    Wrong { edits: &[("synchronous=OFF", "sinchronous=OFF")], says: &["study.toml:14:", "`sinchronous`", "`synchronous`?"] },
];

/// What every failure has in common, whatever else it says.
fn fails(ended: &Ended, code: i32, says: &[&str]) {
    assert_eq!(ended.code, Some(code), "{ended:#?}");
    for part in says {
        assert!(ended.err.contains(part), "`{part}` is missing in {ended:#?}");
    }
    assert!(!ended.err.contains("panicked") && !ended.err.contains("hunter2") && !ended.out.contains("hunter2"), "{ended:#?}");
}

#[test]
fn a_wrong_study_is_refused_before_anything_is_done() {
    let desk = Desk::new();
    for wrong in &WRONG_STUDIES {
        desk.write("study.toml", &edited(wrong.edits));
        let checked = desk.perbuck(&["check", "study.toml"]);
        fails(&checked, 2, wrong.says);
        assert!(checked.err.contains("1 problem found"), "{checked:#?}");
        let ran = desk.perbuck(&["run", "study.toml"]);
        assert_eq!((ran.code, &ran.err), (checked.code, &checked.err), "run and check agree");
    }
    let mut left = Vec::new();
    files(&desk.path("."), &mut left);
    assert_eq!(left, [desk.path("./study.toml")], "no folder, no database");
}

#[test]
fn all_problems_of_a_study_come_at_once() {
    let desk = Desk::new();
    let edits = [
        ("baseline = \"full\"", "baseline = \"nobody\""),
        ("us-east-1", "us-east-9"),
        ("synchronous=OFF", "sync=OFF"),
        ("= 1000", "= 0"),
        ("trials =", "trails ="),
    ];
    desk.write("study.toml", &edited(&edits));
    let ended = desk.perbuck(&["check", "study.toml"]);
    fails(&ended, 2, &["5 problems found"]);
    let lines: Vec<&str> = ended.err.lines().filter_map(|l| l.strip_prefix("study.toml:")?.split(':').next()).collect();
    assert_eq!(lines, ["3", "7", "14", "19", "24"], "in the order of the file: {ended:#?}");
    let json = desk.perbuck(&["check", "--json", "study.toml"]);
    fails(&json, 2, &[]);
    let problems: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    let listed: Vec<u64> = problems.as_array().unwrap().iter().map(|p| p["line"].as_u64().unwrap()).collect();
    assert_eq!(listed, [3, 7, 14, 19, 24]);
}

#[test]
fn what_the_database_of_a_contender_refuses_is_told_without_a_server() {
    let desk = Desk::new();
    desk.write("pipe.sql", "\\startpipeline\nSELECT 1;\n\\endpipeline\n");
    let contenders = "[[contender]]\nname = \"pg\"\ntarget = \"postgres://u@127.0.0.1:1/d\"\n[[contender]]\nname = \"own\"\nserver = { kind = \"mariadb\" }\n\
                      [[contender]]\nname = \"kv\"\ntarget = \"tikv://127.0.0.1:1\"\n";
    let study = format!(
        "schema = 1\nname = \"s\"\n{contenders}[[workload]]\nname = \"w\"\nkind = \"script\"\nfile = \"pipe.sql\"\n[sweep]\nconnections = [1]\n\
         duration = \"1s\"\ntrials = 1\n"
    );
    desk.write("study.toml", &study);
    for command in ["check", "run"] {
        let ended = desk.perbuck(&[command, "study.toml"]);
        let no_pipeline =
            "study.toml:12: workload `w`, contender `own`: MySQL takes no statement before the answer to the one before";
        fails(&ended, 2, &["2 problems found", no_pipeline, "pipe.sql:1", "contender `kv`: TiKV has no SQL"]);
    }
    assert!(!desk.path("results").exists());
}

#[test]
fn paths_that_are_not_what_they_should_be_are_named() {
    let desk = Desk::new();
    desk.write("study.toml", SQLITE_STUDY);
    desk.write("folder/file", "text");
    desk.write("latin1.toml", "");
    fs::write(desk.path("latin1.toml"), b"name = \"\xe4\"\n").unwrap();
    let cases: [(&[&str], i32, &[&str]); 9] = [
        (&["check", "nothing.toml"], 5, &["cannot read the study nothing.toml", "help: check the path"]),
        (&["check", "folder"], 5, &["cannot read the study folder", "help: name a file, not a folder"]),
        (&["check", "latin1.toml"], 5, &["cannot read the study latin1.toml", "UTF-8"]),
        (&["price", "study.toml", "--prices", "nothing.toml"], 5, &["cannot read the prices nothing.toml"]),
        (&["run", "study.toml", "--results", "folder/file"], 5, &["folder/file: ", "help: a file stands where a folder"]),
        (&["compare", "nothing"], 5, &["cannot read the results folder nothing", "help: check the path"]),
        (&["compare", "folder"], 5, &["folder is not the results folder of a study", "help: name the folder of one study"]),
        (&["report", "study.toml"], 5, &["study.toml is not the results folder", "help:"]),
        (&["compare", "folder", "--insist", "please"], 2, &["'please'", "emulated, client-limited, foreign-load, errors"]),
    ];
    for (arguments, code, says) in cases {
        fails(&desk.perbuck(arguments), code, says);
    }
    assert!(!desk.path("full.db").exists(), "nothing was prepared");
}

#[test]
fn targets_that_cannot_be_used_are_named_and_leave_no_record() {
    // A port that was free a moment ago, and that no server listens on.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let closed = format!("mysql://root@127.0.0.1:{port}/test");
    let cases: [(&str, i32, &[&str]); 7] = [
        ("sqlite:nowhere/full.db", 3, &["full: ", "nowhere/full.db", "check that its folder exists"]),
        ("sqlite:letter.txt", 3, &["full: ", "letter.txt", "file is not a database", "name another file"]),
        (&closed, 3, &["full: ", &format!("127.0.0.1:{port} cannot be reached"), "help: check that the server runs"]),
        ("mysql://root@localhost/test?tls=required&ca=nothing.pem", 3, &["nothing.pem cannot be read", "help: check the cert"]),
        ("mysql://root@localhost/test?tls=required&ca=letter.txt", 3, &["letter.txt holds no certificate", "help: check the"]),
        (
            &format!("{closed}\"\npassword_file = \"nothing.txt"),
            5,
            &["password of contender `full` in nothing.txt", "help: check"],
        ),
        ("", 2, &["contender `full` has no target to drive", "help: add `target"]),
    ];
    for (target, code, says) in cases {
        let desk = Desk::new();
        desk.write("letter.txt", &"This is a letter, and not a short one. ".repeat(200));
        let wanted = if target.is_empty() { String::new() } else { format!("target = \"{target}\"\n") };
        desk.write("study.toml", &edited(&[(&format!("target = \"{FULL}\"\n"), &wanted)]));
        for command in ["run", "prepare"] {
            fails(&desk.perbuck(&[command, "study.toml"]), code, says);
        }
        assert!(desk.records("results").is_empty());
        nothing_half_written(&desk.path("results"));
        assert!(desk.read("letter.txt").starts_with("This is a letter"), "a file that is no database is left alone");
    }
}

#[test]
fn tables_of_another_tool_or_of_another_study_are_never_dropped() {
    let desk = Desk::new();
    let rows = || -> i64 {
        let database = rusqlite::Connection::open(desk.path("full.db")).unwrap();
        database.query_row("SELECT COUNT(*) FROM sbtest1", [], |row| row.get(0)).unwrap()
    };
    let database = rusqlite::Connection::open(desk.path("full.db")).unwrap();
    database.execute_batch("CREATE TABLE sbtest1 (id INTEGER PRIMARY KEY); INSERT INTO sbtest1 VALUES (1), (2), (3)").unwrap();
    drop(database);
    desk.write("study.toml", &edited(&QUICK));
    for arguments in [&["run", "study.toml"][..], &["prepare", "study.toml"], &["prepare", "--force", "study.toml"]] {
        fails(&desk.perbuck(arguments), 4, &["full, rw: sqlite:full.db", "sbtest1 with 3 rows", "help: drop them yourself"]);
        assert_eq!(rows(), 3);
    }
    fs::remove_file(desk.path("full.db")).unwrap();
    desk.good(&["prepare", "study.toml"]);
    desk.write("other.toml", &edited(&[("\"small\"", "\"other\""), ("= 1000", "= 500")]));
    fails(&desk.perbuck(&["run", "other.toml"]), 4, &["full, rw:", "data of other parameters", "help: `perbuck prepare --force"]);
    assert_eq!(rows(), 1000);
    desk.good(&["prepare", "--force", "other.toml"]);
    assert_eq!(rows(), 500);
}

fn copy(from: &Path, to: &Path) {
    let mut found = Vec::new();
    files(from, &mut found);
    for path in found {
        let target = to.join(path.strip_prefix(from).unwrap());
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(&path, target).unwrap();
    }
}

/// The record that the cases below damage.
const RECORD: &str = "full/rw/c00001/001.json";

/// Damages a results folder.
type Damage = fn(&Path);

const DAMAGES: [(Damage, i32, &[&str]); 9] = [
    (|f| truncate(&f.join(RECORD)), 5, &["001.json is no run record", "help: restore it from a copy"]),
    (|f| fs::write(f.join(RECORD), "").unwrap(), 5, &["001.json is no run record", "help: restore it"]),
    (|f| swap(&f.join(RECORD), "\"schema\": 2", "\"schema\": 99"), 5, &["001.json has schema 99", "reads schema 1"]),
    (|f| swap(&f.join(RECORD), "\"position\"", "\"place\""), 5, &["001.json is no run record", "`place`"]),
    (|f| fs::rename(f.join(RECORD), f.join("full/rw/c00001/007.json")).unwrap(), 5, &["007.json holds the record of another"]),
    (
        |f| swap(&f.join("study.toml"), "= 1000", "= 999"),
        4,
        &["001.json in ", "was measured by another version", "help: only prices"],
    ),
    (|f| swap(&f.join("study.toml"), "[sweep]", "[sweep"), 2, &["study.toml:20: not valid TOML"]),
    (|f| fs::write(f.join("prices.toml"), "schema = 1\nnothing = 2\n").unwrap(), 2, &["prices.toml:2: unknown key `nothing`"]),
    (
        |f| ["full", "off"].iter().for_each(|c| fs::remove_dir_all(f.join(c)).unwrap()),
        1,
        &["holds no trial yet", "help: run the study first"],
    ),
];

fn truncate(path: &Path) {
    let text = fs::read_to_string(path).unwrap();
    fs::write(path, &text[..text.len() / 2]).unwrap();
}

fn swap(path: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains(from), "{}: {from}", path.display());
    fs::write(path, text.replace(from, to)).unwrap();
}

#[test]
fn a_damaged_results_folder_is_named_and_never_mended_in_silence() {
    let desk = Desk::new();
    desk.write("study.toml", &edited(&QUICK));
    desk.good(&["run", "study.toml"]);
    for (i, (damage, code, says)) in DAMAGES.iter().enumerate() {
        let results = format!("case{i}/small");
        let folder = desk.path(&results);
        copy(&desk.path("results/small"), &folder);
        damage(&folder);
        let mut before = Vec::new();
        files(&folder, &mut before);
        for command in ["compare", "report"] {
            fails(&desk.perbuck(&[command, &results]), *code, says);
        }
        let mut after = Vec::new();
        files(&folder, &mut after);
        assert_eq!(before, after, "no report, no other file");
    }
    // A broken record counts as there: running again must not measure over it without a word.
    fails(&desk.perbuck(&["run", "study.toml", "--results", "case0"]), 5, &["001.json is no run record"]);
}

#[test]
fn a_results_folder_belongs_to_one_study_and_to_one_process_at_a_time() {
    let desk = Desk::new();
    desk.write("study.toml", &edited(&QUICK));
    desk.good(&["run", "study.toml"]);
    let before = desk.read(&format!("results/small/{RECORD}"));
    let changed = edited(&[QUICK[0], QUICK[1], ("\"200ms\"", "\"300ms\"")]);
    desk.write("changed.toml", &changed);
    fails(
        &desk.perbuck(&["run", "changed.toml"]),
        4,
        &["trials of another version of this study: sweep.duration: 100.0 ms → 300.0 ms", "help: give the study a new"],
    );
    assert_eq!(desk.read("results/small/study.toml"), desk.read("study.toml"), "the stored study is untouched");
    let lock = File::options().write(true).open(desk.path("results/small/.lock")).unwrap();
    lock.try_lock().unwrap();
    fails(&desk.perbuck(&["run", "study.toml"]), 4, &["another perbuck is running this study", ".lock", "help: wait for it"]);
    desk.good(&["compare", "results/small"]);
    drop(lock);
    desk.good(&["run", "study.toml"]);
    assert_eq!(before, desk.read(&format!("results/small/{RECORD}")));
}

#[test]
fn a_limit_on_file_sizes_ends_the_run_with_its_name_and_keeps_what_was_there() {
    let desk = Desk::new();
    desk.write("study.toml", &edited(&QUICK));
    desk.good(&["run", "study.toml"]);
    let before = desk.read(&format!("results/small/{RECORD}"));
    desk.write("study.toml", &edited(&[QUICK[0], QUICK[2]]));
    let script = format!("ulimit -f 1; exec '{}' run study.toml", env!("CARGO_BIN_EXE_perbuck"));
    let mut limited = Command::new("bash");
    limited.args(["-c", &script]).current_dir(desk.path("."));
    let ended = crate::common::ended(limited.output().unwrap());
    fails(&ended, 5, &["cannot write results/small/prices.toml: File too large", "help: raise the limit", "trials are kept"]);
    nothing_half_written(&desk.path("results"));
    assert_eq!(before, desk.read(&format!("results/small/{RECORD}")));
    desk.good(&["run", "study.toml"]);
    assert_eq!(desk.records("results").len(), 4, "the same command goes on when there is room");
}

/// `/dev/full` is a disk without space for everybody: a link to it stands where the next records are to be written.
#[test]
fn a_full_disk_ends_the_run_and_keeps_finished_trials() {
    let desk = Desk::new();
    desk.write("study.toml", &edited(&[("trials = 2", "trials = 9"), ("[1, 2]", "[1]")]));
    // The file of the fifth trial gets no space.
    let full = desk.path(".").canonicalize().unwrap().join("results/small/off/rw/c00001/005.json.partial");
    let mut traced = Command::new("strace");
    traced.args(["-f", "--seccomp-bpf", "-qq", "-o", "/dev/null", "-e", "inject=write:error=ENOSPC", "-P"]).arg(full);
    let ended = crate::common::ended(
        traced.args([env!("CARGO_BIN_EXE_perbuck"), "run", "study.toml"]).current_dir(desk.path(".")).output().unwrap(),
    );
    fails(&ended, 5, &["cannot write results/small/", ".json: No space left on device", "help: free some space"]);
    let finished = desk.records("results");
    assert!((2..18).contains(&finished.len()), "ended in the middle: {}", finished.len());
    desk.good(&["run", "study.toml"]);
    let all = desk.records("results");
    assert_eq!(all.len(), 18, "the same command goes on when there is room");
    assert!(finished.iter().all(|record| all.contains(record)), "finished trials are kept");
    nothing_half_written(&desk.path("results"));
}

#[test]
fn a_reader_that_closed_its_pipe_has_seen_enough() {
    let desk = Desk::new();
    desk.write("study.toml", &edited(&QUICK));
    let closed = || {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        writer
    };
    for arguments in [&["price", "study.toml"][..], &["check", "study.toml"], &["price", "--json", "study.toml"]] {
        let ended = crate::common::ended(desk.command(arguments).stdout(closed()).output().unwrap());
        assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""), "{arguments:?}");
    }
    // Progress into a closed pipe must not end a study, nor hide the exit code of a failure.
    let run = desk.command(&["run", "study.toml"]).stdout(closed()).stderr(closed()).status().unwrap();
    assert_eq!((run.code(), desk.records("results").len()), (Some(0), 2));
    let failed = desk.command(&["check", "nothing.toml"]).stdout(closed()).stderr(closed()).status().unwrap();
    assert_eq!(failed.code(), Some(5));
}
