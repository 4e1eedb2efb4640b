//! Coverage where the machine drifts by 10 % over a study, with the trials in the order that the plan gives them.
//! `PERBUCK_STUDIES=20000 cargo test -p perbuck-core --release --test drift -- --nocapture` prints the table of docs/method/intervals.md.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod simulated;

use perbuck_core::plan::TrialKey;
use perbuck_core::rng::OpRng;
use perbuck_core::stats::{self, Design, Summarise, Trial};
use perbuck_core::study::Study;
use perbuck_core::units::Seed;
use simulated::{covers, normal, share, studies, table, within};

const BLOCKS: [u32; 9] = [3, 4, 5, 6, 8, 10, 12, 15, 20];
/// From the first trial of a study to the last.
const DRIFT: f64 = 0.1;

/// A study of two contenders at so many points.
fn study(connections: &str, blocks: u32) -> Study {
    let text = format!(
        "schema = 1\nname = \"s\"\n[[contender]]\nname = \"a\"\n[[contender]]\nname = \"b\"\n\
         [[workload]]\nname = \"w\"\nkind = \"k\"\n[sweep]\nconnections = {connections}\ntrials = {blocks}\n"
    );
    Study::read("s.toml", &text, &[]).unwrap()
}

/// The trials of a contender at its first point; `drift` from the first to the last of all.
fn trials(order: &[TrialKey], of: &str, mean: f64, scatter: f64, rng: &mut OpRng) -> Vec<Trial> {
    let last = (order.len() - 1) as f64;
    let mine = order.iter().enumerate().filter(|(_, key)| key.contender == of && key.connections == 8);
    let one = |(at, key): (usize, &TrialKey)| {
        let drifted = 1.0 + DRIFT * (at as f64 / last - 0.5);
        Trial { deployment: 1, block: key.trial, value: mean * drifted * (1.0 + scatter * normal(rng)) }
    };
    mine.map(one).collect()
}

fn coverage(connections: &str, scatter: f64, blocks: u32, count: usize) -> f64 {
    let mut study = study(connections, blocks);
    let mut rng = OpRng::at(Seed(31), (scatter * 1e3) as u64, u64::from(blocks));
    share(count, || {
        study.seed = Seed(rng.below(u64::MAX));
        let order = study.plan();
        let [below, above] = [("a", 1000.0), ("b", 1200.0)].map(|(of, mean)| vec![trials(&order, of, mean, scatter, &mut rng)]);
        covers(stats::ratio(&below, &above, Summarise::Mean, 0.95, Design::Blocks).and_then(|e| e.ratio.interval), 1.2)
    })
}

#[test]
fn a_drift_of_10_percent_is_covered_from_three_blocks_on() {
    let count = studies(1_000);
    let mut rows = Vec::new();
    for (points, connections) in [(1, "[8]"), (4, "[8, 16, 32, 64]")] {
        for scatter in [0.01, 0.02, 0.05] {
            let shares = BLOCKS.map(|n| coverage(connections, scatter, n, count)).to_vec();
            rows.push((format!("{points} points, scatter {} %", scatter * 100.0), shares));
        }
    }
    table(&format!("drift of 10 %, {BLOCKS:?} blocks"), &rows);
    for (name, shares) in &rows {
        assert!(shares.iter().all(|s| within(*s, 0.93, 0.97, count)), "{name}: {shares:?}");
    }
}
