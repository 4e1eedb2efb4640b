//! What a study changes on running servers, as far as the study alone tells whether that can be.

use perbuck_core::problem::Problem;
use perbuck_core::study::Contender;
use perbuck_drivers::target::Target;
use perbuck_load::statement::Dialect;

/// What is wrong with the settings that a contender wants set.
pub(super) fn problems(file: &str, contender: &Contender) -> Vec<Problem> {
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
    let target = contender.target.as_ref().map(|t| Target::parse(&t.value));
    let why = |what: &str| match (&contender.server, &target) {
        (Some(_), _) => format!("a private server takes no {what}"),
        (None, None) => format!("without a target there is no server for {what}"),
        (None, Some(Ok(Target::Sqlite(_)))) => format!("SQLite has no server for {what}"),
        (None, Some(Ok(Target::Tikv(_)))) => format!("TiKV is not asked by SQL, and takes no {what}"),
        (None, Some(Ok(of @ Target::Postgres(_)))) => format!("{} has no SET GLOBAL, and takes no {what}", of.dialect().name()),
        (None, Some(_)) => String::new(),
    };
    if let Some(line) = contender.server_settings.values().map(|v| v.line).min() {
        let why = why("`server_settings`");
        let help = match (&contender.server, &target) {
            (Some(_), _) => "put them into `config` of the `server`",
            (None, Some(Ok(Target::Sqlite(_) | Target::Tikv(_)))) => "put what there is to set into the options of the target",
            (None, Some(Ok(of @ Target::Postgres(_)))) => match of.dialect() {
                Dialect::Cockroach => {
                    "set them on the cluster yourself (SET CLUSTER SETTING), or for sessions by `set.NAME=VALUE` in the target"
                }
                Dialect::Yugabyte => {
                    "start its servers with the flags that you want, or set variables of sessions by `set.NAME=VALUE` in the target"
                }
                _ => {
                    "set them on the server yourself (ALTER SYSTEM, then pg_reload_conf()), or for sessions by `set.NAME=VALUE` in the target"
                }
            },
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
