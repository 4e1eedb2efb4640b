use std::collections::{BTreeMap, BTreeSet};

use perbuck_core::study::WorkloadSpec;

use super::*;
use crate::planned::Planned;

/// Each article: what it printed, its repetition, and the same question of today.
const ARTICLES: [[&str; 3]; 4] = [
    [
        include_str!("../../../../studies/published/mysql-kunpeng-2020.toml"),
        include_str!("../../../../studies/mysql-kunpeng-2020.toml"),
        include_str!("../../../../studies/mysql-arm-today.toml"),
    ],
    [
        include_str!("../../../../studies/published/tidb-eks-arm-2021.toml"),
        include_str!("../../../../studies/tidb-eks-arm-2021.toml"),
        include_str!("../../../../studies/tidb-eks-arm-today.toml"),
    ],
    [
        include_str!("../../../../studies/published/tidb-t2a-graviton2-2022.toml"),
        include_str!("../../../../studies/tidb-t2a-graviton2-2022.toml"),
        include_str!("../../../../studies/tidb-two-clouds-today.toml"),
    ],
    [
        include_str!("../../../../studies/published/tikv-arm64-2019.toml"),
        include_str!("../../../../studies/tikv-arm64-2019.toml"),
        include_str!("../../../../studies/tikv-arm-today.toml"),
    ],
];

/// What a workload is made of, in the words of its kind. An article on YCSB gives operations and the share of reads.
fn sizes(w: &WorkloadSpec, study: &Study) -> BTreeMap<String, String> {
    let text = |key: &str| w.parameters.get(key).map(|v| v.value.to_string());
    let mut all: BTreeMap<String, String> = w.parameters.iter().map(|(key, v)| (key.clone(), v.value.to_string())).collect();
    // Tables that two laws of access share are filled by the first of them.
    all.remove("data_rand_type");
    if w.kind.value == "ycsb" {
        let presets = [("workloada", "0.5"), ("workloadb", "0.95"), ("workloadc", "1")];
        let share = text("workload").and_then(|preset| presets.iter().find(|(name, _)| *name == preset).map(|(_, share)| *share));
        let operations = study.sweep_of(&w.name).events.map(|n| n.to_string());
        all = BTreeMap::new();
        all.extend(text("operations").or(operations).map(|n| ("operations".to_owned(), n)));
        all.extend(text("read_share").or(share.map(str::to_owned)).map(|n| ("read_share".to_owned(), n)));
    }
    all
}

#[test]
fn a_repetition_has_the_points_of_its_article_and_no_more() {
    let read = |text: &str| Study::read("s.toml", text, &Registry::default().kinds());
    for [printed, repeated, _] in ARTICLES {
        let published = read(printed).unwrap();
        let named = perbuck_core::study::files_named(repeated);
        let attached = perbuck_core::study::Attached {
            files: named.into_iter().map(|name| (name.value, printed.to_owned())).collect(),
            ..perbuck_core::study::Attached::default()
        };
        let study = read(&attached.to(repeated)).unwrap_or_else(|problems| panic!("{problems:?}"));
        let rows = &published.published.as_ref().unwrap().rows;
        assert_eq!(study.beside.as_ref().map(|beside| &beside.rows), Some(rows), "{}", study.name);
        let printed: BTreeSet<_> = rows.iter().map(|r| (r.workload.clone(), r.contender.clone(), r.connections)).collect();
        let planned = study.plan().into_iter().map(|key| (key.workload, key.contender, key.connections));
        assert_eq!(planned.collect::<BTreeSet<_>>(), printed, "{}", study.name);
        let levels = |study: &Study| {
            let of =
                |f: &perbuck_core::study::Factor| (f.name.clone(), f.levels.iter().map(|l| l.name.clone()).collect::<Vec<_>>());
            study.factors.iter().map(of).collect::<Vec<_>>()
        };
        assert_eq!(levels(&study), levels(&published));
        for (ours, theirs) in study.workloads.iter().zip(&published.workloads) {
            assert_eq!((&ours.name, &ours.kind.value), (&theirs.name, &theirs.kind.value));
            assert_eq!(sizes(ours, &study), sizes(theirs, &published), "{} of {}", ours.name, study.name);
            assert_eq!(ours.summary.as_ref().unwrap_or(&study.summary), theirs.summary.as_ref().unwrap_or(&published.summary));
        }
    }
}

#[test]
fn every_article_can_be_repeated_and_its_question_asked_today() {
    for [printed, repeated, today] in ARTICLES {
        for text in [repeated, today] {
            let files = perbuck_core::study::files_named(text).into_iter().map(|name| (name.value, printed.to_owned())).collect();
            let text = perbuck_core::study::Attached { files, ..Default::default() }.to(text);
            let inputs = check("s.toml", text, None, Registry::default()).unwrap_or_else(|problems| panic!("{problems:?}"));
            let planned = Planned::of(&inputs);
            assert!(!planned.trials.is_empty() && planned.text().contains("order of the trials"));
            let waiting = inputs.study.contenders.iter().filter(|c| c.server.is_none() && c.deploy.is_none()).count();
            assert_eq!(planned.priced_only.len(), waiting, "they wait for an address");
            // The TiKV study of 2019 names no machines, and MySQL's no prices.
            assert_eq!(inputs.bills.is_empty(), inputs.study.price.snapshot.is_none());
        }
    }
}

#[test]
fn workloads_that_begin_with_other_rows_need_their_own_database() {
    let text = "schema = 1\nname = \"s\"\n[[contender]]\nname = \"a\"\n[[workload]]\nname = \"v\"\nkind = \"sysbench\"\n\
                [[workload]]\nname = \"w\"\nkind = \"sysbench\"\n";
    let with = |lines: &str| check("s.toml", format!("{text}{lines}"), None, Registry::default());
    assert!(with("range_size = 5\nskip_trx = true\nscript = \"oltp_read_only\"").is_ok(), "what is done with the rows");
    let shared = with("rand_type = \"zipfian\"").unwrap_or_else(|problems| panic!("{problems:?}"));
    let tables: Vec<_> = shared.plans.iter().map(|plan| plan.parameters()["rand_type"].clone()).collect();
    assert_eq!(tables, ["uniform", "zipfian"]);
    assert_eq!(shared.plans[1].parameters()["data_rand_type"], "uniform");
    // The default of sysbench 1.0 is another one, and its rows are of that.
    let old = format!("{text}compat = \"sysbench-1.0\"\nrand_type = \"pareto\"").replacen(
        "kind = \"sysbench\"",
        "kind = \"sysbench\"\ncompat = \"sysbench-1.0\"",
        1,
    );
    let shared = check("s.toml", old, None, Registry::default()).unwrap_or_else(|problems| panic!("{problems:?}"));
    assert_eq!(shared.plans[1].parameters()["data_rand_type"], "special");
    for lines in ["table_size = 5", "data_rand_type = \"zipfian\""] {
        let problems = with(lines).err().unwrap();
        let told = problems[0].to_string();
        assert!(told.contains("cannot share their tables, because") && told.contains("database = "), "{told}");
    }
}

#[test]
fn what_a_level_cannot_set_is_told() {
    let with = |contender: &str, level: &str| {
        let text = format!(
            "schema = 1\nname = \"s\"\n[[contender]]\nname = \"a\"\n{contender}\n[[workload]]\nname = \"v\"\nkind = \"sysbench\"\n\
             [[factor]]\nname = \"f\"\nlevel = [{{ name = \"one\", {level} }}, {{ name = \"two\" }}]\n"
        );
        match check("s.toml", text, None, Registry::default()) {
            Ok(_) => String::new(),
            Err(problems) => problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
        }
    };
    let private = "server = { kind = \"mariadb\", config = { innodb-buffer-pool-size = \"8M\" } }";
    for (contender, level, says) in [
        (private, "server_settings = { max_statement_time = 0 }", ""),
        (private, "config = { port = 1 }", "perbuck sets `port`"),
        (private, "config = { innodb_buffer_pool_size = \"9M\" }", "are one setting"),
        ("target = \"mysql://h/\"", "config = { x = 1 }", "does not start the server of contender `a`"),
        ("target = \"sqlite:a.db\"", "server_settings = { x = 1 }", "`server_settings`"),
        ("server = { kind = \"tidb\" }", "config = { x = 1 }", "would lose its data"),
        (private, "workload = { rand_type = \"none\" }", "workload `v`: `rand_type`"),
    ] {
        let told = with(contender, level);
        assert!(if says.is_empty() { told.is_empty() } else { told.contains(says) }, "{level}: {told}");
    }
}

#[test]
fn a_device_without_an_end_is_read_for_a_while_only() {
    for (limit, most) in [(Limit::PAGE, 64), (Limit::TABLE, 4)] {
        let refused = read_up_to("the page", Path::new("/dev/zero"), limit).unwrap_err().to_string();
        assert!(refused.contains(&format!("cannot read the page /dev/zero: it has more than {most} MB")), "{refused}");
    }
}
