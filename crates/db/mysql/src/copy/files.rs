//! The files of a copy, in the server's folder of data: beside its databases, since each folder there is a database to MariaDB. None of them ends
//! in `.ibd`, which MySQL looks for when it starts.

use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, fchown};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use perbuck_event::sleep;
use perbuck_load::driver::Session as _;
use perbuck_load::error::{DriverError, ErrorClass};
use perbuck_load::values::Rows;

use crate::session::MysqlSession;

/// How the names of the files of a copy start.
const KEEP: &str = "perbuck-keep";
/// The same of a copy that is made to see whether it can be, beside one that may be there.
const TRY: &str = "perbuck-try";
/// The endings of a table's files: its pages, and what tells of its columns and of its next number while it is exported.
const ENDINGS: [&str; 2] = ["ibd", "cfg"];
/// The ending of the list, and the one that it has before it is whole.
const LIST: [&str; 2] = ["list", "list-unfinished"];
/// Bytes that are copied before the thread looks whether it is to end.
const RANGE: u64 = 64 << 20;
const LOOK: Duration = Duration::from_millis(1);

/// Rows of a table that meet a condition.
pub(super) type SavedRows = (String, String, Vec<Vec<Option<String>>>);

/// What a copy holds.
#[derive(Debug, PartialEq)]
pub(super) struct List {
    /// Of the server: files of another one may have another form.
    pub(super) version: String,
    pub(super) tables: Vec<Table>,
    pub(super) statistics: Vec<SavedRows>,
    pub(super) rows: Vec<SavedRows>,
}

/// A table of a copy.
#[derive(Debug, PartialEq)]
pub(super) struct Table {
    pub(super) name: String,
    /// The statement that makes it.
    pub(super) definition: String,
    /// User, group and permissions of its file.
    pub(super) owner: [u32; 3],
}

type StoredTable = (String, String, [u32; 3]);
type Stored = (String, Vec<StoredTable>, Vec<SavedRows>, Vec<SavedRows>);

impl List {
    fn to_text(&self) -> serde_json::Result<String> {
        let tables: Vec<_> = self.tables.iter().map(|table| (&table.name, &table.definition, table.owner)).collect();
        serde_json::to_string(&(&self.version, tables, &self.statistics, &self.rows))
    }

    fn read(text: &str) -> Option<Self> {
        let (version, tables, statistics, rows): Stored = serde_json::from_str(text).ok()?;
        let tables = tables.into_iter().map(|(name, definition, owner)| Table { name, definition, owner }).collect();
        Some(Self { version, tables, statistics, rows })
    }
}

/// The server's folder of data, and a database in it.
#[derive(Debug, Clone)]
pub(super) struct Folder {
    /// How the names of the copy's files start.
    prefix: &'static str,
    path: PathBuf,
    /// The database.
    pub(super) name: String,
    /// Whether names of tables are written in small letters.
    small: bool,
    /// The server's version.
    pub(super) version: String,
    /// Whether the server writes a binary log.
    pub(super) logs: bool,
}

impl Folder {
    pub(super) async fn of(session: &mut MysqlSession) -> Result<Self, DriverError> {
        let mut rows = Rows::default();
        let sql = "SELECT @@datadir, DATABASE(), @@lower_case_table_names = 1, VERSION(), @@log_bin";
        session.query(sql, &mut rows).await?;
        Ok(Self {
            prefix: KEEP,
            path: PathBuf::from(rows.display(0, 0)?),
            name: rows.display(0, 1)?,
            small: rows.int(0, 2)? == 1,
            version: rows.display(0, 3)?,
            logs: rows.int(0, 4)? == 1,
        })
    }

    /// The same for a copy that is made to see whether it can be.
    pub(super) fn for_a_try(&self) -> Self {
        Self { prefix: TRY, ..self.clone() }
    }

    /// A file of a table.
    fn of_table(&self, table: &str, ending: &str) -> PathBuf {
        self.path.join(self.encoded(&self.name)).join(format!("{}.{ending}", self.encoded(table)))
    }

    /// The file of the copy that holds it.
    fn kept(&self, table: &str, ending: &str) -> PathBuf {
        self.path.join(format!("{}{}.{ending}-copy", self.head(), self.encoded(table)))
    }

    fn head(&self) -> String {
        format!("{}.{}.", self.prefix, self.encoded(&self.name))
    }

    fn of_list(&self) -> [PathBuf; 2] {
        LIST.map(|ending| self.path.join(format!("{}{ending}", self.head())))
    }

    /// A name as the server writes it in names of files ("Mapping of Identifiers to File Names"). It has other words for letters beyond ASCII, whose
    /// files are not found.
    fn encoded(&self, name: &str) -> String {
        let name = if self.small { name.to_lowercase() } else { name.to_owned() };
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || !c.is_ascii();
        name.chars().map(|c| if plain(c) { c.to_string() } else { format!("@{:04x}", u32::from(c)) }).collect()
    }

    /// User, group and permissions of the file of a table.
    pub(super) fn owner(&self, table: &str) -> Result<[u32; 3], DriverError> {
        let file = self.of_table(table, ENDINGS[0]);
        let metadata = fs::metadata(&file).map_err(|error| {
            let why = match error.kind() {
                io::ErrorKind::NotFound => {
                    "it is not there: the server runs elsewhere, or keeps the table in another file".to_owned()
                }
                _ => error.to_string(),
            };
            failed(&format!("cannot copy {}", file.display()), &why)
        })?;
        Ok([metadata.uid(), metadata.gid(), metadata.mode() & 0o7777])
    }

    /// The list of the copy, if there is a whole one.
    pub(super) fn list(&self) -> Option<List> {
        let [list, _] = self.of_list();
        List::read(&fs::read_to_string(list).ok()?)
    }

    /// Writes it; with that the copy is there.
    pub(super) fn write(&self, list: &List) -> Result<(), DriverError> {
        let [whole, unfinished] = self.of_list();
        let written = || -> io::Result<()> {
            let mut file = File::options().write(true).create(true).truncate(true).mode(0o600).open(&unfinished)?;
            file.write_all(list.to_text()?.as_bytes())?;
            file.sync_all()?;
            // The names of the files that it lists, too.
            File::open(&self.path)?.sync_all()?;
            fs::rename(&unfinished, &whole)?;
            File::open(&self.path)?.sync_all()
        };
        written().map_err(|error| failed(&format!("cannot write {}", whole.display()), &error))
    }

    /// Removes what is there of a copy, the list first.
    pub(super) fn remove(&self) -> Result<(), DriverError> {
        let [list, _] = self.of_list();
        let removed = || -> io::Result<()> {
            gone(&list)?;
            for entry in fs::read_dir(&self.path)? {
                let entry = entry?;
                if entry.file_name().to_string_lossy().starts_with(&self.head()) {
                    gone(&entry.path())?;
                }
            }
            Ok(())
        };
        removed().map_err(|error| failed(&format!("cannot remove files in {}", self.path.display()), &error))
    }

    /// Removes what an import has no more use for.
    pub(super) fn tidy(&self, table: &str) -> Result<(), DriverError> {
        let file = self.of_table(table, ENDINGS[1]);
        gone(&file).map_err(|error| failed(&format!("cannot remove {}", file.display()), &error))
    }
}

fn gone(file: &Path) -> io::Result<()> {
    fs::remove_file(file).or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

fn failed(what: &str, why: &dyn Display) -> DriverError {
    DriverError::client(ErrorClass::Refused, "copy", format!("{what}: {why}"))
}

/// The files of one table that are to be copied.
pub(super) struct Job {
    files: Vec<(PathBuf, PathBuf)>,
    /// User, group and permissions that they get; those of the copy are perbuck's.
    owner: Option<[u32; 3]>,
}

impl Job {
    pub(super) fn save(folder: &Folder, table: &str) -> Self {
        let file = |ending| (folder.of_table(table, ending), folder.kept(table, ending));
        Self { files: ENDINGS.map(file).into(), owner: None }
    }

    pub(super) fn restore(folder: &Folder, table: &Table) -> Self {
        let file = |ending| (folder.kept(&table.name, ending), folder.of_table(&table.name, ending));
        Self { files: ENDINGS.map(file).into(), owner: Some(table.owner) }
    }

    fn run(&self, ends: &AtomicBool) -> Result<(), DriverError> {
        self.files.iter().try_for_each(|(from, to)| {
            let copied = copy((from, to), self.owner, ends);
            copied.map_err(|error| failed(&format!("cannot copy {} to {}", from.display(), to.display()), &error))
        })
    }
}

/// Copies a file; file systems that can share its blocks. What the server imports it writes again, so only the copy has to be on disk.
fn copy((from, to): (&Path, &Path), owner: Option<[u32; 3]>, ends: &AtomicBool) -> io::Result<()> {
    let mut source = File::open(from)?;
    let mut target = File::options().write(true).create(true).truncate(true).mode(0o600).open(to)?;
    let bytes = source.metadata()?.len();
    let mut copied = 0;
    while copied < bytes {
        let more = io::copy(&mut (&mut source).take(RANGE), &mut target)?;
        if more == 0 || ends.load(Ordering::Relaxed) {
            return Err(io::Error::other(format!("it ended after {copied} of {bytes} bytes")));
        }
        copied += more;
    }
    let Some([user, group, mode]) = owner else { return target.sync_all() };
    let has = target.metadata()?;
    if (has.uid(), has.gid()) != (user, group) {
        fchown(&target, Some(user), Some(group))?;
    }
    target.set_permissions(fs::Permissions::from_mode(mode))
}

/// A thread that copies the files of one table after the other.
pub(super) struct Copying {
    told: Receiver<Result<(), DriverError>>,
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Copying {
    pub(super) fn start(jobs: Vec<Job>) -> Result<Self, DriverError> {
        let (tell, told) = channel();
        let ends = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&ends);
        let work = move || {
            for job in jobs {
                let done = job.run(&until);
                let goes_on = done.is_ok();
                if tell.send(done).is_err() || !goes_on {
                    return;
                }
            }
        };
        let thread = thread::Builder::new().name("copy".to_owned()).spawn(work);
        Ok(Self { told, ends, thread: Some(thread.map_err(|error| failed("cannot start a thread", &error))?) })
    }

    /// Waits until the next table is copied.
    pub(super) async fn next(&mut self) -> Result<(), DriverError> {
        loop {
            match self.told.try_recv() {
                Ok(done) => return done,
                Err(TryRecvError::Empty) => sleep(LOOK).await,
                Err(TryRecvError::Disconnected) => return Err(failed("cannot copy", &"the thread that copies has ended")),
            }
        }
    }
}

impl Drop for Copying {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // What it had to tell was told.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(path: &Path, name: &str) -> Folder {
        let (path, name, version) = (path.to_owned(), name.to_owned(), "1".to_owned());
        Folder { prefix: KEEP, path, name, small: false, version, logs: false }
    }

    #[test]
    fn names_are_written_as_the_server_writes_them() {
        let own = folder(Path::new("/d"), "my-db");
        assert_eq!(own.of_table("a.b_1", "ibd"), Path::new("/d/my@002ddb/a@002eb_1.ibd"));
        assert_eq!(own.kept("t", "cfg"), Path::new("/d/perbuck-keep.my@002ddb.t.cfg-copy"));
        assert_eq!(Folder { small: true, ..own }.of_table("T", "ibd"), Path::new("/d/my@002ddb/t.ibd"));
    }

    #[test]
    fn a_copy_is_there_with_its_list_and_goes_alone() {
        let at = std::env::temp_dir().join(format!("perbuck-files-{}", std::process::id()));
        fs::create_dir_all(&at).unwrap();
        let (one, other) = (folder(&at, "one"), folder(&at, "one_more"));
        let cell = Some("it's \\ \u{fc}".to_owned());
        let rows: SavedRows = ("mysql.t".to_owned(), "a = 'b'".to_owned(), vec![vec![None, cell]]);
        let table = Table { name: "t".to_owned(), definition: "CREATE TABLE `t`".to_owned(), owner: [1, 2, 0o640] };
        let list = List { version: "1".to_owned(), tables: vec![table], statistics: vec![rows], rows: Vec::new() };
        for own in [&one, &other] {
            fs::write(own.kept("t", "ibd"), "pages").unwrap();
            assert_eq!(own.list(), None, "without its list there is no copy");
            own.write(&list).unwrap();
        }
        assert_eq!(one.list(), Some(list));
        // As a perbuck leaves it that is killed while it saves.
        fs::write(&one.of_list()[1], "half").unwrap();
        one.remove().unwrap();
        one.remove().unwrap();
        assert!(one.list().is_none() && other.list().is_some());
        assert_eq!(fs::read_dir(&at).unwrap().count(), 2, "those of the other database");
        fs::remove_dir_all(&at).unwrap();
    }

    #[test]
    fn files_are_copied_whole_or_not() {
        let at = std::env::temp_dir().join(format!("perbuck-copying-{}", std::process::id()));
        fs::create_dir_all(&at).unwrap();
        let (from, to) = (at.join("from"), at.join("to"));
        fs::write(&from, "new pages").unwrap();
        fs::write(&to, "a longer one that was there before").unwrap();
        let own = fs::metadata(&from).unwrap();
        copy((&from, &to), Some([own.uid(), own.gid(), 0o640]), &AtomicBool::new(false)).unwrap();
        assert_eq!(fs::read_to_string(&to).unwrap(), "new pages");
        assert_eq!(fs::metadata(&to).unwrap().mode() & 0o7777, 0o640);
        let stopped = copy((&from, &to), None, &AtomicBool::new(true)).unwrap_err();
        assert!(stopped.to_string().contains("of 9 bytes"), "{stopped}");
        let missing = Job { files: vec![(at.join("none"), to)], owner: None }.run(&AtomicBool::new(false)).unwrap_err();
        assert!(missing.message.contains("/none to "), "{missing}");
        fs::remove_dir_all(&at).unwrap();
    }
}
