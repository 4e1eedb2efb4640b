//! Factors whose levels need other servers, or the user.

use perbuck_core::compare::Comparison;

use super::{left, study};
use crate::common::Desk;

const POOL: &str = "[[factor]]\nname = \"pool\"\nlevel = [\n\
    { name = \"large\", config = { innodb_buffer_pool_size = \"64M\" } },\n\
    { name = \"small\", config = { innodb-buffer-pool-size = \"8M\" }, label = \"8 MB\" },\n]\n";
const SWEEP: &str = "connections = [2]\nwarmup = \"0s\"\nduration = \"300ms\"\ntrials = 2";

#[test]
fn a_server_is_restarted_on_its_data_with_the_configuration_of_a_level() {
    let desk = Desk::new();
    let file = "[client]\nport = 3306\n[mysqld]\nport = 3306\ninnodb_log_file_size = 24M\nskip-name-resolve\nlong_query_time = 3 # seconds\n";
    desk.write("my.cnf", file);
    let contenders = [
        ("a", "kind = \"mariadb\", config_file = \"my.cnf\""),
        ("b", "kind = \"mariadb\", config_file = \"my.cnf\", config = { long_query_time = 5 }"),
    ];
    let text = study(&desk, &contenders, SWEEP).replace("[sweep]", &format!("{POOL}[sweep]"));
    desk.write("s.toml", &text);
    let ran = desk.good(&["run", "s.toml", "--json"]);
    assert_eq!(ran.err.matches("loaded 100 rows").count(), 2, "each server has its data once: {}", ran.err);
    assert_eq!(left(&desk), Vec::<std::path::PathBuf>::new());
    let records = desk.records("results/s");
    assert_eq!(records.len(), 8);
    for record in &records {
        let pool = if record.key.workload == "w@large" { 64 } else { 8 };
        let variables = &record.target.variables;
        assert_eq!(variables["innodb_buffer_pool_size"], (pool * 1024 * 1024).to_string(), "{}", record.key.title());
        assert_eq!((variables["innodb_log_file_size"].as_str(), variables["skip_name_resolve"].as_str()), ("25165824", "ON"));
        let limit = if record.key.contender == "a" { "3." } else { "5." };
        assert!(variables["long_query_time"].starts_with(limit), "{}", variables["long_query_time"]);
    }
    let comparison: Comparison = serde_json::from_str(&ran.out).unwrap();
    assert!(comparison.factors[0].changes.len() == 1 && comparison.factors[0].changes[0].level == "8 MB");
    // The folder alone says everything: the file is in the study that lies there.
    assert!(desk.read("results/s/study.toml").contains("innodb_log_file_size = 24M"));
    std::fs::remove_file(desk.path("my.cnf")).unwrap();
    desk.good(&["compare", "results/s"]);
    let gone = desk.perbuck(&["check", "s.toml"]);
    assert!(gone.code == Some(2) && gone.err.contains("there is no file `my.cnf` beside the study"), "{gone:?}");
    desk.write("my.cnf", "[mysqld]\n!include other.cnf\n");
    let wrong = desk.perbuck(&["check", "s.toml"]);
    assert!(wrong.code == Some(2) && wrong.err.contains("my.cnf:2: `!include other.cnf` names another file"), "{wrong:?}");
}

#[test]
fn levels_that_the_user_sets_are_run_one_at_a_time() {
    let desk = Desk::new();
    let by_hand = "[[factor]]\nname = \"net\"\nby_hand = true\nlevel = [{ name = \"plain\" }, { name = \"tuned\" }]\n[sweep]";
    let text = study(&desk, &[("a", "kind = \"mariadb\"")], SWEEP).replace("[sweep]", by_hand);
    desk.write("s.toml", &text);
    for (more, says) in [
        (&[][..], "you set the levels of factor `net`"),
        (&["--at", "net=other"], "--at net=other: the study has no such level"),
        (&["--at", "net=plain", "--at", "net=tuned"], "perbuck does not know which is set now"),
    ] {
        let refused = desk.perbuck(&[&["run", "s.toml"], more].concat());
        assert!(refused.code == Some(2) && refused.err.contains(says), "{refused:?}");
    }
    desk.good(&["run", "s.toml", "--at", "net=plain"]);
    let at = |level: &str| desk.records("results/s").iter().filter(|r| r.key.workload == format!("w@{level}")).count();
    assert_eq!((at("plain"), at("tuned")), (2, 0));
    desk.good(&["run", "s.toml", "--at", "net=tuned"]);
    assert_eq!((at("plain"), at("tuned")), (2, 2));
}
