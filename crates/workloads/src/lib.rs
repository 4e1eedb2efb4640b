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
    use std::collections::BTreeMap;

    use perbuck_core::study::{Located, Scalar};
    use perbuck_core::units::Seed;
    use perbuck_core::workload_kind::Decides;
    use perbuck_load::workload::Dataset;

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

    /// The parameters of a plan's data.
    struct DataParameters;

    impl Visitor for DataParameters {
        type Output = Vec<String>;

        fn visit<B: Benchmark>(self, options: &B) -> Vec<String> {
            options.dataset(databases::SQLITE, Seed(1)).parameters().into_keys().collect()
        }
    }

    #[test]
    fn what_is_declared_is_what_is_read_and_what_decides_the_data() {
        let odd = BTreeMap::from([("\u{7f}".to_owned(), Located { value: Scalar::Int(1), line: 1 })]);
        for kind in Workloads::kinds() {
            let problems = Plan::read::<Workloads>(kind.name, &odd).unwrap_err();
            let known = problems.iter().find_map(|p| p.help.strip_prefix("this workload knows: ")).unwrap();
            let (mut read, mut declared) =
                (known.split(", ").collect::<Vec<_>>(), kind.parameters.iter().map(|p| p.name).collect::<Vec<_>>());
            read.sort_unstable();
            declared.sort_unstable();
            assert_eq!(read, declared, "{}", kind.name);
        }
        let sysbench = [("script", "oltp_insert"), ("auto_inc", "off"), ("rand_type", "special"), ("pgsql_variant", "redshift")];
        let tpcc = [("partitions", "4"), ("history_key", "on"), ("foreign_keys", "on"), ("wait", "on")];
        let ycsb = [("workload", "a"), ("fieldlengthdistribution", "uniform"), ("insertorder", "ordered")];
        for plan in [
            plan("sysbench", &sysbench),
            plan("sysbench", &[("script", "bulk_insert")]),
            plan("tpcc", &tpcc),
            plan("ycsb", &ycsb),
        ] {
            let data = Workloads::visit(&plan, DataParameters).unwrap();
            let declared = |key: &str| plan.kind.parameters.iter().any(|p| p.name == key && p.decides == Decides::Data);
            // These follow from the script.
            let derived = |key: &str| plan.kind.name == "sysbench" && ["columns", "rows"].contains(&key);
            assert!(data.iter().all(|key| declared(key) || derived(key)), "{data:?}");
        }
    }
}
