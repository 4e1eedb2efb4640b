//! The plan of a query, as SQLite tells it.

use std::collections::HashMap;

use perbuck_database::plans::{PlanWords, Shape};

/// SQLite tells a plan without running the query, and counts nothing in it.
pub(crate) const PLANS: PlanWords = PlanWords { ask: "EXPLAIN QUERY PLAN ", runs: false, shape };

/// A row has the number of a step, that of the step above it, a zero, and words without any number that changes.
fn shape(answer: &str) -> Result<Shape, String> {
    let (mut shape, mut depths) = (Shape::of("SQLite"), HashMap::from([("0", 0)]));
    for row in answer.lines() {
        let mut cells = row.splitn(4, '\t');
        let (Some(id), Some(parent), Some(_), Some(detail)) = (cells.next(), cells.next(), cells.next(), cells.next()) else {
            return Err(format!("the answer has a row that is no step of a plan: {row}"));
        };
        let depth = depths.get(parent).copied().unwrap_or(0);
        depths.insert(id, depth + 1);
        shape.add(depth, detail);
    }
    shape.whole()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_stand_below_the_step_that_they_belong_to() {
        let shape = shape(include_str!("plans/q20.txt")).unwrap();
        assert_eq!(shape.text, include_str!("plans/q20.shape"));
        assert!((PLANS.shape)("").is_err() && (PLANS.shape)("1\t2").is_err());
    }
}
