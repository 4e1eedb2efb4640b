//! Segments of TCP connections, as numbers.

/// Segments with data of some connections.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Segments {
    /// Sent, those that were sent again included.
    pub sent: u64,
    /// Sent again, because no acknowledgement came.
    pub retransmitted: u64,
}

impl Segments {
    /// These and others.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self { sent: self.sent + other.sent, retransmitted: self.retransmitted + other.retransmitted }
    }

    /// What came after an earlier count.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        let (sent, retransmitted) =
            (self.sent.saturating_sub(earlier.sent), self.retransmitted.saturating_sub(earlier.retransmitted));
        Self { sent, retransmitted }
    }
}
