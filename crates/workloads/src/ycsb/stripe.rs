//! Which new records belong to a share of a trial: every n-th, so that n processes that do not ask each other never insert the same.

use perbuck_load::share::Share;

/// The records of one share among the new ones of a trial: number k of share a of n is record `first` + k·n + a.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stripe {
    /// The first new record of the trial.
    pub(super) first: u64,
    pub(super) share: Share,
}

impl Stripe {
    #[inline]
    fn of(self) -> u64 {
        u64::from(self.share.of.max(1))
    }

    /// The record with this number of the share.
    #[inline]
    pub(super) fn record(self, number: u64) -> u64 {
        self.first + number * self.of() + u64::from(self.share.number)
    }

    /// The record after the last of all shares, if each has so many. What is drawn below it is to be moved by [`Self::own`].
    #[inline]
    pub(super) fn end(self, numbers: u64) -> u64 {
        self.first + numbers * self.of()
    }

    /// A record that this share knows to be there in place of one that was drawn: another share's may not be there yet, and this one's of
    /// the same number is.
    #[inline]
    pub(super) fn own(self, drawn: u64) -> u64 {
        if self.share.of <= 1 || drawn < self.first { drawn } else { self.record((drawn - self.first) / self.of()) }
    }

    /// How many records of this share lie below `record`.
    pub(super) fn below(self, record: u64) -> u64 {
        record.saturating_sub(self.record(0)).div_ceil(self.of())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stripes(first: u64, of: u32) -> Vec<Stripe> {
        (0..of).map(|number| Stripe { first, share: Share { number, of } }).collect()
    }

    #[test]
    fn every_record_belongs_to_one_share() {
        for of in [1, 2, 3, 7] {
            let all = stripes(1_000, of);
            let mut records: Vec<u64> = all.iter().flat_map(|stripe| (0..50).map(|number| stripe.record(number))).collect();
            records.sort_unstable();
            assert_eq!(records, (1_000..1_000 + 50 * u64::from(of)).collect::<Vec<_>>(), "{of} shares");
            for end in 990..1_020 {
                let below = all.iter().map(|stripe| stripe.below(end)).sum::<u64>();
                assert_eq!(below, end.saturating_sub(1_000), "{of} shares below {end}");
            }
            for stripe in all {
                for number in 0..50 {
                    assert_eq!(
                        (stripe.below(stripe.record(number)), stripe.below(stripe.record(number) + 1)),
                        (number, number + 1)
                    );
                }
            }
        }
    }

    #[test]
    fn what_is_drawn_is_moved_to_a_record_that_the_share_has_inserted() {
        for of in [1, 2, 3, 7] {
            for stripe in stripes(100, of) {
                assert_eq!((stripe.own(0), stripe.own(99)), (0, 99), "loaded before");
                for numbers in 1..5 {
                    let end = stripe.end(numbers);
                    let mine: Vec<u64> = (0..numbers).map(|number| stripe.record(number)).collect();
                    assert!((100..end).all(|drawn| mine.contains(&stripe.own(drawn))), "{stripe:?} of {numbers}");
                    assert!(mine.iter().all(|record| stripe.own(*record) == *record));
                }
            }
        }
        let whole = Stripe { first: 100, share: Share::WHOLE };
        assert!((90..200).all(|drawn| whole.own(drawn) == drawn && whole.end(drawn) == 100 + drawn));
    }
}
