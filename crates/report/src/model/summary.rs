//! What another thing than a comparison found, as a report.

use crate::document::{Answer, Brief, ReportModel, Tone};
use crate::escape::{clean, json};
use crate::text::Summary;

/// A report of a summary, whose first sentence is its answer; `data` is the same as JSON.
pub fn page_of(found: &Summary, study: &str, data: &str) -> ReportModel {
    let mut sentences = found.sentences.iter().map(|text| clean(text));
    let brief = Brief {
        answer: Answer { text: sentences.next().unwrap_or_default(), tone: Tone::Plain },
        remarks: sentences.collect(),
        parts: Vec::new(),
        figures: Vec::new(),
        caveats: found.caveats.clone(),
        more_caveats: 0,
        sources: found.facts.iter().map(|(label, value)| (label.clone(), clean(value))).collect(),
    };
    ReportModel {
        title: clean(&found.title),
        study: clean(study),
        brief,
        sections: vec![found.details.clone()],
        data: json(data),
        what_if: String::new(),
        evidence: String::new(),
    }
}
