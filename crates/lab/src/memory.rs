//! The memory of this process, which holds passwords.

use nix::sys::prctl::set_dumpable;
use nix::sys::resource::{Resource, setrlimit};

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
