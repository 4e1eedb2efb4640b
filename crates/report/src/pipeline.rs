//! What `perbuck compare --baseline` says to pipelines: JUnit XML, and the annotations of GitHub.

use std::fmt::Write as _;

use perbuck_core::compare::{Compared, Regression, Verdict};

use crate::escape::{clean, html};
use crate::model::{ratio_cell, verdict_cell};
use crate::number::{column_decimals, counted, measured};

/// The results as JUnit XML, one test case each: worse is a failure, undecided is skipped. It holds no time, so that the same folders
/// give the same file.
pub fn junit(found: &Regression) -> String {
    let count = |is: fn(Verdict) -> bool| found.results.iter().filter(|r| is(r.judgement.verdict)).count();
    let (tests, worse, skipped) = (found.results.len(), count(|v| v == Verdict::Worse), count(is_undecided));
    let suite = xml(&format!("{} against {}", found.new, found.old));
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"perbuck\" tests=\"{tests}\" failures=\"{worse}\" errors=\"0\">\n\
         <testsuite name=\"{suite}\" tests=\"{tests}\" failures=\"{worse}\" errors=\"0\" skipped=\"{skipped}\">\n"
    );
    for r in &found.results {
        let _ = writeln!(out, "<testcase classname=\"{}\" name=\"{}\">", xml(&r.workload), xml(&r.contender));
        let text = xml(&sentence(r));
        let _ = match r.judgement.verdict {
            Verdict::Worse => writeln!(out, "<failure type=\"worse\" message=\"{text}\">{text}</failure>"),
            Verdict::Undecided { .. } => writeln!(out, "<skipped message=\"{text}\"/>"),
            Verdict::Better | Verdict::Equivalent => writeln!(out, "<system-out>{text}</system-out>"),
        };
        out.push_str("</testcase>\n");
    }
    let changes: Vec<String> = found
        .changes
        .iter()
        .map(|c| format!("{} {}: was {}, is {}", clean(&c.group), clean(&c.what), clean(&c.old), clean(&c.new)))
        .collect();
    let unmatched = found.unmatched.iter().map(|u| format!("not compared: {}", clean(u)));
    let beside: Vec<String> = changes.into_iter().chain(unmatched).map(|line| xml(&line)).collect();
    let _ = writeln!(out, "<system-out>{}</system-out>\n</testsuite>\n</testsuites>", beside.join("\n"));
    out
}

/// Annotations for GitHub's runner, one a line: a notice that counts the verdicts, an error for each result that is worse, a warning for
/// each that is undecided.
pub fn github(found: &Regression) -> String {
    let count = |word: &str| found.results.iter().filter(|r| r.judgement.verdict.word() == word).count();
    let counts = ["worse", "undecided", "equivalent", "better"].map(|word| format!("{} {word}", count(word))).join(", ");
    let what =
        format!("{} against {}: {} ({counts})", clean(&found.new), clean(&found.old), counted(found.results.len(), "verdict"));
    let mut out = command("notice", "perbuck", &what);
    for r in &found.results {
        let text = format!("{}, {}: {}", clean(&r.workload), clean(&r.contender), sentence(r));
        match r.judgement.verdict {
            Verdict::Worse => out += &command("error", "perbuck: worse than before", &text),
            Verdict::Undecided { .. } => out += &command("warning", "perbuck: undecided", &text),
            Verdict::Better | Verdict::Equivalent => {}
        }
    }
    out
}

fn is_undecided(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Undecided { .. })
}

/// Both values, their ratio and what follows.
fn sentence(r: &Compared) -> String {
    let decimals = column_decimals([r.old, r.new]);
    let value = |v: f64| measured(v, decimals, &r.metric);
    let (ratio, verdict) = (ratio_cell(&r.judgement.ratio).line(), verdict_cell(&r.judgement, true).line());
    format!("{verdict}; new {}, old {}, new over old {ratio}", value(r.new), value(r.old))
}

/// Text of XML 1.0, which some characters cannot stand in even escaped.
fn xml(text: &str) -> String {
    html(&text.replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}"))
}

/// A command of GitHub's runner. In a property `:` and `,` have a meaning, too.
fn command(kind: &str, title: &str, message: &str) -> String {
    let message = message.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    let title = title.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A").replace(':', "%3A").replace(',', "%2C");
    format!("::{kind} title={title}::{message}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_ends_with_its_line() {
        let found = command("error", "a: b, 5 %", "5 % slower\n::error::forged\r");
        assert_eq!(found, "::error title=a%3A b%2C 5 %25::5 %25 slower%0A::error::forged%0D\n");
    }

    #[test]
    fn xml_holds_no_character_that_it_cannot() {
        assert_eq!(
            xml("<a \"b\"> & \u{0}\u{b}\u{ffff}\u{202e}'"),
            "&lt;a &quot;b&quot;&gt; &amp; \u{fffd}\u{fffd}\u{fffd}\u{fffd}&#39;"
        );
    }
}
