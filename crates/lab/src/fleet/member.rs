//! An agent as its coordinator sees it.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use perbuck_core::run_record::{AgentRecord, Distance, Flag, HostRecord};
use perbuck_core::units::thousands;
use perbuck_fleet::{Channel, Offset, Received};
use perbuck_load::executor::{Agent, Signals, WorkerOutcome};
use perbuck_load::stop::StopToken;
use perbuck_load::trial::{AgentFailure, RunError};
use perbuck_load::workload::NewRecords;
use serde::Serialize;

use super::client::ClientSeen;
use super::messages::{Answer, FillOrder, Order, Prepared, ShareReport, StudyOrder, TrialOrder};
use super::options::AgentAddress;
use crate::error::{ErrorKind, Failure, LabError};
use crate::servers::RemoteAgent;

/// An agent that is silent for longer is lost: it says something ten times a second.
pub(super) const SILENT: Duration = Duration::from_secs(1);
/// How long an agent may take to answer what it knows.
const SOON: Duration = Duration::from_secs(20);
/// How long an agent may take to look at a study and its servers.
const PREPARES: Duration = Duration::from_secs(60);
/// How often it is asked whether something came.
const LOOK: Duration = Duration::from_millis(5);
/// Why one is lost that speaks of something else.
const UNASKED: &str = "it answered what it was not asked";
/// How long an agent that was told to stop at once may take.
const STOPS: Duration = Duration::from_secs(15);

/// One agent.
pub(super) struct Member {
    pub(super) agent: AgentAddress,
    shared: Arc<Shared>,
    /// The contenders that it was told of.
    told: RefCell<BTreeSet<String>>,
    stop: StopToken,
    /// Where it is lost, whether its process is gone for certain.
    pub(super) is_absent: Cell<bool>,
    /// The agent, where perbuck started it: it lives as long as this.
    _launched: Option<RemoteAgent>,
}

/// What its trials need.
pub(super) struct Shared {
    name: String,
    channel: Channel,
    prepared: Mutex<Prepared>,
    lost: Mutex<Option<String>>,
}

impl Shared {
    fn prepared(&self) -> Prepared {
        self.prepared.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn loses(&self, why: &str) {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| why.to_owned());
        // What it would still say belongs to a trial that is void.
        self.channel.close();
    }

    fn lost(&self, why: &str) -> RunError {
        self.loses(why);
        RunError::AgentLost(format!("agent {}: {why}", self.name))
    }

    fn tell(&self, order: &Order) -> Result<(), RunError> {
        self.channel.send(order).map_err(|e| self.lost(&e.to_string()))
    }

    /// That it cannot do what was ordered.
    fn failed(&self, failure: Failure) -> RunError {
        let Failure { kind, message, help } = failure;
        RunError::Agent(AgentFailure {
            target: kind == ErrorKind::Target,
            message: format!("agent {}: {message}", self.name),
            help,
        })
    }

    /// Tells it to insert what is missing of its new records.
    pub(super) fn fill(&self, order: FillOrder) -> Result<(), RunError> {
        self.tell(&Order::Fill(order))
    }

    /// Waits until none of its new records is missing any more; how many were. It works as long as it takes.
    pub(super) fn filled(&self, stop: &StopToken) -> Result<u64, RunError> {
        loop {
            match self.channel.receive(LOOK) {
                Received::Message(Answer::Filled(rows)) => return Ok(rows),
                Received::Message(Answer::Failed(failure)) => return Err(self.failed(failure)),
                Received::Message(_) => return Err(self.lost(UNASKED)),
                Received::Closed(why) => return Err(self.lost(&why)),
                Received::Nothing if self.channel.silent_for() > SILENT => return Err(self.lost("it fell silent")),
                Received::Nothing if stop.requested() => return Err(RunError::Interrupted),
                Received::Nothing => {}
            }
        }
    }
}

impl Member {
    pub(super) fn new(agent: AgentAddress, (channel, launched): (Channel, Option<RemoteAgent>), stop: StopToken) -> Self {
        let shared = Shared { name: agent.address.clone(), channel, prepared: Mutex::default(), lost: Mutex::default() };
        Self { agent, shared: Arc::new(shared), told: RefCell::default(), stop, is_absent: Cell::new(false), _launched: launched }
    }

    /// What messages call it.
    pub(super) fn name(&self) -> &str {
        &self.agent.address
    }

    /// Whether it applies a share of the trials of a contender: it is there, and was told of it.
    pub(super) fn drives(&self, contender: &str) -> bool {
        self.lost().is_none() && self.told.borrow().contains(contender)
    }

    /// It is lost, and why; a later reason takes the place of an earlier one.
    pub(super) fn lose(&self, why: &str) {
        self.shared.lost.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.shared.loses(why);
    }

    /// Why it is lost, if it is.
    pub(super) fn lost(&self) -> Option<String> {
        self.shared.lost.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn offset(&self) -> Option<Offset> {
        self.shared.channel.offset()
    }

    pub(super) fn shared(&self) -> Arc<Shared> {
        self.shared.clone()
    }

    /// Its machine, for people.
    pub(super) fn machine(&self) -> String {
        let HostRecord { arch, cpus, memory_bytes, .. } = &self.shared.prepared().host;
        let to = |(name, distance): (String, Distance)| format!(", to {name} {} µs", thousands(distance.statement_ns / 1000));
        let servers: String = self.distances().into_iter().map(to).collect();
        let clock = format!(", round trip {} µs{servers}", thousands(self.round_trip_us()));
        format!("{arch}, {cpus} processors, {:.1} GiB{clock}", *memory_bytes as f64 / f64::from(1 << 30))
    }

    /// How far the servers of contenders are from it.
    pub(super) fn distances(&self) -> BTreeMap<String, Distance> {
        self.shared.prepared().distances
    }

    /// The shortest round trip to it, in microseconds.
    pub(super) fn round_trip_us(&self) -> u64 {
        self.shared.channel.round_trip().map_or(0, |trip| trip.as_micros() as u64)
    }

    /// Tells it its part of the study, of which it is one of so many agents; it looks whether it can drive it.
    pub(super) fn prepare(&self, whole: &StudyOrder, of: u32) -> Result<(), LabError> {
        let order = whole.of_agent(&self.agent, of);
        self.say(&OrderOf::Study(&order))?;
        self.told.replace(order.reached.into_keys().collect());
        let Answer::Prepared(prepared) = self.hear(Asked::AfterWork)? else { return Err(self.other()) };
        *self.shared.prepared.lock().unwrap_or_else(PoisonError::into_inner) = *prepared;
        Ok(())
    }

    /// Orders something, and waits for the answer.
    pub(super) fn ask(&self, order: &impl Serialize, asked: Asked) -> Result<Answer, LabError> {
        self.say(order)?;
        self.hear(asked)
    }

    pub(super) fn say(&self, order: &impl Serialize) -> Result<(), LabError> {
        self.shared.channel.send(order).map_err(|e| self.gone(&e.to_string()))
    }

    /// Its next answer; that it cannot do what was ordered is an error.
    pub(super) fn hear(&self, asked: Asked) -> Result<Answer, LabError> {
        let limit = match asked {
            Asked::Soon => SOON,
            Asked::AfterWork => PREPARES,
        };
        let until = Instant::now() + limit;
        while Instant::now() < until {
            match self.shared.channel.receive(LOOK) {
                Received::Message(Answer::Failed(Failure { kind, message, help })) => {
                    let from_there =
                        "agents reach the servers from their own machines; look at addresses, network and rights there";
                    let help = if kind == ErrorKind::Target { from_there } else { help.as_str() };
                    return Err(LabError::new(kind, format!("agent {}: {message}", self.name()), help));
                }
                Received::Message(answer) => return Ok(answer),
                Received::Closed(why) => return Err(self.gone(&why)),
                Received::Nothing if self.shared.channel.silent_for() > SILENT => return Err(self.gone("it fell silent")),
                Received::Nothing if self.stop.requested() => return Err(LabError::interrupted()),
                Received::Nothing => {}
            }
        }
        Err(self.gone(&format!("it did not answer within {limit:?}")))
    }

    /// That it answered something else.
    pub(super) fn other(&self) -> LabError {
        self.gone(UNASKED)
    }

    fn gone(&self, why: &str) -> LabError {
        let help = "look at that machine, then run the same command again";
        LabError::new(ErrorKind::AgentLost, format!("agent {}: {why}", self.name()), help)
    }
}

/// How soon an answer is due.
#[derive(Debug, Clone, Copy)]
pub(super) enum Asked {
    /// When the network has carried it.
    Soon,
    /// After servers were asked, or load was driven.
    AfterWork,
}

/// As [`Order`], of what is not owned.
#[derive(Serialize)]
enum OrderOf<'a> {
    Study(&'a StudyOrder),
    Trial(&'a TrialOrder),
}

/// What an agent says of itself at the end of its share.
pub(super) struct Seen {
    /// The number of its share.
    pub(super) number: u32,
    pub(super) record: AgentRecord,
    pub(super) flags: Vec<Flag>,
    /// Whether it was the limit.
    pub(super) client: ClientSeen,
    /// Statements that ran as text.
    pub(super) as_text: u64,
    /// What it sent, as the server counts it.
    pub(super) sent: u64,
    /// How it numbered its new records.
    pub(super) new_records: Option<NewRecords>,
}

/// An agent with its share of a trial.
pub(super) struct Sharing<'a> {
    order: TrialOrder,
    agent: Arc<Shared>,
    reports: &'a Mutex<Vec<Seen>>,
    /// Its clock when the start was given.
    offset: Option<Offset>,
    started: bool,
    /// How often it was told to stop, and until when it may take to do so.
    stops: u8,
    stops_until: Option<Instant>,
}

impl<'a> Sharing<'a> {
    pub(super) fn new(order: TrialOrder, agent: Arc<Shared>, reports: &'a Mutex<Vec<Seen>>) -> Self {
        Self { order, agent, reports, offset: None, started: false, stops: 0, stops_until: None }
    }

    fn lost(&self, why: &str) -> RunError {
        self.agent.lost(why)
    }

    fn tell(&self, order: &Order) -> Result<(), RunError> {
        self.agent.tell(order)
    }

    /// Passes the start and requests to stop on.
    fn pass_on(&mut self, signals: &Signals) -> Result<(), RunError> {
        if !self.started
            && let Some(start) = signals.opens_at()
        {
            self.started = true;
            match (start, self.agent.channel.offset()) {
                (Some(opens_ns), Some(offset)) => {
                    self.offset = Some(offset);
                    self.tell(&Order::Start { opens_ns: opens_ns + offset.ns })?;
                }
                (Some(_), None) => return Err(self.lost("its clock was never heard")),
                (None, _) => self.stop(2)?,
            }
        }
        self.stop(signals.stops())
    }

    fn stop(&mut self, times: u8) -> Result<(), RunError> {
        while self.stops < times {
            self.stops += 1;
            self.tell(&Order::Stop)?;
            if self.stops > 1 {
                self.stops_until = Some(Instant::now() + STOPS);
            }
        }
        Ok(())
    }

    /// Keeps what it says of itself; what its workers saw is the result.
    fn ended(&self, report: ShareReport) -> Vec<WorkerOutcome> {
        let share = self.order.spec.share;
        let offset = self.offset.unwrap_or(Offset { ns: 0, error_ns: 0 });
        let prepared = self.agent.prepared();
        let record = AgentRecord {
            name: self.agent.name.clone(),
            host: prepared.host,
            connections: share.connections(self.order.spec.connections),
            workers: report.workers.len() as u32,
            clock_offset_ns: offset.ns,
            clock_error_ns: offset.error_ns.unsigned_abs(),
            clock_drift_ns: self.agent.channel.offset().map_or(0, |at_end| at_end.ns - offset.ns),
            start_missed_ns: report.start_missed_ns,
            user_ns: report.user_ns,
            system_ns: report.system_ns,
            peak_memory_bytes: report.peak_memory_bytes,
            server_distance: prepared.distances.get(&self.order.contender).copied(),
            samples: report.samples.clone(),
        };
        let ShareReport { as_text, sent, new_records, .. } = report;
        let named = |flag: Flag| match flag {
            Flag::Throttled { why } => Flag::Throttled { why: format!("agent {}: {why}", self.agent.name) },
            other => other,
        };
        let flags = report.flags.into_iter().map(named).collect();
        let client = ClientSeen::of(&report.workers, self.order.spec.load.is_open());
        let seen = Seen { number: share.number, record, flags, client, as_text, sent, new_records };
        self.reports.lock().unwrap_or_else(PoisonError::into_inner).push(seen);
        report.workers
    }
}

impl Agent for Sharing<'_> {
    fn apply(mut self: Box<Self>, signals: &Signals) -> Result<Vec<WorkerOutcome>, RunError> {
        let sent = self.agent.channel.send(&OrderOf::Trial(&self.order));
        sent.map_err(|e| self.lost(&e.to_string()))?;
        loop {
            match self.agent.channel.receive(LOOK) {
                Received::Message(Answer::Ready) => signals.ready(),
                Received::Message(Answer::Second(second)) => signals.second(*second),
                Received::Message(Answer::Ended(report)) => return Ok(self.ended(*report)),
                Received::Message(Answer::Stopped) if self.stops == 0 => return Err(self.lost("it was stopped")),
                Received::Message(Answer::Stopped) => return Err(RunError::Interrupted),
                Received::Message(Answer::Failed(failure)) => return Err(self.agent.failed(failure)),
                Received::Message(Answer::Prepared(_) | Answer::Echo(_) | Answer::Ceiling { .. } | Answer::Filled(_)) => {
                    return Err(self.lost(UNASKED));
                }
                Received::Closed(why) => return Err(self.lost(&why)),
                Received::Nothing => {}
            }
            let silent = self.agent.channel.silent_for();
            if silent > SILENT {
                return Err(self.lost(&format!("it was silent for {:.1} s", silent.as_secs_f64())));
            }
            if self.stops_until.is_some_and(|until| Instant::now() > until) {
                return Err(self.lost(&format!("it did not stop within {STOPS:?}")));
            }
            self.pass_on(signals)?;
        }
    }
}
