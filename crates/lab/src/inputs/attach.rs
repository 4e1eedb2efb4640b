//! The text of a study with what it names and does not hold: files beside it, and targets of a command line.

use std::collections::BTreeMap;
use std::io::BufReader;
use std::path::{Component, Path};

use perbuck_core::problem::Problem;
use perbuck_core::study::{Attached, LogNamed, contenders_of, files_named, logs_named, scripts_named};
use perbuck_workloads::traffic::{self, Fault, Format, LogFile};

use super::{Named, read_text};
use crate::error::LabError;

/// Targets by the names of contenders, from a command line.
pub type Targets = BTreeMap<String, String>;

/// Bytes of a file at most, and of those characters that a study has a limit for: results keep study and files as one text, and the limits of its
/// reader (`core::toml_reader`) are little higher.
const LARGEST: usize = 7 << 20;
const MARKS: &[u8] = b"=,[{.";
const MOST_MARKS: usize = 190_000;

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
            if text.len() > LARGEST || text.bytes().filter(|b| MARKS.contains(b)).count() > MOST_MARKS {
                let size = format!("{} bytes in {} lines", text.len(), text.lines().count());
                let message = format!("{} is too large to be kept with the results: {size}", path.display());
                let help =
                    "leave out the lines and columns that no workload uses; 7 MB, and 190,000 commas and points, are the most";
                return Err(LabError::usage(message, help));
            }
            attached.files.insert(named.value, text);
        }
    }
    for log in logs_named(&text) {
        if let Some(told) = told_of(&log, folder)? {
            attached.files.insert(log.list.value, told);
        }
    }
    Ok(attached.to(&text))
}

/// Reads a log, keeps its recording for this process, and returns what is told of it; nothing of one that is not there, which the
/// reader of the study says.
fn told_of(log: &LogNamed, folder: &Path) -> Result<Option<String>, LabError> {
    // An unknown format is told with the other problems.
    let format = log.format.as_ref().and_then(|word| Format::named(&word.value));
    let mut files = Vec::new();
    for name in log.files() {
        let path = folder.join(name);
        if !path.exists() || path.is_dir() {
            return Ok(None);
        }
        let file = Named::open(&path).map_err(LabError::of_file("read the log", &path))?;
        files.push(LogFile { name: name.to_owned(), text: BufReader::with_capacity(1 << 16, file) });
    }
    let problem = |Fault { file, line, message, help }: Fault| {
        LabError::problems(&[Problem { file: folder.join(file).display().to_string(), line: line as usize, message, help }])
    };
    let recording = traffic::read(files, format).map_err(problem)?;
    let told = recording.summary.text();
    traffic::keep(recording);
    Ok(Some(told))
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
