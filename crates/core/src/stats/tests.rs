//! Known data with known answers. What the intervals cover is shown in tests/coverage.rs.

use super::*;

const RULE: IntervalRule = IntervalRule { confidence: 0.95, choice: 0.0 };

fn blocks(values: &[f64]) -> Vec<Trial> {
    values.iter().zip(1..).map(|(value, block)| Trial { deployment: 1, block, value: *value }).collect()
}

fn deployed(deployments: &[&[f64]]) -> Vec<Trial> {
    let one = |(values, deployment): (&&[f64], u32)| blocks(values).into_iter().map(move |t| Trial { deployment, ..t });
    deployments.iter().zip(1..).flat_map(one).collect()
}

fn mean_ratio(base: &[Trial], other: &[Trial], design: Design) -> Estimate {
    ratio(&[base.to_vec()], &[other.to_vec()], Summarise::Mean, 0.95, design).unwrap()
}

#[test]
fn student_matches_the_tables() {
    for (freedom, expected) in [(1.0, 12.706), (2.0, 4.303), (4.0, 2.776), (10.0, 2.228), (1000.0, 1.962)] {
        assert!((student_quantile(0.95, freedom) - expected).abs() < 1e-3);
    }
}

#[test]
fn known_data_give_the_known_interval() {
    let interval = |trials: Vec<Trial>| summary_interval(&[trials], Summarise::Mean, 0.95);
    let i = interval(blocks(&[10.0, 12.0, 14.0])).unwrap();
    // Mean 12, s = 2, t(2) = 4.3027: 12 × e^±(4.968 / 12).
    assert!((i.low - 7.932).abs() < 1e-3 && (i.high - 18.154).abs() < 1e-3, "{i:?}");
    assert_eq!(interval(blocks(&[1.0])), None);
    // However much they scatter, no throughput is below zero.
    let wide = interval(blocks(&[1.0, 4000.0])).unwrap();
    assert!(wide.low > 0.0 && wide.high > 4000.0, "{wide:?}");
    // Three deployments with the same means are three values, however many trials there are.
    let d = interval(deployed(&[&[9.0, 11.0], &[12.0, 12.0, 12.0], &[14.0]])).unwrap();
    assert!((d.low - i.low).abs() < 1e-12 && (d.high - i.high).abs() < 1e-12, "{d:?}");
}

#[test]
fn what_a_block_does_to_both_cancels_out() {
    let base = blocks(&[100.0, 120.0, 80.0]);
    let other = blocks(&[110.0, 132.0, 88.0]);
    let exact = mean_ratio(&base, &other, Design::Blocks);
    assert!((exact.ratio.value - 1.1).abs() < 1e-12 && exact.ratio.log_error < 1e-12, "{exact:?}");
    assert_eq!((exact.units, exact.ratio.freedom, exact.deviations.len()), (3, 2.0, 3));
    let loose = mean_ratio(&base, &other, Design::Independent);
    // Relative errors √(400/3)/100 on both sides: 0.11547 each, together 0.1633, four degrees of freedom.
    assert!((loose.ratio.log_error - 0.1633).abs() < 1e-4 && (loose.ratio.freedom - 4.0).abs() < 1e-9, "{loose:?}");
}

#[test]
fn a_ratio_by_blocks_is_students_of_the_deviations() {
    let (base, other) = (blocks(&[99.0, 100.0, 101.0, 100.0]), blocks(&[110.0, 112.0, 108.0, 110.0]));
    let found = mean_ratio(&base, &other, Design::Blocks);
    // Deviations 0.01, 0.01818, −0.02818, 0: variance 4.0826e-4, error 0.0101028; t(3) = 3.18245.
    assert!((found.ratio.log_error - 0.010_102_8).abs() < 1e-7, "{found:?}");
    let i = found.ratio.interval.unwrap();
    assert!(((i.high / found.ratio.value).ln() - 3.182_45 * found.ratio.log_error).abs() < 1e-6);
}

#[test]
fn blocks_that_only_one_side_has_are_in_no_ratio() {
    let base = blocks(&[100.0, 102.0, 98.0, 500.0]);
    let found = mean_ratio(&base, &blocks(&[110.0, 112.0, 108.0]), Design::Blocks);
    assert!((found.ratio.value - 1.1).abs() < 1e-12 && found.units == 3, "{found:?}");
    let single = mean_ratio(&base, &blocks(&[110.0]), Design::Blocks);
    assert_eq!((single.ratio.interval, single.units), (None, 1));
}

#[test]
fn deployments_are_the_unit_where_there_are_several() {
    let base = deployed(&[&[100.0, 101.0, 99.0], &[100.0, 101.0, 99.0]]);
    let other = deployed(&[&[105.0, 106.0, 104.0], &[115.0, 116.0, 114.0]]);
    let found = mean_ratio(&base, &other, Design::Blocks);
    // Deviations ∓5/110 with one degree of freedom: error 0.04545, t(1) = 12.706.
    assert!((found.ratio.value - 1.1).abs() < 1e-12 && found.units == 2 && found.ratio.freedom == 1.0, "{found:?}");
    assert!((found.ratio.log_error - 5.0 / 110.0).abs() < 1e-9, "{found:?}");
    let loose = mean_ratio(&base, &other, Design::Independent);
    assert!(loose.units == 2 && loose.ratio.freedom < 2.01, "{loose:?}");
}

#[test]
fn a_single_trial_has_no_interval_and_nothing_has_no_ratio() {
    let one = vec![blocks(&[100.0])];
    for design in [Design::Blocks, Design::Independent] {
        assert_eq!(ratio(&one, &one, Summarise::Max, 0.95, design).unwrap().ratio.interval, None);
        assert_eq!(ratio(&one, &[vec![]], Summarise::Max, 0.95, design), None);
        assert_eq!(ratio(&[blocks(&[0.0, 0.0])], &one, Summarise::Max, 0.95, design), None);
    }
}

#[test]
fn the_peak_is_the_best_point_and_the_mean_is_over_points() {
    let points = [blocks(&[1.0, 3.0]), blocks(&[10.0, 12.0]), blocks(&[5.0, 7.0])];
    assert_eq!(summarise(&points, Summarise::Max), Some(11.0));
    assert_eq!(summarise(&points, Summarise::Mean), Some(19.0 / 3.0));
    let values = |how| units(&values_by_block(&points, how));
    assert_eq!((values(Summarise::Max), values(Summarise::Mean)), (vec![10.0, 12.0], vec![16.0 / 3.0, 22.0 / 3.0]));
}

#[test]
fn the_detectable_difference_is_that_of_the_textbook_where_the_scatter_is_known() {
    // One-sample t tests at two-sided 5 % (Cohen 1988; R's power.t.test): n = 20 finds 0.660 standard deviations with 80 %. Of a thousand
    // trials the scatter is known; of few trials it is not, and the difference must be larger.
    let known = |n: f64| 2.8016 / n.sqrt();
    let found = |n: f64| {
        let (log_error, freedom) = (0.01 / n.sqrt(), n - 1.0);
        detectable(&with_error(1.0, log_error, freedom, RULE), 0.95, 0.03).unwrap().ln_1p() - 0.03f64.ln_1p()
    };
    assert!((found(1000.0) / 0.01 / known(1000.0) - 1.0).abs() < 0.003, "{}", found(1000.0));
    let cohen = [(5.0, 1.682), (10.0, 0.9956), (20.0, 0.6604)];
    assert!(cohen.iter().all(|(n, d)| found(*n) > 0.01 * d && found(*n) < 0.016 * d), "{:?}", cohen.map(|(n, _)| found(n)));
}

#[test]
fn without_a_difference_another_study_decides_as_often_as_its_interval_misses() {
    // Cohen's table where the scatter is known: n = 5 finds 1.682 standard deviations with 80 %.
    let found = power(1.682 * 5f64.sqrt(), 0.95, [f64::INFINITY, 4.0]);
    assert!((found - 0.8).abs() < 0.003, "{found}");
    for freedom in [2.0, 4.0, 19.0] {
        assert!((power(0.0, 0.95, [freedom; 2]) - 0.025).abs() < 1e-3, "{}", power(0.0, 0.95, [freedom; 2]));
    }
}

#[test]
fn the_chance_of_more_trials_grows_where_the_ratio_is_apart_and_not_at_the_edge() {
    let chance = |value: f64, more: u32| {
        let ratio = with_error(value, 0.02, 4.0, RULE);
        Extended { ratio: &ratio, units: 5, confidence: 0.95, margin: 0.03 }.chance(more)
    };
    assert_eq!(chance(1.1, 0), 0.0);
    assert!(chance(1.1, 5) < chance(1.1, 20) && chance(1.1, 20) < chance(1.1, 1000), "{}", chance(1.1, 20));
    assert!(chance(1.1, 1000) > 0.95 && chance(1.0, 1000) > 0.7, "{}", chance(1.0, 1000));
    // The same on the other side.
    assert!((chance(1.1, 20) - chance(1.0 / 1.1, 20)).abs() < 1e-9);
}

#[test]
fn the_deciding_level_is_the_confidence_that_just_decides() {
    for (value, margin) in [(1.10, 0.03), (0.85, 0.03), (1.0, 0.05), (1.04, 0.05)] {
        let found = with_error(value, 0.01, 4.0, RULE);
        let level = deciding_level(&found, margin).unwrap();
        let at = |confidence: f64| {
            let half = student_quantile(confidence, 4.0) * 0.01;
            let (low, high): (f64, f64) = (value * (-half).exp(), value * half.exp());
            low > 1.0 + margin || high < 1.0 / (1.0 + margin) || (low >= 1.0 / (1.0 + margin) && high <= 1.0 + margin)
        };
        assert!(at(1.0 - level - 1e-6) && !at(1.0 - level + 1e-6), "{value}: {level}");
    }
    let unknown = Ratio { value: 2.0, interval: None, log_error: 0.0, freedom: 0.0 };
    assert_eq!(deciding_level(&unknown, 0.03), None);
}

#[test]
fn holm_stops_at_the_first_that_fails() {
    // Holm's own rule: 0.01 ≤ 0.05/4, 0.015 ≤ 0.05/3, 0.03 > 0.05/2; 0.04 is not looked at.
    let levels = [Some(0.03), Some(0.01), None, Some(0.015), Some(0.04)];
    assert_eq!(holm(&levels, |among| 0.05 / among as f64), [false, true, false, true, false]);
    assert_eq!(holm(&[], |_| 0.05), [false; 0]);
}

#[test]
fn outliers_lie_beyond_the_critical_modified_z() {
    let labels = label_outliers(&[100.0, 101.0, 99.0, 100.5, 60.0, 99.5]);
    assert_eq!(labels.len(), 1);
    assert!(labels[0].index == 4 && labels[0].modified_z < -20.0, "{labels:?}");
    assert!(label_outliers(&[100.0, 101.0, 99.0, 100.0, 103.0]).is_empty());
    // Two of ten do not hide each other.
    let ten = [100.0, 70.0, 101.0, 99.0, 100.5, 69.0, 99.5, 100.2, 98.9, 101.2];
    assert_eq!(label_outliers(&ten).iter().map(|l| l.index).collect::<Vec<_>>(), [1, 5]);
    // Not enough data, and no scatter at all.
    assert!(label_outliers(&[1.0, 9.0]).is_empty() && label_outliers(&[5.0; 8]).is_empty());
    assert_eq!(label_outliers(&[5.0, 5.0, 5.0, 5.0, 5.0, 9.0]).len(), 1);
}

#[test]
fn a_share_of_trials_has_clopper_and_pearsons_interval() {
    // 0 of 10: 1 − 0.05^(1/10) = 0.2589. 1 of 10: 0.0025 to 0.4450, as in the tables.
    let (none, one, all) = (share_interval(0, 10, 0.95), share_interval(1, 10, 0.95), share_interval(3, 3, 0.95));
    assert!(none.low == 0.0 && (none.high - 0.2589).abs() < 1e-4, "{none:?}");
    assert!((one.low - 0.0025).abs() < 1e-4 && (one.high - 0.4450).abs() < 1e-4, "{one:?}");
    assert!((all.low - 0.2924).abs() < 1e-4 && all.high == 1.0, "{all:?}");
}

#[test]
fn percentiles_are_those_of_the_merged_runs_and_runs_make_their_interval() {
    use crate::histogram::Histogram;
    let run = |scale: u64| {
        let mut h = Histogram::new();
        (1..=1000u64).for_each(|i| h.record(i * scale * 1_000));
        h
    };
    let mut merged = Merged::default();
    [95, 100, 105].into_iter().for_each(|scale| merged.add(&run(scale)));
    let found = merged.percentiles(&[50.0, 99.0], 0.95);
    assert!((found[0].ns as f64 / 50e6 - 1.0).abs() < 0.01, "{found:?}");
    // Leaving out the slowest or the fastest run moves the median by about 2.5 %: error 2.9 %, t(2) = 4.3: ± 12.4 %.
    let i = found[0].interval.unwrap();
    assert!((i.high / found[0].ns as f64 - 1.124).abs() < 0.02 && i.low < found[0].ns as f64, "{found:?}");
    let mut single = Merged::default();
    single.add(&run(100));
    assert_eq!(single.percentiles(&[50.0], 0.95)[0].interval, None);
    assert_eq!(Merged::default().percentiles(&[50.0], 0.95)[0], Percentile::default());
}
