//! The runner: one load of one workload against one database, printed by the command and kept as a trial of its study.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use perbuck_core::plan::TrialKey;
use perbuck_core::run_record::RunRecord;
use perbuck_core::units::Seed;
use perbuck_database::registry::AnyTarget;
use perbuck_database::secret::Secret;
use perbuck_lab::error::{ErrorKind, LabError};
use perbuck_lab::fleet::FleetOptions;
use perbuck_lab::registry::Registry;
use perbuck_lab::stage::{Stage, data_seed};
use perbuck_lab::trial::{Context, Details, Failure, Task, run_watched};
use perbuck_lab::{lease, process};
use perbuck_load::error::{Cause, DriverError};
use perbuck_load::listed::Listed;
use perbuck_load::observer::{Observer, SecondSeen};
use perbuck_load::stop::StopToken;
use perbuck_load::trial::RunError;

use crate::advice::Advice;
use crate::output::{Standard, Streams, heard};
use crate::study::{Member, Series};
use crate::target::{contender_name, identity, with_timeout};
use crate::{keep, notes};

/// A drop-in command: what it calls itself and how it words errors.
#[derive(Debug)]
pub(crate) struct DropIn {
    /// Its word after `perbuck`, which is also the kind of workload.
    pub(crate) word: &'static str,
    /// The variable that holds its password.
    pub(crate) variable: &'static str,
    /// The way out of errors of a server.
    pub(crate) advice: Advice,
    /// That no connection can be opened, in the words of the other program.
    pub(crate) unreachable: fn(&AnyTarget, &DriverError) -> String,
    /// Whether an answer to a connection of a run is told in those words.
    pub(crate) connects: fn(&DriverError) -> bool,
    /// That an answer ended the run, and the way out of answers that nothing is known of.
    pub(crate) ended: (fn(&DriverError) -> String, &'static str),
}

/// Where the records of a command go.
#[derive(Debug, Clone)]
pub(crate) struct Records {
    /// Folder of all records; `None` keeps none.
    pub(crate) folder: Option<PathBuf>,
    /// Whether the user named it.
    pub(crate) asked: bool,
    /// The name of the database in them.
    pub(crate) contender: Option<String>,
}

impl Records {
    /// Those of a command with this word: in the folder that was asked for, else in `perbuck/WORD` of the user's state folder, since the
    /// programs that the commands replace write nothing where they are called.
    pub(crate) fn new(word: &str, asked: Option<&str>, keeps: bool, contender: Option<&str>) -> Self {
        let folder = || asked.map_or_else(|| state_folder(|name| env::var_os(name)).join("perbuck").join(word), PathBuf::from);
        let contender = contender.filter(|name| !name.is_empty()).map(str::to_owned);
        Self { folder: keeps.then(folder), asked: asked.is_some(), contender }
    }
}

/// Where programs keep what they want to remember of a user, by the XDG base directory specification 0.8: a relative path does not
/// count. A user without a folder has `results` in the folder of the call.
fn state_folder(variable: impl Fn(&str) -> Option<OsString>) -> PathBuf {
    let absolute = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let of_user = || absolute("HOME").map(|folder| folder.join(".local/state"));
    absolute("XDG_STATE_HOME").or_else(of_user).unwrap_or_else(|| PathBuf::from("results"))
}

/// A command line, checked: what is run, how, and against what.
pub(crate) struct Run<'a> {
    pub(crate) command: &'static DropIn,
    /// The workload and its load.
    pub(crate) series: &'a Series,
    pub(crate) target: &'a AnyTarget,
    pub(crate) password: &'a Secret,
    pub(crate) records: &'a Records,
    /// Who applies the load in place of this process.
    pub(crate) agents: Option<FleetOptions>,
}

/// What a command prints of a run.
pub(crate) trait Printer {
    /// Whether it looks at seconds by kind of transaction.
    fn by_kind(&self) -> bool {
        false
    }

    /// Whether it looks at each transaction.
    fn lists(&self) -> bool {
        false
    }

    /// Load is sent so long from now.
    fn opens_in(&mut self, _from_now: Duration) {}

    /// Transactions that ended, in their order at one load thread.
    fn listed(&mut self, _all: &[Listed]) -> Result<(), LabError> {
        Ok(())
    }

    /// Connections are open, and load is sent.
    fn starts(&mut self, _out: &mut dyn Streams) -> Result<(), LabError> {
        Ok(())
    }

    /// A second is over, of the measured window or before it.
    fn second(&mut self, seen: &SecondSeen<'_>, out: &mut dyn Streams) -> Result<(), LabError>;

    /// The run is over; `record` is the path of what was kept of it.
    fn end(&self, ended: &Ended, record: Option<&str>, out: &mut dyn Streams) -> Result<(), LabError>;
}

pub(crate) struct Ended {
    /// Its record, whose number in a study is not known yet.
    pub(crate) record: RunRecord,
    /// What the record does not hold.
    pub(crate) details: Details,
    /// How long it took, warm-up included.
    pub(crate) took: Duration,
    /// Whether the user ended it before its time.
    pub(crate) early: bool,
}

impl Run<'_> {
    /// The database under the name that was asked for, or else one made of its address.
    pub(crate) fn member(&self) -> Member {
        let name = self.records.contender.clone().unwrap_or_else(|| contender_name(self.target));
        Member { name, address: identity(self.target) }
    }

    /// Finds out whether a record could be kept under the name that was asked for; one made of an address never collides.
    pub(crate) fn check_name(&self) -> Result<(), LabError> {
        match (&self.records.folder, &self.records.contender) {
            (Some(folder), Some(_)) => keep::check(folder, self.series, &self.member()),
            _ => Ok(()),
        }
    }

    /// The database joined with the workload; an answer may take so many seconds, `None` is the longest possible.
    pub(crate) fn stage(&self, timeout_s: Option<u64>, stop: &StopToken) -> Result<Stage, LabError> {
        self.stage_on(&with_timeout(self.target, timeout_s), stop)
    }

    /// The workload with a simulated database.
    pub(crate) fn rehearsal(&self, stop: &StopToken) -> Result<Stage, LabError> {
        let study = self.series.study(&[self.member()], 1);
        Registry::default().rehearsal(&study, &study.workloads[0], &self.series.workload.plan, self.target, stop)
    }

    /// The same on another target.
    pub(crate) fn stage_on(&self, target: &AnyTarget, stop: &StopToken) -> Result<Stage, LabError> {
        let study = self.series.study(&[self.member()], 1);
        Registry::default().stage(
            &study,
            study.baseline(),
            &study.workloads[0],
            &self.series.workload.plan,
            (target, self.password),
            stop,
        )
    }

    /// The target of a run: an answer may take as long as the run.
    pub(crate) fn patient_target(&self) -> AnyTarget {
        with_timeout(self.target, self.series.load.longest_s())
    }

    /// The seed of the data that the workload makes.
    pub(crate) fn data_seed(&self) -> Seed {
        let study = self.series.study(&[self.member()], 1);
        data_seed(&study, &study.workloads[0])
    }

    /// Finds out whether the server lets us in, and whether a study uses the database. Like the programs that they replace, several of
    /// these commands may use one at the same time, so they take no lease themselves.
    pub(crate) fn reach(&self, stage: &Stage, stop: &StopToken) -> Result<(), LabError> {
        stage.server.reach().map_err(|answer| self.unreachable(&answer))?;
        lease::no_study_runs(stage, stop, &mut |line| Standard.say(&format!("perbuck: {line}")))
    }

    /// Notes that the data are no longer as `perbuck run` loaded them.
    pub(crate) fn note_use(&self, stage: &Stage) -> Result<(), LabError> {
        notes::used(stage, self.command.word, &format!("perbuck {}", self.command.word))
    }

    pub(crate) fn drive(
        &self,
        stage: &Stage,
        printer: &mut dyn Printer,
        out: &mut dyn Streams,
        stop: &StopToken,
    ) -> Result<Ended, LabError> {
        let (load, plan) = (&self.series.load, &self.series.workload.plan);
        let fleet = self.fleet(stop)?;
        let study = self.series.study(&[self.member()], 1);
        if fleet.is_none() {
            let connections = load.connections.saturating_add(study.workloads[0].beside());
            process::enough_descriptors(&[Some(self.target.clone())], connections, load.workers)?;
        }
        let (host, fingerprint) = (perbuck_observe::host(), study.fingerprint());
        let key = TrialKey {
            contender: study.baseline().name.clone(),
            workload: self.series.workload.name.clone(),
            connections: load.connections,
            rate_per_s: load.rate,
            deployment: None,
            trial: 1,
        };
        let task = Task {
            key: &key,
            spec: load.spec(),
            position: 0,
            stage,
            parameters: plan.parameters(),
            metric: (plan.kind.metric)(&plan.parameters()).clone(),
            data: "foreign",
            // Counting the rows of a large table takes minutes, which the other programs do not ask for.
            rows_before: None,
            data_size: None,
            prewarm: None,
            cold: None,
        };
        let context = Context { study: &study, fingerprint: &fingerprint, host: &host, fleet: fleet.as_ref(), deployment: None };
        let (mut live, began) = (Live { printer, out, shown: Ok(()), stop: stop.clone() }, Instant::now());
        let ran = run_watched(&context, task, stop, &mut live);
        let took = began.elapsed();
        let (mut record, details) = match ran {
            Ok(ran) => ran,
            Err(Failure::Run(error)) => {
                if error == RunError::Interrupted {
                    // A reader that is gone may be why.
                    live.shown?;
                }
                return Err(self.explained(stage, &error));
            }
            Err(Failure::Other(error)) => return Err(error),
        };
        live.shown?;
        // As typed, without the limits of this run.
        record.target.address = identity(self.target);
        if load.window_ns.is_none() {
            // A number of transactions was asked for, or no end at all; this is how long it took.
            record.load.duration_ns = record.measured.window_ns;
        }
        let early = stop.requested() && (load.window_ns.is_some() || load.events.is_some());
        Ok(Ended { record, details, took, early })
    }

    /// Keeps the record where `keeps` says so, and prints the numbers. A record that cannot be kept is an error where the user
    /// named its folder.
    pub(crate) fn finish(
        &self,
        ended: &Ended,
        keeps: bool,
        printer: &dyn Printer,
        out: &mut dyn Streams,
    ) -> Result<(), LabError> {
        let folder = self.records.folder.as_deref().filter(|_| keeps);
        let kept = folder.map(|folder| {
            let (asked, made) = (self.records.contender.as_deref(), contender_name(self.target));
            keep::keep(folder, self.series, asked, &made, (ended.record.clone(), ended.details.series.as_deref()))
        });
        let path = kept.as_ref().and_then(|kept| kept.as_ref().ok()).map(String::as_str);
        printer.end(ended, path, out)?;
        match kept {
            Some(Ok(path)) => out.say(&format!("record: {path}")),
            // The numbers are printed, and only their record is missing. Whoever asked for the folder must know by the exit
            // code; a script of the other program that runs where nothing can be written goes on.
            Some(Err(error)) if self.records.asked => return Err(error),
            Some(Err(error)) => {
                let way_out = "--results names another folder, --no-record keeps none";
                out.say(&format!("perbuck: no record of this run was kept: {error}\n    {way_out}"));
            }
            None => {}
        }
        Ok(())
    }

    /// That the server does not answer, or does not let us in.
    pub(crate) fn unreachable(&self, answer: &DriverError) -> LabError {
        if answer.cause == Some(Cause::Stopped) {
            return interrupted();
        }
        let message = (self.command.unreachable)(self.target, answer);
        LabError::new(ErrorKind::Target, message, self.command.advice.of(answer))
    }

    /// What ended a run, in the words of the command.
    pub(crate) fn explained(&self, stage: &Stage, error: &RunError) -> LabError {
        let DropIn { advice, connects, ended: (ended, otherwise), .. } = self.command;
        match error {
            RunError::Connect(answer) if connects(answer) => self.unreachable(answer),
            RunError::Connect(answer) | RunError::Fatal(answer) => {
                let help = Some(advice.of(answer)).filter(|help| !help.is_empty()).unwrap_or(otherwise);
                LabError::new(ErrorKind::Failed, ended(answer), help)
            }
            RunError::Interrupted => interrupted(),
            RunError::Machine(_) | RunError::WorkerDied(_) | RunError::Agent(_) | RunError::AgentLost(_) => {
                LabError::trial(&stage.title, error)
            }
        }
    }
}

fn interrupted() -> LabError {
    LabError::new(ErrorKind::Interrupted, "interrupted; nothing of this run is kept", "")
}

/// A printer that looks on, and stops a run when the reader of what it prints is gone.
pub(crate) struct Live<'a> {
    pub(crate) printer: &'a mut dyn Printer,
    pub(crate) out: &'a mut dyn Streams,
    /// The first failure to print.
    pub(crate) shown: Result<(), LabError>,
    pub(crate) stop: StopToken,
}

impl Live<'_> {
    fn show(&mut self, show: impl FnOnce(&mut dyn Printer, &mut dyn Streams) -> Result<(), LabError>) {
        if self.shown.is_ok() {
            self.shown = show(self.printer, self.out).and_then(|()| heard());
            if self.shown.is_err() {
                self.stop.request();
            }
        }
    }
}

impl Observer for Live<'_> {
    fn by_kind(&self) -> bool {
        self.printer.by_kind()
    }

    fn lists(&self) -> bool {
        self.printer.lists()
    }

    fn listed(&mut self, all: &[Listed]) {
        self.show(|printer, _| printer.listed(all));
    }

    fn starts(&mut self, opens_in: Duration) {
        self.printer.opens_in(opens_in);
    }

    fn opens(&mut self) {
        self.show(|printer, out| printer.starts(out));
    }

    fn second(&mut self, seen: &SecondSeen<'_>) {
        self.show(|printer, out| printer.second(seen, out));
    }
}

/// A histogram that perbuck wrote a moment ago and cannot read.
pub(crate) fn defect(message: String) -> LabError {
    LabError::new(ErrorKind::Failed, message, "this is a defect of perbuck; please report it")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_go_to_the_state_folder_of_the_user() {
        let of = |pairs: &'static [(&str, &str)]| {
            state_folder(|name| pairs.iter().find(|pair| pair.0 == name).map(|pair| OsString::from(pair.1)))
        };
        assert_eq!(of(&[("XDG_STATE_HOME", "/s"), ("HOME", "/h")]), PathBuf::from("/s"));
        assert_eq!(of(&[("XDG_STATE_HOME", "s"), ("HOME", "/h")]), PathBuf::from("/h/.local/state"));
        assert_eq!(of(&[("XDG_STATE_HOME", ""), ("HOME", "/h")]), PathBuf::from("/h/.local/state"));
        assert_eq!(of(&[]), PathBuf::from("results"));
        assert_eq!(Records::new("tpcc", Some("x"), true, Some("")).folder, Some(PathBuf::from("x")));
        assert_eq!(Records::new("tpcc", None, false, None).folder, None);
    }
}
