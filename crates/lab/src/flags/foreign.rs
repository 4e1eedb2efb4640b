//! Work of other clients on the servers, by what these count.

use perbuck_core::run_record::Flag;
use perbuck_core::study::WorkloadSpec;
use perbuck_load::driver::ServerWork;
use perbuck_load::trial::{TrialOutcome, TrialSpec};

/// Work of other clients, as a share of what the server executed, from which on a trial is flagged.
const FOREIGN: f64 = 0.01;
/// Work that looks like other clients', and that is a large share of a small trial: so much, so much more each second (monitoring and
/// autovacuum), and of transactions for each long query (PostgreSQL counts two of each parallel worker, and these are four).
const FOREIGN_AT_LEAST: (u64, u64, u64) = (100, 1, 8);

/// Work of other clients on the servers, during a trial with load of this length, in which so many long queries were sent.
pub(crate) fn foreign_load(work: &ServerWork, load_ns: u64, long_queries: u64) -> Option<Flag> {
    let (foreign, all, unit) = work.foreign()?;
    let (once, each_second, each_query) = FOREIGN_AT_LEAST;
    let of_workers = if matches!(work, ServerWork::Transactions { .. }) { each_query * long_queries } else { 0 };
    let usual = once + each_second * (load_ns / 1_000_000_000) + of_workers;
    let much = foreign > usual && foreign as f64 > FOREIGN * all as f64;
    much.then(|| Flag::ForeignLoad { foreign, all, unit: unit.to_owned() })
}

/// The long queries of a trial, each of which several processes of a server may run.
pub(crate) fn long_queries(of_study: Option<&WorkloadSpec>, spec: &TrialSpec, outcome: &TrialOutcome) -> u64 {
    if of_study.is_some_and(WorkloadSpec::is_long) {
        return outcome.statements_whole_run.select;
    }
    // Beside a load there were as many in each second of the warm-up as in the window.
    let beside = of_study.and_then(|w| w.known?.interference?.queries.kinds());
    let of_kind = |kind: &str| outcome.measured.transactions.get(kind).map_or(0, |t| t.completed() + t.failed);
    let seen: u64 = beside.unwrap_or_default().iter().map(|kind| of_kind(kind)).sum();
    let window_ns = outcome.measured.window_ns.max(1);
    seen * (spec.warmup_ns + window_ns).div_ceil(window_ns)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by it")]
mod tests {
    use super::*;

    #[test]
    fn work_of_other_clients_is_flagged_from_one_percent_on_and_not_for_what_every_server_has() {
        let flag = |all, own| foreign_load(&ServerWork::Statements { all, own }, 20_000_000_000, 0);
        for (all, own, refused) in
            [(22_690, 8_690, true), (1_000_000, 950_001, false), (1_000_000, 949_999, true), (10_122, 10_000, false)]
        {
            let flag = flag(all, own).unwrap();
            assert_eq!(flag.refused_unless(), refused.then_some("foreign-load"), "{}", flag.text());
        }
        assert_eq!(
            flag(22_690, 8_690).unwrap().text(),
            "other clients used the server: 14000 of its 22690 statements were theirs (61.7 %)"
        );
        // Below 1 %, and below what monitoring and autovacuum do in such a time.
        assert_eq!((flag(1_000_000, 990_000), flag(220, 100), flag(100, 130)), (None, None, None));
        assert_eq!(foreign_load(&ServerWork::unknown("no right"), 1, 0), None);
        let streams = |all| foreign_load(&ServerWork::Transactions { all, own: 220 }, 60_000_000_000, 66);
        let statements = foreign_load(&ServerWork::Statements { all: 510, own: 220 }, 60_000_000_000, 66);
        assert!(streams(510).is_none() && streams(1_500).is_some() && statements.is_some());
    }
}
