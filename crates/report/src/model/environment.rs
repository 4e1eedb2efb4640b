//! What the trials ran on: what differs between contenders first, then what they share.

use std::collections::{BTreeMap, BTreeSet};

use perbuck_core::arrivals::Arrivals;
use perbuck_core::run_record::{Build, Imported, RunRecord, ServerWork};
use perbuck_core::study::DeclaredBuild;
use perbuck_core::units::{duration_text, thousands, total};

use super::levels::phases_text;
use super::open_loop::completed;
use super::{Context, client, paragraph, storage};
use crate::document::{Block, Table};
use crate::escape::clean;
use crate::number::{ABSENT, fixed, list, measured, or_absent, short_percent, significant_decimals, utc};

/// The values of a fact (group, name) by contender.
type Facts = BTreeMap<(u8, String), Vec<BTreeSet<String>>>;

/// Workload, contender and a third name: the code of an error, or a table.
type Subject<'a> = (&'a str, &'a str, &'a str);

/// The fewest and the most rows of a table; `None` where it was not counted.
type Span = Option<(u64, u64)>;

pub(super) fn section(all: &Context<'_>) -> Vec<Block> {
    if all.records.is_empty() {
        let nothing = paragraph("Nothing was measured; the table shows what the study declares.");
        return std::iter::once(nothing).chain(fact_blocks(all)).collect();
    }
    let mut blocks = vec![paragraph(when(all))];
    blocks.extend(fact_blocks(all));
    blocks.extend(storage::size_of_data(all));
    blocks.extend(storage::reads(all));
    blocks.extend(machine_time(all));
    blocks.extend(parts_time(all));
    blocks.extend(servers_shares(all));
    blocks.extend(errors(all));
    blocks.extend(retries(all));
    let rows = rows(all);
    // `perbuck sysbench` counts none.
    blocks.extend((!rows.rows.is_empty()).then_some(Block::Data(rows)));
    blocks.push(Block::Data(trials(all)));
    blocks
}

fn when(all: &Context<'_>) -> String {
    let started = || all.records.iter().map(|r| r.started_unix_ms);
    let (first, last) = (started().min().unwrap_or(0), started().max().unwrap_or(0));
    let versions: BTreeSet<String> = all.records.iter().map(|r| clean(&r.perbuck)).collect();
    let versions = list(&Vec::from_iter(versions));
    if all.study.imported {
        return format!("Trials were read from logs of other programs by perbuck {versions}; it measured none of them.");
    }
    format!("Trials started between {} and {}, measured by perbuck {versions}.", utc(first), utc(last))
}

fn facts(all: &Context<'_>) -> Facts {
    let count = all.study.contenders.len();
    let mut facts = Facts::new();
    let mut put = |slot: usize, group: u8, name: String, value: String| {
        facts.entry((group, name)).or_insert_with(|| vec![BTreeSet::new(); count])[slot].insert(value);
    };
    for (slot, c) in all.study.contenders.iter().enumerate() {
        if let Some(arch) = &c.arch {
            put(slot, 0, "architecture as declared".to_owned(), clean(arch));
        }
        if let Some(n) = c.replication_factor {
            put(slot, 0, "copies of the data as declared".to_owned(), n.to_string());
        }
        for (key, value) in c.build.iter().flat_map(DeclaredBuild::facts) {
            put(slot, 0, format!("build as declared: {key}"), clean(&value));
        }
        for node in &c.nodes {
            put(slot, 1, format!("machines for {}", clean(&node.role)), format!("{} × {}", node.count, clean(&node.instance)));
        }
    }
    for record in all.records {
        let Some(slot) = all.slot(&record.key.contender) else { continue };
        let own = all.study.workloads.iter().any(|w| w.sweep.is_some());
        let whose = if own { clean(&record.key.workload) } else { "load".to_owned() };
        for (group, name, value) in record_facts(record, &whose) {
            put(slot, group, name, value);
        }
    }
    facts
}

/// `whose` is what stands before facts that workloads may differ in.
fn record_facts(r: &RunRecord, whose: &str) -> Vec<(u8, String, String)> {
    if let Some(imported) = &r.imported {
        return log_facts(r, imported);
    }
    let (h, t, l, w) = (&r.host, &r.target, &r.load, &r.workload);
    let workload = clean(&r.key.workload);
    let mut facts: Vec<(u8, String, String)> = Vec::new();
    let mut put = |group, name: &str, value| facts.push((group, name.to_owned(), value));
    client::facts(r).into_iter().for_each(|(name, value)| put(2, &name, value));
    put(2, "client and server on one machine", if h.shared_with_server { "yes" } else { "no" }.to_owned());
    put(3, "server: version", clean(&t.version));
    put(3, "server: driver", clean(&t.driver));
    put(3, "server: address", clean(&t.address));
    for seen in &t.observed {
        let part = match &seen.role {
            Some(role) => format!("machines of {}", clean(role)),
            None if seen.volume_bytes.is_some() => "data".to_owned(),
            None => "machine".to_owned(),
        };
        put(3, &format!("server: {part} by {}", clean(&seen.source)), clean(&seen.text()));
    }
    for (name, value) in t.build.iter().flat_map(Build::facts) {
        put(3, &format!("server: {name}"), clean(&value));
    }
    for tuned in &t.tuned {
        let value = format!("{}; without perbuck {}", clean(&tuned.value), clean(&tuned.was));
        put(4, &format!("machine of the server {}", clean(&tuned.path)), value);
    }
    for (name, value) in &t.variables {
        put(4, &format!("variable {}", clean(name)), clean(value));
    }
    put(5, "load: model", clean(&l.model));
    if let Some(arrivals) = l.arrivals {
        let arrivals = match arrivals {
            Arrivals::Poisson => "Poisson process",
            Arrivals::Uniform => "evenly spaced",
        };
        put(5, "load: arrivals", arrivals.to_owned());
        put(5, &format!("{whose}: transactions in flight, at most"), thousands(u64::from(l.connections)));
    }
    if !l.phases.is_empty() {
        put(5, "load: phases", phases_text(&l.phases));
    }
    put(5, "load: threads", l.workers.to_string());
    put(5, &format!("{whose}: warm-up"), duration_text(l.warmup_ns));
    let window = if l.is_of_streams() { "to the end of the last stream".to_owned() } else { duration_text(l.duration_ns) };
    put(5, &format!("{whose}: measured window"), window);
    put(5, "load: attempts per transaction, at most", l.max_attempts.to_string());
    for (name, value) in &w.parameters {
        put(6, &format!("{workload}: {}", clean(name)), clean(value));
    }
    put(7, &format!("{workload}: data fingerprint"), clean(&w.data_fingerprint));
    put(7, &format!("{workload}: data before a trial"), clean(&w.data));
    put(8, "seed of the study", r.seed.0.to_string());
    put(8, "fingerprint of the study", clean(&r.study_fingerprint));
    put(8, "perbuck", clean(&r.perbuck));
    facts
}

/// What a log says; what it does not say is no fact.
fn log_facts(r: &RunRecord, imported: &Imported) -> Vec<(u8, String, String)> {
    let workload = clean(&r.key.workload);
    let mut facts = vec![
        (2, format!("{workload}: measured by"), clean(&imported.program())),
        (5, format!("{workload}: measured time"), duration_text(r.measured.window_ns)),
    ];
    if !r.target.version.is_empty() {
        facts.push((3, "server: version".to_owned(), clean(&r.target.version)));
    }
    facts.extend(r.workload.parameters.iter().map(|(name, value)| (6, format!("{workload}: {}", clean(name)), clean(value))));
    facts
}

fn fact_blocks(all: &Context<'_>) -> Vec<Block> {
    let seen = |slot: &usize| {
        let name = &all.study.contenders[*slot].name;
        all.records.is_empty() || all.records.iter().any(|r| r.key.contender == *name)
    };
    let slots: Vec<usize> = (0..all.study.contenders.len()).filter(seen).collect();
    let mut differs = Table::new("What differs between the contenders", "Fact");
    slots.iter().for_each(|i| differs.column(&all.label(&all.study.contenders[*i].name), false));
    let mut common = Table::new("What all contenders share", "Fact | Value");
    for ((_, name), values) in &facts(all) {
        let mut each = slots.iter().map(|i| &values[*i]);
        let Some(first) = each.clone().next() else { continue };
        if each.all(|other| other == first) {
            common.add([name.clone(), joined(first)]);
        } else {
            differs.add(std::iter::once(name.clone()).chain(slots.iter().map(|i| joined(&values[*i]))));
        }
    }
    let differs = match differs.rows.is_empty() {
        true => paragraph("Nothing recorded differs between the contenders."),
        false => Block::Table(differs),
    };
    (slots.len() > 1).then_some(differs).into_iter().chain([Block::Data(common)]).collect()
}

fn joined(values: &BTreeSet<String>) -> String {
    or_absent((!values.is_empty()).then(|| values.iter().map(String::as_str).collect::<Vec<_>>().join(" · ")))
}

/// Records of one contender, workload and level, in the order of the study.
pub(super) fn records_by_point<'a>(all: &Context<'a>) -> Vec<(&'a str, &'a str, u32, Vec<&'a RunRecord>)> {
    let mut out = Vec::new();
    for w in &all.study.workloads {
        for level in all.study.sweep_of(&w.name).levels() {
            for c in &all.study.contenders {
                out.push((w.name.as_str(), c.name.as_str(), *level, all.trials_of(&w.name, &c.name, *level)));
            }
        }
    }
    out.retain(|(_, _, _, trials)| !trials.is_empty());
    out
}

fn machine_time(all: &Context<'_>) -> Vec<Block> {
    if all.study.imported {
        return Vec::new();
    }
    let heads = format!(
        "Workload | {} | Contender | #Client CPU per transaction | #Client processors busy | \
        #Server CPU per transaction | #Server processors busy | #Pages that the server had to read",
        all.words().head
    );
    let mut table = Table::new("Processor time, and what the server's memory did not hold", &heads);
    for (workload, contender, level, records) in records_by_point(all) {
        let completed = total(records.iter().map(|r| completed(&r.measured.transactions)));
        let client = total(records.iter().flat_map(|r| [r.health.client_user_ns, r.health.client_system_ns]));
        let window = total(records.iter().map(|r| r.measured.window_ns));
        let server: Option<u64> = records.iter().map(|r| r.target.server_cpu_ns).collect::<Option<Vec<_>>>().map(total);
        let each = |ns: u64| ns.checked_div(completed).map(duration_text);
        let busy = |ns: u64| (window > 0).then(|| fixed(ns as f64 / window as f64, 2));
        let misses = misses(&records).map(short_percent);
        let numbers = [each(client), busy(client), server.and_then(each), server.and_then(busy), misses];
        let names = [clean(workload), thousands(level.into()), all.label(contender)];
        table.add(names.into_iter().chain(numbers.map(or_absent)));
    }
    vec![Block::Data(table)]
}

/// How counters of CPU time begin, in milliseconds.
const CPU_MS: &str = "server_cpu_ms_";

/// CPU time of each part of a cluster, by the counters of its processes, over the whole runs, as are the statements; nothing where none is
/// told.
fn parts_time(all: &Context<'_>) -> Option<Block> {
    let heads = format!("Workload | {} | Contender | Part | #CPU seconds of all trials | #For each statement", all.words().head);
    let mut table =
        Table::new("Processor time of each part of the servers, from before the warm-up to after the end of each trial", &heads);
    for (workload, contender, level, records) in records_by_point(all) {
        let names = records.iter().flat_map(|r| r.target.server_counters.keys());
        let parts: BTreeSet<&str> = names.filter_map(|name| name.strip_prefix(CPU_MS)).collect();
        // A trial that does not tell a part would make its CPU time too small for all the statements.
        let ms_of = |r: &RunRecord, part: &str| u64::try_from(*r.target.server_counters.get(&format!("{CPU_MS}{part}"))?).ok();
        let executed = |r: &&RunRecord| match r.target.work {
            Some(ServerWork::Statements { all, .. }) => Some(all),
            _ => None,
        };
        let executed = records.iter().map(executed).collect::<Option<Vec<_>>>().map(total);
        for part in parts {
            let ms = records.iter().map(|r| ms_of(r, part)).collect::<Option<Vec<_>>>().map(total);
            let each = ms.zip(executed).and_then(|(ms, n)| (ms * 1_000_000).checked_div(n)).map(duration_text);
            let names = [clean(workload), thousands(level.into()), all.label(contender), clean(part)];
            table.add(names.into_iter().chain([or_absent(ms.map(|ms| fixed(ms as f64 / 1e3, 1))), or_absent(each)]));
        }
    }
    (!table.rows.is_empty()).then_some(Block::Table(table))
}

/// How counters of each of several servers begin: connections that ended, and statements.
const BY_SERVER: [&str; 2] = ["server_connections_", "server_statements_"];

/// What each of several servers took of the connections and of the work, over the whole runs; nothing where there is one.
fn servers_shares(all: &Context<'_>) -> Option<Block> {
    let heads = format!("Workload | {} | Contender | Server | #Connections that ended | #Statements | #Share", all.words().head);
    let title = "Connections and statements of each TiDB server of the cluster, perbuck's own included, in all trials";
    let mut table = Table::new(title, &heads);
    for (workload, contender, level, records) in records_by_point(all) {
        let of = |r: &RunRecord, start: &str, server: u32| {
            r.target.server_counters.get(&format!("{start}{server}")).and_then(|n| u64::try_from(*n).ok())
        };
        let counted = |start, server| records.iter().map(|r| of(r, start, server)).collect::<Option<Vec<_>>>().map(total);
        let each = |server| BY_SERVER.map(|start| counted(start, server));
        let servers: Vec<_> = (1..).map(each).take_while(|[_, statements]| statements.is_some()).collect();
        let sum = total(servers.iter().filter_map(|[_, statements]| *statements));
        for (server, [connections, statements]) in (1_u32..).zip(&servers).filter(|_| servers.len() > 1) {
            let share = statements.filter(|_| sum > 0).map(|n| short_percent(n as f64 / sum as f64));
            let names = [clean(workload), thousands(level.into()), all.label(contender), server.to_string()];
            let numbers = [connections.map(thousands), statements.map(thousands), share];
            table.add(names.into_iter().chain(numbers.map(or_absent)));
        }
    }
    (!table.rows.is_empty()).then_some(Block::Table(table))
}

/// The share of pages that were not in the server's memory, by its own counters of the whole runs.
fn misses(records: &[&RunRecord]) -> Option<f64> {
    let count = |r: &&RunRecord, name: &str| u64::try_from(*r.target.server_counters.get(name)?).ok();
    let sum = |name: &str| records.iter().map(|r| count(r, name)).sum::<Option<u64>>();
    let innodb = sum("Innodb_buffer_pool_reads").zip(sum("Innodb_buffer_pool_read_requests"));
    let (missed, asked) = innodb.or_else(|| {
        let missed = sum("blks_read")?;
        Some((missed, missed.checked_add(sum("blks_hit")?)?))
    })?;
    (asked > 0).then(|| missed as f64 / asked as f64)
}

fn errors(all: &Context<'_>) -> Vec<Block> {
    let mut sums: BTreeMap<Subject<'_>, (u64, BTreeSet<&str>, &str)> = BTreeMap::new();
    for r in all.records {
        for (code, e) in &r.errors {
            let sum = sums.entry((&r.key.workload, &r.key.contender, code)).or_insert((0, BTreeSet::new(), &e.example));
            sum.0 = total([sum.0, e.count]);
            sum.1.insert(&e.class);
        }
    }
    if sums.is_empty() {
        let none = if all.study.imported { "No log counts an error." } else { "No trial had an error." };
        return vec![paragraph(none)];
    }
    let heads = "Workload | Contender | Code | #Count | Class | First message";
    let mut table = Table::new("Errors of the whole runs, warm-up included", heads);
    for ((workload, contender, code), (count, classes, example)) in sums {
        let classes: Vec<String> = classes.into_iter().map(clean).collect();
        let (classes, example) = (classes.join(", "), clean(example));
        table.add([clean(workload), all.label(contender), clean(code), thousands(count), classes, example]);
    }
    vec![Block::Table(table)]
}

/// What servers and clients of databases did again by themselves; nothing where none is counted.
fn retries(all: &Context<'_>) -> Option<Block> {
    const COUNTED: [(&str, &str); 2] = [("server_retries_", "the server"), ("client_retries_", "perbuck")];
    let mut sums: BTreeMap<(Subject<'_>, &str), i64> = BTreeMap::new();
    for r in all.records {
        for (name, count) in &r.target.server_counters {
            if let Some((reason, by)) = COUNTED.iter().find_map(|(start, by)| Some((name.strip_prefix(start)?, *by))) {
                let sum = sums.entry(((&r.key.workload, &r.key.contender, reason), by)).or_default();
                *sum = sum.saturating_add(*count);
            }
        }
    }
    let heads = "Workload | Contender | Reason | #Retries | By";
    let mut table = Table::new(
        "Retries within servers, for their own work, too, and within perbuck's client, from before the warm-up to after the end of each trial",
        heads,
    );
    for (((workload, contender, reason), by), count) in sums {
        if let Some(count) = u64::try_from(count).ok().filter(|count| *count > 0) {
            table.add([clean(workload), all.label(contender), clean(reason), thousands(count), by.to_owned()]);
        }
    }
    (!table.rows.is_empty()).then_some(Block::Table(table))
}

fn rows(all: &Context<'_>) -> Table {
    let heads = "Workload | Contender | Table | #Rows before | #Rows after";
    let mut table = Table::new("Rows of each table before and after the trials", heads);
    let mut seen: BTreeMap<Subject<'_>, [Span; 2]> = BTreeMap::new();
    for r in all.records {
        for (i, counts) in [&r.workload.rows_before, &r.workload.rows_after].into_iter().enumerate() {
            for (name, n) in counts {
                let slot = &mut seen.entry((&r.key.workload, &r.key.contender, name)).or_default()[i];
                *slot = Some(slot.map_or((*n, *n), |(low, high)| (low.min(*n), high.max(*n))));
            }
        }
    }
    for ((workload, contender, name), counts) in seen {
        let text = |span: Span| match span {
            None => ABSENT.to_owned(),
            Some((low, high)) if low == high => thousands(low),
            Some((low, high)) => format!("{}–{}", thousands(low), thousands(high)),
        };
        table.add([clean(workload), all.label(contender), clean(name), text(counts[0]), text(counts[1])]);
    }
    table
}

fn trials(all: &Context<'_>) -> Table {
    let heads = format!(
        "Position | Started | Workload | Contender | #{} | #Trial | #Seed of its operations | #Value | \
        Remarks",
        all.words().head
    );
    let mut table = Table::new("All trials in the order of execution", &heads);
    let mut ordered: Vec<&RunRecord> = all.records.iter().collect();
    ordered.sort_by_key(|r| (r.position, r.started_unix_ms, r.key.clone()));
    for r in ordered {
        let metric = all.metric_of(r);
        let value = r.metric(metric);
        let remarks: Vec<String> = r.flags.iter().map(|f| clean(&f.text())).collect();
        table.add([
            r.position.to_string(),
            or_absent((r.started_unix_ms > 0).then(|| utc(r.started_unix_ms))),
            clean(&r.key.workload),
            all.label(&r.key.contender),
            thousands(u64::from(r.key.level())),
            r.key.trial.to_string(),
            or_absent(r.imported.is_none().then(|| r.trial_seed.0.to_string())),
            measured(value, significant_decimals(value, 4), metric),
            remarks.join("; "),
        ]);
    }
    table
}
