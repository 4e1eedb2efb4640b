//! The brief: the answer in one sentence, what it looks like, what limits it, and where it comes from.

mod answer;
mod charts;
mod sources;

use super::{Context, spent, warnings::Caveats};
use crate::document::Brief;

/// Caveats of the brief; the last section has all.
const CAVEATS: usize = 3;

/// The brief of a report with these caveats.
pub(crate) fn brief(all: &Context<'_>, caveats: &Caveats) -> Brief {
    let parts = answer::parts(all);
    let short = caveats.short();
    Brief {
        answer: answer::answer(all, &parts),
        remarks: answer::remarks(all).into_iter().chain(spent::sentence(all)).collect(),
        parts,
        figures: charts::figures(all),
        more_caveats: short.len().saturating_sub(CAVEATS),
        caveats: short.into_iter().take(CAVEATS).map(str::to_owned).collect(),
        sources: sources::sources(all),
    }
}
