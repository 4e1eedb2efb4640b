//! What perbuck can change on a running server: global settings, and replicas of tables in another format.

/// How global settings are read and set.
#[derive(Debug)]
pub struct SettingWords {
    /// A query for the setting of this name as text, so that no digit is lost.
    pub read: fn(&str) -> String,
    /// Sets a name to a value, written as an SQL literal.
    pub set: fn(&str, &str) -> String,
    /// What to do about an unknown name.
    pub unknown: &'static str,
    /// What to do about a setting that cannot change while the server runs.
    pub fixed: &'static str,
    /// What to do about a missing right.
    pub denied: &'static str,
    /// A setting whose change goes on after it was taken.
    pub background: Option<Background>,
}

/// A setting that a server takes at once and carries out in the background.
#[derive(Debug)]
pub struct Background {
    /// Its name.
    pub name: &'static str,
    /// Queries for how far it is, as text; the first one that the server knows is asked.
    pub queries: &'static [&'static str],
    /// Whether a text says that nothing goes on any more.
    pub ended: fn(&str) -> bool,
}

/// How tables get further replicas in another format, such as columns.
#[derive(Debug)]
pub struct ReplicaWords {
    /// A query for the version; [`Self::knows`] reads the answer.
    pub version: &'static str,
    /// Whether a server of this version may have replicas.
    pub knows: fn(&str) -> bool,
    /// A query for the number of servers that hold replicas; it may fail where the user lacks a right.
    pub servers: &'static str,
    /// Asks for so many replicas of a table.
    pub ask: fn(&str, u32) -> String,
    /// A query for one text, `COUNT AVAILABLE PROGRESS`; no row where the table has none.
    pub look: fn(&str) -> String,
}
