//! The three scripts that pgbench brings, by its documentation.

/// A script of pgbench's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Builtin {
    /// The name by which a command line asks for it.
    pub name: &'static str,
    /// What pgbench calls it in its summary.
    pub title: &'static str,
    /// What it does.
    pub text: &'static str,
}

/// What names one of them in a list of files.
pub const BUILTIN: &str = "builtin:";

/// All of them.
pub static BUILTINS: [Builtin; 3] = [
    Builtin {
        name: "tpcb-like",
        title: "<builtin: TPC-B (sort of)>",
        text: "\\set aid random(1, 100000 * :scale)
\\set bid random(1, 1 * :scale)
\\set tid random(1, 10 * :scale)
\\set delta random(-5000, 5000)
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;
UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);
END;
",
    },
    Builtin {
        name: "simple-update",
        title: "<builtin: simple update>",
        text: "\\set aid random(1, 100000 * :scale)
\\set bid random(1, 1 * :scale)
\\set tid random(1, 10 * :scale)
\\set delta random(-5000, 5000)
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);
END;
",
    },
    Builtin {
        name: "select-only",
        title: "<builtin: select only>",
        text: "\\set aid random(1, 100000 * :scale)
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
",
    },
];

impl Builtin {
    /// The script whose name starts so, if it is the only one.
    pub fn named(start: &str) -> Option<&'static Self> {
        let mut all = BUILTINS.iter().filter(|builtin| !start.is_empty() && builtin.name.starts_with(start));
        all.next().filter(|_| all.next().is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_known_by_the_start_of_its_name() {
        let named = |start| Builtin::named(start).map(|builtin| builtin.name);
        assert_eq!(
            ["t", "tpcb-like", "se", "si", "s", "", "x"].map(named),
            [Some("tpcb-like"), Some("tpcb-like"), Some("select-only"), Some("simple-update"), None, None, None]
        );
    }
}
