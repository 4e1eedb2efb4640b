//! Where values lie on an axis, and what is written there.

use super::{log_ticks, tick_texts, ticks};
use crate::document::AxisScale;
use crate::number::{axis_time, fixed, signed_percent};

pub(super) struct Scale {
    kind: AxisScale,
    low: f64,
    high: f64,
    /// Values that are marked, with their texts.
    pub(super) ticks: Vec<(f64, String)>,
}

impl Scale {
    /// An axis that holds all values; those that are not finite are left out.
    pub(super) fn of(kind: AxisScale, values: impl Iterator<Item = f64>) -> Self {
        let values: Vec<f64> = values.filter(|v| v.is_finite()).collect();
        let low = values.iter().copied().reduce(f64::min).unwrap_or(0.0);
        let high = values.iter().copied().reduce(f64::max).unwrap_or(1.0);
        let plain = |ticks: Vec<f64>| {
            let texts = tick_texts(&ticks);
            ticks.into_iter().zip(texts).collect::<Vec<_>>()
        };
        let marked = match kind {
            AxisScale::FromZero => plain(ticks(high)),
            AxisScale::LogTime => log_ticks(low, high).into_iter().map(|t| (t, axis_time(t))).collect(),
            AxisScale::Nines => nines(high),
            AxisScale::Shares => {
                let ticks = between(low.min(0.0), high.max(0.0));
                let step = ticks.get(1).map_or(1.0, |t| t - ticks[0]);
                let decimals = usize::from(step < 0.01);
                let text = |t: f64| if t.abs() < step / 1e3 { "0 %".to_owned() } else { signed_percent(t, decimals) };
                ticks.into_iter().map(|t| (t, text(t))).collect()
            }
            AxisScale::Whole => between(low, high).into_iter().map(|t| (t, fixed(t, 0))).filter(|t| t.0.fract() == 0.0).collect(),
            AxisScale::Seconds => between(low, high).into_iter().map(|t| (t, fixed(t, usize::from(t.fract() != 0.0)))).collect(),
        };
        // Positions and seconds are told by where the data end; other axes end on a mark.
        let (low, high) = match kind {
            AxisScale::Whole | AxisScale::Seconds => (low, high.max(low + 1.0)),
            AxisScale::Nines => (0.0, high),
            _ => (marked.first().map_or(0.0, |t| t.0), marked.last().map_or(1.0, |t| t.0)),
        };
        let ticks = marked.into_iter().filter(|t| (low..=high).contains(&t.0)).collect();
        Self { kind, low, high, ticks }
    }

    /// Where a value lies, from 0 to 1; beyond that it lies outside. Infinite values lie at the ends.
    pub(super) fn share(&self, value: f64) -> f64 {
        if value.is_infinite() {
            return f64::from(u8::from(value > 0.0));
        }
        let position = |v: f64| match self.kind {
            AxisScale::LogTime => v.max(f64::MIN_POSITIVE).ln(),
            AxisScale::Nines => nine(v),
            _ => v,
        };
        let (low, high) = (position(self.low), position(self.high));
        if high > low { (position(value) - low) / (high - low) } else { 0.5 }
    }

    pub(super) fn text(&self, value: f64) -> String {
        match self.kind {
            AxisScale::LogTime => perbuck_core::units::duration_text(value.max(0.0) as u64),
            AxisScale::Shares => signed_percent(value, 1),
            AxisScale::Whole => fixed(value, 0),
            _ => fixed(value, crate::number::column_decimals([value])),
        }
    }
}

/// How many nines a percentile has: 1 at 90, 2 at 99.
fn nine(percentile: f64) -> f64 {
    -(1.0 - percentile.clamp(0.0, 99.999_999) / 100.0).log10()
}

fn nines(highest: f64) -> Vec<(f64, String)> {
    const MARKED: [f64; 8] = [0.0, 50.0, 90.0, 99.0, 99.9, 99.99, 99.999, 99.9999];
    MARKED.into_iter().filter(|p| *p <= highest + 1e-9).map(|p| (p, format!("p{p}"))).collect()
}

/// Round values from below `low` to above `high`; about six.
fn between(low: f64, high: f64) -> Vec<f64> {
    let span = if high > low { high - low } else { 1.0 };
    let step = ticks(span).get(1).copied().unwrap_or(1.0);
    let (from, to) = ((low / step + 1e-9).floor() as i64, (high / step - 1e-9).ceil() as i64);
    (from..=to.max(from + 1)).map(|i| i as f64 * step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_hold_their_values_and_say_what_they_are() {
        let shares = Scale::of(AxisScale::Shares, [-0.021, 0.043].into_iter());
        assert_eq!(shares.ticks.first().unwrap().1, "−4 %");
        assert!(shares.ticks.iter().any(|t| t.1 == "0 %") && shares.share(0.043) <= 1.0 && shares.share(-0.021) >= 0.0);
        let tail = Scale::of(AxisScale::Nines, [0.0, 99.9].into_iter());
        assert!((tail.share(99.0) - 2.0 / 3.0).abs() < 1e-9 && tail.ticks.last().unwrap().1 == "p99.9");
        let seconds = Scale::of(AxisScale::Seconds, [-9.5, 59.5].into_iter());
        assert!((seconds.share(-9.5), seconds.share(59.5)) == (0.0, 1.0));
        assert_eq!(seconds.ticks.first().unwrap().1, "0");
        assert_eq!((seconds.share(f64::NEG_INFINITY), seconds.share(f64::INFINITY)), (0.0, 1.0));
    }

    #[test]
    fn nothing_and_one_value_have_an_axis() {
        for kind in
            [AxisScale::FromZero, AxisScale::Shares, AxisScale::LogTime, AxisScale::Nines, AxisScale::Whole, AxisScale::Seconds]
        {
            for values in [vec![], vec![0.0], vec![5.0], vec![f64::NAN]] {
                let scale = Scale::of(kind, values.iter().copied());
                assert!(scale.share(1.0).is_finite() && scale.ticks.iter().all(|t| t.0.is_finite()), "{kind:?} {values:?}");
            }
        }
    }
}
