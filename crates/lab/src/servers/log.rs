//! What the logs of a private server say.

use std::fs;
use std::path::Path;

use super::running::log_of;

/// Characters of such a line that are shown: some programs put a backtrace into one.
const LINE_MAX: usize = 400;
/// Lines of a log that are shown.
const LAST_LINES: usize = 15;

/// The last lines of a process's log, without the password: a server may quote a statement that it cannot take.
pub(super) fn last_words(folder: &Path, process: &str, password: &str) -> String {
    last_lines(&folder.join(log_of(process))).replace(password, "…")
}

pub(super) fn last_lines(log: &Path) -> String {
    let cut = |line: &str| {
        line.chars().take(LINE_MAX).collect::<String>() + if line.chars().nth(LINE_MAX).is_some() { "…" } else { "" }
    };
    telling(&text_of(log)).into_iter().map(|line| format!("    {}\n", cut(line))).collect::<String>().trim_end().to_owned()
}

pub(super) fn text_of(log: &Path) -> String {
    fs::read(log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

/// The lines that say what went wrong: those that call themselves errors, or else the last ones. Installers of databases end with
/// pages of advice.
fn telling(text: &str) -> Vec<&str> {
    let lines: Vec<&str> = text.lines().filter(|l| !l.trim().is_empty()).collect();
    let marks = ["ERROR", "FATAL", "Error:"];
    let errors: Vec<&str> = lines.iter().copied().filter(|l| marks.iter().any(|m| l.contains(m))).take(LAST_LINES).collect();
    if errors.is_empty() { lines[lines.len().saturating_sub(LAST_LINES)..].to_vec() } else { errors }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_told_and_not_the_advice_below_them() {
        assert_eq!(telling("[Note] on\n[ERROR] no space\n\nyou can also\ntry\n"), ["[ERROR] no space"]);
        let quiet: String = (1..=20).map(|n| format!("line {n}\n")).collect();
        assert_eq!(telling(&quiet).first(), Some(&"line 6"));
    }
}
