//! Where the programs of a server are.

use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use perbuck_deploy::local::{Kind, Program};

use crate::error::{ErrorKind, LabError};

/// What was not found.
pub(super) struct Missing {
    message: String,
    help: String,
}

impl Missing {
    /// The same as an error of a contender.
    pub(super) fn of(self, who: &str) -> LabError {
        LabError::new(ErrorKind::Usage, format!("{who}: {}", self.message), self.help)
    }
}

/// All programs that a kind needs, in its order. A server that the study names brings the others from beside it, where
/// they are there: those of another version would not do.
pub(super) fn all(kind: Kind, server: Option<&str>) -> Result<Vec<PathBuf>, Missing> {
    let mut found: Vec<PathBuf> = Vec::new();
    for (i, program) in kind.programs().iter().enumerate() {
        let path = match (i, server) {
            (0, Some(named)) => named_program(named)?,
            _ => {
                let beside = found.first().and_then(|first| first.parent());
                beside.and_then(|folder| within(folder, program)).or_else(|| search(program)).ok_or_else(|| Missing {
                    message: format!("no {} was found in PATH, {}", program.names.join(" or "), program.places.join(", ")),
                    help: format!("install it ({}), or name it with `program` in `server`", kind.packages()),
                })?
            }
        };
        found.push(path);
    }
    Ok(found)
}

fn named_program(named: &str) -> Result<PathBuf, Missing> {
    let path = PathBuf::from(named);
    let absolute = std::path::absolute(&path).unwrap_or(path);
    if is_program(&absolute) {
        return Ok(absolute);
    }
    let message = format!("{named} is no program");
    Err(Missing { message, help: "name the server's program itself, with its path".to_owned() })
}

fn search(program: &Program) -> Option<PathBuf> {
    let in_path = env::var_os("PATH").unwrap_or_default();
    let listed = env::split_paths(&in_path).find_map(|folder| within(&folder, program));
    listed.or_else(|| program.places.iter().flat_map(|place| folders(place)).find_map(|folder| within(&folder, program)))
}

fn within(folder: &Path, program: &Program) -> Option<PathBuf> {
    program.names.iter().map(|name| folder.join(name)).find(|path| is_program(path))
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

/// The folders that a place stands for, the highest version first.
fn folders(place: &str) -> Vec<PathBuf> {
    let Some((before, after)) = place.split_once('*') else { return vec![PathBuf::from(place)] };
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
        let place = format!("{}/pg-*/bin", folder.path().display());
        let found: Vec<String> = folders(&place)
            .iter()
            .map(|p| p.display().to_string().replace(&format!("{}/", folder.path().display()), ""))
            .collect();
        assert_eq!(found, ["pg-15/bin", "pg-9.6/bin"]);
    }

    #[test]
    fn a_named_server_must_be_a_program() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("mysqld");
        fs::write(&file, "").unwrap();
        let missing = all(Kind::Mysql, file.to_str()).err().unwrap();
        assert!(missing.message.ends_with("mysqld is no program"), "{}", missing.message);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(all(Kind::Mysql, file.to_str()).ok(), Some(vec![file]));
    }
}
