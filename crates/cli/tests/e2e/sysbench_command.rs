//! `perbuck sysbench` beside the real sysbench: the same command lines give the same exit codes and the same lines, and what
//! people parse sysbench's output with reads ours.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::common::maria::Maria;
use crate::common::{Desk, Ended, ended, server};

/// A database of its own for one of the programs.
struct Side {
    desk: Desk,
    address: Vec<String>,
    real: bool,
}

impl Side {
    /// On MariaDB; the password is in the environment, where both programs look for it.
    fn on_mariadb(name: &str, real: bool) -> Self {
        let mut desk = Desk::new();
        let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", name);
        desk.set("MYSQL_PWD", &maria.password);
        let address = [("host", &maria.host), ("port", &maria.port), ("user", &"root".to_owned()), ("db", &maria.database)]
            .map(|(option, value)| format!("--mysql-{option}={value}"));
        Self { desk, address: address.to_vec(), real }
    }

    /// On PostgreSQL.
    fn on_postgres(name: &str, real: bool) -> Self {
        let (mut desk, url) = (Desk::new(), server("PERBUCK_TEST_POSTGRES"));
        let password = server("PERBUCK_TEST_POSTGRES_ADMIN_PASSWORD");
        let (host, port) = url.split_once('@').unwrap().1.split_once('/').unwrap().0.split_once(':').unwrap();
        desk.set("PGPASSWORD", &password);
        for sql in [format!("DROP DATABASE IF EXISTS {name}"), format!("CREATE DATABASE {name}")] {
            let mut psql = Command::new("psql");
            psql.args(["-h", host, "-p", port, "-U", "postgres", "-d", "test", "-q", "-c", &sql]).env("PGPASSWORD", &password);
            assert!(psql.status().unwrap().success(), "{sql}");
        }
        let address = [("host", host), ("port", port), ("user", "postgres"), ("db", name)]
            .map(|(option, value)| format!("--pgsql-{option}={value}"));
        Self { desk, address: [address.to_vec(), vec!["--db-driver=pgsql".to_owned()]].concat(), real }
    }

    /// Runs a command line of sysbench.
    fn run(&self, words: &[&str]) -> Ended {
        let mut command = self.desk.command(&["sysbench"]);
        if self.real {
            let environment: Vec<_> = command.get_envs().map(|(k, v)| (k.to_owned(), v.unwrap().to_owned())).collect();
            command = Command::new("sysbench");
            command.envs(environment).current_dir(self.desk.path("."));
        }
        ended(command.args(&self.address).args(words).output().unwrap())
    }
}

/// A line with its numbers taken out, and where its value stands: at which column it begins, or ends where sysbench aligns
/// it to the right.
fn shape(line: &str) -> (String, usize) {
    // A seed that was drawn is named by perbuck alone.
    let line = line.replace("/n/a", "/0.00");
    let line = line.split_once(" (seed ").map_or(line.clone(), |(head, _)| head.to_owned());
    let mut text = String::new();
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        if c.is_ascii_digit() {
            while chars.next_if(|c| c.is_ascii_digit() || *c == '.').is_some() {}
            text.push('N');
        } else if c == '*' {
            while chars.next_if_eq(&'*').is_some() {}
        } else if c != ' ' || !text.ends_with(' ') {
            text.push(c);
        }
    }
    let right = ["min:", "avg:", "max:", "percentile:", "sum:"].iter().any(|l| line.contains(l));
    let labelled = line.starts_with("    ") && line.contains(':');
    let column = match (right, labelled) {
        (true, _) => line.len(),
        (false, true) => line.find(|c: char| c.is_ascii_digit()).unwrap_or(0),
        (false, false) => 0,
    };
    (text, column)
}

/// The shapes of an output, without the line that names the program, what only perbuck says, and repetitions, whose number
/// is chance (histograms, interval lines).
fn shapes(out: &str) -> Vec<(String, usize)> {
    let mut shapes: Vec<(String, usize)> = Vec::new();
    let mut skipping = false;
    for line in out.lines().skip_while(|l| !l.starts_with("perbuck") && !l.starts_with("sysbench") && !l.starts_with("WARN")) {
        if line.starts_with("perbuck") || line.starts_with("sysbench ") {
            continue;
        }
        // Blocks below the report end with an empty line.
        let ours = ["Other than", "Unfinished transactions", "Errors by code", "Statement latency"];
        skipping = ours.iter().any(|block| line.starts_with(block)) || (skipping && !line.is_empty());
        let remark = line.starts_with("WARNING: ") && !line.contains("deprecated");
        if skipping || remark || line.starts_with("(last message") {
            continue;
        }
        let shape = shape(line);
        if !shapes.contains(&shape) || shape.0.is_empty() {
            shapes.push(shape);
        }
    }
    while shapes.last().is_some_and(|s| s.0.is_empty()) {
        shapes.pop();
    }
    shapes
}

/// Runs a command line with both programs and holds exit codes and lines against each other.
fn same_output(sides: &[Side; 2], words: &[&str], sorted: bool) {
    let [theirs, ours] = sides.each_ref().map(|side| side.run(words));
    assert_eq!(ours.code, theirs.code, "{words:?}: {ours:#?} {theirs:#?}");
    let [mut their_lines, mut our_lines] = [&theirs, &ours].map(|e| shapes(&e.out));
    if sorted {
        their_lines.sort();
        our_lines.sort();
    }
    assert_eq!(our_lines, their_lines, "{words:?}: {} {}", ours.out, theirs.out);
}

/// Command lines as people have them: every script, an option file, rates, reports, percentiles.
const LINES: &[&str] = &[
    "oltp_read_write --tables=2 --table-size=1000 --threads=2 run --time=2 --report-interval=1",
    "oltp_read_only --tables=2 --table_size=1000 --threads=3 --time=1 --percentile=99 --skip-trx=on run",
    "--events=40 --time=0 --tables=2 --table-size=1000 oltp_write_only run",
    "--config-file=options.cnf oltp_point_select run",
    "oltp_update_index --table-size=1000 --rate=60 --time=2 --report-interval=1 --histogram --threads=4 run",
    "oltp_update_non_index --table-size=1000 --num-threads=2 --max-requests=30 --max-time=1 run",
    "oltp_insert --table-size=1000 --time=1 --verbosity=4 --rand-seed=7 run",
    "oltp_delete --tables=2 --table-size=1000 --time=1 --percentile=0 --forced-shutdown=10 run",
    "select_random_points --table-size=1000 --time=3 --report-checkpoints=1,2 --random-points=5 run",
    "select_random_ranges --table-size=1000 --events=20 --rand-type=pareto --validate --number-of-ranges=3 run",
    "/usr/share/sysbench/oltp_read_write.lua --table-size=1000 --time=1 --db-ps-mode=disable --range-selects=off run",
    "oltp_point_select --table-size=1000 --time=1 --verbosity=0 run",
];

fn lines_are_the_same(sides: &[Side; 2], skip: &[&str]) {
    for side in sides {
        side.desk.write("options.cnf", "# of the nightly job\nthreads=2\ntime=2\nreport-interval=1\n");
    }
    same_output(sides, &["oltp_read_write", "--tables=2", "--table-size=1000", "prepare"], true);
    for line in LINES.iter().filter(|l| !skip.iter().any(|s| l.contains(s))) {
        same_output(sides, &line.split(' ').collect::<Vec<_>>(), false);
    }
    same_output(sides, &["oltp_read_write", "--tables=3", "cleanup"], false);
    for line in ["prepare", "--time=1 --report-interval=1 run", "cleanup"] {
        let words: Vec<&str> = ["bulk_insert", "--threads=2"].into_iter().chain(line.split(' ')).collect();
        // sysbench makes these tables on one thread, and says of its threads what it does not do.
        let [theirs, ours] = sides.each_ref().map(|side| side.run(&words));
        assert_eq!((ours.code, theirs.code), (Some(0), Some(0)), "{words:?}: {ours:#?} {theirs:#?}");
        assert_eq!(ours.err.contains("rows in this time"), line.ends_with("run"), "{words:?}: {ours:#?}");
    }
}

#[test]
fn command_lines_do_the_same_on_mariadb() {
    let sides = [true, false].map(|real| Side::on_mariadb(if real { "sbc_theirs" } else { "sbc_ours" }, real));
    same_output(&sides, &["oltp_read_write", "--tables=2", "--table-size=1000", "prepare"], true);
    same_output(&sides, &["oltp_read_write", "--tables=2", "--table-size=1000", "prewarm"], false);
    same_output(&sides, &["oltp_read_write", "--tables=2", "cleanup"], false);
    lines_are_the_same(&sides, &[]);
}

#[test]
fn command_lines_do_the_same_on_postgresql() {
    let sides = [true, false].map(|real| Side::on_postgres(if real { "sbc_theirs" } else { "sbc_ours" }, real));
    // Statements as text are for MySQL's proxies.
    lines_are_the_same(&sides, &["--db-ps-mode=disable"]);
}

#[test]
fn command_lines_that_are_wrong_fail_in_the_same_way() {
    let sides = [true, false].map(|real| Side::on_mariadb(if real { "sbw_theirs" } else { "sbw_ours" }, real));
    let table = ["oltp_read_write", "--table-size=100"];
    let good = |words: &[&str]| sides.iter().for_each(|s| assert_eq!(s.run(&[&table, words].concat()).code, Some(0)));
    good(&["prepare"]);
    for words in [
        "oltp_read_write --table-size=100 prepare",
        "oltp_read_write --tables=2 --table-size=100 --time=1 run",
        "oltp_read_write --threads=0 run",
        "oltp_read_write --threads=many run",
        "oltp_read_write --thread=4 run",
        "oltp_read_write --threads 4 run",
        "oltp_read_write --skip-trx=maybe run",
        "oltp_read_write --percentile=101 run",
        "oltp_read_write --histogram --percentile=0 run",
        "oltp_read_write --rand-type=zipf run",
        "oltp_read_write --rand-type=zipfian run",
        "oltp_read_write --db-driver=oracle run",
        "oltp_read_write --db-ps-mode=never run",
        "oltp_read_write --mysql-db=nowhere --time=1 run",
        "oltp_read_write --mysql-port=1 --time=1 run",
        "oltp_read_write --mysql-user=nobody --time=1 run",
        "oltp_read_write --random-points=3 run",
        "oltp_read_write dance",
        "oltp_read_write",
        "oltp_read_wrote run",
        "oltp_read_write run --verbosity=9",
        // Two transactions insert the row of the same id: no option says that this is to be ignored.
        "oltp_read_write --table-size=3 --threads=16 --skip-trx --time=20 run",
    ] {
        let [theirs, ours] = sides.each_ref().map(|side| side.run(&words.split(' ').collect::<Vec<_>>()));
        assert_eq!((ours.code, theirs.code), (Some(1), Some(1)), "{words}: {ours:#?} {theirs:#?}");
        assert!(ours.err.contains("help: "), "{words} has a way out: {ours:#?}");
    }
}

#[test]
fn errors_that_are_listed_are_counted_and_the_run_goes_on() {
    let side = Side::on_mariadb("sbc_storm", false);
    assert_eq!(side.run(&["oltp_write_only", "--table-size=20", "prepare"]).code, Some(0));
    let storm = ["oltp_write_only", "--table-size=5", "--threads=16", "--skip-trx", "--time=2"];
    let ended = side.run(&[&storm[..], &["--mysql-ignore-errors=1213,1020,1205,1062", "run"]].concat());
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let counted = |code: &str| {
        let line = ended.out.lines().find(|l| l.contains(code)).unwrap_or_else(|| panic!("{code}: {ended:#?}"));
        line.split_whitespace().find_map(|w| w.parse::<u64>().ok().filter(|n| n.to_string() != code)).unwrap()
    };
    let ignored: u64 = asked(&ended.out, "awk '/ignored errors:/ {print $3}'").parse().unwrap();
    assert!(counted("1062") > 0 && ignored >= counted("1062"), "{ended:#?}");
    let ended = side.run(&[&storm[..], &["run"]].concat());
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    let fatal = ended.out.lines().find(|l| l.starts_with("FATAL:")).unwrap();
    for part in ["error 1062: Duplicate entry", ", for query 'INSERT INTO sbtest1"] {
        assert!(fatal.contains(part), "{fatal}");
    }
    assert!(ended.err.contains("--mysql-ignore-errors"), "{ended:#?}");
}

/// What a line of shell, as people have them in their scripts, makes of an output.
fn asked(out: &str, line: &str) -> String {
    let mut shell = Command::new("sh").args(["-c", line]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    shell.stdin.take().unwrap().write_all(out.as_bytes()).unwrap();
    let ended = ended(shell.wait_with_output().unwrap());
    ended.out.trim().to_owned()
}

#[test]
fn parsers_of_sysbench_read_our_numbers() {
    let side = Side::on_mariadb("sbc_parsed", false);
    let data = ["oltp_read_write", "--table-size=1000", "--tables=2"];
    assert_eq!(side.run(&[&data[..], &["prepare"]].concat()).code, Some(0));
    let words = ["--threads=4", "--time=3", "--report-interval=1", "--percentile=50,95,99.9", "--statement-latency", "run"];
    let ended = side.run(&[&data[..], &words].concat());
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let number = |line: &str| asked(&ended.out, line).parse::<f64>().unwrap_or_else(|e| panic!("{line}: {e} in {ended:#?}"));
    let tps = number("grep 'transactions:' | sed -e 's/.*(//' -e 's/ per sec.*//'");
    let qps = number("awk '/queries:/ {print $3}' | tr -d '('");
    let events = number("awk -F: '/total number of events/ {print $2}'");
    let seconds = number("awk '/total time:/ {print $3}' | tr -d s");
    let [read, write, other, total] =
        ["read", "write", "other", "total"].map(|l| number(&format!("grep -E '^ +{l}: +[0-9]+$' | grep -oE '[0-9]+'")));
    assert!((tps - events / seconds).abs() < 0.01 && events > 0.0, "{ended:#?}");
    assert!((qps - total / seconds).abs() < 0.01 && (read + write + other - total).abs() < 0.5, "{ended:#?}");
    let errors = number("awk '/ignored errors:/ {print $3}'");
    // An attempt that failed sent at most as many statements and a ROLLBACK.
    let beyond = [total - 20.0 * events, read - 14.0 * events];
    assert!(beyond.iter().all(|b| (-0.5..=21.0 * errors + 0.5).contains(b)), "20 queries an event: {ended:#?}");
    let latency = ["min", "avg", "max", "95th percentile", "50th percentile", "99.9th percentile", "sum"]
        .map(|l| number(&format!("sed -n 's/^ *{l}: *//p'")));
    let [min, avg, max, p95, p50, p999, sum] = latency;
    assert!(min > 0.0 && min <= p50 && p50 <= p95 && p95 <= p999 && p999 <= max && min <= avg && avg <= max, "{latency:?}");
    assert!((sum / events - avg).abs() < 0.01, "{latency:?}");
    assert_eq!(
        asked(
            &ended.out,
            "grep -cE '^\\[ [0-9]+s \\] thds: 4 tps: [0-9.]+ qps: [0-9.]+ \\(r/w/o: [0-9.]+/[0-9.]+/[0-9.]+\\) lat \\(ms,95%\\): [0-9.]+ err/s: [0-9.]+ reconn/s: [0-9.]+$'"
        ),
        "3"
    );
    let fair = asked(&ended.out, "awk '/events \\(avg.stddev\\)/ {print $3}'");
    assert!((fair.split('/').next().unwrap().parse::<f64>().unwrap() - events / 4.0).abs() < 0.01, "{fair}");
    for kind in ["point_select", "simple_range", "index_update", "commit"] {
        assert!(ended.out.contains(&format!("    {kind} ")), "{kind}: {ended:#?}");
    }
}

#[test]
fn machines_read_json_and_csv() {
    let side = Side::on_mariadb("sbc_json", false);
    let data = ["oltp_read_write", "--table-size=1000"];
    assert_eq!(side.run(&[&data[..], &["prepare"]].concat()).code, Some(0));
    let common = ["--threads=2", "--time=2", "--report-interval=1", "--rate=50", "--percentile=50,99", "run"];
    let ended = side.run(&[&data[..], &common, &["--output=json", "--histogram", "--statement-latency"]].concat());
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let json: serde_json::Value = serde_json::from_str(&ended.out).unwrap_or_else(|e| panic!("{e}: {ended:#?}"));
    let summary = &json["summary"];
    assert_eq!((json["script"].as_str(), json["intervals"].as_array().map(Vec::len)), (Some("oltp_read_write"), Some(2)));
    assert!(summary["transactions"].as_u64().unwrap() > 0 && summary["latency_ms"]["percentiles"]["99"].as_f64().unwrap() > 0.0);
    let queries = ["read", "write", "other"].map(|k| summary[k].as_u64().unwrap()).iter().sum::<u64>();
    assert_eq!(Some(queries), summary["queries"].as_u64());
    assert!(json["statement_latency_ms"]["point_select"]["count"].as_u64().unwrap() > 0 && json["histogram_ms"].is_array());
    assert!(side.desk.path(json["record"].as_str().unwrap()).exists());
    let ended = side.run(&[&data[..], &common, &["--output=csv"]].concat());
    let lines: Vec<&str> = ended.out.lines().collect();
    assert_eq!((lines.len(), lines[0].split(',').count()), (3, lines[1].split(',').count()), "{ended:#?}");
    assert!(lines[0].starts_with("time_s,threads,tps,qps,") && lines[2].starts_with("2,2,"), "{ended:#?}");
    // One line for the whole run without --report-interval.
    let ended = side.run(&[&data[..], &["--events=10", "--output=csv", "run"]].concat());
    assert_eq!(ended.out.lines().count(), 2, "{ended:#?}");
}

#[test]
fn a_rate_beyond_what_the_database_can_do_is_no_error() {
    let side = Side::on_mariadb("sbc_rate", false);
    assert_eq!(side.run(&["oltp_read_write", "--table-size=1000", "prepare"]).code, Some(0));
    let line = ["oltp_read_write", "--table-size=1000", "--rate=200000", "--time=2", "--report-interval=1", "run"];
    let ended = side.run(&line);
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let waiting: u64 = asked(&ended.out, "grep -oE 'queue length: [0-9]+' | tail -1 | grep -oE '[0-9]+'").parse().unwrap();
    assert!(waiting > 100_000, "{ended:#?}");
    assert!(ended.out.contains("WARNING: could not keep the rate") && ended.out.contains("with their age"), "{ended:#?}");
    let median: f64 = asked(&ended.out, "sed -n 's/^ *avg: *//p'").parse().unwrap();
    assert!(median > 100.0, "waiting counts: {ended:#?}");
}

#[test]
fn either_program_works_on_the_tables_of_the_other() {
    let ours = Side::on_mariadb("sbc_shared", false);
    let mut theirs = Side::on_mariadb("sbc_unused", true);
    theirs.address.clone_from(&ours.address);
    let data = ["oltp_read_write", "--tables=2", "--table-size=500"];
    for [maker, user] in [[&theirs, &ours], [&ours, &theirs]] {
        for (side, command) in [(maker, "prepare"), (user, "run"), (user, "cleanup"), (maker, "prepare"), (user, "cleanup")] {
            let ended = side.run(&[&data[..], &["--events=20", "--time=0", command]].concat());
            assert_eq!(ended.code, Some(0), "{command}: {ended:#?}");
        }
    }
}
