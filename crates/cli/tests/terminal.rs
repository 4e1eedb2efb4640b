//! What servers, files and names say reaches a terminal as text: nothing in it moves the cursor or turns the direction of writing.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod common;

use std::io::Write;
use std::net::TcpListener;

use common::{Desk, Ended, QUICK, edited};

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
