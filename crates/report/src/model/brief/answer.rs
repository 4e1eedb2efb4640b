//! The question answered in one sentence, in the words of the study.

use perbuck_core::compare::{ContenderResult, Judgement, Verdict, Why, WorkloadResult};
use perbuck_core::stats::Design;
use perbuck_core::units::MicroUsd;

use crate::document::{Answer, Tone};
use crate::escape::clean;
use crate::model::verdicts::{interval_words, priced, rivals, tone, value_cell, work_per_dollar};
use crate::model::{Context, interference, summary_text};
use crate::number::{between, counted, delta_decimals, fixed, list, or_absent, percent, ratio};

/// Rivals that one sentence names.
const NAMED: usize = 4;

/// What stands for a rival over the whole study: its ratio in each region, or its ratio of throughputs.
struct Headline<'a> {
    contender: &'a str,
    /// Regions of the prices; empty where throughputs are compared.
    judged: Vec<(&'a str, &'a Judgement)>,
}

/// One for each rival; empty where no number stands for all workloads.
fn headlines<'a>(all: &'a Context<'_>) -> Vec<Headline<'a>> {
    let c = all.comparison;
    let of = |contender: &'a str, prices: Vec<(&'a str, &'a Judgement)>, throughput: Option<&'a Judgement>| {
        let judged = if prices.is_empty() { throughput.map(|j| ("", j)).into_iter().collect() } else { prices };
        (!judged.is_empty()).then_some(Headline { contender, judged })
    };
    if let [_] = c.workloads.as_slice() {
        let one = |(_, c): (_, &'a ContenderResult)| {
            let prices = priced(all, c).map(|(p, j)| (p.region.as_str(), j)).collect();
            of(&c.contender, prices, c.throughput.as_ref())
        };
        return rivals(all).filter_map(one).collect();
    }
    let one = |o: &'a perbuck_core::compare::Overall| {
        let headline = o.price.iter().filter(|p| all.is_headline(&p.region));
        of(&o.contender, headline.map(|p| (p.region.as_str(), &p.value_for_money)).collect(), Some(&o.throughput))
    };
    c.overall.iter().filter_map(one).collect()
}

/// The answer of the whole study.
pub(super) fn answer(all: &Context<'_>, parts: &[Answer]) -> Answer {
    let mut found = headlines(all);
    match found.as_slice() {
        [one] => against(all, one),
        [] => without(all, parts),
        [..] => {
            found.sort_by(|a, b| b.judged[0].1.ratio.value.total_cmp(&a.judged[0].1.ratio.value));
            among(all, &found)
        }
    }
}

/// The number of a rival as a share of the baseline's: `the work per dollar of x86 over 4 workloads`.
fn measure(all: &Context<'_>, region: &str) -> String {
    match (region.is_empty(), all.study.notional) {
        (false, _) => work_per_dollar(all).to_owned(),
        (true, true) => "notional throughput".to_owned(),
        (true, false) => "throughput".to_owned(),
    }
}

fn over(all: &Context<'_>) -> String {
    let n = all.comparison.workloads.len();
    if n > 1 { format!(" over {n} workloads") } else { String::new() }
}

fn in_region(region: &str, of: usize) -> String {
    if of > 1 { format!(" in {}", clean(region)) } else { String::new() }
}

/// One rival against the baseline.
fn against(all: &Context<'_>, h: &Headline<'_>) -> Answer {
    let (label, base) = (all.label(h.contender), all.base_label());
    let (region, first) = h.judged[0];
    let (what, over, cost) = (measure(all, region), over(all), cheaper(all, h));
    let single = matches!(first.verdict, Verdict::Undecided { why: Why::SingleValue });
    let number = |j: &Judgement| if single { ratio(&j.ratio) } else { format!("{} ({})", ratio(&j.ratio), between(&j.ratio)) };
    let regions = h.judged.len();
    let rest: Vec<String> = h.judged[1..].iter().map(|(r, j)| format!("{}{}", number(j), in_region(r, regions))).collect();
    let rest = if rest.is_empty() { String::new() } else { format!(" and {}", list(&rest)) };
    let here = in_region(region, regions);
    let text = if single {
        let gives = match &cost {
            Some(cost) => format!("{label} costs {cost} than {base} and gives {} its {what}{over}", ratio(&first.ratio)),
            None => format!("{label} gives {} the {what} of {base}{over}", ratio(&first.ratio)),
        };
        format!("{gives}{here}{rest}, by the published values; they have no interval.")
    } else {
        let cost = cost.map(|cost| format!(", and costs {cost}")).unwrap_or_default();
        let (ratio, bounds, verdict) = (ratio(&first.ratio), interval_words(all, first), first.verdict.text());
        format!("{label} gives {ratio} the {what} of {base}{over}{here} ({bounds}){rest}{cost}: {verdict}.")
    };
    Answer { text, tone: tone(first.verdict) }
}

/// Several rivals, the one with the highest ratio first. Nothing is said of one against another: no interval covers that.
fn among(all: &Context<'_>, found: &[Headline<'_>]) -> Answer {
    let (region, first) = found[0].judged[0];
    let confidence = percent(all.comparison.printed_confidence());
    let known = found.iter().all(|h| h.judged[0].1.ratio.interval.is_some());
    let one = |h: &Headline<'_>| {
        let j = h.judged[0].1;
        let bounds = if known { format!(" ({}, {})", between(&j.ratio), j.verdict.word()) } else { String::new() };
        format!("{} {}{bounds}", all.label(h.contender), ratio(&j.ratio))
    };
    let mut named: Vec<String> = found.iter().take(NAMED).map(one).collect();
    if let Some(next) = found.get(NAMED) {
        named.push(format!("{} at most {}", counted(found.len() - NAMED, "other"), ratio(&next.judged[0].1.ratio)));
    }
    let (what, base, over, here) = (measure(all, region), all.base_label(), over(all), in_region(region, found[0].judged.len()));
    let ends = match (known, first.verdict) {
        (true, _) => format!("; intervals of {confidence}"),
        (false, Verdict::Undecided { why: Why::SingleValue }) => ", by the published values; they have no interval".to_owned(),
        (false, verdict) => format!("; {}", verdict.text()),
    };
    Answer { text: format!("Of the {what} of {base}{over}{here}: {}{ends}.", list(&named)), tone: tone(first.verdict) }
}

/// What can be said where no ratio stands for the study.
fn without(all: &Context<'_>, parts: &[Answer]) -> Answer {
    let c = all.comparison;
    if all.study.contenders.len() == 1 && c.found > 0 {
        let text = parts.iter().map(|p| p.text.trim_end_matches('.')).collect::<Vec<_>>().join("; ") + ".";
        return Answer { text, tone: Tone::Plain };
    }
    let costs: Vec<String> = others(all)
        .filter_map(|name| Some((name, cheaper_than_base(all, name)?)))
        .map(|(name, cost)| format!("{} costs {cost} than {}", all.label(name), all.base_label()))
        .collect();
    let why = match (c.found, costs.is_empty()) {
        (0, true) => "Nothing was measured",
        (0, false) => "Nothing was measured; by the price list ",
        (_, true) => "The contenders cannot be compared over all workloads, because a point has no trial",
        (_, false) => "The contenders cannot be compared over all workloads, because a point has no trial; by the price list ",
    };
    Answer { text: format!("{why}{}.", list(&costs)), tone: Tone::Undecided }
}

fn others<'a>(all: &'a Context<'_>) -> impl Iterator<Item = &'a str> {
    let other = |name: &&str| !all.is_base(name) && !all.is_control(name);
    all.study.contenders.iter().map(|c| c.name.as_str()).filter(other)
}

/// `15.7 % less`, `15.5 to 15.8 % less` where regions differ; `None` where nothing is priced or the bills are equal.
fn cheaper(all: &Context<'_>, h: &Headline<'_>) -> Option<String> {
    let shares: Vec<(&str, f64)> =
        h.judged.iter().filter_map(|(region, _)| Some((*region, share(all, h.contender, region)?))).collect();
    let decimals = delta_decimals(shares.iter().map(|s| s.1));
    let (low, high) = (shares.iter().map(|s| s.1).reduce(f64::min)?, shares.iter().map(|s| s.1).reduce(f64::max)?);
    let number = |share: f64| fixed(share.abs() * 100.0, decimals);
    let (near, far) = if low > 0.0 { (low, high) } else { (high, low) };
    match () {
        () if low == 0.0 && high == 0.0 => None,
        // Dearer here and cheaper there.
        () if low * high <= 0.0 => {
            let each = shares.iter().map(|(region, share)| less(*share, decimals) + &in_region(region, 2));
            Some(list(&each.collect::<Vec<_>>()))
        }
        () if number(near) == number(far) => Some(less(far, decimals)),
        () => Some(format!("{} to {}", number(near), less(far, decimals))),
    }
}

/// The same of the first region that the study pays in.
fn cheaper_than_base(all: &Context<'_>, contender: &str) -> Option<String> {
    let region = all.regions().into_iter().find(|r| all.is_headline(r))?;
    let share = share(all, contender, region).filter(|s| *s != 0.0)?;
    Some(less(share, delta_decimals([share])))
}

/// (contender − baseline) / baseline of the totals in a region.
fn share(all: &Context<'_>, contender: &str, region: &str) -> Option<f64> {
    let total = |name: &str| {
        let bill = all.comparison.bills.iter().find(|b| b.contender == name && b.region == region);
        bill.map(perbuck_core::bill::Bill::horizon_total).filter(|t| *t > MicroUsd(0))
    };
    let (mine, base) = (total(contender)?.0, total(&all.comparison.baseline)?.0);
    Some((mine - base) as f64 / base as f64)
}

fn less(share: f64, decimals: usize) -> String {
    let direction = if share > 0.0 { "more" } else { "less" };
    format!("{} % {direction}", fixed(share.abs() * 100.0, decimals))
}

/// What belongs to the answer: what queries beside a load did to it, and what holds over all workloads.
pub(super) fn remarks(all: &Context<'_>) -> Vec<String> {
    interference::kept(all).into_iter().chain(over_workloads(all)).collect()
}

/// How the workloads fared, and why the overall interval is narrow.
fn over_workloads(all: &Context<'_>) -> Vec<String> {
    let found = headlines(all);
    let ([one], false) = (found.as_slice(), all.comparison.overall.is_empty()) else { return Vec::new() };
    let (region, overall) = one.judged[0];
    let mine = rivals(all).filter(|(_, c)| c.contender == one.contender);
    let part = |c: &'_ ContenderResult| -> Option<Judgement> {
        if region.is_empty() {
            return c.throughput.clone();
        }
        c.price.iter().find(|p| p.region == region)?.value_for_money.clone()
    };
    let parts: Vec<Judgement> = mine.filter_map(|(_, c)| part(c)).collect();
    let counts = ["better", "equivalent", "undecided", "worse"]
        .map(|word| (word, parts.iter().filter(|j| j.verdict.word() == word).count()));
    let mut out = Vec::new();
    if parts.iter().any(|j| j.ratio.interval.is_some()) {
        let each = counts.iter().filter(|(_, n)| *n > 0).map(|(word, n)| format!("{word} on {n}")).collect::<Vec<_>>();
        out.push(format!("By workload: {} of {}.", list(&each), parts.len()));
    }
    let width = |j: &Judgement| j.ratio.interval.map(|i| (i.high / i.low).ln());
    let narrowest = parts.iter().filter_map(width).reduce(f64::min);
    if width(overall).zip(narrowest).is_some_and(|(all, part)| all < part) {
        let why = match all.comparison.layout.design {
            Design::Blocks => "the workloads of a block share what disturbs it, and the rest of their errors averages out",
            Design::Independent => "the errors of the workloads are independent and average out",
        };
        out.push(format!("The interval over all is narrower than that of any workload: {why}."));
    }
    out
}

/// One sentence for each workload and contender.
pub(super) fn parts(all: &Context<'_>) -> Vec<Answer> {
    if all.study.contenders.len() == 1 {
        return all
            .comparison
            .workloads
            .iter()
            .filter(|w| w.contenders.iter().any(|c| c.value.is_some()))
            .map(|w| alone(all, w))
            .collect();
    }
    rivals(all).map(|(w, c)| part(all, w, c)).collect()
}

/// What can be said of a workload that only one contender ran.
fn alone(all: &Context<'_>, w: &WorkloadResult) -> Answer {
    let value = or_absent(w.contenders.first().map(|c| value_cell(w, c).line()));
    let text = format!("{}: {} alone, {value} ({})", clean(&w.workload), all.base_label(), summary_text(&w.summary, all.words()));
    Answer { text: text + ".", tone: Tone::Plain }
}

fn part(all: &Context<'_>, w: &WorkloadResult, c: &ContenderResult) -> Answer {
    let (label, base, workload) = (all.label(&c.contender), all.base_label(), clean(&w.workload));
    let priced: Vec<(&str, &Judgement)> = priced(all, c).map(|(p, j)| (p.region.as_str(), j)).collect();
    let judged = |what: &str, j: &Judgement| match j.verdict {
        // The answer says what that means.
        Verdict::Undecided { why: Why::SingleValue } => format!("{} {what}", ratio(&j.ratio)),
        verdict => format!("{} {what} ({}): {}", ratio(&j.ratio), interval_words(all, j), verdict.text()),
    };
    let Some((region, first)) = priced.first().copied().or(c.throughput.as_ref().map(|j| ("", j))) else {
        let text = format!("{workload}: {label} and {base} cannot be compared, because a point of one has no trial.");
        return Answer { text, tone: Tone::Undecided };
    };
    let what = format!("the {} of {base}{}", measure(all, region), in_region(region, priced.len()));
    let elsewhere = priced.iter().skip(1).map(|(region, j)| format!("; {}", judged(&format!("in {}", clean(region)), j)));
    let text = format!("{workload}: {label} gives {}{}.", judged(&what, first), elsewhere.collect::<String>());
    Answer { text, tone: tone(first.verdict) }
}
