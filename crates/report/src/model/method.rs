//! How each number is made, in short plain sentences.

use perbuck_core::arrivals::Arrivals;
use perbuck_core::stats::Design;
use perbuck_core::study::{NO_LIMIT_NS, SnapshotRule, Sweep, Until, WorkloadSpec};
use perbuck_core::units::{duration_text, thousands};

use super::levels::{in_flight, phases_text};
use super::{Context, rounding_text};
use crate::document::Block;
use crate::escape::clean;
use crate::number::{counted, percent};

pub(super) fn section(all: &Context<'_>) -> Vec<Block> {
    vec![
        Block::List(measurements(all).into_iter().chain(prices(all)).collect()),
        Block::Heading("Limits".to_owned()),
        Block::List(limits(all)),
    ]
}

fn measurements(all: &Context<'_>) -> Vec<String> {
    let sweep = &all.study.sweep;
    let confidence = percent(all.comparison.printed_confidence());
    let units = if all.comparison.layout.deployments > 1 { "deployments" } else { "trials" };
    if all.study.imported {
        return imported(&confidence, interval_of_ratio(all, &confidence));
    }
    let until = all.study.decision.until.as_ref();
    let mut out: Vec<String> = sweeps(all).into_iter().map(|(whose, sweep)| measured(&whose, sweep, until)).collect();
    let points = out.len();
    out.extend([
        order(all),
        operations(sweep).to_owned(),
        "Percentiles come from the merged histograms of all trials of a point; nothing is an average of seconds.".to_owned(),
        format!("The interval of a point's mean is Student's {confidence} interval over its {units}."),
        interval_of_ratio(all, &confidence),
    ]);
    out.splice(points..points, load(all));
    out
}

/// Every sweep, with whose points it has: those of all workloads, or of some.
fn sweeps<'a>(all: &Context<'a>) -> Vec<(String, &'a Sweep)> {
    let workloads = &all.study.workloads;
    let own = workloads.iter().filter_map(|w| Some((format!("Each point of {}", clean(&w.name)), w.sweep.as_ref()?)));
    let whose = if workloads.iter().any(|w| w.sweep.is_some()) { "Each other point" } else { "Each point" };
    let shared = workloads.iter().any(|w| w.sweep.is_none()).then(|| (whose.to_owned(), &all.study.sweep));
    own.chain(shared).collect()
}

fn measured(whose: &str, sweep: &Sweep, until: Option<&Until>) -> String {
    let (times, warmup, window) = (times(sweep, until), duration_text(sweep.warmup_ns), window(sweep));
    let measured =
        format!("{whose} is measured {times} on each contender: {warmup} of warm-up, then a measured window {window}.");
    let Some(from) = &sweep.auto.found else { return measured };
    format!("{measured} Pilot trials, which count for nothing else, found {}: {}.", sweep.auto.words(), clean(from))
}

/// How the numbers of imported trials are made.
fn imported(confidence: &str, interval_of_ratio: String) -> Vec<String> {
    vec![
        "Every trial was read from the log of another program; perbuck measured none of them.".to_owned(),
        "Throughput is the counter of the log divided by the time that the log says. A log whose printed rate differs from that by more than 1 % is refused.".to_owned(),
        "Where a program prints only a rate and a time, the counter is their product (HammerDB). Where it prints a count and a rate, the time is their quotient (pgbench, go-tpc).".to_owned(),
        "A point has percentiles only where every log has a histogram. sysbench's buckets are 1.8 % wide. Percentiles are never averaged.".to_owned(),
        format!("The interval of a point's mean is Student's {confidence} interval over its trials."),
        interval_of_ratio,
    ]
}

fn interval_of_ratio(all: &Context<'_>, confidence: &str) -> String {
    let layout = &all.comparison.layout;
    match (layout.design, layout.deployments > 1) {
        (_, true) => format!(
            "The interval of a ratio is Student's {confidence} interval on the logarithmic scale over the means of {} deployments.",
            layout.deployments
        ),
        (Design::Blocks, false) => format!(
            "The interval of a ratio is Student's {confidence} interval on the logarithmic scale over blocks: what a block does to both \
             contenders cancels out. It holds for this deployment."
        ),
        (Design::Independent, false) => format!(
            "The interval of a ratio is Welch's {confidence} interval on the logarithmic scale over trials, which came in no blocks."
        ),
    }
}

/// How often a point is measured.
fn times(sweep: &Sweep, until: Option<&Until>) -> String {
    match (sweep.trials, sweep.collected) {
        (trials, false) if until.is_some() => format!("up to {trials} times, until the verdicts are there,"),
        (1, _) => "once".to_owned(),
        (trials, false) => format!("{trials} times"),
        (trials, true) => format!("up to {trials} times"),
    }
}

/// What ends the window.
fn window(sweep: &Sweep) -> String {
    let length = duration_text(sweep.duration_ns);
    match sweep.events {
        None if sweep.of_streams => "to the end of the last stream".to_owned(),
        None => format!("of {length}"),
        Some(events) if sweep.duration_ns == NO_LIMIT_NS => format!("of {} transactions", thousands(events)),
        Some(events) => format!("of {length}, or of {} transactions if that is less", thousands(events)),
    }
}

fn order(all: &Context<'_>) -> String {
    if all.study.sweep.collected {
        return "Trials were started one by one, in no planned order: what drifted between them is in the differences."
            .to_owned();
    }
    if all.study.sweep.one_by_one {
        return "The contenders were up one after the other, each with all of its trials: what drifted between them is in the differences."
            .to_owned();
    }
    let trials = |w: &WorkloadSpec| all.study.sweep_of(&w.name).trials;
    let differ = all.study.workloads.iter().any(|w| trials(w) != all.study.sweep.trials);
    let points = if differ { "every point that still has trials" } else { "every point" };
    if all.study.decision.until.is_some() {
        return format!(
            "Each block holds every point that is not decided once, in an order shuffled by the seed {}; the contenders of a point follow each other.",
            all.study.seed.0
        );
    }
    format!(
        "Each block holds {points} of every contender once, in an order shuffled by the seed {}, so that drift falls on all alike.",
        all.study.seed.0
    )
}

fn operations(sweep: &Sweep) -> &'static str {
    if sweep.collected {
        "What a connection does is a function of the seed of its trial, the workload and its own counter; trials have seeds of their own."
    } else {
        "Contenders get the same operations: what a connection does is a function of the seed, the workload and its own counter."
    }
}

/// How the load is applied, where it is not a closed loop of so many connections.
fn load(all: &Context<'_>) -> Vec<String> {
    let (sweep, mut out) = (&all.study.sweep, Vec::new());
    if !sweep.phases.is_empty() {
        out.push(format!(
            "The window has phases: {}. The warm-up has the load with which the first one begins. A transaction counts in the phase in \
             which it ends.",
            phases_text(&sweep.phases)
        ));
    }
    if sweep.is_open() {
        let starts = match sweep.arrivals {
            Arrivals::Poisson => "like those of independent users (a Poisson process)",
            Arrivals::Uniform => "evenly",
        };
        let most = match in_flight(all.study) {
            (least, most) if least < most => format!("{least} to {most} transactions, by workload, are"),
            (_, most) if most > 1 => format!("{} are", counted(most as usize, "transaction")),
            _ => "1 transaction is".to_owned(),
        };
        out.push(format!(
            "Transactions are due by a schedule, {starts}: a function of the seed, the workload, the point and the block, so that contenders \
             get the same one. At most {most} in flight; what is due meanwhile waits in a queue, and nothing is skipped."
        ));
        out.push(
            "Response time runs from the intended start. A transaction that was due and had not ended when the window closed counts with its \
             age then, which is less than what it took in the end."
                .to_owned(),
        );
    }
    out
}

fn prices(all: &Context<'_>) -> Vec<String> {
    let Some(bill) = all.comparison.bills.first() else { return Vec::new() };
    let snapshots = match all.study.price.volume_snapshots {
        SnapshotRule::Steady => "one full copy, and 30 times what the study says changes in a day",
        SnapshotRule::AwsCalculator => {
            "one full copy, and 30 increments of 3 GB at half a month each (the rule of the AWS Pricing Calculator)"
        }
    };
    vec![
        format!(
            "The cost of a month is the sum of the billed lines at {} hours; the total is {}; {}.",
            bill.hours_per_month,
            counted(bill.horizon_months as usize, "month"),
            rounding_text(bill.round)
        ),
        format!("Daily snapshots of volumes are billed as {snapshots}."),
        "Work per dollar is the ratio of throughputs times the inverse ratio of totals; prices have no error, so its interval is that of \
         the throughputs, scaled."
            .to_owned(),
        "What the bill does not name is not in the price.".to_owned(),
    ]
}

fn limits(all: &Context<'_>) -> Vec<String> {
    let mut out = vec![
        "The result holds for these workloads, data sizes, versions, settings and prices, and for no others.",
        "Intervals cover the variation between trials of this study, and neither other machines nor other days.",
        if all.study.sweep.is_open() {
            "The load is an open loop through one pool of connections: with more of them a target may do more, or less. Where it could not \
             keep the rate, response times are lower bounds and grow with the length of the window."
        } else {
            "The load is a closed loop: service times do not include the wait of users who would have arrived meanwhile."
        },
    ];
    if all.study.sweep.is_open() && all.records.iter().any(|r| r.agents.len() > 1) {
        out.push(
            "Each agent has a queue of its own: response times are higher than those of one client with as many connections.",
        );
    }
    if all.records.iter().any(|r| r.host.shared_with_server) {
        out.push("Where client and server share a machine, the client's own work is part of what is measured.");
    }
    if all.records.iter().any(|r| r.host.emulator.is_some()) {
        out.push("Emulated trials say that the software works. They say nothing about the speed of any hardware.");
    }
    out.into_iter().map(str::to_owned).collect()
}
