//! The price snapshots that come with perbuck.

use std::sync::LazyLock;

use perbuck_core::problem::{Problem, nearest};
use perbuck_core::toml_reader::Located;

use crate::snapshot::{Machine, Snapshot};

/// A snapshot file that is part of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bundled {
    /// Its name, `aws-2021-03`.
    pub name: &'static str,
    /// Its TOML text.
    pub text: &'static str,
}

macro_rules! bundled {
    ($name:literal) => {
        Bundled { name: $name, text: include_str!(concat!("../prices/", $name, ".toml")) }
    };
}

const CATALOGUE: &[Bundled] = &[
    bundled!("aws-2021-03"),
    bundled!("aws-2024-08"),
    bundled!("aws-2026-07"),
    bundled!("azure-2026-06"),
    bundled!("gcp-2026-07"),
];

/// All bundled snapshots, by name.
pub fn catalogue() -> &'static [Bundled] {
    CATALOGUE
}

/// All machines of the bundled snapshots, once for each price.
pub(crate) fn machines() -> &'static [Machine] {
    // Some importers ask for sizes again and again, and reading all files takes a while.
    static MACHINES: LazyLock<Vec<Machine>> = LazyLock::new(|| {
        let snapshots = CATALOGUE.iter().filter_map(|b| Snapshot::read(b.name, b.text).ok());
        snapshots.flat_map(|s| s.regions).flat_map(|r| r.instances).map(|i| i.machine).collect()
    });
    &MACHINES
}

/// The bundled snapshot that a study names. Messages call the study `study_file`, and `key` is where the name stands there.
///
/// # Errors
/// That no bundled snapshot has this name, with the nearest one and the list.
pub fn find(name: &Located<String>, key: &str, study_file: &str) -> Result<Snapshot, Vec<Problem>> {
    if let Some(bundled) = CATALOGUE.iter().find(|b| b.name == name.value) {
        return Snapshot::read(&format!("prices/{}.toml", bundled.name), bundled.text);
    }
    let names = CATALOGUE.iter().map(|b| b.name);
    let near = nearest(&name.value, names.clone()).map(|n| format!("did you mean `{n}`? ")).unwrap_or_default();
    Err(vec![Problem {
        file: study_file.to_owned(),
        line: name.line,
        message: format!("{key}: there is no price snapshot `{}`", name.value),
        help: format!("{near}the snapshots that come with perbuck are: {}", names.collect::<Vec<_>>().join(", ")),
    }])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lint::lint;

    /// Findings that were looked into and stay, each with its reason.
    const ACCEPTED: &[(&str, &str)] = &[];

    #[test]
    fn every_file_in_prices_is_bundled() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../prices");
        let mut files: Vec<String> =
            std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().file_name().into_string().unwrap()).collect();
        files.retain(|file| file.ends_with(".toml"));
        files.sort();
        let bundled: Vec<String> = catalogue().iter().map(|b| format!("{}.toml", b.name)).collect();
        assert_eq!(files, bundled);
    }

    #[test]
    fn every_bundled_snapshot_reads_and_every_price_has_a_date_and_a_source() {
        for b in catalogue() {
            let name = Located { value: b.name.to_owned(), line: 3 };
            let snapshot = find(&name, "`price.snapshot`", "s.toml").unwrap();
            assert_eq!(snapshot.name, b.name);
            assert!(b.name.starts_with(&snapshot.provider), "{}", b.name);
            for origin in snapshot.origins() {
                assert!(origin.date.starts_with("20") && origin.source.len() > 20, "{}: {origin:?}", b.name);
            }
        }
    }

    #[test]
    fn every_bundled_snapshot_passes_the_lint_or_says_why_not() {
        let mut found = Vec::new();
        for b in catalogue() {
            let snapshot = Snapshot::read(b.name, b.text).unwrap();
            let faults = lint(&snapshot).into_iter().filter(|f| f.rule.is_fault());
            found.extend(faults.map(|f| format!("{}: {}", b.name, f.message)));
        }
        let accepted: Vec<&str> = ACCEPTED.iter().map(|(finding, _reason)| *finding).collect();
        assert_eq!(found, accepted);
    }

    #[test]
    fn an_unknown_snapshot_names_the_nearest_and_the_list() {
        let problems = find(&Located { value: "aws-2021-3".into(), line: 7 }, "`price.snapshot`", "s.toml").unwrap_err();
        assert_eq!((problems.len(), problems[0].line), (1, 7));
        assert!(problems[0].help.starts_with("did you mean `aws-2021-03`?"), "{}", problems[0]);
        assert!(problems[0].help.contains("gcp-2026-07"));
        assert_eq!(problems[0].message, "`price.snapshot`: there is no price snapshot `aws-2021-3`");
    }
}
