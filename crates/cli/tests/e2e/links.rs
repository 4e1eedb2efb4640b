//! Links in results folders lead nowhere: nothing outside is read, written, emptied or removed, and loops end.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::symlink;
use std::process::Stdio;

use crate::common::{Desk, LONG_ENOUGH, QUICK, edited};

fn measured() -> Desk {
    let desk = Desk::new();
    desk.write("s.toml", &edited(&[QUICK[0], LONG_ENOUGH]));
    desk.good(&["run", "s.toml"]);
    desk.write("outside/mine.partial", "mine");
    desk
}

/// The command must end with exit code 5 and a message that names the link.
fn refused(desk: &Desk, arguments: &[&str], link: &str) {
    let ended = desk.perbuck(arguments);
    assert_eq!(ended.code, Some(5), "{arguments:?}: {ended:#?}");
    assert!(ended.err.contains(link) && ended.err.contains("link"), "{arguments:?}: {ended:#?}");
    assert_eq!(desk.read("outside/mine.partial"), "mine");
    assert_eq!(std::fs::read_dir(desk.path("outside")).unwrap().count(), 1);
}

#[test]
fn a_linked_folder_is_neither_tidied_up_nor_read() {
    let desk = measured();
    symlink(desk.path("outside"), desk.path("results/small/full/more")).unwrap();
    for command in [&["run", "s.toml"][..], &["compare", "results/small"], &["report", "results/small"]] {
        refused(&desk, command, "results/small/full/more");
    }
}

#[test]
fn no_file_is_written_through_a_link() {
    let desk = measured();
    for name in [".lock", "live.jsonl", "fingerprint", "id", "server-settings.json"] {
        let path = desk.path(&format!("results/small/{name}"));
        let kept = std::fs::read(&path).ok();
        let _ = std::fs::remove_file(&path);
        symlink(desk.path("outside/mine.partial"), &path).unwrap();
        refused(&desk, &["run", "s.toml"], name);
        std::fs::remove_file(&path).unwrap();
        if let Some(kept) = kept {
            std::fs::write(&path, kept).unwrap();
        }
    }
    symlink(desk.path("outside"), desk.path("made-figures")).unwrap();
    std::fs::create_dir(desk.path("made")).unwrap();
    std::fs::rename(desk.path("made-figures"), desk.path("made/figures")).unwrap();
    refused(&desk, &["report", "results/small", "-o", "made"], "figures");
    // The study's own folder, below the results folder that is named.
    std::fs::rename(desk.path("results/small"), desk.path("moved")).unwrap();
    symlink(desk.path("outside"), desk.path("results/small")).unwrap();
    refused(&desk, &["run", "s.toml"], "results/small");
    // A link that the user names is followed.
    std::fs::remove_file(desk.path("results/small")).unwrap();
    symlink(desk.path("moved"), desk.path("named")).unwrap();
    desk.good(&["compare", "named"]);
}

#[test]
fn loops_end_and_no_page_shows_a_linked_file() {
    let desk = measured();
    desk.write("secret.html", "a secret of the system");
    // Four links in each of a folder: some thousand million ways of sixteen steps.
    for name in ["a", "b", "c", "d"] {
        symlink("..", desk.path(&format!("results/small/full/{name}"))).unwrap();
        symlink(".", desk.path(&format!("results/{name}"))).unwrap();
    }
    for (study, file) in [("published", "report.html"), ("linked", "study.toml"), ("followed", "live.jsonl")] {
        std::fs::create_dir(desk.path(&format!("results/{study}"))).unwrap();
        symlink(desk.path("secret.html"), desk.path(&format!("results/{study}/{file}"))).unwrap();
    }
    let ended = desk.perbuck(&["report", "results/small"]);
    assert!(ended.code == Some(5) && ended.err.contains("is a link"), "{ended:#?}");
    let mut child = desk.command(&["serve", "results", "--port", "0"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let port: u16 = line.split("127.0.0.1:").nth(1).unwrap().split('/').next().unwrap().parse().unwrap();
    let get = |path: &str| {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    let index = get("/");
    assert!(index.contains("study=small") && !index.contains("study=linked"), "{index}");
    for path in [
        "/report?study=published",
        "/report?study=linked",
        "/live.json?study=followed",
        "/report?study=small",
        "/study?study=small",
    ] {
        let answer = get(path);
        assert!(!answer.contains("a secret"), "{path}: {answer}");
    }
    assert!(get("/report?study=small").contains("is a link"));
    child.kill().unwrap();
    child.wait().unwrap();
}
