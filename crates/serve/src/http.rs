//! As much of HTTP/1.1 (RFC 9112) as a browser on this machine needs: one GET per connection, and an answer.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use perbuck_report::html::script;

/// Bytes of a request at most.
const LARGEST: usize = 16 * 1024;

/// How long a client may take for its whole request.
const REQUEST: Duration = Duration::from_secs(10);

/// How long a client may take to take the whole answer.
const ANSWER: Duration = Duration::from_secs(60);

/// Bytes that are written at once.
const PART: usize = 64 * 1024;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Request {
    /// GET or HEAD.
    pub(super) head_only: bool,
    /// The path, decoded.
    pub(super) path: String,
    /// What stands after the question mark: names and values, decoded.
    pub(super) query: Vec<(String, String)>,
    /// The formats that the client takes.
    pub(super) accept: String,
}

impl Request {
    /// A value of the query; empty where it is not there.
    pub(super) fn value(&self, name: &str) -> &str {
        self.query.iter().find(|(n, _)| n == name).map_or("", |(_, v)| v.as_str())
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer {
    /// The number of the status.
    pub(super) status: u16,
    /// What the body is.
    pub(super) kind: &'static str,
    /// The body, in parts that need not be copied.
    pub(super) body: Vec<Vec<u8>>,
}

impl Answer {
    /// What was asked for.
    pub(super) fn ok(kind: &'static str, body: String) -> Self {
        Self { status: 200, kind, body: vec![body.into_bytes()] }
    }

    pub(super) fn page(body: String) -> Self {
        Self::ok("text/html; charset=utf-8", body)
    }

    pub(super) fn error(status: u16, text: &str) -> Self {
        Self { status, kind: "text/plain; charset=utf-8", body: vec![format!("{text}\n").into_bytes()] }
    }
}

/// A connection with the time at which it ends, however slowly its client sends or takes bytes.
struct Timed<'a> {
    stream: &'a TcpStream,
    end: Instant,
}

impl Timed<'_> {
    fn left(&self) -> io::Result<Option<Duration>> {
        let left = self.end.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(Some(left)) }
    }

    fn read(&mut self, part: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(self.left()?)?;
        self.stream.read(part)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        for part in bytes.chunks(PART) {
            let mut rest = part;
            while !rest.is_empty() {
                self.stream.set_write_timeout(self.left()?)?;
                match self.stream.write(rest)? {
                    0 => return Err(ErrorKind::WriteZero.into()),
                    n => rest = &rest[n..],
                }
            }
        }
        Ok(())
    }
}

/// Reads a request, and answers what `answer` says to it or why it is none.
pub(super) fn serve(stream: &TcpStream, at: SocketAddr, answer: impl FnOnce(&Request) -> Answer) -> io::Result<()> {
    let mut timed = Timed { stream, end: Instant::now() + REQUEST };
    let mut bytes = Vec::new();
    let mut part = [0; 4096];
    let mut searched = 0;
    while !bytes[searched..].windows(4).any(|w| w == b"\r\n\r\n") && bytes.len() < LARGEST {
        searched = bytes.len().saturating_sub(3);
        match timed.read(&mut part)? {
            0 => break,
            n => bytes.extend_from_slice(&part[..n]),
        }
    }
    if bytes.is_empty() {
        return Ok(());
    }
    let (answer, head_only) = match parse(&String::from_utf8_lossy(&bytes), at) {
        Ok(request) => (answer(&request), request.head_only),
        Err(refused) => (refused, false),
    };
    write(stream, &answer, head_only)
}

fn parse(text: &str, at: SocketAddr) -> Result<Request, Answer> {
    let Some((head, _)) = text.split_once("\r\n\r\n") else { return Err(Answer::error(400, "the request is incomplete")) };
    let mut lines = head.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (Some(method), Some(target), Some(version), None) = (words.next(), words.next(), words.next(), words.next()) else {
        return Err(Answer::error(400, "this is no request"));
    };
    if !version.starts_with("HTTP/1.") {
        return Err(Answer::error(505, "this server speaks HTTP/1 only"));
    }
    let fields: Vec<(&str, &str)> = lines.filter_map(|l| l.split_once(':')).map(|(name, value)| (name, value.trim())).collect();
    let named = |name: &str| fields.iter().filter(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| *v).collect::<Vec<&str>>();
    let hosts = named("host");
    // A page from elsewhere whose name was turned to this machine (DNS rebinding) still says its own name here.
    // Who listens in a network shows it to the network.
    let ours = ["127.0.0.1", "localhost", "[::1]"].map(|name| format!("{name}:{}", at.port()));
    let is_ours = |host: &str| !at.ip().is_loopback() || ours.iter().any(|o| o.eq_ignore_ascii_case(host));
    if hosts.len() != 1 || !is_ours(hosts[0]) {
        return Err(Answer::error(421, "this is a local page of perbuck: open it by its own address"));
    }
    if !matches!(method, "GET" | "HEAD") {
        return Err(Answer::error(405, "this server only shows results: use GET"));
    }
    if !target.starts_with('/') {
        return Err(Answer::error(400, "this is no path"));
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let pair = |p: &str| {
        let (name, value) = p.split_once('=').unwrap_or((p, ""));
        Some((decoded(&name.replace('+', " "))?, decoded(&value.replace('+', " "))?))
    };
    let query: Option<Vec<(String, String)>> = query.split('&').filter(|p| !p.is_empty()).map(pair).collect();
    match (decoded(path), query) {
        (Some(path), Some(query)) => Ok(Request { head_only: method == "HEAD", path, query, accept: named("accept").join(",") }),
        _ => Err(Answer::error(400, "this is no address")),
    }
}

/// Text with its `%41` resolved; `None` where that gives no text.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(b) = rest.next() {
        bytes.push(match b {
            b'%' => {
                let digit = |b: u8| char::from(b).to_digit(16);
                let (high, low) = (digit(rest.next()?)?, digit(rest.next()?)?);
                (high * 16 + low) as u8
            }
            b => b,
        });
    }
    String::from_utf8(bytes).ok().filter(|t| !t.contains('\0'))
}

/// A text as a value in an address.
pub(super) fn encoded(text: &str) -> String {
    let one = |b: u8| match b {
        b if b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'/') => char::from(b).to_string(),
        b => format!("%{b:02X}"),
    };
    text.bytes().map(one).collect()
}

pub(super) fn write(stream: &TcpStream, answer: &Answer, head_only: bool) -> io::Result<()> {
    let length: usize = answer.body.iter().map(Vec::len).sum();
    let allow = if answer.status == 405 { "Allow: GET, HEAD\r\n" } else { "" };
    let head = format!(
        "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {length}\r\n{allow}Connection: close\r\nCache-Control: no-store\r\n\
         X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\nReferrer-Policy: no-referrer\r\n\
         Cross-Origin-Resource-Policy: same-origin\r\nCross-Origin-Opener-Policy: same-origin\r\n\
         Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; script-src 'self' {}; connect-src 'self'; img-src data:; \
         form-action 'self'; base-uri 'none'; frame-ancestors 'none'\r\n\r\n",
        answer.status,
        reason(answer.status),
        answer.kind,
        script::source()
    );
    let mut timed = Timed { stream, end: Instant::now() + ANSWER };
    timed.write(head.as_bytes())?;
    if !head_only {
        answer.body.iter().try_for_each(|part| timed.write(part))?;
    }
    Ok(())
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        404 => "Not Found",
        405 => "Method Not Allowed",
        421 => "Misdirected Request",
        503 => "Service Unavailable",
        505 => "HTTP Version Not Supported",
        _ => "Error",
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(address: &str) -> SocketAddr {
        address.parse().unwrap()
    }

    fn of(head: &str) -> Result<Request, u16> {
        parse(&format!("{head}\r\n\r\n"), at("127.0.0.1:8080")).map_err(|a| a.status)
    }

    #[test]
    fn requests_are_read() {
        let found = of("GET /study?name=a%2Fb+c&x HTTP/1.1\r\nHost: 127.0.0.1:8080").unwrap();
        assert_eq!((found.path.as_str(), found.value("name"), found.value("x"), found.head_only), ("/study", "a/b c", "", false));
        assert!(of("HEAD / HTTP/1.1\r\nhost: LOCALHOST:8080").unwrap().head_only);
    }

    #[test]
    fn formats_are_those_of_all_accept_lines() {
        let found = of("GET / HTTP/1.1\r\nHost: 127.0.0.1:8080\r\naccept: a/b; q=1\r\nAccept: c/d").unwrap();
        assert_eq!(found.accept, "a/b; q=1,c/d");
    }

    #[test]
    fn an_address_in_a_network_is_known_by_any_name() {
        let text = "GET /metrics HTTP/1.1\r\nHost: client-1:9464\r\n\r\n";
        assert!(parse(text, at("0.0.0.0:9464")).is_ok() && parse(text, at("[::1]:9464")).is_err());
        assert!(parse(&text.replace("Host", "X"), at("10.0.0.1:9464")).is_err());
    }

    #[test]
    fn strangers_and_changes_are_refused() {
        for host in ["evil.example", "evil.example:8080", "127.0.0.1", "127.0.0.1:80", "127.0.0.1:8080.evil.example"] {
            assert_eq!(of(&format!("GET / HTTP/1.1\r\nHost: {host}")), Err(421), "{host}");
        }
        assert_eq!(of("GET / HTTP/1.1"), Err(421));
        assert_eq!(of("GET / HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nHost: evil.example"), Err(421));
        for method in ["POST", "PUT", "DELETE", "OPTIONS", "get"] {
            assert_eq!(of(&format!("{method} / HTTP/1.1\r\nHost: 127.0.0.1:8080")), Err(405), "{method}");
        }
        assert_eq!(of("GET http://evil/ HTTP/1.1\r\nHost: 127.0.0.1:8080"), Err(400));
        assert_eq!(of("GET /%zz HTTP/1.1\r\nHost: 127.0.0.1:8080"), Err(400));
        assert_eq!(of("GET /%00 HTTP/1.1\r\nHost: 127.0.0.1:8080"), Err(400));
        assert_eq!(of("GET / HTTP/2\r\nHost: 127.0.0.1:8080"), Err(505));
    }

    proptest! {
        #[test]
        fn any_bytes_are_answered(text in "\\PC{0,200}") {
            let _ = parse(&text, at("127.0.0.1:1"));
            let _ = parse(&format!("{text}\r\n\r\n"), at("127.0.0.1:1"));
        }

        #[test]
        fn an_encoded_text_is_read_as_it_was(text in any::<String>().prop_filter("no text", |t| !t.contains('\0'))) {
            prop_assert_eq!(decoded(&encoded(&text)), Some(text));
        }
    }
}
