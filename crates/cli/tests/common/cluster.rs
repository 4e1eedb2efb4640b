//! A cluster of PD, TiKV and TiDB that a test holds, from the programs of `dev/tidb`.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::sleep;
use std::time::Duration;

use perbuck_deploy::local::{Kind, Parts, Process, Recipe, Step, Wanted};

use super::{Desk, server, wait_until};

/// What lets several stores run on a small machine. A debug build of TiKV 8.5.4 fails by an assertion of its own when it warms the cache
/// of a new leader.
pub const TIKV: [(&str, &str); 6] = [
    ("storage.reserve-space", "0MB"),
    ("storage.reserve-raft-space", "0MB"),
    ("storage.block-cache.capacity", "512MB"),
    ("rocksdb.max-open-files", "2000"),
    ("raftdb.max-open-files", "1000"),
    ("raftstore.max-entry-cache-warmup-duration", "0s"),
];
/// What lets into its TiDB.
pub const PASSWORD: &str = "s3cret";

/// One of the programs.
pub fn program(name: &str) -> PathBuf {
    Path::new(&server("PERBUCK_TEST_CLUSTER")).join(name)
}

/// A cluster, which ends with the test.
pub struct Cluster {
    pub desk: Desk,
    pub recipe: Recipe,
    pub running: Vec<Child>,
    pub pd: String,
    pub stop: AtomicBool,
    pub transfers: AtomicU32,
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for process in &mut self.running {
            // One that was killed is gone already.
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// Ends what disturbs a run, however a test ends.
pub struct Calm<'a>(pub &'a AtomicBool);

impl Drop for Calm<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn http(arguments: &[&str]) -> String {
    let output = Command::new("curl").args(["-sS"]).args(arguments).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

impl Cluster {
    /// Starts a cluster of this kind with these counts and settings; `PASSWORD` lets into its TiDB.
    pub fn start(kind: Kind, counts: &[(&str, u32)], config: &[(&str, &str)]) -> Self {
        let desk = Desk::new();
        let parts: Parts = counts.iter().map(|(part, count)| ((*part).to_owned(), *count)).collect();
        let listeners: Vec<TcpListener> = (0..kind.ports(&parts)).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let ports: Vec<u16> = listeners.iter().map(|l| l.local_addr().unwrap().port()).collect();
        drop(listeners);
        let config: BTreeMap<String, String> =
            TIKV.iter().chain(config).map(|(k, v)| (format!("tikv.{k}"), (*v).to_owned())).collect();
        let folder = desk.path("");
        let (folder, ports) = (folder.as_path(), ports.as_slice());
        let wanted = Wanted {
            folder,
            parts: &parts,
            options: "",
            address: Ipv4Addr::LOCALHOST.into(),
            ports,
            config: &config,
            databases: &["perbuck".to_owned()],
            connections: 1,
            as_root: false,
        };
        let programs: Vec<PathBuf> = kind.programs(&parts).iter().map(|p| program(p.names[0])).collect();
        let Ok(recipe) = kind.recipe(&wanted, &programs, PASSWORD) else { panic!() };
        for step in &recipe.steps {
            if let Step::Write { file, text } = step {
                desk.write(file, text);
            }
        }
        let pd = recipe.stages[0][0].ready.as_ref().map(|(at, _)| at.to_string()).unwrap();
        let mut cluster = Self { desk, recipe, running: Vec::new(), pd, stop: false.into(), transfers: 0.into() };
        for stage in 0..cluster.recipe.stages.len() {
            for n in 0..cluster.recipe.stages[stage].len() {
                let process = cluster.spawn(&cluster.recipe.stages[stage][n]);
                cluster.running.push(process);
            }
            cluster.recipe.stages[stage].iter().for_each(is_ready);
        }
        cluster
    }

    pub fn spawn(&self, process: &Process) -> Child {
        let log =
            std::fs::File::options().append(true).create(true).open(self.desk.path(&format!("{}.log", process.name))).unwrap();
        let mut command = Command::new(&process.program);
        command.args(&process.arguments).stdin(Stdio::piped()).stdout(log.try_clone().unwrap()).stderr(log);
        let mut child = command.current_dir(self.desk.path("")).spawn().unwrap();
        // Its end is the end of the input.
        child.stdin.take().unwrap().write_all(process.input.as_bytes()).unwrap();
        child
    }

    fn api(&self, path: &str) -> String {
        http(&[&format!("http://{}/pd/api/v1/{path}", self.pd)])
    }

    /// The numbers of all regions with the store of their leader, and all cluster.
    pub fn regions(&self) -> (Vec<(u64, u64)>, Vec<u64>) {
        let read = |path: &str| serde_json::from_str::<serde_json::Value>(&self.api(path)).unwrap_or_default();
        let list = |value: &serde_json::Value| value.as_array().cloned().unwrap_or_default();
        let regions = list(&read("regions")["regions"]);
        let leaders = regions.iter().filter_map(|r| Some((r["id"].as_u64()?, r["leader"]["store_id"].as_u64()?))).collect();
        let stores = list(&read("stores")["stores"]);
        (leaders, stores.iter().filter_map(|s| s["store"]["id"].as_u64()).collect())
    }

    /// Moves the leader of one region after the other to another store, until it is told to stop; counts those that arrived.
    pub fn disturb(&self) {
        for n in 0.. {
            let (leaders, stores) = self.regions();
            if self.stop.load(Ordering::Relaxed) {
                return;
            }
            let Some((region, at)) = leaders.get(n % leaders.len().max(1)) else { continue };
            let other = stores.iter().cycle().skip_while(|store| *store != at).nth(1).unwrap();
            let order = format!("{{\"name\":\"transfer-leader\",\"region_id\":{region},\"to_store_id\":{other}}}");
            http(&["-X", "POST", "-d", &order, &format!("http://{}/pd/api/v1/operators", self.pd)]);
            sleep(Duration::from_secs(1));
            let moved = self.regions().0.contains(&(*region, *other));
            self.transfers.fetch_add(u32::from(moved), Ordering::Relaxed);
        }
    }
}

fn is_ready(process: &Process) {
    let (at, path) = process.ready.as_ref().unwrap();
    let url = format!("http://{at}{path}");
    wait_until(&process.name, || Command::new("curl").args(["-sf", "-o", "/dev/null", &url]).status().unwrap().success());
}
