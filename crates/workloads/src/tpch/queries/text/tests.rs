//! Texts by dialect; that databases answer them rightly is shown in `answers`.

use perbuck_core::units::Seed;

use super::*;
use crate::testing::{DIALECTS, MYSQL, POSTGRES, SQLITE};
use crate::tpch::Scale;
use crate::tpch::queries::numbers;

const SCALE: Scale = Scale::hundredths(100);

fn validation(number: usize, dialect: &dyn Dialect) -> String {
    statement(&Substitution::validation(number, SCALE), dialect)
}

#[test]
fn databases_with_decimals_have_the_same_texts() {
    for number in 1..=22 {
        let text = validation(number, POSTGRES);
        for dialect in DIALECTS.into_iter().filter(|dialect| dialect.exact_decimals()) {
            assert_eq!(validation(number, dialect), text);
        }
        let differs = variants(SQLITE)[4].queries.contains(&number) || text.contains("DATE '") || text.contains("EXTRACT");
        assert_eq!(validation(number, SQLITE) != text, differs, "query {number}");
        assert!(text.starts_with("SELECT ") || number == 15 && text.starts_with("WITH "));
        assert!(!text.contains("INTERVAL") && !text.contains(';') && !text.contains('{'));
        assert_eq!(text.contains("\nLIMIT "), variants(MYSQL)[1].queries.contains(&number), "query {number}");
        assert_eq!(text.contains("\nORDER BY "), ![6, 14, 17, 19].contains(&number), "query {number}");
    }
    assert_eq!((variants(MYSQL).len(), variants(SQLITE).len()), (4, 5));
}

#[test]
fn dates_and_decimals_are_literals_in_the_words_of_the_database() {
    let q6 = |dialect| validation(6, dialect).lines().skip(2).map(str::to_owned).collect::<Vec<_>>().join("");
    assert_eq!(
        q6(POSTGRES),
        "WHERE l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01' \
         AND l_discount BETWEEN 0.06 - 0.01 AND 0.06 + 0.01 AND l_quantity < 24"
    );
    assert_eq!(
        q6(SQLITE),
        "WHERE l_shipdate >= '1994-01-01' AND l_shipdate < '1995-01-01' AND l_discount BETWEEN 6 - 1 AND 6 + 1 AND l_quantity < 2400"
    );
    assert!(validation(1, MYSQL).contains("l_shipdate <= DATE '1998-09-02'"));
    assert!(
        validation(7, MYSQL).contains("EXTRACT(YEAR FROM l_shipdate) AS l_year, l_extendedprice * (1 - l_discount) AS volume")
    );
    let small = ["CAST(strftime('%Y', l_shipdate) AS INTEGER) AS l_year", "l_extendedprice * (100 - l_discount) AS volume"];
    assert!(small.iter().all(|words| validation(7, SQLITE).contains(words)));
    assert!(validation(22, POSTGRES).contains("SUBSTRING(c_phone FROM 1 FOR 2) IN ('13', '31', '23', '29', '30', '18', '17')"));
    assert!(validation(22, SQLITE).contains("SUBSTR(c_phone, 1, 2) IN ("));
    // Each end of a period: three months, a year, a month, three months, a year.
    for (number, end) in [(4, "1993-10-01"), (5, "1995-01-01"), (10, "1994-01-01"), (12, "1995-01-01"), (14, "1995-10-01")] {
        assert!(validation(number, POSTGRES).contains(&format!("< DATE '{end}'")), "query {number}");
    }
    for (number, end) in [(15, "1996-04-01"), (20, "1995-01-01")] {
        assert!(validation(number, POSTGRES).contains(&format!("< DATE '{end}'")), "query {number}");
    }
}

#[test]
fn every_value_is_in_the_text() {
    for number in 1..=22 {
        for round in 0..20 {
            let values = Substitution::drawn(number, &mut numbers(Seed(7), 1, round, number), SCALE);
            let text = statement(&values, POSTGRES);
            for (name, value) in values.listed() {
                // The text has the day that DELTA leads to.
                assert!(name == "DELTA" || text.contains(&value), "query {number}, {name} = {value}: {text}");
            }
        }
    }
}
