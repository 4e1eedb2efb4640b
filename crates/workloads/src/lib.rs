//! The benchmarks: schema per dialect, deterministic data, transactions and checks. No socket, no clock, no statistics.

pub mod benchmark;
pub mod ch;
mod characters;
mod day;
mod generated;
pub mod params;
pub mod script;
pub mod sysbench;
#[cfg(test)]
pub(crate) mod testing;
pub mod tpcc;
pub mod tpch;
pub mod traffic;
pub mod ycsb;

pub use benchmark::{Benchmark, BenchmarkAction, Benchmarks, DataSize, Explained, Plan};

/// The benchmarks of perbuck. A new one is added here, and nowhere else.
pub type Workloads = (
    sysbench::Options,
    (tpcc::Options, (ycsb::Options, (tpch::Options, (ch::Options, (script::Options, (traffic::Options, ())))))),
);

/// What a session answers, or how it fails.
pub(crate) type Result<T, E = perbuck_load::error::DriverError> = std::result::Result<T, E>;

#[cfg(test)]
mod tests {
    use perbuck_core::units::Seed;
    use perbuck_core::workload_kind::Decides;

    use super::*;

    fn plan(kind: &str, words: &[(&str, &str)]) -> Plan {
        Plan::read::<Workloads>(kind, &testing::parameters(words)).unwrap()
    }

    #[test]
    fn scripts_that_spoil_the_tables_of_others_need_their_own() {
        let script = |name| plan("sysbench", &[("script", name)]);
        let (insert, bulk) = (script("oltp_insert"), script("bulk_insert"));
        assert_eq!(script("oltp_read_only").conflict(&*script("oltp_write_only")), None);
        assert_eq!(insert.conflict(&*insert), None);
        assert!(script("oltp_read_only").conflict(&*insert).unwrap().contains("oltp_insert changes how many rows"));
        assert!(script("oltp_delete").conflict(&*script("oltp_read_only")).unwrap().contains("oltp_delete changes"));
        assert!(bulk.conflict(&*script("oltp_read_only")).unwrap().contains("of their data is"));
        let numbered = |name| plan("sysbench", &[("script", name), ("auto_inc", "off")]);
        assert!(numbered("oltp_insert").conflict(&*numbered("oltp_read_only")).unwrap().contains("`rows` of their data is"));
        assert_eq!(plan("tpcc", &[]).conflict(&*insert), None);
        assert_eq!((bulk.connections_max(), insert.connections_max()), (Some((1, "threads")), None));
    }

    #[test]
    fn what_is_declared_is_what_is_read_and_what_decides_the_data() {
        let odd = testing::parameters(&[("\u{7f}", "1")]);
        for kind in Workloads::kinds() {
            let problems = Plan::read::<Workloads>(kind.name, &odd).unwrap_err();
            let known = problems.iter().find_map(|p| p.help.strip_prefix("this workload knows: ")).unwrap();
            let (mut read, mut declared) =
                (known.split(", ").collect::<Vec<_>>(), kind.parameters.iter().map(|p| p.name).collect::<Vec<_>>());
            read.sort_unstable();
            declared.sort_unstable();
            assert_eq!(read, declared, "{}", kind.name);
        }
        decide_the_data::<sysbench::Options>(
            &[("script", "oltp_insert"), ("auto_inc", "off"), ("rand_type", "special"), ("pgsql_variant", "redshift")],
            &["rows", "rand_type"],
        );
        decide_the_data::<sysbench::Options>(&[("script", "bulk_insert")], &["columns"]);
        decide_the_data::<tpcc::Options>(
            &[("partitions", "4"), ("history_key", "on"), ("foreign_keys", "on"), ("wait", "on")],
            &[],
        );
        decide_the_data::<ycsb::Options>(
            &[("workload", "a"), ("fieldlengthdistribution", "uniform"), ("insertorder", "ordered")],
            &[],
        );
    }

    /// What the data record is declared to decide them, or follows from the script.
    fn decide_the_data<B: Benchmark>(words: &[(&str, &str)], derived: &[&str]) {
        let data = testing::read::<B>(words).unwrap().dataset(testing::SQLITE, Seed(1)).parameters();
        let declared = |key: &str| B::kind().parameters.iter().any(|p| p.name == key && p.decides == Decides::Data);
        assert!(data.keys().all(|key| declared(key) || derived.contains(&key.as_str())), "{data:?}");
    }
}
