//! One GET of HTTP/1.0 (RFC 1945): what the status ports of servers answer.

use std::future::poll_fn;
use std::time::Duration;

use perbuck_database::endpoint::host_text;
use perbuck_event::{now, timeout_at};

use crate::link::Link;
use crate::printable;

/// The body of the answer of `host:port` to a GET of `path`.
///
/// # Errors
/// Why there is none: no server listens, another status than 200, an answer that is cut off or that takes longer than `limit`.
pub async fn get((host, port): (&str, u16), path: &str, limit: Duration) -> Result<String, String> {
    let address = host_text(host, port);
    let answer = timeout_at(now() + limit, ask((host, port), path, limit)).await;
    let answer = answer.unwrap_or_else(|_| Err(format!("no answer within {} ms", limit.as_millis())));
    answer.and_then(|bytes| body(&bytes)).map_err(|why| format!("http://{address}{path}: {why}"))
}

async fn ask((host, port): (&str, u16), path: &str, limit: Duration) -> Result<Vec<u8>, String> {
    let mut link = Link::connect(host, port, limit, "HTTP").await.map_err(|e| e.message.clone())?;
    // There is no login, and the answer is long.
    link.logged_in();
    let head = format!("GET {path} HTTP/1.0\r\nHost: {}\r\n\r\n", host_text(host, port));
    link.begin().extend_from_slice(head.as_bytes());
    link.ask();
    poll_fn(|_| link.poll_send()).await.map_err(|e| e.message.clone())?;
    loop {
        match poll_fn(|_| link.poll_receive()).await {
            Ok(()) if ends(link.inbox.arrived()) => {}
            Ok(()) => continue,
            // The end of an answer without a length is the end of its connection.
            Err(_) if !link.inbox.is_empty() => {}
            Err(error) => return Err(error.message.clone()),
        }
        return Ok(link.inbox.arrived().to_vec());
    }
}

/// Head and body of an answer, and the length that it says its body has.
fn parts(answer: &[u8]) -> Option<(&str, &[u8], Option<usize>)> {
    const END: &[u8] = b"\r\n\r\n";
    let at = answer.windows(END.len()).position(|bytes| bytes == END)?;
    let head = std::str::from_utf8(&answer[..at]).ok()?;
    let fields = head.lines().filter_map(|line| line.split_once(':'));
    let length = fields.filter(|(name, _)| name.eq_ignore_ascii_case("content-length")).find_map(|(_, n)| n.trim().parse().ok());
    Some((head, &answer[at + END.len()..], length))
}

fn ends(answer: &[u8]) -> bool {
    parts(answer).is_some_and(|(_, body, length)| length.is_some_and(|length| body.len() >= length))
}

fn body(answer: &[u8]) -> Result<String, String> {
    let Some((head, body, length)) = parts(answer) else {
        return Err("the answer is none of HTTP; does it want TLS?".to_owned());
    };
    let status = head.lines().next().unwrap_or_default();
    if status.split(' ').nth(1) != Some("200") {
        return Err(format!("it answers {}", printable(status.as_bytes())));
    }
    if length.is_some_and(|length| body.len() < length) {
        return Err("its answer is cut off".to_owned());
    }
    String::from_utf8(body.to_vec()).map_err(|_| "its answer is no text".to_owned())
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    /// What a server that says so much and hangs up, or does not, is understood as.
    fn answered(says: &'static str, hangs_up: bool) -> Result<String, String> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut asked = [0; 256];
            let count = stream.read(&mut asked).unwrap();
            stream.write_all(says.as_bytes()).unwrap();
            if !hangs_up {
                // Until the client has had enough.
                let _ = stream.read(&mut [0]);
            }
            String::from_utf8_lossy(&asked[..count]).into_owned()
        });
        let limit = Duration::from_millis(300);
        let got = perbuck_event::block_on(get(("127.0.0.1", port), "/metrics", limit)).unwrap();
        assert!(server.join().unwrap().starts_with("GET /metrics HTTP/1.0\r\nHost: 127.0.0.1:"));
        got.map_err(|why| why.replace(&format!("http://127.0.0.1:{port}/metrics: "), ""))
    }

    #[test]
    fn an_answer_ends_by_its_length_or_with_its_connection() {
        assert_eq!(answered("HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\na 1\nb 2\n", true), Ok("a 1\nb 2\n".to_owned()));
        assert_eq!(answered("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\na 1\n", false), Ok("a 1\n".to_owned()));
        let why = |says, hangs_up| answered(says, hangs_up).unwrap_err();
        assert_eq!(why("HTTP/1.0 200 OK\r\nContent-Length: 9\r\n\r\na 1\n", true), "its answer is cut off");
        assert_eq!(why("HTTP/1.0 404 Not Found\r\n\r\n", true), "it answers HTTP/1.0 404 Not Found");
        assert_eq!(why("\u{15}\u{3}\u{1}", true), "the answer is none of HTTP; does it want TLS?");
        assert_eq!(why("HTTP/1.0 200 OK\r\nContent-Length: 9\r\n\r\na 1\n", false), "no answer within 300 ms");
    }
}
