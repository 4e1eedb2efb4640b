//! Numbers whose digits matter: as they stand in the file, not as a floating number would have them.

use toml_edit::{Item, Value};

use super::{Located, Section};
use crate::exact::Exact;

/// What a list holds in place of a number that is not known.
const ABSENT: &str = "-";

/// A number with the digits that it was written with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digits {
    /// As written, without quotes.
    pub text: String,
    /// Its value.
    pub value: Exact,
    /// Its decimals.
    pub decimals: u32,
}

impl<'a> Section<'a> {
    /// The text of a number, quoted or not.
    pub(super) fn typed(&self, value: &Value) -> Option<String> {
        match value {
            Value::Float(_) | Value::Integer(_) => value.span().map(|s| self.file.document.raw()[s].replace('_', "")),
            Value::String(s) => Some(s.value().trim().to_owned()),
            _ => None,
        }
    }

    fn digits_of(&self, key: &str, value: &Value) -> Option<Located<Digits>> {
        let Some(text) = self.typed(value) else {
            self.report(key, format!("`{}` is no number", self.full(key)), "write digits, quoted or not: 12.30 or \"12.30\"");
            return None;
        };
        let typed = Located { value: text, line: self.line_of(key) };
        let parse = |text: &str| Exact::parse(text).map(|(value, decimals)| Digits { text: text.to_owned(), value, decimals });
        self.parsed(key, &typed, parse, "write digits, for instance 12.30 or \"1,234.50\"")
    }

    /// An optional number with its digits.
    pub fn digits(&self, key: &str) -> Option<Located<Digits>> {
        self.found(key, "a number", Item::as_value).and_then(|found| self.digits_of(key, found.value))
    }

    /// An optional list of numbers; `"-"` stands for one that is not known.
    pub fn numbers(&self, key: &str) -> Option<Located<Vec<Option<Exact>>>> {
        let Located { value: array, line } = self.found(key, "a list of numbers", Item::as_array)?;
        let one = |v: &Value| match v.as_str() {
            Some(ABSENT) => Some(None),
            _ => self.digits_of(key, v).map(|d| Some(d.value.value)),
        };
        array.iter().map(one).collect::<Option<_>>().map(|value| Located { value, line })
    }

    /// Whether the key holds a table, for keys that take a number or a table of them.
    pub fn is_table(&self, key: &str) -> bool {
        self.table.get(key).is_some_and(|item| item.as_table_like().is_some())
    }

    /// Every key of this table that was not asked for yet; counts as asking for them.
    pub fn others(&self) -> Vec<String> {
        let others = self.unasked();
        others.iter().for_each(|k| self.asked.borrow_mut().push(k.clone()));
        others
    }
}
