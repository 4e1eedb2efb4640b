//! A study, its bills and its trials, made up and always the same.
#![allow(unreachable_pub, clippy::unwrap_used, reason = "a module of test helpers")]

pub mod open;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;

use perbuck_core::bill::{Amount, Bill, BillLine, LineGroup};
use perbuck_core::compare::{Comparison, compare};
use perbuck_core::histogram::Histogram;
use perbuck_core::metric::{Counted, Metric, Period, RecordedMetric, TPS};
use perbuck_core::plan::{TrialKey, trial_seed};
use perbuck_core::rng::OpRng;
use perbuck_core::run_record::{
    Cooled, CpuFacts, DataSize, ErrorRecord, Flag, Health, HistogramRecord, HostRecord, LoadRecord, MachineFacts, Measured,
    MemoryFacts, Prewarmed, Restarted, RunRecord, StatementCounts, TargetRecord, TransactionRecord, WorkloadRecord,
};
use perbuck_core::study::Study;
use perbuck_core::units::{MicroUsd, unit_price_text};
use perbuck_core::workload_kind::{Disclosed, Disclosure, WorkloadKind};
use perbuck_report::ReportModel;
use perbuck_report::html::script;

pub const STUDY: &str = r#"
schema = 1
name = "arm-against-x86"
question = "Does the Arm cluster give more work per dollar than the x86 cluster?"
baseline = "x86"
seed = 42
[price]
snapshot = "aws-2021-03"
regions = ["us-west-2", "ap-southeast-1"]
horizon_months = 60
round = "monthly"
note = "The bill is notional: the trials ran on one machine, and the prices are those of the machines they stand for."
[[contender]]
name = "arm"
label = "Arm (Graviton2)"
arch = "aarch64"
target = "mysql://root@arm.example:4000/test"
replication_factor = 3
node = [
  { role = "tidb", instance = "c6g.2xlarge", count = 3, volume = { kind = "gp3", size_gb = 500 } },
  { role = "client", instance = "c5.4xlarge", priced = false },
]
[[contender]]
name = "x86"
label = "x86 (Xeon)"
arch = "x86_64"
target = "mysql://root@x86.example:4000/test"
replication_factor = 3
node = [
  { role = "tidb", instance = "c5.2xlarge", count = 3 },
  { role = "client", instance = "c5.4xlarge", priced = false },
]
[[workload]]
name = "small"
kind = "tpcc"
warehouses = 10
metric = "tpmc"
[[workload]]
name = "points"
kind = "sysbench"
script = "oltp_point_select"
[sweep]
connections = [150, 300, 500, 800, 1000]
warmup = "1m"
duration = "10m"
trials = 3
[summary]
over = [300, 500, 800]
[decision]
slo = { percentile = 95, at_most = "50ms" }
"#;

static TPMC: Metric = Metric::rate(
    "tpmc",
    "tpmC",
    ["new-order transactions", "new orders"],
    Counted::Kinds(Cow::Borrowed(&[Cow::Borrowed("new_order")])),
    Period::Minute,
);

/// A kind with a metric of its own, and something to say.
static TPCC: WorkloadKind =
    WorkloadKind { metrics: &[&TPMC], metric: |_| &TPMC, disclosure, ..WorkloadKind::plain("tpcc", "TPC-C") };

/// The kinds of the studies here.
pub static KINDS: [&WorkloadKind; 1] = [&TPCC];

fn disclosure(shown: &Disclosed<'_>) -> Option<Disclosure> {
    let text = format!(
        "{} is not a TPC result: it uses the transactions and data of TPC-C without its keying and think times, its audit and its \
         priced configuration, and cannot be compared with published TPC-C results. With think times a warehouse gives at most 12.86 \
         tpmC; efficiency is tpmC / (12.86 × warehouses), and a value above 100 % shows that think times were left out.",
        shown.workload
    );
    let warehouses: f64 = shown.parameters["warehouses"].parse().unwrap();
    Some(Disclosure { text, ceiling: Some((12.86 * warehouses, format!("{warehouses} warehouses"))) })
}

pub fn study() -> Study {
    Study::read("study.toml", STUDY, &KINDS).unwrap()
}

/// `amount` is count, units and micro-dollars per unit.
fn line(group: LineGroup, item: &str, sku: &str, amount: (i64, i64, i64), unit: &str, priced: bool) -> BillLine {
    let (count, units, price) = amount;
    let unit_price = MicroUsd(price);
    BillLine {
        group,
        item: item.into(),
        sku: sku.into(),
        formula: format!("{count} × {units} {unit} × {}", unit_price_text(unit_price)),
        unit_price,
        disputed: None,
        unit: unit.into(),
        monthly: MicroUsd(price * count * units),
        amount: Some(Amount::Units { units: count * units }),
        priced,
        price_date: "2021-03-10".into(),
        source: if group == LineGroup::Compute { "price tables of the article" } else { "worked back from the article" }.into(),
        processors: None,
    }
}

fn bill(contender: &str, region: &str, sql: (&str, i64), store: (&str, i64), gp2: i64) -> Bill {
    let lines = vec![
        line(LineGroup::Compute, "tidb", sql.0, (3, 730, sql.1), "h", true),
        line(LineGroup::Compute, "tikv", store.0, (3, 730, store.1), "h", true),
        line(LineGroup::Compute, "client", "c5.4xlarge", (1, 730, 680_000), "h", false),
        line(LineGroup::Volume, "tikv", "gp2", (3, 1000, gp2), "GB-month", true),
        line(LineGroup::Snapshot, "tikv", "snapshots of gp2", (3, 1045, 50_000), "GB-month", true),
        line(LineGroup::Fee, "EKS control plane", "fixed fee", (1, 730, 100_000), "h", true),
    ];
    Bill {
        contender: contender.into(),
        region: region.into(),
        own_region: None,
        scenario: None,
        snapshot: "aws-2021-03".into(),
        lines,
        hours_per_month: 730,
        horizon_months: 60,
        round: perbuck_core::study::Rounding::Monthly,
    }
}

pub fn bills() -> Vec<Bill> {
    vec![
        bill("arm", "us-west-2", ("c6g.2xlarge", 272_000), ("r6g.2xlarge", 403_200), 100_000),
        bill("arm", "ap-southeast-1", ("c6g.2xlarge", 313_600), ("r6g.2xlarge", 486_400), 120_000),
        bill("x86", "us-west-2", ("c5.2xlarge", 340_000), ("r5.2xlarge", 504_000), 100_000),
        bill("x86", "ap-southeast-1", ("c5.2xlarge", 392_000), ("r5.2xlarge", 608_000), 120_000),
    ]
}

/// Transactions per second that a contender gives at so many connections, before noise.
fn speed(key: &TrialKey) -> f64 {
    let peak = match (key.workload.as_str(), key.contender.as_str()) {
        ("small", "arm") => 442.0,
        ("small", _) => 408.0,
        (_, "arm") => 61_800.0,
        _ => 73_400.0,
    };
    let n = f64::from(key.connections);
    peak * n / (n + 60.0) * (1.0 - n / 9_000.0)
}

fn transactions(key: &TrialKey, rng: &mut OpRng) -> BTreeMap<String, TransactionRecord> {
    let noise = if key.workload == "small" { 0.016 } else { 0.05 };
    let rate = speed(key) * (1.0 + noise * (rng.unit_f64() - 0.5) * 2.0);
    let mut service = Histogram::new();
    for _ in 0..2_000 {
        let mean_ns = f64::from(key.connections) / rate * 1e9 * if key.workload == "small" { 0.08 } else { 1.0 };
        service.record((mean_ns * (0.6 - 0.5 * (1.0 - rng.unit_f64()).ln())) as u64);
    }
    let record = |share: f64, rolled: u64, failed: u64| TransactionRecord {
        committed: (rate * 600.0 * share) as u64,
        rolled_back: rolled,
        failed,
        service: HistogramRecord::from_histogram(&service),
        ..TransactionRecord::default()
    };
    if key.workload == "small" {
        return BTreeMap::from([("new_order".into(), record(0.45, 1_200, 3)), ("payment".into(), record(0.43, 0, 0))]);
    }
    BTreeMap::from([("point_select".into(), record(1.0, 0, 0))])
}

fn load(study: &Study, key: &TrialKey) -> LoadRecord {
    let (warmup_ns, duration_ns) = (study.sweep.warmup_ns, study.sweep.duration_ns);
    let model = "closed".into();
    LoadRecord { model, connections: key.connections, workers: 8, warmup_ns, duration_ns, max_attempts: 10, ..Default::default() }
}

fn host() -> HostRecord {
    HostRecord {
        arch: "x86_64".into(),
        emulator: None,
        os: "Linux 6.12".into(),
        cpu_model: "Intel Xeon Platinum 8124M".into(),
        cpus: 16,
        memory_bytes: 32 << 30,
        shared_with_server: false,
        facts: Some(Box::new(facts())),
    }
}

fn facts() -> MachineFacts {
    let text = |text: &str| Some(text.to_owned());
    let cpu =
        CpuFacts { core: text("Skylake"), cores: Some(8), threads: Some(16), governor: text("powersave"), ..CpuFacts::default() };
    let memory = MemoryFacts { page_bytes: Some(4096), transparent_huge_pages: text("madvise"), ..MemoryFacts::default() };
    MachineFacts { cpu, memory, ..MachineFacts::default() }
}

fn workload(key: &TrialKey, tpcc: bool) -> WorkloadRecord {
    let rows = |n| BTreeMap::from([("orders".to_owned(), n), ("stock".to_owned(), 1_000_000)]);
    WorkloadRecord {
        kind: if tpcc { "tpcc" } else { "sysbench" }.into(),
        parameters: BTreeMap::from([if tpcc { ("warehouses".into(), "10".into()) } else { ("tables".into(), "16".into()) }]),
        data_fingerprint: if tpcc { "tpcc-10-42" } else { "sysbench-16-42" }.into(),
        data: "reloaded".into(),
        rows_before: rows(300_000),
        rows_after: rows(300_000 + u64::from(key.connections)),
        data_size: tpcc.then_some(DataSize { tables_bytes: Some(900 << 20), indexes_bytes: Some(100 << 20), store_bytes: None }),
        prewarm: tpcc.then(|| Prewarmed {
            what: "tables".into(),
            passes: if key.contender == "arm" { 2 } else { 3 },
            took_ns: 3_200_000_000,
            pages_read: Some(if key.contender == "arm" { 0 } else { 6_050 }),
            bytes_read: None,
        }),
        cold: (!tpcc).then_some(Cooled { restarted: Restarted::Server, page_cache_kept: None }),
        metric: RecordedMetric::Declared(if tpcc { &TPMC } else { &TPS }.clone()),
    }
}

pub fn record(study: &Study, key: &TrialKey, position: u32) -> RunRecord {
    let seed = trial_seed(study.seed, key);
    // The noise differs by contender, as it does on machines; the operations do not.
    let mut rng = OpRng::new(seed.derive(&key.contender));
    let arm = key.contender == "arm";
    let text = |arm_text: &str, other: &str| if arm { arm_text.to_owned() } else { other.to_owned() };
    let transactions = transactions(key, &mut rng);
    let statements = StatementCounts { read: 900_000, write: 300_000, other: 60_000, ..StatementCounts::default() };
    let tpcc = key.workload == "small";
    let retry = ErrorRecord { count: 40, class: "retry".into(), example: "Deadlock found when trying to get lock".into() };
    RunRecord {
        schema: perbuck_core::run_record::RECORD_SCHEMA,
        perbuck: "0.1.0".into(),
        study: study.name.clone(),
        study_fingerprint: "4f1d".into(),
        key: key.clone(),
        position,
        seed: study.seed,
        trial_seed: seed,
        started_unix_ms: 1_785_576_612_000 + u64::from(position) * 700_000,
        started_boot: None,
        load: load(study, key),
        workload: workload(key, tpcc),
        target: TargetRecord {
            address: text("mysql://arm.example:4000/test", "mysql://x86.example:4000/test"),
            driver: "mysql".into(),
            version: "8.0.11-TiDB-v8.5.1".into(),
            variables: BTreeMap::from([
                ("tidb_enable_1pc".into(), "ON".into()),
                ("tidb_mem_quota_query".into(), text("1073741824", "2147483648")),
            ]),
            server_counters: if tpcc {
                [("server_pages_read".into(), if key.contender == "arm" { 0 } else { 4_000 })].into()
            } else {
                BTreeMap::new()
            },
            server_cpu_ns: None,
            server_throttled: None,
            tuned: Vec::new(),
            machines: Vec::new(),
            page_memory_bytes: Some(4 << 30),
            work: None,
            observed: Vec::new(),
            build: None,
            distance: None,
            deployed: None,
            metrics: None,
            plans: None,
            profile: None,
        },
        host: host(),
        measured: Measured {
            window_ns: 600_000_000_000,
            transactions,
            statements,
            retries: if tpcc { 40 } else { 0 },
            ..Measured::default()
        },
        agents: Vec::new(),
        statements_whole_run: statements,
        errors: if tpcc { BTreeMap::from([("mysql 1213".into(), retry)]) } else { BTreeMap::new() },
        intervals: Vec::new(),
        audit: Vec::new(),
        health: Health { client_user_ns: 1_900_000_000_000, client_system_ns: 700_000_000_000, ..Health::default() },
        flags: if key.path() == "x86/points/c00800/001.json" { vec![Flag::Gap { total_ms: 1_400 }] } else { Vec::new() },
        imported: None,
        rule: None,
        void: None,
    }
}

/// Every planned trial but one.
pub fn records(study: &Study) -> Vec<RunRecord> {
    let plan = study.plan();
    let there = plan.iter().filter(|key| key.path() != "arm/small/c01000/003.json");
    there.zip(0..).map(|(key, position)| record(study, key, position)).collect()
}

pub fn comparison(study: &Study, records: &[RunRecord]) -> Comparison {
    compare(study, records, &bills(), &[]).unwrap()
}

/// Compares with a golden file, or rewrites it.
pub fn golden(name: &str, made: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, made).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    if let Some((i, (a, b))) = made.lines().zip(expected.lines()).enumerate().find(|(_, (a, b))| a != b) {
        panic!("{name} line {} differs (UPDATE_GOLDEN=1 rewrites it):\n made: {a}\n file: {b}", i + 1);
    }
    assert_eq!(made.len(), expected.len(), "{name}: one is longer than the other (UPDATE_GOLDEN=1 rewrites it)");
}

/// The last digits of logarithms differ between processors; everything printed is rounded, the embedded JSON is not.
pub fn without_data(page: &str, report: &ReportModel) -> String {
    let page = page.replace(&report.data, "DATA").replace(&report.data.replace('"', "&quot;"), "DATA");
    let page = page.replace(script::SCRIPT, "SCRIPT").replace(script::source(), "SOURCE");
    if report.what_if.is_empty() { page } else { page.replace(&report.what_if, "PRICES") }
}
