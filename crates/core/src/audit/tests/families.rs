//! Each family of checks finds a planted fault, and is silent on a right article.

use super::*;

/// The check whose text has these words.
fn check(text: &str, words: &str) -> Check {
    let found = try_audit(text).unwrap_or_else(|p| panic!("{p:#?}"));
    let all = found.checks.iter().chain(&found.claims);
    let listed: Vec<&str> = all.clone().map(|c| c.text.as_str()).collect();
    all.clone().find(|c| c.text.contains(words)).unwrap_or_else(|| panic!("no {words} in {listed:#?}")).clone()
}

fn holds(text: &str, words: &str) -> Holds {
    check(text, words).holds
}

/// Two contenders with the same three points; `b` has these numbers.
fn pair(b: &str, over: &str) -> String {
    HEAD.replace("[[workload]]", "[[contender]]\nname = \"b\"\n[[workload]]").replace("over = [100, 200]", over)
        + &format!(
            "\n[[results.table]]\nworkload = \"w\"\ncontender = \"b\"\nconnections = [100, 200, 300]\ntps = {b}\n\
             [[results.table]]\nworkload = \"w\"\ncontender = \"a\"\nconnections = [300]\ntps = [1500]\n"
        )
}

fn of_pair(b: &str, over: &str, more: &str) -> Audit {
    let study = Study::read("s.toml", &format!("{}{more}", pair(b, over)), &KINDS).unwrap_or_else(|p| panic!("{p:#?}"));
    audit(&Ground { study: &study, bills: &[], facts: &Nothing }).unwrap_or_else(|p| panic!("{p:#?}"))
}

#[test]
fn a_number_is_compared_at_the_digits_that_it_is_printed_with() {
    for (printed, class) in [
        ("-16.5", Class::Rounded),
        ("-16.50", Class::Inconsistent),
        ("-16.47", Class::Rounded),
        ("-16", Class::Rounded),
        ("-17", Class::Inconsistent),
    ] {
        assert_eq!(classes(&[("x", printed, "0 - 16.468")])[0].0, class, "{printed}");
    }
    // -16.50 itself is printed rightly with one decimal and with two.
    for printed in ["-16.5", "-16.50"] {
        assert_eq!(classes(&[("x", printed, "0 - 16.5")])[0].0, Class::Exact, "{printed}");
    }
}

#[test]
fn sizes_of_machines_and_volumes_come_from_the_catalogue() {
    for (formula, right, wrong) in [
        ("vcpu('m.large')", "2", "4"),
        ("network_mbit_s('m.large')", "750", "10000"),
        ("volume_mbit_s('m.large')", "630", "4750"),
        ("volume_burst_mbit_s('m.large')", "4750", "630"),
        ("volume_mib_s('ssd', 1000)", "250", "128"),
    ] {
        let found = classes(&[("right", right, formula), ("wrong", wrong, formula)]);
        assert_eq!([found[0].0, found[1].0], [Class::Exact, Class::Inconsistent], "{formula}");
    }
}

#[test]
fn consistently_is_every_point_and_the_majority_more_than_half() {
    let claim = |points: &str, more: &str| {
        format!(
            "[[claim]]\ntext = \"b is faster\"\npoints = \"{points}\"\nat_least = 1\n{more}\n\
             formula = \"result('{{workload}}', 'b', {{connections}}) / result('{{workload}}', 'a', {{connections}})\"\n"
        )
    };
    let of = |b: &str, points: &str, more: &str| {
        let claim = of_pair(b, "", &claim(points, more)).claims[0].clone();
        (claim.holds, claim.found)
    };
    assert_eq!(of("[1100, 2100, 1600]", "all", "").0, Holds::Yes);
    let (holds, found) = of("[1100, 1900, 1600]", "all", "");
    assert_eq!(holds, Holds::No);
    assert_eq!(found, "2 of 3 points within, 1 outside; the farthest is 0.9498 (w, 200 connections)");
    assert_eq!(of("[1100, 1900, 1600]", "most", "").0, Holds::Yes);
    assert_eq!(of("[900, 1900, 1600]", "most", "").0, Holds::No);
    assert_eq!(of("[900, 1900, 1600]", "some", "").0, Holds::Yes);
    assert_eq!(of("[900, 1900, 1400]", "some", "").0, Holds::No);
    // Points can be left out, and one that the article does not show is none.
    assert_eq!(of("[900, 1900, 1600]", "all", "from = 300").0, Holds::Yes);
    assert_eq!(of("[900, 2100, \"-\"]", "all", "from = 150\nto = 300\nworkloads = [\"w\"]").0, Holds::Yes);
    let wrong = try_audit(&claim("all", "")).unwrap_err();
    assert!(wrong[0].1.contains("there is no contender `b`"), "{wrong:?}");
    let none = try_audit(&claim("all", "from = 999")).unwrap_err();
    assert!(none[0].1.contains("no point of `[results]`"), "{none:?}");
}

#[test]
fn a_point_within_its_reading_error_decides_nothing() {
    let text = HEAD.replace("mean_ms = [99.96, 120]", "error = 5");
    let claim =
        "\n[[claim]]\ntext = \"c\"\npoints = \"all\"\nat_least = 1000\nformula = \"result('{workload}', 'a', {connections})\"\n";
    let study = Study::read("s.toml", &format!("{text}{claim}"), &KINDS).unwrap();
    let found = audit(&Ground { study: &study, bills: &[], facts: &Nothing }).unwrap();
    assert_eq!(found.claims[0].holds, Holds::Unknown);
    assert_eq!(found.list[0].weight, Weight::Reproduction, "what cannot be told is no wrong conclusion");
}

#[test]
fn a_verdict_that_depends_on_the_points_of_the_mean_is_told() {
    let of = |b: &str| {
        let found = of_pair(b, "over = [100, 200]", "");
        found.checks.into_iter().find(|c| c.text.starts_with("the verdict")).unwrap()
    };
    assert_eq!(of("[1100, 2100, 1600]").holds, Holds::Yes);
    let other = of("[1100, 2000, 1000]");
    assert_eq!((other.holds, other.weight), (Holds::No, Weight::Conclusion));
    assert!(
        other.found.starts_with("b against a is +3.30 % over 100, 200 connections, −8.91 % over all points"),
        "{}",
        other.found
    );
    // Within the margin the sign says nothing; above it over other points alone is no other winner.
    assert_eq!(of("[1010, 2000, 1450]").holds, Holds::Yes);
    let above = of("[1010, 2000, 1900]");
    assert_eq!((above.holds, above.weight), (Holds::No, Weight::Number), "{}", above.found);
    let all = of_pair("[1100, 2000, 1000]", "over = [100, 200, 300]", "");
    assert!(all.checks.iter().all(|c| !c.text.starts_with("the verdict")), "nothing was left out");
}

#[test]
fn lower_is_better_must_fit_the_formula() {
    let measure =
        |formula: &str, better: &str| format!("[[measure]]\nname = \"m\"\nformula = \"{formula}\"\nbetter = \"{better}\"\n");
    for (formula, better, expected) in [
        ("[cost] / [throughput]", "lower", Holds::Yes),
        ("[throughput] / [cost]", "higher", Holds::Yes),
        ("[throughput] / [cost]", "lower", Holds::No),
        ("[cost] / [throughput]", "higher", Holds::No),
        ("percent([latency])", "lower", Holds::Yes),
    ] {
        assert_eq!(holds(&measure(formula, better), "m is better where"), expected, "{formula} {better}");
    }
    let found = check(&measure("[throughput] / [cost]", "lower"), "m is better where");
    assert_eq!(
        found.sentence,
        "m is defined as throughput / cost, of which the higher value is better; the article calls the lower one better."
    );
}

#[test]
fn an_average_of_one_value_is_told() {
    let measure = |levels: &str| format!("[[measure]]\nname = \"m\"\naverage_of = {levels}\n");
    assert_eq!(holds(&measure("[100]"), "an average"), Holds::No);
    assert_eq!(holds(&measure("[100, 200]"), "an average"), Holds::Yes);
    assert_eq!(holds(&number("x", "3", "mean(3)"), "an average"), Holds::No);
    let right = try_audit(&number("x", "3", "mean(3, 3)")).unwrap();
    assert!(right.checks.iter().all(|c| !c.text.contains("average")), "{:#?}", right.checks);
}

#[test]
fn two_percentages_with_opposite_bases_are_told() {
    // A costs 50, B 100: A is 50 % cheaper, B 100 % dearer.
    let two = |second: &str| {
        let one = |name: &str, printed: &str| {
            format!(
                "[[number]]\nname = \"{name}\"\nprinted = \"{printed}\"\n\
                 [[number.reading]]\nname = \"dearer\"\nformula = \"percent(100 / 50 - 1)\"\n\
                 [[number.reading]]\nname = \"cheaper\"\nformula = \"percent(1 - 50 / 100)\"\n"
            )
        };
        one("first", "50") + &one("second", second)
    };
    let found = check(&two("100"), "have one base");
    assert_eq!(found.holds, Holds::No);
    assert_eq!(
        found.sentence,
        "first (50) is \"cheaper\" and second (100) is \"dearer\"; by the rule of the first the second is 50."
    );
    assert_eq!(holds(&two("50"), "have one base"), Holds::Yes);
}

#[test]
fn what_is_above_the_ceiling_of_its_benchmark_is_told() {
    let with = |mix: &str, metric: &str, b: &str| {
        let head = HEAD.replace("metric = \"tps\"", &format!("metric = \"{metric}\"\nmix = \"{mix}\""));
        let text = head.replace("qps = [20008, 40010]", &format!("orders = {b}"));
        let study = Study::read("s.toml", &text, &KINDS).unwrap_or_else(|p| panic!("{p:#?}"));
        let found = audit(&Ground { study: &study, bills: &[], facts: &Nothing }).unwrap();
        found.checks.into_iter().find(|c| c.text.contains("waits of the benchmark")).unwrap()
    };
    assert_eq!(with("fast", "orders", "[100, 4000]").holds, Holds::Yes);
    let fast = with("fast", "orders", "[100, 8000]");
    assert_eq!((fast.holds, fast.weight), (Holds::No, Weight::Reproduction));
    assert!(
        fast.sentence.contains("8000 orders, 2.0 times the 4000.0 that the waits of the benchmark allow for fast"),
        "{}",
        fast.sentence
    );
    let slow = with("slow", "orders", "[100, 8000]");
    assert_eq!((slow.holds, slow.weight), (Holds::No, Weight::Number));
}

#[test]
fn a_product_that_was_not_there_yet_is_told() {
    let with = |date: &str, said: &str| {
        let text = HEAD.replace(
            "[results]",
            &format!("[results]\ndate = \"{date}\"\nsoftware = {{ Shop = \"2.0\", Other = \"1\" }}\ndates = {{ \"Shop 2.0\" = \"{said}\" }}"),
        );
        let study = Study::read("s.toml", &text, &KINDS).unwrap_or_else(|p| panic!("{p:#?}"));
        let found = audit(&Ground { study: &study, bills: &[], facts: &Nothing }).unwrap();
        let of = |words: &str| found.checks.iter().find(|c| c.text.starts_with(words)).unwrap().holds;
        [of("Shop 2.0 was there"), of("Shop 2.0 is dated")]
    };
    assert_eq!(with("2022-07-14", "2022-07-13"), [Holds::Yes, Holds::Yes]);
    assert_eq!(with("2022", "2022-07"), [Holds::Yes, Holds::Yes], "to the precision of the article");
    assert_eq!(with("2022-07-12", "2021-07-13"), [Holds::No, Holds::No]);
    assert_eq!(with("2021", "2022-07-13"), [Holds::No, Holds::Yes]);
}

#[test]
fn what_is_said_twice_must_be_the_same() {
    let said = |second: &str| {
        format!("[[said]]\nwhat = \"the version\"\nat = {{ \"the table\" = \"1\", \"the output\" = \"{second}\" }}\n")
    };
    let found = check(&said("2"), "the version");
    assert_eq!((found.holds, found.weight), (Holds::No, Weight::Slip));
    assert_eq!(found.sentence, "The article differs with itself on the version: 1 (the table), 2 (the output).");
    assert_eq!(holds(&said("1"), "the version"), Holds::Yes);
    let heavy = said("2").replace("\nat =", "\nweight = \"conclusion\"\nat =");
    assert_eq!(check(&heavy, "the version").weight, Weight::Conclusion);
}

#[test]
fn the_list_is_in_order_of_weight_and_has_one_sentence_for_a_kind() {
    let text = [
        number("cut", "2.35", "2.356"),
        number("also cut", "1.11", "1.119"),
        number("a little off", "101", "100"),
        number("far off", "2", "1"),
        "[[number]]\nname = \"lost\"\nprinted = \"6\"\nmissing = \"the table is an image\"\n".to_owned(),
        "[[claim]]\ntext = \"cheap: {n}\"\neach = [\"n\"]\nof = [\"3\", \"4\"]\nformula = \"{n}\"\nat_most = 2\n".to_owned(),
    ]
    .concat();
    let text = format!("{}\n{text}", HEAD.replace("[results]", "[results]\nmissing = [\"repeats\"]"));
    let study = Study::read("s.toml", &text, &KINDS).unwrap_or_else(|p| panic!("{p:#?}"));
    let found = audit(&Ground { study: &study, bills: &[], facts: &Nothing }).unwrap();
    let list: Vec<(Weight, &str, &str)> = found.list.iter().map(|r| (r.weight, r.class.as_str(), r.sentence.as_str())).collect();
    let expected = [
        (Weight::Conclusion, "does not hold", "The claim \"cheap\" (at most 2) does not hold for: 3 (3); 4 (4)."),
        (
            Weight::Number,
            "does not hold",
            "Little's law: w, a at 200 connections: found 240.1 of 200 connections are accounted for.",
        ),
        (Weight::Number, "inconsistent", "far off: printed 2, the formula gives 1."),
        (Weight::Number, "inconsistent", "a little off: printed 101, the formula gives 100."),
        (Weight::Reproduction, "not derivable", "lost: printed 6, not derivable, because the table is an image."),
        (Weight::Reproduction, "not given", "The article does not give: repeats."),
        (
            Weight::Slip,
            "truncated",
            "Printed digits were cut off where rounding gives others: \
             also cut (printed 1.11, rounded 1.12); cut (printed 2.35, rounded 2.36).",
        ),
    ];
    assert_eq!(list, expected);
    assert_eq!(found.list[0].of, ["cheap: 3", "cheap: 4"]);
    let right = try_audit(&number("x", "1500.46", "summary('w', 'a')")).unwrap();
    assert_eq!(right.list.len(), 1, "Little's law of the head alone: {:#?}", right.list);
}

#[test]
fn tables_that_say_too_little_are_refused_with_their_lines() {
    for (text, expected) in [
        ("[[measure]]\nname = \"m\"\nformula = \"[price] / [throughput]\"\nbetter = \"lower\"\n", "a measure has no [price]"),
        ("[[measure]]\nname = \"m\"\nformula = \"[cost] /\"\nbetter = \"lower\"\n", "the end"),
        ("[[measure]]\nname = \"m\"\naverage_of = []\n", "`average_of` is empty"),
        ("[[sample]]\nname = \"s\"\nworkload = \"w\"\ncount = \"1\"\nrun_s = 0\n", "`run_s` is 0"),
        ("[[sample]]\nname = \"s\"\nworkload = \"w\"\ncount = \"1\"\nread_share = 1.5\n", "`read_share` is 1.5"),
        (
            "[[claim]]\ntext = \"c\"\npoints = \"all\"\neach = [\"n\"]\nof = [\"1\"]\nformula = \"1\"\nat_least = 1\n",
            "stands beside",
        ),
        ("[[claim]]\ntext = \"c\"\npoints = \"all\"\nworkloads = [\"v\"]\nformula = \"1\"\nat_least = 1\n", "`v` is no workload"),
        ("[results.dates]\nShop = \"13 July 2022\"\n", "`13 July 2022` is no date"),
        ("[[measure]]\nname = \"m\"\nbetter = \"less\"\n", "`better` is \"less\""),
        ("[[said]]\nwhat = \"x\"\nat = { \"the table\" = \"1\" }\n", "it takes two places"),
        ("[[claim]]\ntext = \"c\"\npoints = \"every\"\nformula = \"1\"\nat_least = 1\n", "`points` is \"every\""),
        ("[[claim]]\ntext = \"c\"\npoints = \"all\"\nformula = \"1 /\"\nat_least = 1\n", "the end"),
        ("[[claim]]\ntext = \"c\"\nformula = \"1\"\nat_least = 1\nweight = \"heavy\"\n", "`weight` is \"heavy\""),
    ] {
        let problems = Study::read("s.toml", &format!("{HEAD}{text}"), &KINDS).unwrap_err();
        let told = problems.iter().any(|p| p.line > 18 && format!("{} {}", p.message, p.help).contains(expected));
        assert!(told, "{text}: {problems:#?}");
    }
}

#[test]
fn a_sentence_says_where_its_inputs_are_from() {
    let claim = |formula: &str, more: &str| format!("[[claim]]\ntext = \"c\"\nformula = \"{formula}\"\nat_most = 1\n{more}\n");
    let of = |text: String| try_audit(&text).unwrap().list.into_iter().map(|r| r.sentence).collect::<Vec<_>>().join("\n");
    let own = of(claim("2", ""));
    assert!(own.contains("The claim \"c\": the value must be at most 1, and the article's own numbers give 2."), "{own}");
    let listed = of(claim("vcpu('m.large')", "note = \"as of today\""));
    assert!(listed.contains("at most 1, and with the price lists of the study it is 2: as of today."), "{listed}");
    let by_name = of(number("x", "2", "vcpu('m.large')") + &claim("[x]", ""));
    assert!(by_name.contains("with the price lists of the study it is 2"), "{by_name}");
    let given = of(claim("[g]", "") + "[given]\ng = 2\n");
    assert!(given.contains("and with the given numbers it is 2."), "{given}");
}

#[test]
fn a_check_of_perbucks_own_is_no_claim_of_the_article() {
    let text = "[[claim]]\ntext = \"the bytes of a row\"\nown = true\nformula = \"2\"\nat_most = 1\n";
    let found = try_audit(text).unwrap();
    assert!(found.claims.is_empty() && found.checks.iter().any(|c| c.text == "the bytes of a row"));
    let sentence = &found.list[0].sentence;
    assert_eq!(sentence, "The bytes of a row must be at most 1, and the article's own numbers give 2.");
}

#[test]
fn percentages_are_compared_with_the_first_of_their_kind() {
    let one = |i: usize| {
        format!(
            "[[number]]\nname = \"n{i}\"\nprinted = \"50\"\n\
             [[number.reading]]\nname = \"dearer\"\nformula = \"percent(100 / 50 - 1)\"\n\
             [[number.reading]]\nname = \"cheaper\"\nformula = \"percent(1 - 50 / 100)\"\n"
        )
    };
    let found = try_audit(&(0..40).map(one).collect::<String>()).unwrap();
    assert_eq!(found.checks.iter().filter(|c| c.text.contains("have one base")).count(), 39);
}

#[test]
fn a_wrong_name_at_one_point_is_not_swallowed() {
    let claim = |formula: &str| format!("[[claim]]\ntext = \"c\"\npoints = \"all\"\nat_least = 0\nformula = \"{formula}\"\n");
    // 200 connections are hidden, and that decides nothing.
    let hidden = HEAD.replace("mean_ms = [99.96, 120]", "mean_ms = [99.96, \"-\"]");
    let of = |formula: &str| {
        let study = Study::read("s.toml", &format!("{hidden}{}", claim(formula)), &KINDS).unwrap();
        audit(&Ground { study: &study, bills: &[], facts: &Nothing })
    };
    let found = of("result('{workload}', 'a', {connections}, 'mean_ms')").unwrap();
    assert_eq!(found.claims[0].found, "1 of 1 points within, 0 outside, 1 not shown");
    let wrong = of("1 / ({connections} - 200)").unwrap_err();
    assert!(wrong[0].1.contains("division by zero"), "{wrong:?}");
}
