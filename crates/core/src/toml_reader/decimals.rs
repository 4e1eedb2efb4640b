//! Numbers whose digits matter: as they stand in the file, not as a floating number would have them.

use toml_edit::Value;

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
    fn typed(&self, value: &Value) -> Option<String> {
        match value {
            Value::Float(_) | Value::Integer(_) => value.span().map(|s| self.file.text[s].replace('_', "")),
            Value::String(s) => Some(s.value().trim().to_owned()),
            _ => None,
        }
    }

    fn digits_of(&self, key: &str, value: &Value) -> Option<Digits> {
        let Some(text) = self.typed(value) else {
            self.report(key, format!("`{}` is no number", self.full(key)), "write digits, quoted or not: 12.30 or \"12.30\"");
            return None;
        };
        match Exact::parse(&text) {
            Ok((value, decimals)) => Some(Digits { text, value, decimals }),
            Err(why) => {
                self.report(key, format!("`{}`: {why}", self.full(key)), "write digits, for instance 12.30 or \"1,234.50\"");
                None
            }
        }
    }

    /// An optional number with its digits.
    pub fn digits(&self, key: &str) -> Option<Located<Digits>> {
        let item = self.get(key)?;
        let line = self.line_of(key);
        match item.as_value() {
            Some(value) => self.digits_of(key, value).map(|value| Located { value, line }),
            None => {
                self.wrong_type(key, "a number", item);
                None
            }
        }
    }

    /// An optional list of numbers; `"-"` stands for one that is not known.
    pub fn numbers(&self, key: &str) -> Option<Located<Vec<Option<Exact>>>> {
        let item = self.get(key)?;
        let line = self.line_of(key);
        let Some(array) = item.as_array() else {
            self.wrong_type(key, "a list of numbers", item);
            return None;
        };
        let one = |v: &Value| match v.as_str() {
            Some(ABSENT) => Some(None),
            _ => self.digits_of(key, v).map(|d| Some(d.value)),
        };
        let values: Option<Vec<Option<Exact>>> = array.iter().map(one).collect();
        values.map(|value| Located { value, line })
    }

    /// Whether the key holds a table, for keys that take a number or a table of them.
    pub fn is_table(&self, key: &str) -> bool {
        self.table.get(key).is_some_and(|item| item.as_table_like().is_some())
    }

    /// Every key of this table that nobody asked for yet; counts as asking for them.
    pub fn others(&self) -> Vec<String> {
        let others: Vec<String> = self.keys().into_iter().filter(|k| !self.asked.borrow().contains(k)).collect();
        others.iter().for_each(|k| self.asked.borrow_mut().push(k.clone()));
        others
    }
}
