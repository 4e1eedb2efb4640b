//! Machines of servers that a real Prometheus watches by a real node_exporter: what records hold of them, and what is refused.

use crate::common::maria::{Maria, study};
use crate::common::prometheus::{Prometheus, Running};
use crate::common::{Desk, wait_until};
use perbuck_core::run_record::MachineSamples;

const SELECTS: &str = "kind = \"sysbench\"\nscript = \"oltp_point_select\"\ntables = 1\ntable_size = 1000";

fn sum(samples: &MachineSamples, name: &str) -> f64 {
    samples.series.iter().find(|s| s.name == name).unwrap_or_else(|| panic!("no {name}: {samples:#?}")).sum()
}

/// Percent of all processors in the mean of all steps.
fn busy(samples: &MachineSamples) -> f64 {
    let of = |list: &[u8]| list.iter().map(|p| f64::from(*p)).sum::<f64>();
    samples.processors.iter().map(|p| of(&p.work.0)).sum::<f64>() / samples.steps_ms.len() as f64
}

#[test]
fn what_prometheus_scraped_is_what_perbuck_counted_by_itself() {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "watched");
    let node = Running::start(&desk, "prometheus-node-exporter", &[], &[]);
    let prometheus = Prometheus::start(&desk, "watching", &[("node", node.port)], false);
    let instance = format!("127.0.0.1:{}", node.port);
    let watched = |instance: &str| {
        let keys = format!("prometheus = {{ url = \"http://127.0.0.1:{}\", instances = [\"{instance}\"] }}", prometheus.0.port);
        let sweep = "connections = [2]\nwarmup = \"1s\"\nduration = \"8s\"\ntrials = 1";
        study(&maria.url(), SELECTS, sweep).replace("[[workload]]", &format!("{keys}\n[[workload]]"))
    };
    // Only what was scraped twice is known.
    wait_until("it has scraped twice", || prometheus.query("count_over_time(node_procs_running[1m]) > 2").len() == 1);
    desk.write("s.toml", &watched("10.9.9.9:9100"));
    let refused = desk.perbuck(&["run", "s.toml"]);
    assert!(
        refused.code == Some(3) && refused.err.contains("line 6: Prometheus has not scraped node_exporter of `10.9.9.9:9100`"),
        "{refused:#?}"
    );

    desk.write("s.toml", &watched(&instance));
    desk.good(&["run", "s.toml"]);
    let record = desk.records("results/s").remove(0);
    let [machine] = &record.target.machines[..] else { panic!("{record:#?}") };
    let (theirs, ours) = (machine.samples.as_ref().unwrap(), record.health.samples.as_ref().unwrap());
    assert!(machine.source == instance && theirs.steps_ms.len() >= 4, "{machine:#?}");
    assert_eq!(theirs.processors.len(), ours.processors.len());
    // The same machine by two readers, whose windows differ by up to a scrape at each end.
    let rate = |samples: &MachineSamples, name: &str| sum(samples, name) / f64::from(*samples.steps_ms.last().unwrap());
    let ratio = rate(theirs, "node_context_switches_total") / rate(ours, "node_context_switches_total");
    assert!((0.7..1.4).contains(&ratio), "{ratio}");
    assert!((busy(theirs) - busy(ours)).abs() < 30.0 * ours.processors.len() as f64, "{} {}", busy(theirs), busy(ours));
    for family in ["node_memory_MemAvailable_bytes", "node_netstat_Tcp_OutSegs_total", "node_softnet_processed_total"] {
        assert!(theirs.series.iter().any(|s| s.name == family), "{family}: {theirs:#?}");
        assert!(ours.series.iter().any(|s| s.name == family), "{family}: {ours:#?}");
    }
    desk.good(&["report", "results/s"]);
    desk.good(&["verify", "results/s"]);
}
