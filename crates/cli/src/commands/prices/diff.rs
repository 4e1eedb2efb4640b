//! `perbuck prices diff`

use perbuck_core::units::{MicroUsd, unit_price_text};
use perbuck_prices::{Change, Difference, diff};
use serde::Serialize;

use super::args::{DiffArguments, Output};
use super::{known, passes, snapshot, table};
use perbuck_console::{print, print_json};
use perbuck_lab::LabError;

#[derive(Serialize)]
struct Row<'a> {
    change: &'static str,
    region: &'a str,
    item: &'a str,
    price: &'a str,
    old_micro_usd: Option<MicroUsd>,
    new_micro_usd: Option<MicroUsd>,
    percent: Option<f64>,
}

pub(crate) fn run(arguments: &DiffArguments) -> Result<(), LabError> {
    let ((_, old), (_, new)) = (snapshot(&arguments.old)?, snapshot(&arguments.new)?);
    let regions = old.regions.iter().chain(&new.regions).map(|r| r.name.as_str());
    known("region", &arguments.region, regions.chain(old.listed.iter().chain(&new.listed).map(|l| l.region.as_str())))?;
    let mut found = diff(&old, &new);
    found.retain(|d| passes(&arguments.region, &d.region) && (!arguments.changed || matches!(d.change, Change::Changed(..))));
    match arguments.format {
        Output::Json => print_json(&found.iter().map(row).collect::<Vec<_>>()),
        Output::Csv => {
            let columns = "change,region,item,price,old_usd,new_usd,percent";
            let plain = |usd: Option<MicroUsd>| usd.map(|usd| unit_price_text(usd).replace(['$', ','], "")).unwrap_or_default();
            print(&table::csv(columns, &found.iter().map(|d| cells(d, plain)).collect::<Vec<_>>()))
        }
        Output::Text if found.is_empty() => print("no price differs\n"),
        Output::Text => {
            let columns = "change,region,item,price,>old,>new,>percent";
            let dollars = |usd: Option<MicroUsd>| usd.map(unit_price_text).unwrap_or_default();
            let count = |word: &str| found.iter().filter(|d| d.change.word() == word).count();
            let (added, removed, changed) = (count("added"), count("removed"), count("changed"));
            let rows: Vec<Vec<String>> = found.iter().map(|d| cells(d, dollars)).collect();
            print(&format!("{}\n{added} added, {removed} removed, {changed} changed\n", table::text(columns, &rows)))
        }
    }
}

fn row(d: &Difference) -> Row<'_> {
    let (old, new) = d.change.prices();
    Row {
        change: d.change.word(),
        region: &d.region,
        item: &d.item,
        price: &d.price,
        old_micro_usd: old,
        new_micro_usd: new,
        percent: d.change.percent(),
    }
}

fn cells(d: &Difference, money: impl Fn(Option<MicroUsd>) -> String) -> Vec<String> {
    let (old, new) = d.change.prices();
    let percent = d.change.percent().map(|p| format!("{p:+.2}")).unwrap_or_default();
    vec![d.change.word().to_owned(), d.region.clone(), d.item.clone(), d.price.clone(), money(old), money(new), percent]
}
