//! The floor under a load generator's CPU: canned queries over raw sockets and one event loop a thread, nothing recorded.
//!
//! What perbuck costs beyond this program is what perbuck does beyond sending and receiving. One line of JSON comes out;
//! `bench/client-cpu` runs it beside perbuck and sysbench on the same database.

mod answer;
mod args;
mod connection;
mod epoll;
mod login;
mod measure;
mod script;
mod uring;

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use args::{Args, Io};
use connection::Connection;
use measure::{Shared, Snapshot};
use script::Script;

/// Load before the window opens, so that caches and the server's threads are warm in it.
const WARMUP: Duration = Duration::from_millis(500);
/// The longest wait for transactions in flight; more than a server's usual 50 seconds for a lock.
const DRAIN: Duration = Duration::from_secs(60);

fn main() -> ExitCode {
    let (line, status) = match Args::parse(std::env::args().skip(1)).and_then(|args| run(&args)) {
        Ok(line) => (line, ExitCode::SUCCESS),
        Err(error) => (format!("{{\"failed\": {error:?}}}"), ExitCode::FAILURE),
    };
    // An error here means that standard output is closed; there is no other output to report it on.
    let _ = writeln!(std::io::stdout(), "{line}");
    status
}

fn run(args: &Args) -> Result<String, String> {
    let script = Arc::new(Script::new(args.kind, args.tables, args.table_size));
    let mut shares: Vec<Vec<Connection>> = (0..args.threads).map(|_| Vec::new()).collect();
    for i in 0..args.connections {
        let opened = Connection::open(&args.server, &script).map_err(|e| format!("connection {i}: {e}"))?;
        shares[i % args.threads].push(opened);
    }
    let shared: Arc<[Shared]> = shares.iter().map(|_| Shared::default()).collect();
    let (report, reports) = channel();
    for (thread, connections) in shares.into_iter().enumerate() {
        let (report, script, shared, io) = (report.clone(), Arc::clone(&script), Arc::clone(&shared), args.io);
        // Not joined: after a failure a thread may wait for a silent server for ever, and the process must still end.
        thread::spawn(move || {
            let seed = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(thread as u64 + 1);
            let ended = match io {
                Io::Epoll => epoll::run(connections, &script, &shared[thread], seed),
                Io::Uring(options) => uring::run(connections, &script, &shared[thread], seed, options),
            };
            // The receiver is gone after a failure.
            let _ = report.send(ended);
        });
    }
    let (before, after, seconds) = observe(args, &shared, &reports)?;
    shared.iter().for_each(Shared::stop);
    drain(args.threads, &reports)?;
    after.since(&before).json(seconds)
}

/// The counts at both ends of the window and its length.
fn observe(args: &Args, shared: &[Shared], reports: &Receiver<Result<(), String>>) -> Result<(Snapshot, Snapshot, f64), String> {
    quiet(reports, WARMUP)?;
    let (began, before) = (Instant::now(), Snapshot::take(shared)?);
    quiet(reports, args.window)?;
    let (after, seconds) = (Snapshot::take(shared)?, began.elapsed().as_secs_f64());
    Ok((before, after, seconds))
}

/// Sleeps unless a thread ends, which none may do now.
fn quiet(reports: &Receiver<Result<(), String>>, time: Duration) -> Result<(), String> {
    match reports.recv_timeout(time) {
        Err(RecvTimeoutError::Timeout) => Ok(()),
        Ok(Err(error)) => Err(error),
        Ok(Ok(())) | Err(RecvTimeoutError::Disconnected) => Err("a thread ended early".into()),
    }
}

/// Waits until every connection has ended its transaction.
fn drain(threads: usize, reports: &Receiver<Result<(), String>>) -> Result<(), String> {
    for _ in 0..threads {
        reports.recv_timeout(DRAIN).map_err(|_| "an answer did not come within a minute".to_owned())??;
    }
    Ok(())
}
