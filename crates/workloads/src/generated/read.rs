//! Reads the list of tables of a study.

use perbuck_core::workload_kind::TABLE_FILE;

use super::given::Given;
use super::pick::Pick;
use super::reading::Reading;
use super::rule::Rule;
use super::{Column, Generated, TABLE, Table};
use crate::params::Reader;

/// Rows of a table at most.
const MOST_ROWS: i64 = 100_000_000_000;

/// Reads the tables; `made` are those of `init`, if there is one.
pub(crate) fn read(reader: &mut Reader<'_>, made: Option<&[String]>) -> Generated {
    let Some(given) = Given::of(reader.list(TABLE.name), TABLE.name) else { return Generated::default() };
    let help = "write `[[workload.table]]` with `name`, `rows` and `columns`";
    if given.value.is_some() {
        reader.problem(&given.path, format!("`table` is {}, not a list of tables", given.shown()), help);
        return Generated::default();
    }
    let Some(made) = made else {
        let help = "add `init = \"tables.sql\"` with a CREATE TABLE for each table that is filled";
        reader.problem(&given.path, "`table` fills tables, and there is no `init` that makes them", help);
        return Generated::default();
    };
    let heads: Vec<Option<Head<'_, '_>>> = given.entries().map(|table| head(reader, table, made)).collect();
    for (at, head) in heads.iter().enumerate() {
        let Some(head) = head else { continue };
        if heads[..at].iter().flatten().any(|other| other.name == head.name) {
            reader.problem(&head.given.path, format!("two tables are named `{}`", head.name), "make one of both");
        }
    }
    // What is left out was told.
    let heads: Vec<Head<'_, '_>> = heads.into_iter().flatten().collect();
    let tables: Vec<Option<Table>> = heads.iter().map(|head| table(reader, head, &heads)).collect();
    let generated = Generated { tables: tables.into_iter().collect::<Option<_>>().unwrap_or_default() };
    circles(reader, &heads, &generated);
    generated
}

/// A table without the rules of its columns: what references need.
struct Head<'p, 'g> {
    name: &'g str,
    rows: u64,
    columns: Vec<(&'p str, &'g Given<'p>)>,
    given: &'g Given<'p>,
}

fn head<'p, 'g>(reader: &mut Reader<'p>, given: &'g Given<'p>, made: &'g [String]) -> Option<Head<'p, 'g>> {
    let Some(named) = given.get("name").and_then(Given::text) else {
        reader.problem(&given.path, "a table has no `name`", "name one of those that `init` makes: name = \"customers\"");
        return None;
    };
    let mut problem =
        |at: &Given<'_>, message: &str, help: &str| reader.problem(&at.path, format!("table `{named}`: {message}"), help);
    let name = made.iter().find(|name| name.eq_ignore_ascii_case(named));
    if name.is_none() {
        let help = format!("add its CREATE TABLE to `init`, which makes {}", made.join(", "));
        problem(given.get("name").unwrap_or(given), "`init` does not make it", &help);
    }
    for (key, at) in given.keys().filter(|(key, _)| !["name", "rows", "columns"].contains(key)) {
        problem(at, &format!("unknown key `{key}`"), "a table has `name`, `rows` and `columns`");
    }
    let rows = given.get("rows").and_then(Given::int).filter(|rows| (1..=MOST_ROWS).contains(rows));
    if rows.is_none() {
        let found =
            given.get("rows").map_or_else(|| "missing".to_owned(), |rows| format!("{}, not from 1 to {MOST_ROWS}", rows.shown()));
        problem(given.get("rows").unwrap_or(given), &format!("`rows` is {found}"), "write for instance `rows = 1_000_000`");
    }
    let mut columns: Vec<(&str, &Given<'_>)> = Vec::new();
    for column in given.get("columns").into_iter().flat_map(Given::entries) {
        let plain = |name: &&str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        match column.get("name").and_then(Given::text).filter(plain) {
            Some(name) if columns.iter().any(|(other, _)| other.eq_ignore_ascii_case(name)) => {
                problem(column, &format!("two columns are named `{name}`"), "keep one of them");
            }
            Some(name) => columns.push((name, column)),
            None => problem(column, "a column has no `name` of letters, digits and `_`", "write { name = \"id\", sequence = 1 }"),
        }
    }
    if columns.is_empty() {
        problem(
            given.get("columns").unwrap_or(given),
            "it has no `columns`",
            "write `columns = [{ name = \"id\", sequence = 1 }]`",
        );
    }
    Some(Head { name: name?, rows: rows? as u64, columns, given })
}

fn table<'p>(reader: &mut Reader<'p>, head: &Head<'p, '_>, heads: &[Head<'p, '_>]) -> Option<Table> {
    let (mut columns, mut told) = (Vec::new(), Vec::new());
    for &(name, given) in &head.columns {
        let mut reading = Reading { reader: &mut *reader, who: format!("table `{}`, column `{name}`", head.name), given };
        let null = null(&mut reading);
        let source = reading.source();
        let rule = match source {
            Some("references") => reference(&mut reading, heads),
            Some(source) => reading.rule(source, head.rows),
            None => None,
        };
        told.push(reading.told(name));
        let stream = match given.get(TABLE_FILE).and_then(Given::text) {
            Some(file) => format!("{} file {file}", head.name),
            None => format!("{}.{name}", head.name),
        };
        columns.push(rule.zip(null).map(|(rule, null)| Column { name: name.to_owned(), rule, null, stream }));
    }
    let text = format!("{} rows: {}", head.rows, told.join("; "));
    Some(Table { name: head.name.to_owned(), rows: head.rows, columns: columns.into_iter().collect::<Option<_>>()?, text })
}

/// The share of rows without a value.
fn null(reading: &mut Reading<'_, '_, '_>) -> Option<f64> {
    let Some(given) = reading.given.get("null") else { return Some(0.0) };
    let share = given.number().filter(|share| (0.0..=1.0).contains(share));
    if share.is_none() {
        reading.problem(
            given,
            format!("`null` is {}, not a share from 0 to 1", given.shown()),
            "write for instance `null = 0.1`",
        );
    }
    share
}

fn reference(reading: &mut Reading<'_, '_, '_>, heads: &[Head<'_, '_>]) -> Option<Rule> {
    let given = reading.given.get("references")?;
    let Some((table, column)) = given.text().and_then(|text| text.split_once('.')) else {
        reading.problem(given, format!("`references` is {}, not a column", given.shown()), "write \"TABLE.COLUMN\"");
        return None;
    };
    let Some(at) = heads.iter().position(|head| head.name.eq_ignore_ascii_case(table)) else {
        let names: Vec<&str> = heads.iter().map(|head| head.name).collect();
        reading.problem(
            given,
            format!("`references`: no `[[workload.table]]` is named `{table}`"),
            format!("they are: {}", names.join(", ")),
        );
        return None;
    };
    let Some(of) = heads[at].columns.iter().position(|(name, _)| name.eq_ignore_ascii_case(column)) else {
        let names: Vec<&str> = heads[at].columns.iter().map(|(name, _)| *name).collect();
        let message = format!("`references`: table `{}` has no column `{column}`", heads[at].name);
        reading.problem(given, message, format!("its columns are: {}", names.join(", ")));
        return None;
    };
    if heads[at].columns[of].1.get("null").is_some() {
        let message = format!("`references`: rows of `{table}.{column}` may have no value, because it has `null`");
        reading.problem(given, message, "refer to a column without `null`");
        return None;
    }
    let pick: Pick = reading.pick(heads[at].rows)?;
    Some(Rule::Reference { table: at, column: of, pick })
}

/// Columns that refer to themselves, by way of others or not: none of them would ever have a value.
fn circles(reader: &mut Reader<'_>, heads: &[Head<'_, '_>], generated: &Generated) {
    let next = |(table, column): (usize, usize)| match generated.tables[table].columns[column].rule {
        Rule::Reference { table, column, .. } => Some((table, column)),
        _ => None,
    };
    for (table, of) in generated.tables.iter().enumerate() {
        for column in 0..of.columns.len() {
            let steps = generated.tables.iter().map(|table| table.columns.len()).sum();
            let mut way = std::iter::successors(next((table, column)), |at| next(*at)).take(steps);
            if way.any(|at| at == (table, column)) {
                let (name, given) = &heads[table].columns[column];
                let at = given.get("references").unwrap_or(given);
                let message = format!("table `{}`, column `{name}`: its references lead back to itself", of.name);
                reader.problem(&at.path, message, "let one column of the circle have values of its own, such as `sequence = 1`");
            }
        }
    }
}
