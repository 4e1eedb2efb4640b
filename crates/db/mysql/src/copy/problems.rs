//! What keeps tables from being copied and restored, as far as it shows before a load.

use std::collections::BTreeMap;

use perbuck_load::driver::{CopyScope, Driver as _, Session as _};
use perbuck_load::error::{Cause, DriverError};
use perbuck_load::preflight::HostProblem;
use perbuck_load::values::Rows;
use perbuck_net::reach::{on_a_session, pairs};

use super::files::Folder;
use super::{alone, execute, save_in, shapes, unfit};
use crate::MysqlDriver;
use crate::session::MysqlSession;

/// A table that is made, saved, restored and dropped.
const TRIED: &str = "perbuck_try";
const WAY_OUT: &str = "or write `reset = \"per-block\"`";
const RIGHTS: &str = "perbuck needs to read and write files in the server's folder of data, the privileges RELOAD and LOCK TABLES, SELECT, INSERT \
                      and DELETE on mysql.innodb_table_stats and mysql.innodb_index_stats, and to turn its binary log off where there is one";
/// Variables that decide where a new table is.
const VARIABLES: &str = "'wsrep_on', 'group_replication_group_name', 'innodb_file_per_table', 'innodb_encrypt_tables', \
                         'default_table_encryption'";

/// Why, and the way out.
type Problem = (String, String);

pub(crate) async fn problems(driver: &MysqlDriver, of: &CopyScope) -> Result<Vec<HostProblem>, DriverError> {
    let found = match looked(driver, of).await {
        Ok(found) => found,
        Err(error) if error.cause == Some(Cause::Stopped) => return Err(error),
        Err(error) => vec![(error.message.clone(), RIGHTS.to_owned())],
    };
    let problem = |(why, help): Problem| HostProblem {
        message: format!("`reset = \"restore\"`: {why}"),
        help: format!("{help}, {WAY_OUT}"),
    };
    Ok(found.into_iter().map(problem).collect())
}

async fn looked(driver: &MysqlDriver, of: &CopyScope) -> Result<Vec<Problem>, DriverError> {
    if driver.hosts().len() > 1 || driver.has_query_host() {
        let why = "the target names several hosts, and perbuck copies the files of one".to_owned();
        return Ok(vec![(why, "name one host".to_owned())]);
    }
    if let Some(found) = on_a_session(driver, elsewhere).await? {
        return Ok(vec![found]);
    }
    alone(driver, async |session, folder| {
        let mut found = Vec::new();
        for [name, why] in shapes(session, &of.tables).await? {
            if !why.is_empty() {
                found.push((
                    format!("table `{name}` cannot be copied: it is {why}"),
                    "drop it, or give the workload its own `database`".to_owned(),
                ));
            }
        }
        if found.is_empty() {
            tried(session, folder).await?;
        }
        Ok(found)
    })
    .await
}

/// What shows without a table.
async fn elsewhere(session: &mut MysqlSession) -> Result<Option<Problem>, DriverError> {
    let mut rows = Rows::default();
    session.query("SELECT VERSION(), @@log_bin", &mut rows).await?;
    let (version, logs) = (rows.display(0, 0)?, rows.int(0, 1)? == 1);
    let problem = |why: &str, help: &str| Ok(Some((why.to_owned(), help.to_owned())));
    if version.contains("TiDB") {
        return problem(
            "TiDB has no files of tables that could be copied",
            "give the contender a storage (`backup = \"s3://BUCKET/FOLDER\"`), let perbuck start the server (`server = { kind = … }`)",
        );
    }
    if !session.wire.socket.peer_is_local() {
        return problem(
            "perbuck copies files of the server, which runs on another machine",
            "run perbuck on the server's machine",
        );
    }
    let all = pairs(session, &format!("SHOW GLOBAL VARIABLES WHERE Variable_name IN ({VARIABLES})")).await?;
    let is = |name: &str, values: &[&str]| has(&all, name, values);
    if is("wsrep_on", &["ON"]) || all.get("group_replication_group_name").is_some_and(|name| !name.is_empty()) {
        return problem(
            "the server is one of a cluster, and the others would not get the restored tables",
            "name a single server",
        );
    }
    if is("innodb_file_per_table", &["OFF"]) {
        return problem("tables have no files of their own", "SET GLOBAL innodb_file_per_table = ON before the load");
    }
    if is("innodb_encrypt_tables", &["ON", "FORCE"]) || is("default_table_encryption", &["ON"]) {
        return problem(
            "the server encrypts new tables, and perbuck copies none that are encrypted",
            "turn that off before the load",
        );
    }
    if logs {
        session.query("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE command LIKE 'Binlog Dump%'", &mut rows).await?;
        if rows.int(0, 0)? > 0 {
            return problem("the server has a replica, which would not get the restored tables", "detach the replica");
        }
    }
    Ok(None)
}

fn has(all: &BTreeMap<String, String>, name: &str, values: &[&str]) -> bool {
    all.get(name).is_some_and(|value| values.contains(&value.to_uppercase().as_str()))
}

/// Makes, saves, restores and drops a table, as those of the workload would be.
async fn tried(session: &mut MysqlSession, folder: &Folder) -> Result<(), DriverError> {
    let drop_it = format!("DROP TABLE IF EXISTS {TRIED}");
    execute(session, &drop_it).await?;
    let folder = folder.for_a_try();
    let done = async {
        let columns = "id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, k INT NOT NULL, KEY (k)";
        execute(session, &format!("CREATE TABLE {TRIED} ({columns}) ENGINE = InnoDB")).await?;
        execute(session, &format!("INSERT INTO {TRIED} (k) VALUES (1), (2)")).await?;
        execute(session, &format!("ANALYZE TABLE {TRIED}")).await?;
        save_in(session, &folder, &CopyScope { tables: vec![TRIED.to_owned()], ..CopyScope::default() }).await?;
        let mut rows = Rows::default();
        session.query(&format!("SELECT COUNT(*) FROM {TRIED}"), &mut rows).await?;
        if rows.int(0, 0)? == 2 { Ok(()) } else { Err(unfit("a table was restored without its rows")) }
    };
    let done = done.await;
    // The locks of a save that failed.
    let dropped = match execute(session, "UNLOCK TABLES").await {
        Ok(()) => execute(session, &drop_it).await,
        failed => failed,
    };
    let removed = if done.is_ok() { folder.remove() } else { folder.remove().or(Ok(())) };
    done.and(dropped).and(removed)
}
