//! From when products were there: what the audit holds dates of articles against.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use perbuck_core::problem::Problem;
use perbuck_core::toml_reader::{Section, TomlFile};

const TEXT: &str = include_str!("released.toml");

/// Products with their dates. A test reads the same text and has no problem.
static PRODUCTS: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| read(TEXT).unwrap_or_default());

/// The date from which a product was there. A machine type has that of its family: `c6g.large`, `t2a-standard-8`.
pub(crate) fn of(product: &str) -> Option<String> {
    // A program with its version is itself alone: `TiDB v6.1.0-rc1` was there before `TiDB v6.1.0`.
    let family = |end: char| product.split_once(end).map(|(family, _)| family).filter(|_| !product.contains(' '));
    let found = |name: &str| PRODUCTS.get(&plain(name)).cloned();
    found(product).or_else(|| found(family('.')?)).or_else(|| found(family('-')?))
}

/// A name without the `v` that some write before a version.
fn plain(name: &str) -> String {
    let word = |word: &str| {
        let digits = word.strip_prefix('v').filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        digits.unwrap_or(word).to_owned()
    };
    name.split_whitespace().map(word).collect::<Vec<_>>().join(" ")
}

fn read(text: &str) -> Result<BTreeMap<String, String>, Vec<Problem>> {
    let file = TomlFile::parse("released.toml", text.to_owned()).map_err(|problem| vec![problem])?;
    let root = file.root();
    root.required_int("schema", 1..=1, "1");
    let one = |s: &Section<'_>| {
        let [name, since, _] = ["name", "since", "source"].map(|key| s.required_text(key, "\"2020-06-11\""));
        s.finish();
        Some((plain(&name?.value), since?.value))
    };
    let all: BTreeMap<String, String> = root.tables("product").iter().filter_map(one).collect();
    root.finish();
    let problems = file.into_problems();
    if problems.is_empty() { Ok(all) } else { Err(problems) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_product_has_a_day_and_a_source() {
        let all = read(TEXT).unwrap();
        assert_eq!(all.len(), TEXT.matches("[[product]]").count());
        for (name, since) in all {
            let parts: Vec<usize> = since.split('-').map(str::len).collect();
            assert!(parts == [4, 2, 2] && since.chars().all(|c| c.is_ascii_digit() || c == '-'), "{name}: {since}");
        }
    }

    #[test]
    fn a_machine_has_the_date_of_its_family() {
        for (product, since) in [
            ("c6g.2xlarge", Some("2020-06-11")),
            ("t2a-standard-8", Some("2022-07-13")),
            ("TiDB v6.1.0", Some("2022-06-13")),
            ("TiDB 6.1.0", Some("2022-06-13")),
            ("sysbench 1.0.20", Some("2020-04-24")),
            ("MySQL v8.0.22", Some("2020-10-19")),
            ("TiDB v6.1.0-rc1", None),
            ("pd-ssd", None),
            ("TiDB v9.9.9", None),
        ] {
            assert_eq!(of(product).as_deref(), since, "{product}");
        }
    }
}
