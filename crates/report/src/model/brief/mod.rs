//! The brief: the answer in one sentence, what it looks like, what limits it, and where it comes from.

mod answer;
mod charts;
mod sources;

use super::{Context, warnings::Caveats};
use crate::document::Brief;

/// Caveats of the brief; the last section has all.
const CAVEATS: usize = 3;

/// The brief of a report with these caveats.
pub(crate) fn brief(all: &Context<'_>, caveats: &Caveats) -> Brief {
    let parts = answer::parts(all);
    Brief {
        answer: answer::answer(all, &parts),
        remarks: answer::remarks(all),
        parts,
        figures: charts::figures(all),
        caveats: caveats.short().take(CAVEATS).collect(),
        more_caveats: caveats.len().saturating_sub(CAVEATS),
        sources: sources::sources(all),
    }
}
