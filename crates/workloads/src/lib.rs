//! The benchmarks: schema per dialect, deterministic data, transactions and checks. No socket, no clock, no statistics.

#[cfg(test)]
mod databases;
#[cfg(test)]
mod family_tests;
pub mod params;
pub mod sysbench;
pub mod tpcc;
pub mod ycsb;

use std::collections::BTreeMap;

use perbuck_core::study::{Located, Scalar};
use perbuck_core::workload_kind::WorkloadKind;
use perbuck_database::dialect::{Dialect, Feature};

use params::{ParamProblem, Reader};

/// A workload of a study with checked parameters.
#[derive(Debug, Clone, PartialEq)]
pub enum Plan {
    /// One of the sysbench scripts.
    Sysbench(sysbench::Options),
    /// TPC-C.
    Tpcc(tpcc::Options),
    /// YCSB's core workload.
    Ycsb(ycsb::Options),
}

/// The kinds that a study may name.
pub static KINDS: [&WorkloadKind; 3] = [&sysbench::KIND, &tpcc::KIND, &ycsb::KIND];

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
            "ycsb" => Self::Ycsb(ycsb::Options::read(&mut reader)),
            other => {
                let names = KINDS.map(|kind| kind.name);
                let help = match perbuck_core::problem::nearest(other, names) {
                    Some(near) => format!("did you mean \"{near}\"?"),
                    None => format!("use one of {}", names.join(", ")),
                };
                let message = format!("there is no workload kind \"{other}\"");
                return Err(vec![ParamProblem { key: "kind".to_owned(), message, help }]);
            }
        };
        reader.finish()?;
        Ok(plan)
    }

    /// What its kind declares.
    pub fn kind(&self) -> &'static WorkloadKind {
        match self {
            Self::Sysbench(_) => &sysbench::KIND,
            Self::Tpcc(_) => &tpcc::KIND,
            Self::Ycsb(_) => &ycsb::KIND,
        }
    }

    /// Why one database cannot serve this workload and `other` in turn, if it cannot: a clause behind "because".
    pub fn conflict(&self, other: &Self) -> Option<String> {
        if let (Self::Ycsb(one), Self::Ycsb(two)) = (self, other) {
            return one.conflict(two);
        }
        let (Self::Sysbench(one), Self::Sysbench(two)) = (self, other) else { return None };
        if one.data_parameters() != two.data_parameters() {
            return Some(format!("{} and {} do not begin with the same tables", one.script.name(), two.script.name()));
        }
        let changing = [one, two].into_iter().find(|o| o.script.changes_row_counts() && one.script != two.script)?;
        Some(format!("{} changes how many rows they have", changing.script.name()))
    }

    /// What a database does not have: what is wrong, and the way out.
    pub fn refusal(&self, dialect: &dyn Dialect) -> Option<(String, String)> {
        if let Some(lack) = dialect.lacks(Feature::Sql).filter(|_| !matches!(self, Self::Ycsb(_))) {
            return Some((lack.why.to_owned(), lack.help.to_owned()));
        }
        match self {
            Self::Sysbench(_) | Self::Ycsb(_) => None,
            Self::Tpcc(o) => o.refusal(dialect),
        }
    }

    /// The parameter that makes its terminals wait for themselves, so that transactions cannot be due by a schedule.
    pub fn paced_by(&self) -> Option<&'static str> {
        match self {
            Self::Tpcc(o) if o.wait => Some("wait"),
            Self::Sysbench(_) | Self::Tpcc(_) | Self::Ycsb(_) => None,
        }
    }

    /// The most connections that it can have, and the parameter that says so.
    pub fn connections_max(&self) -> Option<(u32, &'static str)> {
        match self {
            Self::Sysbench(o) if o.script == sysbench::Script::BulkInsert => Some((o.threads, "threads")),
            Self::Sysbench(_) | Self::Tpcc(_) | Self::Ycsb(_) => None,
        }
    }

    /// Every parameter with its effective value, for the record.
    pub fn parameters(&self) -> BTreeMap<String, String> {
        match self {
            Self::Sysbench(o) => o.parameters(),
            Self::Tpcc(o) => o.parameters(),
            Self::Ycsb(o) => o.parameters(),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn plan(kind: &str, words: &[(&str, &str)]) -> Plan {
        let scalar = |v: &str| v.parse().map_or_else(|_| Scalar::Text(v.to_owned()), Scalar::Int);
        let value = |v: &str| Located { value: scalar(v), line: 1 };
        let parameters = words.iter().map(|(k, v)| ((*k).to_owned(), value(v))).collect();
        Plan::read(kind, &parameters).unwrap()
    }

    #[test]
    fn scripts_that_spoil_the_tables_of_others_need_their_own() {
        let script = |name| plan("sysbench", &[("script", name)]);
        let (insert, bulk) = (script("oltp_insert"), script("bulk_insert"));
        assert_eq!(script("oltp_read_only").conflict(&script("oltp_write_only")), None);
        assert_eq!(insert.conflict(&insert), None);
        assert!(script("oltp_read_only").conflict(&insert).unwrap().contains("oltp_insert changes how many rows"));
        assert!(script("oltp_delete").conflict(&script("oltp_read_only")).unwrap().contains("oltp_delete changes"));
        assert!(bulk.conflict(&script("oltp_read_only")).unwrap().contains("do not begin with the same tables"));
        let numbered = |name| plan("sysbench", &[("script", name), ("auto_inc", "off")]);
        assert!(numbered("oltp_insert").conflict(&numbered("oltp_read_only")).unwrap().contains("the same tables"));
        assert_eq!(plan("tpcc", &[]).conflict(&insert), None);
        assert_eq!((bulk.connections_max(), insert.connections_max()), (Some((1, "threads")), None));
    }
}
