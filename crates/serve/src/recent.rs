//! The last minutes of a running study as drawings.

use perbuck_core::plan::TrialKey;
use perbuck_core::run_record::Interval;
use perbuck_report::{OverTime, over_time};
use serde_json::{Value, json};

/// A second of a trial, and when it ended.
pub(super) struct Second<'a> {
    pub(super) at_ms: u64,
    pub(super) trial: &'a TrialKey,
    pub(super) second: &'a Interval,
}

/// What a second gives.
type Measure = fn(&Interval) -> f64;

const DRAWN: [(&str, &str, Measure); 3] = [
    ("throughput", "transactions per second", |i| i.transactions as f64 / length_s(i)),
    ("p95_ms", "95th percentile, ms", |i| i.p95_ns as f64 / 1e6),
    ("errors", "errors per second", |i| i.errors as f64 / length_s(i)),
];

fn length_s(i: &Interval) -> f64 {
    i.length_ms.max(1) as f64 / 1e3
}

/// How long the measured window of a trial of a workload is, in milliseconds.
pub(super) type WindowMs<'a> = &'a dyn Fn(&str) -> Option<u64>;

/// Each drawing and its newest value by name. `window_ms` tells where drains begin.
pub(super) fn drawings(seconds: &[Second<'_>], window_ms: WindowMs<'_>) -> Value {
    let one = |(name, axis, measure): (&str, &str, Measure)| {
        let newest = seconds.last().map(|s| measure(s.second));
        let svg = over_time(&format!("live-{name}"), &panel(seconds, window_ms, axis, measure));
        (name.to_owned(), json!({ "svg": svg, "newest": newest }))
    };
    Value::Object(DRAWN.map(one).into_iter().collect())
}

/// The trials one after the other, with their borders; time runs up to the newest second.
fn panel(seconds: &[Second<'_>], window_ms: WindowMs<'_>, axis: &str, measure: Measure) -> OverTime {
    let origin_ms = seconds.last().map_or(0, |s| s.at_ms);
    let before = |ms: u64| -(origin_ms.saturating_sub(ms) as f64 / 1e3);
    let start = |s: &Second<'_>| before(s.at_ms) - length_s(s.second);
    let mut out = OverTime { axis: axis.to_owned(), along: "seconds, 0 is the newest".to_owned(), ..OverTime::default() };
    let mut runs = Vec::new();
    for trial in seconds.chunk_by(|a, b| a.trial == b.trial) {
        let key = trial[0].trial;
        out.borders.push((start(&trial[0]), format!("{} · {} · {}", key.contender, key.workload, key.level())));
        runs.push(trial.iter().map(|s| (before(s.at_ms) - length_s(s.second) / 2.0, measure(s.second))).collect());
        let window_ms = window_ms(&key.workload);
        for part in trial.chunk_by(|a, b| outside(a.second, window_ms) == outside(b.second, window_ms)) {
            if let (Some(what), Some(last)) = (outside(part[0].second, window_ms), part.last()) {
                out.outside.push((start(&part[0]), before(last.at_ms), what));
            }
        }
    }
    out.lines = vec![(axis.to_owned(), runs)];
    out.reach_s = (seconds.first().map_or(-60.0, start).min(-10.0), 0.0);
    out
}

/// What a second outside of the measured window is.
fn outside(i: &Interval, window_ms: Option<u64>) -> Option<&'static str> {
    match i.start_ms {
        ..0 => Some("warm-up"),
        start if window_ms.is_some_and(|window| start.unsigned_abs() >= window) => Some("drain"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_trials_are_two_lines_between_their_borders() {
        let keys = [1, 2].map(|trial| TrialKey {
            contender: "a".into(),
            workload: "w".into(),
            connections: 8,
            rate_per_s: None,
            deployment: None,
            trial,
        });
        let at = |start_ms: i64| Interval { start_ms, length_ms: 1000, transactions: 50, ..Interval::default() };
        let seconds = [at(-1000), at(0), at(1000), at(2000), at(-1000)];
        let list: Vec<Second<'_>> =
            (0..5).map(|i| Second { at_ms: 10_000 + i as u64 * 1000, trial: &keys[i / 4], second: &seconds[i] }).collect();
        let made = panel(&list, &|_| Some(2000), "tps", DRAWN[0].2);
        assert_eq!(made.outside, [(-5.0, -4.0, "warm-up"), (-2.0, -1.0, "drain"), (-1.0, 0.0, "warm-up")]);
        assert_eq!(made.borders.iter().map(|b| b.0).collect::<Vec<_>>(), [-5.0, -1.0]);
        assert_eq!(made.lines[0].1, [vec![(-4.5, 50.0), (-3.5, 50.0), (-2.5, 50.0), (-1.5, 50.0)], vec![(-0.5, 50.0)]]);
        assert_eq!(drawings(&[], &|_| None)["errors"]["newest"], Value::Null);
    }
}
