//! JSON lists as a stream: an object entry by entry, a list item by item, so that memory does not grow with the file.

use std::fmt;
use std::io::BufRead;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::error::Category;
use serde_json::value::RawValue;

use super::ImportError;

/// Something that takes the entries of an object as they come.
pub(crate) trait Entries {
    /// Takes one entry; must read its value from `map`.
    fn entry<'de, A: MapAccess<'de>>(&mut self, key: String, map: &mut A) -> Result<(), A::Error>;
}

/// Something that takes the items of a list as they come.
pub(crate) trait Items {
    /// What an item is.
    type Item: DeserializeOwned;

    /// Takes one item, or says what is wrong with it.
    fn item(&mut self, item: Self::Item) -> Result<(), String>;
}

/// An object, and what it is for messages.
pub(crate) struct Object<'a, T>(pub(crate) &'a mut T, pub(crate) &'static str);

impl<'de, T: Entries> DeserializeSeed<'de> for Object<'_, T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, T: Entries> Visitor<'de> for Object<'_, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.1)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            self.0.entry(key, &mut map)?;
        }
        Ok(())
    }
}

/// A list, and what it is for messages.
pub(crate) struct List<'a, T>(pub(crate) &'a mut T, pub(crate) &'static str);

impl<'de, T: Items> DeserializeSeed<'de> for List<'_, T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, T: Items> Visitor<'de> for List<'_, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.1)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(item) = list.next_element::<T::Item>()? {
            self.0.item(item).map_err(A::Error::custom)?;
        }
        Ok(())
    }
}

/// All entries of an object as pairs, which keeps a key that comes twice.
pub(crate) struct Pairs<T>(pub(crate) Vec<(String, T)>);

impl<'de, T: DeserializeOwned> Deserialize<'de> for Pairs<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(PairsOf(PhantomData))
    }
}

struct PairsOf<T>(PhantomData<T>);

impl<'de, T: DeserializeOwned> Visitor<'de> for PairsOf<T> {
    type Value = Pairs<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut pairs = Vec::new();
        while let Some(pair) = map.next_entry()? {
            pairs.push(pair);
        }
        Ok(Pairs(pairs))
    }
}

/// Reads one value out of the list.
pub(crate) fn one<'a, S>(list: &'a mut dyn BufRead, seed: S) -> Result<(), ImportError>
where
    S: for<'de> DeserializeSeed<'de, Value = ()>,
{
    let mut deserializer = serde_json::Deserializer::from_reader(list);
    seed.deserialize(&mut deserializer).map_err(|e| failed(&e, 0))?;
    deserializer.end().map_err(|e| failed(&e, 0))
}

/// Reads objects one after the other until the list ends: the pages of an API, joined to one file.
pub(crate) fn pages<T: Entries>(list: &mut dyn BufRead, into: &mut T, what: &'static str) -> Result<(), ImportError> {
    let mut before = 0;
    loop {
        let blank =
            skip_blank(list).map_err(|e| ImportError::new(before + 1, format!("cannot read on: {e}"), "check the file"))?;
        let Some(lines) = blank else { return Ok(()) };
        before += lines;
        let mut counted = Counted { list: &mut *list, lines: 0 };
        // A deserializer takes no byte after the closing brace, so that the next one begins there.
        let mut deserializer = serde_json::Deserializer::from_reader(&mut counted);
        Object(&mut *into, what).deserialize(&mut deserializer).map_err(|e| failed(&e, before))?;
        before += counted.lines;
    }
}

/// Skips blanks between two pages and counts their lines; `None` at the end of the list.
fn skip_blank(list: &mut dyn BufRead) -> std::io::Result<Option<u64>> {
    let mut lines = 0;
    loop {
        let buffer = list.fill_buf()?;
        let Some(first) = buffer.first() else { return Ok(None) };
        if !first.is_ascii_whitespace() {
            return Ok(Some(lines));
        }
        lines += u64::from(*first == b'\n');
        list.consume(1);
    }
}

/// Counts the lines that go by.
struct Counted<'a> {
    list: &'a mut dyn BufRead,
    lines: u64,
}

impl std::io::Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.list.read(buffer)?;
        self.lines += buffer[..read].iter().filter(|b| **b == b'\n').count() as u64;
        Ok(read)
    }
}

fn failed(error: &serde_json::Error, before: u64) -> ImportError {
    let text = error.to_string();
    let what = text.split(" at line ").next().unwrap_or(&text);
    let line = before + error.line() as u64;
    let help = match error.classify() {
        Category::Eof => "the file ends too early; download it again",
        Category::Io => "check the file",
        Category::Syntax => "this is no valid JSON; check that the file is of this format, uncompressed and complete",
        Category::Data => "check that the file is of this format; if it is, its format has changed",
    };
    ImportError::new(line, format!("column {}: {what}", error.column()), help)
}

/// The text of a number or a string, digit by digit as the list has it.
pub(crate) fn token(raw: &RawValue) -> &str {
    let text = raw.get();
    text.strip_prefix('"').and_then(|t| t.strip_suffix('"')).unwrap_or(text)
}
