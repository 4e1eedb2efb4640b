//! Debian's Prometheus and exporters, private to a test.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, reason = "each test binary uses its own part of this")]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::{Desk, wait_until};

/// A program that ends with the test.
pub struct Running {
    child: Child,
    pub port: u16,
}

impl Drop for Running {
    fn drop(&mut self) {
        // One that has ended by itself leaves nothing to kill.
        let _ = self.child.kill();
        self.child.wait().unwrap();
    }
}

impl Running {
    /// Starts a program of the packages of `dev/packages` on a free port.
    pub fn start(desk: &Desk, program: &str, arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let log = std::fs::File::create(desk.path(&format!("{program}-{port}.log"))).unwrap();
        let child = Command::new(program)
            .arg(format!("--web.listen-address=127.0.0.1:{port}"))
            .args(arguments)
            .envs(environment.iter().copied())
            .current_dir(desk.path("."))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap_or_else(|e| panic!("{program}: {e}; dev/packages installs it"));
        let running = Self { child, port };
        wait_until(&format!("{program} listens"), || TcpStream::connect(("127.0.0.1", port)).is_ok());
        running
    }
}

/// The body of an answer with status 200.
pub fn get(port: u16, path: &str, accept: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    write!(stream, "GET {path} HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\nAccept: {accept}\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.split(' ').nth(1) == Some("200"), "{path}: {answer}");
    body.to_owned()
}

/// A Prometheus server that scrapes every second.
pub struct Prometheus(pub Running);

impl Prometheus {
    /// Scrapes these jobs and ports; `native` stores native histograms.
    pub fn start(desk: &Desk, name: &str, jobs: &[(&str, u16)], native: bool) -> Self {
        let job = |(job, port): &(&str, u16)| {
            format!("  - job_name: {job}\n    static_configs:\n      - targets: [\"127.0.0.1:{port}\"]\n")
        };
        let jobs: String = jobs.iter().map(job).collect();
        let file = format!("{name}.yml");
        desk.write(&file, &format!("global:\n  scrape_interval: 1s\n  scrape_timeout: 1s\nscrape_configs:\n{jobs}"));
        let (config, storage) = (format!("--config.file={file}"), format!("--storage.tsdb.path={name}"));
        let mut arguments = vec![config.as_str(), &storage, "--log.level=warn"];
        arguments.extend(native.then_some("--enable-feature=native-histograms"));
        let started = Self(Running::start(desk, "prometheus", &arguments, &[]));
        wait_until("prometheus is ready", || started.is_ready());
        started
    }

    fn is_ready(&self) -> bool {
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.0.port)) else { return false };
        let (mut answer, asked) = (String::new(), write!(stream, "GET /-/ready HTTP/1.0\r\n\r\n"));
        asked.is_ok() && stream.read_to_string(&mut answer).is_ok() && answer.contains(" 200 ")
    }

    /// The values of an instant query, those that are numbers; the expression must be one.
    pub fn query(&self, expression: &str) -> Vec<f64> {
        let encoded: String = expression.bytes().map(|b| format!("%{b:02X}")).collect();
        let answer: Value = serde_json::from_str(&get(self.0.port, &format!("/api/v1/query?query={encoded}"), "*/*")).unwrap();
        assert_eq!((&answer["status"], &answer["data"]["resultType"]), (&"success".into(), &"vector".into()), "{expression}");
        let results = answer["data"]["result"].as_array().unwrap();
        let value = |r: &Value| r["value"][1].as_str().map(|v| v.parse::<f64>().unwrap());
        results.iter().filter_map(value).filter(|v| !v.is_nan()).collect()
    }

    /// What it says of the targets of its jobs: the last error of each, empty where all is well.
    pub fn errors(&self) -> Vec<String> {
        let answer: Value = serde_json::from_str(&get(self.0.port, "/api/v1/targets?state=active", "*/*")).unwrap();
        let targets = answer["data"]["activeTargets"].as_array().unwrap();
        targets.iter().map(|t| t["lastError"].as_str().unwrap().to_owned()).collect()
    }
}
