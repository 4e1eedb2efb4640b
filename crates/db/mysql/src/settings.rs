//! Global variables, and TiDB's replicas in columns.

use perbuck_database::settings::{ReplicaWords, SettingWords};

/// Global variables.
#[derive(Debug)]
pub(crate) struct Globals;

impl SettingWords for Globals {
    fn read(&self, name: &str) -> String {
        format!("SELECT CAST(@@GLOBAL.{name} AS CHAR)")
    }

    fn set(&self, name: &str, literal: &str) -> String {
        format!("SET GLOBAL {name} = {literal}")
    }

    fn unknown(&self) -> &'static str {
        "check its name and the version of the server: SHOW GLOBAL VARIABLES lists what it has"
    }

    fn fixed(&self) -> &'static str {
        "set it in the configuration of the server; a variable of sessions is set by `set.NAME=VALUE` in the target"
    }

    fn denied(&self) -> &'static str {
        "grant the user the right to set it (SYSTEM_VARIABLES_ADMIN on MySQL and TiDB, SUPER or its admin privilege on MariaDB), or leave it out and set it on the server yourself"
    }
}

/// TiFlash, of TiDB alone.
#[derive(Debug)]
pub(crate) struct TiFlash;

impl ReplicaWords for TiFlash {
    fn version(&self) -> &'static str {
        "SELECT VERSION()"
    }

    fn knows(&self, version: &str) -> bool {
        version.contains("TiDB")
    }

    /// It takes the privilege PROCESS.
    fn servers(&self) -> &'static str {
        "SELECT COUNT(*) FROM information_schema.cluster_info WHERE type = 'tiflash'"
    }

    fn ask(&self, table: &str, count: u32) -> String {
        format!("ALTER TABLE {table} SET TIFLASH REPLICA {count}")
    }

    fn look(&self, table: &str) -> String {
        format!(
            "SELECT CONCAT(replica_count, ' ', available, ' ', progress) FROM information_schema.tiflash_replica WHERE table_schema = DATABASE() AND table_name = '{table}'"
        )
    }
}
