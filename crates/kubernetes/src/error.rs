//! How a request fails. No text of this module quotes a kubeconfig or the output of a program that gives credentials.

use std::error::Error;
use std::fmt;

use http::StatusCode;
use kube::client::AuthError;
use serde_json::Value;

/// Kinds of failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The object, or its kind, does not exist on the server.
    NotFound,
    /// The object changed at the same time, or exists already.
    Conflict,
    /// The user is unknown to the server, or lacks the right.
    Forbidden,
    /// The object is wrong: an unknown field, a missing name, a value out of range.
    Invalid,
    /// No connection to the server.
    Unreachable,
    /// The server did not answer within the limit.
    Timeout,
    /// The kubeconfig, or the credentials that it names, cannot be used.
    Config,
    /// Anything else that the server says.
    Other,
}

/// A failure with the object and the server that it concerns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiError {
    /// What kind of failure it is.
    pub kind: ErrorKind,
    /// What happened, to which object, on which server.
    pub message: String,
    /// The way out; empty where the message says it all.
    pub help: String,
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for ApiError {}

impl ApiError {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { kind, message: message.into(), help: help.into() }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, message, "")
    }
}

/// Why a connection or a login failed: the kind, and the innermost cause, which names it best.
pub(crate) fn cause(error: &(dyn Error + 'static)) -> (ErrorKind, String) {
    let mut innermost = error;
    loop {
        if let Some(auth) = innermost.downcast_ref::<AuthError>() {
            return (ErrorKind::Config, credentials(auth));
        }
        if let Some(kube::Error::Auth(auth)) = innermost.downcast_ref::<kube::Error>() {
            return (ErrorKind::Config, credentials(auth));
        }
        match innermost.source() {
            Some(next) => innermost = next,
            None => return (ErrorKind::Unreachable, innermost.to_string()),
        }
    }
}

/// What is wrong with the credentials. kube's own words may quote the command with its environment, or its output with the token.
fn credentials(error: &AuthError) -> String {
    match error {
        AuthError::AuthExecRun { out, .. } => format!("the program that gives the credentials failed ({})", out.status),
        AuthError::AuthExecStart(error) => format!("the program that gives the credentials did not start: {error}"),
        AuthError::AuthExecParse(_) | AuthError::ExecPluginFailed | AuthError::MalformedTokenExpirationDate(_) => {
            "the program that gives the credentials printed something else than an ExecCredential".to_owned()
        }
        AuthError::ReadTokenFile(error, path) => format!("cannot read the token in {}: {error}", path.display()),
        AuthError::MissingCommand => "the user's `exec` names no command".to_owned(),
        AuthError::InvalidBearerToken(_) | AuthError::InvalidBasicAuth(_) => {
            "the credentials hold a byte that no header may hold".to_owned()
        }
        _ => "the kubeconfig names credentials that perbuck cannot use".to_owned(),
    }
}

/// The failure that an answer of the server stands for.
pub(crate) fn refused(server: &str, kubectl: &str, object: &str, status: StatusCode, body: &[u8]) -> ApiError {
    let parsed: Value = serde_json::from_slice(body).unwrap_or_default();
    let said = match parsed["message"].as_str() {
        Some(message) => message.to_owned(),
        None => String::from_utf8_lossy(body).trim().chars().take(200).collect(),
    };
    let unknown_field = said.contains("field not declared in schema") || said.contains("unknown field");
    let (kind, help) = match status.as_u16() {
        404 => (ErrorKind::NotFound, String::new()),
        409 => (ErrorKind::Conflict, "run the command again; another program changed the object at the same time".to_owned()),
        401 => (ErrorKind::Forbidden, format!("log in; `{kubectl} auth whoami` must name a user")),
        403 => {
            (ErrorKind::Forbidden, format!("ask for this right; `{kubectl} auth can-i --list` prints those that the user has"))
        }
        400 | 415 | 422 => (ErrorKind::Invalid, String::new()),
        408 | 504 => (ErrorKind::Timeout, "run the command again".to_owned()),
        // The server calls an unknown field in an applied object an error of its own.
        _ if unknown_field => (ErrorKind::Invalid, String::new()),
        _ => (ErrorKind::Other, String::new()),
    };
    ApiError::new(kind, format!("{object}: {server} answers {}: {said}", status.as_u16()), help)
}
