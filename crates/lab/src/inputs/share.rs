//! Workloads that share their tables begin with the same rows.

use std::collections::BTreeMap;

use perbuck_core::study::{Located, Scalar, Study, WorkloadSpec};

use crate::registry::Registry;

/// What shapes the rows, and has a namesake of the transactions (`data_rand_type` of `rand_type`), follows that namesake. Where workloads
/// that share their tables differ in it, all take what the first of them has, unless the study says otherwise.
pub(super) fn share_data(study: &mut Study, registry: Registry) {
    // As the workloads understand their parameters: a default may follow from another one. What is wrong in them is told elsewhere.
    let read = |w: &WorkloadSpec| registry.plan(&w.kind.value, &w.parameters).map(|plan| plan.parameters()).unwrap_or_default();
    let values: Vec<BTreeMap<String, String>> = study.workloads.iter().map(read).collect();
    let written = study.workloads.clone();
    for (mine, own) in study.workloads.iter_mut().zip(&values) {
        let shares = |(w, _): &(&WorkloadSpec, &BTreeMap<String, String>)| {
            (&w.kind.value, &w.database) == (&mine.kind.value, &mine.database)
        };
        let sharing: Vec<_> = written.iter().zip(&values).filter(shares).collect();
        for parameter in mine.known.map(|kind| kind.parameters).unwrap_or_default() {
            let Some(namesake) = parameter.name.strip_prefix("data_").filter(|namesake| own.contains_key(*namesake)) else {
                continue;
            };
            let mut all = sharing.iter().filter_map(|(w, values)| Some((w, values, values.get(namesake)?)));
            let Some((first, values, value)) = all.next() else { continue };
            if all.any(|(_, _, other)| other != value) {
                let value = Scalar::Text(values.get(parameter.name).unwrap_or(value).clone());
                mine.parameters.entry(parameter.name.to_owned()).or_insert(Located { value, line: first.line });
            }
        }
    }
}
