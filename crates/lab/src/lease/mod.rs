//! The lease of a database: one perbuck at a time loads it or runs on it ([why so](../../../../docs/adr/0003-lease.md)). A second one is
//! told who holds it. Contenders of one study may share a database, and servers that perbuck starts are known to no one else.

mod file;
mod holder;
mod table;

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use perbuck_core::study::Study;
use perbuck_load::error::Cause;
use perbuck_load::query::Query;
use perbuck_load::stop::StopToken;
use perbuck_load::watch::Finishing;

use crate::error::{ErrorKind, LabError};
use crate::progress::Progress;
use crate::stage::Stage;
use file::Locked;
use holder::Holder;
pub(crate) use table::TABLE;
use table::{Row, Table};

/// How often a holder gives a sign of life.
const RENEWAL: Duration = Duration::from_secs(5);
/// For how long there must be none before another perbuck takes over: three of them, and a second.
const EXPIRY: Duration = Duration::from_secs(16);
/// How often a sign is looked for.
const LOOK: Duration = Duration::from_millis(500);
const HELP: &str = "wait until it has ended, or stop it; the lease of one that was killed on another machine ends within 16 s";

/// What stands in the way of a lease.
#[derive(Debug)]
enum Found {
    /// Another process, which may not say who it is.
    Held(Option<Holder>),
    /// There can be none.
    Unusable(String),
}

/// The leases of the databases of a study, until they are dropped.
pub(crate) struct Leases {
    shared: Arc<Shared>,
    renewal: Option<JoinHandle<()>>,
    files: Vec<Locked>,
}

/// What the thread that renews them shares with the run.
struct Shared {
    own: Holder,
    tables: Vec<Table>,
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Default)]
struct State {
    ended: bool,
    /// Why a lease is another one's now.
    lost: Option<String>,
}

impl Leases {
    /// Takes the leases of all databases that others know of. Where there can be none, as for a user who may not make a table, says
    /// so and goes on.
    ///
    /// # Errors
    /// Another perbuck holds one of them; a server that cannot be reached.
    pub(crate) fn take(study: &Study, stages: &[Stage], stop: &StopToken, progress: &mut dyn Progress) -> Result<Self, LabError> {
        let own = Holder::own(&study.name);
        let mut leases = Self { shared: Arc::new(Shared::new(own.clone())), renewal: None, files: Vec::new() };
        let (mut tables, mut seen) = (Vec::new(), Vec::new());
        for stage in stages.iter().filter(|stage| !stage.private) {
            if seen.contains(&&stage.address) {
                continue;
            }
            seen.push(&stage.address);
            let taken = match &stage.lease_file {
                Some(path) => file::take(path, &own).map(|locked| leases.files.push(locked)),
                None => take_row(stage, &own, stop, progress)?.map(|table| tables.extend(table)),
            };
            match taken {
                Err(Found::Held(Some(holder))) if holder.is(&own) => {}
                Err(Found::Held(holder)) => return Err(held(stage, holder.as_ref())),
                Err(Found::Unusable(why)) => {
                    progress.alert(&format!("{}: no lease keeps a second perbuck away: {why}", stage.title));
                }
                Ok(()) => {}
            }
            // Each one that was taken ends with this value, whatever the next one says.
            leases.shared = Arc::new(Shared { tables: tables.clone(), ..Shared::new(own.clone()) });
        }
        if !tables.is_empty() {
            let shared = leases.shared.clone();
            let renewal = thread::Builder::new().name("lease".to_owned()).spawn(move || shared.renew());
            leases.renewal = Some(renewal.map_err(|e| LabError::failed(format!("cannot start a thread: {e}"), ""))?);
        }
        Ok(leases)
    }

    /// What writes the lease of a stage's database into data that take the place of these.
    pub(crate) fn notes_of(&self, stage: &Stage) -> Vec<Query> {
        let table = self.shared.tables.iter().find(|table| table.address == stage.address);
        table.map_or_else(Vec::new, |table| table.notes(&self.shared.own).into())
    }

    /// Whether all are still ours.
    ///
    /// # Errors
    /// Another perbuck took one over, because the server did not get the signs of this one in time.
    pub(crate) fn held(&self) -> Result<(), LabError> {
        let lost = lock(&self.shared.state).lost.clone();
        lost.map_or(Ok(()), |why| {
            Err(LabError::refused(why, "stop one of the two, and run the same command again; finished trials are kept"))
        })
    }
}

impl Drop for Leases {
    fn drop(&mut self) {
        lock(&self.shared.state).ended = true;
        self.shared.ended.notify_all();
        if let Some(renewal) = self.renewal.take() {
            // It has no result.
            let _ = renewal.join();
        }
        let _finishing = Finishing::start();
        // What a server does not take back now ends with this process, or by the want of its signs.
        self.shared.tables.iter().for_each(|table| table.release(&self.shared.own));
    }
}

impl Shared {
    fn new(own: Holder) -> Self {
        Self { own, tables: Vec::new(), state: Mutex::default(), ended: Condvar::new() }
    }

    fn renew(&self) {
        let mut state = lock(&self.state);
        for beat in 1.. {
            let waited = self.ended.wait_timeout_while(state, RENEWAL, |state| !state.ended);
            state = waited.map_or_else(|e| e.into_inner().0, |(state, _)| state);
            if state.ended {
                return;
            }
            drop(state);
            let lost = self.tables.iter().find_map(|table| self.lost(table, beat));
            state = lock(&self.state);
            state.lost = state.lost.take().or(lost);
        }
    }

    /// A server that does not answer now is asked again, as one that is started again.
    fn lost(&self, table: &Table, beat: u64) -> Option<String> {
        let row = table.renew(&self.own, beat).ok()??;
        let words = row.holder().map_or_else(|| "another program".to_owned(), |holder| holder.words());
        Some(format!("{}: {words} took over the lease of its database", table.title))
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The row of a stage's database, now that of `own`; `None` where it was already.
fn take_row(
    stage: &Stage,
    own: &Holder,
    stop: &StopToken,
    progress: &mut dyn Progress,
) -> Result<Result<Option<Table>, Found>, LabError> {
    let table = Table::of(stage);
    loop {
        match table.make() {
            Err(error) if error.kind() == ErrorKind::Failed || error.cause() == Some(Cause::NoRight) => {
                return Ok(Err(Found::Unusable(error.words().0.to_owned())));
            }
            made => made?,
        }
        let row = table.read(None).map_err(|e| LabError::target(&table.title, &e))?;
        let holder = row.as_ref().and_then(Row::holder);
        if holder.as_ref().is_some_and(|holder| holder.is(own)) {
            return Ok(Ok(None));
        }
        if let Some(row) = &row {
            match alive(&table, row, stop, &mut |line| progress.alert(line))? {
                Life::Runs => return Ok(Err(Found::Held(holder))),
                Life::Moved => continue,
                Life::Gone => {}
            }
        }
        if table.claim(row.as_ref(), own)? {
            if let Some(holder) = holder {
                progress.alert(&format!("{}: {} was killed; its lease is taken over", table.title, holder.words()));
            }
            return Ok(Ok(Some(table)));
        }
    }
}

/// What is seen of the holder of a row.
enum Life {
    Runs,
    /// Another one, or none, has the row now.
    Moved,
    Gone,
}

/// Whether the holder of a row lives: its process, where that can be seen from here, or else its next sign.
fn alive(table: &Table, row: &Row, stop: &StopToken, say: &mut dyn FnMut(&str)) -> Result<Life, LabError> {
    let holder = row.holder();
    match holder.as_ref().and_then(Holder::still_runs) {
        Some(true) => return Ok(Life::Runs),
        Some(false) => return Ok(Life::Gone),
        None => {}
    }
    let words = holder.map_or_else(|| "a holder that perbuck cannot read".to_owned(), |holder| holder.words());
    say(&format!(
        "{}: the lease of its database is that of {words}; waiting up to {} s for a sign of it",
        table.title,
        EXPIRY.as_secs()
    ));
    let began = Instant::now();
    while began.elapsed() < EXPIRY {
        if stop.requested() {
            return Err(LabError::interrupted());
        }
        thread::sleep(LOOK);
        match table.read(None).map_err(|e| LabError::target(&table.title, &e))? {
            Some(now) if now == *row => {}
            Some(now) if now.holder() == row.holder() => return Ok(Life::Runs),
            _ => return Ok(Life::Moved),
        }
    }
    Ok(Life::Gone)
}

fn held(stage: &Stage, holder: Option<&Holder>) -> LabError {
    let words = holder.map_or_else(|| "a process that has not said who it is".to_owned(), Holder::words);
    LabError::refused(format!("{}: another perbuck uses its database: {words}", stage.title), HELP)
}

/// Makes sure that no study loads the database of a stage or runs on it, without taking its lease: for commands of which several may
/// run at the same time. `say` hears what is waited for.
///
/// # Errors
/// A study does; a server that cannot be reached.
pub fn no_study_runs(stage: &Stage, stop: &StopToken, say: &mut dyn FnMut(&str)) -> Result<(), LabError> {
    if let Some(path) = &stage.lease_file {
        return file::seen(path).map_or(Ok(()), |holder| Err(held(stage, holder.as_ref())));
    }
    let table = Table::of(stage);
    while table.exists()? {
        let Some(row) = table.read(None).map_err(|e| LabError::target(&table.title, &e))? else { break };
        match alive(&table, &row, stop, say)? {
            Life::Runs => return Err(held(stage, row.holder().as_ref())),
            Life::Gone => break,
            Life::Moved => {}
        }
    }
    Ok(())
}
