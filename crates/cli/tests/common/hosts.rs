//! Hosts that are reached by SSH, made of namespaces by `dev/hosts`.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::Desk;

pub struct Hosts {
    rig: Child,
    script: String,
    /// Their addresses: `ssh://bench@10.117.0.11`.
    pub names: Vec<String>,
}

impl Hosts {
    /// Makes two hosts that read these folders of this machine, too, and lets `ssh` of the desk reach them.
    pub fn start(desk: &mut Desk, shared: &[&str]) -> Self {
        let mut command = as_root(concat!(env!("CARGO_MANIFEST_DIR"), "/../../dev/hosts"));
        command.args(shared.iter().flat_map(|folder| ["--share", folder]));
        let told = "echo \"$PERBUCK_TEST_HOSTS\"; echo \"$PERBUCK_TEST_HOSTS_RIG\"; echo \"$PATH\"; cat >/dev/null";
        let mut rig = command.args(["sh", "-c", told]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(rig.stdout.take().unwrap()).lines().map(Result::unwrap);
        let mut line = || lines.next().expect("dev/hosts makes hosts; it needs root");
        let names = line().split(' ').map(str::to_owned).collect();
        let script = line();
        desk.set("PATH", &line());
        Self { rig, script, names }
    }

    /// Does something to a host, as `dev/hosts --help` says; what that prints.
    pub fn act(&self, words: &[&str]) -> String {
        let output = as_root(&self.script).args(words).output().unwrap();
        assert!(output.status.success(), "{words:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Waits until there is nothing of perbuck on any host.
    pub fn nothing_is_left(&self, of: &str) {
        for host in ["1", "2"] {
            let mut left = String::new();
            for _ in 0..40 {
                left = self.act(&["left", host]);
                // What a killed PostgreSQL keeps outside of its folder, as docs/study/contenders.md says.
                left = left.lines().filter(|line| !line.contains("/dev/shm/PostgreSQL.")).collect();
                if left.is_empty() {
                    break;
                }
                std::thread::sleep(Duration::from_millis(500));
            }
            assert_eq!(left, "", "host {host}, {of}");
        }
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        // The end of its input ends it.
        drop(self.rig.stdin.take());
        self.rig.wait().unwrap();
    }
}

fn as_root(program: &str) -> Command {
    if std::fs::metadata("/proc/self").unwrap().uid() == 0 {
        return Command::new(program);
    }
    let mut command = Command::new("sudo");
    command.args(["-n", program]);
    command
}
