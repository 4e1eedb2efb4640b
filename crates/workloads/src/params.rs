//! Reads a workload's parameters and collects every problem.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;

use perbuck_core::problem::nearest;
use perbuck_core::study::Scalar;
use perbuck_core::workload_kind::{FILE_TEXT, Parameter, ParameterKind, Parameters, file_text, files_of};

/// What is wrong with one parameter; the caller knows file and line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParamProblem {
    /// The parameter.
    pub key: String,
    /// What is wrong.
    pub message: String,
    /// The way out.
    pub help: String,
}

/// A file that a parameter names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedFile {
    /// As the study calls it.
    pub name: String,
    /// How many transactions of all weights together are its.
    pub weight: u32,
    /// What it holds; `None` where it is not there, which is told elsewhere.
    pub text: Option<String>,
}

/// Reads parameters key by key; what was not asked for is unknown.
pub struct Reader<'a> {
    parameters: &'a Parameters,
    declared: &'static [Parameter],
    asked: Vec<&'static str>,
    /// Those of them that are lists of tables.
    lists: Vec<&'static str>,
    problems: Vec<ParamProblem>,
}

impl<'a> Reader<'a> {
    /// A reader of these parameters, whose limits and defaults are declared.
    pub fn new(parameters: &'a Parameters, declared: &'static [Parameter]) -> Self {
        Self { parameters, declared, asked: Vec::new(), lists: Vec::new(), problems: Vec::new() }
    }

    /// Adds a problem.
    pub fn problem(&mut self, key: &str, message: impl Into<String>, help: impl Into<String>) {
        self.problems.push(ParamProblem { key: key.to_owned(), message: message.into(), help: help.into() });
    }

    fn get(&mut self, key: &'static str) -> Option<&'a Scalar> {
        self.asked.push(key);
        self.parameters.get(key).map(|l| &l.value)
    }

    fn declared(&self, key: &str) -> Option<&'static Parameter> {
        self.declared.iter().find(|p| p.name == key)
    }

    /// The default that is declared; nothing where it is no constant.
    fn default<T: FromStr + Default>(&self, key: &str) -> T {
        self.declared(key).and_then(|p| p.default.parse().ok()).unwrap_or_default()
    }

    /// An integer within its limits; its default where absent.
    pub fn int(&mut self, key: &'static str) -> i64 {
        self.int_or(key, self.default(key))
    }

    /// An integer within its limits; `default` where absent.
    pub fn int_or(&mut self, key: &'static str, default: i64) -> i64 {
        let (low, high) = match self.declared(key).map(|p| p.kind) {
            Some(ParameterKind::Whole(low, high)) => (low, high),
            _ => (i64::MIN, i64::MAX),
        };
        match self.get(key) {
            None => default,
            Some(Scalar::Int(v)) if (low..=high).contains(v) => *v,
            Some(other) => self.out_of_range(key, &describe(other), &format!("an integer from {low} to {high}"), default),
        }
    }

    /// A number within its limits; its default where absent.
    pub fn number(&mut self, key: &'static str) -> f64 {
        self.number_or(key, self.default(key))
    }

    /// A number within its limits; `default` where absent.
    pub fn number_or(&mut self, key: &'static str, default: f64) -> f64 {
        let (low, high) = match self.declared(key).map(|p| p.kind) {
            Some(ParameterKind::Number(low, high)) => (low, high),
            _ => (f64::MIN, f64::MAX),
        };
        let given = match self.get(key) {
            None => return default,
            Some(Scalar::Int(v)) => Ok(*v as f64),
            Some(Scalar::Float(v)) => Ok(*v),
            Some(other) => Err(describe(other)),
        };
        match given {
            Ok(v) if (low..=high).contains(&v) => v,
            other => {
                let found = other.map_or_else(|text| text, |v| v.to_string());
                self.out_of_range(key, &found, &format!("a number from {low} to {high}"), default)
            }
        }
    }

    /// Takes the default for a number that is none, or not within its limits.
    fn out_of_range<T: Display>(&mut self, key: &str, found: &str, wanted: &str, default: T) -> T {
        let help = format!("give {wanted}, or leave it out for {default}");
        self.problem(key, format!("`{key}` is {found}, not {wanted}"), help);
        default
    }

    /// Text of one line; empty where absent.
    pub fn text(&mut self, key: &'static str) -> String {
        match self.get(key) {
            None => String::new(),
            Some(Scalar::Text(text)) if !text.chars().any(char::is_control) => text.clone(),
            Some(other) => {
                self.problem(key, format!("`{key}` is {}, not text of one line", describe(other)), "give it as \"…\"");
                String::new()
            }
        }
    }

    /// Files; none where absent.
    pub fn files(&mut self, key: &'static str) -> Vec<NamedFile> {
        let (list, mut all) = (self.text(key), Vec::new());
        for (name, weight) in files_of(&list) {
            let text = match self.parameters.get(&file_text(name)).map(|found| &found.value) {
                Some(Scalar::Text(text)) => Some(text.clone()),
                _ => None,
            };
            let weight = weight.map_or(Ok(1), str::parse);
            if weight.is_err() {
                self.problem(
                    key,
                    format!("`{key}`: the weight of {name} is too large"),
                    "give a whole number, such as `a.sql@3`",
                );
            }
            all.push(NamedFile { name: name.to_owned(), weight: weight.unwrap_or(1), text });
        }
        if !all.is_empty() && all.iter().all(|file| file.weight == 0) {
            self.problem(key, format!("`{key}`: all weights are 0"), "give one of the files a weight above 0");
        }
        all
    }

    /// A parameter as it is given.
    pub fn scalar(&mut self, key: &'static str) -> Option<&'a Scalar> {
        self.get(key)
    }

    /// All parameters, for a list of tables: what lies within it is asked for by its paths.
    pub fn list(&mut self, key: &'static str) -> &'a Parameters {
        self.asked.push(key);
        self.lists.push(key);
        self.parameters
    }

    /// The text that stands in a study for a file: its parameter is that of [`file_text`].
    pub fn attached(&self, key: &str) -> Option<&'a str> {
        match self.parameters.get(key).map(|found| &found.value) {
            Some(Scalar::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// Whether the parameter is given.
    pub fn has(&self, key: &str) -> bool {
        self.parameters.contains_key(key)
    }

    /// A switch; `true`/`false`, and sysbench's "on"/"off".
    pub fn switch(&mut self, key: &'static str) -> bool {
        let default = self.declared(key).is_some_and(|p| matches!(p.default, "true" | "on"));
        match self.get(key) {
            None => default,
            Some(Scalar::Bool(v)) => *v,
            Some(Scalar::Text(t)) if t == "on" => true,
            Some(Scalar::Text(t)) if t == "off" => false,
            Some(other) => {
                self.problem(key, format!("`{key}` is {}", describe(other)), "write true or false");
                default
            }
        }
    }

    /// One of a closed set of words.
    pub fn word<T: Copy>(&mut self, key: &'static str, words: &[(&str, T)], default: T) -> T {
        let Some(found) = self.get(key) else { return default };
        if let Scalar::Text(text) = found
            && let Some((_, value)) = words.iter().find(|(w, _)| w == text)
        {
            return *value;
        }
        let near = match found {
            Scalar::Text(text) => nearest(text, words.iter().map(|(w, _)| *w)),
            _ => None,
        };
        let list: Vec<&str> = words.iter().map(|(w, _)| *w).collect();
        let help = near.map_or_else(|| format!("use one of {}", list.join(", ")), |n| format!("did you mean \"{n}\"?"));
        self.problem(key, format!("`{key}` is {}", describe(found)), help);
        default
    }

    /// A name that goes into SQL text: letters, digits and `_`, at most 64.
    pub fn identifier(&mut self, key: &'static str) -> String {
        let default = self.declared(key).map_or("", |p| p.default);
        match self.get(key) {
            None => default.to_owned(),
            Some(Scalar::Text(text)) if is_identifier(text) => text.clone(),
            Some(other) => {
                let message = format!("`{key}` is {}, not a name", describe(other));
                self.problem(key, message, format!("use letters, digits and `_` only, or leave it out for \"{default}\""));
                default.to_owned()
            }
        }
    }

    /// Ends the reading: every problem found, unknown parameters included.
    pub fn finish(mut self) -> Result<(), Vec<ParamProblem>> {
        for key in self.parameters.keys() {
            let within = |list: &&str| key.strip_prefix(*list).is_some_and(|rest| rest.starts_with('.'));
            if self.asked.contains(&key.as_str()) || key.starts_with(FILE_TEXT) || self.lists.iter().any(within) {
                continue;
            }
            let help = match nearest(key, self.asked.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("this workload knows: {}", self.asked.join(", ")),
            };
            self.problems.push(ParamProblem { key: key.clone(), message: format!("unknown parameter `{key}`"), help });
        }
        if self.problems.is_empty() { Ok(()) } else { Err(self.problems) }
    }
}

/// The word for a value of a closed set.
pub(crate) fn word_for<T: PartialEq>(words: &[(&'static str, T)], value: &T) -> &'static str {
    words.iter().find(|(_, v)| v == value).map_or("", |(word, _)| word)
}

/// The value of parameter `name` from the text of a command line or a file. Each benchmark has its own words for whole
/// numbers and switches. Other text stays text, so that reading the options can quote it. `None` where there is no such
/// parameter.
pub(crate) fn value_of(
    declared: &[Parameter],
    (name, text): (&str, &str),
    whole: fn(&str) -> Option<i64>,
    switch: fn(&str) -> Option<bool>,
) -> Option<Scalar> {
    let value = match declared.iter().find(|p| p.name == name)?.kind {
        ParameterKind::Whole(..) => whole(text).map(Scalar::Int),
        ParameterKind::Number(..) => text.parse().ok().filter(|v: &f64| v.is_finite()).map(Scalar::Float),
        ParameterKind::Switch => switch(text).map(Scalar::Bool),
        ParameterKind::Text | ParameterKind::Files | ParameterKind::Log | ParameterKind::Tables => None,
    };
    Some(value.unwrap_or_else(|| Scalar::Text(text.to_owned())))
}

/// Adds a parameter with its effective value to those of a record.
pub(crate) fn put(all: &mut BTreeMap<String, String>, key: &str, value: &dyn ToString) {
    all.insert(key.to_owned(), value.to_string());
}

/// How the data of one workload differ from those of another, if they do: a clause after "because".
pub(crate) fn other_data(one: &BTreeMap<String, String>, other: &BTreeMap<String, String>) -> Option<String> {
    let key = one.keys().chain(other.keys()).find(|key| one.get(*key) != other.get(*key))?;
    let value = |of: &BTreeMap<String, String>| of.get(key).map_or_else(|| "not set".to_owned(), |value| format!("\"{value}\""));
    Some(format!("`{key}` of their data is {} in one of them and {} in the other", value(one), value(other)))
}

fn is_identifier(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

fn describe(scalar: &Scalar) -> String {
    match scalar {
        Scalar::Text(v) => format!("\"{v}\""),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use perbuck_core::workload_kind::Decides;

    use super::*;
    use crate::testing::parameters;

    const DECLARED: [Parameter; 5] = [
        Parameter::new("tables", ParameterKind::Whole(1, 9), "1", Decides::Data, ""),
        Parameter::new("on", ParameterKind::Switch, "true", Decides::Run, ""),
        Parameter::new("share", ParameterKind::Number(0.0, 1.0), "0.5", Decides::Run, ""),
        Parameter::new("skip_trx", ParameterKind::Switch, "off", Decides::Run, ""),
        Parameter::new("a", ParameterKind::Text, "z", Decides::Run, ""),
    ];

    #[test]
    fn all_problems_come_at_once() {
        let given = parameters(&[("tables", "0"), ("scrpt", "true"), ("on", "maybe")]);
        let mut reader = Reader::new(&given, &DECLARED);
        assert_eq!(reader.int("tables"), 1);
        assert!(reader.switch("on"));
        reader.word("script", &[("a", 1)], 1);
        let problems = reader.finish().unwrap_err();
        let keys: Vec<&str> = problems.iter().map(|p| p.key.as_str()).collect();
        assert_eq!(keys, ["tables", "on", "scrpt"]);
        assert!(problems[2].help.contains("script"));
    }

    #[test]
    fn names_for_sql_hold_nothing_but_word_characters() {
        let given = parameters(&[("a", "innodb"), ("b", "x;y"), ("c", "3")]);
        let mut reader = Reader::new(&given, &DECLARED);
        assert_eq!(["a", "b", "c"].map(|key| reader.identifier(key)), ["innodb", "", ""]);
        assert_eq!(reader.finish().unwrap_err().len(), 2);
    }

    #[test]
    fn defaults_stand_where_nothing_is_given() {
        let given = parameters(&[("skip_trx", "on")]);
        let mut reader = Reader::new(&given, &DECLARED);
        assert!(reader.switch("skip_trx") && reader.switch("on"));
        assert_eq!((reader.int("tables"), reader.number("share"), reader.identifier("a").as_str()), (1, 0.5, "z"));
        assert_eq!(reader.word("rand_type", &[("uniform", 1), ("special", 2)], 2), 2);
        assert_eq!(reader.finish(), Ok(()));
    }
}
