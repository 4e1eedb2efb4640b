//! What bound the throughput of a point, from what was seen of the machines, the flags of trials and the server's counters.
//!
//! A limit is named where it is full, not where it may be one. Thresholds are ours; each says what it is the threshold of.

use super::sampled::{Mean, Sampled};
use super::server::Metered;
use super::stores;
use super::{Bound, BoundBy, Explained};
use crate::run_record::{Flag, RunRecord};
use crate::units::total;

/// Percent of a processor that is full. A kernel's clock ticks and a window's edges leave some.
const FULL: f64 = 90.0;
/// Percent of a full processor that interrupts have, where they are what fills it.
const OF_INTERRUPTS: f64 = 50.0;
/// Percent of the others up to which work is uneven.
const UNEVEN: f64 = 70.0;
/// The share of time in which a disk had something to do; many disks take more in parallel then, so it needs a queue, too.
const DISK_BUSY: f64 = 0.9;
/// Requests at a disk in the mean that are a queue.
const QUEUE: f64 = 4.0;
/// The share of time in which some task waited for a disk (PSI).
const IO_WAITING: f64 = 0.5;
/// The share of time in which some task waited for memory (PSI), and pages a second to and from swap.
const MEMORY_WAITING: f64 = 0.05;
const SWAPPED_PER_S: f64 = 10.0;
/// The share of packets that devices or the kernel dropped.
const DROPPED: f64 = 0.001;
/// The share of the connections' time for which row locks were waited for.
const LOCKED: f64 = 0.2;
/// The share of the periods of a CPU limit in which it stopped the server.
const THROTTLED: f64 = 0.05;
/// Processors of which others than perbuck and its server had more are named.
const OTHERS: f64 = 0.1;

/// All that bound it.
pub(super) fn bounds(trials: &[&RunRecord], of: &Explained) -> Vec<Bound> {
    let mut found = Vec::new();
    for sampled in Sampled::of(trials) {
        found.extend(processors(&sampled, &known(&sampled, trials, of)));
        found.extend(disks(&sampled));
        found.extend(memory(&sampled));
        found.extend(dropped(&sampled));
    }
    found.extend(stopped(trials));
    match Metered::of(trials) {
        Some(metered) => {
            found.extend(metered.bounds());
            found.extend(stores::unbalanced(&metered));
        }
        None => found.extend(locks(trials)),
    }
    found.extend(flagged(trials));
    found.sort_by_key(|bound| bound.by);
    found
}

fn bound(by: BoundBy, text: String) -> Bound {
    Bound { by, text }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

/// `0 and 8`, `0, 3 and 8`.
fn listed(all: &[usize]) -> String {
    let words: Vec<String> = all.iter().map(usize::to_string).collect();
    match words.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => words.concat(),
    }
}

/// Who is known to use processors of a machine, and how many of them. Of agents only their own process is known.
fn known(sampled: &Sampled<'_>, trials: &[&RunRecord], of: &Explained) -> Vec<(&'static str, f64)> {
    let used = |side: Option<super::ProcessorUse>| side.map(|u| u.utilisation * f64::from(u.processors));
    let has_server = sampled.is_servers() || trials.iter().all(|r| r.host.shared_with_server && r.agents.is_empty());
    let server = used(of.server).filter(|_| has_server).map(|n| ("the server", n));
    let client = used(of.client).filter(|_| !sampled.is_servers()).map(|n| ("perbuck", n));
    server.into_iter().chain(client).collect()
}

/// Processors that are full: all, or some while others are not.
fn processors(sampled: &Sampled<'_>, known: &[(&str, f64)]) -> Option<Bound> {
    let all = sampled.processors();
    let mean = |list: &[&Mean], part: fn(&Mean) -> f64| list.iter().map(|m| part(m)).sum::<f64>() / list.len().max(1) as f64;
    let everyone: Vec<&Mean> = all.iter().collect();
    let whole = mean(&everyone, |m| m.busy);
    if all.is_empty() {
        return None;
    }
    // Where no program is known, there are no others either.
    let others = whole / 100.0 * all.len() as f64 - known.iter().map(|(_, n)| n).sum::<f64>();
    let others = Some(others).filter(|n| *n > OTHERS && !known.is_empty());
    if whole >= FULL {
        return Some(bound(BoundBy::Processors, full(sampled, (all.len(), whole), known, others)));
    }
    let full: Vec<usize> = (0..all.len()).filter(|i| all[*i].busy >= FULL).collect();
    let rest: Vec<&Mean> = all.iter().filter(|m| m.busy < FULL).collect();
    let rest = mean(&rest, |m| m.busy);
    if full.is_empty() || rest > UNEVEN {
        return None;
    }
    let these: Vec<&Mean> = full.iter().map(|i| &all[*i]).collect();
    let (busy, interrupts) = (mean(&these, |m| m.busy), mean(&these, |m| m.interrupts));
    let (which, is) = if full.len() == 1 { ("processor", "is") } else { ("processors", "are") };
    let (names, of) = (listed(&full), &sampled.machine);
    if interrupts >= OF_INTERRUPTS {
        let text = format!(
            "{which} {names} of {of} {is} full of interrupts ({interrupts:.0} % of their time), while the others work {rest:.0} %"
        );
        return Some(bound(BoundBy::Interrupts, text));
    }
    let others = others.map(|n| format!("; programs other than {} had {n:.2} processors", of_known(known))).unwrap_or_default();
    let text = format!("{which} {names} of {of} {is} full ({busy:.0} %), while the others work {rest:.0} %{others}");
    Some(bound(BoundBy::OneProcessor, text))
}

/// `the server and perbuck`.
fn of_known(known: &[(&str, f64)]) -> String {
    known.iter().map(|(who, _)| *who).collect::<Vec<_>>().join(" and ")
}

/// Who has the processors of a machine that is full.
fn full(sampled: &Sampled<'_>, (count, whole): (usize, f64), known: &[(&str, f64)], others: Option<f64>) -> String {
    let mut parts: Vec<String> = known.iter().map(|(who, n)| format!("{who} {n:.2}")).collect();
    parts.extend(others.map(|n| format!("others, the kernel's interrupts among them, {n:.2}")));
    let machine = if count == 1 { "the processor".to_owned() } else { format!("all {count} processors") };
    let whose = if parts.is_empty() { String::new() } else { format!(": {} of them", parts.join(", ")) };
    format!("{machine} of {} worked {whole:.0} % of the time{whose}", sampled.machine)
}

/// Disks that were full, or waited for.
fn disks(sampled: &Sampled<'_>) -> Option<Bound> {
    let of = |what: &str| sampled.by(&format!("node_disk_{what}_total"), "device");
    let (busy, queues) = (of("io_time_seconds"), of("io_time_weighted_seconds"));
    let waiting = sampled.sum("node_pressure_io_waiting_seconds_total").map(|s| s / sampled.seconds);
    let (disk, busy) = busy.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let (busy, queue) = (busy / sampled.seconds, queues.get(disk).copied().unwrap_or(0.0) / sampled.seconds);
    let is_full = busy >= DISK_BUSY && queue >= QUEUE;
    if !is_full && waiting.is_none_or(|share| share < IO_WAITING) {
        return None;
    }
    let each = |done: &str, time: &str| {
        let (n, s) = (of(done).get(disk).copied().unwrap_or(0.0), of(time).get(disk).copied().unwrap_or(0.0));
        (n > 0.0).then(|| (n / sampled.seconds, 1e3 * s / n))
    };
    let mut text =
        format!("disk {disk} of {} had work {} of the time, {queue:.1} requests at once", sampled.machine, percent(busy));
    for (what, done) in [
        ("reads", each("reads_completed", "read_time_seconds")),
        ("writes", each("writes_completed", "write_time_seconds")),
        ("flushes", each("flush_requests", "flush_requests_time_seconds")),
    ] {
        if let Some((rate, ms)) = done {
            text.push_str(&format!("; {rate:.0} {what} a second of {ms:.1} ms"));
        }
    }
    if let Some(share) = waiting {
        text.push_str(&format!("; a program waited for it {} of the time", percent(share)));
    }
    Some(bound(BoundBy::Disk, text))
}

fn memory(sampled: &Sampled<'_>) -> Option<Bound> {
    let each = |family: &str| sampled.sum(family).unwrap_or(0.0) / sampled.seconds;
    let waiting = each("node_pressure_memory_waiting_seconds_total");
    let swapped = each("node_vmstat_pswpin_total") + each("node_vmstat_pswpout_total");
    (waiting >= MEMORY_WAITING || swapped >= SWAPPED_PER_S).then(|| {
        let text = format!(
            "memory of {} is short: programs waited for it {} of the time, {swapped:.0} pages a second swapped",
            sampled.machine,
            percent(waiting)
        );
        bound(BoundBy::Memory, text)
    })
}

/// Packets that the kernel dropped because it came too late.
fn dropped(sampled: &Sampled<'_>) -> Option<Bound> {
    let (taken, dropped) = (sampled.sum("node_softnet_processed_total")?, sampled.sum("node_softnet_dropped_total")?);
    let share = dropped / taken;
    (share >= DROPPED).then(|| {
        let of = &sampled.machine;
        let text = format!("the kernel of {of} dropped {:.2} % of the packets that came: its queues were full", 100.0 * share);
        bound(BoundBy::Network, text)
    })
}

/// A limit on the processor time of the server, such as that of a container.
fn stopped(trials: &[&RunRecord]) -> Option<Bound> {
    let shares: Vec<f64> = trials.iter().filter_map(|r| r.target.server_throttled).collect();
    let mean = shares.iter().sum::<f64>() / trials.len() as f64;
    (mean >= THROTTLED).then(|| {
        let text = format!("the CPU limit of the server (`cpu.max`) stopped it in {} of its periods", percent(mean));
        bound(BoundBy::Throttled, text)
    })
}

/// Row locks by InnoDB's own clock from before the warm-up to after the end, where its metrics of the window are not told.
fn locks(trials: &[&RunRecord]) -> Option<Bound> {
    let waited = |r: &&RunRecord| u64::try_from(*r.target.server_counters.get("Innodb_row_lock_time")?).ok();
    let waited_ms = total(trials.iter().map(waited).collect::<Option<Vec<_>>>()?);
    let time = |r: &&RunRecord| r.intervals.iter().map(|i| i.length_ms as f64).sum::<f64>() * f64::from(r.load.connections);
    let share = waited_ms as f64 / trials.iter().map(time).sum::<f64>();
    (share.is_finite() && share >= LOCKED)
        .then(|| bound(BoundBy::Locks, format!("connections waited for row locks {} of their time", percent(share.min(1.0)))))
}

/// What trials were flagged with, that is a limit.
fn flagged(trials: &[&RunRecord]) -> Vec<Bound> {
    let mut found: Vec<Bound> = Vec::new();
    for flag in trials.iter().flat_map(|r| &r.flags) {
        let (by, text) = match flag {
            Flag::ClientLimited { why } => (BoundBy::Client, why.clone()),
            Flag::Throttled { why } => (BoundBy::Throttled, why.clone()),
            Flag::Gap { .. } => (BoundBy::Pause, flag.text()),
            Flag::PacketLoss { .. } => (BoundBy::Network, flag.text()),
            _ => continue,
        };
        // The first of each kind: numbers differ a little from trial to trial.
        if !found.iter().any(|known| known.by == by) {
            found.push(bound(by, text));
        }
    }
    found
}
