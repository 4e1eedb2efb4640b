//! What a recorded statement is: sent again, a part of a transaction's frame, or left out.

use perbuck_load::statement::Verb;

use super::lex::{Quotes, words};
use crate::script::{Control, control_of, verb_of};

/// What is done with a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Class {
    /// It is sent again.
    Sent(Sent),
    /// It is left out: why, as it is counted.
    LeftOut(&'static str),
    /// It makes a temporary table of that name.
    Temporary(String),
}

/// A statement that is sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sent {
    pub(super) verb: Verb,
    pub(super) control: Control,
    /// Whether it may change rows or tables.
    pub(super) writes: bool,
    /// Whether it sets something of its session.
    pub(super) sets: bool,
    /// What it makes of autocommit, if anything.
    pub(super) autocommit: Option<bool>,
    pub(super) savepoint: bool,
    /// Whether it locks the rows that it reads.
    pub(super) locks: bool,
}

impl Sent {
    /// Whether it ends a transaction.
    pub(super) fn ends(&self) -> bool {
        matches!(self.control, Control::Commit | Control::Rollback | Control::Ends)
    }

    /// Whether others may see an effect of it.
    pub(super) fn acts(&self) -> bool {
        self.writes || self.locks || self.ends()
    }
}

/// How the end of a query says that it locks rows.
const LOCKS: [&str; 5] = ["for update", "for no key update", "for share", "for key share", "lock in share mode"];
/// Bytes in which these words stand, with what may follow them.
const TAIL: usize = 48;

/// How names of tables begin in which servers tell of themselves.
const CATALOGUES: [[&str; 2]; 3] =
    [["pg_", "PG_"], ["information_schema", "INFORMATION_SCHEMA"], ["performance_schema", "PERFORMANCE_SCHEMA"]];
/// How perbuck's own tables begin.
const OWN: &str = "perbuck_";

/// Words that are looked at, but in a WITH, whose verb may stand anywhere.
const WORDS: usize = 8;

/// Reads a statement.
pub(super) fn classify(sql: &str, quotes: Quotes) -> Class {
    let mut all = words(sql, quotes, WORDS);
    if matches!(all.first().map(String::as_str), Some("with" | "explain")) {
        all = words(sql, quotes, usize::MAX);
    }
    let words: Vec<&str> = all.iter().map(String::as_str).collect();
    if let Some(why) = left_out(&words) {
        return Class::LeftOut(why);
    }
    if let ["create", rest @ ..] = &words[..] {
        let temporary = rest.iter().take(3).position(|word| matches!(*word, "temp" | "temporary"));
        if let Some(at) = temporary {
            let name = rest[at + 1..].iter().find(|word| !matches!(**word, "table" | "if" | "not" | "exists" | "view"));
            return Class::Temporary(name.map_or_else(String::new, |name| (*name).to_owned()));
        }
    }
    let several = words.contains(&";");
    let verb = if several { Verb::Other } else { verb_of(&words) };
    let control = if several { Control::None } else { control_of(&words) };
    let first = words.first().copied().unwrap_or_default();
    let sets = matches!(first, "set" | "use" | "reset");
    let reads =
        matches!(first, "show" | "explain" | "describe" | "desc" | "savepoint" | "release" | "fetch" | "close" | "declare");
    let framed = control != Control::None || matches!(first, "rollback" | "commit");
    let autocommit = match &words[..] {
        ["set", "autocommit", "0" | "off" | "false"] | ["set", "session", "autocommit", "0" | "off" | "false"] => Some(false),
        ["set", "autocommit", ..] | ["set", "session", "autocommit", ..] => Some(true),
        _ => None,
    };
    let savepoint = first == "savepoint";
    let writes = !(verb == Verb::Select || sets || reads || framed);
    Class::Sent(Sent { verb, control, writes, sets, autocommit, savepoint, locks: verb == Verb::Select && locks(sql) })
}

fn locks(sql: &str) -> bool {
    let tail = &sql.as_bytes()[sql.len().saturating_sub(TAIL)..];
    let has = |words: &&str| tail.windows(words.len()).any(|part| part.eq_ignore_ascii_case(words.as_bytes()));
    LOCKS.iter().any(has)
}

/// Whether a statement reads what the server tells of itself, whose rows change by themselves.
pub(super) fn is_of_catalogue(sql: &str) -> bool {
    CATALOGUES.iter().any(|[lower, upper]| sql.contains(lower) || sql.contains(upper))
}

/// Why a statement cannot be sent again by a load, or must not be.
fn left_out(words: &[&str]) -> Option<&'static str> {
    if words.iter().any(|word| word.starts_with(OWN)) {
        return Some("statements on perbuck's own tables");
    }
    Some(match words {
        [] => "empty statements",
        ["copy", ..] => "COPY",
        ["load", ..] => "LOAD DATA",
        ["listen" | "unlisten" | "notify", ..] => "LISTEN and NOTIFY",
        ["create" | "drop" | "alter", "database" | "schema" | "user" | "role" | "tablespace" | "server", ..] => {
            "databases and users"
        }
        ["grant" | "revoke", ..] | ["set", "password", ..] | ["rename", "user", ..] => "databases and users",
        ["set", "global" | "persist", ..] | ["alter", "system" | "instance", ..] => "settings of the server",
        [
            "kill" | "shutdown" | "restart" | "flush" | "purge" | "change" | "install" | "uninstall" | "start" | "stop",
            rest @ ..,
        ] if !matches!(rest.first(), Some(&"transaction")) => "commands to the server",
        ["reset", "master" | "slave" | "replica" | "binary" | "query", ..] => "commands to the server",
        ["deallocate" | "discard", ..] => "DISCARD and DEALLOCATE",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_known_by_their_words() {
        let sent = |sql: &str| match classify(sql, Quotes::Backslash) {
            Class::Sent(sent) => (sent.verb, sent.control, sent.writes),
            other => panic!("{sql}: {other:?}"),
        };
        for (sql, expected) in [
            ("SELECT 1", (Verb::Select, Control::None, false)),
            ("INSERT INTO copy VALUES (1)", (Verb::Insert, Control::None, true)),
            ("START TRANSACTION", (Verb::Other, Control::Begin, false)),
            ("COMMIT", (Verb::Other, Control::Commit, false)),
            ("SET NAMES utf8", (Verb::Other, Control::None, false)),
            ("BEGIN; DELETE FROM t; COMMIT", (Verb::Other, Control::None, true)),
            ("CREATE TABLE t (a int)", (Verb::Other, Control::None, true)),
            ("ROLLBACK TO SAVEPOINT a", (Verb::Other, Control::None, false)),
            ("CALL p()", (Verb::Other, Control::None, true)),
        ] {
            assert_eq!(sent(sql), expected, "{sql}");
        }
        for (sql, why) in [
            ("COPY t FROM stdin", "COPY"),
            ("LOAD DATA INFILE 'x' INTO TABLE t", "LOAD DATA"),
            ("create user a identified by 'secret'", "databases and users"),
            ("SET GLOBAL x = 1", "settings of the server"),
            ("DISCARD ALL", "DISCARD and DEALLOCATE"),
            ("-- nothing", "empty statements"),
        ] {
            assert_eq!(classify(sql, Quotes::Backslash), Class::LeftOut(why), "{sql}");
        }
        assert_eq!(
            classify("CREATE TEMPORARY TABLE IF NOT EXISTS tmp (a int)", Quotes::Standard),
            Class::Temporary("tmp".to_owned())
        );
        let Class::Sent(off) = classify("SET autocommit=0", Quotes::Backslash) else { panic!() };
        assert_eq!(off.autocommit, Some(false));
    }
}
