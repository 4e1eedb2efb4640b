//! Whether servers are of the build that their study declares, and whether builds of two contenders differ as they should.
//!
//! A fact that neither a server nor its program tells contradicts nothing.

use std::collections::BTreeMap;

use super::Remark;
use crate::run_record::{Build, RunRecord};
use crate::study::{Contender, DeclaredBuild, Study};

/// What contradicts a declared build, in words; `None` where nothing does.
pub fn other_build(declared: &DeclaredBuild, told: &Build) -> Option<String> {
    let digits = |what: &str, declared: &Option<String>, told: &Option<String>| {
        let (declared, told) = (declared.as_ref()?, told.as_ref()?.to_ascii_lowercase());
        // Either may be abbreviated.
        let same = told.starts_with(declared.as_str()) || declared.starts_with(&told);
        (!same).then(|| format!("its {what} is declared as {declared}, and it is {told}"))
    };
    let compiler = || {
        let (declared, told) = (declared.compiler.as_ref()?, told.compiler.as_ref()?);
        let text = told.to_ascii_lowercase();
        let same = declared.to_ascii_lowercase().split_whitespace().all(|word| text.contains(word));
        (!same).then(|| format!("its compiler is declared as {declared}, and it is {told}"))
    };
    let all =
        [digits("commit", &declared.commit, &told.commit), compiler(), digits("build id", &declared.build_id, &told.build_id)];
    let all: Vec<String> = all.into_iter().flatten().collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// What a reader must know of the builds of the contenders.
pub(super) fn remarks(study: &Study, records: &[RunRecord]) -> Vec<Remark> {
    let mut found: BTreeMap<String, Remark> = BTreeMap::new();
    let mut add = |text: String, record: &RunRecord| {
        let first = || Remark { text: text.clone(), flag: None, trials: 0, example: record.key.path() };
        found.entry(text.clone()).or_insert_with(first).trials += 1;
    };
    for record in records {
        let declared = study.contender(&record.key.contender).and_then(|c| c.build.as_ref());
        let Some((declared, told)) = declared.zip(record.target.build.as_ref()) else { continue };
        if let Some(text) = other_build(declared, told) {
            add(format!("{}: {text}", record.key.contender), record);
        }
    }
    for (i, a) in study.contenders.iter().enumerate() {
        for b in &study.contenders[i + 1..] {
            let Some(text) = unlike(a, b, records) else { continue };
            records.iter().filter(|r| [&a.name, &b.name].contains(&&r.key.contender)).for_each(|r| add(text.clone(), r));
        }
    }
    found.into_values().collect()
}

/// Where two contenders declare their builds, and their programs are the same although these differ, or differ although these are the
/// same.
fn unlike(a: &Contender, b: &Contender, records: &[RunRecord]) -> Option<String> {
    // Programs for two architectures are two programs, whatever they were made from.
    if a.arch != b.arch {
        return None;
    }
    let same = a.build.as_ref()? == b.build.as_ref()?;
    let (mine, theirs) = (build_id(a, records)?, build_id(b, records)?);
    let names = format!("{} and {}", a.name, b.name);
    match (same, mine == theirs) {
        (false, true) => Some(format!("{names} declare different builds, and their programs have one build id: {mine}")),
        (true, false) => {
            Some(format!("{names} declare the same build, and their programs differ: build ids {mine} and {theirs}"))
        }
        _ => None,
    }
}

/// The build id of all trials of a contender; `None` where it is not told, or they differ.
fn build_id<'r>(contender: &Contender, records: &'r [RunRecord]) -> Option<&'r str> {
    let mut ids =
        records.iter().filter(|r| r.key.contender == contender.name).map(|r| r.target.build.as_ref()?.build_id.as_deref());
    let first = ids.next()??;
    ids.all(|id| id == Some(first)).then_some(first)
}
