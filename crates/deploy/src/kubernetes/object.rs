//! Objects as trees with comments: written as YAML for a reader, and as JSON for a server, from the same tree.

use serde_json::{Map, Value as Json};

/// A value of an object.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A text; with line breaks it is written as a block.
    Text(String),
    /// A whole number.
    Int(i64),
    /// True or false.
    Bool(bool),
    /// A list.
    List(Vec<Self>),
    /// Keys in the order of the reader, each once.
    Map(Vec<Entry>),
}

/// A key of a map, with what it is for or where it comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    key: String,
    value: Value,
    comment: Option<String>,
}

/// A line's comment stands to its right up to here, and above it from here.
const WIDTH: usize = 120;

/// An entry without a comment.
pub fn entry(key: impl Into<String>, value: impl Into<Value>) -> Entry {
    Entry { key: key.into(), value: value.into(), comment: None }
}

/// A map of these entries.
pub fn map(entries: impl IntoIterator<Item = Entry>) -> Value {
    Value::Map(entries.into_iter().collect())
}

/// A map of texts.
pub fn texts<K: Into<String>, V: Into<String>>(all: impl IntoIterator<Item = (K, V)>) -> Value {
    map(all.into_iter().map(|(key, value)| entry(key, value.into())))
}

impl Entry {
    /// The entry with a comment: one line, of what it is for or where it comes from.
    #[must_use]
    pub fn of(mut self, comment: impl Into<String>) -> Self {
        self.comment = Some(comment.into());
        self
    }

    /// Its key.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Its value.
    pub fn value(&self) -> &Value {
        &self.value
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<bool> for Value {
    fn from(on: bool) -> Self {
        Self::Bool(on)
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Self::Int(number.into())
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl<T: Into<Self>> From<Vec<T>> for Value {
    fn from(all: Vec<T>) -> Self {
        Self::List(all.into_iter().map(Into::into).collect())
    }
}

impl Value {
    /// The value as JSON.
    pub fn json(&self) -> Json {
        match self {
            Self::Text(text) => Json::from(text.as_str()),
            Self::Int(number) => Json::from(*number),
            Self::Bool(on) => Json::from(*on),
            Self::List(all) => all.iter().map(Self::json).collect(),
            Self::Map(entries) => Json::Object(entries.iter().map(|e| (e.key.clone(), e.value.json())).collect::<Map<_, _>>()),
        }
    }

    /// The value of a map at a key.
    pub fn at(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Map(entries) => entries.iter().find(|e| e.key == key).map(|e| &e.value),
            _ => None,
        }
    }

    /// Its text, where it is one.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The value as a YAML document, which ends with a line break.
    pub fn yaml(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, 0);
        out
    }

    fn write(&self, out: &mut String, depth: usize) {
        let indent = "  ".repeat(depth);
        match self {
            Self::Map(entries) => {
                for entry in entries {
                    entry.write(out, depth, &indent);
                }
            }
            Self::List(all) => {
                for value in all {
                    // A map's first key stands beside the dash.
                    let mut inner = String::new();
                    match value.line() {
                        Some(leaf) => inner = format!("{indent}  {leaf}\n"),
                        None => value.write(&mut inner, depth + 1),
                    }
                    let first = inner.lines().position(|line| !line.trim_start().starts_with('#')).unwrap_or(0);
                    for (n, line) in inner.lines().enumerate() {
                        let dashed =
                            (n == first).then(|| format!("{indent}- {}", line.get(indent.len() + 2..).unwrap_or_default()));
                        out.push_str(&dashed.unwrap_or_else(|| line.to_owned()));
                        out.push('\n');
                    }
                }
            }
            leaf => {
                out.push_str(&format!("{indent}{}\n", leaf.line().unwrap_or_default()));
            }
        }
    }

    /// What stands in one line without a key: a block needs one, so a text has its line breaks escaped.
    fn line(&self) -> Option<String> {
        match self {
            Self::Text(text) => Some(scalar(text)),
            other => other.leaf(),
        }
    }

    /// What fits in one line after its key.
    fn leaf(&self) -> Option<String> {
        match self {
            Self::Text(text) if is_block(text) => None,
            Self::Text(text) => Some(scalar(text)),
            Self::Int(number) => Some(number.to_string()),
            Self::Bool(on) => Some(on.to_string()),
            Self::List(all) if all.is_empty() => Some("[]".to_owned()),
            Self::List(all) => {
                let leaves: Option<Vec<String>> =
                    all.iter().map(|v| v.leaf().filter(|_| !matches!(v, Self::List(_) | Self::Map(_)))).collect();
                let line = format!("[{}]", leaves?.join(", "));
                (line.len() <= WIDTH / 2).then_some(line)
            }
            Self::Map(entries) => entries.is_empty().then(|| "{}".to_owned()),
        }
    }
}

impl Entry {
    fn write(&self, out: &mut String, depth: usize, indent: &str) {
        let key = scalar(&self.key);
        let head = match (&self.value, self.value.leaf()) {
            (_, Some(leaf)) => format!("{indent}{key}: {leaf}"),
            // `|-` says that the text ends without a line break, `|` that it ends with one.
            (Value::Text(text), None) => format!("{indent}{key}: |{}", if text.ends_with('\n') { "" } else { "-" }),
            (_, None) => format!("{indent}{key}:"),
        };
        match &self.comment {
            Some(comment) if head.len() + comment.len() + 4 <= WIDTH => out.push_str(&format!("{head}  # {comment}\n")),
            Some(comment) => out.push_str(&format!("{indent}# {comment}\n{head}\n")),
            None => out.push_str(&format!("{head}\n")),
        }
        match &self.value {
            value if value.leaf().is_some() => {}
            Value::Text(text) => {
                for line in text.lines() {
                    let line = if line.is_empty() { String::new() } else { format!("{indent}  {line}") };
                    out.push_str(&format!("{line}\n"));
                }
            }
            value => value.write(out, depth + 1),
        }
    }
}

/// Whether a text can be written as a block, line by line.
fn is_block(text: &str) -> bool {
    let odd = text.starts_with([' ', '\n']) || text.ends_with("\n\n") || text.chars().any(|c| c.is_control() && c != '\n');
    text.contains('\n') && !odd
}

/// A text as a scalar: plain where every reader of YAML 1.1 and 1.2 takes it for this text, else in double quotes.
fn scalar(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./+".contains(c);
    // Numbers, dates and sexagesimals begin with a digit, a sign or a point; the rest are the words of YAML 1.1.
    let word = text.chars().next().is_some_and(|c| c.is_ascii_alphabetic())
        || text.starts_with('/') && text.chars().any(|c| c.is_ascii_alphabetic());
    let reserved = ["y", "n", "yes", "no", "on", "off", "true", "false", "null"].contains(&text.to_ascii_lowercase().as_str());
    if word && !reserved && text.chars().all(plain) {
        return text.to_owned();
    }
    // JSON's strings are YAML's double-quoted ones.
    Json::from(text).to_string()
}

/// An object of Kubernetes, or of a tool that reads such files.
#[derive(Debug, Clone, PartialEq)]
pub struct Object {
    /// What it is for, a line each; stands above it.
    pub head: Vec<String>,
    /// The object.
    pub value: Value,
}

impl Object {
    /// An object with a head of one line.
    pub fn new(head: impl Into<String>, entries: impl IntoIterator<Item = Entry>) -> Self {
        Self { head: vec![head.into()], value: map(entries) }
    }

    /// Its kind.
    pub fn kind(&self) -> &str {
        self.value.at("kind").and_then(Value::text).unwrap_or_default()
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.value.at("metadata").and_then(|of| of.at("name")).and_then(Value::text).unwrap_or_default()
    }

    /// Its namespace, where it is in one.
    pub fn namespace(&self) -> Option<&str> {
        self.value.at("metadata").and_then(|of| of.at("namespace")).and_then(Value::text)
    }

    /// The object as YAML, with its head.
    pub fn yaml(&self) -> String {
        let head: String = self.head.iter().map(|line| format!("# {line}\n")).collect();
        head + &self.value.yaml()
    }
}

/// The kinds of the operator, as kubectl takes them: they go while it runs.
pub const OPERATOR_KINDS: &str = "tidbmonitors,tidbclusters";

/// Whether objects of this kind make pods: those of an operator, sets and jobs.
pub fn owns_pods(kind: &str) -> bool {
    ["TidbCluster", "TidbMonitor", "StatefulSet", "Job"].contains(&kind)
}

/// Objects as one file.
pub fn yaml_file(head: &[String], objects: &[Object]) -> String {
    let head: String = head.iter().map(|line| format!("# {line}\n")).collect();
    let documents: Vec<String> = objects.iter().map(Object::yaml).collect();
    format!("{head}---\n{}", documents.join("---\n"))
}

#[cfg(test)]
mod tests;
