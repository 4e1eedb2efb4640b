//! The help of the command.

use perbuck_workloads::ycsb::{PROPERTIES, WORKLOADS};

use super::properties::{CLIENT, DATABASES};
use super::words::FLAGS;

const HEAD: &str = "Replace go-ycsb: the core workload of YCSB on a database that speaks SQL, or on TiKV

Usage:
  perbuck ycsb load DATABASE [-P FILE]... [-p NAME=VALUE]... [OPTIONS]
  perbuck ycsb run  DATABASE [-P FILE]... [-p NAME=VALUE]... [OPTIONS]

Databases:
  mysql, mariadb, tidb, postgres, cockroach, yugabyte, sqlite, duckdb, tikv

Passwords are best put into PERBUCK_YCSB_PASSWORD, MYSQL_PWD or PGPASSWORD, or into a file for --password-file.
";

pub(super) fn text() -> String {
    let mut out = HEAD.to_owned();
    out += &section("Options", FLAGS.iter().map(|f| (format!("{} {}", f.names.join(", "), f.value), f.help.to_owned())));
    out += &section("Workloads that need no file", WORKLOADS.iter().map(|(n, w)| ((*n).to_owned(), (*w).to_owned())));
    let defaulted = |name: &str, default: &str, what: &str| {
        let default = if default.is_empty() { String::new() } else { format!(" (default {default})") };
        (name.to_owned(), format!("{what}{default}"))
    };
    out += &section("Properties of the workload", PROPERTIES.iter().map(|p| defaulted(p.name, p.default, p.help)));
    out += &section("Properties of the client", CLIENT.iter().map(|(n, d, w)| defaulted(n, d, w)));
    out + &section("Properties of databases", DATABASES.iter().map(|(n, d, w)| defaulted(n, d, w)))
}

fn section(title: &str, rows: impl Iterator<Item = (String, String)>) -> String {
    let rows: Vec<(String, String)> = rows.collect();
    let widest = rows.iter().map(|(name, _)| name.trim().len()).max().unwrap_or(0);
    let lines: Vec<String> = rows.iter().map(|(name, what)| format!("  {:<widest$}   {what}\n", name.trim())).collect();
    format!("\n{title}:\n{}", lines.concat())
}
