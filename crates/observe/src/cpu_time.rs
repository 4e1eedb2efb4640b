//! CPU time of processes on this machine.

use std::fs;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;
use nix::unistd::{SysconfVar, sysconf};
use serde::{Deserialize, Serialize};

/// CPU time that has been used since some start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CpuTime {
    /// In user mode, nanoseconds.
    pub user_ns: u64,
    /// In the kernel, nanoseconds.
    pub system_ns: u64,
}

impl CpuTime {
    /// What was used since an earlier reading of the same process. A clock that seems to run backwards gives zero.
    #[must_use]
    pub fn minus(self, earlier: Self) -> Self {
        Self {
            user_ns: self.user_ns.saturating_sub(earlier.user_ns),
            system_ns: self.system_ns.saturating_sub(earlier.system_ns),
        }
    }

    /// User mode and kernel together, nanoseconds.
    pub fn total_ns(self) -> u64 {
        self.user_ns.saturating_add(self.system_ns)
    }
}

/// CPU time of this process, in microsecond steps; under user-mode emulation the emulator's work is included.
pub fn own_cpu() -> CpuTime {
    // The only error is an unknown `who`, which a constant is not.
    getrusage(UsageWho::RUSAGE_SELF)
        .map_or_else(|_| CpuTime::default(), |u| CpuTime { user_ns: ns(u.user_time()), system_ns: ns(u.system_time()) })
}

/// Bytes in the unit of `ru_maxrss`: KiB but for Apple's systems (getrusage(2)).
const MAX_RSS_UNIT: u64 = if cfg!(target_vendor = "apple") { 1 } else { 1024 };

/// The most memory that this process has held, in bytes (`getrusage`'s largest resident set); 0 where the system does
/// not say. It only grows: a later trial of the same process cannot show less than an earlier one.
pub fn peak_memory_bytes() -> u64 {
    getrusage(UsageWho::RUSAGE_SELF).map_or(0, |u| u64::try_from(u.max_rss()).unwrap_or(0).saturating_mul(MAX_RSS_UNIT))
}

fn ns(time: TimeVal) -> u64 {
    let seconds = u64::try_from(time.tv_sec()).unwrap_or(0);
    let micros = u64::try_from(time.tv_usec()).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(micros.saturating_mul(1_000))
}

/// CPU time of a server on this machine since it started, all its threads together and its child processes included,
/// those that have ended too: PostgreSQL serves each connection by a process of its own. In clock ticks (10 ms on common
/// systems) of each process; `None` where there is no such process or no `/proc`.
pub fn cpu_of(pid: u32) -> Option<CpuTime> {
    // An emulator invents the file of its own process, with zeros in it.
    if pid == std::process::id() {
        return Some(own_cpu());
    }
    let hertz = sysconf(SysconfVar::CLK_TCK).ok().flatten().and_then(|t| u64::try_from(t).ok())?;
    // Read before its children: one that ends in between is counted with what it had used last, and never twice.
    let mut sum = stat_of(pid)?;
    for (_, child) in children_of(pid)? {
        sum = Stat { user: sum.user + child.user, system: sum.system + child.system, ..sum };
    }
    let ns = |ticks: u64| u64::try_from(u128::from(ticks) * 1_000_000_000 / u128::from(hertz.max(1))).unwrap_or(u64::MAX);
    Some(CpuTime { user_ns: ns(sum.user), system_ns: ns(sum.system) })
}

/// The same of all children of this process together, as long as they run.
pub fn cpu_of_children() -> Option<CpuTime> {
    let each = children_of(std::process::id())?.into_iter().filter_map(|(child, _)| cpu_of(child));
    each.reduce(|a, b| CpuTime {
        user_ns: a.user_ns.saturating_add(b.user_ns),
        system_ns: a.system_ns.saturating_add(b.system_ns),
    })
}

/// The processes that a process has started and that run; `None` where there is no `/proc`.
pub(crate) fn children_of(pid: u32) -> Option<Vec<(u32, Stat)>> {
    let numbers = fs::read_dir("/proc").ok()?.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    Some(numbers.filter_map(|child| Some((child, stat_of(child)?))).filter(|(_, stat)| stat.parent == pid).collect())
}

/// What `/proc/PID/stat` (proc(5)) says of a process: its parent, and its times in clock ticks. They include those of children
/// that have ended and were waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stat {
    parent: u32,
    user: u64,
    system: u64,
}

fn stat_of(pid: u32) -> Option<Stat> {
    // The name in it may be any bytes.
    parse(&String::from_utf8_lossy(&fs::read(format!("/proc/{pid}/stat")).ok()?))
}

/// Field 4 and fields 14 to 17. The second field is the name in parentheses, which may itself hold spaces, parentheses and
/// line ends; it ends at the last parenthesis of the file.
fn parse(stat: &str) -> Option<Stat> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = after_name.split_ascii_whitespace().take(15).collect();
    let ticks = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    let parent = fields.get(1)?.parse().ok()?;
    Some(Stat { parent, user: ticks(14)? + ticks(16)?, system: ticks(15)? + ticks(17)? })
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn names_with_parentheses_leave_the_fields_in_order() {
        let expected = Some(Stat { parent: 7798, user: 161 + 9, system: 2 + 8 });
        for name in ["mysqld", "a b", ") R 1 2 3 4 5 6 7 8 9 10 11 12", "((x) (y", "", "a\nb)"] {
            let stat = format!("7815 ({name}) R 7798 7798 7137 0 -1 4194304 1017 0 2 0 161 2 9 8 20 0 2 0 339142\n");
            assert_eq!(parse(&stat), expected, "{name}");
        }
        for broken in ["7815 (a) R 1 2", "", "1 (a) R 1 1 1 0 -1 4 1 0 2 0 x 2 1 1", "1 (a) R 1 1 1 0 -1 4 1 0 2 0 3 2 1"] {
            assert_eq!(parse(broken), None, "{broken}");
        }
    }

    #[test]
    fn work_is_counted_and_time_does_not_run_backwards() {
        let before = own_cpu();
        let mut x = 1u64;
        while own_cpu().minus(before).total_ns() < 20_000_000 {
            x = std::hint::black_box(x.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        }
        let after = own_cpu();
        assert!(after.minus(before).total_ns() >= 20_000_000);
        assert_eq!(before.minus(after).total_ns(), 0);
        assert!(cpu_of(std::process::id()).is_some_and(|t| t.minus(after).total_ns() < 60_000_000_000));
    }

    #[test]
    fn other_processes_are_read_and_missing_ones_are_none() {
        watch("while :; do :; done");
    }

    #[test]
    fn the_work_of_children_counts_while_they_live_and_afterwards() {
        // A fixed amount of work, not of time: a busy machine may give little of its processors in any time.
        watch("sh -c 'i=0; while [ $i -lt 1000000 ]; do i=$((i+1)); done'; while :; do sleep 1; done");
        // It ends with its parent.
        watch("sh -c 'while kill -0 $PPID; do :; done' & wait");
    }

    fn watch(command: &str) {
        let mut child = Command::new("sh").args(["-c", command]).stdin(Stdio::null()).spawn().unwrap();
        let started = Instant::now();
        let mut used = cpu_of(child.id()).unwrap();
        while used.user_ns < 50_000_000 && started.elapsed().as_secs() < 20 {
            std::thread::sleep(Duration::from_millis(20));
            used = cpu_of(child.id()).unwrap();
        }
        let elapsed = started.elapsed();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(used.user_ns >= 50_000_000, "{used:?}");
        assert!(u128::from(used.total_ns()) <= elapsed.as_nanos() + 50_000_000, "{used:?} in {elapsed:?}");
        assert_eq!(cpu_of(child.id()), None);
        assert_eq!(cpu_of(u32::MAX), None);
    }
}
