//! The text of a study with what it names and does not hold: files beside it, and targets of a command line.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use perbuck_core::study::{Attached, contenders_of, files_named, scripts_named};

use super::read_text;
use crate::error::LabError;

/// Targets by the names of contenders, from a command line.
pub type Targets = BTreeMap<String, String>;

/// Reads a study file, the files that it names in its own folder, and puts targets in place of those of its contenders.
///
/// # Errors
/// A study that cannot be read. A file that is not there is told with the other problems of the study.
pub fn study_text(study: &Path, targets: &Targets) -> Result<String, LabError> {
    let text = read_text("the study", study)?;
    let contenders = contenders_of(&text);
    if let Some(unknown) = targets.keys().find(|name| !contenders.is_empty() && !contenders.contains(name)) {
        let message = format!("--target {unknown}=…: the study has no such contender");
        return Err(LabError::usage(message, format!("its contenders are: {}", contenders.join(", "))));
    }
    let folder = study.parent().unwrap_or(Path::new(""));
    let mut attached = Attached { targets: targets.clone(), ..Attached::default() };
    let (files, scripts) = (files_named(&text), scripts_named(&text));
    // A script is no configuration: a column may be called `password`.
    let all = files.into_iter().map(|named| (named, true)).chain(scripts.into_iter().map(|named| (named, false)));
    for (named, is_configuration) in all {
        let (name, path) = (Path::new(&named.value), folder.join(&named.value));
        // Another folder is that of no study; the reader says that the file is not there.
        let beside = name.components().all(|part| matches!(part, Component::Normal(_)));
        if beside && path.is_file() {
            let text = read_text("a file of the study", &path)?;
            if let Some(line) = secret_line(&text).filter(|_| is_configuration) {
                let message = format!("{}:{line} holds a password, and perbuck keeps this file with the results", path.display());
                return Err(LabError::usage(message, "leave that line out"));
            }
            attached.files.insert(named.value, text);
        }
    }
    Ok(attached.to(&text))
}

/// The first line of a configuration file that sets a password, or an address that may hold one.
fn secret_line(text: &str) -> Option<usize> {
    let sets = |line: &str| {
        let key = line.trim_start().split(['=', ' ', '\t']).next().unwrap_or_default().to_ascii_lowercase();
        !key.starts_with(['#', ';']) && (key.contains("passw") || key.contains("conninfo"))
    };
    text.lines().position(sets).map(|at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_with_a_password_is_not_kept_and_one_of_another_folder_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        let study = |file: &str| {
            write(
                "s.toml",
                &format!("[[contender]]\nname = \"a\"\nserver = {{ kind = \"mariadb\", config_file = \"{file}\" }}\n"),
            );
            study_text(&folder.path().join("s.toml"), &Targets::new())
        };
        write("my.cnf", "[mysqld]\n# password = 1\nvalidate = 1\n");
        assert!(study("my.cnf").unwrap().contains("validate = 1"));
        write("my.cnf", "[client]\npassword=secret\n");
        let refused = study("my.cnf").unwrap_err().to_string();
        assert!(refused.contains("my.cnf:2 holds a password") && !refused.contains("secret"), "{refused}");
        let stranger = Targets::from([("c".to_owned(), "mysql://h/".to_owned())]);
        let refused = study_text(&folder.path().join("s.toml"), &stranger).unwrap_err().to_string();
        assert!(refused.contains("--target c=…: the study has no such contender") && refused.contains("are: a"), "{refused}");
        for other in ["/etc/hostname", "../my.cnf"] {
            assert!(!study(other).unwrap().contains("[files]"), "{other}");
        }
        // A script is no configuration.
        write("a.sql", "SELECT\npassword\nFROM users;\n");
        write("s.toml", "[[workload]]\nfile = \"a.sql@2, builtin:tpcb-like\"\n");
        let text = study_text(&folder.path().join("s.toml"), &Targets::new()).unwrap();
        assert!(text.contains("[files]\n\"a.sql\"") && text.contains("FROM users"), "{text}");
    }
}
