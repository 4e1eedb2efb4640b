//! A machine without a server: this one, or a host.

use perbuck_load::stop::StopToken;
use perbuck_observe::setting::Setting;

use super::host::{Address, Host};
use super::line::Line;
use super::talk::{Ask, Told};
use crate::disk::{self, Ceilings, DiskLoad};
use crate::doctor::{self, Seen};
use crate::error::{Failure, LabError};
use crate::system::drives_load;

const WHO: &str = "doctor";

/// This machine, or a host with a process of perbuck on it.
pub(crate) struct Machine(Option<Line>);

impl Machine {
    /// Reaches a host; without one it is this machine.
    ///
    /// # Errors
    /// An address that is none, a host that cannot be used, and another system than Linux.
    pub(crate) fn open(host: Option<&str>, stop: &StopToken) -> Result<Self, LabError> {
        let Some(host) = host else { return drives_load().map(|()| Self(None)) };
        let address = Address::read(host).map_err(|why| LabError::usage(why, "write for instance ssh://root@db1"))?;
        Line::open(WHO, &Host::There(address), None, stop).map(|line| Self(Some(line)))
    }

    /// For messages.
    pub(crate) fn name(&self) -> String {
        match self.0.as_ref().map(Line::host) {
            Some(Host::There(address)) => address.to_string(),
            Some(Host::Here) | None => "this machine".to_owned(),
        }
    }

    /// What spoils a measurement on it.
    ///
    /// # Errors
    /// A host that does not answer.
    pub(crate) fn seen(&self) -> Result<Seen, LabError> {
        let Some(line) = &self.0 else { return Ok(Seen::now()) };
        if let Some(Told::Examined(seen)) = line.ask(&Ask::Examine) { Ok(seen) } else { Err(line.lost(WHO)) }
    }

    /// What the disk of a folder of it does.
    ///
    /// # Errors
    /// A host that does not answer, a disk that cannot be measured, and a stop.
    pub(crate) fn ceilings(&self, load: &DiskLoad, stop: &StopToken) -> Result<Ceilings, LabError> {
        let Some(line) = &self.0 else { return disk::measure(load, &|| stop.requested()) };
        match line.ask_until(&Ask::Load(load.clone()), load.limit(), stop) {
            Some(Told::Loaded(found)) => found.map_err(Failure::error),
            _ if stop.requested() => Err(LabError::interrupted()),
            _ => Err(line.lost(WHO)),
        }
    }

    /// Sets files of it; for each whether it could be.
    ///
    /// # Errors
    /// A host that does not answer.
    pub(crate) fn put(&self, settings: &[Setting]) -> Result<Vec<Result<(), String>>, LabError> {
        let Some(line) = &self.0 else { return Ok(doctor::put(settings)) };
        if let Some(Told::Put(done)) = line.ask(&Ask::Put(settings.to_vec())) { Ok(done) } else { Err(line.lost(WHO)) }
    }
}
