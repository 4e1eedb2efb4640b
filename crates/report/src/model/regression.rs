//! A new results folder beside an old one: verdicts, and what is not the same.

use perbuck_core::compare::{Compared, Regression};
use perbuck_core::study::Summary;

use super::verdicts::{ratio_cell, verdict_cell};
use super::{paragraph, rule_text};
use crate::document::{Block, Cell, Table};
use crate::escape::clean;
use crate::number::{column_decimals, list, measured};

pub(crate) fn blocks(found: &Regression) -> Vec<Block> {
    let mut out = vec![paragraph(sentence(found)), paragraph(rule_text(&found.decision, None)), Block::Table(verdicts(found))];
    if found.changes.is_empty() {
        out.push(paragraph("Nothing recorded of system, environment and workloads has changed."));
    } else {
        let mut table = Table::new("What has changed", "Belongs to | What | Old | New");
        found.changes.iter().for_each(|c| table.add([&c.group, &c.what, &c.old, &c.new].map(|text| clean(text))));
        out.push(Block::Table(table));
    }
    if !found.unmatched.is_empty() {
        let items: Vec<String> = found.unmatched.iter().map(|u| clean(u)).collect();
        out.push(Block::Note(format!("Not compared: {}.", items.join("; "))));
    }
    out.push(paragraph(
        "The ratio is new over old, above 1 is in favour of the new. The two were measured at different times: trials are compared as \
         independent ones, and what changed on the machine in between is part of the difference. Verdicts are corrected for their number \
         by Holm's rule.",
    ));
    out
}

fn sentence(found: &Regression) -> String {
    let worse: Vec<String> = found.worse().map(|r| format!("{}, {}", clean(&r.contender), clean(&r.workload))).collect();
    if worse.is_empty() {
        return format!("No regression shown: {} against {}.", clean(&found.new), clean(&found.old));
    }
    format!("Regression: {} against {} is worse in {}.", clean(&found.new), clean(&found.old), list(&worse))
}

fn verdicts(found: &Regression) -> Table {
    let mut table = Table::new("New against old", "Workload | Contender | #Old | #New | #New over old | Verdict");
    for r in &found.results {
        let decimals = column_decimals([r.old, r.new]);
        let value = |v: f64| Cell::new(measured(v, decimals, &r.metric));
        let row = [Cell::noted(clean(&r.workload), summary(r)), Cell::new(clean(&r.contender)), value(r.old), value(r.new)];
        table.add(row.into_iter().chain([ratio_cell(&r.judgement.ratio), verdict_cell(&r.judgement, true)]));
    }
    table
}

fn summary(r: &Compared) -> String {
    let Summary::MeanOver(points) = &r.summary else { return "peak".to_owned() };
    format!("mean over {}", list(&points.iter().map(u32::to_string).collect::<Vec<_>>()))
}
