//! The benchmarks: schema per dialect, deterministic data, transactions and checks. No socket, no clock, no statistics.

pub mod params;
pub mod sysbench;
pub mod tpcc;

use std::collections::BTreeMap;

use perbuck_core::study::{Located, Metric, Scalar};

use params::{ParamProblem, Reader};

/// A workload of a study with checked parameters.
#[derive(Debug, Clone, PartialEq)]
pub enum Plan {
    /// One of the sysbench scripts.
    Sysbench(sysbench::Options),
    /// TPC-C.
    Tpcc(tpcc::Options),
}

/// The kinds that a study may name.
pub const KINDS: &[&str] = &["sysbench", "tpcc"];

impl Plan {
    /// Checks the parameters of a workload of that kind.
    ///
    /// # Errors
    /// Every problem, by parameter.
    pub fn read(kind: &str, parameters: &BTreeMap<String, Located<Scalar>>) -> Result<Self, Vec<ParamProblem>> {
        let mut reader = Reader::new(parameters);
        let plan = match kind {
            "sysbench" => Self::Sysbench(sysbench::Options::read(&mut reader)),
            "tpcc" => Self::Tpcc(tpcc::Options::read(&mut reader)),
            other => {
                let help = match perbuck_core::problem::nearest(other, KINDS.iter().copied()) {
                    Some(near) => format!("did you mean \"{near}\"?"),
                    None => format!("use one of {}", KINDS.join(", ")),
                };
                let message = format!("there is no workload kind \"{other}\"");
                return Err(vec![ParamProblem { key: "kind".to_owned(), message, help }]);
            }
        };
        reader.finish()?;
        Ok(plan)
    }

    /// The figure that this workload is compared by unless the study says otherwise.
    pub fn default_metric(&self) -> Metric {
        match self {
            Self::Sysbench(_) => Metric::Tps,
            Self::Tpcc(_) => Metric::Tpmc,
        }
    }

    /// Every parameter with its effective value, for the record.
    pub fn parameters(&self) -> BTreeMap<String, String> {
        match self {
            Self::Sysbench(o) => o.parameters(),
            Self::Tpcc(o) => o.parameters(),
        }
    }
}
