//! A check against a JSON schema (draft 7) that uses few of its words. It panics at a word that it does not know.

use serde_json::{Map, Value};

/// Words that describe and check nothing.
const NOTES: [&str; 7] = [
    "$schema",
    "default",
    "definitions",
    "description",
    "preferredOrder",
    "x-intellij-html-description",
    "x-kubernetes-group-version-kind",
];

/// Everything of a value that a schema does not allow, with its path.
pub(crate) fn faults(schema: &Value, value: &Value) -> Vec<String> {
    check(schema, schema, value, "")
}

fn check(root: &Value, schema: &Value, value: &Value, path: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (word, rule) in schema.as_object().unwrap() {
        match word.as_str() {
            "$ref" => {
                let target = root.pointer(rule.as_str().unwrap().trim_start_matches('#')).unwrap();
                found.extend(check(root, target, value, path));
            }
            "type" if !is_type(rule.as_str().unwrap(), value) => found.push(format!("{path}: is no {rule}")),
            "enum" if !rule.as_array().unwrap().contains(value) => found.push(format!("{path}: {value} is none of {rule}")),
            "required" => {
                let missing = rule.as_array().unwrap().iter().filter(|key| value.get(key.as_str().unwrap()).is_none());
                found.extend(missing.map(|key| format!("{path}: has no {key}")));
            }
            "items" => {
                let all = value.as_array().into_iter().flatten().enumerate();
                found.extend(all.flat_map(|(n, item)| check(root, rule, item, &format!("{path}/{n}"))));
            }
            "oneOf" => {
                let fits = rule.as_array().unwrap().iter().filter(|one| check(root, one, value, path).is_empty()).count();
                if fits != 1 {
                    found.push(format!("{path}: fits {fits} of {word}"));
                }
            }
            "type" | "enum" | "properties" | "additionalProperties" => {}
            _ => assert!(NOTES.contains(&word.as_str()), "{path}: the schema has the word {word}, which is not known here"),
        }
    }
    let none = Map::new();
    let named = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
    for (key, of) in value.as_object().unwrap_or(&none) {
        let path = format!("{path}/{key}");
        match (named.get(key), schema.get("additionalProperties")) {
            (Some(rule), _) => found.extend(check(root, rule, of, &path)),
            (None, Some(Value::Bool(false))) => found.push(format!("{path}: is not known")),
            (None, Some(rule @ Value::Object(_))) => found.extend(check(root, rule, of, &path)),
            (None, _) => {}
        }
    }
    found
}

fn is_type(name: &str, value: &Value) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "null" => value.is_null(),
        other => panic!("the schema has the type {other}"),
    }
}
