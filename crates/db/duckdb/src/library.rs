//! Where `libduckdb.so` is found.

use std::path::PathBuf;

use perbuck_load::error::{Cause, DriverError, ErrorClass};

use crate::ffi::{Library, NoLibrary};
use crate::target::DuckdbTarget;

/// The variable of the environment that names the library.
pub const VARIABLE: &str = "PERBUCK_DUCKDB_LIBRARY";
/// Whether this program can open libraries.
pub(crate) const OPENS: bool = !cfg!(target_env = "musl");
/// The oldest version that has all functions, for messages.
const OLDEST: &str = "1.2";
/// Where a library comes from.
const SOURCES: &str = "unpack libduckdb.so from libduckdb-linux-amd64.zip of a DuckDB release, or from the npm package \
    @duckdb/node-bindings-linux-x64 (on arm64: libduckdb-linux-arm64.zip, @duckdb/node-bindings-linux-arm64)";

/// The library of a target: that of its address, else that of the environment, else the one that the system's loader finds.
pub(crate) fn of(target: &DuckdbTarget) -> Result<&'static Library, DriverError> {
    let named = target.library.clone().or_else(|| std::env::var_os(VARIABLE).filter(|v| !v.is_empty()).map(PathBuf::from));
    if !OPENS {
        return Err(missing(
            "this perbuck is a static program, which cannot open libraries; build one that can: cargo install --path crates/cli",
        ));
    }
    // A name without a slash is one for the loader, and no file of this folder.
    let named = named.map(|file| if file.components().count() == 1 { PathBuf::from(".").join(file) } else { file });
    Library::open(named.as_deref()).map_err(|why| missing(&refusal(&why, named.is_some())))
}

fn refusal(why: &NoLibrary, is_named: bool) -> String {
    match why {
        NoLibrary::NotOpened(reason) if is_named => {
            format!("{reason}; name the library of DuckDB by `library=` in the target or by {VARIABLE}: {SOURCES}")
        }
        NoLibrary::NotOpened(reason) => {
            format!("{reason}; {SOURCES}; and name it by `library=` in the target or by {VARIABLE}")
        }
        NoLibrary::Lacks(function) => {
            format!("the library lacks {function}, so it is none of DuckDB, or an older one; use DuckDB {OLDEST} or later")
        }
    }
}

fn missing(message: &str) -> DriverError {
    let message = format!("cannot open the library of DuckDB: {message}");
    DriverError::client(ErrorClass::Fatal, "library", message).because(Some(Cause::File))
}
