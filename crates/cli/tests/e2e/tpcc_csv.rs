//! CSV files of TPC-C: taken in by the real clients they are, row by row, what a load sends.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::maria::{Maria, study};
use crate::common::postgres::Postgres;
use crate::common::{Desk, ended, signal, tpcc_rows, wait_until};

const SHORT: &str = "connections = [1]\nwarmup = \"100ms\"\nduration = \"1s\"\ntrials = 1";
const TPCC: &str = "kind = \"tpcc\"";

/// Runs a client with a script of the folder, from within it.
fn fed(client: &mut Command, folder: &Path, script: &str) {
    let input = File::open(folder.join(script)).unwrap();
    let output = client.current_dir(folder).stdin(input).output().unwrap();
    assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn mariadb_takes_the_files_in_by_load_data() {
    let mut desk = Desk::new();
    let from_files = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "tpcc_csv_files");
    desk.write("s.toml", &study(&from_files.url(), TPCC, SHORT));
    let written =
        desk.good(&["prepare", "s.toml", "--output-type", "csv", "--output-dir", "csv", "--files", "3", "--threads", "2"]);
    assert!(
        written.err.contains("tpcc_csv_files.stock.001.csv to tpcc_csv_files.stock.003.csv with 100,000 rows"),
        "{written:#?}"
    );
    for script in ["tables", "load", "indexes"] {
        let mut client = Command::new("mariadb");
        client.args(["--no-defaults", "--local-infile=1", "--show-warnings", "-h", &from_files.host, "-P", &from_files.port]);
        client.args(["-u", "root", &from_files.database]).env("MYSQL_PWD", &from_files.password);
        fed(&mut client, &desk.path("csv"), &format!("tpcc_csv_files-{script}.sql"));
    }
    let sums = tpcc_rows::of_maria(&from_files);
    let checked = desk.good(&["prepare", "s.toml"]);
    assert!(
        checked.err.contains("complete tables of another tool") && checked.err.contains(": 12 of 12 conditions hold\n"),
        "{checked:#?}"
    );
    let loaded = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "tpcc_csv_loaded");
    desk.write("s.toml", &study(&loaded.url(), TPCC, SHORT));
    desk.good(&["prepare", "s.toml"]);
    assert_eq!(sums, tpcc_rows::of_maria(&loaded));
}

#[test]
fn postgres_takes_the_files_in_by_copy() {
    let mut desk = Desk::new();
    let from_files = Postgres::fresh(&mut desk, "tpcc_csv_files");
    desk.write("s.toml", &study(&from_files.url(), TPCC, SHORT));
    desk.good(&["prepare", "s.toml", "--output-type", "csv", "--output-dir", "csv"]);
    for script in ["tables", "load", "indexes"] {
        let mut client = Command::new("psql");
        client.args([
            "--no-psqlrc",
            "--quiet",
            "--set=ON_ERROR_STOP=1",
            "--host=127.0.0.1",
            &format!("--port={}", from_files.port),
        ]);
        client.args(["--username=perbuck", &from_files.database]).env("PGPASSWORD", &from_files.password);
        fed(&mut client, &desk.path("csv"), &format!("tpcc_csv_files-{script}.sql"));
    }
    let sums = tpcc_rows::of_postgres(&from_files);
    let loaded = Postgres::fresh(&mut desk, "tpcc_csv_loaded");
    desk.write("s.toml", &study(&loaded.url(), TPCC, SHORT));
    desk.good(&["prepare", "s.toml"]);
    assert_eq!(sums, tpcc_rows::of_postgres(&loaded));
}

/// The command that writes files, with more words.
fn csv<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["prepare", "s.toml", "--output-type", "csv", "--output-dir", "out"], more].concat()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = entries.collect();
    names.sort();
    names
}

#[test]
fn wrong_wishes_and_interruptions_leave_no_file_and_say_why() {
    let desk = Desk::new();
    desk.write("s.toml", &study("sqlite:never.db", "kind = \"tpcc\"\nwarehouses = 50", SHORT));
    let refused = |code: i32, arguments: &[&str], word: &str| {
        let ended = desk.perbuck(arguments);
        assert!(ended.code == Some(code) && ended.err.contains(word), "{arguments:?}: {ended:#?}");
    };
    refused(2, &csv(&[]), "add --csv-format mysql or --csv-format postgres");
    refused(2, &["prepare", "s.toml", "--output-type", "csv"], "--output-dir");
    refused(2, &["prepare", "s.toml", "--tables", "item"], "--output-type");
    refused(2, &csv(&["--force"]), "cannot be used with");
    let mysql = csv(&["--csv-format", "mysql"]);
    refused(2, &[&*mysql, &["--tables", "item,stocks"]].concat(), "there is no table `stocks`");
    refused(2, &[&*mysql, &["--files", "502"]].concat(), "the data have 501 parts");
    desk.write("out/tpcc.stock.csv", "mine");
    refused(4, &mysql, "out/tpcc.stock.csv is there already");
    assert_eq!(names(&desk.path("out")), ["tpcc.stock.csv"]);
    // A limit on the size of files stands for a full disk: both are met when the rows are written.
    let script = format!("ulimit -f 64; exec '{}' \"$@\"", env!("CARGO_BIN_EXE_perbuck"));
    let item = [&*mysql, &["--tables", "item"]].concat();
    let limited = Command::new("sh").args(["-c", &script, "sh"]).args(&item).current_dir(desk.path(".")).output().unwrap();
    let limited = ended(limited);
    assert!(limited.code == Some(5) && limited.err.contains("raise the limit on their size"), "{limited:#?}");
    assert_eq!(names(&desk.path("out")), ["tpcc.stock.csv"]);
    std::fs::remove_file(desk.path("out/tpcc.stock.csv")).unwrap();
    let child = desk.command(&mysql).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("a file is begun", || names(&desk.path("out")).iter().any(|n| n == "tpcc.stock.csv.partial"));
    signal(&child, "INT");
    let ended = ended(child.wait_with_output().unwrap());
    assert!(ended.code == Some(130) && ended.err.contains("interrupted; no file was kept"), "{ended:#?}");
    assert_eq!(names(&desk.path("out")), Vec::<String>::new());
    desk.good(&item);
    assert_eq!(names(&desk.path("out")), ["tpcc-indexes.sql", "tpcc-load.sql", "tpcc-tables.sql", "tpcc.item.csv"]);
    assert!(!desk.path("never.db").exists(), "no target is touched");
}
