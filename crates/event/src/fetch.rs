//! Asks the processor for memory ahead of its use.
#![allow(unsafe_code, reason = "prefetching has no safe interface in stable Rust")]

/// What processors fetch at once, in bytes. Where theirs is larger some requests are repeated, which costs an instruction each.
const LINE: usize = 64;
/// Of something larger only the beginning: a processor keeps no more than a few dozen requests in flight.
const AT_MOST: usize = 2048;

/// Begins to fetch a value. Its lines come side by side then; code that meets them one by one waits for each, because what it
/// finds in one says where to look next.
#[inline]
pub(crate) fn ahead<T: ?Sized>(value: &T) {
    let start = std::ptr::from_ref(value).cast::<u8>();
    // From the beginning of its first line on, or the last one would be left out.
    let within = start.addr() % LINE;
    for offset in (0..within + size_of_val(value).min(AT_MOST)).step_by(LINE) {
        line(start.wrapping_sub(within).wrapping_add(offset));
    }
}

/// Proof: a prefetch is a hint. It reads nothing into a register, writes nothing, and never faults, whatever the address (Intel's
/// manual, volume 2B, PREFETCHh), so that no pointer can be wrong.
#[cfg(target_arch = "x86_64")]
#[inline]
fn line(at: *const u8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};

    // SAFETY: see above; SSE is part of x86-64.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) };
}

/// Proof: as above (Arm's reference manual, PRFM: it may not cause a synchronous abort). The compiler is told that nothing changes.
#[cfg(target_arch = "aarch64")]
#[inline]
fn line(at: *const u8) {
    // SAFETY: see above.
    unsafe { std::arch::asm!("prfm pldl1keep, [{at}]", at = in(reg) at, options(nostack, preserves_flags, readonly)) };
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[inline]
fn line(_at: *const u8) {}
