//! What of a machine spoils a measurement, for a user who asks; and what of it perbuck mends where the user wants that.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use perbuck_load::stop::StopToken;
use perbuck_observe::Tree;
use perbuck_observe::doctor::{Finding, Mend, examine};
use perbuck_observe::setting::Setting;
use serde::{Deserialize, Serialize};

use crate::error::{ErrorKind, LabError};
use crate::folder::sync;
use crate::servers::Machine;

/// What was seen of a machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Seen {
    found: Vec<Finding>,
    /// The values that the files have which would be set, by their paths. One that cannot be read has none.
    was: BTreeMap<String, String>,
}

impl Seen {
    pub(crate) fn now() -> Self {
        let tree = Tree::running();
        let found = examine(&tree);
        let was = found.iter().flat_map(Finding::settings).filter_map(|s| Some((s.path.clone(), s.current(&tree)?))).collect();
        Self { found, was }
    }
}

/// Sets files of this machine; for each whether it could be.
pub(crate) fn put(settings: &[Setting]) -> Vec<Result<(), String>> {
    settings.iter().map(|setting| setting.put(Path::new("/"))).collect()
}

/// A machine that was examined.
pub struct Doctor {
    machine: Machine,
    seen: Seen,
}

impl Doctor {
    /// Examines this machine, or the one that `host` names (`ssh://user@name:port`).
    ///
    /// # Errors
    /// A host that cannot be used.
    pub fn of(host: Option<&str>, stop: &StopToken) -> Result<Self, LabError> {
        let machine = Machine::open(host, stop)?;
        let seen = machine.seen()?;
        Ok(Self { machine, seen })
    }

    /// All that spoils a measurement on it, what costs most first.
    pub fn found(&self) -> &[Finding] {
        &self.seen.found
    }

    /// Mends what it can, after the script that restores all of it was written to a new file; says what was done.
    ///
    /// # Errors
    /// A file that cannot be made, and files of the machine that cannot be set: the others are.
    pub fn apply(&self, undo: &Path) -> Result<String, LabError> {
        let (mut settings, mut unread) = (Vec::new(), Vec::new());
        for setting in self.seen.found.iter().flat_map(Finding::settings) {
            match self.seen.was.get(&setting.path) {
                Some(was) => settings.push((setting.clone(), was.clone())),
                None => unread.push(format!("/{} cannot be read, so it could not be restored", setting.path)),
            }
        }
        let written = write_new(undo, &script(&self.machine.name(), &settings));
        written.map_err(|error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => {
                let help = "give another name: a script may be all that knows what a machine had";
                LabError::usage(format!("{} is there already", undo.display()), help)
            }
            _ => LabError::of_file("make", undo)(error),
        })?;
        let wanted: Vec<Setting> = settings.iter().map(|(setting, _)| setting.clone()).collect();
        let done = self.machine.put(&wanted)?;
        let mut said = format!("{} restores what is set here\n", undo.display());
        let mut failed = unread;
        for ((setting, was), done) in settings.iter().zip(done) {
            match done {
                Ok(()) => _ = writeln!(said, "/{} = {} (it was {was})", setting.path, setting.value),
                Err(why) => failed.push(why),
            }
        }
        for mend in self.seen.found.iter().flat_map(|finding| &finding.mends) {
            if let Mend::Run(words) = mend {
                _ = writeln!(said, "left to you: {words}");
            }
        }
        if failed.is_empty() {
            return Ok(said);
        }
        let help = format!("be root there; `sh {}` restores the others", undo.display());
        Err(LabError::new(ErrorKind::Failed, format!("not all of it could be set:\n{}\n{said}", failed.join("\n")), help))
    }
}

/// Writes a file that was not there, to the disk.
fn write_new(path: &Path, text: &str) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o755).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    sync(path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new(".")));
    Ok(())
}

/// The script that restores what these files had, the last first.
fn script(machine: &str, settings: &[(Setting, String)]) -> String {
    let mut text = format!("#!/bin/sh\n# Restores what `perbuck doctor --apply` set on {machine}. Run it there as root.\n");
    for (setting, was) in settings.iter().rev() {
        _ = writeln!(text, "echo {} > /{}", quoted(was), setting.path);
    }
    text
}

/// Findings as lines of a terminal, each with the commands that mend it.
pub fn lines(found: &[Finding]) -> String {
    if found.is_empty() {
        return "nothing was found that spoils a measurement\n".to_owned();
    }
    found.iter().map(of_finding).collect::<Vec<_>>().join("\n")
}

fn of_finding(finding: &Finding) -> String {
    let mends: String = finding.mends.iter().map(|mend| format!("    {}\n", command(mend))).collect();
    format!("{}: {}\n  {}\n{mends}", finding.about, finding.seen, finding.costs)
}

/// What a user gives as root.
fn command(mend: &Mend) -> String {
    match mend {
        Mend::Set(setting) => format!("echo {} > /{}", quoted(&setting.value), setting.path),
        Mend::Run(command) => command.clone(),
    }
}

/// A value as one word of a shell.
fn quoted(value: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_,.:".contains(c);
    if value.chars().all(is_plain) { value.to_owned() } else { format!("'{}'", value.replace('\'', "'\\''")) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by it")]
mod tests {
    use super::*;

    #[test]
    fn the_sample_of_the_page_is_what_is_printed() {
        let found = examine(&Tree::unpacked(include_str!("../../observe/tests/data/machines/a1-16.txt")));
        let page = include_str!("../../../docs/commands/doctor.md");
        let sample = page.split("```").nth(1).unwrap();
        assert_eq!(sample.split_once("$ perbuck doctor\n").unwrap().1, lines(&found), "{}", lines(&found));
    }

    fn setting(path: &str, value: &str) -> Setting {
        Setting { path: path.into(), value: value.into() }
    }

    #[test]
    fn values_with_spaces_are_one_word() {
        let set = |value: &str| Mend::Set(setting("proc/x", value));
        assert_eq!(command(&set("1 2")), "echo '1 2' > /proc/x");
        assert_eq!(command(&set("fe")), "echo fe > /proc/x");
        assert_eq!(lines(&[]), "nothing was found that spoils a measurement\n");
    }

    #[test]
    fn the_script_puts_back_the_last_first_and_no_value_leaves_its_word() {
        let settings = [(setting("proc/a", "1"), "60".to_owned()), (setting("proc/b", "x"), "$(reboot)'".to_owned())];
        let text = script("this machine", &settings);
        let commands: Vec<&str> = text.lines().skip(2).collect();
        assert_eq!(commands, ["echo '$(reboot)'\\''' > /proc/b", "echo 60 > /proc/a"]);
    }
}
