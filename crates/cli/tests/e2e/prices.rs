//! `perbuck prices`: what it shows, what its lint finds, and lists of every format that become prices of a study.

use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::common::{Desk, Ended, wait_until};
use serde_json::Value;

/// A list of our own with four planted errors and one row that says itself that it is disputed.
const PLANTED: &str = r#"schema = 1
name = "planted"
provider = "azure"
as_of = "2026-11-01"
currency = "USD"
capacity_unit = "GiB"
[sources]
us = "a list made up for this test"
[[family]]
name = "c6g"
arch = "aarch64"
cpu = "Graviton2"
size = [
  { type = "c6g.large", vcpu = 2, memory_gib = 4 },
  { type = "c6g.xlarge", vcpu = 4, memory_gib = 8 },
  { type = "c6g.2xlarge", vcpu = 8, memory_gib = 16 },
]
[[family]]
name = "Standard_E*as_v5"
arch = "x86_64"
cpu = "EPYC"
size = [{ type = "Standard_E8as_v5", vcpu = 8, memory_gib = 64 }]
[[family]]
name = "Standard_E*s_v5"
arch = "x86_64"
cpu = "Xeon"
size = [{ type = "Standard_E8s_v5", vcpu = 8, memory_gib = 64 }]
[[region]]
name = "here"
date = "2026-11-01"
source = "us"
instance = [
  { type = "c6g.large", usd_per_hour = 0.0721 },
  { type = "c6g.xlarge", usd_per_hour = 0.136 },
  { type = "c6g.2xlarge", usd_per_hour = 0.2 },
  { type = "Standard_E8as_v5", usd_per_hour = 0.82 },
  { type = "Standard_E8s_v5", usd_per_hour = 0.504, disputed_usd = 0.51 },
]
"#;

fn failed(desk: &Desk, arguments: &[&str], code: i32) -> Ended {
    let ended = desk.perbuck(arguments);
    assert_eq!(ended.code, Some(code), "{arguments:?}: {ended:#?}");
    ended
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

#[test]
fn every_planted_error_is_told_with_file_line_and_row() {
    let desk = Desk::new();
    desk.write("planted.toml", PLANTED);
    let ended = failed(&desk, &["prices", "lint", "planted.toml"], 1);
    let told: Vec<&str> = ended.out.lines().collect();
    assert_eq!(told.len(), 4, "{ended:#?}");
    assert!(
        told[0].starts_with("planted.toml:33: fault (dedicated): here `c6g.large` at $0.0721") && told[0].contains("1.06 twin"),
        "{told:?}"
    );
    assert!(told[1].starts_with("planted.toml:35: fault (not-linear): here `c6g.2xlarge` at $0.20"), "{told:?}");
    assert!(told[2].starts_with("planted.toml:36: fault (windows): here `Standard_E8as_v5` at $0.82"), "{told:?}");
    assert!(told[3].starts_with("planted.toml:37: note (disputed): here `Standard_E8s_v5` at $0.504"), "{told:?}");
    assert!(ended.err.contains("3 prices look wrong"), "{ended:#?}");
    let rows = json(&failed(&desk, &["prices", "lint", "planted.toml", "--format", "json"], 1).out);
    assert_eq!(
        (rows[0]["line"].as_u64(), rows[0]["fault"].as_bool(), rows[3]["fault"].as_bool()),
        (Some(33), Some(true), Some(false))
    );
    // A price of zero is no price: the list cannot be read.
    desk.write("zero.toml", &PLANTED.replace("0.136", "0.0"));
    let ended = failed(&desk, &["prices", "lint", "zero.toml"], 2);
    assert!(ended.err.contains("zero.toml:34: `usd_per_hour` of `c6g.xlarge` is $0.00, not above zero"), "{ended:#?}");
    // Without the errors it passes, and the disputed row is still shown.
    let mended =
        PLANTED.replace("0.0721", "0.068").replace("usd_per_hour = 0.2 ", "usd_per_hour = 0.272 ").replace("0.82", "0.452");
    desk.write("mended.toml", &mended);
    let ended = desk.good(&["prices", "lint", "mended.toml"]);
    assert!(
        ended.out.contains("note (disputed)") && ended.out.contains("no faults in 5 machine prices of 1 snapshot"),
        "{ended:#?}"
    );
    let ended = failed(&desk, &["prices", "lint", "mended.toml", "--against", "planted.toml"], 1);
    assert!(
        ended.out.contains("fault (disagrees): here `c6g.large` at $0.068 is 0.943 times the $0.0721 of planted"),
        "{ended:#?}"
    );
}

#[test]
fn the_bundled_lists_pass_and_are_listed_and_shown() {
    let desk = Desk::new();
    let ended = desk.good(&["prices", "lint"]);
    assert!(ended.out.contains("no faults in") && ended.out.contains("note (disputed)"), "{ended:#?}");
    let list = desk.good(&["prices", "list", "--provider", "aws"]).out;
    assert!(list.contains("aws-2026-07") && !list.contains("azure"), "{list}");
    assert_eq!(json(&desk.good(&["prices", "list", "--format", "json"]).out).as_array().unwrap().len(), 5);

    let show = ["prices", "show", "aws-2024-08", "--region", "us-west-2", "--family", "c6g"];
    let text = desk.good(&show).out;
    let line = text.lines().find(|l| l.starts_with("c6g.2xlarge")).unwrap();
    let cells: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(cells[..8], ["c6g.2xlarge", "aarch64", "8", "8", "16", "$0.272", "$0.034000", "$0.034000"], "{text}");
    assert!(text.contains("coroot/cloud-pricing") && !text.contains("c5.large"), "{text}");
    let all = json(&desk.good(&[&show[..], &["--format", "json"]].concat()).out);
    let big = all["machines"].as_array().unwrap().iter().find(|m| m["type"] == "c6g.2xlarge").unwrap();
    assert_eq!(
        (big["hour_micro_usd"].as_i64(), big["network_mbit_s"].as_u64(), big["cores"].as_f64()),
        (Some(272_000), Some(2500), Some(8.0))
    );
    let csv = desk.good(&["prices", "show", "gcp-2026-07", "--type", "c4d-standard-4", "--format", "csv"]).out;
    assert!(
        csv.lines().nth(1).unwrap().contains(",c4d-standard-4,c4d-standard,x86_64,") && csv.contains(",0.18711422,"),
        "{csv}"
    );
    let fees = desk.good(&["prices", "show", "aws-2024-08", "--only", "fees", "--format", "csv"]).out;
    assert!(fees.contains("us-west-2,internet-egress,internet-traffic,GB above 10240,0.085,"), "{fees}");

    let wrong = failed(&desk, &["prices", "show", "aws-2024-8"], 2);
    assert!(
        wrong.err.contains("no price snapshot `aws-2024-8`") && wrong.err.contains("did you mean `aws-2024-08`?"),
        "{wrong:#?}"
    );
    let wrong = failed(&desk, &["prices", "show", "aws-2024-08", "--family", "c6gg"], 2);
    assert!(wrong.err.contains("no family `c6gg` here") && wrong.err.contains("did you mean"), "{wrong:#?}");
    failed(&desk, &["prices", "show", "nothing.toml"], 5);
}

#[test]
fn two_lists_differ_by_what_they_say() {
    let desk = Desk::new();
    desk.write("old.toml", PLANTED);
    let new = PLANTED
        .replace("usd_per_hour = 0.136", "usd_per_hour = 0.1428")
        .replace("  { type = \"Standard_E8s_v5\", usd_per_hour = 0.504, disputed_usd = 0.51 },\n", "");
    desk.write("new.toml", &new);
    let out = desk.good(&["prices", "diff", "old.toml", "new.toml"]).out;
    let cells = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert!(out.lines().any(|l| cells(l) == ["changed", "here", "c6g.xlarge", "hour", "$0.136", "$0.1428", "+5.00"]), "{out}");
    assert!(out.lines().any(|l| cells(l) == ["removed", "here", "Standard_E8s_v5", "hour", "$0.504"]), "{out}");
    assert!(out.ends_with("0 added, 1 removed, 1 changed\n"), "{out}");
    let csv = desk.good(&["prices", "diff", "new.toml", "old.toml", "--format", "csv", "--changed"]).out;
    assert_eq!(csv, "change,region,item,price,old_usd,new_usd,percent\nchanged,here,c6g.xlarge,hour,0.1428,0.136,-4.76\n");
    assert_eq!(desk.good(&["prices", "diff", "old.toml", "old.toml"]).out, "no price differs\n");
}

const OFFER: &str = r#"{
  "formatVersion" : "v1.0", "offerCode" : "AmazonEC2", "version" : "20260720000000",
  "products" : {
    "A1" : { "sku" : "A1", "productFamily" : "Compute Instance", "attributes" : { "locationType" : "AWS Region", "regionCode" : "us-west-2",
      "instanceType" : "c6g.large", "vcpu" : "2", "memory" : "4 GiB", "physicalProcessor" : "AWS Graviton2 Processor", "tenancy" : "Shared",
      "operatingSystem" : "Linux", "licenseModel" : "No License required", "capacitystatus" : "Used", "preInstalledSw" : "NA" } },
    "A2" : { "sku" : "A2", "productFamily" : "Compute Instance", "attributes" : { "locationType" : "AWS Region", "regionCode" : "us-west-2",
      "instanceType" : "c6g.2xlarge", "vcpu" : "8", "memory" : "16 GiB", "physicalProcessor" : "AWS Graviton2 Processor", "tenancy" : "Shared",
      "operatingSystem" : "Linux", "licenseModel" : "No License required", "capacitystatus" : "Used", "preInstalledSw" : "NA" } },
    "A3" : { "sku" : "A3", "productFamily" : "Compute Instance", "attributes" : { "locationType" : "AWS Region", "regionCode" : "us-west-2",
      "instanceType" : "c6g.2xlarge", "vcpu" : "8", "memory" : "16 GiB", "physicalProcessor" : "AWS Graviton2 Processor", "tenancy" : "Dedicated",
      "operatingSystem" : "Linux", "licenseModel" : "No License required", "capacitystatus" : "Used", "preInstalledSw" : "NA" } },
    "V1" : { "sku" : "V1", "productFamily" : "Storage", "attributes" : { "regionCode" : "us-west-2", "volumeApiName" : "gp3" } }
  },
  "terms" : { "OnDemand" : {
    "A1" : { "A1.J" : { "priceDimensions" : { "A1.J.6" : { "unit" : "Hrs", "beginRange" : "0", "pricePerUnit" : { "USD" : "0.0680000000" } } }, "termAttributes" : {} } },
    "A2" : { "A2.J" : { "priceDimensions" : { "A2.J.6" : { "unit" : "Hrs", "beginRange" : "0", "pricePerUnit" : { "USD" : "0.2720000000" } } }, "termAttributes" : {} } },
    "A3" : { "A3.J" : { "priceDimensions" : { "A3.J.6" : { "unit" : "Hrs", "beginRange" : "0", "pricePerUnit" : { "USD" : "0.2883000000" } } }, "termAttributes" : {} } },
    "V1" : { "V1.J" : { "priceDimensions" : { "V1.J.6" : { "unit" : "GB-Mo", "beginRange" : "0", "pricePerUnit" : { "USD" : "0.0800000000" } } }, "termAttributes" : {} } }
  } }
}
"#;

const STUDY: &str = r#"schema = 1
name = "imported"
question = "What does an imported price cost?"
baseline = "small"
seed = 1
[price]
snapshot = "lists-2026"
regions = ["us-west-2"]
[[contender]]
name = "small"
node = [{ role = "db", instance = "c6g.large", count = 4, volume = { kind = "gp3", size_gb = 100 } }]
[[contender]]
name = "big"
node = [{ role = "db", instance = "c6g.2xlarge", count = 1 }]
[[workload]]
name = "w"
kind = "sysbench"
script = "oltp_point_select"
tables = 1
table_size = 1000
[sweep]
connections = [1]
warmup = "1s"
duration = "1s"
trials = 3
"#;

#[test]
fn an_imported_list_passes_the_lint_and_prices_a_study_at_once() {
    let desk = Desk::new();
    desk.write("index.json", OFFER);
    let import = ["prices", "import", "aws-json", "index.json", "--date", "2026-07-20", "-o", "lists-2026.toml"];
    let ended = desk.good(&import);
    assert!(
        ended.out.starts_with("lists-2026.toml: 2 machine prices in 1 region, 1 volume prices, from index.json\n"),
        "{ended:#?}"
    );
    assert!(ended.out.contains("1  dedicated tenancy\n"), "{ended:#?}");
    let text = desk.read("lists-2026.toml");
    // The hash is that of the file, as sha256sum gives it.
    let hash = text.split("SHA-256 ").nth(1).unwrap()[..64].to_owned();
    let sum = Command::new("sha256sum").arg(desk.path("index.json")).output().unwrap();
    assert_eq!(String::from_utf8(sum.stdout).unwrap()[..64], hash);
    desk.good(&["prices", "lint", "lists-2026.toml"]);
    desk.write("study.toml", STUDY);
    let bills = json(&desk.good(&["price", "study.toml", "--prices", "lists-2026.toml", "--json"]).out);
    let month = |bill: &Value| bill["lines"].as_array().unwrap().iter().map(|l| l["monthly"].as_i64().unwrap()).sum::<i64>();
    // 4 × 730 h × 0.068 + 4 × 100 GB × 0.08, and 730 h × 0.272.
    assert_eq!((month(&bills[0]), month(&bills[1])), (198_560_000 + 32_000_000, 198_560_000));

    // A list that is there is never replaced by chance.
    let ended = failed(&desk, &import, 4);
    assert!(ended.err.contains("exists already") && ended.err.contains("--force"), "{ended:#?}");
    assert_eq!(desk.read("lists-2026.toml"), text);
    desk.write("index.json", &OFFER.replace("0.0680000000", "0.0690000000"));
    let ended = desk.good(&[&import[..], &["--force"]].concat());
    // Two sizes that do not fit each other any more are told at once; the file is there all the same.
    assert!(ended.out.contains("fault (not-linear)"), "{ended:#?}");
    assert!(desk.read("lists-2026.toml").contains("0.069"));
    let left: Vec<String> =
        std::fs::read_dir(desk.path(".")).unwrap().map(|f| f.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(left.len(), 3, "no temporary file stays: {left:?}");
}

#[test]
fn a_list_is_read_from_standard_input_too() {
    let desk = Desk::new();
    desk.write("list.csv", "region,type,vcpu,memory_gib,usd_per_hour\nus-west-2,c6g.large,2,4,0.068\n");
    let mut command = desk.command(&["prices", "import", "csv", "-", "--date", "2026-07-20", "-o", "a.toml"]);
    command.stdin(std::fs::File::open(desk.path("list.csv")).unwrap());
    let out = command.output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    assert!(desk.read("a.toml").contains("c6g.large"));
}

#[test]
fn a_pipe_is_waited_for_and_perbuck_says_so() {
    let desk = Desk::new();
    let pipe = desk.path("list.toml");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let import = ["prices", "import", "csv", "-", "--date", "2026-07-20", "-o", "a.toml"];
    let start = |arguments: &[&str], err: &str| {
        let err = std::fs::File::create(desk.path(err)).unwrap();
        desk.command(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(err).spawn().unwrap()
    };
    let (lint, mut importing) = (start(&["prices", "lint", "list.toml"], "lint"), start(&import, "import"));
    for (err, name) in [("lint", "list.toml"), ("import", "standard input")] {
        let said = format!("perbuck: nothing has moved for 10 s: waiting for {name}, which is a pipe or a device, to be written");
        wait_until("perbuck says what it waits for", || desk.read(err).contains(&said));
    }
    std::fs::write(&pipe, PLANTED).unwrap();
    let ended = lint.wait_with_output().unwrap();
    assert!(ended.status.code() == Some(1) && String::from_utf8_lossy(&ended.stdout).contains("not-linear"), "{ended:?}");
    let list = b"region,type,vcpu,memory_gib,usd_per_hour\nus-west-2,c6g.large,2,4,0.068\n";
    importing.stdin.take().unwrap().write_all(list).unwrap();
    assert!(importing.wait().unwrap().success() && desk.read("a.toml").contains("c6g.large"), "{}", desk.read("import"));
}

#[test]
fn a_wrong_import_names_the_line_and_writes_nothing() {
    let desk = Desk::new();
    desk.write("index.json", &OFFER[..1500]);
    let import = |file: &str, more: &[&str]| {
        let start = ["prices", "import", "aws-json", file, "--date", "2026-07-20", "-o", "x.toml"];
        desk.perbuck(&[&start[..], more].concat())
    };
    let ended = import("index.json", &[]);
    assert_eq!(ended.code, Some(2), "{ended:#?}");
    assert!(ended.err.contains("index.json:") && ended.err.contains("the file ends too early"), "{ended:#?}");
    assert!(!desk.path("x.toml").exists());
    desk.write("whole.json", OFFER);
    let ended = import("whole.json", &["--region", "mars-1"]);
    assert!(
        ended.code == Some(2) && ended.err.contains("nothing of this list can be imported") && ended.err.contains("other region"),
        "{ended:#?}"
    );
    let ended = import("absent.json", &[]);
    assert!(ended.code == Some(5) && ended.err.contains("absent.json"), "{ended:#?}");
    let ended = failed(&desk, &["prices", "import", "aws-json", "whole.json", "--date", "2026-02-30", "-o", "x.toml"], 2);
    assert!(ended.err.contains("there is no such day"), "{ended:#?}");
    let ended = failed(&desk, &["prices", "import", "aws-xml", "whole.json", "--date", "2026-02-20", "-o", "x.toml"], 2);
    assert!(ended.err.contains("aws-json") && ended.err.contains("skypilot"), "{ended:#?}");
    let ended = failed(&desk, &["prices", "import", "aws-json", "whole.json", "--date", "2026-02-20", "-o", "x"], 2);
    assert!(ended.err.contains("does not end in .toml"), "{ended:#?}");
    let ended = failed(&desk, &["prices", "import", "aws-json", "whole.json", "--date", "2026-02-20", "-o", "no/x.toml"], 5);
    assert!(ended.err.contains("no/x.toml"), "{ended:#?}");
}

/// Two contenders on SQLite, of which one has a volume with a price of its own.
const MEASURED: &str = r#"schema = 1
name = "overlay"
baseline = "a"
seed = 1
notional = true
[price]
snapshot = "aws-2026-07"
regions = ["us-east-1"]
[[contender]]
name = "a"
target = "sqlite:a.db"
node = [{ role = "db", instance = "m7g.xlarge", volume = { kind = "gp3", size_gb = 100 } }]
[[contender]]
name = "b"
target = "sqlite:b.db"
node = [{ role = "db", instance = "m7g.xlarge", volume = { kind = "fast", size_gb = 100, usd_per_month = 12.5 } }]
[[workload]]
name = "w"
kind = "sysbench"
script = "oltp_point_select"
tables = 1
table_size = 100
[sweep]
connections = [1]
warmup = "100ms"
duration = "200ms"
trials = 3
"#;

#[test]
fn an_overlay_replaces_rows_and_the_results_folder_keeps_what_came_out() {
    let desk = Desk::new();
    desk.write("study.toml", MEASURED);
    let rows = desk.good(&["prices", "show", "aws-2026-07", "--region", "us-east-1", "--type", "m7g.xlarge", "--toml"]).out;
    assert!(rows.contains("base = \"aws-2026-07\"") && rows.contains("usd_per_hour = 0.1632"), "{rows}");
    desk.write("mine.toml", &rows.replace("usd_per_hour = 0.1632", "usd_per_hour = 0.10"));
    let monthly = |args: &[&str]| {
        let bills = json(&desk.good(args).out);
        let sum = |bill: &Value| bill["lines"].as_array().unwrap().iter().map(|l| l["monthly"].as_i64().unwrap()).sum::<i64>();
        [sum(&bills[0]), sum(&bills[1])]
    };
    // 730 h × 0.1632 or 0.10, and 100 GB × 0.08 or 12.50.
    assert_eq!(monthly(&["price", "study.toml", "--json"]), [119_136_000 + 8_000_000, 119_136_000 + 12_500_000]);
    let own = [73_000_000 + 8_000_000, 73_000_000 + 12_500_000];
    assert_eq!(monthly(&["price", "study.toml", "--prices", "mine.toml", "--json"]), own);
    // Without `base` the rows belong to the list of the study.
    desk.write("rows.toml", &desk.read("mine.toml").replace("base = \"aws-2026-07\"\n", ""));
    assert_eq!(monthly(&["price", "study.toml", "--prices", "rows.toml", "--json"]), own);
    let wrong = failed(&desk, &["prices", "show", "rows.toml"], 2);
    assert!(wrong.err.contains("add `base = \"aws-2026-07\"`"), "{wrong:#?}");

    desk.good(&["run", "study.toml", "--prices", "rows.toml"]);
    let kept = desk.read("results/overlay/prices.toml");
    assert!(
        kept.contains("name = \"aws-2026-07 with rows.toml\"") && kept.contains("m8g.large"),
        "a whole list: {}",
        &kept[..300]
    );
    std::fs::remove_file(desk.path("rows.toml")).unwrap();
    let compared = desk.good(&["compare", "results/overlay"]).out;
    assert!(compared.contains("$2,916"), "36 months of $81.00: {compared}");
    desk.good(&["report", "results/overlay"]);
    desk.good(&["verify", "results/overlay/report.html"]);
    // The same rows given once more are the embedded ones.
    desk.good(&["report", "results/overlay", "--prices", "mine.toml"]);
    desk.good(&["verify", "results/overlay/report.html", "--prices", "mine.toml"]);
}

#[test]
fn machines_that_match_are_proposed_from_the_newest_list_that_can() {
    let desk = Desk::new();
    let words = ["prices", "match", "c5.2xlarge", "--arch", "aarch64", "--snapshot", "aws-2021-03", "--json"];
    let found = json(&desk.good(&words).out);
    assert_eq!((&found["snapshot"], &found["region"]), (&Value::from("aws-2021-03"), &Value::from("us-west-2")));
    // The pair of the study on EKS: as many vCPUs and as much memory for a fifth less.
    let first = &found["machines"][0];
    assert_eq!(first["machine"], "c6g.2xlarge");
    assert_eq!(
        [&first["vcpus_ratio"], &first["memory_ratio"], &first["cost_ratio"]].map(|n| n.as_f64().unwrap()),
        [1.0, 1.0, 0.8]
    );
    let far = json(&desk.good(&["prices", "match", "m7g.large", "--arch", "x86_64", "--region", "eu-west-1", "--json"]).out);
    assert_eq!((&far["snapshot"], &far["region"]), (&Value::from("aws-2024-08"), &Value::from("eu-west-1")));
    let none = failed(&desk, &["prices", "match", "c5.2xlrge", "--arch", "aarch64"], 2);
    assert!(none.err.contains("no machine type `c5.2xlrge`") && none.err.contains("did you mean `c5.2xlarge`?"), "{none:#?}");
    let nowhere = failed(&desk, &["prices", "match", "c5.2xlarge", "--arch", "aarch64", "--region", "mars"], 2);
    assert!(nowhere.err.contains("no region `mars`"), "{nowhere:#?}");
}
