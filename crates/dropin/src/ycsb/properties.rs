//! Properties: files in the syntax of Java, the command line over them, and those of the client and of databases by name.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use perbuck_core::problem::nearest;
use perbuck_workloads::ycsb::{PROPERTIES, preset};

use super::words::Given;
use crate::refused::{Refused, Typed};
use perbuck_lab::inputs::read_text;

/// Properties of the client: name, default, and what it does. An empty default is none.
pub(super) const CLIENT: [(&str, &str, &str); 13] = [
    ("threadcount", "1", "connections"),
    ("target", "0", "operations per second, due by a schedule; 0 is as many as there can be"),
    ("maxexecutiontime", "0", "seconds after which a run ends; 0 is no limit"),
    ("warmuptime", "0", "seconds of a run before anything is measured"),
    ("batch.size", "1", "of load: above 1 the records are loaded by the fastest way that the database offers"),
    ("dropdata", "false", "of load: drops the table before"),
    ("measurement.interval", "10", "seconds between two reports (YCSB's words op, intended and both are known, too)"),
    ("measurementtype", "histogram", "only histogram"),
    ("measurement.output_file", "", "the file for the summary"),
    ("outputstyle", "plain", "plain, table or json"),
    ("hdrhistogram.percentiles", "50,95,99", "percentiles of --shape=ycsb"),
    ("status.interval", "10", "seconds between two lines of -s"),
    ("seed", "", "as --seed"),
];

pub(super) const DATABASES: [(&str, &str, &str); 31] = [
    ("mysql.host", "127.0.0.1", "host of MySQL, MariaDB or TiDB"),
    ("mysql.port", "3306", "its port (tidb: 4000)"),
    ("mysql.user", "root", "its user"),
    ("mysql.password", "", "its password"),
    ("mysql.db", "test", "the database"),
    ("mysql.tls", "disabled", "disabled, preferred, required, verify-ca or verify-identity"),
    ("mysql.ca", "", "file of certificate authorities"),
    ("tidb.instances", "", "hosts of TiDB with ports and commas between them, in place of mysql.host"),
    ("pg.host", "127.0.0.1", "host of PostgreSQL"),
    ("pg.port", "5432", "its port"),
    ("pg.user", "root", "its user"),
    ("pg.password", "", "its password"),
    ("pg.db", "test", "the database"),
    ("pg.sslmode", "disable", "disable, allow, prefer, require, verify-ca or verify-full"),
    ("pg.sslrootcert", "", "file of certificate authorities"),
    ("sqlite.db", "/tmp/sqlite.db", "the file"),
    ("sqlite.journalmode", "WAL", "its journal_mode"),
    ("duckdb.db", "/tmp/bench.duckdb", "the file"),
    ("tikv.pd", "127.0.0.1:2379", "the members of TiKV's PD, with commas between them"),
    ("tikv.type", "raw", "raw or txn"),
    ("tikv.conncount", "1", "connections to each store that a load thread opens (go-ycsb: 128 in all)"),
    ("tikv.batchsize", "128", "commands in one batch, at most; 0 sends each alone"),
    ("tikv.apiversion", "V1", "V1 or V2"),
    ("tikv.async_commit", "true", "of txn: the second step of a commit is not waited for"),
    ("tikv.one_pc", "true", "of txn: a transaction of one region commits in one step"),
    ("tikv.mode", "optimistic", "of txn: optimistic or pessimistic"),
    ("tikv.keyspace", "0", "of V2: the number of the keyspace"),
    ("tikv.tls", "disabled", "disabled, required, verify-ca or verify-identity"),
    ("tikv.ca", "", "file of certificate authorities"),
    ("tikv.cert", "", "file of the client's certificate"),
    ("tikv.key", "", "file of its key"),
];

/// Properties of the other two programs that say nothing to this one, and why.
const WITHOUT_EFFECT: [(&str, &str); 17] = [
    ("db", "the database is the word after load or run"),
    ("command", "it is the word after ycsb"),
    ("dotransactions", "load and run say it"),
    ("silence", "errors are counted by their code and shown at the end"),
    ("verbose", "statements are not printed"),
    ("debug.pprof", "there is no profiler to reach"),
    ("label", "it was for status lines"),
    ("status", "-s asks for status lines"),
    ("exporter", "--shape says how numbers are printed"),
    ("exportfile", "measurement.output_file names the file"),
    ("measurement.trackjvm", "perbuck has no Java virtual machine"),
    ("histogram.percentiles.export", "the record of the run holds the whole histograms"),
    ("histogram.percentiles.export.filepath", "the record of the run holds the whole histograms"),
    ("sqlite.mode", "perbuck makes the file if it is missing"),
    ("sqlite.cache", "every connection has its own"),
    ("sqlite.maxopenconns", "there are as many connections as threads"),
    ("sqlite.maxidleconns", "there are as many connections as threads"),
];

/// Whether a property holds a password, or is meant to: also a slip of it must not be shown.
pub(super) fn is_password(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.contains("passw") || name.contains("pwd") || name.contains("secret")
}

/// What files and the command line say.
#[derive(Debug, Default)]
pub(super) struct Properties {
    /// By name, passwords aside.
    values: BTreeMap<String, String>,
    /// Passwords of files by property.
    pub(super) filed: BTreeMap<String, Typed>,
    /// For standard error.
    pub(super) remarks: Vec<String>,
    /// The name of the workload in its study: that of the first file.
    pub(super) name: String,
}

impl Properties {
    /// Reads the files and puts the command line over them.
    pub(super) fn read(given: &Given) -> Result<Self, Refused> {
        let mut all = Self { name: "core".to_owned(), ..Self::default() };
        for (i, file) in given.files.iter().enumerate() {
            if i == 0 {
                all.name = safe_name(file);
            }
            for (name, value) in of_file(file)? {
                all.set(name, value);
            }
        }
        for (name, value) in &given.properties {
            all.set(name.clone(), value.clone());
        }
        all.remark();
        Ok(all)
    }

    fn set(&mut self, name: String, value: String) {
        if is_password(&name) {
            self.filed.insert(name, Typed(OsString::from(value)));
        } else {
            self.values.insert(name, value.trim().to_owned());
        }
    }

    /// Names what has no effect.
    fn remark(&mut self) {
        let known = || {
            let listed = CLIENT.iter().chain(&DATABASES).map(|(name, ..)| *name);
            PROPERTIES.iter().map(|p| p.name).chain(listed).chain(WITHOUT_EFFECT.iter().map(|(name, _)| *name))
        };
        for name in self.values.keys().chain(self.filed.keys()) {
            if let Some((_, why)) = WITHOUT_EFFECT.iter().find(|(n, _)| n == name) {
                self.remarks.push(format!("property {name} has no effect: {why}"));
            } else if !known().any(|k| k == name) {
                let near = nearest(name, known()).map(|n| format!("; did you mean {n}?")).unwrap_or_default();
                self.remarks.push(format!("property {name} is unknown and has no effect{near}"));
            }
        }
    }

    /// The value of a property, if one is given.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    pub(super) fn text(&self, name: &str) -> &str {
        let default = || CLIENT.iter().chain(&DATABASES).find(|(n, ..)| *n == name).map_or("", |(_, default, _)| *default);
        self.get(name).unwrap_or_else(default)
    }

    /// All that were given, in the order of their names; passwords as stars.
    pub(super) fn shown(&self) -> Vec<(&str, &str)> {
        let mut all: Vec<(&str, &str)> = self.values.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        all.extend(self.filed.keys().map(|name| (name.as_str(), "***")));
        all.sort_unstable();
        all
    }
}

/// The properties of a file; of a built-in workload where no such file is there and it has the name of one.
fn of_file(file: &str) -> Result<Vec<(String, String)>, Refused> {
    let path = Path::new(file);
    let stem = path.file_name().unwrap_or_default().to_string_lossy();
    if !path.exists()
        && let Some(built_in) = preset(&stem)
    {
        return Ok(built_in.into_iter().map(|(n, v)| (n.to_owned(), v.to_owned())).collect());
    }
    let text = read_text("the properties in", path)
        .map_err(|e| Refused::usage(e.to_string(), "name a file; workloada to workloadf need none"))?;
    parse(&text).map_err(|line| {
        let message = format!("{file}:{line}: an escape \\u without four hexadecimal digits");
        Refused::usage(message, "write \\u0041 for A, or the character itself")
    })
}

/// Reads the syntax of `java.util.Properties`: `name = value`, `name: value` or `name value`; `#` and `!` begin a comment, a
/// backslash at the end of a line joins it with the next, and `\t`, `\n`, `\uXXXX` stand for characters. The error is
/// the number of the line with a bad escape.
pub(super) fn parse(text: &str) -> Result<Vec<(String, String)>, usize> {
    let mut all = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let mut logical = line.trim_start().to_owned();
        if logical.is_empty() || logical.starts_with(['#', '!']) {
            continue;
        }
        // An odd number of backslashes at the end: an even one is backslashes that are meant.
        while logical.bytes().rev().take_while(|b| *b == b'\\').count() % 2 == 1 {
            logical.pop();
            let Some((_, next)) = lines.next() else { break };
            logical.push_str(next.trim_start());
        }
        let (name, value) = split(&logical);
        let clear = |text: &str| unescape(text).ok_or(number + 1);
        all.push((clear(name)?, clear(value)?));
    }
    Ok(all)
}

fn split(line: &str) -> (&str, &str) {
    let mut escaped = false;
    let end = line.find(|c: char| {
        let ends = !escaped && (c == '=' || c == ':' || c.is_ascii_whitespace());
        escaped = c == '\\' && !escaped;
        ends
    });
    let end = end.unwrap_or(line.len());
    let rest = line[end..].trim_start();
    (&line[..end], rest.strip_prefix(['=', ':']).unwrap_or(rest).trim_start())
}

fn unescape(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match rest.next() {
            Some('t') => out.push('\t'),
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('f') => out.push('\u{c}'),
            Some('u') => {
                let digits: String = rest.by_ref().take(4).collect();
                let code = u32::from_str_radix(&digits, 16).ok().filter(|_| digits.len() == 4)?;
                out.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            Some(other) => out.push(other),
            None => {}
        }
    }
    Some(out)
}

/// A name that folders can have, made of that of a file.
fn safe_name(file: &str) -> String {
    let stem = Path::new(file).file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let safe = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '-' };
    let name: String = stem.chars().map(safe).take(32).collect();
    if name.is_empty() { "core".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::super::golden;
    use super::*;

    fn pairs(text: &str) -> Vec<(String, String)> {
        parse(text).unwrap()
    }

    #[test]
    fn files_are_read_as_java_reads_them() {
        let text = "# comment\n! another\n\n  a=1\nb : 2\nc 3\nd=\ne\n long = x\\\n   y\\\\\nk\\=ey = v\\u0041\\tz\r\nb=4";
        let expected =
            [("a", "1"), ("b", "2"), ("c", "3"), ("d", ""), ("e", ""), ("long", "xy\\"), ("k=ey", "vA\tz"), ("b", "4")];
        assert_eq!(pairs(text), expected.map(|(n, v)| (n.to_owned(), v.to_owned())));
        assert_eq!(parse("ok=1\nx=\\u12"), Err(2));
        assert_eq!(pairs("x=1\\"), [("x".to_owned(), "1".to_owned())]);
    }

    #[test]
    fn later_files_and_the_command_line_overrule() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("mine.properties");
        std::fs::write(&file, "recordcount=5\nmysql.password=geheim\nreadpropotion=1\nsilence=false\n").unwrap();
        let words = ["run", "mysql", "-P", "workloads/workloadb", "-P", file.to_str().unwrap(), "-p", "recordcount=7"];
        let all = golden::properties(&words).unwrap();
        assert_eq!(
            (all.get("recordcount"), all.get("readproportion"), all.name.as_str()),
            (Some("7"), Some("0.95"), "workloadb")
        );
        assert_eq!((all.text("threadcount"), all.text("mysql.user"), all.get("mysql.password")), ("1", "root", None));
        let remarks = all.remarks.join("\n");
        assert!(remarks.contains("readpropotion is unknown and has no effect; did you mean readproportion?"), "{remarks}");
        assert!(remarks.contains("silence has no effect"), "{remarks}");
        let shown = format!("{:?} {all:?}", all.shown());
        assert!(shown.contains("***") && !shown.contains("geheim"), "{shown}");
        let missing = golden::properties(&["run", "mysql", "-P", "nowhere/workloadx"]);
        assert!(missing.unwrap_err().message.contains("nowhere/workloadx"));
    }

    #[test]
    fn no_text_is_too_odd() {
        let mut rng = perbuck_core::rng::OpRng::new(perbuck_core::units::Seed(4));
        let characters: Vec<char> = "\\\\=: \t#!ua1\u{e9}\n".chars().collect();
        for _ in 0..20_000 {
            let length = rng.below(30);
            let text: String = (0..length).map(|_| characters[rng.below(characters.len() as u64) as usize]).collect();
            // Either properties or the number of a line; no panic.
            if let Err(line) = parse(&text) {
                assert!(line >= 1 && line <= text.lines().count(), "{text:?}");
            }
        }
    }
}
