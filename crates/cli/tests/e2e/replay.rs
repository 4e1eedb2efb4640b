//! `perbuck replay`: published studies through the code that compares and reports trials.

use crate::common::Desk;

const STUDIES: [(&str, &str); 4] = [
    ("tidb-eks-arm-2021", include_str!("../../../../studies/published/tidb-eks-arm-2021.toml")),
    ("tidb-t2a-graviton2-2022", include_str!("../../../../studies/published/tidb-t2a-graviton2-2022.toml")),
    ("mysql-kunpeng-2020", include_str!("../../../../studies/published/mysql-kunpeng-2020.toml")),
    ("tikv-arm64-2019", include_str!("../../../../studies/published/tikv-arm64-2019.toml")),
];

/// The words of an output, however they are wrapped.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn every_published_study_gives_a_report_that_decides_nothing() {
    let desk = Desk::new();
    for (name, text) in STUDIES {
        desk.write("s.toml", text);
        let out = flat(&desk.good(&["replay", "s.toml"]).out);
        assert!(out.contains("A single published value has no interval"), "{name}: {out}");
        let folder = format!("results/{name}-published");
        let (html, markdown) = (desk.read(&format!("{folder}/report.html")), desk.read(&format!("{folder}/report.md")));
        assert!(html.contains("perbuck measured nothing here") && markdown.contains("perbuck measured nothing here"), "{name}");
        assert!(!markdown.contains("▲ better") && !markdown.contains("▼ worse"), "{name}");
        assert!(markdown.contains("by the published values; they have no interval"), "{name}");
        // The same files give the same report.
        desk.good(&["replay", "s.toml", "-o", "again"]);
        assert_eq!(html, desk.read("again/report.html"), "{name}");
    }
}

#[test]
fn the_eks_study_comes_out_as_its_numbers_say() {
    let desk = Desk::new();
    desk.write("s.toml", STUDIES[0].1);
    let out = desk.good(&["replay", "s.toml", "-o", "r"]).out;
    for text in ["$127,048.20", "$150,717.60", "$148,017.60", "$176,014.80", "12,338", "2,654", "r/report.html"] {
        assert!(out.contains(text), "{text}: {out}");
    }
    let markdown = desk.read("r/report.md");
    // Dollars of five years per tpmC, and dollars per million new orders: 2117.468 / (12337.5667 / 60 × 730 × 3600 / 10⁶).
    for text in ["$10.30", "$3.92", "compute and volumes"] {
        assert!(markdown.contains(text), "{text}");
    }
}

#[test]
fn the_kunpeng_study_has_its_twenty_charts() {
    let desk = Desk::new();
    desk.write("s.toml", STUDIES[2].1);
    desk.good(&["replay", "s.toml", "-o", "r"]);
    let html = desk.read("r/report.html");
    let charts = html.split("<div class=\"panels small\">").nth(1).unwrap().split("</figure>").next().unwrap();
    assert_eq!(charts.matches("<svg ").count(), 20);
    assert!(charts.contains("update-non-index@io,zipfian"));
}

#[test]
fn repeats_in_a_csv_file_have_an_interval() {
    let desk = Desk::new();
    desk.write(
        "s.toml",
        "schema = 1\nname = \"mine\"\n[[contender]]\nname = \"a\"\n[[contender]]\nname = \"b\"\n[[workload]]\nname = \"w\"\nkind = \"ours\"\n[results]\n",
    );
    let row = |contender: &str, tps: u32| format!("w,{contender},8,{tps}\n");
    let rows: String = [100, 101, 102, 101].iter().map(|t| row("a", *t) + &row("b", t * 2)).collect();
    desk.write("r.csv", &format!("workload,contender,connections,tps\n{rows}"));
    let out = desk.good(&["replay", "s.toml", "--results", "r.csv"]).out;
    assert!(out.contains("b gives 2.00") && out.contains("better"), "{out}");
    let none = desk.perbuck(&["replay", "s.toml"]);
    assert_eq!(none.code, Some(2), "{none:#?}");
}

/// Logs through the same code: `perbuck import`.
const OLD: &str = include_str!("../../../import/src/tests/logs/sysbench-0.5.log");
const TIUP: &str = include_str!("../../../import/src/tests/logs/tiup-bench.log");

/// A study of imported trials with these lines before its contenders.
fn of_logs(more: &str) -> String {
    format!(
        "schema = 1\nname = \"old\"\nimported = true\n{more}[price]\nsnapshot = \"aws-2021-03\"\nregions = [\"us-west-2\"]\n\
         [[contender]]\nname = \"arm\"\n[[contender.node]]\nrole = \"db\"\ninstance = \"c6g.2xlarge\"\n\
         [[contender]]\nname = \"x86\"\n[[contender.node]]\nrole = \"db\"\ninstance = \"c5.2xlarge\"\n\
         [[workload]]\nname = \"reads\"\nkind = \"sysbench\"\nscript = \"oltp_read_only\"\n\
         [[workload]]\nname = \"orders\"\nkind = \"tpcc\"\nwarehouses = 5000\n"
    )
}

/// The same log with another number of transactions, and a rate that fits.
fn faster(log: &str, by: f64) -> String {
    let count = (2_957_322.0 * by) as u64;
    let rate = format!("{count} ({:.2} per sec.)", count as f64 / 302.0068);
    log.replace("2957322 (9792.23 per sec.)", &rate)
}

#[test]
fn an_old_sysbench_log_and_one_of_tiup_bench_give_a_priced_verdict_in_two_commands() {
    let desk = Desk::new();
    let runs = |by: f64| [1.0, 1.001, 0.999].map(|run| faster(OLD, by * run)).join("\n");
    desk.write("arm.log", &runs(1.1));
    desk.write("x86.log", &runs(1.0));
    desk.write("tiup.log", TIUP);
    let new = ["--new", "--connections", "128", "--snapshot", "aws-2021-03", "--region", "us-west-2"];
    let machines = ["--machine", "arm=c6g.2xlarge", "--machine", "x86=c5.2xlarge"];
    let logs = ["import", "old.toml", "arm=arm.log", "x86=x86.log", "x86=tiup.log"];
    let done = flat(&desk.good(&[&logs[..], &new, &machines].concat()).out);
    for text in [
        "arm/sysbench/c00128/003.json 10760.7 TPS",
        "x86/tpcc/c00128/001.json 33453.0 tpmC",
        "7 trials imported into results/old",
        "imported from sysbench 0.5 log; not known: warm-up, date, server version",
        "connections (given by hand)",
    ] {
        assert!(done.contains(text), "{text}: {done}");
    }
    desk.good(&["report", "results/old"]);
    let report = desk.read("results/old/report.md");
    for text in ["better", "x86.log:15", "approx. 95 percentile 19.77ms", "perbuck measured none of them", "Welch's"] {
        assert!(report.contains(text), "{text}: {report}");
    }
    assert!(!report.contains("1970") && !report.contains("incomplete"), "{report}");
    // No log has a histogram, so no point has a percentile.
    let compared: serde_json::Value = serde_json::from_str(&desk.good(&["compare", "results/old", "--json"]).out).unwrap();
    let sysbench = &compared["workloads"][0];
    assert!(sysbench["points"].as_array().unwrap().iter().all(|p| p["latency"]["max_ns"] == 0), "{sysbench}");
    let money = &sysbench["contenders"].as_array().unwrap().iter().find(|c| c["contender"] == "x86").unwrap()["price"][0];
    assert!(money["value_for_money"]["ratio"]["interval"]["high"].as_f64().unwrap() < 0.9, "arm is cheaper and faster: {money}");
    desk.good(&["verify", "results/old"]);
}

#[test]
fn what_perbuck_sysbench_prints_is_imported_with_the_counters_of_its_record() {
    let desk = Desk::new();
    let line = ["sysbench", "--db-driver=sqlite", "--tables=1", "--table-size=500", "oltp_read_write"];
    let run = |words: &[&str]| {
        let ran = desk.perbuck(&[&line[..], words].concat());
        assert_eq!(ran.code, Some(0), "{ran:#?}");
        ran.out
    };
    run(&["prepare"]);
    let log = run(&["--time=3", "--report-interval=1", "--histogram", "--results=own", "run"]);
    desk.write("a.log", &log);
    desk.write("s.toml", &of_logs(""));
    desk.good(&["import", "s.toml", "arm=a.log"]);
    let folder = std::fs::read_dir(desk.path("own")).unwrap().next().unwrap().unwrap().path();
    let (own, read) = (&desk.records(folder.to_str().unwrap())[0], &desk.records("results/old")[0]);
    let (mine, theirs) = (&own.measured.transactions["oltp_read_write"], &read.measured.transactions["transaction"]);
    assert_eq!((mine.committed, mine.service.count), (theirs.committed, theirs.service.count), "{log}");
    let statements = |r: &perbuck_core::run_record::RunRecord| {
        let s = &r.measured.statements;
        (s.read, s.write, s.other, r.measured.retries)
    };
    assert_eq!(statements(own), statements(read), "{log}");
    let close = |a: u64, b: u64| (a as f64 / b as f64 - 1.0).abs() < 0.001;
    assert!(close(own.measured.window_ns, read.measured.window_ns), "{log}");
    assert!(close(mine.service.max_ns, theirs.service.max_ns) || mine.service.max_ns.abs_diff(theirs.service.max_ns) < 10_000);
    assert!(read.intervals.len() >= 2, "{log}");
    assert_eq!(read.imported.as_ref().unwrap().tool, "perbuck sysbench");
}

#[test]
fn a_log_that_does_not_fit_its_study_is_refused_and_nothing_is_written() {
    let desk = Desk::new();
    desk.write("old.log", OLD);
    desk.write("cut.log", OLD.split("General statistics").next().unwrap());
    desk.write("tiup.log", TIUP);
    desk.write("none.log", "no log at all\n");
    desk.write("s.toml", &of_logs(""));
    desk.write("points.toml", &(of_logs("") + "[sweep]\nconnections = [16, 64]\n"));
    desk.write("measured.toml", &of_logs("").replace("imported = true\n", ""));
    desk.write("sweep.toml", &(of_logs("") + "[sweep]\nwarmup = \"1s\"\n"));
    desk.write("target.toml", &of_logs("").replace("name = \"arm\"\n", "name = \"arm\"\ntarget = \"sqlite:a.db\"\n"));
    for (words, code, says) in [
        (&["s.toml", "arm=cut.log"][..], 2, "cut.log: line 3: a run of sysbench begins here, and it has no `total time`"),
        (&["s.toml", "arm=none.log"], 2, "none.log: no log is recognised in it"),
        (&["s.toml", "arm=missing.log"], 5, "cannot read the log missing.log"),
        (&["s.toml", "sparc=old.log"], 2, "the study has no contender `sparc`"),
        (&["s.toml", "arm/orders=old.log"], 2, "workload `orders` has the kind \"tpcc\""),
        (&["s.toml", "arm=tiup.log"], 2, "does not say how many connections"),
        (&["s.toml", "arm=old.log", "--connections", "64"], 2, "the log says 128 connections, and --connections says 64"),
        (&["points.toml", "arm=old.log"], 2, "`sweep.connections` of the study has 16, 64"),
        (&["measured.toml", "arm=old.log"], 2, "has no `imported = true`"),
        (&["sweep.toml", "arm=old.log"], 2, "`sweep.warmup` in a study with `imported = true`"),
        (&["target.toml", "arm=old.log"], 2, "has a target or a server"),
        (&["s.toml", "arm=old.log", "x86=old.log"], 4, "this run is there already, as arm/reads/c00128/001.json"),
        (&["s.toml", "--new", "arm=old.log"], 4, "s.toml is there already"),
        (&["s.toml", "arm"], 2, "write CONTENDER=LOG"),
    ] {
        let refused = desk.perbuck(&[&["import"], words].concat());
        assert!(refused.code == Some(code) && refused.err.contains(says), "{says}: {refused:#?}");
    }
    assert!(!desk.path("results").exists());
    desk.good(&["import", "s.toml", "arm=old.log"]);
    let second = desk.perbuck(&["import", "s.toml", "arm=old.log"]);
    assert!(second.code == Some(4) && second.err.contains("this run is there already"), "{second:#?}");
    // A contender may come later, and perbuck does not measure beside logs.
    desk.write("new.log", &faster(OLD, 0.5));
    desk.good(&["import", "s.toml", "x86=new.log"]);
    assert_eq!(desk.records("results/old").len(), 2);
    let run = desk.perbuck(&["run", "s.toml"]);
    assert!(run.code == Some(2) && run.err.contains("is a study of imported trials"), "{run:#?}");
    assert!(desk.good(&["check", "s.toml"]).out.contains("`perbuck import` reads their logs"));
}
