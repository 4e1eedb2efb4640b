//! `perbuck agent`: waits for a coordinator, and applies its shares of trials.

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use perbuck_core::run_record::HostRecord;
use perbuck_core::study::WorkloadSpec;
use perbuck_database::secret::Secret;
use perbuck_fleet::{Build, Channel, Clock, FleetError, Received, Token, accept};
use perbuck_load::executor::WorkerOutcome;
use perbuck_load::observer::Unobserved;
use perbuck_load::stop::StopToken;
use perbuck_load::trial::{RunError, TrialSpec};
use perbuck_load::window::steady_ns;
use perbuck_workloads::Plan;

use super::ear::{Ear, Far};
use super::member::SILENT;
use super::messages::{Answer, FillOrder, Order, Prepared, ShareReport, StudyOrder, TrialOrder};
use crate::ceiling::{self, CONTENDER};
use crate::distance;
use crate::error::{ErrorKind, LabError};
use crate::inputs::{self, Inputs};
use crate::process;
use crate::progress::Progress;
use crate::registry::Registry;
use crate::sampler::{Sampler, ServerClock};
use crate::stage::{Server, Stage, Trials, stages_of};
use crate::system;

/// How often a wait looks for a request to stop.
pub(super) const LOOK: Duration = Duration::from_millis(5);
/// So many connections at once may be about to prove that they know the token.
const HANDSHAKES: usize = 16;
/// How often it looks for a coordinator that connects.
const ACCEPT: Duration = Duration::from_millis(50);

/// How an agent works.
pub struct AgentOptions {
    /// Where it listens.
    pub listen: SocketAddr,
    /// What it and its coordinator know.
    pub token: Token,
    /// The build of its program, which must be that of its coordinator; another one than it runs only for tests.
    pub build: Build,
    /// The clock by which it starts; [`perbuck_load::window::steady_ns`], or one that is ahead of it by so many nanoseconds, for tests.
    pub clock_ahead_ns: i64,
    /// The databases and benchmarks that it knows.
    pub registry: Registry,
}

/// Serves one coordinator after the other, until `stop`. `listening` is told the address.
///
/// # Errors
/// The address cannot be listened at.
pub fn serve(
    options: &AgentOptions,
    listening: &mut dyn FnMut(SocketAddr),
    progress: &mut dyn Progress,
    stop: &StopToken,
) -> Result<(), LabError> {
    system::drives_load()?;
    let cannot = |e: std::io::Error| {
        let help = "name an address of this machine with a free port: --listen 0.0.0.0:7117";
        LabError::new(ErrorKind::Usage, format!("cannot listen at {}: {e}", options.listen), help)
    };
    let listener = TcpListener::bind(options.listen).map_err(cannot)?;
    listener.set_nonblocking(true).map_err(cannot)?;
    listening(listener.local_addr().map_err(cannot)?);
    let ahead = options.clock_ahead_ns;
    let clock: Clock = Arc::new(move || steady_ns() + ahead);
    let (busy, handshakes) = (AtomicBool::new(false), AtomicUsize::new(0));
    let (arrived, arrivals) = std::sync::mpsc::channel();
    // On threads of their own, so that one that comes while another is served is told so, and one that says nothing keeps no other waiting.
    thread::scope(|scope| {
        let (busy, handshakes, clock) = (&busy, &handshakes, &clock);
        scope.spawn(move || {
            while !stop.requested() {
                let Ok((stream, from)) = listener.accept() else {
                    thread::sleep(ACCEPT);
                    continue;
                };
                // Beyond so many at once a connection is closed unheard.
                if handshakes.fetch_add(1, Ordering::AcqRel) >= HANDSHAKES {
                    handshakes.fetch_sub(1, Ordering::AcqRel);
                    continue;
                }
                let arrived = arrived.clone();
                let meet = move || {
                    let agreed = agreed(&stream, options, clock.clone(), busy);
                    handshakes.fetch_sub(1, Ordering::AcqRel);
                    // Where the agent ends meanwhile, so does the connection.
                    drop(arrived.send((from, agreed)));
                };
                if thread::Builder::new().spawn_scoped(scope, meet).is_err() {
                    handshakes.fetch_sub(1, Ordering::AcqRel);
                }
            }
        });
        while !stop.requested() {
            progress.passing("waiting for a coordinator");
            match arrivals.recv_timeout(ACCEPT) {
                Ok((from, Ok(channel))) => {
                    progress.line(&format!("coordinator {from} has come"));
                    let ended = Served { channel: &channel, options, progress, stop }.run();
                    progress.line(&format!("coordinator {from} has gone: {ended}"));
                    busy.store(false, Ordering::Release);
                }
                Ok((from, Err(why))) => progress.alert(&format!("{from} was refused: {why}")),
                Err(_) => {}
            }
        }
    });
    Ok(())
}

fn agreed(stream: &TcpStream, options: &AgentOptions, clock: Clock, busy: &AtomicBool) -> Result<Channel, String> {
    stream.set_nonblocking(false).map_err(|e| e.to_string())?;
    let mut mine = false;
    let agreed = accept(stream, (&options.token, &options.build), clock, || {
        mine = !busy.swap(true, Ordering::AcqRel);
        if mine { Ok(()) } else { Err("this agent serves another coordinator".to_owned()) }
    });
    if agreed.is_err() && mine {
        busy.store(false, Ordering::Release);
    }
    agreed.map_err(|e| match e {
        // In this agent's own words.
        FleetError::Refused(why) => why,
        other => other.to_string(),
    })
}

/// A contender joined with a workload, as far as an agent needs it.
struct Driven {
    title: String,
    /// `None` where the driver is simulated.
    server: Option<Arc<dyn Server>>,
    trials: Arc<dyn Trials>,
}

impl Driven {
    /// Statements that ran as text, and what sessions sent, since the start.
    fn sent(&self) -> (u64, u64) {
        self.server.as_ref().map_or((0, 0), |server| (server.text_fallbacks(), server.sent()))
    }
}

impl From<Stage> for Driven {
    fn from(stage: Stage) -> Self {
        Self { title: stage.title, server: Some(stage.server), trials: stage.trials }
    }
}

/// Contenders joined with workloads, by their names.
type Stages = BTreeMap<(String, String), Driven>;

/// One coordinator, as long as it is there.
struct Served<'a> {
    channel: &'a Channel,
    options: &'a AgentOptions,
    progress: &'a mut dyn Progress,
    stop: &'a StopToken,
}

impl Served<'_> {
    /// Until it is gone; returns why.
    fn run(&mut self) -> String {
        let mut stages = Stages::new();
        loop {
            if self.stop.requested() {
                return "this agent was stopped".to_owned();
            }
            let order = self.channel.receive(LOOK);
            let silent = self.channel.silent_for();
            let answer = match order {
                Received::Message(Order::Study(order)) => match self.prepared(&order) {
                    Ok((made, prepared)) => {
                        stages = made;
                        Answer::Prepared(Box::new(prepared))
                    }
                    Err(error) => Answer::Failed(error.into()),
                },
                Received::Message(Order::Trial(order)) => match of(&stages, &order.contender, &order.workload) {
                    Ok(stage) => match self.share(stage, &order) {
                        Ok(answer) => answer,
                        Err(gone) => return gone,
                    },
                    Err(answer) => answer,
                },
                Received::Message(Order::Fill(order)) => match of(&stages, &order.contender, &order.workload) {
                    Ok(stage) => self.filled(stage, &order),
                    Err(answer) => answer,
                },
                Received::Message(Order::Echo(text)) => Answer::Echo(text),
                Received::Message(Order::Ceiling { study, workload, spec }) => {
                    self.ceiling(&study, &workload, &spec).unwrap_or_else(|error| Answer::Failed(error.into()))
                }
                // It came too late for its trial, which has ended here.
                Received::Message(Order::Start { .. } | Order::Stop) => continue,
                Received::Closed(why) => return why,
                Received::Nothing if silent > SILENT => return format!("it was silent for {:.1} s", silent.as_secs_f64()),
                Received::Nothing => continue,
            };
            if let Err(error) = self.channel.send(&answer) {
                return error.to_string();
            }
        }
    }

    /// What the engine of this machine can drive, where a database answers at once.
    fn ceiling(&mut self, order: &StudyOrder, workload: &str, spec: &TrialSpec) -> Result<Answer, LabError> {
        let inputs = self.read(order)?;
        let named = inputs.study.workloads.iter().zip(&inputs.plans).find(|(w, _)| w.name == workload);
        let Some((_, plan)) = named else { return Err(LabError::usage(format!("it knows no workload `{workload}`"), "")) };
        self.progress.passing("driving a simulated database");
        let trials = (self.options.registry.simulated)(plan)?;
        let outcome = trials.run(spec, self.stop, &mut Unobserved).map_err(|e| ceiling::failed(&e))?;
        let seconds = outcome.measured.window_ns as f64 / 1e9;
        Ok(Answer::Ceiling {
            statements_per_s: outcome.measured.statements.total() as f64 / seconds,
            host: Box::new(perbuck_observe::host()),
        })
    }

    fn read(&self, order: &StudyOrder) -> Result<Inputs, LabError> {
        let prices = order.prices.clone().map(|(name, text)| (name.into(), text));
        let read = inputs::check(&order.name, order.text.clone(), prices, self.options.registry);
        read.map_err(|problems| LabError::problems(&problems))
    }

    /// Reads the study, and looks whether each contender can be reached from here.
    fn prepared(&mut self, order: &StudyOrder) -> Result<(Stages, Prepared), LabError> {
        let registry = self.options.registry;
        let inputs = self.read(order)?;
        if order.simulated {
            return Ok((simulated(&inputs)?, Prepared { host: perbuck_observe::host(), ..Prepared::default() }));
        }
        process::enough_descriptors(&inputs.targets, order.most.connections, order.most.threads)?;
        let (mut all, mut shared, mut distances) = (Stages::new(), false, BTreeMap::new());
        for (contender, own) in inputs.study.contenders.iter().zip(&inputs.targets) {
            let Some(reached) = order.reached.get(&contender.name) else { continue };
            let password = Secret::new(reached.password.clone());
            let private = reached.address.as_ref().map(|text| registry.target(text)).transpose();
            let private = private.map_err(|p| LabError::failed(p.message, p.help))?;
            let Some(target) = private.as_ref().or(own.as_ref()) else { return Err(crate::stage::no_target(contender)) };
            let stages = stages_of(&inputs, contender, (target, &password), self.stop)?;
            if let Some(stage) = stages.first() {
                stage.server.reach().map_err(|e| LabError::target(&contender.name, &e))?;
                shared |= stage.server.facts()?.on_this_machine;
                distances.extend(distance::measured(stage)?.map(|found| (contender.name.clone(), found)));
            }
            let names = inputs.study.workloads.iter().map(|workload| (contender.name.clone(), workload.name.clone()));
            all.extend(names.zip(stages.into_iter().map(Driven::from)));
        }
        self.progress.line(&format!("ready for study {}", inputs.study.name));
        let host = HostRecord { shared_with_server: shared, ..perbuck_observe::host() };
        Ok((all, Prepared { host, distances }))
    }

    /// Inserts what is missing of the new records of a share.
    fn filled(&mut self, stage: &Driven, order: &FillOrder) -> Answer {
        self.progress.passing(&format!("{}: inserting the records that the trial left out", stage.title));
        match stage.trials.fill(order.share, order.up_to) {
            Ok(rows) => Answer::Filled(rows),
            Err(error) => Answer::Failed(error.into()),
        }
    }

    /// Applies a share; an error is that the coordinator is gone.
    fn share(&mut self, stage: &Driven, order: &TrialOrder) -> Result<Answer, String> {
        let stop = if order.keeps { StopToken::keeping() } else { StopToken::default() };
        let opens_ns = Mutex::new(None);
        let (text_before, sent_before) = stage.sent();
        self.progress.passing(&format!(
            "{}: applying share {} of {}",
            stage.title,
            order.spec.share.number + 1,
            order.spec.share.of
        ));
        let mut nothing = Unobserved;
        let mut sampler = Sampler::new(ServerClock::None, (None, None), &mut nothing);
        let (ear, done) = (
            Ear { channel: self.channel, order, clock_ahead_ns: self.options.clock_ahead_ns, stop: &stop, opens_ns: &opens_ns },
            AtomicBool::new(false),
        );
        let own_stop = self.stop;
        let (ended, gone) = thread::scope(|scope| {
            let listening = scope.spawn(|| ear.listen(own_stop, &done));
            let mut far = Far { channel: self.channel, opens_ns: &opens_ns, sampler: &mut sampler };
            let ended = stage.trials.run_share((&order.spec, order.by_kind), &stop, &mut far);
            done.store(true, Ordering::Release);
            (ended, listening.join().unwrap_or_else(|_| Some("a thread of this agent panicked".to_owned())))
        });
        if let Some(gone) = gone {
            return Err(gone);
        }
        let missed = opens_ns.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(0, |(_, missed)| missed);
        let (text, sent) = stage.sent();
        Ok(match ended {
            Ok(workers) => Answer::Ended(Box::new(ShareReport {
                start_missed_ns: missed.max(workers.iter().map(WorkerOutcome::began_late_ns).max().unwrap_or_default()),
                user_ns: sampler.own.user_ns,
                system_ns: sampler.own.system_ns,
                peak_memory_bytes: perbuck_observe::peak_memory_bytes(),
                samples: sampler.samples(),
                flags: sampler.flags,
                as_text: text - text_before,
                sent: sent - sent_before,
                new_records: stage.trials.new_records(order.spec.share),
                workers,
            })),
            Err(RunError::Interrupted) => Answer::Stopped,
            Err(error) => Answer::Failed(LabError::trial(&stage.title, &error).into()),
        })
    }
}

/// The workloads of a study with the simulated driver.
fn simulated(inputs: &Inputs) -> Result<Stages, LabError> {
    let one = |(workload, plan): (&WorkloadSpec, &Plan)| {
        let (contender, name) = (CONTENDER.to_owned(), workload.name.clone());
        let driven = Driven { title: format!("{contender}, {name}"), server: None, trials: (inputs.registry.simulated)(plan)? };
        Ok(((contender, name), driven))
    };
    inputs.study.workloads.iter().zip(&inputs.plans).map(one).collect()
}

/// The stage with these names, or what is answered where there is none.
fn of<'s>(stages: &'s Stages, contender: &str, workload: &str) -> Result<&'s Driven, Answer> {
    let stage = stages.get(&(contender.to_owned(), workload.to_owned()));
    stage.ok_or_else(|| Answer::Failed(LabError::failed("it knows no such contender or workload", "").into()))
}
