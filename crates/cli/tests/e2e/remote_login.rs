//! perbuck against a MySQL 9 that seems to be in the network, so that nothing but its certificate tells who it is.

use crate::common::maria::{Maria, study};
use crate::common::{Desk, another_way_to, network_address};

const SHORT: &str = "connections = [4]\nwarmup = \"100ms\"\nduration = \"500ms\"\ntrials = 1";

/// What docs/targets.md tells the user of a remote MySQL 8 with its own certificate: the first run names the fingerprint.
#[test]
fn a_remote_server_is_trusted_by_its_fingerprint_and_not_before() {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MYSQL9", "remote");
    let (host, password) = (network_address(), "s3same-of-the-remote");
    let port = another_way_to(&host, &maria.port);
    // The server has not seen their passwords since it started, so it asks for them.
    for user in ["remote_study", "remote_command"] {
        maria.sql(&format!(
            "DROP USER IF EXISTS {user}@'%'; CREATE USER {user}@'%' IDENTIFIED BY '{password}'; GRANT ALL ON remote.* TO {user}@'%'"
        ));
    }
    for variable in ["PERBUCK_M_PASSWORD", "PERBUCK_SYSBENCH_PASSWORD"] {
        desk.set(variable, password);
    }
    let url = format!("mysql://remote_study@{host}:{port}/remote");
    let workload = "kind = \"sysbench\"\ntables = 1\ntable_size = 100";
    let mut pinned = String::new();
    for options in ["", "?tls=required", "?tls=disabled"] {
        desk.write("s.toml", &study(&format!("{url}{options}"), workload, SHORT));
        let refused = desk.perbuck(&["run", "s.toml"]);
        assert!(refused.code == Some(3) && refused.err.contains("perbuck did not send it"), "{options}: {refused:#?}");
        assert!(!refused.err.contains("check user and password"), "{refused:#?}");
        if let Some((_, after)) = refused.err.split_once("write `tls_fingerprint=") {
            pinned = format!("?tls_fingerprint={}", after.split_once('`').unwrap().0);
        } else {
            assert!(options == "?tls=disabled" && refused.err.contains("send_password=always"), "{refused:#?}");
        }
    }
    desk.write("s.toml", &study(&format!("{url}{pinned}"), workload, SHORT));
    desk.good(&["run", "s.toml"]);
    let record = desk.records("results/s").remove(0);
    assert!(record.target.address.contains("?tls=required&tls_fingerprint=sha256:"), "{}", record.target.address);
    assert!(record.target.variables["connection encryption"].starts_with("TLS_"));

    // A command line of sysbench does what sysbench does, and the record says so.
    let options = [format!("--mysql-host={host}"), format!("--mysql-port={port}")];
    let common = ["--mysql-user=remote_command", "--mysql-db=remote", "--table-size=100", "--time=1", "oltp_point_select"];
    for command in ["cleanup", "prepare", "run"] {
        let words: Vec<&str> =
            ["sysbench"].into_iter().chain(options.iter().map(String::as_str)).chain(common).chain([command]).collect();
        desk.good(&words);
    }
    let record = desk.records("state/perbuck/sysbench").remove(0);
    // What a drop-in may do is no part of the database that it names.
    assert!(record.target.address.ends_with("?tls=disabled"), "{}", record.target.address);
}
