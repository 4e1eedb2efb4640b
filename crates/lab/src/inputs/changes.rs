//! What a study changes on running servers, as far as the study alone tells whether that can be.

use perbuck_core::problem::Problem;
use perbuck_core::study::Contender;

use crate::registry::Registry;

/// What is wrong with the settings that a contender wants set.
pub(super) fn problems(file: &str, contender: &Contender, registry: Registry) -> Vec<Problem> {
    let mut found = Vec::new();
    // A control repeats what stands at its contender, and what is wrong there is said once.
    if contender.control_of.is_some() {
        return found;
    }
    let mut problem = |line, message: String, help: &str| {
        let message = format!("contender `{}`: {message}", contender.name);
        found.push(Problem { file: file.to_owned(), line, message, help: help.to_owned() });
    };
    // What is wrong with the target itself is said elsewhere.
    let target = contender.target.as_ref().map(|t| registry.target(&t.value));
    let lack = target.as_ref().and_then(|t| t.as_ref().ok()?.dialect().server_settings().err());
    let why = |what: &str| match (&contender.server, &target, lack) {
        (Some(_), _, _) => format!("a private server takes no {what}"),
        (None, None, _) => format!("without a target there is no server for {what}"),
        (None, Some(_), Some(lack)) => format!("{} {what}", lack.why),
        (None, Some(_), None) => String::new(),
    };
    if let Some(line) = contender.server_settings.values().map(|v| v.line).min() {
        let why = why("`server_settings`");
        let help = match (&contender.server, lack) {
            (Some(_), _) => "put them into `config` of the `server`",
            (None, Some(lack)) => lack.help,
            _ => "add a target of the MySQL protocol, or remove them",
        };
        if !why.is_empty() {
            problem(line, why, help);
        }
    }
    if let Some(replicas) = &contender.tiflash_replicas {
        let why = why("`tiflash_replicas`");
        if !why.is_empty() {
            problem(replicas.line, why, "only TiDB has TiFlash; remove it");
        }
    }
    found
}
