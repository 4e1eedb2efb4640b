//! What a study would find against the time that it takes, as one drawing.

use super::slide::{Slide, single};
use crate::document::{Figure, LinePanel, Panels, Point, Scale, Series, Table};
use crate::escape::clean;

/// A line: its name, and its points of minutes and percent.
pub type PowerLine = (String, Vec<(u32, f64)>);

/// Lines of detectable differences in percent, each over minutes of machine time; `None` where there is nothing to draw.
pub fn power_chart(study: &str, margin: &str, lines: &[PowerLine]) -> Option<Slide> {
    let mut levels: Vec<u32> = lines.iter().flat_map(|(_, points)| points.iter().map(|(minutes, _)| *minutes)).collect();
    levels.sort_unstable();
    levels.dedup();
    let point = |(minutes, percent): &(u32, f64)| Point {
        level: *minutes,
        values: Vec::new(),
        value: *percent,
        interval: None,
        at_least: false,
    };
    let series = |(slot, (name, points)): (usize, &PowerLine)| Series {
        slot,
        name: clean(name),
        points: points.iter().map(point).collect(),
    };
    let panel = LinePanel {
        title: clean(study),
        axis: "detectable difference, %".to_owned(),
        scale: Scale::Linear,
        along: "minutes of machine time".to_owned(),
        along_even: "minutes of machine time (at equal steps)".to_owned(),
        levels,
        series: lines.iter().enumerate().map(series).collect(),
    };
    let title = format!("Differences that four of five studies find at a margin of {margin}");
    let figure = Figure::new("power", title, "", Panels::Lines, vec![panel], Table::default())?;
    single(&Figure { legend: lines.iter().map(|(name, _)| clean(name)).collect(), ..figure }, &clean(study))
}
