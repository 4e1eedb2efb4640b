//! What it costs to sample a machine once a second: on a machine of 64 processors and 16 network queues that is written down, and here.
//! `bench/sampling` runs it.
#![allow(clippy::print_stdout, reason = "it prints what it measured")]

use std::hint::black_box;

use perbuck_observe::{Counters, Processors, counters, own_cpu, processors};

const CPUS: usize = 64;
const QUEUES: usize = 16;
const TIMES: u32 = 500;

fn main() {
    let stat = stat();
    let file = |path: &str| match path {
        "/proc/stat" => Some(stat.clone()),
        "/proc/interrupts" => Some(interrupts()),
        "/proc/softirqs" => Some(softirqs()),
        "/proc/net/softnet_stat" => Some("0000a1b2 00000000 00000003 0 0 0 0 0 0 0 0 0 0\n".repeat(CPUS)),
        "/proc/diskstats" => Some((0..8).map(|n| format!(" 259 {n} nvme{n}n1 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9\n")).collect()),
        // What does not grow with the machine is this one's.
        other => std::fs::read_to_string(other).ok(),
    };
    let stored = each(|| {
        black_box(Counters::read(&file));
        black_box(Processors::read(&stat));
    });
    let here = each(|| {
        black_box(counters());
        black_box(processors());
    });
    println!(
        "{CPUS} processors, {QUEUES} queues, from texts: {stored:.3} ms of processor time each, {:.3} % of one processor",
        stored / 10.0
    );
    println!("this machine, from its files: {here:.3} ms of processor time each, {:.3} % of one processor", here / 10.0);
}

/// Milliseconds of processor time of one sample, the kernel's part included; once a second, ten of them are one percent.
fn each(mut sample: impl FnMut()) -> f64 {
    sample();
    let cpu = own_cpu();
    for _ in 0..TIMES {
        sample();
    }
    let used = own_cpu().minus(cpu);
    (used.user_ns + used.system_ns) as f64 / 1e6 / f64::from(TIMES)
}

fn stat() -> String {
    let lines: String = (0..CPUS).map(|n| format!("cpu{n} 123456 12 345678 9876543 1234 0 56789 0 0 0\n")).collect();
    format!("cpu  1 1 1 1 1 1 1 1 1 1\n{lines}ctxt 123456789\nprocesses 12345\nprocs_running 7\nprocs_blocked 0\n")
}

/// As many lines as a machine with local disks has: two interrupts of a queue, and one of each disk and processor.
fn interrupts() -> String {
    let head: String = (0..CPUS).map(|n| format!(" CPU{n}")).collect();
    let counts = |at: usize| (0..CPUS).map(|n| if n == at { " 918273645" } else { " 0" }).collect::<String>();
    let queue = |n: usize| format!("{}:{} ITS-MSI {n} Edge ens5-Tx-Rx-{n}\n", 100 + n, counts(n));
    let disk = |n: usize| format!("{}:{} ITS-MSI {n} Edge nvme{}q{}\n", 200 + n, counts(n % CPUS), n / CPUS, n % CPUS);
    let queues: String = (0..QUEUES).map(queue).collect();
    let disks: String = (0..2 * CPUS).map(disk).collect();
    format!("{head}\n{queues}{disks}")
}

fn softirqs() -> String {
    let counts: String = (0..CPUS).map(|n| format!(" {}", 1_000_000 + n)).collect();
    let kinds = ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"];
    kinds.iter().map(|kind| format!("{kind}:{counts}\n")).collect()
}
