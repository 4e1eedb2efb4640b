//! The values of a command line with their types and limits.

use std::collections::BTreeMap;
use std::path::Path;

use perbuck_core::study::Scalar;
use perbuck_core::units::Seed;
use perbuck_core::workload_kind::file_text;
use perbuck_lab::inputs::read_text;
use perbuck_lab::trial::DRAIN_NS;
use perbuck_load::limit::Tolerance;
use perbuck_workloads::script::{BUILTIN, Builtin, Protocol};

use super::log::LogSettings;
use crate::flags::Given;
use crate::go_tpc::words;
use crate::load::{Load, MOST_WORKERS, SECOND_NS, drawn_seed};
use crate::refused::Refused;
use crate::run::Records;

/// How often a transaction is tried at most, where `--max-tries=0` says no limit.
const UNLIMITED: u32 = 1_000_000;
/// pgbench's number of transactions of each connection.
const TRANSACTIONS: u32 = 10;

/// A script of a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chosen {
    /// As the workload calls it: a path, or `builtin:` and a name.
    pub(super) name: String,
    pub(super) weight: u32,
    /// What the file holds; nothing of a script of pgbench's own.
    text: Option<String>,
}

impl Chosen {
    pub(super) fn builtin(&self) -> Option<&'static Builtin> {
        self.name.strip_prefix(BUILTIN).and_then(Builtin::named)
    }

    /// What pgbench's summary calls it.
    pub(super) fn title(&self) -> &str {
        self.builtin().map_or(&self.name, |builtin| builtin.title)
    }
}

/// A command line with everything about it checked, but for the database.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    pub(super) scripts: Vec<Chosen>,
    pub(super) variables: BTreeMap<String, String>,
    pub(super) protocol: Protocol,
    pub(super) reconnect: bool,
    pub(super) load: Load,
    /// Transactions of each connection; `None` where the time ends the run.
    pub(super) transactions: Option<u32>,
    /// Seconds; `None` where transactions end it.
    pub(super) time_s: Option<u32>,
    /// Load threads, as asked for.
    pub(super) jobs: u32,
    /// 0 is no limit.
    pub(super) max_tries: u32,
    pub(super) latency_limit_ms: Option<f64>,
    pub(super) progress_s: Option<u32>,
    pub(super) timestamps: bool,
    pub(super) failures_detailed: bool,
    /// Whether the times of commands are told.
    pub(super) by_command: bool,
    /// What is written of each transaction, if anything.
    pub(super) log: Option<LogSettings>,
    /// Whether errors are told by their codes.
    pub(super) errors: bool,
    pub(super) vacuum: Vacuum,
    /// As given; the tables say it where a script of pgbench's own is run.
    pub(super) scale: u32,
    pub(super) scale_given: bool,
    pub(super) seed: u64,
    pub(super) records: Records,
}

/// What is vacuumed before a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Vacuum {
    None,
    /// The small tables; the history is emptied.
    Small,
    /// All four tables.
    All,
}

impl Settings {
    pub(super) fn read(given: &Given) -> Result<Self, Refused> {
        let clients = given.count("client", 1, 1_000_000)?;
        let time_s = optional(given, "time", 1, 100_000_000)?;
        let transactions = optional(given, "transactions", 1, u32::MAX)?;
        if time_s.is_some() && transactions.is_some() {
            let message = "specify either a number of transactions (-t) or a duration (-T), not both";
            return Err(Refused::usage(message, "leave one of them out"));
        }
        let transactions = if time_s.is_none() { Some(transactions.unwrap_or(TRANSACTIONS)) } else { None };
        let protocol = Protocol::named(given.text("protocol"));
        let protocol = protocol.ok_or_else(|| given.invalid("protocol", "use simple, extended or prepared"))?;
        let max_tries = given.count("max-tries", 0, UNLIMITED)?;
        let seed = seed(given)?;
        let jobs = given.count("jobs", 1, MOST_WORKERS)?;
        Ok(Self {
            scripts: scripts(given)?,
            variables: variables(given)?,
            protocol,
            reconnect: given.switch("connect"),
            load: Load {
                connections: clients,
                rate: optional(given, "rate", 1, 10_000_000)?,
                warmup_ns: 0,
                window_ns: time_s.map(|s| u64::from(s) * SECOND_NS),
                events: transactions.map(|n| u64::from(n) * u64::from(clients)),
                workers: Some(jobs.min(clients)),
                attempts: if max_tries == 0 { UNLIMITED } else { max_tries },
                drain_ns: DRAIN_NS,
                time_statements: given.switch("report-per-command"),
                // What ends a client of pgbench ends the run: see `Lines`.
                tolerance: Tolerance::Every,
                seed: Seed(seed),
            },
            transactions,
            time_s,
            jobs,
            max_tries,
            latency_limit_ms: limit_ms(given)?,
            progress_s: optional(given, "progress", 1, 1_000_000)?,
            timestamps: given.switch("progress-timestamp"),
            failures_detailed: given.switch("failures-detailed"),
            by_command: given.switch("report-per-command"),
            log: LogSettings::read(given, time_s)?,
            errors: given.switch("verbose-errors"),
            vacuum: match (given.switch("no-vacuum"), given.switch("vacuum-all")) {
                (true, _) => Vacuum::None,
                (false, true) => Vacuum::All,
                (false, false) => Vacuum::Small,
            },
            scale: given.count("scale", 1, 1_000_000)?,
            scale_given: given.has("scale"),
            seed,
            records: words::records(given, super::COMMAND.word),
        })
    }

    /// Load threads, of which each has a connection.
    pub(super) fn threads(&self) -> u32 {
        self.jobs.min(self.load.connections)
    }

    /// Whether a script of pgbench's own is among those that are run.
    pub(super) fn has_builtin(&self) -> bool {
        self.scripts.iter().any(|script| script.builtin().is_some())
    }

    /// The workload as a study writes it, on tables of that scale.
    pub(super) fn parameters(&self, scale: u32) -> BTreeMap<String, Scalar> {
        let mut all = BTreeMap::new();
        let files: Vec<String> = self.scripts.iter().map(|script| format!("{}@{}", script.name, script.weight)).collect();
        let mut put = |name: &str, value: Scalar| _ = all.insert(name.to_owned(), value);
        put("file", Scalar::Text(files.join(", ")));
        for script in &self.scripts {
            if let Some(text) = &script.text {
                put(&file_text(&script.name), Scalar::Text(text.clone()));
            }
        }
        let mut variables = self.variables.clone();
        variables.entry("scale".to_owned()).or_insert_with(|| scale.to_string());
        let variables: Vec<String> = variables.iter().map(|(name, value)| format!("{name}={value}")).collect();
        put("variables", Scalar::Text(variables.join(", ")));
        put("protocol", Scalar::Text(self.protocol.word().to_owned()));
        put("reconnect", Scalar::Bool(self.reconnect));
        all
    }

    /// The name of the workload in a study: that of its only script.
    pub(super) fn workload_name(&self) -> String {
        let [script] = self.scripts.as_slice() else { return "scripts".to_owned() };
        let name = script.builtin().map(|builtin| builtin.name.to_owned());
        let name = name.or_else(|| Some(Path::new(&script.name).file_stem()?.to_string_lossy().into_owned())).unwrap_or_default();
        let safe = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '-' };
        let name: String = name.chars().map(safe).take(40).collect();
        if name.trim_matches('-').is_empty() { "script".to_owned() } else { name.trim_matches('-').to_owned() }
    }
}

/// A number that has no default.
fn optional(given: &Given, name: &str, least: u32, most: u32) -> Result<Option<u32>, Refused> {
    if given.has(name) { given.count(name, least, most).map(Some) } else { Ok(None) }
}

fn limit_ms(given: &Given) -> Result<Option<f64>, Refused> {
    if !given.has("latency-limit") {
        return Ok(None);
    }
    let limit = given.text("latency-limit").parse().ok().filter(|ms: &f64| ms.is_finite() && *ms > 0.0);
    limit.map(Some).ok_or_else(|| given.invalid("latency-limit", "give milliseconds above 0"))
}

fn seed(given: &Given) -> Result<u64, Refused> {
    match given.text("random-seed") {
        // 53 bits, so that every reader of JSON reads the number that was drawn.
        "time" | "rand" => Ok((drawn_seed() >> 11).max(1)),
        typed => typed.parse().map_err(|_| given.invalid("random-seed", "give a whole number, `time` or `rand`")),
    }
}

fn variables(given: &Given) -> Result<BTreeMap<String, String>, Refused> {
    let one = |typed: &&str| {
        let (name, value) = typed.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or_else(|| {
            Refused::usage(format!("invalid variable definition: \"{typed}\""), "write NAME=VALUE, as in -D rows=1000")
        })?;
        if value.contains(',') || value.chars().any(char::is_control) {
            let message = format!("-D {name}: perbuck takes no comma and no line break in the value of a variable");
            return Err(Refused::usage(message, "put the value into the script, by \\set"));
        }
        Ok((name.to_owned(), value.trim().to_owned()))
    };
    given.list("define").iter().map(one).collect()
}

/// A name with its weight, 1 where none follows.
fn weighted(typed: &str) -> Result<(&str, u32), Refused> {
    let Some((name, weight)) = typed.rsplit_once('@') else { return Ok((typed, 1)) };
    match weight.parse() {
        Ok(weight) if !name.is_empty() => Ok((name, weight)),
        _ => Err(Refused::usage(
            format!("invalid weight specification: @{weight}"),
            "write a whole number, as in -b select-only@3",
        )),
    }
}

/// The scripts; pgbench's first one where none is named.
fn scripts(given: &Given) -> Result<Vec<Chosen>, Refused> {
    let mut all = Vec::new();
    let named = given.list("builtin");
    let short = [("skip-some-updates", "simple-update"), ("select-only", "select-only")];
    let short = short.iter().filter(|(option, _)| given.switch(option)).map(|(_, name)| *name);
    for typed in named.into_iter().chain(short) {
        let (name, weight) = weighted(typed)?;
        let builtin = Builtin::named(name).ok_or_else(|| {
            Refused::usage(
                format!("no builtin script found for name \"{name}\""),
                "they are tpcb-like, simple-update and select-only",
            )
        })?;
        all.push(Chosen { name: format!("{BUILTIN}{}", builtin.name), weight, text: None });
    }
    for typed in given.list("file") {
        let (name, weight) = weighted(typed)?;
        if name.contains([',', ':']) {
            let message = format!("-f {name}: perbuck takes no script with a comma or a colon in its name");
            return Err(Refused::usage(message, "rename the file"));
        }
        let text = read_text("the script", Path::new(name))
            .map_err(|error| Refused::usage(error.to_string(), "name a file that exists"))?;
        all.push(Chosen { name: name.to_owned(), weight, text: Some(text) });
    }
    if all.is_empty() {
        all.push(Chosen { name: format!("{BUILTIN}tpcb-like"), weight: 1, text: None });
    }
    Ok(all)
}
