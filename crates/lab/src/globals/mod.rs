//! Global settings of running servers that a study declares for its trials (`server_settings`).
//!
//! They hold while trials run. Data are loaded and checked under the settings that the server had, so that every load is done in the
//! same way. [`journal`] notes a change in the folder of results before it is made: the next run restores what a killed one left.
//! [`variable`] is one variable of one server.

mod contender;
mod journal;
mod variable;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use perbuck_core::study::{Contender, Located, Study, WorkloadSpec};
use perbuck_load::error::ErrorClass;
use perbuck_load::stop::StopToken;
use perbuck_load::watch::Finishing;

use self::contender::{ContenderSettings, same};
pub(crate) use self::journal::SETTINGS_FILE;
use self::journal::{Change, Journal};
use self::variable::shown;
use crate::error::LabError;
use crate::progress::Progress;
use crate::session::first_failure;
use crate::stage::Stage;

/// The settings of a study, and which of them are in force.
pub(crate) struct Globals<'a> {
    contenders: Vec<ContenderSettings<'a>>,
    /// Pairs of contenders where a setting of one was seen to change what the other reads. They have one server under two names, or
    /// share their settings, as the servers of a TiDB cluster do.
    linked: BTreeSet<(usize, usize)>,
    changes: Vec<Change>,
    journal: Journal,
    stop: StopToken,
    announced: BTreeSet<String>,
}

/// Whether a run that did not come to its end has left settings on servers.
pub(crate) fn left_behind(root: &Path) -> bool {
    Journal::of(root).path().exists()
}

/// Why settings of a contender cannot be set on its servers: each is read, and set to the value that it has.
pub(crate) fn refused(name: &str, settings: &BTreeMap<String, Located<String>>, stage: &Stage) -> Vec<LabError> {
    let contender = ContenderSettings::new((name.to_owned(), name), settings.clone(), stage);
    let all = contender.endpoints.iter().flat_map(|endpoint| settings.keys().map(move |name| (endpoint, name)));
    all.filter_map(|(endpoint, name)| contender.refused_as_it_is(endpoint, name)).collect()
}

impl<'a> Globals<'a> {
    /// Restores what a killed run left. Then tries every setting once: one that cannot be set is found before anything is loaded. `stages` are those of the study: contenders in its order, workloads within.
    pub(crate) fn start(
        study: &'a Study,
        stages: &'a [Stage],
        root: &Path,
        stop: &StopToken,
        progress: &mut dyn Progress,
    ) -> Result<Self, LabError> {
        let journal = Journal::of(root);
        let first = |c: usize| stages.get(c * study.workloads.len());
        let in_state = |(c, contender): (usize, &'a Contender), spec: &WorkloadSpec| {
            let name = (study.state_name(&contender.name, spec), contender.name.as_str());
            Some(ContenderSettings::new(name, study.contender_at(contender, spec).server_settings, first(c)?))
        };
        let settings_of = |contender| study.by_state().into_iter().filter_map(move |spec| in_state(contender, spec));
        let sets = |spec: &WorkloadSpec| study.contenders.iter().any(|c| !study.contender_at(c, spec).server_settings.is_empty());
        let concerned = journal.path().exists() || study.workloads.iter().any(sets);
        let contenders = study.contenders.iter().enumerate().filter(|_| concerned).flat_map(settings_of).collect();
        let (linked, announced, stop) = (BTreeSet::new(), BTreeSet::new(), stop.clone());
        let mut globals = Self { contenders, linked, changes: Vec::new(), journal, stop, announced };
        globals.tidy_up(progress)?;
        let tried = globals.try_all();
        let restored = globals.restore(&|_| true).map(drop);
        first_failure(tried, restored, progress)?;
        Ok(globals)
    }

    /// Lets the settings of a contender be in force, and no others on its servers; says so the first time. With factors its name is that of
    /// a state ([`Study::state_name`]).
    pub(crate) fn hold(&mut self, contender: &str) -> Result<Option<String>, LabError> {
        let Some(me) = self.contenders.iter().position(|p| p.name == contender) else { return Ok(None) };
        let others: Vec<String> =
            (0..self.contenders.len()).filter(|p| self.meet(*p, me)).map(|p| self.contenders[p].name.clone()).collect();
        self.restore(&|change| others.contains(&change.contender))?;
        let mut said = Vec::new();
        if self.of(me).is_empty() {
            self.set(me)?;
        } else {
            said.extend(self.mend(me)?);
        }
        if !self.of(me).is_empty() && self.announced.insert(contender.to_owned()) {
            said.push(self.announcement(me));
        }
        Ok(Some(said.join("\n")).filter(|s| !s.is_empty()))
    }

    /// Restores the servers of a contender, for whichever contender they were set, before something is done that is no trial.
    pub(crate) fn release(&mut self, contender: &str) -> Result<(), LabError> {
        let mine: Vec<usize> = (0..self.contenders.len()).filter(|p| self.contenders[*p].contender == contender).collect();
        let there = |p: &usize| mine.iter().any(|me| same(&self.contenders[*p], &self.contenders[*me]) || self.meet(*p, *me));
        let all: Vec<String> = (0..self.contenders.len()).filter(there).map(|p| self.contenders[p].name.clone()).collect();
        self.restore(&|change| all.contains(&change.contender)).map(drop)
    }

    /// Makes sure that the settings of a contender are still in force after a trial. A server that is away says nothing.
    pub(crate) fn held(&self, contender: &str) -> Result<(), LabError> {
        let Some(me) = self.contenders.iter().position(|p| p.name == contender) else { return Ok(()) };
        // A trial that has ended is kept only where this was looked at.
        let _finishing = Finishing::start();
        for change in self.of(me).into_iter().map(|i| &self.changes[i]) {
            let Some(host) = self.contenders[me].host(&change.endpoint) else { continue };
            let Ok(now) = variable::read(self.contenders[me].stage, host, &change.name) else { continue };
            if now != change.became {
                let (Change { name, endpoint, .. }, became, now) = (change, shown(&change.became), shown(&now));
                let message = format!(
                    "{contender}: {name} at {endpoint} changed from {became} to {now} during the trial. The server restarted, or another client changed it. The trial was discarded"
                );
                let help =
                    "leave that setting to perbuck during a study, and run the same command again; finished trials are kept";
                return Err(LabError::failed(message, help));
            }
        }
        Ok(())
    }

    /// Restores everything and says so. What cannot be restored stays noted for the next run.
    pub(crate) fn end(&mut self, progress: &mut dyn Progress) -> Result<(), LabError> {
        let lines = self.restore(&|_| true)?;
        lines.iter().for_each(|line| progress.line(line));
        Ok(())
    }

    fn tidy_up(&mut self, progress: &mut dyn Progress) -> Result<(), LabError> {
        self.changes = self.journal.read()?;
        for change in &self.changes {
            if self.owner(change).is_none() {
                let Change { name, endpoint, wanted, became, .. } = change;
                let (now, was) = (became.as_ref().unwrap_or(wanted), variable::literal(change.was.as_deref()));
                let message =
                    format!("a run that was killed has left {name} = {now} at {endpoint}, which this command does not drive");
                let help = format!(
                    "run the study that names that server, or restore it yourself (SET GLOBAL {name} = {was}) and delete {}",
                    self.journal.path().display()
                );
                return Err(LabError::refused(message, help));
            }
            // The file may have been written by another program: only what the study sets anyway is set by it.
            if !self.contenders.iter().any(|p| p.settings.contains_key(&change.name)) {
                let Change { name, endpoint, .. } = change;
                let file = self.journal.path().display();
                let message = format!(
                    "{file} says that a killed run changed {name} at {endpoint}, but no contender of this study sets {name}"
                );
                let help = format!(
                    "if a run of yours changed it, restore it yourself (SET GLOBAL {name} = {}); then delete {file}",
                    variable::literal(change.was.as_deref())
                );
                return Err(LabError::refused(message, help));
            }
        }
        for line in self.restore(&|_| true)? {
            progress.line(&format!("{line} (a run that was killed had left it)"));
        }
        Ok(())
    }

    fn try_all(&mut self) -> Result<(), LabError> {
        for me in 0..self.contenders.len() {
            // One after the other: two contenders may share a server.
            let before = self.seen_by_others(me);
            self.set(me)?;
            let after = self.seen_by_others(me);
            let moved = (0..before.len()).filter(|other| before[*other] != after[*other]);
            self.linked.extend(moved.flat_map(|other| [(me, other), (other, me)]));
            self.restore(&|_| true)?;
        }
        Ok(())
    }

    /// What every other contender reads where this one has settings; nothing where it cannot.
    fn seen_by_others(&self, me: usize) -> Vec<Vec<Option<String>>> {
        let one = |(i, p): (usize, &ContenderSettings<'_>)| {
            let mut seen = Vec::new();
            for host in (0..p.endpoints.len() as u32).filter(|_| i != me) {
                for name in self.contenders[me].settings.keys() {
                    match variable::read(p.stage, host, name) {
                        Ok(value) => seen.push(value),
                        // A server that is away is reported where it is needed, and is not waited for at each name.
                        Err(error) if error.class == ErrorClass::Lost => break,
                        Err(_) => seen.push(None),
                    }
                }
            }
            seen
        };
        self.contenders.iter().enumerate().map(one).collect()
    }

    /// Whether the settings of one contender would be in force on a server of another one that asks for something else.
    fn meet(&self, a: usize, b: usize) -> bool {
        let (one, other) = (&self.contenders[a], &self.contenders[b]);
        !same(one, other) && (!one.addresses.is_disjoint(&other.addresses) || self.linked.contains(&(a, b)))
    }

    /// The changes that are in force for a contender: its own, or those of one that asks the same of the same servers.
    fn of(&self, me: usize) -> Vec<usize> {
        let me = &self.contenders[me];
        let asks_the_same = |c: &Change| self.contenders.iter().any(|p| p.name == c.contender && same(p, me));
        (0..self.changes.len()).filter(|i| asks_the_same(&self.changes[*i])).collect()
    }

    /// The contender by whose sessions a change is restored: the one it was made for, or another one on that server.
    fn owner(&self, change: &Change) -> Option<&ContenderSettings<'a>> {
        let on_it = |p: &&ContenderSettings<'_>| p.host(&change.endpoint).is_some();
        self.contenders.iter().filter(on_it).find(|p| p.name == change.contender).or_else(|| self.contenders.iter().find(on_it))
    }

    /// Reads and notes all old values before the first one is set: on TiDB a global variable belongs to all servers.
    fn set(&mut self, me: usize) -> Result<(), LabError> {
        let owner = &self.contenders[me];
        let first = self.changes.len();
        let mut fresh = Vec::new();
        for endpoint in &owner.endpoints {
            for (name, wanted) in &owner.settings {
                let was = owner.read(endpoint, name)?;
                if !was.as_deref().is_none_or(variable::is_plain) {
                    let why = "holds a quote, a backslash or a control character, which perbuck cannot restore";
                    let message = format!("{}: {name} at {endpoint} {why}", owner.name);
                    return Err(LabError::refused(message, "leave it out of `server_settings` and set it yourself"));
                }
                let (contender, endpoint, name) = (owner.name.clone(), endpoint.clone(), name.clone());
                fresh.push(Change { contender, endpoint, name, was, wanted: wanted.value.clone(), became: None });
            }
        }
        if fresh.is_empty() {
            return Ok(());
        }
        self.changes.extend(fresh);
        self.note_changes()?;
        owner.put_all(&mut self.changes[first..])?;
        self.note_changes()
    }

    /// Sets again settings that are no longer in force, as after a restart of the server; says so.
    fn mend(&mut self, me: usize) -> Result<Vec<String>, LabError> {
        let mut said = Vec::new();
        for i in self.of(me) {
            let (owner, change) = (&self.contenders[me], &mut self.changes[i]);
            let now = owner.read(&change.endpoint, &change.name)?;
            if now != change.became {
                owner.put(change)?;
                let (Change { name, endpoint, .. }, now) = (&*change, shown(&now));
                said.push(format!("{}: {name} at {endpoint} was {now} again, as after a restart; it is set again", owner.name));
            }
        }
        Ok(said)
    }

    /// Restores the chosen changes, as many as can be; returns a line for each.
    fn restore(&mut self, chosen: &dyn Fn(&Change) -> bool) -> Result<Vec<String>, LabError> {
        if !self.changes.iter().any(chosen) {
            return Ok(Vec::new());
        }
        let _finishing = Finishing::start();
        let (mut lines, mut failure, mut done, mut ours) = (Vec::new(), None, BTreeSet::new(), Vec::new());
        // All are read before one is set, since setting one may move another. The last one goes first: where one limits the other,
        // both can be restored only against the order of setting.
        for i in (0..self.changes.len()).rev().filter(|i| chosen(&self.changes[*i])) {
            let change = &self.changes[i];
            let (name, endpoint, was) = (&change.name, &change.endpoint, shown(&change.was));
            let Some((owner, host)) = self.owner(change).and_then(|p| Some((p, p.host(endpoint)?))) else { continue };
            match variable::read(owner.stage, host, name) {
                Ok(now) if change.is_overridden(&now) => {
                    done.insert(i);
                    let (now, stays) = (shown(&now), "set by another client; perbuck leaves it");
                    lines.push(format!("{}: {name} at {endpoint} is {now}, {stays} (it was {was})", owner.name));
                }
                Ok(_) => ours.push((i, owner, host)),
                Err(error) => _ = failure.get_or_insert(owner.not_restored(change, &error.to_string())),
            }
        }
        let mut moved = BTreeSet::new();
        // Twice: the variable that limits another one may have been restored after it.
        for _ in 0..2 {
            for (i, owner, host) in &ours {
                match variable::restore(owner.stage, *host, &self.changes[*i]) {
                    Ok(set) => moved.extend(set.then_some(*i)),
                    Err(error) => _ = failure.get_or_insert(owner.not_restored(&self.changes[*i], &error.to_string())),
                }
            }
            if failure.is_some() {
                break;
            }
        }
        for (i, owner, host) in ours {
            let change = &self.changes[i];
            match variable::read(owner.stage, host, &change.name) {
                Ok(now) if now == change.was => {
                    done.insert(i);
                    let was = shown(&change.was);
                    let line = || format!("{}: restored {} = {was} at {}", owner.name, change.name, change.endpoint);
                    lines.extend(moved.contains(&i).then(line));
                }
                Ok(now) => {
                    let why = format!("the server makes {} of it", shown(&now));
                    failure.get_or_insert(owner.not_restored(change, &why));
                }
                Err(error) => _ = failure.get_or_insert(owner.not_restored(change, &error.to_string())),
            }
        }
        let mut number = 0..;
        self.changes.retain(|_| number.next().is_some_and(|i| !done.contains(&i)));
        self.note_changes()?;
        failure.map_or(Ok(lines), Err)
    }

    /// Notes what is changed now, for the next run and for a user who does not let perbuck restore it.
    fn note_changes(&self) -> Result<(), LabError> {
        let command = |c: &Change| format!("{}: SET GLOBAL {} = {}", c.endpoint, c.name, variable::literal(c.was.as_deref()));
        self.stop.waits().leave(self.changes.iter().map(command).collect());
        self.journal.write(&self.changes)
    }

    fn announcement(&self, me: usize) -> String {
        let several = self.contenders[me].endpoints.len() > 1;
        let one = |change: &Change| {
            let Change { name, wanted, was, became, endpoint, .. } = change;
            let made = if variable::taken(wanted, became.as_deref()) {
                wanted.clone()
            } else {
                format!("{} (asked for {wanted})", shown(became))
            };
            let at = if several { format!(" at {endpoint}") } else { String::new() };
            format!("{name} = {made}{at}, it was {}", shown(was))
        };
        let all: Vec<String> = self.of(me).into_iter().map(|i| one(&self.changes[i])).collect();
        format!("{}: while its trials run, SET GLOBAL {}; restored afterwards", self.contenders[me].name, all.join("; "))
    }
}
