//! Results as rows of a CSV file, instead of those in the study.

use std::collections::BTreeMap;

use crate::exact::Exact;
use crate::problem::{Problem, nearest};

use super::{Published, ResultRow, Study};

/// The columns that say where a row belongs.
const POINT: [&str; 3] = ["workload", "contender", "connections"];
/// The column of the reading error.
const ERROR: &str = "error";

/// One row of the file: its line and its cells.
pub type CsvRow = (usize, Vec<String>);

impl Study {
    /// Replaces the study's results by the rows of a file. Rows of one point are repeats of it; an empty cell is
    /// a number that is not known.
    ///
    /// # Errors
    /// Every row that names nothing of the study or holds no number, with its line.
    pub fn take_results(&mut self, file: &str, header: &[String], rows: &[CsvRow]) -> Result<(), Vec<Problem>> {
        let mut problems = Vec::new();
        let mut report = |line: usize, message: String, help: &str| {
            problems.push(Problem { file: file.to_owned(), line, message, help: help.to_owned() });
        };
        let column = |name: &str| header.iter().position(|h| h == name);
        for name in POINT {
            if column(name).is_none() {
                let near = nearest(name, header.iter().map(String::as_str));
                let near = near.map(|n| format!("; is it `{n}`?")).unwrap_or_default();
                report(1, format!("the file has no column `{name}`{near}"), "begin it with: workload,contender,connections,tps");
            }
        }
        if header.iter().all(|h| POINT.contains(&h.as_str()) || h == ERROR) {
            let help = "add one, for instance `tps`, `qps`, `mean_ms` or `p95_ms`";
            report(1, "the file has no column of results".to_owned(), help);
        }
        let mut found: Vec<ResultRow> = Vec::new();
        if let (Some(workload), Some(contender), Some(connections)) = (column(POINT[0]), column(POINT[1]), column(POINT[2])) {
            for (line, cells) in rows {
                let cell = |i: usize| cells.get(i).map_or("", |c| c.trim());
                if self.workload(cell(workload)).is_none() {
                    let message = format!("`{}` is no workload of the study {}", cell(workload), self.name);
                    report(*line, message, "use the names of its `[[workload]]` tables");
                } else if self.contender(cell(contender)).is_none() {
                    let message = format!("`{}` is no contender of the study {}", cell(contender), self.name);
                    report(*line, message, "use the names of its `[[contender]]` tables");
                } else {
                    let names = [cell(workload), cell(contender)].map(str::to_owned);
                    match row(*line, names, cell(connections), header.iter().zip(cells)) {
                        Ok(row) => add(&mut found, row),
                        Err(why) => report(*line, why, "write whole connections from 1, and results as digits: 1234.5"),
                    }
                }
            }
        }
        if rows.is_empty() {
            report(1, "the file has no rows".to_owned(), "add one row for each workload, contender and number of connections");
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        self.published.get_or_insert_with(Published::default).rows = found;
        Ok(())
    }
}

fn row<'c>(
    line: usize,
    [workload, contender]: [String; 2],
    connections: &str,
    cells: impl Iterator<Item = (&'c String, &'c String)>,
) -> Result<ResultRow, String> {
    let level = connections.parse().ok().filter(|n| (1..=1_000_000).contains(n));
    let connections = level.ok_or_else(|| format!("`connections` is `{connections}`"))?;
    let mut row = ResultRow { workload, contender, connections, columns: BTreeMap::new(), error: Exact::ZERO, line };
    for (name, cell) in cells {
        let cell = cell.trim();
        if POINT.contains(&name.as_str()) || cell.is_empty() || cell == "-" {
            continue;
        }
        let (value, _) = Exact::parse(cell).map_err(|why| format!("`{name}`: {why}"))?;
        if name == ERROR {
            row.error = value;
        } else {
            row.columns.insert(name.clone(), vec![value]);
        }
    }
    Ok(row)
}

/// Another repeat of a point, or a point of its own.
fn add(rows: &mut Vec<ResultRow>, row: ResultRow) {
    let same =
        |r: &&mut ResultRow| (&r.workload, &r.contender, r.connections) == (&row.workload, &row.contender, row.connections);
    match rows.iter_mut().find(same) {
        Some(known) => {
            for (name, values) in row.columns {
                known.columns.entry(name).or_default().extend(values);
            }
        }
        None => rows.push(row),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STUDY: &str =
        "schema = 1\nname = \"s\"\n[[contender]]\nname = \"a\"\n[[workload]]\nname = \"w\"\nkind = \"sysbench\"\n";

    fn take(header: &str, rows: &[&str]) -> Result<Study, Vec<Problem>> {
        let split = |line: &str| line.split(',').map(str::to_owned).collect::<Vec<String>>();
        let mut study = Study::read("s.toml", STUDY, &[]).unwrap();
        let rows: Vec<CsvRow> = rows.iter().enumerate().map(|(i, r)| (i + 2, split(r))).collect();
        study.take_results("r.csv", &split(header), &rows).map(|()| study)
    }

    #[test]
    fn rows_of_one_point_are_repeats() {
        let study = take("workload,contender,connections,tps,p95_ms", &["w,a,8,100.5,", "w,a,8,101.5,3.2"]).unwrap();
        let row = study.published.as_ref().unwrap().row("w", "a", 8).unwrap();
        assert_eq!(row.columns["tps"].len(), 2);
        assert_eq!(row.mean("tps").unwrap().unwrap(), Exact::whole(101));
        assert_eq!(row.columns["p95_ms"].len(), 1);
    }

    #[test]
    fn every_wrong_row_is_named() {
        let head = "workload,contender,connections,tps";
        for (header, row, line, expected) in [
            (head, "x,a,8,1", 2, "`x` is no workload"),
            (head, "w,x,8,1", 2, "`x` is no contender"),
            (head, "w,a,0,1", 2, "`connections` is `0`"),
            (head, "w,a,8,fast", 2, "`tps`: `fast` is not a decimal number"),
            ("workload,contender,connection,tps", "w,a,8,1", 1, "no column `connections`; is it `connection`?"),
            ("workload,contender,connections", "w,a,8", 1, "no column of results"),
        ] {
            let problems = take(header, &[row]).map(|s| s.name).unwrap_err();
            assert_eq!(problems[0].line, line, "{problems:?}");
            assert!(problems[0].message.contains(expected), "{problems:?}");
        }
        assert!(take(head, &[]).is_err());
    }
}
