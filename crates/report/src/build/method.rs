//! How each number is made, in short plain sentences.

use perbuck_core::stats::DRAWS;
use perbuck_core::study::SnapshotRule;
use perbuck_core::units::{duration_text, thousands};

use super::{Context, rounding_text, rule_text};
use crate::document::Block;
use crate::escape::clean;
use crate::number::{counted, percent};

pub(super) fn section(all: &Context<'_>) -> Vec<Block> {
    vec![
        Block::Heading("How each number is made".to_owned()),
        Block::List(measurements(all)),
        Block::Heading("How prices are made".to_owned()),
        Block::List(prices(all)),
        Block::Heading("Limits".to_owned()),
        Block::List(limits(all)),
    ]
}

fn measurements(all: &Context<'_>) -> Vec<String> {
    let sweep = &all.study.sweep;
    let confidence = percent(all.comparison.decision.confidence);
    vec![
        format!(
            "Each point is measured {} on each contender: {} of warm-up, then a measured window of {}.",
            if sweep.trials == 1 { "once".to_owned() } else { format!("{} times", sweep.trials) },
            duration_text(sweep.warmup_ns),
            duration_text(sweep.duration_ns)
        ),
        format!(
            "Trials come in blocks; each block holds every point of every contender once, in an order shuffled by the seed {}, so that drift \
             falls on all contenders alike.",
            all.study.seed.0
        ),
        "Contenders get the same operations: what a connection does is a function of the seed, the workload and its own counter.".to_owned(),
        "Throughput is a counter divided by the true length of the measured window. Rates are never stored or averaged over seconds.".to_owned(),
        "Percentiles come from the merged histograms of all trials of a point (three significant digits). Percentiles are never averaged.".to_owned(),
        format!("The interval of a point's mean is Student's {confidence} interval over its trials."),
        format!(
            "The interval of a ratio is {confidence}: the standard error of its logarithm comes from {} seeded bootstrap draws over trials, is \
             corrected for small samples by √(n/(n−1)), and is multiplied by Student's quantile with Welch and Satterthwaite's degrees of \
             freedom. Trials are drawn, never single requests.",
            thousands(DRAWS as u64)
        ),
        rule_text(&all.comparison.decision),
        "The detectable difference beside an undecided verdict is the one that four of five such studies would call significant (80 % power).".to_owned(),
    ]
}

fn prices(all: &Context<'_>) -> Vec<String> {
    let Some(bill) = all.comparison.bills.first() else { return vec!["Nothing is priced.".to_owned()] };
    let snapshots = match all.study.price.volume_snapshots {
        SnapshotRule::AwsCalculator => {
            "one full copy, and 30 increments of 3 GB at half a month each (the rule of the AWS Pricing Calculator)"
        }
    };
    vec![
        format!("Unit prices come from the price snapshot {}; every line names the date and source of its price.", clean(&bill.snapshot)),
        format!(
            "The cost of a month is the sum of the billed lines at {} hours; the total is {}; {}.",
            bill.hours_per_month,
            counted(bill.horizon_months as usize, "month"),
            rounding_text(bill.round)
        ),
        format!("Daily snapshots of volumes are billed as {snapshots}."),
        "Cost per unit is the total divided by the throughput figure (lower is better); units per dollar are its inverse (higher is better). \
         Work per dollar against the baseline is the ratio of throughputs times the inverse ratio of totals. Prices have no error, so its \
         interval is that of the throughputs, scaled."
            .to_owned(),
        "Machines and volumes that a study marks as unpriced are shown and not billed. What the bill does not name is not in the price.".to_owned(),
    ]
}

fn limits(all: &Context<'_>) -> Vec<String> {
    let mut out = vec![
        "The result holds for these workloads, data sizes, versions, settings and prices, and for no others.".to_owned(),
        "Intervals cover the variation between trials of this study. They do not cover other machines of the same type, other days, or \
         systematic errors that all trials share."
            .to_owned(),
        "Several verdicts are given side by side, each at its own confidence; no correction is made for their number.".to_owned(),
        "The load is a closed loop: service times do not include the wait of users who would have arrived meanwhile.".to_owned(),
    ];
    if all.records.iter().any(|r| r.host.shared_with_server) {
        out.push("Where client and server share a machine, the client's own work is part of what is measured.".to_owned());
    }
    if all.records.iter().any(|r| r.host.emulator.is_some()) {
        out.push("Emulated trials say that the software works. They say nothing about the speed of any hardware.".to_owned());
    }
    out
}
