//! Pages on this machine alone that show results and follow a running study (`perbuck serve`).
//!
//! It reads files and changes nothing. What an address names is looked up in the list of what the folder holds; no path is
//! ever made from it.

mod find;
mod http;
mod pages;
mod studies;
mod trials;
mod watch;

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use perbuck_report::html;

use find::Found;
use http::{Answer, Request};
use perbuck_lab::error::{ErrorKind, LabError};
use perbuck_lab::results::{self, Basis};

/// Requests that are answered at the same time.
const AT_ONCE: usize = 16;

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
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(|e| {
        let message = format!("cannot listen on 127.0.0.1:{port}: {e}");
        LabError::new(ErrorKind::Failed, message, "choose another port with --port, or 0 for one that is free")
    })?;
    let port = listener.local_addr().map_err(|e| LabError::new(ErrorKind::Failed, format!("cannot listen: {e}"), ""))?.port();
    ready(port)?;
    let (root, busy) = (Arc::new(root.to_owned()), Arc::new(AtomicUsize::new(0)));
    for stream in listener.incoming() {
        // A client that is gone already.
        let Ok(stream) = stream else { continue };
        let (root, busy) = (Arc::clone(&root), Arc::clone(&busy));
        let full = busy.fetch_add(1, Ordering::Relaxed) >= AT_ONCE;
        thread::spawn(move || {
            one(stream, port, &root, full);
            busy.fetch_sub(1, Ordering::Relaxed);
        });
    }
    Ok(())
}

fn one(mut stream: TcpStream, port: u16, root: &Path, full: bool) {
    let answered = http::serve(&mut stream, port, |request| {
        if full { Answer::error(503, "too many requests at the same time") } else { answer(root, request) }
    });
    // A client that went away before its answer needs none.
    drop(answered);
}

/// What a request gets.
fn answer(root: &Path, request: &Request) -> Answer {
    let found = match find::all(root) {
        Ok(found) => found,
        Err(error) => return Answer::error(500, error.words().0),
    };
    let study = || found.iter().find(|f| f.name == request.value("study"));
    let missing = || Answer::error(404, "there is no such page");
    match request.path.as_str() {
        "/" => Answer::page(pages::index(&found)),
        "/live.js" => Answer::ok("text/javascript; charset=utf-8", include_str!("live.js").to_owned()),
        "/study" => study().map_or_else(missing, |f| Answer::page(pages::study(f))),
        "/report" => study().map_or_else(missing, report),
        "/trial" => study().and_then(|f| trials::one(f, request.value("trial"))).map_or_else(missing, Answer::page),
        "/compare" => Answer::page(trials::two(&found, request.value("a"), request.value("b"))),
        "/studies" => Answer::page(studies::two(&found, request.value("old"), request.value("new"))),
        "/live" => study().map_or_else(missing, |f| Answer::page(pages::live(f))),
        "/live.json" => study().map_or_else(missing, |f| Answer::ok("application/json", watch::json(&f.folder).to_string())),
        _ => missing(),
    }
}

/// The report of a study as its files give it now; of a replay, the page that lies there.
fn report(found: &Found) -> Answer {
    if let Some(page) = &found.page {
        return match std::fs::read_to_string(page) {
            Ok(text) => Answer::page(text),
            Err(e) => Answer::page(pages::failed(found, &format!("the page cannot be read: {e}"))),
        };
    }
    match results::read(&found.folder, &Basis::default()).and_then(|r| r.report()) {
        Ok(model) => {
            let [before, after] = html::around_evidence(&model, true);
            Answer { status: 200, kind: "text/html; charset=utf-8", body: vec![before, model.evidence, after] }
        }
        Err(error) => Answer::page(pages::failed(found, &error.to_string())),
    }
}
