//! A component's settings, as the files that it reads.

use std::collections::BTreeMap;

use perbuck_core::study::{Located, Scalar};
use toml_edit::{DocumentMut, Item, Table, Value};

/// Settings by their paths.
pub(super) type Settings = BTreeMap<String, Located<Scalar>>;

/// The first path that is a value and also a table of others, of which no file of tables can hold both.
pub(super) fn value_and_table(settings: &Settings) -> Option<&str> {
    let inner = |key: &str| settings.keys().any(|of| of.strip_prefix(key).is_some_and(|rest| rest.starts_with('.')));
    settings.keys().map(String::as_str).find(|key| inner(key))
}

/// A file of TiDB's components: TOML, with the paths as tables. The study's settings go before perbuck's `own`.
pub(super) fn toml(settings: &Settings, own: Vec<(&str, Value)>) -> String {
    let mut file = DocumentMut::new();
    for (path, value) in own.into_iter().filter(|(path, _)| !settings.contains_key(*path)) {
        insert(file.as_table_mut(), path, value);
    }
    for (path, found) in settings {
        let value = match &found.value {
            Scalar::Int(number) => Value::from(*number),
            Scalar::Float(number) => Value::from(*number),
            Scalar::Bool(on) => Value::from(*on),
            Scalar::Text(text) => Value::from(text.as_str()),
        };
        insert(file.as_table_mut(), path, value);
    }
    file.to_string()
}

/// Sets a path. The plan has refused a path whose table is a value.
fn insert(mut table: &mut Table, path: &str, value: Value) {
    let mut rest = path;
    while let Some((name, inner)) = rest.split_once('.') {
        let implicit = || {
            let mut table = Table::new();
            table.set_implicit(true);
            Item::Table(table)
        };
        let Some(next) = table.entry(name).or_insert_with(implicit).as_table_mut() else { return };
        (table, rest) = (next, inner);
    }
    table.insert(rest, Item::Value(value));
}

/// An option file of MySQL.
pub(super) fn my_cnf(settings: &Settings, connections: u32) -> String {
    let lines = settings.iter().map(|(key, found)| {
        let value = match &found.value {
            Scalar::Bool(on) => if *on { "ON" } else { "OFF" }.to_owned(),
            Scalar::Text(text) if !is_plain(text) => {
                // An option file knows no escape for a quote, so that a text stands in the other kind.
                let quote = if text.contains('"') { '\'' } else { '"' };
                format!("{quote}{}{quote}", text.replace('\\', r"\\").replace('\n', r"\n"))
            }
            other => other.to_string(),
        };
        format!("{key} = {value}\n")
    });
    format!("[mysqld]\n{}{}", max_connections(settings, connections), lines.collect::<String>())
}

/// `postgresql.conf`. It stands in for the one that a new database has, so that it also says where to listen.
pub(super) fn postgresql_conf(settings: &Settings, connections: u32) -> String {
    let quoted = |text: &str| format!("'{}'", text.replace('\\', r"\\").replace('\'', "''").replace('\n', r"\n"));
    let own = (!settings.contains_key("listen_addresses")).then(|| "listen_addresses = '*'\n".to_owned());
    let lines = settings.iter().map(|(key, found)| {
        let value = match &found.value {
            Scalar::Bool(on) => if *on { "on" } else { "off" }.to_owned(),
            Scalar::Text(text) => quoted(text),
            number => number.to_string(),
        };
        format!("{key} = {value}\n")
    });
    own.into_iter().chain([max_connections(settings, connections)]).chain(lines).collect()
}

/// As many connections as the study has at once, unless it says itself how many.
fn max_connections(settings: &Settings, connections: u32) -> String {
    if settings.contains_key("max_connections") { String::new() } else { format!("max_connections = {connections}\n") }
}

/// Whether an option file can hold a text without quotes.
fn is_plain(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_./:,*+=%".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings<const N: usize>(all: [(&str, Scalar); N]) -> Settings {
        all.map(|(key, value)| (key.to_owned(), Located { value, line: 1 })).into()
    }

    fn text(text: &str) -> Scalar {
        Scalar::Text(text.to_owned())
    }

    #[test]
    fn paths_become_tables() {
        let given = settings([
            ("storage.block-cache.capacity", text("24GiB")),
            ("storage.reserve-space", text("0MB")),
            ("log-level", text("a \"b\"\n")),
            ("raftstore.sync-log", Scalar::Bool(false)),
            ("a.ratio", Scalar::Float(1.0)),
        ]);
        let own = vec![("raftstore.sync-log", Value::from(true)), ("a.n", Value::from(3))];
        let written = toml(&given, own);
        let read: DocumentMut = written.parse().unwrap();
        assert_eq!(read["storage"]["block-cache"]["capacity"].as_str(), Some("24GiB"));
        assert_eq!(read["storage"]["reserve-space"].as_str(), Some("0MB"));
        assert_eq!(read["log-level"].as_str(), Some("a \"b\"\n"));
        assert_eq!(read["raftstore"]["sync-log"].as_bool(), Some(false));
        assert_eq!((read["a"]["ratio"].as_float(), read["a"]["n"].as_integer()), (Some(1.0), Some(3)));
        assert_eq!(toml(&settings([("a.b", Scalar::Int(1))]), Vec::new()), "[a]\nb = 1\n");
        assert_eq!(toml(&Settings::new(), Vec::new()), "");
    }

    #[test]
    fn a_value_is_no_table() {
        let both = settings([("a", Scalar::Int(1)), ("a-b", Scalar::Int(1)), ("a.b", Scalar::Int(1))]);
        assert_eq!(value_and_table(&both), Some("a"));
        assert_eq!(value_and_table(&settings([("a-b", Scalar::Int(1)), ("a.b", Scalar::Int(1))])), None);
    }

    #[test]
    fn servers_read_their_own_notation() {
        let given = settings([
            ("binlog_format", text("ROW")),
            ("init_connect", text("SET NAMES 'utf8mb4' # all")),
            ("innodb_doublewrite", Scalar::Bool(false)),
            ("max_connections", Scalar::Int(2000)),
        ]);
        assert_eq!(
            my_cnf(&given, 40),
            "[mysqld]\nbinlog_format = ROW\ninit_connect = \"SET NAMES 'utf8mb4' # all\"\ninnodb_doublewrite = OFF\n\
             max_connections = 2000\n"
        );
        let given = settings([
            ("log_line_prefix", text("it's %m\\")),
            ("random_page_cost", Scalar::Float(1.1)),
            ("synchronous_commit", Scalar::Bool(true)),
        ]);
        assert_eq!(
            postgresql_conf(&given, 40),
            "listen_addresses = '*'\nmax_connections = 40\nlog_line_prefix = 'it''s %m\\\\'\nrandom_page_cost = 1.1\nsynchronous_commit = on\n"
        );
        let given = settings([("listen_addresses", text("localhost"))]);
        assert_eq!(postgresql_conf(&given, 40), "max_connections = 40\nlisten_addresses = 'localhost'\n");
    }
}
