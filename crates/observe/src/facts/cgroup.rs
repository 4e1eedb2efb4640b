//! Limits by control groups, of version 1 (a hierarchy for each controller) and 2 (one for all).

use std::collections::BTreeMap;

use perbuck_core::run_record::CgroupFacts;

use crate::tree::{Tree, cpu_list, ranges};

const ROOT: &str = "sys/fs/cgroup";
/// Version 1 writes the largest multiple of a page for "no limit"; none has this much memory.
const NO_LIMIT: u64 = 1 << 60;

/// The tightest limit of the process's groups and of those above them; `online` are the processors of the machine.
pub(super) fn facts(tree: &Tree, online: Option<&str>) -> CgroupFacts {
    let own = tree.text("proc/self/cgroup").unwrap_or_default();
    let groups = groups(&own);
    let (mut cpu_m, mut memory_bytes, mut cpus): (Vec<u64>, Vec<u64>, Option<String>) = (Vec::new(), Vec::new(), None);
    for folder in folders(&groups, "") {
        cpu_m.extend(tree.line(&format!("{folder}/cpu.max")).and_then(|line| share(&line)));
        memory_bytes.extend(tree.number::<u64>(&format!("{folder}/memory.max")));
        cpus = cpus.or_else(|| tree.line(&format!("{folder}/cpuset.cpus.effective")));
    }
    for folder in folders(&groups, "cpu") {
        let quota = tree.line(&format!("{folder}/cpu.cfs_quota_us")).zip(tree.line(&format!("{folder}/cpu.cfs_period_us")));
        cpu_m.extend(quota.and_then(|(quota, period)| share(&format!("{quota} {period}"))));
    }
    for folder in folders(&groups, "memory") {
        memory_bytes.extend(tree.number::<u64>(&format!("{folder}/memory.limit_in_bytes")));
    }
    for folder in folders(&groups, "cpuset") {
        cpus = cpus.or_else(|| tree.line(&format!("{folder}/cpuset.effective_cpus")));
        cpus = cpus.or_else(|| tree.line(&format!("{folder}/cpuset.cpus")));
    }
    CgroupFacts {
        cpu_m: cpu_m.into_iter().min(),
        cpus: cpus.map(|list| ranges(&cpu_list(&list))).filter(|list| !list.is_empty() && Some(list.as_str()) != online),
        memory_bytes: memory_bytes.into_iter().filter(|bytes| *bytes < NO_LIMIT).min(),
    }
}

/// The groups of a process by controller, from its file `cgroup`; the one of version 2 has no name.
pub(crate) fn groups(file: &str) -> BTreeMap<&str, &str> {
    file.lines().filter_map(group).flatten().collect()
}

/// The controllers of a line of `/proc/self/cgroup` with their group: `4:cpu,cpuacct:/a`; version 2 has none.
fn group(line: &str) -> Option<impl Iterator<Item = (&str, &str)>> {
    let (_, rest) = line.split_once(':')?;
    let (controllers, path) = rest.split_once(':')?;
    Some(controllers.split(',').map(move |controller| (controller, path)))
}

/// The folder of the group of a controller, and of those above it. A container may see its own group as the root, whatever its path is.
pub(crate) fn folders(groups: &BTreeMap<&str, &str>, controller: &str) -> Vec<String> {
    let Some(path) = groups.get(controller) else { return Vec::new() };
    let hierarchies = match controller {
        // Beside version 1 the hierarchy of version 2 has a folder of its own.
        "" => vec![ROOT.to_owned(), format!("{ROOT}/unified")],
        "cpu" => vec![format!("{ROOT}/cpu"), format!("{ROOT}/cpu,cpuacct")],
        other => vec![format!("{ROOT}/{other}")],
    };
    let mut folders = Vec::new();
    for hierarchy in hierarchies {
        let mut rest = path.trim_matches('/');
        while !rest.is_empty() {
            folders.push(format!("{hierarchy}/{rest}"));
            rest = rest.rsplit_once('/').map_or("", |(above, _)| above);
        }
        folders.push(hierarchy);
    }
    folders
}

/// Time in each period, as thousandths of a processor: `200000 100000` are two. `max` and -1 are no limit.
fn share(line: &str) -> Option<u64> {
    let (quota, period) = line.split_once(' ')?;
    quota.trim().parse::<u64>().ok()?.checked_mul(1000)?.checked_div(period.trim().parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tightest_limit_of_all_groups_holds_in_version_2() {
        let tree = Tree::unpacked(
            "== proc/self/cgroup\n0::/a/b\n== sys/fs/cgroup/a/b/cpu.max\nmax 100000\n== sys/fs/cgroup/a/cpu.max\n250000 100000\n\
             == sys/fs/cgroup/a/b/memory.max\n4294967296\n== sys/fs/cgroup/a/memory.max\nmax\n\
             == sys/fs/cgroup/a/b/cpuset.cpus.effective\n0-3,8\n",
        );
        let facts = facts(&tree, Some("0-15"));
        assert_eq!(facts, CgroupFacts { cpu_m: Some(2500), cpus: Some("0-3,8".to_owned()), memory_bytes: Some(1 << 32) });
    }

    #[test]
    fn version_1_has_a_hierarchy_for_each_controller_and_a_container_sees_its_own_as_the_root() {
        let tree = Tree::unpacked(
            "== proc/self/cgroup\n9:memory:/docker/0123\n8:cpuset:/docker/0123\n4:cpu,cpuacct:/docker/0123\n0::/\n\
             == sys/fs/cgroup/cpu/cpu.cfs_quota_us\n150000\n== sys/fs/cgroup/cpu/cpu.cfs_period_us\n100000\n\
             == sys/fs/cgroup/memory/memory.limit_in_bytes\n9223372036854771712\n== sys/fs/cgroup/cpuset/cpuset.cpus\n0-15\n",
        );
        assert_eq!(facts(&tree, Some("0-15")), CgroupFacts { cpu_m: Some(1500), ..CgroupFacts::default() });
        assert_eq!(facts(&Tree::unpacked(""), None), CgroupFacts::default());
        assert_eq!((share("-1 100000"), share("1 0"), share("max 100000"), share("")), (None, None, None, None));
    }
}
