//! perbuck against a real MySQL 9: its authentication by TLS and by RSA, and a short study.

use crate::common::maria::study;
use crate::common::{Desk, server};

const RW: &str = "kind = \"sysbench\"\ntables = 1\ntable_size = 1000\ndatabase = \"test\"";
const SHORT: &str = "connections = [4]\nwarmup = \"100ms\"\nduration = \"500ms\"\ntrials = 1";

#[test]
fn a_study_runs_with_caching_sha2_by_rsa_and_by_tls() {
    let url = server("PERBUCK_TEST_MYSQL9").replace("root@", "sha2_user@");
    for (name, options) in
        [("rsa", "tls=disabled".to_owned()), ("tls", format!("tls=verify-ca&ca={}", server("PERBUCK_TEST_MYSQL9_CA")))]
    {
        let mut desk = Desk::new();
        desk.alone_on("PERBUCK_TEST_MYSQL9");
        desk.set("PERBUCK_M_PASSWORD", &server("PERBUCK_TEST_MYSQL9_SHA2_PASSWORD"));
        desk.write(
            "s.toml",
            &study(&format!("{url}?{options}"), RW, SHORT).replace("name = \"s\"", &format!("name = \"{name}\"")),
        );
        desk.good(&["run", "s.toml"]);
        let record = desk.records(&format!("results/{name}")).remove(0);
        assert!(record.target.version.starts_with("9."), "{}", record.target.version);
        let whole = record.statements_whole_run;
        assert_eq!(record.target.server_counters["Com_select"] as u64, whole.select);
        assert!(whole.update > 10);
        // Its user may not see the files of tables.
        let size = record.workload.data_size.unwrap();
        assert!(size.tables_bytes > Some(200_000) && size.store_bytes.is_none(), "{size:?}");
        assert_eq!(record.target.variables["connection encryption"] == "none", name == "rsa");
    }
}

#[test]
fn a_level_of_the_buffer_pool_is_there_before_its_trial() {
    let mut desk = Desk::new();
    desk.alone_on("PERBUCK_TEST_MYSQL9");
    desk.set("PERBUCK_M_PASSWORD", &server("PERBUCK_TEST_MYSQL9_PASSWORD"));
    let pool = "[[factor]]\nname = \"pool\"\nlevel = [\n\
        { name = \"large\", server_settings = { innodb_buffer_pool_size = 536870912 } },\n\
        { name = \"small\", server_settings = { innodb_buffer_pool_size = 134217728 } },\n]\n[sweep]";
    let sweep = SHORT.replace("trials = 1", "trials = 2");
    desk.write("s.toml", &study(&server("PERBUCK_TEST_MYSQL9"), RW, &sweep).replace("[sweep]", pool));
    let ran = desk.good(&["run", "s.toml"]);
    assert!(ran.err.contains("restored innodb_buffer_pool_size"), "{}", ran.err);
    let records = desk.records("results/s");
    assert_eq!(records.len(), 4);
    for record in records {
        let size = if record.key.workload.ends_with("@large") { "536870912" } else { "134217728" };
        assert_eq!(record.target.variables["innodb_buffer_pool_size"], size, "{}", record.key.title());
    }
}
