//! One trial: sample the machine at the edges of the window, run, and put everything into a record.

mod target;

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use perbuck_core::load_model::LoadModel;
use perbuck_core::metric::{Metric, RecordedMetric};
use perbuck_core::plan::{self, TrialKey};
use perbuck_core::run_record::{
    AgentRecord, BootTime, Cooled, DataSize, Flag, Health, HistogramRecord, HostRecord, Interval, LoadRecord, Prewarmed,
    RECORD_SCHEMA, RunRecord, TargetRecord, WorkloadRecord,
};
use perbuck_core::study::Study;
use perbuck_core::units::total;
use perbuck_core::workload_kind::DRAIN_S;
use perbuck_load::driver::{ServerWork, TargetFacts};
use perbuck_load::limit::Tolerance;
use perbuck_load::observer::{Observer, SecondSeen};
use perbuck_load::share::Share;
use perbuck_load::statement_times::StepTotals;
use perbuck_load::stop::StopToken;
use perbuck_load::totals::{PausesSeen, TerminalTotals};
use perbuck_load::trial::{RunError, TrialOutcome, TrialSpec};
use perbuck_load::workload::NewRecords;

use crate::counters::differences;
use crate::deploy::Deployment;
use crate::error::{ErrorKind, LabError};
use crate::flags::{self, AppliedBy};
use crate::fleet::Fleet;
use crate::profile::Profiling;
use crate::sampler::{Sampler, ServerClock};
use crate::sidecar::Trial;
use crate::stage::Stage;
use crate::tuning::Tuned;

use target::{Before, ServerSide, target_record};

/// How long transactions in flight at the end are waited for, where none may last longer.
pub const DRAIN_NS: u64 = DRAIN_S as u64 * 1_000_000_000;

/// What the trials of a study share.
pub struct Context<'a> {
    /// The study.
    pub study: &'a Study,
    /// Fingerprint of what it measures.
    pub fingerprint: &'a str,
    /// This machine.
    pub host: &'a HostRecord,
    /// The agents that apply the load; `None` where this process does.
    pub fleet: Option<&'a Fleet>,
    /// The clusters that it runs on, where perbuck deployed them.
    pub deployment: Option<&'a Deployment<'a>>,
}

/// One trial to run.
pub struct Task<'a> {
    /// Which one.
    pub key: &'a TrialKey,
    /// How it is loaded.
    pub spec: TrialSpec,
    /// Its position in the order.
    pub position: usize,
    /// The contender with the workload.
    pub stage: &'a Stage,
    /// Effective parameters of the workload.
    pub parameters: BTreeMap<String, String>,
    /// The value that is compared.
    pub metric: Metric,
    /// `kept`, `reloaded` or `foreign`.
    pub data: &'static str,
    /// Rows per table before it; where they were not counted, they are not counted after it either.
    pub rows_before: Option<BTreeMap<String, u64>>,
    /// What its data take on the servers before it, as far as that was asked for.
    pub data_size: Option<DataSize>,
    /// How its data were read into the servers' memory, where the study asks for it.
    pub prewarm: Option<Prewarmed>,
    /// How its caches were made cold, where the study asks for it.
    pub cold: Option<Cooled>,
}

/// What a trial showed that its record does not hold.
pub struct Details {
    /// What each terminal did.
    pub terminals: Vec<TerminalTotals>,
    /// Times of statements by label, where the spec asks for them.
    pub statement_latency: BTreeMap<String, HistogramRecord>,
    /// The steps of the workload by number, likewise.
    pub steps: Vec<StepTotals>,
    /// Times of what was given up in the window, by kind.
    pub failed_latency: BTreeMap<String, HistogramRecord>,
    /// Pauses that ended in the window, by kind.
    pub pauses: BTreeMap<String, PausesSeen>,
    /// The file of series that belongs beside the record.
    pub series: Option<String>,
}

impl Details {
    /// Takes them from what was measured.
    fn of(outcome: &mut TrialOutcome, series: Option<String>) -> Self {
        Self {
            terminals: std::mem::take(&mut outcome.terminals),
            statement_latency: std::mem::take(&mut outcome.statement_latency),
            steps: std::mem::take(&mut outcome.steps),
            failed_latency: std::mem::take(&mut outcome.failed_latency),
            pauses: std::mem::take(&mut outcome.pauses),
            series,
        }
    }
}

/// Why a trial has no record.
pub enum Failure {
    /// What the engine says.
    Run(RunError),
    /// Anything else.
    Other(LabError),
}

impl From<LabError> for Failure {
    fn from(error: LabError) -> Self {
        Self::Other(error)
    }
}

/// Shows the seconds of a trial.
pub(crate) struct Seconds<'a>(pub(crate) &'a mut dyn FnMut(&Interval));

impl Observer for Seconds<'_> {
    fn second(&mut self, seen: &SecondSeen<'_>) {
        (self.0)(seen.interval);
    }
}

/// What those who applied the load say.
pub(crate) struct Applied {
    pub(crate) outcome: TrialOutcome,
    pub(crate) agents: Vec<AgentRecord>,
    /// Remarks on the agents and their machines.
    pub(crate) flags: Vec<Flag>,
    /// Statements that ran as text at the agents.
    pub(crate) as_text: u64,
    /// What agents sent, counted as the server counts its work.
    pub(crate) sent: u64,
    /// How each agent numbered its new records, where the workload numbers them.
    pub(crate) new_records: Vec<NewRecords>,
}

impl Applied {
    /// Has the load of a trial applied, by agents or by this process.
    fn by(fleet: Option<&Fleet>, task: &Task<'_>, stop: &StopToken, observer: &mut dyn Observer) -> Result<Self, RunError> {
        if let Some(fleet) = fleet {
            return fleet.run(task, stop, observer);
        }
        let outcome = task.stage.trials.run(&task.spec, stop, observer)?;
        Ok(Self { outcome, agents: Vec::new(), flags: Vec::new(), as_text: 0, sent: 0, new_records: Vec::new() })
    }
}

/// Runs a trial and returns what is kept of it; where it ends early, it leaves nothing.
pub(crate) fn run(
    context: &Context<'_>,
    task: Task<'_>,
    stop: &StopToken,
    observer: &mut dyn Observer,
) -> Result<Trial, LabError> {
    let title = &task.stage.title;
    let failed = |f| match f {
        Failure::Run(error) => LabError::trial(title, &error),
        Failure::Other(error) => error,
    };
    let ran = run_watched(context, task, stop, observer).map_err(failed);
    ran.map(|(record, details)| Trial { record, series: details.series, plans: None })
}

/// Runs a trial that is observed; returns its record and what the record does not hold.
///
/// # Errors
/// What ended the trial.
pub fn run_watched(
    context: &Context<'_>,
    task: Task<'_>,
    stop: &StopToken,
    observer: &mut dyn Observer,
) -> Result<(RunRecord, Details), Failure> {
    let (spec, of_study) = (task.spec.clone(), context.study.workload(&task.key.workload));
    let tuned = Tuned::hold(task.stage)?;
    let facts = task.stage.server.facts()?;
    task.stage.has_transactions(&facts)?;
    let before = Before::read(context, &task)?;
    let (started_unix_ms, started_boot) = now();
    let sees = (Some(task.stage.server.meter(spec.connections)), Profiling::of(context, &task));
    let mut sampler = Sampler::new(ServerClock::of(facts.local_pid, task.stage.holder.as_ref()), sees, observer);
    let applied = Applied::by(context.fleet, &task, stop, &mut sampler).map_err(Failure::Run)?;
    let Applied { mut outcome, agents, flags: of_agents, as_text: by_agents, sent, new_records } = applied;
    // Its connections are closed before the server's work is read, so that what they sent is counted.
    let (metrics, series) = sampler.metered().unzip();
    // A server that is away by now takes nothing from what was measured before.
    let work = work_since(task.stage, &before.work, sent)?;
    let (after, away) = seen(task.stage.server.counters())?;
    let as_text = task.stage.server.text_fallbacks() - before.as_text + by_agents;
    let (rows_after, uncounted) = rows_after(context, &task, (&new_records, away.is_some()), stop)?;
    let health =
        of_agents_too(sampler.health((&spec, of_study), std::mem::take(&mut outcome.health), &outcome.intervals), &agents);
    let of_server = ServerSide::of(task.stage, &mut sampler, tuned.end()?);
    let mut flags = flags::of((&spec, applied_by(&agents)), &outcome.measured, &health)?;
    // A number of transactions may have ended it long before its longest time.
    let load_ns = spec.warmup_ns + outcome.measured.window_ns;
    flags.extend(flags::foreign_load(&work, load_ns, flags::long_queries(of_study, &spec, &outcome)));
    let (of_machine, emulator) = of_client(std::mem::take(&mut sampler.flags), context.host, &agents);
    flags.extend(beside_the_engine(as_text, of_machine, away.or(uncounted), emulator));
    flags.extend(of_agents.into_iter().chain(facts.functional.clone().map(|why| Flag::FunctionalServer { why })));
    let details = Details::of(&mut outcome, series.flatten());
    let audit = task.stage.trials.audit(&outcome.measured)?;
    let changes = differences(&before.counters, &after, load_ns);
    flags.extend(flags::cluster_changed(&changes).into_iter().chain(flags::uneven_servers(&changes)));
    flags.extend(context.deployment.and_then(|of| of.changed(&task.key.contender, before.deployed.as_ref())));
    let (observed, build) = (task.stage.observed(&facts, context.host), task.stage.has_build(&facts)?);
    let of_target = target_record(task.stage, &facts, changes, (before, of_server));
    let target = TargetRecord { work: Some(work), observed, build, metrics, ..of_target };
    let record = RunRecord {
        schema: RECORD_SCHEMA,
        perbuck: env!("CARGO_PKG_VERSION").to_owned(),
        study: context.study.name.clone(),
        study_fingerprint: context.fingerprint.to_owned(),
        key: task.key.clone(),
        position: task.position as u32,
        seed: context.study.seed,
        trial_seed: spec.seed,
        started_unix_ms,
        started_boot,
        rule: (!context.study.sweep.collected).then(|| context.study.rule_of(&task.key.workload)),
        load: load_record(context.study, (task.key, &spec), outcome.workers),
        workload: workload_record(context, task, rows_after),
        target,
        host: HostRecord { shared_with_server: shares_machine(&facts, &agents), ..context.host.clone() },
        agents,
        measured: outcome.measured,
        statements_whole_run: outcome.statements_whole_run,
        errors: outcome.errors,
        intervals: outcome.intervals,
        audit,
        health,
        flags,
        imported: None,
        void: None,
    };
    Ok((says_whether_it_has_a_value(record), details))
}

fn says_whether_it_has_a_value(mut record: RunRecord) -> RunRecord {
    let no_value = record.lacks(record.workload.metric.metric()).map(|why| Flag::NoValue { why });
    record.flags.extend(no_value);
    record
}

/// What the server has executed since an earlier reading; `sent` is what agents sent. It counts before the comparison, which finds servers
/// whose counters miss some of it.
fn work_since(stage: &Stage, before: &ServerWork, sent: u64) -> Result<ServerWork, Failure> {
    let (work, unread) = seen(stage.server.work().map(Some))?;
    let work = work.unwrap_or_else(|| ServerWork::unknown(unread.unwrap_or_default()));
    Ok(work.with_own(sent).since(before))
}

/// Rows per table after a trial, where they were counted before it, and why they could not be. Before, agents insert what the trial left
/// out; the counters were read by then, so that it is no part of the trial. Where the server is away the next trial inserts it.
fn rows_after(
    context: &Context<'_>,
    task: &Task<'_>,
    (new_records, away): (&[NewRecords], bool),
    stop: &StopToken,
) -> Result<(BTreeMap<String, u64>, Option<String>), Failure> {
    if away {
        return Ok((BTreeMap::new(), None));
    }
    if let Some(fleet) = context.fleet {
        fleet.fill(task, new_records, stop).map_err(Failure::Run)?;
    }
    let rows = task.rows_before.as_ref().map(|_| task.stage.data.rows()).transpose();
    Ok(seen(rows.map(Option::unwrap_or_default))?)
}

/// What was wrong with the machine of the client, and its emulator. Where agents applied the load, this process did not: what its
/// machine lacked matters to none of it.
fn of_client(of_machine: Vec<Flag>, host: &HostRecord, agents: &[AgentRecord]) -> (Vec<Flag>, Option<String>) {
    match agents {
        [] => (of_machine, host.emulator.clone()),
        all => (Vec::new(), all.iter().find_map(|agent| agent.host.emulator.clone())),
    }
}

fn applied_by(agents: &[AgentRecord]) -> AppliedBy {
    if agents.is_empty() { AppliedBy::ThisProcess } else { AppliedBy::Agents }
}

/// Whether any of those that applied the load share a machine with the server.
fn shares_machine(facts: &TargetFacts, agents: &[AgentRecord]) -> bool {
    if agents.is_empty() { facts.on_this_machine } else { agents.iter().any(|agent| agent.host.shared_with_server) }
}

/// The client's state with what its agents cost in place of what this process did, which only coordinated.
fn of_agents_too(health: Health, agents: &[AgentRecord]) -> Health {
    if agents.is_empty() {
        return health;
    }
    Health {
        client_user_ns: total(agents.iter().map(|a| a.user_ns)),
        client_system_ns: total(agents.iter().map(|a| a.system_ns)),
        peak_memory_bytes: agents.iter().map(|a| a.peak_memory_bytes).max().unwrap_or_default(),
        samples: None,
        ..health
    }
}

/// Milliseconds since 1970, and the machine's own time. A clock before 1970 gives 0, which a reader will notice.
fn now() -> (u64, Option<BootTime>) {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as u64);
    (since_1970, perbuck_observe::since_boot().map(|(boot, ms)| BootTime { boot, ms }))
}

/// Remarks on what the engine does not see: statements sent as text, the machine, a server that is away, an emulated client.
fn beside_the_engine(as_text: u64, machine: Vec<Flag>, away: Option<String>, emulator: Option<String>) -> Vec<Flag> {
    let text = (as_text > 0).then_some(Flag::TextStatements { count: as_text });
    let away = away.map(|why| Flag::ServerAway { why });
    let emulated = emulator.map(|emulator| Flag::Emulated { emulator });
    text.into_iter().chain(machine).chain(away).chain(emulated).collect()
}

/// What was read after a trial; where it could not be, nothing, and why. A request to stop is no word of the server.
fn seen<T: Default>(read: Result<T, LabError>) -> Result<(T, Option<String>), LabError> {
    match read {
        Ok(read) => Ok((read, None)),
        Err(error) if error.kind() == ErrorKind::Interrupted => Err(error),
        Err(error) => Ok((T::default(), Some(error.words().0.to_owned()))),
    }
}

/// How a trial of the study is loaded.
pub(crate) fn spec(study: &Study, key: &TrialKey) -> TrialSpec {
    let sweep = study.sweep_of(&key.workload);
    TrialSpec {
        load: sweep.load_model(key.rate_per_s),
        phases: sweep.phases.clone(),
        connections: key.connections,
        workers: sweep.workers,
        warmup_ns: sweep.warmup_ns,
        duration_ns: sweep.duration_ns,
        max_attempts: sweep.max_attempts,
        seed: plan::trial_seed(study.seed, key),
        drain_ns: study.workload(&key.workload).map_or(DRAIN_NS, |w| u64::from(w.drain_s()) * 1_000_000_000),
        max_events: sweep.events,
        streams: sweep.of_streams,
        time_statements: false,
        tolerance: Tolerance::All,
        share: Share::WHOLE,
    }
}

fn load_record(study: &Study, (key, spec): (&TrialKey, &TrialSpec), workers: u32) -> LoadRecord {
    let arrivals = match spec.load {
        LoadModel::Open { arrivals, .. } => Some(arrivals),
        LoadModel::Closed { .. } => None,
    };
    LoadRecord {
        model: match (arrivals.is_some(), spec.streams) {
            (true, _) => "open",
            (false, true) => LoadRecord::STREAMS,
            (false, false) => "closed",
        }
        .to_owned(),
        connections: spec.connections,
        rate_per_s: key.rate_per_s,
        arrivals,
        phases: spec.phases.clone(),
        workers,
        warmup_ns: spec.warmup_ns,
        duration_ns: spec.duration_ns,
        pilots: study.sweep_of(&key.workload).auto.found.clone(),
        cooldown_ns: study.sweep.cooldown_ns,
        max_attempts: spec.max_attempts,
    }
}

fn workload_record(context: &Context<'_>, task: Task<'_>, rows_after: BTreeMap<String, u64>) -> WorkloadRecord {
    WorkloadRecord {
        kind: context.study.workload(&task.key.workload).map(|w| w.kind.value.clone()).unwrap_or_default(),
        parameters: task.parameters,
        data_fingerprint: task.stage.fingerprint.clone(),
        data: task.data.to_owned(),
        rows_before: task.rows_before.unwrap_or_default(),
        rows_after,
        data_size: task.data_size,
        prewarm: task.prewarm,
        cold: task.cold,
        metric: RecordedMetric::Declared(task.metric),
    }
}
