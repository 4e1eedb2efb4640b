//! `dev/words` finds what it is there for: in a small checkout of its own, every mistake planted is named with its place.

use std::process::Command;

use crate::common::{Desk, Ended, ended};

const GLOSSARY: &str = "# Glossary

| term | meaning | not in prose | not in names |
|---|---|---|---|
| failover | a connection moves to another host | going home | guest |
| redo | do again | anew | anew |
";

/// A checkout with a page and a file of Rust.
fn words(page: &str, rust: &str, allowed: &str) -> Ended {
    let desk = Desk::new();
    let files =
        [("docs/glossary.md", GLOSSARY), ("README.md", page), ("crates/x/src/lib.rs", rust), ("dev/words-allowed.txt", allowed)];
    for (name, text) in files {
        desk.write(name, text);
    }
    assert!(Command::new("git").args(["init", "--quiet"]).arg(desk.path(".")).status().unwrap().success());
    ended(Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../dev/words")).arg(desk.path(".")).output().unwrap())
}

#[test]
fn what_is_right_passes() {
    let ended = words("# A page\n\nSee the [glossary](docs/glossary.md#glossary).\n", "struct Failover; // it moves\n", "");
    assert_eq!((ended.code, ended.out.lines().last()), (Some(0), Some("words: 0 faults")), "{ended:#?}");
}

#[test]
fn every_planted_mistake_is_named_with_its_line() {
    let long = format!("# A page\n\nIt {}ends. It ends. It ends.\n", "runs and ".repeat(19));
    let (fine, allowed) = ("# A page\n\nIt runs.\n", "");
    let cases = [
        (long.as_str(), "", allowed, "README.md:3: a sentence of 40 words; 35 is the limit"),
        ("# A page\n\nIt starts anew.\n", "", allowed, "README.md:3: `anew`: say `redo`"),
        ("# A page\n\nIt is [here](docs/gone.md).\n", "", allowed, "README.md:3: link to `docs/gone.md`: there is no such file"),
        (
            "# A page\n\nIt is [here](docs/glossary.md#gone).\n",
            "",
            allowed,
            "README.md:3: link to `docs/glossary.md#gone`: no heading",
        ),
        (
            fine,
            "fn f() {}\nstruct HostGuests;\n",
            allowed,
            "crates/x/src/lib.rs:2: name `HostGuests`: say `failover`, not `guest`",
        ),
        (fine, "fn start_anew() {}\n", allowed, "crates/x/src/lib.rs:1: name `start_anew`: say `redo`, not `anew`"),
        (fine, "// It is\n// going home.\n", allowed, "crates/x/src/lib.rs:2: `going home`: say `failover`"),
        (fine, "const A: &str = \"it starts anew\";\n", allowed, "crates/x/src/lib.rs:1: `anew`: say `redo`"),
        (fine, "", "guest  crates/x/*  another word\n", "dev/words-allowed.txt:1: nothing needs `guest` in crates/x/*"),
    ];
    for (page, rust, allowed, said) in cases {
        let ended = words(page, rust, allowed);
        assert!(ended.code == Some(1) && ended.out.contains(said), "{said:?} is not in\n{}", ended.out);
        assert!(ended.out.ends_with("words: 1 faults\n"), "{}", ended.out);
    }
}

#[test]
fn single_words_in_quotes_texts_of_tests_and_allowed_uses_pass() {
    let rust = "struct Guest;\nconst A: &str = \"guest\";\nconst B: &str = r#\"\"guest\"\"#;\nconst C: char = '\"';\n// `anew` is code\n\
                #[cfg(test)]\nmod tests {\n    const D: &str = \"it starts anew\";\n}\n";
    let ended = words("# A page\n\nIt runs.\n", rust, "# why\nguest  crates/x/src/lib.rs  SQL's GUEST\n");
    assert_eq!(ended.code, Some(0), "{ended:#?}");
}
