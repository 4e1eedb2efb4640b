//! The database files that this process has open. DuckDB lets one process open a file, and that once; all sessions are connections of it.
//!
//! A file stays open between sessions, so that its blocks stay in memory from a load or a warm-up to a trial. It is closed when its
//! driver goes, and when another file is opened while it has no session: two contenders do not share the memory of the machine.

use std::ffi::{CStr, CString};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use perbuck_load::error::{DriverError, ErrorClass};

use crate::dialect::NUMBERS;
use crate::errors::driver_error;
use crate::ffi::{Cell, Connection, Database, Library};
use crate::target::DuckdbTarget;

/// What DuckDB would do without being asked: load code over the network. A file of another program is then simply no database.
const OWN_SETTINGS: [(&str, &str); 2] = [("autoinstall_known_extensions", "false"), ("autoload_known_extensions", "false")];

/// An open file.
struct Entry {
    file: PathBuf,
    settings: Vec<(&'static str, String)>,
    database: Arc<Database>,
    sessions: usize,
    /// Of these sessions, those that load rows.
    loading: usize,
    /// Threads of DuckDB that were there before several sessions loaded.
    threads: i64,
}

/// Held while a file is opened and while one is closed: to open a file that is being closed would open it twice, and locks of
/// files do not keep a process from itself.
static OPEN: Mutex<Vec<Entry>> = Mutex::new(Vec::new());

fn open_files() -> MutexGuard<'static, Vec<Entry>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A connection, which counts as a session of its file.
#[derive(Debug)]
pub(crate) struct Shared {
    /// Goes before the session is counted off.
    pub(crate) connection: Rc<Connection>,
    session: Counted,
    loads: bool,
}

impl Shared {
    /// Says that this session loads rows from now on. While several do, DuckDB has no threads of its own: these would take tasks of an INSERT
    /// over, and its session asks without a pause whether they are done, which costs as much processor time as the load.
    pub(crate) fn begin_load(&mut self) -> Result<(), String> {
        if self.loads {
            return Ok(());
        }
        let mut open = open_files();
        let Some(entry) = open.iter_mut().find(|entry| entry.file == self.session.0) else { return Ok(()) };
        if entry.loading == 1 {
            entry.threads = number(&self.connection, c"SELECT current_setting('threads')")?;
            self.connection.query(c"SET threads = 1")?;
        }
        entry.loading += 1;
        self.loads = true;
        Ok(())
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let mut open = open_files();
        let Some(entry) = open.iter_mut().find(|entry| self.loads && entry.file == self.session.0) else { return };
        entry.loading -= 1;
        if entry.loading == 1
            && let Ok(sql) = CString::new(format!("SET threads = {}", entry.threads))
        {
            // It was the number of threads before, so DuckDB takes it.
            let _ = self.connection.query(&sql);
        }
    }
}

/// The one number of an answer.
fn number(connection: &Rc<Connection>, sql: &CStr) -> Result<i64, String> {
    let mut answer = connection.query(sql)?;
    let cell = answer.next_chunk().and_then(|chunk| match chunk.column(0)?.cell(0) {
        Cell::Int(number) => Some(number),
        _ => None,
    });
    cell.ok_or_else(|| format!("Invalid Input Error: {} has no number", sql.to_string_lossy()))
}

#[derive(Debug)]
struct Counted(PathBuf);

impl Drop for Counted {
    fn drop(&mut self) {
        if let Some(entry) = open_files().iter_mut().find(|entry| entry.file == self.0) {
            entry.sessions -= 1;
        }
    }
}

/// Connects to the file of a target, which is opened if it is not open.
pub(crate) fn connect(library: &'static Library, target: &DuckdbTarget) -> Result<Shared, DriverError> {
    let failed = |message: String| driver_error(&message, &target.path);
    let (file, settings) = (real(&target.path).map_err(failed)?, target.settings());
    let mut open = open_files();
    // One with other settings, and others, are closed where they have no session.
    open.retain(|entry| entry.sessions > 0 || (entry.file == file && entry.settings == settings));
    let position = match open.iter().position(|entry| entry.file == file) {
        Some(position) if open[position].settings == settings => position,
        Some(_) => {
            let message =
                format!("DuckDB file {}: it is open in this process with other settings; use one target for it", file.display());
            return Err(DriverError::client(ErrorClass::Fatal, "setting", message));
        }
        None => {
            let database = open_file(library, &file, &settings).map_err(failed)?;
            open.push(Entry { file: file.clone(), settings, database: Arc::new(database), sessions: 0, loading: 0, threads: 1 });
            open.len() - 1
        }
    };
    let entry = &mut open[position];
    let is_first = entry.sessions == 0;
    let connection = entry.database.connect().map_err(failed)?;
    if is_first {
        connection.query(NUMBERS).map_err(failed)?;
    }
    entry.sessions += 1;
    Ok(Shared { connection, session: Counted(file), loads: false })
}

/// Closes the file of a target where it has no session; whether it is closed.
pub(crate) fn close_idle(target: &DuckdbTarget) -> bool {
    let Ok(file) = real(&target.path) else { return true };
    let mut open = open_files();
    open.retain(|entry| entry.sessions > 0 || entry.file != file);
    open.iter().all(|entry| entry.file != file)
}

fn open_file(library: &'static Library, file: &Path, settings: &[(&'static str, String)]) -> Result<Database, String> {
    let text = |value: &str| CString::new(value).map_err(|_| format!("Invalid Input Error: `{value}` holds a NUL"));
    let own = OWN_SETTINGS.iter().map(|(name, value)| (*name, *value));
    let all = own.chain(settings.iter().map(|(name, value)| (*name, value.as_str())));
    let all = all.map(|(name, value)| Ok((text(name)?, text(value)?))).collect::<Result<Vec<_>, String>>()?;
    Database::open(library, &text(&file.to_string_lossy())?, &all)
}

/// The one path of a file that need not exist yet, by which the process knows that it is open.
fn real(path: &Path) -> Result<PathBuf, String> {
    if let Ok(file) = path.canonicalize() {
        return Ok(file);
    }
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = folder.canonicalize().map_err(|error| format!("IO Error: Cannot open file: {error}"))?;
    Ok(path.file_name().map(|name| folder.join(name)).unwrap_or(folder))
}
