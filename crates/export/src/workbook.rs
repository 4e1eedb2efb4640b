//! The tables of a comparison as a workbook of spreadsheet programs.

use perbuck_report::dataset::{DataTable, DataValue};
use rust_xlsxwriter::{DocProperties, ExcelDateTime, Format, Workbook, Worksheet, XlsxError};

/// Widths of columns, in characters.
const WIDTHS: (usize, usize) = (8, 40);

/// Tables as a workbook: a sheet for each, its first row the names of the columns. No cell is a formula. `unix_s` is the date that the
/// file carries, so that it is the same whenever it is made.
///
/// # Errors
/// More rows or longer texts than a sheet can hold.
pub fn xlsx(tables: &[DataTable], unix_s: u64) -> Result<Vec<u8>, String> {
    made(tables, unix_s).map_err(|e| e.to_string())
}

fn made(tables: &[DataTable], unix_s: u64) -> Result<Vec<u8>, XlsxError> {
    let mut book = Workbook::new();
    let date = ExcelDateTime::from_timestamp(i64::try_from(unix_s).unwrap_or(0))?;
    book.set_properties(&DocProperties::new().set_author("perbuck").set_creation_datetime(&date));
    for table in tables {
        sheet(book.add_worksheet(), table)?;
    }
    book.save_to_buffer()
}

fn sheet(sheet: &mut Worksheet, table: &DataTable) -> Result<(), XlsxError> {
    let bold = Format::new().set_bold();
    sheet.set_name(table.name)?;
    sheet.set_freeze_panes(1, 0)?;
    for (column, name) in (0u16..).zip(&table.columns) {
        sheet.write_string_with_format(0, column, name, &bold)?;
        sheet.set_column_width(column, name.len().clamp(WIDTHS.0, WIDTHS.1) as f64 + 2.0)?;
    }
    for (row, values) in (1u32..).zip(&table.rows) {
        for (column, value) in (0u16..).zip(values) {
            write(sheet, row, column, value)?;
        }
    }
    Ok(())
}

fn write(sheet: &mut Worksheet, row: u32, column: u16, value: &DataValue) -> Result<(), XlsxError> {
    match value {
        DataValue::Empty => return Ok(()),
        DataValue::Text(text) => sheet.write_string(row, column, text)?,
        DataValue::Truth(yes) => sheet.write_boolean(row, column, *yes)?,
        DataValue::Usd(money) => sheet.write_number(row, column, money.as_usd_f64())?,
        // Every number of a comparison and of a record is one that a double holds.
        DataValue::Number(n) => sheet.write_number(row, column, n.as_f64().unwrap_or(f64::NAN))?,
    };
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use calamine::{Data, Reader, Xlsx};
    use perbuck_report::dataset::{DataTable, DataValue};

    use super::*;

    #[test]
    fn a_workbook_gives_back_what_was_written() {
        let number = |text: &str| DataValue::Number(text.parse().unwrap());
        let row = vec![
            DataValue::Text("=1+1".to_owned()),
            number("0.1000000000000000055"),
            number("9007199254740991"),
            DataValue::Truth(true),
        ];
        let columns = ["a", "b", "c", "d"].map(str::to_owned).to_vec();
        let tables = [DataTable { name: "points", columns, rows: vec![row] }];
        let bytes = xlsx(&tables, 1_700_000_000).unwrap();
        assert_eq!(bytes, xlsx(&tables, 1_700_000_000).unwrap());
        let mut book: Xlsx<_> = calamine::open_workbook_from_rs(Cursor::new(bytes)).unwrap();
        let range = book.worksheet_range("points").unwrap();
        let read: Vec<&Data> = range.rows().nth(1).unwrap().iter().collect();
        let expected =
            [Data::String("=1+1".to_owned()), Data::Float(0.1), Data::Float(9_007_199_254_740_991.0), Data::Bool(true)];
        assert_eq!(read, expected.iter().collect::<Vec<_>>());
        assert!(book.worksheet_formula("points").unwrap().is_empty());
    }
}
