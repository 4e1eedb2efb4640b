//! Printed numbers and claims of a study, read.

use std::collections::BTreeMap;

use crate::audit::Weight;
use crate::formula::{Argument, Formula};
use crate::problem::did_you_mean;
use crate::toml_reader::{Digits, Located, Section};

use super::published::{AuditSpec, Claim, PrintedNumber, Rule};
use super::told::{read_points_claim, read_quantifier, read_told, read_weight};
use super::{Contender, WorkloadSpec};

/// Numbers of one study at most, after filling in; far above the longest article.
const NUMBERS_LIMIT: usize = 20_000;

pub(super) fn read_audit(root: &Section<'_>) -> AuditSpec {
    let mut spec = AuditSpec::default();
    if let Some(given) = root.table("given") {
        let number = |name: String| given.digits(&name).map(|number| (name, number.value.value));
        spec.given = given.others().into_iter().filter_map(number).collect();
    }
    // Studies of perbuck 0.1 say `[[figure]]`.
    for key in ["number", "figure"] {
        root.tables(key).iter().for_each(|s| read_number(s, &mut spec.numbers));
    }
    spec.numbers.sort_by_key(|number| number.line);
    root.tables("claim").iter().for_each(|s| read_claim(s, &mut spec));
    read_told(root, &mut spec);
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    for number in &spec.numbers {
        if spec.given.contains_key(&number.name) || seen.insert(&number.name, number.line).is_some() {
            root.file().report(number.line, format!("two printed numbers are named `{}`", number.name), "give each its own name");
        }
    }
    spec
}

/// Functions whose first words are a workload and contenders.
const OF_POINTS: [&str; 4] = ["result", "summary", "slope", "crossing"];

/// Reports what the study's own claims name and the study does not have: those of formulas only where it measures, those about points always.
pub(super) fn check_claims(
    root: &Section<'_>,
    (audit, (own, own_of_points)): (&AuditSpec, (usize, usize)),
    measures: bool,
    (workloads, contenders): (&[WorkloadSpec], &[Contender]),
) {
    check_points(root, (audit, own_of_points), workloads);
    if measures {
        check_names(root, (audit, own), workloads, contenders);
    }
}

/// Reports what the first claims name and the study does not have. An audit says so of printed numbers; trials would only be missed after
/// hours.
fn check_names(root: &Section<'_>, (audit, own): (&AuditSpec, usize), workloads: &[WorkloadSpec], contenders: &[Contender]) {
    let numbers: Vec<&str> =
        audit.numbers.iter().map(|n| n.name.as_str()).chain(audit.given.keys().map(String::as_str)).collect();
    let workloads: Vec<&str> = workloads.iter().map(|w| w.name.as_str()).collect();
    let contenders: Vec<&str> = contenders.iter().map(|c| c.name.as_str()).collect();
    for claim in audit.claims.iter().take(own) {
        let told = |what: &str, name: &str, known: &[&str], otherwise: &str| {
            let message = format!("claim \"{}\": {what}", claim.text);
            root.file().report(claim.line, message, did_you_mean(name, known, || otherwise.to_owned()));
        };
        let formula = &claim.rule.formula;
        if let Some(name) = formula.names().into_iter().find(|name| !numbers.contains(name)) {
            let what = format!("[{name}] is no printed number and no given number");
            told(&what, name, &numbers, "give it in `[given]`, or write the number itself");
        }
        for (function, arguments) in formula.functions() {
            if !crate::audit::is_function(function) {
                let what = format!("there is no function `{function}`");
                told(&what, function, &OF_POINTS, "docs/commands/audit.md and docs/study/factors.md list them");
            }
            let words = arguments.iter().filter_map(|a| if let Argument::Word(word) = a { Some(word.as_str()) } else { None });
            let words: Vec<&str> = words.filter(|_| OF_POINTS.contains(&function)).collect();
            // A last word of `result` names a column.
            let of_contenders = if function == "crossing" { 3 } else { 2 };
            for (i, word) in words.into_iter().take(of_contenders).enumerate() {
                let (what, known) = if i == 0 { ("workload", &workloads) } else { ("contender", &contenders) };
                if !known.contains(&word) {
                    let otherwise = format!("the {what}s are: {}", known.join(", "));
                    told(&format!("`{word}` is no {what} of the study"), word, known, &otherwise);
                }
            }
        }
    }
}

/// Reports workloads of the first claims about points that the study does not have; an audit would find no point of them.
fn check_points(root: &Section<'_>, (audit, own): (&AuditSpec, usize), workloads: &[WorkloadSpec]) {
    let known: Vec<&str> = workloads.iter().map(|w| w.name.as_str()).collect();
    for claim in audit.points_claims.iter().take(own) {
        for name in claim.workloads.iter().filter(|name| !known.contains(&name.as_str())) {
            let message = format!("claim \"{}\": `{name}` is no workload of the study", claim.text);
            let help = did_you_mean(name, &known, || format!("the workloads are: {}", known.join(", ")));
            root.file().report(claim.line, message, help);
        }
    }
}

/// The placeholders of a pattern with what takes their place.
#[derive(Default)]
struct Filled(Vec<(String, String)>);

impl Filled {
    fn text(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
    }
}

/// The values of `each` in a key: words divided by blanks, in the order of `each`.
fn fill(s: &Section<'_>, key: &str, each: &[String], values: &str) -> Option<Filled> {
    let words: Vec<&str> = values.split_whitespace().collect();
    if words.len() != each.len() {
        let message = format!("`{values}` has {} words, and `each` names {}", words.len(), each.len());
        s.report(key, message, format!("write one word for each of: {}", each.join(", ")));
        return None;
    }
    Some(Filled(each.iter().cloned().zip(words.into_iter().map(str::to_owned)).collect()))
}

fn each_of(s: &Section<'_>) -> Vec<String> {
    s.texts("each").map(|e| e.value).unwrap_or_default()
}

fn read_number(s: &Section<'_>, numbers: &mut Vec<PrintedNumber>) {
    let name = s.required_text("name", "\"tpmC of arm\"");
    let about = s.text("about").map(|a| a.value).unwrap_or_default();
    let each = each_of(s);
    let missing = s.text("missing").map(|m| m.value).unwrap_or_default();
    let mut rules: Vec<(String, String)> = s.text("formula").map(|f| (String::new(), f.value)).into_iter().collect();
    for reading in s.tables("reading") {
        let read = (reading.required_text("name", "\"compute only\""), reading.required_text("formula", "\"[a] / [b]\""));
        reading.finish();
        if let (Some(name), Some(formula)) = read {
            rules.push((name.value, formula.value));
        }
    }
    let printed = read_printed(s, &each);
    s.finish();
    if rules.is_empty() && missing.is_empty() {
        let help = "add `formula = \"…\"`, or `missing = \"…\"` that says which raw numbers are not there";
        s.report("name", "a printed number has no formula", help);
    }
    let Some(name) = name else { return };
    for (filled, digits) in printed {
        if numbers.len() >= NUMBERS_LIMIT {
            let message = format!("the study has more than {NUMBERS_LIMIT} printed numbers");
            return s.report("name", message, "divide it into several studies");
        }
        let rule = |(rule, text): &(String, String)| read_rule(s, filled.text(rule), filled.text(text));
        numbers.push(PrintedNumber {
            name: filled.text(&name.value),
            about: filled.text(&about),
            printed: digits.text,
            value: digits.value,
            decimals: digits.decimals,
            rules: rules.iter().filter_map(rule).collect(),
            missing: filled.text(&missing),
            line: s.line(),
        });
    }
}

/// The printed digits: one number, or a table of them by the words of `each`.
fn read_printed(s: &Section<'_>, each: &[String]) -> Vec<(Filled, Digits)> {
    if !s.is_table("printed") {
        if !each.is_empty() {
            s.report("each", "`each` needs a table of printed numbers", "write `printed = { \"arm us-west-2\" = \"12.30\" }`");
        }
        let digits = s.digits("printed");
        if digits.is_none() && !s.has("printed") {
            s.report("printed", "a number has no `printed`", "add the digits as printed, for instance `printed = \"12.30\"`");
        }
        return digits.map(|d| (Filled::default(), d.value)).into_iter().collect();
    }
    let Some(table) = s.table("printed") else { return Vec::new() };
    let one = |key: String| Some((fill(&table, &key, each, &key)?, table.digits(&key)?.value));
    table.others().into_iter().filter_map(one).collect()
}

fn read_rule(s: &Section<'_>, name: String, text: String) -> Option<Rule> {
    match Formula::parse(&text) {
        Ok(formula) => Some(Rule { name, text, formula }),
        Err(why) => {
            let help = "a formula has numbers, + - * /, brackets, [names] and functions; see docs/commands/audit.md";
            s.report("formula", why, help);
            None
        }
    }
}

fn read_claim(s: &Section<'_>, spec: &mut AuditSpec) {
    let text = s.required_text("text", "\"Arm is faster\"");
    let formula = s.required_text("formula", "\"[a] / [b]\"");
    let each = each_of(s);
    let of = s.texts("of").map(|o| o.value).unwrap_or_default();
    let bound = |key: &str| s.digits(key).map(|d| d.value.value);
    let (at_least, at_most) = (bound("at_least"), bound("at_most"));
    let weight = read_weight(s).unwrap_or(Weight::Conclusion);
    let own = s.boolean("own").is_some_and(|own| own.value);
    let note = s.text("note").map(|note| note.value).unwrap_or_default();
    let points = read_quantifier(s).map(|quantifier| {
        let words = |text: &Option<Located<String>>| text.as_ref().map(|t| t.value.clone()).unwrap_or_default();
        read_points_claim(s, quantifier, (words(&text), words(&formula)), (at_least, at_most), (weight, own))
    });
    s.finish();
    if at_least.is_none() && at_most.is_none() {
        s.report("text", "a claim has no bound", "add `at_least = …`, `at_most = …`, or both");
    }
    let (Some(text), Some(formula)) = (text, formula) else { return };
    if let Some(points) = points {
        for key in ["each", "of", "note"].into_iter().filter(|key| s.has(key)) {
            s.report(key, format!("`{key}` stands beside `points`"), "leave it out, or write one claim for each of its words");
        }
        let try_it = points.formula.replace("{workload}", "w").replace("{connections}", "1");
        if read_rule(s, String::new(), try_it).is_some() {
            spec.points_claims.push(points);
        }
        return;
    }
    let fillings: Vec<Filled> = match (each.is_empty(), of.is_empty()) {
        (true, true) => vec![Filled::default()],
        (false, false) => of.iter().filter_map(|values| fill(s, "of", &each, values)).collect(),
        _ => {
            s.report("each", "`each` and `of` go together", "write `each = [\"n\"]` and `of = [\"300\", \"600\"]`");
            return;
        }
    };
    for filled in fillings {
        if let Some(rule) = read_rule(s, String::new(), filled.text(&formula.value)) {
            let (text, note) = (filled.text(&text.value), filled.text(&note));
            spec.claims.push(Claim { text, rule, at_least, at_most, weight, own, note, line: s.line() });
        }
    }
}
