//! What a study would find with more trials or fewer, against the time that they take.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use perbuck_core::compare::{Comparison, PointResult, WorkloadResult};
use perbuck_core::stats::{self, Components, Scatter, detectable_with};
use perbuck_core::study::Study;
use serde::Serialize;

use crate::error::LabError;
use crate::estimate::Estimate;
use crate::inputs::Inputs;
use crate::progress::clock_text;
use crate::results;

/// Numbers of trials that are told, beside that of the study.
const COUNTS: [u32; 6] = [3, 5, 10, 20, 40, 80];
/// Scatters of a trial that are told where no pilot says it.
const ASSUMED: [f64; 3] = [0.01, 0.02, 0.05];

/// Detectable differences by number of trials.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Power {
    /// The results that the scatter was seen in; `None` where it is assumed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pilot: Option<String>,
    /// Confidence of each interval.
    pub confidence: f64,
    /// The margin.
    pub margin: f64,
    /// Trials per point, ascending.
    pub trials: Vec<u32>,
    /// How long a study of as many takes, in seconds; `None` where a number of transactions alone ends trials.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<Vec<f64>>,
    /// By workload and contender, or by scatter.
    pub rows: Vec<PowerRow>,
    /// How deployments and trials should be divided, where the pilot has several deployments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub divisions: Vec<Division>,
}

/// The detectable differences of one ratio.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PowerRow {
    /// What scatters: `reads · arm`.
    pub what: String,
    /// Standard deviation of the relative difference of a block.
    pub scatter: f64,
    /// Relative differences beyond the margin that four of five studies find, one for each number of trials.
    pub detectable: Vec<f64>,
}

/// How deployments and trials should be divided.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Division {
    /// What scatters.
    pub what: String,
    /// Standard deviation between deployments.
    pub deployments: f64,
    /// Standard deviation between trials of one deployment.
    pub trials: f64,
    /// Trials in each deployment that find most for their time; `None` where one deployment does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trials_per_deployment: Option<u32>,
}

impl Power {
    /// What a study would find. The scatter is that of the pilot, or assumed.
    ///
    /// # Errors
    /// A pilot that cannot be read, or shares no contender and workload with the study.
    pub fn of(inputs: &Inputs, pilot: Option<&Path>) -> Result<Self, LabError> {
        let study = &inputs.study;
        let seen = pilot
            .map(|root| results::read(root, &results::Basis { registry: inputs.registry, ..Default::default() }))
            .transpose()?;
        let scatters = match &seen {
            Some(seen) => scatters(study, &seen.comparison),
            // Two contenders scatter alike, so that their difference scatters √2 times as much.
            None => {
                ASSUMED.iter().map(|s| (format!("scatter of {}", percent(*s)), known(*s * std::f64::consts::SQRT_2))).collect()
            }
        };
        if let Some(root) = pilot.filter(|_| scatters.is_empty()) {
            let message = format!("{} has no ratio of a contender and a workload of this study", root.display());
            return Err(LabError::usage(
                message,
                "name results of at least two trials per point with the same contenders and workloads",
            ));
        }
        let decision = &study.decision;
        let trials: Vec<u32> = {
            let mut all: Vec<u32> = COUNTS.into_iter().chain([study.sweep.trials]).filter(|n| *n > 1).collect();
            all.sort_unstable();
            all.dedup();
            all
        };
        let confidence = match &decision.until {
            Some(until) => 1.0 - stats::level_of_each_look(1.0 - decision.confidence, until.least, until.most),
            None => decision.confidence,
        };
        let row = |(what, scatter): (String, Scatter)| PowerRow {
            what,
            scatter: scatter.each,
            detectable: trials.iter().map(|n| detectable_with(scatter, *n, confidence, decision.margin)).collect(),
        };
        let (fixed, each) = costs(inputs);
        let endless =
            inputs.study.workloads.iter().any(|w| study.sweep_of(&w.name).duration_ns >= perbuck_core::study::NO_LIMIT_NS);
        let seconds = (!endless).then(|| trials.iter().map(|n| fixed + each * f64::from(*n)).collect());
        Ok(Self {
            pilot: pilot.map(|root| root.display().to_string()),
            confidence,
            margin: decision.margin,
            seconds,
            rows: scatters.into_iter().map(row).collect(),
            divisions: seen.map(|seen| divisions(study, &seen.comparison, (fixed, each))).unwrap_or_default(),
            trials,
        })
    }

    /// The margin in words, such as `3 %`.
    pub fn margin_text(&self) -> String {
        percent(self.margin)
    }

    /// For a chart: by row its points of minutes and percent; nothing where the time is not known.
    pub fn lines(&self) -> Vec<(String, Vec<(u32, f64)>)> {
        let Some(seconds) = &self.seconds else { return Vec::new() };
        let points = |row: &PowerRow| {
            let mut points: Vec<(u32, f64)> =
                seconds.iter().zip(&row.detectable).map(|(s, d)| ((s / 60.0).ceil().max(1.0) as u32, 100.0 * d)).collect();
            // Of those within one minute the one with the most trials.
            points.reverse();
            points.dedup_by_key(|(minutes, _)| *minutes);
            points.reverse();
            points
        };
        self.rows.iter().map(|row| (row.what.clone(), points(row))).collect()
    }

    /// For the terminal: head and rows of a table, and the sentences after it.
    pub fn table(&self) -> (String, Vec<Vec<String>>, Vec<String>) {
        let head = std::iter::once("trials per point".to_owned()).chain(self.trials.iter().map(u32::to_string));
        let time = self.seconds.iter().map(|all| {
            let each = all.iter().map(|s| clock_text(Duration::try_from_secs_f64(*s).unwrap_or(Duration::MAX)));
            std::iter::once("time".to_owned()).chain(each).collect::<Vec<_>>()
        });
        let row = |row: &PowerRow| std::iter::once(row.what.clone()).chain(row.detectable.iter().map(|d| percent(*d))).collect();
        let rows = time.chain(self.rows.iter().map(row)).collect();
        let scatter = match &self.pilot {
            None => "The scatter is assumed; `--pilot RESULTS` takes it from trials.".to_owned(),
            Some(root) => format!("The scatter is that of {root}."),
        };
        let margin = percent(self.margin);
        let mut notes =
            vec![format!("Differences that four of five studies call better or worse at a margin of {margin}."), scatter];
        notes.extend(self.divisions.iter().map(Division::text));
        (head.collect::<Vec<_>>().join(" | "), rows, notes)
    }
}

impl Division {
    fn text(&self) -> String {
        let found = match self.trials_per_deployment {
            Some(n) => format!("{n} trial{} in each deployment find most for their time", if n == 1 { "" } else { "s" }),
            None => "deployments do not differ beyond that, so that more trials do".to_owned(),
        };
        format!(
            "{}: deployments differ by {}, trials within one by {}; {found}.",
            self.what,
            percent(self.deployments),
            percent(self.trials)
        )
    }
}

fn known(each: f64) -> Scatter {
    Scatter { each, freedom: f64::INFINITY }
}

/// Two significant digits, without zeros at the end.
fn percent(share: f64) -> String {
    let value = 100.0 * share;
    let digits = if value >= 10.0 { 0 } else { 1 + usize::from(value < 1.0) };
    let text = format!("{value:.digits$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} %")
}

/// Seconds of loads and starts, and of one block.
fn costs(inputs: &Inputs) -> (f64, f64) {
    let estimate = Estimate::of(inputs);
    let blocks = inputs.study.workloads.iter().map(|w| inputs.study.sweep_of(&w.name).trials).max().unwrap_or(1);
    let deployments = f64::from(inputs.study.sweep.deployments.max(1));
    let trials = (estimate.trial + estimate.around).as_secs_f64() * estimate.trials as f64 / deployments;
    (estimate.total().as_secs_f64() / deployments - trials, trials / f64::from(blocks.max(1)))
}

/// The scatter of each ratio of the pilot that the study asks for, too.
fn scatters(study: &Study, pilot: &Comparison) -> Vec<(String, Scatter)> {
    let of = |w: &WorkloadResult| -> Vec<(String, Scatter)> {
        let rivals = w.contenders.iter().filter(|c| study.contender(&c.contender).is_some_and(|c| c.control_of.is_none()));
        let one = |c: &perbuck_core::compare::ContenderResult| {
            let judged = c.throughput.as_ref().filter(|j| j.ratio.interval.is_some() && j.ratio.log_error > 0.0)?;
            let units = Scatter { each: judged.ratio.log_error * (judged.units as f64).sqrt(), freedom: judged.ratio.freedom };
            // Of several deployments the units are deployments, and trials scatter within one of them.
            let within =
                components_of(pilot, w, &c.contender).map(|all| Scatter { each: all.trials.sqrt(), freedom: all.freedom });
            let scatter = within.unwrap_or(units);
            Some((format!("{} · {}", w.workload, c.contender), scatter))
        };
        rivals.filter_map(one).collect()
    };
    pilot.workloads.iter().filter(|w| study.workload(&w.workload).is_some()).flat_map(of).collect()
}

/// By workload and contender, over all points.
fn divisions(study: &Study, pilot: &Comparison, (fixed, each): (f64, f64)) -> Vec<Division> {
    let mut out = Vec::new();
    for w in pilot.workloads.iter().filter(|w| study.workload(&w.workload).is_some()) {
        for rival in w.contenders.iter().filter(|c| c.throughput.is_some()) {
            let Some(all) = components_of(pilot, w, &rival.contender) else { continue };
            let best = all.trials_per_deployment(fixed, each).map(|n| (n.round() as u32).max(1));
            out.push(Division {
                what: format!("{} · {}", w.workload, rival.contender),
                deployments: all.deployments.sqrt(),
                trials: all.trials.sqrt(),
                trials_per_deployment: best,
            });
        }
    }
    out
}

/// The components of the scatter of a ratio, over all points; `None` for one deployment.
fn components_of(pilot: &Comparison, w: &WorkloadResult, rival: &str) -> Option<Components> {
    let of = |name: &str, level: u32| w.points.iter().find(|p| p.contender == name && p.level == level);
    let levels = w.points.iter().filter(|p| p.contender == rival).map(|p| p.level);
    let pairs = levels.filter_map(|level| Some((of(&pilot.baseline, level)?, of(rival, level)?)));
    let found: Vec<Components> = pairs.filter_map(|(base, mine)| stats::components(&differences(base, mine))).collect();
    let mean = |of: fn(&Components) -> f64| found.iter().map(of).sum::<f64>() / found.len() as f64;
    let (deployments, trials, freedom) = (mean(|c| c.deployments), mean(|c| c.trials), mean(|c| c.freedom));
    (!found.is_empty()).then_some(Components { deployments, trials, freedom })
}

/// The relative differences of two points in each block, by deployment.
fn differences(base: &PointResult, mine: &PointResult) -> Vec<Vec<f64>> {
    let (Some(below), Some(above)) = (base.mean.filter(|m| *m > 0.0), mine.mean.filter(|m| *m > 0.0)) else { return Vec::new() };
    let mut found: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for (value, at) in mine.values.iter().zip(&mine.positions) {
        let other = base.positions.iter().position(|p| p == at).and_then(|i| base.values.get(i));
        if let Some(other) = other {
            found.entry(at.deployment).or_default().push(value / above - other / below);
        }
    }
    found.into_values().collect()
}
