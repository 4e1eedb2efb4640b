//! What the counters of servers rose by during a trial.

use std::collections::{BTreeMap, BTreeSet};

use perbuck_load::driver::{CHANGES, PROCESSES};

/// What the server's counters rose by; nothing where the server was started again in between, for then it forgot. Where that was a process
/// of a cluster, what the other processes count is left out as well.
pub(crate) fn differences(before: &BTreeMap<String, i64>, after: &BTreeMap<String, i64>, load_ns: u64) -> BTreeMap<String, i64> {
    // What the server counts by reason has a counter once the reason was met; that it was asked for them shows in the others.
    let by_reason = |name: &String| name.starts_with("server_");
    let was_asked = before.keys().any(by_reason);
    let old = |name: &String| before.get(name).copied().or_else(|| (was_asked && by_reason(name)).then_some(0));
    let changes: BTreeMap<String, i64> = after.iter().filter_map(|(name, new)| Some((name.clone(), new - old(name)?))).collect();
    let parts: BTreeSet<&String> = before.keys().chain(after.keys()).filter(|name| name.starts_with(PROCESSES)).collect();
    let others = parts.iter().filter(|name| before.get(**name) != after.get(**name)).count();
    let mut changes = changes;
    changes.retain(|name, _| !name.starts_with(PROCESSES) && (others == 0 || !by_reason(name)));
    if others > 0 {
        changes.insert(format!("{CHANGES}parts_with_other_processes"), others as i64);
    }
    // Uptime counts whole seconds; two of them are its rounding at both ends.
    let forgot = |(name, change): (&String, &i64)| match name.as_str() {
        "Uptime" => *change < (load_ns / 1_000_000_000) as i64 - 2,
        name => name.starts_with("Com_") && *change < 0,
    };
    if changes.iter().any(forgot) { BTreeMap::new() } else { changes }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_by_reason_counts_from_zero_where_its_server_was_asked_before() {
        let of = |pairs: &[(&str, i64)]| pairs.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect::<BTreeMap<_, _>>();
        let change = |before: &[(&str, i64)], after: &[(&str, i64)]| differences(&of(before), &of(after), 0);
        let after = [("Com_select", 9), ("server_retries", 5), ("server_retries_lock", 7)];
        let asked = change(&[("Com_select", 2), ("server_retries", 5)], &after);
        assert_eq!(asked, of(&[("Com_select", 7), ("server_retries", 0), ("server_retries_lock", 7)]));
        // Its status port did not answer before: what it counted since it started is no change.
        assert_eq!(change(&[("Com_select", 2)], &after), of(&[("Com_select", 7)]));
        // A process of a part was started again, or another one came: what was counted before it is gone.
        let part =
            |id, n| [("Com_select", 9), ("server_processes_tikv", id), ("server_cpu_ms_tikv", n), ("server_changes_regions", n)];
        let same = [("Com_select", 0), ("server_cpu_ms_tikv", -10), ("server_changes_regions", -10)];
        assert_eq!(change(&part(7, 40), &part(7, 30)), of(&same), "regions may merge");
        let restarted = of(&[("Com_select", 0), ("server_changes_parts_with_other_processes", 1)]);
        assert_eq!(change(&part(7, 40), &part(8, 90)), restarted);
        assert_eq!(change(&part(7, 40)[..1], &part(7, 90)), restarted, "it did not answer before");
    }
}
