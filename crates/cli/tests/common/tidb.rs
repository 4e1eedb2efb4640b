//! A real TiDB with its embedded store, from the program of `dev/tidb`.

use std::fs::File;
use std::net::TcpListener;
use std::process::{Child, Command, Output, Stdio};

use perbuck_core::run_record::RunRecord;

use super::{Desk, Ended, server, wait_until};

/// A TiDB of a test, in a folder of its own.
pub struct Tidb {
    pub desk: Desk,
    pub process: Child,
    pub port: u16,
    pub status: u16,
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Starts one in the folder of a test, with the configuration that may lie there.
pub fn spawn(desk: &Desk, port: u16, status: u16) -> Child {
    let log = File::options().append(true).create(true).open(desk.path("tidb.log")).unwrap();
    let (data, temp) = (desk.path("data"), desk.path("temp"));
    Command::new(server("PERBUCK_TEST_TIDB"))
        .args(["--store=unistore", "--host=127.0.0.1", "--status-host=127.0.0.1"])
        .args([format!("--path={}", data.display()), format!("-P={port}"), format!("--status={status}")])
        .args([format!("--temp-dir={}", temp.display()), format!("--socket={}", desk.path("socket").display())])
        .args(desk.path("tidb.toml").exists().then(|| format!("--config={}", desk.path("tidb.toml").display())))
        // It writes its log of slow queries there.
        .current_dir(desk.path(""))
        .stdin(Stdio::null())
        .stdout(log.try_clone().unwrap())
        .stderr(log)
        .spawn()
        .unwrap()
}

impl Tidb {
    pub fn start() -> Self {
        Self::with("")
    }

    /// One with this configuration.
    pub fn with(config: &str) -> Self {
        let mut desk = Desk::new();
        if !config.is_empty() {
            desk.write("tidb.toml", config);
        }
        ["SYSBENCH", "TPCC", "TPCH", "YCSB", "T"].iter().for_each(|word| desk.set(&format!("PERBUCK_{word}_PASSWORD"), ""));
        let (port, status) = (free_port(), free_port());
        let process = spawn(&desk, port, status);
        let tidb = Self { desk, process, port, status };
        tidb.wait();
        tidb
    }

    pub fn wait(&self) {
        wait_until("TiDB takes connections", || self.client("SELECT 1").status.success());
    }

    pub fn client(&self, sql: &str) -> Output {
        self.client_with(&[], sql)
    }

    /// The same with more options of the client.
    pub fn client_with(&self, options: &[&str], sql: &str) -> Output {
        let port = self.port.to_string();
        // By a file: `--execute` would switch `--force` off.
        self.desk.write("client.sql", sql);
        Command::new("mariadb")
            .args(["--no-defaults", "-h127.0.0.1", "-P", &port, "-uroot", "-N", "-B"])
            .args(options)
            .arg("test")
            .stdin(File::open(self.desk.path("client.sql")).unwrap())
            .output()
            .unwrap()
    }

    pub fn sql(&self, sql: &str) -> String {
        let output = self.client(sql);
        assert!(output.status.success(), "{sql}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// The sum of a metric over its labels, where one of them is as given.
    pub fn metric(&self, name: &str, with: &str) -> f64 {
        let url = format!("http://127.0.0.1:{}/metrics", self.status);
        let output = Command::new("curl").args(["-sS", &url]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let ours = |line: &&str| line.starts_with(name) && line[name.len()..].starts_with(['{', ' ']) && line.contains(with);
        text.lines().filter(ours).map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()).sum()
    }

    pub fn sysbench(&self, script: &str, more: &[&str]) -> Ended {
        let port = format!("--mysql-port={}", self.port);
        let target = ["--mysql-host=127.0.0.1", &port, "--mysql-user=root", "--mysql-db=test"];
        self.desk.perbuck(&[&["sysbench", script][..], &target, more].concat())
    }

    /// A study of one contender, `t`, with these lines.
    pub fn text(&self, contender: &str, target: &str, workload: &str, sweep: &str) -> String {
        let tls = if target.contains("tls=") { "" } else { "tls=disabled" };
        format!(
            "schema = 1\nname = \"s\"\nseed = 7\n[[contender]]\nname = \"t\"\ntarget = \"tidb://root@127.0.0.1:{}/test?{tls}{target}\"\n\
             {contender}\n[[workload]]\nname = \"w\"\n{workload}\n[sweep]\n{sweep}\n",
            self.port
        )
    }

    /// Runs it; its records.
    pub fn study(&self, contender: &str, target: &str, workload: &str, sweep: &str) -> Vec<RunRecord> {
        self.desk.write("s.toml", &self.text(contender, target, workload, sweep));
        self.desk.good(&["run", "s.toml"]);
        self.desk.records("results/s")
    }
}

impl Drop for Tidb {
    fn drop(&mut self) {
        // One that a test killed is gone already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

pub const SMALL: &str = "connections = [8]\nwarmup = \"500ms\"\nduration = \"3s\"\ntrials = 1\nmax_attempts = 50";
/// Terminals that meet on ten rows.
pub const CONFLICTS: &str = "kind = \"sysbench\"\nscript = \"oltp_write_only\"\ntables = 1\ntable_size = 10";
