//! The only unsafe code of this crate: a safe interface to the functions of `libduckdb.so`, which is opened at run time.
//!
//! The rules that the proofs rest on:
//! - A library that was opened stays open until the process ends, so its functions can be called at any time.
//! - Each thing of DuckDB's is owned by one value here, whose `Drop` frees it. What is used through another thing keeps that alive: a
//!   connection its database, a statement, an answer and an appender their connection.
//! - A connection and all that belongs to it stay on one thread, because they hold pointers and an [`Rc`].
#![allow(unsafe_code, reason = "a library that is opened at run time has no safe interface")]

use std::collections::BTreeMap;
use std::error::Error as _;
use std::ffi::{CStr, CString, c_char};
use std::fmt;
use std::path::{Path, PathBuf};
use std::ptr;
use std::rc::Rc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use libloading::Library as Loaded;

use api::{Api, RawConnection, RawDatabase, SUCCESS};

mod answer;
mod api;
mod append;
mod kind;
mod statement;

pub(crate) use answer::{Answer, Cell, Outcome};
pub(crate) use append::{Appender, Batch};
pub(crate) use kind::Kind;
pub(crate) use statement::{Bind, Statement};

/// The file that the system's loader looks for.
const FILE: &str = "libduckdb.so";

/// Why a library cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NoLibrary {
    /// The loader's reason.
    NotOpened(String),
    /// It lacks this function.
    Lacks(&'static str),
}

/// A DuckDB that is in this process until its end.
pub(crate) struct Library {
    api: Api,
    version: String,
    vector_rows: usize,
}

impl fmt::Debug for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DuckDB {}", self.version)
    }
}

/// The libraries of this process, by the file that each was opened from.
static LIBRARIES: Mutex<BTreeMap<PathBuf, &'static Library>> = Mutex::new(BTreeMap::new());

impl Library {
    /// Opens the library of a file, or the one that the system's loader finds. One that is open is returned.
    pub(crate) fn open(file: Option<&Path>) -> Result<&'static Self, NoLibrary> {
        let file = file.unwrap_or(Path::new(FILE));
        let mut open = LIBRARIES.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(library) = open.get(file) {
            return Ok(library);
        }
        // SAFETY: to open a library runs its constructors. The user has named this one, or installed it, to be run here.
        let loaded = unsafe { Loaded::new(file) }.map_err(|error| NoLibrary::NotOpened(reason(&error)))?;
        let api = Api::of(&loaded).map_err(NoLibrary::Lacks)?;
        // Its threads run until the process ends, so it is never closed.
        std::mem::forget(loaded);
        // SAFETY: the version is a string of the library, which is never freed.
        let version = unsafe { text((api.library_version)()) };
        // SAFETY: the function takes nothing and returns a number.
        let vector_rows = unsafe { (api.vector_size)() } as usize;
        let version = version.strip_prefix('v').unwrap_or(&version).to_owned();
        let library: &'static Self = Box::leak(Box::new(Self { api, version, vector_rows }));
        open.insert(file.to_owned(), library);
        Ok(library)
    }

    /// Its version, such as `1.5.6`.
    pub(crate) fn version(&self) -> &str {
        &self.version
    }

    /// Rows of a batch.
    pub(crate) fn vector_rows(&self) -> usize {
        self.vector_rows
    }
}

/// What the system's loader says.
fn reason(error: &libloading::Error) -> String {
    error.source().map_or_else(|| error.to_string(), ToString::to_string)
}

/// A copy of a string of the library; empty for null.
///
/// # Safety
/// The pointer is null, or a string that ends in NUL and is not freed during the call.
unsafe fn text(pointer: *const c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    // SAFETY: as the caller says.
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}

/// An open database file.
#[derive(Debug)]
pub(crate) struct Database {
    library: &'static Library,
    raw: *mut RawDatabase,
}

// SAFETY: DuckDB makes connections of one database from any thread, at the same time too; nothing else is done with the pointer
// until it is freed, by the one who drops the last reference.
unsafe impl Send for Database {}
// SAFETY: as above.
unsafe impl Sync for Database {}

impl Database {
    /// Opens a file, or makes it.
    ///
    /// # Errors
    /// DuckDB's message.
    pub(crate) fn open(library: &'static Library, file: &CStr, settings: &[(CString, CString)]) -> Result<Self, String> {
        let api = &library.api;
        let (mut config, mut raw, mut error) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
        // SAFETY: the functions fill the three places, which live through the calls, and read strings that do so, too. What they
        // filled is freed once: the configuration and the message here, the database by `Drop`.
        unsafe {
            if (api.create_config)(ptr::from_mut(&mut config)) != SUCCESS {
                return Err("Out of Memory Error: it makes no configuration".to_owned());
            }
            let refused =
                settings.iter().find(|(name, value)| (api.set_config)(config, name.as_ptr(), value.as_ptr()) != SUCCESS);
            let state = match refused {
                Some(_) => SUCCESS + 1,
                None => (api.open_ext)(file.as_ptr(), ptr::from_mut(&mut raw), config, ptr::from_mut(&mut error)),
            };
            (api.destroy_config)(ptr::from_mut(&mut config));
            let message = text(error);
            if !error.is_null() {
                (api.free)(error.cast());
            }
            if let Some((name, value)) = refused {
                let (name, value) = (name.to_string_lossy(), value.to_string_lossy());
                return Err(format!("Invalid Input Error: it does not take {name} = {value}"));
            }
            if state == SUCCESS { Ok(Self { library, raw }) } else { Err(message) }
        }
    }

    /// Makes a connection.
    ///
    /// # Errors
    /// That DuckDB makes none.
    pub(crate) fn connect(self: &Arc<Self>) -> Result<Rc<Connection>, String> {
        let mut raw = ptr::null_mut();
        // SAFETY: the database is open as long as `self` lives, and the place lives through the call.
        let state = unsafe { (self.library.api.connect)(self.raw, ptr::from_mut(&mut raw)) };
        if state != SUCCESS {
            return Err("Connection Error: it makes no connection".to_owned());
        }
        Ok(Rc::new(Connection { raw, database: Arc::clone(self) }))
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // SAFETY: `open` made the database, and it is freed here alone. Connections keep it alive, so none is left.
        unsafe { (self.library.api.close)(ptr::from_mut(&mut self.raw)) };
    }
}

/// A connection to an open database.
#[derive(Debug)]
pub(crate) struct Connection {
    raw: *mut RawConnection,
    database: Arc<Database>,
}

impl Connection {
    fn api(&self) -> &'static Api {
        &self.database.library.api
    }

    /// The library that it is of.
    pub(crate) fn library(&self) -> &'static Library {
        self.database.library
    }

    /// Executes the statements of a text; the answer is that of the last one.
    ///
    /// # Errors
    /// DuckDB's message.
    pub(crate) fn query(self: &Rc<Self>, sql: &CStr) -> Result<Answer, String> {
        // SAFETY: connection and text live through the call, and `Answer::of` frees what it fills.
        Answer::of(self, |result| unsafe { (self.api().query)(self.raw, sql.as_ptr(), result) })
    }
}

/// A connection that another thread may interrupt.
struct Interruptible(*mut RawConnection);

// SAFETY: the pointer is used for `duckdb_interrupt` alone, which any thread may call while the connection is open.
unsafe impl Send for Interruptible {}

impl Connection {
    /// Does work on the connection, which is interrupted after the limit: its statement then fails.
    pub(crate) fn within<T>(&self, limit: Option<Duration>, work: impl FnOnce() -> T) -> T {
        let Some(limit) = limit else { return work() };
        let (working, ended) = mpsc::channel::<()>();
        let (connection, interrupt) = (Interruptible(self.raw), self.api().interrupt);
        thread::scope(|scope| {
            scope.spawn(move || {
                // The whole value moves here, and not its pointer alone.
                let Interruptible(raw) = { connection };
                if ended.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                    // SAFETY: the scope ends before `self`, which keeps the connection open.
                    unsafe { interrupt(raw) };
                }
            });
            let done = work();
            drop(working);
            done
        })
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // SAFETY: `connect` made the connection, and it is freed here alone. Statements, answers and appenders keep it alive.
        unsafe { (self.api().disconnect)(ptr::from_mut(&mut self.raw)) };
    }
}
