//! One request: its limit in time, its failure in words, and the warnings of its answer.

use std::error::Error;
use std::time::Duration;

use http::{HeaderMap, Method, StatusCode, header};
use http_body_util::{BodyExt, Limited};
use kube::client::Body;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use crate::api::Api;
use crate::error::{ApiError, ErrorKind, cause, refused};

/// The limit of a request.
pub(crate) const LIMIT: Duration = Duration::from_secs(30);
/// No answer is longer. A page of 500 objects stays far below.
const LONGEST: usize = 512 << 20;
/// The server has not done what it answers so.
const BUSY: [StatusCode; 3] = [StatusCode::TOO_MANY_REQUESTS, StatusCode::SERVICE_UNAVAILABLE, StatusCode::GATEWAY_TIMEOUT];
const FIRST_DELAY: Duration = Duration::from_millis(500);
const LAST_DELAY: Duration = Duration::from_secs(4);
/// Characters that stand for themselves in a path or a query.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b':');

/// How much of each object the answer holds.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Accept {
    Whole,
    /// Names and labels alone.
    Metadata,
    /// What the server offers, in one answer.
    Discovery,
}

impl Accept {
    fn header(self) -> &'static str {
        match self {
            Self::Whole => "application/json",
            Self::Metadata => "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json",
            Self::Discovery => "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json",
        }
    }
}

pub(crate) struct Request<'a> {
    /// What it concerns, for messages.
    pub(crate) object: &'a str,
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) accept: Accept,
    pub(crate) body: Option<(&'static str, Vec<u8>)>,
}

impl<'a> Request<'a> {
    pub(crate) fn get(object: &'a str, path: impl Into<String>, accept: Accept) -> Self {
        Self { object, method: Method::GET, path: path.into(), accept, body: None }
    }

    fn built(&self) -> Result<http::Request<Body>, http::Error> {
        let built =
            http::Request::builder().method(self.method.clone()).uri(&self.path).header(header::ACCEPT, self.accept.header());
        match &self.body {
            Some((kind, bytes)) => built.header(header::CONTENT_TYPE, *kind).body(Body::from(bytes.clone())),
            None => built.body(Body::empty()),
        }
    }
}

pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) warnings: Vec<String>,
    pub(crate) body: Value,
}

/// A name as a part of a path or a query.
pub(crate) fn encoded(text: &str) -> String {
    utf8_percent_encode(text, PLAIN).to_string()
}

impl Api {
    /// Sends a request; an answer that is no success is an error.
    pub(crate) fn request(&self, request: &Request<'_>) -> Result<Answer, ApiError> {
        let (server, object) = (&self.server, request.object);
        let help = || format!("`{} version` must reach it", self.kubectl);
        let (status, headers, bytes) = match self.event_loop.within(LIMIT, exchange(&self.client, request)) {
            Some(Ok(exchanged)) => exchanged,
            Some(Err(error)) => {
                let (kind, why) = cause(error.as_ref());
                let what = if kind == ErrorKind::Config { "no login to" } else { "no connection to" };
                return Err(ApiError::new(kind, format!("{object}: {what} {server}: {why}"), help()));
            }
            None => {
                let message = format!("{object}: {server} did not answer within {} s", LIMIT.as_secs());
                return Err(ApiError::new(ErrorKind::Timeout, message, help()));
            }
        };
        if !status.is_success() {
            return Err(refused(server, &self.kubectl, object, status, &bytes));
        }
        let body = serde_json::from_slice(&bytes)
            .map_err(|error| ApiError::new(ErrorKind::Other, format!("{object}: {server} answers no JSON: {error}"), ""))?;
        Ok(Answer { status, warnings: warnings(&headers), body })
    }
}

pub(crate) type BoxError = Box<dyn Error + Send + Sync>;
type Exchanged = (StatusCode, HeaderMap, Vec<u8>);

/// Sends a request and reads the whole answer. A busy server gets the request a few times; each request may be sent twice without harm.
async fn exchange(client: &kube::Client, request: &Request<'_>) -> Result<Exchanged, BoxError> {
    let mut delay = FIRST_DELAY;
    loop {
        let (parts, body) = client.send(request.built()?).await?.into_parts();
        let bytes = Limited::new(body, LONGEST).collect().await?.to_bytes();
        if !BUSY.contains(&parts.status) || delay > LAST_DELAY {
            return Ok((parts.status, parts.headers, bytes.to_vec()));
        }
        let asked = parts.headers.get(header::RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
        tokio::time::sleep(asked.map_or(delay, Duration::from_secs).min(LAST_DELAY)).await;
        delay *= 2;
    }
}

/// The texts of the headers `Warning: 299 - "text"`.
pub(crate) fn warnings(headers: &HeaderMap) -> Vec<String> {
    headers.get_all(header::WARNING).iter().map(|value| unquoted(&String::from_utf8_lossy(value.as_bytes()))).collect()
}

/// The quoted text of a header, or all of it where nothing is quoted.
fn unquoted(value: &str) -> String {
    let Some((_, quoted)) = value.split_once('"') else { return value.to_owned() };
    let mut text = String::new();
    let mut letters = quoted.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => break,
            '\\' => text.extend(letters.next()),
            _ => text.push(letter),
        }
    }
    text
}
