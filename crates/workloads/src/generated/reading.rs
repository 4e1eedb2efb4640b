//! Reads the rule of a column: what its values are, and which of them a row has.

use perbuck_core::plan;
use perbuck_core::problem::nearest;
use perbuck_core::study::Scalar;
use perbuck_core::workload_kind::{TABLE_FILE, file_text};

use super::csv;
use super::given::Given;
use super::pick::{Law, Pick};
use super::rule::{Rule, SECONDS_PER_DAY, Value};
use crate::day::Day;
use crate::params::Reader;

/// The longest text in characters: a row must fit into a batch of the load.
const LONGEST_TEXT: i64 = 100_000;

/// The keys that say what the values are; a column has one of them.
const SOURCES: [&str; 8] = ["sequence", "number", "text", "date", "timestamp", "choices", TABLE_FILE, "references"];
/// The keys that say which value a row has, and what they stand beside.
const MODIFIERS: [(&str, &[&str]); 7] = [
    ("step", &["sequence"]),
    ("repeat", &SOURCES),
    ("decimals", &["number"]),
    ("column", &[TABLE_FILE]),
    ("weights", &["choices", TABLE_FILE]),
    ("distribution", &["number", "text", "date", "timestamp", "choices", TABLE_FILE, "references"]),
    ("parameter", &["number", "text", "date", "timestamp", "choices", TABLE_FILE, "references"]),
];

/// The distributions, with the least and the greatest parameter of those that need one.
const LAWS: [(&str, Option<(f64, f64)>); 5] = [
    ("uniform", None),
    ("sequential", None),
    ("gaussian", Some((2.0, 1000.0))),
    ("exponential", Some((0.001, 1000.0))),
    ("zipfian", Some((0.0, 100.0))),
];

/// A column of which the rule is read.
pub(super) struct Reading<'r, 'p, 'g> {
    pub(super) reader: &'r mut Reader<'p>,
    /// Table and column, for messages.
    pub(super) who: String,
    pub(super) given: &'g Given<'p>,
}

impl<'p, 'g> Reading<'_, 'p, 'g> {
    pub(super) fn problem(&mut self, at: &Given<'_>, message: impl AsRef<str>, help: impl Into<String>) {
        self.reader.problem(&at.path, format!("{}: {}", self.who, message.as_ref()), help);
    }

    /// What a value is not; nothing comes of it.
    fn wrong<T>(&mut self, key: &str, wanted: &str, help: impl Into<String>) -> Option<T> {
        let given = self.given;
        let at = given.get(key).unwrap_or(given);
        self.problem(at, format!("`{key}` is {}, not {wanted}", at.shown()), help);
        None
    }

    /// The key that says what the values are, after a look at all keys.
    pub(super) fn source(&mut self) -> Option<&'p str> {
        let given = self.given;
        let sources: Vec<&'p str> = given.keys().map(|(key, _)| key).filter(|key| SOURCES.contains(key)).collect();
        for (key, at) in given.keys().filter(|(key, _)| !SOURCES.contains(key) && !["name", "null"].contains(key)) {
            match MODIFIERS.iter().find(|(known, _)| *known == key) {
                Some((_, beside)) if !sources.iter().all(|source| beside.contains(source)) => {
                    self.problem(at, format!("`{key}` belongs to {}", list(beside)), "leave it out");
                }
                Some(_) => {}
                None => {
                    let known: Vec<&str> =
                        SOURCES.into_iter().chain(MODIFIERS.map(|(key, _)| key)).chain(["name", "null"]).collect();
                    let help = match nearest(key, known.iter().copied()) {
                        Some(near) => format!("did you mean `{near}`?"),
                        None => format!("a column knows: {}", known.join(", ")),
                    };
                    self.problem(at, format!("unknown key `{key}`"), help);
                }
            }
        }
        match sources[..] {
            [one] => Some(one),
            [] => {
                let help = format!("give it one of {}", list(&SOURCES));
                self.problem(given, "no key says what its values are", help);
                None
            }
            [first, second, ..] => {
                self.problem(given, format!("it has both `{first}` and `{second}`"), "keep one of them");
                None
            }
        }
    }

    /// The rule of any source but `references`.
    pub(super) fn rule(&mut self, source: &str, rows: u64) -> Option<Rule> {
        match source {
            "sequence" => self.sequence(rows),
            "number" => self.number(),
            "text" => self.text(),
            "date" => {
                let day = |given: &Given<'_>| given.text().and_then(Day::parse);
                let help = "write the first and the last day: [\"2020-01-01\", \"2025-12-31\"]";
                let (first, last) = self.span(source, day, |day| day.number().into(), help)?;
                let pick = self.pick(last - first + 1)?;
                Some(Rule::Date { first: first as u32, pick })
            }
            "timestamp" => {
                let help = "write the first and the last one: [\"2020-01-01\", \"2025-12-31 23:59:59\"]";
                let (first, last) = self.span(source, |given| given.text().and_then(seconds), |seconds| seconds, help)?;
                Some(Rule::Timestamp { first, pick: self.pick(last - first + 1)? })
            }
            "choices" => self.choices(),
            _ => self.csv(),
        }
    }

    /// Whole number `key`, at least `least`; `default` where it is absent.
    fn whole(&mut self, key: &str, least: i64, default: i64) -> Option<i64> {
        match self.given.get(key).map(Given::int) {
            None => Some(default),
            Some(Some(value)) if value >= least => Some(value),
            Some(_) if least == i64::MIN => self.wrong(key, "a whole number", "write for instance 1"),
            Some(_) => self.wrong(key, &format!("a whole number from {least}"), "write for instance 10"),
        }
    }

    fn sequence(&mut self, rows: u64) -> Option<Rule> {
        let (start, step) = (self.whole("sequence", i64::MIN, 1)?, self.whole("step", i64::MIN, 1)?);
        let repeat = self.whole("repeat", 1, 1)? as u64;
        if step == 0 {
            return self.wrong("step", "a step", "leave it out for 1");
        }
        let last = i128::from(start) + i128::from(step) * i128::from((rows - 1) / repeat);
        if i64::try_from(last).is_err() {
            return self.wrong(
                "sequence",
                "the start of so many numbers of 64 bits",
                "start it nearer to 0, or with a smaller `step`",
            );
        }
        Some(Rule::Sequence { start, step, repeat })
    }

    fn number(&mut self) -> Option<Rule> {
        let decimals = self.whole("decimals", 0, 0)?;
        if decimals > 18 {
            return self.wrong("decimals", "a whole number from 0 to 18", "write for instance 2");
        }
        let given = self.given.get("number")?;
        let Some((low, high)) = given.range(|end| unscaled(end, decimals as u8)) else {
            let help = match given.range(Given::number) {
                Some(_) => format!("give `decimals` as many digits as these have after the point; it is {decimals}"),
                None => "write the least and the greatest: [1, 1000]".to_owned(),
            };
            return self.wrong("number", &format!("a range of numbers with {decimals} decimals"), help);
        };
        match high.checked_sub(low).and_then(|span| span.checked_add(1)) {
            Some(n) if n > 0 => Some(Rule::Number { low, decimals: decimals as u8, pick: self.pick(n as u64)? }),
            _ => self.wrong("number", "a range of at most 2⁶³ numbers", "write the least one first: [1, 1000]"),
        }
    }

    fn text(&mut self) -> Option<Rule> {
        let given = self.given.get("text")?;
        let length = |end: &Given<'_>| end.int().filter(|length| (0..=LONGEST_TEXT).contains(length));
        match length(given).map(|one| (one, one)).or_else(|| given.range(length)).filter(|(low, high)| low <= high) {
            Some((low, high)) => Some(Rule::Text { shortest: low as u64, pick: self.pick((high - low + 1) as u64)? }),
            None => {
                let wanted = format!("a length, or a range of lengths, from 0 to {LONGEST_TEXT}");
                self.wrong("text", &wanted, "write for instance 20, or [12, 40]")
            }
        }
    }

    /// The first and the last of a range of days or seconds.
    fn span<T>(
        &mut self,
        key: &str,
        read: impl Fn(&Given<'_>) -> Option<T>,
        number: impl Fn(T) -> u64,
        help: &str,
    ) -> Option<(u64, u64)> {
        let given = self.given.get(key)?;
        if let Some(bad) = given.entries().find(|end| read(end).is_none()) {
            self.problem(bad, format!("`{key}`: {} is no {key}", bad.shown()), help);
            return None;
        }
        match given.range(&read).map(|(first, last)| (number(first), number(last))) {
            Some((first, last)) if first <= last => Some((first, last)),
            _ => self.wrong(key, "a range", help),
        }
    }

    fn choices(&mut self) -> Option<Rule> {
        let given = self.given.get("choices")?;
        let value = |given: &Given<'_>| match given.value? {
            Scalar::Int(value) => Some(Value::Int(*value)),
            Scalar::Text(text) => Some(Value::Text(text.as_str().into())),
            Scalar::Float(value) => Some(Value::Text(value.to_string().into())),
            Scalar::Bool(_) => None,
        };
        let values: Option<Vec<Value>> = given.entries().map(value).collect();
        let Some(values) = values.filter(|values| !values.is_empty()) else {
            let help =
                "write texts or numbers: [\"gold\", \"silver\"]; for truth values those that your databases take, such as [0, 1]";
            return self.wrong("choices", "a list of values", help);
        };
        let pick = match self.given.get("weights") {
            None => self.pick(values.len() as u64)?,
            Some(weights) => {
                let mut sum = 0.0;
                let sums: Option<Vec<f64>> = weights
                    .entries()
                    .map(|weight| {
                        sum += weight.number().filter(|weight| weight.is_finite() && *weight >= 0.0)?;
                        Some(sum)
                    })
                    .collect();
                let Some(sums) = sums.filter(|sums| sums.len() == values.len() && sum > 0.0) else {
                    let wanted = format!("a list of {} weights, at least 0 and not all 0", values.len());
                    return self.wrong("weights", &wanted, "give one number for each of `choices`");
                };
                self.weighted(sums.into(), values.len())?
            }
        };
        Some(Rule::Choice { values: values.into(), pick })
    }

    fn csv(&mut self) -> Option<Rule> {
        let given = self.given.get(TABLE_FILE)?;
        let Some(name) = given.text() else {
            return self.wrong(TABLE_FILE, "the name of a file", "write for instance \"cities.csv\"");
        };
        let Some(column) = self.given.get("column").map(Given::text) else {
            self.problem(given, format!("it has no `column` of {name}"), "name one of its columns: column = \"city\"");
            return None;
        };
        let Some(column) = column else { return self.wrong("column", "a name", "write for instance \"city\"") };
        let weights = match self.given.get("weights").map(Given::text) {
            Some(None) => return self.wrong("weights", "the name of a column", "write for instance \"population\""),
            weights => weights.flatten(),
        };
        // A file that is not there is told elsewhere.
        let text = self.reader.attached(&file_text(name))?;
        match csv::column(text, column, weights) {
            Ok((values, sums)) => {
                let pick = match sums {
                    Some(sums) => self.weighted(sums, values.len())?,
                    None => self.pick(values.len() as u64)?,
                };
                Some(Rule::Choice { values, pick })
            }
            Err((line, why, help)) => {
                self.problem(given, format!("{name}:{line}: {why}"), help);
                None
            }
        }
    }

    fn weighted(&mut self, sums: csv::Sums, n: usize) -> Option<Pick> {
        match self.given.get("distribution") {
            None => Some(Pick::new(n as u64, Law::Weighted(sums))),
            Some(both) => {
                self.problem(both, "it has both `weights` and `distribution`", "keep one of them");
                None
            }
        }
    }

    /// One of `n` by the distribution of the column.
    pub(super) fn pick(&mut self, n: u64) -> Option<Pick> {
        let given = self.given;
        let name = given.get("distribution").map_or(Some("uniform"), Given::text).unwrap_or_default();
        let Some((name, limits)) = LAWS.into_iter().find(|(known, _)| *known == name) else {
            return self.wrong("distribution", "a distribution", format!("use one of {}", list(&LAWS.map(|(name, _)| name))));
        };
        let repeat = self.whole("repeat", 1, 1)? as u64;
        if let Some(at) = given.get("repeat").filter(|_| name != "sequential") {
            self.problem(at, "`repeat` belongs to `sequence` and to the distribution \"sequential\"", "leave it out");
        }
        let parameter = match (limits, given.get("parameter")) {
            (None, None) => 0.0,
            (None, Some(at)) => {
                self.problem(at, format!("the distribution \"{name}\" has no `parameter`"), "leave it out");
                return None;
            }
            (Some((low, high)), at) => match at.and_then(Given::number) {
                Some(value) if (low..=high).contains(&value) => value,
                _ => {
                    let message = format!("the distribution \"{name}\" needs a `parameter` from {low} to {high}");
                    self.problem(at.unwrap_or(given), message, "write for instance `parameter = 2.5`");
                    return None;
                }
            },
        };
        let law = match name {
            "sequential" => Law::Sequential(repeat),
            "gaussian" => Law::Gaussian(parameter),
            "exponential" => Law::Exponential(parameter),
            "zipfian" => Law::Zipfian(parameter),
            _ => Law::Uniform,
        };
        Some(Pick::new(n, law))
    }

    /// What the study says of the column, in one line; a file by a hash of its text.
    pub(super) fn told(&self, name: &str) -> String {
        let short = |text: String| if text.len() <= 80 { text } else { plan::fingerprint(&text).chars().take(16).collect() };
        let keys = self.given.keys().filter(|(key, _)| *key != "name");
        let mut all = keys.map(|(key, given)| format!(" {key}={}", short(given.shown()))).collect::<String>();
        if let Some(text) = self.given.get(TABLE_FILE).and_then(|file| self.reader.attached(&file_text(file.text()?))) {
            all.push_str(&format!(" file={}", plan::fingerprint(text).chars().take(16).collect::<String>()));
        }
        format!("{name}{all}")
    }
}

/// A number in units of the last of so many digits after the point; `None` where it has more digits, or does not fit.
fn unscaled(given: &Given<'_>, decimals: u8) -> Option<i64> {
    let unit = 10_i64.checked_pow(decimals.into())?;
    if let Some(value) = given.int() {
        return value.checked_mul(unit);
    }
    let scaled = given.number()? * unit as f64;
    let whole = scaled.round();
    // As written, a number of that many digits is off by the rounding of one multiplication.
    let exact = (scaled - whole).abs() <= whole.abs().max(1.0) * 1e-12;
    (exact && whole.abs() < 9.2e18).then_some(whole as i64)
}

/// Seconds of `YYYY-MM-DD`, or of that with `HH:MM:SS`, from the day with number 0 on.
fn seconds(text: &str) -> Option<u64> {
    let day = u64::from(Day::parse(text.get(..10)?)?.number()) * SECONDS_PER_DAY;
    let Some(time) = text.get(10..).filter(|time| !time.is_empty()) else { return Some(day) };
    let mut parts = time.strip_prefix([' ', 'T'])?.split(':');
    let mut part = |most: u64| {
        let digits = parts.next().filter(|part| part.len() == 2 && part.bytes().all(|b| b.is_ascii_digit()))?;
        digits.parse().ok().filter(|value: &u64| *value < most)
    };
    let seconds = part(24)? * 3600 + part(60)? * 60 + part(60)?;
    parts.next().is_none().then_some(day + seconds)
}

/// Keys or words as a sentence has them.
fn list(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}
