//! Open loop against real servers: more than they can do, a server that stops for two seconds, and phases.

use std::process::{Command, Stdio};
use std::time::Duration;

use crate::common::agents::{addresses, agents};
use crate::common::maria::{Maria, study};
use crate::common::{Desk, ended, server, wait_until};
use perbuck_core::arrivals::Schedule;
use perbuck_core::histogram::Histogram;
use perbuck_core::load_model::LoadModel;
use perbuck_core::metric::TPS;
use perbuck_core::run_record::{Flag, RunRecord};

const POINTS: &str = "kind = \"sysbench\"\nscript = \"oltp_point_select\"\ntables = 1\ntable_size = 1000";

/// Every arrival is accounted for, and so is every statement.
fn nothing_is_lost(record: &RunRecord) {
    let open = record.measured.open_loop.as_ref().unwrap();
    let t = &record.measured.transactions["oltp_point_select"];
    assert_eq!(open.backlog_at_open + open.offered, open.started + open.backlog_at_close, "{open:?}");
    let due: u64 = record.intervals.iter().filter(|i| i.start_ms >= 0).map(|i| i.due).sum();
    assert_eq!(due, open.offered);
    // What was started in the window and what was in flight at its begin has ended or was in flight at its end.
    let in_flight = u64::from(record.load.connections);
    assert!((t.completed() + t.failed).abs_diff(open.started) <= in_flight, "{t:?} {open:?}");
    assert!(open.unfinished.count.abs_diff(open.backlog_at_close) <= in_flight, "{open:?}");
    assert_eq!((t.response.count, t.wait.count, t.service.count), (t.completed(), t.completed(), t.completed()));
    assert_eq!(t.failed, 0, "{:?}", record.errors);
}

fn more_than(h: &Histogram, ns: u64) -> u64 {
    h.buckets().filter(|(value, _)| *value > ns).map(|(_, count)| count).sum()
}

#[test]
fn at_twice_the_capacity_for_twenty_seconds_nothing_is_lost_and_the_response_time_is_the_backlogs() {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "open_twice");
    let closed = "connections = [8]\nwarmup = \"500ms\"\nduration = \"3s\"\ntrials = 1";
    desk.write("closed.toml", &study(&maria.url(), POINTS, closed).replace("name = \"s\"", "name = \"closed\""));
    desk.good(&["run", "closed.toml"]);
    let capacity = desk.records("results/closed").remove(0).metric(&TPS);
    let rate = (2.0 * capacity) as u32;
    let sweep = format!("rate = [{rate}]\nconnections = [8]\nwarmup = \"500ms\"\nduration = \"20s\"\ntrials = 1");
    desk.write("s.toml", &study(&maria.url(), POINTS, &sweep));
    let run = desk.perbuck(&["run", "s.toml"]);
    // On a machine that client and server share the client may be late, too, and then only the comparison is refused.
    assert!(run.code == Some(0) || run.err.contains("--insist client-limited"), "{run:#?}");
    let record = desk.records("results/s").remove(0);
    nothing_is_lost(&record);
    assert!(record.flags.iter().any(|f| matches!(f, Flag::Overloaded { .. })), "{:?}", record.flags);
    let open = record.measured.open_loop.clone().unwrap();
    // The backlog changes from second to second by what is due and not done (other work on the machine may come or go, and
    // with it the capacity), and the response time of what ends is the age of the backlog: what ended last was due when as
    // many were due as had ended by then.
    for pair in record.intervals.windows(2) {
        let expected = (pair[0].backlog + pair[1].due).saturating_sub(pair[1].transactions);
        assert!(pair[1].backlog.abs_diff(expected) <= 8, "{pair:?}");
    }
    assert!(open.backlog_at_close > 3 * u64::from(rate), "three seconds at least: {open:?}");
    let last = record.intervals.last().unwrap();
    let age_s = open.backlog_at_close as f64 / f64::from(rate);
    let seen_s = last.p99_ns as f64 / 1e9;
    assert!((seen_s - age_s).abs() < 0.15 * age_s + 0.2, "p99 {seen_s} s at the end, backlog {age_s} s old");
    let service = record.service().unwrap();
    assert!((service.percentile_ns(99.0).unwrap() as f64) / 1e9 < age_s / 4.0, "the service time hides it");
}

#[test]
fn a_server_that_stops_for_two_seconds_is_in_the_response_time_of_every_arrival_of_that_time() {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB_KILL", "open_stall");
    let pid = std::fs::read_to_string(server("PERBUCK_TEST_MARIADB_KILL_PIDFILE")).unwrap().trim().to_owned();
    let sweep = "rate = [400]\nconnections = [16]\nwarmup = \"1s\"\nduration = \"8s\"\ntrials = 1";
    desk.write("s.toml", &study(&maria.url(), POINTS, sweep));
    desk.good(&["prepare", "s.toml"]);
    let child = desk.command(&["run", "s.toml"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let before = maria.status("Com_select");
    wait_until("the load is on", || maria.status("Com_select") > before + 1000);
    let send = |signal: &str| assert!(Command::new("kill").args(["-s", signal, &pid]).status().unwrap().success());
    send("STOP");
    std::thread::sleep(Duration::from_secs(2));
    send("CONT");
    let ended = ended(child.wait_with_output().unwrap());
    assert!(ended.code == Some(0) || ended.err.contains("--insist client-limited"), "{ended:#?}");
    let record = desk.records("results/s").remove(0);
    nothing_is_lost(&record);
    let gap = record.health.gaps[0];
    assert!((1_900..3_000).contains(&gap.length_ms), "{:?}", record.health.gaps);
    // The exact expectation: the schedule is a function of the seed, and whatever was due in the gap ended at its end.
    let end_ns = (gap.start_ms + gap.length_ms as i64) * 1_000_000;
    let whole_ns = record.load.warmup_ns + record.load.duration_ns;
    let LoadModel::Open { arrivals, phases } = LoadModel::rate(400, record.load.arrivals.unwrap(), whole_ns) else {
        panic!("a rate is an open loop")
    };
    let due: Vec<i64> =
        Schedule::new(&phases, arrivals, record.trial_seed).map(|at| at as i64 - record.load.warmup_ns as i64).collect();
    let empty_at_last = record.intervals.iter().find(|i| i.start_ms * 1_000_000 > end_ns - 1_000_000_000 && i.backlog == 0);
    let caught_up_ns = empty_at_last.map_or(i64::MAX, |i| (i.start_ms + i.length_ms as i64) * 1_000_000);
    let (response, service) = (record.latency().unwrap(), record.service().unwrap());
    for age_ns in [300_000_000, 800_000_000, 1_300_000_000, 1_800_000_000] {
        let from_ns = gap.start_ms * 1_000_000;
        let expected = due.iter().filter(|at| **at > from_ns && end_ns - **at > age_ns).count() as u64;
        // Later transactions waited too, until the queue was empty again.
        let most = due.iter().filter(|at| **at > from_ns && caught_up_ns - **at > age_ns).count() as u64;
        let seen = more_than(&response, age_ns as u64);
        // Those that were sent just before the gap began may not have been answered any more.
        assert!(seen + 16 + expected / 10 >= expected, "older than {age_ns} ns: {seen}, expected {expected}");
        assert!(seen <= most + 16 + most / 10, "older than {age_ns} ns: {seen}, at most {most}");
        // Only as many as there are connections were in flight; the others waited unseen.
        assert!(more_than(&service, age_ns as u64) <= 16, "{}", more_than(&service, age_ns as u64));
    }
}

#[test]
fn phases_of_rates_and_of_connections_run_on_the_embedded_database() {
    let mut desk = Desk::new();
    desk.set("NO_COLOR", "1");
    let phases = "connections = [4]\nwarmup = \"500ms\"\ntrials = 1\n\
        phases = [{ time = \"1s\", rate = 100 }, { time = \"2s\", rate = 100, to = 300 }, { time = \"1s\", rate = 0 }]";
    desk.write("s.toml", &study("sqlite:s.db", POINTS, phases));
    let run = desk.perbuck(&["run", "s.toml"]);
    assert!(run.code == Some(0) || run.err.contains("--insist client-limited"), "{run:#?}");
    let record = desk.records("results/s").remove(0);
    let open = record.measured.open_loop.as_ref().unwrap();
    assert!((400..600).contains(&open.offered), "{open:?}");
    let done: Vec<u64> = record.measured.phases.iter().map(|p| p.transactions["oltp_point_select"].completed()).collect();
    assert_eq!(done.iter().sum::<u64>(), record.measured.transactions["oltp_point_select"].completed());
    assert!(done[0] > 50 && done[1] > 250 && done[2] <= 4, "{done:?}");
    let steps = "warmup = \"0s\"\ntrials = 1\nphases = [{ time = \"1s\", connections = 1 }, { time = \"1s\", connections = 3 }]";
    desk.write("t.toml", &study("sqlite:s.db", POINTS, steps).replace("name = \"s\"", "name = \"t\""));
    desk.good(&["run", "t.toml"]);
    let record = desk.records("results/t").remove(0);
    assert_eq!((record.load.connections, record.load.model.as_str(), record.measured.phases.len()), (3, "closed", 2));
}

#[test]
fn a_load_that_contradicts_itself_is_refused_line_by_line() {
    let desk = Desk::new();
    for (sweep, words) in [
        ("rate = [100]", &["exactly one count of connections", "connections = [64]"][..]),
        ("rate = [100]\nconnections = [1, 2]", &["exactly one count"]),
        ("rate = [0]\nconnections = [1]", &["sweep.rate", "outside"]),
        ("rate = [5, 5]\nconnections = [1]", &["holds a number twice"]),
        ("arrivals = \"poisson\"", &["`arrivals` without a rate"]),
        ("rate = [5]\nconnections = [1]\narrivals = \"gauss\"", &["\"poisson\", \"uniform\""]),
        ("phases = []", &["sweep.phases", "is empty"]),
        ("phases = [{ time = \"1s\" }]", &["exactly one load"]),
        ("phases = [{ rate = 5 }]\nconnections = [1]", &["a phase has no `time`"]),
        ("phases = [{ time = \"1500ms\", rate = 5 }]\nconnections = [1]", &["whole seconds"]),
        ("phases = [{ time = \"1s\", rate = 5, connections = 3 }]", &["exactly one load"]),
        ("phases = [{ time = \"1s\", connections = 3, to = 5 }]", &["exactly one load"]),
        ("phases = [{ time = \"1s\", rate = 5 }, { time = \"1s\", connections = 3 }]\nconnections = [1]", &["mixes"]),
        ("phases = [{ time = \"1s\", connections = 3 }]\nconnections = [3]", &["remove `connections`"]),
        ("phases = [{ time = \"1s\", connections = 3 }]\nduration = \"1s\"", &["remove `duration`"]),
        ("phases = [{ time = \"1s\", rate = 3 }]\nrate = [1]\nconnections = [1]", &["both `rate` and `phases`"]),
    ] {
        desk.write("s.toml", &study("sqlite:s.db", POINTS, sweep));
        let ended = desk.perbuck(&["check", "s.toml"]);
        assert_eq!(ended.code, Some(2), "{sweep}: {ended:#?}");
        for word in words.iter().chain(&["s.toml:"]) {
            assert!(ended.err.contains(word), "{sweep}: {word} is not in\n{}", ended.err);
        }
    }
}

#[test]
fn the_ceiling_of_the_client_needs_no_database_and_leaves_nothing_behind() {
    let desk = Desk::new();
    let sweep = "connections = [1, 4]\nwarmup = \"100ms\"\nduration = \"300ms\"\ntrials = 1\nworkers = 1";
    desk.write("s.toml", &study("mysql://root@127.0.0.1:1/nothing", POINTS, sweep));
    let run = desk.good(&["run", "s.toml", "--driver", "sim"]);
    assert_eq!(run.out.lines().count(), 4, "{}", run.out);
    let operations: u64 = run.out.lines().nth(3).unwrap().split_whitespace().nth(4).unwrap().replace(',', "").parse().unwrap();
    assert!(operations > 1000, "{}", run.out);
    assert!(!desk.path("results").exists());
    desk.write("t.toml", &study("sqlite:s.db", "kind = \"tpcc\"\nwarehouses = 1", sweep));
    let refused = desk.perbuck(&["run", "t.toml", "--driver", "sim"]);
    assert!(refused.code == Some(2) && refused.err.contains("reads values"), "{refused:#?}");
}

/// One load thread each: the table counts the threads of all agents.
#[test]
fn the_ceiling_of_agents_is_that_of_all_of_them() {
    let desk = Desk::new();
    let sweep = "connections = [3, 4]\nwarmup = \"100ms\"\nduration = \"300ms\"\ntrials = 1\nworkers = 1";
    desk.write("s.toml", &study("mysql://root@127.0.0.1:1/nothing", POINTS, sweep));
    let running = agents(&desk, 3);
    let simulate =
        |agents: &str| desk.perbuck(&["run", "s.toml", "--driver", "sim", "--agents", agents, "--token-file", "token"]);
    let run = simulate(&addresses(&running));
    assert_eq!(run.code, Some(0), "{run:#?}");
    for line in run.out.lines().skip(2) {
        let cells: Vec<u64> = line.split_whitespace().skip(2).map(|cell| cell.replace(',', "").parse().unwrap()).collect();
        assert!(cells[1] == 3 && cells[2] > 1000, "{}", run.out);
    }
    assert_eq!(run.out.lines().count(), 4, "{}", run.out);
    assert!(!desk.path("results").exists());
    let refused = simulate("127.0.0.1:1");
    assert!(refused.code != Some(0) && refused.err.contains("agent 127.0.0.1:1"), "{refused:#?}");
}
