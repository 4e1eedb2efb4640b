//! The AWS offer file as CSV: a few lines about the file, a header, then one row per price with the product's attributes.

use std::collections::HashSet;
use std::io::BufRead;

use super::ImportError;
use super::aws::{Attributes, Term, Volumes, classify, price};
use super::collect::{COMMITMENT, Collector};
use super::names::Provider;
use super::number::shown;
use super::table::Table;

/// Lines about the file before the header; the real files have five.
const HEAD_MAX: u64 = 20;

pub(crate) fn read(list: &mut dyn BufRead, into: &mut Collector) -> Result<String, ImportError> {
    into.provider_is(Provider::Aws, 1)?;
    let (version, before) = head(list)?;
    let mut table = Table::open(list, before)?;
    let columns = Columns::of(&table)?;
    let (mut volumes, mut seen) = (Volumes::default(), HashSet::new());
    while table.next()? {
        let line = table.line();
        let reserved = table.get(Some(columns.term)) == "Reserved";
        if reserved && !into.commitments {
            into.skip(COMMITMENT);
            continue;
        }
        let sku = table.get(Some(columns.sku));
        let wrong = |why: String| ImportError::new(line, format!("SKU {}: {why}", shown(sku)), "check that the file is complete");
        let attributes = columns.attributes(&table);
        let Some(kept) = classify(table.get(Some(columns.family)), &attributes, into).map_err(wrong)? else { continue };
        let rate = table.get(columns.rate);
        if !rate.is_empty() && !seen.insert(rate.to_owned()) {
            return Err(wrong(format!("its rate {} is listed twice", shown(rate))));
        }
        let currency = table.get(Some(columns.currency));
        if currency != "USD" {
            return Err(wrong(format!("its price is in \"{}\", not in USD", shown(currency))));
        }
        let [length, class, option] = columns.bound.map(|c| table.get(c));
        let term = if reserved { Term::Reserved { length, class, option } } else { Term::OnDemand };
        let [unit, usd, start] = [Some(columns.unit), Some(columns.price), columns.start].map(|c| table.get(c));
        price(&kept, unit, usd, start, &term, &mut volumes, into).map_err(wrong)?;
    }
    volumes.finish(into);
    Ok(version)
}

/// Reads what stands before the header, and says the version.
fn head(list: &mut dyn BufRead) -> Result<(String, u64), ImportError> {
    let mut version = String::new();
    for line in 0..HEAD_MAX {
        let starts = list.fill_buf().map(|b| b.starts_with(b"\"SKU\"") || b.starts_with(b"SKU,"));
        let io = |e: std::io::Error| {
            ImportError::new(line + 1, format!("cannot read on: {e}"), "give the list as plain, uncompressed text")
        };
        if starts.map_err(io)? {
            return Ok((version, line));
        }
        let mut text = String::new();
        // A line of a real head is some hundred bytes long; a binary file need not have one at all.
        let mut start = std::io::Read::take(&mut *list, 1 << 16);
        if start.read_line(&mut text).map_err(io)? == 0 {
            break;
        }
        if let Some(found) = text.trim_end().strip_prefix("\"Version\",") {
            version = format!("version {}", shown(found.trim_matches('"')));
        }
    }
    let message = "no row begins with the column `SKU`, so this is no AWS offer file";
    Err(ImportError::new(1, message, "give the index.csv of AmazonEC2 in one region"))
}

struct Columns {
    sku: usize,
    rate: Option<usize>,
    term: usize,
    unit: usize,
    price: usize,
    start: Option<usize>,
    currency: usize,
    family: usize,
    bound: [Option<usize>; 3],
    attributes: [Option<usize>; 17],
}

impl Columns {
    fn of(table: &Table<'_>) -> Result<Self, ImportError> {
        Ok(Self {
            sku: table.required(&["SKU"])?,
            rate: table.column(&["RateCode"]),
            term: table.required(&["TermType"])?,
            unit: table.required(&["Unit"])?,
            price: table.required(&["PricePerUnit"])?,
            start: table.column(&["StartingRange"]),
            currency: table.required(&["Currency"])?,
            family: table.required(&["Product Family"])?,
            bound: [["LeaseContractLength"], ["OfferingClass"], ["PurchaseOption"]].map(|names| table.column(&names)),
            attributes: ATTRIBUTES.map(|(name, _)| table.column(&[name])),
        })
    }

    fn attributes(&self, table: &Table<'_>) -> Attributes {
        let mut found = Attributes::default();
        for (column, (_, field)) in self.attributes.iter().zip(ATTRIBUTES) {
            table.get(*column).clone_into(field(&mut found));
        }
        found
    }
}

type Field = fn(&mut Attributes) -> &mut String;

const ATTRIBUTES: [(&str, Field); 17] = [
    ("Region Code", |a| &mut a.region_code),
    ("Location Type", |a| &mut a.location_type),
    ("Instance Type", |a| &mut a.instance_type),
    ("Operating System", |a| &mut a.operating_system),
    ("Tenancy", |a| &mut a.tenancy),
    ("CapacityStatus", |a| &mut a.capacitystatus),
    ("Pre Installed S/W", |a| &mut a.pre_installed_sw),
    ("License Model", |a| &mut a.license_model),
    ("MarketOption", |a| &mut a.marketoption),
    ("vCPU", |a| &mut a.vcpu),
    ("Memory", |a| &mut a.memory),
    ("Physical Processor", |a| &mut a.physical_processor),
    ("GPU", |a| &mut a.gpu),
    ("Network Performance", |a| &mut a.network_performance),
    ("Dedicated EBS Throughput", |a| &mut a.dedicated_ebs_throughput),
    ("Volume API Name", |a| &mut a.volume_api_name),
    ("usageType", |a| &mut a.usagetype),
];
