//! Bulk loading by INSERT statements of many rows, which every server of this protocol takes.

use perbuck_load::error::{DriverError, ErrorClass};
use perbuck_load::values::Value;

use crate::literals::put_literal;

/// A longer statement is no faster, and delays everything else on the server.
const STATEMENT_BYTES: usize = 512 * 1024;

/// What bounds a statement.
pub(crate) struct Limits {
    /// `max_allowed_packet` of the server.
    pub(crate) packet: usize,
    /// Cells of a row.
    pub(crate) width: usize,
    /// Whether quotes are escaped by doubling only.
    pub(crate) no_backslash: bool,
}

impl Limits {
    /// Appends as many rows as the statement takes, at least one.
    pub(crate) fn put_rows<'a>(
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
            return Err(DriverError::client(ErrorClass::Fatal, "packet", message));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use perbuck_database::bulk::insert_head;
    use perbuck_load::driver::BulkTable;
    use perbuck_load::values::Params;

    use super::*;

    #[test]
    fn statements_end_where_the_limit_is_and_lose_no_row() {
        let table = BulkTable { name: "a`b".to_owned(), columns: ["id", "c"].map(str::to_owned).to_vec() };
        let mut cells = Params::default();
        for i in 0..100 {
            cells.int(i).text(b"0123456789");
        }
        let limits = Limits { packet: 200, width: 2, no_backslash: false };
        let (mut rest, mut statements) = (cells.iter(), Vec::new());
        while rest.len() > 0 {
            let mut sql = insert_head(&table, b'`');
            limits.put_rows(&mut sql, &mut rest).unwrap();
            assert!(sql.len() < 200);
            statements.push(String::from_utf8(sql).unwrap());
        }
        assert!(statements[0].starts_with("INSERT INTO `a``b` (`id`, `c`) VALUES (0,'0123456789'),(1,'0123456789'),"));
        let rows: usize = statements.iter().map(|s| s.matches("'0123456789')").count()).sum();
        assert_eq!(rows, 100);
        assert!(
            limits.put_rows(&mut insert_head(&table, b'`'), &mut Params::default().int(1).text(&[b'x'; 300]).iter()).is_err()
        );
    }
}
