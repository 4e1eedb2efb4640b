//! Rows of REGION, NATION and SUPPLIER. The key of a nation is the code of a letter or digit, so that the first letter of a customer's state names
//! the nation.

use perbuck_core::rng::OpRng;
use perbuck_core::units::Seed;
use perbuck_load::values::Params;

/// Rows of SUPPLIER: one for each remainder of warehouse × item by as many.
pub(super) const SUPPLIERS: i64 = 10_000;
/// Suppliers of which customers complained: one of so many.
const BAD: i64 = 2_000;
const CODES: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

pub(super) const REGIONS: [&str; 5] = ["Africa", "America", "Asia", "Australia", "Europe"];

/// Names by region.
#[rustfmt::skip]
const NATIONS: [&[&str]; 5] = [
    &["Algeria", "Botswana", "Egypt", "Ethiopia", "Ghana", "Kenya", "Morocco", "Mozambique", "Namibia", "Nigeria", "Senegal", "Tanzania", "Tunisia"],
    &["Argentina", "Bolivia", "Brazil", "Canada", "Chile", "Colombia", "Ecuador", "Guatemala", "Mexico", "Panama", "Peru", "United States", "Uruguay"],
    &["Cambodia", "China", "India", "Indonesia", "Iran", "Iraq", "Japan", "Jordan", "Malaysia", "Mongolia", "Thailand", "Turkey", "Vietnam"],
    &["Australia", "Fiji", "Kiribati", "New Zealand", "Papua New Guinea", "Samoa", "Tonga", "Tuvalu", "Vanuatu"],
    &["Austria", "Belgium", "Denmark", "Finland", "France", "Germany", "Greece", "Hungary", "Italy", "Norway", "Poland", "Portugal", "Spain", "Sweden"],
];

/// A key with the region of its nation.
struct Nation {
    key: i64,
    name: &'static str,
    region: i64,
}

/// All nations. Keys are dealt round the regions, so that digits, capitals and small letters are in each.
fn nations() -> Vec<Nation> {
    let longest = NATIONS.iter().map(|names| names.len()).max().unwrap_or(0);
    let named = (0..longest).flat_map(|at| (0..).zip(NATIONS).filter_map(move |(region, names)| Some((region, *names.get(at)?))));
    named.zip(CODES).map(|((region, name), code)| Nation { key: i64::from(*code), name, region }).collect()
}

/// Rows of NATION.
pub(super) fn count() -> u64 {
    CODES.len() as u64
}

pub(super) fn regions(cells: &mut Params) {
    for (key, name) in (0..).zip(REGIONS) {
        cells.int(key).text(name.as_bytes()).text(b"");
    }
}

pub(super) fn all_nations(cells: &mut Params) {
    for Nation { key, name, region } in nations() {
        cells.int(key).text(name.as_bytes()).int(region).text(b"");
    }
}

/// One supplier; its nation, telephone and balance come from the seed.
pub(super) fn supplier(cells: &mut Params, seed: Seed, key: i64) {
    let rng = &mut OpRng::at(seed, 0, key as u64);
    let nation = i64::from(CODES[rng.below(CODES.len() as u64) as usize]);
    cells.int(key).text(format!("Supplier#{key:09}").as_bytes());
    cells.text(format!("{} {}", rng.between(1, 999), letters(rng, 12)).as_bytes()).int(nation);
    cells.text(format!("{}-{:03}-{:04}", nation, rng.below(1_000), rng.below(10_000)).as_bytes());
    cells.decimal(rng.between(-99_999, 999_999), 2);
    let comment = letters(rng, 40);
    let said = if key % BAD == BAD - 1 { "bad service, said a customer" } else { "" };
    cells.text(format!("{comment} {said}").trim_end().as_bytes());
}

/// Capital letters: in small ones `bad` could occur by chance.
fn letters(rng: &mut OpRng, count: u32) -> String {
    (0..count).map(|_| char::from(b'A' + rng.below(26) as u8)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_letter_and_digit_names_one_nation() {
        let all = nations();
        let keys: BTreeSet<i64> = all.iter().map(|n| n.key).collect();
        let names: BTreeSet<&str> = all.iter().map(|n| n.name).collect();
        assert_eq!((all.len(), keys.len(), names.len()), (62, 62, 62));
        let region_of = |name| all.iter().find(|n| n.name == name).map(|n| REGIONS[n.region as usize]).unwrap();
        assert_eq!((region_of("Germany"), region_of("Cambodia")), ("Europe", "Asia"));
        let letter_of = |name| all.iter().find(|n| n.name == name).map(|n| n.key as u8 as char).unwrap();
        assert!(letter_of("Germany").is_ascii_alphabetic() && letter_of("Cambodia").is_ascii_alphanumeric());
    }

    #[test]
    fn one_supplier_of_two_thousand_is_bad() {
        let bad = |key| {
            let mut cells = Params::default();
            supplier(&mut cells, Seed(1), key);
            format!("{:?}", cells.iter().last()).contains("98, 97, 100")
        };
        assert_eq!((0..SUPPLIERS).filter(|key| bad(*key)).count(), 5);
    }
}
