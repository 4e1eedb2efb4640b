//! Global settings of a running server that a study declares: they hold while trials run, and the old values are restored however a run ends.
//! Each test has variables of its own, because the server is shared.

use std::process::{Child, Stdio};

use crate::common::maria::Maria;
use crate::common::{Desk, another_way_to, ended, signal, wait_until};

/// What is changed at this moment.
const NOTED: &str = "results/s/server-settings.json";
const SWEEP: &str = "connections = [2]\nwarmup = \"100ms\"\nduration = \"500ms\"\ntrials = 2";

/// A study of one contender with these settings.
fn study(url: &str, settings: &str, sweep: &str) -> String {
    crate::common::maria::study(url, "kind = \"sysbench\"\ntable_size = 100", sweep)
        .replace("[[workload]]", &format!("server_settings = {{ {settings} }}\n[[workload]]"))
}

fn value(maria: &Maria, name: &str) -> String {
    maria.sql(&format!("SELECT CAST(@@GLOBAL.{name} AS CHAR)")).trim().to_owned()
}

fn start(desk: &Desk) -> Child {
    desk.command(&["run", "s.toml"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn settings_hold_while_trials_run_and_are_put_back() {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "settings_hold");
    let before = (value(&maria, "innodb_stats_auto_recalc"), value(&maria, "innodb_stats_persistent_sample_pages"));
    let settings = "INNODB_stats_auto_recalc = false, innodb_stats_persistent_sample_pages = 21";
    desk.write("s.toml", &study(&maria.url(), settings, SWEEP));
    let ran = desk.good(&["run", "s.toml"]);
    let said = format!(
        "m: while its trials run, SET GLOBAL innodb_stats_auto_recalc = OFF, it was {}; innodb_stats_persistent_sample_pages = 21, it was {}; restored afterwards",
        before.0, before.1
    );
    assert_eq!(ran.err.matches(&said).count(), 1, "{}", ran.err);
    assert!(ran.err.contains(&format!("m: restored innodb_stats_persistent_sample_pages = {} at ", before.1)), "{}", ran.err);
    let records = desk.records("results/s");
    assert_eq!(records.len(), 2);
    for record in records {
        let variable = |name: &str| record.target.variables.get(name).map(String::as_str);
        let both = (variable("innodb_stats_auto_recalc"), variable("innodb_stats_persistent_sample_pages"));
        assert_eq!(both, (Some("OFF"), Some("21")));
    }
    let after = (value(&maria, "innodb_stats_auto_recalc"), value(&maria, "innodb_stats_persistent_sample_pages"));
    assert_eq!(after, before);
    assert!(!desk.path(NOTED).exists());
    // They are part of what is measured.
    desk.write("s.toml", &study(&maria.url(), &settings.replace("21", "22"), SWEEP));
    let other = desk.perbuck(&["run", "s.toml"]);
    assert!(other.code == Some(4) && other.err.contains("trials of another version of this study"), "{other:#?}");
    // So they are in a search for the capacity.
    desk.write("s.toml", &study(&maria.url(), settings, SWEEP));
    let words = ["--percentile", "95", "--at-most", "10s", "--from", "10", "--to", "20", "--duration", "1s", "--warmup", "100ms"];
    let searched = desk.perbuck(&[&["capacity", "s.toml"][..], &words].concat());
    assert!(searched.err.contains(&said), "{searched:#?}");
    assert_eq!(value(&maria, "innodb_stats_persistent_sample_pages"), before.1);
}

#[test]
fn a_killed_run_is_tidied_up_by_the_next_one() {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "settings_killed");
    let name = "innodb_stats_transient_sample_pages";
    let before = value(&maria, name);
    desk.write("s.toml", &study(&maria.url(), &format!("{name} = 33"), &SWEEP.replace("trials = 2", "trials = 4")));
    let mut child = start(&desk);
    wait_until("the first trial is on disk", || desk.path("results/s/m/w/c00002/001.json").exists());
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(value(&maria, name), "33");
    assert!(desk.read(NOTED).contains(&format!("\"was\": \"{before}\"")));
    let ran = desk.good(&["run", "s.toml"]);
    let tidied = format!("m: restored {name} = {before} at 127.0.0.1:{} (a run that was killed had left it)", maria.port);
    assert!(ran.err.contains(&tidied), "{}", ran.err);
    assert!(ran.err.contains(&format!("{name} = 33, it was {before}")), "{}", ran.err);
    assert_eq!((value(&maria, name), desk.path(NOTED).exists()), (before.clone(), false));
    assert!(desk.records("results/s").iter().all(|r| r.target.variables[name] == "33"));

    // What was left where all trials are on disk is seen, too.
    maria.sql(&format!("SET GLOBAL {name} = 33"));
    let change = format!(
        "[{{ \"contender\": \"m\", \"place\": \"127.0.0.1:{}\", \"name\": \"{name}\", \"was\": \"{before}\", \"wanted\": \"33\", \"became\": null }}]",
        maria.port
    );
    desk.write(NOTED, &change);
    assert!(desk.good(&["run", "s.toml"]).err.contains(&tidied));
    assert_eq!(value(&maria, name), before);
    desk.write(NOTED, &change.replace("127.0.0.1", "127.0.0.77"));
    let other = desk.perbuck(&["run", "s.toml"]);
    assert!(other.code == Some(4) && other.err.contains(&format!("SET GLOBAL {name} = {before}")), "{other:#?}");
}

/// The file is data: a crafted one sets nothing but what the study sets, and to values alone.
#[test]
fn a_crafted_note_of_changes_runs_no_sql() {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "settings_crafted");
    let before = value(&maria, "general_log");
    assert!(["0", "OFF"].contains(&&*before), "{before}");
    desk.write("s.toml", &study(&maria.url(), "innodb_flushing_avg_loops = 31", SWEEP));
    desk.good(&["run", "s.toml"]);
    let note = |name: &str, was: &str| {
        let port = &maria.port;
        format!(
            "[{{ \"contender\": \"m\", \"place\": \"127.0.0.1:{port}\", \"name\": \"{name}\", \"was\": \"{was}\", \"wanted\": \"1\", \"became\": null }}]"
        )
    };
    let ours = "innodb_flushing_avg_loops";
    for (crafted, code, words) in [
        (note("general_log", "1"), 4, "no contender of this study sets general_log"),
        (note(&format!("{ours} = 30, GLOBAL general_log"), "1"), 5, "cannot be the name of a variable"),
        (note(ours, "30', GLOBAL general_log = '1"), 5, "holds a quote"),
        (note(ours, "30\\\\"), 5, "a backslash"),
        (note("innodb_log_write_ahead_size", "1"), 4, "then delete results/s/server-settings.json"),
    ] {
        desk.write(NOTED, &crafted);
        let ended = desk.perbuck(&["run", "s.toml"]);
        assert!(ended.code == Some(code) && ended.err.contains(words), "{crafted}: {ended:#?}");
        assert_eq!(value(&maria, "general_log"), before, "{crafted}");
        assert!(desk.path(NOTED).exists(), "what is not understood stays");
    }
}

#[test]
fn an_interrupted_run_puts_settings_back() {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "settings_interrupted");
    let name = "innodb_max_dirty_pages_pct_lwm";
    let before = value(&maria, name);
    desk.write("s.toml", &study(&maria.url(), &format!("{name} = 7.5"), &SWEEP.replace("500ms", "20s")));
    let child = start(&desk);
    wait_until("the trial runs", || value(&maria, name).starts_with("7.5") && maria.status("Com_stmt_execute") > 0);
    wait_until("the seconds pass", || {
        desk.path("results/s/live.jsonl").exists() && desk.read("results/s/live.jsonl").contains("\"second\"")
    });
    signal(&child, "INT");
    let ended = ended(child.wait_with_output().unwrap());
    assert_eq!(ended.code, Some(130), "{ended:#?}");
    assert!(ended.err.contains(&format!("m: restored {name} = ")), "{ended:#?}");
    assert_eq!((value(&maria, name), desk.path(NOTED).exists()), (before, false));
}

#[test]
fn a_trial_in_which_somebody_changed_a_setting_is_thrown_away() {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "settings_changed");
    let name = "innodb_sync_spin_loops";
    let before = value(&maria, name);
    desk.write("s.toml", &study(&maria.url(), &format!("{name} = 41"), &SWEEP.replace("500ms", "3s")));
    let child = start(&desk);
    wait_until("the seconds pass", || {
        desk.path("results/s/live.jsonl").exists() && desk.read("results/s/live.jsonl").contains("\"second\"")
    });
    maria.sql(&format!("SET GLOBAL {name} = 42"));
    let ended = ended(child.wait_with_output().unwrap());
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    assert!(ended.err.contains(&format!("{name} at 127.0.0.1:{} changed from 41 to 42", maria.port)), "{ended:#?}");
    assert!(desk.records("results/s").is_empty() && !desk.path(NOTED).exists());
    assert_eq!(value(&maria, name), "42", "what another client has set stays");
    maria.sql(&format!("SET GLOBAL {name} = {before}"));
}

#[test]
fn contenders_of_one_server_are_each_measured_under_their_own_settings() {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "settings_shared");
    for contender in ["N", "PLAIN"] {
        desk.set(&format!("PERBUCK_{contender}_PASSWORD"), &maria.password);
    }
    let name = "innodb_lru_scan_depth";
    let before = value(&maria, name);
    let (url, other) = (maria.url(), maria.url().replace("127.0.0.1", "localhost"));
    let more = format!(
        "[[contender]]\nname = \"n\"\ntarget = \"{other}\"\nserver_settings = {{ {name} = 1802 }}\n[[contender]]\nname = \"plain\"\ntarget = \"{url}\"\n[[workload]]"
    );
    desk.write("s.toml", &study(&url, &format!("{name} = 1801"), SWEEP).replace("[[workload]]", &more));
    let ran = desk.good(&["run", "s.toml"]);
    let records = desk.records("results/s");
    assert_eq!(records.len(), 6);
    for record in &records {
        // Only contenders that set it record it.
        let expected = match record.key.contender.as_str() {
            "m" => Some("1801"),
            "n" => Some("1802"),
            _ => None,
        };
        assert_eq!(record.target.variables.get(name).map(String::as_str), expected);
    }
    assert_eq!(ran.err.matches("while its trials run").count(), 2, "{}", ran.err);
    assert_eq!(value(&maria, name), before);
}

#[test]
fn a_server_that_is_reached_in_two_ways_is_seen_to_be_one() {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "settings_two_ways");
    for contender in ["N", "PLAIN"] {
        desk.set(&format!("PERBUCK_{contender}_PASSWORD"), &maria.password);
    }
    let name = "innodb_purge_batch_size";
    let before = value(&maria, name);
    let other = maria.url().replace(&maria.port.to_string(), &another_way_to("127.0.0.1", &maria.port).to_string());
    let more = format!(
        "[[contender]]\nname = \"n\"\ntarget = \"{other}\"\nserver_settings = {{ {name} = 202 }}\n[[contender]]\nname = \"plain\"\ntarget = \"{other}\"\n[[workload]]"
    );
    desk.write("s.toml", &study(&maria.url(), &format!("{name} = 201"), SWEEP).replace("[[workload]]", &more));
    let mut seen = Vec::new();
    let mut child = start(&desk);
    wait_until("the run has ended", || {
        seen.push(value(&maria, name));
        child.try_wait().unwrap().is_some()
    });
    let ended = ended(child.wait_with_output().unwrap());
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    // Every trial had its own, and the plain one what the server had.
    for value in ["201", "202", &before] {
        assert!(seen.iter().any(|s| s == value), "{value} is not in {seen:?}");
    }
    assert!(!ended.err.contains("another client"), "{ended:#?}");
    assert_eq!((value(&maria, name), desk.path(NOTED).exists()), (before, false));
}

#[test]
fn data_are_loaded_under_the_settings_of_the_server_whoever_had_the_trial_before() {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "settings_reload");
    desk.set("PERBUCK_PLAIN_PASSWORD", &maria.password);
    let before = value(&maria, "innodb_default_row_format");
    let contender = format!("[[contender]]\nname = \"plain\"\ntarget = \"{}\"\n[[workload]]\nreset = \"per-trial\"", maria.url());
    let sweep = SWEEP.replace("trials = 2", "trials = 5");
    desk.write(
        "s.toml",
        &study(&maria.url(), "innodb_default_row_format = \"compact\"", &sweep).replace("[[workload]]", &contender),
    );
    let mut child = start(&desk);
    let format =
        "SELECT row_format FROM information_schema.tables WHERE table_schema = 'settings_reload' AND table_name = 'sbtest1'";
    let mut seen = Vec::new();
    wait_until("the run has ended", || {
        seen.push(maria.sql(format).trim().to_owned());
        child.try_wait().unwrap().is_some()
    });
    let ended = ended(child.wait_with_output().unwrap());
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let records = desk.records("results/s");
    assert_eq!(records.len(), 10);
    let mut order: Vec<(u32, &str)> = records.iter().map(|r| (r.position, r.key.contender.as_str())).collect();
    order.sort_unstable();
    let changes = order.windows(2).filter(|w| w[0].1 == "m" && w[1].1 == "plain").count();
    assert!(changes > 0, "no trial of the plain one follows one with settings: {order:?}");
    assert!(seen.iter().any(|s| s == "Dynamic") && !seen.iter().any(|s| s == "Compact"), "{seen:?}");
    assert_eq!(value(&maria, "innodb_default_row_format"), before);
}

#[test]
fn settings_that_limit_each_other_are_set_and_put_back() {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "settings_limits");
    let both = || (value(&maria, "innodb_io_capacity"), value(&maria, "innodb_io_capacity_max"));
    let before = both();
    // Above the old maximum, and then below the old value.
    for (capacity, most) in [("30000", "50000"), ("110", "120")] {
        let settings = format!("innodb_io_capacity = {capacity}, innodb_io_capacity_max = {most}");
        desk.write("s.toml", &study(&maria.url(), &settings, &SWEEP.replace("trials = 2", "trials = 1")));
        let ran = desk.good(&["run", "--results", most, "s.toml"]);
        let record = &desk.records(&format!("{most}/s"))[0];
        let variable = |name: &str| record.target.variables.get(name).cloned().unwrap_or_default();
        let held = (variable("innodb_io_capacity"), variable("innodb_io_capacity_max"));
        assert_eq!(held, (capacity.to_owned(), most.to_owned()), "{}", ran.err);
        assert_eq!(both(), before, "{}", ran.err);
    }
}

#[test]
fn what_cannot_be_set_is_refused_before_anything_is_loaded() {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "settings_refused");
    let refused = [
        ("innodb_no_such_thing = 1", 2, "Unknown system variable", "SHOW GLOBAL VARIABLES"),
        ("innodb_page_size = 4096", 2, "read only", "configuration of the server"),
        ("innodb_flush_method = \"x\"", 2, "read only", "configuration of the server"),
        ("innodb_fast_shutdown = \"much\"", 2, "innodb_fast_shutdown", "give a value"),
        ("\"a b\" = 1", 2, "cannot be the name of a variable", "letters, digits"),
        ("report_password = \"x\"", 2, "looks like a password", "leave it out"),
        ("init_connect = \"SET @a = 'b'\"", 2, "holds a quote", "without"),
    ];
    for (settings, code, message, help) in refused {
        desk.write("s.toml", &study(&maria.url(), settings, SWEEP));
        let ended = desk.perbuck(&["run", "s.toml"]);
        assert!(ended.code == Some(code) && ended.err.contains(message) && ended.err.contains(help), "{settings}: {ended:#?}");
        assert_eq!(maria.sql("SHOW TABLES"), "", "{settings}");
        assert!(!desk.path(NOTED).exists(), "{settings}");
    }
    let user = "settings_poor";
    maria.sql(&format!(
        "DROP USER IF EXISTS {user}@'%'; CREATE USER {user}@'%' IDENTIFIED BY 'p'; GRANT ALL ON settings_refused.* TO {user}@'%'"
    ));
    desk.set("PERBUCK_POOR_PASSWORD", "p");
    let poor = study(&maria.url(), "innodb_stats_method = \"nulls_equal\"", SWEEP);
    desk.write("s.toml", &poor.replace("\"m\"", "\"poor\"").replace("root@", &format!("{user}@")));
    let ended = desk.perbuck(&["run", "s.toml"]);
    assert!(ended.code == Some(3) && ended.err.contains("mysql 1227") && ended.err.contains("grant the user"), "{ended:#?}");
    assert_eq!(maria.sql("SHOW TABLES"), "");
}

#[test]
fn tiflash_replicas_of_a_server_that_is_no_tidb_are_refused_before_anything_is_loaded() {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "settings_tiflash");
    let text = study(&maria.url(), "", SWEEP).replace("server_settings = {  }", "tiflash_replicas = 1");
    desk.write("s.toml", &text);
    for command in ["prepare", "run"] {
        let ended = desk.perbuck(&[command, "s.toml"]);
        assert!(ended.code == Some(2) && ended.err.contains("`tiflash_replicas` is for TiDB"), "{ended:#?}");
        assert!(ended.err.contains("remove `tiflash_replicas`"), "{ended:#?}");
        assert_eq!(maria.sql("SHOW TABLES"), "");
    }
    desk.write("s.toml", &text.replace(&maria.url(), "sqlite:a.db"));
    let ended = desk.perbuck(&["check", "s.toml"]);
    assert!(ended.code == Some(2) && ended.err.contains("only TiDB has TiFlash"), "{ended:#?}");
}

#[test]
fn targets_without_global_settings_are_refused_with_a_way_out() {
    let desk = Desk::new();
    let check = |contender: &str, expected: [&str; 2]| {
        let text = study("x", "a = 1", SWEEP).replace("target = \"x\"", contender);
        desk.write("s.toml", &text);
        let ended = desk.perbuck(&["check", "s.toml"]);
        assert_eq!(ended.code, Some(2), "{ended:#?}");
        assert!(expected.iter().all(|e| ended.err.contains(e)) && ended.err.contains("s.toml:"), "{ended:#?}");
    };
    check("target = \"sqlite:a.db\"", ["SQLite has no server", "options of the target"]);
    check("target = \"tikv://h:2379/\"", ["TiKV", "options of the target"]);
    check("target = \"postgres://u@h:5432/d\"", ["PostgreSQL has no SET GLOBAL", "ALTER SYSTEM"]);
    check("server = { kind = \"mariadb\" }", ["private server", "`config`"]);
    check("label = \"priced\"", ["without a target", "add a target"]);
}
