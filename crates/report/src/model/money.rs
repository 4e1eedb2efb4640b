//! Bills: what each contender costs, line by line and by group.

use perbuck_core::bill::{Bill, LineGroup};
use perbuck_core::study::Study;
use perbuck_core::units::unit_price_text;

use super::{Context, distinct, figures, labels, money_figures, paragraph, rounding_text};
use crate::document::{Block, Cell, RowKind, Table};
use crate::escape::clean;
use crate::number::{ABSENT, counted, delta_decimals, or_absent, rounded_percent, signed_percent};

/// The groups in which some bills have an amount, in the order of every table and figure.
pub(super) fn groups(bills: &[Bill]) -> Vec<LineGroup> {
    let used = |g: &LineGroup| bills.iter().any(|b| b.monthly_of(*g).0 != 0);
    LineGroup::ALL.into_iter().filter(used).collect()
}

pub(super) fn section(all: &Context<'_>) -> Vec<Block> {
    if all.comparison.bills.is_empty() {
        return Vec::new();
    }
    if cancels_out(&all.comparison.bills) {
        let first = &all.comparison.bills[..1];
        let text = "All contenders have this bill, so it cancels out: work per dollar is throughput.";
        return std::iter::once(paragraph(text)).chain(tables(all.study, first, false)).collect();
    }
    let mut blocks = intro(&all.comparison.bills);
    blocks.push(Block::Table(group_table(all.study, &all.comparison.bills)));
    blocks.extend(figures::cost_breakdown(all).map(Block::Figure));
    blocks.extend(money_figures::waterfall(all).map(Block::Figure));
    blocks.extend(tables(all.study, &all.comparison.bills, false));
    blocks
}

/// Whether all contenders cost the same in every region.
pub(super) fn cancels_out(bills: &[Bill]) -> bool {
    let same = |a: &Bill, b: &Bill| a.region != b.region || (a.lines == b.lines && a.horizon_total() == b.horizon_total());
    bills.iter().any(|b| b.contender != bills[0].contender) && bills.iter().all(|a| bills.iter().all(|b| same(a, b)))
}

/// Everything about bills, also for the terminal.
pub(crate) fn bill_blocks(study: &Study, bills: &[Bill]) -> Vec<Block> {
    if bills.is_empty() {
        return vec![paragraph("The study names no price snapshot, so nothing is priced.")];
    }
    let note = clean(study.price.note.trim());
    let note = (!note.is_empty()).then(|| Block::Note(format!("On prices: {note}")));
    let groups = Block::Table(group_table(study, bills));
    note.into_iter().chain(intro(bills)).chain([groups]).chain(tables(study, bills, true)).collect()
}

fn intro(bills: &[Bill]) -> Vec<Block> {
    let mut blocks = Vec::new();
    if let Some(bill) = bills.first() {
        let months = counted(bill.horizon_months as usize, "month");
        let text = format!(
            "A month is billed as {} hours; the total is {months}. Money is counted in millionths of a dollar; {}.",
            bill.hours_per_month,
            rounding_text(bill.round)
        );
        blocks.push(paragraph(text));
    }
    blocks
}

fn label(study: &Study, name: &str) -> String {
    study.contenders.iter().position(|c| c.name == name).map_or_else(|| clean(name), |i| labels(study)[i].clone())
}

/// Sums by group, one column per contender and region.
fn group_table(study: &Study, bills: &[Bill]) -> Table {
    let one_region = bills.iter().all(|b| b.region == bills[0].region);
    let region = if one_region { format!(" in {}", clean(&bills[0].region)) } else { String::new() };
    let mut table = Table::new(format!("Cost of a month by group{region}, with the share of the total"), "Group");
    let ordered = by_region(bills);
    for bill in &ordered {
        let name = label(study, &bill.contender);
        let head = if one_region { name } else { format!("{name}, {}", clean(&bill.region)) };
        table.column(&head, true);
    }
    for group in groups(bills) {
        let share = |bill: &&Bill| {
            let (amount, all) = (bill.monthly_of(group), bill.monthly_exact());
            let share = if all.0 > 0 { amount.0 as f64 / all.0 as f64 } else { 0.0 };
            Cell::noted(amount.to_string(), rounded_percent(share))
        };
        row(&mut table, RowKind::Plain, group.label(), ordered.iter().map(share));
    }
    row(&mut table, RowKind::Total, "month", ordered.iter().map(|b| b.monthly().to_string()));
    let months = ordered.first().map_or(0, |b| b.horizon_months);
    row(&mut table, RowKind::Total, &format!("{months} months"), ordered.iter().map(|b| b.horizon_total().to_string()));
    if ordered.iter().any(|b| b.disputed_total().is_some()) {
        let range = |b: &&Bill| or_absent(b.disputed_total().map(|(low, high)| format!("{low}–{high}")));
        row(&mut table, RowKind::Plain, &format!("{months} months by disputed prices"), ordered.iter().map(range));
    }
    difference_row(study, &ordered, &mut table);
    table
}

fn row<C: Into<Cell>>(table: &mut Table, kind: RowKind, head: &str, cells: impl Iterator<Item = C>) {
    table.row(kind, std::iter::once(Cell::new(head)).chain(cells.map(C::into)));
}

/// (contender − baseline) / baseline of the totals, from unrounded values.
fn difference_row(study: &Study, ordered: &[&Bill], table: &mut Table) {
    let base = &study.baseline().name;
    let share = |bill: &&Bill| {
        let below = ordered.iter().find(|b| b.contender == *base && b.region == bill.region)?.horizon_total();
        let differs = bill.contender != *base && below.0 > 0;
        differs.then(|| (bill.horizon_total().0 - below.0) as f64 / below.0 as f64)
    };
    let shares: Vec<Option<f64>> = ordered.iter().map(share).collect();
    let decimals = delta_decimals(shares.iter().flatten().copied());
    let text = |s: &Option<f64>| or_absent(s.map(|s| signed_percent(s, decimals)));
    if shares.iter().any(Option::is_some) {
        row(table, RowKind::Delta, &format!("against {}", label(study, base)), shares.iter().map(text));
    }
}

pub(super) fn by_region(bills: &[Bill]) -> Vec<&Bill> {
    let regions = distinct(bills.iter().map(|b| b.region.as_str()));
    regions.into_iter().flat_map(|r| bills.iter().filter(move |b| b.region == r)).collect()
}

/// One table per contender and region, and the sources they share. Unless the `whole` is asked for, regions beyond the first are for
/// calculating.
fn tables(study: &Study, bills: &[Bill], whole: bool) -> Vec<Block> {
    let mut sources: Vec<String> = Vec::new();
    let mut blocks = vec![Block::Heading("Bills of materials".to_owned())];
    let ordered = by_region(bills);
    for bill in &ordered {
        let block = if whole || bill.region == ordered[0].region { Block::Table } else { Block::Data };
        blocks.push(block(bill_table(study, bill, &mut sources)));
    }
    let unpriced = ordered.iter().any(|b| b.lines.iter().any(|l| !l.priced));
    if unpriced {
        blocks.push(paragraph("Amounts in parentheses are shown and not billed."));
    }
    if !sources.is_empty() {
        blocks.push(Block::Heading("Sources of prices".to_owned()));
        blocks.push(Block::List(sources.iter().enumerate().map(|(i, s)| format!("[{}] {s}", i + 1)).collect()));
    }
    blocks
}

fn bill_table(study: &Study, bill: &Bill, sources: &mut Vec<String>) -> Table {
    let region = bill.own_region.as_ref().unwrap_or(&bill.region);
    let caption = format!("{} in {}, snapshot {}", label(study, &bill.contender), clean(region), clean(&bill.snapshot));
    let mut table = Table::new(caption, "For | What | Formula | #Unit price | #Month | Price of, source");
    for line in &bill.lines {
        let source = source_mark(&line.source, sources);
        let amount = if line.priced { line.monthly.to_string() } else { format!("[{}]", line.monthly) };
        // A line that no price is known for has no unit either.
        let unit_price = if line.unit.is_empty() { ABSENT.to_owned() } else { unit_price_text(line.unit_price) };
        let origin = [clean(&line.price_date), source].join(" ");
        let kind = if line.priced { RowKind::Plain } else { RowKind::Muted };
        let origin = or_absent(Some(origin.trim().to_owned()).filter(|text| !text.is_empty()));
        let texts = [clean(&line.item), clean(&line.sku), clean(&line.formula), unit_price, amount, origin];
        table.row(kind, texts);
    }
    table.row(RowKind::Total, ["month", "", "", "", &bill.monthly().to_string(), ""]);
    let months = counted(bill.horizon_months as usize, "month");
    let formula = format!("{} × {}", bill.horizon_months, unit_price_text(bill.monthly()));
    table.row(RowKind::Total, [&months, "", &formula, "", &bill.horizon_total().to_string(), ""]);
    table
}

/// The number of a source in the list below the bills.
fn source_mark(source: &str, sources: &mut Vec<String>) -> String {
    if source.is_empty() {
        return String::new();
    }
    let source = clean(source);
    let index = sources.iter().position(|s| *s == source).unwrap_or_else(|| {
        sources.push(source);
        sources.len() - 1
    });
    format!("[{}]", index + 1)
}
