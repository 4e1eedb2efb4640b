//! perbuck against a real MariaDB and beside the real sysbench.

use crate::common::maria::{Maria, study};
use crate::common::{Desk, files, server, wait_until};

const RW: &str = "kind = \"sysbench\"\nscript = \"oltp_read_write\"\ntables = 2\ntable_size = 3000";
const SHORT: &str = "connections = [4]\nwarmup = \"100ms\"\nduration = \"500ms\"\ntrials = 1";

#[test]
fn real_sysbench_runs_on_our_tables() {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "ours_theirs");
    desk.write("s.toml", &study(&maria.url(), RW, SHORT));
    desk.good(&["prepare", "s.toml"]);
    for script in ["oltp_point_select", "oltp_read_only", "oltp_read_write", "oltp_write_only"] {
        let text = maria.sysbench(&[script, "--tables=2", "--table-size=3000", "--threads=4", "--events=200", "--time=0", "run"]);
        assert!(text.contains("total number of events:              200"), "{text}");
    }
    assert_eq!(maria.sql("SELECT COUNT(*), MIN(id), MAX(id) FROM sbtest2").trim(), "3000\t1\t3000");
    // Its cleanup knows our tables too.
    maria.sysbench(&["oltp_read_write", "--tables=2", "cleanup"]);
    assert_eq!(maria.sql("SHOW TABLES").trim(), "perbuck_data");
}

#[test]
fn we_run_on_tables_that_real_sysbench_made() {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "theirs_ours");
    maria.sysbench(&["oltp_read_write", "--tables=2", "--table-size=3000", "prepare"]);
    for script in ["oltp_point_select", "oltp_read_only", "oltp_read_write", "oltp_write_only"] {
        let workload = RW.replace("oltp_read_write", script);
        desk.write("s.toml", &study(&maria.url(), &workload, SHORT).replace("name = \"s\"", &format!("name = \"{script}\"")));
        desk.good(&["run", "s.toml"]);
        let record = desk.records(&format!("results/{script}")).remove(0);
        assert_eq!(record.workload.data, "foreign");
        assert!(record.measured.transactions[script].committed > 20, "{record:#?}");
        assert!(record.errors.keys().all(|code| code == "mysql 1213"), "{:?}", record.errors);
    }
    // Tables of another tool with another size are refused, and left alone.
    desk.write("s.toml", &study(&maria.url(), &RW.replace("3000", "4000"), SHORT));
    let refused = desk.perbuck(&["run", "s.toml"]);
    assert_eq!(refused.code, Some(4), "{refused:#?}");
    assert!(refused.err.contains("did not make") && refused.err.contains("sbtest1 with 3000 rows"), "{}", refused.err);
    assert_eq!(maria.sql("SELECT COUNT(*) FROM sbtest1").trim(), "3000");
}

#[test]
fn a_load_is_written_back_before_trials_where_the_user_may_ask_for_it() {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "written_back");
    let prepare = |url: &str, more: &str| {
        let workload = RW.replace("3000", "20000");
        desk.write("s.toml", &study(url, &workload, SHORT).replace("[[workload]]", &format!("{more}\n[[workload]]")));
        desk.good(&["prepare", "--force", "s.toml"]).err
    };
    let dirty = || maria.status("Innodb_buffer_pool_pages_dirty");
    let before = dirty();
    prepare(&maria.url(), "wait_ready = \"0s\"");
    let left = dirty();
    // The pages of the tables that are dropped then still count; no one writes them.
    let told = prepare(&maria.url(), "");
    let more = dirty() - left;
    assert!(
        left - before > 500 && more < (left - before) / 2 && !told.contains("share the server"),
        "{before} {left} {more}: {told}"
    );
    let user = format!("CREATE OR REPLACE USER no_reload IDENTIFIED BY '{}'", maria.password);
    maria.sql(&format!("{user}; GRANT ALL ON written_back.* TO no_reload"));
    let denied = prepare(&maria.url().replace("root@", "no_reload@"), "");
    assert!(denied.contains("RELOAD") && denied.contains("so the first trials share the server"), "{denied}");
    maria.sql("DROP USER no_reload");
}

#[test]
fn who_is_not_let_in_is_told_why() {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "refusals");
    let ask = |desk: &Desk, url: &str| {
        desk.write("s.toml", &study(url, RW, SHORT));
        desk.perbuck(&["run", "s.toml"])
    };
    let strangers = format!("{}?tls=verify-ca&ca={}", maria.url(), server("PERBUCK_TEST_OTHER_CA"));
    let wrong_certificate = ask(&desk, &strangers);
    assert_eq!(wrong_certificate.code, Some(3), "{wrong_certificate:#?}");
    assert!(wrong_certificate.err.contains("certificate"), "{}", wrong_certificate.err);
    let missing = ask(&desk, &maria.url().replace("refusals", "no_such_database"));
    assert_eq!(missing.code, Some(3), "{missing:#?}");
    assert!(missing.err.contains("CREATE DATABASE"), "{}", missing.err);
    desk.set("PERBUCK_M_PASSWORD", "sesame-wrong-4711");
    let wrong_password = ask(&desk, &maria.url());
    assert_eq!(wrong_password.code, Some(3), "{wrong_password:#?}");
    assert!(wrong_password.err.contains("PERBUCK_M_PASSWORD"), "{}", wrong_password.err);
    assert!(!wrong_password.err.contains("sesame-wrong-4711"));
}

#[test]
fn a_table_that_vanished_ends_the_run_with_the_way_out() {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "vanished");
    desk.write("s.toml", &study(&maria.url(), RW, SHORT));
    desk.good(&["prepare", "s.toml"]);
    maria.sql("DROP TABLE sbtest2");
    let ended = desk.perbuck(&["run", "s.toml"]);
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    assert!(ended.err.contains("sbtest2") && ended.err.contains("1146"), "{}", ended.err);
    assert!(desk.records("results/s").is_empty());
    // The way out that the message names must be one.
    desk.good(&["prepare", "--force", "s.toml"]);
    desk.good(&["run", "s.toml"]);
}

#[test]
fn a_password_is_in_no_file_no_output_and_no_process_list() {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "secrets");
    desk.write("s.toml", &study(&maria.url(), RW, SHORT));
    let by_environment = desk.good(&["run", "s.toml"]);
    let by_file = study(&maria.url(), RW, SHORT)
        .replace("[[workload]]", "password_file = \"word\"\n[[workload]]")
        .replace("name = \"m\"", "name = \"f\"");
    desk.write("f.toml", &by_file.replace("name = \"s\"", "name = \"by-file\""));
    desk.write("word", &format!("{}\n", maria.password));
    let mut child = desk.command(&["run", "f.toml"]).env_remove("PERBUCK_M_PASSWORD").spawn().unwrap();
    let mut seen = String::new();
    wait_until("the run has ended", || {
        seen += &std::fs::read_to_string(format!("/proc/{}/cmdline", child.id())).unwrap_or_default();
        child.try_wait().unwrap().is_some()
    });
    assert!(child.wait().unwrap().success() && seen.contains("f.toml") && !seen.contains(&maria.password));
    desk.good(&["report", "results/by-file"]);
    assert!(!format!("{by_environment:?}").contains(&maria.password));
    let mut found = Vec::new();
    files(&desk.path("results"), &mut found);
    assert!(found.len() > 8, "{found:?}");
    for file in found {
        let text = String::from_utf8_lossy(&std::fs::read(&file).unwrap()).into_owned();
        assert!(!text.contains(&maria.password), "{}", file.display());
    }
}

#[test]
fn a_size_that_another_tool_made_after_ours_is_noticed_in_spite_of_our_note() {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "replaced");
    desk.write("s.toml", &study(&maria.url(), RW, SHORT));
    desk.good(&["prepare", "s.toml"]);
    maria.sysbench(&["oltp_read_write", "--tables=2", "cleanup"]);
    maria.sysbench(&["oltp_read_write", "--tables=2", "--table-size=500", "prepare"]);
    for command in [vec!["run", "s.toml"], vec!["prepare", "--force", "s.toml"]] {
        let refused = desk.perbuck(&command);
        assert_eq!(refused.code, Some(4), "{refused:#?}");
        assert!(refused.err.contains("sbtest1 with 500 rows"), "{}", refused.err);
    }
    assert_eq!(maria.sql("SELECT COUNT(*) FROM sbtest2").trim(), "500");
}

#[test]
fn thousands_of_statements_are_not_prepared_beyond_what_the_server_allows() {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB_KILL", "many_statements");
    maria.sql("SET GLOBAL max_prepared_stmt_count = 50");
    desk.write("s.toml", &study(&maria.url(), RW, &SHORT.replace("[4]", "[32]")));
    let ended = desk.perbuck(&["run", "s.toml"]);
    maria.sql("SET GLOBAL max_prepared_stmt_count = 16382");
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let record = desk.records("results/s").remove(0);
    assert!(record.measured.transactions["oltp_read_write"].committed > 20);
    // Text is another protocol than the one of a server that prepares everything: the record must say so.
    assert!(record.flags.iter().any(|f| f.text().contains("max_prepared_stmt_count")), "{:?}", record.flags);
}

#[test]
fn a_target_sets_variables_of_its_sessions() {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "session_settings");
    desk.write("s.toml", &study(&format!("{}?set.max_statement_time=50&set.sql_mode=ANSI", maria.url()), RW, SHORT));
    desk.good(&["run", "s.toml"]);
    let variables = &desk.records("results/s")[0].target.variables;
    // As the server has them.
    assert_eq!(variables["session max_statement_time"], "50.000000");
    assert!(variables["session sql_mode"].ends_with(",ANSI"), "{variables:?}");
    desk.write("s.toml", &study(&format!("{}?set.no_such_thing=1", maria.url()), RW, SHORT));
    let refused = desk.perbuck(&["prepare", "s.toml"]);
    assert!(refused.code == Some(3) && refused.err.contains("`set.no_such_thing` of the target"), "{refused:#?}");
}

#[test]
fn a_contender_chooses_how_its_transactions_work() {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "transactions");
    let with = |choice: &str| {
        let target = format!("target = \"{}\"", maria.url());
        let text = study(&maria.url(), RW, SHORT);
        assert!(text.contains(&target), "{text}");
        text.replace(&target, &format!("{target}\ntransactions.{choice}"))
    };
    desk.write("s.toml", &with("isolation = \"read-committed\""));
    // Contenders that differ in nothing else are told apart.
    assert!(desk.good(&["check", "s.toml"]).out.contains(", transactions: isolation = read-committed"));
    desk.good(&["run", "s.toml"]);
    assert_eq!(desk.records("results/s")[0].target.variables["session transaction_isolation"], "READ-COMMITTED");
    // What only TiDB has is refused by the server, before anything is loaded.
    desk.write("o.toml", &with("mode = \"optimistic\"").replace("name = \"s\"", "name = \"o\""));
    let refused = desk.perbuck(&["run", "o.toml"]);
    let named = "`set.tidb_txn_mode` of the target, or `transactions` of the contender";
    assert!(refused.code == Some(3) && refused.err.contains(named), "{refused:#?}");
    desk.write("s.toml", &with("isolation = \"snapshot\""));
    let unknown = desk.perbuck(&["check", "s.toml"]);
    assert!(unknown.code == Some(2) && unknown.err.contains("`isolation` is \"snapshot\""), "{unknown:#?}");
}
