//! `perbuck replay`: published studies through the code that compares and reports trials.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod common;

use common::Desk;

const STUDIES: [(&str, &str); 4] = [
    ("tidb-eks-arm-2021", include_str!("../../../studies/published/tidb-eks-arm-2021.toml")),
    ("tidb-t2a-graviton2-2022", include_str!("../../../studies/published/tidb-t2a-graviton2-2022.toml")),
    ("mysql-kunpeng-2020", include_str!("../../../studies/published/mysql-kunpeng-2020.toml")),
    ("tikv-arm64-2019", include_str!("../../../studies/published/tikv-arm64-2019.toml")),
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
    assert!(charts.contains("zipfian-io-update-non-index"));
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
