//! PostgreSQL.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::{Kind, NAME, Process, Program, Recipe, Step, Wanted, option};

/// Debian keeps each version in a folder of its own, outside PATH; Red Hat's packages likewise.
const FOLDERS: &[&str] = &["/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/local/pgsql/bin"];

pub(super) const PROGRAMS: &[Program] =
    &[Program { names: &["postgres"], folders: FOLDERS }, Program { names: &["initdb"], folders: FOLDERS }];

/// Settings that decide where the server lives and who reaches it.
pub(super) const OWNED: &[&str] =
    &["config_file", "data_directory", "external_pid_file", "hba_file", "listen_addresses", "port", "unix_socket_directories"];

pub(super) fn recipe(wanted: &Wanted<'_>, programs: &[PathBuf], password: &str) -> Option<Recipe> {
    let ([server, initdb], [port]) = (programs, wanted.ports) else { return None };
    let data = wanted.folder.join("data");
    let fixed = ["--username=postgres", "--encoding=UTF8", "--locale=C", "--auth=trust", "--no-instructions", "--no-sync"];
    let arguments = std::iter::once(option("pgdata", &data)).chain(fixed.map(OsString::from)).collect();
    let make = Step::run(initdb, arguments, String::new());
    // Without a server, so that no user can log in before there is a password. One statement a line.
    let databases: Vec<String> = wanted.databases.iter().map(|d| format!("CREATE DATABASE \"{d}\" OWNER {NAME};\n")).collect();
    let input = format!("CREATE ROLE {NAME} LOGIN SUPERUSER PASSWORD '{password}';\n{}", databases.concat());
    let first = alone(wanted, server, input);
    let mut arguments: Vec<OsString> = vec!["-D".into(), data.into_os_string()];
    let mut set = |key: &str, value: &str| arguments.extend(["-c".into(), format!("{key}={value}").into()]);
    set("port", &port.to_string());
    set("listen_addresses", &wanted.address.to_string());
    set("unix_socket_directories", "");
    set("max_connections", &wanted.connections.to_string());
    // The last one counts, so that the caller's settings win over those above.
    wanted.config.iter().for_each(|(key, value)| set(key, value));
    let target = Kind::Postgres.target(wanted.parts, (wanted.address, wanted.ports), wanted.options)?;
    // The folder must be empty when it is made, so the rule of access comes after it.
    let steps = vec![make, first, access(wanted)];
    Some(Recipe { steps, stages: vec![vec![Process::only(server, arguments)]], quits: true, target })
}

/// Runs statements without a server that others could reach.
fn alone(wanted: &Wanted<'_>, server: &Path, input: String) -> Step {
    let data = wanted.folder.join("data").into_os_string();
    Step::run(server, vec!["--single".into(), "-D".into(), data, "postgres".into()], input)
}

/// Who is let in.
fn access(wanted: &Wanted<'_>) -> Step {
    let bits = if wanted.address.is_ipv4() { 32 } else { 128 };
    let from = if wanted.address.is_loopback() { format!("{}/{bits}", wanted.address) } else { "all".to_owned() };
    let text = format!("host all all {from} scram-sha-256\n");
    Step::Write { file: "data/pg_hba.conf".to_owned(), text }
}

pub(super) fn on_kept_data(wanted: &Wanted<'_>, programs: &[PathBuf], password: &str) -> Option<Vec<Step>> {
    let input = format!("ALTER ROLE {NAME} PASSWORD '{password}';\n");
    Some(vec![alone(wanted, programs.first()?, input), access(wanted)])
}
