//! The plan of a query, as DuckDB tells it.

use perbuck_database::plans::{PlanWords, Shape};
use serde_json::Value;

/// The profile of the query, which runs for it.
pub(crate) const PLANS: PlanWords = PlanWords { ask: "EXPLAIN (ANALYZE, FORMAT JSON) ", runs: true, shape };

/// A row has a name and the JSON of the profile: its root is the query, and the operator below it the question itself.
fn shape(answer: &str) -> Result<Shape, String> {
    let json = answer.find('{').map_or("", |at| &answer[at..]);
    let root: Value = serde_json::from_str(json).map_err(|e| format!("the answer is no plan in JSON: {e}"))?;
    let mut shape = Shape::of("DuckDB");
    below(&mut shape, 0, &root);
    shape.whole()
}

fn below(shape: &mut Shape, depth: usize, above: &Value) {
    for operator in above["children"].as_array().into_iter().flatten() {
        let name = operator["operator_type"].as_str().or(operator["operator_name"].as_str()).unwrap_or_default().trim();
        if name.is_empty() || name == "EXPLAIN_ANALYZE" {
            below(shape, depth, operator);
            continue;
        }
        // `memory.main.orders`: the first part is the name of the file.
        let extra = |key: &str| operator["extra_info"][key].as_str()?.rsplit('.').next().map(|text| text.trim().to_owned());
        let mut line = name.to_owned();
        // Of a scan, the table and how it is read; of a join, which sort of join it is.
        for told in ["Table", "Type", "Join Type", "CTE Name"].into_iter().filter_map(extra).filter(|text| !text.is_empty()) {
            line = format!("{line} {told}");
        }
        shape.add(depth, &line);
        below(shape, depth + 1, operator);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_have_their_tables_and_no_numbers() {
        let shape = shape(include_str!("plans/q3.txt")).unwrap();
        assert_eq!((shape.database, shape.text.as_str()), ("DuckDB", include_str!("plans/q3.shape")));
        for wrong in ["", "analyzed_plan\t{", "physical_plan\t{\"children\": []}"] {
            assert!((PLANS.shape)(wrong).is_err(), "{wrong}");
        }
    }
}
