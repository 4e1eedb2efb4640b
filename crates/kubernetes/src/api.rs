//! The server as a program sees it: objects in, objects out.

use std::cell::RefCell;
use std::fmt;

use serde_json::Value;

use crate::discovery::Resource;
use crate::error::ApiError;
use crate::event_loop::EventLoop;
use crate::request::{Accept, Request};

/// A kind of object, such as `apps/v1 StatefulSet`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kind {
    /// Group and version, such as `apps/v1`; `v1` for the core group.
    pub api_version: String,
    /// The name, such as `StatefulSet`.
    pub kind: String,
}

impl Kind {
    /// The kind of this API version and name.
    pub fn of(api_version: &str, kind: &str) -> Self {
        Self { api_version: api_version.to_owned(), kind: kind.to_owned() }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.api_version, self.kind)
    }
}

/// What an apply did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// The object is new.
    Created,
    /// The object was there, and differed.
    Changed,
    /// The object was there as it should be.
    Unchanged,
}

/// The result of an apply.
#[derive(Debug, Clone, PartialEq)]
pub struct Applied {
    /// What it did.
    pub change: Change,
    /// What the server warns of, such as an API that it will remove.
    pub warnings: Vec<String>,
    /// The object as the server has it now.
    pub object: Value,
}

/// An object that a label selector found.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Found {
    /// Its kind.
    pub kind: Kind,
    /// Its namespace; none for an object of the whole cluster.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
}

/// A connection to an API server. Each call blocks until the answer, at most 30 seconds for a request.
pub struct Api {
    pub(crate) event_loop: EventLoop,
    pub(crate) client: kube::Client,
    /// Its address, for messages.
    pub(crate) server: String,
    /// `kubectl` with the options that reach the same server as the same user, for messages.
    pub(crate) kubectl: String,
    /// What the server offers, read when a kind is first asked for.
    pub(crate) resources: RefCell<Vec<Resource>>,
}

impl fmt::Debug for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Api").field("server", &self.server).finish_non_exhaustive()
    }
}

impl Api {
    /// The address of the server.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// The version of the server, such as `v1.37.2`.
    ///
    /// # Errors
    /// The server cannot be reached or refuses.
    pub fn server_version(&self) -> Result<String, ApiError> {
        let answer = self.request(&Request::get("the version", "/version", Accept::Whole))?;
        Ok(answer.body["gitVersion"].as_str().unwrap_or("unknown").to_owned())
    }
}
