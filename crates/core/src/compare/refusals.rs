//! What speaks against records: what is refused unless insisted upon, and what a reader must be told.

use std::collections::{BTreeMap, BTreeSet};

use super::{Refusal, Remark, clock};
use crate::run_record::{Flag, HostRecord, MachineFacts, RunRecord, ServerWork};
use crate::stats::Design;
use crate::study::Study;

/// One client is further from its server than another where its round trip is so many times as long, and longer by so much. Round trips
/// within one zone differ by less.
const FURTHER: u64 = 2;
const FURTHER_NS: u64 = 200_000;

pub(super) fn refusals(records: &[RunRecord]) -> Vec<Refusal> {
    let mut found = Vec::new();
    let emulator = |r: &RunRecord| r.clients().into_iter().find_map(|client| client.emulator.clone());
    let native = records.iter().find(|r| emulator(r).is_none());
    let emulated = records.iter().find_map(|r| Some((r, emulator(r)?)));
    if let (Some(native), Some((emulated, under))) = (native, emulated) {
        let (emulated, native) = (emulated.key.path(), native.key.path());
        let reason = format!("`{emulated}` ran under {under} and `{native}` natively; emulated times say nothing about hardware");
        found.push(Refusal { reason, insist: Some("emulated") });
    }
    for word in ["client-limited", "foreign-load", "errors"] {
        let flagged = |r: &&RunRecord| r.flags.iter().any(|f| f.refused_unless() == Some(word));
        let count = records.iter().filter(flagged).count();
        if let Some(first) = records.iter().find(flagged) {
            let flag = first.flags.iter().find(|f| f.refused_unless() == Some(word)).map(Flag::text).unwrap_or_default();
            let (of, path) = (records.len(), first.key.path());
            let reason = format!("{count} of {of} trials are no fair measurement; the first is `{path}`: {flag}");
            found.push(Refusal { reason, insist: Some(word) });
        }
    }
    found
}

pub(super) fn remarks(records: &[RunRecord]) -> Vec<Remark> {
    let mut grouped: BTreeMap<(String, Option<String>), Vec<&RunRecord>> = BTreeMap::new();
    for record in records {
        for flag in &record.flags {
            grouped.entry((remark_group(flag), Some(flag.name()))).or_default().push(record);
        }
        if let Some(ServerWork::Unknown { why }) = &record.target.work {
            let text = format!("other load on the server was not looked for: {why}");
            grouped.entry((text, None)).or_default().push(record);
        }
    }
    for record in records {
        // Trials of one contender are averaged; they must have met the same system on the same machine.
        let first = records.iter().find(|r| r.key.contender == record.key.contender && r.key.workload == record.key.workload);
        for what in first.map(|f| differences(f, record)).unwrap_or_default() {
            grouped.entry((format!("trials of one contender differ in {what}"), None)).or_default().push(record);
        }
        for (whose, facts) in MACHINES {
            // A record of an older version tells no facts.
            let told = |r: &&RunRecord| !facts(r).is_empty();
            let of_contender = |r: &&RunRecord| r.key.contender == record.key.contender && r.key.workload == record.key.workload;
            let first = records.iter().filter(of_contender).find(told);
            if let Some(what) = first.and_then(|first| unlike_facts(&facts(first), &facts(record))) {
                let text = format!("trials of one contender differ in facts of the {whose}'s machine: {what}");
                grouped.entry((text, None)).or_default().push(record);
            }
        }
        let first = records.iter().find(|r| r.key.workload == record.key.workload);
        for what in first.map(|f| unlike_clients(f, record)).unwrap_or_default() {
            let text = format!("not all contenders were driven by the same client: {what} differs");
            grouped.entry((text, None)).or_default().push(record);
        }
        if let Some(text) = first.and_then(|first| unlike_caches(first, record)) {
            grouped.entry((text, None)).or_default().push(record);
        }
    }
    let remark = |((text, flag), trials): ((String, Option<String>), Vec<&RunRecord>)| {
        let (count, example) = (trials.len(), trials[0].key.path());
        Remark { text, flag, trials: count, example }
    };
    grouped.into_iter().map(remark).chain(clock::steps(records)).collect()
}

/// Trials of blocks that not every contender has; they are in the values of their points, and in no ratio of blocks.
pub(super) fn incomplete_blocks(study: &Study, records: &[RunRecord], design: Design) -> Option<Remark> {
    let contenders: BTreeSet<&str> = records.iter().map(|r| r.key.contender.as_str()).collect();
    if design == Design::Independent || contenders.len() < 2 {
        return None;
    }
    let block = |r: &RunRecord| (r.key.workload.clone(), r.key.level(), r.key.deployment(), r.key.trial);
    let mut blocks: BTreeMap<_, Vec<&RunRecord>> = BTreeMap::new();
    records.iter().for_each(|r| blocks.entry(block(r)).or_default().push(r));
    let alone: Vec<&RunRecord> = blocks.into_values().filter(|b| b.len() < study.contenders.len()).flatten().collect();
    let first = alone.first()?;
    // Where verdicts end a study, a contender that has its verdict is left out of later blocks.
    let text = match &study.decision.until {
        Some(_) => {
            "their block lacks a contender that had its verdict: they are in the values of their points, and not in every ratio"
        }
        None => "their block lacks another contender: they are in the values of their points, and not in every ratio",
    };
    Some(Remark { text: text.to_owned(), flag: None, trials: alone.len(), example: first.key.path() })
}

/// What is not the same for the clients of two contenders, in words. Where client and server share a machine, the machine is what
/// is compared.
fn unlike_clients(a: &RunRecord, b: &RunRecord) -> Vec<&'static str> {
    if a.key.contender == b.key.contender || a.host.shared_with_server || b.host.shared_with_server {
        return Vec::new();
    }
    let checks = [
        (of_clients(a, |h| (&h.arch, &h.cpu_model)) != of_clients(b, |h| (&h.arch, &h.cpu_model)), "the processor"),
        (of_clients(a, |h| h.cpus) != of_clients(b, |h| h.cpus), "the number of processors"),
        (of_clients(a, |h| &h.os) != of_clients(b, |h| &h.os), "the operating system"),
        (a.perbuck != b.perbuck, "the version of perbuck"),
        (tuned(a) != tuned(b), "the settings of the server's machine"),
        (a.agents.len() != b.agents.len(), "the number of agents"),
        (unlike_distances(a, b), "the distance to the server, by the round trip of a packet,"),
    ];
    checks.into_iter().filter(|(differs, _)| *differs).map(|(_, what)| what).collect()
}

/// How cold the caches were in which two trials of a workload began, where that is not alike.
fn unlike_caches(a: &RunRecord, b: &RunRecord) -> Option<String> {
    let caches = |r: &RunRecord| match &r.workload.cold {
        None => "kept",
        Some(cold) if cold.page_cache_kept.is_none() => "cold",
        Some(_) => "cold but for the page cache of the operating system",
    };
    let (a, b) = (caches(a), caches(b));
    (a != b).then(|| format!("trials of one workload began with unlike caches: some {a}, these {b}"))
}

/// A fact of all machines that applied the load, whichever of them is which agent.
fn of_clients<'r, T: Ord>(r: &'r RunRecord, fact: impl Fn(&'r HostRecord) -> T) -> BTreeSet<T> {
    r.clients().into_iter().map(fact).collect()
}

/// Whether one client was more than twice as far from its server, by a time that is more than noise.
fn unlike_distances(a: &RunRecord, b: &RunRecord) -> bool {
    // By packets: a statement also takes the time of its server, which differs between databases.
    let packet = |r: &RunRecord| {
        let of_agents = r.agents.iter().filter_map(|agent| agent.server_distance);
        of_agents.chain(r.target.distance).filter_map(|distance| distance.packet_ns).max()
    };
    let (Some(a), Some(b)) = (packet(a), packet(b)) else { return false };
    let (near, far) = (a.min(b), a.max(b));
    far > FURTHER * near && far - near > FURTHER_NS
}

fn machines(r: &RunRecord) -> BTreeSet<(&String, &String, u32)> {
    of_clients(r, |h| (&h.arch, &h.cpu_model, h.cpus))
}

/// What perbuck set on the server's machine, whatever that had before.
fn tuned(r: &RunRecord) -> Vec<(&String, &String)> {
    r.target.tuned.iter().map(|one| (&one.path, &one.value)).collect()
}

/// Where its pods ran, and from which images.
fn pods(r: &RunRecord) -> Option<Vec<(&String, &String, &String)>> {
    r.target.deployed.as_ref().map(|of| of.pods.iter().map(|pod| (&pod.name, &pod.node, &pod.digest)).collect())
}

/// What is not the same for two trials of one contender and workload, in words.
fn differences(a: &RunRecord, b: &RunRecord) -> Vec<&'static str> {
    // Of a record of an older version, or a server out of sight, no build is known.
    let builds = a.target.build.as_ref().zip(b.target.build.as_ref());
    let checks = [
        (a.target.version != b.target.version, "the version of the database"),
        (a.target.variables != b.target.variables, "the settings of the database"),
        (builds.is_some_and(|(a, b)| a.contradicts(b)), "the build of the database"),
        (machines(a) != machines(b), "the machine of the client"),
        (a.agents.len() != b.agents.len(), "the number of agents"),
        (a.perbuck != b.perbuck, "the version of perbuck"),
        (pods(a) != pods(b), "the nodes or the images of its pods"),
        (a.workload.data_fingerprint != b.workload.data_fingerprint, "their data"),
    ];
    checks.into_iter().filter(|(differs, _)| *differs).map(|(_, what)| what).collect()
}

/// Names of facts of one remark.
const FACTS_NAMED: usize = 6;

/// Whose machines have facts, and those of a trial.
type Machines = (&'static str, fn(&RunRecord) -> Vec<&MachineFacts>);
const MACHINES: [Machines; 2] = [
    ("client", |r| r.clients().into_iter().filter_map(|client| client.facts.as_deref()).collect()),
    ("server", |r| r.target.machines.iter().filter_map(|machine| machine.facts.as_deref()).collect()),
];

/// The facts in which the machines of two trials differ, machine by machine, in words. Facts that one of them does not tell differ in
/// nothing.
fn unlike_facts(a: &[&MachineFacts], b: &[&MachineFacts]) -> Option<String> {
    let facts = a.iter().zip(b).map(|(a, b)| a.differences(b));
    let all: BTreeSet<String> = facts.flatten().collect();
    let mut named: Vec<String> = all.iter().take(FACTS_NAMED).cloned().collect();
    if all.len() > FACTS_NAMED {
        named.push(format!("and {} more", all.len() - FACTS_NAMED));
    }
    (!named.is_empty()).then(|| named.join(", "))
}

/// Flags of one sort are one remark, whatever their values.
fn remark_group(flag: &Flag) -> String {
    match flag {
        Flag::Emulated { .. } | Flag::FunctionalServer { .. } => flag.text(),
        Flag::ClientLimited { .. } => "the client was the limit".to_owned(),
        Flag::ManyErrors { .. } => "more than one transaction in a hundred failed".to_owned(),
        Flag::NoValue { .. } => "a trial has no value, because transactions failed or did not end".to_owned(),
        Flag::WrongRows { .. } => "operations did not find a row that must be there, or found wrong rows".to_owned(),
        Flag::Diverged { .. } => "replayed statements had other row counts than recorded".to_owned(),
        Flag::Gap { .. } => "the service was away for at least a second".to_owned(),
        Flag::TextStatements { .. } => "statements ran as text, because the server would prepare no more".to_owned(),
        Flag::Aborted { .. } => "transactions did not end within the drain limit".to_owned(),
        Flag::Overloaded { .. } => "the target could not keep the rate".to_owned(),
        Flag::ServerAway { .. } => "the server could not be asked for its counters after a trial".to_owned(),
        Flag::ForeignLoad { .. } => "other clients used the server for more than 1 % of its work".to_owned(),
        Flag::Throttled { .. } => "the client's machine lacked CPU time".to_owned(),
        Flag::ClockTrouble { .. } => "the clock of the client's machine was set, or the machine stood still".to_owned(),
        Flag::PacketLoss { .. } => "the network between client and server lost packets".to_owned(),
        Flag::StillRunning { .. } => {
            "transactions still ran at the end for much longer than any that was completed took".to_owned()
        }
        Flag::Unsettled { .. } => "the throughput had not settled".to_owned(),
        Flag::UnevenServers { .. } => "the servers had uneven shares of the statements".to_owned(),
        Flag::ClusterChanged { .. } => "regions or leaders of the cluster moved, split, or writes were stalled".to_owned(),
        Flag::PodsChanged { .. } => "pods of the system under test moved or started again within a trial".to_owned(),
        Flag::AgentsApart { .. } => "the agents may have started more than 2 ms apart".to_owned(),
        Flag::LittlesLaw { .. } => "Little's law fails: the numbers do not account for all connections".to_owned(),
    }
}
