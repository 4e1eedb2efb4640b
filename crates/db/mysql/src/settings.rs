//! Global variables, and TiDB's replicas in columns.

use perbuck_database::settings::{ReplicaWords, SettingWords};

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
