//! The state of a run beside its terminals: what is called once, and hooks of reports.

use mlua::{Function, Table};

use crate::script::LuaScript;
use crate::state::{State, words};

/// Numbers of a time, as a hook of reports finds them.
#[derive(Debug, Clone, Copy, Default)]
pub struct Report {
    /// Seconds since the report before.
    pub interval_s: f64,
    /// Seconds since the start.
    pub total_s: f64,
    /// Threads that run.
    pub threads: u32,
    /// Events.
    pub events: u64,
    /// Statements that returned rows, that changed rows, and others.
    pub queries: [u64; 3],
    /// The percentile of the latency, in seconds.
    pub latency_s: f64,
    /// Errors after which an event started again.
    pub errors: u64,
    /// Connections that were opened again.
    pub reconnects: u64,
}

/// A state without a connection.
pub struct MainState(State);

impl MainState {
    /// A state in which the script has been run.
    ///
    /// # Errors
    /// What Lua says of it.
    pub fn new(script: &LuaScript, driver: &str) -> Result<Self, String> {
        State::alone(script, driver).map(Self)
    }

    /// Calls a function of the script, if it has one of that name; whether it has.
    ///
    /// # Errors
    /// What the script fails with.
    pub fn call(&self, name: &str) -> Result<bool, String> {
        let function = self.0.globals.get::<Option<Function>>(name).ok().flatten();
        match function {
            Some(function) => function.call::<()>(()).map(|()| true).map_err(|e| words(&e)),
            None => Ok(false),
        }
    }

    /// Calls a hook with the numbers of a report, if the script has it; whether it has.
    ///
    /// # Errors
    /// What the script fails with.
    pub fn report(&self, hook: &str, report: &Report) -> Result<bool, String> {
        self.reported(hook, report).map_err(|e| words(&e))
    }

    fn reported(&self, hook: &str, report: &Report) -> mlua::Result<bool> {
        let hooks: Table = self.0.globals.get::<Table>("sysbench")?.get("hooks")?;
        let Some(function) = hooks.get::<Option<Function>>(hook)? else { return Ok(false) };
        let stat = self.0.table()?;
        let [reads, writes, other] = report.queries;
        stat.set("time_interval", report.interval_s)?;
        stat.set("time_total", report.total_s)?;
        stat.set("threads_running", report.threads)?;
        for (name, count) in [
            ("events", report.events),
            ("reads", reads),
            ("writes", writes),
            ("other", other),
            ("errors", report.errors),
            ("reconnects", report.reconnects),
        ] {
            stat.set(name, count)?;
        }
        stat.set("latency_pct", report.latency_s)?;
        function.call::<()>(stat).map(|()| true)
    }

    /// Closes what a report in JSON has opened.
    pub fn reports_end(&self) {
        let end = self.0.own.get::<Function>("reports_end");
        // It only prints.
        drop(end.and_then(|end| end.call::<()>(())));
    }
}
