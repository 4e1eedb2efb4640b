//! Published numbers in the place of trials. Everything after the points is the code that compares trials.

use super::findings::{Layout, TrialPosition};
use super::looks::Looks;
use super::points;
use super::workload::{self, Judged};
use super::{Comparison, PointResult, Remark, joined};
use crate::bill::Bill;
use crate::exact::Exact;
use crate::metric::Metric;
use crate::stats::Design;
use crate::study::{Published, Study, WorkloadSpec};

/// Compares what an article published; `None` where the study has no published results.
pub fn replay(study: &Study, bills: &[Bill]) -> Option<Comparison> {
    let published = study.published.as_ref()?;
    let one = |spec: &WorkloadSpec| {
        let metric = study.metric_of(&spec.name);
        let points = points(study, published, spec, metric);
        let levels = published.levels(&spec.name);
        workload::judged(study, spec, metric.clone(), points, &levels, bills, Design::Independent).completed(study, spec, bills)
    };
    let workloads: Vec<Judged> = study.workloads.iter().map(one).collect();
    let layout = Layout { design: Design::Independent, deployments: 1, control: None };
    let mut found = joined(study, workloads, bills, layout, &Looks::once(&study.decision));
    let points: Vec<&PointResult> = found.workloads.iter().flat_map(|w| &w.points).collect();
    (found.planned, found.found) = (points.len(), points.iter().filter(|c| !c.values.is_empty()).count());
    if let Some(hidden) = points.iter().find(|c| c.values.is_empty()) {
        let text = "the article does not show every point; those that it hides are left out".to_owned();
        let example = format!("{} at {}", hidden.contender, hidden.level);
        found.remarks.push(Remark { text, flag: None, trials: found.planned - found.found, example });
    }
    let source: Vec<&str> =
        [&published.title, &published.author, &published.date].into_iter().map(|s| s.trim()).filter(|s| !s.is_empty()).collect();
    found.published = Some(if source.is_empty() { "an unnamed source".to_owned() } else { source.join(", ") });
    Some(found)
}

/// The points of a workload, by level and then contender.
fn points(study: &Study, published: &Published, spec: &WorkloadSpec, metric: &Metric) -> Vec<PointResult> {
    let confidence = study.decision.confidence;
    let mut points: Vec<PointResult> = Vec::new();
    for level in published.levels(&spec.name) {
        let first = points.len();
        for contender in &study.contenders {
            let row = published.row(&spec.name, &contender.name, level);
            let exact = row.and_then(|r| r.columns.get(metric.name.as_ref())).cloned().unwrap_or_default();
            let values = exact.into_iter().map(Exact::as_f64).zip(1..);
            let placed = values.map(|(value, trial)| (value, TrialPosition { deployment: 1, trial }));
            points.push(points::of_values(&contender.name, level, placed, confidence));
        }
        points::compare(study, &spec.name, &mut points[first..], metric.better, Design::Independent);
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{ContenderResult, Verdict, Why};

    const STUDY: &str = include_str!("tests/published.toml");

    fn second<'c>(c: &'c Comparison, workload: &str) -> &'c ContenderResult {
        &c.workloads.iter().find(|w| w.workload == workload).unwrap().contenders[1]
    }

    #[test]
    fn single_published_values_have_ratios_and_no_verdict() {
        let study = Study::read("s.toml", STUDY, &[]).unwrap();
        let c = replay(&study, &[]).unwrap();
        assert_eq!((c.published.as_deref(), c.planned, c.found), (Some("Somebody"), 10, 8));
        let b = second(&c, "w");
        assert_eq!(b.value, Some(225.5));
        let judged = b.throughput.as_ref().unwrap();
        assert!((judged.ratio.value - 225.5 / 150.25).abs() < 1e-12 && judged.ratio.interval.is_none());
        assert_eq!(judged.verdict, Verdict::Undecided { why: Why::SingleValue });
        assert!(judged.verdict.text().contains("a single published value has no interval"));
    }

    #[test]
    fn a_point_that_is_not_shown_is_left_out_of_the_peak_and_told() {
        let study = Study::read("s.toml", STUDY, &[]).unwrap();
        let c = replay(&study, &[]).unwrap();
        let b = second(&c, "best");
        assert_eq!((b.value, b.throughput.as_ref().map(|j| j.ratio.value)), (Some(15.0), Some(0.5)));
        assert_eq!((c.remarks.len(), c.remarks[0].trials), (1, 2));
    }

    #[test]
    fn a_study_without_results_has_nothing_to_replay() {
        let bare = STUDY.split("[results]").next().unwrap().replace("over = [8, 16]\n", "");
        assert_eq!(replay(&Study::read("s.toml", &bare, &[]).unwrap(), &[]), None);
    }
}
