//! The numbers of drawings.

use schemars::JsonSchema;
use serde::Serialize;

use super::SystemPanel;

/// The numbers of a figure.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", content = "panels", rename_all = "kebab-case")]
pub enum Panels {
    /// Lines over connections or offered rates.
    Lines(Vec<LinePanel>),
    /// The same, small and many.
    Multiples(Vec<LinePanel>),
    /// The same as grouped bars.
    Columns(Vec<LinePanel>),
    /// Lines over time.
    Times(Vec<TimePanel>),
    /// Bars with whiskers.
    Bars(Vec<BarPanel>),
    /// Stacked bars.
    Stacks(Vec<StackPanel>),
    /// Points in a plane.
    Xy(Vec<XyPanel>),
    /// Ratios around 1.
    Ratios(Vec<RatioPanel>),
    /// A sum that grows part by part.
    Falls(Vec<FallPanel>),
    /// How busy each processor was over time.
    Heat(Vec<HeatPanel>),
    /// The machines of a contender.
    System(Vec<SystemPanel>),
}

/// One drawing of how busy each processor was over time.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct HeatPanel {
    /// Its heading.
    pub title: String,
    /// The ends of the steps, in seconds of the window.
    pub ends_s: Vec<f64>,
    /// Kinds of work.
    pub groups: Vec<HeatGroup>,
}

/// One kind of work.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct HeatGroup {
    /// Its name.
    pub name: String,
    /// A row for each processor.
    pub rows: Vec<HeatRow>,
}

/// One processor.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct HeatRow {
    /// Its number.
    pub name: String,
    /// Percent of each step; empty where it had none of that kind.
    pub percents: Vec<u8>,
}

/// One drawing of points in a plane.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct XyPanel {
    /// Its heading.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// Whether both axes reach equally far, so that what is equal on both lies on a line from the corner.
    pub same_axes: bool,
    /// What is drawn, by contender.
    pub series: Vec<XySeries>,
    /// Lines that help to read it.
    pub guides: Vec<Guide>,
}

impl XyPanel {
    /// A drawing with these axes and no guides.
    pub(crate) fn new(title: String, x: Axis, y: Axis, series: Vec<XySeries>) -> Self {
        Self { title, x, y, same_axes: false, series, guides: Vec::new() }
    }
}

/// An axis.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Axis {
    /// What it counts.
    pub title: String,
    /// How values lie on it.
    pub scale: AxisScale,
}

impl Axis {
    pub(crate) fn new(title: impl Into<String>, scale: AxisScale) -> Self {
        Self { title: title.into(), scale }
    }
}

/// How values lie on an axis, and how they are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AxisScale {
    /// Evenly, from 0.
    FromZero,
    /// Evenly, around 0; values are shares and written in percent.
    Shares,
    /// Logarithmic, nanoseconds.
    LogTime,
    /// Percentiles, each nine as wide as the one before: 50, 90, 99, 99.9 …; values are percentiles below 100.
    Nines,
    /// Evenly, from the least to the largest, in whole numbers.
    Whole,
    /// Evenly, from the least to the largest, in seconds.
    Seconds,
}

/// The points of one contender.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct XySeries {
    /// Position of the contender in the study.
    pub slot: usize,
    /// Its name.
    pub name: String,
    /// Its points, in the order in which a line joins them.
    pub points: Vec<XyPoint>,
    /// How a point is drawn.
    pub mark: MarkShape,
    /// Whether a line joins them.
    pub joined: bool,
}

/// How a point is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MarkShape {
    /// The contender's own mark.
    Mark,
    /// A small dot: one of many trials.
    Dot,
    /// Nothing but the line.
    None,
}

/// A point.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct XyPoint {
    /// Its place on the horizontal axis.
    pub x: f64,
    /// Its place on the vertical axis.
    pub y: f64,
    /// The vertical interval.
    pub interval: Option<(f64, f64)>,
    /// What stands beside it; empty without.
    pub label: String,
}

impl XyPoint {
    pub(crate) fn at((x, y): (f64, f64)) -> Self {
        Self { x, y, interval: None, label: String::new() }
    }
}

/// A line that helps to read a drawing.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Guide {
    /// Where it begins and ends; infinite ends lie at the edge of the drawing.
    pub from: (f64, f64),
    /// Its end.
    pub to: (f64, f64),
    /// What stands beside it.
    pub label: String,
}

/// One drawing of ratios around 1, on a logarithmic scale.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RatioPanel {
    /// Its heading.
    pub title: String,
    /// What the ratios are.
    pub axis: String,
    /// The margin around 1 that counts as nothing; 0 without one.
    pub margin: f64,
    /// What every bar begins at: 1, or the value from which others depart.
    pub base: f64,
    /// Headed groups of rows.
    pub groups: Vec<(String, Vec<RatioRow>)>,
    /// For each group the interval of a contender against itself, where it was measured; empty where none was.
    pub noise: Vec<Option<(f64, f64)>>,
}

/// One ratio.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RatioRow {
    /// Its name.
    pub name: String,
    /// The ratio.
    pub value: f64,
    /// Its interval.
    pub interval: Option<(f64, f64)>,
    /// What stands beside it.
    pub label: String,
    /// How it is drawn.
    pub mark: Mark,
}

/// How a ratio is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "mark", content = "of", rename_all = "kebab-case")]
pub enum Mark {
    /// A dot with its interval, in the colour of a verdict.
    Judged(super::Tone),
    /// A bar from the base, in the colour of a part.
    Bar(usize),
}

/// One drawing of a sum that grows part by part.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FallPanel {
    /// Its heading.
    pub title: String,
    /// The horizontal axis.
    pub axis: String,
    /// The parts in their order, and the sum.
    pub rows: Vec<Fall>,
}

/// A part of a sum.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Fall {
    /// Its name.
    pub name: String,
    /// Where it begins.
    pub from: f64,
    /// Where it ends.
    pub to: f64,
    /// What stands beside it.
    pub label: String,
    /// The colour of the part; `None` for the sum.
    pub part: Option<usize>,
}

/// One drawing of lines.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LinePanel {
    /// Its heading.
    pub title: String,
    /// The vertical axis.
    pub axis: String,
    /// How values lie on it.
    pub scale: Scale,
    /// The horizontal axis: what the levels count.
    pub along: String,
    /// The same where levels stand at equal steps.
    pub along_even: String,
    /// All measured levels, ascending: connections, or transactions offered per second.
    pub levels: Vec<u32>,
    /// One line per contender; the position decides colour and marker.
    pub series: Vec<Series>,
}

/// How values lie on an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// Evenly, from 0.
    Linear,
    /// Times in nanoseconds on a logarithmic scale.
    LogTime,
}

/// One line.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Series {
    /// Position of the contender in the study.
    pub slot: usize,
    /// Its name.
    pub name: String,
    /// Its points, ascending.
    pub points: Vec<Point>,
}

/// One measured point.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Point {
    /// Connections, or transactions offered per second.
    pub level: u32,
    /// All trials.
    pub values: Vec<f64>,
    /// What stands for them: their mean, or the percentile of all of them together.
    pub value: f64,
    /// Interval of the mean.
    pub interval: Option<(f64, f64)>,
    /// Whether the true value may be higher.
    pub at_least: bool,
}

/// One drawing of lines over time.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TimePanel {
    /// Its heading.
    pub title: String,
    /// The vertical axis.
    pub axis: String,
    /// The end of the horizontal axis, in seconds.
    pub seconds: f64,
    /// One line per contender.
    pub lines: Vec<TimeLine>,
}

/// One line over time.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TimeLine {
    /// Position of the contender in the study.
    pub slot: usize,
    /// Its name.
    pub name: String,
    /// Which trial it is.
    pub trial: String,
    /// Seconds and values, ascending in time.
    pub points: Vec<(f64, f64)>,
}

/// One drawing of bars.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct BarPanel {
    /// Its heading.
    pub title: String,
    /// The horizontal axis.
    pub axis: String,
    /// Headed groups of bars.
    pub groups: Vec<(String, Vec<Bar>)>,
}

/// One bar.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Bar {
    /// Position of the contender in the study.
    pub slot: usize,
    /// Its name.
    pub name: String,
    /// Its length.
    pub value: f64,
    /// The whisker.
    pub interval: Option<(f64, f64)>,
    /// What is written beside it.
    pub label: String,
}

/// One drawing of stacked bars.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct StackPanel {
    /// Its heading.
    pub title: String,
    /// The horizontal axis.
    pub axis: String,
    /// One stack per contender.
    pub stacks: Vec<Stack>,
}

/// One stack.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Stack {
    /// The contender.
    pub name: String,
    /// Value and text of each part, in the order of the legend.
    pub parts: Vec<(f64, String)>,
    /// The sum, as written beside it.
    pub label: String,
}
