//! The statements of this driver. TiKV knows no SQL but keys and values, so a workload says in a few words what is to be done
//! with the rows of a table; go-ycsb's layout makes keys and values of them: `table:key`, and the fields by their numbers.
//!
//! A word in quotes is a key or a value; statements of a catalogue have parameters instead.

use perbuck_load::error::{DriverError, ErrorClass};
use perbuck_load::values::Params;

/// What is done with the rows of a table, which is named by what its keys begin with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Sentence {
    /// `GET t FIRST COUNT` (key): so many fields of a row, from the first on.
    Get { table: Vec<u8>, first: u64, count: u64 },
    /// `PUT t` (key, every field): a row, in place of the one that may be there.
    Put { table: Vec<u8> },
    /// `UPDATE t FIRST COUNT` (fields, key): a row that is there, changed.
    Update { table: Vec<u8>, first: u64, count: u64 },
    /// `SCAN t FIRST COUNT [KEYS]` (key, rows): rows from a key on, if wished with their keys in front.
    Scan { table: Vec<u8>, first: u64, count: u64, keys: bool },
    /// `SELECT COUNT(*) FROM t`, the loader's words: how many rows it has.
    CountAll { table: Vec<u8> },
    /// `DROP TABLE IF EXISTS t`, the loader's words: deletes every row.
    Drop { table: Vec<u8> },
    /// `EXISTS t`: 1 where it has a row.
    Exists { table: Vec<u8> },
    /// `COUNT t` (keys): how many of them are there.
    Count { table: Vec<u8> },
    /// `ABSENT t` (keys): those that are not there.
    Absent { table: Vec<u8> },
    /// `DIFFERENT t WIDTH` (key and fields, again and again): the keys of rows that are not so.
    Different { table: Vec<u8>, width: u64 },
    /// `UNLESS t AT LEAST N` and `UNLESS t EXACTLY N`: how many rows it has, unless that holds.
    Unless { table: Vec<u8>, exactly: bool, rows: u64 },
    /// `NUMBER N`: that number.
    Number(i64),
}

fn unknown(text: &str) -> DriverError {
    let message = format!("`{text}` is no statement for TiKV, which holds keys and values and speaks no SQL");
    DriverError::client(ErrorClass::Fatal, "statement", message)
}

impl Sentence {
    /// Reads a statement; its words in quotes become parameters. Keys begin with `prefix`.
    ///
    /// # Errors
    /// Words of another language.
    pub(crate) fn parse(text: &str, prefix: &[u8], params: &mut Params) -> Result<Self, DriverError> {
        let (bare, quoted) = text.split_once(" '").map_or((text, None), |(bare, rest)| (bare, Some(rest)));
        for literal in quoted.into_iter().flat_map(|rest| rest.strip_suffix('\'').unwrap_or(rest).split("' '")) {
            params.text(literal.as_bytes());
        }
        let table = |name: &str| [prefix, name.as_bytes(), b":"].concat();
        let words: Vec<&str> = bare.split(' ').collect();
        let number = |word: &str| word.parse().map_err(|_| unknown(text));
        Ok(match words.as_slice() {
            ["GET", t, first, count] => Self::Get { table: table(t), first: number(first)?, count: number(count)? },
            ["PUT", t] => Self::Put { table: table(t) },
            ["UPDATE", t, first, count] => Self::Update { table: table(t), first: number(first)?, count: number(count)? },
            ["SCAN", t, first, count, rest @ ..] if matches!(rest, [] | ["KEYS"]) => {
                Self::Scan { table: table(t), first: number(first)?, count: number(count)?, keys: !rest.is_empty() }
            }
            ["SELECT", "COUNT(*)", "FROM", t] => Self::CountAll { table: table(t) },
            ["DROP", "TABLE", "IF", "EXISTS", t] => Self::Drop { table: table(t) },
            ["EXISTS", t] => Self::Exists { table: table(t) },
            ["COUNT", t] => Self::Count { table: table(t) },
            ["ABSENT", t] => Self::Absent { table: table(t) },
            ["DIFFERENT", t, width] => Self::Different { table: table(t), width: number(width)? },
            ["UNLESS", t, "AT", "LEAST", rows] => Self::Unless { table: table(t), exactly: false, rows: number(rows)? },
            ["UNLESS", t, "EXACTLY", rows] => Self::Unless { table: table(t), exactly: true, rows: number(rows)? },
            ["NUMBER", n] => Self::Number(n.parse().map_err(|_| unknown(text))?),
            _ => return Err(unknown(text)),
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by it")]
mod tests {
    use perbuck_load::values::Value;

    use super::*;

    #[test]
    fn words_in_quotes_are_parameters() {
        let mut params = Params::default();
        let read = Sentence::parse("PUT notes 'ycsb' 'two words' ''", b"r\0\0\x05", &mut params).unwrap();
        assert_eq!(read, Sentence::Put { table: b"r\0\0\x05notes:".to_vec() });
        let values: Vec<Value<'_>> = params.iter().collect();
        assert_eq!(values, [Value::Text(b"ycsb"), Value::Text(b"two words"), Value::Text(b"")]);
        let scan = Sentence::parse("SCAN t 3 1 KEYS", b"", Params::default().clear()).unwrap();
        assert_eq!(scan, Sentence::Scan { table: b"t:".to_vec(), first: 3, count: 1, keys: true });
        let sql = Sentence::parse("SELECT 1", b"", Params::default().clear()).unwrap_err();
        assert!(sql.message.contains("`SELECT 1` is no statement for TiKV"), "{sql}");
    }
}
