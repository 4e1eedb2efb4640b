//! Whether a private server can be started, as far as that is known before it is.

use std::process::Command;

use perbuck_core::study::{Contender, ServerSpec};
use perbuck_deploy::local::Kind;

use super::instance::without_passwords;
use super::{find, guard, other_version};
use crate::error::LabError;

/// Looks for the programs of the private server of a contender, and asks for the version.
///
/// # Errors
/// A program that is missing, and another version than the study wants.
pub(crate) fn installed(contender: &Contender) -> Result<(), LabError> {
    let Some(spec) = &contender.server else { return Ok(()) };
    guard::possible()?;
    let who = format!("contender `{}`", contender.name);
    let kind = Kind::named(&spec.kind.value).ok_or_else(|| LabError::usage(format!("{who}: no such server"), ""))?;
    let programs = find::all(&who, (kind, &spec.parts()), spec.program.as_ref().map(|p| p.value.as_str()))?;
    let Some(program) = programs.first() else { return Ok(()) };
    // What does not tell its version is asked when it runs.
    let said = without_passwords(Command::new(program).arg("--version")).output();
    let said = said.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let version = kind.version(said.trim());
    let tells = version.starts_with(|c: char| c.is_ascii_digit());
    if tells && !wanted(spec, version) { Err(other_version(&who, spec, program, version)) } else { Ok(()) }
}

/// Whether a version is one that the study wants.
pub(super) fn wanted(spec: &ServerSpec, version: &str) -> bool {
    spec.version.as_ref().is_none_or(|wanted| version.starts_with(&wanted.value))
}
