//! The values that go-tpc (commit 682637f, `tpch/query.go`, its queries for MySQL) has written into its queries. They are not those of
//! validation, but each is one that 2.4.x.3 allows, except three codes of query 22 that no country has.

use super::Substitution;
use crate::day::Day;
use crate::tpch::Scale;

impl Substitution {
    /// The values of query 1 to 22 in go-tpc; but FRACTION of query 11 follows the scale, as 2.4.11.3 has it.
    pub(in crate::tpch) fn go_tpc(number: usize, scale: Scale) -> Self {
        debug_assert!((1..=22).contains(&number));
        match number {
            1 => Self::Q1 { delta: 108 },
            2 => Self::Q2 { size: 30, kind: "STEEL", region: "ASIA" },
            3 => Self::Q3 { segment: "AUTOMOBILE", date: Day::new(1995, 3, 13) },
            4 => Self::Q4 { date: Day::new(1995, 1, 1) },
            5 => Self::Q5 { region: "MIDDLE EAST", date: Day::new(1994, 1, 1) },
            6 => Self::Q6 { date: Day::new(1994, 1, 1), discount: 6, quantity: 24 },
            7 => Self::Q7 { nations: ["JAPAN", "INDIA"] },
            8 => Self::Q8 { nation: "INDIA", region: "ASIA", kind: "SMALL PLATED COPPER" },
            9 => Self::Q9 { color: "dim" },
            10 => Self::Q10 { date: Day::new(1993, 8, 1) },
            11 => Self::Q11 { nation: "MOZAMBIQUE", scale },
            12 => Self::Q12 { modes: ["RAIL", "FOB"], date: Day::new(1997, 1, 1) },
            13 => Self::Q13 { words: ["pending", "deposits"] },
            14 => Self::Q14 { date: Day::new(1996, 12, 1) },
            15 => Self::Q15 { date: Day::new(1997, 7, 1) },
            16 => Self::Q16 { brand: 34, kind: "LARGE BRUSHED", sizes: [48, 19, 12, 4, 41, 7, 21, 39] },
            17 => Self::Q17 { brand: 44, container: "WRAP PKG" },
            18 => Self::Q18 { quantity: 314 },
            19 => Self::Q19 { quantities: [4, 18, 29], brands: [52, 11, 51] },
            20 => Self::Q20 { color: "green", date: Day::new(1993, 1, 1), nation: "ALGERIA" },
            21 => Self::Q21 { nation: "EGYPT" },
            _ => Self::Q22 { codes: [20, 40, 22, 30, 39, 42, 21] },
        }
    }
}
