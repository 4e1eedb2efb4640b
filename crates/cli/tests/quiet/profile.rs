//! Profiles of perbuck and of private servers in the warm-up of a trial: what is kept, that they lie outside of the window, and that no
//! `perf` outlives its trial. Needs Linux' `perf` (dev/packages).

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Stdio};

use crate::common::{Desk, children, signal, wait_until};
use perbuck_core::compare::{Comparison, ProfileOf};
use perbuck_core::run_record::Profile;

/// A study of SQLite whose warm-up has room for a profile.
const EMBEDDED: &str = "schema = 1\nname = \"s\"\nseed = 1\n[[contender]]\nname = \"a\"\ntarget = \"sqlite:a.db\"\n\
    [[workload]]\nname = \"w\"\nkind = \"sysbench\"\nscript = \"oltp_point_select\"\ntables = 1\ntable_size = 100\n\
    [sweep]\nconnections = [1]\nwarmup = \"5s\"\nduration = \"1s\"\ntrials = 1\nprofile = \"client\"\n";

const INSISTED: [&str; 4] = ["--insist", "errors", "--insist", "client-limited"];

/// Two private servers, of which one has more to do for each statement.
fn of_servers(desk: &Desk) -> String {
    let parent = desk.path("servers");
    fs::create_dir_all(&parent).unwrap();
    let contender = |name: &str, config: &str| {
        let folder = parent.display();
        format!(
            "[[contender]]\nname = \"{name}\"\nserver = {{ kind = \"mariadb\", folder = \"{folder}\", config = {{ {config} }} }}\n"
        )
    };
    let contenders = contender("plain", "performance_schema = \"OFF\"") + &contender("schema", "performance_schema = \"ON\"");
    let of_two = EMBEDDED.replace("[[contender]]\nname = \"a\"\ntarget = \"sqlite:a.db\"\n", &contenders);
    of_two.replace("\"client\"", "\"both\"").replace("connections = [1]", "connections = [4]")
}

/// It was taken in the warm-up of 5 s, and had ended half a second before the window at the latest.
fn is_outside_of_the_window(profile: &Profile) {
    assert_eq!(profile.not_taken, None);
    let (began, ended) = (profile.began_before_ms, profile.ended_before_ms);
    assert!(began <= 5000 && ended >= 500 && began - ended >= 1000, "{profile:?}");
    let of_symbols: u64 = profile.symbols.iter().map(|s| s.samples).sum();
    assert!(profile.samples >= of_symbols && of_symbols > 0, "{profile:?}");
}

#[test]
fn client_and_private_servers_are_profiled_before_the_window() {
    let desk = Desk::new();
    desk.write("s.toml", &of_servers(&desk));
    // On a small machine the client may be the limit, which refuses a verdict and keeps the records.
    desk.perbuck(&["run", "s.toml"]);
    let records = desk.records("results/s");
    assert_eq!(records.len(), 2);
    for record in &records {
        let (client, server) = (record.health.profile.as_ref().unwrap(), record.target.profile.as_ref().unwrap());
        [client, server].into_iter().for_each(is_outside_of_the_window);
        let has = |profile: &Profile, object: &str| profile.symbols.iter().any(|s| s.object.starts_with(object));
        assert!(has(client, "perbuck") && !has(client, "mariadbd"), "{client:?}");
        assert!(has(server, "mariadbd") && !has(server, "perbuck"), "{server:?}");
    }
    let json = desk.good(&[&["compare", "results/s", "--json"][..], &INSISTED].concat()).out;
    let compared: Comparison = serde_json::from_str(&json).unwrap();
    let of = |contender: &str| compared.workloads[0].best_of(contender).unwrap().explained.as_ref().unwrap();
    let (plain, schema) = (of("plain"), of("schema"));
    for side in [ProfileOf::Server, ProfileOf::Client] {
        let profile = plain.profile(side).unwrap();
        let shares: f64 = profile.symbols.iter().map(|s| s.share).sum();
        assert!(shares > 0.3 && shares < 1.0 + 1e-9, "{side:?}: {shares}");
        let found = schema.profile_differences(plain, side);
        assert!(found.is_sorted_by(|a, b| a.more_ns().abs() >= b.more_ns().abs()) && found.len() > 5, "{found:?}");
    }
    desk.good(&[&["report", "results/s"][..], &INSISTED].concat());
    let page = desk.read("results/s/report.md");
    for text in [
        "Processor time by symbol",
        "of the server's processor time than plain on w for each unit of work; ",
        "Where processor time went before the window",
        "all others",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
    desk.good(&["verify", "results/s"]);
}

/// A folder for PATH whose `perf` is this script.
fn with_perf(desk: &Desk, script: &str) -> String {
    let perf = desk.write("bin/perf", &format!("#!/bin/sh\n{script}\n"));
    fs::set_permissions(&perf, fs::Permissions::from_mode(0o755)).unwrap();
    format!("{}:{}", perf.parent().unwrap().display(), std::env::var("PATH").unwrap())
}

#[test]
fn a_perf_that_does_not_end_is_ended_before_the_window_and_the_trial_counts() {
    let desk = Desk::new();
    desk.write("s.toml", EMBEDDED);
    let stuck = "trap '' INT TERM\ncase \"$*\" in *\"sleep 0.200\"* | report*) PATH=${PATH#*:} exec perf \"$@\" ;; esac\nsleep 600; sleep 600";
    let path = with_perf(&desk, stuck);
    let ended = crate::common::ended(desk.command(&["run", "s.toml"]).env("PATH", path).output().unwrap());
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let records = desk.records("results/s");
    let profile = records[0].health.profile.as_ref().unwrap();
    let why = "perf had not ended in time before the window; it was ended";
    assert_eq!((profile.not_taken.as_deref(), profile.samples), (Some(why), 0));
    assert!(records[0].measured.transactions.values().any(|t| t.committed > 0) && records[0].void.is_none());
    assert!(crate::common::processes_of(&desk.path("bin")).is_empty(), "it was ended with all that it started");
}

#[test]
fn without_perf_or_room_nothing_is_started() {
    let desk = Desk::new();
    desk.write("s.toml", EMBEDDED);
    for words in [&["run", "s.toml"][..], &["check", "--connect", "s.toml"]] {
        let ended = crate::common::ended(desk.command(words).env("PATH", "/nonexistent").output().unwrap());
        let says = "line 18: `profile` is not possible here: there is no `perf` on this machine";
        assert!(ended.code == Some(2) && ended.err.contains(says) && ended.err.contains("linux-perf"), "{ended:#?}");
    }
    let refuses = with_perf(&desk, "echo 'Access to performance monitoring is limited.' >&2; exit 255");
    let ended = crate::common::ended(desk.command(&["run", "s.toml"]).env("PATH", refuses).output().unwrap());
    let says = "perf says: Access to performance monitoring is limited.";
    assert!(ended.code == Some(2) && ended.err.contains(says) && ended.err.contains("leave `profile` out"), "{ended:#?}");
    assert!(desk.records("results/s").is_empty());
    for (from, to, says) in [
        ("\"5s\"", "\"4s\"", "workload `w`: `profile` is taken in the warm-up, and its warm-up is 4 s"),
        ("\"5s\"", "\"auto\"", "workload `w`: `profile` is taken in the warm-up, and its warm-up is \"auto\""),
        ("\"client\"", "\"both\"", "contender `a`: perbuck profiles only servers that it starts"),
        ("\"client\"", "\"all\"", "use one of \"client\", \"servers\", \"both\""),
    ] {
        desk.write("s.toml", &EMBEDDED.replace(from, to));
        let ended = desk.perbuck(&["check", "s.toml"]);
        assert!(ended.code == Some(2) && ended.err.contains("s.toml:18: ") && ended.err.contains(says), "{ended:#?}");
    }
}

/// Starts a run, and waits for the `perf` of its profile: the second one, after that of the preflight.
fn profiling(desk: &Desk) -> (Child, u32) {
    let child = desk.command(&["run", "s.toml"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut found = None;
    let is_perf = |pid: &u32| {
        let words = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        words.starts_with("perf\0record\0") && !words.contains("\x000.200\0")
    };
    wait_until("it profiles", || {
        found = children(child.id()).into_iter().find(is_perf);
        found.is_some()
    });
    (child, found.unwrap())
}

#[test]
fn no_perf_outlives_a_run_that_is_stopped_or_killed() {
    for name in ["INT", "TERM", "KILL"] {
        let desk = Desk::new();
        desk.write("s.toml", EMBEDDED);
        let (mut run, perf) = profiling(&desk);
        signal(&run, name);
        run.wait().unwrap();
        // Where perbuck could say nothing any more, perf ends with the process that it samples.
        let is_gone = || !Path::new(&format!("/proc/{perf}")).exists();
        assert!(name == "KILL" || is_gone(), "SIG{name}");
        wait_until("perf has ended", is_gone);
        assert!(desk.records("results/s").is_empty());
    }
}
