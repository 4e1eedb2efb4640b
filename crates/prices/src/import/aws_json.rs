//! The AWS offer file as JSON: `products` by SKU, then `terms` by SKU. Hundreds of MB, of which a few thousand products stay.

use std::collections::HashMap;
use std::io::BufRead;

use serde::Deserialize;
use serde::de::{Error, IgnoredAny, MapAccess};

use super::ImportError;
use super::aws::{Attributes, Kept, Term, Volumes, classify, price};
use super::collect::Collector;
use super::names::Provider;
use super::number::shown;
use super::stream::{Entries, Object, Pairs, one};

pub(crate) fn read(list: &mut dyn BufRead, into: &mut Collector) -> Result<String, ImportError> {
    into.provider_is(Provider::Aws, 1)?;
    let mut offer =
        Offer { into, kept: HashMap::new(), volumes: Volumes::default(), version: String::new(), products: false, terms: false };
    one(list, Object(&mut offer, "an AWS offer file, an object with `products` and `terms`"))?;
    if !offer.products || !offer.terms {
        let message = "the file has no `products` or no `terms`, so it is no AWS offer file";
        return Err(ImportError::new(1, message, "give the index.json of AmazonEC2 in one region, not an index of regions"));
    }
    let Offer { into, volumes, version, .. } = offer;
    volumes.finish(into);
    Ok(if version.is_empty() { version } else { format!("version {version}") })
}

struct Offer<'a> {
    into: &'a mut Collector,
    kept: HashMap<String, Kept>,
    volumes: Volumes,
    version: String,
    products: bool,
    terms: bool,
}

impl Entries for Offer<'_> {
    fn entry<'de, A: MapAccess<'de>>(&mut self, key: String, map: &mut A) -> Result<(), A::Error> {
        match key.as_str() {
            "version" => self.version = shown(&map.next_value::<String>()?),
            "products" => {
                map.next_value_seed(Object(&mut Products(self), "products by SKU"))?;
                self.products = true;
            }
            "terms" if !self.products => {
                return Err(A::Error::custom("`terms` stand before `products`, so that it cannot be known what they are of"));
            }
            "terms" => {
                map.next_value_seed(Object(&mut Terms(self), "terms by kind"))?;
                self.terms = true;
            }
            _ => drop(map.next_value::<IgnoredAny>()?),
        }
        Ok(())
    }
}

struct Products<'a, 'b>(&'a mut Offer<'b>);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Product {
    #[serde(default)]
    product_family: String,
    attributes: Attributes,
}

impl Entries for Products<'_, '_> {
    fn entry<'de, A: MapAccess<'de>>(&mut self, sku: String, map: &mut A) -> Result<(), A::Error> {
        let product: Product = map.next_value()?;
        let found = classify(&product.product_family, &product.attributes, self.0.into);
        let found = found.map_err(|why| A::Error::custom(format!("product {}: {why}", shown(&sku))))?;
        if let Some(kept) = found
            && let Some(_before) = self.0.kept.insert(sku.clone(), kept)
        {
            return Err(A::Error::custom(format!("SKU {} is listed twice", shown(&sku))));
        }
        Ok(())
    }
}

/// The terms by kind: `OnDemand`, `Reserved`.
struct Terms<'a, 'b>(&'a mut Offer<'b>);

impl Entries for Terms<'_, '_> {
    fn entry<'de, A: MapAccess<'de>>(&mut self, kind: String, map: &mut A) -> Result<(), A::Error> {
        let reserved = kind == "Reserved";
        if kind == "OnDemand" || (reserved && self.0.into.commitments) {
            return map.next_value_seed(Object(&mut BySku { offer: &mut *self.0, reserved }, "terms by SKU"));
        }
        let of = if reserved { "prices with a commitment; --commitments takes them" } else { "terms of another kind" };
        self.0.into.skip(format!("all {of}"));
        map.next_value::<IgnoredAny>().map(drop)
    }
}

struct BySku<'a, 'b> {
    offer: &'a mut Offer<'b>,
    reserved: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TermOf {
    price_dimensions: Pairs<Dimension>,
    #[serde(default)]
    term_attributes: TermAttributes,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "PascalCase")]
struct TermAttributes {
    lease_contract_length: String,
    offering_class: String,
    purchase_option: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Dimension {
    unit: String,
    #[serde(default)]
    begin_range: String,
    price_per_unit: Pairs<String>,
}

impl Entries for BySku<'_, '_> {
    fn entry<'de, A: MapAccess<'de>>(&mut self, sku: String, map: &mut A) -> Result<(), A::Error> {
        let Some(kept) = self.offer.kept.get(&sku) else { return map.next_value::<IgnoredAny>().map(drop) };
        let terms: Pairs<TermOf> = map.next_value()?;
        for (_, term) in &terms.0 {
            let a = &term.term_attributes;
            let bound = Term::Reserved { length: &a.lease_contract_length, class: &a.offering_class, option: &a.purchase_option };
            let bound = if self.reserved { bound } else { Term::OnDemand };
            for (_, dimension) in &term.price_dimensions.0 {
                let usd = dimension.price_per_unit.0.iter().find(|(currency, _)| currency == "USD");
                let taken = match usd {
                    Some((_, usd)) => {
                        let (volumes, into) = (&mut self.offer.volumes, &mut *self.offer.into);
                        price(kept, &dimension.unit, usd, &dimension.begin_range, &bound, volumes, into)
                    }
                    None => Err("it has no price in USD".to_owned()),
                };
                taken.map_err(|why| A::Error::custom(format!("SKU {}: {why}", shown(&sku))))?;
            }
        }
        Ok(())
    }
}
