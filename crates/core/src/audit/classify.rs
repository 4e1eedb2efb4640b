//! Which rule gives the printed digits.

use std::collections::{BTreeMap, BTreeSet};

use super::evaluate::{Cut, Evaluator};
use super::{Class, Finding, Reading};
use crate::exact::{Exact, Mode};
use crate::formula::Formula;
use crate::study::{PrintedNumber, Rule};

/// Inputs of a number of which every choice is tried as printed; with more the choices would explain anything.
const INPUTS_TRIED: usize = 4;

pub(super) struct Classifier<'a, 'e> {
    evaluator: &'e Evaluator<'a>,
    known: BTreeMap<String, Class>,
}

struct Explained {
    class: Class,
    rule: String,
}

impl<'a, 'e> Classifier<'a, 'e> {
    pub(super) fn new(evaluator: &'e Evaluator<'a>) -> Self {
        Self { evaluator, known: BTreeMap::new() }
    }

    /// The finding of a number. Of several readings the best one counts, the first of those that are equally good.
    pub(super) fn finding(&mut self, number: &PrintedNumber) -> Finding {
        let found = self.readings(number);
        let best = found.iter().min_by_key(|(explained, _)| explained.class);
        let (class, rule) = match best {
            Some((explained, reading)) => (explained.class, with_name(&reading.name, explained)),
            None => (Class::NotDerivable, number.missing.clone()),
        };
        self.known.insert(number.name.clone(), class);
        let of = |text: fn(&Reading) -> &String| best.map(|(_, reading)| text(reading).clone()).unwrap_or_default();
        let (name, about, printed) = (number.name.clone(), number.about.clone(), number.printed.clone());
        let (formula, exact, right) = (of(|r| &r.formula), of(|r| &r.exact), of(|r| &r.right));
        let all = found.into_iter().map(|(_, reading)| reading);
        let readings = if all.len() > 1 { all.collect() } else { Vec::new() };
        Finding { name, about, printed, formula, exact, right, class, rule, readings }
    }

    fn readings(&mut self, number: &PrintedNumber) -> Vec<(Explained, Reading)> {
        let one = |rule: &Rule| {
            let exact = self.evaluator.value(&rule.formula, &Cut::Never).map(|span| span.value);
            let (explained, exact, right) = match exact {
                Ok(exact) => (self.explain(number, &rule.formula, exact), exact.full_text(), exact.text(number.decimals)),
                Err(why) => (Explained { class: Class::NotDerivable, rule: why }, String::new(), String::new()),
            };
            let reading = Reading { name: rule.name.clone(), formula: rule.text.clone(), exact, right, class: explained.class };
            (explained, reading)
        };
        number.rules.iter().map(one).collect()
    }

    fn explain(&mut self, number: &PrintedNumber, formula: &Formula, exact: Exact) -> Explained {
        let (printed, decimals) = (number.value, number.decimals);
        if printed == exact {
            return Explained { class: Class::Exact, rule: "the exact value".to_owned() };
        }
        if let Some(how) = rounding(exact, printed, decimals) {
            let class = if how == Mode::Truncate { Class::Truncated } else { Class::Rounded };
            return Explained { class, rule: mode_text(how, decimals) };
        }
        let mut follows = None;
        for (cut, what) in self.cuts(formula) {
            self.evaluator.used.borrow_mut().clear();
            let Ok(value) = self.evaluator.value(formula, &cut) else { continue };
            let used = self.evaluator.used.borrow().clone();
            let Some(how) = rounding(value.value, printed, decimals) else { continue };
            let rule = format!("{} of {what}: {}", mode_text(how, decimals), value.value.full_text());
            match used.iter().find(|name| self.class_of(name) >= Class::Inconsistent) {
                None => return Explained { class: Class::FromRounded, rule },
                Some(wrong) if follows.is_none() => {
                    follows = Some(format!("follows from [{wrong}], which is itself inconsistent"));
                }
                Some(_) => {}
            }
        }
        let rule = follows.unwrap_or_else(|| hint(exact, printed, decimals));
        Explained { class: Class::Inconsistent, rule }
    }

    /// What may have been rounded before: all inputs of one stage, then some of the direct ones.
    fn cuts(&self, formula: &Formula) -> Vec<(Cut, String)> {
        let depth = self.evaluator.depth(formula);
        let inputs: Vec<String> =
            formula.names().into_iter().filter(|n| self.evaluator.number(n).is_some()).map(str::to_owned).collect();
        let before = |n: u32| if n == 1 { "1 stage before".to_owned() } else { format!("{n} stages before") };
        let stage = |n: u32| match n {
            1 => "its printed inputs".to_owned(),
            n => format!("printed values {}, with none rounded in between", before(n - 1)),
        };
        let mut cuts: Vec<(Cut, String)> = (1..=depth).map(|n| (Cut::Printed(n), stage(n))).collect();
        if (2..=INPUTS_TRIED).contains(&inputs.len()) {
            // Bit patterns between none and all: those two are the exact value and the first stage.
            for pattern in 1..(1u32 << inputs.len()) - 1 {
                let chosen: BTreeSet<String> =
                    inputs.iter().enumerate().filter(|(i, _)| pattern & (1 << i) != 0).map(|(_, n)| n.clone()).collect();
                let names: Vec<String> = chosen.iter().map(|n| format!("[{n}]")).collect();
                cuts.push((Cut::Some(chosen), format!("{} as printed and its other inputs exact", names.join(" and "))));
            }
        }
        cuts.extend((1..=depth).map(|n| (Cut::Rounded(n), format!("inputs {}, rounded rightly", before(n)))));
        cuts
    }

    /// The class of another number; circles were found before, when everything was evaluated once.
    fn class_of(&mut self, name: &str) -> Class {
        if let Some(known) = self.known.get(name) {
            return *known;
        }
        let used = self.evaluator.used.take();
        let class = self.evaluator.number(name).map_or(Class::NotDerivable, |number| self.finding(number).class);
        *self.evaluator.used.borrow_mut() = used;
        self.known.insert(name.to_owned(), class);
        class
    }
}

fn with_name(name: &str, explained: &Explained) -> String {
    if name.is_empty() { explained.rule.clone() } else { format!("{name}: {}", explained.rule) }
}

/// The mode that makes the exact value the printed one; rounding before cutting off.
fn rounding(exact: Exact, printed: Exact, decimals: u32) -> Option<Mode> {
    [Mode::HalfUp, Mode::HalfEven, Mode::Truncate].into_iter().find(|mode| exact.rounded(decimals, *mode) == Ok(printed))
}

fn mode_text(mode: Mode, decimals: u32) -> String {
    let to = match decimals {
        0 => "to a whole number".to_owned(),
        1 => "to 1 decimal".to_owned(),
        n => format!("to {n} decimals"),
    };
    match mode {
        Mode::HalfUp => format!("rounded {to}"),
        Mode::HalfEven => format!("rounded {to}, a half to the even digit"),
        Mode::Truncate => {
            format!("cut off {}, not rounded", to.replacen("to", "after", 1).replace("after a whole number", "after the point"))
        }
        Mode::Away => format!("rounded up {to}"),
    }
}

/// What comes near, where no rule gives the digits.
fn hint(exact: Exact, printed: Exact, decimals: u32) -> String {
    let fewer = (0..decimals).rev().find(|d| exact.rounded(*d, Mode::HalfUp) == Ok(printed));
    if let Some(fewer) = fewer {
        return format!("no rule gives these digits; it would be {}", mode_text(Mode::HalfUp, fewer));
    }
    if exact.rounded(decimals, Mode::Away) == Ok(printed) {
        return format!("no rule gives these digits; it would be {}", mode_text(Mode::Away, decimals));
    }
    if exact.negated().rounded(decimals, Mode::HalfUp) == Ok(printed) {
        return "no rule gives these digits; the right ones have the other sign".to_owned();
    }
    "no rule gives these digits".to_owned()
}
