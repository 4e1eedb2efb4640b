//! Faults that a test plants on this machine, and takes away again.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, reason = "each test binary uses its own part of this")]

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

fn is_root() -> bool {
    Command::new("id").arg("-u").output().unwrap().stdout == b"0\n"
}

/// The same command as root.
pub fn rooted(command: &Command) -> Command {
    let mut rooted = if is_root() { Command::new(command.get_program()) } else { Command::new("sudo") };
    if !is_root() {
        rooted.args(["-n", "-E"]).arg(command.get_program());
    }
    rooted.args(command.get_args()).current_dir(command.get_current_dir().unwrap());
    rooted.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    rooted
}

/// Runs a script of the shell as root, through `sudo` where this is another user.
pub fn as_root(script: &str) -> String {
    let mut command = if is_root() { Command::new("sh") } else { Command::new("sudo") };
    if !is_root() {
        command.args(["-n", "sh"]);
    }
    let output = command.args(["-e", "-c", script]).output().unwrap();
    assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A control group of a server, with a limit on its processor time. Dropped, the server is back where it was.
pub struct CpuLimit {
    pid: u32,
    folder: String,
    came_from: String,
}

impl CpuLimit {
    /// So many milliseconds of each 100 for a process and what it starts.
    pub fn of(pid: u32, milliseconds: u32) -> Self {
        let groups = std::fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap();
        let unified = Path::new("/sys/fs/cgroup/cgroup.controllers").exists();
        let is_its =
            |line: &&str| if unified { line.starts_with("0::") } else { line.contains(":cpu:") || line.contains(":cpu,") };
        let own = groups.lines().find(is_its).unwrap_or_else(|| panic!("no group limits processor time: {groups}"));
        let path = own.splitn(3, ':').nth(2).unwrap().trim_end_matches('/');
        let root = if unified { "/sys/fs/cgroup" } else { "/sys/fs/cgroup/cpu" };
        let folder = format!("{root}/perbuck-planted-{pid}");
        let quota = milliseconds * 1000;
        let limit = if unified {
            format!("echo '{quota} 100000' >{folder}/cpu.max")
        } else {
            format!("echo 100000 >{folder}/cpu.cfs_period_us; echo {quota} >{folder}/cpu.cfs_quota_us")
        };
        let before = if unified { format!("echo +cpu >{root}/cgroup.subtree_control; ") } else { String::new() };
        as_root(&format!("{before}mkdir -p {folder}; {limit}; echo {pid} >{folder}/cgroup.procs"));
        Self { pid, folder, came_from: format!("{root}{path}") }
    }
}

impl Drop for CpuLimit {
    fn drop(&mut self) {
        as_root(&format!("echo {} >{}/cgroup.procs; rmdir {}", self.pid, self.came_from, self.folder));
    }
}

/// Drops every such packet to a port of this machine: 40 is one in forty.
pub struct Loss(String);

impl Loss {
    pub fn of_one_in(every: u32, port: &str) -> Self {
        let table = format!("perbuck_planted_{port}");
        as_root(&format!(
            "nft 'add table inet {table}; add chain inet {table} way {{ type filter hook input priority 0; }}; \
             add rule inet {table} way tcp dport {port} numgen random mod {every} == 0 drop'"
        ));
        Self(table)
    }
}

impl Drop for Loss {
    fn drop(&mut self) {
        as_root(&format!("nft delete table inet {}", self.0));
    }
}

/// Programs that run until this is dropped.
pub struct Hogs(Vec<Child>);

impl Hogs {
    /// So many of a command.
    pub fn of(count: usize, command: impl Fn(usize) -> Command) -> Self {
        let start = |number| command(number).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        Self((0..count).map(start).collect())
    }
}

impl Drop for Hogs {
    fn drop(&mut self) {
        for hog in &mut self.0 {
            // One that has ended by itself is gone, too.
            let _ = hog.kill();
            hog.wait().unwrap();
        }
    }
}

/// What other programs and other machines did to this one for a while, by the kernel's own counts and a clock.
#[derive(Debug)]
pub struct Unrest {
    /// The share of its processor time that was used, or taken by other machines.
    busy: f64,
    /// The share of time in which some program waited for a disk, and for memory.
    waited: [f64; 2],
    /// The longest time for which a thread that sleeps 5 ms each time was away.
    stalled: Duration,
}

impl Unrest {
    pub fn during(work: impl FnOnce()) -> Self {
        let (ticks, waits, began, over) = (ticks(), waits_us(), Instant::now(), AtomicBool::new(false));
        let stalled = thread::scope(|scope| {
            let watch = scope.spawn(|| {
                let (mut longest, mut last) = (Duration::ZERO, Instant::now());
                while !over.load(Ordering::Relaxed) {
                    thread::sleep(Duration::from_millis(5));
                    longest = longest.max(last.elapsed());
                    last = Instant::now();
                }
                longest
            });
            work();
            over.store(true, Ordering::Relaxed);
            watch.join().unwrap()
        });
        let spent: Vec<u64> = self::ticks().iter().zip(ticks).map(|(after, before)| after - before).collect();
        let busy = 1.0 - (spent[3] + spent[4]) as f64 / spent.iter().sum::<u64>() as f64;
        let after = waits_us();
        let waited = [0, 1].map(|i| (after[i] - waits[i]) as f64 / began.elapsed().as_micros() as f64);
        Self { busy, waited, stalled }
    }

    /// Nine tenths of a small machine are idle under a light load: more than three tenths, or such waits, are of something else.
    pub fn is_none(&self) -> bool {
        self.busy < 0.3 && self.waited[0] < 0.2 && self.waited[1] < 0.02 && self.stalled < Duration::from_millis(250)
    }
}

/// proc_stat(5): user, nice, system, idle, iowait, irq, softirq, steal.
fn ticks() -> Vec<u64> {
    let text = std::fs::read_to_string("/proc/stat").unwrap();
    text.lines().next().unwrap().split_whitespace().skip(1).take(8).map(|n| n.parse().unwrap()).collect()
}

/// Microseconds since the start for which some program waited for a disk, and for memory; 0 where the kernel does not count them.
fn waits_us() -> [u64; 2] {
    ["io", "memory"].map(|what| {
        let text = std::fs::read_to_string(format!("/proc/pressure/{what}")).unwrap_or_default();
        let total = text.lines().next().and_then(|some| some.split_once("total=")).map_or("0", |(_, us)| us);
        total.parse().unwrap()
    })
}
