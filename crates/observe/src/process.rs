//! Which process this is among all processes of its machine, and whether another one still runs.

use std::fs;

use crate::boot::since_boot;

/// A process of some machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessId {
    /// The start of its machine, and the namespace of its number: processes that share it see each other.
    pub machine: String,
    /// Its number.
    pub pid: u32,
    /// When it started, in clock ticks since the machine did: numbers are used again.
    pub started: u64,
}

/// This process; `None` where the system does not tell.
pub fn this_process() -> Option<ProcessId> {
    let pid = std::process::id();
    Some(ProcessId { machine: machine()?, pid, started: started(pid)? })
}

/// Whether a process still runs; `None` where that cannot be seen from here, as of another machine.
pub fn still_runs(process: &ProcessId) -> Option<bool> {
    (machine()? == process.machine).then(|| started(process.pid) == Some(process.started))
}

/// The name of this machine; `unknown` where the system does not tell.
pub fn host_name() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    if name.trim().is_empty() { "unknown".to_owned() } else { name.trim().to_owned() }
}

fn machine() -> Option<String> {
    let namespace = fs::read_link("/proc/self/ns/pid").ok()?;
    let digits: String = namespace.to_string_lossy().chars().filter(char::is_ascii_digit).collect();
    Some(format!("{}-{digits}", since_boot()?.0))
}

/// When a process started, unless it has ended; the 3rd and the 22nd field of `/proc/PID/stat` (proc(5)).
fn started(pid: u32) -> Option<u64> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    let ended = matches!(*fields.first()?, "Z" | "X");
    if ended { None } else { fields.get(19)?.parse().ok() }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by it")]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_process_runs_until_it_ends_and_those_of_other_machines_are_out_of_sight() {
        let own = this_process().unwrap();
        assert_eq!(still_runs(&own), Some(true));
        assert_eq!(
            still_runs(&ProcessId { started: own.started + 1, ..own.clone() }),
            Some(false),
            "a number that is used again"
        );
        assert_eq!(still_runs(&ProcessId { machine: "elsewhere-1".to_owned(), ..own.clone() }), None);
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let process = ProcessId { pid: child.id(), started: started(child.id()).unwrap(), ..own };
        assert_eq!(still_runs(&process), Some(true));
        child.kill().unwrap();
        // Killed and not yet waited for, it is a zombie.
        while still_runs(&process) == Some(true) {
            std::thread::yield_now();
        }
        child.wait().unwrap();
        assert_eq!(still_runs(&process), Some(false));
        assert!(!host_name().is_empty());
    }
}
