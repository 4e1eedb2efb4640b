//! The scripts by name, and what each one does.

/// Which script is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Script {
    /// One SELECT by key, outside any transaction.
    PointSelect,
    /// Point and range SELECTs in a transaction.
    ReadOnly,
    /// SELECTs, UPDATEs, a DELETE and an INSERT in a transaction.
    ReadWrite,
    /// The UPDATEs, DELETE and INSERT alone, in a transaction.
    WriteOnly,
    /// An UPDATE of the indexed column by key, outside any transaction.
    UpdateIndex,
    /// An UPDATE of a column without index by key, outside any transaction.
    UpdateNonIndex,
    /// An INSERT of a new row.
    Insert,
    /// A DELETE by key; it misses where the row is already gone.
    Delete,
    /// Rows appended to a table of each terminal's own, many with one INSERT.
    BulkInsert,
    /// One SELECT of several values of the indexed column.
    RandomPoints,
    /// One SELECT of several short ranges of the indexed column.
    RandomRanges,
}

/// All scripts in their order, by the names that users of sysbench know.
pub const SCRIPTS: [(&str, Script); 11] = [
    ("oltp_point_select", Script::PointSelect),
    ("oltp_read_only", Script::ReadOnly),
    ("oltp_read_write", Script::ReadWrite),
    ("oltp_write_only", Script::WriteOnly),
    ("oltp_update_index", Script::UpdateIndex),
    ("oltp_update_non_index", Script::UpdateNonIndex),
    ("oltp_insert", Script::Insert),
    ("oltp_delete", Script::Delete),
    ("bulk_insert", Script::BulkInsert),
    ("select_random_points", Script::RandomPoints),
    ("select_random_ranges", Script::RandomRanges),
];

impl Script {
    /// Its name, as the only kind of transaction.
    pub fn kinds(self) -> &'static [&'static str] {
        const NAMED: &[(&str, Script)] = &SCRIPTS;
        std::slice::from_ref(&NAMED[self as usize].0)
    }

    /// The name that users of sysbench know.
    pub fn name(self) -> &'static str {
        self.kinds()[0]
    }

    /// The script of that name.
    pub fn named(name: &str) -> Option<Self> {
        SCRIPTS.iter().find(|(n, _)| *n == name).map(|(_, script)| *script)
    }

    /// Whether an event is a transaction of several statements, unless `skip_trx` is on.
    pub fn has_transactions(self) -> bool {
        matches!(self, Self::ReadOnly | Self::ReadWrite | Self::WriteOnly)
    }

    /// Whether a run changes how many rows there are.
    pub fn changes_row_counts(self) -> bool {
        matches!(self, Self::Insert | Self::Delete | Self::BulkInsert)
    }

    /// Whether its transactions write.
    pub fn writes(self) -> bool {
        !matches!(self, Self::PointSelect | Self::ReadOnly | Self::RandomPoints | Self::RandomRanges)
    }

    pub(super) fn deletes_and_inserts(self) -> bool {
        matches!(self, Self::ReadWrite | Self::WriteOnly)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_script_is_found_by_its_name() {
        for (name, script) in SCRIPTS {
            assert_eq!((script.name(), Script::named(name)), (name, Some(script)));
        }
        assert_eq!(Script::named("oltp_common"), None);
    }
}
