use super::*;
use crate::study::Summary;
use crate::workload_kind::tests::{KINDS, ORDERS};

const GOOD: &str = include_str!("tests/good.toml");

#[test]
fn a_good_study_is_read_whole() {
    let study = Study::read("s.toml", GOOD, &KINDS).unwrap();
    assert_eq!((study.baseline().name.as_str(), study.seed), ("b", Seed(42)));
    let node = &study.contenders[0].nodes[0];
    assert_eq!((node.count, node.line), (3, 13));
    assert!(node.volumes.first().is_some_and(|v| v.daily_snapshots && v.size_gb == 1000));
    assert!(!study.contenders[0].nodes[1].priced);
    assert_eq!(study.workloads[0].metric, Some(ORDERS.clone()));
    assert_eq!(study.workloads[0].parameters["warehouses"].value, crate::toml_reader::Scalar::Int(10));
    assert_eq!(study.sweep.connections, [1, 8]);
    assert_eq!(study.summary, Summary::MeanOver(vec![1, 8]));
    assert_eq!(study.plan().len(), 2 * 2 * 5);
}

#[test]
fn every_broken_line_is_named() {
    let broken = [
        ("schema = 1", "schema = 2", "schema"),
        ("name = \"s\"", "name = \"../s\"", "folder"),
        ("baseline = \"b\"", "baseline = \"bb\"", "did you mean `b`"),
        ("round = \"monthly\"", "round = \"daily\"", "\"monthly\""),
        ("count = 3", "count = 0", "outside"),
        ("count = 3", "count = 3, zones = 4", "`zones` is 4, and there are 3 machines"),
        ("usd_per_hour = 0.10", "usd_per_hour = \"ten\"", "decimal number"),
        ("0.10 }]", "0.10 }]\ndiscount = [{ name = \"d\", percent = 5, of = [\"fee\"] }]", "cannot be of `fee`"),
        ("0.10 }]", "0.10 }]\ndiscount = [{ name = \"d\", percent = 5, of = [\"disk\"] }]", "no group of a bill"),
        ("kind = \"shop\"", "knd = \"shop\"", "kind"),
        ("duration = \"10s\"", "duration = 10", "duration"),
        ("over = [1, 8]", "over = [1, 9]", "does not measure"),
        ("metric = \"orders\"", "metric = \"order\"", "use one of \"tps\", \"qps\", \"orders\", \"relative\""),
        ("[sweep]", "[swep]", "sweep"),
    ];
    for (good, bad, expected) in broken {
        assert!(GOOD.contains(good), "{good}");
        let problems = Study::read("s.toml", &GOOD.replace(good, bad), &KINDS).map(|s| s.name).unwrap_err();
        let all = problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
        assert!(all.contains(expected), "{bad}: {all}");
        assert!(problems.iter().all(|p| p.line > 0 && !p.help.is_empty()), "{all}");
    }
}

#[test]
fn what_a_workload_cannot_have_of_its_own_is_named() {
    let own = |own: &str, sweep: &str| {
        let text = format!(
            "schema = 1\nname = \"s\"\n[[contender]]\nname = \"a\"\n[[workload]]\nname = \"w\"\nkind = \"k\"\n{own}\n[sweep]\n{sweep}\n"
        );
        let read = Study::read("s.toml", &text, &[]).map(|study| study.sweep_of("w").clone());
        read.map_err(|problems| problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
    };
    assert_eq!(own("rate = [10, 20]", "connections = [8]\nrate = [5]").unwrap().rates_per_s, [10, 20]);
    assert_eq!(own("connections = [9]\nwarmup = \"1s\"", "connections = [8]\nrate = [5]").unwrap().connections, [9]);
    for (lines, sweep, says) in [
        ("rate = [10]", "connections = [8]", "s.toml:5: a workload has a `rate`, and the sweep has none"),
        ("connections = [1, 2]", "connections = [8]\nrate = [5]", "needs exactly one count of connections"),
        ("connections = [1]", "phases = [{ time = \"1s\", connections = 2 }]", "the phases of the sweep say the load"),
        ("connections = []", "connections = [8]", "`workload.connections` is empty"),
        ("duration = \"1ms\"", "connections = [8]", "`workload.duration` is too short"),
        ("trials = 0", "connections = [8]", "trials"),
        ("connections = [4]\nover = [8]", "connections = [8]", "`over` names 8, which the sweep does not measure"),
        ("connections = [4]", "connections = [8]\n[summary]\nover = [8]", "`over` names 8, which the sweep does not measure"),
    ] {
        let problems = own(lines, sweep).map(|s| s.connections).unwrap_err();
        assert!(
            problems.contains(says) && problems.lines().filter(|l| l.contains("s.toml:")).count() == 1,
            "{lines}: {problems}"
        );
    }
}

#[test]
fn what_was_measured_elsewhere_may_have_any_parameters() {
    let text = "schema = 1\nname = \"s\"\nimported = true\n[[contender]]\nname = \"a\"\n[[workload]]\nname = \"w\"\nkind = \"hammerdb\"\n\
                duration = \"10m\"\nconnections = 64\n";
    let study = Study::read("s.toml", text, &[]).unwrap();
    assert_eq!(study.workloads[0].parameters.keys().collect::<Vec<_>>(), ["connections", "duration"]);
    assert!(study.workloads[0].sweep.is_none());
}

#[test]
fn two_workloads_of_one_kind_need_two_databases() {
    let second = "[[workload]]\nname = \"large\"\nkind = \"shop\"\nwarehouses = 20\n[sweep]";
    let problems = Study::read("s.toml", &GOOD.replace("[sweep]", second), &KINDS).map(|s| s.name).unwrap_err();
    assert!(problems[0].to_string().contains("same shop tables"), "{problems:?}");
    let own = second.replace("warehouses = 20", "warehouses = 20\ndatabase = \"large\"");
    assert!(Study::read("s.toml", &GOOD.replace("[sweep]", &own), &KINDS).is_ok());
    // What is only done with the same tables does not need others.
    let mix = second.replace("warehouses = 20", "warehouses = 10\nmix = \"reads\"");
    assert!(Study::read("s.toml", &GOOD.replace("[sweep]", &mix), &KINDS).is_ok());
    assert!(Study::read("s.toml", &GOOD.replace("[sweep]", &mix), &[]).is_err(), "of an unknown kind every word may matter");
}

#[test]
fn settings_of_servers_are_names_and_plain_values_and_decide_what_is_measured() {
    let with = |settings: &str| {
        let target = "target = \"sqlite:a.db\"";
        let settings = format!("{target}\nserver_settings = {{ {settings} }}\ntiflash_replicas = 2");
        Study::read("s.toml", &GOOD.replace(target, &settings), &KINDS)
    };
    let study = with("Tidb_Enable_Auto_Analyze = false, r = 0.5, n = 7, t = \"20m\"").unwrap();
    let read: Vec<_> = study.contenders[0].server_settings.iter().map(|(n, v)| (n.as_str(), v.value.as_str())).collect();
    assert_eq!(read, [("n", "7"), ("r", "0.5"), ("t", "20m"), ("tidb_enable_auto_analyze", "OFF")]);
    assert_eq!(study.contenders[0].tiflash_replicas.as_ref().map(|n| n.value), Some(2));
    let plain = Study::read("s.toml", GOOD, &KINDS).unwrap();
    let other = with("n = 8").unwrap();
    let prints = [plain.fingerprint(), study.fingerprint(), other.fingerprint()];
    assert!(prints[0] != prints[1] && prints[1] != prints[2] && prints[0] != prints[2]);
    for (bad, expected) in [
        ("\"a;b\" = 1", "name of a variable"),
        ("\"\" = 1", "name of a variable"),
        ("x = \"a'\"", "a quote"),
        ("x = \"a\\\\\"", "a backslash"),
        ("my_PASSWORD = 1", "a password"),
        ("X = 1, x = 2", "given twice"),
        ("x = [1]", "a number, a string"),
    ] {
        let problems = with(bad).map(|s| s.name).unwrap_err();
        assert!(problems[0].to_string().contains(expected), "{bad}: {problems:?}");
    }
}
