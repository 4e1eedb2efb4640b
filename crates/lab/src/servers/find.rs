//! Where the programs of a server are.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use perbuck_deploy::local::{Kind, Parts, Program};

use crate::error::LabError;

/// All programs that a kind needs with these parts, in its order. The others come from beside the server, or from a folder of the same
/// version, where they are there: those of another version would not do.
pub(super) fn all(who: &str, (kind, parts): (Kind, &Parts), server: Option<&str>) -> Result<Vec<PathBuf>, LabError> {
    let mut found: Vec<PathBuf> = Vec::new();
    for (i, program) in kind.programs(parts).iter().enumerate() {
        let folder = found.first().and_then(|server| server.parent());
        let beside = || within(folder?, program).or_else(|| of_version(folder?.file_name()?, program));
        let path = match (i, server) {
            (0, Some(named)) => named_program(who, named)?,
            // Another part of a cluster must be of the same release.
            (1.., _) if !kind.parts().is_empty() => beside().ok_or_else(|| {
                let (names, server) = (program.names.join(" or "), found[0].display());
                let help = format!("put the programs of the cluster into one folder ({})", kind.packages());
                LabError::usage(format!("{who}: no {names} is beside {server}, nor in tiup's folder of that version"), help)
            })?,
            _ => beside().or_else(|| search(program)).ok_or_else(|| {
                let (names, folders) = (program.names.join(" or "), program.folders.join(", "));
                let help = format!("install it ({}), or name it with `program` in `server`", kind.packages());
                LabError::usage(format!("{who}: no {names} was found in PATH, {folders}"), help)
            })?,
        };
        found.push(path);
    }
    Ok(found)
}

fn named_program(who: &str, named: &str) -> Result<PathBuf, LabError> {
    let path = PathBuf::from(named);
    let absolute = std::path::absolute(&path).unwrap_or(path);
    if is_program(&absolute) {
        return Ok(absolute);
    }
    Err(LabError::usage(format!("{who}: {named} is no program"), "name the server's program itself, with its path"))
}

fn search(program: &Program) -> Option<PathBuf> {
    let in_path = env::var_os("PATH").unwrap_or_default();
    let listed = env::split_paths(&in_path).find_map(|folder| within(&folder, program));
    listed.or_else(|| program.folders.iter().flat_map(|pattern| matching(pattern)).find_map(|folder| within(&folder, program)))
}

/// A program in that of its folders whose version has this name: `v8.5.6`.
fn of_version(name: &OsStr, program: &Program) -> Option<PathBuf> {
    let mut folders = program.folders.iter().filter(|pattern| pattern.contains('*')).flat_map(|pattern| matching(pattern));
    folders.find(|folder| folder.file_name() == Some(name)).and_then(|folder| within(&folder, program))
}

fn within(folder: &Path, program: &Program) -> Option<PathBuf> {
    program.names.iter().map(|name| folder.join(name)).find(|path| is_program(path))
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

/// The folders that a pattern stands for, the highest version first.
fn matching(pattern: &str) -> Vec<PathBuf> {
    let own = env::var("HOME").unwrap_or_default();
    let pattern = pattern.strip_prefix('~').map_or_else(|| pattern.to_owned(), |rest| own + rest);
    let Some((before, after)) = pattern.split_once('*') else { return vec![PathBuf::from(pattern)] };
    let (parent, prefix) = before.rsplit_once('/').unwrap_or(("", before));
    let names = fs::read_dir(parent).into_iter().flatten().flatten().filter_map(|e| e.file_name().into_string().ok());
    let mut versions: Vec<(Vec<u32>, String)> =
        names.filter_map(|name| Some((version(name.strip_prefix(prefix)?)?, name))).collect();
    versions.sort();
    let path = |(_, name): (Vec<u32>, String)| PathBuf::from(format!("{parent}/{name}{after}"));
    versions.into_iter().rev().map(path).collect()
}

fn version(text: &str) -> Option<Vec<u32>> {
    text.split('.').map(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_numbers() {
        assert_eq!(version("9.6"), Some(vec![9, 6]));
        assert!(version("15") > version("9.6"));
        assert_eq!(version("current"), None);
    }

    #[test]
    fn the_highest_version_comes_first() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["pg-9.6", "pg-15", "pg-old", "other-16"] {
            fs::create_dir_all(folder.path().join(name).join("bin")).unwrap();
        }
        let pattern = format!("{}/pg-*/bin", folder.path().display());
        let found = ["pg-15/bin", "pg-9.6/bin"].map(|name| folder.path().join(name));
        assert_eq!(matching(&pattern), found);
    }

    #[test]
    fn a_named_server_must_be_a_program() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("mysqld");
        fs::write(&file, "").unwrap();
        let missing = all("x", (Kind::Mysql, &Parts::new()), file.to_str()).unwrap_err();
        assert!(missing.words().0.ends_with("mysqld is no program"), "{missing}");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(all("x", (Kind::Mysql, &Parts::new()), file.to_str()).unwrap(), [file]);
    }
}
