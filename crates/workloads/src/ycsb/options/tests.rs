use perbuck_core::study::{Located, Scalar};

use super::*;

/// The options of these properties, as a property file would give them.
pub(in crate::ycsb) fn read(properties: &[(&str, &str)]) -> Result<Options, Vec<String>> {
    let value = |(name, text): &(&str, &str)| {
        let value = property_value(name, text).unwrap_or_else(|| Scalar::Text((*text).to_owned()));
        ((*name).to_owned(), Located { value, line: 1 })
    };
    let options = Options::checked(&properties.iter().map(value).collect());
    options.map_err(|all| all.into_iter().map(|p| format!("{} ({})", p.message, p.help)).collect())
}

pub(in crate::ycsb) fn options(properties: &[(&str, &str)]) -> Options {
    read(properties).unwrap()
}

#[test]
fn defaults_are_those_of_both_programs() {
    let o = options(&[("recordcount", "1000")]);
    assert_eq!((o.recordcount, o.insertstart, o.insertcount, o.operationcount), (1000, 0, 1000, None));
    assert_eq!(
        (o.fieldcount, &o.lengths, o.table.as_str(), o.keyprefix.as_str()),
        (10, &Lengths::Constant(100), "usertable", "user")
    );
    assert_eq!((o.readallfields, o.readallfieldsbyname, o.writeallfields, o.dataintegrity), (true, false, false, false));
    assert_eq!((o.proportions, o.request), ([0.95, 0.05, 0.0, 0.0, 0.0], Request::Uniform));
    assert_eq!((o.minscanlength, o.maxscanlength, o.zipfian_scans), (1, 1000, false));
    assert_eq!((o.ordered, o.zeropadding, o.insertion_retries, o.insertion_retry_interval_s), (false, 1, 0, 3));
}

#[test]
fn the_six_workloads_are_the_published_ones() {
    for (name, proportions, request) in [
        ("a", [0.5, 0.5, 0.0, 0.0, 0.0], Request::Zipfian),
        ("b", [0.95, 0.05, 0.0, 0.0, 0.0], Request::Zipfian),
        ("c", [1.0, 0.0, 0.0, 0.0, 0.0], Request::Zipfian),
        ("d", [0.95, 0.0, 0.05, 0.0, 0.0], Request::Latest),
        ("e", [0.0, 0.0, 0.05, 0.95, 0.0], Request::Zipfian),
        ("f", [0.5, 0.0, 0.0, 0.0, 0.5], Request::Zipfian),
    ] {
        let o = options(&[("workload", name)]);
        assert_eq!((o.proportions, o.request, o.recordcount), (proportions, request, 1000), "{name}");
        let file = preset(&format!("workload{name}")).unwrap();
        let of_file = options(&file);
        assert_eq!((of_file.proportions, of_file.request, of_file.operationcount), (proportions, request, Some(1000)), "{name}");
        assert_eq!((o.maxscanlength, of_file.maxscanlength), if name == "e" { (100, 100) } else { (1000, 1000) }, "{name}");
    }
    let mixed = options(&[("workload", "workloada"), ("updateproportion", "0"), ("requestdistribution", "hotspot")]);
    assert_eq!(mixed.proportions, [0.5, 0.0, 0.0, 0.0, 0.0]);
    assert_eq!(mixed.request, Request::Hotspot { data: 0.2, share: 0.8 });
    assert_eq!(preset("workloadg"), None);
}

#[test]
fn what_cannot_be_is_refused_with_the_way_out() {
    for (properties, said) in [
        (&[][..], "`recordcount` is missing"),
        (&[("recordcount", "10"), ("insertstart", "5"), ("insertcount", "6")], "go beyond `recordcount` 10"),
        (&[("recordcount", "10"), ("insertstart", "10")], "no record to work on"),
        (&[("recordcount", "1"), ("readproportion", "0"), ("updateproportion", "0")], "all proportions are 0"),
        (&[("recordcount", "1"), ("minscanlength", "5"), ("maxscanlength", "4")], "`minscanlength` 5 is above"),
        (&[("recordcount", "1"), ("dataintegrity", "true"), ("fieldlengthdistribution", "uniform")], "constant length"),
        (&[("recordcount", "1"), ("zeropadding", "62"), ("compat", "go-ycsb")], "keys can have 66 characters"),
        (&[("recordcount", "1"), ("requestdistribution", "zipfain")], "did you mean \"zipfian\"?"),
        (&[("recordcount", "1"), ("fieldlengthdistribution", "histogram")], "such as \"10: 1 0 5\""),
        (&[("recordcount", "1"), ("keyprefix", "o'neill")], "`keyprefix` is \"o'neill\""),
        (&[("recordcount", "1"), ("table", "a;b")], "`table` is \"a;b\""),
        (&[("recordcount", "1k")], "`recordcount` is \"1k\""),
        (&[("recordcount", "1"), ("readpropotion", "1")], "did you mean `readproportion`?"),
    ] {
        let problems = read(properties).unwrap_err();
        assert!(problems.iter().any(|p| p.contains(said)), "{properties:?}: {problems:?}");
    }
}

#[test]
fn parameters_read_back_as_the_same_options() {
    for properties in [
        &[("recordcount", "100"), ("insertstart", "10"), ("fieldlengthdistribution", "uniform")][..],
        &[("workload", "e"), ("operationcount", "50"), ("scanlengthdistribution", "zipfian"), ("zipfian.law", "exact")],
        &[("workload", "c"), ("fieldlengthdistribution", "histogram"), ("fieldlengthhistogram", "10: 1 0 5")],
        &[("recordcount", "9"), ("requestdistribution", "exponential"), ("exponential.frac", "0.5"), ("compat", "go-ycsb")],
        &[("recordcount", "9"), ("requestdistribution", "hotspot"), ("dataintegrity", "true"), ("insertorder", "ordered")],
    ] {
        let options = options(properties);
        let mut parameters = options.parameters();
        // What is absent is 0 in a record, and not a default.
        for name in ["read", "update", "insert", "scan", "readmodifywrite"] {
            parameters.entry(format!("{name}proportion")).or_insert_with(|| "0".to_owned());
        }
        let words: Vec<(&str, &str)> = parameters.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        assert_eq!(read(&words).unwrap(), options);
    }
}
