//! `tidb-server`: alone with the store that is embedded in it for tests, or as the SQL of a cluster.

use core::net::SocketAddr;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::cluster::{self, Ports};
use super::{Kind, NAME, Process, Program, Recipe, Wanted, option};

pub(super) const PROGRAM: Program =
    Program { names: &["tidb-server"], folders: &["~/.tiup/components/tidb/v*", "/opt/tidb/bin", "/usr/local/bin"] };

/// Settings that decide where the server lives and who reaches it.
pub(super) const OWNED: &[&str] = &[
    "advertise_address",
    "host",
    "initialize_sql_file",
    "log.file.filename",
    "path",
    "port",
    "socket",
    "status.report_status",
    "status.status_host",
    "status.status_port",
    "store",
    "temp_dir",
    "tmp_storage_path",
];

/// TiDB in one process.
pub(super) fn alone(wanted: &Wanted<'_>, programs: &[PathBuf], password: &str) -> Option<Recipe> {
    let ([server], [sql, status]) = (programs, wanted.ports) else { return None };
    let store = [option("store", "unistore"), option("path", wanted.folder.join("data"))];
    let name = "server".to_owned();
    let process = Process {
        input: first_statements(wanted, password),
        ready: None,
        ..process(wanted, server, (name, [*sql, *status], store))
    };
    Some(Recipe {
        steps: vec![cluster::settings(Kind::Tidb, "tidb", wanted)],
        stages: vec![vec![process]],
        quits: false,
        target: Kind::Tidb.target(wanted.parts, (wanted.address, wanted.ports), wanted.options)?,
    })
}

/// One TiDB server, which finds its data by the arguments of `store`.
pub(super) fn process(
    wanted: &Wanted<'_>,
    server: &Path,
    (name, [sql, status], store): (String, Ports, [OsString; 2]),
) -> Process {
    // TiDB takes flags of Go with one dash or two.
    let mut arguments = store.to_vec();
    let own = wanted.address.to_string();
    arguments.extend([option("host", &own), option("advertise-address", &own), option("P", sql.to_string())]);
    arguments.extend([option("status-host", &own), option("status", status.to_string())]);
    arguments
        .extend([option("socket", wanted.folder.join(format!("{name}.socket"))), option("temp-dir", wanted.folder.join("temp"))]);
    // Else it starts with a setting that it does not know, and only logs so.
    arguments.extend([option("config", wanted.folder.join("tidb.toml")), OsString::from("--config-strict")]);
    // It is read once, before the first server takes connections: no user can log in before there is a password.
    arguments.push(OsString::from("--initialize-sql-file=/dev/stdin"));
    let ready = Some((SocketAddr::new(wanted.address, status), "/status".to_owned()));
    Process { name, program: server.to_owned(), arguments, input: String::new(), ready }
}

/// What the first server of a cluster executes when there are no data yet.
pub(super) fn first_statements(wanted: &Wanted<'_>, password: &str) -> String {
    let databases: String = wanted.databases.iter().map(|name| format!("CREATE DATABASE `{name}`;\n")).collect();
    format!(
        "{databases}CREATE USER '{NAME}'@'%' IDENTIFIED BY '{password}';\nGRANT ALL ON *.* TO '{NAME}'@'%';\n\
         DROP USER 'root'@'%';\n"
    )
}
