//! Whether the verdict depends on which points an article averages.

use std::cmp::Ordering;

use super::checks::number;
use super::{Check, Ground, Weight};
use crate::study::{Published, Summary};

/// For each workload with a mean over some of its points: the same verdict over all points, and at the highest point of each side?
pub(super) fn of_results(ground: &Ground<'_>) -> Vec<Check> {
    let study = ground.study;
    let (Some(published), Some(baseline)) = (&study.published, study.contenders.get(study.baseline)) else {
        return Vec::new();
    };
    let mut out = Vec::new();
    for workload in &study.workloads {
        let Summary::MeanOver(chosen) = study.summary_of(&workload.name) else { continue };
        let metric = study.metric_of(&workload.name);
        for other in study.contenders.iter().filter(|c| c.name != baseline.name) {
            let pair = [other.name.as_str(), baseline.name.as_str()];
            let of = (workload.name.as_str(), metric.name.as_ref());
            let Some([some, all, peak]) = ratios(published, chosen, pair, of) else { continue };
            let verdicts = [some, all, peak].map(|ratio| verdict(ratio, study.decision.margin));
            let same = verdicts.iter().all(|verdict| *verdict == verdicts[0]);
            // Only another winner is another conclusion.
            let turned = verdicts.contains(&Ordering::Less) && verdicts.contains(&Ordering::Greater);
            let points: Vec<String> = chosen.iter().map(u32::to_string).collect();
            let percent = |ratio: f64| format!("{:+.2} %", (ratio - 1.0) * 100.0).replace('-', "−");
            let found = format!(
                "{} against {} is {} over {} connections, {} over all points, {} with each at its highest point",
                pair[0],
                pair[1],
                percent(some),
                points.join(", "),
                percent(all),
                percent(peak)
            );
            out.push(Check {
                text: format!("the verdict does not depend on the points of the mean: {}", workload.name),
                sentence: format!("{}: {found}; the margin is {} %.", workload.name, margin_percent(study.decision.margin)),
                found,
                holds: same.into(),
                how: "the ratios over the points of the summary, over all points, and of the highest points lie on one side of the margin, or all within"
                    .to_owned(),
                weight: if turned { Weight::Conclusion } else { Weight::Number },
            });
        }
    }
    out
}

/// The margin in percent, with as many decimals as it has.
fn margin_percent(margin: f64) -> f64 {
    (margin * 1e6).round() / 1e4
}

/// Above, below or within the margin of the study.
fn verdict(ratio: f64, margin: f64) -> Ordering {
    if ratio > 1.0 + margin {
        Ordering::Greater
    } else if ratio < 1.0 / (1.0 + margin) {
        Ordering::Less
    } else {
        Ordering::Equal
    }
}

/// The ratio of two contenders over the chosen points, over all points, and of their highest ones; `None` where nothing was left out or
/// a number is missing.
fn ratios(published: &Published, chosen: &[u32], pair: [&str; 2], (workload, metric): (&str, &str)) -> Option<[f64; 3]> {
    let levels = published.levels(workload);
    if levels.iter().all(|level| chosen.contains(level)) {
        return None;
    }
    let at = |contender: &str, level: &u32| number(published.row(workload, contender, *level)?, metric);
    let mean = |contender: &str, over: &[u32]| {
        let all: Option<Vec<f64>> = over.iter().map(|level| at(contender, level)).collect();
        all.map(|all| all.iter().sum::<f64>() / all.len() as f64)
    };
    let peak = |contender: &str| levels.iter().filter_map(|level| at(contender, level)).max_by(f64::total_cmp);
    let [a, b] = pair;
    let ratio = |x: Option<f64>, y: Option<f64>| Some(x? / y.filter(|y| *y > 0.0)?);
    Some([ratio(mean(a, chosen), mean(b, chosen))?, ratio(mean(a, &levels), mean(b, &levels))?, ratio(peak(a), peak(b))?])
}
