//! What a run is of: a script that is built in, or one in Lua.

use perbuck_database::Dialect;
use perbuck_lab::error::{ErrorKind, LabError};
use perbuck_lua::{MainState, Report};
use perbuck_workloads::sysbench::{self, Script};

/// What a run is of.
#[derive(Clone, Copy)]
pub(super) enum Subject<'a> {
    /// A script that perbuck has built in.
    BuiltIn(&'a sysbench::Options),
    /// A script in Lua by its name, with the state that its hooks of reports are called in.
    Lua(&'a str, &'a MainState),
}

impl<'a> Subject<'a> {
    /// Its name.
    pub(super) fn name(self) -> &'a str {
        match self {
            Self::BuiltIn(options) => options.script.name(),
            Self::Lua(name, _) => name,
        }
    }

    /// Whether its events append rows to a buffer.
    pub(super) fn appends(self) -> bool {
        matches!(self, Self::BuiltIn(options) if options.script == Script::BulkInsert)
    }

    /// What perbuck does otherwise than sysbench.
    pub(super) fn notes(self, dialect: &'static dyn Dialect) -> Vec<String> {
        match self {
            Self::BuiltIn(options) => sysbench::compat_notes(options, dialect),
            Self::Lua(..) => Vec::new(),
        }
    }

    /// Lets a hook of the script print a report; whether it has that hook.
    pub(super) fn reports(self, hook: &str, report: impl FnOnce() -> Report) -> Result<bool, LabError> {
        let Self::Lua(_, state) = self else { return Ok(false) };
        if hook == "report_cumulative" {
            state.reports_end();
        }
        let failed = |message| LabError::new(ErrorKind::Failed, message, "correct the hook of the script, or leave it out");
        state.report(hook, &report()).map_err(failed)
    }
}
