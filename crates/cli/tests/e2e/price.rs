//! `perbuck price` on the study of the 2021 article about TiDB on EKS: every monthly and five-year total that it printed.

use crate::common::Desk;

/// The study that repeats the article, with the article beside it.
fn eks(desk: &Desk) -> std::path::PathBuf {
    let article = "tidb-eks-arm-2021.toml";
    desk.write(&format!("published/{article}"), include_str!("../../../../studies/published/tidb-eks-arm-2021.toml"));
    desk.write("eks.toml", include_str!("../../../../studies/tidb-eks-arm-2021.toml"))
}

#[test]
fn every_published_total_appears() {
    let desk = Desk::new();
    let study = eks(&desk);
    let out = desk.good(&["price", &study.display().to_string()]).out;
    for total in ["$2,117.47", "$2,511.96", "$2,466.96", "$2,933.58", "$127,048.20", "$150,717.60", "$148,017.60", "$176,014.80"]
    {
        assert!(out.contains(total), "{total}: {out}");
    }
    let json: serde_json::Value = serde_json::from_str(&desk.good(&["price", "--json", "eks.toml"]).out).unwrap();
    let bills = json.as_array().unwrap();
    assert_eq!(bills.len(), 4);
    let arm = &bills[0];
    let sum: i64 =
        arm["lines"].as_array().unwrap().iter().filter(|l| l["priced"] == true).map(|l| l["monthly"].as_i64().unwrap()).sum();
    // Micro-dollars, exact: the article's 2117.47 is 2117.468.
    assert_eq!((arm["contender"].as_str(), sum), (Some("arm"), 2_117_468_000));
}

#[test]
fn the_diagram_is_written_beside_the_bills() {
    let desk = Desk::new();
    eks(&desk);
    let out = desk.good(&["price", "eks.toml", "--diagram", "system.svg"]).out;
    assert!(out.contains("$2,117.47"), "{out}");
    let picture = desk.read("system.svg");
    for words in [
        "Arm (Graviton2)",
        "3 × r6g.2xlarge",
        "8 vCPU, 64 GiB each",
        "1,000 GB, gp2",
        "daily snapshots",
        "us-west-2 and ap-southeast-1",
    ] {
        assert!(picture.contains(words), "{words}: {picture}");
    }
}
