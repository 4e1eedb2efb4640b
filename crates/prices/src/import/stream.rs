//! JSON lists as a stream: an object entry by entry, a list item by item, so that memory does not grow with the file.

use std::fmt;
use std::io::BufRead;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::error::Category;
use serde_json::value::RawValue;

use super::ImportError;
use super::number::shown;

/// Something that takes the entries of an object as they come.
pub(crate) trait Entries {
    /// Takes one entry; must read its value from `map`.
    fn entry<'de, A: MapAccess<'de>>(&mut self, key: String, map: &mut A) -> Result<(), A::Error>;
}

/// Something that takes the items of a list as they come.
pub(crate) trait Items {
    /// What an item is.
    type Item: DeserializeOwned;

    /// Takes an entry of a page beside its items; must read its value from `map`.
    fn other<'de, A: MapAccess<'de>>(&mut self, _key: &str, map: &mut A) -> Result<(), A::Error> {
        map.next_value::<IgnoredAny>().map(drop)
    }

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

/// The pages of an API, joined to one file: objects with a list of items and a link to the next page.
pub(crate) struct Pages {
    /// What a page is, for messages.
    pub(crate) page: &'static str,
    /// The key of the items, and what they are.
    pub(crate) items: (&'static str, &'static str),
    /// The key of the link.
    pub(crate) next: &'static str,
    /// What is wrong where no page has items.
    pub(crate) missing: &'static str,
    /// What to do then.
    pub(crate) help: &'static str,
}

/// What the pages have had so far.
struct Page<'a, T> {
    pages: &'a Pages,
    items: &'a mut T,
    /// Where the next page is, as the last one said.
    next: Option<String>,
    any: bool,
}

impl<T: Items> Entries for Page<'_, T> {
    fn entry<'de, A: MapAccess<'de>>(&mut self, key: String, map: &mut A) -> Result<(), A::Error> {
        if key == self.pages.items.0 {
            self.any = true;
            return map.next_value_seed(List(&mut *self.items, self.pages.items.1));
        }
        if key == self.pages.next {
            self.next = map.next_value::<Option<String>>()?.filter(|link| !link.is_empty());
            return Ok(());
        }
        self.items.other(&key, map)
    }
}

impl Pages {
    /// Reads one page after the other until the list ends; says whether a further one is missing.
    pub(crate) fn read<T: Items>(&self, list: &mut dyn BufRead, items: &mut T) -> Result<Option<String>, ImportError> {
        let mut page = Page { pages: self, items, next: None, any: false };
        let mut before = 0;
        loop {
            let io = |e| ImportError::new(before + 1, format!("cannot read on: {e}"), "check the file");
            let Some(lines) = skip_blank(list).map_err(io)? else { break };
            before += lines;
            let mut counted = Counted { list: &mut *list, lines: 0 };
            // A deserializer takes no byte after the closing brace, so that the next one starts there.
            let mut deserializer = serde_json::Deserializer::from_reader(&mut counted);
            Object(&mut page, self.page).deserialize(&mut deserializer).map_err(|e| failed(&e, before))?;
            before += counted.lines;
        }
        if !page.any {
            return Err(ImportError::new(1, self.missing, self.help));
        }
        Ok(page.next.map(|next| format!("the last page names a next one, so the list is not complete: {}", shown(&next))))
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
