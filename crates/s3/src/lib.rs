//! Objects in a bucket that speaks S3: they are put, read, listed and removed by blocking calls.
//!
//! It knows what perbuck needs and no more. Each object is sent by one request, and is there whole or not at all, so no upload of several parts
//! is ever left unfinished. Every wait has a limit, and a request that a server could not answer is repeated a few times. Once the user wants to
//! stop, no request is repeated, and all waits together last a second.

mod answer;
mod settings;
mod sign;

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use ureq::http::{Request, Response};
use ureq::tls::TlsConfig;
use ureq::{Agent, Body};

use answer::Listed;
pub use settings::Settings;
use sign::{Keys, Signed, encoded};

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(10);
/// How long one request may take: 16 MiB at 140 KB/s.
const LIMIT: Duration = Duration::from_secs(120);
/// How often a request is sent at most.
const ATTEMPTS: u32 = 5;
/// The wait before the second attempt; each further one is twice as long.
const WAIT: Duration = Duration::from_millis(200);
/// How long requests may still take once the user wants to stop: a server that answers is left tidy.
const GRACE: Duration = Duration::from_secs(1);
/// How often a wait looks whether the user wants to stop.
const LOOK: Duration = Duration::from_millis(50);
/// Bytes of an error or of a page of a list, at most.
const TEXT: u64 = 16 << 20;

/// Why something could not be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// The server does not know the key, the signature is wrong, or the key has no right to do this.
    Denied(String),
    /// There is no such bucket, or it is of another region.
    Bucket(String),
    /// The server cannot be reached, or could not answer after several attempts.
    Unreached(String),
    /// The user wants to stop.
    Stopped,
    /// Anything else that it answers.
    Other(String),
}

impl Problem {
    /// What happened, in words.
    pub fn text(&self) -> &str {
        match self {
            Self::Denied(text) | Self::Bucket(text) | Self::Unreached(text) | Self::Other(text) => text,
            Self::Stopped => "interrupted",
        }
    }
}

/// An object of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// Its key.
    pub key: String,
    /// Its bytes.
    pub bytes: u64,
}

/// Whether the user wants to stop.
pub type Stopped = Box<dyn Fn() -> bool + Send + Sync>;

/// A bucket at a server.
pub struct Bucket {
    name: String,
    /// Of the server or of the bucket, with the port where it is no usual one.
    authority: String,
    scheme: &'static str,
    /// What the path of each object starts with.
    root: String,
    region: String,
    keys: Keys,
    agent: Agent,
    repeated: AtomicU32,
    stopped: Stopped,
    /// Since when the user wants to stop, as far as it was noticed.
    stopped_at: OnceLock<Instant>,
}

impl fmt::Debug for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bucket({} at {})", self.name, self.authority)
    }
}

impl Bucket {
    /// The bucket of that name; nothing is sent yet.
    pub fn new(name: &str, settings: Settings, stopped: Stopped) -> Self {
        let Settings { scheme, authority, region, in_path, keys, roots } = settings;
        let (authority, root) = match in_path {
            true => (authority, format!("/{}", encoded(name, false))),
            false => (format!("{name}.{authority}"), String::new()),
        };
        // A redirect would go to where the signature does not hold.
        let agent = Agent::config_builder()
            .tls_config(TlsConfig::builder().root_certs(roots).build())
            .timeout_connect(Some(CONNECT))
            .timeout_global(Some(LIMIT))
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .build()
            .into();
        let (name, repeated, stopped_at) = (name.to_owned(), AtomicU32::new(0), OnceLock::new());
        Self { name, authority, scheme, root, region, keys, agent, repeated, stopped, stopped_at }
    }

    /// The host with the port that is asked.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// Requests that had to be repeated so far.
    pub fn repeated(&self) -> u32 {
        self.repeated.load(Ordering::Relaxed)
    }

    /// Puts an object, in place of one that is there.
    ///
    /// # Errors
    /// What the server answers, or that it does not.
    pub fn put(&self, key: &str, bytes: Vec<u8>) -> Result<(), Problem> {
        let answer = self.sent("PUT", key, &[], &Arc::new(bytes))?;
        self.done(answer).map(drop)
    }

    /// Reads an object of so many bytes at most; `None` where there is none.
    ///
    /// # Errors
    /// Likewise, and one that is longer.
    pub fn get(&self, key: &str, bytes_max: u64) -> Result<Option<Vec<u8>>, Problem> {
        let answer = self.sent("GET", key, &[], &Arc::default())?;
        if answer.says_missing() {
            return Ok(None);
        }
        let body = self.done(answer)?;
        if body.len() as u64 > bytes_max {
            return Err(Problem::Other(format!("{key} has more than {bytes_max} bytes")));
        }
        Ok(Some(body))
    }

    /// Removes an object, if it is there.
    ///
    /// # Errors
    /// What the server answers, or that it does not.
    pub fn delete(&self, key: &str) -> Result<(), Problem> {
        let answer = self.sent("DELETE", key, &[], &Arc::default())?;
        if answer.says_missing() {
            return Ok(());
        }
        self.done(answer).map(drop)
    }

    /// All objects whose keys start so, by their keys.
    ///
    /// # Errors
    /// Likewise.
    pub fn list(&self, prefix: &str) -> Result<Vec<Object>, Problem> {
        let (mut all, mut from) = (Vec::new(), None::<String>);
        loop {
            let mut query = vec![("list-type", "2"), ("prefix", prefix)];
            query.extend(from.as_deref().map(|from| ("continuation-token", from)));
            let answer = self.sent("GET", "", &query, &Arc::default())?;
            let Listed { objects, next } = answer::listed(&self.done(answer)?).map_err(Problem::Other)?;
            all.extend(objects);
            // A server that says the same again would be asked for ever.
            if next.is_none() || next == from {
                all.sort_by(|a, b| a.key.cmp(&b.key));
                return Ok(all);
            }
            from = next;
        }
    }

    /// Sends a request until it is answered, with a limit.
    fn sent(&self, method: &str, key: &str, query: &[(&str, &str)], body: &Arc<Vec<u8>>) -> Result<Answer, Problem> {
        let mut attempt = 1;
        loop {
            let came = self.once(method, key, query, body)?;
            let why = match &came {
                Ok(answer) if answer.is_busy() => format!("it answers {} {}", answer.status, answer.code()),
                Ok(_) => return came.map_err(Problem::Unreached),
                Err(why) => why.clone(),
            };
            if attempt == ATTEMPTS {
                let at = &self.authority;
                return Err(Problem::Unreached(format!("{at} did not answer in {ATTEMPTS} attempts: {why}")));
            }
            let until = Instant::now() + WAIT * 2_u32.pow(attempt - 1);
            while let Some(left) = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
                if (self.stopped)() {
                    return Err(Problem::Stopped);
                }
                thread::sleep(left.min(LOOK));
            }
            self.repeated.fetch_add(1, Ordering::Relaxed);
            attempt += 1;
        }
    }

    /// Whether no wait may go on.
    fn is_over(&self) -> bool {
        (self.stopped)() && self.stopped_at.get_or_init(Instant::now).elapsed() >= GRACE
    }

    /// Sends a request once. A thread of its own waits for the answer: names are resolved and connections opened by calls that nothing ends.
    fn once(
        &self,
        method: &str,
        key: &str,
        query: &[(&str, &str)],
        body: &Arc<Vec<u8>>,
    ) -> Result<Result<Answer, String>, Problem> {
        if self.is_over() {
            return Err(Problem::Stopped);
        }
        let request = match self.signed(method, key, query, body) {
            Ok(request) => request,
            Err(why) => return Ok(Err(why)),
        };
        let (tell, told) = channel();
        let (agent, body) = (self.agent.clone(), body.clone());
        let ask = move || {
            let response = match request.method().as_str() {
                "PUT" => agent.run(request.map(|()| body.as_slice())),
                _ => agent.run(request),
            };
            // No one waits any more once the user stopped.
            let _ = tell.send(response.map_err(|e| e.to_string()).and_then(Answer::read));
        };
        if let Err(error) = thread::Builder::new().name("bucket".to_owned()).spawn(ask) {
            return Ok(Err(format!("cannot start a thread: {error}")));
        }
        loop {
            match told.recv_timeout(LOOK) {
                Ok(came) => return Ok(came),
                Err(RecvTimeoutError::Disconnected) => return Ok(Err("the request ended without an answer".to_owned())),
                Err(RecvTimeoutError::Timeout) if self.is_over() => return Err(Problem::Stopped),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    fn signed(&self, method: &str, key: &str, query: &[(&str, &str)], body: &[u8]) -> Result<Request<()>, String> {
        let path = if key.is_empty() { format!("{}/", self.root) } else { format!("{}/{}", self.root, encoded(key, true)) };
        // An object of the root of a bucket whose name is in the path has no slash at its end.
        let path = if key.is_empty() && !self.root.is_empty() { self.root.clone() } else { path };
        let query = sign::query(query);
        let moment = Timestamp::now().strftime("%Y%m%dT%H%M%SZ").to_string();
        let signed = Signed { method, authority: &self.authority, path: &path, query: &query, body, region: &self.region };
        let ask = if query.is_empty() { String::new() } else { format!("?{query}") };
        let mut request = Request::builder().method(method).uri(format!("{}://{}{path}{ask}", self.scheme, self.authority));
        for (name, value) in signed.headers(&self.keys, &moment) {
            request = request.header(name, value);
        }
        request.body(()).map_err(|e| e.to_string())
    }

    /// The body of an answer that says that all is well.
    fn done(&self, answer: Answer) -> Result<Vec<u8>, Problem> {
        if (200..300).contains(&answer.status) {
            return Ok(answer.body);
        }
        let (name, code, at) = (&self.name, answer.code(), &self.authority);
        let said = answer.message().map(|message| format!(": {message}")).unwrap_or_default();
        let text = format!("{at} answers {} {code}{said}", answer.status).replace("  ", " ");
        let moved = answer.region.as_ref().filter(|region| **region != self.region);
        Err(match (answer.status, code.as_str()) {
            (404, "NoSuchBucket") => Problem::Bucket(format!("there is no bucket `{name}` at {at}")),
            (301 | 307 | 400 | 403, _) if moved.is_some() => {
                let (asked, region) = (&self.region, moved.map_or("", String::as_str));
                Problem::Bucket(format!("bucket `{name}` is of region {region}, and was asked for in {asked}"))
            }
            (401 | 403, _) => Problem::Denied(text),
            _ => Problem::Other(text),
        })
    }
}

/// What a server answered.
struct Answer {
    status: u16,
    /// Of the bucket, where it is told.
    region: Option<String>,
    body: Vec<u8>,
}

impl Answer {
    fn read(response: Response<Body>) -> Result<Self, String> {
        let status = response.status().as_u16();
        let region = response.headers().get("x-amz-bucket-region").and_then(|value| value.to_str().ok()).map(str::to_owned);
        let limit = TEXT.max(sign::BODY_MAX);
        let body = response.into_body().into_with_config().limit(limit).read_to_vec().map_err(|e| e.to_string())?;
        Ok(Self { status, region, body })
    }

    /// Whether the same request can have another answer a moment later.
    fn is_busy(&self) -> bool {
        matches!(self.status, 429 | 500 | 502 | 503 | 504) || self.status == 400 && self.code() == "RequestTimeout"
    }

    /// Whether it says that there is no such object. There are other answers 404: of the bucket, and of the key that signs.
    fn says_missing(&self) -> bool {
        self.status == 404 && matches!(self.code().as_str(), "NoSuchKey" | "")
    }

    /// The word of an error.
    fn code(&self) -> String {
        answer::element(&self.body, "Code").unwrap_or_default()
    }

    fn message(&self) -> Option<String> {
        answer::element(&self.body, "Message")
    }
}
