use super::*;
use crate::study::{Attached, Scalar, Summary, files_named, scripts_named, targets_given, without_target};
use crate::workload_kind::tests::{KINDS, ORDERS};
use crate::workload_kind::{Decides, Parameter, ParameterKind, file_text};

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
    assert_eq!(study.workloads[0].parameters["warehouses"].value, Scalar::Int(10));
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
    let cold = |lines: &str, sweep: &str| own(lines, sweep).unwrap().cold;
    assert!(cold("", "caches = \"cold\"") && cold("caches = \"cold\"", "") && !cold("caches = \"kept\"", "caches = \"cold\""));
    for (lines, sweep, says) in [
        ("rate = [10]", "connections = [8]", "s.toml:5: a workload has a `rate`, and the sweep has none"),
        ("connections = [1, 2]", "connections = [8]\nrate = [5]", "needs exactly one count of connections"),
        ("connections = [1]", "phases = [{ time = \"1s\", connections = 2 }]", "the phases of the sweep say the load"),
        ("connections = []", "connections = [8]", "`workload.connections` is empty"),
        ("duration = \"1ms\"", "connections = [8]", "`workload.duration` is too short"),
        ("trials = 0", "connections = [8]", "trials"),
        ("caches = \"warm\"", "connections = [8]", "use one of \"kept\", \"cold\""),
        ("prewarm = \"tables\"", "caches = \"cold\"", "workload `w`: `prewarm` fills the caches that"),
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

const FACTORS: &str = "[[factor]]\nname = \"pool\"\nlabel = \"buffer pool\"\nlevel = [\n\
    { name = \"large\", label = \"80 GB\", server_settings = { pool = \"80G\" } },\n{ name = \"small\", server_settings = { pool = \"35G\" } },\n]\n\
    [[factor]]\nname = \"mix\"\nlevel = [{ name = \"reads\", workload = { mix = \"reads\" } }, { name = \"all\", workers = 3 }]\n[sweep]";

#[test]
fn factors_are_multiplied_into_workloads_and_their_servers() {
    let study = Study::read("s.toml", &GOOD.replace("[sweep]", FACTORS), &KINDS).unwrap();
    let names: Vec<&str> = study.workloads.iter().map(|w| w.name.as_str()).collect();
    assert_eq!(names, ["small@large,reads", "small@large,all", "small@small,reads", "small@small,all"]);
    assert_eq!(study.title_of(names[0]), "small, 80 GB, reads");
    let [first, second, third, _] = study.workloads.as_slice() else { panic!() };
    assert_eq!(first.parameters["mix"].value.to_string(), "reads");
    assert!(!second.parameters.contains_key("mix") && study.sweep_of(&second.name).workers == Some(3));
    assert_eq!((study.server_state(first), study.state_name("a", third)), ("large".to_owned(), "a@small".to_owned()));
    assert_eq!(study.contender_at(&study.contenders[0], third).server_settings["pool"].value, "35G");
    assert_eq!(study.by_state().len(), 2);
    // In a block the servers are in each state once, one after the other.
    let states: Vec<String> = study.plan().iter().map(|key| study.server_state(study.workload(&key.workload).unwrap())).collect();
    let mut runs = states.clone();
    runs.dedup();
    assert!(runs.len() <= 2 * 5 && states.iter().filter(|s| *s == "large").count() == states.len() / 2, "{runs:?}");
    let other = Study::read("s.toml", &GOOD.replace("[sweep]", &FACTORS.replace("35G", "36G")), &KINDS).unwrap();
    assert_ne!(study.fingerprint(), other.fingerprint());
    assert_eq!(other.changes_since(&study).len(), 1, "{:?}", other.changes_since(&study));
}

#[test]
fn what_the_user_sets_is_set_once_for_all_blocks() {
    let by_hand = "[[factor]]\nname = \"net\"\nby_hand = true\nlevel = [{ name = \"plain\" }, { name = \"tuned\" }]\n[sweep]";
    let study = Study::read("s.toml", &GOOD.replace("[sweep]", by_hand), &KINDS).unwrap();
    let at: Vec<Vec<String>> = study.plan().iter().map(|k| study.set_by_hand(study.workload(&k.workload).unwrap())).collect();
    assert_eq!((at.first().unwrap()[0].as_str(), at.last().unwrap()[0].as_str()), ("net=plain", "net=tuned"));
    let mut runs = at;
    runs.dedup();
    assert_eq!(runs.len(), 2);
}

#[test]
fn what_is_wrong_with_a_factor_is_named() {
    for (good, bad, says) in [
        ("name = \"mix\"", "name = \"pool\"", "two factors are named `pool`"),
        ("name = \"all\"", "name = \"small\"", "two levels are named `small`"),
        (", { name = \"all\", workers = 3 }", "", "has 1 levels"),
        ("mix = \"reads\"", "mux = 1", "level `reads` sets `mux`, which workload `small` (shop) does not have"),
        ("mix = \"reads\"", "warehouses = 1", "has its own `warehouses`, which factor `mix` varies"),
        (
            "name = \"all\", workers = 3",
            "name = \"all\", server_settings = { POOL = 1 }",
            "level `all` sets `pool`, which factor `pool` sets, too",
        ),
        ("label = \"buffer pool\"", "by_hand = true", "level `large` sets something, and you set the levels"),
        ("name = \"reads\"", "name = \"re,ads\"", "cannot be the name of a folder"),
    ] {
        assert!(FACTORS.contains(good), "{good}");
        let problems =
            Study::read("s.toml", &GOOD.replace("[sweep]", &FACTORS.replace(good, bad)), &KINDS).map(|s| s.name).unwrap_err();
        let all = problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
        assert!(all.contains(says) && problems.iter().all(|p| p.line > 1 && !p.help.is_empty()), "{bad}: {all}");
    }
}

#[test]
fn a_claim_names_numbers_that_are_there() {
    let claim = "[given]\nspeed = 3\n[[claim]]\ntext = \"c\"\nformula = \"1 / [sped]\"\nat_least = 1\n[sweep]";
    let problems = Study::read("s.toml", &GOOD.replace("[sweep]", claim), &KINDS).map(|s| s.name).unwrap_err();
    let told = problems[0].to_string();
    assert!(told.contains("[sped] is no printed number") && told.contains("did you mean `speed`"), "{told}");
    assert!(Study::read("s.toml", &GOOD.replace("[sweep]", &claim.replace("sped", "speed")), &KINDS).is_ok());
    for (formula, says) in [
        ("slope('smal', 'a')", "`smal` is no workload of the study\n    help: did you mean `small`"),
        ("crossing('small', 'a', 'x86')", "`x86` is no contender of the study"),
        ("min(summary('small', 'a'), sumary('small', 'b'))", "there is no function `sumary`\n    help: did you mean `summary`"),
        ("result('small', 'a', 8, 'p95_ms')", ""),
    ] {
        let text = GOOD.replace("[sweep]", &claim.replace("1 / [sped]", formula));
        let told = Study::read("s.toml", &text, &KINDS).err().map(|all| all[0].to_string()).unwrap_or_default();
        assert!(told.contains(says) && told.is_empty() == says.is_empty(), "{formula}: {told}");
    }
}

#[test]
fn targets_and_files_stand_at_the_end_of_a_study() {
    let attached = Attached {
        targets: [("b".to_owned(), "sqlite:other.db".to_owned())].into(),
        files: [("my.cnf".to_owned(), "[mysqld]\nx = 'a'\n".to_owned())].into(),
    };
    let server = "[[contender]]\nname = \"p\"\nserver = { kind = \"mariadb\", config_file = \"my.cnf\" }\n[[workload]]";
    let bare = GOOD.replacen("[[workload]]", server, 1);
    assert_eq!(files_named(&bare).iter().map(|f| f.value.as_str()).collect::<Vec<_>>(), ["my.cnf"]);
    let missing = Study::read("s.toml", &bare, &KINDS).map(|s| s.name).unwrap_err();
    assert!(missing[0].to_string().contains("there is no file `my.cnf` beside the study"), "{missing:?}");
    let whole = attached.to(&bare);
    assert!(files_named(&whole).is_empty() && targets_given(&whole) == attached.targets);
    let study = Study::read("s.toml", &whole, &KINDS).unwrap();
    assert_eq!(study.contender("b").unwrap().target.as_ref().unwrap().value, "sqlite:other.db");
    let file = study.contender("p").unwrap().server.as_ref().unwrap().config_file.as_ref().unwrap();
    assert_eq!(file.text, "[mysqld]\nx = 'a'\n");
    // A copy that has such tables takes more of them.
    let other = Attached { targets: [("b".to_owned(), "sqlite:third.db".to_owned())].into(), ..Attached::default() };
    let twice = other.to(&whole);
    assert_eq!((targets_given(&twice)["b"].as_str(), files_named(&twice).len()), ("sqlite:third.db", 0));
    assert_eq!(without_target(&bare), ["b"]);
    let stranger = Attached { targets: [("bb".to_owned(), "sqlite:x".to_owned())].into(), ..Attached::default() };
    let problems = Study::read("s.toml", &stranger.to(GOOD), &KINDS).map(|s| s.name).unwrap_err();
    assert!(problems[0].to_string().contains("did you mean `b`"), "{problems:?}");
}

static SQL: WorkloadKind = WorkloadKind {
    parameters: &[
        Parameter::new("file", ParameterKind::Files, "", Decides::Run, "scripts"),
        Parameter::new("init", ParameterKind::Files, "", Decides::Data, "tables"),
        Parameter::new("table", ParameterKind::Tables, "", Decides::Data, "their rows"),
    ],
    ..WorkloadKind::plain("sql", "scripts")
};

#[test]
fn workloads_have_the_texts_of_the_scripts_that_they_name() {
    let bare = "schema = 1\nname = \"s\"\n[[contender]]\nname = \"a\"\ntarget = \"sqlite:a.db\"\n[[workload]]\nname = \"w\"\nkind = \"sql\"\n\
                file = \"a.sql@3, builtin:x, b.sql\"\ninit = \"t.sql\"\n[sweep]\nconnections = [1]\n";
    let kinds: [&WorkloadKind; 1] = [&SQL];
    let named = |text: &str| scripts_named(text).into_iter().map(|name| (name.value, name.line)).collect::<Vec<_>>();
    let all = ["a.sql", "builtin:x", "b.sql"].map(|name| (name.to_owned(), 9));
    assert_eq!(named(bare), [all.to_vec(), vec![("t.sql".to_owned(), 10)]].concat());
    let problems = Study::read("s.toml", bare, &kinds).map(|s| s.name).unwrap_err();
    let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert!(told.len() == 3 && told[0].starts_with("s.toml:9: there is no file `a.sql` beside the study"), "{told:?}");
    let files = ["a.sql", "b.sql", "t.sql"].map(|name| (name.to_owned(), format!("SELECT '{name}';\n")));
    let whole = Attached { files: files.clone().into(), ..Attached::default() }.to(bare);
    let study = Study::read("s.toml", &whole, &kinds).unwrap();
    for (name, text) in files {
        assert_eq!(study.workloads[0].parameters[&file_text(&name)].value, Scalar::Text(text));
    }
    assert_eq!(named(&whole), [("builtin:x".to_owned(), 9)]);
    // Another text is another study, and the list of changes does not hold the text.
    let other = Study::read("s.toml", &whole.replace("'b.sql'", "'other'"), &kinds).unwrap();
    assert_ne!(study.fingerprint(), other.fingerprint());
    let changes = other.changes_since(&study);
    assert!(
        changes.len() == 1 && changes[0].contains("w.file b.sql: a file with hash") && !changes[0].contains("SELECT"),
        "{changes:?}"
    );
}

#[test]
fn tables_within_workloads_are_parameters_by_their_paths() {
    let bare = "schema = 1\nname = \"s\"\n[[contender]]\nname = \"a\"\ntarget = \"sqlite:a.db\"\n[[workload]]\nname = \"w\"\nkind = \"sql\"\n\
                [[workload.table]]\nname = \"t\"\nrows = 5\ncolumns = [\n{ name = \"a\", csv = \"a.csv\" },\n{ name = \"b\", csv = \"a.csv\" },\n]\n\
                [sweep]\nconnections = [1]\n";
    let kinds: [&WorkloadKind; 1] = [&SQL];
    let named: Vec<_> = scripts_named(bare).into_iter().map(|name| (name.value, name.line)).collect();
    assert_eq!(named, [("a.csv".to_owned(), 13), ("a.csv".to_owned(), 14)]);
    let problems = Study::read("s.toml", bare, &kinds).map(|s| s.name).unwrap_err();
    assert!(problems[0].to_string().starts_with("s.toml:13: there is no file `a.csv` beside the study"), "{problems:?}");
    let whole = Attached { files: [("a.csv".to_owned(), "x\n1\n".to_owned())].into(), ..Attached::default() }.to(bare);
    let study = Study::read("s.toml", &whole, &kinds).unwrap();
    let parameter = |path: &str| study.workloads[0].parameters.get(path).map(|found| (found.value.clone(), found.line));
    assert_eq!(parameter("table.1.rows"), Some((Scalar::Int(5), 11)));
    assert_eq!(parameter("table.1.columns.2.name"), Some((Scalar::Text("b".to_owned()), 14)));
    assert_eq!(parameter("table.1.columns.2."), Some((Scalar::Bool(true), 14)));
    assert_eq!(parameter(&file_text("a.csv")), Some((Scalar::Text("x\n1\n".to_owned()), 13)));
    let other = Study::read("s.toml", &whole.replace("rows = 5", "rows = 6"), &kinds).unwrap();
    let changes = other.changes_since(&study);
    assert!(changes.len() == 1 && changes[0].starts_with("workload w.table t: 5 rows with hash "), "{changes:?}");
    // Only a kind that has such tables takes them.
    let refused = Study::read("s.toml", &bare.replace("workload.table", "workload.tabel"), &kinds).map(|s| s.name).unwrap_err();
    assert!(refused[0].to_string().contains("`workload.tabel` is a table"), "{refused:?}");
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
