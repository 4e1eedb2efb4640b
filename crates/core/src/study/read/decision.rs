//! How a study decides: confidence, margin, and an objective of latency.

use crate::study::{Decision, Slo};
use crate::toml_reader::Section;

impl Default for Decision {
    fn default() -> Self {
        Self { confidence: 0.95, margin: 0.03, slo: None }
    }
}

pub(super) fn read_decision(s: &Section<'_>) -> Decision {
    let mut decision = Decision::default();
    decision.confidence = s.number("confidence", 0.5, 1.0).map_or(decision.confidence, |v| v.value);
    decision.margin = s.number("margin", 0.0, 1.0).map_or(decision.margin, |v| v.value);
    if let Some(slo) = s.table("slo") {
        let (percentile, at_most) = (slo.number("percentile", 0.0, 100.0), slo.duration_ns("at_most"));
        slo.finish();
        decision.slo = percentile.zip(at_most).map(|(p, ns)| Slo { percentile: p.value, at_most_ns: ns.value });
        if decision.slo.is_none() {
            let help = "write `slo = { percentile = 95, at_most = \"50ms\" }`";
            slo.report("percentile", "a latency objective needs `percentile` and `at_most`", help);
        }
    }
    s.finish();
    decision
}
