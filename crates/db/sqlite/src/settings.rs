//! The settings of a connection: set, read back, and written into the record.

use rusqlite::types::FromSql;
use rusqlite::{Connection, OpenFlags, ToSql};

use perbuck_load::driver::TargetFacts;
use perbuck_load::error::{DriverError, ErrorClass};

use crate::errors::driver_error;
use crate::target::{JOURNAL_MODES, SYNCHRONOUS, SqliteTarget};

const TEMP_STORE_MEMORY: i64 = 2;

/// Compile-time options that change what is measured, by the beginning of their names.
const NOTED_OPTIONS: &str = "ATOMIC_INTRINSICS COMPILER DEBUG DEFAULT_MMAP_SIZE DEFAULT_PCACHE_INITSZ DIRECT_OVERFLOW_READ \
    ENABLE_API_ARMOR MAX_MMAP_SIZE SYSTEM_MALLOC THREADSAFE";

/// Refuses what SQLite would silently take for something else.
pub(crate) fn check(target: &SqliteTarget) -> Result<(), DriverError> {
    if target.path.as_os_str().is_empty() || target.path.as_os_str() == ":memory:" {
        return Err(wrong(
            "only one connection can use a database in memory; name a file, for instance on a RAM disk".to_owned(),
        ));
    }
    known("synchronous", &target.synchronous, &SYNCHRONOUS)?;
    known("journal_mode", &target.journal_mode, &JOURNAL_MODES)?;
    for (name, value) in [("busy_timeout_ms", target.busy_timeout_ms), ("cache_kib", target.cache_kib)] {
        if i32::try_from(value).is_err() {
            return Err(wrong(format!("`{name}` is {value}; SQLite takes at most {}", i32::MAX)));
        }
    }
    Ok(())
}

fn known(name: &str, value: &str, words: &[&str]) -> Result<(), DriverError> {
    if words.iter().any(|w| w.eq_ignore_ascii_case(value)) {
        return Ok(());
    }
    Err(wrong(format!("`{name}` is \"{value}\"; use one of {}", words.join(", "))))
}

fn wrong(message: String) -> DriverError {
    DriverError::client(ErrorClass::Fatal, "setting", message)
}

/// Opens a connection with all its settings in force.
pub(crate) fn open(target: &SqliteTarget) -> Result<Connection, DriverError> {
    // A path is a path: without the URI flag `file:x?mode=memory` names a file, too. And no mutex of the library: a
    // connection is used by one thread at a time.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let failed = |error: rusqlite::Error| driver_error(&error, &target.path);
    let connection = Connection::open_with_flags(&target.path, flags).map_err(failed)?;
    // A negative cache is of KiB instead of pages.
    let (busy_timeout, cache) = (i64::from(target.busy_timeout_ms), -i64::from(target.cache_kib));
    let settings: [(&str, &dyn ToSql); 5] = [
        // First of all, because what follows may have to wait for others.
        ("busy_timeout", &busy_timeout),
        ("journal_mode", &target.journal_mode),
        ("synchronous", &target.synchronous),
        ("cache_size", &cache),
        ("temp_store", &"memory"),
    ];
    for (name, value) in settings {
        connection.pragma_update(None, name, value).map_err(failed)?;
    }
    let synchronous = SYNCHRONOUS.iter().position(|w| w.eq_ignore_ascii_case(&target.synchronous)).map_or(-1, |n| n as i64);
    let journal_mode: String = read(&connection, "journal_mode").map_err(failed)?;
    if !journal_mode.eq_ignore_ascii_case(&target.journal_mode) {
        return Err(not_taken(target, "journal_mode", &target.journal_mode, &journal_mode));
    }
    for (name, wanted) in
        [("busy_timeout", busy_timeout), ("synchronous", synchronous), ("cache_size", cache), ("temp_store", TEMP_STORE_MEMORY)]
    {
        let found: i64 = read(&connection, name).map_err(failed)?;
        if found != wanted {
            return Err(not_taken(target, name, &wanted.to_string(), &found.to_string()));
        }
    }
    Ok(connection)
}

/// SQLite ignores settings that it cannot honour (WAL where the file system has no shared memory); a measurement of
/// something else than was asked for is worse than none.
fn not_taken(target: &SqliteTarget, name: &str, wanted: &str, found: &str) -> DriverError {
    let file = target.path.display();
    wrong(format!("SQLite file {file}: `PRAGMA {name}` was set to {wanted} but is {found}; ask for {found} or use another disk"))
}

fn read<T: FromSql>(connection: &Connection, pragma: &str) -> rusqlite::Result<T> {
    connection.pragma_query_value(None, pragma, |row| row.get(0))
}

/// Version, settings and build of the library, as a connection has them.
pub(crate) fn facts(connection: &Connection) -> rusqlite::Result<TargetFacts> {
    let mut facts =
        TargetFacts { version: format!("SQLite {}", rusqlite::version()), on_this_machine: true, ..TargetFacts::default() };
    let mut put = |name: &str, value: String| facts.variables.insert(name.to_owned(), value);
    put("source_id", connection.query_row("SELECT sqlite_source_id()", [], |row| row.get(0))?);
    put("journal_mode", read(connection, "journal_mode")?);
    let synchronous: u8 = read(connection, "synchronous")?;
    put("synchronous", SYNCHRONOUS.get(usize::from(synchronous)).map_or_else(|| synchronous.to_string(), |w| (*w).to_owned()));
    for name in ["page_size", "cache_size", "busy_timeout", "temp_store", "wal_autocheckpoint", "auto_vacuum"] {
        put(name, read::<i64>(connection, name)?.to_string());
    }
    put("locking_mode", read(connection, "locking_mode")?);
    // No row at all where memory mapping is compiled out.
    let mapped = connection.query_row("PRAGMA mmap_size", [], |row| row.get::<_, i64>(0)).unwrap_or(0);
    put("mmap_size", mapped.to_string());
    let mut options = Vec::new();
    connection.pragma_query(None, "compile_options", |row| {
        let option: String = row.get(0)?;
        if NOTED_OPTIONS.split(' ').any(|noted| option.starts_with(noted)) {
            options.push(option);
        }
        Ok(())
    })?;
    put("compile_options", options.join(" "));
    Ok(facts)
}
