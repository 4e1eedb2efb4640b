//! The variables of scripts: their names, known before a run, and their values in one terminal.

use super::value::{Outcome, Value};

/// Position of a variable among those of all scripts.
pub(super) type Slot = u16;

/// The names of all variables that any script mentions.
#[derive(Debug, Clone, Default)]
pub(super) struct Names(Vec<String>);

impl Names {
    /// The position of a name, which is added if it is new.
    pub(super) fn slot(&mut self, name: &str) -> Slot {
        let known = self.find(name);
        known.unwrap_or_else(|| {
            self.0.push(name.to_owned());
            (self.0.len() - 1) as Slot
        })
    }

    /// The position of a name that is known.
    pub(super) fn find(&self, name: &str) -> Option<Slot> {
        self.0.iter().position(|known| known == name).map(|at| at as Slot)
    }

    /// The name at a position.
    pub(super) fn name(&self, slot: Slot) -> &str {
        self.0.get(usize::from(slot)).map_or("", String::as_str)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

/// Whether a text can name a variable: letters, digits and `_`, and a digit is not the first.
pub(super) fn is_name(text: &str) -> bool {
    !text.is_empty() && name_length(text) == text.len()
}

/// How many bytes at the start of a text name a variable.
pub(super) fn name_length(text: &str) -> usize {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || !c.is_ascii();
    match text.chars().next() {
        Some(first) if is_part(first) && !first.is_ascii_digit() => text.find(|c| !is_part(c)).unwrap_or(text.len()),
        _ => 0,
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    Unset,
    Known(Value),
    /// A text that came from the command line or a result.
    Text,
}

#[derive(Debug)]
struct Variable {
    state: State,
    text: String,
}

impl Clone for Variable {
    fn clone(&self) -> Self {
        Self { state: self.state, text: self.text.clone() }
    }

    fn clone_from(&mut self, source: &Self) {
        self.state = source.state;
        // Only a text that counts, and into the memory of the one before.
        if self.state == State::Text {
            self.text.clone_from(&source.text);
        }
    }
}

/// The values of all variables in one terminal.
#[derive(Debug, Default)]
pub(super) struct Variables(Vec<Variable>);

impl Clone for Variables {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }

    fn clone_from(&mut self, source: &Self) {
        self.0.clone_from(&source.0);
    }
}

/// What a statement is given for a variable.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Given<'a> {
    Unset,
    Value(Value),
    Text(&'a str),
}

impl Variables {
    /// So many of them, all without a value.
    pub(super) fn new(count: usize) -> Self {
        Self(vec![Variable { state: State::Unset, text: String::new() }; count])
    }

    pub(super) fn set(&mut self, slot: Slot, value: Value) {
        if let Some(variable) = self.0.get_mut(usize::from(slot)) {
            variable.state = State::Known(value);
        }
    }

    /// Gives a variable a text that `write` appends.
    pub(super) fn set_text(&mut self, slot: Slot, write: impl FnOnce(&mut String)) {
        if let Some(variable) = self.0.get_mut(usize::from(slot)) {
            variable.state = State::Text;
            variable.text.clear();
            write(&mut variable.text);
        }
    }

    pub(super) fn given(&self, slot: Slot) -> Given<'_> {
        match self.0.get(usize::from(slot)) {
            Some(Variable { state: State::Known(value), .. }) => Given::Value(*value),
            Some(Variable { state: State::Text, text }) => Given::Text(text),
            _ => Given::Unset,
        }
    }

    /// Its value in an expression.
    pub(super) fn value(&self, slot: Slot, names: &Names) -> Outcome<Value> {
        match self.given(slot) {
            Given::Value(value) => Ok(value),
            Given::Text(text) => {
                Value::of_text(text).ok_or_else(|| format!("malformed variable \"{}\" value: \"{text}\"", names.name(slot)))
            }
            Given::Unset => Err(format!("undefined variable \"{}\"", names.name(slot))),
        }
    }
}
