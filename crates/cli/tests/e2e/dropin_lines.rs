//! What the drop-in commands print, line by line: helps, refusals, errors, tables made and dropped, the study of a record.
//! `dropin_lines.txt` holds command lines (`$ words`) with all that they print; the commands are read from it and run in
//! their order. `PERBUCK_REWRITE=1` writes the file again, for a change that is meant.

use crate::common::{Desk, Ended, files};

/// Numbers as `N` and runs of spaces as one: the text of a run whose numbers are chance.
fn masked(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c.is_ascii_digit() {
            while chars.next_if(|c| c.is_ascii_digit() || *c == '.').is_some() {}
            out.push('N');
        } else if c != ' ' || !out.ends_with(' ') {
            out.push(c);
        }
    }
    out
}

/// What a command printed, as the file holds it. `~` before its words masks numbers and leaves standard error out.
fn told(ended: &Ended, is_masked: bool) -> String {
    let version = |text: &str| text.replace(env!("CARGO_PKG_VERSION"), "VERSION");
    let lines = |mark: &str, text: &str| version(text).lines().map(|line| format!("{mark}{line}\n")).collect::<String>();
    let code = ended.code.unwrap();
    if is_masked {
        // What a busy machine warns of, and rules as wide as their numbers.
        let chance = |line: &&str| line.starts_with("WARNING: ") || line.starts_with("+-");
        let out = match ended.out.split_once("\nRemarks:\n") {
            Some((before, remarks)) => before.to_owned() + &remarks[remarks.find("\n\n").map_or(remarks.len(), |at| at + 1)..],
            None => ended.out.clone(),
        };
        let kept: Vec<&str> = out.lines().filter(|line| !chance(line)).collect();
        return format!("= {code}\n{}", lines("> ", &masked(&kept.join("\n"))));
    }
    format!("= {code}\n{}{}", lines("> ", &ended.out), lines("! ", &ended.err))
}

/// The studies and fingerprints below the folder of results.
fn studies(desk: &Desk) -> String {
    let mut paths = Vec::new();
    files(&desk.path("state"), &mut paths);
    let mut out = String::new();
    for path in paths {
        let name = path.strip_prefix(desk.path("")).unwrap().display().to_string();
        out += &format!("+ {name}\n");
        if name.ends_with("study.toml") || name.ends_with("fingerprint") {
            out += &std::fs::read_to_string(&path).unwrap().lines().map(|line| format!("| {line}\n")).collect::<String>();
        }
    }
    out
}

/// Runs the command lines of a text; returns it with what they print now.
fn replayed(text: &str) -> String {
    let mut desk = Desk::new();
    let mut out = String::new();
    for line in text.lines().filter(|l| l.starts_with(['#', '$', '~', '*'])) {
        out += &format!("{line}\n");
        let words = || line[2..].split(' ').map(|word| word.replace('␣', " ")).collect::<Vec<String>>();
        match line.chars().next() {
            Some('#') => desk = Desk::new(),
            Some('*') => out += &studies(&desk),
            mark => {
                let words = words();
                let ended = desk.perbuck(&words.iter().map(String::as_str).collect::<Vec<_>>());
                out += &told(&ended, mark == Some('~'));
            }
        }
    }
    out
}

#[test]
fn every_line_is_as_it_was() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/e2e/dropin_lines.txt");
    let expected = std::fs::read_to_string(path).unwrap();
    let found = replayed(&expected);
    if std::env::var_os("PERBUCK_REWRITE").is_some() {
        std::fs::write(path, &found).unwrap();
    }
    let differs = expected.lines().zip(found.lines()).find(|(a, b)| a != b);
    assert_eq!((differs, expected.lines().count()), (None, found.lines().count()));
}
