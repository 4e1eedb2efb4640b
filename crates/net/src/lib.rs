//! What the protocols share: a socket with TLS and a limit for answers, the receive buffer, and what it means when the
//! other side falls silent. Nothing here knows what the bytes say.
//!
//! From the bottom: `stream` is the socket (the only input and output) with `tls`, `certificates` and `watchdog`, `buffer`
//! holds what came in, `reader` reads it, `link` is a
//! connection, `reach` opens it in time.

pub mod buffer;
pub mod certificates;
pub mod link;
pub mod reach;
pub mod reader;

pub mod stream;
mod tls;
pub mod watchdog;

pub use link::tls_failure;

/// The bytes are not what the protocol allows here; the text says what was being read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed(pub &'static str);

/// What was read.
pub type Parsed<T> = Result<T, Malformed>;

/// Longer messages are cut: a server may quote a statement of megabytes.
const MESSAGE_CHARS: usize = 1_000;

/// A server's words for a terminal: no control characters, and not without end.
pub fn printable(text: &[u8]) -> String {
    let shown = &text[..text.len().min(4 * MESSAGE_CHARS)];
    let text = String::from_utf8_lossy(shown);
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MESSAGE_CHARS).collect()
}

/// The other end of a connection that leaves this thread nowhere: for tests and for the benchmark of a protocol alone.
#[cfg(feature = "canned")]
pub trait InMemory {
    /// Takes what is sent; how much of it.
    fn hear(&mut self, bytes: &[u8]) -> usize;
    /// The next bytes of an answer; 0 behind its end, as if the connection had been closed.
    fn say(&mut self, room: &mut [u8]) -> usize;
}
