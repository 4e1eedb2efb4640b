//! Declared builds against told ones, and contenders against each other.

use super::*;
use crate::compare::other_build;
use crate::run_record::Build;
use crate::study::DeclaredBuild;

fn told(commit: &str, compiler: &str, build_id: &str) -> Build {
    let text = |t: &str| Some(t.to_owned()).filter(|t| !t.is_empty());
    Build { commit: text(commit), compiler: text(compiler), build_id: text(build_id), ..Build::default() }
}

#[test]
fn only_what_is_told_contradicts_what_is_declared() {
    let some = |t: &str| Some(t.to_owned());
    let declared =
        DeclaredBuild { commit: some("0123abc"), compiler: some("GCC 12.2"), build_id: some("feedbeef"), ..Default::default() };
    let gcc = "GCC: (Debian 12.2.0-14) 12.2.0";
    assert_eq!(other_build(&declared, &Build::default()), None);
    assert_eq!(other_build(&declared, &told("0123ABCDEF", gcc, "feedbeef00")), None);
    let all = other_build(&declared, &told("0124abcdef", "clang version 16.0.6", "feedbee0")).unwrap();
    assert_eq!(
        all,
        "its commit is declared as 0123abc, and it is 0124abcdef; its compiler is declared as GCC 12.2, and it is clang version 16.0.6; \
         its build id is declared as feedbeef, and it is feedbee0"
    );
}

/// The remarks on builds where both contenders declare this, and their programs have these ids.
fn said(builds: [&str; 2], ids: [&str; 2]) -> Vec<String> {
    let mut study = study();
    let mut records = records();
    for ((contender, commit), id) in study.contenders.iter_mut().zip(builds).zip(ids) {
        contender.build = Some(DeclaredBuild { commit: Some(commit.to_owned()), ..Default::default() });
        for r in records.iter_mut().filter(|r| r.key.contender == contender.name) {
            r.target.build = told("", "", id).known();
        }
    }
    let remarks = compare(&study, &records, &[], &[]).unwrap().remarks;
    remarks.into_iter().map(|r| r.text).filter(|t| t.contains("build")).collect()
}

#[test]
fn builds_that_differ_in_words_alone_or_in_fact_alone_are_remarked() {
    assert_eq!(said(["1111111", "2222222"], ["aa", "bb"]), Vec::<String>::new());
    assert_eq!(said(["1111111", "1111111"], ["aa", "aa"]), Vec::<String>::new());
    assert_eq!(said(["1111111", "2222222"], ["", ""]), Vec::<String>::new());
    let same = said(["1111111", "2222222"], ["aa", "aa"]);
    assert!(
        same.len() == 1 && same[0].ends_with("declare different builds, and their programs have one build id: aa"),
        "{same:?}"
    );
    let other = said(["1111111", "1111111"], ["aa", "bb"]);
    assert!(other.len() == 1 && other[0].contains("declare the same build, and their programs differ"), "{other:?}");
}

#[test]
fn trials_of_one_contender_on_two_builds_are_remarked() {
    let mut records = records();
    let mut x86: Vec<&mut RunRecord> = records.iter_mut().filter(|r| r.key.contender == "x86").collect();
    for (r, id) in x86.iter_mut().zip(["aa", "aa", "bb"]) {
        r.target.build = told("", "", id).known();
    }
    let remarks = compare(&study(), &records, &[], &[]).unwrap().remarks;
    let found = remarks.iter().find(|r| r.text == "trials of one contender differ in the build of the database").unwrap();
    assert_eq!(found.trials, 1, "those without a known build differ from none");
}

#[test]
fn a_declared_build_is_read_and_its_digits_are_checked() {
    let with = |keys: &str| STUDY.replacen("[[contender]]", &format!("[[contender]]\nbuild = {{ {keys} }}"), 1);
    let read =
        Study::read("s.toml", &with("source = \"a\", commit = \"ABCDEF0\", patches = [\"p\"], flags = \"-O2\""), &[]).unwrap();
    let build = read.contenders[0].build.clone().unwrap();
    assert_eq!((build.commit.as_deref(), build.patches.len(), build.facts().len()), (Some("abcdef0"), 1, 4));
    let problems = Study::read("s.toml", &with("commit = \"main\""), &[]).unwrap_err();
    assert!(problems[0].message.contains("`build.commit` is `main`"), "{problems:?}");
}
