//! What the protocols share: a socket with TLS and a limit for answers, the receive buffer, and what it means when the
//! other side falls silent. Nothing here knows what the bytes say.
//!
//! From the bottom: `stream` is the socket (the only input and output) with `tls`, `certificates` and `watchdog`, `buffer`
//! holds what came in, `reader` reads it, `link` is a connection, `reach` opens it in time, `statements` is for its sessions,
//! `web` and `metrics` read what status ports answer, `cluster` those of a cluster of TiKV, `ports` the same once a second.

pub mod buffer;
#[cfg(feature = "canned")]
pub mod canned;
pub mod certificates;
pub mod cluster;
pub mod link;
pub mod metrics;
pub mod ports;
pub mod reach;
pub mod reader;
pub mod sent;
pub mod statements;
pub mod stream;
mod tls;
pub mod watchdog;
pub mod web;

pub use link::{tls_failure, unreachable};

/// The bytes are not what the protocol allows here; the text says what was being read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed(pub &'static str);

/// What was read.
pub type Parsed<T> = Result<T, Malformed>;

/// A server's words for an error; `too_many` says that it has no connection left.
pub fn error_words(text: &[u8], hint: &[u8], too_many: bool) -> String {
    let mut words = printable(text);
    if words.is_empty() {
        words.push_str("the server gives no reason");
    }
    if !hint.is_empty() {
        words = format!("{words}; {}", printable(hint));
    }
    if too_many {
        words.push_str("; raise max_connections of the server or use fewer connections");
    }
    words
}

/// Longer messages are cut: a server may quote a statement of megabytes.
const MESSAGE_CHARS: usize = 1_000;

/// A server's words on one line, and not without end. What else would steer a terminal is replaced where text is printed.
pub fn printable(text: &[u8]) -> String {
    let shown = &text[..text.len().min(4 * MESSAGE_CHARS)];
    let text = String::from_utf8_lossy(shown);
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MESSAGE_CHARS).collect()
}
