//! About how long a study takes: its trials, what each needs beside its window, loads and checks.

use std::time::Duration;

use perbuck_core::compare::{DataLoad, cost_of, driven, used_text};
use perbuck_core::plan::TrialKey;
use perbuck_core::study::{Contender, Provider, Reset, Study, WorkloadSpec};
use perbuck_core::units::MicroUsd;
use perbuck_core::windows::PILOTS;
use perbuck_workloads::Plan;

use crate::inputs::Inputs;
use crate::progress::clock_text;
use crate::rates::{Rates, target_of};
use crate::session::readied::{RELOADED, RESTORED, SAVED};

/// Beside its window a trial connects, reads counters and counts rows: rough, measured with the release build on two processors that
/// the server shared.
const AROUND: Duration = Duration::from_millis(500);
/// How long a private server takes to be made and to start; likewise.
const SERVER_START: Duration = Duration::from_secs(2);
/// How long a cluster takes to be made and ended: a control plane of EKS alone is a quarter of an hour; and images and volumes on one that
/// exists. From documentation, not measured.
const CLUSTER_START: Duration = Duration::from_secs(2400);
const PODS_START: Duration = Duration::from_secs(300);
/// The part of a load that checking the data takes, after the load and after the last trial; likewise.
const CHECK_SHARE: f64 = 0.5;
/// The part of a load that a copy takes to be saved or restored; likewise.
const COPY_SHARE: f64 = 0.15;
/// Bytes of rows that a server takes in a second where its kind is not known yet; likewise.
const LOAD_BYTES_PER_S: u64 = 50_000_000;

/// An estimate that assumes that nothing is loaded yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Estimate {
    /// Trials of the study.
    pub trials: u64,
    /// Cool-down, warm-up and window of a trial.
    pub trial: Duration,
    /// What each trial needs beside that, with the loads of a `reset` after the first one.
    pub(crate) around: Duration,
    /// The first load of each contender and workload, with its check: contenders in the order of the study, workloads within.
    pub(crate) loads: Vec<Duration>,
    /// What these load; `None` where nothing is loaded.
    pub(crate) data: Vec<Option<DataLoad>>,
    /// How much of the time is a guess: loads, with their checks, of which no earlier study knows how long they take there.
    pub guessed: Duration,
    /// The checks after the last trial.
    pub(crate) checks: Duration,
    /// The pilot trials that the study still needs.
    pub(crate) pilots: Duration,
    deployments: u32,
}

impl Estimate {
    /// That of a study.
    pub fn of(inputs: &Inputs) -> Self {
        let study = &inputs.study;
        let trials = study.trials_planned();
        let (mut loads, mut data) = (Vec::new(), Vec::new());
        let (mut checks, mut reloads, mut guessed) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
        for (i, contender) in study.contenders.iter().enumerate() {
            let by_kind = inputs.targets.get(i).and_then(|target| Some(target.as_ref()?.dialect().load_bytes_per_s()));
            let start = start(study, i, contender);
            for (w, (spec, plan)) in study.workloads.iter().zip(&inputs.plans).enumerate() {
                let what = DataLoad {
                    target: target_of(contender),
                    kind: spec.kind.value.clone(),
                    bytes: plan.size().bytes,
                    reset: None,
                };
                let seen = inputs.rates.bytes_per_s(&what);
                let rate = seen.map_or(by_kind.unwrap_or(LOAD_BYTES_PER_S) as f64, |rate| rate * (1.0 + CHECK_SHARE));
                let load = Duration::try_from_secs_f64(what.bytes as f64 / rate.max(1.0)).unwrap_or(Duration::MAX);
                // A control has the data of the contender that it repeats.
                let is_loaded = contender.control_of.is_none();
                let first = if is_loaded { load.mul_f64(1.0 + CHECK_SHARE) } else { Duration::ZERO };
                let (reload, reload_seen) = reload(&inputs.rates, &what, load, &Resets::of(study, contender, (w, plan)));
                loads.push(if w == 0 { first + start } else { first });
                checks += load.mul_f64(CHECK_SHARE);
                reloads += reload;
                if seen.is_none() {
                    guessed += first + load.mul_f64(CHECK_SHARE);
                }
                if !reload_seen {
                    guessed += reload;
                }
                data.push(is_loaded.then_some(what));
            }
        }
        Self {
            trials,
            trial: mean_trial(study),
            around: around(study, reloads),
            loads,
            data,
            guessed,
            checks,
            pilots: pilots(study).1,
            deployments: study.sweep.deployments,
        }
    }

    /// The whole study.
    pub fn total(&self) -> Duration {
        let trials = (self.trial + self.around).as_secs_f64() * self.trials as f64;
        let loads = (self.loads.iter().sum::<Duration>() + self.checks).as_secs_f64() * f64::from(self.deployments);
        Duration::try_from_secs_f64(trials + loads).unwrap_or(Duration::MAX).saturating_add(self.pilots)
    }
}

/// What the machines of a study cost in this time, which contenders that are up one after the other share; `None` where nothing is
/// priced, and in a notional study.
pub fn cost(inputs: &Inputs, time: Duration) -> Option<MicroUsd> {
    let (up, ms) = (driven(&inputs.study), u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
    let of = |up: &[String], ms: u64| cost_of(&inputs.study, &inputs.bills, up, ms);
    if !inputs.study.sweep.one_by_one {
        return of(&up, ms);
    }
    let each = ms / up.len().max(1) as u64;
    let costs: Option<Vec<i64>> = up.chunks(1).map(|one| Some(of(one, each)?.0)).collect();
    costs.filter(|costs| !costs.is_empty()).map(|costs| MicroUsd(costs.into_iter().fold(0, i64::saturating_add)))
}

/// A time and what it costs: `3:28 min and $0.12`.
pub fn time_and_cost(inputs: &Inputs, time: Duration) -> String {
    used_text(clock_text(time), cost(inputs, time))
}

/// How many pilot trials a study still needs, and how long they take. An A/A control needs none: it is what it repeats.
pub(crate) fn pilots(study: &Study) -> (u64, Duration) {
    let contenders = study.contenders.iter().filter(|c| c.control_of.is_none()).count() as u32;
    let lengths = study.workloads.iter().map(|w| &study.sweep_of(&w.name).auto).filter(|auto| auto.is_awaited());
    let cooldown_ns = study.sweep.cooldown_ns;
    lengths.fold((0, Duration::ZERO), |(count, time), auto| {
        let each = AROUND.saturating_add(Duration::from_nanos(auto.pilot_ns.saturating_add(cooldown_ns)));
        (count + u64::from(contenders * PILOTS), time.saturating_add(each.saturating_mul(contenders * PILOTS)))
    })
}

/// How long it takes until a contender can be driven, and until it is gone again. Clusters that are up side by side are made together.
fn start(study: &Study, position: usize, contender: &Contender) -> Duration {
    match &contender.deploy {
        _ if contender.server.is_some() => SERVER_START,
        Some(deploy) if contender.target.is_none() && contender.control_of.is_none() => {
            let first = study.sweep.one_by_one || position == 0;
            let each = if deploy.provider == Provider::Kubernetes { PODS_START } else { CLUSTER_START };
            if first { each } else { Duration::ZERO }
        }
        _ => Duration::ZERO,
    }
}

/// Cool-down, warm-up and window of a trial of this workload.
pub(crate) fn length(study: &Study, workload: &str) -> Duration {
    let sweep = study.sweep_of(workload);
    // How long streams without a schedule take is not known before the first trial; after it, that is what trials take beside their planned length.
    let window_ns = if sweep.of_streams { sweep.schedule_ns } else { sweep.duration_ns };
    Duration::from_nanos(sweep.cooldown_ns.saturating_add(sweep.warmup_ns).saturating_add(window_ns))
}

/// Trials that are still to be run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ahead {
    pub(crate) trials: usize,
    /// Their cool-downs, warm-ups and windows.
    pub(crate) planned: Duration,
}

impl Ahead {
    /// The trials of these keys.
    pub(crate) fn of<'k>(study: &Study, keys: impl Iterator<Item = &'k TrialKey>) -> Self {
        let none = Self { trials: 0, planned: Duration::ZERO };
        keys.fold(none, |all, key| Self {
            trials: all.trials + 1,
            planned: all.planned.saturating_add(length(study, &key.workload)),
        })
    }

    /// One of them is over.
    pub(crate) fn less(&mut self, planned: Duration) {
        (self.trials, self.planned) = (self.trials.saturating_sub(1), self.planned.saturating_sub(planned));
    }
}

/// The same in the mean, where workloads differ.
fn mean_trial(study: &Study) -> Duration {
    let of = |w: &WorkloadSpec| length(study, &w.name).as_nanos().saturating_mul(study.trials_of(&w.name).into());
    let all_ns = study.workloads.iter().map(of).fold(0, u128::saturating_add);
    Duration::from_nanos(u64::try_from(all_ns / u128::from(study.trials_planned().max(1))).unwrap_or(u64::MAX))
}

/// What a trial needs beside that, in the mean; `reloads` are those of all trials.
fn around(study: &Study, reloads: Duration) -> Duration {
    let stale = study.contenders.iter().map(crate::stage::staleness).sum::<Duration>();
    AROUND + stale.div_f64(study.contenders.len().max(1) as f64) + reloads.div_f64(study.trials_planned().max(1) as f64)
}

/// How often the data of a workload are reset in all deployments, after the first load of each.
struct Resets {
    times: f64,
    /// Its word in a record.
    how: &'static str,
    /// How long that takes each time with the check before it, in times of a load, where it was not seen.
    share: f64,
    /// How often a copy is saved.
    saves: f64,
}

impl Resets {
    fn of(study: &Study, contender: &Contender, (w, plan): (usize, &Plan)) -> Self {
        let none = Self { times: 0.0, how: RELOADED, share: 1.0 + CHECK_SHARE, saves: 0.0 };
        let default = if plan.size().grows { Reset::PerBlock } else { Reset::Never };
        let Some(spec) = study.workloads.get(w) else { return none };
        let sweep = study.sweep_of(&spec.name);
        let (blocks, deployments) = (f64::from(sweep.trials), f64::from(study.sweep.deployments));
        match spec.reset.unwrap_or(default) {
            Reset::Never => none,
            Reset::Restore | Reset::PerBlock if contender.control_of.is_some() => none,
            Reset::Restore => {
                Self { times: (blocks - 1.0) * deployments, how: RESTORED, share: COPY_SHARE + CHECK_SHARE, saves: deployments }
            }
            Reset::PerBlock => Self { times: (blocks - 1.0) * deployments, ..none },
            Reset::PerTrial => Self { times: (blocks * sweep.levels().len() as f64 - 1.0) * deployments, ..none },
        }
    }
}

/// How long these resets take, and whether earlier studies tell it; `load` is the time of a load.
fn reload(rates: &Rates, data: &DataLoad, load: Duration, resets: &Resets) -> (Duration, bool) {
    let all = |how, times: f64, share| {
        let seen = rates.bytes_per_s(&data.reset(how));
        let each = seen.map(|rate| Duration::try_from_secs_f64(data.bytes as f64 / rate.max(1.0)).unwrap_or(Duration::MAX));
        let time = each.unwrap_or_else(|| load.mul_f64(share)).mul_f64(times);
        (time, seen.is_some() || time.is_zero())
    };
    let (saves, resets) = (all(SAVED, resets.saves, COPY_SHARE), all(resets.how, resets.times, resets.share));
    (saves.0 + resets.0, saves.1 && resets.1)
}

/// How long a run still takes: estimated first, and revised by what loads and trials really took.
pub(crate) struct TimeLeft {
    estimate: Estimate,
    /// Estimated loads of this deployment that are not done, by stage.
    loads: Vec<Duration>,
    /// Deployments after this one.
    later: u32,
    /// What the loads that are over were estimated to take, and took.
    loaded: (Duration, Duration),
    /// What trials took beside their planned length, and how many are over.
    extra: (Duration, u32),
}

impl TimeLeft {
    pub(crate) fn new(estimate: Estimate) -> Self {
        let loads = estimate.loads.clone();
        Self { estimate, loads, later: 0, loaded: Default::default(), extra: Default::default() }
    }

    /// A deployment starts, after which so many others come.
    pub(crate) fn start_deployment(&mut self, later: u32) {
        (self.loads, self.later) = (self.estimate.loads.clone(), later);
    }

    /// The data of a stage are there; it took so long to load them, or they had been there.
    pub(crate) fn load_took(&mut self, stage: usize, took: Option<Duration>) {
        let Some(estimated) = self.loads.get_mut(stage).map(std::mem::take) else { return };
        if let Some(took) = took.filter(|_| !estimated.is_zero()) {
            self.loaded = (self.loaded.0 + estimated, self.loaded.1 + took);
        }
    }

    /// What the load of a stage loads.
    pub(crate) fn data_of(&self, stage: usize) -> Option<DataLoad> {
        self.estimate.data.get(stage).cloned().flatten()
    }

    /// The data of a stage, with what was done with them.
    pub(crate) fn data_done(&self, stage: usize, done: Option<&str>) -> Option<DataLoad> {
        Some(self.data_of(stage)?.reset(done?))
    }

    /// A trial of this planned length is over; it took so long with all that belongs to it.
    pub(crate) fn trial_took(&mut self, planned: Duration, took: Duration) {
        self.extra = (self.extra.0 + took.saturating_sub(planned), self.extra.1 + 1);
    }

    /// The time for these trials, the first of which has been running for `since`, and for the loads and checks that are left.
    pub(crate) fn left(&self, ahead: Ahead, since: Duration) -> Duration {
        let around = if self.extra.1 > 0 { self.extra.0 / self.extra.1 } else { self.estimate.around };
        let trials = ahead.planned.as_secs_f64() + around.as_secs_f64() * ahead.trials as f64;
        let whole = self.estimate.loads.iter().sum::<Duration>() + self.estimate.checks;
        let loads = self.loads.iter().sum::<Duration>() + self.estimate.checks + whole * self.later;
        let factor = if self.loaded.0.is_zero() { 1.0 } else { self.loaded.1.as_secs_f64() / self.loaded.0.as_secs_f64() };
        Duration::try_from_secs_f64(trials + loads.as_secs_f64() * factor).unwrap_or(Duration::MAX).saturating_sub(since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inputs;
    use crate::registry::Registry;

    fn estimate(sweep: &str, workload: &str) -> Estimate {
        let text = format!(
            "schema = 1\nname = \"s\"\n[[contender]]\nname = \"a\"\ntarget = \"sqlite:a.db\"\n\
             [[contender]]\nname = \"b\"\nserver = {{ kind = \"mariadb\" }}\n\
             [[workload]]\nname = \"w\"\n{workload}\n[sweep]\nconnections = [1, 2]\nwarmup = \"1s\"\nduration = \"3s\"\n{sweep}"
        );
        let inputs = inputs::check("s.toml", text, None, Registry::default());
        Estimate::of(&inputs.unwrap_or_else(|problems| panic!("{problems:?}")))
    }

    #[test]
    fn loads_and_checks_are_counted_beside_the_trials() {
        let small = estimate("trials = 3", "kind = \"sysbench\"\ntable_size = 1");
        assert_eq!((small.trials, small.trial), (12, Duration::from_secs(4)));
        let large = estimate("trials = 3", "kind = \"sysbench\"\ntable_size = 4000000");
        // 760 MB each, loaded once and checked twice.
        assert!(large.total() > small.total() + Duration::from_secs(50), "{large:?}");
        assert!(small.total() > Duration::from_secs(48 + 2) && small.total() < Duration::from_secs(62), "{small:?}");
        let piloted = estimate("trials = 3\npilot = \"40s\"", "kind = \"sysbench\"\ntable_size = 1\nduration = \"auto\"");
        // Three of each contender; and until its window is found, the longest counts.
        assert_eq!((piloted.pilots, piloted.trial), (Duration::from_millis(6 * 40_500), Duration::from_secs(1 + 20)));
        assert!(piloted.total() > piloted.pilots + Duration::from_secs(12 * 21), "{piloted:?}");
        let tpcc = |reset: &str| estimate("trials = 3", &format!("kind = \"tpcc\"\nwarehouses = 10\n{reset}")).total();
        let [never, block, trial] = ["reset = \"never\"", "", "reset = \"per-trial\""].map(tpcc);
        assert!(never < block && block < trial, "{never:?} {block:?} {trial:?}");
        let restored = tpcc("reset = \"restore\"");
        assert!(never < restored && restored < block, "{never:?} {restored:?} {block:?}");
    }

    #[test]
    fn loads_that_were_seen_before_are_no_guess() {
        let text = "schema = 1\nname = \"s\"\n[[contender]]\nname = \"a\"\ntarget = \"sqlite:a.db\"\n[[workload]]\nname = \"w\"\nkind = \"tpcc\"\n\
                    warehouses = 10\nreset = \"never\"\n[sweep]\nconnections = [1]\n";
        let mut inputs = inputs::check("s.toml", text.to_owned(), None, Registry::default()).unwrap_or_else(|p| panic!("{p:?}"));
        let guess = Estimate::of(&inputs);
        let data = guess.data[0].clone().unwrap();
        assert_eq!((data.target.as_str(), data.kind.as_str()), ("sqlite:a.db", "tpcc"));
        assert!(guess.guessed == guess.loads[0] + guess.checks && data.bytes > 600_000_000, "{guess:?}");
        inputs.rates.saw(&data, 30_000);
        let known = Estimate::of(&inputs);
        assert!(
            known.guessed.is_zero() && known.loads[0].abs_diff(Duration::from_secs(30)) < Duration::from_millis(1),
            "{known:?}"
        );
        let text = text.replace("never", "restore") + "trials = 3\n";
        let mut inputs = inputs::check("s.toml", text, None, Registry::default()).unwrap_or_else(|p| panic!("{p:?}"));
        inputs.rates.saw(&data, 30_000);
        assert!(!Estimate::of(&inputs).guessed.is_zero(), "no restore was seen");
        inputs.rates.saw(&data.reset(RESTORED), 4_000);
        assert!(!Estimate::of(&inputs).guessed.is_zero(), "no save was seen");
        inputs.rates.saw(&data.reset(SAVED), 5_000);
        let known = Estimate::of(&inputs);
        // The copy is saved once, and restored before the second and the third block.
        let resets = known.around * 3 - AROUND * 3;
        assert!(known.guessed.is_zero() && resets.abs_diff(Duration::from_secs(5 + 8)) < Duration::from_millis(10), "{known:?}");
    }

    #[test]
    fn what_loads_and_trials_took_revises_the_time_that_is_left() {
        let s = Duration::from_secs;
        let (trial, around, loads, checks) = (s(10), s(1), vec![s(20), s(20)], s(4));
        let ahead = |trials| Ahead { trials, planned: s(10) * trials as u32 };
        let mut left = TimeLeft::new(Estimate {
            trials: 3,
            trial,
            around,
            loads,
            data: Vec::new(),
            guessed: s(0),
            checks,
            pilots: s(0),
            deployments: 1,
        });
        assert_eq!(left.left(ahead(3), s(0)), s(3 * 11 + 40 + 4));
        left.load_took(0, Some(s(40)));
        assert_eq!(left.left(ahead(3), s(0)), s(3 * 11 + (20 + 4) * 2));
        left.load_took(1, None);
        assert_eq!(left.left(ahead(3), s(4)), s(3 * 11 + 4 * 2 - 4));
        left.trial_took(s(10), s(14));
        assert_eq!(left.left(ahead(2), s(0)), s(2 * 14 + 8));
        assert_eq!(left.left(ahead(1), s(60)), s(0));
        left.start_deployment(1);
        assert_eq!(left.left(ahead(0), s(0)), s((40 + 4) * 2 * 2));
    }
}
