//! From a run of a log to the record of a trial. What the log does not say stays 0, empty or absent.

use std::collections::BTreeMap;

use perbuck_core::metric::{Metric, RecordedMetric};
use perbuck_core::plan::TrialKey;
use perbuck_core::run_record::{
    ErrorRecord, Health, HostRecord, Imported, Interval, LoadRecord, Measured, RECORD_SCHEMA, RunRecord, StatementCounts,
    TargetRecord, TransactionRecord, WorkloadRecord,
};
use perbuck_core::study::WorkloadSpec;
use perbuck_core::units::Seed;
use perbuck_import::{Run, Second};

use super::{Found, name_of};
use crate::error::LabError;
use crate::flags;
use crate::inputs::Inputs;

pub(super) fn record(
    inputs: &Inputs,
    spec: &WorkloadSpec,
    found: &Found<'_>,
    key: TrialKey,
    position: u32,
) -> Result<RunRecord, LabError> {
    let (run, study) = (&found.run, &inputs.study);
    if run.completed() == 0 {
        return Err(found.wrong("no transaction was completed", "leave out this run: it says nothing of a throughput"));
    }
    let measured = measured(run);
    let intervals: Vec<Interval> = run.seconds.iter().zip(0..).map(|(second, position)| interval(second, position)).collect();
    let steadiness = flags::steadiness(&[], &intervals).filter(|_| !intervals.is_empty());
    let flags = flags::of_imported(&measured, steadiness.as_ref());
    let health = Health { reconnects: run.reconnects.unwrap_or(0), steadiness, ..Health::default() };
    let error = |(name, count): (&&str, &u64)| {
        let class = if run.retries > 0 && run.retries == *count { "retry" } else { "failed" };
        ((*name).to_owned(), ErrorRecord { count: *count, class: class.to_owned(), example: String::new() })
    };
    Ok(RunRecord {
        schema: RECORD_SCHEMA,
        perbuck: env!("CARGO_PKG_VERSION").to_owned(),
        study: study.name.clone(),
        study_fingerprint: study.fingerprint(),
        load: LoadRecord {
            model: "closed".to_owned(),
            connections: key.connections,
            warmup_ns: run.warmup_ns.unwrap_or(0),
            duration_ns: run.window_ns,
            ..LoadRecord::default()
        },
        key,
        position,
        seed: study.seed,
        trial_seed: Seed(0),
        started_unix_ms: run.started_unix_ms.unwrap_or(0),
        started_boot: None,
        workload: WorkloadRecord {
            kind: run.kind.to_owned(),
            parameters: parameters(spec, found)?,
            data_fingerprint: String::new(),
            data: String::new(),
            rows_before: BTreeMap::new(),
            rows_after: BTreeMap::new(),
            data_size: None,
            prewarm: None,
            cold: None,
            metric: RecordedMetric::Declared(metric(spec, run).clone()),
        },
        target: TargetRecord { version: run.server.clone(), ..TargetRecord::default() },
        host: HostRecord::default(),
        agents: Vec::new(),
        statements_whole_run: StatementCounts::default(),
        measured,
        errors: run.errors.iter().map(error).collect(),
        intervals,
        audit: Vec::new(),
        health,
        flags,
        imported: Some(imported(found)),
        rule: None,
        void: None,
    })
}

fn metric<'m>(spec: &'m WorkloadSpec, run: &'m Run) -> &'m Metric {
    run.metric.unwrap_or_else(|| spec.told_metric())
}

fn measured(run: &Run) -> Measured {
    let transactions = run.transactions.iter().map(|(kind, counts)| {
        let (committed, failed) = (counts.completed, counts.failed);
        (
            kind.clone(),
            TransactionRecord { committed, failed, service: counts.latency.clone().unwrap_or_default(), ..Default::default() },
        )
    });
    let [read, write, other] = run.statements.unwrap_or_default();
    Measured {
        window_ns: run.window_ns,
        transactions: transactions.collect(),
        statements: StatementCounts { read, write, other, ..StatementCounts::default() },
        retries: run.retries,
        ..Measured::default()
    }
}

fn interval(second: &Second, position: i64) -> Interval {
    Interval {
        start_ms: position * 1000,
        length_ms: 1000,
        transactions: second.transactions,
        statements: second.statements,
        errors: second.errors,
        p95_ns: second.p95_ns,
        ..Interval::default()
    }
}

/// What the study declares of the workload, and what the log says of it.
fn parameters(spec: &WorkloadSpec, found: &Found<'_>) -> Result<BTreeMap<String, String>, LabError> {
    let mut all = spec.declared();
    for (name, value) in &found.run.parameters {
        let kept = all.entry((*name).to_owned()).or_insert_with(|| value.clone());
        if kept != value {
            let message = format!("the log says {name} {value}, and workload `{}` of the study has {kept}", spec.name);
            return Err(found.wrong(&message, "correct the study, or give the log to another workload"));
        }
    }
    Ok(all)
}

fn imported(found: &Found<'_>) -> Imported {
    let run = &found.run;
    let mut missing: Vec<String> = run.not_known().into_iter().map(str::to_owned).collect();
    missing.extend(run.connections.is_none().then(|| "connections (given by hand)".to_owned()));
    Imported {
        tool: run.tool.to_owned(),
        version: run.version.clone(),
        log: name_of(&found.log.path),
        log_fingerprint: found.fingerprint.clone(),
        line: run.line,
        printed: run.printed.iter().cloned().collect(),
        missing,
    }
}
