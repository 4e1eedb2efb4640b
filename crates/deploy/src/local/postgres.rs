//! PostgreSQL.

use std::ffi::OsString;
use std::path::PathBuf;

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
    let in_data = |words: &[&str]| {
        let mut arguments: Vec<OsString> = words.iter().map(OsString::from).collect();
        arguments.extend(["-D".into(), data.clone().into_os_string()]);
        arguments
    };
    let mut arguments = in_data(&["--single"]);
    arguments.push("postgres".into());
    let first = Step::run(server, arguments, input);
    let mut arguments = in_data(&[]);
    let mut set = |key: &str, value: &str| arguments.extend(["-c".into(), format!("{key}={value}").into()]);
    set("port", &port.to_string());
    set("listen_addresses", &wanted.address.to_string());
    set("unix_socket_directories", "");
    set("max_connections", &wanted.connections.to_string());
    // The last one counts, so that the caller's settings win over those above.
    wanted.config.iter().for_each(|(key, value)| set(key, value));
    // The folder must be empty when it is made, so this comes after it.
    let bits = if wanted.address.is_ipv4() { 32 } else { 128 };
    let from = if wanted.address.is_loopback() { format!("{}/{bits}", wanted.address) } else { "all".to_owned() };
    let text = format!("host all all {from} scram-sha-256\n");
    let access = Step::Write { file: "data/pg_hba.conf".to_owned(), text };
    let target = Kind::Postgres.target(wanted.parts, (wanted.address, wanted.ports), wanted.options)?;
    Some(Recipe { steps: vec![make, first, access], stages: vec![vec![Process::only(server, arguments)]], quits: true, target })
}
