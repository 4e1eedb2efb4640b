//! The clock of a loop: the machine's, or one that is simulated.

use std::cell::Cell;

use crate::moment::Moment;

/// Apart from the loop, because what needs no destructor is read without a look whether it lives.
struct Clock {
    /// When the last wait ended that a timer could have ended; under a simulated clock, the time.
    woke_at: Cell<Option<Moment>>,
    simulated: Cell<bool>,
}

thread_local! {
    static CLOCK: Clock = const { Clock { woke_at: Cell::new(None), simulated: Cell::new(false) } };
}

/// The time: the machine's, or that of a simulated loop.
#[inline]
pub fn now() -> Moment {
    CLOCK.with(|clock| if clock.simulated.get() { clock.woke_at.get() } else { None }).unwrap_or_else(Moment::of_machine)
}

/// Whether that time had come when the last wait ended that a timer could have ended. That may be a while ago; what has come
/// since and is not queued yet is found at the next wait.
#[inline]
pub(crate) fn has_come(at: Moment) -> bool {
    CLOCK.with(|clock| clock.woke_at.get().is_some_and(|woke_at| at <= woke_at))
}

pub(crate) fn start(simulated: bool) {
    CLOCK.with(|clock| clock.simulated.set(simulated));
    woke(Moment::of_machine());
}

/// A wait has ended, or a simulated one would have.
pub(crate) fn woke(at: Moment) {
    CLOCK.with(|clock| clock.woke_at.set(Some(at)));
}

pub(crate) fn stop() {
    CLOCK.with(|clock| {
        clock.woke_at.set(None);
        clock.simulated.set(false);
    });
}
