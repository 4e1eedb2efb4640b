//! Copies of a database of TiDB for `reset = "restore"`: the servers make them themselves, by BACKUP TABLE and RESTORE TABLE.
//!
//! Each backup goes into a folder of its own, and its name is noted beside the data only when it is complete. So the backup of a perbuck that was
//! killed is never restored from: no note names its folder. Tables of perbuck are in no backup and are never dropped: lease, note and the state
//! of the data stay readable while the data are away. SQL removes no backup; its folder stays for the user to delete.

use perbuck_database::storage::Storage;
use perbuck_load::driver::{COPY_NOTE, Session as _};
use perbuck_load::error::{Cause, DriverError, ErrorClass};
use perbuck_load::preflight::HostProblem;
use perbuck_load::values::Rows;
use perbuck_net::reach::on_a_session;

use crate::MysqlDriver;
use crate::cluster::texts;
use crate::session::MysqlSession;

/// The table that is backed up and restored before there are data.
const TRIED: &str = "perbuck_tried";
/// The first version whose backups bring the statistics of tables with them.
const WITH_STATISTICS: u32 = 8;
const WAY_OUT: &str = "or write `reset = \"per-block\"`";

/// A backup: its folder, and the tables in it.
struct Backup {
    folder: String,
    tables: Vec<String>,
}

/// Backs up all tables, and notes it in place of the backup before.
pub(crate) async fn save(driver: &MysqlDriver) -> Result<(), DriverError> {
    with(driver, async |session, storage| {
        remove_note(session).await?;
        let all = "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE' \
                   AND table_name NOT LIKE 'perbuck\\_%' ORDER BY table_name";
        let tables: Vec<String> = listed(session, all).await?.into_iter().map(|[name]| name).collect();
        let backup = Backup { folder: new_folder(session, storage, "").await?, tables };
        make(session, storage, &backup).await?;
        note(session, &backup).await
    })
    .await
}

/// Drops the tables of the noted backup and makes them from it, with their statistics.
pub(crate) async fn restore(driver: &MysqlDriver) -> Result<(), DriverError> {
    with(driver, async |session, storage| {
        let Some(backup) = noted(session, storage).await? else {
            return Err(DriverError::client(ErrorClass::Fatal, "copy", "no backup of its data is noted"));
        };
        drop_tables(session, &backup).await?;
        take(session, storage, &backup).await
    })
    .await
}

/// Whether a complete backup in this storage is noted.
pub(crate) async fn is_there(driver: &MysqlDriver) -> Result<bool, DriverError> {
    with(driver, async |session, storage| Ok(noted(session, storage).await?.is_some())).await
}

/// Forgets the backup.
pub(crate) async fn remove(driver: &MysqlDriver) -> Result<(), DriverError> {
    match driver.wishes.backup {
        Some(_) => with(driver, async |session, _| remove_note(session).await).await,
        None => Ok(()),
    }
}

/// What keeps backups from being made and restored: the server, the way of the keys to it, and what it answers to a backup of one row.
pub(crate) async fn problems(driver: &MysqlDriver) -> Result<Vec<HostProblem>, DriverError> {
    let problem = |message: String, help: &str| {
        let message = format!("`reset = \"restore\"`: {message}");
        HostProblem { message, help: format!("{help}, {WAY_OUT}") }
    };
    let looked = with(driver, async |session, storage| {
        let version = version(session).await?;
        if major(&version).is_none() {
            let message = format!("`backup` is for TiDB, and the server is {version}");
            return Ok(Some(problem(message, "let perbuck start the server (`server = { kind = … }`) without `backup`")));
        }
        if storage.has_keys() && driver.access.may_send_password(&session.wire).is_err() {
            let message = "the keys of `backup` would go to a server that nothing verifies".to_owned();
            let help = "write `tls_fingerprint=…` or `tls=verify-identity` in the target, `send_password=always` if you trust the \
                        network, or give the servers a role of their own";
            return Ok(Some(problem(message, help)));
        }
        tried(session, storage).await.map(|()| None)
    });
    match looked.await {
        Ok(found) => Ok(found.into_iter().collect()),
        Err(error) if error.cause == Some(Cause::Stopped) => Err(error),
        Err(error) => {
            let help = match error.cause {
                Some(Cause::NoRight) => "grant the user what is missing: GRANT BACKUP_ADMIN, RESTORE_ADMIN ON *.* TO …",
                _ => "let all servers of the cluster read and write the storage that `backup` names",
            };
            Ok(vec![problem(format!("a backup of one row failed: {}", error.message), help)])
        }
    }
}

/// Backs up and restores a table of one row. Its folder stays, with a few kilobytes.
async fn tried(session: &mut MysqlSession, storage: &Storage) -> Result<(), DriverError> {
    let backup = Backup { folder: new_folder(session, storage, "tried-").await?, tables: vec![TRIED.to_owned()] };
    drop_tables(session, &backup).await?;
    execute(session, &format!("CREATE TABLE {TRIED} (id INT NOT NULL PRIMARY KEY)")).await?;
    let done = async {
        execute(session, &format!("INSERT INTO {TRIED} VALUES (1)")).await?;
        make(session, storage, &backup).await?;
        drop_tables(session, &backup).await?;
        take(session, storage, &backup).await
    }
    .await;
    let left = drop_tables(session, &backup).await;
    done.and(left)
}

async fn make(session: &mut MysqlSession, storage: &Storage, backup: &Backup) -> Result<(), DriverError> {
    let statement = backup_statement(storage, (backup, &tables_of(session, backup).await?), brings_statistics(session).await?);
    asked(session, storage, &statement).await
}

async fn take(session: &mut MysqlSession, storage: &Storage, backup: &Backup) -> Result<(), DriverError> {
    let tables = tables_of(session, backup).await?;
    asked(session, storage, &restore_statement(storage, (backup, &tables))).await?;
    if !brings_statistics(session).await? {
        for table in &backup.tables {
            execute(session, &format!("ANALYZE TABLE {}", quoted(table))).await?;
        }
    }
    Ok(())
}

/// Servers leave statistics out of a backup unless they are told.
fn backup_statement(storage: &Storage, (backup, tables): (&Backup, &str), statistics: bool) -> String {
    let statistics = if statistics { " IGNORE_STATS = FALSE" } else { "" };
    format!("BACKUP TABLE {tables} TO '{}'{statistics}", storage.url(&backup.folder))
}

fn restore_statement(storage: &Storage, (backup, tables): (&Backup, &str)) -> String {
    format!("RESTORE TABLE {tables} FROM '{}'", storage.url(&backup.folder))
}

/// Tables of a backup with their database, which both statements need.
async fn tables_of(session: &mut MysqlSession, backup: &Backup) -> Result<String, DriverError> {
    let database = quoted(&one(session, "SELECT DATABASE()").await?);
    let names: Vec<String> = backup.tables.iter().map(|table| format!("{database}.{}", quoted(table))).collect();
    Ok(names.join(", "))
}

/// A statement that holds the keys of a storage. Its error can repeat them.
async fn asked(session: &mut MysqlSession, storage: &Storage, statement: &str) -> Result<(), DriverError> {
    execute(session, statement).await.map_err(|mut error| {
        error.message = storage.without_keys(&error.message);
        error
    })
}

/// A folder that no backup has used.
async fn new_folder(session: &mut MysqlSession, storage: &Storage, word: &str) -> Result<String, DriverError> {
    let name = one(session, "SELECT CONCAT(DATABASE(), '-', DATE_FORMAT(UTC_TIMESTAMP(6), '%Y%m%d-%H%i%s-%f'))").await?;
    let safe = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    Ok(storage.folder(&format!("perbuck-{word}{}", name.chars().map(safe).collect::<String>())))
}

/// Notes a complete backup: a row for each of its tables, in one statement.
async fn note(session: &mut MysqlSession, Backup { folder, tables }: &Backup) -> Result<(), DriverError> {
    execute(session, &format!("CREATE TABLE {COPY_NOTE} (name VARCHAR(64) NOT NULL PRIMARY KEY, folder TEXT NOT NULL)")).await?;
    let rows: Vec<String> = tables.iter().map(|table| format!("('{}', '{folder}')", table.replace('\'', "''"))).collect();
    execute(session, &format!("INSERT INTO {COPY_NOTE} VALUES {}", rows.join(", "))).await
}

/// The backup that is noted, if it is one in this storage.
async fn noted(session: &mut MysqlSession, storage: &Storage) -> Result<Option<Backup>, DriverError> {
    let there = format!(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = '{COPY_NOTE}'"
    );
    if listed::<1>(session, &there).await?.is_empty() {
        return Ok(None);
    }
    let rows: Vec<[String; 2]> = listed(session, &format!("SELECT name, folder FROM {COPY_NOTE} ORDER BY name")).await?;
    let Some([_, folder]) = rows.first().filter(|[_, folder]| storage.holds(folder)) else { return Ok(None) };
    Ok(Some(Backup { folder: folder.clone(), tables: rows.iter().map(|[name, _]| name.clone()).collect() }))
}

async fn remove_note(session: &mut MysqlSession) -> Result<(), DriverError> {
    execute(session, &format!("DROP TABLE IF EXISTS {COPY_NOTE}")).await
}

/// Drops the tables of a backup, whatever refers to them: they come back together.
async fn drop_tables(session: &mut MysqlSession, backup: &Backup) -> Result<(), DriverError> {
    let names: Vec<String> = backup.tables.iter().map(|table| quoted(table)).collect();
    execute(session, "SET foreign_key_checks = 0").await?;
    execute(session, &format!("DROP TABLE IF EXISTS {}", names.join(", "))).await
}

async fn version(session: &mut MysqlSession) -> Result<String, DriverError> {
    one(session, "SELECT VERSION()").await
}

async fn brings_statistics(session: &mut MysqlSession) -> Result<bool, DriverError> {
    Ok(major(&version(session).await?).is_some_and(|major| major >= WITH_STATISTICS))
}

/// The first number of TiDB's own version, in `8.0.11-TiDB-v8.5.6`; `None` of another server.
fn major(version: &str) -> Option<u32> {
    let own = version.split_once("TiDB-")?.1.trim_start_matches('v');
    own.split('.').next()?.parse().ok()
}

/// Does something in a session, with the storage of the study.
async fn with<T>(
    driver: &MysqlDriver,
    work: impl AsyncFnOnce(&mut MysqlSession, &Storage) -> Result<T, DriverError>,
) -> Result<T, DriverError> {
    let Some(storage) = &driver.wishes.backup else {
        let message = "perbuck saves no copies of its data without `backup` in the contender";
        return Err(DriverError::client(ErrorClass::Fatal, "copy", message));
    };
    on_a_session(driver, async |session| {
        session.lift_timeout();
        work(session, storage).await
    })
    .await
}

fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

async fn execute(session: &mut MysqlSession, sql: &str) -> Result<(), DriverError> {
    session.query(sql, &mut Rows::default()).await.map(drop)
}

async fn listed<const N: usize>(session: &mut MysqlSession, sql: &str) -> Result<Vec<[String; N]>, DriverError> {
    let mut rows = Rows::default();
    session.query(sql, &mut rows).await?;
    texts(&rows)
}

async fn one(session: &mut MysqlSession, sql: &str) -> Result<String, DriverError> {
    let mut rows = Rows::default();
    session.query(sql, &mut rows).await?;
    rows.display(0, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_name_tables_folder_and_keys() {
        let storage = Storage::parse("s3://b/f?region=r", "access-key=a&secret-access-key=s").unwrap();
        let backup = Backup { folder: storage.folder("perbuck-x-1"), tables: vec!["t".into()] };
        let url = "'s3://b/f/perbuck-x-1?region=r&access-key=a&secret-access-key=s'";
        let of = |statistics| backup_statement(&storage, (&backup, "`x`.`t`"), statistics);
        assert_eq!(of(true), format!("BACKUP TABLE `x`.`t` TO {url} IGNORE_STATS = FALSE"));
        assert_eq!(of(false), format!("BACKUP TABLE `x`.`t` TO {url}"));
        assert_eq!(restore_statement(&storage, (&backup, "`x`.`t`")), format!("RESTORE TABLE `x`.`t` FROM {url}"));
    }

    #[test]
    fn the_version_of_tidb_follows_that_of_its_protocol() {
        assert_eq!(major("8.0.11-TiDB-v8.5.6"), Some(8));
        assert_eq!(major("5.7.25-TiDB-v6.5.0-alpha"), Some(6));
        assert_eq!([major("10.11.14-MariaDB"), major("9.1.0")], [None, None]);
    }
}
