//! What perbuck shows on a terminal: its width, its colours, its bar. What servers, files and names say reaches it as text: nothing in
//! it moves the cursor or turns the direction of writing.

use std::io::Write;
use std::net::TcpListener;
use std::process::{Command, Stdio};

use crate::common::{Desk, Ended, QUICK, edited, ended};

/// An escape sequence, one of a single character (C1), and marks that turn the direction of writing.
const STEERING: &str = "\u{1b}[2J\u{1b}]0;owned\u{7}\u{9b}31m\u{202e}txt\u{2066}\u{200f}\u{feff}";

fn harmless(ended: &Ended) {
    let steers = |c: char| (c.is_control() && c != '\n') || "\u{202e}\u{2066}\u{200f}\u{feff}".contains(c);
    assert!(!ended.out.contains(steers) && !ended.err.contains(steers), "{ended:?}");
}

/// A server that refuses every login with these words.
fn refusing(words: &'static str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let payload = [b"\xff\x10\x04", words.as_bytes()].concat();
            let header = (payload.len() as u32).to_le_bytes();
            // One that is gone has heard enough.
            let _ = stream.unwrap().write_all(&[&header[..], &payload].concat());
        }
    });
    port
}

#[test]
fn words_of_a_server_are_text() {
    let desk = Desk::new();
    let target = format!("mysql://root@127.0.0.1:{}/test", refusing(STEERING));
    desk.write("study.toml", &edited(&[("sqlite:full.db?synchronous=FULL", &target)]));
    for command in ["prepare", "run"] {
        let ended = desk.perbuck(&[command, "study.toml"]);
        assert!(ended.code == Some(3) && ended.err.contains("refused the login"), "{ended:?}");
        harmless(&ended);
    }
}

#[test]
fn names_of_files_and_words_of_studies_are_text() {
    let desk = Desk::new();
    let name = format!("{STEERING}.toml");
    desk.write(&name, &edited(&QUICK).replace("schema = 1", "schema = 2"));
    for arguments in [
        &["check", &name][..],
        &["check", "--json", &name],
        &["report", STEERING],
        &["verify", STEERING],
        &["check", &name, STEERING],
        &[STEERING],
        &["sysbench", &format!("--mysql-ssl={STEERING}"), "oltp_read_only", "run"],
        &["tpcc", "-d", STEERING, "run"],
        &["ycsb", "load", STEERING],
    ] {
        let ended = desk.perbuck(arguments);
        assert!(ended.code.is_some_and(|code| code != 0), "{ended:?}");
        harmless(&ended);
    }
    let told = desk.perbuck(&["check", "--json", &name]).out;
    // To a program the name is what it was.
    let problems: serde_json::Value = serde_json::from_str(&told).unwrap();
    assert_eq!(problems[0]["file"], *name);
    desk.write("target.toml", &edited(&[("sqlite:full.db?synchronous=FULL", "sqlite:\\u202efull.db")]));
    harmless(&desk.perbuck(&["check", "target.toml"]));
}

const PUBLISHED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../studies/published/tidb-eks-arm-2021.toml");

/// What a terminal of so many columns gets from a command: both streams, as they come. `script` of util-linux makes the terminal.
fn on_terminal(desk: &Desk, columns: usize, variables: &str, command: &str) -> String {
    let perbuck = env!("CARGO_BIN_EXE_perbuck");
    let line = format!(
        "stty cols {columns} rows 40; env -u CI -u NO_COLOR -u CLICOLOR_FORCE -u CLICOLOR {variables} '{perbuck}' {command}"
    );
    let mut script = Command::new("script");
    script.args(["-qec", &line, "typescript"]).current_dir(desk.path(".")).stdin(Stdio::null());
    let ended = ended(script.output().expect("this test needs `script` of util-linux"));
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    ended.out.replace("\r\n", "\n")
}

#[test]
fn tables_fit_the_terminal_and_a_pipe_has_no_styles() {
    let desk = Desk::new();
    let piped = desk.good(&["replay", PUBLISHED, "-o", "pipe"]);
    assert!(!piped.out.contains('\u{1b}') && piped.out.lines().all(|l| l.chars().count() <= 100), "{piped:#?}");
    for columns in [60, 80, 100, 140] {
        let shown = on_terminal(&desk, columns, "TERM=xterm NO_COLOR=1", &format!("replay '{PUBLISHED}' -o at"));
        assert!(shown.contains("Throughput") && !shown.contains('\u{1b}'), "{shown}");
        // Names of files are whole, however long they are.
        let too_long: Vec<&str> = shown.lines().filter(|l| l.chars().count() > columns && !l.starts_with("at/")).collect();
        assert_eq!(too_long, Vec::<&str>::new(), "at {columns} columns");
    }
}

#[test]
fn colours_are_where_they_are_wanted() {
    let desk = Desk::new();
    let replay = format!("replay '{PUBLISHED}' -o at");
    let coloured = |variables: &str| on_terminal(&desk, 100, variables, &replay).contains("\u{1b}[33m");
    assert!(coloured("TERM=xterm-256color"), "undecided is yellow");
    for never in ["TERM=xterm-256color NO_COLOR=1", "TERM=dumb", "TERM=xterm-256color CLICOLOR=0"] {
        assert!(!coloured(never), "{never}");
    }
    let mut forced = Desk::new();
    forced.set("CLICOLOR_FORCE", "1");
    assert!(forced.good(&["replay", PUBLISHED, "-o", "at"]).out.contains("\u{1b}[33m"), "forced into a pipe");
    let json = forced.good(&["replay", "--json", PUBLISHED]).out;
    assert!(!json.contains('\u{1b}') && !json.contains("u001b"), "JSON has no styles");
}

#[test]
fn a_bar_moves_in_a_terminal_and_only_there() {
    let desk = Desk::new();
    desk.write("study.toml", &edited(&QUICK));
    let piped = desk.good(&["run", "--results", "piped", "study.toml"]);
    assert!(!piped.err.contains(['\u{1b}', '\r', '█']) && piped.err.contains("[2/2] "), "{piped:#?}");
    let shown = on_terminal(&desk, 70, "TERM=xterm", "run --results shown study.toml");
    assert!(shown.contains('█') && shown.contains(" min left · [2/2] ") && shown.contains("\u{1b}[2K"), "{shown}");
    let dumb = on_terminal(&desk, 70, "TERM=dumb", "run --results dumb study.toml");
    assert!(!dumb.contains(['\u{1b}', '█']) && dumb.contains("[2/2] "), "{dumb}");
}

#[test]
fn quiet_is_the_result_alone_and_verbose_is_every_check() {
    let desk = Desk::new();
    desk.write("study.toml", &edited(&QUICK));
    let usual = desk.good(&["run", "study.toml"]);
    assert!(usual.err.contains("full, rw: 2 of 2 conditions hold\n") && !usual.err.contains(" holds: "), "{usual:#?}");
    assert!(usual.err.contains("after the last trial 4 of 4 conditions hold\n"), "{usual:#?}");
    assert!(usual.out.contains("Write the report with"), "{usual:#?}");
    let quiet = desk.good(&["--quiet", "run", "--results", "quiet", "study.toml"]);
    assert!(quiet.err.is_empty() && quiet.out.contains(" gives ") && !quiet.out.contains("Write the report"), "{quiet:#?}");
    let quiet = on_terminal(&desk, 80, "TERM=xterm NO_COLOR=1", "run -q --results tty study.toml");
    assert!(!quiet.contains(['█', '\u{1b}']) && quiet.contains(" gives "), "no bar either: {quiet}");
    let verbose = desk.good(&["run", "--verbose", "--results", "verbose", "study.toml"]);
    assert_eq!(verbose.err.matches(" holds: ").count(), 4, "{verbose:#?}");
    // What goes wrong is said in any case.
    let broken = desk.perbuck(&["run", "--quiet", "no.toml"]);
    assert!(broken.code == Some(5) && broken.err.contains("no.toml"), "{broken:#?}");
    assert_eq!(desk.perbuck(&["run", "-qv", "study.toml"]).code, Some(2));
    // To a command that replaces another program they are that program's words.
    for words in
        [&["sysbench", "--quiet", "oltp_read_only", "run"][..], &["tpcc", "--verbose", "run"], &["--quiet", "ycsb", "load"]]
    {
        let refused = desk.perbuck(words);
        assert!(refused.code.is_some_and(|code| code != 0) && !refused.err.is_empty(), "{words:?}: {refused:#?}");
    }
}
