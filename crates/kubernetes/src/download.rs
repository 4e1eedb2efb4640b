//! A text from the web, such as the definitions of custom kinds at a pinned address.

use http::{HeaderMap, Uri, header, uri::Scheme};
use http_body_util::{BodyExt, Limited};
use kube::client::Body;
use kube::{Client, Config};

use crate::api::Api;
use crate::connect::{client, proxy};
use crate::error::{ApiError, ErrorKind, cause};
use crate::event_loop::EventLoop;
use crate::request::{BoxError, LIMIT};

/// No text is longer.
const LONGEST: usize = 16 << 20;
const REDIRECTS: usize = 5;

/// What one address answered.
enum Answer {
    Text(Vec<u8>),
    Redirect(String),
    Status(u16),
}

impl Api {
    /// The text at an address that starts with `https://`. It follows a few redirects to other such addresses.
    ///
    /// # Errors
    /// The address is none, cannot be reached, does not answer in time, or answers something else than a text of at most 16 MiB.
    pub fn download(url: &str) -> Result<String, ApiError> {
        follow(&EventLoop::new()?, url)
    }
}

fn follow(event_loop: &EventLoop, url: &str) -> Result<String, ApiError> {
    let mut next = checked(url, url)?;
    for _ in 0..=REDIRECTS {
        match fetch(event_loop, url, &next)? {
            Answer::Text(bytes) => {
                return String::from_utf8(bytes)
                    .map_err(|_| ApiError::new(ErrorKind::Other, format!("{url} is no text in UTF-8"), ""));
            }
            Answer::Redirect(location) => next = redirected(url, &next, &location)?,
            Answer::Status(status) => {
                let kind = if status == 404 { ErrorKind::NotFound } else { ErrorKind::Other };
                return Err(ApiError::new(
                    kind,
                    format!("{url} answers {status}"),
                    "check the address, or download the file and name its path",
                ));
            }
        }
    }
    Err(ApiError::new(
        ErrorKind::Other,
        format!("{url} redirects more than {REDIRECTS} times"),
        "name the address that it leads to",
    ))
}

fn checked(url: &str, address: &str) -> Result<Uri, ApiError> {
    let parsed = address.parse::<Uri>().ok().filter(|uri| uri.scheme() == Some(&Scheme::HTTPS) && uri.host().is_some());
    parsed.ok_or_else(|| {
        let leads = if url == address { String::new() } else { format!(" leads to `{address}`, which") };
        ApiError::invalid(format!("`{url}`{leads} does not start with https://"))
    })
}

/// The address of a redirect, which may leave out scheme and host.
pub(crate) fn redirected(url: &str, from: &Uri, location: &str) -> Result<Uri, ApiError> {
    match (location.starts_with('/') && !location.starts_with("//"), from.authority()) {
        (true, Some(host)) => checked(url, &format!("https://{host}{location}")),
        _ => checked(url, location),
    }
}

fn fetch(event_loop: &EventLoop, url: &str, address: &Uri) -> Result<Answer, ApiError> {
    let mut config = Config::new(address.clone());
    config.proxy_url = proxy(address);
    // kube puts the path of the server before that of a request.
    let (Some(host), path) = (address.authority(), address.path_and_query().map_or("/", |path| path.as_str())) else {
        return Err(ApiError::invalid(format!("`{url}` names no host")));
    };
    config.cluster_url = format!("https://{host}").parse().map_err(|_| ApiError::invalid(format!("`{url}` names no host")))?;
    let client = client(event_loop, config, url, "curl")?;
    match event_loop.within(LIMIT, answer(&client, path)) {
        Some(Ok(answer)) => Ok(answer),
        Some(Err(error)) => {
            let (kind, why) = cause(error.as_ref());
            Err(ApiError::new(
                kind,
                format!("cannot download {url}: {why}"),
                "download the file by other means, and name its path",
            ))
        }
        None => Err(ApiError::new(ErrorKind::Timeout, format!("{url} did not answer within {} s", LIMIT.as_secs()), "")),
    }
}

async fn answer(client: &Client, path: &str) -> Result<Answer, BoxError> {
    let (parts, body) = client.send(http::Request::get(path).body(Body::empty())?).await?.into_parts();
    if parts.status.is_redirection() {
        return Ok(Answer::Redirect(location(&parts.headers)));
    }
    if !parts.status.is_success() {
        return Ok(Answer::Status(parts.status.as_u16()));
    }
    Ok(Answer::Text(Limited::new(body, LONGEST).collect().await?.to_bytes().to_vec()))
}

fn location(headers: &HeaderMap) -> String {
    headers.get(header::LOCATION).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned()
}
