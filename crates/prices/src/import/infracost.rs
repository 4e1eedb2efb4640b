//! The products file of infracost's cloud-pricing-api: a table whose columns `attributes` and `prices` hold JSON. Products of AWS
//! and Azure are read by the rules of their own lists; Google Cloud's have no machines and are left to their own format.

use std::io::BufRead;

use serde::Deserialize;
use serde_json::Value;

use super::ImportError;
use super::aws::{Attributes, Term, Volumes, classify, price};
use super::azure::{Item, take};
use super::collect::Collector;
use super::names::Provider;
use super::number::shown;
use super::table::Table;

/// One price; the words are those of the file.
#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Price {
    purchase_option: String,
    unit: String,
    #[serde(rename = "USD")]
    usd: Option<String>,
    start_usage_amount: Option<String>,
    term_length: Option<String>,
    term_purchase_option: Option<String>,
    term_offering_class: Option<String>,
}

pub(crate) fn read(list: &mut dyn BufRead, into: &mut Collector) -> Result<String, ImportError> {
    let mut table = Table::open(list, 0)?;
    let mut at = [0; 7];
    for (at, name) in at.iter_mut().zip(["sku", "vendorName", "region", "service", "productFamily", "attributes", "prices"]) {
        *at = table.required(&[name])?;
    }
    let mut volumes = Volumes::default();
    while table.next()? {
        let line = table.line();
        let [sku, vendor, region, service, family, attributes, prices] = at.map(|c| table.get(Some(c)));
        let vendor = Provider::named(vendor);
        let wrong = |why: String| ImportError::new(line, format!("SKU {}: {why}", shown(sku)), "check that the file is complete");
        if into.is_of_another(&vendor) {
            into.skip("product of another provider than asked for");
            continue;
        }
        match (&vendor, service) {
            (Provider::Aws, "AmazonEC2") => {
                into.provider_is(vendor.clone(), line)?;
                let attributes: Attributes = serde_json::from_str(attributes).map_err(|e| wrong(format!("attributes: {e}")))?;
                let region_code = if region.is_empty() { attributes.region_code.clone() } else { region.to_owned() };
                let found = classify(family, &Attributes { region_code, ..attributes }, into).map_err(wrong)?;
                let Some(kept) = found else { continue };
                for p in flat(prices).map_err(wrong)? {
                    let [length, class, option] =
                        [&p.term_length, &p.term_offering_class, &p.term_purchase_option].map(|t| t.as_deref().unwrap_or(""));
                    let reserved = p.purchase_option == "reserved";
                    let term = if reserved { Term::Reserved { length, class, option } } else { Term::OnDemand };
                    let usd = p.usd.as_deref().ok_or_else(|| wrong("it has no price in USD".to_owned()))?;
                    let start = p.start_usage_amount.as_deref().unwrap_or("0");
                    price(&kept, &p.unit, usd, start, &term, &mut volumes, into).map_err(wrong)?;
                }
            }
            (Provider::Azure, "Virtual Machines") => {
                into.provider_is(vendor.clone(), line)?;
                let attributes: Value = serde_json::from_str(attributes).map_err(|e| wrong(format!("attributes: {e}")))?;
                for p in flat(prices).map_err(wrong)? {
                    take(&azure(region, &attributes, &p).map_err(wrong)?, into).map_err(wrong)?;
                }
            }
            _ => into.skip("product of another kind"),
        }
    }
    volumes.finish(into);
    Ok(String::new())
}

/// All prices, which stand by their hash, each alone or in a list.
fn flat(prices: &str) -> Result<Vec<Price>, String> {
    let wrong = |e: serde_json::Error| format!("prices: {e}");
    let by_hash: Value = serde_json::from_str(prices).map_err(wrong)?;
    let Value::Object(by_hash) = by_hash else { return Err("prices: not an object".to_owned()) };
    let listed = |found| match found {
        Value::Array(list) => list,
        one => vec![one],
    };
    let all = by_hash.into_iter().flat_map(|(_hash, found)| listed(found));
    all.map(|one| serde_json::from_value(one).map_err(wrong)).collect()
}

/// A price as the retail prices API has it.
fn azure(region: &str, attributes: &Value, price: &Price) -> Result<Item, String> {
    let text = |key: &str| attributes[key].as_str().unwrap_or("").to_owned();
    let usd = price.usd.as_deref().ok_or("it has no price in USD")?;
    let raw = |text: &str| serde_json::value::to_raw_value(text).map_err(|e| e.to_string());
    let spot = price.purchase_option == "Spot";
    let term = price.term_length.clone().filter(|t| !t.is_empty());
    Ok(Item {
        currency_code: "USD".to_owned(),
        retail_price: raw(usd)?,
        tier_minimum_units: price.start_usage_amount.as_deref().map(raw).transpose()?,
        arm_region_name: region.to_owned(),
        arm_sku_name: text("armSkuName"),
        product_name: text("productName"),
        sku_name: text("skuName"),
        meter_name: text("meterName"),
        service_name: "Virtual Machines".to_owned(),
        unit_of_measure: price.unit.clone(),
        kind: if spot { "Consumption".to_owned() } else { price.purchase_option.clone() },
        reservation_term: term,
        is_primary_meter_region: None,
        savings_plan: None,
    })
}
