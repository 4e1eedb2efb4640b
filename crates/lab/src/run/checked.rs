//! The checks of the data after the last trial.

use std::collections::BTreeSet;

use super::Run;
use crate::error::LabError;
use crate::live::Event;
use crate::prepare::{self, Checked};
use crate::session::Session;

impl Run<'_> {
    /// Checks the data of every contender and workload.
    pub(super) fn check(&mut self, session: &Session<'_>) -> Result<(), LabError> {
        self.live.say(Event::Doing { text: "checking the data after the last trial".to_owned() });
        let (study, mut checked) = (session.context.study, Checked::default());
        let mut seen = BTreeSet::new();
        for (position, stage) in session.stages.iter().enumerate() {
            let is_private = study.contenders[position / study.workloads.len()].server.is_some();
            if is_private && !self.ensured.contains(&position) {
                self.progress.line(&format!("{}: not checked, since its data went with the server of its trials", stage.title));
                continue;
            }
            // Workloads that share their tables share their checks.
            if seen.insert((position / study.workloads.len(), &stage.address, &stage.fingerprint)) {
                checked = checked.and(prepare::check(stage, self.progress)?);
            }
        }
        if let Some(text) = checked.text() {
            self.progress.line(&format!("after the last trial {text}"));
        }
        // Checks take long, and the verdicts can wait.
        if session.stop.requested() { Err(LabError::interrupted()) } else { Ok(()) }
    }
}
