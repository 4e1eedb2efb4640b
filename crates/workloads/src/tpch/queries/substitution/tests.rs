//! Every rule for values: within their sets, and every value of a set occurs.

use std::collections::{BTreeMap, BTreeSet};

use tpchgen::distribution::Distributions;

use super::*;

const SCALE: Scale = Scale::hundredths(100);
/// The largest set has 150 types: one that is never drawn has a chance of e⁻⁴⁰.
const DRAWS: u64 = 6_000;

type Set = BTreeSet<String>;

fn draws(number: usize) -> impl Iterator<Item = Substitution> {
    (0..DRAWS).map(move |round| Substitution::drawn(number, &mut numbers(Seed(3), 2, round, number), SCALE))
}

/// All values of each parameter that occur.
fn sets(number: usize) -> BTreeMap<&'static str, Set> {
    let mut sets: BTreeMap<&'static str, Set> = BTreeMap::new();
    for values in draws(number) {
        assert_eq!(values.number(), number);
        for (name, value) in values.listed() {
            sets.entry(name).or_default().insert(value);
        }
    }
    sets
}

fn range(low: u32, high: u32) -> Set {
    (low..=high).map(|n| n.to_string()).collect()
}

fn words(list: &[&str]) -> Set {
    list.iter().map(|word| (*word).to_owned()).collect()
}

/// First days of months: years and months that the specification names, both with.
fn months(from: (u32, u32), to: (u32, u32)) -> Set {
    let all = (from.0..=to.0).flat_map(|year| (1..=12).map(move |month| (year, month)));
    all.filter(|day| (from..=to).contains(day)).map(|(year, month)| format!("{year}-{month:02}-01")).collect()
}

fn years() -> Set {
    (1993..=1997).map(|year| format!("{year}-01-01")).collect()
}

fn brands() -> Set {
    (1..=5).flat_map(|m| (1..=5).map(move |n| format!("Brand#{m}{n}"))).collect()
}

fn types() -> Vec<String> {
    let mut all = Vec::new();
    for first in ["STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO"] {
        for second in ["ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED"] {
            all.extend(["TIN", "NICKEL", "BRASS", "STEEL", "COPPER"].map(|third| format!("{first} {second} {third}")));
        }
    }
    all
}

fn containers() -> Set {
    let seconds = ["CASE", "BOX", "BAG", "JAR", "PKG", "PACK", "CAN", "DRUM"];
    ["SM", "LG", "MED", "JUMBO", "WRAP"].into_iter().flat_map(|first| seconds.map(|second| format!("{first} {second}"))).collect()
}

/// The nations of 4.2.3 with their regions.
const NATIONS: [(&str, &[&str]); 5] = [
    ("AFRICA", &["ALGERIA", "ETHIOPIA", "KENYA", "MOROCCO", "MOZAMBIQUE"]),
    ("AMERICA", &["ARGENTINA", "BRAZIL", "CANADA", "PERU", "UNITED STATES"]),
    ("ASIA", &["INDIA", "INDONESIA", "JAPAN", "CHINA", "VIETNAM"]),
    ("EUROPE", &["FRANCE", "GERMANY", "ROMANIA", "RUSSIA", "UNITED KINGDOM"]),
    ("MIDDLE EAST", &["EGYPT", "IRAN", "IRAQ", "JORDAN", "SAUDI ARABIA"]),
];

fn nations() -> Set {
    NATIONS.iter().flat_map(|(_, nations)| words(nations)).collect()
}

fn regions() -> Set {
    NATIONS.iter().map(|(region, _)| (*region).to_owned()).collect()
}

/// What the specification allows, by query and parameter.
fn allowed(number: usize) -> Vec<(&'static str, Set)> {
    let colors = || words(Distributions::static_default().part_colors().get_values());
    let modes = || words(&["REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"]);
    let syllables = |of: fn(&str) -> String| types().iter().map(|kind| of(kind)).collect::<Set>();
    match number {
        1 => vec![("DELTA", range(60, 120))],
        2 => vec![("SIZE", range(1, 50)), ("TYPE", words(&["TIN", "NICKEL", "BRASS", "STEEL", "COPPER"])), ("REGION", regions())],
        3 => {
            let segments = words(&["AUTOMOBILE", "BUILDING", "FURNITURE", "MACHINERY", "HOUSEHOLD"]);
            vec![("SEGMENT", segments), ("DATE", (1..=31).map(|day| format!("1995-03-{day:02}")).collect())]
        }
        4 | 15 => vec![("DATE", months((1993, 1), (1997, 10)))],
        5 => vec![("REGION", regions()), ("DATE", years())],
        6 => {
            let discounts = (2..=9).map(|discount| format!("0.0{discount}")).collect();
            vec![("DATE", years()), ("DISCOUNT", discounts), ("QUANTITY", range(24, 25))]
        }
        7 => vec![("NATION1", nations()), ("NATION2", nations())],
        8 => vec![("NATION", nations()), ("REGION", regions()), ("TYPE", types().into_iter().collect())],
        9 => vec![("COLOR", colors())],
        10 => vec![("DATE", months((1993, 2), (1995, 1)))],
        11 => vec![("NATION", nations()), ("FRACTION", words(&["0.0001"]))],
        12 => vec![("SHIPMODE1", modes()), ("SHIPMODE2", modes()), ("DATE", years())],
        13 => vec![
            ("WORD1", words(&["special", "pending", "unusual", "express"])),
            ("WORD2", words(&["packages", "requests", "accounts", "deposits"])),
        ],
        14 => vec![("DATE", months((1993, 1), (1997, 12)))],
        16 => {
            let names = ["SIZE1", "SIZE2", "SIZE3", "SIZE4", "SIZE5", "SIZE6", "SIZE7", "SIZE8"];
            let first_two = syllables(|kind| kind.rsplit_once(' ').unwrap().0.to_owned());
            [("BRAND", brands()), ("TYPE", first_two)].into_iter().chain(names.map(|name| (name, range(1, 50)))).collect()
        }
        17 => vec![("BRAND", brands()), ("CONTAINER", containers())],
        18 => vec![("QUANTITY", range(312, 315))],
        19 => {
            let quantities = [("QUANTITY1", range(1, 10)), ("QUANTITY2", range(10, 20)), ("QUANTITY3", range(20, 30))];
            quantities.into_iter().chain(["BRAND1", "BRAND2", "BRAND3"].map(|name| (name, brands()))).collect()
        }
        20 => vec![("COLOR", colors()), ("DATE", years()), ("NATION", nations())],
        21 => vec![("NATION", nations())],
        _ => ["I1", "I2", "I3", "I4", "I5", "I6", "I7"].map(|name| (name, range(10, 34))).to_vec(),
    }
}

#[test]
fn every_allowed_value_is_drawn_and_no_other() {
    for number in 1..=22 {
        let allowed: BTreeMap<&str, Set> = allowed(number).into_iter().collect();
        let drawn = sets(number);
        assert!(drawn == allowed, "query {number}: {drawn:?} instead of {allowed:?}");
    }
}

#[test]
fn values_that_must_differ_differ_and_a_region_is_that_of_its_nation() {
    for number in [7, 12, 16, 22] {
        for values in draws(number) {
            let listed = values.listed();
            let must_differ = listed.iter().filter(|(name, _)| name.ends_with(|end: char| end.is_ascii_digit()));
            let (count, set): (Vec<()>, Set) = must_differ.map(|(_, value)| ((), value.clone())).unzip();
            assert_eq!(count.len(), set.len(), "{listed:?}");
        }
    }
    for values in draws(8) {
        let Substitution::Q8 { nation, region, .. } = values else { panic!("{values:?}") };
        assert!(NATIONS.iter().any(|(of, nations)| *of == region && nations.contains(&nation)), "{nation} in {region}");
    }
}

#[test]
fn the_fraction_follows_the_scale_also_in_validation() {
    for (hundredths, expected) in [
        (1, "0.01"),
        (10, "0.001"),
        (100, "0.0001"),
        (300, "0.0000333333333333"),
        (100_000, "0.0000001"),
        (1_000_000, "0.00000001"),
    ] {
        let scale = Scale::hundredths(hundredths);
        let drawn = Substitution::drawn(11, &mut OpRng::new(Seed(1)), scale);
        for values in [Substitution::validation(11, scale), drawn] {
            assert_eq!(values.listed()[1], ("FRACTION", expected.to_owned()));
        }
    }
}

#[test]
fn streams_rounds_queries_and_seeds_have_their_own_numbers() {
    let first = |seed, stream, round, number| numbers(Seed(seed), stream, round, number).next_u64();
    let mut all = BTreeSet::new();
    for seed in 0..3 {
        for stream in 0..8 {
            for round in 0..3 {
                all.extend((1..=22).map(|number| first(seed, stream, round, number)));
            }
        }
    }
    assert_eq!(all.len(), 3 * 8 * 3 * 22);
    assert_eq!(first(1, 2, 3, 4), first(1, 2, 3, 4));
}

#[test]
fn the_words_of_validation_are_allowed_where_their_clause_draws_them() {
    for number in 1..=22 {
        let allowed: BTreeMap<&str, Set> = allowed(number).into_iter().collect();
        for (name, value) in Substitution::validation(number, SCALE).listed() {
            // 2.4.18.4 asks for 300, which 2.4.18.3 never draws.
            assert_eq!(allowed[name].contains(&value), number != 18, "query {number}, {name} = {value}");
        }
    }
}

#[test]
fn the_words_of_go_tpc_are_allowed_but_for_three_country_codes() {
    let mut others = Vec::new();
    for number in 1..=22 {
        let allowed: BTreeMap<&str, Set> = allowed(number).into_iter().collect();
        let values = Substitution::go_tpc(number, SCALE);
        assert_eq!(values.number(), number);
        others.extend(values.listed().into_iter().filter(|(name, value)| !allowed[name].contains(value)));
    }
    assert_eq!(others.iter().map(|(_, value)| value.as_str()).collect::<Vec<_>>(), ["40", "39", "42"]);
}
