//! Processor time that was wanted and not got: taken by the hypervisor, or held back by a limit of a control group.

use std::fs;

use serde::{Deserialize, Serialize};

use crate::cpu_time::children_of;
use crate::facts::cgroup::{folders, groups};
use crate::processors::fields;
use crate::tree::Tree;

/// Counters of this process and its machine, since they were started.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Withheld {
    /// Clock ticks of all processors together.
    ticks: u64,
    /// Those of them that another guest of the host had (steal).
    stolen: u64,
    limits: Limits,
}

impl Withheld {
    /// The share of the machine's processor time that was stolen since an earlier reading, 0 to 1.
    pub fn stolen_since(&self, earlier: &Self) -> f64 {
        let ticks = self.ticks.saturating_sub(earlier.ticks);
        if ticks == 0 { 0.0 } else { self.stolen.saturating_sub(earlier.stolen) as f64 / ticks as f64 }
    }

    /// The share of periods in which a limit stopped this process since an earlier reading, as [`Limits::stopped_since`] has it.
    pub fn stopped_since(&self, earlier: &Self) -> Option<f64> {
        self.limits.stopped_since(&earlier.limits)
    }
}

/// What the limits on the processor time of a process did so far: its control group's, and those of the groups above.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Limits(Vec<Counted>);

/// What one group counted: it has a share of time in each period, and its processes stand still until the next one when it is used up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Counted {
    /// The folder of the group.
    group: String,
    /// Periods in which its processes wanted time.
    periods: u64,
    /// Those of them in which they were stopped.
    stopped: u64,
}

impl Limits {
    /// The share of periods in which the process was stopped since an earlier reading, 0 to 1, by the limit that did it most; `None`
    /// without a limit, or of another group.
    pub fn stopped_since(&self, earlier: &Self) -> Option<f64> {
        let share = |now: &Counted| {
            let then = earlier.0.iter().find(|then| then.group == now.group)?;
            let periods = now.periods.checked_sub(then.periods).filter(|n| *n > 0)?;
            Some(now.stopped.saturating_sub(then.stopped) as f64 / periods as f64)
        };
        self.0.iter().filter_map(share).max_by(f64::total_cmp)
    }

    fn and(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }
}

/// What was withheld so far from this process; nothing where the system does not say.
pub fn withheld() -> Withheld {
    let (ticks, stolen) = fs::read_to_string("/proc/stat").ok().and_then(|text| processor_ticks(&text)).unwrap_or_default();
    Withheld { ticks, stolen, limits: limits_in(&Tree::running(), "self") }
}

/// The limits of a process of this machine; none where there is no such process.
pub fn limits_of(pid: u32) -> Limits {
    limits_in(&Tree::running(), &pid.to_string())
}

/// The limits of all children of a process of this machine.
pub fn limits_of_children(pid: u32) -> Limits {
    let children = children_of(pid).unwrap_or_default().into_iter();
    children.map(|(child, _)| limits_of(child)).fold(Limits::default(), Limits::and)
}

/// Version 1 has the counters in the folders of its controller, version 2 in those of the group.
fn limits_in(tree: &Tree, process: &str) -> Limits {
    let own = tree.text(&format!("proc/{process}/cgroup")).unwrap_or_default();
    let groups = groups(&own);
    let all = ["", "cpu"].into_iter().flat_map(|controller| folders(&groups, controller));
    Limits(all.filter_map(|group| counted(group.clone(), &tree.text(&format!("{group}/cpu.stat"))?)).collect())
}

/// What a `cpu.stat` counts; `None` of a group that can have no limit.
fn counted(group: String, text: &str) -> Option<Counted> {
    let number = |name: &str| text.lines().find_map(|l| l.strip_prefix(name)?.trim().parse::<u64>().ok());
    let (periods, stopped) = number("nr_periods ").zip(number("nr_throttled "))?;
    Some(Counted { group, periods, stopped })
}

/// All ticks and the stolen ones of `/proc/stat`.
fn processor_ticks(text: &str) -> Option<(u64, u64)> {
    let ticks = fields(text.lines().find_map(|l| l.strip_prefix("cpu "))?)?;
    Some((ticks.iter().sum(), ticks[7]))
}

/// The path of this process's group in the unified hierarchy of control groups, without a slash at its end.
pub(crate) fn unified_group(text: &str) -> Option<String> {
    text.lines().find_map(|l| l.strip_prefix("0::")).map(|path| path.trim_end_matches('/').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_read_as_the_kernel_writes_them() {
        assert_eq!(processor_ticks("cpu  10 1 2 80 3 0 1 3 7 7\ncpu0 1 1 1 1 1 1 1 1 1 1\n"), Some((100, 3)));
        assert_eq!(processor_ticks("cpu0 1 2\n"), None);
        assert_eq!(unified_group("9:name=systemd:/\n0::/system.slice/x\n"), Some("/system.slice/x".to_owned()));
        assert_eq!(unified_group("0::/\n"), Some(String::new()));
        let at = |ticks, stolen| Withheld { ticks, stolen, limits: Limits::default() };
        assert!((at(300, 14).stolen_since(&at(100, 4)) - 0.05).abs() < 1e-12);
        assert_eq!((at(100, 4).stolen_since(&at(100, 4)), at(1, 0).stopped_since(&at(1, 0))), (0.0, None));
    }

    /// A process of two groups of version 2, and one of version 1, with so many periods and stops of each.
    fn tree(inner: (u64, u64), outer: (u64, u64), first: (u64, u64)) -> Tree {
        let two = |(periods, stopped)| format!("usage_usec 5\nnr_periods {periods}\nnr_throttled {stopped}\nthrottled_usec 9");
        let one = |(periods, stopped)| format!("nr_periods {periods}\nnr_throttled {stopped}\nthrottled_time 9");
        Tree::unpacked(&format!(
            "== proc/7/cgroup\n0::/a.slice/b\n== sys/fs/cgroup/a.slice/b/cpu.stat\n{}\n== sys/fs/cgroup/a.slice/cpu.stat\n{}\n\
             == sys/fs/cgroup/cpu.stat\nusage_usec 5\n== proc/8/cgroup\n2:cpu,cpuacct:/c\n0::/\n\
             == sys/fs/cgroup/cpu,cpuacct/c/cpu.stat\n{}\n",
            two(inner),
            two(outer),
            one(first)
        ))
    }

    #[test]
    fn the_limit_that_stopped_a_process_most_counts_of_both_versions_of_control_groups() {
        let (before, after) = (tree((0, 0), (10, 10), (100, 0)), tree((50, 20), (30, 25), (300, 150)));
        let stopped = |pid: &str| limits_in(&after, pid).stopped_since(&limits_in(&before, pid));
        assert_eq!((stopped("7"), stopped("8"), stopped("9")), (Some(0.75), Some(0.75), None));
        assert_eq!(limits_in(&after, "7").stopped_since(&limits_in(&after, "7")), None);
    }
}
