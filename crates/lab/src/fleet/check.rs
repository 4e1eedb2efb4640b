//! What agents can do before a study runs: the network to each, what its engine can drive, and how many of them the study needs.

use std::path::Path;
use std::time::{Duration, Instant};

use perbuck_core::plan::TrialKey;
use perbuck_core::run_record::RunRecord;
use perbuck_core::units::thousands;
use perbuck_load::trial::TrialSpec;

use super::Fleet;
use super::member::{Asked, Member};
use super::messages::{Answer, Load, Order, StudyOrder};
use crate::error::LabError;
use crate::inputs::Inputs;
use crate::progress::Progress;
use crate::stored;
use crate::trial;

/// How long the engine of an agent is driven for its ceiling.
const CEILING_NS: u64 = 1_000_000_000;
/// Bytes that go to an agent and back for the bandwidth.
const ECHO: usize = 4 << 20;
/// An agent with less than this share of the median ceiling is slow: all agents have equal shares, so it holds up the others.
const SLOW: f64 = 0.8;
/// An agent is asked for no more than this share of its processors; above it response times of the client would be measured.
const BUSY: f64 = 0.7;

/// The headings of the table of agents; those of numbers start with `#`.
pub const HEADS: &str = "agent | machine | #round trip µs | #MB/s | #statements/s at most";

/// What was found.
#[derive(Debug)]
pub struct FleetCheck {
    /// A row for each agent, for [`HEADS`].
    pub rows: Vec<Vec<String>>,
    /// Remarks: slow agents, and how many the study needs.
    pub remarks: Vec<String>,
}

impl Fleet {
    /// Measures the network to each agent, then what all of them can drive at the same time, as they will work.
    ///
    /// # Errors
    /// An agent that is lost or refuses, or a study without a workload that can be simulated.
    pub fn check(&self, inputs: &Inputs, results: &Path, progress: &mut dyn Progress) -> Result<FleetCheck, LabError> {
        self.options.suits(&inputs.study)?;
        let (workload, spec) = simulated(inputs)?;
        let prices = inputs.prices.clone();
        let study = || StudyOrder {
            name: inputs.name.clone(),
            text: inputs.text.clone(),
            prices: prices.clone(),
            reached: Default::default(),
            most: Load::default(),
            simulated: true,
        };
        let members = self.members.borrow();
        progress.passing("measuring the network to each agent");
        let mut network = Vec::new();
        for member in members.iter() {
            let began = Instant::now();
            let Answer::Echo(_) = member.ask(&Order::Echo("x".repeat(ECHO)), Asked::Soon)? else { return Err(member.other()) };
            network.push((member.round_trip_us(), 2.0 * ECHO as f64 / 1e6 / began.elapsed().as_secs_f64()));
        }
        progress.passing("measuring what each agent can drive");
        // Asked one after the other, answered at the same time.
        for member in members.iter() {
            member.say(&Order::Ceiling { study: study(), workload: workload.clone(), spec: Box::new(spec.clone()) })?;
        }
        let mut ceilings = Vec::new();
        for member in members.iter() {
            let Answer::Ceiling { statements_per_s, host } = member.hear(Asked::AfterWork)? else { return Err(member.other()) };
            ceilings.push((statements_per_s, host));
        }
        let mut rows = Vec::new();
        for ((member, (trip, rate)), (ceiling, host)) in members.iter().zip(&network).zip(&ceilings) {
            let machine = format!("{}, {} processors", host.arch, host.cpus);
            rows.push(vec![
                member.name().to_owned(),
                machine,
                thousands(*trip),
                format!("{rate:.0}"),
                thousands(*ceiling as u64),
            ]);
        }
        let names: Vec<&str> = members.iter().map(Member::name).collect();
        let of_ceilings: Vec<f64> = ceilings.iter().map(|(ceiling, _)| *ceiling).collect();
        let fewest = ceilings.iter().map(|(_, host)| host.cpus).min().unwrap_or(1);
        let mut remarks = slow(&names, &of_ceilings);
        remarks.push(needed(inputs, results, fewest, names.len()));
        Ok(FleetCheck { rows, remarks })
    }
}

/// The first workload that the simulated driver can run, with the load of its largest point.
fn simulated(inputs: &Inputs) -> Result<(String, TrialSpec), LabError> {
    let able = inputs.study.workloads.iter().zip(&inputs.plans).find(|(_, plan)| !plan.needs_values());
    let Some((workload, _)) = able else {
        let help = "check the agents with a study that has one of sysbench's workloads";
        return Err(LabError::usage("each workload of the study reads values, and the simulated driver returns none", help));
    };
    let connections =
        inputs.study.sweep_of(&workload.name).points().iter().map(|(connections, _)| *connections).max().unwrap_or(1);
    let (contender, name) = ("sim".to_owned(), workload.name.clone());
    let key = TrialKey { contender, workload: name, connections, rate_per_s: None, deployment: None, trial: 1 };
    let closed = perbuck_core::load_model::LoadModel::closed();
    let spec = TrialSpec {
        load: closed,
        phases: Vec::new(),
        max_events: None,
        streams: false,
        warmup_ns: CEILING_NS / 4,
        duration_ns: CEILING_NS,
        ..trial::spec(&inputs.study, &key)
    };
    Ok((workload.name.clone(), spec))
}

/// The agents that are slower than the others.
fn slow(names: &[&str], ceilings: &[f64]) -> Vec<String> {
    let mut sorted = ceilings.to_vec();
    sorted.sort_by(f64::total_cmp);
    let Some(median) = sorted.get(sorted.len() / 2).copied().filter(|m| *m > 0.0) else { return Vec::new() };
    let one = |(name, ceiling): (&&str, &f64)| {
        let text = "its share is as large as that of the others, so it holds them up";
        (*ceiling < SLOW * median)
            .then(|| format!("agent {name} is slow: {:.0} % of the median; {text}", 100.0 * ceiling / median))
    };
    names.iter().zip(ceilings).filter_map(one).collect()
}

/// How many agents the study needs, by what its trials cost the client.
fn needed(inputs: &Inputs, results: &Path, processors: u32, agents: usize) -> String {
    let folder = results.join(&inputs.study.name);
    // Also those that no comparison accepts, such as trials that their client limited.
    let measured = stored::records(&folder).map(|(records, _)| records).unwrap_or_default();
    let busy = measured.iter().map(processors_used).fold(0.0, f64::max);
    if busy == 0.0 {
        return format!(
            "how many agents the study needs cannot be told before its first trial; a trial that its client limited says so ({} there)",
            count(agents)
        );
    }
    let needed = (busy / (BUSY * f64::from(processors))).ceil().max(1.0) as usize;
    let enough = if needed <= agents { "enough" } else { "too few" };
    format!(
        "the client used {busy:.1} processors at most in the trials of the study; at {:.0} % of {processors} processors each it needs {}: {agents} are {enough}",
        BUSY * 100.0,
        count(needed)
    )
}

fn count(agents: usize) -> String {
    if agents == 1 { "1 agent".to_owned() } else { format!("{agents} agents") }
}

/// Processors that the client used in the window of a trial.
fn processors_used(record: &RunRecord) -> f64 {
    let health = &record.health;
    (health.client_user_ns + health.client_system_ns) as f64
        / Duration::from_nanos(record.measured.window_ns.max(1)).as_nanos() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_far_below_the_median_is_named() {
        let names = ["a:1", "b:1", "c:1", "d:1"];
        let said = slow(&names, &[100.0, 95.0, 40.0, 105.0]);
        assert_eq!(said.len(), 1);
        assert!(said[0].starts_with("agent c:1 is slow: 40 % of the median"), "{said:?}");
        assert!(slow(&names, &[100.0, 95.0, 90.0, 105.0]).is_empty() && slow(&[], &[]).is_empty());
    }
}
