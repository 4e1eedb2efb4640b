//! What the population and the inputs must look like by the specification, and what a seed promises of them.

use perbuck_core::rng::OpRng;
use perbuck_core::units::Seed;
use perbuck_load::values::Value;

use super::data::tests::{data, each_row, each_row_of, int, text};
use super::nurand::tests::exact;
use super::nurand::{A_LAST, load_constant};
use super::schema::{CUSTOMER, HISTORY, ITEM, ORDER_LINE, ORDERS, STOCK};
use super::terminal::tests::scope;
use super::{deck, delivery, names, new_order, order_status, payment, stock_level};
use crate::testing::chi_square;

/// Chi-square of counts against exact probabilities, within five of its standard deviations on either side: its mean is the
/// number of degrees of freedom, its variance twice that. What has probability 0 must not come.
pub(super) fn fits(what: &str, seen: &[u64], p: &[f64]) {
    let draws: u64 = seen.iter().sum();
    assert!(p.iter().zip(seen).all(|(p, seen)| *p > 0.0 || *seen == 0), "{what}: {seen:?} has what never comes");
    let counts: Vec<f64> = seen.iter().map(|n| *n as f64).collect();
    let expected: Vec<f64> = p.iter().map(|p| p * draws as f64).collect();
    let (chi, freedom) = chi_square(&counts, &expected);
    assert!(freedom > 0.0 && (chi - freedom).abs() < 5.0 * (2.0 * freedom).sqrt(), "{what}: {chi} for {freedom}");
}

/// The same for what is uniform over `low..=high`, counted in as many equal classes as are given.
pub(super) fn uniform(what: &str, values: &[i64], low: i64, high: i64, classes: i64) {
    let width = high - low + 1;
    let mut seen = vec![0; classes as usize];
    for value in values {
        assert!((low..=high).contains(value), "{what}: {value}");
        seen[((value - low) * classes / width) as usize] += 1;
    }
    // How many values fall into each class, which need not be the same number.
    let first = |class: i64| (class * width + classes - 1) / classes;
    let p: Vec<f64> = (0..classes).map(|c| (first(c + 1) - first(c)) as f64 / width as f64).collect();
    fits(what, &seen, &p);
}

#[test]
fn chi_square_finds_what_does_not_fit() {
    let seen = [1_000, 1_010, 990, 1_000, 1_060, 940];
    fits("a die", &seen, &[1.0 / 6.0; 6]);
    let wrong = |seen: &[u64], p: &[f64]| std::panic::catch_unwind(|| fits("x", seen, p)).is_err();
    assert!(wrong(&[1_200, 1_000, 1_000, 1_000, 1_000, 800], &[1.0 / 6.0; 6]));
    assert!(wrong(&[1_000, 1_000, 1], &[0.5, 0.5, 0.0]));
    let values: Vec<i64> = (0..10_000).map(|n| n * 7 % 1_000 + n % 3 / 2).collect();
    uniform("a ramp", &values, 0, 1_000, 7);
    assert!(std::panic::catch_unwind(|| uniform("x", &values, 0, 1_100, 7)).is_err());
}

/// Amounts, quantities and numbers of 4.3.3.1 that are "random within", and the lengths of its texts.
#[test]
fn numbers_and_lengths_of_the_population_are_uniform() {
    let columns: [(&str, usize, usize, i64, i64, i64); 13] = [
        ("I_IM_ID", ITEM, 1, 1, 10_000, 100),
        ("I_PRICE", ITEM, 3, 100, 10_000, 97),
        ("S_QUANTITY", STOCK, 2, 10, 100, 91),
        ("C_DISCOUNT", CUSTOMER, 15, 0, 5_000, 50),
        ("O_CARRIER_ID", ORDERS, 5, 1, 10, 10),
        ("O_OL_CNT", ORDERS, 6, 5, 15, 11),
        ("OL_I_ID", ORDER_LINE, 4, 1, 100_000, 100),
        ("OL_AMOUNT", ORDER_LINE, 8, 1, 999_999, 100),
        ("C_FIRST", CUSTOMER, 3, 8, 16, 9),
        ("C_DATA", CUSTOMER, 20, 300, 500, 201),
        ("H_DATA", HISTORY, 7, 12, 24, 13),
        ("I_NAME", ITEM, 2, 14, 24, 11),
        ("S_DATA", STOCK, 16, 26, 50, 25),
    ];
    let mut values = columns.map(|_| Vec::new());
    each_row(&data(), [0, 3, 5, 7, 15].into_iter(), |table, row| {
        for ((_, of, column, ..), values) in columns.iter().zip(&mut values) {
            // Lines of orders that were delivered cost nothing, and open orders have no carrier.
            let delivered = || *of == ORDER_LINE && *column == 8 && row[6] != Value::Null;
            if table == *of && !delivered() && row[*column] != Value::Null {
                values.push(if let Value::Text(text) = row[*column] { text.len() as i64 } else { int(row[*column]) });
            }
        }
    });
    for ((name, _, _, low, high, classes), values) in columns.iter().zip(&values) {
        uniform(name, values, *low, *high, *classes);
    }
}

#[test]
fn last_names_of_the_population_follow_nurand() {
    let mut number = std::collections::BTreeMap::new();
    for n in 0..1_000 {
        let mut name = Vec::new();
        names::write_last_name(&mut name, n);
        number.insert(name, n as usize);
    }
    let mut seen = vec![0; 1_000];
    let mut customers = [false; 9];
    customers[CUSTOMER] = true;
    each_row_of(&data(), &customers, 1..=20, |_, row| {
        if int(row[0]) > 1_000 {
            seen[number[&text(row[5])]] += 1;
        }
    });
    assert_eq!(seen.iter().sum::<u64>(), 40_000);
    fits("C_LAST", &seen, &exact(A_LAST, 0, 999, load_constant(Seed(42))));
    // And not those of another constant.
    let other = exact(A_LAST, 0, 999, (load_constant(Seed(42)) + 70) % 256);
    assert!(std::panic::catch_unwind(|| fits("x", &seen, &other)).is_err());
}

/// A change of the generator changes the data of every user: then the version of the data has to be raised.
#[test]
fn a_seed_gives_these_very_rows() {
    // ITEM, the first district of the first warehouse with its warehouse, and a district of the second.
    let sums = [0, 1, 12].map(|part| {
        let mut sum = 0u64;
        each_row(&data(), [part].into_iter(), |table, row| {
            let cells = row.iter().map(|cell| match cell {
                Value::Text(t) => t.iter().fold(table as u64, |h, b| h.wrapping_mul(0x0100_0000_01b3) ^ u64::from(*b)),
                Value::Int(v) | Value::Decimal { unscaled: v, .. } => *v as u64,
                Value::Null => 0x9e37,
            });
            sum = cells.fold(sum, |h, c| h.rotate_left(7) ^ c);
        });
        sum
    });
    assert_eq!(sums, [18_204_324_656_695_584_095, 3_274_288_073_563_328_810, 6_279_399_100_447_478_756]);
}

fn digest(sum: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(sum, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3))
}

/// Inputs are a function of (seed, terminal, sequence), the same in every version.
#[test]
fn a_seed_gives_each_terminal_these_very_inputs() {
    let sums = [0, 1, 57].map(|terminal| {
        let scope = scope(terminal, 10);
        let mut deck = deck::Deck::new(Seed(1), terminal);
        let mut input = |sequence: u64| {
            let rng = &mut OpRng::at(Seed(1), u64::from(terminal), sequence);
            match deck.card(sequence) {
                deck::NEW_ORDER => format!("{:?}", new_order::Input::draw(rng, &scope)),
                deck::PAYMENT => format!("{:?}", payment::Input::draw(rng, &scope)),
                deck::ORDER_STATUS => format!("{:?}", order_status::Input::draw(rng, &scope)),
                deck::DELIVERY => format!("{:?}", delivery::Input::draw(rng, &scope)),
                _ => format!("{:?}", stock_level::Input::draw(rng, &scope)),
            }
        };
        let forwards: Vec<String> = (0..230).map(&mut input).collect();
        let mut backwards: Vec<String> = (0..230).rev().map(&mut input).collect();
        backwards.reverse();
        assert_eq!(forwards, backwards, "whatever was drawn before");
        forwards.iter().fold(0xcbf2_9ce4_8422_2325, |sum, line| digest(sum, line.as_bytes()))
    });
    assert_eq!(sums, [14_569_981_284_029_912_086, 3_965_386_069_822_201_818, 12_393_706_264_587_008_670]);
}
