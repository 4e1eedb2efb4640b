//! The time that the runs of a study use: lines of a file beside its records, which a run that is killed leaves as they are.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use perbuck_core::compare::{DataLoad, Spent, Stretch, Work, driven, spent};
use perbuck_core::study::Study;

use crate::error::LabError;
use crate::folder::{self, has_file};
use crate::inputs::{Inputs, Limit};

/// Its name in the results folder.
pub(crate) const USED_FILE: &str = "used.jsonl";

/// What is over sooner counts with what follows it.
const SHORTEST: Duration = Duration::from_millis(100);

/// The text of the file; `None` where no run wrote one.
pub(crate) fn text(root: &Path) -> Result<Option<String>, LabError> {
    let path = root.join(USED_FILE);
    has_file(&path).then(|| folder::read_text("the used time", &path, Limit::RECORD)).transpose()
}

/// What a study used by a text of that file, which lies in these results.
pub(crate) fn of(text: &str, results: &str, inputs: &Inputs) -> Result<Option<Spent>, LabError> {
    let stretches = Stretch::lines(text).map_err(|why| {
        let help = "remove that line; the time that it stood for is then not counted";
        LabError::files(format!("{USED_FILE} of {results}: {why}"), help)
    })?;
    Ok(spent(&inputs.study, &inputs.bills, &stretches))
}

/// Notes how long a run takes, and what it does.
pub(crate) struct Meter {
    path: PathBuf,
    file: File,
    work: Work,
    /// When that began.
    since: Instant,
    up: Vec<String>,
}

impl Meter {
    /// Goes on with the file of a results folder; the run began at that time.
    pub(crate) fn start(root: &Path, study: &Study, since: Instant) -> Result<Self, LabError> {
        // A run that was killed may have left a part of a line.
        let whole = text(root)?.map_or(0, |text| text.rfind('\n').map_or(0, |end| end + 1));
        let path = root.join(USED_FILE);
        let opened = folder::open_to_write(&path).and_then(|mut file| {
            file.set_len(whole as u64)?;
            file.seek(SeekFrom::End(0))?;
            Ok(file)
        });
        let file = opened.map_err(LabError::of_file("write", &path))?;
        Ok(Self { path, file, work: Work::Servers, since, up: driven(study) })
    }

    /// What runs before this one used; `None` of the first.
    pub(crate) fn so_far(&self, inputs: &Inputs) -> Result<Option<Spent>, LabError> {
        let folder = self.path.parent().unwrap_or(&self.path);
        of(&text(folder)?.unwrap_or_default(), &folder.display().to_string(), inputs)
    }

    /// From now on the contenders of this study alone are up.
    pub(crate) fn now_up(&mut self, study: &Study) -> Result<(), LabError> {
        self.note()?;
        (self.work, self.up) = (Work::Servers, driven(study));
        Ok(())
    }

    /// From now on the run does this.
    pub(crate) fn now(&mut self, work: Work) -> Result<(), LabError> {
        if work != self.work {
            if self.since.elapsed() >= SHORTEST {
                self.note()?;
            }
            self.work = work;
        }
        Ok(())
    }

    /// Notes the time until now.
    pub(crate) fn note(&mut self) -> Result<(), LabError> {
        self.note_load(None)
    }

    /// The same of a load.
    pub(crate) fn note_load(&mut self, load: Option<DataLoad>) -> Result<(), LabError> {
        let took_ms = self.since.elapsed().as_millis() as u64;
        if took_ms == 0 {
            return Ok(());
        }
        let ended_unix_ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as u64);
        let stretch = Stretch { ended_unix_ms, took_ms, work: self.work, up: self.up.clone(), load };
        let line = serde_json::to_string(&stretch).map_err(|e| LabError::failed(format!("the used time is no text: {e}"), ""))?;
        // In one write, so that a reader sees whole lines.
        self.file.write_all((line + "\n").as_bytes()).map_err(LabError::of_file("write", &self.path))?;
        self.since += Duration::from_millis(took_ms);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn study() -> Study {
        let text = "schema = 1\nname = \"s\"\n[[contender]]\nname = \"a\"\ntarget = \"sqlite:a.db\"\n[[contender]]\nname = \"b\"\n\
            [[workload]]\nname = \"w\"\nkind = \"k\"\n[sweep]\nconnections = [1]\n";
        Study::read("s.toml", text, &[]).unwrap()
    }

    #[test]
    fn a_run_adds_to_what_earlier_ones_used_and_takes_away_a_part_of_a_line() {
        let (folder, began) = (tempfile::tempdir().unwrap(), Instant::now().checked_sub(Duration::from_secs(10)).unwrap());
        let root = folder.path();
        assert_eq!(text(root).unwrap(), None);
        let mut meter = Meter::start(root, &study(), began).unwrap();
        meter.now(Work::Loads).unwrap();
        meter.now(Work::Trials).unwrap();
        meter.note().unwrap();
        drop(meter);
        std::fs::write(root.join(USED_FILE), text(root).unwrap().unwrap() + "{\"ended_unix_ms\":1,\"took").unwrap();
        let mut meter = Meter::start(root, &study(), began).unwrap();
        meter.now_up(&study()).unwrap();
        let found = Stretch::lines(&text(root).unwrap().unwrap()).unwrap();
        assert!(found.iter().all(|s| s.up == ["a"]), "{found:?}");
        let of_servers: Vec<&Stretch> = found.iter().filter(|s| s.work == Work::Servers).collect();
        assert!(of_servers.len() == 2 && of_servers.iter().all(|s| s.took_ms >= 10_000), "{found:?}");
    }
}
