//! Whether published rates lie below what the benchmark allows by design: TPC-C's waits allow 12.86 tpmC of a warehouse.

use super::checks::number;
use super::{Check, Ground, Weight};
use crate::workload_kind::Disclosed;

/// One check for each workload whose kind has a ceiling.
pub(super) fn of_results(ground: &Ground<'_>) -> Vec<Check> {
    let study = ground.study;
    let Some(published) = &study.published else { return Vec::new() };
    let one = |workload: &crate::study::WorkloadSpec| {
        let kind = workload.known?;
        let (metric, parameters) = (study.metric_of(&workload.name), workload.declared());
        let disclosed = Disclosed { workload: &workload.name, metric, parameters: &parameters };
        let (ceiling, of) = (kind.disclosure)(&disclosed)?.ceiling?;
        let rows = published.rows.iter().filter(|r| r.workload == workload.name);
        let (highest, row) = rows.filter_map(|r| Some((number(r, &metric.name)?, r))).max_by(|a, b| a.0.total_cmp(&b.0))?;
        let times = highest / ceiling;
        let waits = (kind.waits)(&parameters);
        let point = format!("{}, {} at {} connections", row.workload, row.contender, row.connections);
        let found = format!("{times:.1} times {ceiling:.1} for {of}, with {highest} at {point}");
        let run = if waits { "with" } else { "without" };
        let (weight, why) =
            if waits { (Weight::Number, "although the run had them") } else { (Weight::Reproduction, "the run had no waits") };
        let allowed = format!("{times:.1} times the {ceiling:.1} that the waits of the benchmark allow for {of}");
        Some(Check {
            text: format!(
                "{} of a run {run} waits lies within what the waits of the benchmark allow: {}",
                metric.name, workload.name
            ),
            sentence: format!("{point} shows {highest} {}, {allowed}, {why}.", metric.name),
            found,
            holds: (times <= 1.0).into(),
            how: "the highest published rate over the ceiling that the benchmark has by its waits".to_owned(),
            weight,
        })
    };
    study.workloads.iter().filter_map(one).collect()
}
