//! Private servers: started, driven, and gone, however the command ends.

#[path = "servers/articles.rs"]
mod articles;
#[path = "servers/factors.rs"]
mod factors;

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::common::{Desk, children, processes_of, server, signal, wait_until};

const SWEEP: &str = "connections = [2]\nwarmup = \"100ms\"\nduration = \"1s\"\ntrials = 1";

/// A study of the given contenders, whose servers live in the folder `servers` of the desk.
fn study(desk: &Desk, contenders: &[(&str, &str)], sweep: &str) -> String {
    let parent = desk.path("servers");
    fs::create_dir_all(&parent).unwrap();
    let one = |(name, server): &(&str, &str)| {
        format!("[[contender]]\nname = \"{name}\"\nserver = {{ folder = \"{}\", {server} }}\n", parent.display())
    };
    let contenders: String = contenders.iter().map(one).collect();
    format!(
        "schema = 1\nname = \"s\"\nquestion = \"?\"\nbaseline = \"a\"\nseed = 1\n{contenders}[[workload]]\nname = \"w\"\n\
         kind = \"sysbench\"\nscript = \"oltp_point_select\"\ntables = 1\ntable_size = 100\n[sweep]\n{sweep}\n"
    )
}

/// Folders and locks of servers that are there.
fn left(desk: &Desk) -> Vec<PathBuf> {
    fs::read_dir(desk.path("servers")).unwrap().map(|e| e.unwrap().path()).collect()
}

#[test]
fn both_kinds_of_debian_run_a_study_and_leave_nothing_behind() {
    let desk = Desk::new();
    let contenders = [
        (
            "a",
            "kind = \"mariadb\", version = \"10.\", config = { innodb_buffer_pool_size = \"48M\", innodb_stats_persistent = false }",
        ),
        ("b", "kind = \"postgres\", version = \"1\", config = { shared_buffers = \"48MB\", max_connections = 77 }"),
    ];
    desk.write("s.toml", &study(&desk, &contenders, SWEEP));
    let ran = desk.good(&["run", "s.toml"]);
    assert!(ran.err.contains("MariaDB 10.") && ran.err.contains("PostgreSQL 1"), "{}", ran.err);
    assert_eq!(left(&desk), Vec::<PathBuf>::new());
    assert_eq!(processes_of(&desk.path("servers")), Vec::<u32>::new());
    let records = desk.records("results/s");
    assert_eq!(records.len(), 2);
    let of = |name: &str| records.iter().find(|r| r.key.contender == name).unwrap();
    let (a, b) = (&of("a").target, &of("b").target);
    assert_eq!(a.variables["innodb_buffer_pool_size"], (48 * 1024 * 1024).to_string());
    assert!(a.address.starts_with("mysql://perbuck@127.0.0.1:") && b.address.starts_with("postgres://perbuck@127.0.0.1:"));
    assert!(b.variables["shared_buffers"].starts_with("48MB") || b.variables["shared_buffers"] == "6144", "{:?}", b.variables);
    assert!(records.iter().all(|r| r.measured.transactions.values().any(|t| t.committed > 0)));
    // The settings of a server are part of what is measured.
    let other = fs::read_to_string(desk.path("s.toml")).unwrap().replace("\"48M\"", "\"49M\"");
    desk.write("other.toml", &other);
    assert_eq!(desk.perbuck(&["run", "other.toml"]).code, Some(4));
}

#[test]
fn after_a_prewarm_a_pool_that_holds_the_data_reads_nothing_from_disk() {
    let desk = Desk::new();
    let contenders = [
        ("a", "kind = \"mariadb\", config = { innodb_buffer_pool_size = \"24M\" }"),
        ("b", "kind = \"mariadb\", config = { innodb_buffer_pool_size = \"512M\" }"),
        ("c", "kind = \"postgres\", config = { shared_buffers = \"256MB\" }"),
    ];
    let sweep = "connections = [4]\nwarmup = \"500ms\"\nduration = \"2s\"\ntrials = 2\nprewarm = \"indexes\"";
    desk.write("s.toml", &study(&desk, &contenders, sweep).replace("table_size = 100", "table_size = 400000"));
    let ran = desk.good(&["run", "s.toml"]);
    assert!(ran.err.contains("a, w: the data do not fit in memory: a scan reads "), "{}", ran.err);
    assert!(
        ran.err.contains("b, w: prewarm of indexes: ") && ran.err.contains("the last pass read nothing from disk"),
        "{}",
        ran.err
    );
    let records = desk.records("results/s");
    assert_eq!(records.len(), 6);
    for r in &records {
        let (name, size, prewarm) =
            (r.key.contender.as_str(), r.workload.data_size.unwrap(), r.workload.prewarm.as_ref().unwrap());
        let (pages, bytes) = (r.target.server_counters["server_pages_read"], r.target.server_counters["server_bytes_read"]);
        let data = size.tables_bytes.unwrap() + size.indexes_bytes.unwrap();
        assert!((80_000_000..size.store_bytes.unwrap()).contains(&data), "{name}: {size:?}");
        assert_eq!(
            r.target.page_memory_bytes.unwrap() >> 20,
            [("a", 24), ("b", 512), ("c", 256)].into_iter().find(|m| m.0 == name).unwrap().1
        );
        if name == "a" {
            // The two counters are read one after the other.
            assert!(pages > 100 && (bytes / 16_384 - pages).abs() < 10, "{pages} pages, {bytes} bytes");
            assert_eq!(prewarm.passes, 3, "{prewarm:?}");
            let each = prewarm.bytes_read.unwrap();
            assert!(each > data / 2 && each < data * 2, "{prewarm:?} of {size:?}");
        } else {
            assert!(prewarm.passes <= 2 && prewarm.pages_read == Some(0), "{name}: {prewarm:?}");
            // PostgreSQL counts pages of its catalogue, too.
            assert!(pages == 0 || name == "c" && pages < 100, "{name}: {pages}");
        }
    }
    desk.good(&["report", "results/s"]);
    let page = desk.read("results/s/report.md");
    assert!(page.contains("no reads from disk: all data in memory") && page.contains(" pages from disk a transaction"), "{page}");
    assert!(page.contains("Size of the data before the trials"), "{page}");
}

#[test]
fn mysql_runs_a_study_with_a_program_that_is_named() {
    let desk = Desk::new();
    let (program, share) = (server("PERBUCK_TEST_MYSQL9_PROGRAM"), server("PERBUCK_TEST_MYSQL9_SHARE"));
    let config =
        format!("innodb_buffer_pool_size = \"48M\", lc_messages_dir = \"{share}\", character_sets_dir = \"{share}/charsets\"");
    let mysql = format!("kind = \"mysql\", version = \"9\", program = \"{program}\", config = {{ {config} }}");
    desk.write("s.toml", &study(&desk, &[("a", &mysql)], SWEEP));
    let checked = desk.good(&["check", "s.toml"]);
    assert!(checked.out.contains("a: a private server of kind mysql"), "{checked:#?}");
    desk.good(&["run", "s.toml"]);
    assert_eq!(left(&desk), Vec::<PathBuf>::new());
    let record = &desk.records("results/s")[0];
    assert_eq!(record.target.variables["innodb_buffer_pool_size"], (48 * 1024 * 1024).to_string());
    assert!(record.target.version.starts_with("9.") && record.measured.transactions["oltp_point_select"].committed > 0);
}

#[test]
fn every_deployment_has_a_server_of_its_own() {
    let desk = Desk::new();
    let sweep = SWEEP.replace("trials = 1", "trials = 1\ndeployments = 2");
    desk.write("s.toml", &study(&desk, &[("a", "kind = \"mariadb\"")], &sweep));
    let ran = desk.good(&["run", "s.toml"]);
    assert_eq!(ran.err.matches(" runs at ").count(), 2, "{}", ran.err);
    let records = desk.records("results/s");
    let deployments: Vec<u32> = records.iter().map(|r| r.key.deployment()).collect();
    assert_eq!(deployments, [1, 2]);
    assert_ne!(records[0].target.address, records[1].target.address);
    assert_eq!(left(&desk), Vec::<PathBuf>::new());
}

/// Starts a long study of one server; what it says is in `said`.
fn long_run(desk: &Desk) -> Child {
    desk.write("s.toml", &study(desk, &[("a", "kind = \"mariadb\"")], &SWEEP.replace("\"1s\"", "\"1m\"")));
    let said = fs::File::create(desk.path("said")).unwrap();
    desk.command(&["run", "s.toml"]).stdout(Stdio::null()).stderr(said).spawn().unwrap()
}

/// Waits until a file of the server is there.
fn wait_for(desk: &Desk, child: &mut Child, file: &str) {
    wait_until(&format!("there is {file}"), || {
        assert!(child.try_wait().unwrap().is_none(), "{}", desk.read("said"));
        left(desk).first().is_some_and(|folder| folder.join(file).exists())
    });
}

fn send(name: &str, pids: &[u32]) {
    let pids = pids.iter().map(ToString::to_string);
    assert!(Command::new("kill").args(["-s", name]).args(pids).status().unwrap().success());
}

#[test]
fn a_killed_perbuck_leaves_no_server() {
    let desk = Desk::new();
    for file in ["make.log", "server.pid"] {
        let mut child = long_run(&desk);
        wait_for(&desk, &mut child, file);
        signal(&child, "KILL");
        child.wait().unwrap();
        wait_until("its guard has ended it", || left(&desk).is_empty());
        // The guard removes the folder and is then the last to end.
        wait_until("no process is left", || processes_of(&desk.path("servers")).is_empty());
    }
}

#[test]
fn a_server_ends_with_its_guard_and_the_next_command_removes_its_folder() {
    let desk = Desk::new();
    for file in ["make.log", "server.pid"] {
        let mut child = long_run(&desk);
        wait_for(&desk, &mut child, file);
        signal(&child, "STOP");
        send("KILL", &[children(child.id()), vec![child.id()]].concat());
        child.wait().unwrap();
        let folder = left(&desk).remove(0);
        // What an installer has started is not told; the next command ends it.
        if file == "server.pid" {
            wait_until("the server has gone", || processes_of(&folder).is_empty());
        }
        desk.write("s.toml", &study(&desk, &[("a", "kind = \"mariadb\", version = \"3.23\"")], SWEEP));
        let refused = desk.perbuck(&["run", "s.toml"]);
        assert!(refused.err.contains(&format!("removed {}, which a killed run left", folder.display())), "{}", refused.err);
        assert!(refused.code == Some(4) && refused.err.contains("line 8: the study wants version 3.23"), "{refused:#?}");
        assert_eq!(left(&desk), Vec::<PathBuf>::new());
        assert_eq!(processes_of(&desk.path("servers")), Vec::<u32>::new());
        fs::remove_dir_all(desk.path("results")).unwrap();
    }
}

#[test]
fn a_folder_that_is_held_until_after_the_start_is_removed_at_the_end() {
    let desk = Desk::new();
    desk.write("s.toml", &study(&desk, &[("a", "kind = \"mariadb\"")], SWEEP));
    let folder = desk.path("servers/perbuck-server-dying");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("perbuck-server"), "ends by SIGKILL\n").unwrap();
    // As the guard of a killed run, which holds it until the system has ended that process.
    let held = fs::File::open(&folder).unwrap();
    held.try_lock().unwrap();
    let child = desk.command(&["run", "s.toml"]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("a server is made", || left(&desk).len() == 2);
    drop(held);
    let ran = crate::common::ended(child.wait_with_output().unwrap());
    assert!(ran.code == Some(0) && ran.err.contains("perbuck-server-dying, which a killed run left"), "{ran:#?}");
    assert_eq!(left(&desk), Vec::<PathBuf>::new());
}

#[test]
fn signals_to_perbuck_and_its_guard_together_leave_nothing() {
    let desk = Desk::new();
    let mut child = long_run(&desk);
    wait_for(&desk, &mut child, "server.pid");
    send("TERM", &[children(child.id()), vec![child.id()]].concat());
    let ended = child.wait().unwrap();
    assert_eq!((ended.code(), left(&desk)), (Some(130), Vec::new()), "{}", desk.read("said"));
    assert_eq!(processes_of(&desk.path("servers")), Vec::<u32>::new());
    // A guard that is killed alone takes its server with it, and perbuck removes the folder.
    let mut child = long_run(&desk);
    wait_for(&desk, &mut child, "server.pid");
    send("KILL", &children(child.id()));
    let ended = child.wait().unwrap();
    assert_eq!((ended.success(), left(&desk)), (false, Vec::new()), "{}", desk.read("said"));
    assert_eq!(processes_of(&desk.path("servers")), Vec::<u32>::new());
}

/// Before, `hold-server` deleted the folder that it was given.
#[test]
fn a_guard_deletes_no_folder_that_it_did_not_make() {
    let desk = Desk::new();
    let precious = desk.write("precious/file", "x");
    for text in ["{\"program\":\"/bin/true\",\"arguments\":[],\"user\":null,\"quits\":false}\n", "no word of perbuck\n"] {
        desk.write("asked", text);
        for arguments in [&["hold-server"][..], &["hold-server", "precious"], &["hold-server", "precious/perbuck-host-1-x"]] {
            fs::create_dir_all(desk.path("precious/perbuck-host-1-x")).unwrap();
            let input = fs::File::open(desk.path("asked")).unwrap();
            let ended = crate::common::ended(desk.command(arguments).stdin(input).output().unwrap());
            assert!(precious.exists() && desk.path("precious/perbuck-host-1-x").exists(), "{arguments:?}: {ended:#?}");
            assert!(ended.code == Some(2) && ended.err.contains("this command is perbuck's own"), "{arguments:?}: {ended:#?}");
        }
    }
}

#[test]
fn what_is_wrong_with_a_server_is_said() {
    let desk = Desk::new();
    let told = |contenders: &[(&str, &str)], code: i32, words: &[&str]| {
        desk.write("s.toml", &study(&desk, contenders, SWEEP));
        let ended = desk.perbuck(&["run", "s.toml"]);
        assert_eq!(ended.code, Some(code), "{ended:#?}");
        words.iter().for_each(|w| assert!(ended.err.contains(w), "{w}: {}", ended.err));
        assert_eq!(left(&desk), Vec::<PathBuf>::new());
    };
    told(&[("a", "kind = \"oracle\"")], 2, &["s.toml:8", "kind `oracle`", "mariadb, mysql, postgres"]);
    told(&[("a", "kind = \"mariadb\", config = { datadir = \"x\" }")], 2, &["perbuck sets `datadir`"]);
    told(&[("a", "kind = \"mariadb\", program = \"/no/mariadbd\"")], 2, &["/no/mariadbd is no program"]);
    told(&[("a", "kind = \"mariadb\", config = { no_such_setting = 1 }")], 3, &["did not start", "no_such_setting"]);
    told(&[("a", "kind = \"postgres\", config = { shared_buffers = \"many\" }")], 3, &["did not start", "shared_buffers"]);
    told(&[("a", "kind = \"mariadb\", port = 1")], 2, &["unknown key `contender.server.port`", "known here: config"]);
    told(&[("a", "kind = \"tidb\", tikvs = 3")], 2, &["unknown key `contender.server.tikvs`", "did you mean `tikv`?"]);
    told(&[("a", "kind = \"tidb\", tikv = 0")], 2, &["`contender.server.tikv` is 0, not a whole number from 1 to 100"]);
    told(&[("a", "kind = \"tidb\", tikv = \"3\"")], 2, &["`contender.server.tikv` is 3, not a whole number"]);
    told(&[("a", "kind = \"mysql\", port = 3307")], 2, &["unknown key `contender.server.port`"]);
    let twice = "kind = \"tidb\", tikv = 1, config = { \"performance.max-procs\" = 1, \"tidb.performance.max-procs\" = 2 }";
    told(&[("a", twice)], 2, &["s.toml:8", "are one setting", "keep one of them"]);
    let absent = "kind = \"tidb\", config.tikv = { \"storage.engine\" = \"raft-kv\" }";
    told(&[("a", absent)], 2, &["s.toml:8", "`tikv.storage.engine` is a setting of a part that is not started", "`tikv = 3`"]);
    told(&[("a", "kind = \"tikv\", config.server.addr = \"x\"")], 2, &["perbuck sets `server.addr`"]);
    told(&[("a", "kind = \"tikv\", options = \"type=both\"")], 2, &["s.toml:8", "`type`"]);
    told(
        &[("a", "kind = \"tidb\", tikv = 1, program = \"/bin/true\"")],
        2,
        &["no pd-server is beside /bin/true", "into one folder"],
    );
    let both =
        study(&desk, &[("a", "kind = \"mariadb\"")], SWEEP).replace("name = \"a\"", "name = \"a\"\ntarget = \"mysql://u@h/d\"");
    desk.write("s.toml", &both);
    let ended = desk.perbuck(&["check", "s.toml"]);
    assert!(ended.code == Some(2) && ended.err.contains("leave out `target`"), "{ended:#?}");
    desk.write("s.toml", &study(&desk, &[("a", "kind = \"mariadb\"")], SWEEP));
    let ended = desk.perbuck(&["prepare", "s.toml"]);
    assert!(ended.code == Some(2) && ended.err.contains("`perbuck run STUDY` loads the data"), "{ended:#?}");
    let missing = fs::read_to_string(desk.path("s.toml")).unwrap().replace("/servers\"", "/nowhere\"");
    desk.write("s.toml", &missing);
    let ended = desk.perbuck(&["run", "s.toml"]);
    assert!(ended.code == Some(5) && ended.err.contains("nowhere"), "{ended:#?}");
}
