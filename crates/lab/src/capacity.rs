//! The highest rate of an open loop at which each contender keeps a latency objective.
//!
//! [`terms`] says what is searched, [`hunt`] joins a search to its folder, [`show`] says what was found. Trials on disk are read, not
//! run: the same command goes on where it was.

mod hunt;
mod show;
mod terms;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use perbuck_core::arrivals::Arrivals;
use perbuck_core::capacity::{CapacityRecord, Probe};
use perbuck_core::compare::{Sizing, sizing};
use perbuck_core::problem::nearest;
use perbuck_core::run_record::Interval;
use perbuck_core::units::{duration_text, thousands};
use perbuck_load::stop::StopToken;
use perbuck_report::text::Summary;
use perbuck_report::{html, markdown, page_of};
use serde::Serialize;

use self::hunt::Hunt;
use self::terms::Terms;
use crate::error::{ErrorKind, LabError};
use crate::fleet::{Fleet, FleetOptions, Load};
use crate::globals;
use crate::inputs::Inputs;
use crate::preflight::{self, Purpose, Request};
use crate::prepare;
use crate::progress::{Progress, second_text};
use crate::run::with_known_windows;
use crate::servers::Servers;
use crate::session::Session;
use crate::stage::{self, AskPassword};
use crate::store::{self, SIZING_MARKDOWN, SIZING_PAGE, Store};
use crate::trial::{Context, Seconds};
use crate::void;

/// A search with everything that is asked of it.
#[derive(Debug, Clone)]
pub struct CapacityRequest {
    /// What messages call the study file.
    pub file: String,
    /// These contenders alone; all if empty.
    pub contenders: Vec<String>,
    /// These workloads alone; all if empty.
    pub workloads: Vec<String>,
    /// The percentile of the response time; that of the study's `slo` if not given.
    pub percentile: Option<f64>,
    /// Its bound, nanoseconds; that of the study's `slo` if not given.
    pub at_most_ns: Option<u64>,
    /// The first rate, transactions per second.
    pub from_per_s: Option<u32>,
    /// The highest rate to try, transactions per second.
    pub to_per_s: Option<u32>,
    /// How far the rate that broke may lie above the one that kept, as a share of it.
    pub resolution: f64,
    /// Trials of each of these two rates.
    pub repeats: u32,
    /// The most transactions in flight; the largest count of the sweep if not given.
    pub connections: Option<u32>,
    /// Time before the window, nanoseconds; that of the sweep if not given.
    pub warmup_ns: Option<u64>,
    /// The window, nanoseconds; that of the sweep if not given.
    pub duration_ns: Option<u64>,
    /// How the starts lie in time; that of the sweep if not given.
    pub arrivals: Option<Arrivals>,
    /// Transactions per second that are to be served, and what that costs.
    pub demand_per_s: Option<u32>,
    /// The folder that holds the results of all studies.
    pub results: PathBuf,
    /// The agents that apply the load; `None` where this process does.
    pub fleet: Option<FleetOptions>,
    /// How a password is asked for that no variable and no file holds.
    pub ask_password: Option<AskPassword>,
}

/// What a search found.
#[derive(Debug)]
pub struct Capacity {
    /// One for each contender and workload.
    pub found: Vec<CapacityRecord>,
    /// What the demand costs, by workload and region; empty without one.
    pub sizing: Vec<Sizing>,
    /// The same for people.
    pub report: Summary,
    objective: String,
}

/// What was found, for programs.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Found<'c> {
    /// The searches.
    Searches(&'c [CapacityRecord]),
    /// The same with what the demand costs.
    Priced {
        /// The searches.
        searches: &'c [CapacityRecord],
        /// What the demand costs.
        sizing: &'c [Sizing],
    },
}

impl Capacity {
    /// The same for programs.
    pub fn for_programs(&self) -> Found<'_> {
        match self.sizing.as_slice() {
            [] => Found::Searches(&self.found),
            sizing => Found::Priced { searches: &self.found, sizing },
        }
    }

    /// Writes what the demand costs as a page and as Markdown into the study's results folder.
    fn write_pages(&self, root: &Path, study: &str) -> Result<(), LabError> {
        let data = serde_json::to_string(&self.for_programs())
            .map_err(|e| LabError::failed(format!("what the demand costs cannot be written: {e}"), ""))?;
        let page = page_of(&self.report, study, &data);
        store::replace(&root.join(SIZING_PAGE), &html::render(&page))?;
        store::replace(&root.join(SIZING_MARKDOWN), &markdown::render(&page))
    }

    /// Whether every contender kept the objective at some rate.
    ///
    /// # Errors
    /// Names those for which even the lowest rate broke it.
    pub fn kept(&self) -> Result<(), LabError> {
        let nothing: Vec<String> = self.found.iter().filter_map(show::nothing_kept).collect();
        if nothing.is_empty() {
            return Ok(());
        }
        let message = format!("even the lowest rate breaks the objective {}: {}", self.objective, nothing.join("; "));
        let help = "ask for less with --at-most or --percentile, allow more --connections, or begin lower with --from (and a longer --duration)";
        Err(LabError::failed(message, help))
    }
}

/// Searches for every chosen contender and workload.
///
/// # Errors
/// A request that is none, names that the study does not have, and the failures of trials.
pub fn search_capacity(
    inputs: Inputs,
    request: &CapacityRequest,
    progress: &mut dyn Progress,
    stop: &StopToken,
) -> Result<Capacity, LabError> {
    if let Some(factor) = inputs.study.factors.iter().find(|factor| factor.by_hand) {
        let message = format!("you set the levels of factor `{}`, and a search does not know which is set now", factor.name);
        return Err(LabError::usage(message, "leave the factor out of the study, and search once for each level"));
    }
    if request.demand_per_s.is_some() && inputs.bills.is_empty() {
        let message = format!("--demand: {} names no prices, so a demand has no cost", request.file);
        return Err(LabError::usage(
            message,
            "add a `[price]` table with `snapshot` and `regions`, and `node` to each contender",
        ));
    }
    let inputs = with_known_windows(&inputs, &request.results)?.unwrap_or(inputs);
    let fingerprint = inputs.study.fingerprint();
    let inputs = chosen(inputs, request)?;
    let terms = Terms::new(request, &inputs.study)?;
    let store = Store::join_within(&request.results, (&inputs).into(), &fingerprint, Duration::ZERO)?;
    let mut hunts = Vec::new();
    for w in 0..inputs.study.workloads.len() {
        for c in 0..inputs.study.contenders.len() {
            hunts.push(Hunt::new(&terms, &inputs.study, &fingerprint, store.root(), (c, w))?);
        }
    }
    search(&inputs, &fingerprint, &terms, &store, &mut hunts, request, (&mut *progress, stop))?;
    let found: Vec<CapacityRecord> = hunts.iter().filter_map(Hunt::found).collect();
    let of_demand = |demand| sizing(&inputs.study, &inputs.bills, &found, demand);
    let sizing = request.demand_per_s.map(of_demand).unwrap_or_default();
    let report = show::report(&inputs.study, &terms, (&found, &sizing), store.root());
    let capacity = Capacity { found, sizing, report, objective: terms.objective() };
    if !capacity.sizing.is_empty() {
        capacity.write_pages(store.root(), &inputs.study.name)?;
    }
    Ok(capacity)
}

/// The study with the chosen contenders that have a target, and the chosen workloads.
fn chosen(mut inputs: Inputs, request: &CapacityRequest) -> Result<Inputs, LabError> {
    let file = request.file.as_str();
    let contenders: Vec<&str> = inputs.study.contenders.iter().map(|c| c.name.as_str()).collect();
    let workloads: Vec<&str> = inputs.study.workloads.iter().map(|w| w.name.as_str()).collect();
    known(file, "contender", &request.contenders, &contenders)?;
    known(file, "workload", &request.workloads, &workloads)?;
    let wanted = |names: &[String], name: &String| names.is_empty() || names.contains(name);
    let study = &inputs.study;
    let mut searched = study.workloads.iter().filter(|w| wanted(&request.workloads, &w.name));
    if let Some(w) = searched.find(|w| study.sweep_of(&w.name).of_streams) {
        let message = format!("{file}: `{}` runs streams to their end, so it has no rate that could be searched", w.name);
        return Err(LabError::usage(message, "name other workloads with --workload"));
    }
    let deployed = inputs.study.contenders.iter().any(|c| c.deploy.is_some());
    let help = stage::no_target_help(deployed);
    let (mut kept, mut targets) = (Vec::new(), Vec::new());
    for (contender, target) in inputs.study.contenders.into_iter().zip(inputs.targets) {
        // A control repeats a contender to see the noise of trials; a search has none to compare.
        if !wanted(&request.contenders, &contender.name) || contender.control_of.is_some() {
            continue;
        }
        if target.is_some() {
            kept.push(contender);
            targets.push(target);
        } else if !request.contenders.is_empty() {
            let message = format!("{file}:{}: contender `{}` has no target to drive", contender.line, contender.name);
            return Err(LabError::usage(message, help));
        }
    }
    if kept.is_empty() {
        return Err(LabError::usage(format!("{file}: no contender has a target to drive"), help));
    }
    let both = inputs.study.workloads.into_iter().zip(inputs.plans).filter(|(w, _)| wanted(&request.workloads, &w.name));
    (inputs.study.workloads, inputs.plans) = both.unzip();
    (inputs.study.contenders, inputs.targets) = (kept, targets);
    // An index into the contenders that were there; a search has no baseline.
    inputs.study.baseline = 0;
    Ok(inputs)
}

fn known(file: &str, what: &str, asked: &[String], names: &[&str]) -> Result<(), LabError> {
    let Some(name) = asked.iter().find(|n| !names.contains(&n.as_str())) else { return Ok(()) };
    let meant = nearest(name, names.iter().copied()).map(|n| format!("did you mean `{n}`? ")).unwrap_or_default();
    let help = format!("{meant}its {what}s are: {}", names.join(", "));
    Err(LabError::usage(format!("--{what}: {file} has no {what} `{name}`"), help))
}

/// Runs what is not on disk. The trials of the contenders alternate, so that drift of the machine falls on all alike.
fn search(
    inputs: &Inputs,
    fingerprint: &str,
    terms: &Terms,
    store: &Store,
    hunts: &mut [Hunt<'_>],
    request: &CapacityRequest,
    (progress, stop): (&mut dyn Progress, &StopToken),
) -> Result<(), LabError> {
    let mut missing = false;
    for hunt in hunts.iter_mut() {
        let over = hunt.wanted()?.is_none();
        missing |= !over || !hunt.written();
        if hunt.trials > 0 {
            let rest = if over { "the search is over" } else { "going on" };
            let trials = if hunt.trials == 1 { "1 trial is".to_owned() } else { format!("{} trials are", hunt.trials) };
            progress.line(&format!("{}: {trials} on disk; {rest}", hunt.title()));
        }
    }
    if !missing && !globals::left_behind(store.root()) {
        return Ok(());
    }
    let each = format!("{} + {}", duration_text(terms.warmup_ns), duration_text(terms.duration_ns));
    progress.line(&format!("objective {}, at most {} in flight, trials of {each}", terms.objective(), terms.connections));
    let passwords = stage::passwords(inputs, request.ask_password)?;
    let (connections, threads) = (terms.connections, inputs.study.sweep.workers);
    let looked = Request { purpose: Purpose::Run, connections, threads, apart: request.fleet.is_some(), results: None };
    preflight::pass(inputs, looked, &passwords, progress, stop)?;
    let fleet = FleetOptions::of_study(request.fleet.as_ref(), &inputs.study)?
        .map(|fleet| Fleet::gather(fleet, terms.connections, stop))
        .transpose()?;
    // Before the stages, so that it goes after them.
    let servers = Servers::start(inputs, &request.results, stop, progress)?;
    let stages = stage::build(inputs, &servers, &passwords, stop)?;
    let host = perbuck_observe::host();
    if let Some(fleet) = fleet.as_ref() {
        fleet.prepare((inputs, Load { connections, threads }), &servers, &passwords, progress)?;
    }
    let context = Context { study: &inputs.study, fingerprint, host: &host, fleet: fleet.as_ref(), deployment: None };
    let mut session = Session::start(inputs, context, (&stages, servers), store.root(), stop, progress)?;
    let searched = Searches { terms, store, id: store.id()?, progress: &mut *progress }.run(&mut session, hunts);
    session.end(searched, progress)
}

struct Searches<'a> {
    terms: &'a Terms,
    store: &'a Store,
    /// Tells this results folder from every other one.
    id: String,
    progress: &'a mut dyn Progress,
}

impl Searches<'_> {
    /// Runs what the searches ask for, the contenders of one workload in turn.
    fn run(&mut self, session: &mut Session<'_>, hunts: &mut [Hunt<'_>]) -> Result<(), LabError> {
        for contenders in hunts.chunks_mut(session.context.study.contenders.len()) {
            let mut over = false;
            while !over {
                over = true;
                for hunt in contenders.iter_mut() {
                    match hunt.wanted()? {
                        Some(probe) => {
                            self.probe(session, hunt, probe)?;
                            over = false;
                        }
                        None => self.end(session, hunt)?,
                    }
                }
            }
        }
        Ok(())
    }

    fn probe(&mut self, session: &mut Session<'_>, hunt: &mut Hunt<'_>, probe: Probe) -> Result<(), LabError> {
        if let (Some(broken), 0) = (hunt.came_down_from(), hunt.trials) {
            let from = hunt.rule.lowest_per_s;
            self.progress.line(&format!("{}: {broken}/s breaks the objective; beginning again at {from}/s", hunt.title()));
        }
        if !std::mem::replace(&mut hunt.prepared, true) {
            session.release(&hunt.contender)?;
            session.ensure(hunt.stage, self.progress)?;
            session.rest(&BTreeSet::from([hunt.stage]), self.progress)?;
        }
        // The data of a block are those of one search; contenders that share tables share it.
        let block = format!("{}/capacity {}", self.id, self.terms.folder(&hunt.rule, session.context.fingerprint));
        let key = hunt.key(probe);
        self.store.still_there()?;
        let rate = thousands(u64::from(probe.rate_per_s));
        let head = format!("{} · {} · {rate}/s · trial {}", hunt.contender, hunt.workload, probe.repeat);
        self.progress.passing(&head);
        let mut repeats = 0;
        let trial = loop {
            let (task, _) = session.ready((hunt.stage, &block), &key, hunt.spec(probe), hunt.trials, self.progress)?;
            let shown = &mut |interval: &Interval| self.progress.passing(&format!("{head} · {}", second_text(interval)));
            let ran = session.run(hunt.stage, task, &mut Seconds(shown));
            match (ran, session.context.fleet) {
                (Err(lost), Some(fleet)) if lost.kind() == ErrorKind::AgentLost && repeats < void::REPEATS => {
                    self.progress.alert(&format!("void, and measured again: {lost}"));
                    fleet.regroup(session.stop, self.progress)?;
                    repeats += 1;
                }
                (ran, _) => break ran?,
            }
        };
        self.store.still_there()?;
        let seen = hunt.take(&trial, probe)?;
        session.note_end(hunt.stage, &block)?;
        self.progress.line(&format!("{head}: {}", show::outcome(&hunt.rule, &seen, &trial.record)));
        Ok(())
    }

    /// Checks the data after a search and writes what was found, once.
    fn end(&mut self, session: &mut Session<'_>, hunt: &mut Hunt<'_>) -> Result<(), LabError> {
        if hunt.written() {
            return Ok(());
        }
        session.release(&hunt.contender)?;
        prepare::check(&session.stages[hunt.stage], self.progress)?;
        // Checks take long.
        if session.stop.requested() {
            return Err(LabError::interrupted());
        }
        hunt.write()
    }
}
