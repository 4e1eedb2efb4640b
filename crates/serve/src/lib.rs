//! Pages on this machine alone that show results and follow a running study (`perbuck serve`).
//!
//! It reads files and changes nothing. What an address names is looked up in the list of what the folder holds; no path is
//! ever made from it.

mod connections;
mod find;
mod http;
mod list;
mod machines;
mod metrics;
mod pages;
mod recent;
mod studies;
mod summary;
mod trials;
mod watch;

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use perbuck_report::html;

use connections::{Connection, Connections};
use find::Found;
use http::{Answer, Request};
use metrics::{Metrics, Wanted};
use perbuck_lab::error::{ErrorKind, LabError};
use perbuck_lab::folder;
use perbuck_lab::inputs::Limit;
use perbuck_lab::live::LIVE_FILE;
use perbuck_lab::results::{self, Basis};
use summary::Summaries;

pub use metrics::Listener;

/// Connections that wait to be taken. Beyond the 128 that the standard library asks for, the system drops a client's first packet,
/// and the client tries again after a second.
const QUEUE: i32 = 4096;
/// How long the system is left alone that gives no descriptor, no memory or no thread.
const BACK_OFF: Duration = Duration::from_millis(10);

/// Serves a folder of results, or the results folder of one study, on 127.0.0.1 until the process ends. Port 0 takes one that is
/// free; `ready` is told the port.
///
/// # Errors
/// A folder without a study, a port that is in use.
pub fn serve(root: &Path, port: u16, ready: impl FnOnce(u16) -> Result<(), LabError>) -> Result<(), LabError> {
    if find::all(root)?.is_empty() {
        let message = format!("{} holds no study", root.display());
        return Err(LabError::new(ErrorKind::Files, message, "name the folder that `perbuck run` wrote to, such as results"));
    }
    // The loopback alone: the pages show addresses of databases and what they hold.
    let listener = listen((Ipv4Addr::LOCALHOST, port).into()).map_err(|e| {
        let message = format!("cannot listen on 127.0.0.1:{port}: {e}");
        LabError::new(ErrorKind::Failed, message, "choose another port with --port, or 0 for one that is free")
    })?;
    let at = listener.local_addr().map_err(|e| LabError::new(ErrorKind::Failed, format!("cannot listen: {e}"), ""))?;
    ready(at.port())?;
    let (root, summaries, metrics) = (root.to_owned(), Summaries::default(), Metrics::default());
    accept(&listener, at, move |request| answer(&root, &summaries, &metrics, request));
    Ok(())
}

/// Listens at an address with room for many clients.
fn listen(at: SocketAddr) -> io::Result<TcpListener> {
    let listener = TcpListener::bind(at)?;
    rustix::net::listen(&listener, QUEUE)?;
    Ok(listener)
}

/// Answers clients, each on a thread of its own, until the process ends.
fn accept(listener: &TcpListener, at: SocketAddr, answer: impl Fn(&Request) -> Answer + Send + Sync + 'static) {
    let (answer, all) = (Arc::new(answer), Arc::new(Connections::new()));
    for stream in listener.incoming() {
        let stream = match stream {
            Ok(stream) => stream,
            Err(e) if e.kind() == io::ErrorKind::ConnectionAborted => continue,
            Err(_) => {
                all.lower();
                thread::sleep(BACK_OFF);
                continue;
            }
        };
        let Some(connection) = all.admit(stream) else { continue };
        let (answer, stream) = (Arc::clone(&answer), Arc::clone(&connection.stream));
        if thread::Builder::new().spawn(move || one(&connection, at, &*answer)).is_err() {
            all.lower();
            // It fits into the buffer of the connection, so nothing waits.
            drop(http::write(&stream, &busy(), false));
            thread::sleep(BACK_OFF);
        }
    }
}

fn one(connection: &Connection, at: SocketAddr, answer: &dyn Fn(&Request) -> Answer) {
    let made = |request: &Request| connection.answer(|| answer(request)).unwrap_or_else(busy);
    let answered = http::serve(&connection.stream, at, made);
    // A client that went away before its answer needs none.
    drop(answered);
}

fn busy() -> Answer {
    Answer::error(503, "too many requests at the same time")
}

fn answer(root: &Path, summaries: &Summaries, metrics: &Metrics, request: &Request) -> Answer {
    let found = match find::all(root) {
        Ok(found) => found,
        Err(error) => return Answer::error(500, error.words().0),
    };
    let study = || found.iter().find(|f| f.name == request.value("study"));
    let missing = || Answer::error(404, "there is no such page");
    match request.path.as_str() {
        "/" => Answer::page(pages::index(&found, summaries)),
        "/live.js" => Answer::ok("text/javascript; charset=utf-8", include_str!("live.js").to_owned()),
        "/study" => study().map_or_else(missing, |f| Answer::page(list::study(f, &summaries.of(f), request.value("sort")))),
        "/report" => study().map_or_else(missing, report),
        "/trial" => study().and_then(|f| trials::one(f, summaries, request.value("trial"))).map_or_else(missing, Answer::page),
        "/compare" => Answer::page(trials::two(&found, request.value("a"), request.value("b"))),
        "/studies" => Answer::page(studies::two(&found, request.value("old"), request.value("new"))),
        "/metrics" => metrics.answer(&wanted(&found), request),
        "/live" => study().map_or_else(missing, |f| Answer::page(pages::live(f))),
        "/live.json" => {
            let json = |f: &Found| watch::json(&f.folder, &|workload| f.times_ms(workload)).to_string();
            study().map_or_else(missing, |f| Answer::ok("application/json", json(f)))
        }
        _ => missing(),
    }
}

/// The studies whose metrics are shown; replays measure nothing.
fn wanted(found: &[Found]) -> Vec<Wanted> {
    let one = |f: &Found| {
        let study = if f.name == "." { f.title() } else { &f.name };
        // A live file says it; else the records are counted.
        let counts = !folder::has_file(&f.folder.join(LIVE_FILE));
        let trials = f.planned().filter(|_| counts).map(|planned| (planned as u64, f.records().len() as u64));
        Wanted { study: study.to_owned(), folder: f.folder.clone(), trials }
    };
    found.iter().filter(|f| f.study.is_some()).map(one).collect()
}

/// The report of a study as its files give it now; of a replay, the page that lies there.
fn report(found: &Found) -> Answer {
    if let Some(page) = &found.page {
        return match folder::read_text("the page", page, Limit::PAGE) {
            Ok(text) => Answer::page(text),
            Err(error) => Answer::page(pages::failed(found, &error.to_string())),
        };
    }
    match results::read(&found.folder, &Basis::default()).and_then(|r| r.report()) {
        Ok(model) => {
            let [before, after] = html::around_evidence(&model, true);
            Answer {
                status: 200,
                kind: "text/html; charset=utf-8",
                body: [before, model.evidence, after].map(String::into_bytes).into(),
            }
        }
        Err(error) => Answer::page(pages::failed(found, &error.to_string())),
    }
}
