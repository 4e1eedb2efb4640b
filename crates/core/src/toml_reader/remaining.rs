//! Keys that a reader further on knows: the study only says which are there.

use std::collections::BTreeMap;

use toml_edit::{Item, Value};

use super::{Located, SCALARS, Scalar, Section};

impl Section<'_> {
    /// Every scalar that was not asked for yet, for a reader further on that knows what they mean.
    pub fn remaining_scalars(&self) -> BTreeMap<String, Located<Scalar>> {
        let scalar = |v: &Value| match v {
            Value::Integer(i) => Some(Scalar::Int(*i.value())),
            Value::Float(f) => Some(Scalar::Float(*f.value())),
            Value::Boolean(b) => Some(Scalar::Bool(*b.value())),
            Value::String(s) => Some(Scalar::Text(s.value().clone())),
            _ => None,
        };
        let one = |key: String| self.read(&key, "a number, a string, true or false", scalar).map(|found| (key, found));
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
