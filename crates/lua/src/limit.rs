//! Ends scripts that run for ever, or allocate without limit. LuaJIT looks for a hook before each instruction that it interprets, and a signal
//! handler may set one: so a timer of the thread's own CPU time looks, twenty times a second of work, whether the script has asked for anything
//! since. A statement costs a thread a few stores to memory of its own.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::ffi::{CStr, c_int};
use std::mem::MaybeUninit;
use std::ptr;

use mlua::ffi;
use timer::Timer;
pub(crate) use timer::WAY_OUT;

#[cfg(target_os = "linux")]
mod timer;
#[cfg(not(target_os = "linux"))]
#[path = "limit/unsupported.rs"]
mod timer;

/// Looks at a script that has asked for nothing before it is ended: 10 s.
const LOOKS: u32 = 200;
/// After so many catches of the error by the script itself, it comes at every instruction.
const CATCHES: u32 = 3;
/// Instructions between two of the first ones.
const REPORT: c_int = 10_000;
/// What a terminal may hold, in KiB.
pub(crate) const MEMORY_KIB: usize = 256 * 1024;
/// What the error of an ended script says, and how it begins.
pub(crate) const ENDED: &str = "the script was ended: ";
const TOO_LONG: &CStr = c"the script was ended: it ran too long without a query";
const TOO_MUCH: &CStr = c"the script was ended: it holds more than 256 MiB, so there is not enough memory";

/// The limits of a script.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Most {
    /// When it is ended at the latest, as a moment of the monotonic clock in nanoseconds.
    pub(crate) until_ns: i64,
    /// What its state may hold, in KiB, with all of its terminals.
    pub(crate) held_kib: usize,
}

/// What runs on this thread.
struct Running {
    state: Cell<*mut ffi::lua_State>,
    /// Counts the resumptions.
    number: Cell<u64>,
    most: Cell<Most>,
    /// The resumption that the last look saw, how many looks saw it, and what the state held at the first one, in KiB.
    seen: Cell<(u64, u32, usize)>,
    /// Whether a look has set a hook, which belongs to this resumption alone.
    hooked: Cell<bool>,
    /// How often it was ended.
    ended: Cell<u32>,
    /// What the error of the first time said, with its traceback.
    said: Cell<&'static [u8]>,
}

thread_local! {
    static RUNNING: Running = const {
        Running {
            state: Cell::new(ptr::null_mut()),
            number: Cell::new(0),
            most: Cell::new(Most { until_ns: i64::MAX, held_kib: MEMORY_KIB }),
            seen: Cell::new((0, 0, 0)),
            hooked: Cell::new(false),
            ended: Cell::new(0),
            said: Cell::new(b""),
        }
    };
    static TIMER: Result<Timer, &'static str> = Timer::started(look);
}

/// Starts the timer of this thread, once. A system that has no such timer is an error: no script may run where none can be ended.
pub(crate) fn watch_this_thread() -> Result<(), String> {
    TIMER.with(|timer| timer.as_ref().map(|_| ()).map_err(|why| (*why).to_owned()))
}

/// Runs `work` on a state, and says whether the script was ended.
#[inline]
pub(crate) fn limited<T>(state: *mut ffi::lua_State, most: Most, work: impl FnOnce() -> T) -> T {
    RUNNING.with(|running| {
        running.most.set(most);
        running.number.set(running.number.get() + 1);
        running.state.set(state);
        let done = work();
        running.state.set(ptr::null_mut());
        if running.hooked.replace(false) {
            running.ended.set(0);
            // SAFETY: the caller's state is alive, and without a function there is no hook to call.
            unsafe { ffi::lua_sethook(state, None, 0, 0) };
        }
        done
    })
}

/// The monotonic clock, in nanoseconds.
pub(crate) fn now_ns() -> i64 {
    let mut time = MaybeUninit::<libc::timespec>::zeroed();
    // SAFETY: the call fills the structure, which is valid when it is zero, too.
    let time = unsafe {
        libc::clock_gettime(libc::CLOCK_MONOTONIC, time.as_mut_ptr());
        time.assume_init()
    };
    (time.tv_sec as i64) * 1_000_000_000 + time.tv_nsec as i64
}

/// The handler of the timer's signal. It reads and writes cells of its own thread, reads the clock and sets a hook: LuaJIT documents
/// that a handler may do the last.
extern "C" fn look(_signal: c_int) {
    RUNNING.with(|running| {
        let state = running.state.get();
        if state.is_null() {
            return;
        }
        let (number, looks, at_first) = running.seen.get();
        // SAFETY: the state runs on this thread, so it is alive. How much it holds is a number that the call reads; the hooks run when the
        // state is at an instruction.
        unsafe {
            let held = held_kib(state);
            let is_same = number == running.number.get();
            let (looks, at_first) = if is_same { (looks + 1, at_first) } else { (0, held) };
            running.seen.set((running.number.get(), looks, at_first));
            let most = running.most.get();
            // What it took since its last query is its own, whoever shares the state.
            let grown = held.saturating_sub(at_first) > MEMORY_KIB;
            if is_too_long(looks, now_ns() >= most.until_ns) {
                running.hooked.set(true);
                ffi::lua_sethook(state, Some(end), ffi::LUA_MASKCOUNT, 1);
            } else if held > most.held_kib || grown {
                running.hooked.set(true);
                ffi::lua_sethook(state, Some(end_if_full), ffi::LUA_MASKCOUNT, 1);
            }
        }
    });
}

/// Whether a script has worked too long without a query. After its window one look is not enough: the server may have answered just then, and
/// the transaction has the time to end that others have.
fn is_too_long(looks: u32, is_over: bool) -> bool {
    looks >= LOOKS || is_over && looks > 0
}

/// What a state holds, in KiB, with what is garbage.
///
/// # Safety
/// The state is alive.
unsafe fn held_kib(state: *mut ffi::lua_State) -> usize {
    // SAFETY: as above.
    unsafe { ffi::lua_gc(state, ffi::LUA_GCCOUNT, 0) as usize }
}

/// The hook of a script that runs too long.
unsafe extern "C-unwind" fn end(state: *mut ffi::lua_State, _at: *mut ffi::lua_Debug) {
    // SAFETY: as in `raise`.
    unsafe { raise(state, TOO_LONG) }
}

/// The hook of a script that holds much: without its garbage it may be little.
unsafe extern "C-unwind" fn end_if_full(state: *mut ffi::lua_State, _at: *mut ffi::lua_Debug) {
    // SAFETY: as in `raise`; a collection may run at any instruction.
    unsafe {
        ffi::lua_sethook(state, None, 0, 0);
        ffi::lua_gc(state, ffi::LUA_GCCOLLECT, 0);
        let held = held_kib(state);
        let too_much =
            RUNNING.with(|running| held > running.most.get().held_kib || held.saturating_sub(running.seen.get().2) > MEMORY_KIB);
        if too_much {
            raise(state, TOO_MUCH);
        }
    }
}

/// Raises an error with the traceback of where the script is. Once the script has caught it often, it comes at every instruction.
///
/// # Safety
/// Only within a hook: its state runs and has room for a message. Nothing of Rust's is to be dropped here.
unsafe fn raise(state: *mut ffi::lua_State, words: &'static CStr) {
    let (ended, said) = RUNNING.with(|running| {
        running.ended.set(running.ended.get() + 1);
        (running.ended.get(), running.said.get())
    });
    // SAFETY: as above; the text of a string does not move while the string is on the stack.
    unsafe {
        if ended <= CATCHES {
            // Enough for what reports the error; a script that catches it is ended again then.
            ffi::lua_sethook(state, Some(end), ffi::LUA_MASKCOUNT, REPORT);
        }
        if ended == 1 {
            ffi::luaL_traceback(state, state, words.as_ptr(), 0);
            let mut length = 0;
            let text = ffi::lua_tolstring(state, -1, &raw mut length);
            // A run ends with it, so it may stay.
            let said = std::slice::from_raw_parts(text.cast::<u8>(), length).to_vec().leak();
            RUNNING.with(|running| running.said.set(said));
        } else {
            ffi::lua_pushlstring(state, said.as_ptr().cast(), said.len());
        }
        ffi::lua_error(state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_that_was_just_answered_after_its_window_goes_on() {
        assert!(!is_too_long(0, true) && is_too_long(1, true));
        assert!(!is_too_long(LOOKS - 1, false) && is_too_long(LOOKS, false));
    }
}
