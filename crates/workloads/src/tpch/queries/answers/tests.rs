//! Wrong values, rows too few and too many are found in every answer; what the tolerances allow is taken.

use perbuck_core::rng::mix;
use tpchgen::q_and_a::answers_sf1 as sf1;

use super::columns::Kind;
use super::*;
use crate::testing::{MYSQL, POSTGRES, SQLITE};

fn official(number: usize) -> Answer {
    Answer::official(number).unwrap()
}

/// Rows as a driver receives them.
fn rows(cells: &[Option<String>], width: usize) -> Rows {
    let mut rows = Rows::default();
    rows.start(true);
    for row in cells.chunks(width) {
        for cell in row {
            match cell {
                Some(text) => rows.push_text(text.as_bytes()),
                None => rows.push_null(),
            }
        }
        rows.end_row();
    }
    rows
}

/// Compares the official answer with a changed copy of it.
fn changed(number: usize, change: impl FnOnce(&mut Vec<Option<String>>)) -> Result<(), Difference> {
    let answer = official(number);
    let mut cells = answer.cells.clone();
    change(&mut cells);
    compare(number, &answer, &rows(&cells, columns::of(number).columns.len()), POSTGRES)
}

/// A value plus so many hundredths.
fn plus(text: &str, hundredths: i128) -> String {
    Number::parse(text).unwrap().minus(Number::new(-hundredths, 2)).unwrap().text()
}

fn hundredths(text: &str) -> i128 {
    let text = plus(text, 0);
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    format!("{whole}{fraction:0<2}").parse().unwrap()
}

#[test]
fn a_wrong_value_in_any_column_of_any_answer_is_found_where_it_is() {
    for number in 1..=22 {
        let columns = columns::of(number).columns;
        let count = official(number).cells.len();
        for (at, column) in columns.iter().enumerate() {
            // In the last row, so that all rows before it were right.
            let row = count / columns.len();
            let cell = count - columns.len() + at;
            let wrong = |text: &str| match column.kind {
                Kind::Text => text.to_lowercase() + "x",
                Kind::Exact => plus(text, 1),
                Kind::Money => plus(text, 10_001),
                Kind::Average | Kind::Quotient => plus(text, hundredths(text) / 100 + 1),
            };
            let found = changed(number, |cells| {
                let text = cells[cell].clone().unwrap();
                cells[cell] = Some(wrong(&text));
            });
            let Err(Difference::Cell { row: where_, column: of, expected, found }) = found else { panic!("{number}: {found:?}") };
            assert_eq!((where_, of), (row, column.name), "query {number}");
            assert_eq!((Some(&expected), found), (official(number).cells[cell].as_ref(), wrong(&expected)));
            let nothing = changed(number, |cells| cells[cell] = None);
            assert!(
                matches!(nothing, Err(Difference::Cell { column: of, .. }) if of == column.name),
                "query {number}: {nothing:?}"
            );
        }
    }
}

#[test]
fn a_row_too_few_or_too_many_is_found_in_any_answer() {
    for number in 1..=22 {
        let width = columns::of(number).columns.len();
        let expected = official(number).rows().len();
        let fewer = changed(number, |cells| cells.truncate(cells.len() - width));
        assert_eq!(fewer, Err(Difference::Rows { expected, found: expected - 1 }));
        let more = changed(number, |cells| cells.extend_from_within(..width));
        assert_eq!(more, Err(Difference::Rows { expected, found: expected + 1 }));
        assert_eq!(changed(number, |_| {}), Ok(()), "query {number}");
    }
    assert_eq!(Difference::Rows { expected: 4, found: 3 }.to_string(), "3 rows instead of 4");
}

#[test]
fn what_the_tolerances_allow_is_right() {
    for number in 1..=22 {
        let columns = columns::of(number).columns;
        let all = changed(number, |cells| {
            for (at, cell) in cells.iter_mut().enumerate() {
                let text = cell.clone().unwrap();
                *cell = Some(match columns[at % columns.len()].kind {
                    Kind::Text => format!("{text}   "),
                    Kind::Exact => format!("{text}{}", if text.contains('.') { "00" } else { ".0" }),
                    Kind::Money => plus(&text, if at % 2 == 0 { 10_000 } else { -10_000 }),
                    Kind::Average => plus(&text, hundredths(&text) / 100),
                    Kind::Quotient => plus(&text, (hundredths(&text) / 100).min(10_000)),
                });
            }
        });
        assert_eq!(all, Ok(()), "query {number}");
    }
}

#[test]
fn a_quotient_of_sums_keeps_both_tolerances() {
    // 348 406.02: one percent of it is more than a hundred.
    assert_eq!(changed(17, |cells| cells[0] = Some("348506.02".to_owned())), Ok(()));
    assert!(changed(17, |cells| cells[0] = Some("348506.03".to_owned())).is_err());
    // Rounded to hundredths first: 0.034 is 0.03, and 0.035 is not.
    assert_eq!(changed(8, |cells| cells[1] = Some("0.034".to_owned())), Ok(()));
    assert!(changed(8, |cells| cells[1] = Some("0.035".to_owned())).is_err());
    // An answer with more digits is compared with all of them.
    let own = Answer::parse(14, "promo_revenue\n0.034").unwrap();
    let found = |text: &str| own.compare(&Answer::parse(14, &format!("promo_revenue\n{text}")).unwrap());
    assert_eq!((found("0.0343"), found("0.035").is_err()), (Ok(()), true));
}

#[test]
fn rows_that_tie_come_in_any_order_and_others_do_not() {
    let answer = |lines: [&str; 3]| {
        Answer::parse(3, &format!("l_orderkey|revenue|o_orderdate|o_shippriority\n{}", lines.join("\n"))).unwrap()
    };
    let (a, b, c) = ("7|500.25|1995-03-05|0", "9|500.25|1995-03-05|0", "8|400.00|1995-03-05|0");
    let expected = answer([a, b, c]);
    assert_eq!(expected.compare(&answer([b, a, c])), Ok(()));
    let Err(Difference::Cell { row, column, .. }) = expected.compare(&answer([a, c, b])) else { panic!() };
    assert_eq!((row, column), (2, "l_orderkey"));
    // A row twice is no tie of two rows.
    let Err(Difference::Cell { row, expected: key, found, .. }) = expected.compare(&answer([b, b, c])) else { panic!() };
    assert_eq!((row, key.as_str(), found.as_str()), (1, "7", "9"));
    // Nor does one row stand for two.
    assert!(answer([a, a, c]).compare(&answer([a, b, c])).is_err());
    // Without ORDER BY there is one row.
    assert!(columns::of(6).order_by.is_empty() && official(6).rows().len() == 1);
}

#[test]
fn the_digest_knows_exact_values_and_no_quotients_and_no_order() {
    for number in 1..=22 {
        let columns = columns::of(number).columns;
        let answer = official(number);
        let mut reversed = answer.clone();
        reversed.cells = answer.rows().rev().flatten().cloned().collect();
        assert_eq!(reversed.digest(), answer.digest());
        for (at, column) in columns.iter().enumerate() {
            let digest = |by: i128| {
                let mut changed = answer.clone();
                let text = changed.cells[at].clone().unwrap();
                changed.cells[at] = Some(if column.kind == Kind::Text { format!("{text}{by}") } else { plus(&text, by) });
                changed.digest()
            };
            let known = !matches!(column.kind, Kind::Average | Kind::Quotient);
            assert_eq!(digest(1) != answer.digest(), known, "query {number}, {}", column.name);
        }
        let mut shorter = answer.clone();
        shorter.cells.truncate(answer.cells.len() - columns.len());
        assert_ne!(shorter.digest(), answer.digest());
        let rows = rows(&answer.cells, columns.len());
        assert_eq!(digest(number, &rows, MYSQL), Ok(answer.digest()));
    }
    let sum = |text: &str| Answer::parse(6, &format!("revenue\n{text}")).unwrap().digest();
    assert_eq!((sum("12.3449"), sum("12.34") == sum("12.345")), (sum("12.34"), false));
}

#[test]
fn whole_numbers_of_small_units_are_converted() {
    let mut found = Rows::default();
    found.start(true);
    found.push_text(b"A");
    found.push_text(b"F");
    found.push_int(3_773_410_700);
    found.push_int(5_658_655_440_073);
    found.push_int(537_582_571_348_700);
    found.push_int(55_909_065_222_827_692);
    found.push_float(2_552.200_585);
    found.push_float(3_827_312.973);
    found.push_float(4.998);
    found.push_int(1_478_493);
    found.end_row();
    let answer = Answer::found(1, &found, SQLITE).unwrap();
    let text = "A|F|37734107|56586554400.73|53758257134.87|55909065222.827692|25.52200585|38273.12973|0.04998|1478493\n";
    assert!(answer.to_text().ends_with(text), "{}", answer.to_text());
}

#[test]
fn other_columns_and_rows_that_were_not_kept_are_no_answer() {
    let one = rows(&[Some("1".to_owned())], 1);
    assert_eq!(Answer::found(4, &one, POSTGRES), Err(Difference::Columns { expected: 2, found: 1 }));
    let mut uncounted = Rows::default();
    uncounted.start(false);
    uncounted.count_to(5);
    assert_eq!(digest(4, &uncounted, POSTGRES), Err(Difference::Columns { expected: 2, found: 0 }));
    assert!(official(4).compare(&official(12)).is_err());
    assert!(changed(6, |cells| cells[0] = Some("NaN".to_owned())).is_err());
}

#[test]
fn answers_come_back_from_their_text() {
    for number in 1..=22 {
        let answer = official(number);
        assert_eq!(Answer::parse(number, &answer.to_text()), Ok(answer));
    }
    let null = Answer { number: 6, cells: vec![None] };
    assert_eq!((null.to_text().as_str(), Answer::parse(6, "revenue\n\\N\n")), ("revenue\n\\N\n", Ok(null)));
    assert!(Answer::official(0).is_err() && Answer::official(23).is_err());
}

#[test]
fn what_is_kept_in_short_equals_the_texts_of_the_crate() {
    assert_eq!(Answer::parse(16, sf1::Q16_ANSWER), Ok(official(16)));
    let (cut, whole) = (Answer::parse(11, sf1::Q11_ANSWER).unwrap(), official(11));
    let mut keys = 0;
    for (cut, whole) in cut.rows().zip(whole.rows()) {
        let (start, key) = (cut[0].as_ref().unwrap(), whole[0].as_ref().unwrap());
        assert!(key.starts_with(start.as_str()) && key.len() == start.len() + 2 && cut[1] == whole[1]);
        keys = mix(keys ^ key.parse::<u64>().unwrap());
    }
    // Of the keys by DuckDB and by PostgreSQL at scale 1, which are also those of the file `q11.out` that is distributed with dbgen.
    assert_eq!((whole.rows().len(), keys), (1_048, 0x0e58_991b_ac7b_5038));
}
