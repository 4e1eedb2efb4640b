//! A server of several goes away and comes back.

use std::ops::Range;

use super::*;
use crate::sim::SimHosts;

fn on(hosts: &Arc<SimHosts>) -> SimDriver {
    SimDriver { hosts: Some(hosts.clone()), ..SimDriver::default() }
}

const DOWN: Range<Duration> = Duration::from_secs(3)..Duration::from_secs(6);

#[test]
fn connections_move_to_the_living_servers_and_fail_back_when_theirs_is_back() {
    let hosts = SimHosts::new(3, (1, DOWN));
    let outcome = simulate(&spec(12), on(&hosts)).unwrap();
    let opened = hosts.opened();
    let between = |from: Duration, to: Duration| {
        let mut on: Vec<u32> = opened.iter().filter(|(at, _)| *at >= from && *at < to).map(|(_, host)| *host).collect();
        on.sort_unstable();
        on
    };
    assert_eq!(between(Duration::ZERO, DOWN.start), [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]);
    assert_eq!(between(DOWN.start, DOWN.end), [0, 0, 2, 2], "the failovers are spread");
    assert_eq!(between(DOWN.end, DOWN.end + Duration::from_secs(3)), [1, 1, 1, 1], "they fail back");
    assert!(between(DOWN.end + Duration::from_secs(3), Duration::MAX).is_empty());
    assert_eq!((outcome.health.connections_lost, outcome.health.reconnects), (4, 8));
    // Each lost a statement, and met its own server away once; a failback is no error and breaks no transaction.
    let errors: u64 = outcome.errors.values().map(|e| e.count).sum();
    assert_eq!(errors, 8, "{:?}", outcome.errors);
    let failed: u64 = outcome.measured.transactions.values().map(|t| t.failed).sum();
    assert_eq!((failed, outcome.health.gaps.len()), (4, 0));
}

#[test]
fn a_terminal_whose_host_stays_away_works_on_another_to_the_end() {
    let hosts = SimHosts::new(2, (0, DOWN.start..Duration::MAX));
    let outcome = simulate(&spec(2), on(&hosts)).unwrap();
    assert_eq!((outcome.health.connections_lost, outcome.health.reconnects, hosts.opened().len()), (1, 1, 3));
    let both: Vec<u64> = outcome.terminals.iter().map(|t| t.transactions).collect();
    assert!(both[0].abs_diff(both[1]) <= 3, "{both:?}");
}

#[test]
fn where_all_servers_are_away_they_are_waited_for() {
    let hosts = SimHosts::new(1, (0, DOWN));
    let outcome = simulate(&spec(2), on(&hosts)).unwrap();
    assert_eq!((outcome.health.connections_lost, outcome.health.reconnects), (2, 2));
    assert!(outcome.health.longest_gap_ns > 2_900_000_000, "{}", outcome.health.longest_gap_ns);
}

#[test]
fn a_connection_that_is_renewed_after_a_failover_stays_there() {
    let hosts = SimHosts::new(2, (0, DOWN.start..Duration::MAX));
    let driver = on(&hosts);
    let outcome = simulate_with(&spec(1), driver, &TwoSelects::with(Some(100), Pauses::default()), &mut |_| {}).unwrap();
    assert_eq!(outcome.health.connections_lost, 1);
    assert!(hosts.opened().iter().filter(|(at, _)| *at >= DOWN.start).all(|(_, host)| *host == 1));
    let errors: u64 = outcome.errors.values().map(|e| e.count).sum();
    assert_eq!(errors, 2, "{:?}", outcome.errors);
}
