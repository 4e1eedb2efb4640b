//! What an audit found, as tables.

use perbuck_core::audit::{Audit, Check, Class, Finding, Holds, NOT_GIVEN, Remark, Weight};

use super::paragraph;
use crate::document::{Block, Cell, Table, Tone};
use crate::escape::{clean, clean_to};
use crate::number::counted;

/// Characters of a formula that a table shows.
const FORMULA: usize = 400;
/// Captions of what the list at the end repeats, and of that list.
const NOT_ROUNDED: &str = "Numbers that are not the rounding of their exact value";
const NOT_HELD: &str = "Checks that do not hold";
const IN_ORDER: &str = "Findings in order of weight";

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
            out.push(Block::Table(numbers(NOT_ROUNDED, &wrong)));
        }
    }
    for number in audit.numbers.iter().filter(|f| !f.readings.is_empty()) {
        out.push(Block::Table(readings(number)));
    }
    out.extend(claims(&audit.claims));
    out.extend(consistency(&audit.checks));
    if !audit.numbers.is_empty() {
        let all: Vec<&Finding> = audit.numbers.iter().collect();
        out.extend([numbers("Every printed number", &all), formulas(&all)].map(Block::Data));
    }
    if !audit.list.is_empty() {
        out.push(Block::Table(in_order(audit.list.iter())));
    }
    if out.is_empty() {
        out.push(paragraph("The study has no printed numbers, no claims and no results to check."));
    }
    out
}

/// The same in the report of a replay. Its list has a sentence for what is not right, and its caveats name what the article leaves out.
pub(super) fn on_page(audit: &Audit) -> Vec<Block> {
    let repeated = |table: &Table| [NOT_ROUNDED, NOT_HELD, IN_ORDER].contains(&table.caption.as_str());
    let mut out: Vec<Block> =
        blocks(audit).into_iter().filter(|block| !matches!(block, Block::Table(table) if repeated(table))).collect();
    let mut own = audit.list.iter().filter(|remark| remark.class != NOT_GIVEN).peekable();
    if own.peek().is_some() {
        out.push(Block::Table(in_order(own)));
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
fn in_order<'r>(list: impl Iterator<Item = &'r Remark>) -> Table {
    let mut table = Table::new(IN_ORDER, "#No. | Weight | Finding | Class");
    for (i, remark) in list.enumerate() {
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

/// How many claims hold, and all of them; those that do not are sentences of the list at the end.
fn claims(list: &[Check]) -> Vec<Block> {
    if list.is_empty() {
        return Vec::new();
    }
    let held = list.iter().filter(|c| c.holds == Holds::Yes).count();
    let text = format!("Claims of the text: {held} of {} hold.", counted(list.len(), "claim"));
    vec![paragraph(text), Block::Data(checks("All claims of the text", "Claim", list))]
}

/// Checks of the results against themselves: those that fail, and what was found by all.
fn consistency(list: &[Check]) -> Vec<Block> {
    if list.is_empty() {
        return Vec::new();
    }
    let failed: Vec<&Check> = list.iter().filter(|c| c.holds != Holds::Yes).collect();
    let passed = list.len() - failed.len();
    let text = format!("The results against themselves: {} of {} hold.", passed, counted(list.len(), "check"));
    let mut out = vec![paragraph(text)];
    if !failed.is_empty() {
        out.push(Block::Table(checks(NOT_HELD, "Check", failed)));
    }
    let mut all = Table::new("All checks of the results", "Check | Found | Verdict");
    for check in list {
        all.add([clean(&check.text).into(), clean(&check.found).into(), holds(check)]);
    }
    out.push(Block::Data(all));
    out
}
