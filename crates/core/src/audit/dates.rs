//! Dates against products: what an article used must have been there when it appeared.

use super::{Check, Ground, Weight};
use crate::study::is_date;

/// Software, machines and volumes of the article against its date, and dates that it prints against those of the products.
pub(super) fn of_products(ground: &Ground<'_>) -> Vec<Check> {
    let Some(published) = &ground.study.published else { return Vec::new() };
    let mut out = Vec::new();
    if is_date(&published.date) {
        let software = published.software.iter().map(|(name, version)| format!("{name} {version}"));
        let nodes = ground.study.contenders.iter().flat_map(|c| &c.nodes);
        let machines = nodes.flat_map(|n| [n.instance.clone()].into_iter().chain(n.volumes.iter().map(|v| v.kind.clone())));
        let mut products: Vec<String> = software.chain(machines).collect();
        products.sort();
        products.dedup();
        for product in products {
            let Some(released) = ground.facts.released(&product) else { continue };
            // A date of a year or a month alone is compared to that precision.
            let holds = prefix(&released, &published.date) <= published.date.as_str();
            let sentence = format!("The article of {} uses {product}, which was there from {released} on.", published.date);
            out.push(Check {
                text: format!("{product} was there on {}", published.date),
                found: format!("from {released} on"),
                holds: holds.into(),
                how: "the date of the product, from the data of the repository, is not after that of the article".to_owned(),
                weight: Weight::Number,
                sentence,
            });
        }
    }
    for (product, said) in published.dates.iter().filter(|(_, said)| is_date(said)) {
        let Some(released) = ground.facts.released(product) else { continue };
        out.push(Check {
            text: format!("{product} is dated {said}"),
            found: format!("from {released} on"),
            holds: (prefix(&released, said) == said.as_str()).into(),
            how: "the date that the article prints is that of the product in the data of the repository".to_owned(),
            weight: Weight::Slip,
            sentence: format!("The article dates {product} to {said}; it was there from {released} on."),
        });
    }
    out
}

/// As much of a date as the other one has.
fn prefix<'d>(date: &'d str, other: &str) -> &'d str {
    date.get(..other.len()).unwrap_or(date)
}
