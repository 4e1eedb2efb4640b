//! Inputs made from others: of one contender alone, and with addresses that are known only when a cluster is up.

use std::collections::BTreeMap;

use perbuck_core::study::{Contender, Study};
use perbuck_database::secret::Secret;

use super::{Inputs, check_with};
use crate::error::LabError;

impl Inputs {
    /// The same study with one contender alone, and its control. Its trials are trials of the whole study.
    ///
    /// # Errors
    /// Every problem that the study alone has.
    pub(crate) fn alone(&self, contender: &str) -> Result<Self, LabError> {
        self.of_contenders(self.text.clone(), &|c| c.control_of.as_deref().unwrap_or(&c.name) == contender)
    }

    /// The same without its control, which has the same data.
    ///
    /// # Errors
    /// Likewise.
    pub(crate) fn only(&self, contender: &str) -> Result<Self, LabError> {
        self.of_contenders(self.text.clone(), &|c| c.name == contender)
    }

    /// The same contenders with another text of the study, which has their targets; and with their passwords.
    ///
    /// # Errors
    /// Every problem of the text.
    pub(crate) fn with(&self, text: String, passwords: BTreeMap<String, Secret>) -> Result<Self, LabError> {
        let there = |c: &Contender| self.study.contender(c.control_of.as_deref().unwrap_or(&c.name)).is_some();
        Ok(Self { passwords, ..self.of_contenders(text, &there)? })
    }

    fn of_contenders(&self, text: String, keeps: &dyn Fn(&Contender) -> bool) -> Result<Self, LabError> {
        let prices = self.prices.as_ref().map(|(name, text)| (name.into(), text.clone()));
        let only = |study: &mut Study| {
            let baseline = study.baseline().name.clone();
            study.contenders.retain(|c| keeps(c));
            study.baseline = study.position(&baseline).unwrap_or(0);
            Ok(())
        };
        check_with(&self.name, text, prices, self.registry, only).map_err(|problems| LabError::problems(&problems))
    }
}
