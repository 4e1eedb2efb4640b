//! What the sessions of a driver sent, counted as their server counts it. Each session counts for itself, so that the hot loop writes to
//! no memory that another thread reads, and adds its count to the sum when it ends, however it ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The sum of the sessions that have ended.
#[derive(Debug, Clone, Default)]
pub struct Sent(Arc<AtomicU64>);

impl Sent {
    /// What the sessions that have ended sent.
    pub fn ended(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// The count of a new session.
    pub fn session(&self) -> SessionSent {
        SessionSent { sent: 0, all: self.clone() }
    }
}

/// What one session has sent.
#[derive(Debug)]
pub struct SessionSent {
    sent: u64,
    all: Sent,
}

impl SessionSent {
    /// Counts so many more.
    #[inline]
    pub fn add(&mut self, more: u64) {
        self.sent += more;
    }
}

impl Drop for SessionSent {
    fn drop(&mut self) {
        self.all.0.fetch_add(self.sent, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_adds_what_it_sent_when_it_ends() {
        let sent = Sent::default();
        let (mut one, mut other) = (sent.session(), sent.session());
        one.add(3);
        other.add(4);
        assert_eq!(sent.ended(), 0);
        drop(other);
        assert_eq!(sent.ended(), 4);
        drop(one);
        assert_eq!(sent.ended(), 7);
    }
}
