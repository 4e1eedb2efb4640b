//! What an audit found, as tables.

use perbuck_core::audit::{Audit, Check, Class, Finding, Holds, Remark, Weight};

use super::paragraph;
use crate::document::{Block, Cell, Table, Tone};
use crate::escape::{clean, clean_to};
use crate::number::counted;

/// Characters of a formula that a table shows.
const FORMULA: usize = 400;

/// Everything that an audit says: counts, what is not right, every number, claims, checks.
pub(crate) fn blocks(audit: &Audit) -> Vec<Block> {
    let mut out = Vec::new();
    if !audit.numbers.is_empty() {
        out.push(paragraph(counts(audit)));
        let wrong: Vec<&Finding> =
            audit.numbers.iter().filter(|f| !f.class.is_right() && f.class != Class::NotDerivable).collect();
        if wrong.is_empty() {
            out.push(paragraph("Every printed number that can be derived is the exact value or its rounding."));
        } else {
            out.push(Block::Table(numbers("Numbers that are not the rounding of their exact value", &wrong)));
        }
    }
    for number in audit.numbers.iter().filter(|f| !f.readings.is_empty()) {
        out.push(Block::Table(readings(number)));
    }
    out.extend(held("Claims of the text", ["Claims that do not hold", "All claims of the text"], "claim", &audit.claims));
    out.extend(held(
        "The results against themselves",
        ["Checks that do not hold", "All checks of the results"],
        "check",
        &audit.checks,
    ));
    if !audit.numbers.is_empty() {
        let all: Vec<&Finding> = audit.numbers.iter().collect();
        out.extend([numbers("Every printed number", &all), formulas(&all)].map(Block::Data));
    }
    if !audit.list.is_empty() {
        out.push(Block::Table(in_order(&audit.list)));
    }
    if out.is_empty() {
        out.push(paragraph("The study has no printed numbers, no claims and no results to check."));
    }
    out
}

fn counts(audit: &Audit) -> String {
    let one = |class: &Class| {
        let n = audit.count(*class);
        (n > 0).then(|| format!("{n} {}", class.label()))
    };
    let classes: Vec<String> = Class::ALL.iter().filter_map(one).collect();
    format!("{}: {}.", counted(audit.numbers.len(), "printed number"), classes.join(", "))
}

fn tone(class: Class) -> Tone {
    match class {
        Class::Exact | Class::Rounded => Tone::Better,
        Class::Inconsistent => Tone::Worse,
        Class::Truncated | Class::FromRounded => Tone::Undecided,
        Class::NotDerivable => Tone::Plain,
    }
}

fn numbers(caption: &str, list: &[&Finding]) -> Table {
    let mut table = Table::new(caption, "Number | #Printed | #Right | Class | #Exact | Rule that gives the printed digits");
    for f in list {
        let class = Cell::new(f.class.label()).toned(tone(f.class));
        let [name, printed, right, exact, rule] = [&f.name, &f.printed, &f.right, &f.exact, &f.rule].map(|t| clean(t).into());
        table.add([name, printed, right, class, exact, rule]);
    }
    table
}

fn readings(number: &Finding) -> Table {
    let caption = format!("{}, printed as {}: what each reading gives", clean(&number.name), clean(&number.printed));
    let mut table = Table::new(caption, "Reading | #Value | #Exact | Printed digits");
    for r in &number.readings {
        let cells = [clean(&r.name), clean(&r.right), clean(&r.exact)].map(Cell::new);
        let verdict = match r.class {
            Class::Inconsistent => Cell::new("not these").toned(Tone::Worse),
            class => Cell::new(class.label()).toned(tone(class)),
        };
        table.add(cells.into_iter().chain([verdict]));
    }
    table
}

fn formulas(list: &[&Finding]) -> Table {
    let mut table = Table::new("The formula of each number", "Number | What it is | Formula");
    for f in list {
        table.add([clean(&f.name), clean(&f.about), clean_to(&f.formula, FORMULA)]);
    }
    table
}

fn holds(check: &Check) -> Cell {
    let tone = match check.holds {
        Holds::Yes => Tone::Better,
        Holds::No => Tone::Worse,
        Holds::Unknown => Tone::Undecided,
    };
    Cell::new(check.holds.label()).toned(tone)
}

fn checks<'c>(caption: &str, what: &str, list: impl IntoIterator<Item = &'c Check>) -> Table {
    let mut table = Table::new(caption, &format!("{what} | Found | Verdict | How it was told"));
    for check in list {
        let how = clean_to(&check.how, FORMULA);
        table.add([clean(&check.text).into(), clean(&check.found).into(), holds(check), how.into()]);
    }
    table
}

/// The list at the end: what changes a reader's decision first.
fn in_order(list: &[Remark]) -> Table {
    let mut table = Table::new("Findings in order of weight", "#No. | Weight | Finding | Class");
    for (i, remark) in list.iter().enumerate() {
        let tone = match remark.weight {
            Weight::Conclusion | Weight::Number => Tone::Worse,
            Weight::Reproduction => Tone::Undecided,
            Weight::Slip => Tone::Plain,
        };
        let weight = Cell::new(remark.weight.label()).toned(tone);
        table.add([(i + 1).to_string().into(), weight, clean(&remark.sentence).into(), clean(&remark.class).into()]);
    }
    table
}

/// How many claims or checks hold, those that do not, and all of them.
fn held(what: &str, [failing, all]: [&str; 2], one: &str, list: &[Check]) -> Vec<Block> {
    if list.is_empty() {
        return Vec::new();
    }
    let failed: Vec<&Check> = list.iter().filter(|c| c.holds != Holds::Yes).collect();
    let passed = list.len() - failed.len();
    let heading = if one == "claim" { "Claim" } else { "Check" };
    let mut out = vec![paragraph(format!("{what}: {passed} of {} hold.", counted(list.len(), one)))];
    if !failed.is_empty() {
        out.push(Block::Table(checks(failing, heading, failed)));
    }
    out.push(Block::Data(checks(all, heading, list)));
    out
}
