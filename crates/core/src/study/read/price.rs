//! How a contender becomes money.

use crate::bill::Rounding;
use crate::study::costs::read_scenario;
use crate::study::{PriceBasis, SnapshotRule};
use crate::toml_reader::{Located, Section};

use super::word;

impl Default for PriceBasis {
    fn default() -> Self {
        Self {
            snapshot: None,
            regions: Vec::new(),
            hours_per_month: 730,
            horizon_months: 36,
            volume_snapshots: SnapshotRule::AwsCalculator,
            round: Rounding::None,
            note: String::new(),
            scenarios: Vec::new(),
        }
    }
}

pub(super) fn read_price(section: Option<&Section<'_>>) -> Option<PriceBasis> {
    let mut basis = PriceBasis::default();
    let Some(s) = section else { return Some(basis) };
    basis.snapshot = s.required_text("snapshot", "\"aws-2021-03\"");
    if let Some(regions) = s.texts("regions") {
        let line = regions.line;
        basis.regions = regions.value.into_iter().map(|value| Located { value, line }).collect();
    }
    if basis.regions.is_empty() {
        s.report("regions", "`price.regions` names no region", "add for instance `regions = [\"us-west-2\"]`");
    }
    basis.hours_per_month = s.count("hours_per_month", 1..=744).unwrap_or(basis.hours_per_month);
    basis.horizon_months = s.count("horizon_months", 1..=1200).unwrap_or(basis.horizon_months);
    let rules = [("aws-calculator", SnapshotRule::AwsCalculator), ("steady", SnapshotRule::Steady)];
    basis.volume_snapshots = word(s, "volume_snapshots", &rules).unwrap_or(basis.volume_snapshots);
    basis.round = word(s, "round", &[("none", Rounding::None), ("monthly", Rounding::Monthly)]).unwrap_or(basis.round);
    basis.note = s.text("note").map(|n| n.value).unwrap_or_default();
    basis.scenarios = s.each("scenario", read_scenario)?;
    s.finish();
    Some(basis)
}
