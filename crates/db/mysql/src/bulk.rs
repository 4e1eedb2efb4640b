//! Bulk loading: by LOAD DATA LOCAL where the server takes it, else by INSERT statements of many rows, which every server
//! of this protocol takes.

use perbuck_load::driver::{BulkTable, Effect, Session};
use perbuck_load::error::{Cause, DriverError, ErrorClass};
use perbuck_load::values::{Params, Rows, Value};

use crate::literals::put_literal;
use crate::session::MysqlSession;
use crate::wire::protocol::status;
use perbuck_database::sql::put_name;

/// A longer statement is no faster, and delays everything else on the server.
const STATEMENT_BYTES: usize = 512 * 1024;

pub(crate) async fn load_rows(session: &mut MysqlSession, table: &BulkTable, cells: &Params) -> Result<u64, DriverError> {
    whole_rows(table, cells)?;
    if session.takes_files && !cells.is_empty() {
        // What a warning makes an error would otherwise stay half done.
        let own_transaction = session.reader.status & status::IN_TRANSACTION == 0;
        if own_transaction {
            session.run("BEGIN").await?;
        }
        let loaded = crate::infile::load_data(session, table, cells).await;
        if own_transaction {
            end(session, loaded.is_ok()).await?;
        }
        match loaded? {
            Some(loaded) => return Ok(loaded),
            None => session.takes_files = false,
        }
    }
    insert_rows(session, table, cells).await
}

/// InnoDB takes every LOAD DATA for a statement whose number of rows nobody knows, and holds the table's AUTO-INC lock until its
/// end, unless `innodb_autoinc_lock_mode` is 2 ("interleaved": the default of MySQL 8, not of MariaDB). INSERT statements that name
/// their ids do not take that lock.
pub(crate) async fn numbers_one_at_a_time(session: &mut MysqlSession) -> Result<bool, DriverError> {
    let mut rows = Rows::default();
    match session.query("SELECT @@GLOBAL.innodb_autoinc_lock_mode", &mut rows).await {
        // ER_UNKNOWN_SYSTEM_VARIABLE: no InnoDB.
        Err(error) if error.cause == Some(Cause::NoSetting) => Ok(false),
        answer => answer.and_then(|_| Ok(rows.int(0, 0)? < 2)),
    }
}

/// Ends a transaction of our own.
async fn end(session: &mut MysqlSession, good: bool) -> Result<(), DriverError> {
    if good {
        session.commit().await
    } else {
        // Where this fails, too, the connection is gone, and the transaction with it.
        drop(session.rollback().await);
        Ok(())
    }
}

fn whole_rows(table: &BulkTable, cells: &Params) -> Result<(), DriverError> {
    let width = table.columns.len();
    if width == 0 || !cells.len().is_multiple_of(width) {
        let message = format!("{} cells do not make rows of {width} columns of `{}`", cells.len(), table.name);
        return Err(fatal("parameters", message));
    }
    Ok(())
}

pub(crate) async fn insert_rows(session: &mut MysqlSession, table: &BulkTable, cells: &Params) -> Result<u64, DriverError> {
    whole_rows(table, cells)?;
    if cells.is_empty() {
        return Ok(0);
    }
    let width = table.columns.len();
    let limits = Limits { packet: max_packet(session).await?, width, no_backslash: session.no_backslash() };
    let head = head(table);
    let mut rest = cells.iter();
    let mut sql = head.clone();
    limits.put_rows(&mut sql, &mut rest)?;
    // One statement is a transaction by itself; several are one only between BEGIN and COMMIT.
    let own_transaction = rest.len() > 0 && session.reader.status & status::IN_TRANSACTION == 0;
    if own_transaction {
        session.run("BEGIN").await?;
    }
    let mut inserted = affected(session.run_bytes(&sql).await);
    while rest.len() > 0 && inserted.is_ok() {
        sql.truncate(head.len());
        let more = match limits.put_rows(&mut sql, &mut rest) {
            Ok(()) => affected(session.run_bytes(&sql).await),
            Err(error) => Err(error),
        };
        inserted = inserted.and_then(|before| more.map(|more| before + more));
    }
    if own_transaction {
        end(session, inserted.is_ok()).await?;
    }
    inserted
}

fn affected(result: Result<Effect, DriverError>) -> Result<u64, DriverError> {
    result.map(|effect| match effect {
        Effect::Affected(rows) => rows,
        Effect::ResultSet => 0,
    })
}

fn fatal(word: &'static str, message: String) -> DriverError {
    DriverError::client(ErrorClass::Fatal, word, message)
}

/// `INSERT INTO … (…) VALUES `.
fn head(table: &BulkTable) -> Vec<u8> {
    let mut out = b"INSERT INTO ".to_vec();
    put_name(&mut out, &table.name, b'`');
    for (i, column) in table.columns.iter().enumerate() {
        out.extend_from_slice(if i == 0 { b" (" } else { b", " });
        put_name(&mut out, column, b'`');
    }
    out.extend_from_slice(b") VALUES ");
    out
}

async fn max_packet(session: &mut MysqlSession) -> Result<usize, DriverError> {
    if let Some(known) = session.max_packet {
        return Ok(known);
    }
    let mut rows = Rows::default();
    session.query("SELECT @@max_allowed_packet", &mut rows).await?;
    let limit = usize::try_from(rows.int(0, 0)?).unwrap_or_default().max(1024);
    session.max_packet = Some(limit);
    Ok(limit)
}

struct Limits {
    packet: usize,
    width: usize,
    no_backslash: bool,
}

impl Limits {
    /// Appends as many rows as the statement takes, at least one.
    fn put_rows<'a>(
        &self,
        sql: &mut Vec<u8>,
        cells: &mut (impl ExactSizeIterator<Item = Value<'a>> + Clone),
    ) -> Result<(), DriverError> {
        let mut first = true;
        while cells.len() > 0 {
            let (before, cells_before) = (sql.len(), cells.clone());
            sql.extend_from_slice(if first { b"(" } else { b",(" });
            for (i, value) in cells.take(self.width).enumerate() {
                if i > 0 {
                    sql.push(b',');
                }
                put_literal(sql, value, self.no_backslash);
            }
            sql.push(b')');
            // The packet holds the command byte, too.
            if sql.len() >= self.packet.min(STATEMENT_BYTES) && !first {
                sql.truncate(before);
                *cells = cells_before;
                break;
            }
            first = false;
        }
        if sql.len() >= self.packet {
            let message =
                format!("a row of {} bytes exceeds the server's max_allowed_packet of {}; raise it", sql.len(), self.packet);
            return Err(fatal("packet", message));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_end_where_the_limit_is_and_lose_no_row() {
        let table = BulkTable { name: "t".to_owned(), columns: vec!["id", "c"] };
        let mut cells = Params::default();
        for i in 0..100 {
            cells.int(i).text(b"0123456789");
        }
        let limits = Limits { packet: 200, width: 2, no_backslash: false };
        let (mut rest, mut statements) = (cells.iter(), Vec::new());
        while rest.len() > 0 {
            let mut sql = head(&table);
            limits.put_rows(&mut sql, &mut rest).unwrap();
            assert!(sql.len() < 200);
            statements.push(String::from_utf8(sql).unwrap());
        }
        assert!(statements[0].starts_with("INSERT INTO `t` (`id`, `c`) VALUES (0,'0123456789'),(1,'0123456789'),"));
        let rows: usize = statements.iter().map(|s| s.matches("'0123456789')").count()).sum();
        assert_eq!(rows, 100);
        assert!(limits.put_rows(&mut head(&table), &mut Params::default().int(1).text(&[b'x'; 300]).iter()).is_err());
    }
}
