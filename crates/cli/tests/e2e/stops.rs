//! Ctrl-C while perbuck waits for a server outside of a trial: for a lock of another session, for a server that stands still, for a PD
//! that accepts connections and never answers.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::maria::{Maria, study};
use crate::common::postgres::Postgres;
use crate::common::{Desk, Ended, signal, wait_until};

/// How soon a command is gone after a signal: a second, and what a busy machine adds.
const SOON: Duration = Duration::from_secs(5);
const SYSBENCH: &str = "kind = \"sysbench\"\ntable_size = 1000";
const SHORT: &str = "connections = [1]\nwarmup = \"50ms\"\nduration = \"200ms\"\ntrials = 1";
const CAPACITY: [&str; 8] =
    ["capacity", "s.toml", "--percentile=95", "--at-most=50ms", "--from=100", "--to=200", "--duration=1s", "--repeats=1"];
/// The commands that reach servers.
const COMMANDS: [&[&str]; 4] = [&["prepare", "s.toml"], &["prepare", "--check", "s.toml"], &["run", "s.toml"], &CAPACITY];

/// A global lock of the server that may be crashed is in the way of every other test there.
static GLOBAL_LOCK: Mutex<()> = Mutex::new(());

/// A command-line client that holds a lock as long as this lives.
struct Holder {
    child: Child,
    /// The number of its session.
    id: String,
}

impl Holder {
    /// Starts a client, lets it take the lock, and waits until it says that it has it.
    fn start(client: &mut Command, sql: &str, id: &str) -> Self {
        let mut child = client.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let held = format!("{sql}; SELECT CONCAT('held by ', {id});\n");
        child.stdin.as_mut().unwrap().write_all(held.as_bytes()).unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let held = |line: std::io::Result<String>| Some(line.unwrap().trim().strip_prefix("held by ")?.to_owned());
        let id = lines.find_map(held).unwrap_or_else(|| panic!("{sql}"));
        Self { child, id }
    }

    fn on_mysql(maria: &Maria, sql: &str) -> Self {
        Self::start(client(maria).args(["-n", &maria.database]), sql, "CONNECTION_ID()")
    }
}

fn client(maria: &Maria) -> Command {
    let mut client = Command::new("mariadb");
    client.args(["--no-defaults", "-h", &maria.host, "-P", &maria.port, "-u", "root", "-N", "-B"]);
    client.env("MYSQL_PWD", &maria.password);
    client
}

impl Drop for Holder {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// Starts a command; its messages go to a file.
fn start(desk: &Desk, arguments: &[&str]) -> Child {
    let err = std::fs::File::create(desk.path("err")).unwrap();
    desk.command(arguments).stdout(Stdio::null()).stderr(err).spawn().unwrap()
}

/// Sends so many times SIGINT, and waits for the end of the command.
fn interrupt(desk: &Desk, mut child: Child, times: usize) -> Ended {
    let began = Instant::now();
    for i in 1..=times {
        signal(&child, if i % 2 == 1 { "INT" } else { "TERM" });
        // Two of the same kind would be taken for one where the first is not received yet. A command may also end before it has said so.
        let mut over = false;
        wait_until("the signal is seen", || {
            over = child.try_wait().unwrap().is_some();
            over || desk.read("err").contains("again to abort")
        });
        if over {
            break;
        }
        // Nor are two that a closed terminal sends at once.
        thread::sleep(Duration::from_millis(100));
    }
    wait_until("the command has ended", || child.try_wait().unwrap().is_some());
    assert!(began.elapsed() < SOON, "{:?}: {}", began.elapsed(), desk.read("err"));
    Ended { code: child.wait().unwrap().code(), out: String::new(), err: desk.read("err") }
}

/// The sessions that wait for a lock in the database of a test. Other tests have the same server.
fn waiting(maria: &Maria) -> Vec<String> {
    let waiting = format!(
        "SELECT ID FROM information_schema.PROCESSLIST WHERE STATE LIKE 'Waiting for%lock' AND DB = '{}'",
        maria.database
    );
    maria.in_database("", &waiting).lines().map(str::to_owned).collect()
}

fn locked_out(maria: &Maria) -> bool {
    !waiting(maria).is_empty()
}

fn interrupted(ended: &Ended) {
    assert_eq!(ended.code, Some(130), "{ended:#?}");
    assert!(ended.err.contains("perbuck: interrupted"), "{ended:#?}");
}

#[test]
fn a_read_lock_of_the_whole_server_does_not_hold_perbuck() {
    let _alone = GLOBAL_LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB_KILL", "stops");
    desk.set("MYSQL_PWD", &maria.password);
    desk.write("s.toml", &study(&maria.url(), SYSBENCH, SHORT));
    let _lock = Holder::on_mysql(&maria, "FLUSH TABLES WITH READ LOCK");
    let (host, port, database) = (
        format!("--mysql-host={}", maria.host),
        format!("--mysql-port={}", maria.port),
        format!("--mysql-db={}", maria.database),
    );
    let sysbench = ["sysbench", &host, &port, "--mysql-user=root", &database, "--table-size=100", "oltp_read_write", "prepare"];
    for command in [COMMANDS[0], COMMANDS[2], COMMANDS[3], &sysbench] {
        wait_until("nothing waits from before", || !locked_out(&maria));
        let child = start(&desk, command);
        wait_until("perbuck waits", || locked_out(&maria));
        let ended = interrupt(&desk, child, 1);
        assert_eq!(ended.code, Some(130), "{command:?}: {ended:#?}");
    }
}

#[test]
fn a_locked_table_is_named_with_the_session_that_locks_it() {
    for prefix in ["PERBUCK_TEST_MARIADB", "PERBUCK_TEST_MYSQL9"] {
        let mut desk = Desk::new();
        let maria = Maria::fresh(&mut desk, prefix, "stops_locked");
        desk.write("s.toml", &study(&maria.url(), SYSBENCH, SHORT));
        desk.good(&["prepare", "s.toml"]);
        let lock = Holder::on_mysql(&maria, "LOCK TABLES sbtest1 WRITE");
        for command in COMMANDS {
            let child = start(&desk, command);
            wait_until("perbuck waits", || locked_out(&maria));
            if command == COMMANDS[2] {
                // A server that is busy may not say in time who it is; perbuck asks again.
                let holder = format!(" {} of root", lock.id);
                wait_until("perbuck says who holds it", || desk.read("err").contains(&holder));
                let (err, port) = (desk.read("err"), &maria.port);
                let waits = format!("m, w: looking at its data on 127.0.0.1:{port} (SELECT COUNT(*) FROM sbtest1)");
                assert!(err.contains("nothing has moved for") && err.contains(&waits), "{err}");
            }
            interrupted(&interrupt(&desk, child, 1));
            // The server notices only later that its client is gone. A session that it ends meanwhile can no longer be killed.
            for id in waiting(&maria) {
                client(&maria).args(["-e", &format!("KILL {id}")]).stderr(Stdio::null()).status().unwrap();
            }
            wait_until("nothing waits", || !locked_out(&maria));
        }
        drop(lock);
        desk.good(&["run", "s.toml"]);
    }
}

#[test]
fn an_exclusive_lock_of_postgresql_is_named_with_its_session() {
    let mut desk = Desk::new();
    let postgres = Postgres::fresh(&mut desk, "stops");
    desk.write("s.toml", &study(&postgres.url(), SYSBENCH, SHORT));
    desk.good(&["prepare", "s.toml"]);
    let mut client = Command::new("psql");
    client.args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--host=127.0.0.1", "--username=perbuck", "stops"]);
    client.arg(format!("--port={}", postgres.port)).env("PGPASSWORD", &postgres.password);
    let lock = Holder::start(&mut client, "BEGIN; LOCK TABLE sbtest1 IN ACCESS EXCLUSIVE MODE", "pg_backend_pid()");
    let waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = 'stops'";
    for command in COMMANDS {
        let child = start(&desk, command);
        wait_until("perbuck waits", || postgres.sql(waits).trim() != "0");
        if command == COMMANDS[0] {
            let named = format!("blocked by session {} of perbuck (psql), idle in transaction for ", lock.id);
            wait_until("perbuck says who holds it", || desk.read("err").contains(&named));
            assert!(desk.read("err").contains("nothing has moved for"), "{}", desk.read("err"));
        }
        interrupted(&interrupt(&desk, child, 1));
        let left =
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = 'stops'";
        postgres.sql(left);
        wait_until("nothing waits", || postgres.sql(waits).trim() == "0");
    }
    drop(lock);
    desk.good(&["run", "s.toml"]);
}

#[test]
fn the_second_signal_ends_a_run_whose_server_stands_still() {
    let _alone = GLOBAL_LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB_KILL", "stops_still");
    let sweep = "connections = [1]\nwarmup = \"50ms\"\nduration = \"4s\"\ntrials = 1";
    let text = study(&maria.url(), SYSBENCH, sweep);
    let before = maria.sql("SELECT @@GLOBAL.max_error_count");
    let settings = "server_settings = { max_error_count = \"77\" }";
    desk.write("s.toml", &text.replace("[[workload]]", &format!("{settings}\n[[workload]]")));
    let pid = std::fs::read_to_string(maria.sql("SELECT @@pid_file").trim()).unwrap();
    let server = |name: &str| assert!(Command::new("kill").args(["-s", name, pid.trim()]).status().unwrap().success());
    let child = start(&desk, &["run", "s.toml"]);
    let live = desk.path("results/s/live.jsonl");
    wait_until("a trial runs", || std::fs::read_to_string(&live).is_ok_and(|text| text.contains("\"second\"")));
    server("STOP");
    let ended = thread::scope(|scope| scope.spawn(|| interrupt(&desk, child, 2)).join());
    server("CONT");
    let ended = ended.unwrap();
    assert_eq!(ended.code, Some(130), "{ended:#?}");
    let command = format!("{}:{}: SET GLOBAL max_error_count = {}", maria.host, maria.port, before.trim());
    assert!(ended.err.contains("these settings of servers are not restored") && ended.err.contains(&command), "{ended:#?}");
    // What was abandoned is restored by the next run.
    let next = desk.good(&["run", "s.toml"]);
    assert!(next.err.contains("(a run that was killed had left it)"), "{}", next.err);
    assert_eq!(maria.sql("SELECT @@GLOBAL.max_error_count"), before);
}

#[test]
fn a_pd_that_never_answers_is_named_and_not_waited_for() {
    let (listener, accepted) = (TcpListener::bind("127.0.0.1:0").unwrap(), Arc::new(AtomicUsize::new(0)));
    let (port, count) = (listener.local_addr().unwrap().port(), accepted.clone());
    thread::spawn(move || {
        let mut open = Vec::new();
        for stream in listener.incoming() {
            open.push(stream);
            count.fetch_add(1, Ordering::Relaxed);
        }
    });
    let desk = Desk::new();
    let url = format!("tikv://127.0.0.1:{port}/?type=raw");
    desk.write("s.toml", &study(&url, "kind = \"ycsb\"\nrecordcount = 100", SHORT));
    for command in COMMANDS {
        let before = accepted.load(Ordering::Relaxed);
        let child = start(&desk, command);
        wait_until("PD is asked", || accepted.load(Ordering::Relaxed) > before);
        if command == COMMANDS[0] {
            wait_until("perbuck says so", || desk.read("err").contains("nothing has moved for"));
            let err = desk.read("err");
            assert!(err.contains(&format!(" on 127.0.0.1:{port} (")), "{err}");
        }
        interrupted(&interrupt(&desk, child, 1));
    }
}

#[test]
fn a_reader_that_takes_no_messages_does_not_hold_the_second_signal() {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "stops_reader");
    desk.write("s.toml", &study(&maria.url(), SYSBENCH, SHORT));
    desk.good(&["prepare", "s.toml"]);
    let _lock = Holder::on_mysql(&maria, "LOCK TABLES sbtest1 WRITE");
    let (reader, mut writer) = std::io::pipe().unwrap();
    let messages = writer.try_clone().unwrap();
    let mut child = desk.command(&["run", "s.toml"]).stdout(Stdio::null()).stderr(messages).spawn().unwrap();
    wait_until("perbuck waits", || locked_out(&maria));
    // From now on the pipe is full, and it is not read.
    thread::spawn(move || while writer.write_all(&[b'x'; 4096]).is_ok() {});
    thread::sleep(Duration::from_millis(300));
    let began = Instant::now();
    for name in ["INT", "TERM"] {
        signal(&child, name);
        thread::sleep(Duration::from_millis(100));
    }
    wait_until("the command has ended", || child.try_wait().unwrap().is_some());
    assert!(began.elapsed() < SOON && child.wait().unwrap().code() == Some(130), "{:?}", began.elapsed());
    drop(reader);
}
