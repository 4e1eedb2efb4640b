//! What a reader must know before the numbers.

use perbuck_core::units::thousands;

use super::Context;
use crate::escape::clean;
use crate::number::{counted, list};

pub(super) fn warnings(all: &Context<'_>) -> Vec<String> {
    let c = all.comparison;
    let mut out = Vec::new();
    let found = thousands(c.found as u64);
    if c.found == 0 {
        out.push("No trial was found: this report holds prices only.".to_owned());
    } else if c.found < c.planned {
        let planned = counted(c.planned, "planned trial");
        out.push(format!("The study is incomplete: {found} of {planned} were found, and only those are reported."));
    } else if c.found > c.planned {
        out.push(format!("{found} trials were found, though the study plans {}.", counted(c.planned, "trial")));
    }
    for remark in &c.remarks {
        let text = clean(&remark.text);
        let first = if remark.trials == 1 { "" } else { "the first is " };
        out.push(format!("{}: {text} ({first}{}).", counted(remark.trials, "trial"), clean(&remark.example)));
    }
    out.extend(shared_machine(all));
    out.extend(other_studies(all));
    out
}

fn shared_machine(all: &Context<'_>) -> Option<String> {
    let shared = |name: &str| all.records.iter().any(|r| r.key.contender == name && r.host.shared_with_server);
    let names: Vec<String> = all.study.contenders.iter().filter(|c| shared(&c.name)).map(|c| all.label(&c.name)).collect();
    (!names.is_empty())
        .then(|| format!("Client and server shared one machine and competed for its processors: {}.", list(&names)))
}

/// Trials that were measured under more than one version of the study do not belong together.
fn other_studies(all: &Context<'_>) -> Option<String> {
    let mut prints: Vec<&str> = all.records.iter().map(|r| r.study_fingerprint.as_str()).collect();
    prints.sort_unstable();
    prints.dedup();
    (prints.len() > 1).then(|| {
        let count = counted(prints.len(), "version");
        format!("The trials were measured under {count} of the study (different fingerprints).")
    })
}
