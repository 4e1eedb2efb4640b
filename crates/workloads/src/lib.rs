//! The benchmarks: schema per dialect, deterministic data, transactions and checks. No socket, no clock, no statistics.

pub mod benchmark;
#[cfg(test)]
mod databases;
#[cfg(test)]
mod family_tests;
pub mod params;
pub mod sysbench;
pub mod tpcc;
pub mod ycsb;

pub use benchmark::{Benchmark, Benchmarks, Plan, Visitor};

/// The benchmarks of perbuck. A new one is added here, and nowhere else.
pub type Workloads = (sysbench::Options, (tpcc::Options, (ycsb::Options, ())));

#[cfg(test)]
pub(crate) mod tests {
    use perbuck_core::study::{Located, Scalar};

    use super::*;

    pub(crate) fn plan(kind: &str, words: &[(&str, &str)]) -> Plan {
        let scalar = |v: &str| v.parse().map_or_else(|_| Scalar::Text(v.to_owned()), Scalar::Int);
        let value = |v: &str| Located { value: scalar(v), line: 1 };
        let parameters = words.iter().map(|(k, v)| ((*k).to_owned(), value(v))).collect();
        Plan::read::<Workloads>(kind, &parameters).unwrap()
    }

    #[test]
    fn scripts_that_spoil_the_tables_of_others_need_their_own() {
        let script = |name| plan("sysbench", &[("script", name)]);
        let (insert, bulk) = (script("oltp_insert"), script("bulk_insert"));
        assert_eq!(script("oltp_read_only").conflict(&*script("oltp_write_only")), None);
        assert_eq!(insert.conflict(&*insert), None);
        assert!(script("oltp_read_only").conflict(&*insert).unwrap().contains("oltp_insert changes how many rows"));
        assert!(script("oltp_delete").conflict(&*script("oltp_read_only")).unwrap().contains("oltp_delete changes"));
        assert!(bulk.conflict(&*script("oltp_read_only")).unwrap().contains("do not begin with the same tables"));
        let numbered = |name| plan("sysbench", &[("script", name), ("auto_inc", "off")]);
        assert!(numbered("oltp_insert").conflict(&*numbered("oltp_read_only")).unwrap().contains("the same tables"));
        assert_eq!(plan("tpcc", &[]).conflict(&*insert), None);
        assert_eq!((bulk.connections_max(), insert.connections_max()), (Some((1, "threads")), None));
    }
}
