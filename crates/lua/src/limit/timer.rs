//! A timer of one thread's CPU time, which signals that thread: Linux alone has such.
#![allow(unsafe_code)]

use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::Once;

/// CPU time between two looks, in nanoseconds.
const LOOK_NS: i64 = 50_000_000;

/// What a user does about a script that could not be run.
pub(crate) const WAY_OUT: &str = "correct the script";

/// A timer of a thread's CPU time, deleted with the thread.
pub(super) struct Timer(Option<libc::timer_t>);

impl Timer {
    /// Starts one, whose signal calls `look`. Where the system has none left, no script is ended.
    pub(super) fn started(look: extern "C" fn(c_int)) -> Result<Self, &'static str> {
        static HANDLER: Once = Once::new();
        HANDLER.call_once(|| {
            // SAFETY: the structures are valid when they are zero; the handler does only what a handler may (see `super::look`).
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = look as *const () as usize;
                action.sa_flags = libc::SA_RESTART;
                libc::sigemptyset(&raw mut action.sa_mask);
                libc::sigaction(libc::SIGVTALRM, &raw const action, ptr::null_mut());
            }
        });
        // SAFETY: as above; the timer signals this thread alone, which deletes it when it ends.
        unsafe {
            let mut event: libc::sigevent = std::mem::zeroed();
            event.sigev_notify = libc::SIGEV_THREAD_ID;
            event.sigev_signo = libc::SIGVTALRM;
            event.sigev_notify_thread_id = libc::gettid();
            let mut timer = MaybeUninit::<libc::timer_t>::zeroed();
            if libc::timer_create(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut event, timer.as_mut_ptr()) != 0 {
                return Ok(Self(None));
            }
            let timer = timer.assume_init();
            let every = libc::timespec { tv_sec: 0, tv_nsec: LOOK_NS as _ };
            let times = libc::itimerspec { it_interval: every, it_value: every };
            libc::timer_settime(timer, 0, &raw const times, ptr::null_mut());
            Ok(Self(Some(timer)))
        }
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        if let Some(timer) = self.0 {
            // SAFETY: this thread made it, and nothing else deletes it.
            unsafe { libc::timer_delete(timer) };
        }
    }
}
