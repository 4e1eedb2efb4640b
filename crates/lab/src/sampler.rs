//! What is sampled of the client's machine at the edges of the window.

use std::time::{Duration, Instant, SystemTime};

use perbuck_core::run_record::{Flag, Health, Interval, MachineSamples, Profile};
use perbuck_core::study::WorkloadSpec;
use perbuck_load::listed::Listed;
use perbuck_load::observer::{Observer, SecondSeen};
use perbuck_load::recorder::Second;
use perbuck_load::trial::TrialSpec;
use perbuck_observe::{CpuTime, Limits, Withheld};
use serde::{Deserialize, Serialize};

use crate::flags;
use crate::machine_sampler::MachineSampler;
use crate::metering::{Metered, Metering};
use crate::profile::Profiling;
use crate::servers::Holder;

/// The share of the window by which the edges of the server's CPU time may be late together; beyond it the time is not told.
const LATE_SHARE: f64 = 0.02;

/// Samples CPU times and clocks at the edges of the window, and passes all that it sees on.
pub(crate) struct Sampler<'a> {
    server: ServerClock,
    machine: Machine,
    samples: MachineSampler,
    metering: Option<Metering>,
    profiling: Option<Profiling>,
    /// Where the server spent its CPU time in the warm-up, where the study asks for it.
    pub(crate) server_profile: Option<Profile>,
    /// What was wrong with the machine in the window.
    pub(crate) flags: Vec<Flag>,
    opened: (CpuTime, Option<ServerSeen>),
    /// How long the server's CPU time at the opening was waited for.
    late: Duration,
    /// CPU time of this process in the window.
    pub(crate) own: CpuTime,
    /// CPU time of the server in the window, where it can be told.
    pub(crate) server_ns: Option<u64>,
    /// The share of the periods of its CPU limit in which the server was stopped in the window.
    pub(crate) server_throttled: Option<f64>,
    /// When the window opened and closed, by the clock that people set.
    pub(crate) window: Option<(SystemTime, SystemTime)>,
    /// What the machine of the server did, where that is another one.
    pub(crate) server_samples: Option<MachineSamples>,
    observer: &'a mut dyn Observer,
}

/// What is known of the processes of a server at one time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ServerSeen {
    pub(crate) cpu: CpuTime,
    pub(crate) limits: Limits,
}

/// What tells the CPU time of the server.
pub(crate) enum ServerClock {
    /// Nothing does.
    None,
    /// Its process on this machine.
    Process(u32),
    /// The guard that perbuck started.
    Guard(Holder),
}

impl ServerClock {
    /// A server tells its process best; one of several processes has the same parent.
    pub(crate) fn of(pid: Option<u32>, holder: Option<&Holder>) -> Self {
        pid.map(Self::Process).or_else(|| holder.cloned().map(Self::Guard)).unwrap_or(Self::None)
    }

    fn is_remote(&self) -> bool {
        matches!(self, Self::Guard(holder) if holder.is_remote())
    }

    fn seen(&self) -> Option<ServerSeen> {
        match self {
            Self::None => None,
            Self::Process(pid) => {
                Some(ServerSeen { cpu: perbuck_observe::cpu_of(*pid)?, limits: perbuck_observe::limits_of(*pid) })
            }
            Self::Guard(holder) => holder.seen(),
        }
    }
}

impl<'a> Sampler<'a> {
    /// Before the window opens.
    pub(crate) fn new(
        server: ServerClock,
        (metering, profiling): (Option<Metering>, Option<Profiling>),
        observer: &'a mut dyn Observer,
    ) -> Self {
        let (machine, samples, opened) = (Machine::now(), MachineSampler::new(), (CpuTime::default(), None));
        Self {
            server,
            machine,
            samples,
            metering,
            profiling,
            server_profile: None,
            flags: Vec::new(),
            opened,
            late: Duration::ZERO,
            own: CpuTime::default(),
            server_ns: None,
            server_throttled: None,
            window: None,
            server_samples: None,
            observer,
        }
    }

    /// The servers' own metrics. Their connections are closed then.
    pub(crate) fn metered(&mut self) -> Option<Metered> {
        self.metering.take()?.finish()
    }

    /// What the machine of this process did in the window.
    pub(crate) fn samples(&self) -> Option<MachineSamples> {
        self.samples.record()
    }

    /// The state of the client, with what the engine does not know of it. Of long transactions none may end for seconds.
    pub(crate) fn health(
        &mut self,
        (spec, of_study): (&TrialSpec, Option<&WorkloadSpec>),
        of_engine: Health,
        intervals: &[Interval],
    ) -> Health {
        let profiles = self.profiling.take().map(Profiling::finish).unwrap_or_default();
        self.server_profile = profiles.server;
        let long = of_study.is_some_and(WorkloadSpec::is_long);
        let gaps = if long { (0, Vec::new()) } else { (of_engine.longest_gap_ns, of_engine.gaps) };
        Health {
            longest_gap_ns: gaps.0,
            gaps: gaps.1,
            client_user_ns: self.own.user_ns,
            client_system_ns: self.own.system_ns,
            samples: self.samples(),
            profile: profiles.client,
            peak_memory_bytes: perbuck_observe::peak_memory_bytes(),
            // Streams rise, fall and end as they were recorded.
            steadiness: flags::steadiness(&spec.phases, intervals).filter(|_| !long && !spec.streams),
            ..of_engine
        }
    }
}

/// What is seen of the server, and how long the answer of another machine took.
fn timed(server: &ServerClock) -> (Option<ServerSeen>, Duration) {
    let (began, seen) = (Instant::now(), server.seen());
    (seen, if server.is_remote() { began.elapsed() } else { Duration::ZERO })
}

/// Counters and clocks of the client's machine at one time.
struct Machine {
    withheld: Withheld,
    steady: Instant,
    civil: SystemTime,
}

impl Machine {
    fn now() -> Self {
        Self { withheld: perbuck_observe::withheld(), steady: Instant::now(), civil: SystemTime::now() }
    }

    /// What was wrong with it since an earlier reading.
    fn flags_since(&self, earlier: &Self) -> Vec<Flag> {
        let length = self.steady.duration_since(earlier.steady);
        let civil = match self.civil.duration_since(earlier.civil) {
            Ok(forward) => forward.as_secs_f64(),
            Err(back) => -back.duration().as_secs_f64(),
        };
        let stolen = self.withheld.stolen_since(&earlier.withheld);
        flags::of_machine(length, civil, stolen, self.withheld.stopped_since(&earlier.withheld))
    }
}

impl Observer for Sampler<'_> {
    fn by_kind(&self) -> bool {
        self.observer.by_kind()
    }

    fn lists(&self) -> bool {
        self.observer.lists()
    }

    fn listed(&mut self, all: &[Listed]) {
        self.observer.listed(all);
    }

    fn starts(&mut self, opens_in: Duration) {
        self.profiling.iter_mut().for_each(|profiling| profiling.start(opens_in));
        self.observer.starts(opens_in);
    }

    fn opens(&mut self) {
        self.profiling.iter_mut().for_each(Profiling::open);
        // It reads on a thread of its own.
        self.metering.iter().for_each(Metering::open);
        self.opened.0 = perbuck_observe::own_cpu();
        self.machine = Machine::now();
        self.samples.open();
        self.observer.opens();
        if let ServerClock::Guard(holder) = &self.server {
            holder.watch();
        }
        // The last: on another machine the answer takes a moment.
        (self.opened.1, self.late) = timed(&self.server);
    }

    fn second(&mut self, seen: &SecondSeen<'_>) {
        self.samples.read();
        self.observer.second(seen);
    }

    fn rest(&mut self, rest: &Second) {
        self.observer.rest(rest);
    }

    fn closes(&mut self) {
        self.metering.iter().for_each(Metering::close);
        self.samples.close();
        self.own = perbuck_observe::own_cpu().minus(self.opened.0);
        let machine = Machine::now();
        self.window = Some((self.machine.civil, machine.civil));
        self.flags = machine.flags_since(&self.machine);
        let (now, late) = timed(&self.server);
        let now = now.filter(|_| (self.late + late).as_secs_f64() <= LATE_SHARE * self.machine.steady.elapsed().as_secs_f64());
        // A server that was restarted in between has another process, and its time cannot be told.
        if let Some((now, then)) = now.zip(self.opened.1.take()) {
            self.server_ns = Some(now.cpu.minus(then.cpu).total_ns());
            self.server_throttled = now.limits.stopped_since(&then.limits);
        }
        if let ServerClock::Guard(holder) = &self.server {
            self.server_samples = holder.watched();
        }
    }
}
