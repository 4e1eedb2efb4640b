//! What the report calls the points of a study, and the load in words.

use perbuck_core::arrivals::Arrivals;
use perbuck_core::compare::WorkloadResult;
use perbuck_core::load_model::Phase;
use perbuck_core::run_record::RunRecord;
use perbuck_core::study::{Study, Sweep};
use perbuck_core::units::{duration_text, thousands};

use super::Context;
use crate::number::list;

/// Names of what varies from point to point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Words {
    /// Heads a column.
    pub(crate) head: &'static str,
    /// Follows a number; also the title of an axis.
    pub(crate) unit: &'static str,
    /// One of them.
    pub(crate) one: &'static str,
    /// What is drawn at equal steps.
    steps: &'static str,
    /// The title of the figure of throughput.
    pub(crate) throughput: &'static str,
}

impl Words {
    pub(crate) fn of(sweep: &Sweep) -> Self {
        let closed = Self {
            head: "Connections",
            unit: "connections",
            one: "connection count",
            steps: "measured counts",
            throughput: "Throughput over connections",
        };
        if sweep.of_streams {
            let (head, unit) = ("Streams", sweep.level_unit());
            return Self { head, unit, one: "number of streams", throughput: "Throughput over streams", ..closed };
        }
        match (sweep.rates_per_s.is_empty(), sweep.phases.is_empty()) {
            (false, _) => Self {
                head: "Offered per second",
                unit: sweep.level_unit(),
                one: "offered rate",
                steps: "measured rates",
                throughput: "Throughput over the offered rate",
            },
            (true, true) => closed,
            (true, false) => {
                let (head, unit) = ("Connections, at most", "connections at most");
                Self { head, unit, throughput: "Throughput over time", ..closed }
            }
        }
    }

    /// `8 connections`, `1 connection`, `100 transactions/s offered`.
    pub(crate) fn at(self, level: u32) -> String {
        let unit = if level == 1 {
            self.unit.replacen("connections", "connection", 1).replacen("streams", "stream", 1)
        } else {
            self.unit.to_owned()
        };
        format!("{} {unit}", thousands(level.into()))
    }

    /// The title of an axis on which the levels stand at equal steps.
    pub(crate) fn even(self) -> String {
        format!("{} ({} at equal steps)", self.unit, self.steps)
    }
}

pub(super) fn levels_of(w: &WorkloadResult) -> Vec<u32> {
    let mut levels: Vec<u32> = w.points.iter().map(|c| c.level).collect();
    levels.sort_unstable();
    levels.dedup();
    levels
}

/// Every level of a workload with every contender that was measured, and their trials.
pub(super) fn points_of<'a>(all: &Context<'a>, w: &WorkloadResult) -> Vec<(u32, &'a str, Vec<&'a RunRecord>)> {
    let names = all.contenders_of(w);
    let of_level = |level| names.iter().map(move |name| (level, *name, all.trials_of(&w.workload, name, level)));
    levels_of(w).into_iter().flat_map(of_level).collect()
}

/// How load is applied, where it is not simply a closed loop of so many connections.
pub(super) fn load_text(study: &Study) -> Option<String> {
    let sweep = &study.sweep;
    let phases = || format!("{} phases: {}", sweep.phases.len(), phases_text(&sweep.phases));
    if sweep.is_open() {
        let starts = match sweep.arrivals {
            Arrivals::Poisson => "a Poisson process",
            Arrivals::Uniform => "an even schedule",
        };
        let (least, most) = in_flight(study);
        let most = if least < most {
            format!("{} to {}", thousands(least.into()), thousands(most.into()))
        } else {
            thousands(most.into())
        };
        let text = format!("open loop: transactions are due by {starts}; at most {most} are in flight");
        return Some(if sweep.phases.is_empty() { text } else { format!("{text}; {}", phases()) });
    }
    (!sweep.phases.is_empty()).then(|| format!("closed loop in {}", phases()))
}

/// The most transactions in flight of an open loop, of the workload with fewest and of that with most.
pub(super) fn in_flight(study: &Study) -> (u32, u32) {
    let all = || study.workloads.iter().filter_map(|w| study.sweep_of(&w.name).connections.first().copied());
    (all().min().unwrap_or(1), all().max().unwrap_or(1))
}

/// `30 s at 500/s, 1 min at 500/s to 2000/s`.
pub(super) fn phases_text(phases: &[Phase]) -> String {
    let each = |p: &Phase| format!("{} at {}", duration_text(p.length_ns), p.load.text());
    list(&phases.iter().map(each).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use perbuck_core::study::WorkloadSpec;

    use super::*;

    fn study(lines: &str) -> Study {
        let start = "schema = 1\nname = \"s\"\n[[contender]]\nname = \"a\"\n[[workload]]\nname = \"w\"\nkind = \"sysbench\"\n";
        Study::read("s.toml", &format!("{start}[sweep]\n{lines}\n"), &[]).unwrap()
    }

    #[test]
    fn points_are_called_what_they_are() {
        let closed = study("connections = [1, 8]");
        assert_eq!(Words::of(&closed.sweep).even(), "connections (measured counts at equal steps)");
        assert_eq!(load_text(&closed), None);
        let open = study("rate = [100, 200]\nconnections = [1500]\narrivals = \"uniform\"");
        assert_eq!(Words::of(&open.sweep).unit, "transactions/s offered");
        let text = "open loop: transactions are due by an even schedule; at most 1,500 are in flight";
        assert_eq!(load_text(&open).unwrap(), text);
        // A workload may have another limit.
        let mut other = open.clone();
        other.workloads.push(WorkloadSpec {
            name: "x".to_owned(),
            sweep: Some(closed.sweep.clone()),
            ..open.workloads[0].clone()
        });
        assert!(load_text(&other).unwrap().ends_with("at most 1 to 1,500 are in flight"));
    }

    #[test]
    fn phases_are_told_in_order() {
        let closed = study("phases = [{ time = \"60s\", connections = 1 }, { time = \"2m\", connections = 64 }]");
        assert_eq!(load_text(&closed).unwrap(), "closed loop in 2 phases: 60 s at 1 connection and 2 min at 64 connections");
        let open =
            study("connections = [8]\nphases = [{ time = \"30s\", rate = 500 }, { time = \"30s\", rate = 500, to = 2000 }]");
        assert!(load_text(&open).unwrap().ends_with("; 2 phases: 30 s at 500/s and 30 s at 500/s to 2000/s"));
        assert_eq!(Words::of(&open.sweep).head, "Connections, at most");
    }
}
