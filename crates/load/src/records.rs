//! Operations on the records of a table, for databases that hold keys and values and know no SQL.

use std::fmt;
use std::ops::{Range, RangeInclusive};

/// An operation on the records of a table. Keys and fields are its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Records {
    /// The name of the table.
    pub table: String,
    /// What is done.
    pub action: Action,
}

/// What is done with records. Fields are known by their numbers; a range of them says which are meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Reads fields of a record. Parameter: the key.
    Get(Range<u64>),
    /// Writes a record, in place of the one that may be there. Parameters: the key, every field.
    Put,
    /// Changes fields of a record that is there. Parameters: the fields, the key.
    Update(Range<u64>),
    /// Reads fields of records from a key on. Parameters: the key, how many records.
    Scan {
        /// Which fields.
        fields: Range<u64>,
        /// Whether each record comes with its key in front.
        keys: bool,
    },
    /// Counts those of some keys that have a record. Parameters: the keys.
    Count,
    /// Returns those of some keys that have no record. Parameters: the keys.
    Absent,
    /// Returns the keys of records that are not as expected. Parameters: key and so many fields of each record.
    Different(u64),
    /// Returns 1 where the table has a record, else 0.
    Exists,
    /// Returns how many records the table has, unless that number is among these.
    CountUnless(RangeInclusive<u64>),
}

impl Records {
    /// An operation on the records of `table`.
    pub fn new(table: impl Into<String>, action: Action) -> Self {
        Self { table: table.into(), action }
    }
}

impl fmt::Display for Records {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let table = &self.table;
        let mut of_fields =
            |word, fields: &Range<u64>, rest| write!(f, "{word} {table} {} {}{rest}", fields.start, fields.end - fields.start);
        match &self.action {
            Action::Get(fields) => of_fields("GET", fields, ""),
            Action::Update(fields) => of_fields("UPDATE", fields, ""),
            Action::Scan { fields, keys } => of_fields("SCAN", fields, if *keys { " KEYS" } else { "" }),
            Action::Put => write!(f, "PUT {table}"),
            other => write!(f, "{other:?} {table}"),
        }
    }
}
