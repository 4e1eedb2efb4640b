//! Settings of a machine that hold while trials run, and that are restored: by the guard of the server, on its machine.
//!
//! What they were is written down in the folder of the server before the first one is set. Whoever removes the folder restores them:
//! the guard at its end, or the next command, where the guard was killed.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use perbuck_core::run_record::TunedSetting;
use perbuck_core::study::Tuning;
use perbuck_observe::Tree;
use perbuck_observe::doctor::{Steered, steering};
use perbuck_observe::setting::{Setting, is_same};

use crate::error::{ErrorKind, LabError};
use crate::folder::sync;
use crate::stage::Stage;

/// The file in the folder of a server that says what its machine had before.
const JOURNAL: &str = "tuning.json";

/// The settings of this machine that a study asks for.
///
/// # Errors
/// What the machine does not have.
fn wanted(tuning: &Tuning, tree: &Tree) -> Result<Vec<Setting>, String> {
    let asked = [
        (tuning.spread_packets, Steered::Packets),
        (tuning.steer_flows, Steered::Flows),
        (tuning.divide_senders, Steered::Senders),
    ];
    let mut all = Vec::new();
    for (_, what) in asked.into_iter().filter(|(is_asked, _)| *is_asked) {
        all.extend(steering(tree, what)?);
    }
    for (path, value) in &tuning.settings {
        all.extend(Setting::all(path, value, tree)?);
    }
    Ok(all)
}

/// Sets what a study asks for on this machine; `folder` is that of the server. Nothing stays set where one of them cannot be.
///
/// # Errors
/// Why, in words.
pub(crate) fn apply(tuning: &Tuning, folder: &Path, root: &Path) -> Result<Vec<TunedSetting>, String> {
    // What an earlier trial left, if its end was not seen.
    undo(folder, root)?;
    let tree = Tree::Folder(root.to_owned());
    let settings = wanted(tuning, &tree)?;
    let before = |setting: &Setting| {
        let path = format!("/{}", setting.path);
        let was = setting.current(&tree).ok_or_else(|| format!("{path} cannot be read"))?;
        Ok(TunedSetting { path, value: setting.value.clone(), was })
    };
    let all: Vec<TunedSetting> = settings.iter().map(before).collect::<Result<_, String>>()?;
    note(folder, &all).map_err(|e| format!("what the machine had cannot be noted in {}: {e}", folder.display()))?;
    for setting in &settings {
        if let Err(why) = setting.put(root) {
            let put_back = undo(folder, root).map_or_else(|left| format!("; and {left}"), |_| String::new());
            return Err(why + &put_back);
        }
    }
    Ok(all)
}

fn note(folder: &Path, all: &[TunedSetting]) -> io::Result<()> {
    let path = folder.join(JOURNAL);
    fs::write(&path, serde_json::to_string(all)?)?;
    File::open(&path)?.sync_all()?;
    sync(folder);
    Ok(())
}

/// Restores what was set, the last first; says which settings another program had changed meanwhile.
///
/// # Errors
/// What could not be restored; it stays noted.
pub(crate) fn undo(folder: &Path, root: &Path) -> Result<Vec<String>, String> {
    let path = folder.join(JOURNAL);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(format!("{} cannot be read: {e}", path.display())),
    };
    // A note that was cut off while it was written was of nothing that had been set.
    let all: Vec<TunedSetting> = serde_json::from_str(&text).unwrap_or_default();
    let (tree, mut changed, mut failed) = (Tree::Folder(root.to_owned()), Vec::new(), Vec::new());
    for one in all.iter().rev() {
        let setting = Setting { path: one.path.trim_start_matches('/').to_owned(), value: one.was.clone() };
        let now = setting.current(&tree).unwrap_or_default();
        if !is_same(&now, &one.value) && !is_same(&now, &one.was) {
            changed.push(format!("{} is {now}", one.path));
        }
        failed.extend(setting.put(root).err());
    }
    if !failed.is_empty() {
        return Err(format!("settings of the machine are not restored: {}", failed.join("; ")));
    }
    fs::remove_file(&path).map_err(|e| format!("{} cannot be removed: {e}", path.display()))?;
    Ok(changed)
}

/// The settings that hold for one trial; dropped, they end.
pub(crate) struct Tuned<'a> {
    stage: &'a Stage,
    settings: Vec<TunedSetting>,
    holds: bool,
}

impl<'a> Tuned<'a> {
    /// Has the machine of a stage's server set as the study asks; of a study that asks for nothing it does nothing.
    pub(crate) fn hold(stage: &'a Stage) -> Result<Self, LabError> {
        let settings = match (&stage.tuning, &stage.holder) {
            (Some(tuning), Some(holder)) => holder.tune(tuning).map_err(|why| refused(&stage.title, tuning, &why))?,
            _ => return Ok(Self { stage, settings: Vec::new(), holds: false }),
        };
        Ok(Self { stage, settings, holds: true })
    }

    /// Has it restored; what was set in the trial.
    ///
    /// # Errors
    /// What could not be restored, and a setting that another program changed during the trial.
    pub(crate) fn end(mut self) -> Result<Vec<TunedSetting>, LabError> {
        let (title, settings) = (&self.stage.title, std::mem::take(&mut self.settings));
        if !std::mem::take(&mut self.holds) {
            return Ok(settings);
        }
        let Some(holder) = &self.stage.holder else { return Ok(settings) };
        let changed = holder.untune().map_err(|why| LabError::new(ErrorKind::Target, format!("{title}: {why}"), BY_HAND))?;
        if changed.is_empty() {
            return Ok(settings);
        }
        let message = format!(
            "{title}: the settings of its machine did not hold: {} at the end of the trial, which was discarded",
            changed.join(", ")
        );
        Err(LabError::failed(message, "another program sets them, such as irqbalance or tuned; stop it"))
    }
}

const BY_HAND: &str = "restore it by hand; the message says the value";

impl Drop for Tuned<'_> {
    fn drop(&mut self) {
        if let (true, Some(holder)) = (self.holds, &self.stage.holder) {
            // A trial that failed has its own words, and the guard restores at its end what is left.
            let _ = holder.untune();
        }
    }
}

/// What is changed on the machine of a server, and that it does not stay so.
pub(crate) fn announcement(who: &str, tuned: &[TunedSetting]) -> String {
    let all: Vec<String> = tuned.iter().map(|one| format!("{} = {}, it was {}", one.path, one.value, one.was)).collect();
    format!("{who}: in each of its trials its machine has {}; restored after each", all.join("; "))
}

/// That a machine cannot be set as a study asks.
pub(crate) fn refused(who: &str, tuning: &Tuning, why: &str) -> LabError {
    let help =
        "perbuck must be root on that machine, and the machine must have what `tuning` names; `perbuck doctor` says what it has";
    LabError::new(ErrorKind::Target, format!("{who}: line {}: `tuning` cannot hold: {why}", tuning.line), help)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by it")]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// A root with two files, and a folder of a server.
    struct Made(tempfile::TempDir);

    impl Made {
        fn new() -> Self {
            let made = Self(tempfile::tempdir().unwrap());
            fs::create_dir_all(made.root().join("proc/sys/vm")).unwrap();
            fs::create_dir(made.folder()).unwrap();
            fs::write(made.file("swappiness"), "60").unwrap();
            fs::write(made.file("ratio"), "20").unwrap();
            made
        }

        fn root(&self) -> &Path {
            self.0.path()
        }

        fn folder(&self) -> std::path::PathBuf {
            self.root().join("server")
        }

        fn file(&self, name: &str) -> std::path::PathBuf {
            self.root().join("proc/sys/vm").join(name)
        }

        fn values(&self) -> [String; 2] {
            ["swappiness", "ratio"].map(|name| fs::read_to_string(self.file(name)).unwrap())
        }
    }

    fn tuning(settings: &[(&str, &str)]) -> Tuning {
        let one = |(name, value): &(&str, &str)| (format!("/proc/sys/vm/{name}"), (*value).to_owned());
        Tuning { settings: settings.iter().map(one).collect::<BTreeMap<_, _>>(), ..Tuning::default() }
    }

    #[test]
    fn what_is_set_is_put_back_also_by_another_process() {
        let made = Made::new();
        let both = tuning(&[("swappiness", "10"), ("ratio", "90")]);
        let told = apply(&both, &made.folder(), made.root()).unwrap();
        assert_eq!(made.values(), ["10", "90"]);
        let was: Vec<(&str, &str)> = told.iter().map(|one| (one.path.as_str(), one.was.as_str())).collect();
        assert_eq!(was, [("/proc/sys/vm/ratio", "20"), ("/proc/sys/vm/swappiness", "60")]);
        // Nothing but the folder is needed for it.
        assert_eq!(undo(&made.folder(), made.root()), Ok(vec![]));
        assert_eq!((made.values(), undo(&made.folder(), made.root())), (["60", "20"].map(str::to_owned), Ok(vec![])));
    }

    #[test]
    fn nothing_stays_set_where_one_cannot_be() {
        let made = Made::new();
        let why = apply(&tuning(&[("none", "1"), ("ratio", "90")]), &made.folder(), made.root()).unwrap_err();
        assert!(why.contains("this machine has no /proc/sys/vm/none"), "{why}");
        // A file that keeps the rest of its old text: it is not as it was set.
        fs::write(made.file("swappiness"), "100").unwrap();
        let why = apply(&tuning(&[("ratio", "90"), ("swappiness", "10")]), &made.folder(), made.root()).unwrap_err();
        assert!(why.starts_with("/proc/sys/vm/swappiness is 100 after it was set to 10"), "{why}");
        assert_eq!(made.values(), ["100", "20"]);
    }

    #[test]
    fn a_setting_that_another_program_changed_is_told() {
        let made = Made::new();
        apply(&tuning(&[("swappiness", "10")]), &made.folder(), made.root()).unwrap();
        fs::write(made.file("swappiness"), "33").unwrap();
        assert_eq!(undo(&made.folder(), made.root()), Ok(vec!["/proc/sys/vm/swappiness is 33".to_owned()]));
        assert_eq!(made.values()[0], "60");
    }
}
