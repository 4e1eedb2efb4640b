//! What is printed of a run: pgbench's lines of progress on standard error, and its summary.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use perbuck_lab::error::LabError;
use perbuck_load::error::ErrorClass;
use perbuck_load::listed::Listed;
use perbuck_load::observer::SecondSeen;
use perbuck_load::stop::StopToken;

use super::log::Log;
use super::settings::Settings;
use super::summary::{Passed, Summary, aborting, progress};
use crate::load::SECOND_NS;
use crate::output::{Streams, errors_by_code};
use crate::run::{Ended, Printer, defect};

/// The printer of a run.
pub(super) struct Lines<'a> {
    settings: &'a Settings,
    /// The commands of each script.
    commands: &'a [Vec<String>],
    log: Option<Log<'a>>,
    scale: u32,
    began: Instant,
    /// From there until connections were open.
    pub(super) connecting: Option<Duration>,
    /// Ends the run after an error that ends a client of pgbench.
    stop: StopToken,
    stopped: bool,
    /// Whole seconds that are over.
    seconds: u32,
    passed: Passed,
}

impl<'a> Lines<'a> {
    pub(super) fn new(
        (settings, commands, log): (&'a Settings, &'a [Vec<String>], Option<Log<'a>>),
        scale: u32,
        stop: StopToken,
    ) -> Self {
        Self {
            settings,
            commands,
            log,
            scale,
            began: Instant::now(),
            connecting: None,
            stop,
            stopped: false,
            seconds: 0,
            passed: Passed::default(),
        }
    }

    /// Writes the rest of the log, if there is one: the run took so long.
    pub(super) fn end_log(&mut self, took_ns: u64) -> Result<(), LabError> {
        self.log.iter_mut().try_for_each(|log| log.end(took_ns))
    }

    fn time(&self) -> String {
        if !self.settings.timestamps {
            return format!("{}.0", self.seconds);
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        format!("{}.{:03}", now.as_secs(), now.subsec_millis())
    }
}

impl Printer for Lines<'_> {
    fn lists(&self) -> bool {
        self.log.is_some()
    }

    fn opens_in(&mut self, from_now: Duration) {
        self.log.iter_mut().for_each(|log| log.starts(from_now));
    }

    fn listed(&mut self, all: &[Listed]) -> Result<(), LabError> {
        self.log.iter_mut().try_for_each(|log| log.add(all))
    }

    fn starts(&mut self, _out: &mut dyn Streams) -> Result<(), LabError> {
        self.connecting.get_or_insert_with(|| self.began.elapsed());
        Ok(())
    }

    fn second(&mut self, seen: &SecondSeen<'_>, out: &mut dyn Streams) -> Result<(), LabError> {
        let ends =
            ErrorClass::ALL.iter().zip(seen.second.by_class).any(|(class, count)| *class != ErrorClass::Retry && count > 0);
        // A second request would throw the run away.
        if ends && !std::mem::replace(&mut self.stopped, true) {
            self.stop.request();
        }
        if seen.interval.start_ms < 0 {
            return Ok(());
        }
        self.seconds += 1;
        self.log.iter_mut().try_for_each(|log| log.pass(u64::from(self.seconds) * SECOND_NS))?;
        let passed = &mut self.passed;
        passed.seconds += 1;
        passed.transactions += seen.interval.transactions;
        passed.failed += seen.second.failed;
        passed.retries += seen.second.retries;
        passed.latency.merge(&seen.second.latency);
        if self.settings.progress_s.is_some_and(|every| self.seconds.is_multiple_of(every)) {
            let passed = std::mem::take(&mut self.passed);
            out.say(&progress(&passed, &self.time(), self.settings));
        }
        Ok(())
    }

    fn end(&self, ended: &Ended, _record: Option<&str>, out: &mut dyn Streams) -> Result<(), LabError> {
        let record = &ended.record;
        let summary = Summary {
            settings: self.settings,
            record,
            commands: self.commands,
            steps: &ended.details.steps,
            scale: self.scale,
            connecting_ms: self.connecting.unwrap_or_default().as_secs_f64() * 1e3,
        };
        out.print(&summary.text().map_err(defect)?)?;
        aborting(&record.errors).for_each(|error| out.say(&format!("pgbench: error: client aborted: {}", error.example)));
        if self.settings.errors && !record.errors.is_empty() {
            out.say(&format!("perbuck: errors by code:\n{}", errors_by_code(&record.errors).trim_end()));
        }
        Ok(())
    }
}
