mod families;
mod samples;

use proptest::prelude::*;

use super::*;
use crate::exact::{Exact, Mode};
use crate::workload_kind::tests::KINDS;

struct Nothing;

impl Facts for Nothing {
    fn vcpu(&self, instance: &str) -> Option<u32> {
        (instance == "m.large").then_some(2)
    }

    fn network_mbit_s(&self, instance: &str) -> Option<u32> {
        (instance == "m.large").then_some(750)
    }

    fn volume_mbit_s(&self, instance: &str) -> Option<(u32, u32)> {
        (instance == "m.large").then_some((630, 4750))
    }

    fn volume_mib_s(&self, kind: &str, size_gb: u32) -> Option<u32> {
        (kind == "ssd").then_some(size_gb / 4)
    }

    fn released(&self, product: &str) -> Option<String> {
        (product == "Shop 2.0").then(|| "2022-07-13".to_owned())
    }
}

const HEAD: &str = include_str!("tests/head.toml");

fn try_audit(text: &str) -> Result<Audit, Vec<(usize, String)>> {
    let study = Study::read("s.toml", &format!("{HEAD}{text}"), &KINDS).unwrap_or_else(|p| panic!("{p:#?}"));
    audit(&Ground { study: &study, bills: &[], facts: &Nothing })
}

fn number(name: &str, printed: &str, formula: &str) -> String {
    format!("[[number]]\nname = \"{name}\"\nprinted = \"{printed}\"\nformula = \"{formula}\"\n")
}

fn classes(numbers: &[(&str, &str, &str)]) -> Vec<(Class, String)> {
    let text: String = numbers.iter().map(|(n, p, f)| number(n, p, f)).collect();
    try_audit(&text).unwrap().numbers.into_iter().map(|f| (f.class, f.right)).collect()
}

#[test]
fn each_class_has_its_number() {
    let cases = [
        (("exact", "1500.46", "summary('w', 'a')"), (Class::Exact, "1,500.46")),
        (("rounded", "1500.5", "[exact]"), (Class::Rounded, "1,500.5")),
        (("half", "0.13", "0.125"), (Class::Rounded, "0.13")),
        (("even", "0.12", "0.125"), (Class::Rounded, "0.13")),
        (("cut", "1500.4", "[exact]"), (Class::Truncated, "1,500.5")),
        (("from cut", "3000.8", "2 * [cut]"), (Class::FromRounded, "3,000.9")),
        (("wrong", "1600", "[exact]"), (Class::Inconsistent, "1,500")),
        (("follows", "3200", "2 * [wrong]"), (Class::Inconsistent, "3,001")),
    ];
    let expected = cases.map(|(_, (class, right))| (class, right.to_owned()));
    assert_eq!(classes(&cases.map(|(number, _)| number)), expected);
}

#[test]
fn the_rule_says_what_explains_the_digits() {
    let text = [
        number("a", "2.35", "2.356"),
        number("b", "2.87", "2.865"),
        number("delta", "-18.11", "percent([a] / [b] - 1)"),
        number("padded", "16.50", "16.468"),
        number("sign", "-7", "7.2"),
        "[[number]]\nname = \"lost\"\nprinted = \"6\"\nmissing = \"the table is an image\"\n".to_owned(),
    ]
    .concat();
    let found = try_audit(&text).unwrap();
    let rule = |name: &str| found.numbers.iter().find(|f| f.name == name).map(|f| (f.class, f.rule.as_str())).unwrap();
    assert_eq!(rule("a"), (Class::Truncated, "cut off after 2 decimals, not rounded"));
    let (class, why) = rule("delta");
    assert_eq!(class, Class::FromRounded);
    assert!(why.starts_with("cut off after 2 decimals, not rounded of its printed inputs: −18.118"), "{why}");
    assert_eq!(rule("padded"), (Class::Inconsistent, "no rule gives these digits; it would be rounded to 1 decimal"));
    assert_eq!(rule("sign"), (Class::Inconsistent, "no rule gives these digits; the right ones have the other sign"));
    assert_eq!(rule("lost"), (Class::NotDerivable, "the table is an image"));
    assert_eq!((found.count(Class::Inconsistent), found.is_clean()), (2, false));
}

#[test]
fn of_several_readings_the_best_one_explains() {
    let text = "[[number]]\nname = \"x\"\nprinted = \"16.37\"\n\
                [[number.reading]]\nname = \"all\"\nformula = \"26.2\"\n\
                [[number.reading]]\nname = \"compute\"\nformula = \"16.3753\"\n";
    let found = try_audit(text).unwrap();
    let x = &found.numbers[0];
    assert_eq!((x.class, x.right.as_str()), (Class::Truncated, "16.38"));
    assert!(x.rule.starts_with("compute: "), "{}", x.rule);
    let readings: Vec<(&str, Class)> = x.readings.iter().map(|r| (r.name.as_str(), r.class)).collect();
    assert_eq!(readings, [("all", Class::Inconsistent), ("compute", Class::Truncated)]);
}

#[test]
fn claims_hold_fail_or_cannot_be_told() {
    let claim = |formula: &str, bound: &str| format!("[[claim]]\ntext = \"c\"\nformula = \"{formula}\"\n{bound}\n");
    let text = [
        claim("result('w', 'a', 100)", "at_least = 1000\nat_most = 1001"),
        claim("result('w', 'a', 100)", "at_least = 1001"),
        claim("vcpu('m.large')", "at_least = 2\nat_most = 2"),
    ]
    .concat();
    let holds: Vec<Holds> = try_audit(&text).unwrap().claims.iter().map(|c| c.holds).collect();
    assert_eq!(holds, [Holds::Yes, Holds::No, Holds::Yes]);
    let with_error = HEAD.replace("mean_ms = [99.96, 120]", "error = 5");
    let text = format!("{with_error}{}", claim("result('w', 'a', 100)", "at_least = 1000"));
    let study = Study::read("s.toml", &text, &KINDS).unwrap();
    let found = audit(&Ground { study: &study, bills: &[], facts: &Nothing }).unwrap();
    assert_eq!(found.claims[0].holds, Holds::Unknown);
    assert!(found.claims[0].found.contains("from 995.4000 to 1,005.4000"), "{}", found.claims[0].found);
}

#[test]
fn results_are_checked_against_themselves() {
    let found = try_audit("").unwrap();
    let text: Vec<(&str, Holds)> = found.checks.iter().map(|c| (c.text.as_str(), c.holds)).collect();
    let expected = [
        ("Little's law: w, a at 100 connections", Holds::Yes),
        ("Little's law: w, a at 200 connections", Holds::No),
        ("20 statements in a transaction: w, a at 100 connections", Holds::Yes),
        ("20 statements in a transaction: w, a at 200 connections", Holds::Yes),
    ];
    assert_eq!(text, expected);
}

#[test]
fn a_formula_that_names_nothing_is_told_with_its_line() {
    for (formula, expected) in [
        ("[exat]", "[exat] is no printed number"),
        ("result('w', 'b', 100)", "there is no contender `b`"),
        ("result('w', 'a', 300)", "no result of w, a at 300 connections"),
        ("result('w', 'a', 100, 'p99')", "has no `p99`; it has mean_ms, qps, tps"),
        ("bill('a', 'r')", "there is no bill of a in r; the study prices nothing"),
        ("vcpu('c9.huge')", "do not know `vcpu` of c9.huge"),
        ("sume(1)", "did you mean `sum`?"),
        ("percent(1, 2)", "`percent` takes one number, not 2"),
        ("1 / (2 - 2)", "a division by zero"),
        ("[x]", "refers to itself"),
    ] {
        let problems = try_audit(&number("x", "1", formula)).map(|a| a.study).unwrap_err();
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].0 > 15 && problems[0].1.contains(expected), "{formula}: {problems:?}");
    }
}

fn digits(value: Exact, decimals: u32, mode: Mode) -> String {
    value.rounded(decimals, mode).unwrap().text(decimals)
}

proptest! {
    /// Whatever is printed by a known rule is found by that rule or a simpler one.
    #[test]
    fn a_printed_rounding_or_truncation_is_always_explained(
        above in 1i128..1_000_000_000,
        below in 1i128..10_000,
        decimals in 0u32..5,
        cut in any::<bool>(),
    ) {
        let value = Exact::fraction(above, below).unwrap();
        let mode = if cut { Mode::Truncate } else { Mode::HalfUp };
        let found = classes(&[("x", &digits(value, decimals, mode), &format!("{above} / {below}"))]);
        let (class, right) = &found[0];
        prop_assert!(*class <= Class::Truncated, "{class:?}");
        prop_assert_eq!(right, &digits(value, decimals, Mode::HalfUp));
        prop_assert!(cut || *class <= Class::Rounded);
    }

    /// The audit follows the numbers: what is off by a unit of its last digit and explained by no rule is inconsistent.
    #[test]
    fn a_number_that_is_far_off_is_never_explained(above in 1i128..1_000_000, off in 2i128..50) {
        let value = Exact::fraction(above, 7).unwrap();
        let wrong = value.rounded(2, Mode::HalfUp).unwrap().plus(Exact::fraction(off, 100).unwrap()).unwrap();
        let found = classes(&[("x", &wrong.text(2), &format!("{above} / 7"))]);
        prop_assert_eq!(found[0].0, Class::Inconsistent);
    }

    /// A ratio of two rounded inputs is found to be one, unless the exact ratio has the same digits.
    #[test]
    fn a_ratio_of_rounded_inputs_is_found(a in 100i128..100_000, b in 100i128..100_000) {
        let (x, y) = (Exact::fraction(a, 3).unwrap(), Exact::fraction(b, 7).unwrap());
        let round = |v: Exact| v.rounded(0, Mode::HalfUp).unwrap();
        let printed = round(x).over(round(y)).unwrap();
        let found = classes(&[
            ("x", &digits(x, 0, Mode::HalfUp), &format!("{a} / 3")),
            ("y", &digits(y, 0, Mode::HalfUp), &format!("{b} / 7")),
            ("r", &digits(printed, 4, Mode::HalfUp), "[x] / [y]"),
        ]);
        prop_assert!(found[2].0 <= Class::FromRounded, "{:?}", found[2]);
    }
}
