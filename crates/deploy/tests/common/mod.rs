//! Plans of the studies that come with perbuck, golden files, and a check against a JSON schema.

pub(crate) mod schema;

use std::path::{Path, PathBuf};

use perbuck_core::study::Study;
use perbuck_deploy::kubernetes::Plan;
use perbuck_prices::{Lists, Snapshot, catalogue};

/// The studies of the repository: file name and text.
pub(crate) fn shipped() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|of| of == "toml"));
    files.sort();
    files.iter().map(|f| (f.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read_to_string(f).unwrap())).collect()
}

/// What a study deploys, with what the bundled price lists say of its machines.
pub(crate) fn plan(name: &str, text: &str) -> Option<Plan> {
    // What an article printed lies in another file, and a metric is its workload's. Neither deploys anything.
    let text = text.split("[results]").next().unwrap();
    let text: String = text.lines().filter(|line| !line.starts_with("metric")).map(|line| format!("{line}\n")).collect();
    let mut study = Study::read(name, &text, &[]).unwrap_or_else(|problems| panic!("{name}: {problems:#?}"));
    let contenders = study.contenders.iter().filter_map(|contender| contender.snapshot.as_ref());
    let wanted: Vec<&str> = study.price.snapshot.iter().chain(contenders).map(|named| named.value.as_str()).collect();
    let lists = catalogue().iter().filter(|list| wanted.contains(&list.name));
    let mut lists: Vec<Snapshot> = lists.map(|list| Snapshot::read(list.name, list.text).unwrap()).collect();
    lists.sort_by_key(|list| wanted.iter().position(|name| *name == list.name));
    Lists(lists).describe_machines(&mut study);
    Plan::of(&study, name).unwrap_or_else(|problems| panic!("{name}: {problems:#?}"))
}

/// Compares with a golden file, or rewrites it.
pub(crate) fn golden(name: &str, made: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, made).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    if let Some((i, (a, b))) = made.lines().zip(expected.lines()).enumerate().find(|(_, (a, b))| a != b) {
        panic!("{name} line {} differs (UPDATE_GOLDEN=1 rewrites it):\n made: {a}\n file: {b}", i + 1);
    }
    assert_eq!(made.len(), expected.len(), "{name}: one is longer than the other (UPDATE_GOLDEN=1 rewrites it)");
}
