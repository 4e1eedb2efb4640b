//! The value of a formula on what was measured.

use super::crossing::crossing;
use super::linear::Linear;
use crate::audit::{Ground, constant};
use crate::exact::Exact;
use crate::formula::{Argument, Formula, Operator};
use crate::stats::Interval;
use crate::study::Summary;

use crate::compare::{PointResult, WorkloadResult};
use crate::metric::Better;

/// References may be this deep; a chain that is longer most likely goes round in a circle.
const DEEPEST: usize = 200;

/// What formulas are evaluated on.
pub(super) struct Measured<'a> {
    pub(super) ground: &'a Ground<'a>,
    pub(super) workloads: &'a [WorkloadResult],
    /// Whether trials share no blocks.
    pub(super) independent: bool,
}

/// A value with its interval.
pub(super) struct Assessed {
    pub(super) value: f64,
    /// `None` where a point has a single trial.
    pub(super) interval: Option<Interval>,
    pub(super) note: String,
}

impl Measured<'_> {
    /// The value of a formula and its interval.
    ///
    /// # Errors
    /// What it names that was not measured.
    pub(super) fn assess(&self, formula: &Formula) -> Result<Assessed, String> {
        let confidence = self.ground.study.decision.confidence;
        match formula {
            Formula::Call(function, arguments) if function == "crossing" => self.crossing(arguments),
            // What every part must keep, each of them keeps by itself.
            Formula::Call(function, arguments) if matches!(function.as_str(), "min" | "max") && arguments.len() > 1 => {
                let parts = self.numbers(arguments, 0)?;
                let each = 1.0 - (1.0 - confidence) / parts.len() as f64;
                let wide: Option<Vec<Interval>> = parts.iter().map(|part| part.interval(each)).collect();
                let narrow: Option<Vec<Interval>> = parts.iter().map(|part| part.interval(confidence)).collect();
                let lowest = |all: &mut dyn Iterator<Item = f64>| all.fold(f64::INFINITY, f64::min);
                let highest = |all: &mut dyn Iterator<Item = f64>| all.fold(f64::NEG_INFINITY, f64::max);
                let (value, interval) = if function == "min" {
                    let interval = narrow.zip(wide).map(|(narrow, wide)| Interval {
                        low: lowest(&mut narrow.iter().map(|i| i.low)),
                        high: lowest(&mut wide.iter().map(|i| i.high)),
                    });
                    (lowest(&mut parts.iter().map(|part| part.value)), interval)
                } else {
                    let interval = narrow.zip(wide).map(|(narrow, wide)| Interval {
                        low: highest(&mut wide.iter().map(|i| i.low)),
                        high: highest(&mut narrow.iter().map(|i| i.high)),
                    });
                    (highest(&mut parts.iter().map(|part| part.value)), interval)
                };
                Ok(Assessed { value, interval, note: String::new() })
            }
            _ => {
                let found = self.walk(formula, 0)?;
                Ok(Assessed { value: found.value, interval: found.interval(confidence), note: String::new() })
            }
        }
    }

    fn walk(&self, formula: &Formula, depth: usize) -> Result<Linear, String> {
        if depth > DEEPEST {
            return Err("a number refers to itself, by way of others or at once".to_owned());
        }
        match formula {
            Formula::Number(n) => Ok(Linear::constant(n.as_f64())),
            Formula::Name(name) => self.name(name, depth),
            Formula::Minus(inner) => {
                let inner = self.walk(inner, depth + 1)?;
                let value = -inner.value;
                Ok(inner.of_one(value, -1.0))
            }
            Formula::Binary(operator, a, b) => {
                let (a, b) = (self.walk(a, depth + 1)?, self.walk(b, depth + 1)?);
                joined(*operator, &a, &b)
            }
            Formula::Call(function, arguments) => self.call(function, arguments, depth + 1),
        }
    }

    /// A given number, or a printed one made again from what was measured.
    fn name(&self, name: &str, depth: usize) -> Result<Linear, String> {
        let audit = &self.ground.study.audit;
        if let Some(given) = audit.given.get(name) {
            return Ok(Linear::constant(given.as_f64()));
        }
        let number = audit.numbers.iter().find(|number| number.name == name);
        let number = number.ok_or_else(|| format!("[{name}] is no printed number and no given number"))?;
        match number.rules.first() {
            Some(rule) => self.walk(&rule.formula, depth + 1),
            None => Err(format!("[{name}] has no formula: {}", number.missing)),
        }
    }

    fn numbers(&self, arguments: &[Argument], depth: usize) -> Result<Vec<Linear>, String> {
        let number = |argument: &Argument| match argument {
            Argument::Formula(formula) => self.walk(formula, depth),
            Argument::Word(word) => Err(format!("a number is wanted, not the word '{word}'")),
        };
        arguments.iter().map(number).collect()
    }

    fn words(&self, arguments: &[Argument], depth: usize) -> Result<Vec<String>, String> {
        let word = |argument: &Argument| match argument {
            Argument::Word(word) => Ok(word.clone()),
            Argument::Formula(formula) => Ok(self.walk(formula, depth)?.value.to_string()),
        };
        arguments.iter().map(word).collect()
    }

    fn call(&self, function: &str, arguments: &[Argument], depth: usize) -> Result<Linear, String> {
        match function {
            "sum" => Ok(Linear::sum(&self.numbers(arguments, depth)?)),
            "mean" => {
                let all = self.numbers(arguments, depth)?;
                let (sum, n) = (Linear::sum(&all), all.len() as f64);
                let value = sum.value / n;
                Ok(sum.of_one(value, 1.0 / n))
            }
            "min" | "max" => {
                let all = self.numbers(arguments, depth)?.into_iter();
                let by = |a: &Linear, b: &Linear| a.value.total_cmp(&b.value);
                let found = if function == "min" { all.min_by(by) } else { all.max_by(by) };
                found.ok_or_else(|| format!("`{function}` needs at least one number"))
            }
            "percent" => match self.numbers(arguments, depth)?.as_slice() {
                [share] => Ok(share.clone().of_one(100.0 * share.value, 100.0)),
                all => Err(format!("`percent` takes one number, not {}", all.len())),
            },
            "crossing" => Err("`crossing` is a claim's whole formula, and no part of one".to_owned()),
            _ => self.look_up(function, &self.words(arguments, depth)?),
        }
    }

    fn look_up(&self, function: &str, words: &[String]) -> Result<Linear, String> {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match (function, words.as_slice()) {
            ("result", [workload, contender, level]) => self.result(workload, contender, level),
            ("result", [workload, contender, level, column]) if self.workload(workload)?.metric.name == *column => {
                self.result(workload, contender, level)
            }
            ("result", [_, _, _, column]) => Err(format!("`{column}` is not what is compared here")),
            ("summary", [workload, contender]) => self.summary(workload, contender),
            ("slope", [workload, contender]) => self.slope(workload, contender),
            _ => constant(self.ground, function, &words).map(|exact: Exact| Linear::constant(exact.as_f64())),
        }
    }

    fn workload(&self, name: &str) -> Result<&WorkloadResult, String> {
        self.workloads.iter().find(|w| w.workload == name).ok_or_else(|| format!("workload `{name}` was not measured"))
    }

    /// The measured points of a contender, by ascending load.
    fn points(&self, workload: &str, contender: &str) -> Result<Vec<(&PointResult, Linear)>, String> {
        let (w, result) = (self.workloads.iter().position(|w| w.workload == workload), self.workload(workload)?);
        let mine = result.points.iter().enumerate().filter(|(_, point)| point.contender == contender);
        let linear = |(i, point): (usize, &PointResult)| {
            // A name for the point where its trials share nothing with those of others.
            let before: usize = self.workloads.iter().take(w.unwrap_or(0)).map(|w| w.points.len()).sum();
            let own = if self.independent { 1 + (before + i) as u32 } else { 0 };
            Linear::mean(&point.trials(), own)
        };
        let all: Vec<_> = mine.filter_map(|(i, point)| Some((point, linear((i, point))?))).collect();
        if all.is_empty() { Err(format!("{contender} was not measured with {workload}")) } else { Ok(all) }
    }

    fn result(&self, workload: &str, contender: &str, level: &str) -> Result<Linear, String> {
        let found = self.points(workload, contender)?.into_iter().find(|(point, _)| point.level.to_string() == level);
        found
            .map(|(_, linear)| linear)
            .ok_or_else(|| format!("{contender} was not measured with {workload} at {level} connections"))
    }

    fn summary(&self, workload: &str, contender: &str) -> Result<Linear, String> {
        let (result, points) = (self.workload(workload)?, self.points(workload, contender)?);
        if let Summary::MeanOver(levels) = &result.summary {
            let at = |level: &u32| self.result(workload, contender, &level.to_string());
            let all: Vec<Linear> = levels.iter().map(at).collect::<Result<_, _>>()?;
            let (sum, n) = (Linear::sum(&all), all.len() as f64);
            let value = sum.value / n;
            return Ok(sum.of_one(value, 1.0 / n));
        }
        let by = |a: &Linear, b: &Linear| a.value.total_cmp(&b.value);
        let values = points.into_iter().map(|(_, linear)| linear);
        let best = if result.metric.better == Better::Higher { values.max_by(by) } else { values.min_by(by) };
        best.ok_or_else(|| format!("{contender} was not measured with {workload}"))
    }

    /// The slope of the logarithm of the value over the logarithm of the load, by least squares: 1 is a value that grows as the load does.
    fn slope(&self, workload: &str, contender: &str) -> Result<Linear, String> {
        let points = self.points(workload, contender)?;
        let xs: Vec<f64> = points.iter().map(|(point, _)| f64::from(point.level).ln()).collect();
        let centre = xs.iter().sum::<f64>() / xs.len() as f64;
        let spread: f64 = xs.iter().map(|x| (x - centre).powi(2)).sum();
        if spread <= 0.0 {
            return Err(format!("{contender} was measured with {workload} at one load, and a slope needs two"));
        }
        let weighed = |(x, (_, value)): (&f64, (&PointResult, Linear))| {
            let (share, ln) = ((x - centre) / spread, value.ln()?);
            let part = share * ln.value;
            Some(ln.of_one(part, share))
        };
        let parts: Option<Vec<Linear>> = xs.iter().zip(points).map(weighed).collect();
        parts.map(|parts| Linear::sum(&parts)).ok_or_else(|| format!("{contender} has a value of 0 with {workload}"))
    }

    /// `crossing('workload', 'contender')`, against the baseline, or against a third word.
    fn crossing(&self, arguments: &[Argument]) -> Result<Assessed, String> {
        let words = self.words(arguments, 0)?;
        let base = &self.ground.study.baseline().name;
        let (workload, contender, base) = match words.as_slice() {
            [workload, contender] => (workload, contender, base),
            [workload, contender, base] => (workload, contender, base),
            _ => return Err("`crossing` is used as crossing('workload', 'contender') or with another 'contender'".to_owned()),
        };
        let (mine, theirs) = (self.points(workload, contender)?, self.points(workload, base)?);
        let ratio = |(point, value): (&PointResult, Linear)| {
            let (_, below) = theirs.iter().find(|(other, _)| other.level == point.level)?;
            let (above, below) = (value.ln()?, below.clone().ln()?);
            let ratio = Linear::of_two(&above, &below, above.value - below.value, [1.0, -1.0]);
            Some((f64::from(point.level), ratio))
        };
        let ratios: Vec<(f64, Linear)> = mine.into_iter().filter_map(ratio).collect();
        let last = ratios.last().map_or(0.0, |(level, _)| *level);
        let confidence = self.ground.study.decision.confidence;
        let found = crossing(&ratios, confidence)
            .ok_or_else(|| format!("{contender} and {base} were measured with {workload} at fewer than two loads"))?;
        let open = found.interval.is_some_and(|i| i.high.is_infinite());
        let note = match found.interval {
            Some(_) if found.from.is_infinite() => format!("not ahead at {last} connections, the most that were measured"),
            Some(i) if open => format!("from {:.0} connections on at the earliest; it may be beyond {last}", i.low),
            _ => String::new(),
        };
        Ok(Assessed { value: found.from, interval: found.interval, note })
    }
}

fn joined(operator: Operator, a: &Linear, b: &Linear) -> Result<Linear, String> {
    match operator {
        Operator::Plus => Ok(Linear::of_two(a, b, a.value + b.value, [1.0, 1.0])),
        Operator::Minus => Ok(Linear::of_two(a, b, a.value - b.value, [1.0, -1.0])),
        Operator::Times => Ok(Linear::of_two(a, b, a.value * b.value, [b.value, a.value])),
        Operator::Over if b.value == 0.0 => Err("a division by zero".to_owned()),
        Operator::Over => {
            let value = a.value / b.value;
            Ok(Linear::of_two(a, b, value, [1.0 / b.value, -value / b.value]))
        }
    }
}
