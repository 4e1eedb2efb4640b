//! The workloads A to F as YCSB publishes them (its folder `workloads`; Cooper et al., SoCC 2010, table 2).

/// Their names with what they are.
pub const WORKLOADS: [(&str, &str); 6] = [
    ("workloada", "update heavy: 50 % reads, 50 % updates, zipfian"),
    ("workloadb", "read mostly: 95 % reads, 5 % updates, zipfian"),
    ("workloadc", "read only: 100 % reads, zipfian"),
    ("workloadd", "read latest: 95 % reads, 5 % inserts, latest"),
    ("workloade", "short ranges: 95 % scans of 1 to 100 rows, 5 % inserts, zipfian"),
    ("workloadf", "read-modify-write: 50 % reads, 50 % read-modify-writes, zipfian"),
];

const SET: [&[(&str, &str)]; 6] = [
    &[("readproportion", "0.5"), ("updateproportion", "0.5"), ("requestdistribution", "zipfian")],
    &[("readproportion", "0.95"), ("updateproportion", "0.05"), ("requestdistribution", "zipfian")],
    &[("readproportion", "1"), ("updateproportion", "0"), ("requestdistribution", "zipfian")],
    &[("readproportion", "0.95"), ("updateproportion", "0"), ("insertproportion", "0.05"), ("requestdistribution", "latest")],
    &[
        ("readproportion", "0"),
        ("updateproportion", "0"),
        ("scanproportion", "0.95"),
        ("insertproportion", "0.05"),
        ("requestdistribution", "zipfian"),
        ("maxscanlength", "100"),
        ("scanlengthdistribution", "uniform"),
    ],
    &[
        ("readproportion", "0.5"),
        ("updateproportion", "0"),
        ("readmodifywriteproportion", "0.5"),
        ("requestdistribution", "zipfian"),
    ],
];

/// The words of the property `workload`. The plain one, and the class names that YCSB's own files give, leave everything to
/// the other properties.
pub(super) fn words() -> Vec<(&'static str, Option<usize>)> {
    let plain = ["core", "site.ycsb.workloads.CoreWorkload", "com.yahoo.ycsb.workloads.CoreWorkload"].map(|word| (word, None));
    let named = || WORKLOADS.iter().enumerate().map(|(i, (name, _))| (*name, Some(i)));
    let letters = named().map(|(name, i)| (name.trim_start_matches("workload"), i));
    plain.into_iter().chain(letters).chain(named()).collect()
}

/// What the file of that name holds, record and operation count included: both are 1000.
pub fn preset(name: &str) -> Option<Vec<(&'static str, &'static str)>> {
    let number = WORKLOADS.iter().position(|(n, _)| *n == name)?;
    let mut all = vec![("recordcount", "1000"), ("operationcount", "1000"), ("workload", "core")];
    all.extend_from_slice(SET[number]);
    Some(all)
}

/// What a workload sets a property to.
pub(super) fn value(number: usize, name: &str) -> Option<&'static str> {
    SET.get(number)?.iter().find(|(n, _)| *n == name).map(|(_, value)| *value)
}

/// A proportion of a workload; 0 where it does not name it.
pub(super) fn proportion(number: usize, name: &str) -> f64 {
    value(number, name).and_then(|v| v.parse().ok()).unwrap_or(0.0)
}
