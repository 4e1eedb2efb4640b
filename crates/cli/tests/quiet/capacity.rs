//! The search for the capacity end to end on SQLite files. What a machine can do is its own affair: the tests hold that
//! the result follows from the records, that nothing is measured twice, and that the study's own trials are left alone.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::SystemTime;

use crate::common::{Desk, QUICK, edited, ended, files, nothing_half_written, signal, wait_until};
use perbuck_core::capacity::{CapacityResult, CapacityRule, Search, Step};
use perbuck_core::run_record::RunRecord;
use serde_json::Value;

/// A search of few seconds: rates from 200/s to 1600/s in windows of 300 ms.
const SEARCH: [&str; 13] = [
    "capacity",
    "study.toml",
    "--at-most=5ms",
    "--percentile=95",
    "--from=200",
    "--to=1600",
    "--resolution=0.5",
    "--repeats=2",
    "--connections=2",
    "--warmup=100ms",
    "--duration=300ms",
    "--arrivals=uniform",
    "--json",
];

/// The study with a workload that only reads, of one short trial.
fn points() -> String {
    edited(&[QUICK[0], QUICK[1], QUICK[2], ("table_size = 1000", "table_size = 1000\nscript = \"oltp_point_select\"")])
}

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    SEARCH.iter().copied().chain(more.iter().copied()).collect()
}

/// Runs a search: code 0 where every contender kept the objective at some rate, else 1.
fn searched(desk: &Desk, more: &[&str]) -> Vec<Value> {
    let ended = desk.perbuck(&with(more));
    let found: Vec<Value> = serde_json::from_str(&ended.out).unwrap_or_else(|e| panic!("{e}: {ended:#?}"));
    let all = found.iter().all(|f| !f["result"]["capacity_per_s"].is_null());
    assert_eq!(ended.code, Some(i32::from(!all)), "{ended:#?}");
    found
}

/// Every JSON file of all searches with its bytes and time.
fn seen(desk: &Desk) -> BTreeMap<PathBuf, (String, SystemTime)> {
    let mut paths = Vec::new();
    if desk.path("results/small/capacity").exists() {
        files(&desk.path("results/small/capacity"), &mut paths);
    }
    let look = |p: PathBuf| {
        let state = (std::fs::read_to_string(&p).unwrap(), p.metadata().unwrap().modified().unwrap());
        (p, state)
    };
    paths.into_iter().filter(|p| p.extension().is_some_and(|e| e == "json")).map(look).collect()
}

fn is_result(path: &Path) -> bool {
    path.ends_with("capacity.json")
}

/// The records of one contender by (rate, repeat).
fn records(desk: &Desk, contender: &str) -> BTreeMap<(u32, u32), RunRecord> {
    let read = |(_, (text, _)): (PathBuf, (String, SystemTime))| RunRecord::from_json(&text).unwrap();
    let all = seen(desk).into_iter().filter(|(path, _)| !is_result(path)).map(read);
    all.filter(|r| r.key.contender == contender).map(|r| ((r.key.rate_per_s.unwrap(), r.key.trial), r)).collect()
}

/// The search over the trials of a result gives that result, and each of them is what its record says.
fn follows_from_its_records(found: &Value, records: &BTreeMap<(u32, u32), RunRecord>) {
    let rule: CapacityRule = serde_json::from_value(found["rule"].clone()).unwrap();
    let result: CapacityResult = serde_json::from_value(found["result"].clone()).unwrap();
    let mut search = Search::new(rule.clone()).unwrap();
    for (position, probe) in result.probes.iter().enumerate() {
        search.tell(*probe).unwrap();
        let record = &records[&(probe.rate_per_s, probe.repeat)];
        assert_eq!(record.position as usize, position);
        assert_eq!(probe.response_ns, record.latency().unwrap().percentile_ns(rule.percentile));
        let open = record.measured.open_loop.as_ref().unwrap();
        let ended: u64 = record.measured.transactions.values().map(|t| t.committed + t.rolled_back).sum();
        assert_eq!(probe.offered, open.offered);
        assert_eq!(probe.completed, ended);
        assert!(probe.young <= open.unfinished.count, "{probe:?}");
        assert_eq!((record.load.model.as_str(), record.load.connections), ("open", 2));
        assert_eq!((record.load.warmup_ns, record.load.duration_ns), (100_000_000, 300_000_000));
    }
    assert_eq!(search.next(), Step::Done(result.clone()));
    assert_eq!(records.len(), result.probes.len(), "each trial has a record, and no other trial was run");
    assert_eq!(found["sentence"], result.sentence());
}

#[test]
fn a_capacity_follows_from_records_that_are_on_disk() {
    let desk = Desk::new();
    desk.write("study.toml", &points());
    let found = searched(&desk, &[]);
    assert_eq!(found.len(), 2);
    let (full, off) = (records(&desk, "full"), records(&desk, "off"));
    follows_from_its_records(&found[0], &full);
    follows_from_its_records(&found[1], &off);
    assert_eq!((&found[0]["contender"], &found[1]["contender"]), (&"full".into(), &"off".into()));
    assert_eq!((&found[0]["study"], &found[0]["objective"]), (&"small".into(), &"p95 at most 5.00 ms".into()));
    let shared = full.iter().filter_map(|(k, r)| off.get(k).map(|o| (r, o)));
    assert!(shared.clone().count() > 0 && shared.clone().all(|(f, o)| f.trial_seed == o.trial_seed), "the same work for all");
    let seeds: BTreeSet<u64> = full.values().map(|r| r.trial_seed.0).collect();
    assert_eq!(seeds.len(), full.len(), "another seed for each trial");

    let files = seen(&desk);
    let stored: Vec<Value> =
        files.iter().filter(|(p, _)| is_result(p)).map(|(_, (t, _))| serde_json::from_str(t).unwrap()).collect();
    assert_eq!(stored, found, "what is printed is what is written");
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema/capacity.schema.json");
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(schema).unwrap()).unwrap();
    let published: BTreeSet<&str> = schema["required"].as_array().unwrap().iter().map(|n| n.as_str().unwrap()).collect();
    let written: BTreeSet<&str> = found[0].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(published, written, "the published schema names the fields that are written");

    let rerun = desk.perbuck(&with(&[]));
    assert_eq!(serde_json::from_str::<Vec<Value>>(&rerun.out).unwrap(), found);
    assert!(rerun.err.contains("trials are on disk; the search is over") && !rerun.err.contains(" hold"), "{rerun:#?}");
    assert_eq!(seen(&desk), files, "nothing was run or written");
    let said = desk.perbuck(&SEARCH[..12]).out;
    for part in ["Capacity of small with p95 at most 5.00 ms", "full", "Bracket", "of 2 (", "open loop, uniform arrivals"] {
        assert!(said.contains(part), "{part} is missing in {said}");
    }
    // Another rule is another search, which leaves this one alone.
    let other: Vec<&str> = SEARCH.iter().map(|a| if *a == "--repeats=2" { "--repeats=1" } else { a }).collect();
    desk.perbuck(&other);
    let now = seen(&desk);
    assert!(now.len() > files.len() && files.iter().all(|(path, state)| now.get(path) == Some(state)));
}

#[test]
fn a_search_that_was_broken_off_goes_on_where_it_was() {
    let desk = Desk::new();
    desk.write("study.toml", &points());
    let child = desk.command(&with(&["--contender", "off"])).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("two trials are on disk", || seen(&desk).len() >= 2);
    signal(&child, "INT");
    let broken = ended(child.wait_with_output().unwrap());
    assert_eq!(broken.code, Some(130), "{broken:#?}");
    assert!(
        broken.err.contains("finished trials are kept") && broken.err.contains("off · rw · 200/s · trial 1: "),
        "{broken:#?}"
    );
    let before = seen(&desk);
    assert!(!before.keys().any(|p| is_result(p)), "no result of an unfinished search");
    nothing_half_written(&desk.path("results"));

    let found = searched(&desk, &["--contender", "off"]);
    follows_from_its_records(&found[0], &records(&desk, "off"));
    let whole = seen(&desk);
    assert!(before.iter().all(|(path, state)| whole.get(path) == Some(state)), "finished trials are untouched");

    // The last trial is measured again where its record is gone, and the result is written again.
    let last = records(&desk, "off").into_values().max_by_key(|r| r.position).unwrap();
    let (path, _) = whole.iter().find(|(_, (text, _))| *text == last.to_json().unwrap()).unwrap();
    std::fs::remove_file(path).unwrap();
    let found = searched(&desk, &["--contender", "off"]);
    follows_from_its_records(&found[0], &records(&desk, "off"));
    assert!(path.exists());

    // A record in the place of another one, and one that is damaged.
    std::fs::write(path, &before.values().next().unwrap().0).unwrap();
    let moved = desk.perbuck(&with(&["--contender", "off"]));
    assert_eq!(moved.code, Some(5), "{moved:#?}");
    assert!(
        moved.err.contains("holds the record of another trial")
            && moved.err.contains("help: rename each record to its own name, or remove it"),
        "{moved:#?}"
    );
    std::fs::write(path, "{ \"schema\": 1, \"perb").unwrap();
    let torn = desk.perbuck(&with(&["--contender", "off"]));
    assert_eq!(torn.code, Some(5), "{torn:#?}");
    assert!(torn.err.contains(path.file_name().unwrap().to_str().unwrap()) && torn.err.contains("is no run record"), "{torn:#?}");
}

#[test]
fn a_study_is_compared_as_if_nothing_had_been_searched() {
    let desk = Desk::new();
    // Even a contender that is named like the folder of the searches keeps its trials.
    let study = points().replace("\"off\"", "\"capacity\"");
    desk.write("study.toml", &study);
    desk.good(&["run", "study.toml"]);
    let compared = desk.good(&["compare", "--json", "results/small"]).out;
    assert!(compared.contains("\"found\": 2"), "{compared}");
    // What the trials are compared with stays too, although the study has another margin by now.
    desk.write("study.toml", &(study.clone() + "[decision]\nmargin = 0.2\n"));
    assert_eq!(searched(&desk, &[]).len(), 2);
    assert!(desk.path("results/small/capacity/capacity/rw").is_dir());
    assert_eq!(desk.good(&["compare", "--json", "results/small"]).out, compared);
    assert!(desk.good(&["report", "results/small"]).out.contains("report.html"));
    desk.write("study.toml", &study);
    let ran = desk.good(&["run", "--json", "study.toml"]);
    assert!(ran.err.contains("all 2 trials are on disk") && ran.out == compared, "{ran:#?}");

    // A study that measures something else is not mixed in, not even by a search.
    desk.write("study.toml", &study.replace("table_size = 1000", "table_size = 900"));
    let refused = desk.perbuck(&with(&[]));
    assert_eq!(refused.code, Some(4), "{refused:#?}");
    assert!(refused.err.contains("holds trials of another version of this study"), "{refused:#?}");
}

#[test]
fn a_search_is_no_trial_of_the_study() {
    let desk = Desk::new();
    desk.write("study.toml", &points());
    searched(&desk, &["--contender", "full"]);
    let empty = desk.perbuck(&["compare", "results/small"]);
    assert_eq!(empty.code, Some(1), "{empty:#?}");
    assert!(empty.err.contains("results/small holds no trial yet"), "{empty:#?}");
    desk.good(&["run", "study.toml"]);
    let compared: Value = serde_json::from_str(&desk.good(&["compare", "--json", "results/small"]).out).unwrap();
    assert_eq!((&compared["planned"], &compared["found"]), (&2.into(), &2.into()));
}

#[test]
fn where_even_the_lowest_rate_breaks_the_objective_the_way_out_is_named() {
    let desk = Desk::new();
    desk.write("study.toml", &(points() + "[decision]\nslo = { percentile = 50, at_most = \"1ns\" }\n"));
    // Nothing answers within a nanosecond. A window of a second has too few transactions at 1/s, so 10/s is the last.
    let arguments = ["capacity", "study.toml", "--contender=full", "--duration=1s", "--repeats=1"];
    let failed = desk.perbuck(&arguments);
    assert_eq!(failed.code, Some(1), "{failed:#?}");
    let says = [
        "full, rw: 100/s breaks the objective; beginning again at 10/s",
        "perbuck: even the lowest rate breaks the objective p50 at most 1 ns: full, rw at 10/s",
        "help: ask for less with --at-most or --percentile",
    ];
    assert!(says.iter().all(|part| failed.err.contains(part)), "{failed:#?}");
    assert!(failed.out.contains("< 10/s") && failed.out.contains("broken in 1 of 1 trial at 10/s"), "{failed:#?}");
    let rerun = desk.perbuck(&arguments);
    assert_eq!((rerun.code, rerun.out), (Some(1), failed.out));
    assert!(rerun.err.contains("1 trial is on disk; the search is over"), "{}", rerun.err);
    let lower = desk.perbuck(&[&arguments[..], &["--from=50"]].concat());
    assert!(lower.code == Some(1) && lower.err.contains("full, rw at 50/s"), "{lower:#?}");
}

#[test]
fn data_are_kept_between_trials_unless_the_workload_wants_them_fresh() {
    for (reset, data) in [("per-trial", "reloaded"), ("per-block", "kept")] {
        let desk = Desk::new();
        desk.write("study.toml", &edited(&[("table_size = 1000", &format!("table_size = 100\nreset = \"{reset}\""))]));
        let rates = ["--contender=full", "--workload=rw"];
        let found = searched(&desk, &rates);
        let records = records(&desk, "full");
        follows_from_its_records(&found[0], &records);
        let mut in_order: Vec<&RunRecord> = records.values().collect();
        in_order.sort_by_key(|r| r.position);
        assert_eq!(in_order[0].workload.data, "kept", "fresh data need no reload");
        assert!(in_order[1..].iter().all(|r| r.workload.data == data), "{reset}");
    }
}

#[test]
fn wrong_inputs_are_named_and_nothing_is_begun() {
    let desk = Desk::new();
    let untargeted = points().replace("target = \"sqlite:off.db?synchronous=OFF\"\n", "");
    desk.write("study.toml", &untargeted);
    let objective = ["--percentile=99", "--at-most=20ms"];
    let cases: [(&[&str], &[&str]); 14] = [
        (&[], &["neither the command line nor the study", "--percentile 99 --at-most 20ms", "`[decision]` in study.toml"]),
        (&objective[..1], &["--percentile is given, but not --at-most"]),
        (&objective[1..], &["--at-most is given, but not --percentile"]),
        (&["--percentile=99", "--at-most=20"], &["--at-most", "`20` has no unit"]),
        (&["--percentile=0", "--at-most=20ms"], &["the percentile 0 is not above 0", "help: mend --percentile"]),
        (&["--percentile=99", "--at-most=0ms"], &["no response takes 0 ns"]),
        (&[objective[0], objective[1], "--resolution=0"], &["the resolution 0 is not above 0"]),
        (&[objective[0], objective[1], "--from=200", "--to=100"], &["the highest rate of 100/s is below the lowest of 200/s"]),
        (&[objective[0], objective[1], "--from=5"], &["--from: at 5/s fewer than 10 transactions", "--duration"]),
        (&[objective[0], objective[1], "--to=5"], &["--to: at 5/s fewer than 10 transactions"]),
        (&[objective[0], objective[1], "--duration=1ms"], &["--duration 1.00 ms is too short", "at least 100ms"]),
        (&[objective[0], objective[1], "--contender=ful"], &["study.toml has no contender `ful`", "did you mean `full`?"]),
        (&[objective[0], objective[1], "--workload=x"], &["study.toml has no workload `x`", "its workloads are: rw"]),
        (
            &[objective[0], objective[1], "--contender=off"],
            &["study.toml:12: contender `off` has no target", "help: add `target"],
        ),
    ];
    for (arguments, says) in cases {
        let ended = desk.perbuck(&[&["capacity", "study.toml"], arguments].concat());
        assert_eq!(ended.code, Some(2), "{ended:#?}");
        assert!(says.iter().all(|part| ended.err.contains(part)), "{says:?} in {ended:#?}");
    }
    let mut left = Vec::new();
    files(&desk.path("."), &mut left);
    assert_eq!(left, [desk.path("./study.toml")], "no folder, no database");
    // A contender that is only priced is skipped unless the command names it.
    assert_eq!(searched(&desk, &[]).len(), 1);
}

#[test]
fn workloads_with_other_windows_are_not_searched_in_one_of_them() {
    let desk = Desk::new();
    let own = points().replace("script = \"oltp_point_select\"", "script = \"oltp_point_select\"\nduration = \"7s\"");
    assert!(own.contains("7s"), "{own}");
    let second =
        "[[workload]]\nname = \"other\"\nkind = \"sysbench\"\nscript = \"oltp_read_only\"\ndatabase = \"other\"\n\n[sweep]";
    desk.write("study.toml", &own.replace("[sweep]", second));
    let refused = desk.perbuck(&["capacity", "study.toml", "--at-most=5ms", "--percentile=95"]);
    let says = "differ in `duration`";
    assert!(refused.code == Some(2) && refused.err.contains(says) && refused.err.contains("give --duration"), "{refused:#?}");
}

#[test]
fn a_demand_is_priced_from_init_to_the_sentence_that_answers_it() {
    let desk = Desk::new();
    let targets = ["--target=sqlite:a.db", "--target=sqlite:b.db", "--instance=m7g.large", "--instance=m7g.xlarge"];
    desk.good(
        &[&["init", "wanted.toml", "--template=sizing", "--snapshot=aws-2026-07", "--region=us-east-1"][..], &targets].concat(),
    );
    let small = desk.read("wanted.toml").replace("table_size = 25_000", "table_size = 100");
    desk.write("wanted.toml", &small);
    // The objective is the template's own but for its length.
    let search = ["capacity", "wanted.toml", "--at-most=2s", "--to=400", "--resolution=0.5", "--repeats=1"];
    let short = ["--connections=2", "--warmup=100ms", "--duration=300ms", "--demand=1000"];
    let arguments = [&search[..], &short].concat();
    let ended = desk.perbuck(&[&arguments[..], &["--json"]].concat());
    let found: Value = serde_json::from_str(&ended.out).unwrap_or_else(|e| panic!("{e}: {ended:#?}"));
    let bills: Vec<Value> = serde_json::from_str(&desk.good(&["price", "wanted.toml", "--json"]).out).unwrap();
    let sizing = &found["sizing"][0];
    assert_eq!((&sizing["demand_per_s"], &sizing["region"]), (&1000.into(), &"us-east-1".into()));
    assert_eq!((found["sizing"].as_array().unwrap().len(), found["searches"].as_array().unwrap().len()), (1, 2));
    for (i, sized) in sizing["contenders"].as_array().unwrap().iter().enumerate() {
        let lines = bills[i]["lines"].as_array().unwrap();
        let monthly: i64 = lines.iter().map(|line| line["monthly"].as_i64().unwrap()).sum();
        assert_eq!((&sized["contender"], &sized["monthly"]), (&found["searches"][i]["contender"], &monthly.into()));
        let Some(capacity) = found["searches"][i]["result"]["capacity_per_s"].as_i64() else { continue };
        let count = (1000 + capacity - 1) / capacity;
        assert_eq!((&sized["needed"]["count"], &sized["needed"]["monthly"]), (&count.into(), &(count * monthly).into()));
    }

    let said = desk.perbuck(&arguments);
    assert_eq!(said.code, ended.code, "{said:#?}");
    let text = said.out.replace("\n  ", " ");
    let sentence = "read-write in us-east-1: 1,000 TPS with p99 at most 2 s cost ";
    assert!(text.contains(sentence) && text.contains(" on small ") && text.contains(" on large "), "{text}");
    assert!(text.contains("What 1,000 TPS of read-write cost in us-east-1") && text.contains("no reserve"), "{text}");
    for page in ["sizing.html", "sizing.md"] {
        let shown = desk.read(&format!("results/wanted/{page}")).replace('\\', "");
        assert!(shown.contains(sentence) && shown.contains("has no reserve"), "{page}: {shown}");
    }
    // What is on disk is not run again, and a study without prices has no cost.
    let count = || {
        let mut found = Vec::new();
        files(&desk.path("results/wanted/capacity"), &mut found);
        found.len()
    };
    let before = count();
    desk.perbuck(&arguments);
    assert_eq!(count(), before);
    let price = small.find("[price]").unwrap()..small.find("[[contender]]").unwrap();
    desk.write("bare.toml", &small.replace(&small[price], "").replace("name = \"wanted\"", "name = \"bare\""));
    let refused = desk.perbuck(&["capacity", "bare.toml", "--demand=1000"]);
    assert_eq!(refused.code, Some(2), "{refused:#?}");
    assert!(
        refused.err.contains("--demand: bare.toml names no prices") && refused.err.contains("add a `[price]` table"),
        "{refused:#?}"
    );
}
