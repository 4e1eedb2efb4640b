//! Copies of tables for `reset = "restore"`, by InnoDB's transportable tablespaces.
//!
//! Files of tables are copied while the server leaves them alone (`FLUSH TABLES … FOR EXPORT`), and later take the place of those tables
//! (`DISCARD TABLESPACE`, `IMPORT TABLESPACE`). The list of a copy is its last file: without it there is no copy. From the first DISCARD to the last
//! row the data are noted as a mix. So a perbuck that is killed leaves the old data, the restored ones, or a mix that the next one knows as such.

mod files;
mod problems;

use perbuck_load::driver::{Access, CopyScope, Session as _};
use perbuck_load::error::{Cause, DriverError, ErrorClass};
use perbuck_load::query::Query;
use perbuck_load::values::{Rows, Value};
use perbuck_net::reach::on_a_session;

use crate::MysqlDriver;
use crate::cluster::texts;
use crate::literals::put_literal;
use crate::session::MysqlSession;
use files::{Copying, Folder, Job, List, SavedRows, Table};

pub(crate) use problems::problems;

/// What InnoDB keeps of the statistics of tables. An IMPORT gathers them again, by other samples.
const STATISTICS: [&str; 2] = ["mysql.innodb_table_stats", "mysql.innodb_index_stats"];
/// The longest that a lock is waited for, in seconds: a year.
const YEAR: u32 = 31_536_000;

/// Saves a copy. The data then become those of the copy, so that all blocks start alike: none with pages of the load in the buffer pool.
pub(crate) async fn save(driver: &MysqlDriver, of: &CopyScope) -> Result<(), DriverError> {
    alone(driver, async |session, folder| save_in(session, folder, of).await).await
}

/// Restores the data from the copy, and writes these notes.
pub(crate) async fn restore(driver: &MysqlDriver, of: &CopyScope, notes: &[Query]) -> Result<(), DriverError> {
    alone(driver, async |session, folder| {
        let Some(list) = folder.list() else { return Err(unfit("there is no copy of these data")) };
        if !fits(session, folder, &list).await? {
            return Err(unfit("the copy is of another version of the server, or of tables with other definitions"));
        }
        import_all(session, folder, &list, of).await?;
        for note in notes {
            note.ask(session, &mut Rows::default()).await?;
        }
        Ok(())
    })
    .await
}

/// Whether there is a whole copy, of tables as they are now.
pub(crate) async fn is_there(driver: &MysqlDriver) -> Result<bool, DriverError> {
    on_a_session(driver, async |session| {
        let folder = Folder::of(session).await?;
        match folder.list() {
            Some(list) => fits(session, &folder, &list).await,
            None => Ok(false),
        }
    })
    .await
}

/// Removes the copy and what a killed perbuck left of one. A statement that still runs has no use for its files.
pub(crate) async fn remove(driver: &MysqlDriver) -> Result<(), DriverError> {
    on_a_session(driver, async |session| Folder::of(session).await?.remove()).await
}

/// Does something while no other perbuck does. A killed perbuck's statement may still run on the server; the lock ends with it. No statement
/// goes into the binary log: a replica has no copy.
async fn alone<T>(
    driver: &MysqlDriver,
    work: impl AsyncFnOnce(&mut MysqlSession, &Folder) -> Result<T, DriverError>,
) -> Result<T, DriverError> {
    on_a_session(driver, async |session| {
        session.lift_timeout();
        let folder = Folder::of(session).await?;
        let mut rows = Rows::default();
        session
            .query(&format!("SELECT GET_LOCK(CONCAT('perbuck ', LEFT(SHA2(DATABASE(), 256), 40)), {YEAR})"), &mut rows)
            .await?;
        if rows.display(0, 0)? != "1" {
            return Err(DriverError::client(ErrorClass::Failed, "copy", "the server gave no lock (GET_LOCK)"));
        }
        // Not in MySQL, whose ALTER TABLE no limit ends.
        let limits = "wait_timeout = 28800 /*M! , max_statement_time = 0 */";
        execute(session, &format!("SET SESSION foreign_key_checks = 0, {limits}")).await?;
        if folder.logs {
            execute(session, "SET SESSION sql_log_bin = 0").await?;
        }
        work(session, &folder).await
    })
    .await
}

async fn save_in(session: &mut MysqlSession, folder: &Folder, of: &CopyScope) -> Result<(), DriverError> {
    folder.remove()?;
    let mut tables = Vec::new();
    for [name, why] in shapes(session, &of.tables).await? {
        if !why.is_empty() {
            return Err(unfit(&format!("table `{name}` cannot be copied: it is {why}")));
        }
        let (definition, owner) = (definition(session, &name).await?, folder.owner(&name)?);
        tables.push(Table { name, definition, owner });
    }
    if tables.is_empty() {
        return Err(unfit("there is no table to copy"));
    }
    let names = tables.iter().map(|table| text(session, &table.name)).collect::<Vec<_>>().join(", ");
    let of_tables = format!("database_name = {} AND table_name IN ({names})", text(session, &folder.name));
    let mut statistics = Vec::new();
    for table in STATISTICS {
        statistics.push(saved_rows(session, table, &of_tables).await?);
    }
    let mut rows = Vec::new();
    for (table, condition) in &of.rows {
        rows.push(saved_rows(session, table, condition).await?);
    }
    let list = List { version: folder.version.clone(), tables, statistics, rows };
    // The server writes their pages, and a file beside each that tells of its columns.
    execute(session, &format!("FLUSH TABLES {} FOR EXPORT", quoted(&list))).await?;
    let jobs = list.tables.iter().map(|table| Job::save(folder, &table.name)).collect();
    let mut copying = Copying::start(jobs)?;
    for _ in &list.tables {
        copying.next().await?;
    }
    execute(session, "UNLOCK TABLES").await?;
    folder.write(&list)?;
    import_all(session, folder, &list, of).await
}

/// Puts the files of the copy in place of those of the tables. One is copied while the server imports the one before.
async fn import_all(session: &mut MysqlSession, folder: &Folder, list: &List, of: &CopyScope) -> Result<(), DriverError> {
    for note in &of.mixed {
        note.ask(session, &mut Rows::default()).await?;
    }
    for table in &list.tables {
        execute(session, &format!("ALTER TABLE {} DISCARD TABLESPACE", name(&table.name))).await?;
    }
    let mut copying = Copying::start(list.tables.iter().map(|table| Job::restore(folder, table)).collect())?;
    for table in &list.tables {
        copying.next().await?;
        execute(session, &format!("ALTER TABLE {} IMPORT TABLESPACE", name(&table.name))).await?;
        folder.tidy(&table.name)?;
    }
    write_rows(session, &list.statistics).await?;
    // The server reads them when it opens the tables again.
    execute(session, &format!("FLUSH TABLES {}", quoted(list))).await?;
    write_rows(session, &list.rows).await
}

/// Whether tables are as the copy has them.
async fn fits(session: &mut MysqlSession, folder: &Folder, list: &List) -> Result<bool, DriverError> {
    if list.version != folder.version {
        return Ok(false);
    }
    for table in &list.tables {
        let same = match definition(session, &table.name).await {
            Err(error) if error.cause == Some(Cause::NoTable) => false,
            found => found? == table.definition,
        };
        if !same {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The statement that makes a table, without the next number that it gives.
async fn definition(session: &mut MysqlSession, table: &str) -> Result<String, DriverError> {
    let mut rows = Rows::default();
    session.query(&format!("SHOW CREATE TABLE {}", name(table)), &mut rows).await?;
    let made = rows.display(0, 1)?;
    Ok(match made.split_once(" AUTO_INCREMENT=") {
        Some((head, tail)) => format!("{head}{}", tail.trim_start_matches(|c: char| c.is_ascii_digit())),
        None => made,
    })
}

/// The tables of these names that are there, each with why its file cannot be copied, or an empty text.
async fn shapes(session: &mut MysqlSession, tables: &[String]) -> Result<Vec<[String; 2]>, DriverError> {
    let names = tables.iter().map(|table| text(session, table)).collect::<Vec<_>>().join(", ");
    let sql = format!(
        "SELECT table_name, CASE WHEN table_type <> 'BASE TABLE' THEN 'no base table' \
         WHEN engine IS NULL OR engine <> 'InnoDB' THEN CONCAT('a table of ', COALESCE(engine, 'no engine')) \
         WHEN create_options LIKE '%partitioned%' THEN 'partitioned' \
         WHEN create_options LIKE '%encrypt%y%' THEN 'encrypted' \
         WHEN EXISTS (SELECT 1 FROM information_schema.STATISTICS AS s WHERE s.table_schema = t.table_schema \
         AND s.table_name = t.table_name AND s.index_type = 'FULLTEXT') THEN 'a table with a full-text index' ELSE '' END \
         FROM information_schema.TABLES AS t WHERE table_schema = DATABASE() AND table_name IN ({names}) ORDER BY data_length DESC"
    );
    let mut rows = Rows::default();
    session.query(&sql, &mut rows).await?;
    texts(&rows)
}

async fn saved_rows(session: &mut MysqlSession, table: &str, condition: &str) -> Result<SavedRows, DriverError> {
    let mut rows = Rows::default();
    session.query(&format!("SELECT * FROM {table} WHERE {condition}"), &mut rows).await?;
    let cell = |row, column| if rows.is_null(row, column)? { Ok(None) } else { rows.display(row, column).map(Some) };
    let row = |row| (0..rows.width()).map(|column| cell(row, column)).collect();
    let all = (0..rows.len() as usize).map(row).collect::<Result<_, DriverError>>()?;
    Ok((table.to_owned(), condition.to_owned(), all))
}

/// Puts rows in place of those that meet the conditions, in one transaction.
async fn write_rows(session: &mut MysqlSession, all: &[SavedRows]) -> Result<(), DriverError> {
    session.begin(Access::Write).await?;
    for (table, condition, rows) in all {
        execute(session, &format!("DELETE FROM {table} WHERE {condition}")).await?;
        let literal = |cell: &Option<String>| cell.as_ref().map_or_else(|| "NULL".to_owned(), |value| text(session, value));
        let row = |row: &Vec<Option<String>>| format!("({})", row.iter().map(literal).collect::<Vec<_>>().join(", "));
        let values = rows.iter().map(row).collect::<Vec<_>>().join(", ");
        if !values.is_empty() {
            execute(session, &format!("INSERT INTO {table} VALUES {values}")).await?;
        }
    }
    session.commit().await
}

async fn execute(session: &mut MysqlSession, sql: &str) -> Result<(), DriverError> {
    session.query(sql, &mut Rows::default()).await.map(drop).map_err(|error| {
        let head: String = sql.chars().take(80).collect();
        let message = format!("{head}: {}", error.message);
        DriverError::new(error.class, error.code, message).because(error.cause)
    })
}

fn unfit(why: &str) -> DriverError {
    DriverError::client(ErrorClass::Refused, "copy", why)
}

/// The tables of a copy, for a statement.
fn quoted(list: &List) -> String {
    list.tables.iter().map(|table| name(&table.name)).collect::<Vec<_>>().join(", ")
}

fn name(table: &str) -> String {
    format!("`{}`", table.replace('`', "``"))
}

fn text(session: &MysqlSession, value: &str) -> String {
    let mut out = Vec::new();
    put_literal(&mut out, Value::Text(value.as_bytes()), session.no_backslash());
    String::from_utf8_lossy(&out).into_owned()
}
