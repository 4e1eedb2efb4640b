//! What the logs of imported trials print and a record has no place for.

use perbuck_core::run_record::RunRecord;
use perbuck_core::units::thousands;

use super::{Context, paragraph};
use crate::document::{Block, Table};
use crate::escape::clean;

/// The numbers of each log as it prints them; nothing where no trial is imported.
pub(super) fn printed(all: &Context<'_>) -> Option<Block> {
    let mut imported: Vec<&RunRecord> = all.records.iter().filter(|r| r.imported.is_some()).collect();
    imported.sort_by_key(|r| (r.position, r.key.clone()));
    let heads = format!("Workload | Contender | #{} | #Trial | Program | Log | As printed", all.words().head);
    let mut table = Table::new("Other numbers of the logs", &heads);
    for r in imported {
        let Some(from) = &r.imported else { continue };
        let numbers: Vec<String> = from.printed.iter().map(|(name, text)| format!("{} {}", clean(name), clean(text))).collect();
        table.add([
            clean(&r.key.workload),
            all.label(&r.key.contender),
            thousands(r.key.level().into()),
            r.key.trial.to_string(),
            clean(&from.program()),
            format!("{}:{}", clean(&from.log), from.line),
            numbers.join("; "),
        ]);
    }
    if table.rows.is_empty() {
        return None;
    }
    let text = "These are the numbers of single trials, as their logs print them. Percentiles of several trials have no mean, so they are not \
                pooled; a point has percentiles of its own only where every log has a histogram.";
    Some(Block::Folded("What the logs print of each trial".to_owned(), vec![paragraph(text), Block::Table(table)]))
}
