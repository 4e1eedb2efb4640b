use std::cell::RefCell;

use perbuck_core::rng::OpRng;
use perbuck_core::units::Seed;
use proptest::prelude::*;

use super::*;
use crate::script::variables::{Names, Variables};

fn evaluated(text: &str) -> Result<Value, String> {
    let mut names = Names::default();
    let expression = parse(text, &mut names)?;
    let mut variables = Variables::new(names.len());
    for (name, value) in [("foo", "-10.1"), ("f", "of"), ("n", "null"), ("i", "+3"), ("bla", "bla"), ("default_seed", "7")] {
        if let Some(slot) = names.find(name) {
            variables.set_text(slot, |out| out.push_str(value));
        }
    }
    let mut rng = OpRng::new(Seed(1));
    expression.evaluate(&mut Context { variables: &variables, names: &names, rng: &mut rng, debug: &|_| {} })
}

#[test]
fn operators_bind_as_documented() {
    let [t, f] = [true, false].map(Value::Bool);
    for (text, expected) in [
        ("17 / (4|1) + ( 4 + (7 >> 2))", Value::Int(8)),
        ("- (3 * 4 - (-(~ 1) + -(~ 0))) / -1 + 3 % -1", Value::Int(9)),
        ("64 % (((2 + 1 * 2 + (1 # 2) | 4 * (2 & 11)) - (1 << 2)) + 2)", Value::Int(12)),
        ("2 + 3 * 4 - 1", Value::Int(13)),
        ("10 - 4 - 3", Value::Int(3)),
        ("1 + 2 << 1", Value::Int(6)),
        ("-2 * 3", Value::Int(-6)),
        ("- -9223372036854775807", Value::Int(i64::MAX)),
        ("-9223372036854775808", Value::Int(i64::MIN)),
        ("1.0 = 0.0 and 1.0 != 0.0", f),
        ("0 = 1 Or 1.0 = 1", t),
        ("not 1 = 2", t),
        ("NOT FALSE IS NULL", t),
        ("true or false and false", t),
        ("1 = 1 is true", Value::Bool(true)),
        ("-19 * 11 - 17", Value::Int(-226)),
        ("10 + mod(13 * 7 + 12, 13) - mod(-19 * 11 - 17, 19)", Value::Int(39)),
        ("pow(2.0,10)", Value::Double(1024.0)),
        ("sqrt(+1.5 * 2.0) * abs(-0.8E1)", Value::Double(3f64.sqrt() * 8.0)),
        ("greatest(4, 2, -1.17) * 4.0", Value::Double(16.0)),
        ("11 + least(-5, -4, -3, -2)", Value::Int(6)),
        ("int(7.3)", Value::Int(7)),
        ("double(1 + 1) * (-75.0 / :foo)", Value::Double(2.0 * (-75.0 / -10.1))),
        ("case when false THEN -1 when 1 = 1 then 13 + 19 + 2.0 end", Value::Double(34.0)),
        ("case when false then 1 end", Value::Null),
        ("case when :i = 0 or (1 / :i) < 0 then -1 else 5 / :i end", Value::Int(1)),
        ("NULL + NULL * exp(NULL)", Value::Null),
        (":n IS NULL AND NOT :f", t),
        ("null and false", f),
        ("null or false", Value::Null),
        ("false and 1 / 0 = 1", f),
        ("hash(10) = hash_murmur2(10, :default_seed)", t),
        ("1.5 isnull or 2 notnull", t),
        ("permute(0, 3) + permute(1, 3) + permute(2, 3)", Value::Int(3)),
    ] {
        assert_eq!(evaluated(text), Ok(expected), "{text}");
    }
}

#[test]
fn what_cannot_be_read_or_computed_is_said() {
    for (text, expected) in [
        ("1 +", "ends too early"),
        ("", "ends too early"),
        ("noSuchFunction()", "unexpected function name \"noSuchFunction\""),
        ("randm(1, 2)", "did you mean `random`?"),
        (";", "unexpected character ';'"),
        ("ln(1.0, 2.0)", "unexpected number of arguments"),
        ("greatest()", "at least one argument expected"),
        ("CASE TRUE THEN 1 ELSE 0 END", "where when was expected"),
        ("1 < 2 < 3", "compare with parentheses"),
        ("9223372036854775808", "bigint constant overflow"),
        ("1 2", "unexpected number 2"),
        ("1/0", "division by zero"),
        (":nosuch", "undefined variable \"nosuch\""),
        (":bla + 1", "malformed variable \"bla\" value: \"bla\""),
        ("TRUE + 2", "cannot coerce boolean to int"),
        ("ln(TRUE)", "cannot coerce boolean to double"),
        ("NOT 0.0", "cannot coerce double to boolean"),
        ("(1<<62) + (1<<62)", "bigint add out of range"),
        ("0 - (1<<62) - (1<<62) - (1<<62)", "bigint sub out of range"),
        ("2 * (1<<62)", "bigint mul out of range"),
        ("-9223372036854775808 / -1", "bigint div out of range"),
        ("int(1E32)", "double to int overflow for 100"),
        ("random(5,3)", "empty range given to random"),
    ] {
        let found = evaluated(text).unwrap_err();
        assert!(found.contains(expected), "{text}: {found}");
    }
    let deep = format!("{}1{}", "(".repeat(300), ")".repeat(300));
    assert!(evaluated(&deep).unwrap_err().contains("nested"));
    assert_eq!(evaluated(&["1"; 500].join("+")), Ok(Value::Int(500)));
    assert!(evaluated(&["1"; 5000].join("+")).unwrap_err().contains("9999 words and signs"));
}

#[test]
fn debug_says_what_it_is_given() {
    let (mut names, said) = (Names::default(), RefCell::new(Vec::new()));
    let expression = parse("debug(1 + 1) + debug(null)", &mut names).unwrap();
    let (variables, mut rng) = (Variables::new(0), OpRng::new(Seed(1)));
    let debug = |value: Value| said.borrow_mut().push(value.described());
    let found = expression.evaluate(&mut Context { variables: &variables, names: &names, rng: &mut rng, debug: &debug });
    assert_eq!((found, said.into_inner()), (Ok(Value::Null), vec!["int 2".to_owned(), "null".to_owned()]));
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(text in "[-+*/%|#&~<>=!(),.:a-z0-9 ]{0,60}") {
        let _ = evaluated(&text);
    }

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,40}") {
        let _ = evaluated(&text);
    }

    /// Sums and products by a second way: Rust's own precedence in 128 bits.
    #[test]
    fn sums_and_products_are_those_of_arithmetic(a in -1000_i64..1000, b in -1000_i64..1000, c in -1000_i64..1000, d in 1_i64..1000) {
        let text = format!("{a} + {b} * {c} - {a} / {d} % {d}");
        prop_assert_eq!(evaluated(&text), Ok(Value::Int(a + b * c - a / d % d)));
    }
}
