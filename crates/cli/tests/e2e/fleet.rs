//! Trials whose load agents apply, on a real MariaDB: what they count, and what becomes of a trial that loses one.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::common::agents::{Running, addresses, agents};
use crate::common::maria::{Maria, study};
use crate::common::{Desk, Ended, ended, signal, wait_until};
use perbuck_core::run_record::{Flag, RunRecord, ServerWork, starts_apart_ns};
use perbuck_lab::fleet::{AgentOptions, Build, Token, serve};
use perbuck_lab::live::{Counts, Event, Line};
use perbuck_lab::progress::Quiet;
use perbuck_lab::registry::Registry;
use perbuck_load::stop::StopToken;

const READ_WRITE: &str = "kind = \"sysbench\"\nscript = \"oltp_read_write\"\ntables = 2\ntable_size = 3000";
const READ_ONLY: &str = "kind = \"sysbench\"\nscript = \"oltp_point_select\"\ntables = 2\ntable_size = 3000";
const TOGETHER: u64 = 2_000_000;

fn run(desk: &Desk, agents: &str, more: &[&str]) -> Command {
    desk.command(&[&["run", "s.toml", "--agents", agents, "--token-file", "token"], more].concat())
}

fn sweep(trials: u32, duration: &str) -> String {
    format!("connections = [8]\nwarmup = \"300ms\"\nduration = \"{duration}\"\ntrials = {trials}")
}

fn records(desk: &Desk) -> Vec<RunRecord> {
    desk.records("results/s")
}

/// Runs the study and does something to it once its first trial has begun.
fn disturbed(desk: &Desk, agents: &str, disturb: impl FnOnce()) -> Ended {
    let child = run(desk, agents, &[]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("a second of the first trial is over", || {
        std::fs::read_to_string(desk.path("results/s/live.jsonl")).is_ok_and(|text| text.contains("\"second\""))
    });
    disturb();
    ended(child.wait_with_output().unwrap())
}

/// Seconds of all agents, and what they reported too late for a second, are what the records have. Of their CPU time nothing is known
/// before the end.
fn the_live_file_counts_the_same(desk: &Desk, records: &[RunRecord]) {
    let text = desk.read("results/s/live.jsonl");
    let lines = text.lines().map(|line| serde_json::from_str::<Line>(line).unwrap());
    let counts = lines.filter_map(|line| match line.event {
        Event::Second { counts, .. } => counts,
        Event::Rest { counts, .. } => Some(counts),
        _ => None,
    });
    let counts: Vec<Counts> = counts.collect();
    assert!(counts.iter().all(|c| c.client.is_none() && c.latency.count == c.transactions));
    let intervals = records.iter().flat_map(|r| &r.intervals);
    let wanted = intervals.fold([0; 3], |[t, s, e], i| [t + i.transactions, s + i.statements, e + i.errors]);
    let sums = |c: &Counts| [c.transactions, c.statements, c.errors.values().sum::<u64>()];
    let seen = counts.iter().map(sums).fold([0; 3], |[t, s, e], c| [t + c[0], s + c[1], e + c[2]]);
    assert_eq!(seen, wanted);
}

#[test]
fn four_agents_count_what_the_server_counts_and_start_together() {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "fleet");
    desk.write("s.toml", &study(&maria.url(), READ_WRITE, &sweep(2, "1s")));
    let running = agents(&desk, 4);
    let done = ended(run(&desk, &addresses(&running), &[]).output().unwrap());
    assert_eq!(done.code, Some(0), "{done:#?}");
    let found = records(&desk);
    assert_eq!(found.len(), 2);
    the_live_file_counts_the_same(&desk, &found);
    for record in found {
        let agents = &record.agents;
        assert_eq!(agents.iter().map(|a| a.connections).collect::<Vec<_>>(), [2; 4]);
        assert_eq!(
            agents.iter().map(|a| a.name.as_str()).collect::<Vec<_>>(),
            addresses(&running).split(',').collect::<Vec<_>>()
        );
        assert!(agents.iter().all(|a| a.start_missed_ns == 0 && a.user_ns + a.system_ns > 0), "{agents:#?}");
        assert!(agents.iter().all(|a| a.host.cpus > 0 && a.host.memory_bytes > 1 << 30), "{agents:#?}");
        let flagged = record.flags.iter().any(|f| matches!(f, Flag::AgentsApart { .. }));
        assert_eq!(flagged, starts_apart_ns(agents) > TOGETHER, "{agents:#?}");
        // The lease and the note of the trial's end are perbuck's too, and no part of its load.
        let (sent, counted) = (record.statements_whole_run, &record.target.server_counters);
        assert_eq!(
            [sent.select, sent.insert, sent.delete].map(|n| n as i64),
            ["Com_select", "Com_insert", "Com_delete"].map(|c| counted[c])
        );
        assert!((0..=2).contains(&(counted["Com_update"] - sent.update as i64)), "{counted:?}");
        let Some(ServerWork::Statements { all, own }) = record.target.work else { panic!("{:?}", record.target.work) };
        assert!(all.abs_diff(own) <= all / 100, "{all} of which {own}");
        assert!(record.health.littles_law.unwrap().holds());
        assert_eq!(record.health.workers.iter().map(|w| w.connections).sum::<u32>(), 8);
        let windowed: u64 = record.intervals.iter().filter(|i| i.start_ms >= 0).map(|i| i.transactions).sum();
        assert_eq!(windowed, record.measured.transactions["oltp_read_write"].completed());
    }
}

#[test]
fn a_trial_that_loses_an_agent_is_void_and_the_next_is_fine() {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "fleet_lost");
    desk.write("s.toml", &study(&maria.url(), READ_WRITE, &sweep(2, "3s")));
    let mut running = agents(&desk, 3);
    let killed = running.pop().unwrap();
    let all = format!("{},{}", addresses(&running), killed.1);
    let done = disturbed(&desk, &all, || signal(&killed.0, "KILL"));
    assert_eq!(done.code, Some(0), "{done:#?}");
    assert!(done.err.matches("void, and measured again").count() == 1, "{}", done.err);
    for said in ["void, and measured again", &format!("agent {}", killed.1), "going on with 2 of 3 agents"] {
        assert!(done.err.contains(said), "`{said}` is not in {}", done.err);
    }
    let found = records(&desk);
    assert_eq!(found.iter().map(|r| r.agents.len()).collect::<Vec<_>>(), [2, 2]);
    assert!(found.iter().all(|r| r.measured.transactions["oltp_read_write"].committed > 0));
    assert!(!done.err.contains("may remain"), "its system closed its sessions: {}", done.err);
    // One that its own user stops is lost, too.
    std::fs::remove_dir_all(desk.path("results")).unwrap();
    let stopped = Running::start(&desk);
    let all = format!("{},{}", addresses(&running), stopped.1);
    let done = disturbed(&desk, &all, || signal(&stopped.0, "INT"));
    assert!(done.code == Some(0) && done.err.contains("void, and measured again"), "{done:#?}");
    // An agent that outlives its coordinator serves the next one.
    std::fs::remove_dir_all(desk.path("results")).unwrap();
    let next = ended(run(&desk, &addresses(&running), &[]).output().unwrap());
    assert_eq!(next.code, Some(0), "{next:#?}");
}

#[test]
fn an_agent_that_stands_still_or_is_cut_off_makes_its_trial_void_and_comes_back() {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "fleet_still");
    let running = agents(&desk, 2);
    let cable = Cable::to(&running[1].1);
    let through = format!("{},{}", running[0].1, cable.address);
    let stopped = || {
        signal(&running[1].0, "STOP");
        thread::sleep(Duration::from_secs(3));
        signal(&running[1].0, "CONT");
    };
    let cut = || {
        cable.cut.store(true, Ordering::SeqCst);
        thread::sleep(Duration::from_secs(3));
        cable.cut.store(false, Ordering::SeqCst);
    };
    let disturbances: [(&str, &dyn Fn()); 2] = [("stands still", &stopped), ("is cut off", &cut)];
    for (what, disturb) in disturbances {
        desk.write("s.toml", &study(&maria.url(), READ_WRITE, &sweep(2, "5s")));
        let done = disturbed(&desk, &through, disturb);
        assert_eq!(done.code, Some(0), "{what}: {done:#?}");
        assert!(done.err.contains("void, and measured again") && done.err.contains("was silent for 1."), "{what}: {}", done.err);
        let found = records(&desk);
        assert_eq!(found.len(), 2, "{what}");
        // Whoever was there at the next trial applied its load: both, or the one that was left.
        assert!(found.iter().all(|r| !r.agents.is_empty() && r.measured.window_ns == 5_000_000_000), "{what}");
        std::fs::remove_dir_all(desk.path("results")).unwrap();
    }
}

/// It never drops its share, so the study goes on without it and says what may be left of it.
#[test]
fn sessions_of_an_agent_that_never_comes_back_are_told() {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "fleet_stopped");
    // No transaction of it holds a lock that would keep the data from being loaded again.
    desk.write("s.toml", &study(&maria.url(), &format!("{READ_ONLY}\nreset = \"never\""), &sweep(1, "3s")));
    desk.good(&["prepare", "s.toml"]);
    let running = agents(&desk, 2);
    let done = disturbed(&desk, &addresses(&running), || signal(&running[1].0, "STOP"));
    assert!(done.code == Some(0) && done.err.contains("going on with 1 of 2 agents"), "{done:#?}");
    let left = format!("sessions of agent {} may remain at the servers and hold locks", running[1].1);
    assert!(done.err.contains(&left), "{done:#?}");
    let there: usize =
        maria.sql("SELECT COUNT(*) FROM information_schema.processlist WHERE db = 'fleet_stopped'").trim().parse().unwrap();
    assert!(there > 1, "{there}");
}

#[test]
fn with_the_word_for_it_a_lost_agent_is_waited_for() {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "fleet_waits");
    desk.write("s.toml", &study(&maria.url(), READ_WRITE, &sweep(1, "3s")));
    let mut running = agents(&desk, 2);
    let killed = running.pop().unwrap();
    let (all, port) = (format!("{},{}", running[0].1, killed.1), killed.1.clone());
    let child = run(&desk, &all, &["--wait-for-agents"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("a second of the trial is over", || {
        std::fs::read_to_string(desk.path("results/s/live.jsonl")).is_ok_and(|text| text.contains("\"second\""))
    });
    drop(killed);
    thread::sleep(Duration::from_secs(2));
    let mut back = desk.command(&["agent", "--listen", &port, "--token-file", "token"]);
    let back = Running(back.stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap(), port);
    let done = ended(child.wait_with_output().unwrap());
    drop(back);
    assert_eq!(done.code, Some(0), "{done:#?}");
    assert_eq!(records(&desk).remove(0).agents.len(), 2);
}

/// The agents run in this process, one of them with a clock that is ahead.
#[test]
fn clocks_that_are_apart_start_together() {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "fleet_clocks");
    desk.write("s.toml", &study(&maria.url(), READ_WRITE, &sweep(3, "1s")));
    let secret = desk.good(&["fleet", "token"]).out;
    desk.write("token", &secret);
    let stop = StopToken::default();
    let ahead_ns = [0, 300_000_000, -300_000_000];
    let done = thread::scope(|scope| {
        let (found, addresses) = std::sync::mpsc::channel();
        for clock_ahead_ns in ahead_ns {
            let (token, stop, found) = (Token::of(&secret).unwrap(), &stop, found.clone());
            // This test is another program than its coordinator.
            let build = Build::of(Path::new(env!("CARGO_BIN_EXE_perbuck"))).unwrap();
            let (listen, registry) = ("127.0.0.1:0".parse().unwrap(), Registry::default());
            let options = AgentOptions { listen, token, build, clock_ahead_ns, registry };
            scope.spawn(move || serve(&options, &mut |at| found.send((clock_ahead_ns, at)).unwrap(), &mut Quiet, stop).unwrap());
        }
        let mut at: Vec<_> = addresses.iter().take(ahead_ns.len()).collect();
        at.sort_by_key(|(ahead, _)| ahead_ns.iter().position(|a| a == ahead));
        let names: Vec<String> = at.iter().map(|(_, address)| address.to_string()).collect();
        let done = ended(run(&desk, &names.join(","), &[]).output().unwrap());
        stop.request();
        done
    });
    assert_eq!(done.code, Some(0), "{done:#?}");
    for record in records(&desk) {
        for (agent, ahead) in record.agents.iter().zip(ahead_ns) {
            // All run by one true clock: what was taken for the offset, against what it is, is how wrong its start was.
            let wrong_ns = (agent.clock_offset_ns - ahead).unsigned_abs();
            assert!(wrong_ns <= agent.clock_error_ns, "{ahead} ahead: {agent:#?}");
            assert!(wrong_ns + agent.start_missed_ns < TOGETHER, "{ahead} ahead: {agent:#?}");
        }
    }
}

#[test]
fn wrong_tokens_addresses_and_databases_are_named() {
    let desk = Desk::new();
    desk.write("s.toml", &study("sqlite:a.db", READ_WRITE, &sweep(1, "1s")));
    let running = agents(&desk, 1);
    let refused = |arguments: &[&str], code: i32, words: &[&str]| {
        let ended = desk.perbuck(&[&["run", "s.toml"], arguments].concat());
        assert_eq!(ended.code, Some(code), "{arguments:?}: {ended:#?}");
        assert!(words.iter().all(|word| ended.err.contains(word)), "{arguments:?}: {}", ended.err);
    };
    let agent = running[0].1.as_str();
    refused(&["--agents", agent], 2, &["need a token", "perbuck fleet token"]);
    desk.write("short", "abc");
    refused(&["--agents", agent, "--token-file", "short"], 2, &["at least 32 characters"]);
    desk.write("other", "0123456789abcdef0123456789abcdef");
    refused(&["--agents", agent, "--token-file", "other"], 3, &[agent, "its token is another one"]);
    refused(&["--agents", "127.0.0.1:1", "--token-file", "token"], 3, &["agent 127.0.0.1:1", "perbuck agent"]);
    refused(&["--agents", agent, "--token-file", "token"], 2, &["sqlite", "agents cannot reach"]);
    let two = format!("{agent},{agent}");
    desk.write("s.toml", &study("mysql://root@127.0.0.1:1/none", READ_ONLY, &sweep(1, "1s").replace("[8]", "[1, 8]")));
    refused(&["--agents", &two, "--token-file", "token"], 2, &["1 connection, too few for 2 agents"]);
    // The same agent twice: the second time it is busy.
    desk.write("s.toml", &study("mysql://root@127.0.0.1:1/none", READ_ONLY, &sweep(1, "1s")));
    let busy = desk.perbuck(&["fleet", "check", "s.toml", "--agents", &two, "--token-file", "token"]);
    assert!(
        busy.code == Some(3)
            && busy.err.contains("this agent serves another coordinator")
            && busy.err.contains("name another agent"),
        "{busy:#?}"
    );
    let taken = desk.perbuck(&["agent", "--listen", agent, "--token-file", "token"]);
    assert!(taken.code == Some(2) && taken.err.contains(agent) && taken.err.contains("--listen"), "{taken:#?}");
    // The token is in no argument and no variable of the agent.
    let secret = desk.read("token");
    for file in ["cmdline", "environ"] {
        let text = std::fs::read_to_string(format!("/proc/{}/{file}", running[0].0.id())).unwrap_or_default();
        assert!(!text.contains(secret.trim()), "{file}");
    }
}

/// Slow is an agent that gets a tenth of a processor: its group of processes is stopped nine times of ten.
#[test]
fn a_check_names_a_slow_agent_and_says_how_many_the_study_needs() {
    let desk = Desk::new();
    desk.write("s.toml", &study("mysql://root@127.0.0.1:1/none", READ_ONLY, &sweep(1, "1s")));
    let running = agents(&desk, 3);
    let (slow, done) = (running[1].0.id(), Arc::new(AtomicBool::new(false)));
    let over = done.clone();
    let slowing = thread::spawn(move || {
        let send = |name: &str| drop(Command::new("kill").args(["-s", name, &slow.to_string()]).status());
        while !over.load(Ordering::SeqCst) {
            send("STOP");
            thread::sleep(Duration::from_millis(80));
            send("CONT");
            thread::sleep(Duration::from_millis(5));
        }
    });
    let checked = desk.perbuck(&["fleet", "check", "s.toml", "--agents", &addresses(&running), "--token-file", "token"]);
    done.store(true, Ordering::SeqCst);
    slowing.join().unwrap();
    assert_eq!(checked.code, Some(0), "{checked:#?}");
    assert!(checked.out.contains(&format!("agent {} is slow", running[1].1)), "{}", checked.out);
    assert!(
        checked.out.matches(" is slow").count() == 1 && checked.out.contains("cannot be told before its first trial"),
        "{}",
        checked.out
    );
    for agent in &running {
        assert!(checked.out.contains(&agent.1), "{}", checked.out);
    }
}

/// A cable between coordinator and agent that can be cut.
struct Cable {
    address: String,
    cut: Arc<AtomicBool>,
}

impl Cable {
    fn to(agent: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, cut) = (listener.local_addr().unwrap().to_string(), Arc::new(AtomicBool::new(false)));
        let (agent, of_all) = (agent.to_owned(), cut.clone());
        thread::spawn(move || {
            for near in listener.incoming().flatten() {
                let Ok(far) = TcpStream::connect(&agent) else { continue };
                for (from, to) in [(near.try_clone(), far.try_clone()), (far.try_clone(), near.try_clone())] {
                    let (from, to, cut) = (from.unwrap(), to.unwrap(), of_all.clone());
                    thread::spawn(move || carry(from, to, &cut));
                }
            }
        });
        Self { address, cut }
    }
}

/// Carries bytes; while it is cut they wait, as on a network that drops packets.
fn carry(mut from: TcpStream, mut to: TcpStream, cut: &AtomicBool) {
    let mut room = [0; 16 * 1024];
    while let Ok(count @ 1..) = from.read(&mut room) {
        while cut.load(Ordering::SeqCst) {
            thread::sleep(Duration::from_millis(5));
        }
        if to.write_all(&room[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Both);
}
