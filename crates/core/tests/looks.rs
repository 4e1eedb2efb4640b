//! What looking at results more than once does to verdicts, and what it saves, on simulated studies whose truth is known.
//!
//! `PERBUCK_STUDIES=20000 cargo test --release -p perbuck-core --test looks -- --nocapture` prints the tables of docs/method/looks.md.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test fails by it, and prints the tables of docs/method")]

mod simulated;

use perbuck_core::compare::{Verdict, Why, judge};
use perbuck_core::rng::OpRng;
use perbuck_core::stats::{self, Design, Ratio, Summarise, Trial};
use perbuck_core::study::{Decision, Until};
use perbuck_core::units::Seed;
use simulated::normal;

fn studies() -> usize {
    simulated::studies(400)
}

/// What a share may be off by chance, four standard deviations of so few studies.
fn chance(share: f64) -> f64 {
    4.0 * (share * (1.0 - share) / studies() as f64).sqrt()
}

/// How the trials of a block scatter.
#[derive(Debug, Clone, Copy)]
enum Noise {
    Normal,
    /// Of the logarithm.
    Lognormal,
    /// The machine drifts from block to block by as much as the trials scatter (autocorrelation 0.9).
    Drift,
    /// One contender by a tenth of the other.
    Unequal,
}

/// Two contenders in blocks, of which more can be had.
struct Sim {
    truth: f64,
    scatter: f64,
    noise: Noise,
    machine: f64,
    rng: OpRng,
    sides: [Vec<Trial>; 2],
}

impl Sim {
    fn new((truth, scatter, noise): (f64, f64, Noise), rng: OpRng) -> Self {
        Self { truth, scatter, noise, machine: 0.0, rng, sides: [Vec::new(), Vec::new()] }
    }

    fn block(&mut self) {
        let (rng, s) = (&mut self.rng, self.scatter);
        let off = match self.noise {
            Noise::Normal => [s * normal(rng), s * normal(rng)],
            Noise::Lognormal => [(s * normal(rng)).exp_m1(), (s * normal(rng)).exp_m1()],
            Noise::Unequal => [s * normal(rng), 0.1 * s * normal(rng)],
            Noise::Drift => {
                self.machine = 0.9 * self.machine + 0.436 * 2.0 * s * normal(rng);
                [self.machine + s * normal(rng), self.machine + s * normal(rng)]
            }
        };
        let block = self.sides[0].len() as u32 + 1;
        for (side, (off, mean)) in self.sides.iter_mut().zip(off.into_iter().zip([1.0, self.truth])) {
            side.push(Trial { deployment: 1, block, value: 1000.0 * mean * (1.0 + off).max(0.01) });
        }
    }

    fn grow(&mut self, blocks: usize) {
        while self.sides[0].len() < blocks {
            self.block();
        }
    }

    fn ratio(&self, confidence: f64) -> Ratio {
        let [base, other] = &self.sides;
        stats::ratio(std::slice::from_ref(base), std::slice::from_ref(other), Summarise::Mean, confidence, Design::Blocks)
            .unwrap()
            .ratio
    }

    /// The verdict of a study that ends when it is there, and after how many blocks.
    fn until_decided(&mut self, rule: &Decision) -> (Verdict, usize) {
        let until = rule.until.clone().unwrap();
        for blocks in until.least..=until.most {
            self.grow(blocks as usize);
            let verdict = judge(&self.ratio(rule.confidence), rule, blocks as usize);
            let is_open = matches!(verdict, Verdict::Undecided { why } if !matches!(why, Why::Hopeless { .. }));
            if !is_open || blocks == until.most {
                return (verdict, blocks as usize);
            }
        }
        unreachable!()
    }
}

/// The rule of a study whose looks all together have 95 %.
fn rule(margin: f64, most: u32) -> Decision {
    let confidence = 1.0 - stats::level_of_each_look(0.05, 3, most);
    Decision { confidence, margin, until: Some(Until { least: 3, most, budget: None }), slo: None }
}

fn shares(point: (f64, f64, Noise), rule: &Decision, seed: u64) -> ([f64; 4], f64) {
    let (mut counts, mut blocks) = ([0usize; 4], 0);
    for i in 0..studies() {
        let (verdict, after) = Sim::new(point, OpRng::at(Seed(seed), i as u64, 0)).until_decided(rule);
        let slot = match verdict {
            Verdict::Better => 0,
            Verdict::Worse => 1,
            Verdict::Equivalent => 2,
            Verdict::Undecided { .. } => 3,
        };
        counts[slot] += 1;
        blocks += after;
    }
    (counts.map(|n| n as f64 / studies() as f64), blocks as f64 / studies() as f64)
}

#[test]
fn looks_after_every_block_err_in_at_most_5_percent() {
    println!("| noise | scatter | most | A/A: better or worse | 1.03: better | 1.0301: equivalent |");
    for noise in [Noise::Normal, Noise::Lognormal, Noise::Drift, Noise::Unequal] {
        for (scatter, most) in [(0.01, 12), (0.02, 30), (0.05, 100)] {
            let rule = rule(0.03, most);
            let of = |truth: f64, seed: u64| shares((truth, scatter, noise), &rule, seed).0;
            let same = of(1.0, 1);
            let (above, beyond) = (of(1.03, 2), of(1.0301, 3));
            let wrong = [same[0] + same[1], above[0], beyond[2]];
            println!(
                "| {noise:?} | {scatter} | {most} | {:.2} % | {:.2} % | {:.2} % |",
                100.0 * wrong[0],
                100.0 * wrong[1],
                100.0 * wrong[2]
            );
            assert!(wrong.iter().all(|share| *share <= 0.05), "{noise:?} {scatter}: {wrong:?}");
        }
    }
    // Without a margin both sides can be wrong.
    let (found, _) = shares((1.0, 0.02, Noise::Normal), &rule(0.0, 30), 4);
    println!("without a margin, A/A: {:.2} %", 100.0 * (found[0] + found[1]));
    assert!(found[0] + found[1] <= 0.05 + chance(0.05) / 2.0, "{found:?}");
}

/// The first study has five blocks; as long as it is undecided, as many are added as it asks for.
fn extended_by_hand(truth: f64, seed: u64) -> [f64; 4] {
    let mut counts = [0usize; 4];
    for i in 0..studies() {
        let mut sim = Sim::new((truth, 0.02, Noise::Normal), OpRng::at(Seed(seed), i as u64, 0));
        let (mut blocks, mut last) = (5, 3);
        for extensions in 0..12 {
            sim.grow(blocks);
            let confidence = 1.0 - 0.05 / 2f64.powi(extensions);
            let rule = Decision { confidence, margin: 0.03, until: None, slo: None };
            match judge(&sim.ratio(confidence), &rule, blocks) {
                Verdict::Better => last = 0,
                Verdict::Worse => last = 1,
                Verdict::Equivalent => last = 2,
                Verdict::Undecided { why: Why::MoreTrials { more } } if blocks < 400 => {
                    blocks += more.min(200) as usize;
                    continue;
                }
                Verdict::Undecided { .. } => {}
            }
            break;
        }
        counts[last] += 1;
    }
    counts.map(|n| n as f64 / studies() as f64)
}

#[test]
fn who_follows_every_hint_errs_in_at_most_5_percent() {
    let (same, above, beyond) = (extended_by_hand(1.0, 5), extended_by_hand(1.03, 6), extended_by_hand(1.0301, 7));
    println!(
        "by hand: A/A {:.2} %, 1.03 better {:.2} %, 1.0301 equivalent {:.2} %",
        100.0 * (same[0] + same[1]),
        100.0 * above[0],
        100.0 * beyond[2]
    );
    for wrong in [same[0] + same[1], above[0], beyond[2]] {
        assert!(wrong <= 0.05 + chance(0.04) / 2.0, "{same:?} {above:?} {beyond:?}");
    }
}

/// The blocks of a fixed plan that finds `alternative` with a power of 80 %, the scatter known beforehand.
fn fixed_plan(margin: f64, alternative: f64, scatter: f64) -> u32 {
    let effect = (alternative.ln() - margin.ln_1p()) / (scatter * std::f64::consts::SQRT_2);
    let trials = 20_000;
    let power = |n: u32| {
        let (mut rng, t) = (OpRng::at(Seed(8), u64::from(n), 0), stats::student_quantile(0.95, f64::from(n - 1)));
        let decides = |rng: &mut OpRng| {
            let values: Vec<f64> = (0..n).map(|_| effect + normal(rng)).collect();
            let mean = values.iter().sum::<f64>() / f64::from(n);
            let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / f64::from(n - 1);
            mean / (variance / f64::from(n)).sqrt() > t
        };
        (0..trials).filter(|_| decides(&mut rng)).count() as f64 / f64::from(trials)
    };
    let (mut few, mut enough) = (2, 256);
    while enough - few > 1 {
        let middle = (few + enough) / 2;
        if power(middle) < 0.8 { few = middle } else { enough = middle }
    }
    enough
}

/// A scatter, and the most blocks.
type Most = (f64, u32);

/// Largest numbers of blocks with which the rule finds the same alternatives as often as the fixed plans, by margin and scatter.
const PLANS: [(f64, f64, [Most; 3]); 2] =
    [(0.03, 1.05, [(0.01, 10), (0.02, 31), (0.05, 215)]), (0.05, 1.07, [(0.01, 10), (0.02, 32), (0.05, 223)])];

#[test]
fn it_takes_fewer_blocks_than_a_fixed_plan_of_the_same_power() {
    let (mut all, mut large) = (Vec::new(), Vec::new());
    println!("| margin | scatter | fixed | most | 1.00 | 1.02 | 1.05 | 1.10 | 1.50 | power at the alternative |");
    for (margin, alternative, plans) in PLANS {
        for (scatter, most) in plans.into_iter().filter(|(scatter, _)| studies() > 1_000 || *scatter < 0.03) {
            let (fixed, rule) = (fixed_plan(margin, alternative, scatter), rule(margin, most));
            let mut row = format!("| {margin} | {scatter} | {fixed} | {most} |");
            for truth in [1.0, 1.02, 1.05, 1.1, 1.5] {
                let share = shares((truth, scatter, Noise::Normal), &rule, 9).1 / f64::from(fixed);
                // A ratio on the margin never decides.
                let on_the_margin = (truth - 1.0 - margin).abs() < 1e-9;
                row += &format!(" {share:.2}{} |", if on_the_margin { " (on the margin)" } else { "" });
                all.extend((!on_the_margin).then_some(share));
                large.extend((truth >= 1.1).then_some(share));
            }
            let power = shares((alternative, scatter, Noise::Normal), &rule, 10).0[0];
            println!("{row} {:.1} % |", 100.0 * power);
            assert!(power > 0.79 - chance(0.8) / 2.0, "{margin} {scatter}: {power}");
        }
    }
    let (all, large) = (stats::mean(&all).unwrap(), stats::mean(&large).unwrap());
    println!("in the mean {all:.2}, from 1.10 on {large:.2}");
    assert!(all <= 0.7 && large <= 0.4, "{all} {large}");
}

#[test]
fn a_family_of_points_that_is_looked_at_often_errs_in_at_most_5_percent() {
    // Five points of which none is beyond the margin, looked at after every block; the study ends with the first verdict that stands.
    let (most, margin) = (20, 0.03);
    let mut wrong = 0;
    for i in 0..studies() {
        let truths = [1.0, 1.0299, 1.0299, 1.0299, 1.0299];
        let mut sims: Vec<Sim> = truths
            .iter()
            .enumerate()
            .map(|(p, truth)| Sim::new((*truth, 0.02, Noise::Normal), OpRng::at(Seed(11), i as u64, p as u64)))
            .collect();
        let ends = (3..=most).any(|blocks| {
            sims.iter_mut().for_each(|sim| sim.grow(blocks as usize));
            let ratios: Vec<Ratio> = sims.iter().map(|sim| sim.ratio(0.95)).collect();
            let levels: Vec<Option<f64>> = ratios.iter().map(|r| stats::deciding_level(r, margin)).collect();
            let stands = stats::holm(&levels, |among| stats::level_of_each_look(0.05 / among as f64, 3, most));
            ratios.iter().zip(stands).any(|(r, stands)| stands && r.value > 1.0 + margin)
        });
        wrong += usize::from(ends);
    }
    let share = wrong as f64 / studies() as f64;
    println!("a family of five: {:.2} %", 100.0 * share);
    assert!(share <= 0.05 + chance(0.05) / 2.0, "{share}");
}

#[test]
fn a_difference_as_large_as_the_detectable_one_is_found_in_four_of_five_studies() {
    let margin = 0.03;
    println!("| blocks | found |");
    for n in [3, 5, 10, 20] {
        let rule = Decision { confidence: 0.95, margin, until: None, slo: None };
        let finds = |i: usize| {
            let (mut first, mut rng) = (
                Sim::new((1.0, 0.03, Noise::Normal), OpRng::at(Seed(12), i as u64, n as u64)),
                OpRng::at(Seed(13), i as u64, n as u64),
            );
            first.grow(n);
            // What the first study calls detectable is the truth of the second.
            let truth = 1.0 + stats::detectable(&first.ratio(0.95), 0.95, margin).unwrap();
            let mut second = Sim::new((1.0, 0.03, Noise::Normal), OpRng::at(Seed(14), rng.below(1 << 40), n as u64));
            second.truth = truth;
            second.grow(n);
            judge(&second.ratio(0.95), &rule, n) == Verdict::Better
        };
        let share = (0..studies()).filter(|i| finds(*i)).count() as f64 / studies() as f64;
        println!("| {n} | {:.1} % |", 100.0 * share);
        assert!((share - 0.8).abs() < 0.02 + chance(0.8) / 2.0, "{n}: {share}");
    }
}

#[test]
fn as_many_trials_as_are_asked_for_decide_in_four_of_five_studies() {
    println!("| blocks | undecided studies | decided by the trials asked for |");
    for n in [3, 5, 10] {
        let (mut asked, mut decided) = (0usize, 0usize);
        for i in 0..10 * studies() {
            let mut rng = OpRng::at(Seed(15), i as u64, n as u64);
            // Truths and scatters of all sizes, as studies have them.
            let truth = (0.5 * rng.unit_f64() - 0.25).exp();
            let scatter = 0.004 * 20f64.powf(rng.unit_f64());
            let mut sim = Sim::new((truth, scatter, Noise::Normal), rng);
            sim.grow(n);
            let rule = |confidence| Decision { confidence, margin: 0.03, until: None, slo: None };
            let Verdict::Undecided { why: Why::MoreTrials { more } } = judge(&sim.ratio(0.95), &rule(0.95), n) else { continue };
            let all = n + more as usize;
            sim.grow(all);
            asked += 1;
            decided += usize::from(!matches!(judge(&sim.ratio(0.975), &rule(0.975), all), Verdict::Undecided { .. }));
        }
        let share = decided as f64 / asked as f64;
        println!("| {n} | {asked} | {:.1} % |", 100.0 * share);
        assert!((share - 0.8).abs() < 0.02 + chance(0.8) / 2.0, "{n}: {share} of {asked}");
    }
}

/// Half-widths and coverage where the machine drifts: the contenders of a point after each other, and all points of a block shuffled.
#[test]
fn contenders_that_follow_each_other_have_narrower_intervals_where_the_machine_drifts() {
    let (points, blocks) = (4, 5);
    println!("| drift | half-width, shuffled / adjacent | covered, adjacent |");
    // A linear drift of 10 % over the study, a random walk of 1 % from trial to trial, a wave of 5 % over 25 trials.
    for drift in ["linear", "walk", "wave"] {
        let (mut widths, mut covered) = ([0.0; 2], 0usize);
        for i in 0..studies() {
            for (adjacent, width) in [false, true].into_iter().zip(widths.iter_mut()) {
                let mut rng = OpRng::at(Seed(16), i as u64, u64::from(adjacent));
                let (mut walk, phase) = (0.0, rng.unit_f64());
                let mut machine = |at: usize, rng: &mut OpRng| match drift {
                    "linear" => 0.1 * at as f64 / (2 * points * blocks) as f64,
                    "walk" => {
                        walk += 0.01 * normal(rng);
                        walk
                    }
                    _ => 0.05 * (std::f64::consts::TAU * (at as f64 / 25.0 + phase)).sin(),
                };
                let mut sides = [Vec::new(), Vec::new()];
                for block in 0..blocks {
                    let mut order: Vec<Vec<(usize, usize)>> = (0..points).map(|p| vec![(p, 0), (p, 1)]).collect();
                    if adjacent {
                        order.iter_mut().for_each(|pair| rng.shuffle(pair));
                    } else {
                        order = order.into_iter().flatten().map(|one| vec![one]).collect();
                    }
                    rng.shuffle(&mut order);
                    for (slot, (point, side)) in order.into_iter().flatten().enumerate() {
                        let off = machine(block * 2 * points + slot, &mut rng) + 0.005 * normal(&mut rng);
                        if point == 0 {
                            let mean = if side == 0 { 1000.0 } else { 1200.0 };
                            sides[side].push(Trial { deployment: 1, block: block as u32 + 1, value: mean * (1.0 + off) });
                        }
                    }
                }
                let [base, other] = sides;
                let found = stats::ratio(&[base], &[other], Summarise::Mean, 0.95, Design::Blocks).unwrap().ratio;
                let interval = found.interval.unwrap();
                *width += (interval.high / interval.low).ln() / 2.0;
                covered += usize::from(adjacent && interval.low <= 1.2 && interval.high >= 1.2);
            }
        }
        let (ratio, covered) = (widths[0] / widths[1], covered as f64 / studies() as f64);
        println!("| {drift} | {ratio:.2} | {:.1} % |", 100.0 * covered);
        assert!(ratio > 1.2, "{drift}: {ratio}");
        assert!((0.93 - chance(0.95) / 2.0..=0.97 + chance(0.95) / 2.0).contains(&covered), "{drift}: {covered}");
    }
}
