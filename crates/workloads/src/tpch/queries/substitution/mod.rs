//! The values that complete the text of a query (2.4.1.3 to 2.4.22.3).

use perbuck_core::rng::OpRng;
use perbuck_core::units::Seed;

use crate::day::Day;
use crate::tpch::Scale;

mod drawn;
mod go_tpc;
mod listed;
#[cfg(test)]
mod tests;

pub(super) use listed::{brand_name, fraction};

/// The values of one query, named as its clause names them. A word is one of the lists of 4.2.2.13 and 4.2.3; a brand is its two digits, each
/// from 1 to 5.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::tpch) enum Substitution {
    /// Pricing summary: days before 1998-12-01.
    Q1 { delta: u32 },
    /// Minimum cost supplier: a size, the last syllable of a type, a region.
    Q2 { size: u32, kind: &'static str, region: &'static str },
    /// Shipping priority.
    Q3 { segment: &'static str, date: Day },
    /// Order priority checking: the first day of a quarter.
    Q4 { date: Day },
    /// Local supplier volume: the first day of a year.
    Q5 { region: &'static str, date: Day },
    /// Forecasting revenue change: the discount in hundredths.
    Q6 { date: Day, discount: u32, quantity: u32 },
    /// Volume shipping: two nations that differ.
    Q7 { nations: [&'static str; 2] },
    /// National market share: a nation, its region, a type.
    Q8 { nation: &'static str, region: &'static str, kind: &'static str },
    /// Product type profit.
    Q9 { color: &'static str },
    /// Returned items: the first day of a quarter.
    Q10 { date: Day },
    /// Important stock: FRACTION is 0.0001 / SF.
    Q11 { nation: &'static str, scale: Scale },
    /// Shipping modes: two that differ.
    Q12 { modes: [&'static str; 2], date: Day },
    /// Customer distribution: WORD1 and WORD2.
    Q13 { words: [&'static str; 2] },
    /// Promotion effect: the first day of a month.
    Q14 { date: Day },
    /// Top supplier: the first day of a quarter.
    Q15 { date: Day },
    /// Parts and suppliers: a brand, the first two syllables of a type, eight sizes that differ.
    Q16 { brand: u32, kind: &'static str, sizes: [u32; 8] },
    /// Small quantities.
    Q17 { brand: u32, container: &'static str },
    /// Large volumes.
    Q18 { quantity: u32 },
    /// Discounted revenue.
    Q19 { quantities: [u32; 3], brands: [u32; 3] },
    /// Potential promotions: the first day of a year.
    Q20 { color: &'static str, date: Day, nation: &'static str },
    /// Suppliers who kept orders waiting.
    Q21 { nation: &'static str },
    /// Sales opportunity: seven country codes that differ.
    Q22 { codes: [u32; 7] },
}

/// The random numbers for the values of a query (1 to 22) in one round of a stream. Each stream has its own (2.1.3.1); the power test is
/// stream 0.
pub(in crate::tpch) fn numbers(seed: Seed, stream: u64, round: u64, number: usize) -> OpRng {
    OpRng::at(seed.derive("tpch substitution"), stream, round * 22 + number as u64 - 1)
}

impl Substitution {
    /// The values of query 1 to 22 by which its answer is validated (2.3.1); only those of query 11 depend on the scale.
    pub(in crate::tpch) fn validation(number: usize, scale: Scale) -> Self {
        debug_assert!((1..=22).contains(&number));
        match number {
            1 => Self::Q1 { delta: 90 },
            2 => Self::Q2 { size: 15, kind: "BRASS", region: "EUROPE" },
            3 => Self::Q3 { segment: "BUILDING", date: Day::new(1995, 3, 15) },
            4 => Self::Q4 { date: Day::new(1993, 7, 1) },
            5 => Self::Q5 { region: "ASIA", date: Day::new(1994, 1, 1) },
            6 => Self::Q6 { date: Day::new(1994, 1, 1), discount: 6, quantity: 24 },
            7 => Self::Q7 { nations: ["FRANCE", "GERMANY"] },
            8 => Self::Q8 { nation: "BRAZIL", region: "AMERICA", kind: "ECONOMY ANODIZED STEEL" },
            9 => Self::Q9 { color: "green" },
            10 => Self::Q10 { date: Day::new(1993, 10, 1) },
            11 => Self::Q11 { nation: "GERMANY", scale },
            12 => Self::Q12 { modes: ["MAIL", "SHIP"], date: Day::new(1994, 1, 1) },
            13 => Self::Q13 { words: ["special", "requests"] },
            14 => Self::Q14 { date: Day::new(1995, 9, 1) },
            15 => Self::Q15 { date: Day::new(1996, 1, 1) },
            16 => Self::Q16 { brand: 45, kind: "MEDIUM POLISHED", sizes: [49, 14, 23, 45, 19, 3, 36, 9] },
            17 => Self::Q17 { brand: 23, container: "MED BOX" },
            18 => Self::Q18 { quantity: 300 },
            19 => Self::Q19 { quantities: [1, 10, 20], brands: [12, 23, 34] },
            20 => Self::Q20 { color: "forest", date: Day::new(1994, 1, 1), nation: "CANADA" },
            21 => Self::Q21 { nation: "SAUDI ARABIA" },
            _ => Self::Q22 { codes: [13, 31, 23, 29, 30, 18, 17] },
        }
    }

    /// The number of its query, 1 to 22.
    #[cfg(test)]
    pub(in crate::tpch) fn number(&self) -> usize {
        match self {
            Self::Q1 { .. } => 1,
            Self::Q2 { .. } => 2,
            Self::Q3 { .. } => 3,
            Self::Q4 { .. } => 4,
            Self::Q5 { .. } => 5,
            Self::Q6 { .. } => 6,
            Self::Q7 { .. } => 7,
            Self::Q8 { .. } => 8,
            Self::Q9 { .. } => 9,
            Self::Q10 { .. } => 10,
            Self::Q11 { .. } => 11,
            Self::Q12 { .. } => 12,
            Self::Q13 { .. } => 13,
            Self::Q14 { .. } => 14,
            Self::Q15 { .. } => 15,
            Self::Q16 { .. } => 16,
            Self::Q17 { .. } => 17,
            Self::Q18 { .. } => 18,
            Self::Q19 { .. } => 19,
            Self::Q20 { .. } => 20,
            Self::Q21 { .. } => 21,
            Self::Q22 { .. } => 22,
        }
    }
}
