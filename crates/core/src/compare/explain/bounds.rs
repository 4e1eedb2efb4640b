//! What bound the throughput of a point, from what was seen of the client's machine, its flags and the server's counters.
//!
//! A limit is named where it is full, not where it may be one. Thresholds are ours; each says what it is the threshold of.

use super::sampled::{Mean, Sampled};
use super::server::Metered;
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
/// Processors of which others than perbuck and its server had more are named.
const OTHERS: f64 = 0.1;

/// All that bound it.
pub(super) fn bounds(trials: &[&RunRecord], of: &Explained) -> Vec<Bound> {
    let mut found = Vec::new();
    // The machine of a coordinator plays no part in what its agents measure.
    let own = trials.iter().all(|r| r.agents.is_empty());
    if let Some(sampled) = Sampled::of(trials).filter(|_| own) {
        found.extend(processors(&sampled, trials, of));
        found.extend(disks(&sampled));
        found.extend(memory(&sampled));
        found.extend(dropped(&sampled));
    }
    match Metered::of(trials) {
        Some(metered) => found.extend(metered.bounds()),
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

/// Processors that are full: all, or some while others are not.
fn processors(sampled: &Sampled<'_>, trials: &[&RunRecord], of: &Explained) -> Option<Bound> {
    let all = sampled.processors();
    let mean = |list: &[&Mean], part: fn(&Mean) -> f64| list.iter().map(|m| part(m)).sum::<f64>() / list.len().max(1) as f64;
    let everyone: Vec<&Mean> = all.iter().collect();
    let whole = mean(&everyone, |m| m.busy);
    if all.is_empty() {
        return None;
    }
    if whole >= FULL {
        return Some(bound(BoundBy::Processors, full(all.len(), whole, trials, of)));
    }
    let full: Vec<usize> = (0..all.len()).filter(|i| all[*i].busy >= FULL).collect();
    let others: Vec<&Mean> = all.iter().filter(|m| m.busy < FULL).collect();
    let rest = mean(&others, |m| m.busy);
    if full.is_empty() || rest > UNEVEN {
        return None;
    }
    let these: Vec<&Mean> = full.iter().map(|i| &all[*i]).collect();
    let (busy, interrupts) = (mean(&these, |m| m.busy), mean(&these, |m| m.interrupts));
    let (which, is) = if full.len() == 1 { ("processor", "is") } else { ("processors", "are") };
    let names = listed(&full);
    let (by, what) = if interrupts >= OF_INTERRUPTS {
        (BoundBy::Interrupts, format!("{which} {names} {is} full of interrupts ({interrupts:.0} % of their time)"))
    } else {
        (BoundBy::OneProcessor, format!("{which} {names} {is} full ({busy:.0} %)"))
    };
    Some(bound(by, format!("{what}, while the others work {rest:.0} %")))
}

/// Who has the processors of a machine that is full.
fn full(count: usize, whole: f64, trials: &[&RunRecord], of: &Explained) -> String {
    let used = |side: Option<super::ProcessorUse>| side.map_or(0.0, |u| u.utilisation * f64::from(u.processors));
    let client = used(of.client);
    // A server elsewhere has none of this machine's.
    let server = if trials.iter().all(|r| r.host.shared_with_server) { used(of.server) } else { 0.0 };
    let others = whole / 100.0 * count as f64 - client - server;
    let mut parts = Vec::new();
    if server > 0.0 {
        parts.push(format!("the server {server:.2}"));
    }
    parts.push(format!("perbuck {client:.2}"));
    if others > OTHERS {
        parts.push(format!("others, the kernel's interrupts among them, {others:.2}"));
    }
    let machine = if count == 1 { "the processor".to_owned() } else { format!("all {count} processors") };
    format!("{machine} of the client's machine worked {whole:.0} % of the time: {} of them", parts.join(", "))
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
    let mut text = format!("disk {disk} had work {} of the time, {queue:.1} requests at once", percent(busy));
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
            "memory is short: programs waited for it {} of the time, {swapped:.0} pages a second swapped",
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
        let text = format!("the kernel dropped {:.2} % of the packets that came: its queues were full", 100.0 * share);
        bound(BoundBy::Network, text)
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
