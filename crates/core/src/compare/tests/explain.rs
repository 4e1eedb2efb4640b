//! Where processor time went, and what bound a point, of trials whose machine is written down.

use super::super::explain::{Bound, BoundBy, Explained, ProfileOf, SymbolDifference, explained};
use super::*;
use crate::run_record::{
    AgentRecord, Interval as Second, MachineSamples, Percents, ProcessorTime, Profile, Series, ServerMachine, ServerMetrics,
    SymbolSamples, Values,
};

/// Two steps, of one second and of two.
fn processor(work: u8, softirq: u8) -> ProcessorTime {
    ProcessorTime { work: Percents(vec![work; 2]), softirq: Percents(vec![softirq; 2]), ..ProcessorTime::default() }
}

fn series(all: &[(&str, f64)]) -> Vec<Series> {
    all.iter().map(|(name, sum)| Series { name: (*name).to_owned(), values: Values(vec![sum / 3.0, sum / 1.5]) }).collect()
}

/// A trial whose server had so many milliseconds of processor time, and perbuck half a second.
fn seen(contender: &str, trial: u32, committed: u64, server_ms: u64, samples: Option<MachineSamples>) -> RunRecord {
    let mut r = record(contender, 8, trial, committed);
    r.target.server_cpu_ns = Some(server_ms * 1_000_000);
    r.health.client_user_ns = 500_000_000;
    r.health.samples = samples;
    r
}

fn idle(count: usize) -> Vec<ProcessorTime> {
    vec![processor(20, 0); count]
}

fn of(processors: Vec<ProcessorTime>, all: &[(&str, f64)]) -> Explained {
    let samples = MachineSamples { steps_ms: vec![1000, 3000], processors, series: series(all) };
    let trials = [seen("x86", 1, 1000, 1200, Some(samples.clone())), seen("x86", 2, 2000, 1200, Some(samples))];
    explained(&trials.iter().collect::<Vec<_>>(), &TPS).unwrap()
}

fn said(found: &Explained) -> Vec<(BoundBy, &str)> {
    found.bounds.iter().map(|Bound { by, text }| (*by, text.as_str())).collect()
}

#[test]
fn throughput_is_processors_times_utilisation_over_the_time_of_each() {
    let found = of(idle(4), &[]);
    let (server, client) = (found.server.unwrap(), found.client.unwrap());
    assert_eq!((server.processors, client.processors), (4, 4));
    // 2.4 s of 2 × 3 s of four processors, for 3000 transactions.
    assert!((server.utilisation - 0.1).abs() < 1e-12 && (server.each_ns - 800_000.0).abs() < 1e-6, "{server:?}");
    assert!((client.each_ns - 1e9 / 3000.0).abs() < 1e-6, "{client:?}");
    let tps = f64::from(server.processors) * server.utilisation / server.each_ns * 1e9;
    assert!((tps - 500.0).abs() < 1e-9, "{tps}");
    assert_eq!(said(&found), []);
}

#[test]
fn a_ratio_is_the_product_of_its_parts() {
    let all = |contender: &str, committed: u64, ms: u64| {
        (1..=3).map(move |trial| seen(contender, trial, committed, ms, None)).collect()
    };
    let all: [Vec<RunRecord>; 2] = [all("x86", 1000, 3000), all("arm", 1100, 2838)];
    let text = STUDY.replace("connections = [8, 64]", "connections = [8]").replace("[8, 64]", "[8]");
    let study = Study::read("s.toml", &text, &[]).unwrap();
    let result = compare(&study, &all.concat(), &[], &[]).unwrap();
    let why = arm(&result).why.unwrap();
    assert!((why.ratio - 1.1).abs() < 1e-12 && why.processors == 1.0, "{why:?}");
    assert!((why.utilisation - 0.946).abs() < 1e-12 && (why.each - 0.86).abs() < 1e-12, "{why:?}");
    assert!((why.processors * why.utilisation / why.each - why.ratio).abs() < 1e-12);
    let base = result.workloads[0].contenders.iter().find(|c| c.contender == "x86").unwrap();
    assert_eq!(base.why, None);
}

#[test]
fn without_the_servers_time_nothing_is_said_of_it() {
    let mut trials = [seen("x86", 1, 1000, 1200, None), seen("x86", 2, 1000, 1200, None)];
    trials[1].target.server_cpu_ns = None;
    let found = explained(&trials.iter().collect::<Vec<_>>(), &TPS).unwrap();
    assert!(found.server.is_none() && found.client.is_some() && found.bounds.is_empty(), "{found:?}");
    trials.iter_mut().for_each(|r| r.health = Default::default());
    assert_eq!(explained(&trials.iter().collect::<Vec<_>>(), &TPS), None);
    assert_eq!(explained(&[], &TPS), None);
}

#[test]
fn interrupts_on_two_of_sixteen_processors_are_named() {
    let mut processors = vec![processor(38, 2); 16];
    (processors[0], processors[8]) = (processor(3, 94), processor(2, 96));
    let text =
        "processors 0 and 8 of the client's machine are full of interrupts (95 % of their time), while the others work 40 %";
    assert_eq!(said(&of(processors, &[])), [(BoundBy::Interrupts, text)]);
    let mut processors = idle(4);
    processors[3] = processor(99, 0);
    let text = "processor 3 of the client's machine is full (99 %), while the others work 20 %; programs other than the server and \
                perbuck had 1.02 processors";
    assert_eq!(said(&of(processors, &[])), [(BoundBy::OneProcessor, text)]);
}

#[test]
fn a_full_machine_says_who_fills_it() {
    let text = "all 2 processors of the client's machine worked 95 % of the time: the server 0.40, perbuck 0.17, others, the \
                kernel's interrupts among them, 1.33 of them";
    assert_eq!(said(&of(vec![processor(90, 5); 2], &[])), [(BoundBy::Processors, text)]);
    // Of a coordinator nothing is said: its agents have the load.
    let samples = MachineSamples { steps_ms: vec![1000, 3000], processors: vec![processor(99, 0); 2], series: Vec::new() };
    let mut r = seen("x86", 1, 1000, 1200, Some(samples));
    r.agents.push(AgentRecord::default());
    let found = explained(&[&r], &TPS).unwrap();
    assert!(found.client.is_none() && found.bounds.is_empty(), "{found:?}");
}

#[test]
fn the_machines_of_servers_and_agents_are_told_apart() {
    let full = |work| MachineSamples { steps_ms: vec![1000, 3000], processors: vec![processor(work, 0); 2], series: Vec::new() };
    let mut r = seen("x86", 1, 1000, 5100, Some(full(20)));
    r.host.shared_with_server = false;
    r.target.observed = vec![crate::run_record::Observed { vcpus: Some(2), ..Default::default() }];
    r.target.machines = vec![ServerMachine { source: "ssh://db".into(), samples: Some(full(95)), ..ServerMachine::default() }];
    let text = "all 2 processors of the server's machine worked 95 % of the time: the server 1.70, others, the kernel's interrupts \
                among them, 0.20 of them";
    assert_eq!(said(&explained(&[&r], &TPS).unwrap()), [(BoundBy::Processors, text)]);
    r.target.machines.push(ServerMachine { source: "db2".into(), samples: Some(full(99)), ..ServerMachine::default() });
    let found = explained(&[&r], &TPS).unwrap();
    assert!(found.bounds[1].text.starts_with("all 2 processors of the server's machine db2 worked 99 %"), "{found:?}");
    r.target.machines.clear();
    r.agents = vec![AgentRecord { name: "load-1".into(), samples: Some(full(99)), ..AgentRecord::default() }];
    let text = "all 2 processors of the machine of agent load-1 worked 99 % of the time";
    assert_eq!(said(&explained(&[&r], &TPS).unwrap()), [(BoundBy::Processors, text)]);
}

#[test]
fn a_server_that_its_limit_stops_is_throttled() {
    let throttled = |share| {
        let mut r = seen("x86", 1, 1000, 1200, None);
        r.target.server_throttled = share;
        explained(&[&r], &TPS).unwrap()
    };
    let text = "the CPU limit of the server (`cpu.max`) stopped it in 87 % of its periods";
    assert_eq!(said(&throttled(Some(0.87))), [(BoundBy::Throttled, text)]);
    assert_eq!((said(&throttled(Some(0.04))), said(&throttled(None))), (vec![], vec![]));
}

#[test]
fn disks_memory_packets_and_locks_are_told_with_their_numbers() {
    let busy = [
        ("node_disk_io_time_seconds_total{device=\"vda\"}", 2.91),
        ("node_disk_io_time_weighted_seconds_total{device=\"vda\"}", 24.6),
        ("node_disk_io_time_seconds_total{device=\"vdb\"}", 0.3),
        ("node_disk_writes_completed_total{device=\"vda\"}", 2000.0),
        ("node_disk_write_time_seconds_total{device=\"vda\"}", 24.0),
        ("node_pressure_io_waiting_seconds_total", 1.5),
    ];
    let text = "disk vda of the client's machine had work 97 % of the time, 8.2 requests at once; 667 writes a second of 12.0 ms; a program waited for it 50 % \
                of the time";
    assert_eq!(said(&of(idle(4), &busy)), [(BoundBy::Disk, text)]);
    let short = [("node_pressure_memory_waiting_seconds_total", 0.3), ("node_vmstat_pswpout_total", 300.0)];
    let text = "memory of the client's machine is short: programs waited for it 10 % of the time, 100 pages a second swapped";
    assert_eq!(said(&of(idle(4), &short)), [(BoundBy::Memory, text)]);
    let late = [("node_softnet_processed_total", 10_000.0), ("node_softnet_dropped_total", 120.0)];
    let text = "the kernel of the client's machine dropped 1.20 % of the packets that came: its queues were full";
    assert_eq!(said(&of(idle(4), &late)), [(BoundBy::Network, text)]);
    let mut r = seen("x86", 1, 1000, 1200, None);
    r.target.server_counters.insert("Innodb_row_lock_time".into(), 8160);
    r.intervals = vec![Second { length_ms: 3000, ..Second::default() }];
    r.flags.push(Flag::ClientLimited { why: "a thread is full".into() });
    let found = explained(&[&r], &TPS).unwrap();
    let text = "connections waited for row locks 34 % of their time";
    assert_eq!(said(&found), [(BoundBy::Locks, text), (BoundBy::Client, "a thread is full")]);
}

#[test]
fn what_is_below_its_threshold_is_not_told() {
    let quiet = [
        ("node_disk_io_time_seconds_total{device=\"vda\"}", 2.9),
        ("node_disk_io_time_weighted_seconds_total{device=\"vda\"}", 9.0),
        ("node_pressure_io_waiting_seconds_total", 1.0),
        ("node_pressure_memory_waiting_seconds_total", 0.1),
        ("node_vmstat_pswpout_total", 20.0),
        ("node_softnet_processed_total", 1e6),
        ("node_softnet_dropped_total", 1.0),
    ];
    assert_eq!(said(&of(vec![processor(80, 5); 2], &quiet)), []);
}

/// A trial of 3 s with 8 connections whose servers told this.
fn metered(growth: &[(&str, f64)], means: &[(&str, f64)], to_ms: u32) -> RunRecord {
    let mut r = seen("x86", 1, 1000, 1200, None);
    r.load.connections = 8;
    let of = |all: &[(&str, f64)]| all.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    let (growth, means, series_sha256) = (of(growth), of(means), Some("00".to_owned()));
    let metrics = ServerMetrics { from_ms: to_ms - 3000, to_ms, growth, means, series_sha256, ..ServerMetrics::default() };
    r.target.metrics = Some(metrics);
    r
}

#[test]
fn the_servers_own_metrics_say_what_was_waited_for_and_what_each_unit_took() {
    let row_lock = "mysql_global_status_innodb_row_lock_time";
    let waits = |event| format!("mysql_perf_schema_events_waits_total{{event_name=\"{event}\"}}");
    let (a, b) = (waits("a"), waits("b"));
    let growth = [(row_lock, 6000.0), ("mysql_global_status_innodb_data_fsyncs", 500.0), (&*a, 1500.0), (&*b, 500.0)];
    let trial = metered(&growth, &[], 20_000);
    let found = explained(&[&trial, &trial], &TPS).unwrap();
    // 12 s of 2 × 3 s of 8 connections.
    assert_eq!(said(&found), [(BoundBy::Locks, "connections waited for row locks 25 % of their time")]);
    let each: Vec<(&str, f64)> = found.each.iter().map(|each| (&*each.what, each.count)).collect();
    // The status of the server tells these, and they were zero; of stores it tells nothing.
    let (zeros, told) = each.into_iter().partition::<Vec<_>, _>(|(_, count)| *count == 0.0);
    assert_eq!(told, [("flushes to disk", 0.5), ("waits", 2.0)]);
    let zero = ["pages read", "writes to files", "bytes of log", "waits for row locks", "temporary files"];
    assert_eq!(zeros, zero.map(|what| (what, 0.0)));
    // A PostgreSQL that has no view of files does not say that it wrote none.
    let commits = metered(&[("pg_stat_database_xact_commit", 2000.0)], &[], 20_000);
    let each: Vec<String> = explained(&[&commits], &TPS).unwrap().each.into_iter().map(|each| each.what).collect();
    assert_eq!(each, ["pages read", "temporary files"]);
    let lock = "pg_stat_activity_count{state=\"active\",wait_event_type=\"Lock\",wait_event=\"tuple\"}";
    let sync = "pg_stat_activity_count{state=\"active\",wait_event_type=\"IO\",wait_event=\"WALSync\"}";
    let found = explained(&[&metered(&[], &[(lock, 2.0), (sync, 4.0)], 20_000)], &TPS).unwrap();
    let expected = [
        (BoundBy::Disk, "connections waited for files 50 % of their time, by samples"),
        (BoundBy::Locks, "connections waited for locks 25 % of their time, by samples"),
    ];
    assert_eq!(said(&found), expected);
    // Readings that ended before the window say nothing of the whole of it.
    let mut early = metered(&growth, &[], 20_000);
    early.measured.window_ns = 21_000_000_000;
    let early = explained(&[&early], &TPS).unwrap();
    assert!(early.bounds.is_empty() && early.each.is_empty(), "{early:?}");
}

/// A trial of 3 s on three stores that told this, in their order.
fn stored(cpu_s: [f64; 3], requests: [f64; 3], leaders: [f64; 3]) -> RunRecord {
    let named = |family: &str, values: [f64; 3]| -> Vec<(String, f64)> {
        // Zeros are left out of a record.
        let all = values.into_iter().enumerate().filter(|(_, value)| *value > 0.0);
        all.map(|(i, value)| (format!("{family}{{store=\"{}\"}}", i + 1), value)).collect()
    };
    let growth = [named("store_cpu_seconds_total", cpu_s), named("store_requests_total", requests)].concat();
    let mut r = metered(&[], &[], 20_000);
    let metrics = r.target.metrics.as_mut().unwrap();
    (metrics.growth, metrics.means) = (growth.into_iter().collect(), named("store_leaders", leaders).into_iter().collect());
    r
}

#[test]
fn a_store_that_has_most_of_the_work_is_named_with_what_it_has() {
    let told = |cpu_s, requests, leaders| {
        let trial = stored(cpu_s, requests, leaders);
        let found = explained(&[&trial, &trial], &TPS).unwrap().bounds;
        found.into_iter().map(|bound| (bound.by, bound.text)).collect::<Vec<_>>()
    };
    let text = "one store of 3 has most of the work: store 2 has 3.00 of the stores' 4.00 processors (each other one 0.50), 80 % of \
                their requests, 120 of 150 leaders";
    let heavy = told([2.0, 9.0, 1.0], [500.0, 4000.0, 500.0], [20.0, 120.0, 10.0]);
    assert_eq!(heavy, [(BoundBy::Unbalanced, text.to_owned())]);
    // Leaders alone are no limit where each store has as much to do, nor is one store of which the others have half.
    assert_eq!(told([4.0, 4.0, 4.0], [900.0, 900.0, 900.0], [0.0, 150.0, 0.0]), []);
    assert_eq!(told([3.0, 5.0, 3.0], [900.0, 1500.0, 900.0], [50.0, 50.0, 50.0]), []);
    // Nearly idle, one of them has a background job.
    assert_eq!(told([0.0, 1.0, 0.0], [9.0, 30.0, 9.0], [50.0, 50.0, 50.0]), []);
    let untold = told([0.0; 3], [100.0, 900.0, 0.0], [5.0, 45.0, 0.0]);
    let text = "one store of 2 has most of the work: store 2 has 90 % of their requests, 45 of 50 leaders";
    assert_eq!(untold, [(BoundBy::Unbalanced, text.to_owned())]);
}

/// A trial whose profile of the server has these symbols, by their samples.
fn profiled(server_ms: u64, symbols: &[(&str, u64)]) -> RunRecord {
    let symbols = symbols.iter().map(|(symbol, samples)| SymbolSamples {
        symbol: (*symbol).to_owned(),
        object: "mariadbd".to_owned(),
        samples: *samples,
    });
    let mut r = seen("x86", 1, 1000, server_ms, None);
    r.target.observed = vec![crate::run_record::Observed { vcpus: Some(2), ..Default::default() }];
    r.target.profile = Some(Profile { samples: 1000, symbols: symbols.collect(), ..Profile::default() });
    r
}

#[test]
fn a_profile_says_in_which_symbols_a_contender_needs_more_time_for_each_unit() {
    let base =
        [profiled(1000, &[("parse", 500), ("read", 300)]), profiled(1000, &[("parse", 300), ("read", 500), ("lock", 100)])];
    let own = [profiled(2000, &[("parse", 100), ("read", 800)])];
    let of = |trials: &[RunRecord]| explained(&trials.iter().collect::<Vec<_>>(), &TPS).unwrap();
    let (base, own) = (of(&base), of(&own));
    let profile = base.profile(ProfileOf::Server).unwrap();
    let shares: Vec<(&str, f64)> = profile.symbols.iter().map(|s| (&*s.symbol, s.share)).collect();
    assert_eq!((shares, profile.samples), (vec![("parse", 0.4), ("read", 0.4), ("lock", 0.05)], 2000));
    // 1 ms for each transaction against 2 ms: the share of the samples, times that.
    let found = own.profile_differences(&base, ProfileOf::Server);
    let more: Vec<(&str, i64)> = found.iter().map(|d| (d.symbol, d.more_ns().round() as i64)).collect();
    assert_eq!(more, [("read", 1_200_000), ("parse", -200_000), ("lock", -50_000)]);
    // Of 1,000 samples a share of 80 % may be off by 2.5 points, and the time of each is 2 ms.
    assert!((found[0].noise_ns - 55_136.0).abs() < 1.0 && found.iter().all(SymbolDifference::is_shown), "{found:?}");
    assert_eq!(own.profile_differences(&base, ProfileOf::Client), []);
    // Shares of the time without the kernel are no shares of the time for each unit.
    let mut user = profiled(1000, &[("parse", 600)]);
    user.target.profile.as_mut().unwrap().user_only = true;
    let user = of(&[user]);
    assert_eq!(
        (user.profile(ProfileOf::Server).unwrap().symbols[0].each_ns, own.profile_differences(&user, ProfileOf::Server)),
        (None, vec![])
    );
    let mut failed = profiled(1000, &[]);
    failed.target.profile = Some(Profile::not_taken("perf says: no"));
    assert_eq!(of(&[failed]).profiles, []);
}
