//! Where the numbers of the brief come from: prices with their date and source, and when and where it was measured.

use std::collections::BTreeSet;

use perbuck_core::run_record::{HostRecord, RunRecord};

use crate::escape::{clean, shorten};
use crate::model::Context;
use crate::number::{counted, list, utc};

/// Sources that one line names.
const NAMED: usize = 1;

/// Characters of a source, of a server's version and of a processor's name.
const LONGEST: usize = 80;

pub(super) fn sources(all: &Context<'_>) -> Vec<(String, String)> {
    let measured = if let Some(source) = &all.comparison.published {
        Some(("Published", clean(source)))
    } else {
        measured(all).map(|text| ("Measured", text))
    };
    let known = [prices(all).map(|text| ("Prices", text)), measured, servers(all).map(|text| ("Servers", text))];
    known.into_iter().flatten().map(|(label, value)| (label.to_owned(), value)).collect()
}

/// `aws-2021-03 of 2021-03-10, us-west-2; source: …`.
fn prices(all: &Context<'_>) -> Option<String> {
    let bills = &all.comparison.bills;
    let Some(bill) = bills.first() else { return Some("none; nothing is priced".to_owned()) };
    let lines = || bills.iter().flat_map(|b| &b.lines).filter(|l| l.priced);
    // A price that the study itself declares has neither a date nor a source.
    let dated = || lines().filter(|l| l.price_date.starts_with(|c: char| c.is_ascii_digit()));
    let dates: BTreeSet<&str> = dated().map(|l| l.price_date.as_str()).collect();
    let dates = match (dates.first(), dates.last()) {
        (Some(first), Some(last)) if first == last => format!(" of {}", clean(first)),
        (Some(first), Some(last)) => format!(" of {} to {}", clean(first), clean(last)),
        _ => String::new(),
    };
    let regions: Vec<String> = all.regions().into_iter().filter(|r| all.is_headline(r)).map(clean).collect();
    let named = named(&dated().map(|l| l.source.as_str()).filter(|s| !s.is_empty()).collect());
    let from = named.map(|n| format!("; from {n}")).unwrap_or_default();
    Some(format!("{}{dates} for {}{from}", clean(&bill.snapshot), list(&regions)))
}

/// Some texts, the first ones by name.
fn named(texts: &BTreeSet<&str>) -> Option<String> {
    let mut shown: Vec<String> = texts.iter().take(NAMED).map(|t| shorten(&clean(t), LONGEST)).collect();
    if texts.len() > NAMED {
        shown.push(counted(texts.len() - NAMED, "other"));
    }
    (!shown.is_empty()).then(|| list(&shown))
}

/// `2026-08-01, 48 trials from EPYC 7763 (16 processors, x86_64)`.
fn measured(all: &Context<'_>) -> Option<String> {
    if all.study.imported {
        let programs: Vec<String> = all.records.iter().filter_map(|r| Some(r.imported.as_ref()?.program())).collect();
        let programs = named(&programs.iter().map(String::as_str).collect())?;
        return Some(format!("not by perbuck: {} from logs of {programs}", counted(all.records.len(), "trial")));
    }
    let day = |ms: u64| utc(ms).chars().take(10).collect::<String>();
    let started = || all.records.iter().map(|r| r.started_unix_ms);
    let (first, last) = (day(started().min()?), day(started().max()?));
    let when = if first == last { first } else { format!("{first} to {last}") };
    let own =
        |r: &RunRecord| if r.agents.is_empty() { vec![host(&r.host)] } else { r.agents.iter().map(|a| host(&a.host)).collect() };
    let hosts: Vec<String> = all.records.iter().flat_map(own).collect();
    let hosts = named(&hosts.iter().map(String::as_str).collect())?;
    let agents = || all.records.iter().map(|r| r.agents.len());
    let by = match (agents().min()?, agents().max()?) {
        (_, 0) => "a client".to_owned(),
        (few, most) if few == most => counted(most, "agent"),
        (few, most) => format!("{} to {}", few.max(1), counted(most, "agent")),
    };
    Some(format!("{when}, {} by {by} on {hosts}", counted(all.records.len(), "trial")))
}

/// `Neoverse-V2 (AWS Graviton4, 64 processors, aarch64)`: the model, and beside it the name of the core or of the product, if it tells more.
fn host(h: &HostRecord) -> String {
    let model = clean(h.cpu_model.trim());
    let names = h.facts.iter().flat_map(|facts| [facts.cpu.core.as_deref(), facts.cpu.product.as_deref()]);
    let more: Vec<String> = names.flatten().map(clean).filter(|name| !model.contains(name.as_str())).collect();
    let size = [counted(h.cpus as usize, "processor"), clean(&h.arch)];
    let whole = format!("{model} ({})", [&more[..], &size].concat().join(", "));
    // The name is shortened at its end, which tells the size.
    if whole.chars().count() > LONGEST { format!("{model} ({})", size.join(", ")) } else { whole }
}

/// Versions of the servers, by contender where they differ.
fn servers(all: &Context<'_>) -> Option<String> {
    // What a server was built for and by is in the part on environments.
    let version = |r: &'_ RunRecord| r.target.version.split(" on ").next().unwrap_or_default().to_owned();
    let versions = |name: &str| {
        let mine = all.records.iter().filter(|r| r.key.contender == name);
        mine.map(version).filter(|v| !v.is_empty()).collect::<BTreeSet<_>>()
    };
    let each: Vec<(String, String)> = all
        .study
        .contenders
        .iter()
        .filter(|c| c.control_of.is_none())
        .filter_map(|c| Some((all.label(&c.name), named(&versions(&c.name).iter().map(String::as_str).collect())?)))
        .collect();
    let (_, first) = each.first()?;
    if each.iter().all(|(_, v)| v == first) {
        return Some(first.clone());
    }
    let one = |(label, version): &(String, String)| format!("{label}: {version}");
    Some(each.iter().map(one).collect::<Vec<_>>().join("; "))
}
