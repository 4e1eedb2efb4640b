//! The published JSON Schemas say what the types say, and the published example is a record of this version.
//!
//! `UPDATE_GOLDEN=1 cargo test -p perbuck-core --test schemas` writes the files again.

#![expect(clippy::unwrap_used, reason = "clippy does not count the helpers of an integration test as tests")]

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use perbuck_core::audit::Audit;
use perbuck_core::capacity::CapacityRecord;
use perbuck_core::compare::{Comparison, Regression, Sizing};
use perbuck_core::histogram::Histogram;
use perbuck_core::metric::{Counted, Metric, Period, RecordedMetric};
use perbuck_core::plan::TrialKey;
use perbuck_core::run_record::{
    AgentRecord, BootTime, Build, CacheFacts, CgroupFacts, Cooled, CpuFacts, DataSize, Deployed, DeployedNode, DeployedPod,
    DeployedVolume, DiskFacts, Distance, ErrorRecord, Flag, Gap, Health, HistogramRecord, HostRecord, Interval, KernelFacts,
    LimitFacts, LoadRecord, MachineFacts, MachineSamples, Measured, MemoryFacts, NetworkFacts, NetworkRecord, NumaNode, Observed,
    Percents, PlanFile, Plans, PlatformFacts, Prewarmed, ProcessorTime, Profile, RECORD_SCHEMA, Restarted, RunRecord, Series,
    ServerMachine, ServerMetrics, ServerSeries, ServerWork, StatementCounts, TargetRecord, TransactionRecord, TunedSetting,
    Values, WindowEdges, WorkloadRecord,
};
use perbuck_core::units::Seed;
use schemars::{JsonSchema, schema_for};
use serde_json::Value;

fn path(file: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema").join(file)
}

/// The stored text of a golden file, after writing it where that is asked for.
fn golden(file: &str, fresh: &str) -> String {
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(path(file), fresh).unwrap();
    }
    fs::read_to_string(path(file)).unwrap_or_else(|e| panic!("docs/schema/{file}: {e}; write it with UPDATE_GOLDEN=1"))
}

fn assert_published<T: JsonSchema>(file: &str) {
    let fresh = serde_json::to_value(schema_for!(T)).unwrap();
    let stored = golden(file, &(serde_json::to_string_pretty(&fresh).unwrap() + "\n"));
    // As values: the order of keys depends on serde_json's features, which other crates of a build may switch.
    let stored: Value = serde_json::from_str(&stored).unwrap();
    assert!(stored == fresh, "docs/schema/{file} is out of date; write it with UPDATE_GOLDEN=1 and read the difference");
}

fn emulated_host() -> HostRecord {
    HostRecord {
        arch: "aarch64".into(),
        emulator: Some("qemu-user".into()),
        os: "Debian GNU/Linux 12 (bookworm), Linux 6.1.0".into(),
        cpu_model: "Neoverse-N1".into(),
        cpus: 8,
        memory_bytes: 16 << 30,
        shared_with_server: false,
        facts: Some(Box::new(example_facts())),
    }
}

/// Of the real machine, on which an emulator ran the program.
fn example_facts() -> MachineFacts {
    let text = |text: &str| Some(text.to_owned());
    let cpu = CpuFacts {
        vendor: text("AuthenticAMD"),
        model: text("AMD EPYC 7763 64-Core Processor"),
        core: text("Zen 3"),
        family: Some(25),
        model_number: Some(1),
        stepping: text("1"),
        microcode: text("0xa0011d1"),
        online: text("0-7"),
        sockets: Some(1),
        cores: Some(4),
        threads: Some(8),
        smt: text("on"),
        caches: vec![CacheFacts { name: "L3".into(), bytes: 32 << 20, count: 1, shared_by: 8 }],
        flags: vec!["aes".into(), "avx2".into()],
        ..CpuFacts::default()
    };
    let memory = MemoryFacts {
        page_bytes: Some(4096),
        transparent_huge_pages: text("madvise"),
        swap_bytes: Some(0),
        ..MemoryFacts::default()
    };
    let vulnerabilities = BTreeMap::from([("spectre_v1".into(), "Mitigation: usercopy/swapgs barriers".into())]);
    MachineFacts {
        cpu,
        numa: vec![NumaNode { node: 0, cpus: "0-7".into(), memory_bytes: 16 << 30 }],
        memory,
        kernel: KernelFacts { release: text("6.1.0"), clocksource: text("tsc"), vulnerabilities },
        platform: PlatformFacts { vendor: text("Google"), hypervisor: text("KVM"), ..PlatformFacts::default() },
        cgroup: CgroupFacts { cpu_m: Some(4000), ..CgroupFacts::default() },
        disks: vec![DiskFacts {
            names: vec!["sda".into()],
            bytes: Some(100 << 30),
            scheduler: text("none"),
            ..DiskFacts::default()
        }],
        network: vec![NetworkFacts {
            name: "ens4".into(),
            driver: text("virtio_net"),
            rx_queues: 8,
            tx_queues: 8,
            mtu: Some(1460),
            offloads: BTreeMap::from([("GRO".into(), true), ("LRO".into(), false)]),
            rx_coalescing_us: Some(20),
            ..NetworkFacts::default()
        }],
        limits: LimitFacts { open_files: Some(1 << 20), somaxconn: Some(4096), ..LimitFacts::default() },
    }
}

fn example_deployed() -> Deployed {
    Deployed {
        cluster: "perbuck-arm-value-eks".into(),
        kubernetes: "v1.33.5".into(),
        nodes: vec![DeployedNode {
            name: "ip-10-0-1-1".into(),
            role: "tikv".into(),
            shared: false,
            instance: "r8g.2xlarge".into(),
            arch: "aarch64".into(),
            zone: "us-east-1a".into(),
            kernel: "6.12.40".into(),
            allocatable_cpu_m: 7910,
            allocatable_bytes: 60 << 30,
            created_unix_s: 1_800_000_000,
        }],
        pods: vec![DeployedPod {
            name: "tidb-tikv-0".into(),
            uid: "5a1c8f4e".into(),
            role: "tikv".into(),
            node: "ip-10-0-1-1".into(),
            ready: true,
            cpu_m: 7600,
            memory_bytes: 58 << 30,
            restarts: 0,
            image: "pingcap/tikv:v8.5.3".into(),
            digest: "sha256:0123".into(),
        }],
        volumes: vec![DeployedVolume {
            claim: "tikv-tidb-tikv-0".into(),
            role: "tikv".into(),
            class: "perbuck-arm-value-arm-tikv".into(),
            kind: "gp3".into(),
            size_gib: 1000,
            iops: Some(6000),
            throughput_mib_s: Some(500),
            created_unix_s: 1_800_000_100,
        }],
    }
}

fn example_flags() -> Vec<Flag> {
    vec![
        Flag::Emulated { emulator: "qemu-user".into() },
        Flag::ClientLimited { why: "one worker was busy".into() },
        Flag::PacketLoss { retransmitted: 300, sent: 12_000 },
        Flag::ManyErrors { failed: 2, completed: 600 },
        Flag::Gap { total_ms: 1500 },
        Flag::TextStatements { count: 40 },
        Flag::Aborted { count: 1 },
        Flag::WrongRows { missing: 1, wrong: 2 },
        Flag::Diverged { statements: 3, compared: 900 },
        Flag::FunctionalServer { why: "its store is for tests".into() },
        Flag::AgentsApart { apart_us: 2500 },
        Flag::PodsChanged { changes: vec!["pod tikv-0 restarted 1 time".into()] },
        Flag::UnevenServers { statements: vec![80, 20] },
        Flag::ClusterChanged { changes: BTreeMap::from([("leaders_moved".into(), 3)]) },
    ]
}

fn example_health() -> Health {
    Health {
        gaps: vec![Gap { start_ms: 2000, length_ms: 1500 }],
        samples: Some(MachineSamples {
            steps_ms: vec![1000, 2000],
            processors: vec![ProcessorTime {
                work: Percents(vec![80, 75]),
                system: Percents(vec![20, 25]),
                ..ProcessorTime::default()
            }],
            series: vec![Series { name: "node_context_switches_total".into(), values: Values(vec![9000.0, 8500.0]) }],
        }),
        network: Some(NetworkRecord { segments_sent: 12_000, segments_retransmitted: 300 }),
        edges: Some(WindowEdges { in_flight: 8, oldest_ns: 9_000_000, in_flight_ns: 30_000_000, before_ns: 20_000_000 }),
        ..Health::default()
    }
}

fn example_target() -> TargetRecord {
    TargetRecord {
        address: "mysql://arm.example:4000/test".into(),
        driver: "mysql".into(),
        version: "8.0.11-TiDB-v7.5.0".into(),
        variables: BTreeMap::from([("tidb_txn_mode".into(), "pessimistic".into())]),
        server_counters: BTreeMap::from([("Com_select".into(), 6000)]),
        server_cpu_ns: None,
        server_throttled: Some(0.25),
        tuned: vec![TunedSetting { path: "/proc/sys/vm/swappiness".into(), value: "1".into(), was: "60".into() }],
        machines: vec![ServerMachine {
            source: "ssh://db1".into(),
            facts: Some(Box::default()),
            samples: Some(MachineSamples { steps_ms: vec![1000], ..MachineSamples::default() }),
            unread: Some("never scraped".into()),
        }],
        page_memory_bytes: Some(6 << 30),
        work: Some(ServerWork::Statements { all: 22_690, own: 8_690 }),
        observed: vec![
            Observed { source: "@@version_compile_machine".into(), arch: Some("aarch64".into()), ..Observed::default() },
            Observed { source: "ssh://db-1".into(), volume_bytes: Some(98_300_000_000), ..Observed::default() },
            Observed {
                source: "information_schema.cluster_info".into(),
                role: Some("tikv".into()),
                machines: Some(3),
                ..Observed::default()
            },
        ],
        build: Some(Build {
            commit: Some("d3a8b1c".into()),
            compiler: Some("go1.21.10".into()),
            build_id: Some("3f2a9c".into()),
            instructions: BTreeMap::from([("LSE atomics".into(), 124)]),
        }),
        // The agent has its own.
        distance: None,
        deployed: Some(example_deployed()),
        metrics: Some(example_metrics()),
        plans: Some(Plans { asked: "EXPLAIN ANALYZE".into(), ran: true, ..Plans::default() }),
        profile: Some(Profile { user_only: true, ..Profile::not_taken("there is no `perf`") }),
    }
}

fn example_metrics() -> ServerMetrics {
    let statements = "tidb_executor_statement_total{type=\"Select\"}".to_owned();
    ServerMetrics {
        from_ms: 3,
        to_ms: 30_004,
        growth: BTreeMap::from([(statements, 5800.0)]),
        means: BTreeMap::from([("tidb_server_connections".into(), 300.0)]),
        not_told: BTreeMap::from([("tikv".into(), "its status port does not answer".into())]),
        series_sha256: Some("7f83b1657ff1fc53b92dc18148a1d65dfc2d4b1fa3d677284addd200126d9069".into()),
    }
}

fn new_orders_per_minute() -> Metric {
    let counted = Counted::Kinds(vec!["new_order".into()].into());
    Metric::rate("tpmc", "tpmC", ["new-order transactions", "new orders"], counted, Period::Minute)
}

fn example_workload() -> WorkloadRecord {
    WorkloadRecord {
        kind: "tpcc".into(),
        parameters: BTreeMap::from([("warehouses".into(), "1".into())]),
        data_fingerprint: "tpcc-1".into(),
        data: "reloaded".into(),
        rows_before: BTreeMap::from([("orders".into(), 30_000)]),
        rows_after: BTreeMap::from([("orders".into(), 30_594)]),
        data_size: Some(DataSize { tables_bytes: Some(9 << 20), indexes_bytes: Some(1 << 20), store_bytes: Some(40 << 20) }),
        prewarm: Some(Prewarmed {
            what: "tables".into(),
            passes: 2,
            took_ns: 900_000_000,
            pages_read: Some(0),
            bytes_read: Some(0),
        }),
        cold: Some(Cooled { restarted: Restarted::Server, page_cache_kept: Some("perbuck is not root".into()) }),
        metric: RecordedMetric::Declared(new_orders_per_minute()),
    }
}

/// A record with something in every list and map.
fn example() -> RunRecord {
    let mut service = Histogram::new();
    (1..=600u64).for_each(|i| service.record(i * 10_000));
    let service = HistogramRecord::from_histogram(&service);
    let new_order = TransactionRecord { committed: 594, rolled_back: 6, failed: 2, service, ..TransactionRecord::default() };
    let counts = StatementCounts { read: 6000, write: 5400, other: 1200, select: 6000, ..StatementCounts::default() };
    RunRecord {
        schema: RECORD_SCHEMA,
        perbuck: "0.1.0".into(),
        study: "example".into(),
        study_fingerprint: "5c1f".into(),
        key: TrialKey {
            contender: "arm".into(),
            workload: "small".into(),
            connections: 8,
            rate_per_s: None,
            deployment: None,
            trial: 1,
        },
        position: 0,
        seed: Seed(42),
        trial_seed: Seed(u64::MAX),
        started_unix_ms: 1_614_556_800_000,
        started_boot: Some(BootTime { boot: "5ca1ab1e".into(), ms: 86_400_000 }),
        load: LoadRecord {
            model: "closed".into(),
            connections: 8,
            rate_per_s: None,
            arrivals: None,
            phases: Vec::new(),
            workers: 2,
            warmup_ns: 1_000_000_000,
            duration_ns: 10_000_000_000,
            pilots: Some("3 pilot trials of 5 min".into()),
            cooldown_ns: 0,
            max_attempts: 10,
        },
        workload: example_workload(),
        target: example_target(),
        host: emulated_host(),
        agents: vec![AgentRecord {
            name: "load-1:7117".into(),
            connections: 4,
            workers: 2,
            clock_error_ns: 40_000,
            server_distance: Some(Distance { statement_ns: 140_000, packet_ns: Some(90_000) }),
            samples: Some(MachineSamples { steps_ms: vec![1000], ..MachineSamples::default() }),
            ..AgentRecord::default()
        }],
        measured: Measured {
            window_ns: 10_000_104_729,
            transactions: BTreeMap::from([("new_order".into(), new_order)]),
            statements: counts,
            retries: 3,
            ..Measured::default()
        },
        statements_whole_run: counts,
        errors: BTreeMap::from([(
            "mysql 1213".into(),
            ErrorRecord { count: 3, class: "retry".into(), example: "Deadlock found".into() },
        )]),
        intervals: vec![Interval { start_ms: -1000, length_ms: 1000, transactions: 60, ..Interval::default() }],
        audit: Vec::new(),
        health: example_health(),
        flags: example_flags(),
        imported: None,
        rule: None,
        void: None,
    }
}

#[test]
fn the_schema_of_run_records_is_published() {
    assert_published::<RunRecord>("run-record.schema.json");
}

#[test]
fn the_schemas_of_comparisons_and_audits_are_published() {
    assert_published::<Comparison>("comparison.schema.json");
    assert_published::<Regression>("regression.schema.json");
    assert_published::<Audit>("audit.schema.json");
}

#[test]
fn the_schema_of_capacities_is_published() {
    assert_published::<CapacityRecord>("capacity.schema.json");
    assert_published::<Sizing>("sizing.schema.json");
    assert_published::<ServerSeries>("server-series.schema.json");
    assert_published::<PlanFile>("plans.schema.json");
}

#[test]
fn the_published_example_is_read_and_written_byte_for_byte() {
    let stored = golden("run-record.example.json", &example().to_json().unwrap());
    let read = RunRecord::from_json(&stored).unwrap();
    let mut fresh = example();
    // The same histogram may be deflated into other bytes by another version of the library.
    let hdr = |r: &mut RunRecord| std::mem::take(&mut r.measured.transactions.get_mut("new_order").unwrap().service.hdr);
    let mut bare = read.clone();
    assert!(!hdr(&mut bare).is_empty() && !hdr(&mut fresh).is_empty());
    assert_eq!(bare, fresh);
    assert_eq!(read.to_json().unwrap(), stored);
    assert_eq!(read.service().unwrap().count(), 600);
}

#[test]
fn records_with_other_fields_than_the_schemas_are_refused() {
    let mut whole: Value = serde_json::from_str(&example().to_json().unwrap()).unwrap();
    let schema = serde_json::to_value(schema_for!(RunRecord)).unwrap();
    let required = schema["required"].as_array().unwrap();
    let present = whole.as_object().unwrap().keys().filter(|name| !["agents", "started_boot"].contains(&name.as_str())).count();
    assert_eq!(required.len(), present, "every other field of a record is required");
    for name in required {
        let mut without = whole.as_object().unwrap().clone();
        without.remove(name.as_str().unwrap()).unwrap();
        assert!(RunRecord::from_json(&Value::from(without).to_string()).is_err(), "{name}");
    }
    for pointer in ["", "/load", "/host", "/measured", "/measured/transactions/new_order/service", "/flags/0"] {
        let mut with = whole.clone();
        with.pointer_mut(pointer).unwrap().as_object_mut().unwrap().insert("password".into(), "x".into());
        assert!(RunRecord::from_json(&with.to_string()).is_err(), "{pointer}");
    }
    whole["schema"] = (RECORD_SCHEMA + 1).into();
    assert!(RunRecord::from_json(&whole.to_string()).unwrap_err().contains("schema 3"));
}
