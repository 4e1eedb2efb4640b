//! Keys that a reader further on knows: the study only says which are there.

use std::collections::BTreeMap;

use toml_edit::{Item, Value};

use super::{Located, SCALARS, Scalar, Section};

/// What a reader further on takes for one value.
fn scalar(value: &Value) -> Option<Scalar> {
    match value {
        Value::Integer(i) => Some(Scalar::Int(*i.value())),
        Value::Float(f) => Some(Scalar::Float(*f.value())),
        Value::Boolean(b) => Some(Scalar::Bool(*b.value())),
        Value::String(s) => Some(Scalar::Text(s.value().clone())),
        // As written: the reader further on says what it wants in its place.
        Value::Datetime(date) => Some(Scalar::Text(date.value().to_string())),
        Value::Array(_) | Value::InlineTable(_) => None,
    }
}

impl Section<'_> {
    /// Every value within a key, by its path: `table.1.rows`, with the positions in lists from 1. A list or a table itself has a path that
    /// ends with a point, so that one without values is there, too. Nothing where the key is absent.
    pub fn leaves(&self, key: &str) -> BTreeMap<String, Located<Scalar>> {
        let mut all = BTreeMap::new();
        if let Some(item) = self.get(key) {
            self.leaves_of((key, self.line_of(key)), item, &mut all);
        }
        all
    }

    fn leaves_of(&self, (path, line): (&str, usize), item: &Item, all: &mut BTreeMap<String, Located<Scalar>>) {
        let own = |item: &Item| item.span().map_or(line, |span| self.file.line(Some(span)));
        let mut within = |name: &str, line: usize, item: &Item| self.leaves_of((&format!("{path}.{name}"), line), item, all);
        match item {
            Item::Value(Value::Array(list)) => {
                for (at, value) in list.iter().enumerate() {
                    let item = Item::Value(value.clone());
                    within(&(at + 1).to_string(), value.span().map_or(line, |span| self.file.line(Some(span))), &item);
                }
            }
            Item::ArrayOfTables(list) => {
                for (at, table) in list.iter().enumerate() {
                    let item = Item::Table(table.clone());
                    within(&(at + 1).to_string(), own(&item), &item);
                }
            }
            _ => {
                if let Some(table) = item.as_table_like() {
                    for (name, item) in table.iter() {
                        let key = table.get_key_value(name).and_then(|(key, _)| key.span());
                        within(name, key.map_or(line, |span| self.file.line(Some(span))), item);
                    }
                }
            }
        }
        let (path, value) = match item.as_value().and_then(scalar) {
            Some(value) => (path.to_owned(), value),
            None => (format!("{path}."), Scalar::Bool(true)),
        };
        all.insert(path, Located { value, line });
    }

    /// As [`Self::remaining_scalars`], with every value within the keys of `lists`: see [`Self::leaves`].
    pub fn remaining_with<'k>(&self, lists: impl Iterator<Item = &'k str>) -> BTreeMap<String, Located<Scalar>> {
        let mut all: BTreeMap<_, _> = lists.flat_map(|list| self.leaves(list)).collect();
        all.extend(self.remaining_scalars());
        all
    }

    /// Every scalar that was not asked for yet, for a reader further on that knows what they mean.
    pub fn remaining_scalars(&self) -> BTreeMap<String, Located<Scalar>> {
        let plain = |v: &Value| scalar(v).filter(|_| !v.is_datetime());
        let one = |key: String| self.read(&key, "a number, a string, true or false", plain).map(|found| (key, found));
        let keys = self.unasked();
        if keys.len() > SCALARS {
            let message = format!("`{}` has {} keys, above {SCALARS}", self.path, keys.len());
            self.file.report(self.line, message, "check that it is the right file");
            return BTreeMap::new();
        }
        keys.into_iter().filter_map(one).collect()
    }

    /// As [`Self::remaining_scalars`], with those of the tables within by their paths: `storage.block-cache.capacity`.
    pub fn remaining_paths(&self) -> BTreeMap<String, Located<Scalar>> {
        let tables: Vec<String> =
            self.unasked().into_iter().filter(|key| self.table.get(key).is_some_and(Item::is_table_like)).collect();
        let within = tables.iter().filter_map(|key| {
            let inner = self.table(key)?.remaining_paths();
            Some(inner.into_iter().map(move |(path, found)| (format!("{key}.{path}"), found)))
        });
        let mut all: BTreeMap<String, Located<Scalar>> = within.flatten().collect();
        for (key, found) in self.remaining_scalars() {
            if all.contains_key(&key) {
                self.report(&key, format!("`{}` is given twice", self.full(&key)), "keep one of them");
            }
            all.insert(key, found);
        }
        all
    }
}
