//! How the points of a workload become one number.

use crate::study::{Summary, Sweep, WorkloadSpec};
use crate::toml_reader::Section;

use super::{MANY, word};

pub(super) fn read_summary(root: &Section<'_>) -> Option<Summary> {
    let Some(s) = root.table("summary") else { return Some(Summary::Peak) };
    // Read by the caller for each workload; asked for here so that it is known.
    s.has("metric");
    let summary = read_over(&s);
    s.finish();
    Some(summary.unwrap_or(Summary::Peak))
}

/// `over`: a list of points, or "peak"; `None` where it is not there.
pub(super) fn read_over(s: &Section<'_>) -> Option<Summary> {
    if s.is_text("over") {
        return word(s, "over", &[("peak", ())]).map(|()| Summary::Peak);
    }
    let list = s.ints("over", 1..=MANY)?;
    if list.value.is_empty() {
        s.report("over", "`over` is empty", "give counts of `sweep.connections`, or \"peak\"");
    }
    Some(Summary::MeanOver(list.value.iter().map(|v| *v as u32).collect()))
}

/// Reports points of summaries that the sweep of their workload does not measure, once for each line.
pub(super) fn check_summaries(root: &Section<'_>, global: Option<&Summary>, workloads: &[WorkloadSpec], sweep: &Sweep) {
    let over = root.table("summary").map_or(0, |s| s.line_of("over"));
    let mut told = Vec::new();
    for w in workloads {
        let line = if w.summary.is_some() || w.sweep.is_some() { w.line } else { over };
        let (Some(Summary::MeanOver(over)), sweep) = (w.summary.as_ref().or(global), w.sweep.as_ref().unwrap_or(sweep)) else {
            continue;
        };
        let missing = over.iter().find(|c| sweep.levels().binary_search(c).is_err());
        if let Some(missing) = missing.filter(|_| !told.contains(&line)) {
            told.push(line);
            let message = format!("`over` names {missing}, which the sweep does not measure for workload `{}`", w.name);
            let help = "name only its counts of `connections`, or of `rate`; a workload may have its own `over`";
            root.file().report(line, message, help);
        }
    }
}
