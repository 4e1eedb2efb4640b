//! What a study declares of its machines against what its servers say, on real servers.

use crate::common::maria::Maria;
use crate::common::postgres::Postgres;
use crate::common::{Desk, QUICK, edited};

/// The architecture that this machine does not have, with an instance of it, and the one that it has.
fn other() -> (&'static str, &'static str, &'static str) {
    match std::env::consts::ARCH {
        "x86_64" => ("aarch64", "m7g.large", "x86_64"),
        own => ("x86_64", "m7i.large", own),
    }
}

/// A study of one contender with these lines, and these at its top.
fn study(url: &str, top: &str, lines: &str) -> String {
    format!(
        "schema = 1\nname = \"s\"\n{top}\n[price]\nsnapshot = \"aws-2026-07\"\nregions = [\"us-east-1\"]\n\
         [[contender]]\nname = \"m\"\ntarget = \"{url}\"\n{lines}\n\
         [[workload]]\nname = \"w\"\nkind = \"sysbench\"\ntable_size = 1000\n\
         [sweep]\nconnections = [2]\nwarmup = \"100ms\"\nduration = \"500ms\"\ntrials = 1\n"
    )
}

/// Runs a study that declares the other architecture; `tables` lists those of its database.
fn refused_unless_notional(desk: &Desk, url: &str, source: &str, tables: &dyn Fn() -> String) {
    let (arch, instance, own) = other();
    let declared = format!("arch = \"{arch}\"\nnode = [{{ role = \"db\", instance = \"{instance}\" }}]");
    desk.write("declared.toml", &study(url, "", &declared));
    let refused = desk.perbuck(&["run", "declared.toml"]);
    assert_eq!(refused.code, Some(7), "{refused:#?}");
    for words in [&format!("m: declared as {instance} ({arch}, "), &format!("run on {own} (by {source})"), "`notional = true`"] {
        assert!(refused.err.contains(words), "{words}: {}", refused.err);
    }
    assert_eq!(tables().trim(), "", "nothing is loaded before it is refused");
    // By `arch` alone, too.
    desk.write("stated.toml", &study(url, "", &format!("arch = \"{arch}\"")));
    assert_eq!(desk.perbuck(&["run", "stated.toml"]).code, Some(7));

    desk.write("notional.toml", &study(url, "notional = true", &declared));
    let notional = desk.good(&["run", "notional.toml"]);
    assert!(notional.out.contains(&format!("\n! notional: declared as {instance} ({arch}, ")), "{}", notional.out);
    let record = desk.records("results/s").remove(0);
    let told = record.target.observed.iter().find(|o| o.source == source);
    assert_eq!(told.and_then(|o| o.arch.as_deref()), Some(own), "{:?}", record.target.observed);
    let json: serde_json::Value = serde_json::from_str(&desk.good(&["compare", "results/s", "--json"]).out).unwrap();
    assert!(json["remarks"][0]["text"].as_str().unwrap().starts_with("notional: declared as"), "{json}");
    desk.good(&["report", "results/s"]);
    for page in ["results/s/report.html", "results/s/report.md"] {
        assert!(desk.read(page).contains("notional: declared as"), "{page}");
    }
    desk.good(&["verify", "results/s/report.html"]);

    // Trials on disk meet the same rule, and so do records without the fact: they are read as before.
    for command in ["compare", "report"] {
        let refused = desk.perbuck(&[command, "results/s", "--study", "declared.toml"]);
        assert!(refused.code == Some(7) && refused.err.contains("1 trials, the first is `m/w/c00002/001.json`"), "{refused:#?}");
    }
    desk.write("own.toml", &study(url, "", &format!("arch = \"{own}\"")));
    let right = desk.good(&["compare", "results/s", "--study", "own.toml"]);
    assert!(!right.out.contains("declared as"), "{}", right.out);
    let mut old = record;
    old.target.observed.clear();
    desk.write("results/s/m/w/c00002/001.json", &old.to_json().unwrap());
    desk.good(&["compare", "results/s", "--study", "declared.toml"]);
}

#[test]
fn mariadb_on_another_architecture_than_declared_gets_no_verdict() {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "declared_machines");
    refused_unless_notional(&desk, &maria.url(), "@@version_compile_machine", &|| maria.sql("SHOW TABLES"));
}

#[test]
fn postgres_on_another_architecture_than_declared_gets_no_verdict() {
    let mut desk = Desk::new();
    let postgres = Postgres::fresh(&mut desk, "declared_machines");
    let tables = || postgres.sql("SELECT relname FROM pg_stat_user_tables");
    refused_unless_notional(&desk, &postgres.url(), "SELECT version()", &tables);
}

#[test]
fn sqlite_runs_on_this_machine_whatever_is_declared() {
    let desk = Desk::new();
    let text = edited(&QUICK);
    desk.write("s.toml", &text.replace("notional = true\n", ""));
    let refused = desk.perbuck(&["run", "s.toml"]);
    assert_eq!(refused.code, Some(7), "{refused:#?}");
    assert!(refused.err.contains("(by the client's machine)") && !desk.path("results/small/full").exists(), "{}", refused.err);
    // A study that declares no machine has nothing to contradict.
    let (_, unpriced) = text.split_once("[[contender]]").unwrap();
    let bare: String = unpriced.lines().filter(|l| !l.starts_with("node")).map(|l| format!("{l}\n")).collect();
    desk.write("bare.toml", &format!("schema = 1\nname = \"bare\"\n[[contender]]\n{bare}"));
    desk.good(&["run", "bare.toml"]);
}

#[test]
fn check_refuses_an_architecture_that_the_instance_does_not_have() {
    let desk = Desk::new();
    let text = edited(&[("name = \"off\"", "name = \"off\"\narch = \"arm64\"")]);
    desk.write("s.toml", &text);
    let refused = desk.perbuck(&["check", "s.toml"]);
    let line = text.lines().position(|l| l.contains("m7i.large")).unwrap() + 1;
    let words = format!("s.toml:{line}: contender `off`: `arch` is aarch64, and `m7i.large` is x86_64, 2 vCPU, 8 GiB");
    assert!(refused.code == Some(2) && refused.err.contains(&words), "{refused:#?}");
    // The client is not one of its machines.
    let client = text.replace("instance = \"m7i.large\"", "instance = \"m7i.large\", priced = false");
    desk.write("s.toml", &client);
    desk.good(&["check", "s.toml"]);
}
