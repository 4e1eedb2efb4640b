//! Real processes in the name of kwok's pods, at their addresses: MariaDB for a server, `perbuck agent` for an agent.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, reason = "each test binary uses its own part of this")]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use super::kubernetes::{name, rig_output};

/// What runs in the containers of the pods that are there, until this is dropped.
pub struct Containers {
    inner: Arc<Inner>,
    thread: Option<JoinHandle<()>>,
}

struct Inner {
    folder: TempDir,
    stopped: AtomicBool,
    /// The program of agents, by the start of their pods' names; of the others it is this build.
    agents: Mutex<BTreeMap<String, PathBuf>>,
    /// By the number of the pod: its name, and its process.
    running: Mutex<BTreeMap<String, (String, Child)>>,
}

impl Containers {
    /// Starts what every pod holds as soon as it has an address, and ends it after the pod.
    pub fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let made = Command::new("mariadb-install-db")
            .args(["--no-defaults", "--skip-test-db", "--auth-root-authentication-method=normal", "--user=root"])
            .arg(format!("--datadir={}", folder.path().join("new").display()))
            .arg(format!("--tmpdir={}", folder.path().display()))
            .output()
            .unwrap();
        assert!(made.status.success(), "{made:?}");
        let (stopped, agents, running) = Default::default();
        let inner = Arc::new(Inner { folder, stopped, agents, running });
        let thread = thread::spawn({
            let inner = Arc::clone(&inner);
            move || {
                while !inner.stopped.load(Ordering::Relaxed) {
                    inner.look();
                    thread::sleep(Duration::from_millis(300));
                }
            }
        });
        Self { inner, thread: Some(thread) }
    }

    /// Later agents whose pods' names start with this run another program.
    pub fn agent_is(&self, pod: &str, program: Option<&Path>) {
        let mut agents = self.inner.agents.lock().unwrap();
        match program {
            Some(program) => drop(agents.insert(pod.to_owned(), program.to_owned())),
            None => drop(agents.remove(pod)),
        }
    }

    /// Ends the process of the pod whose name starts with this; the name.
    pub fn kill(&self, pod: &str) -> String {
        let mut running = self.inner.running.lock().unwrap();
        let (name, child) = running.values_mut().find(|(name, _)| name.starts_with(pod)).unwrap();
        end(child);
        name.clone()
    }
}

impl Drop for Containers {
    fn drop(&mut self) {
        self.inner.stopped.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
        self.inner.running.lock().unwrap_or_else(std::sync::PoisonError::into_inner).values_mut().for_each(|(_, c)| end(c));
    }
}

fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

/// What the server says now; `None` while the object is not there.
fn read(line: &str) -> Option<Value> {
    let words: Vec<&str> = ["kubectl", "get"].into_iter().chain(line.split(' ')).chain(["-o", "json"]).collect();
    let done = rig_output(&words);
    serde_json::from_slice(&done.stdout).ok().filter(|_| done.status.success())
}

impl Inner {
    fn look(&self) {
        let Some(list) = read("pods -A -l perbuck/component") else { return };
        let there = |p: &&Value| p["metadata"]["deletionTimestamp"].is_null() && p["status"]["phase"] == "Running";
        let pods: Vec<&Value> = list["items"].as_array().unwrap().iter().filter(there).collect();
        let mut running = self.running.lock().unwrap();
        let uid = |p: &Value| p["metadata"]["uid"].as_str().unwrap().to_owned();
        let known: Vec<String> = pods.iter().map(|p| uid(p)).collect();
        running.retain(|pod, (_, child)| {
            let stays = known.contains(pod);
            if !stays {
                end(child);
            }
            stays
        });
        for pod in pods {
            let Some(ip) = pod["status"]["podIP"].as_str() else { continue };
            if !running.contains_key(&uid(pod))
                && let Some(child) = self.container(pod, ip)
            {
                running.insert(uid(pod), (name(pod).to_owned(), child));
            }
        }
    }

    fn container(&self, pod: &Value, ip: &str) -> Option<Child> {
        let namespace = pod["metadata"]["namespace"].as_str()?;
        let uid = pod["metadata"]["uid"].as_str()?;
        match pod["metadata"]["labels"]["perbuck/component"].as_str()? {
            "mysql" => self.server(namespace, uid, ip),
            "agent" => self.agent(name(pod), namespace, uid, ip),
            _ => None,
        }
    }

    /// The text of a secret.
    fn secret(&self, namespace: &str, name: &str, key: &str, uid: &str) -> Option<String> {
        let coded = read(&format!("secret {name} -n {namespace}"))?["data"][key].as_str()?.to_owned();
        let file = self.folder.path().join(format!("{uid}.secret"));
        fs::write(&file, coded).ok()?;
        let plain = Command::new("base64").arg("-d").arg(&file).output().ok()?;
        String::from_utf8(plain.stdout).ok()
    }

    /// A server on the data of its claim, so that it keeps them when its pod is another one.
    fn server(&self, namespace: &str, uid: &str, ip: &str) -> Option<Child> {
        let password = self.secret(namespace, "mysql-root", "password", uid)?;
        let claim = read(&format!("pvc data-mysql-0 -n {namespace}"))?;
        let data = self.folder.path().join(claim["spec"]["volumeName"].as_str()?);
        if !data.exists() {
            let copied = Command::new("cp").arg("-a").arg(self.folder.path().join("new")).arg(&data).status().ok()?;
            assert!(copied.success());
        }
        let start = self.folder.path().join(format!("{uid}.sql"));
        let sql = format!(
            "CREATE USER IF NOT EXISTS root@'%' IDENTIFIED BY '{password}';\nGRANT ALL ON *.* TO root@'%' WITH GRANT OPTION;\n\
             DROP USER IF EXISTS root@'127.0.0.1';\nCREATE DATABASE IF NOT EXISTS perbuck;\n"
        );
        fs::write(&start, sql).ok()?;
        let words = [
            "--no-defaults".to_owned(),
            "--user=root".to_owned(),
            "--skip-name-resolve".to_owned(),
            "--innodb-buffer-pool-size=32M".to_owned(),
            format!("--datadir={}", data.display()),
            format!("--socket={}/s", data.display()),
            format!("--init-file={}", start.display()),
            format!("--bind-address={ip}"),
            "--port=3306".to_owned(),
        ];
        Some(self.spawn("mariadbd", &words, uid))
    }

    fn agent(&self, pod: &str, namespace: &str, uid: &str, ip: &str) -> Option<Child> {
        let token = self.folder.path().join(format!("{uid}.token"));
        fs::write(&token, self.secret(namespace, "perbuck-agents", "token", uid)?).ok()?;
        let agents = self.agents.lock().unwrap();
        let own = agents.iter().find(|(start, _)| pod.starts_with(start.as_str())).map(|(_, program)| program.clone());
        let program = own.unwrap_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_perbuck")));
        let words = ["agent".to_owned(), "--listen".to_owned(), format!("{ip}:7117"), "--token-file".to_owned()];
        let words = [&words[..], &[token.display().to_string()]].concat();
        Some(self.spawn(program.to_str().unwrap(), &words, uid))
    }

    /// It ends with the thread that looks at the pods, however that ends.
    fn spawn(&self, program: &str, words: &[String], uid: &str) -> Child {
        let log = File::create(self.folder.path().join(format!("{uid}.log"))).unwrap();
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", program]).args(words).current_dir(self.folder.path());
        command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap()
    }
}
