//! `perbuck sysbench`: how a run ends, and what stands in its last lines.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use crate::common::{Desk, Ended, wait_until};

const LINE: [&str; 5] = ["sysbench", "--db-driver=sqlite", "--table-size=500", "oltp_read_write", "--no-record"];

fn good(desk: &Desk, words: &[&str]) -> Ended {
    desk.good(&[&LINE[..], words].concat())
}

#[test]
fn checkpoints_never_take_the_last_report() {
    let desk = Desk::new();
    good(&desk, &["prepare"]);
    let ran = good(&desk, &["--time=2", "--report-checkpoints=1,2,3", "run"]);
    assert!(ran.out.contains("Report checkpoint(s) at 1 seconds\n"), "{ran:#?}");
    assert_eq!(ran.out.matches("Checkpoint report:").count(), 1, "{ran:#?}");
    let events = ran.out.lines().filter(|l| l.contains("total number of events:"));
    assert!(events.filter(|l| !l.ends_with(" 0")).count() == 2, "{ran:#?}");
    // The one line of values is of the whole run: as many seconds and transactions as it had.
    let words = ["--events=40", "--time=0", "--rate=20", "--report-checkpoints=1", "--output=csv", "run"];
    let ran = good(&desk, &words);
    let values: Vec<&str> = ran.out.lines().nth(1).unwrap().split(',').collect();
    let (seconds, tps): (f64, f64) = (values[0].parse().unwrap(), values[2].parse().unwrap());
    assert!(seconds >= 1.0 && (tps * seconds - 40.0).abs() < 0.5 * tps + 1.0, "{ran:#?}");
}

#[test]
fn a_seed_that_was_drawn_can_be_reused() {
    let desk = Desk::new();
    good(&desk, &["prepare"]);
    let json = |words: &[&str]| -> serde_json::Value {
        let ran = good(&desk, &[words, &["--events=5", "--output=json", "run"]].concat());
        serde_json::from_str(&ran.out).unwrap()
    };
    let seed = json(&[])["seed"].as_i64().unwrap();
    assert!((1..=i64::from(i32::MAX)).contains(&seed));
    assert_eq!(json(&[&format!("--rand-seed={seed}")])["seed"].as_i64(), Some(seed));
    let ran = good(&desk, &["--events=5", "run"]);
    assert!(ran.out.contains("Initializing random number generator from current time (seed "), "{ran:#?}");
    // A user of SQLite need not know what sysbench sends to MySQL.
    assert!(ran.out.contains("Other than sysbench-1.0:") && !ran.out.contains("ROLLBACK"), "{ran:#?}");
}

#[test]
fn without_a_version_of_sysbench_every_distribution_can_be_chosen() {
    let desk = Desk::new();
    good(&desk, &["prepare"]);
    let ran = good(&desk, &["--compat=perbuck", "--rand-type=zipfian", "--events=5", "run"]);
    assert!(ran.out.contains("General statistics:") && !ran.out.contains("Other than"), "{ran:#?}");
    let refused = desk.perbuck(&[&LINE[..], &["--rand-type=zipfian", "run"]].concat());
    assert!(refused.code == Some(1) && refused.err.contains("--compat=sysbench-1.1"), "{refused:#?}");
}

#[test]
fn a_run_that_nobody_reads_any_more_is_stopped() {
    let desk = Desk::new();
    good(&desk, &["prepare"]);
    let mut command = desk.command(&[&LINE[..], &["--time=0", "--report-interval=1", "run"]].concat());
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.starts_with("[ 1s ]") {
        line.clear();
        assert!(out.read_line(&mut line).unwrap() > 0, "it ended before its first second");
    }
    drop(out);
    wait_until("it has ended", || child.try_wait().unwrap().is_some());
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(child.wait().unwrap().code() == Some(1) && said.contains("standard output was closed"), "{said}");
}
