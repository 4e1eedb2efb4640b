//! What a study of imported trials may say: nothing of how they would be measured.

use crate::study::{Contender, Sweep};
use crate::toml_reader::{Located, Section};

/// Keys of a sweep that say how trials are measured.
const MEASURING: [&str; 12] = [
    "rate",
    "arrivals",
    "phases",
    "warmup",
    "duration",
    "pilot",
    "trials",
    "deployments",
    "cooldown",
    "profile",
    "workers",
    "events",
];

/// Reports what its sweep must not say, and leaves its points to the logs where the file names none.
pub(super) fn check(root: &Section<'_>, given: bool, sweep: &mut Sweep) {
    if let Some(table) = root.table("sweep") {
        for key in MEASURING.into_iter().filter(|key| table.has(key)) {
            table.report(
                key,
                format!("`sweep.{key}` in a study with `imported = true`"),
                "its logs say how it was measured; remove it",
            );
        }
    }
    sweep.collected = true;
    if !given {
        sweep.connections.clear();
    }
}

/// Reports what its contenders must not have: there is nothing to connect to.
pub(super) fn check_contenders(root: &Section<'_>, contenders: &[Contender], control: Option<&Located<String>>, published: bool) {
    if published {
        root.report("imported", "the study has both `imported = true` and `[results]`", "keep one of them");
    }
    if control.is_some() {
        root.report("control", "imported trials cannot be measured a second time", "remove `control`");
    }
    for c in contenders {
        let has_server = c.target.is_some()
            || c.server.is_some()
            || !c.server_settings.is_empty()
            || !c.transactions.is_empty()
            || c.wait_ready_ns.is_some()
            || c.tiflash_replicas.is_some()
            || c.backup.is_some();
        if has_server {
            let message = format!("contender `{}` has a target or a server in a study with `imported = true`", c.name);
            root.file().report(c.line, message, "remove what belongs to the server; perbuck does not connect to it");
        }
    }
}
