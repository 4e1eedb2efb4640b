//! What of this machine spoils a measurement, for a user who asks.

use perbuck_observe::Tree;
use perbuck_observe::doctor::{Finding, Mend, examine};

/// What spoils a measurement on this machine.
pub fn examine_this_machine() -> Vec<Finding> {
    examine(&Tree::running())
}

/// Findings as lines of a terminal, each with the commands that mend it.
pub fn lines(found: &[Finding]) -> String {
    if found.is_empty() {
        return "nothing was found that spoils a measurement\n".to_owned();
    }
    found.iter().map(of_finding).collect::<Vec<_>>().join("\n")
}

fn of_finding(finding: &Finding) -> String {
    let mends: String = finding.mends.iter().map(|mend| format!("    {}\n", command(mend))).collect();
    format!("{}: {}\n  {}\n{mends}", finding.about, finding.seen, finding.costs)
}

/// What a user gives as root.
fn command(mend: &Mend) -> String {
    match mend {
        Mend::Set(setting) => format!("echo {} > /{}", quoted(&setting.value), setting.path),
        Mend::Run(command) => command.clone(),
    }
}

/// A value as one word of a shell; values of settings have no quotes.
fn quoted(value: &str) -> String {
    if value.contains(' ') { format!("'{value}'") } else { value.to_owned() }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by it")]
mod tests {
    use super::*;

    #[test]
    fn the_sample_of_the_page_is_what_is_printed() {
        let found = examine(&Tree::unpacked(include_str!("../../observe/tests/data/machines/a1-16.txt")));
        let page = include_str!("../../../docs/commands/doctor.md");
        let sample = page.split("```").nth(1).unwrap();
        assert_eq!(sample.split_once("$ perbuck doctor\n").unwrap().1, lines(&found), "{}", lines(&found));
    }

    #[test]
    fn values_with_spaces_are_one_word() {
        let set = |value: &str| Mend::Set(perbuck_observe::doctor::Setting { path: "proc/x".into(), value: value.into() });
        assert_eq!(command(&set("1 2")), "echo '1 2' > /proc/x");
        assert_eq!(command(&set("fe")), "echo fe > /proc/x");
        assert_eq!(lines(&[]), "nothing was found that spoils a measurement\n");
    }
}
