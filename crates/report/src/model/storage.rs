//! What data take on the servers, beside the memory and the volumes that are there for them.

use std::collections::{BTreeMap, BTreeSet};

use perbuck_core::run_record::DataSize;
use perbuck_core::study::Contender;
use perbuck_core::units::{thousands, total};

use super::Context;
use crate::document::{Block, Table};
use crate::escape::clean;
use crate::number::{bytes, fixed, or_absent};

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
        let set = sets.entry((database, record.workload.data_fingerprint.as_str(), slot)).or_default();
        set.workloads.insert(&record.key.workload);
        set.sizes.push(size);
        set.memory.extend(record.target.page_memory_bytes);
    }
    let heads = "Workload | Contender | #Tables | #Indexes | #Store, all copies | #Memory for pages | #Tables and indexes / memory | \
                 Volumes as declared";
    let mut table = Table::new("Size of the data before the trials", heads);
    for ((_, _, slot), set) in sets {
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
