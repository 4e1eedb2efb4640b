//! Comparisons that were printed in schema 1, beside those of today.

use serde_json::Value;

use super::result::Comparison;

impl Comparison {
    /// A printed comparison and one of today as JSON, so that they can be compared. Where the printed one is of schema 1 its fields get
    /// their names of today, and both lose the intervals of points, which were symmetric, and what version 1 did not have or told otherwise.
    pub fn comparable(printed: Value, mut today: Value) -> (Value, Value) {
        if printed.get("schema").is_some() {
            return (printed, today);
        }
        let read = serde_json::from_value(printed.clone()).map(|old: Self| Self { schema: Self::SCHEMA, ..old });
        let mut printed = read.and_then(serde_json::to_value).unwrap_or(printed);
        for side in [&mut printed, &mut today] {
            forget(side);
            let workloads = side.get_mut("workloads").and_then(Value::as_array_mut).into_iter().flatten();
            let points = workloads.filter_map(|w| w.get_mut("points").and_then(Value::as_array_mut)).flatten();
            points.filter_map(Value::as_object_mut).for_each(|point| drop(point.insert("interval".to_owned(), Value::Null)));
        }
        (printed, today)
    }
}

/// What version 1 did not have, or told otherwise: rates and kinds of points, amounts of bills, remarks, stalls, how much would be
/// found or needed, and what bound a point.
const LATER: [&str; 10] = ["rates", "kinds", "amount", "remarks", "stalls", "stalled", "detectable", "why", "more", "explained"];

fn forget(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|key, _| !LATER.contains(&key.as_str()));
            fields.values_mut().for_each(forget);
        }
        Value::Array(list) => list.iter_mut().for_each(forget),
        _ => {}
    }
}

/// The version of a comparison or an audit that does not say it.
pub(crate) fn first_schema() -> u32 {
    1
}
