//! What CockroachDB, which follows PostgreSQL, is asked in addition.

use perbuck_database::dialect::same_isolation;
use perbuck_load::error::ErrorClass;
use perbuck_load::values::Rows;

use crate::testing::COCKROACH;

#[test]
fn another_level_than_the_one_asked_for_is_an_error() {
    let answer = |level: Option<&str>| {
        let mut rows = Rows::default();
        rows.start(true);
        match level {
            Some(level) => rows.push_text(level.as_bytes()),
            None => rows.push_null(),
        }
        rows.end_row();
        rows
    };
    let told = |level, found| same_isolation(COCKROACH, COCKROACH.isolation_in_effect().unwrap(), level, &answer(found));
    assert!(told("READ COMMITTED", Some("read committed")).is_ok());
    assert!(told("READ COMMITTED", None).is_ok(), "it does not tell");
    let error = told("READ COMMITTED", Some("serializable")).unwrap_err();
    assert_eq!(error.class, ErrorClass::Fatal);
    assert!(error.message.contains("CockroachDB uses SERIALIZABLE; enable"), "{error}");
}
