//! What each processor of this machine does: work, interrupts, and time that others had.

use std::fs;

/// Clock ticks of each processor since the machine was started.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Processors(Vec<Ticks>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Ticks {
    all: u64,
    parts: [u64; 6],
}

/// What a processor did between two readings, in whole percent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Share {
    /// Programs and the kernel on their behalf.
    pub work: u8,
    /// The kernel's part of work.
    pub system: u8,
    /// Interrupts of devices.
    pub irq: u8,
    /// What interrupts leave to be done, such as most of the work of a network.
    pub softirq: u8,
    /// Other guests of the host.
    pub stolen: u8,
    /// Nothing to do but to wait for a disk.
    pub iowait: u8,
}

impl Processors {
    /// Reads what the kernel writes into `/proc/stat` (proc_stat(5)).
    pub fn read(text: &str) -> Self {
        Self(text.lines().filter_map(ticks).collect())
    }

    /// What each processor did since an earlier reading; nothing where processors came or went in between.
    pub fn since(&self, earlier: &Self) -> Vec<Share> {
        if self.0.len() != earlier.0.len() {
            return Vec::new();
        }
        self.0.iter().zip(&earlier.0).map(|(now, then)| now.since(then)).collect()
    }
}

impl Ticks {
    fn since(&self, earlier: &Self) -> Share {
        let all = self.all.saturating_sub(earlier.all);
        let percent = |i: usize| {
            let part = self.parts[i].saturating_sub(earlier.parts[i]).min(all);
            // At most 100.
            (part * 100 + all / 2).checked_div(all).unwrap_or(0) as u8
        };
        Share {
            work: percent(0),
            system: percent(1),
            irq: percent(2),
            softirq: percent(3),
            stolen: percent(4),
            iowait: percent(5),
        }
    }
}

/// What every processor has done so far; none where the system does not say.
pub fn processors() -> Processors {
    fs::read_to_string("/proc/stat").map(|text| Processors::read(&text)).unwrap_or_default()
}

/// The line of one processor in `/proc/stat`.
fn ticks(line: &str) -> Option<Ticks> {
    let (name, rest) = line.strip_prefix("cpu")?.split_once(' ')?;
    name.parse::<u32>().ok()?;
    let fields = fields(rest)?;
    let [user, nice, system, _, iowait, irq, softirq, steal] = fields;
    Some(Ticks { all: fields.iter().sum(), parts: [user + nice + system, system, irq, softirq, steal, iowait] })
}

/// Clock ticks of a line of `/proc/stat`: user, nice, system, idle, iowait, irq, softirq and steal (proc_stat(5)). What comes after
/// these is counted in user and nice already.
pub(crate) fn fields(line: &str) -> Option<[u64; 8]> {
    let fields: Vec<u64> = line.split_whitespace().take(8).map(|f| f.parse().ok()).collect::<Option<_>>()?;
    fields.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_processor_is_read_as_the_kernel_writes_it() {
        let then = Processors::read(
            "cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 10 0 10 80 0 0 0 0 0 0\ncpu1 0 0 0 100 0 0 0 0 0 0\nintr 5 1 2\nctxt 7\n",
        );
        let now = Processors::read("cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 40 10 20 120 0 5 25 30 9 9\ncpu1 0 0 0 100 0 0 0 0 0 0\n");
        assert_eq!(now.0.len(), 2);
        let busy = Share { work: 33, system: 7, irq: 3, softirq: 17, stolen: 20, iowait: 0 };
        assert_eq!(now.since(&then), [busy, Share::default()]);
        assert_eq!(now.since(&Processors::read("cpu0 1 1 1 1 1 1 1 1\n")), []);
    }

    #[test]
    fn what_is_no_processor_is_none() {
        assert_eq!(Processors::read("cpu 1 2 3 4 5 6 7 8\ncpufreq 1 2 3 4 5 6 7 8\ncpu0 1 2\ncpu1 a b c d e f g h\n").0, []);
    }
}
