//! A study that is collected one trial at a time, made of values in place of a text.

use std::collections::BTreeMap;

use crate::study::{AuditSpec, Contender, Decision, Located, PriceBasis, Scalar, Study, Summary, Sweep, WorkloadSpec};
use crate::units::Seed;
use crate::workload_kind::WorkloadKind;

use super::DEFAULT_SEED;

impl Study {
    /// The study that the reader makes of a text with these contenders (name and target) and this workload (name, kind and
    /// parameters), where nothing else differs from its default; lines are 0.
    pub fn collected<'c>(
        (name, question): (&str, &str),
        contenders: impl IntoIterator<Item = (&'c str, &'c str)>,
        (workload, kind): (&str, &'static WorkloadKind),
        parameters: &BTreeMap<String, Scalar>,
        sweep: Sweep,
    ) -> Self {
        let located = |value: &str| Located { value: value.to_owned(), line: 0 };
        let contender = |(name, target): (&str, &str)| Contender {
            name: name.to_owned(),
            label: name.to_owned(),
            target: Some(located(target)),
            ..Contender::default()
        };
        let workload = WorkloadSpec {
            name: workload.to_owned(),
            kind: located(kind.name),
            known: Some(kind),
            database: None,
            reset: None,
            metric: None,
            summary: None,
            weight: 1.0,
            parameters: parameters.iter().map(|(key, value)| (key.clone(), Located { value: value.clone(), line: 0 })).collect(),
            line: 0,
        };
        Self {
            notional: false,
            name: name.to_owned(),
            question: question.to_owned(),
            baseline: 0,
            seed: Seed(DEFAULT_SEED as u64),
            price: PriceBasis::default(),
            contenders: contenders.into_iter().map(contender).collect(),
            workloads: vec![workload],
            sweep,
            summary: Summary::Peak,
            decision: Decision::default(),
            published: None,
            audit: AuditSpec::default(),
        }
    }
}
