//! The measured window and the clock relative to its start.

use std::time::Duration;

use perbuck_event::Moment;

/// The steady clock of this process, in nanoseconds from a moment that is another one in each process.
pub fn steady_ns() -> i64 {
    perbuck_event::now().ns()
}

/// Nanoseconds of a second.
pub const SECOND_NS: i64 = 1_000_000_000;

/// The measured window, and the clock relative to its start: negative in the warm-up.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    /// When the measured window starts.
    pub opens: Moment,
    /// Its length in nanoseconds.
    pub length_ns: i64,
    /// Time before it, in nanoseconds.
    pub warmup_ns: i64,
}

impl Window {
    /// While the real one is not known: it opens in a day.
    pub(crate) fn unknown() -> Self {
        Self { opens: perbuck_event::now() + Duration::from_secs(86_400), length_ns: i64::MAX, warmup_ns: 0 }
    }

    /// Nanoseconds since the window opened.
    #[inline]
    pub fn now_ns(&self) -> i64 {
        perbuck_event::now().ns_since(self.opens)
    }

    /// The moment that lies `at_ns` after the opening.
    pub fn moment(&self, at_ns: i64) -> Moment {
        self.opens.plus_ns(at_ns)
    }

    pub(crate) fn edges(&self) -> [i64; 2] {
        [0, self.length_ns]
    }

    /// The second that holds `at`, cut at the window's end: (number, end). After the window all is one long drain.
    pub(crate) fn second(&self, at: i64) -> (i64, i64) {
        if at >= self.length_ns {
            return (i64::MAX, i64::MAX);
        }
        let number = at.div_euclid(SECOND_NS);
        let end = (number + 1) * SECOND_NS;
        (number, if at < 0 { end } else { end.min(self.length_ns) })
    }
}
