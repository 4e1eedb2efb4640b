//! Settings that were changed on servers and are to be restored: a file in the folder of results, written before each change.

use std::path::{Path, PathBuf};

use perbuck_core::study::is_variable_name;
use serde::{Deserialize, Serialize};

use super::variable::is_plain;
use crate::error::LabError;
use crate::folder;
use crate::inputs::Limit;
use crate::store::replace;

pub(crate) const SETTINGS_FILE: &str = "server-settings.json";

/// One variable of one server that is not as the server had it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Change {
    pub(super) contender: String,
    /// The server, as `host:port`.
    #[serde(rename = "place")]
    pub(super) endpoint: String,
    pub(super) name: String,
    /// What the server had; nothing is NULL.
    pub(super) was: Option<String>,
    /// What the study asks for.
    pub(super) wanted: String,
    /// What the server made of it; nothing until that was read.
    pub(super) became: Option<String>,
}

pub(super) struct Journal(PathBuf);

impl Change {
    /// Whether another program has set the variable since.
    pub(super) fn is_overridden(&self, now: &Option<String>) -> bool {
        *now != self.was && self.became.is_some() && *now != self.became
    }

    /// Why it cannot stand in SQL. All that perbuck writes can: names are those of a study, and values are looked at before.
    fn is_no_setting(&self) -> Option<String> {
        let Self { name, was, wanted, .. } = self;
        if !is_variable_name(name) {
            return Some(format!("`{name}` cannot be the name of a variable"));
        }
        let odd = was.iter().chain([wanted]).find(|value| !is_plain(value))?;
        Some(format!("`{odd}`, a value of {name}, holds a quote, a backslash or a control character"))
    }
}

impl Journal {
    pub(super) fn of(root: &Path) -> Self {
        Self(root.join(SETTINGS_FILE))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// The changes that a run left which did not come to its end.
    pub(super) fn read(&self) -> Result<Vec<Change>, LabError> {
        if !self.0.exists() {
            return Ok(Vec::new());
        }
        let text = folder::read_text("what was changed on servers in", &self.0, Limit::TEXT)?;
        let refused = |why: String| {
            let message = format!("{} does not say what a run has changed on servers: {why}", self.0.display());
            LabError::files(message, "put the settings of the servers back yourself, then delete that file")
        };
        let changes: Vec<Change> = serde_json::from_str(&text).map_err(|e| refused(e.to_string()))?;
        match changes.iter().find_map(Change::is_no_setting) {
            Some(why) => Err(refused(why)),
            None => Ok(changes),
        }
    }

    /// Notes what is changed now; where nothing is, there is no file.
    pub(super) fn write(&self, changes: &[Change]) -> Result<(), LabError> {
        if changes.is_empty() {
            return folder::remove(&self.0).map_err(LabError::of_file("remove", &self.0));
        }
        let text = serde_json::to_string_pretty(changes)
            .map_err(|e| LabError::failed(format!("what is changed on servers cannot be noted: {e}"), ""))?;
        replace(&self.0, &(text + "\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_nothing_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::of(folder.path());
        assert_eq!(journal.read().unwrap(), []);
        let text = |t: &str| Some(t.to_owned());
        let change = Change {
            contender: "a".into(),
            endpoint: "h:1".into(),
            name: "x".into(),
            was: text("1"),
            wanted: "OFF".into(),
            became: None,
        };
        journal.write(std::slice::from_ref(&change)).unwrap();
        assert_eq!(journal.read().unwrap(), std::slice::from_ref(&change));
        let odd = |edit: &dyn Fn(&mut Change)| {
            let mut odd = change.clone();
            edit(&mut odd);
            journal.write(&[change.clone(), odd]).unwrap();
            journal.read().unwrap_err().to_string()
        };
        assert!(odd(&|c| c.name = "x = 1, GLOBAL general_log".into()).contains("cannot be the name of a variable"));
        for value in ["1', GLOBAL general_log = '1", "a\\", "a\n"] {
            assert!(odd(&|c| c.was = text(value)).contains("holds a quote, a backslash or a control character"), "{value:?}");
            assert!(odd(&|c| c.wanted = value.into()).contains("a value of x"), "{value:?}");
        }
        journal.write(&[]).unwrap();
        journal.write(&[]).unwrap();
        assert!(!journal.path().exists());
        std::fs::write(journal.path(), "[{}]").unwrap();
        assert!(journal.read().unwrap_err().to_string().contains("delete that file"));
    }
}
