//! The rows beside dbgen's and tpchgen's, the tables in a database, and the refresh sets.

mod refreshed;
mod stored;
mod text;

use perbuck_load::values::{Params, Value, write_decimal};
use perbuck_load::workload::Dataset;

use super::schema::{LINEITEM, TABLES};
use super::{DataOptions, TpchData};
use crate::testing::SQLITE;
use crate::tpch::Scale;

pub(super) const HUNDREDTH: Scale = Scale::hundredths(1);
pub(super) const TENTH: Scale = Scale::hundredths(10);

pub(super) fn data(scale: Scale) -> TpchData {
    TpchData::new(SQLITE, DataOptions::new(scale))
}

/// The column of `lineitem` that dbgen prints without its zeros.
const QUANTITY: usize = 4;

/// Appends a row in the format of dbgen: each cell with a bar after it.
pub(super) fn write_row(out: &mut Vec<u8>, table: usize, row: &[Value<'_>]) {
    for (column, value) in row.iter().enumerate() {
        match value {
            Value::Null => panic!("no column may be NULL"),
            Value::Int(number) => write_decimal(out, *number, 0),
            Value::Decimal { unscaled, .. } if (table, column) == (LINEITEM, QUANTITY) => write_decimal(out, unscaled / 100, 0),
            Value::Decimal { unscaled, scale } => write_decimal(out, *unscaled, *scale),
            Value::Text(text) => out.extend_from_slice(text),
        }
        out.push(b'|');
    }
    out.push(b'\n');
}

/// Appends all rows that cells hold.
pub(super) fn write_rows(out: &mut Vec<u8>, table: usize, cells: &Params) {
    let values: Vec<Value<'_>> = cells.iter().collect();
    let width = TABLES[table].columns().count();
    assert!(values.len().is_multiple_of(width));
    values.chunks(width).for_each(|row| write_row(out, table, row));
}

/// The files of dbgen for these parts of the data, one for each table.
pub(super) fn files(data: &TpchData, parts: impl Iterator<Item = u32>) -> [Vec<u8>; 8] {
    let (mut files, mut cells) = ([const { Vec::new() }; 8], Params::default());
    for index in parts {
        let mut part = data.part(index);
        while let Some(table) = part.next_batch(&mut cells) {
            assert!(!cells.is_empty() && cells.text_bytes() + 8 * cells.len() < 256 * 1024 + 4_096);
            write_rows(&mut files[table], table, &cells);
        }
    }
    files
}

/// FNV-1a with 64 bits.
pub(super) fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[test]
fn parameters_name_what_decides_the_data() {
    let options = DataOptions { foreign_keys: true, partitions: 8, ..DataOptions::new(TENTH) };
    let (plain, other) = (data(HUNDREDTH), TpchData::new(SQLITE, options));
    let words = |data: &TpchData| {
        data.parameters().into_iter().map(|(key, value)| format!("{key} {value}")).collect::<Vec<_>>().join(", ")
    };
    assert_eq!(words(&plain), "foreign_keys false, indexes true, partitions 1, scale 0.01");
    assert_eq!(words(&other), "foreign_keys true, indexes true, partitions 8, scale 0.1");
    assert_eq!((plain.grows(), other.grows()), (false, false));
}
