//! A contender with its servers and what it asks of them.

use std::collections::{BTreeMap, BTreeSet};
use std::net::ToSocketAddrs;

use perbuck_core::study::Located;
use perbuck_load::error::{Cause, DriverError, ErrorClass};

use super::journal::Change;
use super::variable;
use crate::error::{ErrorKind, LabError};
use crate::stage::Stage;

pub(super) struct ContenderSettings<'a> {
    /// Its name, with factors in one state of its servers.
    pub(super) name: String,
    /// Its name alone.
    pub(super) contender: &'a str,
    pub(super) settings: BTreeMap<String, Located<String>>,
    pub(super) stage: &'a Stage,
    /// Its servers, as `host:port`.
    pub(super) endpoints: Vec<String>,
    /// Their addresses, so that two names of one server are known as one.
    pub(super) addresses: BTreeSet<String>,
}

impl<'a> ContenderSettings<'a> {
    pub(super) fn new(
        (name, contender): (String, &'a str),
        settings: BTreeMap<String, Located<String>>,
        stage: &'a Stage,
    ) -> Self {
        let endpoints = stage.server.hosts();
        let addresses = endpoints.iter().flat_map(|p| resolved(p)).collect();
        Self { name, contender, settings, stage, endpoints, addresses }
    }

    /// The number of one of its servers.
    pub(super) fn host(&self, endpoint: &str) -> Option<u32> {
        self.endpoints.iter().position(|p| p == endpoint).map(|h| h as u32)
    }

    /// Sets what is wanted, and reads what the server made of it.
    pub(super) fn put(&self, change: &mut Change) -> Result<(), LabError> {
        let host = self.host(&change.endpoint).unwrap_or(0);
        variable::set(self.stage, host, &change.name, Some(&change.wanted))
            .map_err(|e| self.refused(&change.endpoint, &change.name, &e))?;
        self.note(change)
    }

    /// Sets all of them. A server cuts a value to what another variable allows, which may come later in the list. Some raise the other
    /// one with it. So a value that was not taken is set once more, and then all are read.
    pub(super) fn put_all(&self, changes: &mut [Change]) -> Result<(), LabError> {
        changes.iter_mut().try_for_each(|change| self.put(change))?;
        let cut = |change: &&mut Change| !variable::taken(&change.wanted, change.became.as_deref());
        changes.iter_mut().filter(cut).try_for_each(|change| self.put(change))?;
        changes.iter_mut().try_for_each(|change| self.note(change))
    }

    fn note(&self, change: &mut Change) -> Result<(), LabError> {
        change.became = self.read(&change.endpoint, &change.name)?;
        Ok(())
    }

    /// The value that a variable has now; nothing is NULL.
    pub(super) fn read(&self, endpoint: &str, name: &str) -> Result<Option<String>, LabError> {
        let host = self.host(endpoint).unwrap_or(0);
        variable::read(self.stage, host, name).map_err(|e| self.refused(endpoint, name, &e))
    }

    /// Why a variable cannot be set to the value that it has. A server that does not answer is told elsewhere.
    pub(super) fn refused_as_it_is(&self, endpoint: &str, name: &str) -> Option<LabError> {
        let host = self.host(endpoint)?;
        let value = match variable::read(self.stage, host, name) {
            Ok(value) => value.filter(|value| variable::is_plain(value))?,
            Err(error) if error.class == ErrorClass::Lost => return None,
            Err(error) => return Some(self.refused(endpoint, name, &error)),
        };
        variable::set(self.stage, host, name, Some(&value)).err().map(|error| self.refused(endpoint, name, &error))
    }

    /// Why a setting cannot be read or set, and the way out.
    pub(super) fn refused(&self, endpoint: &str, name: &str, error: &DriverError) -> LabError {
        let Ok(words) = variable::words(self.stage) else { return LabError::target(self.contender, error) };
        let (kind, help) = match error.cause {
            Some(Cause::NoSetting) => (ErrorKind::Usage, words.unknown),
            Some(Cause::SettingFixed) => (ErrorKind::Usage, words.fixed),
            Some(Cause::SettingValue | Cause::SettingType) => {
                (ErrorKind::Usage, "give a value that the server takes for this variable")
            }
            Some(Cause::NoRight) => (ErrorKind::Target, words.denied),
            _ => return LabError::target(self.contender, error).or_help("see `server_settings` of the contender"),
        };
        LabError::new(kind, format!("{}: `server_settings.{name}` at {endpoint}: {error}", self.name), help)
    }

    pub(super) fn not_restored(&self, change: &Change, why: &str) -> LabError {
        let (name, endpoint, was) = (&change.name, &change.endpoint, change.was.as_deref());
        let message =
            format!("{}: {name} at {endpoint} cannot be restored to {}: {why}", self.name, variable::shown(&change.was));
        let help =
            format!("the next `perbuck run` of this study does it, or you: SET GLOBAL {name} = {}", variable::literal(was));
        LabError::new(ErrorKind::Target, message, help)
    }
}

/// Whether two contenders ask the same of the same servers.
pub(super) fn same(a: &ContenderSettings<'_>, b: &ContenderSettings<'_>) -> bool {
    let values = |p: &ContenderSettings<'_>| p.settings.iter().map(|(n, v)| (n.clone(), v.value.clone())).collect::<Vec<_>>();
    a.endpoints == b.endpoints && values(a) == values(b)
}

/// The addresses of a server; its name where that says none.
fn resolved(endpoint: &str) -> Vec<String> {
    let found: Vec<String> = endpoint.to_socket_addrs().map(|all| all.map(|a| a.to_string()).collect()).unwrap_or_default();
    // What listens on this machine is one server, whichever of its addresses is taken.
    let local = |a: &String| a.replace("[::1]:", "127.0.0.1:");
    if found.is_empty() { vec![endpoint.to_owned()] } else { found.iter().map(local).collect() }
}
