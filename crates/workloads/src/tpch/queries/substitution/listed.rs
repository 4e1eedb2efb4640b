//! The values by the names of their clauses, as a record of a run tells them.

use super::Substitution;
use crate::tpch::Scale;

impl Substitution {
    /// Name and value of each parameter, in the order of its clause.
    pub(in crate::tpch) fn listed(&self) -> Vec<(&'static str, String)> {
        let text = |name: &'static str, value: &str| (name, value.to_owned());
        match self {
            Self::Q1 { delta } => vec![("DELTA", delta.to_string())],
            Self::Q2 { size, kind, region } => vec![("SIZE", size.to_string()), text("TYPE", kind), text("REGION", region)],
            Self::Q3 { segment, date } => vec![text("SEGMENT", segment), ("DATE", date.to_string())],
            Self::Q4 { date } | Self::Q10 { date } | Self::Q14 { date } | Self::Q15 { date } => vec![("DATE", date.to_string())],
            Self::Q5 { region, date } => vec![text("REGION", region), ("DATE", date.to_string())],
            Self::Q6 { date, discount, quantity } => {
                vec![("DATE", date.to_string()), ("DISCOUNT", format!("0.{discount:02}")), ("QUANTITY", quantity.to_string())]
            }
            Self::Q7 { nations: [first, second] } => vec![text("NATION1", first), text("NATION2", second)],
            Self::Q8 { nation, region, kind } => vec![text("NATION", nation), text("REGION", region), text("TYPE", kind)],
            Self::Q9 { color } => vec![text("COLOR", color)],
            Self::Q11 { nation, scale } => vec![text("NATION", nation), ("FRACTION", fraction(*scale))],
            Self::Q12 { modes: [first, second], date } => {
                vec![text("SHIPMODE1", first), text("SHIPMODE2", second), ("DATE", date.to_string())]
            }
            Self::Q13 { words: [first, second] } => vec![text("WORD1", first), text("WORD2", second)],
            Self::Q16 { brand, kind, sizes } => {
                let names = ["SIZE1", "SIZE2", "SIZE3", "SIZE4", "SIZE5", "SIZE6", "SIZE7", "SIZE8"];
                let sizes = names.into_iter().zip(sizes.iter().map(u32::to_string));
                [("BRAND", brand_name(*brand)), text("TYPE", kind)].into_iter().chain(sizes).collect()
            }
            Self::Q17 { brand, container } => vec![("BRAND", brand_name(*brand)), text("CONTAINER", container)],
            Self::Q18 { quantity } => vec![("QUANTITY", quantity.to_string())],
            Self::Q19 { quantities, brands } => {
                let quantities = ["QUANTITY1", "QUANTITY2", "QUANTITY3"].into_iter().zip(quantities.iter().map(u32::to_string));
                let brands = ["BRAND1", "BRAND2", "BRAND3"].into_iter().zip(brands.iter().map(|brand| brand_name(*brand)));
                quantities.chain(brands).collect()
            }
            Self::Q20 { color, date, nation } => vec![text("COLOR", color), ("DATE", date.to_string()), text("NATION", nation)],
            Self::Q21 { nation } => vec![text("NATION", nation)],
            Self::Q22 { codes } => {
                ["I1", "I2", "I3", "I4", "I5", "I6", "I7"].into_iter().zip(codes.iter().map(u32::to_string)).collect()
            }
        }
    }
}

/// A brand by its two digits.
pub(in crate::tpch::queries) fn brand_name(digits: u32) -> String {
    format!("Brand#{digits}")
}

/// FRACTION of query 11: 0.0001 / SF, to sixteen digits after the point, without zeros at its end.
pub(in crate::tpch::queries) fn fraction(scale: Scale) -> String {
    // With SF in hundredths it is 1 / (100 × hundredths).
    let parts = 10_u64.pow(16) / scale.times(10_000).max(1);
    format!("0.{parts:016}").trim_end_matches('0').to_owned()
}
