//! Global settings of running servers that a study declares for its trials (`server_settings`).
//!
//! They hold while trials run: data are loaded and checked under the settings that the server had, so that every load is done
//! in the same way. [`journal`] notes a change in the folder of results before it is made, so that the next run puts back what
//! a killed one left; [`variable`] is one variable of one server.

mod journal;
mod party;
mod variable;

use std::collections::BTreeSet;
use std::path::Path;

use perbuck_core::study::Study;
use perbuck_load::error::DriverError;
use perbuck_load::error::ErrorClass;

use self::journal::{Change, Journal};
use self::party::{Party, same};
use self::variable::Whose;
use crate::error::LabError;
use crate::progress::Progress;
use crate::stage::Stage;

/// The settings of a study, and which of them are in force.
pub(crate) struct Globals<'a> {
    parties: Vec<Party<'a>>,
    /// Pairs of contenders where a setting of one was seen to change what the other reads: servers that are one by names that do
    /// not tell, or that share their settings, as those of a TiDB cluster do.
    linked: BTreeSet<(usize, usize)>,
    changes: Vec<Change>,
    journal: Journal,
    announced: BTreeSet<String>,
}

/// Whether a run that did not come to its end has left settings on servers.
pub(crate) fn left_behind(root: &Path) -> bool {
    Journal::of(root).path().exists()
}

impl<'a> Globals<'a> {
    /// Puts back what a killed run left, and tries every setting once, so that one that cannot be set is found before anything
    /// is loaded. `stages` are those of the study: contenders in its order, workloads within.
    ///
    /// # Errors
    /// A server that cannot be reached, a variable that it does not have or does not let us set.
    pub(crate) fn begin(
        study: &'a Study,
        stages: &'a [Stage],
        root: &Path,
        progress: &mut dyn Progress,
    ) -> Result<Self, LabError> {
        let journal = Journal::of(root);
        let first = |c: usize| stages.get(c * study.workloads.len());
        let party = |(c, contender): (usize, &'a perbuck_core::study::Contender)| {
            Some(Party::new(&contender.name, &contender.server_settings, first(c)?))
        };
        let concerned = journal.path().exists() || study.contenders.iter().any(|c| !c.server_settings.is_empty());
        let parties = study.contenders.iter().enumerate().filter(|_| concerned).filter_map(party).collect();
        let mut globals = Self { parties, linked: BTreeSet::new(), changes: Vec::new(), journal, announced: BTreeSet::new() };
        globals.tidy_up(progress)?;
        let tried = globals.try_all();
        let back = globals.put_back(&|_| true).map(|_| ());
        if let (Err(_), Err(second)) = (&tried, &back) {
            progress.line(&format!("perbuck: {second}"));
        }
        tried.and(back)?;
        Ok(globals)
    }

    /// Lets the settings of a contender be in force, and no others on its servers; says so the first time.
    ///
    /// # Errors
    /// As [`Self::begin`].
    pub(crate) fn hold(&mut self, contender: &str) -> Result<Option<String>, LabError> {
        let Some(me) = self.parties.iter().position(|p| p.name == contender) else { return Ok(None) };
        let others: Vec<&str> = (0..self.parties.len()).filter(|p| self.meet(*p, me)).map(|p| self.parties[p].name).collect();
        self.put_back(&|change| others.contains(&change.contender.as_str()))?;
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

    /// Puts back what is set on the servers of a contender, whoever asked for it, before something is done that is no trial.
    ///
    /// # Errors
    /// A server that cannot be reached.
    pub(crate) fn release(&mut self, contender: &str) -> Result<(), LabError> {
        let Some(me) = self.parties.iter().position(|p| p.name == contender) else { return Ok(()) };
        let there = |p: &usize| same(&self.parties[*p], &self.parties[me]) || self.meet(*p, me);
        let all: Vec<&str> = (0..self.parties.len()).filter(there).map(|p| self.parties[p].name).collect();
        self.put_back(&|change| all.contains(&change.contender.as_str())).map(|_| ())
    }

    /// Whether the settings of a contender still are in force after a trial. A server that is away says nothing.
    ///
    /// # Errors
    /// A setting that was changed meanwhile.
    pub(crate) fn held(&self, contender: &str) -> Result<(), LabError> {
        let Some(me) = self.parties.iter().position(|p| p.name == contender) else { return Ok(()) };
        for change in self.of(me).into_iter().map(|i| &self.changes[i]) {
            let Some(host) = self.parties[me].host(&change.place) else { continue };
            let Ok(now) = variable::read(self.parties[me].stage, host, &change.name) else { continue };
            if now != change.became {
                let message = format!(
                    "{contender}: {} at {} went from {} to {} while the trial ran, by a restart of the server or by somebody else; the trial is thrown away",
                    change.name,
                    change.place,
                    variable::shown(change.became.as_deref()),
                    variable::shown(now.as_deref())
                );
                let help = "let nobody else change that setting, and run the same command again; finished trials are kept";
                return Err(LabError::failed(message, help));
            }
        }
        Ok(())
    }

    /// Puts everything back and says so. What cannot be put back stays noted for the next run.
    ///
    /// # Errors
    /// The first that could not be put back.
    pub(crate) fn end(&mut self, progress: &mut dyn Progress) -> Result<(), LabError> {
        let lines = self.put_back(&|_| true)?;
        lines.iter().for_each(|line| progress.line(line));
        Ok(())
    }

    fn tidy_up(&mut self, progress: &mut dyn Progress) -> Result<(), LabError> {
        self.changes = self.journal.read()?;
        for change in &self.changes {
            if self.owner(change).is_none() {
                let message = format!(
                    "a run that was killed has left {} = {} at {}, which this command does not drive",
                    change.name,
                    variable::shown(change.became.as_deref().or(Some(&change.wanted))),
                    change.place
                );
                let help = format!(
                    "run the study that names that server, or put it back yourself (SET GLOBAL {} = {}) and delete {}",
                    change.name,
                    variable::literal(change.was.as_deref()),
                    self.journal.path().display()
                );
                return Err(LabError::refused(message, help));
            }
        }
        for line in self.put_back(&|_| true)? {
            progress.line(&format!("{line} (a run that was killed had left it)"));
        }
        Ok(())
    }

    fn try_all(&mut self) -> Result<(), LabError> {
        for me in 0..self.parties.len() {
            // One after the other: two contenders may share a server.
            let before = self.seen_by_others(me);
            self.set(me)?;
            let after = self.seen_by_others(me);
            let moved = (0..before.len()).filter(|other| before[*other] != after[*other]);
            self.linked.extend(moved.flat_map(|other| [(me, other), (other, me)]));
            self.put_back(&|_| true)?;
        }
        Ok(())
    }

    /// What every other contender reads where this one has settings; nothing where it cannot.
    fn seen_by_others(&self, me: usize) -> Vec<Vec<Option<String>>> {
        let one = |(i, p): (usize, &Party<'_>)| {
            let mut seen = Vec::new();
            for host in (0..p.places.len() as u32).filter(|_| i != me) {
                for name in self.parties[me].settings.keys() {
                    match variable::read(p.stage, host, name) {
                        Ok(value) => seen.push(value),
                        // A server that is away is told of where it is needed, and is not waited for at each name.
                        Err(error) if error.class == ErrorClass::Lost => break,
                        Err(_) => seen.push(None),
                    }
                }
            }
            seen
        };
        self.parties.iter().enumerate().map(one).collect()
    }

    /// Whether the settings of one contender would be in force on a server of another one that asks for something else.
    fn meet(&self, a: usize, b: usize) -> bool {
        let (one, other) = (&self.parties[a], &self.parties[b]);
        !same(one, other) && (!one.addresses.is_disjoint(&other.addresses) || self.linked.contains(&(a, b)))
    }

    /// The changes that are in force for a contender: its own, or those of one that asks the same of the same servers.
    fn of(&self, me: usize) -> Vec<usize> {
        let me = &self.parties[me];
        let alike = |c: &Change| self.parties.iter().any(|p| p.name == c.contender && same(p, me));
        (0..self.changes.len()).filter(|i| alike(&self.changes[*i])).collect()
    }

    /// The contender by whose sessions a change is put back: the one it was made for, or another one on that server.
    fn owner(&self, change: &Change) -> Option<&Party<'a>> {
        let on_it = |p: &&Party<'_>| p.host(&change.place).is_some();
        self.parties.iter().filter(on_it).find(|p| p.name == change.contender).or_else(|| self.parties.iter().find(on_it))
    }

    /// Reads and notes all old values before the first one is set: on TiDB a global variable belongs to all servers.
    fn set(&mut self, me: usize) -> Result<(), LabError> {
        let party = &self.parties[me];
        let failed = |place: &str, name: &str| {
            let (who, place, name) = (party.name.to_owned(), place.to_owned(), name.to_owned());
            move |error: DriverError| variable::refused(&who, party.stage, &place, &name, &error)
        };
        let begin = self.changes.len();
        let mut fresh = Vec::new();
        for (host, place) in (0..).zip(&party.places) {
            for (name, wanted) in party.settings {
                let was = variable::read(party.stage, host, name).map_err(failed(place, name))?;
                if !variable::is_plain(was.as_deref()) {
                    let message = format!(
                        "{}: {name} at {place} now holds a quote or a backslash, which could not be put back",
                        party.name
                    );
                    return Err(LabError::refused(message, "leave it out of `server_settings` and set it yourself"));
                }
                let (contender, place, name) = (party.name.to_owned(), place.clone(), name.clone());
                fresh.push(Change { contender, place, name, was, wanted: wanted.value.clone(), became: None });
            }
        }
        if fresh.is_empty() {
            return Ok(());
        }
        self.changes.extend(fresh);
        self.journal.write(&self.changes)?;
        party.put_all(&mut self.changes[begin..])?;
        self.journal.write(&self.changes)
    }

    /// Sets again what is no longer in force, as after a restart of the server; says so.
    fn mend(&mut self, me: usize) -> Result<Vec<String>, LabError> {
        let mut said = Vec::new();
        for i in self.of(me) {
            let (party, change) = (&self.parties[me], &mut self.changes[i]);
            let host = party.host(&change.place).unwrap_or(0);
            let failed = |error| variable::refused(party.name, party.stage, &change.place, &change.name, &error);
            let now = variable::read(party.stage, host, &change.name).map_err(failed)?;
            if now != change.became {
                party.put(change)?;
                said.push(format!(
                    "{}: {} at {} was {} again, as after a restart; it is set again",
                    party.name,
                    change.name,
                    change.place,
                    variable::shown(now.as_deref())
                ));
            }
        }
        Ok(said)
    }

    /// Puts back the chosen changes, as many as can be; a line for each contender.
    fn put_back(&mut self, chosen: &dyn Fn(&Change) -> bool) -> Result<Vec<String>, LabError> {
        if !self.changes.iter().any(chosen) {
            return Ok(Vec::new());
        }
        let (mut lines, mut failure, mut done, mut ours) = (Vec::new(), None, BTreeSet::new(), Vec::new());
        // All are looked at before one is set, since setting one may move another. The last one goes first: where one limits
        // the other, both can be set back only in the order against that of setting.
        for i in (0..self.changes.len()).rev().filter(|i| chosen(&self.changes[*i])) {
            let change = &self.changes[i];
            let (name, place, was) = (&change.name, &change.place, variable::shown(change.was.as_deref()));
            let Some((party, host)) = self.owner(change).and_then(|p| Some((p, p.host(place)?))) else { continue };
            match variable::whose(party.stage, host, change) {
                Ok(Whose::Ours) => ours.push((i, party, host)),
                Ok(Whose::Theirs(now)) => {
                    done.insert(i);
                    let stays = "which somebody else has set; it stays so";
                    lines.push(format!("{}: {name} at {place} is {now}, {stays} (it was {was})", party.name));
                }
                Err(error) => _ = failure.get_or_insert(party.not_back(change, &error.to_string())),
            }
        }
        let mut moved = BTreeSet::new();
        // Twice: what limits a variable may have been put back after it.
        for _ in 0..2 {
            for (i, party, host) in &ours {
                match variable::put_back(party.stage, *host, &self.changes[*i]) {
                    Ok(set) => moved.extend(set.then_some(*i)),
                    Err(error) => _ = failure.get_or_insert(party.not_back(&self.changes[*i], &error.to_string())),
                }
            }
            if failure.is_some() {
                break;
            }
        }
        for (i, party, host) in ours {
            let change = &self.changes[i];
            match variable::read(party.stage, host, &change.name) {
                Ok(now) if now == change.was => {
                    done.insert(i);
                    let was = variable::shown(change.was.as_deref());
                    let line = || format!("{}: put back {} = {was} at {}", party.name, change.name, change.place);
                    lines.extend(moved.contains(&i).then(line));
                }
                Ok(now) => {
                    let why = format!("the server makes {} of it", variable::shown(now.as_deref()));
                    failure.get_or_insert(party.not_back(change, &why));
                }
                Err(error) => _ = failure.get_or_insert(party.not_back(change, &error.to_string())),
            }
        }
        let mut number = 0..;
        self.changes.retain(|_| number.next().is_some_and(|i| !done.contains(&i)));
        self.journal.write(&self.changes)?;
        failure.map_or(Ok(lines), Err)
    }

    fn announcement(&self, me: usize) -> String {
        let several = self.parties[me].places.len() > 1;
        let one = |change: &Change| {
            let Change { name, wanted, was, became, place, .. } = change;
            let made = if variable::taken(wanted, became.as_deref()) {
                wanted.clone()
            } else {
                format!("{} (asked for {wanted})", variable::shown(became.as_deref()))
            };
            let place = if several { format!(" at {place}") } else { String::new() };
            format!("{name} = {made}{place}, it was {}", variable::shown(was.as_deref()))
        };
        let all: Vec<String> = self.of(me).into_iter().map(|i| one(&self.changes[i])).collect();
        format!("{}: while its trials run, SET GLOBAL {}; put back afterwards", self.parties[me].name, all.join("; "))
    }
}
