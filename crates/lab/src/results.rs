//! From a results folder to a comparison.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use perbuck_core::audit::Ground;
use perbuck_core::compare::{self, Comparison, Regression, Remark};
use perbuck_core::parallel::both;
use perbuck_core::plan::TrialKey;
use perbuck_core::run_record::RunRecord;
use perbuck_core::study::{Study, targets_given, with_windows_of, without_target};
use perbuck_report::ReportModel;
use perbuck_report::evidence::{self, Head, Kind, Source};

use crate::error::LabError;
use crate::folder::{self, has_file};
use crate::inputs::{self, Limit, price_text, read_text, study_text};
use crate::registry::Registry;
use crate::store::{CHECKED_FILE, PRICES_FILE, STUDY_FILE};
use crate::used::{self, USED_FILE};
use crate::{stored, void};

/// What a comparison is based on, apart from the records.
#[derive(Debug, Clone, Default)]
pub struct Basis {
    /// A study file for prices, summary and decision, in place of the stored one.
    pub study: Option<PathBuf>,
    /// A price snapshot file in place of the stored one.
    pub prices: Option<PathBuf>,
    /// The benchmarks that there are.
    pub registry: Registry,
    /// Refusals that are overruled, by their words: `emulated`, `client-limited`, `foreign-load`, `errors`, `workloads`, `environment`.
    pub insist: Vec<String>,
}

/// Everything that a comparison is made from, as texts and records: from files, or from the page that embeds them.
pub(crate) struct Material {
    /// What messages call the results folder.
    pub(crate) results: String,
    /// What messages call the study.
    pub(crate) study_path: String,
    /// What messages call the price snapshot.
    pub(crate) prices_path: PathBuf,
    /// Everything but the trials.
    pub(crate) head: Head,
    pub(crate) records: Vec<RunRecord>,
    /// The checksums of the records.
    pub(crate) sums: Vec<String>,
    pub(crate) registry: Registry,
}

/// A results folder, read and compared.
pub struct Results {
    /// The study whose prices and rule were applied.
    pub study: Study,
    /// The records that the comparison is made of, those that lie outside of the study's sweep, then the void ones.
    records: Vec<RunRecord>,
    /// How many of them the comparison is made of.
    used: usize,
    /// What they say.
    pub comparison: Comparison,
    head: Head,
    sums: Vec<String>,
}

impl Results {
    /// The records that the comparison is made of.
    pub fn used(&self) -> &[RunRecord] {
        &self.records[..self.used]
    }

    /// The report without what it was made from.
    pub fn model(&self) -> ReportModel {
        perbuck_report::model(&self.study, &self.comparison, self.used())
    }

    /// The report with what it was made from.
    ///
    /// # Errors
    /// When a number of a record is not finite.
    pub fn report(&self) -> Result<ReportModel, LabError> {
        let (mut model, evidence) = self.report_beside(|| embedded(&self.head, &self.records, &self.sums))?;
        model.evidence = evidence;
        Ok(model)
    }

    /// The report, and what it was made from in a file without a name in that folder: of thousands of trials it is larger than
    /// everything else that is in memory.
    pub(crate) fn report_and_evidence(&self, folder: &Path) -> Result<(ReportModel, File), LabError> {
        let failed = |e: &io::Error| LabError::file("write into", folder, e);
        self.report_beside(|| {
            let mut file = BufWriter::new(tempfile::tempfile_in(folder).map_err(|e| failed(&e))?);
            let mut trouble = None;
            let packed = evidence::pack_into(&self.head, &self.records, &self.sums, &mut |part| {
                file.write_all(part.as_bytes()).map_err(|e| {
                    let said = e.to_string();
                    trouble = Some(e);
                    said
                })
            });
            match (trouble, packed) {
                (Some(e), _) => Err(failed(&e)),
                (None, Err(said)) => Err(not_embedded(&said)),
                (None, Ok(())) => file.into_inner().map_err(|e| failed(e.error())),
            }
        })
    }

    /// The report, and what is done meanwhile: of thousands of trials each takes about a second, and neither needs the other.
    fn report_beside<T: Send>(&self, pack: impl FnOnce() -> Result<T, LabError> + Send) -> Result<(ReportModel, T), LabError> {
        let (model, packed) = both(|| self.model(), pack);
        Ok((model, packed?))
    }
}

pub(crate) fn embedded(head: &Head, records: &[RunRecord], sums: &[String]) -> Result<String, LabError> {
    evidence::pack(head, records, sums).map_err(|e| not_embedded(&e))
}

fn not_embedded(why: &str) -> LabError {
    LabError::failed(format!("the report cannot embed its data: {why}"), "")
}

/// Reads and compares a results folder.
///
/// # Errors
/// Unreadable files, a folder without any trial, a study with problems, or trials that cannot be compared.
pub fn read(root: &Path, basis: &Basis) -> Result<Results, LabError> {
    let (records, sums) = stored::records(root)?;
    if records.is_empty() {
        let message = format!("{} holds no trial yet", root.display());
        return Err(LabError::failed(message, "run the study first: perbuck run STUDY"));
    }
    if records.iter().all(|r| r.void.is_some()) {
        let count = records.len();
        let message = format!("{} holds no trial that counts: its {count} trials are void", root.display());
        return Err(LabError::failed(message, "`perbuck run STUDY` measures them again"));
    }
    let study = basis.study.clone().unwrap_or_else(|| root.join(STUDY_FILE));
    // A study that was measured at targets of the command line, or in windows that pilot trials found, has them in the folder.
    let stored = root.join(STUDY_FILE);
    let kept = basis.study.as_ref().map(|_| folder::read_text("the study", &stored, Limit::TEXT)).transpose()?;
    let mut targets = kept.as_deref().map(targets_given).unwrap_or_default();
    if let Some(given) = &basis.study {
        let bare = without_target(&read_text("the study", given)?);
        targets.retain(|name, _| bare.contains(name));
    }
    let read = |what: &str, path: &Path, given: bool| {
        let text = match kept.as_deref().filter(|_| given) {
            Some(kept) => with_windows_of(&study_text(path, &targets)?, kept),
            None => folder::read_text(what, path, Limit::TEXT)?,
        };
        Ok::<_, LabError>(source(path, given, &text))
    };
    // Another study names its prices itself.
    let stored = Some(root.join(PRICES_FILE)).filter(|p| basis.study.is_none() && has_file(p));
    let prices = basis.prices.clone().or(stored);
    let study_source = read("the study", &study, basis.study.is_some())?;
    let price_source = match price_text(basis.prices.as_deref(), &study_source.text)? {
        Some((path, text)) => Some(source(&path, true, &text)),
        None => prices.as_ref().map(|p| read("the prices", p, false)).transpose()?,
    };
    let head = Head {
        form: evidence::FORM,
        perbuck: env!("CARGO_PKG_VERSION").to_owned(),
        kind: Kind::Measured,
        prices: price_source,
        study: study_source,
        results: None,
        used: used::text(root)?.map(|text| source(Path::new(USED_FILE), false, &text)),
        insist: basis.insist.clone(),
        checked: has_file(&root.join(CHECKED_FILE)),
    };
    let (study_path, prices_path) = (study.display().to_string(), prices.unwrap_or_default());
    let results = root.display().to_string();
    compare(Material { results, study_path, prices_path, head, records, sums, registry: basis.registry })
}

/// A file by its name alone: the same files give the same report wherever they lie.
pub(crate) fn source(path: &Path, given: bool, text: &str) -> Source {
    Source::new(&path.file_name().unwrap_or_default().to_string_lossy(), given, text)
}

/// Compares. A study with problems is refused, and so are trials that cannot be compared.
pub(crate) fn compare(material: Material) -> Result<Results, LabError> {
    let Material { results, study_path, prices_path, head, mut records, mut sums, registry } = material;
    let prices = head.prices.as_ref().map(|p| (prices_path, p.text.clone()));
    let inputs = inputs::check(&study_path, head.study.text.clone(), prices, registry).map_err(|p| LabError::problems(&p))?;
    let fingerprint = inputs.study.fingerprint();
    let of_this_study = |r: &&RunRecord| {
        r.study_fingerprint == fingerprint
            || inputs.study.fingerprint_alone(&r.key.contender).as_ref() == Some(&r.study_fingerprint)
    };
    if let Some(stranger) = records.iter().find(|r| !of_this_study(r)) {
        let message = format!("{} in {results} was measured by another version of the study {study_path}", stranger.path());
        return Err(LabError::refused(message, "only prices, labels, summary and decision may differ from the study that ran"));
    }
    let mut inputs = inputs;
    if inputs.study.imported {
        inputs.study.take_points(&records);
    }
    let plan: BTreeSet<TrialKey> = inputs.study.plan().into_iter().collect();
    let (used, counting) = in_classes(&plan, &mut records, &mut sums);
    let others = compare::other_machines(&inputs.study, &records[..used]);
    if !inputs.study.notional && !others.is_empty() {
        let words = |r: &Remark| format!("{} ({} trials, the first is `{}`)", r.text, r.trials, r.example);
        return Err(LabError::other_machines(&others.iter().map(words).collect::<Vec<_>>().join("; "), Some(&results)));
    }
    let mut comparison = compare::compare(&inputs.study, &records[..used], &inputs.bills, &head.insist)
        .map_err(|r| LabError::refusals(&results, &r))?;
    let ground = Ground { study: &inputs.study, bills: &inputs.bills, facts: &inputs.lists };
    compare::conclude(&mut comparison, &ground, &records[..used]);
    if let Some(first) = records[..counting].get(used) {
        // Left out, but never silently: choosing trials after seeing them is how results are bent.
        let text = "trials on disk lie outside the sweep of the study and are not used".to_owned();
        comparison.remarks.push(Remark { text, flag: None, trials: counting - used, example: first.key.path() });
    }
    comparison.spent = used::of(head.used.as_ref().map_or("", |used| &used.text), &results, &inputs)?;
    comparison.remarks.extend(out_of_order(&inputs.study, &records[..used]));
    comparison.remarks.extend(void::remarks(&records[counting..]));
    // What the log of an imported trial does not say is told with it.
    if !head.checked && !inputs.study.imported {
        let text = if inputs.study.sweep.collected {
            "the data were not checked after the last trial; `perbuck sysbench` checks none"
        } else {
            "the data were not checked after the last trial, or a condition did not hold; `perbuck run STUDY` checks them"
        };
        let (trials, first) = (comparison.found, records.first().map(|r| r.key.path()).unwrap_or_default());
        comparison.remarks.push(Remark { text: text.to_owned(), flag: None, trials, example: first });
    }
    Ok(Results { study: inputs.study, records, used, comparison, head, sums })
}

/// Trials that were measured after one of a later block at the same load: the order of the plan spreads drift over all contenders,
/// and theirs does not. Deployments have an order of their own, and a study collected one run at a time has none.
fn out_of_order(study: &Study, records: &[RunRecord]) -> Option<Remark> {
    let mut by_time: Vec<&RunRecord> = records.iter().filter(|_| !study.sweep.collected && !study.sweep.one_by_one).collect();
    by_time.sort_by_key(|r| (r.started_unix_ms, r.key.trial));
    let mut latest: BTreeMap<(u32, &str, u32, u32), u32> = BTreeMap::new();
    let mut late: Vec<&RunRecord> = Vec::new();
    for r in by_time {
        let point = (r.key.deployment(), r.key.workload.as_str(), r.key.connections, r.key.level());
        let seen = latest.entry(point).or_default();
        *seen = r.key.trial.max(*seen);
        if r.key.trial < *seen {
            late.push(r);
        }
    }
    let text = "trials started after a trial of a later block, so drift of the machine may not fall on all contenders alike; they were measured again or added later, or the clock was set back";
    Some(Remark { text: text.to_owned(), flag: None, trials: late.len(), example: late.first()?.key.path() })
}

/// Puts the trials that the plan does not name after those that it names, and the void ones last. Returns how many the plan names, and
/// how many are not void.
fn in_classes(plan: &BTreeSet<TrialKey>, records: &mut Vec<RunRecord>, sums: &mut Vec<String>) -> (usize, usize) {
    let class = |r: &RunRecord| if r.void.is_some() { 2 } else { u8::from(!plan.contains(&r.key)) };
    let up_to = |most: u8| records.iter().filter(|r| class(r) <= most).count();
    let counts = (up_to(0), up_to(1));
    if counts.0 < records.len() {
        let mut paired: Vec<(RunRecord, String)> = std::mem::take(records).into_iter().zip(std::mem::take(sums)).collect();
        paired.sort_by_key(|(record, _)| class(record));
        (*records, *sums) = paired.into_iter().unzip();
    }
    counts
}

/// A results folder beside an older one.
///
/// # Errors
/// A folder that cannot be read, or trials that cannot be compared.
pub fn against(old: &Path, new: &Path, margin: Option<f64>, insist: &[String]) -> Result<Regression, LabError> {
    let basis = Basis { insist: insist.to_vec(), ..Basis::default() };
    let results = format!("{} --baseline {}", new.display(), old.display());
    let (old, new) = (read(old, &basis)?, read(new, &basis)?);
    let sides = ((&old.study, old.used()), (&new.study, new.used()));
    compare::regression(sides.0, sides.1, margin, insist).map_err(|r| LabError::refusals(&results, &r))
}
