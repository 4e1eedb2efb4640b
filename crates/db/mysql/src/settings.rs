//! Variables of sessions and of the server, and TiDB's replicas in columns.

use perbuck_database::settings::{ReplicaWords, SettingWords};
use perbuck_load::driver::SessionId;

/// Variables of TiDB by which reads go to another engine or copy, or see the data of another time. Only what is measured reads so:
/// perbuck's own tables have no copy in columns (error 1815), and a stale count is a wrong one.
const OF_READS: [&str; 3] = ["tidb_isolation_read_engines", "tidb_read_staleness", "tidb_replica_read"];

/// Those of the target's `set.` options that a session sets.
pub(crate) fn of_session(settings: &[(String, String)], id: SessionId) -> impl Iterator<Item = &(String, String)> {
    let measured = matches!(id, SessionId::Terminal(_));
    settings.iter().filter(move |(name, _)| measured || !OF_READS.iter().any(|of_reads| name.eq_ignore_ascii_case(of_reads)))
}

pub(crate) const GLOBALS: SettingWords = SettingWords {
    read: |name| format!("SELECT CAST(@@GLOBAL.{name} AS CHAR)"),
    set: |name, literal| format!("SET GLOBAL {name} = {literal}"),
    unknown: "check its name and the version of the server: SHOW GLOBAL VARIABLES lists what it has",
    fixed: "set it in the configuration of the server; a variable of sessions is set by `set.NAME=VALUE` in the target",
    denied: "grant the user the right to set it (SYSTEM_VARIABLES_ADMIN on MySQL and TiDB, SUPER or its admin privilege on MariaDB), \
             or leave it out and set it on the server yourself",
};

/// TiFlash, of TiDB alone.
pub(crate) const TIFLASH: ReplicaWords = ReplicaWords {
    version: "SELECT VERSION()",
    knows: |version| version.contains("TiDB"),
    // It takes the privilege PROCESS.
    servers: "SELECT COUNT(*) FROM information_schema.cluster_info WHERE type = 'tiflash'",
    ask: |table, count| format!("ALTER TABLE {table} SET TIFLASH REPLICA {count}"),
    look: |table| {
        format!(
            "SELECT CONCAT(replica_count, ' ', available, ' ', progress) FROM information_schema.tiflash_replica \
             WHERE table_schema = DATABASE() AND table_name = '{table}'"
        )
    },
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_reads_go_is_for_terminals_alone() {
        let pairs = [("tidb_txn_mode", "optimistic"), ("TIDB_isolation_read_engines", "tiflash"), ("tidb_read_staleness", "-5")];
        let settings = pairs.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let names = |id| of_session(&settings, id).map(|(name, _)| name.as_str()).collect::<Vec<_>>();
        assert_eq!(names(SessionId::Terminal(0)), pairs.map(|(name, _)| name));
        assert_eq!((names(SessionId::Own(0)), names(SessionId::Own(7))), (vec!["tidb_txn_mode"], vec!["tidb_txn_mode"]));
    }
}
