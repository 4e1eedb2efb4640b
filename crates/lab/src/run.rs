//! A whole study: plan, prepare what is missing, run what is not on disk, check the data.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use perbuck_core::compare::Work;
use perbuck_core::plan::TrialKey;
use perbuck_core::run_record::{Flag, Interval};
use perbuck_core::study::Study;
use perbuck_load::stop::StopToken;
use perbuck_workloads::Plan;

use crate::deploy::{self, Deployment, Spending};
use crate::error::{ErrorKind, LabError};
use crate::estimate::{Ahead, Estimate, TimeLeft, length, time_and_cost};
use crate::fleet::{Fleet, FleetOptions, Load};
use crate::globals;
use crate::inputs::Inputs;
use crate::live::{Event, Live, Price};
use crate::looks::{Looks, Next};
use crate::noise::Noise;
use crate::planned;
use crate::plans;
use crate::preflight;
use crate::prepare::Ensured;
use crate::progress::{Done, Progress, clock_text, second_text};
use crate::rest;
use crate::servers::{self, Servers};
use crate::session::Session;
use crate::sidecar::Trial;
use crate::stage::{self, AskPassword};
use crate::store::Store;
use crate::trial::{self, Context};
use crate::used::Meter;
use crate::void;
use clusters::on_clusters;
pub(crate) use pilot::with_known_windows;
use watched::Watched;
use which::{all_of, asked_for, deployable, set_by_hand};

mod checked;
mod clusters;
mod pilot;
mod watched;
mod which;

/// Which part of a study is run, and how.
#[derive(Debug, Clone, Default)]
pub struct RunOptions {
    /// The folder that holds the results of all studies.
    pub results: PathBuf,
    /// This deployment alone, for targets that the user deploys.
    pub deployment: Option<u32>,
    /// These levels alone of factors that the user sets, as `factor=level`.
    pub at: Vec<String>,
    /// The agents that apply the load; `None` where this process does.
    pub fleet: Option<FleetOptions>,
    /// Whether the plans of queries are asked for after each trial.
    pub plans: bool,
    /// How a password is asked for that no variable and no file holds; `None` asks for none.
    pub ask_password: Option<AskPassword>,
    /// How money is spent on clusters that perbuck deploys.
    pub spending: Spending,
}

/// Runs everything of a study that is not on disk yet, or of one of its deployments; returns its results folder.
///
/// # Errors
/// The first failure. Finished trials are kept.
pub fn study(inputs: &Inputs, options: &RunOptions, progress: &mut dyn Progress, stop: &StopToken) -> Result<PathBuf, LabError> {
    deployable(&inputs.study, options.deployment)?;
    set_by_hand(&inputs.study, &options.at)?;
    if options.plans {
        plans::has_queries(&inputs.plans)?;
    }
    servers::clean(&inputs.study, progress);
    let done = whole(inputs, options, progress, stop);
    // A server that was still ending when this began has left its folder since.
    servers::clean(&inputs.study, progress);
    done
}

fn whole(inputs: &Inputs, options: &RunOptions, progress: &mut dyn Progress, stop: &StopToken) -> Result<PathBuf, LabError> {
    let with_windows = pilot::with_windows(inputs, options, progress, stop)?;
    let inputs = with_windows.as_ref().unwrap_or(inputs);
    let (fingerprint, began) = (inputs.study.fingerprint(), Instant::now());
    let files = inputs.into();
    let store = Store::join_within(&options.results, files, &fingerprint, Duration::ZERO)?;
    store.keeps_rule(&inputs.study)?;
    store.keep(files)?;
    let plan = inputs.study.plan();
    void::sweep(&store, &plan)?.iter().for_each(|line| progress.line(line));
    let on_disk = plan.iter().filter(|key| store.has(key)).count();
    let wanted = |key: &TrialKey| asked_for(&inputs.study, options, key) && !store.has(key);
    let mut missing: Vec<(usize, &TrialKey)> = plan.iter().enumerate().filter(|(_, key)| wanted(key)).collect();
    let (looks, is_whole) = (Looks::start(inputs, store.root())?, missing.is_empty());
    looks.needed(&mut missing);
    if options.plans && on_disk > 0 {
        progress.alert("--plans: trials that are on disk get no plans; they are asked for after each trial that runs");
    }
    if missing.is_empty() {
        let ended = || format!("the verdicts are there, or cannot be expected: {on_disk} trials");
        let which = if is_whole { all_of(options, plan.len()) } else { ended() };
        progress.line(&format!("{which} are on disk in {}", store.root().display()));
        if store.checked() && !globals::left_behind(store.root()) {
            return Ok(store.root().to_owned());
        }
    } else if on_disk > 0 {
        progress.line(&format!("{on_disk} of {} trials are on disk; going on with the others", plan.len()));
    }
    let mut meter = Meter::start(store.root(), &inputs.study, began)?;
    if let Some(used) = meter.so_far(inputs)? {
        progress.line(&format!("used until now: {}", used.text()));
    }
    planned::remarks(inputs, &plan).iter().for_each(|line| progress.alert(line));
    let on_disk = (plan.len(), on_disk);
    let done = if deploy::deploys(&inputs.study) {
        on_clusters(inputs, options, (&store, &mut meter), on_disk, &missing, progress, stop)
    } else {
        measured((inputs, None), options, (&store, looks, &mut meter), on_disk, &missing, progress, stop).map(|()| true)
    };
    // What was used is used, however the run ended.
    let noted = meter.note();
    let checked = done?;
    noted?;
    if checked {
        store.mark_checked()?;
    }
    Ok(store.root().to_owned())
}

/// Runs these trials, and checks the data after the last.
fn measured(
    (inputs, deployment): (&Inputs, Option<&Deployment<'_>>),
    options: &RunOptions,
    (store, looks, meter): (&Store, Looks<'_>, &mut Meter),
    (of, on_disk): (usize, usize),
    missing: &[(usize, &TrialKey)],
    progress: &mut dyn Progress,
    stop: &StopToken,
) -> Result<(), LabError> {
    let (host, id, fingerprint) = (perbuck_observe::host(), store.id()?, inputs.study.fingerprint());
    let (mut live, time) = (Live::new(store.root()), TimeLeft::new(Estimate::of(inputs)));
    live.say(Event::Began { trials: of, on_disk, prices: inputs.bills.iter().map(Price::of).collect() });
    let (ensured, told, began) = (BTreeSet::new(), BTreeSet::new(), Instant::now());
    let left = Ahead::of(&inputs.study, missing.iter().map(|(_, key)| *key));
    let plans = options.plans.then_some(inputs.plans.as_slice());
    let noise = Noise::start(&inputs.study, &options.results, store.root(), progress)?;
    let mut run = Run { store, id, of, looks, noise, meter, plans, left, ensured, told, progress, live, time, began };
    // Where nothing is missing, the data are still to be checked.
    let mut deployments: Vec<&[(usize, &TrialKey)]> = missing.chunk_by(|a, b| a.1.deployment() == b.1.deployment()).collect();
    if deployments.is_empty() {
        deployments.push(&[]);
    }
    run.live.say(Event::Doing { text: "looking at the servers".to_owned() });
    let fleet = gathered((options, &inputs.study), missing, stop)?;
    let passwords = stage::passwords(inputs, options.ask_password)?;
    let request = preflight::Request::of_trials(inputs, store.root(), fleet.is_some());
    let most = Load { connections: request.connections, threads: request.threads };
    preflight::pass(inputs, request, &passwords, run.progress, stop)?;
    let mut later = deployments.len() as u32;
    for missing in deployments {
        later -= 1;
        run.meter.now(Work::Servers)?;
        run.time.start_deployment(later);
        if !missing.is_empty() {
            run.tell_what_is_left(inputs);
        }
        // Before the stages, so that it goes after them: each deployment has servers of its own.
        let servers = Servers::start(inputs, &options.results, stop, run.progress)?;
        let stages = stage::build(inputs, &servers, &passwords, stop)?;
        if let Some(plans) = plans {
            plans::tell_unread(&stages, plans, run.progress);
        }
        if let Some(fleet) = fleet.as_ref() {
            fleet.prepare((inputs, most), &servers, &passwords, run.progress)?;
        }
        let context = Context { study: &inputs.study, fingerprint: &fingerprint, host: &host, fleet: fleet.as_ref(), deployment };
        let mut session = Session::start(inputs, context, (&stages, servers), store.root(), stop, run.progress)?;
        let measured = run.measure(&mut session, missing);
        let measured = measured.and(run.meter.now(Work::Checks));
        session.end(measured, run.progress)?;
        run.check(&session)?;
    }
    Ok(())
}

/// The agents that are to apply these trials, if any.
fn gathered(
    (options, study): (&RunOptions, &Study),
    missing: &[(usize, &TrialKey)],
    stop: &StopToken,
) -> Result<Option<Fleet>, LabError> {
    let Some(fewest) = missing.iter().map(|(_, key)| key.connections).min() else { return Ok(None) };
    let fleet = FleetOptions::of_study(options.fleet.as_ref(), study)?;
    let in_one =
        |key: &TrialKey| study.workload(&key.workload).is_some_and(|w| study.sweep_of(&w.name).of_streams || w.beside() > 0);
    if let (Some(_), Some((_, key))) = (&fleet, missing.iter().find(|(_, key)| in_one(key))) {
        let message =
            format!("streams and queries of `{}` wait for each other within one process, and agents are several", key.workload);
        return Err(LabError::usage(message, "leave the agents out, or make a study of its own for this workload"));
    }
    fleet.map(|fleet| Fleet::gather(fleet, fewest, stop)).transpose()
}

struct Run<'a> {
    store: &'a Store,
    /// Tells this results folder from every other one, whatever the study is called.
    id: String,
    /// Trials of the study.
    of: usize,
    looks: Looks<'a>,
    noise: Noise,
    meter: &'a mut Meter,
    /// The workloads, where plans of their queries are asked for.
    plans: Option<&'a [Plan]>,
    /// Those that are still to be run.
    left: Ahead,
    /// Positions of the stages whose data were looked at.
    ensured: BTreeSet<usize>,
    /// Flags that a line explained.
    told: BTreeSet<String>,
    progress: &'a mut dyn Progress,
    live: Live,
    time: TimeLeft,
    /// When the first trial of this run could begin.
    began: Instant,
}

impl Run<'_> {
    fn tell_what_is_left(&mut self, inputs: &Inputs) {
        let (left, trials) = (time_and_cost(inputs, self.time.left(self.left, Duration::ZERO)), self.left.trials);
        let plural = if trials == 1 { "" } else { "s" };
        let (most, about) = if inputs.study.decision.until.is_some() { ("at most ", "at most") } else { ("", "about") };
        self.progress.line(&format!("{most}{trials} trial{plural} to run, {about} {left} with loads and checks"));
    }

    /// Loads what is missing for any of the trials, and runs them.
    fn measure(&mut self, session: &mut Session<'_>, missing: &[(usize, &TrialKey)]) -> Result<(), LabError> {
        self.meter.now(Work::Loads)?;
        let needed = missing.iter().map(|(_, key)| stage_of(session.context.study, key)).collect::<Result<BTreeSet<_>, _>>()?;
        for stage in needed {
            self.live.say(Event::Doing { text: format!("looking at the data of {}", session.stages[stage].title) });
            let began = Instant::now();
            let loaded = matches!(session.ensure(stage, self.progress)?, Ensured::Loaded);
            self.time.load_took(stage, loaded.then(|| began.elapsed()));
            self.meter.note_load(loaded.then(|| self.time.data_of(stage)).flatten())?;
            self.ensured.insert(stage);
        }
        self.live.say(Event::Doing { text: "waiting until the servers are at rest".to_owned() });
        session.rest(&self.ensured, self.progress)?;
        // One point that measures nothing does not keep the others from being measured.
        let mut failure = None;
        for (position, key) in missing {
            let began = Instant::now();
            let (stage, block) = (stage_of(session.context.study, key)?, self.block(session.context.study, key));
            let planned = length(session.context.study, &key.workload);
            self.noise.before(key, self.progress);
            match self.looks.before(key, self.progress) {
                Next::Run => {}
                Next::Skip => {
                    self.left.less(planned);
                    continue;
                }
                Next::End => break,
            }
            self.store.still_there()?;
            let trial = match self.counting(session, (stage, &block), key, *position)? {
                Ok(trial) => trial,
                Err(given_up) => {
                    failure.get_or_insert(given_up);
                    self.left.less(planned);
                    continue;
                }
            };
            self.store.write_trial(&trial)?;
            let record = &trial.record;
            self.looks.saw(record);
            self.noise.saw(record);
            session.note_end(stage, &block)?;
            self.time.trial_took(planned, began.elapsed());
            let metric = record.workload.metric.metric();
            let value = format!("{} {}", value(record.metric(metric)), metric.label);
            self.live.say(Event::Done { trial: record.key.clone(), value });
            self.left.less(planned);
        }
        failure.map_or(Ok(()), Err)
    }

    /// The block of a trial, as noted in the target; with factors that part of it which finds the servers in one state.
    fn block(&self, study: &Study, key: &TrialKey) -> String {
        let deployment = key.deployment.map(|d| format!("{d}.")).unwrap_or_default();
        let state = study.workload(&key.workload).map(|spec| study.state_name("", spec)).unwrap_or_default();
        format!("{}/{deployment}{}{state}", self.id, key.trial)
    }

    /// A trial that counts, or why it is given up. One that counts for nothing is kept as evidence and measured again, a few times.
    fn counting(
        &mut self,
        session: &mut Session<'_>,
        stage: (usize, &str),
        key: &TrialKey,
        position: usize,
    ) -> Result<Result<Trial, LabError>, LabError> {
        let mut repeats = 0;
        loop {
            let given_up = match (self.trial(session, stage, key, position), session.context.fleet) {
                // There is no record of it: a part of what was done is not known.
                (Err(lost), Some(fleet)) if lost.kind() == ErrorKind::AgentLost => {
                    let lost = match session.context.deployment {
                        Some(deployment) => deployment.explain(lost),
                        None => lost,
                    };
                    self.progress.alert(&format!("void, and measured again: {lost}"));
                    fleet.regroup(session.stop, self.progress)?;
                    lost
                }
                (trial, _) => {
                    let trial = trial?;
                    let Some(why) = trial.record.void_reason() else { return Ok(Ok(trial)) };
                    let aside = void::set_aside(self.store, &trial, &why)?;
                    self.progress.alert(&format!("{}: void, because {}; kept as {aside}", key.title(), why.text()));
                    void::given_up(key, &why)
                }
            };
            if repeats == void::REPEATS {
                return Ok(Err(given_up));
            }
            repeats += 1;
            self.live.say(Event::Doing { text: format!("measuring again: {}", key.title()) });
        }
    }

    fn trial(
        &mut self,
        session: &mut Session<'_>,
        stage: (usize, &str),
        key: &TrialKey,
        position: usize,
    ) -> Result<Trial, LabError> {
        let study = session.context.study;
        self.meter.now(Work::Loads)?;
        let (task, done) = session.ready(stage, key, trial::spec(study, key), position, self.progress)?;
        self.time.data_done(stage.0, done).map_or(Ok(()), |data| self.meter.note_load(Some(data)))?;
        self.meter.now(Work::Trials)?;
        let Self { progress, live, time, left, of, began: run_began, .. } = self;
        let head = format!("[{}/{of}] {}", position + 1, key.title());
        let done = |left| Done::of_time(run_began.elapsed(), left);
        // Work that the last trial left to do does not fall on this one.
        rest::shown_pause(Duration::from_nanos(study.sweep.cooldown_ns), session.stop, &mut |rest| {
            let done = done(time.left(*left, Duration::ZERO));
            progress.advancing(&format!("{head} · cooling down for {}", clock_text(rest)), done);
        })?;
        let began = Instant::now();
        progress.advancing(&head, done(time.left(*left, Duration::ZERO)));
        let shown = &mut |interval: &Interval| {
            let left = time.left(*left, began.elapsed());
            progress.advancing(&format!("{head} · {}", second_text(interval)), done(left));
            left
        };
        let applies_load = session.context.fleet.is_none();
        // What loads and checks took belongs to no trial.
        live.cpu();
        let mut watched = Watched { key, position: position + 1, applies_load, live, shown };
        let mut trial = session.run(stage.0, task, &mut watched)?;
        if let Some(plans) = self.plans.filter(|_| trial.record.void_reason().is_none()) {
            let shown = &mut |query: &str| progress.passing(&format!("{head} · asking for the plan of {query}"));
            plans::keep((&session.stages[stage.0], stage.0), plans, &mut trial, shown)?;
        }
        let (record, metric) = (&trial.record, study.metric_of(&key.workload));
        let flags: String = record.flags.iter().map(|flag| self.flag_text(flag)).collect();
        self.progress.line(&format!("{head}: {} {}{flags}", value(record.metric(metric)), metric.label));
        Ok(trial)
    }

    /// A flag at the end of its trial's line: the first of its sort in words, the others by name.
    fn flag_text(&mut self, flag: &Flag) -> String {
        let (name, text) = (flag.name(), flag.text());
        if self.told.insert(name.clone()) {
            return format!(" ({text})");
        }
        self.progress.detail(&format!("{name}: {text}"));
        format!(" ({name})")
    }
}

/// Position of the stage of a trial: contenders in the order of the study, workloads within.
fn stage_of(study: &Study, key: &TrialKey) -> Result<usize, LabError> {
    let contender = study.contenders.iter().position(|c| c.name == key.contender);
    let workload = study.workloads.iter().position(|w| w.name == key.workload);
    let stage = contender.zip(workload).map(|(c, w)| c * study.workloads.len() + w);
    stage.ok_or_else(|| LabError::failed(format!("the plan names {}, which the study does not", key.title()), ""))
}

/// A rate for people: thousands separated above 1000, one decimal below.
fn value(value: f64) -> String {
    if value >= 1000.0 { perbuck_core::units::thousands(value.round() as u64) } else { format!("{value:.1}") }
}
