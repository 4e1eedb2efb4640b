//! Processor time that this machine wanted and did not get: taken by the hypervisor, or held back by a limit of its container.

use std::fs;
use std::time::Duration;

use crate::processors::fields;

/// Counters since the machine, or the container, was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Withheld {
    /// Clock ticks of all processors together.
    ticks: u64,
    /// Those of them that another guest of the host had (steal).
    stolen: u64,
    /// Time for which a limit on processor time stopped this container.
    throttled: Duration,
}

impl Withheld {
    /// The share of the machine's processor time that was stolen since an earlier reading, 0 to 1.
    pub fn stolen_since(self, earlier: Self) -> f64 {
        let ticks = self.ticks.saturating_sub(earlier.ticks);
        if ticks == 0 { 0.0 } else { self.stolen.saturating_sub(earlier.stolen) as f64 / ticks as f64 }
    }

    /// For how long the container was stopped since an earlier reading.
    pub fn throttled_since(self, earlier: Self) -> Duration {
        self.throttled.saturating_sub(earlier.throttled)
    }
}

/// What was withheld so far; nothing where the system does not say.
pub fn withheld() -> Withheld {
    let (ticks, stolen) = fs::read_to_string("/proc/stat").ok().and_then(|text| processor_ticks(&text)).unwrap_or_default();
    let own = fs::read_to_string("/proc/self/cgroup").ok().and_then(|text| unified_group(&text));
    let limits = own.map(|group| format!("/sys/fs/cgroup{group}/cpu.stat"));
    let throttled = limits.and_then(|path| fs::read_to_string(path).ok()).and_then(|text| throttled(&text)).unwrap_or_default();
    Withheld { ticks, stolen, throttled }
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

/// `throttled_usec` of a `cpu.stat`.
fn throttled(text: &str) -> Option<Duration> {
    let micros = text.lines().find_map(|l| l.strip_prefix("throttled_usec "))?;
    micros.trim().parse().ok().map(Duration::from_micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_and_throttling_are_read_as_the_kernel_writes_them() {
        assert_eq!(processor_ticks("cpu  10 1 2 80 3 0 1 3 7 7\ncpu0 1 1 1 1 1 1 1 1 1 1\n"), Some((100, 3)));
        assert_eq!(processor_ticks("cpu0 1 2\n"), None);
        assert_eq!(unified_group("9:name=systemd:/\n0::/system.slice/x\n"), Some("/system.slice/x".to_owned()));
        assert_eq!(unified_group("0::/\n"), Some(String::new()));
        assert_eq!(throttled("usage_usec 5\nnr_throttled 3\nthrottled_usec 2500\n"), Some(Duration::from_micros(2500)));
        assert_eq!(throttled("usage_usec 5\n"), None);
    }

    #[test]
    fn shares_are_of_the_time_between_two_readings() {
        let at = |ticks, stolen, ms| Withheld { ticks, stolen, throttled: Duration::from_millis(ms) };
        assert!((at(300, 14, 90).stolen_since(at(100, 4, 50)) - 0.05).abs() < 1e-12);
        assert_eq!(at(300, 14, 90).throttled_since(at(100, 4, 50)), Duration::from_millis(40));
        assert_eq!(at(100, 4, 50).stolen_since(at(100, 4, 50)), 0.0);
    }
}
