//! What data take on the servers, beside the memory and the volumes that are there for them, and what was read from disk.

use std::collections::{BTreeMap, BTreeSet};

use perbuck_core::run_record::{DataSize, Prewarmed, RunRecord};
use perbuck_core::study::{Contender, base_of};
use perbuck_core::units::{duration_text, thousands, total};

use super::Context;
use super::environment::records_by_point;
use crate::document::{Block, Table};
use crate::escape::clean;
use crate::number::{bytes, counted, fixed, or_absent, significant_decimals};

/// One data set on one contender: the workloads that use it, and what its trials tell.
#[derive(Default)]
struct DataSet<'a> {
    workloads: BTreeSet<&'a str>,
    sizes: Vec<DataSize>,
    memory: BTreeSet<u64>,
}

/// The size of each data set on each contender; nothing where no server told one.
pub(super) fn size_of_data(all: &Context<'_>) -> Option<Block> {
    let mut sets: BTreeMap<_, DataSet<'_>> = BTreeMap::new();
    for record in all.records {
        let (Some(size), Some(slot)) = (record.workload.data_size, all.slot(&record.key.contender)) else { continue };
        let database = all.study.workload(&record.key.workload).and_then(|w| w.database.as_deref());
        // At levels of a factor servers may have other memories for the same data.
        let memory = record.target.page_memory_bytes;
        let set = sets.entry((database, record.workload.data_fingerprint.as_str(), slot, memory)).or_default();
        set.workloads.insert(base_of(&record.key.workload));
        set.sizes.push(size);
        set.memory.extend(record.target.page_memory_bytes);
    }
    let heads = "Workload | Contender | #Tables | #Indexes | #Store, all copies | #Memory for pages | #Tables and indexes / memory | \
                 Volumes as declared";
    let mut table = Table::new("Size of the data before the trials", heads);
    for ((_, _, slot, _), set) in sets {
        let contender = &all.study.contenders[slot];
        let of = |size: fn(&DataSize) -> Option<u64>| span(set.sizes.iter().filter_map(size));
        let most = set.sizes.iter().filter_map(tables_and_indexes).max();
        let held = most.zip(set.memory.first()).filter(|(_, memory)| **memory > 0);
        let held = held.map(|(most, memory)| fixed(most as f64 / *memory as f64, 2));
        let workloads = set.workloads.iter().map(|name| clean(name)).collect::<Vec<_>>().join(", ");
        let cells =
            [of(|s| s.tables_bytes), of(|s| s.indexes_bytes), of(|s| s.store_bytes), span(set.memory.iter().copied()), held];
        let cells = cells.into_iter().chain([volumes(contender)]).map(or_absent);
        table.add([workloads, all.label(&contender.name)].into_iter().chain(cells));
    }
    (!table.rows.is_empty()).then_some(Block::Table(table))
}

/// The counters of pages that the servers did not have in memory, and of their bytes.
const READ: [&str; 2] = ["server_pages_read", "server_bytes_read"];

/// What the servers read from disk in the trials of each point, and what was done to their caches before; nothing where no server counts it
/// and no study asks for a prewarm. Cold caches alone are told with the results.
pub(super) fn reads(all: &Context<'_>) -> Option<Block> {
    let heads =
        format!("Workload | {} | Contender | Caches before | #Pages read | #Bytes read | Reads from disk", all.words().head);
    let title =
        "Reads from disk, or from the cache of the operating system, from before the warm-up to after the end of each trial";
    let mut table = Table::new(title, &heads);
    for (workload, contender, level, records) in records_by_point(all) {
        let sum = |name: &str| {
            let of = |r: &&RunRecord| u64::try_from(*r.target.server_counters.get(name)?).ok();
            records.iter().map(of).collect::<Option<Vec<_>>>().map(total)
        };
        let [pages, read] = READ.map(sum);
        let prewarms: Vec<String> = records.iter().filter_map(|r| r.workload.prewarm.as_ref()).map(prewarm_text).collect();
        if pages.is_none() && prewarms.is_empty() {
            continue;
        }
        let cold = records.iter().filter_map(|r| r.workload.cold.as_ref()).map(|cold| clean(&cold.text()));
        let caches: BTreeSet<String> = prewarms.into_iter().chain(cold).collect();
        let caches = (!caches.is_empty()).then(|| Vec::from_iter(caches).join(" · "));
        // Those of the window alone would leave out what warm-up and drain read.
        let transactions = total(records.iter().flat_map(|r| &r.intervals).map(|second| second.transactions));
        let words = pages.map(|pages| match pages {
            0 => "no reads from disk: all data in memory".to_owned(),
            pages if pages.saturating_mul(1_000) < transactions => {
                "fewer than 1 page from disk in 1,000 transactions: the data were in memory".to_owned()
            }
            pages if transactions == 0 => format!("read {} pages from disk", thousands(pages)),
            pages => {
                let each = pages as f64 / transactions as f64;
                format!("read {} pages from disk a transaction", fixed(each, significant_decimals(each, 3)))
            }
        });
        let names = [clean(workload), thousands(level.into()), all.label(contender), or_absent(caches)];
        table.add(names.into_iter().chain([pages.map(thousands), read.map(bytes), words].map(or_absent)));
    }
    (!table.rows.is_empty()).then_some(Block::Table(table))
}

/// `tables: 2 passes in 3.2 s, the last read nothing`.
fn prewarm_text(done: &Prewarmed) -> String {
    let end = match (done.pages_read, done.bytes_read) {
        (None, _) => "not checked".to_owned(),
        (Some(0), _) => "the last read nothing".to_owned(),
        (Some(_), Some(read)) => format!("the last read {}", bytes(read)),
        (Some(pages), None) => format!("the last read {}", counted(pages as usize, "page")),
    };
    let (what, passes) =
        (clean(&done.what), if done.passes == 1 { "1 pass".to_owned() } else { format!("{} passes", done.passes) });
    format!("{what}: {passes} in {}, {end}", duration_text(done.took_ns))
}

fn tables_and_indexes(size: &DataSize) -> Option<u64> {
    Some(total([size.tables_bytes?, size.indexes_bytes.unwrap_or(0)]))
}

/// The least and the most of some numbers of bytes.
fn span(all: impl Iterator<Item = u64>) -> Option<String> {
    let (low, high) = all.fold(None, |span, n| {
        let (low, high) = span.unwrap_or((n, n));
        Some((n.min(low), n.max(high)))
    })?;
    let (low, high) = (bytes(low), bytes(high));
    Some(if low == high { low } else { format!("{low}–{high}") })
}

/// `3 × 500 GB for tikv`.
fn volumes(contender: &Contender) -> Option<String> {
    let mut each = Vec::new();
    for node in &contender.nodes {
        for volume in &node.volumes {
            let (count, size) = (u64::from(node.count) * u64::from(volume.count), thousands(volume.size_gb.into()));
            each.push(format!("{count} × {size} GB for {}", clean(&node.role)));
        }
    }
    (!each.is_empty()).then(|| each.join(", "))
}
