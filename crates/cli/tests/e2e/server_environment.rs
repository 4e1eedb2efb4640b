//! What a private server inherits: no password of another contender.

use std::fs;
use std::process::Stdio;

use crate::common::{Desk, signal, wait_until};

/// Occurs nowhere by chance.
const SECRET: &str = "pl0ugh-share-41";

/// The environments of all processes whose arguments name the folder.
fn environments(folder: &str) -> Vec<String> {
    let numbers = fs::read_dir("/proc").unwrap().filter_map(|e| e.unwrap().file_name().to_str()?.parse::<u32>().ok());
    let text = |file: String| String::from_utf8_lossy(&fs::read(file).unwrap_or_default()).into_owned();
    let named = numbers.filter(|pid| text(format!("/proc/{pid}/cmdline")).contains(folder));
    named.map(|pid| text(format!("/proc/{pid}/environ"))).filter(|e| !e.is_empty()).collect()
}

#[test]
fn a_private_server_inherits_no_password() {
    let mut desk = Desk::new();
    let parent = desk.path("servers");
    fs::create_dir_all(&parent).unwrap();
    for name in ["PERBUCK_OTHER_PASSWORD", "PERBUCK_SYSBENCH_PASSWORD", "MYSQL_PWD", "PGPASSWORD"] {
        desk.set(name, SECRET);
    }
    desk.set("PERBUCK_TEST_KEPT", "kept");
    let contender = |name: &str, kind: &str| {
        format!("[[contender]]\nname = \"{name}\"\nserver = {{ kind = \"{kind}\", folder = \"{}\" }}\n", parent.display())
    };
    let text = format!(
        "schema = 1\nname = \"s\"\n{}{}[[workload]]\nname = \"w\"\nkind = \"sysbench\"\ntable_size = 100\n[sweep]\n\
         connections = [1]\nwarmup = \"1s\"\nduration = \"20s\"\ntrials = 1\n",
        contender("a", "mariadb"),
        contender("b", "postgres")
    );
    desk.write("s.toml", &text);
    let mut child = desk.command(&["run", "s.toml"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let folder = parent.display().to_string();
    let mut seen = Vec::new();
    wait_until("both servers run", || {
        seen.extend(environments(&folder));
        assert!(child.try_wait().unwrap().is_none(), "the run has ended before its trial");
        desk.path("results/s/live.jsonl").exists() && desk.read("results/s/live.jsonl").contains("\"second\"")
    });
    signal(&child, "INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(seen.iter().all(|environment| !environment.contains(SECRET)), "{seen:?}");
    // What a user sets to change a server still reaches it. PostgreSQL writes the titles of its processes over what the system shows of it.
    assert!(seen.iter().filter(|environment| environment.contains("PERBUCK_TEST_KEPT=kept")).count() > 2, "{seen:?}");
}
