//! The configuration file of a server, read into settings: what it sets, and what perbuck sets itself.

use std::collections::BTreeMap;

use super::{Kind, Parts, Refused};

/// The groups of an option file that a server reads.
const GROUPS: &[&str] = &["mysqld", "server", "mariadb", "mariadbd", "galera"];

/// The settings of a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileSettings {
    /// Those that hold, as in a `config`.
    pub settings: BTreeMap<String, String>,
    /// Those that perbuck sets itself, such as ports and folders, in the order of the file.
    pub unused: Vec<String>,
}

impl Kind {
    /// Reads a configuration file of this kind of server.
    ///
    /// # Errors
    /// A line that is none of such a file, one that names another file, and a kind whose parts have a file each.
    pub fn read_file(self, parts: &Parts, text: &str) -> Result<FileSettings, (usize, Refused)> {
        let refused = |line: usize, message: String, help: &str| (line, Refused { message, help: help.to_owned() });
        if !matches!(self, Self::Mariadb | Self::Mysql | Self::Postgres) {
            return Err(refused(
                1,
                format!("{self} has a configuration file for each of its parts"),
                "write its settings into `config`",
            ));
        }
        let mut found = FileSettings::default();
        let mut group = String::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with(['#', ';']) {
                continue;
            }
            if let Some(name) = line.strip_prefix('[').filter(|_| self != Self::Postgres) {
                name.split(']').next().unwrap_or_default().trim().clone_into(&mut group);
                continue;
            }
            if line.starts_with('!') || line.starts_with("include") {
                return Err(refused(number, format!("`{line}` names another file"), "put its lines into this file"));
            }
            if self != Self::Postgres && !GROUPS[..self.groups()].contains(&group.as_str()) {
                if group.starts_with("mysqld-") || group.starts_with("mariadb-") || group.starts_with("mariadbd-") {
                    return Err(refused(
                        number,
                        format!("`[{group}]` is for one version"),
                        "put its lines into `[mysqld]`, or leave them out",
                    ));
                }
                continue;
            }
            let (key, value) =
                setting(self, line).map_err(|why| refused(number, why, "write one setting a line: `name = value`"))?;
            match self.check(parts, &key, &value) {
                Ok(()) => {
                    // The last line counts, whatever the spelling.
                    found.settings.retain(|known, _| self.setting(known) != self.setting(&key));
                    found.settings.insert(key, value);
                }
                Err(_) if self.owns(&key) => found.unused.push(key),
                Err(why) => return Err((number, why)),
            }
        }
        Ok(found)
    }

    /// How many of the groups a server reads: MySQL knows none of MariaDB's.
    fn groups(self) -> usize {
        if self == Self::Mysql { 2 } else { GROUPS.len() }
    }

    /// Settings of a file under those of a `config`, which win whatever their spelling.
    pub fn merged(self, file: &FileSettings, config: &BTreeMap<String, String>) -> BTreeMap<String, String> {
        let given = |key: &String| config.keys().any(|own| self.setting(own) == self.setting(key));
        let from_file = file.settings.iter().filter(|(key, _)| !given(key)).map(|(key, value)| (key.clone(), value.clone()));
        from_file.chain(config.clone()).collect()
    }
}

/// One line: `name = value`, in PostgreSQL also `name value`, in MySQL's family also `name` alone.
fn setting(kind: Kind, line: &str) -> Result<(String, String), String> {
    let line = uncommented(line);
    let postgres = kind == Kind::Postgres;
    let divided = line.split_once('=').or_else(|| line.split_once(char::is_whitespace).filter(|_| postgres));
    let (key, value) = match divided {
        Some((key, value)) => (key.trim(), value.trim()),
        None if postgres => return Err(format!("`{line}` sets nothing")),
        // As on a command line, an option alone is switched on.
        None => (line, "ON"),
    };
    if key.is_empty() || key.contains(char::is_whitespace) {
        return Err(format!("`{line}` is no setting"));
    }
    // `loose-` is for servers that do not know an option.
    let key = if postgres { key } else { key.strip_prefix("loose-").or_else(|| key.strip_prefix("loose_")).unwrap_or(key) };
    Ok((key.to_owned(), unquoted(value)))
}

/// A line without the comment at its end; `#` within quotes is no comment.
fn uncommented(line: &str) -> &str {
    let mut quote = None;
    for (at, c) in line.char_indices() {
        match (quote, c) {
            (None, '#') => return line[..at].trim_end(),
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), c) if c == open => quote = None,
            _ => {}
        }
    }
    line
}

fn unquoted(value: &str) -> String {
    let inner = ['\'', '"'].into_iter().find_map(|quote| value.strip_prefix(quote)?.strip_suffix(quote));
    inner.unwrap_or(value).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(kind: Kind, text: &str) -> Result<FileSettings, (usize, Refused)> {
        kind.read_file(&Parts::new(), text)
    }

    #[test]
    fn an_option_file_gives_the_settings_of_the_server_alone() {
        let text = "# a comment\n[client]\nport = 3306\n[mysqld]\nport=3306\ninnodb_buffer_pool_size = 35G # half\nskip-name-resolve\n\
                    datadir = /var/lib/mysql\ninit_connect='SET x=1 # no comment'\n[server]\nloose-admin_port = 1\n[mariadb]\nquick\n[mysqldump]\nquick\n";
        let found = read(Kind::Mysql, text).unwrap();
        let expected = [
            ("admin_port", "1"),
            ("init_connect", "SET x=1 # no comment"),
            ("innodb_buffer_pool_size", "35G"),
            ("skip-name-resolve", "ON"),
        ];
        assert_eq!(found.settings.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect::<Vec<_>>(), expected);
        assert_eq!(found.unused, ["port", "datadir"]);
        let config = BTreeMap::from([("innodb-buffer-pool-size".to_owned(), "80G".to_owned())]);
        let merged = Kind::Mysql.merged(&found, &config);
        assert_eq!((merged.len(), merged["innodb-buffer-pool-size"].as_str()), (4, "80G"), "one setting in two spellings");
    }

    #[test]
    fn a_file_of_postgresql_has_no_groups() {
        let found =
            read(Kind::Postgres, "shared_buffers = 35GB\nwork_mem 4MB # each\nlisten_addresses = '*'\nsearch_path = 'a, b'\n")
                .unwrap();
        assert_eq!(found.settings.values().collect::<Vec<_>>(), ["a, b", "35GB", "4MB"]);
        assert_eq!(found.unused, ["listen_addresses"]);
    }

    #[test]
    fn what_is_no_such_file_is_told_with_its_line() {
        for (kind, text, line, says) in [
            (Kind::Mysql, "[mysqld]\n!includedir /etc/mysql\n", 2, "names another file"),
            (Kind::Postgres, "include 'x.conf'\n", 1, "names another file"),
            (Kind::Postgres, "\nfsync\n", 2, "sets nothing"),
            (Kind::Mysql, "[mysqld]\na b = 1\n", 2, "is no setting"),
            (Kind::Mysql, "[mysqld-8.0]\na = 1\n", 2, "is for one version"),
            (Kind::Tikv, "", 1, "for each of its parts"),
        ] {
            let (at, why) = read(kind, text).unwrap_err();
            assert!(at == line && why.message.contains(says), "{text}: {at} {}", why.message);
        }
    }
}
