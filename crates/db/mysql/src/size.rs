//! What tables take on a server, by its own tables of them.

use perbuck_load::driver::DataSize;
use perbuck_load::error::DriverError;
use perbuck_load::values::Rows;

use crate::cluster::{allowed, texts};
use crate::session::MysqlSession;
use crate::{status_ports, tidb};
use perbuck_net::reach::pairs;

/// The view of tablespaces: of MySQL from version 8 on, and of MariaDB.
const TABLESPACES: [&str; 2] = ["INNODB_TABLESPACES", "INNODB_SYS_TABLESPACES"];

/// Rows lie in the primary key, which counts as the table. TiDB estimates tables and indexes by their statistics, and its stores tell
/// what all they keep takes.
pub(crate) async fn data_size(session: &mut MysqlSession, tables: &[String]) -> Result<DataSize, DriverError> {
    // MySQL 8 answers with what it knew a day ago; others do not have this variable.
    allowed(session, "SET SESSION information_schema_stats_expiry = 0").await?.ok();
    let names = tables.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ");
    let of_tables = format!(
        "SELECT CAST(SUM(data_length) AS SIGNED), CAST(SUM(index_length) AS SIGNED) FROM information_schema.TABLES \
         WHERE table_schema = DATABASE() AND table_name IN ({names})"
    );
    let mut size = DataSize::default();
    if let Ok(rows) = allowed(session, &of_tables).await? {
        [size.tables_bytes, size.indexes_bytes] = [bytes(&rows, 0)?, bytes(&rows, 1)?];
    }
    size.store_bytes = match pairs(session, &format!("SHOW GLOBAL STATUS LIKE '{}'", tidb::ITS_OWN)).await?.is_empty() {
        true => files(session, tables).await?,
        false => status_ports::store_bytes(session).await?,
    };
    Ok(size)
}

/// The files of tables and of their partitions, as far as the user may see them (it takes the privilege PROCESS) and each table has its own.
async fn files(session: &mut MysqlSession, tables: &[String]) -> Result<Option<u64>, DriverError> {
    for view in TABLESPACES {
        let sql = format!(
            "SELECT SUBSTRING(name, CHAR_LENGTH(DATABASE()) + 2), CAST(file_size AS SIGNED) FROM information_schema.{view} \
             WHERE LEFT(name, CHAR_LENGTH(DATABASE()) + 1) = CONCAT(DATABASE(), '/')"
        );
        let Ok(rows) = allowed(session, &sql).await? else { continue };
        let mut sum = None;
        for [name, file] in texts(&rows)? {
            // A partition is `orders#P#p0`.
            let of = name.split('#').next().unwrap_or_default();
            if tables.iter().any(|table| table == of) {
                sum = Some(sum.unwrap_or(0) + file.parse().unwrap_or(0));
            }
        }
        return Ok(sum);
    }
    Ok(None)
}

fn bytes(rows: &Rows, column: usize) -> Result<Option<u64>, DriverError> {
    if rows.is_empty() || rows.is_null(0, column)? { Ok(None) } else { rows.int(0, column).map(|n| u64::try_from(n).ok()) }
}
