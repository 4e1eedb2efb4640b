//! The published JSON Schema of `perbuck report --json` says what the types say.
//!
//! `UPDATE_GOLDEN=1 cargo test -p perbuck-report --test schema` writes it again.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::path::PathBuf;

use perbuck_report::ReportModel;
use schemars::schema_for;
use serde_json::Value;

#[test]
fn the_published_schema_is_that_of_the_types() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema/report.schema.json");
    let fresh = serde_json::to_value(schema_for!(ReportModel)).unwrap();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, serde_json::to_string_pretty(&fresh).unwrap() + "\n").unwrap();
    }
    let stored: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert!(
        stored == fresh,
        "docs/schema/report.schema.json is out of date; write it with UPDATE_GOLDEN=1 and read the difference"
    );
}
