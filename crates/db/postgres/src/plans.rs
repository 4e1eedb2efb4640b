//! The plan of a query, as PostgreSQL and YugabyteDB tell it. CockroachDB has other words, which are not read.

use perbuck_database::plans::{PlanWords, Shape};
use serde_json::Value;

use crate::family::Family;

/// The plan with what it took, of the query that runs for it.
const ASK: &str = "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ";

const POSTGRES: PlanWords = PlanWords { ask: ASK, runs: true, shape: |answer| shape("PostgreSQL", answer) };
const YUGABYTE: PlanWords = PlanWords { ask: ASK, runs: true, shape: |answer| shape("YugabyteDB", answer) };

pub(crate) fn of(family: Family) -> Option<&'static PlanWords> {
    match family {
        Family::Postgres => Some(&POSTGRES),
        Family::Yugabyte => Some(&YUGABYTE),
        Family::Cockroach => None,
    }
}

fn shape(database: &'static str, answer: &str) -> Result<Shape, String> {
    let all: Value = serde_json::from_str(answer).map_err(|e| format!("the answer is no plan in JSON: {e}"))?;
    let (mut shape, root) = (Shape::of(database), &all[0]["Plan"]);
    if root.is_object() {
        node(&mut shape, 0, root);
    }
    shape.whole()
}

fn node(shape: &mut Shape, depth: usize, node_: &Value) {
    shape.add(depth, &operator(node_));
    for child in node_["Plans"].as_array().into_iter().flatten() {
        node(shape, depth + 1, child);
    }
}

/// A node in about the words of the plan as text: `Parallel Seq Scan on lineitem l1`.
fn operator(node: &Value) -> String {
    let text = |key: &str| node[key].as_str().unwrap_or_default();
    let name = match (text("Node Type"), text("Strategy")) {
        ("Aggregate", "Sorted") => "GroupAggregate",
        ("Aggregate", "Hashed") => "HashAggregate",
        ("Aggregate", "Mixed") => "MixedAggregate",
        (name, _) => name,
    };
    let mut line = String::new();
    // `InitPlan 1 (returns $0)`: the number of its parameter says nothing of the plan.
    if let Some(name) = text("Subplan Name").split(" (").next().filter(|name| !name.is_empty()) {
        line += &format!("{name}: ");
    }
    if let mode @ ("Partial" | "Finalize") = text("Partial Mode") {
        line += &format!("{mode} ");
    }
    if node["Parallel Aware"].as_bool() == Some(true) {
        line += "Parallel ";
    }
    line += name;
    match text("Join Type") {
        "" | "Inner" => {}
        other => line += &format!(" {other}"),
    }
    if text("Scan Direction") == "Backward" {
        line += " Backward";
    }
    if !text("Index Name").is_empty() {
        line += &format!(" using {}", text("Index Name"));
    }
    let of = [text("Relation Name"), text("CTE Name")].into_iter().find(|name| !name.is_empty()).unwrap_or_default();
    if !of.is_empty() {
        line += &format!(" on {of}");
    }
    if !of.is_empty() && !text("Alias").is_empty() && text("Alias") != of {
        line += &format!(" {}", text("Alias"));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_have_their_tables_and_indexes_and_no_numbers() {
        for (plan, shape) in [
            (include_str!("plans/q4.json"), include_str!("plans/q4.shape")),
            (include_str!("plans/q15.json"), include_str!("plans/q15.shape")),
        ] {
            let found = (POSTGRES.shape)(plan).unwrap();
            assert_eq!((found.database, found.text.as_str()), ("PostgreSQL", shape));
        }
        for wrong in ["", "[", "{}", "[{\"Plan\": 1}]"] {
            assert!((YUGABYTE.shape)(wrong).is_err(), "{wrong}");
        }
        assert!(of(Family::Cockroach).is_none());
    }

    #[test]
    fn joins_and_scans_say_what_makes_them_others() {
        let told = |json: &str| operator(&serde_json::from_str(json).unwrap());
        assert_eq!(
            told(r#"{"Node Type": "Hash Join", "Join Type": "Right Anti", "Parallel Aware": true}"#),
            "Parallel Hash Join Right Anti"
        );
        let back =
            r#"{"Node Type": "Index Scan", "Scan Direction": "Backward", "Index Name": "i", "Relation Name": "t", "Alias": "a"}"#;
        assert_eq!(told(back), "Index Scan Backward using i on t a");
        let partial =
            r#"{"Node Type": "Aggregate", "Strategy": "Hashed", "Partial Mode": "Partial", "Subplan Name": "SubPlan 2"}"#;
        assert_eq!(told(partial), "SubPlan 2: Partial HashAggregate");
    }
}
