//! The processor time of this thread.

/// Processor time that this thread has used, in nanoseconds; 0 where the system does not say.
#[cfg(unix)]
pub fn thread_cpu_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    seconds * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}

/// Processor time that this thread has used, in nanoseconds; 0 where the system does not say.
#[cfg(not(unix))]
pub fn thread_cpu_ns() -> u64 {
    0
}
