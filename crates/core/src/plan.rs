//! Which trials a study needs and in which order: randomised complete blocks, a function of the study alone.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rng::OpRng;
use crate::run_record::RunRecord;
use crate::study::{Contender, Stands, Study, Sweep, WorkloadSpec, base_of};
use crate::units::Seed;

/// The names that identify one trial; also its path below the results folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrialKey {
    /// Name of the contender.
    pub contender: String,
    /// Name of the workload.
    pub workload: String,
    /// Connections; in open loop the most transactions in flight.
    pub connections: u32,
    /// Transactions offered per second (open loop).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_per_s: Option<u32>,
    /// The deployment from the second on: fresh instances of every contender. The first one is not named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deployment: Option<u32>,
    /// The block within the deployment, from 1; each block holds every point that still has trials, once.
    pub trial: u32,
}

impl TrialKey {
    /// `<contender>/<workload>/c<connections>/<trial>.json`, in open loop `r<rate>-c<connections>`, from the second deployment
    /// on `d<deployment>-<trial>.json`, with digits padded so that names sort like numbers.
    pub fn path(&self) -> String {
        let rate = self.rate_per_s.map(|r| format!("r{r:07}-")).unwrap_or_default();
        let deployment = self.deployment.map(|d| format!("d{d:02}-")).unwrap_or_default();
        format!("{}/{}/{rate}c{:05}/{deployment}{:03}.json", self.contender, self.workload, self.connections, self.trial)
    }

    /// The deployment, from 1.
    pub fn deployment(&self) -> u32 {
        self.deployment.unwrap_or(1)
    }

    /// For people: `arm · small · 300 connections · trial 2`.
    pub fn title(&self) -> String {
        let Self { contender, workload, connections, trial, .. } = self;
        let plural = if *connections == 1 { "" } else { "s" };
        let rate = self.rate_per_s.map(|r| format!("{r} transactions/s · ")).unwrap_or_default();
        let deployment = self.deployment.map(|d| format!("deployment {d} · ")).unwrap_or_default();
        format!("{contender} · {workload} · {rate}{connections} connection{plural} · {deployment}trial {trial}")
    }

    /// What a sweep varies: the rate in open loop, else the connections.
    pub fn level(&self) -> u32 {
        self.rate_per_s.unwrap_or(self.connections)
    }
}

/// The seed of a trial's operations. The contender is not part of it: both see the same work (common random numbers).
pub fn trial_seed(seed: Seed, key: &TrialKey) -> Seed {
    let rate = key.rate_per_s.map(|r| format!(" {r}/s")).unwrap_or_default();
    let deployment = key.deployment.map(|d| format!(" deployment {d}")).unwrap_or_default();
    // At every level of a factor it is the same work.
    let workload = base_of(&key.workload);
    seed.derive(&format!("operations {workload} {}{rate}{deployment} {}", key.connections, key.trial))
}

/// A fingerprint of a text, 32 hexadecimal digits: tells versions apart, and is no protection against forgery.
pub fn fingerprint(text: &str) -> String {
    let half = |start| Seed(start).derive(text).0;
    format!("{:016x}{:016x}", half(1), half(2))
}

impl Study {
    /// All trials in the order in which they are run, deployment by deployment and block by block. Within a block the contenders of one
    /// workload and load level follow each other, so that a change of the machine over time falls on all of them alike (reference:
    /// randomised complete block design). The seed shuffles both the points and the contenders of each.
    pub fn plan(&self) -> Vec<TrialKey> {
        let mut order = Vec::new();
        let blocks = self.workloads.iter().map(|w| self.sweep_of(&w.name).trials).max().unwrap_or(0);
        // What the user sets by hand is set once for all blocks.
        for by_hand in distinct(self.workloads.iter().map(|w| self.set_by_hand(w))) {
            let deployments = (1..=self.sweep.deployments).map(|d| Some(d).filter(|d| *d > 1));
            for (deployment, trial) in deployments.flat_map(|d| (1..=blocks).map(move |trial| (d, trial))) {
                let of = deployment.map(|d| format!("deployment {d} ")).unwrap_or_default();
                let mut random = OpRng::new(self.seed.derive(&format!("plan {of}block {trial}")));
                let workloads: Vec<&WorkloadSpec> = self.workloads.iter().filter(|w| self.set_by_hand(w) == by_hand).collect();
                // A state of the servers is made once in each block (a split-plot design), and in random order.
                let mut states = distinct(workloads.iter().map(|w| self.server_state(w)));
                random.shuffle(&mut states);
                for state in states {
                    let mine: Vec<&WorkloadSpec> = workloads.iter().filter(|w| self.server_state(w) == state).copied().collect();
                    order.extend(self.points_of_a_block(&mine, deployment, trial, &mut random));
                }
            }
        }
        if self.sweep.one_by_one {
            order.sort_by_key(|key| (key.deployment(), self.position(self.twin(&key.contender))));
        }
        order
    }

    /// The contender that one is, or that it repeats as an A/A control.
    pub fn twin<'a>(&'a self, contender: &'a str) -> &'a str {
        self.contender(contender).and_then(|c| c.control_of.as_deref()).unwrap_or(contender)
    }

    /// The trials of a block that find the servers in one state, point by point. Points that only read come before those that write to the
    /// same tables.
    fn points_of_a_block(
        &self,
        workloads: &[&WorkloadSpec],
        deployment: Option<u32>,
        trial: u32,
        random: &mut OpRng,
    ) -> impl Iterator<Item = TrialKey> + use<> {
        let mut block: Vec<(bool, Vec<TrialKey>)> = Vec::new();
        for workload in workloads {
            let shares = |w: &&&WorkloadSpec| (&w.kind.value, &w.database) == (&workload.kind.value, &workload.database);
            let first = !workload.writes() && workloads.iter().filter(shares).any(|w| w.writes());
            let sweep = self.sweep_of(&workload.name);
            for (connections, rate_per_s) in sweep.points().into_iter().filter(|_| trial <= sweep.trials) {
                let (contender, workload) = (String::new(), workload.name.clone());
                let point = TrialKey { contender, workload, connections, rate_per_s, deployment, trial };
                block.push((first, self.side_by_side(&point)));
            }
        }
        random.shuffle(&mut block);
        block.sort_by_key(|(first, _)| !first);
        block.into_iter().flat_map(|(_, point)| point)
    }

    /// The contenders of a point in the order of its block. Every second block turns the order of the one before it round, in half of the
    /// cases: where all blocks have one order by chance, a steady drift looks like a difference that never varies, and three blocks have
    /// one order in a quarter of all studies. Turned round always, intervals of few blocks are too wide (docs/method/intervals.md).
    fn side_by_side(&self, point: &TrialKey) -> Vec<TrialKey> {
        let of = point.deployment.map(|d| format!("deployment {d} ")).unwrap_or_default();
        let name = format!("{of}{} {} {}", point.workload, point.connections, point.rate_per_s.unwrap_or(0));
        let random = |what: &str, trial: u32| OpRng::new(self.seed.derive(&format!("{what} {name} block {trial}")));
        let turned = point.trial.is_multiple_of(2) && random("turned", point.trial).below(2) == 0;
        let mut order: Vec<TrialKey> =
            self.contenders.iter().map(|c| TrialKey { contender: c.name.clone(), ..point.clone() }).collect();
        random("order", if turned { point.trial - 1 } else { point.trial }).shuffle(&mut order);
        if turned {
            order.reverse();
        }
        order
    }

    /// Takes the points and the number of trials of an imported study from its trials.
    pub fn take_points(&mut self, records: &[RunRecord]) {
        let levels: BTreeSet<u32> = records.iter().map(|r| r.key.connections).collect();
        if self.sweep.connections.is_empty() {
            self.sweep.connections = levels.into_iter().collect();
        }
        self.sweep.trials = records.iter().map(|r| r.key.trial).max().unwrap_or(1);
    }

    /// The number of trials that are planned, without the plan: a study with problems may ask for billions.
    pub fn trials_planned(&self) -> u64 {
        self.workloads.iter().fold(0, |sum, w| sum.saturating_add(self.trials_of(&w.name)))
    }

    /// Those of one workload.
    pub fn trials_of(&self, workload: &str) -> u64 {
        let sweep = self.sweep_of(workload);
        let counts = [self.contenders.len() as u64, sweep.levels().len() as u64, sweep.trials.into(), sweep.deployments.into()];
        counts.into_iter().fold(1, u64::saturating_mul)
    }

    /// The fingerprint of everything that decides what is measured; prices, labels and the decision rule do not.
    pub fn fingerprint(&self) -> String {
        // A control is what it repeats, and may be asked for later.
        let contenders: Vec<Contender> = self.contenders.iter().filter(|c| c.control_of.is_none()).cloned().collect();
        self.fingerprint_with(&contenders)
    }

    /// The fingerprint that this study would have if `contender` were its only one. Trials that were made one contender at
    /// a time carry it: they are trials of this study, too, since nothing that decides what one contender measures hangs on
    /// the others.
    pub fn fingerprint_alone(&self, contender: &str) -> Option<String> {
        self.contender(contender).map(|c| self.fingerprint_with(std::slice::from_ref(c)))
    }

    fn fingerprint_with(&self, contenders: &[Contender]) -> String {
        // Logs say what was measured; contenders and workloads may be added as logs are.
        if self.imported {
            return fingerprint(&format!("imported {}", self.name));
        }
        // A contender without a server has the fingerprint that it always had.
        let servers: Vec<String> = contenders.iter().filter_map(|c| Some(c.server.as_ref()?.identity())).collect();
        let servers = servers.iter().map(|s| format!(" server {s}")).collect::<String>();
        let deployed: String =
            contenders.iter().filter_map(|c| Some(format!(" deploy {}", c.deploy.as_ref()?.identity()))).collect();
        let changed = contenders.iter().map(changes_of_servers).collect::<String>();
        let contenders: Vec<_> = contenders.iter().map(|c| (&c.name, c.fixed_target())).collect();
        let parameters =
            |w: &WorkloadSpec| w.parameters.iter().map(|(k, v)| (k.clone(), format!("{:?}", v.value))).collect::<Vec<_>>();
        let differs = |own: &&Sweep| (own.warmup_ns, own.duration_ns) != (self.sweep.warmup_ns, self.sweep.duration_ns);
        let own = |w: &WorkloadSpec| {
            let own = w.sweep.as_ref().filter(differs)?;
            Some(format!(" {} {} {}", w.name, own.warmup_ns, own.duration_ns))
        };
        let levels = self.factors.iter().flat_map(|factor| &factor.levels);
        let levels: String = levels.map(|level| format!(" level {} {:?}", level.identity(), level.workers)).collect();
        let own: String = self.workloads.iter().filter_map(own).collect();
        let caches = |w: &WorkloadSpec| match self.sweep_of(&w.name) {
            Sweep { cold: true, .. } => Some(format!(" {} cold", w.name)),
            sweep => Some(format!(" {} prewarm {}", w.name, sweep.prewarm?.word())),
        };
        let caches: String = self.workloads.iter().filter_map(caches).collect();
        let workloads: Vec<_> =
            self.workloads.iter().map(|w| (&w.name, &w.kind.value, &w.database, w.reset, parameters(w))).collect();
        let s = &self.sweep;
        // The connections and the number of trials may grow later: what is on disk stays comparable.
        let sweep = (s.warmup_ns, s.duration_ns, s.workers, s.max_attempts);
        // The same study without rates or phases has the fingerprint that it always had.
        let open = if s.is_open() || !s.phases.is_empty() { format!(" {:?} {:?}", s.arrivals, s.phases) } else { String::new() };
        let events = s.events.map(|n| format!(" {n} events")).unwrap_or_default();
        let pause = if s.cooldown_ns > 0 { format!(" cooldown {}", s.cooldown_ns) } else { String::new() };
        let order = if s.one_by_one { " one by one" } else { "" };
        let client = if self.client.stands == Stands::Beside { " client beside" } else { "" };
        // What is found later is measured as if it were written.
        let awaited = if self.awaiting_pilots().is_empty() { "" } else { " lengths by pilot trials" };
        fingerprint(&format!(
            "{contenders:?} {workloads:?} {sweep:?}{open}{events}{servers}{deployed}{changed}{pause}{own}{levels}{caches}{client}{order}{awaited} {}",
            self.seed.0
        ))
    }
}

/// The different ones, each where it was first.
fn distinct<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<T> {
    all.fold(Vec::new(), |mut found, one| {
        if !found.contains(&one) {
            found.push(one);
        }
        found
    })
}

/// What a study changes on the servers of a contender; empty where it changes nothing.
fn changes_of_servers(contender: &Contender) -> String {
    let settings: Vec<_> = contender.server_settings.iter().map(|(name, value)| (name, &value.value)).collect();
    let set = if settings.is_empty() { String::new() } else { format!(" {} sets {settings:?}", contender.name) };
    let tiflash = contender.tiflash_replicas.as_ref().map(|n| format!(" {} tiflash {}", contender.name, n.value));
    let choices: String = contender.transactions.iter().map(|c| format!(" {} {}", c.value.key(), c.value.value())).collect();
    let transactions = if choices.is_empty() { choices } else { format!(" {} transactions{choices}", contender.name) };
    let tuning = contender.tuning.as_ref().map(|tuning| format!(" {} tuning {}", contender.name, tuning.identity()));
    set + &tiflash.unwrap_or_default() + &transactions + &tuning.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The plan of two contenders and as many workloads under a sweep.
    fn plan(seed: u64, workloads: &[&str], sweep: &str) -> Vec<TrialKey> {
        let workloads: String = workloads.iter().map(|w| format!("[[workload]]\nname = \"{w}\"\nkind = \"k{w}\"\n")).collect();
        let contenders = "[[contender]]\nname = \"a\"\n[[contender]]\nname = \"b\"\n";
        let text = format!("schema = 1\nname = \"s\"\nseed = {seed}\n{contenders}{workloads}[sweep]\n{sweep}");
        Study::read("s.toml", &text, &[]).unwrap().plan()
    }

    #[test]
    fn every_block_holds_every_point_once_and_the_order_is_the_seeds() {
        let make = |seed| plan(seed, &["w", "x"], "connections = [1, 8, 64]\ntrials = 3");
        let order = make(1);
        assert_eq!(order.len(), 36);
        for (i, block) in order.chunks(12).enumerate() {
            let mut points = block.to_vec();
            points.sort();
            points.dedup();
            assert_eq!(points.len(), 12);
            assert!(block.iter().all(|k| k.trial == i as u32 + 1));
            // The contenders of a point follow each other.
            assert!(block.chunks(2).all(|pair| {
                let other = TrialKey { contender: pair[0].contender.clone(), ..pair[1].clone() };
                pair[0] == other && pair[0].contender != pair[1].contender
            }));
        }
        // Neither contender is always the first.
        let first: Vec<&str> = order.chunks(2).map(|pair| pair[0].contender.as_str()).collect();
        assert!(first.contains(&"a") && first.contains(&"b"), "{first:?}");
        assert_eq!(order, make(1));
        assert_ne!(order, make(2));
        assert_ne!(
            order[..12].iter().map(|k| k.path().replace("001", "")).collect::<Vec<_>>(),
            order[12..24].iter().map(|k| k.path().replace("002", "")).collect::<Vec<_>>()
        );
    }

    #[test]
    fn deployments_have_blocks_of_their_own_and_the_first_keeps_its_names() {
        let make = |n| plan(1, &["w"], &format!("connections = [8]\nrate = [1, 8]\ntrials = 2\ndeployments = {n}"));
        let (one, three) = (make(1), make(3));
        assert_eq!((one.len(), three.len()), (8, 24));
        assert_eq!(three[..8], one[..]);
        assert_eq!(three[8..].iter().map(TrialKey::deployment).collect::<Vec<_>>(), [[2; 8], [3; 8]].concat());
        assert!(three[23].path().contains("/d03-00"), "{}", three[23].path());
        assert_ne!(trial_seed(Seed(1), &three[0]), trial_seed(Seed(1), &TrialKey { deployment: Some(2), ..three[0].clone() }));
    }

    fn with_own(own: &str) -> Study {
        let text = format!(
            "schema = 1\nname = \"s\"\n[[contender]]\nname = \"a\"\n[[contender]]\nname = \"b\"\n\
             [[workload]]\nname = \"w\"\nkind = \"k\"\n{own}\n[[workload]]\nname = \"x\"\nkind = \"l\"\n\
             [sweep]\nconnections = [8]\ntrials = 3\nduration = \"10s\"\n"
        );
        Study::read("s.toml", &text, &[]).unwrap()
    }

    #[test]
    fn a_workload_has_points_windows_and_trials_of_its_own() {
        let (study, other) = (with_own("connections = [1, 50]\ntrials = 2\nduration = \"20s\""), with_own(""));
        let order = study.plan();
        let of = |workload: &str| order.iter().filter(|k| k.workload == workload).collect::<Vec<_>>();
        assert_eq!((of("w").len(), of("x").len(), study.trials_planned(), order.len()), (8, 6, 14, 14));
        assert!(of("w").iter().all(|k| [1, 50].contains(&k.connections) && k.trial <= 2));
        assert!(of("x").iter().all(|k| k.connections == 8));
        let windows = ["w", "x"].map(|name| study.sweep_of(name).duration_ns / 1_000_000_000);
        assert_eq!((windows, study.most_connections()), ([20, 10], 50));
        // Points and trials may be added later; another window is another measurement.
        let points = with_own("connections = [1, 50, 100]\ntrials = 9\nduration = \"20s\"");
        assert_eq!(points.fingerprint(), study.fingerprint());
        assert_ne!(other.fingerprint(), study.fingerprint());
        assert_eq!(with_own("connections = [1]").fingerprint(), other.fingerprint(), "as it always was");
        assert_eq!(points.changes_since(&other), ["workload w.duration: none → 20 s"]);
    }

    #[test]
    fn contenders_share_their_operations_and_trials_do_not() {
        let key = |contender: &str, trial| TrialKey { contender: contender.into(), trial, ..TrialKey::default() };
        assert_eq!(trial_seed(Seed(9), &key("a", 1)), trial_seed(Seed(9), &key("b", 1)));
        assert_ne!(trial_seed(Seed(9), &key("a", 1)), trial_seed(Seed(9), &key("a", 2)));
    }
}
