//! What prepared data are and what made them: a small file of JSON beside them.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use serde::{Deserialize, Serialize};

/// The version of this file that perbuck writes and reads.
const FORMAT: u32 = 1;
/// Bytes of the data in one part, before they are compressed.
pub(super) const PART: u64 = 16 << 20;
/// Letters of an [`Manifest::id`].
pub(super) const ID_LENGTH: usize = 12;

/// Prepared data of one contender, with what made them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The version of this file.
    pub format: u32,
    /// The contender of the study.
    pub contender: String,
    /// The version of perbuck that saved them.
    pub perbuck: String,
    /// When they were saved, in UTC.
    pub saved: String,
    /// The database that holds them.
    pub database: Database,
    /// The data in it.
    pub workloads: Vec<Loaded>,
    /// Tells these data from those that were saved before: the name of their folder.
    pub id: String,
    /// Files and folders, each after the folder that holds it.
    pub entries: Vec<Entry>,
    /// The bytes of all files, one after the other, in parts of 16 MiB; none where the files lie beside this one as they are.
    pub parts: Vec<Part>,
}

/// A database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Database {
    /// As a study calls it: `mariadb`, `sqlite`.
    pub kind: String,
    /// Its version.
    pub version: String,
}

/// The data of one workload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loaded {
    /// The kind of the workload.
    pub kind: String,
    /// The database of the server, where the workload names one.
    pub database: Option<String>,
    /// The parameters that shape the data.
    pub parameters: BTreeMap<String, String>,
    /// The seed of the rows.
    pub seed: u64,
    /// The sum by which perbuck's note in the database names them.
    pub fingerprint: String,
}

/// A file or a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its path, below the folder of all data.
    pub path: String,
    /// Its permissions.
    pub mode: u32,
    /// Bytes of a file.
    pub bytes: u64,
    /// SHA-256 of a file; `None` of a folder.
    pub sha256: Option<String>,
}

/// A part of the data, as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Its bytes, compressed.
    pub bytes: u64,
    /// Their SHA-256.
    pub sha256: String,
}

/// What data a study needs of a contender.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) database: Database,
    pub(super) workloads: Vec<Loaded>,
}

impl Manifest {
    /// Of data that are saved now.
    pub(super) fn new(contender: &str, wanted: Wanted, id: String) -> Self {
        let saved = jiff::Timestamp::now().strftime("%Y-%m-%d %H:%M:%S UTC").to_string();
        let Wanted { database, workloads } = wanted;
        let (contender, perbuck) = (contender.to_owned(), env!("CARGO_PKG_VERSION").to_owned());
        Self { format: FORMAT, contender, perbuck, saved, database, workloads, id, entries: Vec::new(), parts: Vec::new() }
    }

    /// Reads one. It may come from another person, so no path in it leads out of the folder of its data.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub(super) fn read(contender: &str, bytes: &[u8]) -> Result<Self, String> {
        let read: Self = serde_json::from_slice(bytes).map_err(|e| e.to_string())?;
        if read.format != FORMAT {
            return Err(format!("it has the format {}, and perbuck {} reads {FORMAT}", read.format, env!("CARGO_PKG_VERSION")));
        }
        if read.contender != contender {
            return Err(format!("it is of contender `{}`", read.contender));
        }
        if !is_id(&read.id) {
            return Err(format!("`{}` is no name of a folder", read.id));
        }
        let plain = |path: &str| Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
        if let Some(entry) = read.entries.iter().find(|entry| entry.path.is_empty() || !plain(&entry.path)) {
            return Err(format!("`{}` is no path below its folder", entry.path));
        }
        let bytes = read.entries.iter().try_fold(0_u64, |all, entry| all.checked_add(entry.bytes));
        match bytes {
            Some(bytes) if read.parts.is_empty() || read.parts.len() as u64 == bytes.div_ceil(PART) => Ok(read),
            _ => Err("its parts do not hold its files".to_owned()),
        }
    }

    pub(super) fn text(&self) -> Result<Vec<u8>, String> {
        serde_json::to_vec_pretty(self).map_err(|e| e.to_string())
    }

    /// Bytes of all files.
    pub fn bytes(&self) -> u64 {
        self.entries.iter().map(|entry| entry.bytes).sum()
    }

    /// Bytes of all parts; of the files where there are none.
    pub fn stored(&self) -> u64 {
        if self.parts.is_empty() { self.bytes() } else { self.parts.iter().map(|part| part.bytes).sum() }
    }

    /// The names of all that belongs to it but itself.
    pub(super) fn names(&self) -> Vec<String> {
        if self.parts.is_empty() {
            let files = self.entries.iter().filter(|entry| entry.sha256.is_some());
            return files.map(|entry| format!("{}/{}", self.folder(), entry.path)).collect();
        }
        (0..self.parts.len()).map(|number| part_name(&self.folder(), number)).collect()
    }

    /// The folder of its data.
    pub(super) fn folder(&self) -> String {
        format!("{}/{}", self.contender, self.id)
    }

    /// How these data are others than those that are needed, if they are.
    pub(super) fn differs(&self, wanted: &Wanted) -> Option<String> {
        let (found, needed) = (&self.database, &wanted.database);
        if found.kind != needed.kind {
            return Some(format!("they are of {}, and the study wants {}", found.kind, needed.kind));
        }
        if found.version != needed.version {
            let (found, needed) = (&found.version, &needed.version);
            return Some(format!("they were made by version {found}, and this one is {needed}"));
        }
        wanted.workloads.iter().find_map(|needed| {
            let of_kind =
                self.workloads.iter().filter(|found| (&found.kind, &found.database) == (&needed.kind, &needed.database));
            match of_kind.map(|found| found.differs(needed)).next() {
                Some(difference) => difference,
                None => {
                    let database = needed.database.as_ref().map(|name| format!(" in database `{name}`")).unwrap_or_default();
                    Some(format!("they hold none of {}{database}", needed.kind))
                }
            }
        })
    }
}

impl Loaded {
    fn differs(&self, needed: &Self) -> Option<String> {
        if self.fingerprint == needed.fingerprint {
            return None;
        }
        let kind = &self.kind;
        let names: std::collections::BTreeSet<&String> = self.parameters.keys().chain(needed.parameters.keys()).collect();
        let (none, value) = ("nothing".to_owned(), |of: &Self, name: &String| of.parameters.get(name).cloned());
        for name in names {
            let (found, wanted) = (value(self, name), value(needed, name));
            if found != wanted {
                let (found, wanted) = (found.unwrap_or_else(|| none.clone()), wanted.unwrap_or(none));
                return Some(format!("{kind}: {name} is {found} in them, and {wanted} in the study"));
            }
        }
        if self.seed != needed.seed {
            return Some(format!("{kind}: the seed is {} in them, and {} in the study", self.seed, needed.seed));
        }
        Some(format!("{kind}: another version of perbuck makes other rows of the same parameters"))
    }
}

/// The name of a part of the data in a folder.
pub(super) fn part_name(folder: &str, number: usize) -> String {
    format!("{folder}/{number:06}")
}

/// Whether a name is that of a part, whatever the contender: what perbuck itself may remove.
pub(super) fn is_part(name: &str) -> bool {
    let mut words = name.rsplit('/');
    let (number, id) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    words.next().is_some() && is_id(id) && number.len() >= 6 && number.bytes().all(|b| b.is_ascii_digit())
}

fn is_id(word: &str) -> bool {
    word.len() == ID_LENGTH && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loaded(parameters: &[(&str, &str)], seed: u64) -> Loaded {
        let parameters: BTreeMap<String, String> = parameters.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let fingerprint = format!("{parameters:?} {seed}");
        Loaded { kind: "tpcc".to_owned(), database: None, parameters, seed, fingerprint }
    }

    fn wanted(version: &str, loaded: Loaded) -> Wanted {
        Wanted { database: Database { kind: "x".to_owned(), version: version.to_owned() }, workloads: vec![loaded] }
    }

    fn made() -> Manifest {
        let mut made = Manifest::new("a", wanted("3", loaded(&[("warehouses", "1")], 7)), "abcdefghijkm".to_owned());
        made.entries.push(Entry { path: "data/t".to_owned(), mode: 0o600, bytes: 5, sha256: Some("00".to_owned()) });
        made.parts.push(Part { bytes: 3, sha256: "11".to_owned() });
        made
    }

    #[test]
    fn what_differs_is_named_with_both_values() {
        let differs = |version, parameters: &[_], seed| made().differs(&wanted(version, loaded(parameters, seed)));
        assert_eq!(differs("3", &[("warehouses", "1")], 7), None);
        let says = |found: Option<String>, words: &str| assert_eq!(found.as_deref(), Some(words));
        says(differs("3", &[("warehouses", "2")], 7), "tpcc: warehouses is 1 in them, and 2 in the study");
        says(differs("3", &[("warehouses", "1"), ("x", "y")], 7), "tpcc: x is nothing in them, and y in the study");
        says(differs("3", &[("warehouses", "1")], 8), "tpcc: the seed is 7 in them, and 8 in the study");
        says(differs("4", &[("warehouses", "1")], 7), "they were made by version 3, and this one is 4");
        let mut other = wanted("3", loaded(&[("warehouses", "1")], 7));
        other.workloads[0].database = Some("x".to_owned());
        says(made().differs(&other), "they hold none of tpcc in database `x`");
    }

    #[test]
    fn a_manifest_that_leads_out_of_its_folder_is_refused() {
        let read = |change: fn(&mut Manifest)| {
            let mut manifest = made();
            change(&mut manifest);
            Manifest::read("a", &manifest.text().unwrap())
        };
        assert_eq!(read(|_| {}), Ok(made()));
        let changes: [fn(&mut Manifest); 8] = [
            |m| m.entries[0].path = "../t".to_owned(),
            |m| m.entries[0].path = "/t".to_owned(),
            |m| m.entries[0].path = String::new(),
            |m| m.id = "../../../../".to_owned(),
            |m| m.contender = "b".to_owned(),
            |m| m.format = 2,
            |m| m.entries[0].bytes = PART + 1,
            |m| m.entries[0].bytes = u64::MAX,
        ];
        for change in changes {
            assert!(read(change).is_err(), "{:?}", read(change));
        }
        assert!(is_part("a/abcdefghijkm/000000") && !is_part("abcdefghijkm/000000") && !is_part("a/b/000000"));
    }
}
