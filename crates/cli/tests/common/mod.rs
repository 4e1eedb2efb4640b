//! What all end-to-end tests share: the binary, a folder of their own, and studies.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, reason = "each test binary uses its own part of this")]

pub mod agents;
mod alone;
pub mod both;
pub mod cluster;
pub mod hosts;
pub mod kubernetes;
pub mod maria;
pub mod planted;
pub mod pods;
pub mod postgres;
pub mod prometheus;
pub mod s3;
pub mod side;
pub mod tidb;
pub mod tpcc_rows;

use std::net::{Shutdown, TcpListener, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// A folder that vanishes with the test, in which the binary runs.
pub struct Desk {
    folder: TempDir,
    environment: Vec<(String, String)>,
    /// Servers that no other test uses as long as this lives.
    servers: Vec<alone::Alone>,
}

/// How a command ended.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Desk {
    pub fn new() -> Self {
        if env!("CARGO_CRATE_NAME") == "quiet" {
            alone::hold_servers();
        }
        Self { folder: tempfile::tempdir().unwrap(), environment: Vec::new(), servers: Vec::new() }
    }

    /// Waits until no other test uses the server whose variables start with `prefix`: their load would be foreign to the trials of this.
    pub fn alone_on(&mut self, prefix: &str) {
        self.servers.push(alone::Alone::on(prefix));
    }

    /// An environment variable of every later command.
    pub fn set(&mut self, name: &str, value: &str) {
        self.environment.push((name.to_owned(), value.to_owned()));
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// The command, not started.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_perbuck"));
        // Records of drop-in commands go to the user's state folder.
        command.env("XDG_STATE_HOME", self.path("state"));
        command.args(arguments).current_dir(self.folder.path()).envs(self.environment.iter().cloned());
        command
    }

    /// Runs perbuck to its end.
    pub fn perbuck(&self, arguments: &[&str]) -> Ended {
        ended(self.command(arguments).output().unwrap())
    }

    /// Runs perbuck, which must succeed.
    pub fn good(&self, arguments: &[&str]) -> Ended {
        let ended = self.perbuck(arguments);
        assert_eq!(ended.code, Some(0), "perbuck {arguments:?}: {ended:#?}");
        ended
    }

    /// All records below the results folder, in the order of their paths.
    pub fn records(&self, results: &str) -> Vec<perbuck_core::run_record::RunRecord> {
        let mut paths = Vec::new();
        files(&self.path(results), &mut paths);
        let depth = self.path(results).components().count();
        let record = |p: &&PathBuf| p.extension().is_some_and(|e| e == "json") && p.components().count() > depth + 1;
        let read = |p: &PathBuf| perbuck_core::run_record::RunRecord::from_json(&std::fs::read_to_string(p).unwrap()).unwrap();
        paths.iter().filter(record).map(read).collect()
    }
}

pub fn ended(output: Output) -> Ended {
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ended { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

/// All files below a folder, in the order of their paths.
pub fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
    found.sort();
}

/// Asks until it is so, or gives up after four minutes.
pub fn wait_until(what: &str, mut so: impl FnMut() -> bool) {
    let began = std::time::Instant::now();
    // A look may itself take long: it asks a server.
    while began.elapsed() < std::time::Duration::from_secs(240) {
        if so() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    panic!("waited in vain until {what}");
}

/// The numbers of all processes.
fn processes() -> impl Iterator<Item = u32> {
    std::fs::read_dir("/proc").unwrap().filter_map(|e| e.ok()?.file_name().to_str()?.parse().ok())
}

/// Processes that belong to a folder: an argument, a variable or the working folder names it.
pub fn processes_of(folder: &Path) -> Vec<u32> {
    let name = folder.as_os_str().as_encoded_bytes();
    let names_it = |pid: &u32| {
        let said = ["cmdline", "environ"].map(|file| std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default());
        let within = std::fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|at| at.starts_with(folder));
        within || said.iter().any(|text| text.windows(name.len()).any(|w| w == name))
    };
    processes().filter(names_it).collect()
}

/// The children of a process.
pub fn children(parent: u32) -> Vec<u32> {
    let parent_of = |pid: u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit(") ").next()?.split(' ').nth(1)?.parse::<u32>().ok()
    };
    processes().filter(|pid| parent_of(*pid) == Some(parent)).collect()
}

/// Sends a signal, by its name without `SIG`.
pub fn signal(child: &std::process::Child, name: &str) {
    let sent = Command::new("kill").args(["-s", name, &child.id().to_string()]).status().unwrap();
    assert!(sent.success(), "kill -s {name}");
}

/// The port, at another address of this machine, of another way to a server on it.
pub fn another_way_to(ip: &str, port: &str) -> u16 {
    let (listener, port) = (TcpListener::bind((ip, 0)).unwrap(), port.parse::<u16>().unwrap());
    let ours = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for here in listener.incoming().flatten() {
            let there = TcpStream::connect(("127.0.0.1", port)).unwrap();
            for (mut from, mut to) in [(here.try_clone().unwrap(), there.try_clone().unwrap()), (there, here)] {
                std::thread::spawn(move || {
                    let _ = std::io::copy(&mut from, &mut to);
                    let _ = to.shutdown(Shutdown::Both);
                });
            }
        }
    });
    ours
}

/// An address of this machine that is not a loopback one: what is reached there is in the network.
pub fn network_address() -> String {
    // A socket for datagrams that is connected sends nothing.
    let asked = UdpSocket::bind("0.0.0.0:0").and_then(|socket| socket.connect("192.0.2.1:9").map(|()| socket));
    asked.and_then(|socket| socket.local_addr()).expect("this test needs an address that is not a loopback one").ip().to_string()
}

/// [`SQLITE_STUDY`] with parts replaced; every part must be there.
pub fn edited(edits: &[(&str, &str)]) -> String {
    let edit = |text: String, (from, to): &(&str, &str)| {
        assert!(text.contains(from), "{from} is not in the study:\n{text}");
        text.replace(from, to)
    };
    edits.iter().fold(SQLITE_STUDY.to_owned(), edit)
}

/// Makes [`SQLITE_STUDY`] a matter of less than a second.
pub const QUICK: [(&str, &str); 3] = [("[1, 2]", "[1]"), ("trials = 2", "trials = 1"), ("\"200ms\"", "\"100ms\"")];

/// Makes each trial of [`SQLITE_STUDY`] so long that even a busy machine completes transactions in it.
pub const LONG_ENOUGH: (&str, &str) = ("\"200ms\"", "\"1s\"");

/// Asserts that below a folder nothing is half-written: no temporary file, and every record is whole and in its place.
pub fn nothing_half_written(folder: &Path) {
    let mut paths = Vec::new();
    files(folder, &mut paths);
    for path in paths {
        let name = path.to_string_lossy();
        assert!(!name.ends_with(".partial"), "left behind: {name}");
        // Records lie in <contender>/<workload>/c<connections>/<trial>.json, and nothing else is JSON there.
        let is_record = path.parent().and_then(Path::file_name).is_some_and(|f| f.to_string_lossy().starts_with("c0"));
        if name.ends_with(".json") && is_record {
            let record = perbuck_core::run_record::RunRecord::from_json(&std::fs::read_to_string(&path).unwrap());
            let record = record.unwrap_or_else(|e| panic!("{name} {e}"));
            assert!(path.ends_with(record.key.path()), "{name} holds {}", record.key.path());
        }
    }
}

/// A variable that `dev/with-servers` sets.
pub fn server(name: &str) -> String {
    alone::hold_servers();
    std::env::var(name).unwrap_or_else(|_| panic!("this test needs {name}; run it under dev/with-servers, or run dev/test"))
}

/// A study on two SQLite files with short trials.
pub const SQLITE_STUDY: &str = r#"schema = 1
name = "small"
baseline = "full"
notional = true
[price]
snapshot = "aws-2026-07"
regions = ["us-east-1"]
[[contender]]
name = "full"
target = "sqlite:full.db?synchronous=FULL"
node = [{ role = "db", instance = "m7g.large" }]
[[contender]]
name = "off"
target = "sqlite:off.db?synchronous=OFF"
node = [{ role = "db", instance = "m7i.large" }]
[[workload]]
name = "rw"
kind = "sysbench"
table_size = 1000
[sweep]
connections = [1, 2]
warmup = "50ms"
duration = "200ms"
trials = 2
"#;
