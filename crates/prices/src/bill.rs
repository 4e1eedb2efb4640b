//! A contender's bill of materials in one region: what is bought, how its amount comes about, where its price is from.

use perbuck_core::bill::{Amount, Bill, BillLine, LineGroup, Processors};
use perbuck_core::problem::{Problem, did_you_mean, nearest};
use perbuck_core::study::{Contender, Fee, FeeTerms, Located, Node, Payment, PriceBasis, Scenario, SnapshotRule};
use perbuck_core::units::{MicroUsd, unit_price_text};

use crate::snapshot::{Instance, Region, Snapshot, Tier};

/// No line may cost more in a month, and no bill may have more lines: sums of a bill then stay far below what fits.
const LINE_LIMIT: MicroUsd = MicroUsd(1_000_000_000 * 1_000_000);
const LINES_LIMIT: usize = 1000;

/// How many names a message lists before it only counts the others.
const NAMES_SHOWN: usize = 12;

/// What `contender` costs in `region`, line by line, in the order compute, volumes, snapshots, fees.
///
/// Amounts are exact micro-dollars for a month of `basis.hours_per_month`; nothing is rounded here. Machines that are
/// not priced are shown with `priced = false`, at their amount where the snapshot knows it and at zero elsewhere.
/// `study_file` is how messages call the study.
///
/// # Errors
/// Every line of the study that cannot be priced: a region, machine type or kind of volume without a price, a
/// performance value that the volume does not sell, an amount above a billion dollars a month.
pub fn bill(
    contender: &Contender,
    region: &Located<String>,
    basis: &PriceBasis,
    snapshot: &Snapshot,
    scenario: Option<&Scenario>,
    study_file: &str,
) -> Result<Bill, Vec<Problem>> {
    let Some(prices) = snapshot.region(&region.value) else {
        return Err(vec![unknown_region(region, snapshot, study_file)]);
    };
    let hours = basis.hours_per_month;
    let rule = basis.volume_snapshots;
    let mut context =
        BillContext { snapshot, prices, hours, rule, scenario, study_file, lines: Vec::new(), problems: Vec::new() };
    for node in &contender.nodes {
        context.node(node);
    }
    contender.traffic.iter().for_each(|t| context.traffic(t));
    // Discounts before fees, so that a share of the bill is one of what is paid.
    let of_scenario = scenario.into_iter().flat_map(|s| &s.discounts);
    contender.discounts.iter().chain(of_scenario).for_each(|d| context.discount(d));
    let (shares, fees): (Vec<&Fee>, Vec<&Fee>) = contender.fees.iter().partition(|f| matches!(f.terms, FeeTerms::Percent { .. }));
    fees.into_iter().chain(shares).for_each(|f| context.fee(f));
    if context.lines.len() > LINES_LIMIT {
        let message = format!("the bill of `{}` has {} lines, above {LINES_LIMIT}", contender.name, context.lines.len());
        context.problem(contender.line, message, "put machines of one role and type into one node with a `count`".to_owned());
    }
    if !context.problems.is_empty() {
        context.problems.sort_by_key(|p| p.line);
        return Err(context.problems);
    }
    context.lines.sort_by_key(|line| line.group);
    Ok(Bill {
        contender: contender.name.clone(),
        region: region.value.clone(),
        own_region: None,
        scenario: None,
        snapshot: snapshot.name.clone(),
        lines: context.lines,
        hours_per_month: hours,
        horizon_months: basis.horizon_months,
        round: basis.round,
    })
}

fn unknown_region(region: &Located<String>, snapshot: &Snapshot, study_file: &str) -> Problem {
    let all = snapshot.regions_where(|_| true);
    let near = nearest(&region.value, all.iter().copied()).map(|n| format!("did you mean `{n}`? ")).unwrap_or_default();
    Problem {
        file: study_file.to_owned(),
        line: region.line,
        message: format!("price snapshot `{}` has no region `{}`", snapshot.name, region.value),
        help: format!("{near}its regions are: {}", all.join(", ")),
    }
}

/// What a bill is made from, and what was found so far.
pub(crate) struct BillContext<'a> {
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) prices: &'a Region,
    pub(crate) hours: u32,
    pub(crate) rule: SnapshotRule,
    scenario: Option<&'a Scenario>,
    pub(crate) study_file: &'a str,
    pub(crate) lines: Vec<BillLine>,
    problems: Vec<Problem>,
}

pub(crate) struct Draft<'a> {
    /// Line of the study that asks for it.
    pub(crate) study_line: usize,
    pub(crate) group: LineGroup,
    pub(crate) item: &'a str,
    pub(crate) sku: String,
    pub(crate) formula: String,
    pub(crate) unit_price: MicroUsd,
    /// The price of another list.
    pub(crate) disputed: Option<MicroUsd>,
    pub(crate) unit: String,
    /// How many units a month; wide enough for every product of what a study can say.
    pub(crate) units: i128,
    pub(crate) priced: bool,
    /// Date and source of the price.
    pub(crate) origin: (String, String),
}

impl<'a> Draft<'a> {
    /// A priced line of nothing yet.
    pub(crate) fn new(study_line: usize, group: LineGroup, item: &'a str, origin: (String, String)) -> Self {
        let (sku, formula, unit) = (String::new(), String::new(), String::new());
        Self {
            study_line,
            group,
            item,
            sku,
            formula,
            unit_price: MicroUsd(0),
            disputed: None,
            unit,
            units: 0,
            priced: true,
            origin,
        }
    }
}

impl BillContext<'_> {
    pub(crate) fn problem(&mut self, line: usize, message: String, help: String) {
        self.problems.push(Problem { file: self.study_file.to_owned(), line, message, help });
    }

    /// Date and source of a price that the study itself declares.
    pub(crate) fn declared(&self, line: usize) -> (String, String) {
        ("as declared".to_owned(), format!("{}, line {line}", self.study_file))
    }

    /// Adds a line, or refuses an amount that no database system costs.
    pub(crate) fn push(&mut self, draft: Draft<'_>) -> Option<&mut BillLine> {
        let amount = draft.units * i128::from(draft.unit_price.0);
        if amount.unsigned_abs() > LINE_LIMIT.0.unsigned_abs().into() {
            let message = format!("`{}` of `{}` comes to more than a billion dollars a month", draft.sku, draft.item);
            self.problem(draft.study_line, message, "check its count, size and price".to_owned());
            return None;
        }
        let (price_date, source) = draft.origin;
        self.lines.push(BillLine {
            group: draft.group,
            item: draft.item.to_owned(),
            sku: draft.sku,
            formula: draft.formula,
            unit_price: draft.unit_price,
            disputed: draft.disputed,
            unit: draft.unit,
            monthly: MicroUsd(amount as i64),
            // Units beyond this range cost more than a billion dollars at any price but zero.
            amount: Some(Amount::Units { units: i64::try_from(draft.units).unwrap_or(i64::MAX) }),
            priced: draft.priced,
            price_date,
            source,
            processors: None,
        });
        self.lines.last_mut()
    }

    /// A line of an unpriced node for which no price is known: shown, at zero.
    pub(crate) fn push_without_price(&mut self, node: &Node, group: LineGroup, sku: &str, quantity: &str) {
        let formula = format!("{} × {quantity}, no price needed", node.count);
        let blank = Draft::new(node.line, group, &node.role, Default::default());
        self.push(Draft { sku: sku.to_owned(), formula, priced: false, ..blank });
    }

    fn node(&mut self, node: &Node) {
        self.machines(node);
        for volume in node.volumes.iter().chain(&node.root_volume) {
            self.volume(node, volume);
        }
    }

    fn machines(&mut self, node: &Node) {
        let payment = match self.scenario {
            Some(scenario) if node.priced && node.payment == Payment::OnDemand => &scenario.payment,
            _ => &node.payment,
        };
        let instance = self.prices.instance(&node.instance);
        if let Payment::Own(price) = payment {
            self.machine_line(node, *price, "", self.declared(node.line), instance);
            return;
        }
        let Some(instance) = instance else {
            if !node.priced {
                self.push_without_price(node, LineGroup::Compute, &node.instance, &format!("{} h", self.hours));
                return;
            }
            let here: Vec<&str> = self.prices.instances.iter().map(|i| i.machine.name.as_str()).collect();
            let elsewhere = self.snapshot.regions_where(|r| r.instance(&node.instance).is_some());
            let help = way_out(&node.instance, &here, &elsewhere, "machine types");
            self.no_price(node.line, &node.instance, help);
            return;
        };
        let origin = (instance.origin.date.clone(), instance.origin_text());
        match payment {
            Payment::Spot => match instance.spot_usd_per_hour {
                Some(price) => self.machine_line(node, price, ", spot", origin, Some(instance)),
                None => {
                    let help = "give the machine its own `usd_per_hour`, or take a price snapshot with spot prices".to_owned();
                    self.no_price(node.line, &format!("{} as spot", node.instance), help);
                }
            },
            Payment::Commitment(wanted) => match instance.commitments.iter().find(|c| c.name == wanted.value) {
                Some(c) => {
                    self.machine_line(node, c.usd_per_hour, &format!(", {}", c.name), origin.clone(), Some(instance));
                    self.upfront(node, c, origin);
                }
                None => {
                    let names: Vec<&str> = instance.commitments.iter().map(|c| c.name.as_str()).collect();
                    let help = way_out(&wanted.value, &names, &[], "commitments of this machine");
                    self.no_price(node.line, &format!("{} under `{}`", node.instance, wanted.value), help);
                }
            },
            Payment::OnDemand | Payment::Own(_) => {
                let lines = self.lines.len();
                self.machine_line(node, instance.usd_per_hour, "", origin, Some(instance));
                // Lists disagree on this price alone, not on those of spot and commitments.
                self.lines.iter_mut().skip(lines).for_each(|line| line.disputed = instance.origin.disputed());
            }
        }
    }

    fn machine_line(&mut self, node: &Node, price: MicroUsd, how: &str, origin: (String, String), kind: Option<&Instance>) {
        let hours = self.hours;
        let line = self.push(Draft {
            sku: node.instance.clone(),
            formula: format!("{} × {hours} h × {}{how}", node.count, unit_price_text(price)),
            unit_price: price,
            unit: "hour".to_owned(),
            units: i128::from(node.count) * i128::from(hours),
            priced: node.priced,
            ..Draft::new(node.line, LineGroup::Compute, &node.role, origin)
        });
        if let (Some(line), Some(Instance { machine, .. })) = (line, kind) {
            let vcpus = machine.vcpu.saturating_mul(node.count);
            line.processors = Some(Processors { vcpus, vcpus_per_core: machine.vcpu_per_core });
        }
    }

    /// Reports that the region has no price for `what`.
    pub(crate) fn no_price(&mut self, line: usize, what: &str, help: String) {
        let why = self.snapshot.why_missing(&self.prices.name, what).map(|why| format!(": {why}")).unwrap_or_default();
        let message = format!("`{what}` has no price in {} (price snapshot {}){why}", self.prices.name, self.snapshot.name);
        self.problem(line, message, help);
    }
}

/// What of `units` each tier bills: where it starts, how many of them, and the price of one. The first tier is there even
/// at zero, because the study asks for it.
pub(crate) fn by_tier(first: (u64, MicroUsd), further: &[Tier], units: u64) -> Vec<(u64, u64, MicroUsd)> {
    let starts: Vec<(u64, MicroUsd)> = std::iter::once(first).chain(further.iter().map(|t| (t.above, t.usd))).collect();
    let part = |(i, (start, usd)): (usize, &(u64, MicroUsd))| {
        let end = starts.get(i + 1).map_or(u64::MAX, |next| next.0);
        let part = units.min(end).saturating_sub(*start);
        (part > 0 || i == 0).then_some((*start, part, *usd))
    };
    starts.iter().enumerate().filter_map(part).collect()
}

/// What to do about a name without a price: the nearest name, the regions that have it, or all names.
pub(crate) fn way_out(typed: &str, here: &[&str], elsewhere: &[&str], what: &str) -> String {
    if !elsewhere.is_empty() {
        return format!("it has a price in: {}", elsewhere.join(", "));
    }
    did_you_mean(typed, here, || names_here(here, what))
}

/// The first of all names, or that there are none.
fn names_here(here: &[&str], what: &str) -> String {
    if here.is_empty() {
        return format!("the snapshot has no {what} in this region; take another snapshot, or one of your own");
    }
    let shown = &here[..here.len().min(NAMES_SHOWN)];
    let more = if here.len() > shown.len() { format!(" and {} more", here.len() - shown.len()) } else { String::new() };
    format!("{what} here: {}{more}; for others take another snapshot, or one of your own", shown.join(", "))
}
