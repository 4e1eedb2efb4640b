//! Zipf's law on a bounded range by rejection-inversion: W. Hörmann and G. Derflinger, "Rejection-inversion to generate
//! variates from monotone discrete distributions", ACM TOMACS 6 (1996) 169–184, there algorithm ZRI.
//!
//! The hat is x^−s. Its integral is taken as (x^(1−s) − 1) / (1 − s), which unlike the paper's also has a limit at s = 1
//! and lets the method work for every exponent from 0.

use perbuck_core::rng::OpRng;

/// Closer to 1 than this an exponent counts as 1; the integral differs by less than 10⁻⁸ of itself then.
const NEARLY_ONE: f64 = 1e-9;

/// The constants of the method for one range and exponent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Zipfian {
    exponent: f64,
    /// 1 − exponent, and exactly 0 near it.
    rest: f64,
    last: f64,
    /// The integral at the ends of the area under the hat; rank 1 has just its own mass of it.
    low: f64,
    high: f64,
    /// A rank no further than this above its point needs no test.
    sure: f64,
}

impl Zipfian {
    /// Ranks 1 to `n` by `rank^−exponent`.
    pub(crate) fn new(n: u64, exponent: f64) -> Self {
        let rest = if (1.0 - exponent).abs() < NEARLY_ONE { 0.0 } else { 1.0 - exponent };
        let mut zipfian = Self { exponent, rest, last: n as f64, low: 0.0, high: 0.0, sure: 0.0 };
        zipfian.low = zipfian.integral(1.5) - 1.0;
        zipfian.high = zipfian.integral(zipfian.last + 0.5);
        zipfian.sure = 2.0 - zipfian.inverse(zipfian.integral(2.5) - zipfian.mass(2.0));
        zipfian
    }

    /// The next rank, from 1.
    #[inline]
    pub(crate) fn draw(&self, rng: &mut OpRng) -> u64 {
        loop {
            let area = self.high - rng.unit_f64() * (self.high - self.low);
            let point = self.inverse(area);
            // Rounding may step over an end.
            let rank = (point + 0.5).floor().clamp(1.0, self.last);
            if rank - point <= self.sure || area >= self.integral(rank + 0.5) - self.mass(rank) {
                return rank as u64;
            }
        }
    }

    #[inline]
    fn mass(&self, x: f64) -> f64 {
        (-self.exponent * x.ln()).exp()
    }

    #[inline]
    fn integral(&self, x: f64) -> f64 {
        if self.rest == 0.0 { x.ln() } else { (self.rest * x.ln()).exp_m1() / self.rest }
    }

    #[inline]
    fn inverse(&self, area: f64) -> f64 {
        if self.rest == 0.0 {
            return area.exp();
        }
        // Below −1 only by rounding.
        ((self.rest * area).max(-1.0).ln_1p() / self.rest).exp()
    }
}
