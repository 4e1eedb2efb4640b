//! The metrics by name.

use perbuck_exposition::{Family, Kind, Sample, Value};
use perbuck_lab::live::{ClientCpu, Counts, Price};

use super::counted::{CLASSES, Counted, Point, Running};
use crate::watch::SILENCE_S;

/// A study with what was counted of it.
pub(super) struct Shown<'a> {
    pub(super) study: &'a str,
    /// Trials planned and on disk, where no run has said it.
    pub(super) trials: Option<(u64, u64)>,
    pub(super) counted: &'a Counted,
    /// The time, milliseconds since 1970 UTC.
    pub(super) now_ms: u64,
}

type Labels = Vec<(&'static str, String)>;

impl Shown<'_> {
    /// What its run does: no line for half a minute may also be a long load.
    fn state(&self) -> &'static str {
        match self.counted {
            Counted { at_ms: 0, .. } => "idle",
            Counted { has_ended: true, .. } => "ended",
            Counted { at_ms, .. } if self.now_ms.saturating_sub(*at_ms) / 1000 > SILENCE_S => "silent",
            _ => "running",
        }
    }

    /// The trial that runs at this moment.
    fn running(&self) -> Option<&Running> {
        self.counted.running.as_ref().filter(|_| self.state() == "running")
    }

    fn labels(&self) -> Labels {
        vec![("study", self.study.to_owned())]
    }

    fn of_point(&self, (contender, workload, connections, rate): &Point) -> Labels {
        let mut labels = self.labels();
        labels.extend([
            ("contender", contender.clone()),
            ("workload", workload.clone()),
            ("connections", connections.to_string()),
        ]);
        labels.extend(rate.map(|rate| ("rate", rate.to_string())));
        labels
    }

    fn of_trial(&self, running: &Running) -> Labels {
        let key = &running.key;
        self.of_point(&(key.contender.clone(), key.workload.clone(), key.connections, key.rate_per_s))
    }
}

/// A sample with a number.
fn number(labels: Labels, value: f64) -> Sample {
    Sample { labels, value: Value::Number(value) }
}

/// The same with one more label.
fn with(mut labels: Labels, name: &'static str, value: &str) -> Labels {
    labels.push((name, value.to_owned()));
    labels
}

/// All metrics of these studies.
pub(super) fn of(shown: &[Shown<'_>]) -> Vec<Family> {
    let build = number(vec![("version", env!("CARGO_PKG_VERSION").to_owned())], 1.0);
    let build =
        Family { name: "perbuck_build", help: "The version of perbuck.", kind: Kind::Info, unit: "", samples: vec![build] };
    let mut all = vec![build];
    all.extend(counters(shown));
    all.extend(errors_and_latency(shown));
    all.extend(of_the_client(shown));
    all.extend(of_trials(shown));
    all.extend(of_studies(shown));
    all
}

/// A family with the samples that each study gives.
fn family<'a, 's>(
    shown: &'s [Shown<'a>],
    (name, unit, kind): (&'static str, &'static str, Kind),
    help: &'static str,
    samples: impl Fn(&'s Shown<'a>) -> Vec<Sample>,
) -> Family {
    Family { name, help, kind, unit, samples: shown.iter().flat_map(samples).collect() }
}

/// A number of the counts of a point.
type Count = fn(&Counts) -> u64;

const COUNTERS: [(&str, &str, Count); 5] = [
    ("perbuck_transactions", "Transactions completed in warm-up and measured window.", |c| c.transactions),
    ("perbuck_transactions_failed", "Transactions given up.", |c| c.failed),
    ("perbuck_statements", "Statements of the transactions that ended.", |c| c.statements),
    ("perbuck_transaction_retries", "Attempts beyond the first.", |c| c.retries),
    ("perbuck_reconnects", "Connections opened again: after a loss, and where the workload does so.", |c| c.reconnects),
];

fn counters(shown: &[Shown<'_>]) -> impl Iterator<Item = Family> {
    COUNTERS.into_iter().map(move |(name, help, count)| {
        family(shown, (name, "", Kind::Counter), help, |s| {
            s.counted.points.iter().map(|(point, counts)| number(s.of_point(point), count(counts) as f64)).collect()
        })
    })
}

fn errors_and_latency(shown: &[Shown<'_>]) -> [Family; 2] {
    let errors = family(
        shown,
        ("perbuck_transaction_errors", "", Kind::Counter),
        "Errors by class: retry, failed, lost (a connection), refused, fatal.",
        |s| {
            let of = |(point, counts): (&Point, &Counts)| {
                let count = |class: &str| counts.errors.get(class).copied().unwrap_or_default() as f64;
                CLASSES.map(|class| number(with(s.of_point(point), "class", class), count(class)))
            };
            s.counted.points.iter().flat_map(of).collect()
        },
    );
    let latency = family(
        shown,
        ("perbuck_transaction_latency_seconds", "seconds", Kind::Histogram),
        "Service time of completed transactions, in open loop response time.",
        |s| {
            let value = |counts: &Counts| Value::Durations(counts.latency.clone());
            s.counted.points.iter().map(|(point, counts)| Sample { labels: s.of_point(point), value: value(counts) }).collect()
        },
    );
    [errors, latency]
}

fn of_the_client(shown: &[Shown<'_>]) -> [Family; 2] {
    let cpu = family(
        shown,
        ("perbuck_client_cpu_seconds", "seconds", Kind::Counter),
        "CPU time of the process that applies the load, an embedded database included; absent with agents.",
        |s| {
            let by_mode = |cpu: ClientCpu| [("user", cpu.user_ns), ("system", cpu.system_ns)];
            let of = |(mode, ns): (&str, u64)| number(with(s.labels(), "mode", mode), ns as f64 / 1e9);
            s.counted.client.map(by_mode).into_iter().flatten().map(of).collect()
        },
    );
    let price =
        family(shown, ("perbuck_price_dollars_per_hour", "", Kind::Gauge), "The bill of a contender, US dollars an hour.", |s| {
            let of = |p: &Price| {
                let labels = with(with(s.labels(), "contender", &p.contender), "region", &p.region);
                number(labels, p.dollars_per_hour)
            };
            s.counted.prices.iter().map(of).collect()
        });
    [cpu, price]
}

fn of_trials(shown: &[Shown<'_>]) -> Vec<Family> {
    let gauge = |name, unit, help, value: fn(&Running) -> f64| {
        family(shown, (name, unit, Kind::Gauge), help, move |s| {
            s.running().map(|r| number(s.of_trial(r), value(r))).into_iter().collect()
        })
    };
    let info = family(shown, ("perbuck_trial", "", Kind::Info), "The trial that runs.", |s| {
        let of = |r: &Running| {
            let mut labels = with(s.of_trial(r), "block", &r.key.trial.to_string());
            labels.extend(r.key.deployment.map(|d| ("deployment", d.to_string())));
            number(labels, 1.0)
        };
        s.running().map(of).into_iter().collect()
    });
    let phase = family(shown, ("perbuck_trial_phase", "", Kind::Gauge), "1 for the phase of the trial that runs.", |s| {
        let of = |r: &Running| {
            let now = if r.start_ms < 0 { "warm-up" } else { "window" };
            ["warm-up", "window"].map(|phase| number(with(s.of_trial(r), "phase", phase), f64::from(u8::from(phase == now))))
        };
        s.running().map(of).into_iter().flatten().collect()
    });
    vec![
        info,
        phase,
        gauge(
            "perbuck_trial_elapsed_seconds",
            "seconds",
            "Time since the measured window opened; negative in the warm-up.",
            |r| r.end_ms as f64 / 1e3,
        ),
        gauge(
            "perbuck_trial_in_flight_transactions",
            "transactions",
            "Transactions in flight; in closed loop the connections.",
            |r| r.in_flight as f64,
        ),
        gauge("perbuck_trial_backlog_transactions", "transactions", "Transactions due that no connection was free for.", |r| {
            r.backlog as f64
        }),
    ]
}

fn of_studies(shown: &[Shown<'_>]) -> [Family; 4] {
    let trials = |s: &Shown<'_>| match s.counted {
        Counted { at_ms: 0, .. } => s.trials,
        counted => Some((counted.planned, counted.done)),
    };
    let gauge = |name, help, value: fn((u64, u64)) -> u64| {
        family(shown, (name, "", Kind::Gauge), help, move |s| {
            trials(s).map(|n| number(s.labels(), value(n) as f64)).into_iter().collect()
        })
    };
    let left =
        family(shown, ("perbuck_study_left_seconds", "seconds", Kind::Gauge), "Time that the run still takes, about.", |s| {
            s.counted.left_s.filter(|_| s.state() == "running").map(|left| number(s.labels(), left as f64)).into_iter().collect()
        });
    let state = family(
        shown,
        ("perbuck_study_state", "", Kind::Gauge),
        "1 for the state of the study: idle, running, silent (no news for 30 s), ended.",
        |s| {
            let one = |state: &str| number(with(s.labels(), "state", state), f64::from(u8::from(state == s.state())));
            ["idle", "running", "silent", "ended"].map(one).into()
        },
    );
    [
        gauge("perbuck_study_trials_planned", "Trials of the study.", |(planned, _)| planned),
        gauge("perbuck_study_trials_done", "Trials on disk.", |(_, done)| done),
        left,
        state,
    ]
}
