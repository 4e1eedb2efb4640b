//! TiDB alone, with the store that is embedded in it for tests.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::PathBuf;

use super::{NAME, Program, Recipe, Wanted, option};

pub(super) const PROGRAMS: &[Program] =
    &[Program { names: &["tidb-server"], folders: &["~/.tiup/components/tidb/v*", "/opt/tidb/bin", "/usr/local/bin"] }];

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

pub(super) fn recipe(wanted: &Wanted<'_>, programs: &[PathBuf], password: &str) -> Option<Recipe> {
    let ([server], [port, status]) = (programs, wanted.ports) else { return None };
    // TiDB takes flags of Go with one dash or two.
    let mut arguments = vec![option("store", "unistore"), option("path", wanted.folder.join("data"))];
    arguments.extend([option("host", "127.0.0.1"), option("P", port.to_string())]);
    arguments.extend([option("status-host", "127.0.0.1"), option("status", status.to_string())]);
    arguments.extend([option("socket", wanted.folder.join("socket")), option("temp-dir", wanted.folder.join("temp"))]);
    // Else it starts with a setting that it does not know, and only logs so.
    arguments.extend([option("config", wanted.folder.join(CONFIG)), OsString::from("--config-strict")]);
    // It is read once, before the server takes connections: no user can log in before there is a password.
    arguments.push(OsString::from("--initialize-sql-file=/dev/stdin"));
    let databases: String = wanted.databases.iter().map(|name| format!("CREATE DATABASE `{name}`;\n")).collect();
    let input = format!(
        "{databases}CREATE USER '{NAME}'@'%' IDENTIFIED BY '{password}';\nGRANT ALL ON *.* TO '{NAME}'@'%';\n\
         DROP USER 'root'@'%';\n"
    );
    Some(Recipe {
        steps: Vec::new(),
        files: vec![(CONFIG, config(wanted))],
        program: server.clone(),
        arguments,
        input,
        quits: false,
        target: format!("tidb://{NAME}@127.0.0.1:{port}/{NAME}?tls=disabled"),
    })
}

const CONFIG: &str = "tidb.toml";

/// The configuration file. A study writes keys with dots, as TOML has them at its top: `performance.max-procs = 2`.
fn config(wanted: &Wanted<'_>) -> String {
    let mut text = format!("tmp-storage-path = {}\n", quoted(&wanted.folder.join("temp").to_string_lossy()));
    for (key, value) in wanted.config {
        let value = match value.as_str() {
            "ON" => "true".to_owned(),
            "OFF" => "false".to_owned(),
            number if is_number(number) => number.to_owned(),
            text => quoted(text),
        };
        // Writing to a text does not fail.
        let _ = writeln!(text, "{key} = {value}");
    }
    text
}

/// Whether TOML has it as a number: digits with one dot at most, and no zero before them.
fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, rest) = digits.split_once('.').unwrap_or((digits, "0"));
    let all = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    all(whole) && all(rest) && (whole == "0" || !whole.starts_with('0'))
}

/// A basic string of TOML.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
