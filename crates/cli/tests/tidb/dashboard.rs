//! What the dashboard asks about TiDB, asked of a real Prometheus that scrapes a real TiDB.

use std::thread::scope;

use perbuck_exposition::dashboard::{ROWS, Source};

use super::common::prometheus::Prometheus;
use super::common::tidb::{CONFLICTS, SMALL, Tidb};
use super::common::wait_until;

#[test]
fn every_query_about_tidb_returns_data_while_a_trial_runs() {
    let tidb = Tidb::start();
    let prometheus = Prometheus::start(&tidb.desk, "prometheus", &[("tidb", tidb.status)], false);
    // TiDB has no counter of errors before the first one.
    assert!(!tidb.client("SELECT * FROM nowhere").status.success());
    let of_tidb = ROWS.iter().filter(|row| row.source == Source::TiDb).flat_map(|row| row.panels);
    let queries: Vec<String> = of_tidb.flat_map(|p| p.queries).map(|q| q.of_all("10s")).filter(|q| q.contains("tidb_")).collect();
    assert!(queries.len() >= 6, "{queries:?}");
    scope(|scope| {
        let run = scope.spawn(|| tidb.study("", "", CONFLICTS, &SMALL.replace("\"3s\"", "\"20s\"")));
        for query in &queries {
            wait_until(query, || !prometheus.query(query).is_empty());
        }
        assert!(!run.is_finished(), "the trial ended before all queries had data");
        assert_eq!(run.join().unwrap().len(), 1);
    });
}
