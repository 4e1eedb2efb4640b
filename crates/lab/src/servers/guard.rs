//! The process that makes and holds one private server, on the server's machine: it makes the folder, its data and the processes of the
//! server, and removes all of them when the perbuck that started it has gone.
//!
//! What it is asked comes through its standard input, which ends when that perbuck ends. Its standard output says what happens.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, BufRead, Write};
use std::net::TcpListener;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt, chown};
use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::thread;
use std::time::Duration;

use nix::sys::signal::{SigSet, Signal};
use perbuck_core::run_record::Build;
use perbuck_deploy::local::Step;

use super::folder::{self, Folder, POLL};
use super::log::{last_lines, last_words, text_of};
use super::order::{self, Charge};
use super::program::{self, START_COMMAND};
use super::running::{Pause, Running};
use super::talk::{Ask, Numbered, Order, Restart, Started, Told, WhileStopped};
use super::{agent, copy, host};
use crate::disk;
use crate::doctor::{self, Seen};
use crate::error::{ErrorKind, Failure, LabError};
use crate::machine_sampler::MachineSampler;
use crate::profile::Profiling;
use crate::sampler::ServerSeen;
use crate::{system, tuning};

/// The first argument of a process that is a guard.
pub(super) const GUARD_COMMAND: &str = "hold-server";
/// What the programs say that make its data.
const MAKE_LOG: &str = "make.log";
/// How long a guard on another machine hears nothing of perbuck before it takes it for gone. It hears something each second.
pub(super) const SILENCE: Duration = Duration::from_secs(15);

/// A numbered question, or why a line is none.
pub(super) type Asked = Result<Numbered<Ask>, String>;

/// Whether [`guard_if_asked`] was called, and so whether this program can be started again as a guard.
static CAN_GUARD: AtomicBool = AtomicBool::new(false);

/// Makes this program able to start private servers: perbuck starts the program itself again to hold each of them. Call it first
/// of all in `main`; where it returns a result, this process was such a guard, and `main` ends with it.
///
/// # Errors
/// Within the result: this process was asked for by a user, or could not become a program of a server.
pub fn guard_if_asked() -> Option<Result<(), LabError>> {
    CAN_GUARD.store(true, Ordering::Relaxed);
    let words: Vec<_> = std::env::args_os().skip(1).collect();
    match words.first()?.to_str()? {
        GUARD_COMMAND => Some(run(words.get(1).and_then(|folder| folder.to_str()))),
        START_COMMAND => Some(Err(program::run(&words[1..]))),
        _ => None,
    }
}

/// Refuses to start servers in a program that cannot be their guard: it did not call [`guard_if_asked`].
pub(super) fn possible() -> Result<(), LabError> {
    system::drives_load()?;
    if CAN_GUARD.load(Ordering::Relaxed) {
        return Ok(());
    }
    let message = "this program cannot hold a private server";
    Err(LabError::usage(message, "let its main begin with perbuck_lab::servers::guard_if_asked()"))
}

fn run(folder: Option<&str>) -> Result<(), LabError> {
    // Whoever ends perbuck by a signal to all of its processes shall not end this one before the server is gone.
    let held_off = [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGQUIT].into_iter().collect::<SigSet>();
    held_off.thread_block().map_err(|e| LabError::failed(format!("cannot hold off signals: {e}"), ""))?;
    host::arrive(folder).map_err(|e| LabError::failed(format!("cannot delete the file of this program: {e}"), ""))?;
    // A connection that was cut off closes nothing.
    let limit = if folder.is_some() { SILENCE } else { Duration::MAX };
    let asks = asks().map_err(|e| LabError::failed(format!("cannot start a thread: {e}"), ""))?;
    tell(0, &Told::Here(env!("CARGO_PKG_VERSION").to_owned()));
    let mut door: Option<TcpListener> = None;
    while let Ok(asked) = asks.recv_timeout(limit) {
        let own = |e: String| LabError::usage(format!("this command is perbuck's own: {e}"), "run a study instead");
        let (number, ask) = asked.map_err(own)?;
        match ask {
            Ask::Look(order) => {
                let looked = order::look(&order);
                door = looked.as_ref().ok().and_then(|looked| TcpListener::bind(looked.door?).ok());
                tell(number, &Told::Looked(looked.map_err(Failure::from)));
            }
            Ask::Clean(order) => tell(number, &Told::Cleaned(folder::clean(&order::parent(&order)))),
            Ask::Start(order) => {
                drop(door.take());
                return serve(order, asks, limit);
            }
            Ask::Examine => tell(number, &Told::Examined(Seen::now())),
            Ask::Load(load) => {
                // Pulses come meanwhile; a line that ends, ends the load.
                let gone = || matches!(asks.try_recv(), Err(TryRecvError::Disconnected));
                tell(number, &Told::Loaded(disk::measure(&load, &gone).map_err(Failure::from)));
            }
            Ask::Put(settings) => tell(number, &Told::Put(doctor::put(&settings))),
            Ask::CanProfile => tell(number, &Told::Profiles(perbuck_observe::try_out(false))),
            Ask::Serve(token) => return agent::serve(&token, number, &asks),
            // Of no server there is nothing to tell.
            Ask::Restart(_) | Ask::See | Ask::Watch | Ask::Watched | Ask::Doing | Ask::Pulse | Ask::Tune(_) | Ask::Untune => {}
            Ask::Profile { .. } | Ask::Profiled => {}
        }
    }
    Ok(())
}

/// What is asked, and what cannot be read as a question. It ends with standard input.
fn asks() -> io::Result<Receiver<Asked>> {
    let (asked, asks) = channel();
    thread::Builder::new().name("input".to_owned()).spawn(move || {
        for line in io::stdin().lock().lines() {
            let ask = line.map_err(|e| e.to_string()).and_then(|line| serde_json::from_str(&line).map_err(|e| e.to_string()));
            if asked.send(ask).is_err() {
                return;
            }
        }
    })?;
    Ok(asks)
}

/// Makes the server and holds it.
fn serve(order: Order, asks: Receiver<Asked>, limit: Duration) -> Result<(), LabError> {
    let who = order.who.clone();
    let begun = Charge::of(order).and_then(|charge| {
        let made = Folder::make(&charge.folder, charge.recipe.quits);
        Ok((made.map_err(LabError::of_file("make a folder for a server:", &charge.folder))?, charge))
    });
    let (folder, charge) = match begun {
        Ok(begun) => begun,
        Err(error) => {
            tell(0, &Told::Failed(error.into()));
            return Ok(());
        }
    };
    let gone = gone(&charge, asks, limit).map_err(|e| LabError::failed(format!("{who}: cannot start a thread: {e}"), ""));
    let held = gone.map(|gone| {
        let held = hold(&folder, &charge, &gone);
        if let Err(error) = held {
            tell(0, &Told::Failed(error.into()));
            // Its log can be read until then.
            while gone.recv().is_ok() {}
        }
    });
    held.and(folder.remove().map_err(LabError::of_file("remove", &charge.folder)))
}

pub(super) fn tell(number: u64, what: &Told) {
    if let Ok(text) = serde_json::to_string(&(number, what)) {
        // A perbuck that has gone reads no more.
        let _ = io::stdout().write_all((text + "\n").as_bytes());
    }
}

/// Makes the server and waits until it ends, or until perbuck has gone.
fn hold(folder: &Folder, charge: &Charge, gone: &Receiver<Restart>) -> Result<(), LabError> {
    let path = folder.path();
    if let Some((user, group)) = charge.terms.user {
        let data = path.join("data");
        let made = fs::set_permissions(path, Permissions::from_mode(0o711))
            .and_then(|()| DirBuilder::new().mode(0o700).create(&data))
            .and_then(|()| chown(&data, Some(user), Some(group)));
        made.map_err(LabError::of_file("make", &data))?;
    }
    if let Some(kept) = &charge.order.kept {
        let goes = || !matches!(gone.try_recv(), Err(TryRecvError::Disconnected));
        let taken = copy::take_over(path, kept, charge.terms.user, &goes);
        if !taken.map_err(LabError::of_file("copy the prepared data in", kept))? {
            return Ok(());
        }
    }
    for step in &charge.recipe.steps {
        if !take(path, charge, step, gone)? {
            return Ok(());
        }
    }
    let mut running = Running { folder: path, charge, gone, processes: Vec::new() };
    if !running.start(&charge.recipe.stages)? {
        return Ok(());
    }
    tell(0, &Told::Started(started(charge)));
    loop {
        match running.pause()? {
            Pause::Goes => {}
            Pause::Gone => return Ok(()),
            Pause::Restart(Restart { config, step }) => {
                let mut recipe = charge.with_settings(config)?;
                // What is not kept need not be written.
                running.stop(step == WhileStopped::Restore)?;
                if !while_stopped(path, charge, step, gone)? {
                    return Ok(());
                }
                let page_cache_kept =
                    if step == WhileStopped::Cool { perbuck_observe::drop_page_cache(Path::new("/")).err() } else { None };
                for step in charge.kind.settings_steps(&mut recipe) {
                    if !take(path, charge, &step, gone)? {
                        return Ok(());
                    }
                }
                if !running.start(&recipe.stages)? {
                    return Ok(());
                }
                tell(0, &Told::Started(Started { page_cache_kept, ..started(charge) }));
            }
        }
    }
}

/// Does what is asked while a server is stopped; not to its end where perbuck has gone before.
fn while_stopped(folder: &Path, charge: &Charge, step: WhileStopped, gone: &Receiver<Restart>) -> Result<bool, LabError> {
    // With what it noted of its own memory it would read the same pages when it starts, during a trial.
    if let Some(note) = charge.kind.pages_note().map(|note| folder.join(note)).filter(|_| step != WhileStopped::Nothing) {
        match fs::remove_file(&note) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(LabError::of_file("remove", &note)(error)),
            _ => {}
        }
    }
    // The next restart is asked for when this one is over.
    let goes = || !matches!(gone.try_recv(), Err(TryRecvError::Disconnected));
    let copied = match step {
        WhileStopped::Nothing | WhileStopped::Cool => Ok(true),
        WhileStopped::Save => copy::save(folder, &goes),
        WhileStopped::Restore => copy::restore(folder, &goes),
    };
    copied.map_err(LabError::of_file("copy the data in", folder))
}

/// Takes one step; not to its end where perbuck has gone before.
fn take(folder: &Path, charge: &Charge, step: &Step, gone: &Receiver<Restart>) -> Result<bool, LabError> {
    match step {
        Step::Write { file, text } => {
            let path = folder.join(file);
            fs::write(&path, text).map_err(LabError::of_file("write", &path))?;
        }
        Step::Run { program, arguments, input, says } => {
            let mut child = start(folder, charge, (program, arguments), (MAKE_LOG, Stdio::piped()))?;
            say(&mut child, input);
            let ended = ended(&mut child, gone).map_err(LabError::of_file("wait for a program in", folder))?;
            let Some(status) = ended else { return Ok(false) };
            let said = says.as_ref().is_none_or(|word| text_of(&folder.join(MAKE_LOG)).contains(word));
            if !(said && status.success()) {
                return Err(step_failed(folder, charge, program, status));
            }
        }
    }
    Ok(true)
}

/// Writes to the standard input of a program, and closes it.
pub(super) fn say(child: &mut Child, input: &str) {
    if let Some(mut pipe) = child.stdin.take() {
        // A program that ends early reads no more; its status says why.
        let _ = pipe.write_all(input.as_bytes());
    }
}

fn step_failed(folder: &Path, charge: &Charge, program: &Path, status: ExitStatus) -> LabError {
    let words = last_lines(&folder.join(MAKE_LOG)).replace(&charge.order.password, "…");
    // One that fails by its words alone ends as if it had not.
    let how = if status.success() { String::new() } else { format!(" ({status})") };
    let message = format!("{}: {} failed{how}; it said:\n{words}", charge.order.who, program.display());
    LabError::new(ErrorKind::Target, message, "mend the `config` of its `server`, or what the program says")
}

pub(super) fn start(
    folder: &Path,
    charge: &Charge,
    (program, arguments): (&Path, &[OsString]),
    (log, input): (&str, Stdio),
) -> Result<Child, LabError> {
    let log = File::options().append(true).create(true).mode(0o600).open(folder.join(log));
    let started = log.and_then(|log| {
        program::command(folder, &charge.terms, program, arguments)?.stdin(input).stdout(log.try_clone()?).stderr(log).spawn()
    });
    started
        .map_err(|e| LabError::new(ErrorKind::Target, format!("{}: cannot run {}: {e}", charge.order.who, program.display()), ""))
}

/// Waits for the end of a process; nothing where perbuck has gone before.
fn ended(process: &mut Child, gone: &Receiver<Restart>) -> io::Result<Option<ExitStatus>> {
    loop {
        if let Some(status) = process.try_wait()? {
            return Ok(Some(status));
        }
        if matches!(gone.recv_timeout(POLL), Err(RecvTimeoutError::Disconnected)) {
            return Ok(None);
        }
    }
}

/// How perbuck wants the server started again. That ends when perbuck has gone: with standard input, or with the
/// silence of a connection that was cut off.
fn gone(charge: &Charge, asks: Receiver<Asked>, limit: Duration) -> io::Result<Receiver<Restart>> {
    let (tell, told) = channel();
    let (folder, password, last) = (charge.folder.clone(), charge.order.password.clone(), last_process(charge));
    let server = folder.clone();
    let words = move || Told::Doing { doing: folder::doing(&folder), words: last_words(&folder, &last, &password) };
    thread::Builder::new().name("answers".to_owned()).spawn(move || answer((&asks, limit), &tell, &words, &server))?;
    Ok(told)
}

/// Answers what needs nothing of the processes, and passes on the rest.
fn answer((asks, limit): (&Receiver<Asked>, Duration), restart: &Sender<Restart>, doing: &dyn Fn() -> Told, folder: &Path) {
    let root = Path::new("/");
    let (mut watch, mut profiling) = (MachineSampler::new(), None);
    // What cannot be read is no word of perbuck, and the end as well.
    while let Ok(Ok((number, ask))) = asks.recv_timeout(limit) {
        match ask {
            Ask::See => {
                let limits = perbuck_observe::limits_of_children(std::process::id());
                tell(number, &Told::Seen(perbuck_observe::cpu_of_children().map(|cpu| ServerSeen { cpu, limits })));
            }
            Ask::Tune(tuning) => tell(number, &Told::Tuned(tuning::apply(&tuning, folder, root))),
            Ask::Untune => tell(number, &Told::Untuned(tuning::undo(folder, root))),
            Ask::Profile { length, opens_in } => {
                let mut of_children = Profiling::of_children(std::process::id(), length);
                of_children.start(opens_in);
                profiling = Some(of_children);
            }
            Ask::Profiled => {
                tell(number, &Told::Profiled(profiling.take().and_then(|all: Profiling| all.finish().server).map(Box::new)));
            }
            Ask::Watch => {
                profiling.iter_mut().for_each(Profiling::open);
                watch.open();
            }
            Ask::Watched => {
                watch.close();
                tell(number, &Told::Watched(watch.record().map(Box::new)));
            }
            Ask::Doing => tell(number, &doing()),
            Ask::Restart(wanted) => {
                if restart.send(wanted).is_err() {
                    return;
                }
            }
            // It comes each second.
            Ask::Pulse => watch.read(),
            // A guard makes one server.
            Ask::Look(_)
            | Ask::Clean(_)
            | Ask::Start(_)
            | Ask::Serve(_)
            | Ask::Examine
            | Ask::Load(_)
            | Ask::Put(_)
            | Ask::CanProfile => return,
        }
    }
}

fn started(charge: &Charge) -> Started {
    let program = charge.programs.first().cloned().unwrap_or_default();
    Started {
        target: charge.recipe.target.clone(),
        folder: charge.folder.clone(),
        file_system: perbuck_observe::file_system(&charge.folder),
        // Of one on its own machine perbuck asks the process itself.
        build: if charge.order.is_remote { perbuck_observe::build_of_file(&program) } else { Build::default() },
        program,
        page_cache_kept: None,
    }
}

/// The process that is started last.
fn last_process(charge: &Charge) -> String {
    charge.recipe.stages.iter().flatten().last().map_or(String::new(), |process| process.name.clone())
}
