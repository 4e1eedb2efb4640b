//! Pages of the Azure retail prices API. A price names a size and nothing of it, so vCPU and memory come from elsewhere.

use std::io::BufRead;

use perbuck_core::units::MicroUsd;
use serde::Deserialize;
use serde::de::{Error, IgnoredAny, MapAccess};
use serde_json::value::RawValue;

use super::ImportError;
use super::collect::{COMMITMENT, Collector, NO_SIZE};
use super::names::Provider;
use super::number::{Decimal, shown};
use super::stream::{Items, Pages, token};
use crate::snapshot::Commitment;

const PAGES: Pages = Pages {
    page: "a page of the retail prices API, an object with `Items`",
    items: ("Items", "a list of prices"),
    next: "NextPageLink",
    missing: "no page has `Items`, so this is no answer of the retail prices API",
    help: "give the pages as they came, one after the other",
};

/// Reads the pages, one after the other in one file.
pub(crate) fn read(list: &mut dyn BufRead, into: &mut Collector) -> Result<String, ImportError> {
    into.provider_is(Provider::Azure, 1)?;
    let note = PAGES.read(list, &mut Prices(into))?;
    note.into_iter().for_each(|note| into.note(note));
    Ok(String::new())
}

struct Prices<'a>(&'a mut Collector);

/// One price; the words are those of the API.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Item {
    #[serde(default)]
    pub(crate) currency_code: String,
    pub(crate) retail_price: Box<RawValue>,
    #[serde(default)]
    pub(crate) tier_minimum_units: Option<Box<RawValue>>,
    #[serde(default)]
    pub(crate) arm_region_name: String,
    #[serde(default)]
    pub(crate) arm_sku_name: String,
    #[serde(default)]
    pub(crate) product_name: String,
    #[serde(default)]
    pub(crate) sku_name: String,
    #[serde(default)]
    pub(crate) meter_name: String,
    #[serde(default)]
    pub(crate) service_name: String,
    pub(crate) unit_of_measure: String,
    #[serde(rename = "type")]
    pub(crate) kind: String,
    #[serde(default)]
    pub(crate) reservation_term: Option<String>,
    #[serde(default)]
    pub(crate) is_primary_meter_region: Option<bool>,
    #[serde(default)]
    pub(crate) savings_plan: Option<Vec<Plan>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Plan {
    retail_price: Box<RawValue>,
    term: String,
}

impl Items for Prices<'_> {
    type Item = Item;

    fn other<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        if key != "BillingCurrency" {
            return map.next_value::<IgnoredAny>().map(drop);
        }
        match map.next_value::<String>()?.as_str() {
            "USD" => Ok(()),
            other => Err(A::Error::custom(format!("the prices are in {}, not in USD", shown(other)))),
        }
    }

    fn item(&mut self, item: Item) -> Result<(), String> {
        let name = if item.arm_sku_name.is_empty() { item.sku_name.clone() } else { item.arm_sku_name.clone() };
        take(&item, self.0).map_err(|why| format!("`{}` in {}: {why}", shown(&name), shown(&item.arm_region_name)))
    }
}

/// Takes one price.
///
/// # Errors
/// What is wrong with a price that is wanted.
pub(crate) fn take(item: &Item, into: &mut Collector) -> Result<(), String> {
    let has = |text: &str, word: &str| text.contains(word);
    let spot = item.sku_name.ends_with("Spot") || item.meter_name.ends_with("Spot");
    let others = [
        (item.service_name != "Virtual Machines", "price of another service"),
        (has(&item.product_name, "Windows"), "operating system other than Linux"),
        (["Cloud Services", "CloudServices"].iter().any(|w| has(&item.product_name, w)), "cloud service, not a virtual machine"),
        (has(&item.product_name, "Dedicated Host"), "dedicated host"),
        (item.meter_name.ends_with("Low Priority") || item.sku_name.ends_with("Low Priority"), "low priority"),
        (has(&item.meter_name, "Expired"), "expired meter"),
        (item.is_primary_meter_region == Some(false), "not the primary meter of its region"),
        (spot && !into.spot, "spot price; --spot takes them"),
        (item.kind == "DevTestConsumption", "price for development and test"),
    ];
    if into.skips(&others) {
        return Ok(());
    }
    if into.unwanted(&Provider::Azure, &item.arm_region_name, &item.arm_sku_name) {
        return Ok(());
    }
    let Some(shape) = into.known(&item.arm_sku_name) else {
        into.skip(NO_SIZE);
        return Ok(());
    };
    if !["USD", ""].contains(&item.currency_code.as_str()) {
        return Err(format!("its price is in {}, not in USD", shown(&item.currency_code)));
    }
    if item.unit_of_measure != "1 Hour" {
        return Err(format!("its unit is \"{}\", not \"1 Hour\"", shown(&item.unit_of_measure)));
    }
    if item.tier_minimum_units.as_deref().is_some_and(|units| !["0", "0.0", "null"].contains(&token(units))) {
        into.skip("further tier of a price");
        return Ok(());
    }
    let Some(exact) = into.price(token(&item.retail_price))? else { return Ok(()) };
    let region = item.arm_region_name.as_str();
    match item.kind.as_str() {
        "Consumption" if spot => into.spot(region, &shape.name, &exact),
        "Consumption" => {
            into.instance(region, &shape, exact);
            for plan in item.savings_plan.iter().flatten().filter(|_| into.commitments).collect::<Vec<_>>() {
                let usd = Decimal::parse(token(&plan.retail_price)).and_then(Decimal::exact)?;
                let (years, months) = term(&plan.term)?;
                let (name, usd_per_hour) = (format!("{years}-savings-plan"), usd.usd);
                into.commitment(region, &shape.name, Commitment { name, months, upfront: MicroUsd(0), usd_per_hour });
            }
        }
        // The unit of a reservation is an hour, too, but its price is that of the whole term.
        "Reservation" if into.commitments => {
            let (years, months) = term(item.reservation_term.as_deref().unwrap_or_default())?;
            let (name, upfront) = (format!("{years}-all-upfront"), exact.usd);
            into.commitment(region, &shape.name, Commitment { name, months, upfront, usd_per_hour: MicroUsd(0) });
        }
        "Reservation" => into.skip(COMMITMENT),
        other => into.skip(format!("price of type `{}`", shown(other))),
    }
    Ok(())
}

fn term(text: &str) -> Result<(&'static str, u32), String> {
    match text {
        "1 Year" | "1 yr" => Ok(("1y", 12)),
        "3 Years" | "3 yr" => Ok(("3y", 36)),
        "5 Years" | "5 yr" => Ok(("5y", 60)),
        _ => Err(format!("its term is \"{}\"", shown(text))),
    }
}
