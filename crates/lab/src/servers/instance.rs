//! One private server: its folder, its data, its guard.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use nix::unistd::{User, geteuid};
use perbuck_core::study::ServerSpec;
use perbuck_database::secret::Secret;
use perbuck_deploy::local::{Kind, Recipe, Step, Wanted, is_plain};
use perbuck_load::stop::StopToken;

use super::environment::without_passwords;
use super::guard::{self, Charge};
use crate::error::{ErrorKind, LabError};

/// The names of all folders of servers start so.
pub(super) const PREFIX: &str = "perbuck-server-";
/// Held by the perbuck that started the server, as long as it lives.
pub(super) const OWNER_LOCK: &str = "owner.lock";
/// Lines of a log that are shown.
const LAST_LINES: usize = 15;
const PASSWORD_LENGTH: usize = 32;
const RANDOM: &str = "/dev/urandom";
/// Accounts that packages bring, for servers that refuse to run as root.
const ACCOUNTS: [&str; 2] = ["postgres", "nobody"];

/// The server that is wanted.
pub(super) struct Order<'a> {
    pub(super) who: &'a str,
    pub(super) kind: Kind,
    pub(super) spec: &'a ServerSpec,
    pub(super) programs: &'a [PathBuf],
    pub(super) parent: &'a Path,
    pub(super) databases: Vec<String>,
    pub(super) connections: u32,
}

/// A started server; dropped, it ends and its folder goes.
pub(super) struct Instance {
    folder: PathBuf,
    guard: Child,
    /// Closed, it tells the guard to end the server.
    line: Option<ChildStdin>,
    _lock: File,
}

/// A folder that goes unless a guard has taken it over.
struct Folder {
    path: PathBuf,
    keep: bool,
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.keep {
            // What cannot be deleted is found by the next command.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

impl Instance {
    /// Makes the data of a server and starts it; returns its address and password, too.
    pub(super) fn start(order: &Order<'_>, stop: &StopToken) -> Result<(Self, String, Secret), LabError> {
        let failed = LabError::of_file("make a folder for a server in", order.parent);
        let (mut folder, lock) = new_folder(order.parent).map_err(failed)?;
        let path = folder.path.clone();
        let user = prepare_user(order, &path)?;
        let failed = LabError::of_file("read random numbers for a password from", Path::new(RANDOM));
        let password = random_word(PASSWORD_LENGTH).map_err(failed)?;
        let recipe = recipe(order, &path, &password)?;
        for step in &recipe.steps {
            run_step(order, &path, step, user, &password)?;
            if stop.requested() {
                return Err(LabError::interrupted());
            }
        }
        for (name, text) in &recipe.files {
            fs::write(path.join(name), text).map_err(LabError::of_file("write", &path.join(name)))?;
        }
        let (guard, line) = spawn_guard(&path, &recipe, user).map_err(LabError::of_file("start a guard for", &path))?;
        folder.keep = true;
        let instance = Self { folder: path, guard, line: Some(line), _lock: lock };
        Ok((instance, recipe.target, Secret::new(password)))
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// How the server ended, if it did by itself.
    pub(super) fn ended(&self) -> Option<String> {
        fs::read_to_string(self.folder.join(guard::ENDED)).ok()
    }

    /// The end of its log.
    pub(super) fn last_words(&self) -> String {
        last_lines(&self.folder.join(guard::LOG))
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        self.line = None;
        // The guard kills a server that does not end, so this ends. Where the guard was killed, the next command cleans up.
        let _ = self.guard.wait();
    }
}

fn new_folder(parent: &Path) -> io::Result<(Folder, File)> {
    for _ in 0..100 {
        let path = parent.join(format!("{PREFIX}{}", random_word(10)?));
        match DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => {
                let folder = Folder { path: path.canonicalize()?, keep: false };
                let lock = File::create(path.join(OWNER_LOCK))?;
                lock.lock()?;
                return Ok((folder, lock));
            }
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(e),
        }
    }
    Err(io::Error::other("no name is free"))
}

/// The user who runs the server where perbuck's own may not, and a folder for the data.
fn prepare_user(order: &Order<'_>, folder: &Path) -> Result<Option<(u32, u32)>, LabError> {
    if !(order.kind.refuses_root() && geteuid().is_root()) {
        return Ok(None);
    }
    let found = ACCOUNTS.iter().find_map(|name| User::from_name(name).ok().flatten());
    let Some(user) = found else {
        let message =
            format!("{}: {} refuses to run as root, and there is no user {}", order.who, order.kind, ACCOUNTS.join(" or "));
        return Err(LabError::usage(message, "run perbuck as another user"));
    };
    let ids = (user.uid.as_raw(), user.gid.as_raw());
    let data = folder.join("data");
    let made = fs::set_permissions(folder, fs::Permissions::from_mode(0o711))
        .and_then(|()| DirBuilder::new().mode(0o700).create(&data))
        .and_then(|()| chown(&data, Some(ids.0), Some(ids.1)));
    made.map_err(LabError::of_file("make", &data))?;
    Ok(Some(ids))
}

fn recipe(order: &Order<'_>, folder: &Path, password: &str) -> Result<Recipe, LabError> {
    debug_assert!(is_plain(password));
    let port = free_port().map_err(|e| LabError::new(ErrorKind::Target, format!("{}: no port is free: {e}", order.who), ""))?;
    let config: BTreeMap<String, String> = order.spec.config.iter().map(|(k, v)| (k.clone(), v.value.clone())).collect();
    let wanted = Wanted {
        folder,
        port,
        config: &config,
        databases: &order.databases,
        connections: order.connections,
        as_root: geteuid().is_root(),
    };
    let refused = |r: perbuck_deploy::local::Refused| LabError::failed(format!("{}: {}", order.who, r.message), r.help);
    order.kind.recipe(&wanted, order.programs, password).map_err(refused)
}

/// Runs one program to its end; what it said goes to a log of the folder, and into the error where it fails.
fn run_step(order: &Order<'_>, folder: &Path, step: &Step, user: Option<(u32, u32)>, password: &str) -> Result<(), LabError> {
    let path = folder.join("make.log");
    let run = || -> io::Result<std::process::ExitStatus> {
        let log = File::options().append(true).create(true).mode(0o600).open(&path)?;
        let mut child = guard::command(&step.program, user)
            .args(&step.arguments)
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()?;
        if let Some(mut input) = child.stdin.take() {
            // A program that ends early reads no more; its status says why.
            let _ = input.write_all(step.input.as_bytes());
        }
        child.wait()
    };
    let program = step.program.display();
    let status = run().map_err(|e| LabError::new(ErrorKind::Target, format!("{}: cannot run {program}: {e}", order.who), ""))?;
    if status.success() {
        return Ok(());
    }
    let words = last_lines(&path).replace(password, "…");
    let message = format!("{}: {program} failed ({status}); it said:\n{words}", order.who);
    Err(LabError::new(ErrorKind::Target, message, "mend the `config` of its `server`, or what the program says"))
}

fn spawn_guard(folder: &Path, recipe: &Recipe, user: Option<(u32, u32)>) -> io::Result<(Child, ChildStdin)> {
    let text = |a: &std::ffi::OsString| a.to_str().map(str::to_owned).ok_or_else(|| io::Error::other("its path is not UTF-8"));
    let arguments = recipe.arguments.iter().map(text).collect::<io::Result<_>>()?;
    let charge = Charge { program: recipe.program.clone(), arguments, user, quits: recipe.quits };
    let log = File::options().append(true).create(true).mode(0o600).open(folder.join(guard::LOG))?;
    let mut guard = without_passwords(&mut Command::new(std::env::current_exe()?))
        .arg(guard::GUARD_COMMAND)
        .arg(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(log)
        // Ctrl-C is for us: the server must live until the last trial is written.
        .process_group(0)
        .spawn()?;
    let mut line = guard.stdin.take().ok_or_else(|| io::Error::other("no pipe"))?;
    line.write_all(format!("{}\n", serde_json::to_string(&charge)?).as_bytes())?;
    Ok((guard, line))
}

fn last_lines(log: &Path) -> String {
    let text = fs::read(log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    telling(&text).into_iter().map(|line| format!("    {line}\n")).collect::<String>().trim_end().to_owned()
}

/// The lines that say what went wrong: those that call themselves errors, or else the last ones. Installers of databases end with
/// pages of advice.
fn telling(text: &str) -> Vec<&str> {
    let lines: Vec<&str> = text.lines().filter(|l| !l.trim().is_empty()).collect();
    let marks = ["ERROR", "FATAL", "Error:"];
    let errors: Vec<&str> = lines.iter().copied().filter(|l| marks.iter().any(|m| l.contains(m))).take(LAST_LINES).collect();
    if errors.is_empty() { lines[lines.len().saturating_sub(LAST_LINES)..].to_vec() } else { errors }
}

/// A free port outside the range from which systems take the ports of clients: one of those could be in use by a connection a moment
/// later.
fn free_port() -> io::Result<u16> {
    let mut last = io::Error::other("none was tried");
    for _ in 0..200 {
        let mut bytes = [0; 2];
        File::open(RANDOM)?.read_exact(&mut bytes)?;
        let port = 10_000 + u16::from_le_bytes(bytes) % 20_000;
        match TcpListener::bind(("127.0.0.1", port)) {
            Ok(_) => return Ok(port),
            Err(e) => last = e,
        }
    }
    Err(last)
}

/// Letters and digits from the system's random numbers: a name or a password, no part of any experiment.
fn random_word(length: usize) -> io::Result<String> {
    const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    let mut bytes = vec![0; length];
    File::open(RANDOM)?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|b| char::from(LETTERS[usize::from(b % 32)])).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_told_and_not_the_advice_below_them() {
        assert_eq!(telling("[Note] on\n[ERROR] no space\n\nyou can also\ntry\n"), ["[ERROR] no space"]);
        let quiet: String = (1..=20).map(|n| format!("line {n}\n")).collect();
        assert_eq!(telling(&quiet).first(), Some(&"line 6"));
    }
}
