//! What a study gives within a list of tables, as a tree again: parameters are flat.

use perbuck_core::study::Scalar;
use perbuck_core::workload_kind::Parameters;

/// A value, or a list or table with what lies within it.
#[derive(Debug, Default)]
pub(super) struct Given<'a> {
    /// The parameter that knows its line.
    pub(super) path: String,
    /// `None` of a list and a table.
    pub(super) value: Option<&'a Scalar>,
    within: Vec<(&'a str, Given<'a>)>,
}

impl<'a> Given<'a> {
    /// What is given for a parameter; `None` where it is absent.
    pub(super) fn of(parameters: &'a Parameters, key: &str) -> Option<Self> {
        let mut root = Self { path: key.to_owned(), ..Self::default() };
        let mut found = false;
        for (path, given) in parameters {
            let Some(rest) = path.strip_prefix(key).filter(|rest| rest.is_empty() || rest.starts_with('.')) else { continue };
            root.insert(rest.strip_prefix('.'), &given.value);
            found = true;
        }
        root.sort();
        found.then_some(root)
    }

    /// Adds a value at the end of a path; the path of a list or a table ends with a point.
    fn insert(&mut self, path: Option<&'a str>, value: &'a Scalar) {
        let Some(path) = path else {
            self.value = Some(value);
            return;
        };
        let (name, rest) = path.split_once('.').map_or((path, None), |(name, rest)| (name, Some(rest)));
        if !self.path.ends_with('.') {
            self.path.push('.');
        }
        if name.is_empty() {
            return;
        }
        // Paths come in their order, so those with one name follow each other.
        if self.within.last().is_none_or(|(last, _)| *last != name) {
            self.within.push((name, Self { path: format!("{}{name}", self.path), ..Self::default() }));
        }
        if let Some((_, given)) = self.within.last_mut() {
            given.insert(rest, value);
        }
    }

    /// Puts entries of lists in their order; names of keys have any.
    fn sort(&mut self) {
        self.within.sort_by_key(|(name, _)| (name.parse::<u64>().unwrap_or(0), *name));
        self.within.iter_mut().for_each(|(_, given)| given.sort());
    }

    /// The value of a key.
    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        self.within.iter().find(|(name, _)| *name == key).map(|(_, given)| given)
    }

    /// The entries of a list.
    pub(super) fn entries(&self) -> impl ExactSizeIterator<Item = &Self> {
        self.within.iter().map(|(_, given)| given)
    }

    /// The keys of a table, with their values.
    pub(super) fn keys(&self) -> impl Iterator<Item = (&'a str, &Self)> {
        self.within.iter().map(|(name, given)| (*name, given))
    }

    pub(super) fn text(&self) -> Option<&'a str> {
        match self.value {
            Some(Scalar::Text(text)) => Some(text),
            _ => None,
        }
    }

    pub(super) fn int(&self) -> Option<i64> {
        match self.value {
            Some(Scalar::Int(value)) => Some(*value),
            _ => None,
        }
    }

    pub(super) fn number(&self) -> Option<f64> {
        match self.value {
            Some(Scalar::Int(value)) => Some(*value as f64),
            Some(Scalar::Float(value)) => Some(*value),
            _ => None,
        }
    }

    /// The two ends of a range, by `read`.
    pub(super) fn range<T>(&self, read: impl Fn(&Self) -> Option<T>) -> Option<(T, T)> {
        let mut ends = self.entries();
        match (ends.next(), ends.next(), ends.next()) {
            (Some(low), Some(high), None) => Some((read(low)?, read(high)?)),
            _ => None,
        }
    }

    /// It as a study has it, for messages and records.
    pub(super) fn shown(&self) -> String {
        match self.value {
            Some(Scalar::Text(text)) => format!("\"{text}\""),
            Some(other) => other.to_string(),
            None => format!("[{}]", self.entries().map(Self::shown).collect::<Vec<_>>().join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use perbuck_core::toml_reader::TomlFile;

    use super::*;

    #[test]
    fn a_list_of_tables_is_a_tree_in_its_order() {
        let text = "[[table]]\nname = \"t\"\ncolumns = [\n{ name = \"a\", number = [1, 2.5] },\n{},\n]\n[[table]]\n";
        let twelve = (0..12).map(|i| format!("[[table]]\nrows = {i}\n")).collect::<String>();
        let file = TomlFile::parse("s.toml", format!("{text}{twelve}")).unwrap();
        let parameters = file.root().leaves("table");
        let given = Given::of(&parameters, "table").unwrap();
        let tables: Vec<&Given<'_>> = given.entries().collect();
        assert_eq!(tables.len(), 14);
        assert_eq!(tables[0].get("name").unwrap().text(), Some("t"));
        let columns: Vec<_> = tables[0].get("columns").unwrap().entries().collect();
        assert_eq!(columns[0].get("number").unwrap().range(Given::number), Some((1.0, 2.5)));
        assert_eq!((columns[0].get("number").unwrap().shown(), columns.len()), ("[1, 2.5]".to_owned(), 2));
        let rows: Vec<_> = tables[2..].iter().map(|table| table.get("rows").unwrap().int().unwrap()).collect();
        assert_eq!(rows, (0..12).collect::<Vec<_>>());
        // Every path is a parameter that knows its line.
        let line = |given: &Given<'_>| parameters[&given.path].line;
        assert_eq!((line(tables[0]), line(columns[0]), line(columns[1]), line(tables[1])), (1, 4, 5, 7));
        assert_eq!(line(columns[0].get("number").unwrap()), 4);
        assert!(Given::of(&parameters, "tab").is_none());
    }
}
