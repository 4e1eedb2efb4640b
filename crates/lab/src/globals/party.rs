//! A contender with its servers and what it asks of them.

use std::collections::{BTreeMap, BTreeSet};
use std::net::ToSocketAddrs;

use perbuck_core::study::Located;

use super::journal::Change;
use super::variable;
use crate::error::{ErrorKind, LabError};
use crate::stage::Stage;

/// A contender.
pub(super) struct Party<'a> {
    pub(super) name: &'a str,
    pub(super) settings: &'a BTreeMap<String, Located<String>>,
    pub(super) stage: &'a Stage,
    /// Its servers, as `host:port`.
    pub(super) places: Vec<String>,
    /// Where they really are, so that two names of one server are seen to be one.
    pub(super) addresses: BTreeSet<String>,
}

impl<'a> Party<'a> {
    pub(super) fn new(name: &'a str, settings: &'a BTreeMap<String, Located<String>>, stage: &'a Stage) -> Self {
        let places = stage.server.hosts();
        let addresses = places.iter().flat_map(|p| resolved(p)).collect();
        Self { name, settings, stage, places, addresses }
    }

    /// The number of a server of its, by its place.
    pub(super) fn host(&self, place: &str) -> Option<u32> {
        self.places.iter().position(|p| p == place).map(|h| h as u32)
    }

    /// Sets what is wanted, and looks at what the server made of it.
    pub(super) fn put(&self, change: &mut Change) -> Result<(), LabError> {
        let host = self.host(&change.place).unwrap_or(0);
        variable::set(self.stage, host, &change.name, Some(&change.wanted)).map_err(|e| self.refused(change, &e))?;
        self.look(change)
    }

    /// Sets all of them. A server cuts a value to what another one allows, which may come later in the list, and some raise the
    /// other one with it: so what was not taken is set once more, and then all are looked at.
    pub(super) fn put_all(&self, changes: &mut [Change]) -> Result<(), LabError> {
        changes.iter_mut().try_for_each(|change| self.put(change))?;
        let cut = |change: &&mut Change| !variable::taken(&change.wanted, change.became.as_deref());
        changes.iter_mut().filter(cut).try_for_each(|change| self.put(change))?;
        changes.iter_mut().try_for_each(|change| self.look(change))
    }

    fn look(&self, change: &mut Change) -> Result<(), LabError> {
        let host = self.host(&change.place).unwrap_or(0);
        change.became = variable::read(self.stage, host, &change.name).map_err(|e| self.refused(change, &e))?;
        Ok(())
    }

    fn refused(&self, change: &Change, error: &perbuck_load::error::DriverError) -> LabError {
        variable::refused(self.name, self.stage, &change.place, &change.name, error)
    }

    /// A change that cannot be put back.
    pub(super) fn not_back(&self, change: &Change, why: &str) -> LabError {
        let (name, place, was) = (&change.name, &change.place, change.was.as_deref());
        let message = format!("{}: {name} at {place} cannot be put back to {}: {why}", self.name, variable::shown(was));
        let help =
            format!("the next `perbuck run` of this study does it, or you: SET GLOBAL {name} = {}", variable::literal(was));
        LabError::new(ErrorKind::Target, message, help)
    }
}

/// Whether two contenders ask the same of the same servers.
pub(super) fn same(a: &Party<'_>, b: &Party<'_>) -> bool {
    let values = |p: &Party<'_>| p.settings.iter().map(|(n, v)| (n.clone(), v.value.clone())).collect::<Vec<_>>();
    a.places == b.places && values(a) == values(b)
}

/// The addresses of a server; its name where that says none.
fn resolved(place: &str) -> Vec<String> {
    let found: Vec<String> = place.to_socket_addrs().map(|all| all.map(|a| a.to_string()).collect()).unwrap_or_default();
    // What listens on this machine is one server, whichever of its addresses is taken.
    let local = |a: &String| a.replace("[::1]:", "127.0.0.1:");
    if found.is_empty() { vec![place.to_owned()] } else { found.iter().map(local).collect() }
}
