//! A database that perbuck does not have, from one folder and one line, runs sysbench, TPC-C and YCSB.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

#[path = "toy_database/mod.rs"]
mod toybase;

use std::path::{Path, PathBuf};

use perbuck_database::Databases;
use perbuck_lab::databases::AllDatabases;
use perbuck_lab::progress::Quiet;
use perbuck_lab::registry::Registry;
use perbuck_lab::run::RunOptions;
use perbuck_lab::{Lab, LabOptions};
use perbuck_load::stop::StopToken;
use perbuck_workloads::Workloads;

/// The one line.
type WithToybase = (toybase::Toybase, AllDatabases);

fn study(folder: &Path, contender: &str, workload: &str) -> PathBuf {
    let text = format!(
        "schema = 1\nname = \"toys\"\n[[contender]]\nname = \"a\"\n{contender}\n[[contender]]\nname = \"b\"\n\
         target = \"sqlite:{}/b.db?synchronous=OFF\"\n[[workload]]\nname = \"w\"\n{workload}\n\
         [sweep]\nconnections = [2]\nwarmup = \"0s\"\nduration = \"1s\"\ntrials = 1\n",
        folder.display()
    );
    let path = folder.join("study.toml");
    std::fs::write(&path, text).unwrap();
    path
}

fn open(folder: &Path, contender: &str, workload: &str) -> Result<Lab, String> {
    let run = RunOptions { results: folder.join("results"), ..RunOptions::default() };
    let options = LabOptions { run, registry: Registry::of::<WithToybase, Workloads>(), ..LabOptions::default() };
    Lab::open(&study(folder, contender, workload), options).map_err(|e| format!("{e:?}"))
}

#[test]
fn it_runs_every_benchmark() {
    for (workload, table) in [
        ("kind = \"sysbench\"\nscript = \"oltp_read_write\"\ntable_size = 100", "sbtest1"),
        ("kind = \"tpcc\"", "order_line"),
        ("kind = \"ycsb\"\nworkload = \"workloada\"\nrecordcount = 100", "usertable"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.db");
        let contender = format!("target = \"toybase:{}?synchronous=OFF\"", file.display());
        let results = open(folder.path(), &contender, workload).unwrap().run(&mut Quiet, &StopToken::default()).unwrap();
        let records: Vec<_> = results.used().iter().filter(|record| record.key.contender == "a").collect();
        let [record] = records.as_slice() else { panic!("{workload}: {}", records.len()) };
        assert_eq!(record.target.driver, "toybase");
        assert!(record.target.address.starts_with("toybase:"), "{}", record.target.address);
        assert!(record.measured.transactions.values().map(|kind| kind.committed).sum::<u64>() > 10, "{workload}");
        let schema = rusqlite::Connection::open(&file).unwrap();
        let sql: String = schema.query_row("SELECT sql FROM sqlite_master WHERE name = ?", [table], |row| row.get(0)).unwrap();
        // PostgreSQL's types come to no database that did not ask for them.
        assert!(sql.contains("TOY") && ["VARCHAR", "NUMERIC", "TIMESTAMP", "SERIAL"].iter().all(|t| !sql.contains(t)), "{sql}");
    }
}

#[test]
fn what_it_lacks_is_refused_in_its_words() {
    let folder = tempfile::tempdir().unwrap();
    let contender = format!("target = \"toybase:{}/a.db\"", folder.path().display());
    let problem = |workload: &str| {
        let lab = open(folder.path(), &contender, workload)?;
        lab.run(&mut Quiet, &StopToken::default()).map(drop).map_err(|e| format!("{e:?}"))
    };
    let split = problem("kind = \"tpcc\"\nwarehouses = 2\npartitions = 2").unwrap_err();
    assert!(split.contains("`partitions` is given, and Toybase has one partition"), "{split}");
    let other = problem("kind = \"tpcc\"\ncompat = \"go-tpc\"").unwrap_err();
    assert!(other.contains("which does not know Toybase"), "{other}");
    let settings = format!("{contender}\nserver_settings = {{ a = \"1\" }}");
    let settings = open(folder.path(), &settings, "kind = \"tpcc\"").err().unwrap();
    assert!(settings.contains("Toybase has no server for `server_settings`"), "{settings}");
    let unknown = WithToybase::parse("nobase://h/d").unwrap_err();
    assert!(unknown.help.starts_with("use toybase:, sqlite:, duckdb:, mysql://, "), "{unknown}");
    assert!(AllDatabases::parse("toybase:a.db").is_err());
}
