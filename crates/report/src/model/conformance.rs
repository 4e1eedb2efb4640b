//! What the specification of a workload asks of a run, as each trial was judged when it ended.

use perbuck_core::compare::WorkloadResult;
use perbuck_core::run_record::{AuditValue, Judgement, RunRecord};

use super::Context;
use crate::document::{Block, Table};
use crate::escape::clean;
use crate::number::{ABSENT, fixed};

/// A row for each value, a column for each contender; nothing where the workload has no such clauses.
pub(super) fn audit(all: &Context<'_>, w: &WorkloadResult) -> Vec<Block> {
    let names = all.contenders_of(w);
    let of = |name: &&str| all.records.iter().filter(|r| r.key.workload == w.workload && r.key.contender == *name).collect();
    let trials: Vec<Vec<&RunRecord>> = names.iter().map(of).collect();
    let Some(first) = trials.iter().flatten().find(|r| !r.audit.is_empty()) else { return Vec::new() };
    let caption = format!("{}: what the specification asks of a run, lowest to highest of all trials", clean(&w.workload));
    let mut table = Table::new(caption, "Clause | Value | Range");
    names.iter().for_each(|name| table.column(&all.label(name), false));
    for asked in &first.audit {
        let mut texts = vec![clean(&asked.clause), format!("{} ({})", clean(&asked.what), clean(&asked.unit)), asked.range()];
        let same = |f: &&AuditValue| f.clause == asked.clause && f.what == asked.what;
        let of = |records: &Vec<&RunRecord>| -> Vec<AuditValue> {
            records.iter().filter_map(|r| r.audit.iter().find(same)).cloned().collect()
        };
        texts.extend(trials.iter().map(|records| found(&of(records))));
        table.add(texts);
    }
    vec![Block::Table(table)]
}

/// `14.82 to 15.21, holds`, `1.84, not enough data in 1 of 5 trials`.
fn found(all: &[AuditValue]) -> String {
    let Some(worst) = all.iter().map(|f| f.judgement).max() else { return ABSENT.to_owned() };
    if worst == Judgement::NotApplicable {
        return worst.words().to_owned();
    }
    let values = all.iter().filter(|f| f.judgement != Judgement::NotApplicable).map(|f| f.value);
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    let [low, high] = [low, high].map(|v| fixed(v, all[0].decimals()));
    let range = if low == high { low } else { format!("{low} to {high}") };
    let (so, of) = (all.iter().filter(|f| f.judgement == worst).count(), all.len());
    match worst {
        Judgement::Holds => format!("{range}, {}", worst.words()),
        _ if so == of => format!("{range}, {} in every trial", worst.words()),
        _ => format!("{range}, {} in {so} of {of} trials", worst.words()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_trial_stands_for_all() {
        let value = |value: f64, judgement| AuditValue {
            clause: "9.2.2.5".into(),
            what: "remote payments".into(),
            value,
            unit: "%".into(),
            least: Some(14.0),
            most: Some(16.0),
            width: 0.5,
            of: 9_000,
            judgement,
        };
        let good = value(15.0, Judgement::Holds);
        assert_eq!(found(&[good.clone(), value(15.25, Judgement::Holds)]), "15.00 to 15.25, holds");
        assert_eq!(
            found(&[good.clone(), value(13.8, Judgement::NotEnoughData)]),
            "13.80 to 15.00, not enough data in 1 of 2 trials"
        );
        assert_eq!(found(&[value(9.0, Judgement::Broken)]), "9.00, BROKEN in every trial");
        assert_eq!(found(&[value(0.0, Judgement::NotApplicable)]), "not applicable");
    }
}
