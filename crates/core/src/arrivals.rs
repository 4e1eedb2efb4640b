//! When the transactions of an open-loop load are due: a clock-free, seeded schedule of intended starts.
//!
//! Points of unit rate (`0, 1, 2, …`, or the sums of exponential variates) are mapped through the inverse of the
//! cumulative rate Λ(t), the usual construction of a Poisson process whose rate varies (Çinlar 1975; Lewis and Shedler
//! 1979). Within a phase Λ(t) = a·t + (b − a)·t²/2L, whose inverse 2u / (a + √(a² + 2u(b − a)/L)) has no cancellation
//! for rising rates and is u / a for constant ones.
//!
//! Nothing drifts: every start is computed from a whole number of points and a remainder that are counted from the
//! start of its phase, never from the arrival before it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rng::OpRng;
use crate::units::Seed;

/// Rates above this count as this: one arrival per nanosecond, in arrivals per second.
pub const HIGHEST_PER_S: f64 = 1e9;

/// A sum of variates below this keeps 43 binary digits after the point, and is seldom worth carrying.
const CARRY_AT: f64 = 1024.0;

/// How the intended starts lie in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// Evenly: the integral of the rate between two starts is 1. The first is due where the rate first is above 0.
    Uniform,
    /// Like independent users: a Poisson process, with exponential gaps where the rate is constant.
    Poisson,
}

/// A stretch of time with a rate that goes linearly from `from_per_s` to `to_per_s` (equal: constant; both 0: silence).
///
/// Rates range from 0 to [`HIGHEST_PER_S`]; what lies outside counts as the nearer end, and what is no number as 0.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RatePhase {
    /// Its length in nanoseconds; 0 is allowed and has no arrival.
    pub length_ns: u64,
    /// Arrivals per second at its begin.
    pub from_per_s: f64,
    /// Arrivals per second at its end.
    pub to_per_s: f64,
}

/// A phase made ready: where it begins, and Λ over all of it.
#[derive(Debug, Clone, Copy)]
struct Leg {
    start_ns: u64,
    last_ns: f64,
    from_per_s: f64,
    /// Change of the rate, per second squared.
    slope: f64,
    arrivals: f64,
}

impl Leg {
    fn new(phase: &RatePhase, start_ns: u64) -> Self {
        let in_range = |rate: f64| if rate.is_nan() { 0.0 } else { rate.clamp(0.0, HIGHEST_PER_S) };
        let (from_per_s, to_per_s) = (in_range(phase.from_per_s), in_range(phase.to_per_s));
        let length = phase.length_ns as f64;
        let slope = if phase.length_ns == 0 { 0.0 } else { (to_per_s - from_per_s) * 1e9 / length };
        let arrivals = (from_per_s + to_per_s) / 2.0 * length / 1e9;
        Self { start_ns, last_ns: phase.length_ns.saturating_sub(1) as f64, from_per_s, slope, arrivals }
    }

    /// When Λ, counted from the start of the phase, reaches `u`; `u` is below `arrivals`.
    #[inline]
    fn time_of(&self, u: f64) -> u64 {
        let from = self.from_per_s;
        // The formula below gives the same at slope 0; without its root a constant rate costs half the time.
        let rate_then = if self.slope == 0.0 { from } else { (from * from + 2.0 * u * self.slope).max(0.0).sqrt() };
        let sum = from + rate_then;
        // Both are 0 only at the very start of a ramp that rises from 0.
        let ns = if sum > 0.0 { 2.0 * u * 1e9 / sum } else { 0.0 };
        // Rounds by hand: `round` is a call of a library on processors without an instruction for it.
        self.start_ns + (ns + 0.5).min(self.last_ns) as u64
    }

    /// Λ at `ns` after the start of the phase.
    fn integral(&self, ns: u64) -> f64 {
        let t = ns as f64 / 1e9;
        (self.from_per_s + self.slope * t / 2.0) * t
    }
}

/// The intended starts of a load, in nanoseconds since its start: never descending, all below the total length.
///
/// Two schedules of the same phases, arrivals and seed are the same; a clone goes on from where its original stands.
/// A constant rate is exact to a nanosecond within phases of 2⁵⁰ ns (13 days). The inverse of a ramp down to 0 is steep
/// at its end: there the last starts are exact to about 10⁻⁸ of the phase. The total length must be below 2⁶⁴ ns.
#[derive(Debug, Clone)]
pub struct Schedule {
    legs: Vec<Leg>,
    at: usize,
    /// The next point of unit rate, counted from the start of the leg: `whole + part`, with a small `part`, so that a
    /// long sum of variates loses no digits.
    whole: u64,
    part: f64,
    latest_ns: u64,
    arrivals: Arrivals,
    rng: OpRng,
}

impl Schedule {
    /// The schedule of these phases, one after another. Allocates here and never again.
    pub fn new(phases: &[RatePhase], arrivals: Arrivals, seed: Seed) -> Self {
        let mut start_ns = 0u64;
        let mut legs = Vec::with_capacity(phases.len());
        for phase in phases {
            legs.push(Leg::new(phase, start_ns));
            start_ns = start_ns.saturating_add(phase.length_ns);
        }
        let rng = OpRng::new(seed.derive("arrivals"));
        let mut schedule = Self { legs, at: 0, whole: 0, part: 0.0, latest_ns: 0, arrivals, rng };
        if arrivals == Arrivals::Poisson {
            schedule.step();
        }
        schedule
    }

    /// Goes to the next point of unit rate.
    #[inline]
    fn step(&mut self) {
        match self.arrivals {
            Arrivals::Uniform => self.whole += 1,
            Arrivals::Poisson => {
                self.part -= (1.0 - self.rng.unit_f64()).ln();
                if self.part >= CARRY_AT {
                    self.carry();
                }
            }
        }
    }

    #[inline]
    fn carry(&mut self) {
        let more = self.part as u64;
        self.whole += more;
        self.part -= more as f64;
    }
}

impl Iterator for Schedule {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        loop {
            let leg = *self.legs.get(self.at)?;
            let u = self.whole as f64 + self.part;
            if u < leg.arrivals {
                // Gaps far below a nanosecond may round the wrong way round; the order is promised.
                self.latest_ns = self.latest_ns.max(leg.time_of(u));
                self.step();
                return Some(self.latest_ns);
            }
            self.part = (self.whole as f64 - leg.arrivals + self.part).max(0.0);
            self.whole = 0;
            self.carry();
            self.at += 1;
        }
    }
}

impl std::iter::FusedIterator for Schedule {}

/// How many arrivals are expected before `until_ns`: the integral of the rate from the start, at most over all phases.
pub fn expected(phases: &[RatePhase], until_ns: u64) -> f64 {
    let mut left_ns = until_ns;
    let mut sum = 0.0;
    for phase in phases {
        let ns = left_ns.min(phase.length_ns);
        sum += Leg::new(phase, 0).integral(ns);
        left_ns -= ns;
    }
    sum
}

#[cfg(test)]
mod tests;
