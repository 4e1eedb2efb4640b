//! Passwords reach the server and nothing else: no file, no output, no command line. That the right password lets in and
//! leaves no trace in a record is tested on a real server, in the tests of MariaDB.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use crate::common::{Desk, Ended, edited, ended, files, signal, wait_until};

/// Has characters that a shell, a URL and TOML would treat in their own ways, and occurs nowhere by chance.
const SECRET: &str = "pl0ugh'share%41&x=y";

/// A server that greets, hears one login and refuses it.
struct Refusing {
    port: u16,
    connected: Receiver<()>,
    go_on: Sender<()>,
    heard: Receiver<Vec<u8>>,
}

/// A packet of the MySQL protocol.
fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_le_bytes();
    [&length[..3], &[sequence], payload].concat()
}

/// A greeting that asks for mysql_native_password: long password, database, 4.1 protocol, transactions, plugins.
fn greeting() -> Vec<u8> {
    let capabilities: u32 = 0x0008_a209;
    let [low, high] = [capabilities as u16, (capabilities >> 16) as u16].map(u16::to_le_bytes);
    let parts: [&[u8]; 11] = [
        b"\x0a8.0.0-refusing\0",
        &[1, 0, 0, 0],
        b"abcdefgh\0",
        &low,
        &[45, 2, 0],
        &high,
        &[21],
        &[0; 10],
        b"ijklmnopqrst\0",
        b"mysql_native_password",
        b"\0",
    ];
    packet(0, &parts.concat())
}

impl Refusing {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let ((tell, connected), (go_on, told), (hear, heard)) = (channel(), channel(), channel());
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                // The test has ended.
                if tell.send(()).is_err() || told.recv().is_err() {
                    return;
                }
                stream.write_all(&greeting()).unwrap();
                let mut login = [0; 4096];
                let length = stream.read(&mut login).unwrap();
                let denied = packet(2, b"\xff\x15\x04#28000Access denied for user 'root'@'localhost' (using password: YES)");
                stream.write_all(&denied).unwrap();
                if hear.send(login[..length].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self { port, connected, go_on, heard }
    }

    /// A study whose baseline is this server; `more` follows its target.
    fn study(&self, more: &str) -> String {
        let target = format!("mysql://root@127.0.0.1:{}/test\"{more}", self.port);
        edited(&[("sqlite:full.db?synchronous=FULL\"", &target)])
    }
}

/// What a server has to tell; a perbuck that never comes fails the test instead of hanging it.
fn soon<T>(told: &Receiver<T>) -> T {
    told.recv_timeout(Duration::from_secs(120)).expect("perbuck connects")
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|w| w == text.as_bytes())
}

/// Asserts that a secret is in no file below the desk but the one that the user made, and in no output.
fn nowhere(desk: &Desk, ended: &Ended, secret: &str, but: &str) {
    assert!(!ended.out.contains(secret) && !ended.err.contains(secret), "{ended:#?}");
    let mut found = Vec::new();
    files(&desk.path("."), &mut found);
    for path in found.iter().filter(|p| !p.ends_with(but)) {
        assert!(!contains(&std::fs::read(path).unwrap(), secret), "{} holds the password", path.display());
    }
}

/// Runs a study against the refusing server; the process is looked at while it waits for the greeting.
fn refused(desk: &Desk, server: &Refusing, command: &str) -> Ended {
    let mut started = desk.command(&[command, "study.toml"]);
    let child = started.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    soon(&server.connected);
    let line = std::fs::read(format!("/proc/{}/cmdline", child.id())).unwrap();
    assert!(contains(&line, "study.toml") && !contains(&line, SECRET), "{}", String::from_utf8_lossy(&line));
    server.go_on.send(()).unwrap();
    let login = soon(&server.heard);
    assert!(contains(&login, "root") && !contains(&login, SECRET), "the wire carries a proof, not the password");
    // The last part of the login before the database: a proof of 20 bytes, which an empty password does not have.
    assert!(contains(&login, "root\0\x14"), "a password was given: {login:?}");
    let ended = ended(child.wait_with_output().unwrap());
    assert_eq!(ended.code, Some(3), "{ended:#?}");
    for part in [": full: ", "Access denied for user", "mysql 1045", "help: check user and password"] {
        assert!(ended.err.contains(part), "`{part}` is missing in {ended:#?}");
    }
    ended
}

#[test]
fn a_password_from_the_environment_stays_there() {
    let mut desk = Desk::new();
    let server = Refusing::start();
    desk.write("study.toml", &server.study(""));
    desk.set("PERBUCK_FULL_PASSWORD", SECRET);
    for command in ["prepare", "run"] {
        let ended = refused(&desk, &server, command);
        nowhere(&desk, &ended, SECRET, "none");
    }
    assert!(desk.path("results/small/study.toml").exists(), "there was something to look at");
}

#[test]
fn a_password_from_a_file_stays_there() {
    let desk = Desk::new();
    let server = Refusing::start();
    desk.write("study.toml", &server.study("\npassword_file = \"keys/full\""));
    desk.write("keys/full", &format!("{SECRET}\r\n"));
    for command in ["prepare", "run"] {
        let ended = refused(&desk, &server, command);
        nowhere(&desk, &ended, SECRET, "keys/full");
    }
}

#[test]
fn a_password_in_a_study_is_refused_and_not_repeated() {
    let desk = Desk::new();
    let addresses = [
        "mysql://root:hunter2@127.0.0.1/test",
        "mysql://root:hunter2@hunter2@127.0.0.1/test",
        "mysql://root:hunter2/hunter2@127.0.0.1/test",
        "mysql://root:hunter2?hunter2#@127.0.0.1/test",
        "mysql://root@127.0.0.1/test?password=hunter2",
        "mysql://root@127.0.0.1/test?Passwd=hunter2",
        "tidb://root:hunter2@127.0.0.1/test",
    ];
    let target = |to: &str| edited(&[("sqlite:full.db?synchronous=FULL", to)]);
    let key = edited(&[("target = \"sqlite:full.db", "password = \"hunter2\"\ntarget = \"sqlite:full.db")]);
    let torn = edited(&[("\"sqlite:full.db?synchronous=FULL\"", "\"mysql://root:hunter2@127.0.0.1/test")]);
    for text in addresses.map(target).iter().chain([&key, &torn]) {
        desk.write("study.toml", text);
        for arguments in [&["check"][..], &["check", "--json"], &["price"], &["prepare"], &["run"]] {
            let ended = desk.perbuck(&[arguments, &["study.toml"]].concat());
            assert_eq!(ended.code, Some(2), "{ended:#?}");
            assert!(ended.err.contains("study.toml:10:") && ended.err.contains("help:"), "{ended:#?}");
            nowhere(&desk, &ended, "hunter2", "study.toml");
        }
    }
}

#[test]
fn a_password_on_the_command_line_is_no_option() {
    let desk = Desk::new();
    desk.write("study.toml", &edited(&[]));
    for option in ["--password=hunter2", "--passwd=hunter2", "-phunter2"] {
        let ended = desk.perbuck(&["run", option, "study.toml"]);
        assert_eq!(ended.code, Some(2), "{ended:#?}");
    }
}

/// What `stty` says about the terminal of a process.
fn terminal(pid: &str) -> Option<String> {
    let device = std::fs::read_link(format!("/proc/{pid}/fd/0")).ok()?;
    let said = Command::new("stty").arg("-F").arg(device).arg("-a").output().ok()?;
    Some(String::from_utf8_lossy(&said.stdout).into_owned())
}

#[test]
fn a_typed_password_is_not_echoed() {
    let desk = Desk::new();
    let server = Refusing::start();
    desk.write("study.toml", &server.study(""));
    // `script` of util-linux gives perbuck a terminal of its own, as a user at a keyboard has it.
    let line = format!("exec '{}' run --ask-password study.toml", env!("CARGO_BIN_EXE_perbuck"));
    let mut script = Command::new("script");
    script.args(["-qec", &line, "typescript"]).current_dir(desk.path(".")).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = script.spawn().expect("this test needs `script` of util-linux");
    let children = format!("/proc/{0}/task/{0}/children", child.id());
    let pid = || std::fs::read_to_string(&children).unwrap_or_default().split_whitespace().next().map(str::to_owned);
    let quiet = || pid().and_then(|p| terminal(&p)).is_some_and(|t| t.contains("-echo "));
    wait_until("perbuck asks and the terminal stops echoing", quiet);
    let mut keyboard = child.stdin.take().unwrap();
    keyboard.write_all(format!("{SECRET}\n").as_bytes()).unwrap();
    soon(&server.connected);
    let running = std::fs::read(format!("/proc/{}/cmdline", pid().unwrap())).unwrap();
    assert!(contains(&running, "--ask-password") && !contains(&running, SECRET));
    server.go_on.send(()).unwrap();
    let login = soon(&server.heard);
    assert!(contains(&login, "root\0\x14") && !contains(&login, SECRET), "the typed password was used: {login:?}");
    drop(keyboard);
    let ended = ended(child.wait_with_output().unwrap());
    assert_eq!(ended.code, Some(3), "{ended:#?}");
    assert!(ended.out.contains("Password of contender full:"), "{ended:#?}");
    assert!(!ended.out.contains("contender off:"), "nobody asks for the password of a file: {ended:#?}");
    nowhere(&desk, &ended, SECRET, "none");
}

#[test]
fn without_a_terminal_the_question_is_an_error_with_a_way_out() {
    let desk = Desk::new();
    let server = Refusing::start();
    desk.write("study.toml", &server.study(""));
    // A session of its own has no terminal, even when these tests are run from one.
    let mut alone = Command::new("setsid");
    alone.args(["--wait", env!("CARGO_BIN_EXE_perbuck"), "run", "--ask-password", "study.toml"]).current_dir(desk.path("."));
    let ended = ended(alone.stdin(Stdio::null()).output().unwrap());
    assert_eq!(ended.code, Some(2), "{ended:#?}");
    assert!(ended.err.contains("cannot ask for a password") && ended.err.contains("PERBUCK_FULL_PASSWORD"), "{ended:#?}");
}

#[test]
fn a_crash_leaves_no_memory_behind() {
    let mut desk = Desk::new();
    let server = Refusing::start();
    desk.write("study.toml", &server.study(""));
    desk.set("PERBUCK_FULL_PASSWORD", SECRET);
    // As in a shell that allows core dumps, as far as this machine does.
    let line = format!("ulimit -c unlimited; exec '{}' run study.toml", env!("CARGO_BIN_EXE_perbuck"));
    let mut shell = Command::new("sh");
    shell.args(["-c", &line]).current_dir(desk.path(".")).env("PERBUCK_FULL_PASSWORD", SECRET);
    let mut child = shell.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    soon(&server.connected);
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", child.id())).unwrap();
    let core = limits.lines().find(|l| l.starts_with("Max core file size")).unwrap();
    assert_eq!(core.split_whitespace().nth(4), Some("0"), "{core}");
    signal(&child, "ABRT");
    let status = child.wait().unwrap();
    assert!(status.signal() == Some(6) && !status.core_dumped(), "{status:?}");
}
