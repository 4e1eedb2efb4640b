//! The value of a formula, and the value that it has when some of its inputs are taken as they were printed.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use super::Ground;
use crate::exact::{Exact, Mode};
use crate::formula::{Argument, Formula, Operator};
use crate::study::PrintedNumber;

/// A value with the range in which reading errors leave it; both ends are the value where nothing was read from a chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The lowest.
    pub low: Exact,
    /// The value as read.
    pub value: Exact,
    /// The highest.
    pub high: Exact,
}

/// Which inputs of a number are not computed again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Cut {
    /// None: everything from raw numbers.
    Never,
    /// Numbers this many references away are taken as printed.
    Printed(u32),
    /// The same, but rounded rightly from their own exact values.
    Rounded(u32),
    /// These direct inputs are taken as printed, the others are exact.
    Some(BTreeSet<String>),
}

/// Where the inputs of a formula are from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Source {
    /// All of them stand in the article.
    Article,
    /// Some are numbers of `[given]`.
    Given,
    /// Some are from price lists, or from bills made of them.
    PriceLists,
}

impl Source {
    /// The words in a sentence; empty for the article itself.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Article => "",
            Self::Given => "with the given numbers",
            Self::PriceLists => "with the price lists of the study",
        }
    }
}

/// References may be this deep; a chain that is longer most likely goes round in a circle.
const DEEPEST: usize = 200;

pub(super) struct Evaluator<'a> {
    pub(super) ground: &'a Ground<'a>,
    numbers: BTreeMap<&'a str, &'a PrintedNumber>,
    exact: RefCell<BTreeMap<String, Result<Span, String>>>,
    /// Numbers whose printed value was used since it was last emptied.
    pub(super) used: RefCell<BTreeSet<String>>,
}

impl Span {
    /// A value without a reading error.
    pub fn point(value: Exact) -> Self {
        Self { low: value, value, high: value }
    }

    fn is_point(self) -> bool {
        self.low == self.high
    }

    /// A value that may be wrong by `error` either way.
    ///
    /// # Errors
    /// Where it does not fit.
    pub fn around(value: Exact, error: Exact) -> Result<Self, String> {
        Ok(Self { low: value.minus(error)?, value, high: value.plus(error)? })
    }

    fn combine(self, other: Self, with: impl Fn(Exact, Exact) -> Result<Exact, String>) -> Result<Self, String> {
        let value = with(self.value, other.value)?;
        if self.is_point() && other.is_point() {
            return Ok(Self::point(value));
        }
        // Sums and products are monotonous in each of their two sides, so the extremes are at the corners.
        let corners = [(self.low, other.low), (self.low, other.high), (self.high, other.low), (self.high, other.high)];
        let mut span = Self::point(value);
        for (a, b) in corners {
            let corner = with(a, b)?;
            span.low = span.low.min(corner);
            span.high = span.high.max(corner);
        }
        Ok(span)
    }

    fn over(self, other: Self) -> Result<Self, String> {
        if !other.is_point() && other.low <= Exact::ZERO && other.high >= Exact::ZERO {
            return Err("a division by a number that may be zero within its reading error".to_owned());
        }
        self.combine(other, Exact::over)
    }
}

impl<'a> Evaluator<'a> {
    pub(super) fn new(ground: &'a Ground<'a>) -> Self {
        let numbers = ground.study.audit.numbers.iter().map(|f| (f.name.as_str(), f)).collect();
        Self { ground, numbers, exact: RefCell::default(), used: RefCell::default() }
    }

    pub(super) fn number(&self, name: &str) -> Option<&'a PrintedNumber> {
        self.numbers.get(name).copied()
    }

    /// How many references the longest chain below a formula has.
    pub(super) fn depth(&self, formula: &Formula) -> u32 {
        fn below(all: &Evaluator<'_>, formula: &Formula, left: usize) -> u32 {
            let deeper = |name: &&str| match all.numbers.get(*name).and_then(|f| f.rules.first()) {
                Some(rule) if left > 0 => 1 + below(all, &rule.formula, left - 1),
                _ => 1,
            };
            formula.names().iter().filter(|n| all.numbers.contains_key(**n)).map(deeper).max().unwrap_or(0)
        }
        // Articles have three or four stages; more are not told apart.
        below(self, formula, 4)
    }

    /// Where the inputs of a formula are from, by way of the numbers that it names.
    pub(super) fn source(&self, formula: &Formula) -> Source {
        let (mut open, mut seen, mut found) = (vec![formula], BTreeSet::new(), Source::Article);
        while let Some(formula) = open.pop() {
            if formula.functions().iter().any(|(function, _)| super::functions::is_of_price_lists(function)) {
                return Source::PriceLists;
            }
            for name in formula.names().into_iter().filter(|name| seen.insert(*name)) {
                if self.ground.study.audit.given.contains_key(name) {
                    found = Source::Given;
                }
                open.extend(self.numbers.get(name).and_then(|number| number.rules.first()).map(|rule| &rule.formula));
            }
        }
        found
    }

    /// The value of a formula under a cut.
    ///
    /// # Errors
    /// What cannot be computed, and why.
    pub(super) fn value(&self, formula: &Formula, cut: &Cut) -> Result<Span, String> {
        self.walk(formula, cut, 0)
    }

    fn walk(&self, formula: &Formula, cut: &Cut, depth: usize) -> Result<Span, String> {
        match formula {
            Formula::Number(n) => Ok(Span::point(*n)),
            Formula::Name(name) => self.name(name, cut, depth),
            Formula::Minus(inner) => {
                let v = self.walk(inner, cut, depth)?;
                Ok(Span { low: v.high.negated(), value: v.value.negated(), high: v.low.negated() })
            }
            Formula::Binary(operator, a, b) => {
                let (a, b) = (self.walk(a, cut, depth)?, self.walk(b, cut, depth)?);
                match operator {
                    Operator::Plus => a.combine(b, Exact::plus),
                    Operator::Minus => a.combine(b, Exact::minus),
                    Operator::Times => a.combine(b, Exact::times),
                    Operator::Over => a.over(b),
                }
            }
            Formula::Call(function, arguments) => self.call(function, arguments, cut, depth),
        }
    }

    fn name(&self, name: &str, cut: &Cut, depth: usize) -> Result<Span, String> {
        if let Some(given) = self.ground.study.audit.given.get(name) {
            return Ok(Span::point(*given));
        }
        let Some(number) = self.numbers.get(name) else {
            return Err(unknown(name, self.numbers.keys().copied().chain(self.given_names())));
        };
        if depth > DEEPEST {
            return Err(format!("[{name}] refers to itself, by way of others or at once"));
        }
        let printed = || {
            self.used.borrow_mut().insert(name.to_owned());
            Ok(Span::point(number.value))
        };
        let next = match cut {
            Cut::Printed(1) => return printed(),
            Cut::Some(names) if names.contains(name) => return printed(),
            Cut::Rounded(1) => {
                let exact = self.number_exact(number, depth)?;
                return Ok(Span::point(exact.value.rounded(number.decimals, Mode::HalfUp)?));
            }
            Cut::Printed(n) => Cut::Printed(n - 1),
            Cut::Rounded(n) => Cut::Rounded(n - 1),
            Cut::Some(_) | Cut::Never => return self.number_exact(number, depth),
        };
        let rule = number.rules.first().ok_or_else(|| not_derivable(number))?;
        self.walk(&rule.formula, &next, depth + 1)
    }

    /// The value of a number from raw numbers, computed once.
    fn number_exact(&self, number: &PrintedNumber, depth: usize) -> Result<Span, String> {
        if let Some(known) = self.exact.borrow().get(&number.name) {
            return known.clone();
        }
        let rule = number.rules.first().ok_or_else(|| not_derivable(number))?;
        let value = self.walk(&rule.formula, &Cut::Never, depth + 1);
        self.exact.borrow_mut().insert(number.name.clone(), value.clone());
        value
    }

    fn given_names(&self) -> impl Iterator<Item = &str> {
        self.ground.study.audit.given.keys().map(String::as_str)
    }

    fn call(&self, function: &str, arguments: &[Argument], cut: &Cut, depth: usize) -> Result<Span, String> {
        let numbers = || -> Result<Vec<Span>, String> {
            let number = |a: &Argument| match a {
                Argument::Formula(f) => self.walk(f, cut, depth),
                Argument::Word(w) => Err(format!("`{function}` takes numbers, not the word '{w}'")),
            };
            let all: Vec<Span> = arguments.iter().map(number).collect::<Result<_, _>>()?;
            if all.is_empty() { Err(format!("`{function}` needs at least one number")) } else { Ok(all) }
        };
        let fold = |with: fn(Exact, Exact) -> Exact| {
            let each =
                |a: Span, b: &Span| Span { low: with(a.low, b.low), value: with(a.value, b.value), high: with(a.high, b.high) };
            numbers().map(|all| all[1..].iter().fold(all[0], each))
        };
        let sum = |all: &[Span]| all[1..].iter().try_fold(all[0], |a, b| a.combine(*b, Exact::plus));
        match function {
            "sum" => sum(&numbers()?),
            "mean" => {
                let all = numbers()?;
                sum(&all)?.over(Span::point(Exact::whole(all.len() as i128)))
            }
            "max" => fold(Ord::max),
            "min" => fold(Ord::min),
            "percent" => {
                let all = numbers()?;
                if all.len() != 1 {
                    return Err(format!("`percent` takes one number, not {}", all.len()));
                }
                all[0].combine(Span::point(Exact::whole(100)), Exact::times)
            }
            _ => self.look_up(function, arguments, cut, depth),
        }
    }

    /// The functions that read the study, its bills and its price lists.
    fn look_up(&self, function: &str, arguments: &[Argument], cut: &Cut, depth: usize) -> Result<Span, String> {
        let word = |argument: &Argument| match argument {
            Argument::Word(w) => Ok(w.clone()),
            Argument::Formula(f) => Ok(self.walk(f, cut, depth)?.value.full_text().replace(',', "")),
        };
        let words: Vec<String> = arguments.iter().map(word).collect::<Result<_, String>>()?;
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        super::functions::look_up(self.ground, function, &words)
    }
}

fn not_derivable(number: &PrintedNumber) -> String {
    format!("[{}] has no formula: {}", number.name, number.missing)
}

/// That a name is not known, with the nearest one.
pub(super) fn unknown<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> String {
    let near = crate::problem::nearest(name, known).map(|n| format!("; did you mean [{n}]?")).unwrap_or_default();
    format!("[{name}] is no printed number and no given number{near}")
}
