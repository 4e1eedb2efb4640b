//! From TOML to a checked study, or to all problems at once.

use crate::metric::Metric;
use crate::problem::{Problem, did_you_mean};
use crate::toml_reader::{Located, Section, TomlFile};
use crate::units::Seed;
use crate::workload_kind::{self, Kinds, WorkloadKind};

use super::attached::{self, give_scripts, give_targets};
use super::audit::{check_claims, read_audit};
use super::build::read_build;
use super::client::read_client;
use super::costs::{read_discount, read_fee, read_traffic};
use super::deploy::read_deploy;
use super::prometheus::read_prometheus;
use super::published::{article, check_results, read_results};
use super::server::{read_server, read_server_settings};
use super::transactions::read_transactions;
use super::tuning::read_tuning;
use super::windows;
use super::{
    AuditSpec, ClientSpec, Contender, Decision, Factor, Node, Published, Reset, STUDY_SCHEMA, Study, Summary, Sweep, WorkloadSpec,
};

mod decision;
mod factor;
mod imported;
pub(super) mod node;
mod price;
mod summary;
mod sweep;

use decision::{plan_looks, read_decision};
use factor::{multiply, read_factors};
use node::read_node;
use price::read_price;
use summary::{check_summaries, read_over, read_summary};
use sweep::{Own, of_streams, one_temperature, read_own, read_sweep};

/// The widest count of anything that a study may ask for; far above every machine, and safe in 32 bits.
pub(super) const MANY: i64 = 1_000_000;
/// Contenders of a study, and workloads, at most: each is compared with every other.
const MEMBERS: usize = 500;
/// Trials of a study at most; one a second, they take eleven days.
const TRIALS: u64 = 1_000_000;
pub(super) const DEFAULT_SEED: i64 = 42;

impl Study {
    /// Reads a study; `name` is how messages call the file, and `kinds` are the workloads that it may have.
    ///
    /// # Errors
    /// Every problem of the file, in the order of its lines.
    pub fn read(name: &str, text: &str, kinds: &Kinds) -> Result<Self, Vec<Problem>> {
        match Self::read_with_problems(name, text, kinds) {
            (Some(study), problems) if problems.is_empty() => Ok(study),
            (_, problems) => Err(problems),
        }
    }

    /// Reads a study with all problems of the file, in the order of its lines. Where there are any, the study is there
    /// only for a caller that looks for more of them: what is wrong in it has its default.
    pub fn read_with_problems(name: &str, text: &str, kinds: &Kinds) -> (Option<Self>, Vec<Problem>) {
        let file = match TomlFile::parse(name, text.to_owned()) {
            Ok(file) => file,
            Err(problem) => return (None, vec![problem]),
        };
        let study = read_root(&file.root(), kinds);
        (study, file.into_problems())
    }
}

fn read_root(root: &Section<'_>, kinds: &Kinds) -> Option<Study> {
    let schema = root.required_int("schema", 1..=STUDY_SCHEMA, "1");
    let name = root.required_text("name", "\"my-study\"").and_then(|n| path_safe(root, "name", n));
    let question = root.text("question").map(|q| q.value).unwrap_or_default();
    let seed = Seed(root.int("seed", 0..=i64::MAX).map_or(DEFAULT_SEED, |s| s.value) as u64);
    let (baseline_name, control) = (root.text("baseline"), root.text("control"));
    let price = read_price(root.table("price").as_ref());
    let client = read_client(root.table("client").as_ref());
    let contenders = members(root, "contender", |s| read_contender(s, root));
    let says = |key: &str| root.boolean(key).is_some_and(|v| v.value);
    let (notional, imported) = (says("notional"), says("imported"));
    // What was measured elsewhere may have any parameters, these words too.
    let measures = !imported && (!root.has("results") || root.has("sweep"));
    let workloads = members(root, "workload", |s| read_workload(s, kinds, measures));
    let factors = read_factors(root);
    let mut sweep = root.table("sweep").map_or_else(|| Some(Sweep::default()), |s| read_sweep(&s));
    let article = article(root);
    let (results, audit, own_claims) = read_article(root, article.as_ref());
    let (published, beside) = if measures { (None, results) } else { (results, None) };
    // Published results have points of their own; a sweep is what perbuck would measure.
    let given = !imported || root.table("sweep").is_some_and(|s| s.has("connections"));
    if let Some(sweep) = sweep.as_mut().filter(|_| imported) {
        imported::check(root, given, sweep);
    }
    let measured = sweep.as_ref().filter(|_| published.is_none() && given);
    let summary = read_summary(root);
    let decision = root.table("decision").map_or_else(Decision::default, |s| read_decision(&s));
    let targets = attached::targets(root);
    root.finish();
    let (factors, (client, mut contenders)) = (factors?, with_client(client?, contenders?));
    give_targets(root, targets, &mut contenders);
    complete(root, &mut contenders, control.as_ref(), (imported, published.is_some()));
    let mut workloads = at_levels(root, (workloads?, sweep.as_ref()), &factors, &contenders);
    give_scripts(root, &mut workloads);
    check_claims(root, (&audit, own_claims), measures, (&workloads, &contenders));
    if let Some(measured) = measured {
        check_summaries(root, summary.as_ref(), &workloads, measured);
    }
    if let (Some(published), Some(summary)) = (published.as_ref().or(beside.as_ref()), &summary) {
        check_article(root, article.as_ref(), (published, summary), (&contenders, &workloads));
    }
    article.into_iter().for_each(|file| root.file().adopt(file.into_problems()));
    give_metric(root, kinds, &mut workloads);
    let baseline = find_baseline(root, baseline_name, &contenders).unwrap_or(0);
    if contenders.is_empty() {
        return None;
    }
    let (_, name, price, summary) = (schema?, name?, price?, summary?);
    let sweep = of_streams(root, sweep?, &workloads);
    let study = Study {
        name,
        question,
        baseline,
        seed,
        notional,
        imported,
        price,
        client,
        contenders,
        workloads,
        factors,
        sweep,
        summary,
        decision,
        published,
        beside,
        audit,
    };
    whole(root, study)
}

/// What can be read, and judged, only when everything else is there.
fn whole(root: &Section<'_>, mut study: Study) -> Option<Study> {
    windows::give(root, &mut study);
    plan_looks(root, &mut study);
    few_enough(root, &study).then_some(study)
}

/// Gives each contender the machines of the client, which its bill shows.
fn with_client((client, nodes): (ClientSpec, Vec<Node>), mut contenders: Vec<Contender>) -> (ClientSpec, Vec<Contender>) {
    contenders.iter_mut().for_each(|contender| contender.nodes.extend(nodes.iter().cloned()));
    (client, contenders)
}

/// Adds the A/A control to the contenders, and reports what those of imported trials must not have.
fn complete(
    root: &Section<'_>,
    contenders: &mut Vec<Contender>,
    control: Option<&Located<String>>,
    (imported, published): (bool, bool),
) {
    if imported {
        imported::check_contenders(root, contenders, control, published);
    }
    if let Some(control) = control {
        contenders.extend(read_control(root, control, contenders, published));
    }
}

/// Reports rows of the article that name what the study does not have.
fn check_article(
    root: &Section<'_>,
    article: Option<&TomlFile>,
    (published, summary): (&Published, &Summary),
    (contenders, workloads): (&[Contender], &[WorkloadSpec]),
) {
    let names: Vec<&str> = contenders.iter().map(|c| c.name.as_str()).collect();
    check_results((root, article.unwrap_or(root.file())), published, &names, workloads, summary);
}

/// The published results of a study and what is to be audited of them, from its own file and from that of its article; and how many of the
/// claims are its own, those about points apart.
fn read_article(root: &Section<'_>, article: Option<&TomlFile>) -> (Option<Published>, AuditSpec, (usize, usize)) {
    let article = article.map(TomlFile::root);
    let results = read_results(article.as_ref().unwrap_or(root));
    let mut audit = read_audit(root);
    let own = (audit.claims.len(), audit.points_claims.len());
    audit.extend(article.as_ref().map(read_audit));
    (results, audit, own)
}

/// The workloads as written, each with its sweep and at every level of the factors.
fn at_levels(
    root: &Section<'_>,
    (written, sweep): (Vec<(WorkloadSpec, Own)>, Option<&Sweep>),
    factors: &[Factor],
    contenders: &[Contender],
) -> Vec<WorkloadSpec> {
    let written = give_sweeps(root, written, sweep);
    unique(root, "workload", written.iter().map(|w| (w.name.as_str(), w.line)));
    factor::check_contenders(root, factors, contenders);
    multiply(root, factors, written, sweep)
}

/// Whether a study asks for no more trials than one may have.
fn few_enough(root: &Section<'_>, study: &Study) -> bool {
    let planned = study.trials_planned();
    let few = planned <= TRIALS || study.published.is_some();
    if !few {
        let message = format!("the study asks for {planned} trials, above {TRIALS}");
        root.report("sweep", message, "lower `trials`, or divide it into several studies");
    }
    few
}

/// Each workload gets the sweep of the study with what it has of its own.
fn give_sweeps(root: &Section<'_>, workloads: Vec<(WorkloadSpec, Own)>, whole: Option<&Sweep>) -> Vec<WorkloadSpec> {
    let each = |(mut spec, own): (WorkloadSpec, Own)| {
        attached::give_log(root, &mut spec);
        let streams = spec.known.and_then(|kind| (kind.streams)(&spec.parameters));
        let sweep = whole.and_then(|sweep| match streams {
            Some(of) => Some(own.of_streams(root, sweep, (spec.line, of))),
            None => own.over(root, sweep, &spec),
        });
        sweep.as_ref().or(whole).into_iter().for_each(|sweep| one_temperature(root, &spec, sweep));
        WorkloadSpec { sweep, ..spec }
    };
    workloads.into_iter().map(each).collect()
}

/// The metric of `[summary]` goes to every workload that names none of its own.
fn give_metric(root: &Section<'_>, kinds: &Kinds, workloads: &mut [WorkloadSpec]) {
    let Some(metric) = root.table("summary").and_then(|s| read_metric(&s, kinds, None)) else { return };
    for w in workloads.iter_mut().filter(|w| w.metric.is_none()) {
        let own = w.known.and_then(|kind| kind.metrics.iter().find(|m| m.name == metric.name));
        w.metric = Some(own.map_or_else(|| metric.clone(), |own| (*own).clone()));
    }
}

fn members<T>(root: &Section<'_>, key: &str, read: impl Fn(&Section<'_>) -> Option<T>) -> Option<Vec<T>> {
    let count = root.tables(key).len();
    if count > MEMBERS {
        root.report(key, format!("the study has {count} `[[{key}]]`, above {MEMBERS}"), "divide it into several studies");
        return None;
    }
    let all = root.each(key, read)?;
    if all.is_empty() {
        let message = format!("the study has no `[[{key}]]`");
        root.file().report(root.line(), message, format!("add at least one `[[{key}]]` table"));
    }
    Some(all)
}

/// Names become folders and files, so they hold only characters that are safe there.
fn path_safe(section: &Section<'_>, key: &str, name: Located<String>) -> Option<String> {
    let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if !name.value.is_empty() && name.value.len() <= 64 && name.value.chars().all(good) && !name.value.starts_with('.') {
        return Some(name.value);
    }
    let help = "use 1 to 64 letters, digits, `-`, `_` or `.`, not starting with a dot; free text goes into `label` or `question`";
    section.report(key, format!("`{key}` cannot be the name of a folder"), help);
    None
}

fn unique<'n>(root: &Section<'_>, what: &str, names: impl Iterator<Item = (&'n str, usize)>) {
    let mut seen: Vec<&str> = Vec::new();
    for (name, line) in names {
        if seen.contains(&name) {
            root.file().report(line, format!("two `[[{what}]]` are named `{name}`"), "give each its own name");
        }
        seen.push(name);
    }
}

fn find_baseline(root: &Section<'_>, name: Option<Located<String>>, contenders: &[Contender]) -> Option<usize> {
    unique(root, "contender", contenders.iter().map(|c| (c.name.as_str(), c.line)));
    let Some(name) = name else { return (!contenders.is_empty()).then_some(0) };
    let found = contenders.iter().position(|c| c.name == name.value);
    if found.is_none() {
        let names: Vec<&str> = contenders.iter().map(|c| c.name.as_str()).collect();
        let help = did_you_mean(&name.value, &names, || format!("the contenders are: {}", names.join(", ")));
        root.report("baseline", format!("`baseline` names no contender: `{}`", name.value), help);
    }
    found
}

/// The A/A control: the same contender under a second name. It is driven and not priced, because its bill is that of the first.
fn read_control(root: &Section<'_>, of: &Located<String>, contenders: &[Contender], published: bool) -> Option<Contender> {
    let Some(twin) = contenders.iter().find(|c| c.name == of.value) else {
        let names: Vec<&str> = contenders.iter().map(|c| c.name.as_str()).collect();
        let help = format!("name one of them: {}", names.join(", "));
        root.report("control", format!("`control` names no contender: `{}`", of.value), help);
        return None;
    };
    if published {
        root.report("control", "published results cannot be measured a second time", "remove `control`");
        return None;
    }
    let (name, label) = (format!("{}-control", twin.name), format!("{} (A/A control)", twin.label));
    let mut control = Contender { name, label, control_of: Some(twin.name.clone()), line: of.line, ..twin.clone() };
    (control.nodes, control.fees, control.traffic, control.discounts) = Default::default();
    Some(control)
}

pub(super) fn word<T: Copy>(section: &Section<'_>, key: &str, words: &[(&str, T)]) -> Option<T> {
    let typed = section.text(key)?;
    let found = words.iter().find(|(w, _)| *w == typed.value).map(|(_, t)| *t);
    if found.is_none() {
        let list: Vec<String> = words.iter().map(|(w, _)| format!("\"{w}\"")).collect();
        section.report(key, format!("`{key}` is \"{}\"", typed.value), format!("use one of {}", list.join(", ")));
    }
    found
}

fn read_contender(s: &Section<'_>, root: &Section<'_>) -> Option<Contender> {
    let name = s.required_text("name", "\"arm\"").and_then(|n| path_safe(s, "name", n));
    let mut found = Contender {
        label: s.text("label").map_or_else(|| name.clone().unwrap_or_default(), |label| label.value),
        arch: s.text("arch").map(|a| a.value),
        target: s.text("target"),
        password_file: s.text("password_file"),
        backup: s.text("backup"),
        line: s.line(),
        ..Contender::default()
    };
    let server = s.table("server");
    if server.is_some() && (found.target.is_some() || found.password_file.is_some()) {
        let help = "leave out `target` and `password_file`, or leave out `server`";
        s.report("server", "a private server has its own address and password", help);
    }
    let server = server.as_ref().map(|server| read_server(server, root));
    let deploy = read_deploy(s);
    if let Some(Some(_)) = &deploy
        && (server.is_some() || found.target.is_some())
    {
        let help = "leave out `target`, `password_file` and `server`, or leave out `deploy`";
        s.report(
            "deploy",
            "`deploy` makes the cluster that is driven, and the contender has a `target` or a `server`, too",
            help,
        );
    }
    found.server_settings = read_server_settings(s);
    found.tuning = read_tuning(s);
    found.prometheus = read_prometheus(s);
    found.build = read_build(s);
    found.transactions = read_transactions(s);
    found.wait_ready_ns = s.duration_ns("wait_ready");
    found.tiflash_replicas = s.int("tiflash_replicas", 1..=99).map(|v| Located { value: v.value as u32, line: v.line });
    found.replication_factor = s.count("replication_factor", 1..=99);
    (found.snapshot, found.region) = (s.text("snapshot"), s.text("region"));
    let (nodes, fees) = (s.each("node", |s| read_node(s, None)), s.each("fee", read_fee));
    let (traffic, discounts) = (s.each("traffic", read_traffic), s.each("discount", read_discount));
    s.finish();
    (found.nodes, found.fees, found.traffic, found.discounts) = (nodes?, fees?, traffic?, discounts?);
    found.deploy = deploy?;
    found.server = server.map_or(Some(None), |server| server.map(Some))?;
    found.name = name?;
    Some(found)
}

fn read_workload(s: &Section<'_>, kinds: &Kinds, measures: bool) -> Option<(WorkloadSpec, Own)> {
    let name = s.required_text("name", "\"small\"").and_then(|n| path_safe(s, "name", n));
    let kind = s.required_text("kind", "\"sysbench\"");
    let database = s.text("database").and_then(|d| path_safe(s, "database", d));
    let reset =
        word(s, "reset", &[Reset::Never, Reset::Restore, Reset::PerBlock, Reset::PerTrial].map(|reset| (reset.word(), reset)));
    let known = kind.as_ref().and_then(|kind| WorkloadKind::named(kinds, &kind.value));
    let metric = read_metric(s, kinds, known);
    let summary = read_over(s);
    let weight = s.number("weight", 0.0, 1e6).map_or(1.0, |v| v.value);
    let own = if measures { read_own(s) } else { Own::default() };
    let parameters = s.remaining_with(known.into_iter().flat_map(WorkloadKind::lists));
    let (name, kind, line) = (name?, kind?, s.line());
    let spec = WorkloadSpec {
        name,
        at: Vec::new(),
        kind,
        known,
        database,
        reset,
        metric,
        summary,
        sweep: None,
        weight,
        parameters,
        line,
    };
    Some((spec, own))
}

/// A metric by its name. One that only another kind has is left to the caller, who can say what the workload lacks.
fn read_metric(s: &Section<'_>, kinds: &Kinds, known: Option<&'static WorkloadKind>) -> Option<Metric> {
    let words: Vec<_> = workload_kind::metrics(kinds, known).into_iter().map(|m| (m.name.as_ref(), m)).collect();
    word(s, "metric", &words).cloned()
}

#[cfg(test)]
mod tests;
