//! What a process that measures asks of the system first: its memory for itself, since that holds passwords, all file descriptors
//! that it may have, and errors in place of signals.

use std::sync::OnceLock;
use std::thread::available_parallelism;

use nix::sys::resource::{Resource, getrlimit, rlim_t, setrlimit};
use nix::sys::signal::{SigSet, Signal};
use perbuck_core::units::thousands;
use perbuck_database::registry::{AnyTarget, PER_THREAD};

use crate::error::LabError;
use crate::inputs::say_waits_by;
use crate::system::set_dumpable;

/// The soft limit of file descriptors before [`begin`] raised it.
static AT_START: OnceLock<rlim_t> = OnceLock::new();

/// Descriptors of this process beyond those of its load: standard streams, record, lock, `/proc`, the pipes of private servers.
const OWN: u64 = 40;

/// Prepares this process for measuring. Call it in `main` before any thread is started, after [`crate::servers::guard_if_asked`].
/// What the system refuses stays as it was. `say` shows a line to the user: a file that keeps perbuck waiting is named in it.
pub fn begin(say: fn(&str)) {
    say_waits_by(say);
    let (soft, hard) = descriptors();
    AT_START.get_or_init(|| soft);
    if soft < hard {
        // Where even that is refused, a need above the limit is told in time.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
    // A write beyond the limit on the size of files then fails, and says so, instead of ending the process.
    let _ = SigSet::from(Signal::SIGXFSZ).thread_block();
}

/// Keeps the memory of this process to itself: a crash leaves no core dump, and other processes of the same user cannot read it. A
/// program calls it first of all; without it nothing else fails.
///
/// The files of `/proc` that perbuck reads of itself stay readable.
pub fn keep_private() {
    // A system that refuses either is one where perbuck can do no more.
    let _ = setrlimit(Resource::RLIMIT_CORE, 0, 0);
    // The limit does not hold for a system that pipes core dumps into a program.
    let _ = set_dumpable(false);
}

fn descriptors() -> (rlim_t, rlim_t) {
    // It cannot fail for this process; if it did, nothing would be known of a limit.
    getrlimit(Resource::RLIMIT_NOFILE).unwrap_or((rlim_t::MAX, rlim_t::MAX))
}

/// The soft limit of file descriptors that this process was started with.
pub(crate) fn descriptors_at_start() -> u64 {
    AT_START.get().copied().unwrap_or_else(|| descriptors().0)
}

pub(crate) fn set_descriptors(soft: u64) -> nix::Result<()> {
    let (_, hard) = descriptors();
    setrlimit(Resource::RLIMIT_NOFILE, soft.min(hard), hard)
}

/// Refuses a load of so many connections, by so many threads, that needs more file descriptors than this process may have. A
/// target that is not known yet is a private server. The targets are loaded in turn.
///
/// # Errors
/// Names the need, the limit and the way out.
pub fn enough_descriptors(targets: &[Option<AnyTarget>], connections: u32, threads: Option<u32>) -> Result<(), LabError> {
    let processors = available_parallelism().map_or(1, |n| n.get() as u32);
    let threads = threads.unwrap_or(processors).min(connections);
    let each =
        |target: &Option<AnyTarget>| target.as_ref().map_or(u64::from(connections), |t| t.descriptors(connections, threads));
    let load = targets.iter().map(each).max().unwrap_or(0);
    let (needed, limit) = (load + u64::from(threads * PER_THREAD) + OWN, descriptors().0);
    if needed <= limit {
        return Ok(());
    }
    let (needed, limit) = (thousands(needed), thousands(limit));
    let message = format!("{connections} connections need {needed} file descriptors, and this process may have {limit}");
    let help = "raise the hard limit (`ulimit -Hn` as root, `LimitNOFILE=` of a service), or lower the connections";
    Err(LabError::usage(message, help))
}
