//! Checks objects against CustomResourceDefinitions, for tests: what an API server would refuse, or drop without a word.

use serde_json::Value as Json;

use super::Object;

const DEFINITIONS: [&str; 2] = [
    include_str!("../../tests/data/tidb-operator-1.6.6/tidbclusters.json"),
    include_str!("../../tests/data/tidb-operator-1.6.6/tidbmonitors.json"),
];

/// Everything of an object that its definition does not allow; `None` where no definition is of its kind.
pub(super) fn faults(object: &Object) -> Option<Vec<String>> {
    let all = DEFINITIONS.iter().map(|text| serde_json::from_str::<Json>(text).unwrap());
    let definition = all.into_iter().find(|of| of["spec"]["names"]["kind"] == object.kind())?;
    let version = &definition["spec"]["versions"][0];
    let json = object.value.json();
    let api = format!("{}/{}", definition["spec"]["group"].as_str().unwrap(), version["name"].as_str().unwrap());
    let mut found = Vec::new();
    if json["apiVersion"] != api {
        found.push(format!("apiVersion is not {api}"));
    }
    // An API server checks what is of every kind by itself.
    for (key, value) in
        json.as_object().unwrap().iter().filter(|(key, _)| !["apiVersion", "kind", "metadata"].contains(&key.as_str()))
    {
        match version["schema"]["openAPIV3Schema"]["properties"].get(key) {
            Some(schema) => walk(schema, value, key, &mut found),
            None => found.push(format!("{key} is unknown")),
        }
    }
    Some(found)
}

fn walk(schema: &Json, value: &Json, path: &str, found: &mut Vec<String>) {
    let open = schema["x-kubernetes-preserve-unknown-fields"] == true;
    let either = schema["x-kubernetes-int-or-string"] == true && (value.is_string() || value.is_i64());
    let kind = schema["type"].as_str().unwrap_or("");
    let right = match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64(),
        "boolean" => value.is_boolean(),
        "number" => value.is_number(),
        _ => open || either,
    };
    if !right {
        found.push(format!("{path} is {value}, no {kind}"));
    }
    let listed = schema["enum"].as_array();
    if listed.is_some_and(|all| !all.contains(value)) {
        found.push(format!("{path} is {value}, none of those listed"));
    }
    let number = value.as_f64();
    if number.zip(schema["minimum"].as_f64()).is_some_and(|(n, least)| n < least) {
        found.push(format!("{path} is {value}, too small"));
    }
    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
        walk(&schema["items"], item, &format!("{path}[{index}]"), found);
    }
    for (key, inner) in value.as_object().into_iter().flatten() {
        let path = format!("{path}.{key}");
        match (schema["properties"].get(key), schema.get("additionalProperties")) {
            (Some(of), _) => walk(of, inner, &path, found),
            (None, Some(of)) if of.is_object() => walk(of, inner, &path, found),
            _ if open => {}
            _ => found.push(format!("{path} is unknown")),
        }
    }
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Json::as_str);
    found.extend(
        required.filter(|key| value.is_object() && value.get(key).is_none()).map(|key| format!("{path}.{key} is missing")),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kubernetes::object::{entry, map};

    #[test]
    fn what_a_schema_does_not_allow_is_found() {
        let of = |spec| {
            let entries = [entry("apiVersion", "pingcap.com/v1alpha1"), entry("kind", "TidbCluster"), entry("spec", spec)];
            faults(&Object::new("", entries)).unwrap()
        };
        let pd = |entries: Vec<super::super::object::Entry>| of(map([entry("pd", map(entries))]));
        assert!(of(map([])).is_empty());
        assert_eq!(pd(vec![]), ["spec.pd.replicas is missing"]);
        assert_eq!(pd(vec![entry("replicas", "3")]), ["spec.pd.replicas is \"3\", no integer"]);
        assert_eq!(pd(vec![entry("replicas", -1_i64)]), ["spec.pd.replicas is -1, too small"]);
        assert_eq!(pd(vec![entry("replicas", 1_i64), entry("replica", 1_i64)]), ["spec.pd.replica is unknown"]);
        let with = |key, value| pd(vec![entry("replicas", 1_i64), entry(key, map([entry("memory", value)]))]);
        assert!(with("requests", super::super::object::Value::from(1_i64)).is_empty());
        assert_eq!(with("requests", true.into()), ["spec.pd.requests.memory is true, no "]);
        assert!(with("config", true.into()).is_empty());
        assert_eq!(pd(vec![entry("replicas", 1_i64), entry("mode", "x")]), ["spec.pd.mode is \"x\", none of those listed"]);
    }
}
