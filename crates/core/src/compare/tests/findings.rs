//! Controls, deployments, families, outliers, objectives, and all workloads together.

use super::*;
use crate::run_record::Distance;
use crate::study::Slo;

/// The study with a second workload of weight 3, and its trials: there `arm` makes 10 % less.
fn two_workloads() -> (Study, Vec<RunRecord>) {
    let second = "[[workload]]\nname = \"large\"\nkind = \"sysbench\"\nweight = 3\n[sweep]";
    let study = study_with("[sweep]", second);
    let mut all = records();
    for (contender, values) in [("x86", [3000, 3030, 2970]), ("arm", [2700, 2673, 2727])] {
        for mut r in [8, 64].into_iter().flat_map(|connections| point_of(contender, connections, &values)) {
            r.key.workload = "large".into();
            all.push(r);
        }
    }
    (study, all)
}

#[test]
fn all_workloads_are_one_geometric_mean_with_declared_weights() {
    let (study, all) = two_workloads();
    let bills = [bill("x86", "r", 50_000_000, Rounding::None), bill("arm", "r", 40_000_000, Rounding::None)];
    let c = compare(&study, &all, &bills, &[]).unwrap();
    let [overall] = c.overall.as_slice() else { panic!("{:?}", c.overall) };
    assert_eq!(overall.weights, [("small".to_owned(), 0.25), ("large".to_owned(), 0.75)]);
    let expected = (37.0f64 / 30.0).powf(0.25) * 0.9f64.powf(0.75);
    near(overall.throughput.ratio.value, expected);
    near(overall.price[0].value_for_money.ratio.value, expected * 1.25);
    // Deviations of the three blocks: 0, 1, −1 % in the first workload; 0, −2, 2 % in the second; weighed 0, −1.25, 1.25 %.
    let error = (2.0 * 0.0125f64.powi(2) / 2.0 / 3.0).sqrt();
    assert!((overall.throughput.ratio.log_error - error).abs() < 1e-9, "{:?}", overall.throughput);
    assert_eq!((overall.throughput.units, overall.throughput.ratio.freedom), (3, 2.0));
    assert!(compare(&super::study(), &records(), &[], &[]).unwrap().overall.is_empty());
}

#[test]
fn a_control_shows_the_noise_floor_and_is_no_rival() {
    let study = study_with("seed = 7", "seed = 7\ncontrol = \"x86\"");
    assert_eq!(study.contenders.iter().map(|c| c.name.as_str()).collect::<Vec<_>>(), ["arm", "x86", "x86-control"]);
    assert_eq!(study.fingerprint(), super::study().fingerprint());
    let mut all = records();
    all.extend(point_of("x86-control", 8, &[1000, 990, 1010]));
    all.extend(point_of("x86-control", 64, &[2000, 1980, 2020]));
    let c = compare(&study, &all, &[bill("x86", "r", 50_000_000, Rounding::None)], &[]).unwrap();
    assert_eq!(c.layout.control, Some(Control { name: "x86-control".into(), of: "x86".into() }));
    let noise = c.workloads[0].noise.as_ref().unwrap();
    near(noise.ratio.value, 1.0);
    let i = noise.ratio.interval.unwrap();
    assert!(i.low < 1.0 && i.high > 1.0 && noise.verdict == Verdict::Equivalent, "{noise:?}");
    let control = &c.workloads[0].contenders[2];
    assert!(control.control_of.is_some() && control.throughput.is_none() && control.price.is_empty(), "{control:?}");
    let broken = study_with("seed = 7", "seed = 7\ncontrol = \"arm\"");
    assert_eq!(broken.contenders[2].control_of.as_deref(), Some("arm"));
}

#[test]
fn deployments_are_what_intervals_rest_on() {
    let study = study_with("trials = 3", "trials = 3\ndeployments = 2");
    let mut second = records();
    second.iter_mut().for_each(|r| r.key.deployment = Some(2));
    let all = [records(), second].concat();
    let c = compare(&study, &all, &[], &[]).unwrap();
    assert_eq!((c.planned, c.found, c.layout.deployments), (24, 24, 2));
    let judged = arm(&c).throughput.as_ref().unwrap();
    // Both deployments say the same, so their scatter is none; that of their trials does not count.
    assert!(judged.units == 2 && judged.ratio.freedom == 1.0 && judged.ratio.log_error < 1e-12, "{judged:?}");
    let mut apart = all.clone();
    for r in apart.iter_mut().filter(|r| r.key.deployment.is_some() && r.key.contender == "arm") {
        r.measured.transactions.get_mut("mixed").unwrap().committed = 900;
    }
    let c = compare(&study, &apart, &[], &[]).unwrap();
    let verdict = arm(&c).throughput.as_ref().unwrap().verdict;
    assert!(matches!(verdict, Verdict::Undecided { why: Why::MoreDeployments { .. } | Why::OnTheEdge }), "{verdict:?}");
}

#[test]
fn a_point_among_many_needs_more_than_its_own_interval() {
    let c = compare(&study(), &records(), &[], &[]).unwrap();
    let points: Vec<&PointResult> = c.workloads[0].points.iter().filter(|c| c.contender == "arm").collect();
    assert!(points.iter().all(|c| c.judgement.as_ref().is_some_and(|j| j.verdict == Verdict::Better)), "{points:?}");
    // 6 % more at one of the two points: its own interval (±2.5 %) decides, the smaller level of a family does not.
    let mut close = records();
    close.retain(|r| r.key.contender != "arm");
    close.extend(point_of("arm", 8, &[1050, 1071, 1060]));
    close.extend(point_of("arm", 64, &[1980, 2000, 2060]));
    let c = compare(&study(), &close, &[], &[]).unwrap();
    let judged = c.workloads[0].points[0].judgement.clone().unwrap();
    let alone = judge(&judged.ratio, &c.decision, judged.units);
    assert!(judged.level.is_some_and(|p| p > 0.025 && p < 0.05), "{judged:?}");
    assert_eq!((alone, judged.verdict), (Verdict::Better, Verdict::Undecided { why: Why::Family { of: 2 } }));
    assert!(judged.verdict.text().contains("the correction for 2 comparisons"));
}

#[test]
fn an_outlier_stays_and_is_shown_with_its_cause_and_without_it() {
    let study = study_with("trials = 3", "trials = 6");
    let mut all = point_of("x86", 8, &[1000, 1010, 990, 1005, 995, 1000]);
    all.extend(point_of("arm", 8, &[1200, 1210, 1190, 600, 1205, 1195]));
    all[9].flags.push(Flag::Gap { total_ms: 1500 });
    let c = compare(&study, &all, &[], &[]).unwrap();
    let point = &c.workloads[0].points[0];
    let [outlier] = point.outliers.as_slice() else { panic!("{:?}", point.outliers) };
    assert_eq!((outlier.position, outlier.value), (TrialPosition { deployment: 1, trial: 4 }, 200.0));
    assert!(outlier.modified_z < -3.5 && outlier.causes[0].contains("nothing completed"), "{outlier:?}");
    near(point.mean.unwrap(), 6600.0 / 18.0);
    let without = point.without.unwrap();
    near(without.mean, 400.0);
    // Without the fourth trial of one, its block is in no ratio.
    near(without.ratio.unwrap().value, 6000.0 / 4995.0);
    assert_eq!(c.workloads[0].points[1].without, None);
}

#[test]
fn a_trial_that_stalled_is_counted_and_a_short_gap_is_none() {
    let mut all = records();
    // Three seconds: 90 ms are the margin of 3 %.
    all[0].flags.push(Flag::Gap { total_ms: 80 });
    all[10].flags.push(Flag::Gap { total_ms: 1500 });
    let c = compare(&study(), &all, &[], &[]).unwrap();
    let of = |name: &str| c.workloads[0].contenders.iter().find(|c| c.contender == name).unwrap().stalls.unwrap();
    assert_eq!((of("x86").seen, of("x86").trials, of("arm").seen), (0, 6, 1));
    // 1 − 0.05^(1/6), and Clopper and Pearson's interval of 1 of 6.
    assert!((of("x86").share.high - 0.393).abs() < 1e-3 && (of("arm").share.high - 0.641).abs() < 1e-3, "{:?}", of("arm"));
    let point = c.workloads[0].points.iter().find(|p| p.contender == "arm" && p.level == 64).unwrap();
    assert_eq!(point.stalled, [TrialPosition { deployment: 1, trial: 2 }]);
}

#[test]
fn a_disputed_price_makes_work_per_dollar_a_range() {
    let mut bills = [bill("x86", "r", 50_000_000, Rounding::None), bill("arm", "r", 50_000_000, Rounding::None)];
    bills[1].lines[0].disputed = Some(MicroUsd(100_000_000));
    let c = compare(&study(), &records(), &bills, &[]).unwrap();
    let found = arm(&c).price[0].disputed.as_ref().unwrap();
    assert_eq!((found.low, found.high), (MicroUsd(3_000_000_000), MicroUsd(6_000_000_000)));
    let ratio = found.ratio.as_ref().unwrap();
    near(ratio.most.ratio.value, 37.0 / 30.0);
    near(ratio.least.ratio.value, 37.0 / 60.0);
    assert_eq!((ratio.least.verdict, ratio.most.verdict, ratio.decides()), (Verdict::Worse, Verdict::Better, true));
    // The baseline's bill has no ratio, and without a dispute nothing is said.
    assert_eq!(c.workloads[0].contenders[1].price[0].disputed, None);
    bills[1].lines[0].disputed = None;
    assert_eq!(arm(&compare(&study(), &records(), &bills, &[]).unwrap()).price[0].disputed, None);
}

#[test]
fn the_cheapest_contender_under_the_objective_is_named() {
    let mut study = study();
    // The trials take one to three milliseconds each.
    study.decision.slo = Some(Slo { percentile: 95.0, at_most_ns: 2_950_000 });
    let bills = [bill("x86", "r", 50_000_000, Rounding::None), bill("arm", "r", 70_000_000, Rounding::None)];
    let c = compare(&study, &records(), &bills, &[]).unwrap();
    let objective = c.workloads[0].objective.as_ref().unwrap();
    assert_eq!(objective.kept.iter().map(|k| (k.contender.as_str(), k.level)).collect::<Vec<_>>(), [("arm", 64), ("x86", 64)]);
    assert_eq!((objective.cheapest[0].per_unit.as_str(), objective.cheapest[0].bill.as_str()), ("x86", "x86"));
    near(objective.kept[0].price[0].usd_per_unit, 4200.0 / (2500.0 / 3.0));
    study.decision.slo = Some(Slo { percentile: 50.0, at_most_ns: 1 });
    let c = compare(&study, &records(), &bills, &[]).unwrap();
    let objective = c.workloads[0].objective.as_ref().unwrap();
    assert_eq!((objective.broken.len(), objective.cheapest.len()), (2, 0));
    // A rate that was not kept keeps no objective.
    study.decision.slo = Some(Slo { percentile: 95.0, at_most_ns: 1_000_000_000 });
    let mut all = records();
    all.iter_mut().for_each(|r| r.flags = vec![Flag::Overloaded { offered: 9, completed: 1, unfinished: 8 }]);
    let c = compare(&study, &all, &bills, &[]).unwrap();
    assert_eq!(c.workloads[0].objective.as_ref().unwrap().broken.len(), 2);
}

#[test]
fn ranks_stand_beside_the_interval_and_are_refused_for_three_trials() {
    let c = compare(&study(), &records(), &[], &[]).unwrap();
    let rank = arm(&c).throughput.as_ref().unwrap().rank.unwrap();
    assert_eq!((rank.interval, rank.superiority), (None, 1.0));
    let fourth = [("x86", 8, 1000), ("x86", 64, 2000), ("arm", 8, 1200), ("arm", 64, 2500)];
    let mut all = records();
    all.extend(fourth.map(|(contender, connections, n)| record(contender, connections, 4, n)));
    let c = compare(&study(), &all, &[], &[]).unwrap();
    assert!(arm(&c).throughput.as_ref().unwrap().rank.unwrap().interval.is_some());
}

#[test]
fn clients_that_differ_between_contenders_are_remarked_on() {
    let mut all = records();
    all.iter_mut().for_each(|r| r.host.shared_with_server = false);
    all.iter_mut().filter(|r| r.key.contender == "arm").for_each(|r| r.host.cpus = 4);
    let c = compare(&study(), &all, &[], &[]).unwrap();
    let processors = |r: &Remark| r.text.contains("the same client: the number of processors") && r.trials == 6;
    assert!(c.remarks.iter().any(processors), "{:?}", c.remarks);
    // A statement takes longer at a slower server, a packet only over a longer way.
    let far = |r: &Remark| r.text.contains("the distance to the server, by the round trip of a packet, differs") && r.trials == 6;
    for (packet_ns, is_told) in [(150_000, false), (290_000, false), (320_000, true)] {
        all.iter_mut().for_each(|r| r.target.distance = Some(Distance { statement_ns: 300_000, packet_ns: Some(100_000) }));
        let arm = all.iter_mut().filter(|r| r.key.contender == "arm");
        arm.for_each(|r| r.target.distance = Some(Distance { statement_ns: 900_000, packet_ns: Some(packet_ns) }));
        let told = compare(&study(), &all, &[], &[]).unwrap().remarks;
        assert_eq!(told.iter().any(far), is_told, "{packet_ns}: {told:?}");
    }
    // Where the client shares the machine of the server, the machine is what is compared.
    all.iter_mut().for_each(|r| r.host.shared_with_server = true);
    assert!(compare(&study(), &all, &[], &[]).unwrap().remarks.is_empty());
}
