//! Files of objects.

use serde_json::Value;

use crate::error::ApiError;

/// The documents of a YAML text in their order; empty ones are left out. JSON is YAML, too.
///
/// # Errors
/// The text is no YAML. The message names the line.
pub fn yaml(text: &str) -> Result<Vec<Value>, ApiError> {
    let options = serde_saphyr::options! {
        // kubectl reads 0644 so.
        legacy_octal_numbers: true,
        // The reader's own limits stop at half the size of an operator's definitions.
        budget: serde_saphyr::budget! { max_depth: 200, max_nodes: 10_000_000, max_events: 20_000_000 },
    };
    serde_saphyr::from_multiple_with_options(text, options).map_err(|error| {
        let line = error.location().map(|at| format!("line {}: ", at.line())).unwrap_or_default();
        // Without the quoted lines, which may hold a secret.
        let why = error.without_snippet().to_string();
        ApiError::invalid(format!("no YAML: {line}{}", why.lines().next().unwrap_or_default()))
    })
}
