//! What was done with data before a trial.

/// Words for what was done with data: those of a record for data that were reset, and that for a copy, which takes time, too.
pub(crate) const SAVED: &str = "saved";
pub(crate) const RESTORED: &str = "restored";
pub(crate) const RELOADED: &str = "reloaded";

/// What was done with the data before a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Readied {
    /// Another tool made them, and they are used as they are.
    Foreign,
    /// Nothing.
    Kept,
    /// The server that loaded them was started again.
    Restarted,
    /// A copy of them was saved.
    Saved,
    /// A copy took their place.
    Restored,
    /// They were loaded again.
    Reloaded,
}

impl Readied {
    /// Its word in a record, which says what the data are: one that was saved is what was loaded.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Foreign => "foreign",
            Self::Kept | Self::Restarted | Self::Saved => "kept",
            Self::Restored => RESTORED,
            Self::Reloaded => RELOADED,
        }
    }

    /// What was done, where that takes time that a later study can learn from.
    pub(super) fn done(self) -> Option<&'static str> {
        match self {
            Self::Foreign | Self::Kept | Self::Restarted => None,
            Self::Saved => Some(SAVED),
            Self::Restored | Self::Reloaded => Some(self.word()),
        }
    }

    /// Whether the data are others than those of the trial before.
    pub(super) fn is_new(self) -> bool {
        matches!(self, Self::Restored | Self::Reloaded)
    }

    /// Whether servers have other pages in memory than after the trial before: a copy is made while they are stopped.
    pub(super) fn forgets(self) -> bool {
        self.is_new() || matches!(self, Self::Restarted | Self::Saved)
    }
}
