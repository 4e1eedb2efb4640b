//! One contender with one workload: its search, and the folder in which the trials of that search lie.

use std::path::{Path, PathBuf};

use perbuck_core::capacity::{CAPACITY_SCHEMA, CapacityRecord, CapacityResult, CapacityRule, Probe, ProbeResult, Search, Step};
use perbuck_core::load_model::LoadModel;
use perbuck_core::plan::TrialKey;
use perbuck_core::run_record::{Flag, RunRecord, TransactionRecord};
use perbuck_core::study::Study;
use perbuck_load::trial::TrialSpec;

use super::terms::Terms;
use crate::error::LabError;
use crate::folder::has_file;
use crate::sidecar::Trial;
use crate::store::{self, CAPACITY_FOLDER};
use crate::{stored, trial};

const RESULT_FILE: &str = "capacity.json";

/// A share of the window: a transaction that was due in this last part of it need not be completed in it.
const LAST_SHARE: u64 = 100;

pub(super) struct Hunt<'a> {
    terms: &'a Terms,
    study: &'a Study,
    fingerprint: &'a str,
    /// The results folder of the study.
    root: PathBuf,
    /// The folder of all searches of this contender and workload.
    parent: PathBuf,
    pub(super) contender: String,
    pub(super) workload: String,
    pub(super) stage: usize,
    /// Which of the first rates it is at.
    start: usize,
    pub(super) rule: CapacityRule,
    search: Search,
    /// Trials that it was told.
    pub(super) trials: usize,
    /// Whether this process ran any of them.
    ran: bool,
    /// The outcome, once the search is over.
    result: Option<CapacityResult>,
    /// Whether the data were seen to be there.
    pub(super) prepared: bool,
}

impl<'a> Hunt<'a> {
    /// A search that has not started; `root` is the results folder of the study.
    pub(super) fn new(
        terms: &'a Terms,
        study: &'a Study,
        fingerprint: &'a str,
        root: &Path,
        (c, w): (usize, usize),
    ) -> Result<Self, LabError> {
        let (contender, workload) = (study.contenders[c].name.clone(), study.workloads[w].name.clone());
        let rule = terms.rule(terms.starts[0]);
        Ok(Self {
            terms,
            study,
            fingerprint,
            root: root.to_owned(),
            parent: root.join(CAPACITY_FOLDER).join(&contender).join(&workload),
            contender,
            workload,
            stage: c * study.workloads.len() + w,
            start: 0,
            search: search_by(&rule)?,
            rule,
            trials: 0,
            ran: false,
            result: None,
            prepared: false,
        })
    }

    /// For messages: `arm, small`.
    pub(super) fn title(&self) -> String {
        format!("{}, {}", self.contender, self.workload)
    }

    pub(super) fn folder(&self) -> PathBuf {
        self.parent.join(self.terms.folder(&self.rule, self.fingerprint))
    }

    /// The record of the search, once it is over.
    pub(super) fn found(&self) -> Option<CapacityRecord> {
        let result = self.result.clone()?;
        Some(CapacityRecord {
            schema: CAPACITY_SCHEMA,
            perbuck: env!("CARGO_PKG_VERSION").to_owned(),
            study: self.study.name.clone(),
            study_fingerprint: self.fingerprint.to_owned(),
            seed: self.study.seed,
            contender: self.contender.clone(),
            workload: self.workload.clone(),
            objective: self.terms.objective(),
            connections: self.terms.connections,
            arrivals: self.terms.arrivals,
            warmup_ns: self.terms.warmup_ns,
            duration_ns: self.terms.duration_ns,
            rule: self.rule.clone(),
            sentence: result.sentence(),
            result,
        })
    }

    /// The rate that broke the objective before this search began lower.
    pub(super) fn came_down_from(&self) -> Option<u32> {
        self.start.checked_sub(1).map(|before| self.terms.starts[before])
    }

    /// Whether that record is on disk.
    pub(super) fn written(&self) -> bool {
        !self.ran && has_file(&self.folder().join(RESULT_FILE))
    }

    pub(super) fn write(&mut self) -> Result<(), LabError> {
        let Some(found) = self.found() else { return Ok(()) };
        let text = serde_json::to_string_pretty(&found)
            .map_err(|e| LabError::failed(format!("the capacity of {} cannot be written: {e}", self.title()), ""))?;
        store::replace(&self.folder().join(RESULT_FILE), &(text + "\n"))?;
        self.ran = false;
        Ok(())
    }

    /// The trial that is wanted and not on disk; `None` when the search is over. A record of another trial is refused.
    pub(super) fn wanted(&mut self) -> Result<Option<Probe>, LabError> {
        loop {
            match self.search.next() {
                Step::Done(result) if result.capacity_per_s.is_none() && self.start + 1 < self.terms.starts.len() => {
                    self.start += 1;
                    self.rule = self.terms.rule(self.terms.starts[self.start]);
                    self.search = search_by(&self.rule)?;
                    self.trials = 0;
                }
                Step::Done(result) => {
                    self.result = Some(result);
                    return Ok(None);
                }
                Step::Probe(probe) => {
                    let path = self.path(probe);
                    if !has_file(&path) {
                        return Ok(Some(probe));
                    }
                    let record = stored::read_record(&path)?;
                    self.is_of(&record, probe, &path)?;
                    self.tell(&record, probe)?;
                }
            }
        }
    }

    pub(super) fn key(&self, probe: Probe) -> TrialKey {
        TrialKey {
            contender: self.contender.clone(),
            workload: self.workload.clone(),
            connections: self.terms.connections,
            rate_per_s: Some(probe.rate_per_s),
            deployment: None,
            trial: probe.repeat,
        }
    }

    /// How a trial is loaded. The contender is not part of the seed: all see the same work.
    pub(super) fn spec(&self, probe: Probe) -> TrialSpec {
        let Terms { warmup_ns, duration_ns, arrivals, .. } = *self.terms;
        let label = format!("capacity {} {} {}", self.workload, probe.rate_per_s, probe.repeat);
        TrialSpec {
            load: LoadModel::rate(probe.rate_per_s, arrivals, warmup_ns + duration_ns),
            phases: Vec::new(),
            warmup_ns,
            duration_ns,
            seed: self.study.seed.derive(&label),
            max_events: None,
            streams: false,
            ..trial::spec(self.study, &self.key(probe))
        }
    }

    fn path(&self, probe: Probe) -> PathBuf {
        // Contender and workload are in the path of the folder.
        let below: PathBuf = Path::new(&self.key(probe).path()).components().skip(2).collect();
        self.folder().join(below)
    }

    /// Takes a trial that was just run: writes its record and tells the search.
    pub(super) fn take(&mut self, trial: &Trial, probe: Probe) -> Result<ProbeResult, LabError> {
        store::write_once(&self.root, &self.path(probe), (&trial.record, trial.series.as_deref()))?;
        self.ran = true;
        self.tell(&trial.record, probe)
    }

    fn tell(&mut self, record: &RunRecord, probe: Probe) -> Result<ProbeResult, LabError> {
        let path = self.path(probe);
        let seen = judged(record, probe, &self.rule).map_err(|e| {
            LabError::files(format!("{}: {e}", path.display()), "remove it; the next run measures that trial again")
        })?;
        self.search
            .tell(seen)
            .map_err(|e| LabError::failed(format!("{}: {e}", path.display()), "give a longer --duration or a higher --from"))?;
        self.trials += 1;
        Ok(seen)
    }

    /// Refuses a record that stands where another one belongs.
    fn is_of(&self, record: &RunRecord, probe: Probe, path: &Path) -> Result<(), LabError> {
        let spec = self.spec(probe);
        let load = &record.load;
        let asked = (spec.warmup_ns, spec.duration_ns, Some(self.terms.arrivals));
        let same = record.key == self.key(probe)
            && record.study_fingerprint == self.fingerprint
            && record.trial_seed == spec.seed
            && (load.warmup_ns, load.duration_ns, load.arrivals) == asked;
        if same {
            return Ok(());
        }
        let message = format!("{} holds the record of another trial, {}", path.display(), record.key.path());
        Err(LabError::files(message, "rename each record to its own name, or remove it; the next run measures that trial again"))
    }
}

fn search_by(rule: &CapacityRule) -> Result<Search, LabError> {
    Search::new(rule.clone()).map_err(|message| LabError::usage(message, ""))
}

/// What a record says to a search.
///
/// Some transactions are always in flight when a window closes. Where few are offered, one of them is more than the share that may
/// be missing. Those that were due for less than the objective and less than a hundredth of the window do not count as late: of a
/// queue that grows they are a small part.
fn judged(record: &RunRecord, probe: Probe, rule: &CapacityRule) -> Result<ProbeResult, String> {
    let open = record.measured.open_loop.as_ref().ok_or("the trial was no open loop")?;
    let latency = record.latency()?;
    let kinds = record.measured.transactions.values();
    let (ended, failed) = (kinds.clone().map(TransactionRecord::completed).sum(), kinds.map(|t| t.failed).sum());
    let young_ns = rule.at_most_ns.min(record.measured.window_ns / LAST_SHARE);
    let young: u64 = open.unfinished.to_histogram()?.buckets().take_while(|(ns, _)| *ns <= young_ns).map(|(_, n)| n).sum();
    Ok(ProbeResult {
        rate_per_s: probe.rate_per_s,
        repeat: probe.repeat,
        offered: open.offered,
        completed: ended,
        young,
        response_ns: latency.percentile_ns(rule.percentile).filter(|_| ended > 0),
        failed,
        client_limited: record.flags.iter().any(|f| matches!(f, Flag::ClientLimited { .. })),
    })
}
