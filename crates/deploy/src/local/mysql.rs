//! MariaDB and MySQL.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::{Kind, NAME, Process, Program, Recipe, Step, Wanted, option};

pub(super) const MARIADB: &[Program] = &[
    Program { names: &["mariadbd", "mysqld"], folders: &["/usr/sbin", "/usr/local/mariadb/bin", "/opt/mariadb/bin"] },
    Program {
        names: &["mariadb-install-db", "mysql_install_db"],
        folders: &["/usr/bin", "/usr/local/mariadb/scripts", "/opt/mariadb/scripts"],
    },
];

pub(super) const MYSQL: &[Program] =
    &[Program { names: &["mysqld"], folders: &["/usr/sbin", "/usr/local/mysql/bin", "/opt/mysql/bin"] }];

/// Settings that decide where the server lives and who reaches it.
pub(super) const OWNED: &[&str] = &[
    "basedir",
    "bind_address",
    "bootstrap",
    "daemonize",
    "datadir",
    "defaults_extra_file",
    "defaults_file",
    "init_file",
    "initialize",
    "initialize_insecure",
    "mysqlx",
    "no_defaults",
    "pid_file",
    "port",
    "skip_grant_tables",
    "skip_networking",
    "socket",
    "tmpdir",
    "user",
];

/// What both need: no file of the machine's own configuration, and everything in the folder. Temporary tables, too: a server
/// that starts removes all that it finds where they are, and in a shared folder those are another server's.
fn common(wanted: &Wanted<'_>) -> Vec<OsString> {
    let mut arguments = vec![OsString::from("--no-defaults"), option("datadir", wanted.folder.join("data"))];
    arguments.push(option("tmpdir", wanted.folder));
    if wanted.as_root {
        arguments.push(option("user", "root"));
    }
    arguments
}

/// Statements of one line each, as the first start of a server wants them.
fn first_statements(wanted: &Wanted<'_>, password: &str) -> String {
    let databases: Vec<String> = wanted.databases.iter().map(|d| format!("CREATE DATABASE `{d}`;\n")).collect();
    format!("{}CREATE USER '{NAME}'@'%' IDENTIFIED BY '{password}';\nGRANT ALL ON *.* TO '{NAME}'@'%';\n", databases.concat())
}

fn serve(kind: Kind, wanted: &Wanted<'_>, server: &Path, steps: Vec<Step>, own: &[&str]) -> Option<Recipe> {
    let [port] = wanted.ports else { return None };
    let mut arguments = common(wanted);
    arguments.push(option("socket", wanted.folder.join("socket")));
    arguments.push(option("pid-file", wanted.folder.join("server.pid")));
    arguments.push(option("port", port.to_string()));
    arguments.push(option("bind-address", wanted.address.to_string()));
    arguments.push(option("max-connections", wanted.connections.to_string()));
    arguments.extend(own.iter().map(OsString::from));
    // The last one counts, so that the caller's settings win over those above.
    arguments.extend(wanted.config.iter().map(|(key, value)| option(key, value)));
    let target = kind.target(wanted.parts, (wanted.address, wanted.ports), wanted.options)?;
    Some(Recipe { steps, stages: vec![vec![Process::only(server, arguments)]], quits: false, target })
}

pub(super) fn mariadb(wanted: &Wanted<'_>, programs: &[PathBuf], password: &str) -> Option<Recipe> {
    let [server, install] = programs else { return None };
    let mut arguments = common(wanted);
    arguments.extend(["--auth-root-authentication-method=normal", "--skip-test-db"].map(OsString::from));
    let install = Step::run(install, arguments, String::new());
    // The installer leaves root without a password, so any user of the machine could log in as root. In this mode the tables of
    // grants are not loaded until they are asked for.
    let input = format!(
        "DELETE FROM mysql.global_priv WHERE User IN ('root', '');\nFLUSH PRIVILEGES;\n{}",
        first_statements(wanted, password)
    );
    serve(Kind::Mariadb, wanted, server, vec![install, bootstrap(wanted, server, input)], &[])
}

/// Runs statements without a server that others could reach.
fn bootstrap(wanted: &Wanted<'_>, server: &Path, input: String) -> Step {
    let mut arguments = common(wanted);
    arguments.push(OsString::from("--bootstrap"));
    Step::run(server, arguments, input)
}

fn new_password(password: &str) -> String {
    format!("ALTER USER '{NAME}'@'%' IDENTIFIED BY '{password}';\n")
}

pub(super) fn mariadb_on_kept_data(wanted: &Wanted<'_>, programs: &[PathBuf], password: &str) -> Option<Vec<Step>> {
    // As above, grants are loaded when they are asked for.
    Some(vec![bootstrap(wanted, programs.first()?, format!("FLUSH PRIVILEGES;\n{}", new_password(password)))])
}

pub(super) fn mysql_on_kept_data(wanted: &Wanted<'_>, programs: &[PathBuf], password: &str) -> Option<Vec<Step>> {
    let mut arguments = common(wanted);
    // No client reaches it until it ends, by the last of its first statements.
    arguments.push(option("socket", wanted.folder.join("socket")));
    arguments.extend(["--init-file=/dev/stdin", "--skip-networking", "--mysqlx=OFF", NO_FILES].map(OsString::from));
    Some(vec![Step::run(programs.first()?, arguments, format!("{}SHUTDOWN;\n", new_password(password)))])
}

const NO_FILES: &str = "--secure-file-priv=NULL";

pub(super) fn mysql(wanted: &Wanted<'_>, programs: &[PathBuf], password: &str) -> Option<Recipe> {
    let [server] = programs else { return None };
    let mut arguments = common(wanted);
    // The folder that packages compile in for files is there only where their server is set up; it is not needed here.
    arguments.extend(["--initialize-insecure", "--init-file=/dev/stdin", NO_FILES].map(OsString::from));
    let input = format!("{}ALTER USER 'root'@'localhost' ACCOUNT LOCK;\n", first_statements(wanted, password));
    serve(Kind::Mysql, wanted, server, vec![Step::run(server, arguments, input)], &["--mysqlx=OFF", NO_FILES])
}
