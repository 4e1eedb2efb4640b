//! Sample outputs of load generators against themselves, against what the article says of its runs, and against its tables.

use super::checks::{number, of_weight};
use super::{Check, Ground, Weight};
use crate::exact::Exact;
use crate::littles_law;
use crate::study::{Counts, Published, ResultRow, Sample, Told};

/// Counters, clock and printed rate of a program may be this far apart beside their roundings: they are not read at the same moment.
const RATE: f64 = 0.001;
/// A run may end this far from its declared length.
const LENGTH: f64 = 0.05;
/// Statements of a kind in a transaction may be this far from those of the script.
const PER_TRANSACTION: f64 = 0.005;
/// The shares of all kinds may differ from 1 by this, because of their roundings.
const SHARES: f64 = 0.01;
/// Standard deviations by which a drawn share may be off.
const DEVIATIONS: f64 = 5.0;

/// Rates and the counts and seconds that they must follow from.
const RATES: [(&str, &str, f64); 3] =
    [("count", "per_second", 1.0), ("count", "per_minute", 60.0), ("statements", "statements_per_second", 1.0)];

/// Samples that name no workload or contender of the study, with their lines.
pub(super) fn unknown_names(ground: &Ground<'_>) -> Vec<(usize, String)> {
    let study = ground.study;
    let one = |sample: &Sample| {
        let contender = sample.contender.as_ref().filter(|c| study.contender(c).is_none());
        let workload = Some(&sample.workload).filter(|w| study.workload(w).is_none());
        let wrong = workload.map(|w| ("workload", w)).or(contender.map(|c| ("contender", c)))?;
        Some((sample.line, format!("sample \"{}\": there is no {} `{}`", sample.name, wrong.0, wrong.1)))
    };
    study.audit.samples.iter().filter_map(one).collect()
}

/// All checks of all samples.
pub(super) fn of_samples(ground: &Ground<'_>) -> Vec<Check> {
    let mut out = Vec::new();
    for sample in &ground.study.audit.samples {
        for counts in [&sample.whole].into_iter().chain(&sample.kinds) {
            out.extend(RATES.iter().filter_map(|rate| of_rate(sample, counts, rate)));
            out.extend(of_mean(sample, counts));
            out.extend(of_order(sample, counts));
        }
        out.extend(busy(sample));
        out.extend(threads(sample));
        out.extend(length(sample));
        out.extend(total(sample));
        out.extend(mix(ground, sample));
        out.extend(read_share(sample));
        out.extend(kinds(sample));
        out.extend(row(ground, sample));
    }
    out
}

fn title_of(sample: &Sample, counts: &Counts) -> String {
    if counts.name.is_empty() { sample.name.clone() } else { format!("{}, {}", sample.name, counts.name) }
}

fn seconds<'s>(sample: &'s Sample, counts: &'s Counts) -> Option<&'s Told> {
    counts.get("seconds").or(sample.whole.get("seconds")).filter(|s| s.value > 0.0)
}

/// Count / seconds is the printed rate.
fn of_rate(sample: &Sample, counts: &Counts, (of, column, unit): &(&str, &str, f64)) -> Option<Check> {
    let (count, rate, seconds) = (counts.get(of)?, counts.get(column)?, seconds(sample, counts)?);
    let right = count.value / seconds.value * unit;
    let allowed = rate.unit + right * (RATE + seconds.unit / seconds.value);
    let title = title_of(sample, counts);
    let found = format!("{} in {} s are {right:.2}, printed as {}", count.text, seconds.text, rate.text);
    let how = "the count over the seconds is the printed rate, within 0.1 % and the printed digits";
    let text = format!("{} follows from {of} and seconds: {title}", column.replace('_', " "));
    Some(of_weight(Weight::Number, text, found, (right - rate.value).abs() <= allowed, how))
}

/// The sum of the latencies over the count is their mean.
fn of_mean(sample: &Sample, counts: &Counts) -> Option<Check> {
    let (sum, mean) = (counts.get("sum_ms")?, counts.get("mean_ms")?);
    let count = counts.get("count").filter(|c| c.value > 0.0)?;
    let right = sum.value / count.value;
    let text = format!("the mean is the sum over the count: {}", title_of(sample, counts));
    let found = format!("{} ms over {} are {right:.3} ms, printed as {}", sum.text, count.text, mean.text);
    // Some programs round the mean, others cut it off: up to a unit of its last digit is then missing.
    let (off, slack) = (right - mean.value, sum.unit / count.value);
    let holds = off >= -mean.unit / 2.0 - slack && off <= mean.unit + slack;
    Some(of_weight(Weight::Number, text, found, holds, "the sum of the latencies over the count is the mean, to its last digit"))
}

/// Percentiles rise, and the mean lies between the least and the greatest time.
fn of_order(sample: &Sample, counts: &Counts) -> Option<Check> {
    let keys = ["min_ms", "p50_ms", "p90_ms", "p95_ms", "p99_ms", "p999_ms", "max_ms"];
    let rising: Vec<&Told> = keys.iter().filter_map(|key| counts.get(key)).collect();
    if rising.len() < 2 {
        return None;
    }
    let sorted = rising.windows(2).all(|pair| pair[0].value <= pair[1].value);
    let mean = counts.get("mean_ms").map(|m| m.value);
    let above = counts.get("min_ms").zip(mean).is_none_or(|(min, mean)| min.value <= mean);
    let below = counts.get("max_ms").zip(mean).is_none_or(|(max, mean)| max.value >= mean);
    let list: Vec<&str> = rising.iter().map(|t| t.text.as_str()).collect();
    let text = format!("latencies are in order: {}", title_of(sample, counts));
    let how = "the least time, percentiles and the greatest time do not fall, and the mean lies between";
    Some(of_weight(Weight::Number, text, format!("{} ms", list.join(", ")), sorted && above && below, how))
}

/// Little's law: the time of all transactions over the time of the run is the number of connections.
fn busy(sample: &Sample) -> Option<Check> {
    let connections = f64::from(sample.connections?);
    let all: Vec<&Counts> = if sample.kinds.is_empty() { vec![&sample.whole] } else { sample.kinds.iter().collect() };
    let busy = |c: &&Counts| {
        let sum = c.get("sum_ms").map(|sum| sum.value).or(Some(c.get("count")?.value * c.get("mean_ms")?.value))?;
        Some(sum / 1000.0 / seconds(sample, c)?.value)
    };
    let busy: f64 = all.iter().map(busy).collect::<Option<Vec<f64>>>()?.iter().sum();
    let found = format!("{busy:.1} of {connections} connections are accounted for");
    let text = format!("Little's law: {}", sample.name);
    let how = "the sum of all latencies over the seconds is the number of connections, within 3 %; it cannot be more";
    Some(of_weight(Weight::Number, text, found, littles_law::holds(busy / connections), how))
}

/// What sysbench prints of its threads: the mean of their events and of their execution times.
fn threads(sample: &Sample) -> Vec<Check> {
    let Some(connections) = sample.connections else { return Vec::new() };
    let one = |(of, per_thread, unit): (&str, &str, f64)| {
        let (all, mean) = (sample.whole.get(of)?, sample.whole.get(per_thread)?);
        let right = all.value / unit / f64::from(connections);
        let found = format!("{right:.4} for each of {connections} connections, printed as {}", mean.text);
        let holds = (right - mean.value).abs() <= mean.unit + all.unit / unit / f64::from(connections);
        let text = format!("{} follows from the connections: {}", per_thread.replace('_', " "), sample.name);
        let how = "events, and the sum of their times, over the connections are the printed means of a thread";
        Some(of_weight(Weight::Number, text, found, holds, how))
    };
    [("count", "events_per_thread", 1.0), ("sum_ms", "seconds_per_thread", 1000.0)].into_iter().filter_map(one).collect()
}

/// The run took as long as the article says.
fn length(sample: &Sample) -> Option<Check> {
    let declared = sample.run_s?;
    let longest = [&sample.whole].into_iter().chain(&sample.kinds).filter_map(|c| c.get("seconds"));
    let took = longest.max_by(|a, b| a.value.total_cmp(&b.value))?;
    let holds = (took.value / declared - 1.0).abs() <= LENGTH;
    let found = format!("{} s, declared {declared} s", took.text);
    let sentence = format!("{} is of a run of {} s; the article says that a run takes {declared} s.", sample.name, took.text);
    let how = "the seconds of the output are the declared length, within 5 %";
    let text = format!("the run has the declared length: {}", sample.name);
    Some(Check { sentence, ..of_weight(Weight::Reproduction, text, found, holds, how) })
}

/// Reads, writes and others make up all statements.
fn total(sample: &Sample) -> Option<Check> {
    let parts = ["reads", "writes", "others"].map(|key| sample.whole.get(key));
    let all = sample.whole.get("statements")?;
    let sum: f64 = parts.iter().map(|part| part.map(|p| p.value)).sum::<Option<f64>>()?;
    let found = format!("{sum} statements of three kinds, printed as {}", all.text);
    let text = format!("statements add up: {}", sample.name);
    Some(of_weight(Weight::Number, text, found, (sum - all.value).abs() < 0.5, "reads, writes and others are all statements"))
}

/// Statements of each kind in a transaction, where the kind of workload knows them.
fn mix(ground: &Ground<'_>, sample: &Sample) -> Option<Check> {
    let workload = ground.study.workload(&sample.workload)?;
    let expected = (workload.known?.statement_mix)(&workload.parameters)?;
    let count = sample.whole.get("count").filter(|c| c.value > 0.0)?;
    let one = |key: &str| sample.whole.get(key).map(|told| told.value / count.value);
    let shares = [one("reads")?, one("writes")?, one("others")?];
    let holds = shares.iter().zip(expected).all(|(share, expected)| (share - expected).abs() <= expected * PER_TRANSACTION);
    let [reads, writes, others] = shares;
    let found = format!("{reads:.4} reads, {writes:.4} writes, {others:.4} others");
    let script = expected.map(|n| n.to_string()).join(", ");
    let sentence = format!(
        "{} has {found} in a transaction, where the script has {script}; writes that change no row may count as others.",
        sample.name
    );
    let how = "counts of statements over transactions are those of the script, within 0.5 %";
    let text = format!("reads, writes and others of a transaction are {script}: {}", sample.name);
    Some(Check { sentence, ..of_weight(Weight::Reproduction, text, found, holds, how) })
}

/// The share of reads that the article gives.
fn read_share(sample: &Sample) -> Option<Check> {
    let (declared, reads, writes) = (sample.read_share?, sample.whole.get("reads")?.value, sample.whole.get("writes")?.value);
    let share = reads / (reads + writes);
    if !share.is_finite() {
        return None;
    }
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    let found = format!("{} reads, where the article says {}", percent(share), percent(declared));
    let sentence =
        format!("{} has {} reads among reads and writes; the article says {}.", sample.name, percent(share), percent(declared));
    let how = "reads over reads and writes are the share that the article gives, within one point";
    let text = format!("the share of reads: {}", sample.name);
    Some(Check { sentence, ..of_weight(Weight::Number, text, found, (share - declared).abs() <= 0.01, how) })
}

/// Transactions of each kind have the share that the benchmark asks for.
fn kinds(sample: &Sample) -> Vec<Check> {
    let drawn: Vec<(&Counts, f64, f64)> =
        sample.kinds.iter().filter_map(|kind| Some((kind, kind.share?, kind.get("count")?.value))).collect();
    let all: f64 = drawn.iter().map(|(_, _, count)| count).sum();
    let shares: f64 = drawn.iter().map(|(_, share, _)| share).sum();
    let one = |(kind, share, count): &(&Counts, f64, f64)| {
        let text = format!("the share of {}: {}", kind.name, sample.name);
        let found = format!("{:.2} % of {all} transactions, asked for are {:.2} %", count / all * 100.0, share * 100.0);
        let allowed = DEVIATIONS * (share * (1.0 - share) / all).sqrt();
        let how = "the count of a kind over all transactions is its share, within five standard deviations of a draw";
        of_weight(Weight::Number, text, found, (count / all - share).abs() <= allowed, how)
    };
    // With a kind left out the counts are shares of something else.
    let complete = (shares - 1.0).abs() <= SHARES;
    if all > 0.0 && complete { drawn.iter().map(one).collect() } else { Vec::new() }
}

/// Columns of a table and what a sample output calls them.
const COLUMNS: [(&str, &str); 5] =
    [("tps", "per_second"), ("qps", "statements_per_second"), ("tpmc", "tpmc"), ("mean_ms", "mean_ms"), ("p95_ms", "p95_ms")];

/// One unit of the last digit of a column: a table may have fewer digits than an output.
fn unit_of(published: &Published, column: &str) -> f64 {
    let values = published.rows.iter().filter_map(|r| r.columns.get(column)).flatten();
    let decimals = |value: &Exact| value.full_text().split_once('.').map_or(0, |(_, decimals)| decimals.chars().count() as i32);
    0.1_f64.powi(values.map(decimals).max().unwrap_or(0))
}

/// The sample is one of the runs in the tables.
fn row(ground: &Ground<'_>, sample: &Sample) -> Option<Check> {
    let of_it = |r: &&ResultRow| {
        r.workload == sample.workload
            && Some(r.connections) == sample.connections
            && sample.contender.as_ref().is_none_or(|c| *c == r.contender)
    };
    let published = ground.study.published.as_ref()?;
    let rows: Vec<&ResultRow> = published.rows.iter().filter(of_it).collect();
    let shared = |r: &ResultRow| -> Vec<(&str, &Told, f64)> {
        COLUMNS.iter().filter_map(|(column, key)| Some((*column, sample.whole.get(key)?, number(r, column)?))).collect()
    };
    let first = shared(rows.first()?);
    let (column, told, _) = first.first()?;
    let same = |r: &&ResultRow| {
        shared(r)
            .iter()
            .all(|(column, told, value)| (told.value - value).abs() <= told.unit.max(unit_of(published, column)) * 0.5 + 1e-9)
    };
    let holds = rows.iter().any(same);
    let list: Vec<String> = rows.iter().filter_map(|r| Some(format!("{} ({})", number(r, column)?, r.contender))).collect();
    let connections = sample.connections?;
    let found = format!("{column} {} at {connections} connections, in the table {}", told.text, list.join(" and "));
    let sentence = format!(
        "{} shows {column} {} at {connections} connections, and the table {}: it is of another run.",
        sample.name,
        told.text,
        list.join(" and ")
    );
    let text = format!("the sample output is of a run in the table: {}", sample.name);
    let how = "the numbers of the output are those of a row of its workload and connections";
    Some(Check { sentence, ..of_weight(Weight::Reproduction, text, found, holds, how) })
}
