//! How throughput grows with connections: the Universal Scalability Law (Gunther 1993, 2007) fitted to measured points.
//!
//! X(N) = λN / (1 + σ(N−1) + κN(N−1)): λ is what one connection does, σ the share that cannot run side by side, κ the cost of
//! keeping N of them in agreement. Fitted by Levenberg and Marquardt's method to relative errors, because the scatter of a
//! throughput is a share of it. Neither σ nor κ may be negative; where one would be, it is 0 and the other two are fitted.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rng::OpRng;
use crate::stats::{self, Interval};
use crate::units::Seed;

/// Points without which three parameters fit anything.
const FEWEST: usize = 4;
/// Points from which their intervals mean something.
const FEWEST_FOR_INTERVALS: usize = 7;
/// How far beyond the last point the curve may be read, as a multiple of it.
const REACH: f64 = 1.5;
const DRAWS: usize = 500;
/// Squared relative errors below this are rounding.
const ROUNDING: f64 = 1e-12;
/// Steps of a fit; it converges in some ten.
const STEPS: usize = 100;

/// What the points of one contender say of its scalability.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Scalability {
    /// Connections of the measured point with the most throughput.
    pub peak: u32,
    /// Connections of the measured point with the most power, throughput² / connections (Kleinrock 1979): beyond it latency
    /// grows faster than throughput.
    pub knee: u32,
    /// The first and the last connections around the peak whose throughput is within the margin of the peak's.
    pub plateau: (u32, u32),
    /// The fitted law; `None` for fewer than four points or where no curve fits.
    pub fit: Option<Fit>,
}

/// The fitted law.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fit {
    /// Throughput of one connection.
    pub lambda: f64,
    /// Contention.
    pub sigma: f64,
    /// Coherency.
    pub kappa: f64,
    /// Intervals of the three; `None` for fewer than seven points.
    pub intervals: Option<FitIntervals>,
    /// Connections at the top of the curve, √((1−σ)/κ); `None` for the reason of `no_top`.
    pub connections_max: Option<f64>,
    /// Throughput there.
    pub throughput_max: Option<f64>,
    /// Why no top is given; `None` where one is, or in a fit of an older version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_top: Option<NoTop>,
    /// Up to so many connections the curve may be read: 1.5 times the last point.
    pub reach: f64,
    /// Root of the mean squared relative error of the points.
    pub error: f64,
    /// How many points it was fitted to.
    pub points: usize,
    /// Whether the first of them has a single connection; λ is read off the curve where not.
    pub from_one: bool,
}

/// Why a curve has no top that may be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NoTop {
    /// κ is not apart from 0: a curve that only levels off fits the points as well.
    KappaNotApart,
    /// It lies beyond the reach.
    BeyondReach,
}

/// Intervals of the parameters.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FitIntervals {
    /// Of λ.
    pub lambda: Interval,
    /// Of σ.
    pub sigma: Interval,
    /// Of κ.
    pub kappa: Interval,
    /// Of the connections at the top; `None` where some draws have no top, or one beyond the reach.
    pub connections_max: Option<Interval>,
}

impl Fit {
    /// Throughput at `n` connections by the curve; `None` beyond its reach.
    pub fn at(&self, n: f64) -> Option<f64> {
        (n > 0.0 && n <= self.reach).then(|| Curve { log_lambda: self.lambda.ln(), sigma: self.sigma, kappa: self.kappa }.at(n))
    }
}

/// Describes points of connections and mean throughput, ascending; `None` for fewer than two or a throughput of zero.
pub fn describe(points: &[(u32, f64)], margin: f64, confidence: f64, seed: Seed) -> Option<Scalability> {
    if points.len() < 2 || points.iter().any(|(_, x)| *x <= 0.0) {
        return None;
    }
    let best = |power: i32| {
        let merit = |(n, x): &(u32, f64)| x.powi(power) / f64::from(*n).powi(power - 1);
        points.iter().enumerate().max_by(|a, b| merit(a.1).total_cmp(&merit(b.1))).map_or(0, |(i, _)| i)
    };
    let (peak, knee) = (best(1), best(2));
    let level = |i: usize| points[i].1 * (1.0 + margin) >= points[peak].1;
    let first = (0..peak).rev().take_while(|i| level(*i)).last().unwrap_or(peak);
    let last = (peak..points.len()).take_while(|i| level(*i)).last().unwrap_or(peak);
    Some(Scalability {
        peak: points[peak].0,
        knee: points[knee].0,
        plateau: (points[first].0, points[last].0),
        fit: fit(points, confidence, seed),
    })
}

/// Fits the law; `None` for fewer than four points.
pub fn fit(points: &[(u32, f64)], confidence: f64, seed: Seed) -> Option<Fit> {
    if points.len() < FEWEST {
        return None;
    }
    let points: Vec<(f64, f64)> = points.iter().map(|(n, x)| (f64::from(*n), *x)).collect();
    let (first, last) = (points.first()?.0, points.last()?.0);
    let curve = best_curve(&points)?;
    let reach = REACH * last;
    let mut intervals = (points.len() >= FEWEST_FOR_INTERVALS).then(|| intervals(&points, &curve, reach, confidence, seed));
    let apart = intervals.is_none_or(|i| i.kappa.low > 0.0) && kappa_apart(&points, &curve, confidence);
    let top = curve.top().filter(|n| apart && *n <= reach);
    if let Some(found) = intervals.as_mut().filter(|_| top.is_none()) {
        found.connections_max = None;
    }
    let no_top = if apart { NoTop::BeyondReach } else { NoTop::KappaNotApart };
    Some(Fit {
        lambda: curve.log_lambda.exp(),
        sigma: curve.sigma,
        kappa: curve.kappa,
        intervals,
        connections_max: top,
        throughput_max: top.map(|n| curve.at(n)),
        no_top: top.is_none().then_some(no_top),
        reach,
        error: (curve.squares(&points) / points.len() as f64).sqrt(),
        points: points.len(),
        from_one: first <= 1.0,
    })
}

/// The three parameters; λ by its logarithm, which cannot become negative.
#[derive(Debug, Clone, Copy)]
struct Curve {
    log_lambda: f64,
    sigma: f64,
    kappa: f64,
}

impl Curve {
    fn divisor(&self, n: f64) -> f64 {
        1.0 + self.sigma * (n - 1.0) + self.kappa * n * (n - 1.0)
    }

    fn at(&self, n: f64) -> f64 {
        self.log_lambda.exp() * n / self.divisor(n)
    }

    fn top(&self) -> Option<f64> {
        (self.kappa > 0.0 && self.sigma < 1.0).then(|| ((1.0 - self.sigma) / self.kappa).sqrt())
    }

    /// The sum of squared relative errors; infinite where the curve is none.
    fn squares(&self, points: &[(f64, f64)]) -> f64 {
        let one = |(n, x): &(f64, f64)| {
            if self.divisor(*n) > 0.0 { (self.at(*n) / x - 1.0).powi(2) } else { f64::INFINITY }
        };
        let sum: f64 = points.iter().map(one).sum();
        if sum.is_finite() { sum } else { f64::INFINITY }
    }

    fn moved(&self, step: [f64; 3]) -> Self {
        Self { log_lambda: self.log_lambda + step[0], sigma: self.sigma + step[1], kappa: self.kappa + step[2] }
    }
}

/// The best curve without a negative parameter. It is one of four: both free, one of them 0, or both.
fn best_curve(points: &[(f64, f64)]) -> Option<Curve> {
    let fitted = |free| levenberg_marquardt(points, free).filter(|(c, _)| c.sigma >= 0.0 && c.kappa >= 0.0);
    if let Some((curve, _)) = fitted([true; 3]) {
        return Some(curve);
    }
    let edges = [[true, true, false], [true, false, true], [true, false, false]];
    edges.into_iter().filter_map(fitted).min_by(|a, b| a.1.total_cmp(&b.1)).map(|(c, _)| c)
}

/// Whether the points tell that κ is not 0: the best curve without it has so much larger squares that an F test at the confidence
/// rejects it (Bates and Watts 1988). It needs no intervals, so it also holds for few points.
fn kappa_apart(points: &[(f64, f64)], curve: &Curve, confidence: f64) -> bool {
    let freedom = points.len() as f64 - 3.0;
    let flat = [[true, true, false], [true, false, false]].into_iter().filter_map(|free| levenberg_marquardt(points, free));
    let without = flat.filter(|(c, _)| c.sigma >= 0.0).map(|(_, squares)| squares).fold(f64::INFINITY, f64::min);
    let squares = curve.squares(points);
    let needed = stats::student_quantile(confidence, freedom).powi(2) * squares / freedom;
    without > ROUNDING && without - squares > needed
}

/// Levenberg (1944) and Marquardt's (1963) method from the curve through the first point; `free` says which of the three
/// parameters may move.
fn levenberg_marquardt(points: &[(f64, f64)], free: [bool; 3]) -> Option<(Curve, f64)> {
    let (first, last) = (points.first()?, points.last()?);
    let spread = if free[1] { 0.1 } else { 0.0 };
    let mut curve = Curve { log_lambda: 0.0, sigma: spread, kappa: if free[2] { 1.0 / (last.0 * last.0) } else { 0.0 } };
    curve.log_lambda = (first.1 * curve.divisor(first.0) / first.0).ln();
    let (mut squares, mut damping) = (curve.squares(points), 1e-3);
    for _ in 0..STEPS {
        let (normal, gradient) = equations(&curve, points, free);
        let mut moved = false;
        while damping < 1e12 {
            let Some(step) = solve(normal, gradient, damping, free) else { break };
            let next = curve.moved(step);
            let better = next.squares(points);
            if better <= squares {
                // Below the last digits of a double there is nothing left to gain.
                moved = squares - better > 1e-14 * squares;
                (curve, squares, damping) = (next, better, (damping / 10.0).max(1e-12));
                break;
            }
            damping *= 10.0;
        }
        if !moved {
            break;
        }
    }
    squares.is_finite().then_some((curve, squares))
}

/// The normal equations of one step: JᵀJ and −Jᵀr for the relative errors r.
fn equations(curve: &Curve, points: &[(f64, f64)], free: [bool; 3]) -> ([[f64; 3]; 3], [f64; 3]) {
    let (mut normal, mut gradient) = ([[0.0; 3]; 3], [0.0; 3]);
    for (n, x) in points {
        let (share, divisor) = (curve.at(*n) / x, curve.divisor(*n));
        let slopes = [share, -share * (n - 1.0) / divisor, -share * n * (n - 1.0) / divisor];
        for i in (0..3).filter(|i| free[*i]) {
            gradient[i] -= slopes[i] * (share - 1.0);
            for j in (0..3).filter(|j| free[*j]) {
                normal[i][j] += slopes[i] * slopes[j];
            }
        }
    }
    (normal, gradient)
}

/// Solves the damped equations by elimination; what may not move stays. `None` where they have no solution.
fn solve(mut a: [[f64; 3]; 3], mut b: [f64; 3], damping: f64, free: [bool; 3]) -> Option<[f64; 3]> {
    for i in 0..3 {
        if free[i] { a[i][i] *= 1.0 + damping } else { a[i][i] = 1.0 }
    }
    for i in 0..3 {
        // Damped normal equations are positive definite: the diagonal serves as pivot.
        if a[i][i] <= 0.0 || !a[i][i].is_finite() {
            return None;
        }
        for j in i + 1..3 {
            let factor = a[j][i] / a[i][i];
            let (above, below) = a.split_at_mut(j);
            below[0].iter_mut().zip(&above[i]).skip(i).for_each(|(mine, pivot)| *mine -= factor * pivot);
            b[j] -= factor * b[i];
        }
    }
    let mut x = [0.0; 3];
    for i in (0..3).rev() {
        let known: f64 = (i + 1..3).map(|k| a[i][k] * x[k]).sum();
        x[i] = (b[i] - known) / a[i][i];
    }
    x.iter().all(|v| v.is_finite()).then_some(x)
}

/// Intervals from a seeded bootstrap of the relative errors of the points, widened for the three parameters that made them
/// smaller than they are, with Student's quantile for as few degrees of freedom as are left.
fn intervals(points: &[(f64, f64)], curve: &Curve, reach: f64, confidence: f64, seed: Seed) -> FitIntervals {
    let count = points.len();
    let freedom = count as f64 - 3.0;
    let widened = (count as f64 / freedom).sqrt();
    let errors: Vec<f64> = points.iter().map(|(n, x)| (x / curve.at(*n)).ln() * widened).collect();
    let mut rng = OpRng::new(seed.derive("usl"));
    let mut drawn: Vec<Curve> = Vec::with_capacity(DRAWS);
    for _ in 0..DRAWS {
        let redrawn = |(n, _): &(f64, f64)| (*n, curve.at(*n) * errors[rng.below(count as u64) as usize].exp());
        let redone: Vec<(f64, f64)> = points.iter().map(redrawn).collect();
        drawn.extend(best_curve(&redone));
    }
    let t = stats::student_quantile(confidence, freedom);
    let half = |of: &dyn Fn(&Curve) -> f64| t * stats::variance(&drawn.iter().map(of).collect::<Vec<_>>()).sqrt();
    let around = |value: f64, half: f64| Interval { low: (value - half).max(0.0), high: value + half };
    let times = |value: f64, half: f64| Interval { low: value * (-half).exp(), high: value * half.exp() };
    let tops: Option<Vec<f64>> = drawn.iter().map(|c| c.top().filter(|n| *n <= reach).map(f64::ln)).collect();
    let top = curve.top().filter(|n| *n <= reach).zip(tops);
    FitIntervals {
        lambda: times(curve.log_lambda.exp(), half(&|c| c.log_lambda)),
        sigma: around(curve.sigma, half(&|c| c.sigma)),
        kappa: around(curve.kappa, half(&|c| c.kappa)),
        connections_max: top.map(|(n, logs)| times(n, t * stats::variance(&logs).sqrt())),
    }
}

#[cfg(test)]
mod tests;
