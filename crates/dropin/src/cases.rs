//! What the tests of command lines share.

use std::ffi::OsString;

use perbuck_core::histogram::Histogram;

use crate::refused::Refused;

/// The words of a command line as the system gives them.
pub(crate) fn words(list: &[&str]) -> Vec<OsString> {
    list.iter().map(OsString::from).collect()
}

/// Holds that every command line is refused with a way out and a message that begins with this text, or has it somewhere
/// after `…`.
pub(crate) fn hold_refused<T>(read: impl Fn(&[&str]) -> Result<T, Refused>, cases: &[(&[&str], &str)]) {
    for (words, said) in cases {
        let refused = read(words).err().unwrap_or_else(|| panic!("{words:?} is taken"));
        let right = match said.strip_prefix('…') {
            Some(said) => refused.message.contains(said),
            None => refused.message.starts_with(said),
        };
        assert!(right && !refused.help.is_empty(), "{words:?}: {refused:?}");
    }
}

pub(crate) fn histogram(values_ns: impl IntoIterator<Item = u64>) -> Histogram {
    let mut all = Histogram::new();
    values_ns.into_iter().for_each(|ns| all.record(ns));
    all
}
