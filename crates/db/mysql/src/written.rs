//! Pages that a load left in memory (`FLUSH TABLES … FOR EXPORT`): InnoDB would write them during the first trials.

use perbuck_load::driver::Session as _;
use perbuck_load::error::DriverError;
use perbuck_load::values::Rows;

use crate::session::MysqlSession;

/// Writes the pages of these tables, if InnoDB has them; whether it has. The tables are locked until the session ends, a moment later. No
/// setting of the server is changed, and nothing comes into its binary log.
pub(crate) async fn write_back(session: &mut MysqlSession, tables: &[String]) -> Result<bool, DriverError> {
    session.lift_timeout();
    let names = tables.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ");
    // TiDB says InnoDB of all tables, and has none.
    let sql = format!(
        "SELECT CONCAT('`', table_name, '`') FROM information_schema.TABLES WHERE table_schema = DATABASE() AND engine = 'InnoDB' \
         AND table_name IN ({names}) AND VERSION() NOT LIKE '%TiDB%'"
    );
    let mut rows = Rows::default();
    session.query(&sql, &mut rows).await?;
    if rows.is_empty() {
        return Ok(false);
    }
    let found = (0..rows.len() as usize).map(|row| rows.display(row, 0)).collect::<Result<Vec<_>, _>>()?;
    session.query(&format!("FLUSH TABLES {} FOR EXPORT", found.join(", ")), &mut rows).await?;
    Ok(true)
}
