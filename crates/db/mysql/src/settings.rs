//! Variables of sessions and of the server, and TiDB's replicas in columns.

use std::collections::BTreeMap;

use perbuck_database::dialect::TransactionChoice;
use perbuck_database::settings::{Background, ReplicaWords, SettingWords};
use perbuck_load::driver::SessionId;
use perbuck_load::error::DriverError;
use perbuck_net::reach::{literal, pairs};

use crate::session::MysqlSession;

/// Variables of TiDB by which reads go to another engine or copy, or see the data of another time. Only what is measured reads so:
/// perbuck's own tables have no copy in columns (error 1815), and a stale count is a wrong one.
const OF_READS: [&str; 3] = ["tidb_isolation_read_engines", "tidb_read_staleness", "tidb_replica_read"];

/// Those of the target's `set.` options that a session sets.
pub(crate) fn of_session(settings: &[(String, String)], id: SessionId) -> impl Iterator<Item = &(String, String)> {
    let measured = !matches!(id, SessionId::Own(_));
    settings.iter().filter(move |(name, _)| measured || !OF_READS.iter().any(|of_reads| name.eq_ignore_ascii_case(of_reads)))
}

/// The variable that has an isolation level; MariaDB before 11.1 calls it otherwise.
pub(crate) const ISOLATION: &str = "transaction_isolation";
pub(crate) const ISOLATION_OF_OLD: &str = "tx_isolation";

/// The variable of a session for what a study asks of its transactions, and its value. All but the isolation level are TiDB's.
pub(crate) fn of_transactions(choice: TransactionChoice) -> (&'static str, String) {
    let switch = |on: bool| if on { "ON" } else { "OFF" }.to_owned();
    match choice {
        TransactionChoice::Pessimistic(_) => ("tidb_txn_mode", choice.value()),
        TransactionChoice::Isolation(level) => (ISOLATION, level.to_uppercase()),
        TransactionChoice::AsyncCommit(on) => ("tidb_enable_async_commit", switch(on)),
        TransactionChoice::OnePhaseCommit(on) => ("tidb_enable_1pc", switch(on)),
        TransactionChoice::Reads(copies) => ("tidb_replica_read", copies.to_owned()),
        TransactionChoice::StalenessS(seconds) => ("tidb_read_staleness", format!("-{seconds}")),
    }
}

/// The statement that gives a variable of a session its value. The isolation level in words has one that every version knows.
pub(crate) fn set(name: &str, value: &str) -> String {
    if name.eq_ignore_ascii_case(ISOLATION) && value.parse::<i64>().is_err() {
        return format!("SET SESSION TRANSACTION ISOLATION LEVEL {}", value.replace('-', " "));
    }
    format!("SET SESSION {name} = {}", literal(value))
}

/// What the variables of a session are, by the names that the target has for them.
pub(crate) async fn in_force(
    session: &mut MysqlSession,
    settings: &[(String, String)],
) -> Result<BTreeMap<String, String>, DriverError> {
    let names = settings.iter().map(|(name, _)| name.to_lowercase()).chain([ISOLATION_OF_OLD.to_owned()]);
    let names: Vec<String> = names.map(|name| format!("'{name}'")).collect();
    let sql = format!("SHOW SESSION VARIABLES WHERE Variable_name IN ({})", names.join(", "));
    let told = pairs(session, &sql).await?;
    let value = |name: &str| {
        let of_old = || told.get(ISOLATION_OF_OLD).filter(|_| name == ISOLATION);
        told.get(name).or_else(of_old).cloned()
    };
    Ok(settings.iter().filter_map(|(name, _)| Some((name.clone(), value(&name.to_lowercase())?))).collect())
}

pub(crate) const GLOBALS: SettingWords = SettingWords {
    read: |name| format!("SELECT CAST(@@GLOBAL.{name} AS CHAR)"),
    set: |name, literal| format!("SET GLOBAL {name} = {literal}"),
    unknown: "check its name and the version of the server: SHOW GLOBAL VARIABLES lists what it has",
    fixed: "set it in the configuration of the server; a variable of sessions is set by `set.NAME=VALUE` in the target",
    denied: "grant the user the right to set it (SYSTEM_VARIABLES_ADMIN on MySQL and TiDB, SUPER or its admin privilege on MariaDB), \
             or leave it out and set it on the server yourself",
    background: Some(Background {
        name: "innodb_buffer_pool_size",
        // MariaDB's table, and MySQL's. TiDB has neither, and no such setting.
        queries: &[
            "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'INNODB_BUFFER_POOL_RESIZE_STATUS'",
            "SELECT VARIABLE_VALUE FROM performance_schema.global_status WHERE VARIABLE_NAME = 'Innodb_buffer_pool_resize_status'",
        ],
        ended: resize_ended,
    }),
};

/// Whether InnoDB says that no resize of its buffer pool goes on; a failed one shows in the value that is read back.
fn resize_ended(status: &str) -> bool {
    let status = status.trim().to_ascii_lowercase();
    let ends = ["complet", "nothing to do", "did not change", "not started", "fail", "cannot", "aborted"];
    status.is_empty() || ends.iter().any(|end| status.contains(end))
}

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
    fn a_resize_goes_on_until_the_server_says_that_it_ended() {
        let unchanged = "Size did not change (old size = new size = 134217728. Nothing to do.";
        for ended in ["", "Completed resizing buffer pool at 261126  1:11:54.", unchanged] {
            assert!(resize_ended(ended), "{ended}");
        }
        let resizing = "Resizing buffer pool from 1073741824 to 67108864 (unit=134217728).";
        for goes_on in ["Withdrawing blocks to be shrunken.", resizing] {
            assert!(!resize_ended(goes_on), "{goes_on}");
        }
    }

    #[test]
    fn an_isolation_level_is_set_as_every_version_can() {
        assert_eq!(set("Transaction_Isolation", "READ-COMMITTED"), "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
        assert_eq!(set("transaction_isolation", "SERIALIZABLE"), "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE");
        assert_eq!(set("transaction_isolation", "2"), "SET SESSION transaction_isolation = 2");
        assert_eq!(set("sql_mode", "ANSI"), "SET SESSION sql_mode = 'ANSI'");
    }

    #[test]
    fn where_reads_go_is_for_terminals_alone() {
        let pairs = [("tidb_txn_mode", "optimistic"), ("TIDB_isolation_read_engines", "tiflash"), ("tidb_read_staleness", "-5")];
        let settings = pairs.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let names = |id| of_session(&settings, id).map(|(name, _)| name.as_str()).collect::<Vec<_>>();
        assert_eq!(names(SessionId::Terminal(0)), pairs.map(|(name, _)| name));
        assert_eq!((names(SessionId::Own(0)), names(SessionId::Own(7))), (vec!["tidb_txn_mode"], vec!["tidb_txn_mode"]));
    }
}
