//! What a formula may ask of the study, its bills and its price lists.

use super::{Ground, Span};
use crate::bill::{Bill, BillLine};
use crate::exact::Exact;
use crate::problem::nearest;
use crate::study::Summary;
use crate::units::MicroUsd;

/// What only a price list knows; `None` of what it does not.
pub trait Facts {
    /// Virtual CPUs of a machine type.
    fn vcpu(&self, _instance: &str) -> Option<u32> {
        None
    }
    /// Memory of a machine type in GiB, as a decimal number.
    fn memory_gib(&self, _instance: &str) -> Option<String> {
        None
    }
    /// On-demand price of an hour of a machine in a region.
    fn usd_per_hour(&self, _instance: &str, _region: &str) -> Option<MicroUsd> {
        None
    }
    /// Price of a capacity unit of a kind of volume for a month in a region.
    fn usd_per_gb_month(&self, _kind: &str, _region: &str) -> Option<MicroUsd> {
        None
    }
    /// Network of a machine type for as long as one likes, in Mbit/s.
    fn network_mbit_s(&self, _instance: &str) -> Option<u32> {
        None
    }
    /// All volumes of a machine type together, in Mbit/s: for as long as one likes, and the most while credit lasts.
    fn volume_mbit_s(&self, _instance: &str) -> Option<(u32, u32)> {
        None
    }
    /// MiB/s that a volume of that kind and size has without buying any, its burst apart.
    fn volume_mib_s(&self, _kind: &str, _size_gb: u32) -> Option<u32> {
        None
    }
    /// The date from which a product was there: a machine type, a kind of volume, or a program with its version.
    fn released(&self, _product: &str) -> Option<String> {
        None
    }
    /// IOPS that a volume of that kind and size has without buying any, its burst apart.
    fn volume_iops(&self, _kind: &str, _size_gb: u32) -> Option<u32> {
        None
    }
}

/// The functions with their arguments, as messages show them.
const KNOWN: [(&str, &str); 16] = [
    ("sum", "sum(a, b, …)"),
    ("mean", "mean(a, b, …)"),
    ("min", "min(a, b, …)"),
    ("max", "max(a, b, …)"),
    ("percent", "percent(share)"),
    ("result", "result('workload', 'contender', connections) or with a 'column' as the last argument"),
    ("summary", "summary('workload', 'contender')"),
    ("bill", "bill('contender', 'region') or with words of its lines as further arguments: 'compute', 'tikv', 'gp2'"),
    ("vcpu", "vcpu('instance')"),
    ("memory_gib", "memory_gib('instance')"),
    ("usd_per_hour", "usd_per_hour('instance', 'region')"),
    ("volume_iops", "volume_iops('kind', size_gb)"),
    ("volume_mib_s", "volume_mib_s('kind', size_gb)"),
    ("network_mbit_s", "network_mbit_s('instance')"),
    ("volume_mbit_s", "volume_mbit_s('instance')"),
    ("volume_burst_mbit_s", "volume_burst_mbit_s('instance')"),
];

/// Those that have no arguments, or that messages need not show.
const OTHERS: [&str; 3] = ["hours", "months", "usd_per_gb_month"];

pub(super) fn is_known(function: &str) -> bool {
    OTHERS.contains(&function) || KNOWN.iter().any(|(name, _)| *name == function)
}

/// Whether a function reads a price list, or a bill made of one.
pub(super) fn is_of_price_lists(function: &str) -> bool {
    const OTHER: [&str; 9] = ["sum", "mean", "min", "max", "percent", "result", "summary", "hours", "months"];
    is_known(function) && !OTHER.contains(&function)
}

/// Whether a formula has no value because the article does not show a number of its point.
pub(super) fn is_not_shown(why: &str) -> bool {
    why.starts_with(NO_RESULT) || why.contains(" connections has no `")
}

/// How the message of a point begins that the article does not show.
const NO_RESULT: &str = "there is no result of ";

pub(super) fn look_up(ground: &Ground<'_>, function: &str, words: &[&str]) -> Result<Span, String> {
    let fact = |value: Option<Exact>| {
        value
            .map(Span::point)
            .ok_or_else(|| format!("the price lists of the study do not know `{function}` of {}", words.join(", ")))
    };
    let whole = |number: Option<u32>| fact(number.map(|n| Exact::whole(n.into())));
    let usd = |price: Option<MicroUsd>| fact(price.map(exact_usd));
    match (function, words) {
        ("hours", []) => Ok(Span::point(Exact::whole(ground.study.price.hours_per_month.into()))),
        ("months", []) => Ok(Span::point(Exact::whole(ground.study.price.horizon_months.into()))),
        ("result", [workload, contender, level]) => result(ground, workload, contender, level, None),
        ("result", [workload, contender, level, column]) => result(ground, workload, contender, level, Some(column)),
        ("summary", [workload, contender]) => summary(ground, workload, contender),
        ("bill", [contender, region, lines @ ..]) => bill(ground, contender, region, lines).map(Span::point),
        ("vcpu", [instance]) => whole(ground.facts.vcpu(instance)),
        ("memory_gib", [instance]) => {
            fact(ground.facts.memory_gib(instance).and_then(|text| Exact::parse(&text).ok()).map(|(value, _)| value))
        }
        ("usd_per_hour", [instance, region]) => usd(ground.facts.usd_per_hour(instance, region)),
        ("usd_per_gb_month", [kind, region]) => usd(ground.facts.usd_per_gb_month(kind, region)),
        ("network_mbit_s", [instance]) => whole(ground.facts.network_mbit_s(instance)),
        ("volume_mbit_s", [instance]) => whole(ground.facts.volume_mbit_s(instance).map(|(steady, _)| steady)),
        ("volume_burst_mbit_s", [instance]) => whole(ground.facts.volume_mbit_s(instance).map(|(_, burst)| burst)),
        ("volume_iops" | "volume_mib_s", [kind, size]) => {
            let size = size.parse().map_err(|_| format!("`{function}` takes a whole number of GB, not `{size}`"))?;
            let facts = ground.facts;
            whole(if function == "volume_iops" { facts.volume_iops(kind, size) } else { facts.volume_mib_s(kind, size) })
        }
        _ => Err(match KNOWN.iter().find(|(name, _)| *name == function) {
            Some((_, usage)) => format!("`{function}` is used as {usage}"),
            None => no_such("function", function, KNOWN.iter().map(|(name, _)| *name).chain(OTHERS)),
        }),
    }
}

pub(super) fn exact_usd(amount: MicroUsd) -> Exact {
    // A denominator of a million is never zero.
    Exact::fraction(amount.0.into(), 1_000_000).unwrap_or(Exact::ZERO)
}

fn result(ground: &Ground<'_>, workload: &str, contender: &str, level: &str, column: Option<&str>) -> Result<Span, String> {
    let study = ground.study;
    if study.workload(workload).is_none() {
        return Err(no_such("workload", workload, study.workloads.iter().map(|w| w.name.as_str())));
    }
    if study.contender(contender).is_none() {
        return Err(no_such("contender", contender, study.contenders.iter().map(|c| c.name.as_str())));
    }
    let column = column.unwrap_or_else(|| study.metric_of(workload).name.as_ref());
    let published = study.published.as_ref().ok_or("the study has no `[results]`")?;
    let row = level.parse().ok().and_then(|level| published.row(workload, contender, level));
    let Some(row) = row else {
        return Err(format!("{NO_RESULT}{workload}, {contender} at {level} connections"));
    };
    match row.mean(column) {
        Some(value) => Span::around(value?, row.error),
        None => {
            let have: Vec<&str> = row.columns.keys().map(String::as_str).collect();
            Err(format!("{workload}, {contender} at {level} connections has no `{column}`; it has {}", have.join(", ")))
        }
    }
}

/// The number of a workload that stands for a contender, from raw numbers.
fn summary(ground: &Ground<'_>, workload: &str, contender: &str) -> Result<Span, String> {
    let at = |level: &u32| result(ground, workload, contender, &level.to_string(), None);
    let levels = match ground.study.summary_of(workload) {
        Summary::MeanOver(levels) => {
            let all: Vec<Span> = levels.iter().map(at).collect::<Result<_, _>>()?;
            let count = Exact::whole(all.len() as i128);
            let mean = |pick: fn(&Span) -> Exact| all.iter().try_fold(Exact::ZERO, |sum, s| sum.plus(pick(s)))?.over(count);
            return Ok(Span { low: mean(|s| s.low)?, value: mean(|s| s.value)?, high: mean(|s| s.high)? });
        }
        Summary::Peak => ground.study.published.as_ref().map(|p| p.levels(workload)).unwrap_or_default(),
    };
    let shown = levels.iter().filter_map(|l| at(l).ok());
    let highest = |a: Span, b: Span| Span { low: a.low.max(b.low), value: a.value.max(b.value), high: a.high.max(b.high) };
    shown.reduce(highest).ok_or_else(|| format!("{workload} has no result of {contender}"))
}

/// The exact sum of the billed lines of a month that each of the words names: by group, role, or what is bought.
fn bill(ground: &Ground<'_>, contender: &str, region: &str, lines: &[&str]) -> Result<Exact, String> {
    let here = |b: &&Bill| b.contender == contender && (b.region == region || b.own_region.as_deref() == Some(region));
    let Some(bill) = ground.bills.iter().find(here) else {
        let known: Vec<String> = ground.bills.iter().map(|b| format!("{} in {}", b.contender, b.region)).collect();
        let known =
            if known.is_empty() { "the study prices nothing".to_owned() } else { format!("there are {}", known.join(", ")) };
        return Err(format!("there is no bill of {contender} in {region}; {known}"));
    };
    let named = |l: &&BillLine, word: &str| [l.group.label(), l.item.as_str(), l.sku.as_str()].contains(&word);
    let wanted: Vec<&BillLine> = bill.lines.iter().filter(|l| l.priced && lines.iter().all(|w| named(l, w))).collect();
    if wanted.is_empty() {
        return Err(format!("the bill of {contender} in {region} has no billed line of {}", lines.join(", ")));
    }
    wanted.iter().try_fold(Exact::ZERO, |sum, l| sum.plus(exact_usd(l.monthly)))
}

fn no_such<'n>(what: &str, name: &str, known: impl Iterator<Item = &'n str> + Clone) -> String {
    let near = nearest(name, known.clone()).map(|n| format!("did you mean `{n}`? ")).unwrap_or_default();
    format!("there is no {what} `{name}`; {near}there are {}", known.collect::<Vec<_>>().join(", "))
}
