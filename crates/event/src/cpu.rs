//! The processor time of this thread.

/// Processor time that this thread has used, in nanoseconds; 0 where the kernel does not say.
pub fn thread_cpu_ns() -> u64 {
    // Not by rustix, which looks for the vDSO by itself, and that valgrind does not survive (bench/cold-path).
    let time = nix::time::clock_gettime(nix::time::ClockId::CLOCK_THREAD_CPUTIME_ID);
    time.map_or(0, |time| u64::try_from(std::time::Duration::from(time).as_nanos()).unwrap_or(u64::MAX))
}
