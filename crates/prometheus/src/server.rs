//! The HTTP API of a Prometheus server (its documentation, "HTTP API": instant queries).

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use ureq::Agent;
use ureq::http::Uri;

/// How long an answer may take.
const LIMIT: Duration = Duration::from_secs(10);
/// Bytes of an answer at most: some hundred machines with all of their series for an hour.
const LONGEST: u64 = 256 << 20;

/// A Prometheus server.
#[derive(Debug)]
pub struct Server {
    url: String,
    agent: Agent,
}

/// A series: its labels, the name among them, and what was scraped.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Found {
    /// Labels with their values; `__name__` is the name.
    pub metric: BTreeMap<String, String>,
    /// Seconds since 1970, and the value as a text.
    pub values: Vec<(f64, String)>,
}

#[derive(Deserialize)]
struct Answer {
    data: Option<Data>,
    error: Option<String>,
}

#[derive(Deserialize)]
struct Data {
    result: Vec<Found>,
}

impl Server {
    /// The server at `http://host:port`, with a path before that of its API where it has one.
    ///
    /// # Errors
    /// Why that is no address of one.
    pub fn at(url: &str) -> Result<Self, String> {
        let uri = url.parse::<Uri>().ok().filter(|uri| uri.host().is_some() && uri.query().is_none());
        match uri.as_ref().and_then(Uri::scheme_str) {
            Some("http") => {}
            Some("https") => return Err(format!("`{url}` wants TLS, which perbuck does not speak with Prometheus")),
            _ => return Err(format!("`{url}` does not start with http://HOST")),
        }
        if uri.and_then(|uri| uri.authority().map(|a| a.as_str().contains('@'))).unwrap_or(false) {
            return Err("the address of Prometheus holds a user, which no study does".to_owned());
        }
        let agent = Agent::config_builder().timeout_global(Some(LIMIT)).http_status_as_error(false).build().into();
        Ok(Self { url: url.trim_end_matches('/').to_owned(), agent })
    }

    /// What was scraped of a selector in the seconds before a time, each sample as it came.
    ///
    /// # Errors
    /// The server does not answer, or refuses the query; with its address.
    pub fn scraped(&self, selector: &str, seconds: u64, until_s: f64) -> Result<Vec<Found>, String> {
        let failed = |why: String| format!("Prometheus at {}: {why}", self.url);
        let query = format!("{selector}[{seconds}s]");
        let call =
            self.agent.get(format!("{}/api/v1/query", self.url)).query("query", query).query("time", format!("{until_s:.3}"));
        let mut response = call.call().map_err(|e| failed(e.to_string()))?;
        let status = response.status();
        let text = response.body_mut().with_config().limit(LONGEST).read_to_string().map_err(|e| failed(e.to_string()))?;
        let answer: Answer = serde_json::from_str(&text).map_err(|_| failed(format!("it answers {status}, and no result")))?;
        match answer.data {
            Some(data) => Ok(data.result),
            None => Err(failed(answer.error.unwrap_or_else(|| format!("it answers {status}")))),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by it")]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_of_http_without_a_user() {
        for good in ["http://h:9090", "http://h:9090/", "http://[::1]:9090/prefix"] {
            assert!(Server::at(good).is_ok(), "{good}");
        }
        for (wrong, says) in [
            ("h:9090", "does not start with http://"),
            ("https://h", "wants TLS"),
            ("http://u:p@h", "holds a user"),
            ("http://h/?x", "does not start"),
            ("", "does not start"),
        ] {
            let why = Server::at(wrong).unwrap_err();
            assert!(why.contains(says) && !why.contains(":p@"), "{wrong}: {why}");
        }
    }

    #[test]
    fn a_server_that_is_not_there_is_told_with_its_address() {
        let why = Server::at("http://127.0.0.1:1").unwrap().scraped("up", 5, 1.0).unwrap_err();
        assert!(why.starts_with("Prometheus at http://127.0.0.1:1: "), "{why}");
    }
}
