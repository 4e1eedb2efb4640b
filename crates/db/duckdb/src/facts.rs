//! Version and settings of the library, as a session has them.

use perbuck_load::driver::{Session, TargetFacts};
use perbuck_load::error::DriverError;
use perbuck_load::values::Rows;

use crate::session::DuckdbSession;

/// Settings that change what is measured.
const SETTINGS: [&str; 13] = [
    "allocator_background_threads",
    "autoinstall_known_extensions",
    "autoload_known_extensions",
    "checkpoint_threshold",
    "default_block_size",
    "enable_external_access",
    "external_threads",
    "immediate_transaction_mode",
    "max_temp_directory_size",
    "memory_limit",
    "preserve_insertion_order",
    "temp_directory",
    "threads",
];
/// Units of sizes, which DuckDB prints as `4.0 GiB`.
const UNITS: [(&str, f64); 5] =
    [("bytes", 1.0), ("KiB", 1_024.0), ("MiB", 1_048_576.0), ("GiB", 1_073_741_824.0), ("TiB", 1_099_511_627_776.0)];

pub(crate) async fn facts(session: &mut DuckdbSession) -> Result<TargetFacts, DriverError> {
    let mut rows = Rows::default();
    session.query("SELECT library_version, source_id, platform FROM pragma_version(), pragma_platform()", &mut rows).await?;
    let version = rows.display(0, 0)?;
    let mut facts = TargetFacts {
        version: format!("DuckDB {}", version.strip_prefix('v').unwrap_or(&version)),
        on_this_machine: true,
        ..TargetFacts::default()
    };
    facts.variables.insert("source_id".to_owned(), rows.display(0, 1)?);
    facts.variables.insert("platform".to_owned(), rows.display(0, 2)?);
    let names = SETTINGS.map(|name| format!("'{name}'")).join(", ");
    session.query(&format!("SELECT name, value FROM duckdb_settings() WHERE name IN ({names})"), &mut rows).await?;
    for row in 0..rows.len() as usize {
        facts.variables.insert(rows.display(row, 0)?, rows.display(row, 1)?);
    }
    facts.page_memory_bytes = facts.variables.get("memory_limit").and_then(|limit| bytes(limit));
    Ok(facts)
}

/// The bytes of a size as DuckDB prints it: to one digit after the point.
fn bytes(text: &str) -> Option<u64> {
    let (number, unit) = text.split_once(' ')?;
    let (_, factor) = UNITS.iter().find(|(name, _)| *name == unit)?;
    Some((number.parse::<f64>().ok()? * factor) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_duckdb_prints_them() {
        for (text, expected) in
            [("4.0 GiB", Some(4 << 30)), ("953.6 MiB", Some(999_922_073)), ("0 bytes", Some(0)), ("90 %", None), ("", None)]
        {
            assert_eq!(bytes(text), expected, "{text}");
        }
    }
}
