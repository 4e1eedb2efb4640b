//! Files of the kernel below `/proc/sys`, `/proc/irq` and `/sys` that hold a setting: read, and set.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use perbuck_core::study::no_setting;
use serde::{Deserialize, Serialize};

use crate::steering::cpus_of;
use crate::tree::Tree;

/// A file and its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// Its path, without `/` at the start.
    pub path: String,
    /// The value.
    pub value: String,
}

impl Setting {
    /// The files of a machine that a path with `*` in place of names stands for, each with this value.
    ///
    /// # Errors
    /// A path or a value that is none, and a path that no file has.
    pub fn all(path: &str, value: &str, tree: &Tree) -> Result<Vec<Self>, String> {
        no_setting(path, value).map_or(Ok(()), Err)?;
        let mut found = vec![String::new()];
        for part in path.trim_start_matches('/').split('/') {
            let within = |folder: String| {
                let names = if part == "*" { tree.names(&folder) } else { vec![part.to_owned()] };
                names.into_iter().map(move |name| if folder.is_empty() { name } else { format!("{folder}/{name}") })
            };
            found = found.into_iter().flat_map(within).collect();
        }
        found.retain(|path| tree.text(path).is_some());
        if found.is_empty() {
            return Err(format!("this machine has no {path}"));
        }
        Ok(found.into_iter().map(|path| Self { path, value: value.to_owned() }).collect())
    }

    /// The value that the file has, as it can be written back; `None` where it cannot be read, or is empty.
    pub fn current(&self, tree: &Tree) -> Option<String> {
        tree.chosen(&self.path).or_else(|| tree.line(&self.path))
    }

    /// Sets the file below a root, and reads it back.
    ///
    /// # Errors
    /// Why it cannot be set, or what the system makes of it.
    pub fn put(&self, root: &Path) -> Result<(), String> {
        let file = format!("/{}", self.path);
        no_setting(&file, &self.value).map_or(Ok(()), Err)?;
        let written =
            OpenOptions::new().write(true).open(root.join(&self.path)).and_then(|mut to| to.write_all(self.value.as_bytes()));
        written.map_err(|e| format!("{file} cannot be set to {}: {e}", self.value))?;
        let now = self.current(&Tree::Folder(root.to_owned())).unwrap_or_default();
        if is_same(&now, &self.value) { Ok(()) } else { Err(format!("{file} is {now} after it was set to {}", self.value)) }
    }
}

/// Whether two texts are one value: spaces and the zeros before masks make no difference.
pub fn is_same(a: &str, b: &str) -> bool {
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let (one, other) = (cpus_of(a), cpus_of(b));
    words(a) == words(b) || (!one.is_empty() && one == other)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn files_are_found_by_their_pattern_set_and_read_back() {
        let root = std::env::temp_dir().join(format!("perbuck-setting-{}", std::process::id()));
        let folder = root.join("sys/cpufreq");
        for name in ["policy0", "policy1"] {
            fs::create_dir_all(folder.join(name)).unwrap();
            fs::write(folder.join(name).join("scaling_governor"), "powersave\n").unwrap();
        }
        let tree = Tree::Folder(root.clone());
        let all = Setting::all("/sys/cpufreq/*/scaling_governor", "performance", &tree).unwrap();
        assert_eq!(all.len(), 2, "{all:?}");
        for one in &all {
            assert_eq!(one.current(&tree).as_deref(), Some("powersave"));
            // A regular file keeps the rest of a longer text, which a file of the kernel does not.
            fs::write(root.join(&one.path), "").unwrap();
            one.put(&root).unwrap();
            assert_eq!(one.current(&tree).as_deref(), Some("performance"));
        }
        let refused = |path: &str, value: &str| Setting::all(path, value, &tree).unwrap_err();
        assert_eq!(refused("/sys/none/*", "1"), "this machine has no /sys/none/*");
        assert!(refused("/etc/x", "1").contains("is no file below"));
        let missing = Setting { path: "sys/none".into(), value: "1".into() };
        assert!(missing.put(&root).unwrap_err().starts_with("/sys/none cannot be set to 1: No such file"));
        let kept = Setting { path: "sys/cpufreq/policy0/scaling_governor".into(), value: "x".into() };
        let why = "/sys/cpufreq/policy0/scaling_governor is xerformance after it was set to x";
        assert_eq!(kept.put(&root).unwrap_err(), why);
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn zeros_in_front_of_masks_and_tabs_make_no_difference() {
        assert!(is_same("000000fe", "fe") && is_same("00000000,fffffffe", "fffffffe") && is_same("1024\t65535", "1024 65535"));
        assert!(!is_same("fe", "ff") && !is_same("always", "never") && !is_same("0", "1"));
    }
}
