//! `build` of a contender: where the program of its server comes from, as the study declares it.

use crate::toml_reader::Section;

/// Hexadecimal digits of a commit at least: as many as git abbreviates to.
const COMMIT_DIGITS: usize = 7;

/// The declared build of a server. What the server or its program tells is compared with it; the rest is only reported.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DeclaredBuild {
    /// Where the source or the package comes from.
    pub source: Option<String>,
    /// The commit of the source, seven hexadecimal digits or more.
    pub commit: Option<String>,
    /// What was changed in that source, in the order of the changes.
    pub patches: Vec<String>,
    /// The compiler: words that what is told of it must hold.
    pub compiler: Option<String>,
    /// The flags of the compiler; no server tells them.
    pub flags: Option<String>,
    /// The start of the build id of its program, in hexadecimal digits.
    pub build_id: Option<String>,
}

pub(super) fn read_build(contender: &Section<'_>) -> Option<DeclaredBuild> {
    let s = contender.table("build")?;
    let text = |key: &str| s.text(key).map(|t| t.value);
    let digits = |key: &str| {
        let found = text(key)?.to_ascii_lowercase();
        let good = found.len() >= COMMIT_DIGITS && found.bytes().all(|b| b.is_ascii_hexdigit());
        if !good {
            let help = format!("write {COMMIT_DIGITS} hexadecimal digits of it or more");
            s.report(key, format!("`build.{key}` is `{found}`"), help);
        }
        good.then_some(found)
    };
    let found = DeclaredBuild {
        source: text("source"),
        commit: digits("commit"),
        patches: s.texts("patches").map(|t| t.value).unwrap_or_default(),
        compiler: text("compiler"),
        flags: text("flags"),
        build_id: digits("build_id"),
    };
    s.finish();
    Some(found)
}

impl DeclaredBuild {
    /// Its keys with their values, in the order of the documentation.
    pub fn facts(&self) -> Vec<(&'static str, String)> {
        let patches = (!self.patches.is_empty()).then(|| self.patches.join(", "));
        let all = [
            ("source", self.source.clone()),
            ("commit", self.commit.clone()),
            ("patches", patches),
            ("compiler", self.compiler.clone()),
            ("flags", self.flags.clone()),
            ("build id", self.build_id.clone()),
        ];
        all.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
    }
}
