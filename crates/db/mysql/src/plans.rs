//! The plan of a query, as MariaDB, MySQL and TiDB tell it. Each has words of its own, so the answer says which one it is.

use perbuck_database::plans::{PlanWords, Shape};
use serde_json::{Map, Value};

/// Each reads the comment that is meant for it. TiDB has the words of MySQL.
pub(crate) const PLANS: PlanWords =
    PlanWords { ask: "/*M! ANALYZE FORMAT=JSON *//*!80018 EXPLAIN ANALYZE */ ", runs: true, shape };

/// The columns of TiDB's rows that a shape has something of, and how many there are at least.
const TASK: usize = 3;
const ACCESS: usize = 4;
const OPERATOR: usize = 6;
const COLUMNS: usize = 9;

/// What MariaDB says of a step that another plan could have otherwise.
const TOLD: [&str; 5] = ["join_type", "table_name", "access_type", "key", "first_match"];

fn shape(answer: &str) -> Result<Shape, String> {
    match answer.trim_start().chars().next() {
        Some('{') => mariadb(answer),
        Some('-') => mysql(answer),
        _ if answer.lines().next().is_some_and(|row| row.split('\t').count() >= COLUMNS) => tidb(answer),
        _ => Err("the answer is no plan; MySQL tells plans from version 8.0.18 on".to_owned()),
    }
}

fn mariadb(answer: &str) -> Result<Shape, String> {
    let all: Map<String, Value> = serde_json::from_str(answer).map_err(|e| format!("the answer is no plan in JSON: {e}"))?;
    let mut shape = Shape::of("MariaDB");
    steps(&mut shape, 0, &all);
    shape.whole()
}

/// Objects and lists of objects are steps; what starts with `r_` was counted while the query ran.
fn steps(shape: &mut Shape, depth: usize, above: &Map<String, Value>) {
    let mut named: Vec<(&String, &Value)> = above.iter().collect();
    named.sort_unstable_by_key(|(name, _)| *name);
    for (name, value) in named.into_iter().filter(|(name, _)| !name.starts_with("r_") && *name != "query_optimization") {
        match value {
            Value::Object(step) => {
                let told = |key: &&str| step.get(*key)?.as_str();
                let told: Vec<&str> = [name.as_str()].into_iter().chain(TOLD.iter().filter_map(told)).collect();
                let covered = if step.get("using_index").is_some_and(|v| v == true) { " (index only)" } else { "" };
                shape.add(depth, &(told.join(" ") + covered));
                steps(shape, depth + 1, step);
            }
            Value::Array(list) if list.iter().any(Value::is_object) => {
                shape.add(depth, name);
                list.iter().filter_map(Value::as_object).for_each(|step| steps(shape, depth + 1, step));
            }
            _ => {}
        }
    }
}

/// `    -> Index lookup on orders using PRIMARY (o_orderkey = …)  (cost=0.25 rows=1) (actual time=…)`: four blanks for each level. What stands in
/// parentheses, after a colon or after `over` are conditions and numbers.
fn mysql(answer: &str) -> Result<Shape, String> {
    let mut shape = Shape::of("MySQL");
    for line in answer.lines() {
        let Some((blanks, step)) = line.split_once("-> ").filter(|(blanks, _)| blanks.trim().is_empty()) else { continue };
        let end = [" (", ": ", " over "].into_iter().filter_map(|end| step.find(end)).min().unwrap_or(step.len());
        // `Nested loop semijoin (FirstMatch)`
        let strategy = step[end..].strip_prefix(" (").and_then(|rest| rest.split_once(')')).map(|(word, _)| word);
        let strategy = strategy.filter(|word| word.chars().all(char::is_alphabetic)).map(|word| format!(" ({word})"));
        shape.add(blanks.len() / 4, &(step[..end].to_owned() + strategy.as_deref().unwrap_or_default()));
    }
    shape.whole()
}

/// A row has a tree and a number in its name, `│ └─HashJoin_24(Probe)`, where it runs, what it reads, and its conditions.
fn tidb(answer: &str) -> Result<Shape, String> {
    let mut shape = Shape::of("TiDB");
    for row in answer.lines() {
        let cells: Vec<&str> = row.split('\t').collect();
        let [Some(id), Some(task), Some(access), Some(operator)] = [0, TASK, ACCESS, OPERATOR].map(|at| cells.get(at).copied())
        else {
            return Err(format!("the answer has a row that is no operator of a plan: {row}"));
        };
        let name = id.trim_start_matches([' ', '│', '├', '└', '─']);
        let depth = id[..id.len() - name.len()].chars().count() / 2;
        let (name, side) = name.find('(').map_or((name, ""), |at| name.split_at(at));
        let name = name.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('_');
        // `inner join, equal:[…]`, `ExchangeType: HashPartition, …`
        let sort = if name.contains("Join") || operator.starts_with("ExchangeType") { operator.split(',').next() } else { None };
        let told = [Some(task), Some(access), sort].into_iter().flatten().filter(|text| !text.is_empty());
        shape.add(depth, &format!("{name}{side} {}", told.collect::<Vec<_>>().join(" ")));
    }
    shape.whole()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shapes_of_all_three_have_tables_and_no_numbers() {
        for (database, plan, shape) in [
            ("MariaDB", include_str!("plans/mariadb-q3.json"), include_str!("plans/mariadb-q3.shape")),
            ("MariaDB", include_str!("plans/mariadb-q20.json"), include_str!("plans/mariadb-q20.shape")),
            ("MySQL", include_str!("plans/mysql-q4.txt"), include_str!("plans/mysql-q4.shape")),
            ("TiDB", include_str!("plans/tidb-q3.txt"), include_str!("plans/tidb-q3.shape")),
        ] {
            let found = (PLANS.shape)(plan).unwrap();
            assert_eq!((found.database, found.text.as_str()), (database, shape));
        }
        for wrong in ["", "{", "1\t2", "{\"query_optimization\": {}}", "-- no plan"] {
            assert!((PLANS.shape)(wrong).is_err(), "{wrong}");
        }
    }
}
