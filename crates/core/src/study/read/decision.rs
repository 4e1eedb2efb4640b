//! How a study decides: confidence, margin, and an objective of latency.

use crate::study::{Budget, Decision, Slo, Study, Until};
use crate::toml_reader::Section;
use crate::units::{MicroUsd, TEN_YEARS_NS, parse_duration_ns};

/// Blocks before the first look where the study does not say.
const LEAST: u32 = 3;

/// A time, or dollars after their sign.
fn read_budget(s: &Section<'_>) -> Option<Budget> {
    let text = s.text("budget")?.value;
    let read = match text.strip_prefix('$') {
        Some(digits) => MicroUsd::parse_usd(digits).map(Budget::Usd),
        None => parse_duration_ns(&text).map(Budget::Ns),
    };
    let read = read.and_then(|budget| match budget {
        Budget::Ns(ns) if ns > TEN_YEARS_NS => Err(format!("\"{text}\" is longer than ten years")),
        Budget::Usd(dollars) if dollars.0 <= 0 => Err(format!("\"{text}\" pays for nothing")),
        budget => Ok(budget),
    });
    let help = "write a time or dollars: `budget = \"2h\"`, `budget = \"$50\"`";
    read.map_err(|why| s.report("budget", format!("`decision.budget`: {why}"), help)).ok()
}

/// `until`, `least` and `budget`. The most blocks are those of the sweep, which is read later.
fn read_until(s: &Section<'_>, decision: &mut Decision) {
    let least = s.count("least", 2..=1_000);
    let budget = read_budget(s);
    match s.text("until").map(|until| until.value) {
        Some(until) if until == "decided" => {
            let least = least.unwrap_or(LEAST);
            decision.until = Some(Until { least, most: least, budget });
        }
        Some(until) => {
            s.report(
                "until",
                format!("`until` is \"{until}\""),
                "write `until = \"decided\"`, or leave it out: all `trials` are then run",
            );
        }
        None => {
            for key in ["least", "budget"].into_iter().filter(|key| s.has(key)) {
                s.report(
                    key,
                    format!("`{key}` is for trials that end when the verdicts are there"),
                    "write `until = \"decided\"` beside it",
                );
            }
        }
    }
}

/// Takes the most blocks from the trials of the study, once these are known.
pub(super) fn plan_looks(root: &Section<'_>, study: &mut Study) {
    let (sweep, measured) = (&study.sweep, study.published.is_none() && !study.imported);
    let (most, deployments) = (study.workloads.iter().map(|w| study.sweep_of(&w.name).trials).max(), sweep.deployments);
    let (Some(until), Some(section)) = (&mut study.decision.until, root.table("decision")) else { return };
    until.most = most.unwrap_or(until.least);
    let spends = study.price.snapshot.is_some() && !study.notional;
    if matches!(until.budget, Some(Budget::Usd(_))) && !spends {
        let why = if study.notional { "its trials run on other machines than it prices" } else { "the study prices nothing" };
        let help = "give a time, such as `budget = \"2h\"`, or name the prices of the machines that are used in `[price]`";
        section.report("budget", format!("`budget` is in dollars, and {why}"), help);
    }
    let rivals = study.contenders.iter().filter(|c| c.control_of.is_none()).count();
    if !measured {
        let help = "leave it out: these results have as many trials as they have";
        section.report("until", "`until` is for trials that perbuck runs", help);
    } else if rivals < 2 {
        section.report("until", "`until` needs two contenders: one alone has no verdict", "leave it out, or add a contender");
    } else if deployments > 1 {
        let help = "leave one of the two out: the deployments of a study are planned, and one of them says nothing of the next";
        section.report("until", format!("`until` goes with one deployment, and `sweep.deployments` is {deployments}"), help);
    } else if until.most <= until.least {
        let message = format!("`trials` is {}, and the first look is after {} blocks", until.most, until.least);
        let help =
            "give `sweep.trials` the most trials that you would pay for, such as 30; the study ends when the verdicts are there";
        section.report("until", message, help);
    }
}

pub(super) fn read_decision(s: &Section<'_>) -> Decision {
    let mut decision = Decision::default();
    decision.confidence = s.number("confidence", 0.5, 1.0).map_or(decision.confidence, |v| v.value);
    decision.margin = s.number("margin", 0.0, 1.0).map_or(decision.margin, |v| v.value);
    read_until(s, &mut decision);
    if let Some(slo) = s.table("slo") {
        let (percentile, at_most) = (slo.number("percentile", 0.0, 100.0), slo.duration_ns("at_most"));
        slo.finish();
        decision.slo = percentile.zip(at_most).map(|(p, ns)| Slo { percentile: p.value, at_most_ns: ns.value });
        if decision.slo.is_none() {
            let help = "write `slo = { percentile = 95, at_most = \"50ms\" }`";
            slo.report("percentile", "a latency objective needs `percentile` and `at_most`", help);
        }
    }
    s.finish();
    decision
}
