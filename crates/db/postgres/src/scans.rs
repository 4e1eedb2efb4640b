//! Statements that read tables into the memory of PostgreSQL.

/// A query for them: of the table, its partitions and the texts that lie outside of their rows, and where it is wanted of all indexes, the
/// primary key among them. Without the extension each table is counted, and a count reads no index.
pub(crate) fn of(table: &str, indexes: bool) -> String {
    let keys = if indexes { " UNION SELECT indexrelid FROM pg_index WHERE indrelid IN (SELECT oid FROM stored)" } else { "" };
    format!(
        "WITH rows AS (SELECT oid, reltoastrelid FROM pg_class WHERE relkind = 'r' AND (oid = to_regclass('{table}') \
           OR oid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent = to_regclass('{table}')))), \
         stored AS (SELECT oid FROM rows UNION SELECT reltoastrelid FROM rows WHERE reltoastrelid <> 0), \
         has AS (SELECT 1 FROM pg_extension WHERE extname = 'pg_prewarm') \
         SELECT 'SELECT pg_prewarm(''' || oid || '''::regclass)' FROM (SELECT oid FROM stored{keys}) all_of_it WHERE EXISTS (SELECT 1 FROM has) \
         UNION ALL SELECT 'SELECT COUNT(*) FROM ' || oid::regclass FROM rows WHERE NOT EXISTS (SELECT 1 FROM has)"
    )
}
