//! The time as one number.

use std::ops::{Add, Sub};
use std::time::Duration;

/// A moment of the machine's steady clock, or of a simulated one: nanoseconds from the same unknown moment for all of them. One
/// number, where the standard library keeps seconds apart from nanoseconds: what a hot loop does with it all the time, comparing
/// and subtracting, is then one instruction each. It reaches 292 years, and further sums stop there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment {
    ns: i64,
}

impl Moment {
    /// The machine's time, by the same clock as [`std::time::Instant`] but without the way through the C library. Not in static
    /// programs: rustix asks `getauxval` where the kernel has put the clock (feature `use-libc-auxv`; what it would read instead
    /// is wrong under valgrind), does not find that function there, and makes each reading a system call.
    #[cfg(not(target_feature = "crt-static"))]
    #[inline]
    pub(crate) fn of_machine() -> Self {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        Self { ns: time.tv_sec * 1_000_000_000 + time.tv_nsec }
    }

    /// The machine's time.
    #[cfg(target_feature = "crt-static")]
    pub(crate) fn of_machine() -> Self {
        Self::of_library()
    }

    /// The machine's time as the standard library tells it.
    #[cfg(any(test, target_feature = "crt-static"))]
    fn of_library() -> Self {
        static START: std::sync::LazyLock<std::time::Instant> = std::sync::LazyLock::new(std::time::Instant::now);
        Self { ns: 0 } + START.elapsed()
    }

    /// The number that stands for it in this process, and in messages to others that know how far their clocks are apart.
    pub fn ns(self) -> i64 {
        self.ns
    }

    /// The moment of such a number.
    pub fn from_ns(ns: i64) -> Self {
        Self { ns }
    }

    /// Nanoseconds from `other` to this one: negative where this one is earlier.
    #[inline]
    pub fn ns_since(self, other: Self) -> i64 {
        self.ns.saturating_sub(other.ns)
    }

    /// The moment that lies so many nanoseconds later, or earlier where they are negative.
    #[inline]
    #[must_use]
    pub fn plus_ns(self, ns: i64) -> Self {
        Self { ns: self.ns.saturating_add(ns) }
    }
}

impl Add<Duration> for Moment {
    type Output = Self;

    #[inline]
    fn add(self, time: Duration) -> Self {
        self.plus_ns(i64::try_from(time.as_nanos()).unwrap_or(i64::MAX))
    }
}

impl Sub for Moment {
    type Output = Duration;

    /// How much later this one is; zero where it is earlier.
    #[inline]
    fn sub(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.ns_since(earlier).max(0) as u64)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn it_runs_as_the_clock_of_the_standard_library_does() {
        for now in [Moment::of_machine, Moment::of_library] {
            let outer = Instant::now();
            let (began, inner) = (now(), Instant::now());
            std::thread::sleep(Duration::from_millis(20));
            let least = inner.elapsed();
            let took = now() - began;
            assert!(least <= took && took <= outer.elapsed() && least >= Duration::from_millis(20), "{took:?} {least:?}");
        }
    }

    #[test]
    fn what_is_earlier_is_negative_or_no_time_and_what_is_too_far_is_the_end() {
        let now = Moment::of_machine();
        let later = now + Duration::from_nanos(7);
        assert_eq!((later.ns_since(now), now.ns_since(later)), (7, -7));
        assert_eq!((later - now, now - later), (Duration::from_nanos(7), Duration::ZERO));
        assert_eq!(later.plus_ns(-7), now);
        assert_eq!(now + Duration::MAX, now.plus_ns(i64::MAX));
        assert!(now + Duration::MAX > later);
    }
}
