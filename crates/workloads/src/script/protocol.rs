//! How statements of scripts are sent.

/// How statements are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Protocol {
    /// Prepared once for each connection, with variables as parameters.
    #[default]
    Prepared,
    /// Parsed, bound and executed each time, with variables as parameters.
    Extended,
    /// As text, with the values of variables in it.
    Simple,
}

/// All of them by their names in a study.
pub(super) const PROTOCOLS: [(&str, Protocol); 3] =
    [("prepared", Protocol::Prepared), ("extended", Protocol::Extended), ("simple", Protocol::Simple)];

impl Protocol {
    /// The protocol of this name, if there is one.
    pub fn named(word: &str) -> Option<Self> {
        PROTOCOLS.iter().find(|(name, _)| *name == word).map(|(_, protocol)| *protocol)
    }

    /// Its name in a study.
    pub fn word(self) -> &'static str {
        PROTOCOLS.iter().find(|(_, protocol)| *protocol == self).map_or("", |(word, _)| word)
    }

    /// Whether variables are parameters of their statement.
    pub(super) fn binds(self) -> bool {
        self != Self::Simple
    }
}
