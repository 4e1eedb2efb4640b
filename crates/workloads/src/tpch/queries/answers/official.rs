//! The official answers at scale 1 (2.3.1 and the appendix with query validation), from the crate `tpchgen`, which has them of TPC's distribution.

use std::cmp::Reverse;

use tpchgen::distribution::Distributions;
use tpchgen::q_and_a::answers_sf1 as sf1;

use super::Answer;
use crate::tpch::queries::substitution::brand_name;

/// The answer of query 16 in 28 kB; as the crate has it, it would be 1.48 MB of the program. A line for each brand; in it, for each type, a
/// character for each of eight sizes: `0` and so many suppliers, in the order of ASCII.
const Q16_COUNTS: &str = include_str!("q16.txt");
/// The last two digits of the keys in the answer of query 11: the crate's text has them cut off by the width of its column.
const Q11_ENDS: &str = include_str!("q11.txt");

impl Answer {
    /// The answer of query 1 to 22 to the values of [`super::super::Substitution::validation`] at scale 1.
    ///
    /// # Errors
    /// None that a test does not find.
    pub(in crate::tpch) fn official(number: usize) -> Result<Self, String> {
        match number {
            11 => {
                let mut answer = Self::parse(number, sf1::Q11_ANSWER)?;
                let ends = Q11_ENDS.trim().as_bytes().chunks_exact(2).map(String::from_utf8_lossy);
                for (row, end) in answer.cells.chunks_exact_mut(2).zip(ends) {
                    row[0].get_or_insert_default().push_str(&end);
                }
                Ok(answer)
            }
            16 => Ok(q16()),
            1..=22 => Self::parse(number, text(number)),
            _ => Err(format!("there is no query {number}")),
        }
    }
}

fn text(number: usize) -> &'static str {
    const TEXTS: [&str; 22] = [
        sf1::Q1_ANSWER,
        sf1::Q2_ANSWER,
        sf1::Q3_ANSWER,
        sf1::Q4_ANSWER,
        sf1::Q5_ANSWER,
        sf1::Q6_ANSWER,
        sf1::Q7_ANSWER,
        sf1::Q8_ANSWER,
        sf1::Q9_ANSWER,
        sf1::Q10_ANSWER,
        sf1::Q11_ANSWER,
        sf1::Q12_ANSWER,
        sf1::Q13_ANSWER,
        sf1::Q14_ANSWER,
        sf1::Q15_ANSWER,
        "",
        sf1::Q17_ANSWER,
        sf1::Q18_ANSWER,
        sf1::Q19_ANSWER,
        sf1::Q20_ANSWER,
        sf1::Q21_ANSWER,
        sf1::Q22_ANSWER,
    ];
    TEXTS[number - 1]
}

fn q16() -> Answer {
    let mut types: Vec<&'static str> = Distributions::static_default().part_types().get_values().to_vec();
    types.retain(|kind| !kind.starts_with("MEDIUM POLISHED"));
    types.sort_unstable();
    let brands = (1..=5).flat_map(|first| (1..=5).map(move |second| first * 10 + second)).filter(|brand| *brand != 45);
    let mut rows = Vec::new();
    for (brand, line) in brands.zip(Q16_COUNTS.lines()) {
        let groups = types.iter().flat_map(|kind| [3, 9, 14, 19, 23, 36, 45, 49].map(|size| (*kind, size)));
        let counts = line.bytes().map(|byte| byte - b'0');
        rows.extend(
            groups.zip(counts).filter(|(_, count)| *count > 0).map(|((kind, size), count)| (Reverse(count), brand, kind, size)),
        );
    }
    rows.sort_unstable();
    let cells = |(Reverse(count), brand, kind, size): (Reverse<u8>, u32, &str, u32)| {
        [brand_name(brand), kind.to_owned(), size.to_string(), count.to_string()].map(Some)
    };
    Answer { number: 16, cells: rows.into_iter().flat_map(cells).collect() }
}
