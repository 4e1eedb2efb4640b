//! Private servers on hosts that perbuck reaches by SSH: started, driven, cut off, killed, and gone.
//!
//! `dev/server-kills --hosts [KILLS [SEED]]` kills as often as you like.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use crate::common::hosts::Hosts;
use crate::common::{Desk, children, server, signal, wait_until};

/// A study with a server on each host. Of each contender the first text is its kind with what else belongs to its server, and the
/// second one further keys.
fn study(hosts: &Hosts, contenders: [(&str, &str); 2], sweep: &str) -> String {
    let one = |(n, (server, more)): (usize, &(&str, &str))| {
        format!("[[contender]]\nname = \"c{n}\"\nserver = {{ host = \"{}\", {server} }}\n{more}\n", hosts.names[n])
    };
    let contenders: String = contenders.iter().enumerate().map(one).collect();
    format!(
        "schema = 1\nname = \"s\"\nseed = 1\n[price]\nsnapshot = \"aws-2026-07\"\nregions = [\"us-east-1\"]\n{contenders}\
         [[workload]]\nname = \"w\"\nkind = \"sysbench\"\nscript = \"oltp_read_write\"\ntables = 1\ntable_size = 500\n\
         [sweep]\nconnections = [2]\nwarmup = \"100ms\"\n{sweep}\n"
    )
}

const MARIADB: (&str, &str) = ("kind = \"mariadb\"", "");
const POSTGRES: (&str, &str) = ("kind = \"postgres\"", "");
const SHORT: &str = "duration = \"500ms\"\ntrials = 2";
const LONG: &str = "duration = \"60s\"\ntrials = 1";

/// A study of minutes that has begun to measure.
fn measuring(desk: &Desk, hosts: &Hosts) -> Child {
    desk.write("s.toml", &study(hosts, [MARIADB, POSTGRES], LONG));
    let said = fs::File::create(desk.path("said")).unwrap();
    let run = desk.command(&["run", "s.toml", "--results", "long"]).stdout(Stdio::null()).stderr(said).spawn().unwrap();
    wait_until("both are loaded", || desk.read("said").contains("c1, w: 2 of 2 conditions hold"));
    sleep(Duration::from_secs(1));
    run
}

#[test]
fn a_study_runs_on_two_hosts_and_its_records_say_where() {
    let mut desk = Desk::new();
    let hosts = Hosts::start(&mut desk, &[]);
    desk.write("s.toml", &study(&hosts, [MARIADB, POSTGRES], "duration = \"2s\"\ntrials = 2"));
    let ran = desk.good(&["run", "s.toml"]);
    let records = desk.records("results/s");
    assert_eq!(records.len(), 4);
    assert!(records.iter().any(|record| record.target.server_cpu_ns.is_some()), "{ran:#?}");
    for record in &records {
        let number: usize = record.key.contender[1..].parse().unwrap();
        let machine = record.target.observed.iter().find(|seen| seen.source == hosts.names[number]).unwrap();
        assert!(machine.vcpus.is_some_and(|n| number == 0 || n == 1) && machine.memory_bytes.is_some(), "{machine:?}");
        // A slow machine tells it too late.
        assert!(record.target.server_cpu_ns.is_none_or(|ns| ns > 0 && ns < 8_000_000_000), "{:?}", record.target.server_cpu_ns);
        assert!(record.target.build.as_ref().is_some_and(|build| *build != Default::default()));
        let [machine] = &record.target.machines[..] else { panic!("{record:?}") };
        let (facts, samples) = (machine.facts.as_ref().unwrap(), machine.samples.as_ref().unwrap());
        assert!(machine.source == hosts.names[number] && facts.kernel.release.is_some(), "{machine:?}");
        assert!(samples.steps_ms.last().is_some_and(|ms| (1500..10_000).contains(ms)), "{samples:?}");
        let switches = samples.series.iter().find(|s| s.name == "node_context_switches_total").unwrap();
        assert!(switches.sum() > 0.0 && !samples.processors.is_empty(), "{samples:?}");
        assert!(!record.host.shared_with_server && !record.target.address.contains("127.0.0.1"), "{}", record.target.address);
    }
    let examined = desk.good(&["doctor", "--host", &hosts.names[1], "--json"]);
    assert!(serde_json::from_str::<Vec<serde_json::Value>>(&examined.out).is_ok(), "{examined:#?}");
    // Temporary files of such a host lie in memory, its other folders on the disk of this machine.
    let disk = |folder: &str| desk.perbuck(&["doctor", "--host", &hosts.names[1], "--disk", folder, "--seconds", "3"]);
    let on_disk = tempfile::tempdir_in("/var/lib").unwrap();
    fs::set_permissions(on_disk.path(), PermissionsExt::from_mode(0o777)).unwrap();
    let (measured, refused) = (disk(on_disk.path().to_str().unwrap()), disk("/tmp"));
    assert!(measured.code == Some(0) && measured.out.contains("each with fsync"), "{measured:#?}");
    assert!(refused.code == Some(2) && refused.err.contains("/tmp lies in memory"), "{refused:#?}");
    let folder = format!("its data in {}:/tmp/perbuck-server-", hosts.names[0]);
    assert!(ran.err.contains(&folder), "{folder}: {}", ran.err);
    hosts.nothing_is_left("after a run");
    // Nothing is asked of a host where nothing is missing.
    hosts.act(&["off", "1"]);
    assert!(desk.good(&["run", "s.toml"]).err.contains("on disk"));
}

#[test]
fn the_article_on_mysql_is_repeated_on_two_hosts_from_nothing_to_its_report() {
    let mut desk = Desk::new();
    let program = server("PERBUCK_TEST_MYSQL9_PROGRAM");
    let shared = std::path::Path::new(&program).ancestors().nth(2).unwrap().to_str().unwrap().to_owned();
    let hosts = Hosts::start(&mut desk, &[&shared]);
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../studies");
    let read = |path: &str| fs::read_to_string(format!("{folder}/{path}")).unwrap();
    desk.write("published/mysql-kunpeng-2020.toml", &read("published/mysql-kunpeng-2020.toml"));
    let mut text = read("mysql-kunpeng-2020.toml");
    let on = |n: usize, arch: &str| {
        format!(
            "server = {{ kind = \"mysql\", program = \"{program}\", host = \"{}\", \
             config = {{ innodb_flush_log_at_trx_commit = 0 }} }}\narch = \"{arch}\"",
            hosts.names[n]
        )
    };
    let (x86, arm) = (on(0, "x86_64"), on(1, "aarch64"));
    let edits = [
        ("seed = 42", "seed = 42\nnotional = true"),
        ("warmup = \"30s\"", "warmup = \"0s\""),
        ("warmup = \"1m\"", "warmup = \"0s\""),
        ("duration = \"2m\"", "duration = \"300ms\""),
        ("duration = \"10m\"", "duration = \"300ms\""),
        ("arch = \"x86_64\"", &x86),
        ("arch = \"aarch64\"", &arm),
        ("tables = 100", "tables = 1"),
        ("table_size = 3_000_000", "table_size = 5_000"),
        ("85899345920", "268435456"),
        ("37580963840", "134217728"),
        ("connections = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]", "connections = [4]"),
        ("trials = 3", "trials = 1"),
    ];
    for (from, to) in edits {
        text = text.replace(from, to);
    }
    desk.write("mysql-kunpeng-2020.toml", &text);
    desk.good(&["run", "mysql-kunpeng-2020.toml"]);
    desk.good(&["report", "results/mysql-kunpeng-2020"]);
    let report = desk.read("results/mysql-kunpeng-2020/report.md");
    assert!(report.contains("Published beside measured"));
    // Each pool is a restart of the server on its host.
    let pools: std::collections::BTreeSet<String> = desk
        .records("results/mysql-kunpeng-2020")
        .iter()
        .map(|r| format!("{} {}", r.key.contender, r.target.variables["innodb_buffer_pool_size"]))
        .collect();
    assert_eq!(pools.len(), 4, "{pools:?}");
    desk.good(&["verify", "results/mysql-kunpeng-2020/report.html"]);
    hosts.nothing_is_left("after a run");
}

#[test]
fn agents_that_perbuck_starts_by_ssh_apply_the_load_and_are_gone_after_it() {
    let mut desk = Desk::new();
    let hosts = Hosts::start(&mut desk, &[]);
    desk.write("s.toml", &study(&hosts, [MARIADB, POSTGRES], SHORT));
    let agents = hosts.names.join(",");
    let ran = desk.good(&["run", "s.toml", "--agents", &agents]);
    for record in desk.records("results/s") {
        let names: Vec<&String> = record.agents.iter().map(|agent| &agent.name).collect();
        assert_eq!(names, [&hosts.names[0], &hosts.names[1]]);
        // Each server shares its host with one agent.
        assert!(record.host.shared_with_server && record.agents.iter().all(|agent| agent.user_ns > 0), "{ran:#?}");
    }
    hosts.nothing_is_left("after a run with agents");
    // A server of this machine alone is out of their reach.
    let here = desk.read("s.toml").replace(&format!("host = \"{}\", ", hosts.names[0]), "");
    desk.write("s.toml", &here);
    let refused = desk.perbuck(&["run", "s.toml", "--results", "other", "--agents", &agents]);
    assert!(refused.code == Some(2) && refused.err.contains("an address of this machine alone"), "{refused:#?}");
    let wrong = desk.perbuck(&["run", "s.toml", "--results", "other", "--agents", "ssh://-x"]);
    assert!(wrong.code == Some(2) && wrong.err.contains("--agents: `ssh://-x` names no host"), "{wrong:#?}");
    hosts.nothing_is_left("after refusals");
}

#[test]
fn what_is_wrong_with_a_host_is_said_before_anything_is_done() {
    let mut desk = Desk::new();
    let hosts = Hosts::start(&mut desk, &[]);
    let refused = |contenders, code: i32, words: &[&str]| {
        desk.write("s.toml", &study(&hosts, contenders, SHORT));
        let ended = desk.perbuck(&["run", "s.toml"]);
        assert_eq!(ended.code, Some(code), "{ended:#?}");
        words.iter().for_each(|w| assert!(ended.err.contains(w), "{w}: {}", ended.err));
    };
    refused([("kind = \"mariadb\", program = \"/no/mariadbd\"", ""), POSTGRES], 2, &["/no/mariadbd is no program"]);
    refused([("kind = \"mariadb\", version = \"99\"", ""), POSTGRES], 4, &["the study wants version 99"]);
    refused([MARIADB, ("kind = \"postgres\", folder = \"/no/folder\"", "")], 5, &["make a folder for a server in /no/folder"]);
    // The second host has one processor.
    let arch = std::env::consts::ARCH;
    let instance = if arch == "x86_64" { "m7i.large" } else { "m7g.large" };
    let billed = format!("arch = \"{arch}\"\nnode = [{{ role = \"db\", instance = \"{instance}\" }}]");
    let by = format!("by {}", hosts.names[1]);
    refused([MARIADB, ("kind = \"postgres\"", &billed)], 7, &["declared as ", instance, "1 vCPU", &by, "`notional = true`"]);
    let volume = "node = [{ role = \"db\", instance = \"m7i.large\", volumes = [{ kind = \"gp3\", size_gb = 9000 }] }]";
    let text = study(&hosts, [MARIADB, ("kind = \"postgres\"", volume)], SHORT);
    desk.write("s.toml", &text.replace("seed = 1", "seed = 1\nnotional = true"));
    let noted = desk.good(&["run", "s.toml", "--results", "noted"]);
    assert!(noted.err.contains(" GB, and its bill has gp3 of 9000 GB"), "{noted:#?}");
    let other = hosts.names[1].rsplit_once(':').unwrap().0.to_owned();
    let text = study(&hosts, [MARIADB, POSTGRES], SHORT);
    for (host, code, words) in [
        ("db-1", 2, "does not begin with `ssh://`"),
        ("ssh://-oProxyCommand=x", 2, "names no host"),
        (&*format!("{other}:23"), 3, "Connection refused"),
        (&*other.replace("bench@", "nobody@"), 3, "Permission denied"),
    ] {
        desk.write("s.toml", &text.replace(&hosts.names[1], host));
        let ended = desk.perbuck(&["run", "s.toml"]);
        assert!(ended.code == Some(code) && ended.err.contains(words), "{host}: {ended:#?}");
    }
    assert!(!desk.path("results/s/c0").exists());
    hosts.nothing_is_left("after refusals");
}

#[test]
fn a_host_that_is_cut_off_ends_the_run_and_removes_the_server_itself() {
    let mut desk = Desk::new();
    let hosts = Hosts::start(&mut desk, &[]);
    let run = measuring(&desk, &hosts);
    hosts.act(&["cut", "1"]);
    let ended = crate::common::ended(run.wait_with_output().unwrap());
    let said = desk.read("said");
    // The load failed before its line ended, or after.
    let words = [format!("the connection to {} ended", hosts.names[0]), "c0, w, 2 connections".to_owned()];
    assert!(ended.code == Some(3) && words.iter().any(|w| said.contains(w.as_str())), "{ended:#?} {said}");
    // It hears nothing of perbuck any more.
    let mut left = String::new();
    for _ in 0..60 {
        left = hosts.act(&["left", "1"]);
        if left.is_empty() {
            break;
        }
        sleep(Duration::from_millis(500));
    }
    assert_eq!(left, "", "the host is still cut off");
    hosts.act(&["heal", "1"]);
    desk.write("s.toml", &study(&hosts, [MARIADB, POSTGRES], SHORT));
    desk.good(&["run", "s.toml"]);
    hosts.nothing_is_left("after a cut");
}

fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).map_or(otherwise, |text| text.parse().unwrap())
}

/// The next number below a bound, from a seed.
fn draw(seed: &mut u64, bound: u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 33) % bound
}

#[test]
fn after_a_kill_on_either_side_the_next_command_comes_to_the_same_end() {
    let (kills, mut seed) = (number("PERBUCK_TEST_KILLS", 3), number("PERBUCK_TEST_SEED", 20));
    let mut desk = Desk::new();
    let hosts = Hosts::start(&mut desk, &[]);
    desk.write("s.toml", &study(&hosts, [MARIADB, POSTGRES], SHORT));
    for n in 1..=kills {
        let results = format!("results-{n}");
        let command = ["run", "s.toml", "--results", &results];
        let said = fs::File::create(desk.path("said")).unwrap();
        let mut run = desk.command(&command).stdout(Stdio::null()).stderr(said).spawn().unwrap();
        let (after_ms, who) = (draw(&mut seed, 8_000), (draw(&mut seed, 4) + n) % 4);
        sleep(Duration::from_millis(after_ms));
        let sessions: Vec<String> = children(run.id()).iter().map(ToString::to_string).collect();
        let name = ["perbuck", "its sessions", "all of perbuck on a host", "perbuck and all of it on both hosts"][who as usize];
        if who == 0 {
            signal(&run, "KILL");
        }
        if who == 3 {
            // It must not clean up after its guards.
            signal(&run, "STOP");
        }
        if who == 1 && !sessions.is_empty() {
            Command::new("kill").arg("-KILL").args(&sessions).stderr(Stdio::null()).status().unwrap();
        }
        if who >= 2 {
            // The name of a program that was started from its own deleted file is that of the link to it.
            ["1", "2"].iter().take(who as usize - 1).for_each(|host| drop(hosts.act(&["kill-all", host, "perbuck|exe"])));
        }
        if who == 3 {
            signal(&run, "KILL");
        }
        run.wait().unwrap();
        let next = desk.good(&command);
        let of = format!("kill {n} of {kills} ({name} after {after_ms} ms)");
        hosts.nothing_is_left(&of);
        assert_eq!(desk.records(&results).len(), 4, "{of}");
        let removed = next.err.matches("which a killed run left").count();
        println!("{of}: {removed} folders removed by the next command, nothing left");
    }
}
