//! The data of a stage: what is loaded, noted and checked. Its code is there once for each driver.

use std::collections::BTreeMap;
use std::sync::Arc;

use perbuck_load::driver::Driver;
use perbuck_load::loader::{self, CheckResult, LoadProgress, ledger::Ledger, ledger::PartState};
use perbuck_load::workload::{Dataset, Making};

use super::{Data, LOAD_SESSIONS, Sessions, names};
use crate::data::{self, DataState};
use crate::error::LabError;

/// The rows of a workload and a driver that takes them.
pub(super) struct Loaded<D: Driver> {
    pub(super) sessions: Arc<Sessions<D>>,
    pub(super) dataset: Arc<dyn Dataset>,
    pub(super) making: Arc<dyn Making<D::Session>>,
}

impl<D: Driver> Loaded<D> {
    fn loading<'a>(&'a self, ledger: Option<&'a dyn Ledger>, sessions: Option<u32>) -> loader::Load<'a, D> {
        let Sessions { driver, waiting, .. } = &*self.sessions;
        loader::Load {
            driver,
            dataset: &*self.dataset,
            making: Some(&*self.making),
            ledger,
            sessions: sessions.unwrap_or(LOAD_SESSIONS),
            waiting,
        }
    }

    /// How far the parts of a load are that was cut off, if it can go on.
    fn part_states(&self) -> Result<Option<Vec<PartState>>, LabError> {
        self.sessions.part_states(&self.dataset.tables(), self.dataset.parts())
    }
}

impl<D: Driver> Data for Loaded<D> {
    fn noted(&self) -> Result<DataState, LabError> {
        self.sessions.noted()?.map_or_else(|| self.state(), Ok)
    }

    fn state(&self) -> Result<DataState, LabError> {
        self.sessions.state(&self.dataset.tables(), self.dataset.grows())
    }

    fn load(&self, sessions: Option<u32>, progress: &mut dyn FnMut(LoadProgress)) -> Result<(), LabError> {
        if !self.sessions.start_load()? {
            // No transaction could hold both rows and what a ledger says of them.
            Data::fill(self, sessions, progress)?;
            return self.mark(data::FRESH);
        }
        let ledger = self.sessions.notes.ledger();
        self.loading(Some(&ledger), sessions).run(progress).map_err(|e| self.sessions.cut_off(&e))?;
        self.sessions.loaded(&ledger)
    }

    fn unfinished(&self) -> Result<Option<u64>, LabError> {
        Ok(self.part_states()?.map(|states| states.iter().map(|s| s.rows).sum()))
    }

    fn resume(&self, sessions: Option<u32>, progress: &mut dyn FnMut(LoadProgress)) -> Result<(), LabError> {
        let Some(states) = self.part_states()? else { return self.load(sessions, progress) };
        let ledger = self.sessions.notes.ledger();
        self.loading(Some(&ledger), sessions).resume(&states, progress).map_err(|e| self.sessions.cut_off(&e))?;
        self.sessions.loaded(&ledger)
    }

    fn fill(&self, sessions: Option<u32>, progress: &mut dyn FnMut(LoadProgress)) -> Result<(), LabError> {
        self.loading(None, sessions).run(progress).map_err(|e| self.sessions.failed(&e))
    }

    fn mark(&self, used_by: &str) -> Result<(), LabError> {
        self.sessions.mark("noting the use of its data", used_by)
    }

    fn rows(&self) -> Result<BTreeMap<String, u64>, LabError> {
        self.sessions.rows(names(&self.dataset.tables()))
    }

    fn checks(&self, wanted: &dyn Fn(&str) -> bool, show: &mut dyn FnMut(&CheckResult)) -> Result<Vec<CheckResult>, LabError> {
        let checks = self.dataset.checks().into_iter().filter(|c| wanted(&c.name)).collect();
        self.sessions.run_checks(self.dataset.room_for_checks(), checks, show)
    }
}
