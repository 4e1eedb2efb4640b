//! `perbuck run --metrics`: an address at which Prometheus finds the metrics of a run.

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::thread;

use perbuck_lab::error::{ErrorKind, LabError};

use super::{Metrics, Wanted};
use crate::http::{Answer, Request};
use crate::{accept, listen};

/// An address that is listened at.
pub struct Listener {
    listener: TcpListener,
    at: SocketAddr,
}

impl Listener {
    /// Takes an address; port 0 takes one that is free.
    ///
    /// # Errors
    /// An address that is not this machine's, or in use.
    pub fn at(at: SocketAddr) -> Result<Self, LabError> {
        let failed = |e| {
            let message = format!("cannot listen for --metrics on {at}: {e}");
            LabError::new(
                ErrorKind::Failed,
                message,
                "choose another address or port with --metrics, or port 0 for one that is free",
            )
        };
        let listener = listen(at).map_err(failed)?;
        let at = listener.local_addr().map_err(failed)?;
        Ok(Self { listener, at })
    }

    /// The address with its port.
    pub fn address(&self) -> SocketAddr {
        self.at
    }

    /// Answers `/metrics` about the run that writes to a results folder, on a thread of its own, until the process ends.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn serve(self, study: &str, folder: &Path) -> Result<(), LabError> {
        let Self { listener, at } = self;
        let (study, folder, metrics) = (study.to_owned(), folder.to_owned(), Metrics::of_run(folder));
        let answer = move |request: &Request| answer(&metrics, (&study, &folder), request);
        let started = thread::Builder::new().name("metrics".to_owned()).spawn(move || accept(&listener, at, answer));
        let failed =
            |e| LabError::new(ErrorKind::Failed, format!("cannot serve --metrics: {e}"), "end other programs, or run without it");
        started.map(drop).map_err(failed)
    }
}

fn answer(metrics: &Metrics, (study, folder): (&str, &PathBuf), request: &Request) -> Answer {
    let wanted = || Wanted { study: study.to_owned(), folder: folder.clone(), trials: None };
    match request.path.as_str() {
        "/metrics" => metrics.answer(&[wanted()], request),
        "/" => Answer::ok("text/plain; charset=utf-8", "The metrics of this run are at /metrics.\n".to_owned()),
        _ => Answer::error(404, "there is no such page; metrics are at /metrics"),
    }
}
