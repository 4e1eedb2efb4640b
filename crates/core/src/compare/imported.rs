//! What a reader must know of imported trials: which program measured them, what its logs do not say, and what differs between them.

use std::collections::{BTreeMap, BTreeSet};

use super::Remark;
use crate::run_record::RunRecord;
use crate::study::Study;

/// Windows of one workload may differ by this factor before a reader is told.
const NEAR: f64 = 1.1;

pub(super) fn remarks(study: &Study, records: &[RunRecord]) -> Vec<Remark> {
    let mut found: BTreeMap<String, Remark> = BTreeMap::new();
    let mut add = |text: String, record: &RunRecord| {
        let first = || Remark { text: text.clone(), flag: None, trials: 0, example: record.key.path() };
        found.entry(text.clone()).or_insert_with(first).trials += 1;
    };
    for record in records {
        if let Some(imported) = &record.imported {
            add(imported.text(), record);
        }
    }
    for spec in &study.workloads {
        let mine: Vec<&RunRecord> = records.iter().filter(|r| r.key.workload == spec.name && r.imported.is_some()).collect();
        let Some(first) = mine.first() else { continue };
        let programs: BTreeSet<String> = mine.iter().filter_map(|r| Some(r.imported.as_ref()?.program())).collect();
        if programs.len() > 1 {
            let names: Vec<String> = programs.into_iter().collect();
            mine.iter().for_each(|r| add(format!("the trials of `{}` were measured by {}", spec.name, names.join(" and ")), r));
        }
        let windows = mine.iter().map(|r| r.measured.window_ns);
        let (low, high) = (windows.clone().min().unwrap_or(0), windows.max().unwrap_or(0));
        if high as f64 > low as f64 * NEAR {
            let (low, high) = (low as f64 / 1e9, high as f64 / 1e9);
            let text =
                format!("the trials of `{}` took {low:.1} s to {high:.1} s: longer and shorter runs are compared", spec.name);
            mine.iter().for_each(|r| add(text.clone(), r));
        }
        for r in mine.iter().filter(|r| r.workload.parameters != first.workload.parameters) {
            add(format!("the logs of `{}` say different things of the workload", spec.name), r);
        }
    }
    found.into_values().collect()
}
