//! What a process that measures asks of the system first: all file descriptors that it may have, and errors in place of signals.

use std::sync::OnceLock;

use nix::sys::resource::{Resource, getrlimit, rlim_t, setrlimit};
use nix::sys::signal::{SigSet, Signal};
use perbuck_core::units::thousands;

use crate::error::LabError;

/// The soft limit of file descriptors before [`begin`] raised it.
static AT_START: OnceLock<rlim_t> = OnceLock::new();

/// Descriptors of this process beyond those of connections and load threads: standard streams, record, lock, event loop, `/proc`.
const OWN: u64 = 40;
/// Descriptors of a thread with an event loop: epoll, timer, waker.
const PER_THREAD: u64 = 3;
/// Descriptors of a private server here: the pipes to and from its guard.
pub(crate) const PER_PRIVATE_SERVER: u64 = 2;

/// Prepares this process for measuring. Call it in `main` before any thread is started, after [`crate::servers::guard_if_asked`].
/// What the system refuses stays as it was.
pub fn begin() {
    let (soft, hard) = descriptors();
    AT_START.get_or_init(|| soft);
    if soft < hard {
        // Where even that is refused, a need above the limit is told in time.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
    // A write beyond the limit on the size of files then fails, and says so, instead of ending the process.
    let _ = SigSet::from(Signal::SIGXFSZ).thread_block();
}

fn descriptors() -> (rlim_t, rlim_t) {
    // It cannot fail for this process; if it did, nothing would be known of a limit.
    getrlimit(Resource::RLIMIT_NOFILE).unwrap_or((rlim_t::MAX, rlim_t::MAX))
}

/// The soft limit of file descriptors that this process was started with.
pub(crate) fn descriptors_at_start() -> u64 {
    AT_START.get().copied().unwrap_or_else(|| descriptors().0)
}

/// Sets the soft limit of file descriptors.
pub(crate) fn set_descriptors(soft: u64) -> nix::Result<()> {
    let (_, hard) = descriptors();
    setrlimit(Resource::RLIMIT_NOFILE, soft.min(hard), hard)
}

/// Refuses a load that needs more file descriptors than this process may have; `doing` says which.
pub(crate) fn enough_descriptors(doing: &str, connections: u64, threads: u64, more: u64) -> Result<(), LabError> {
    let (needed, limit) = (connections + threads * PER_THREAD + more + OWN, descriptors().0);
    if needed <= limit {
        return Ok(());
    }
    let (needed, limit) = (thousands(needed), thousands(limit));
    let message = format!("{doing} needs about {needed} file descriptors, and this process may have {limit}");
    Err(LabError::usage(message, "raise the hard limit (`ulimit -Hn` as root, LimitNOFILE= of a service), or lower the connections"))
}
