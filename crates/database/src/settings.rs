//! What perbuck can change on a running server: global settings, and replicas of tables in another format.

use std::fmt::Debug;

/// How global settings are read and set.
pub trait SettingWords: Debug + Send + Sync {
    /// A query for a setting as text, so that no digit is lost.
    fn read(&self, name: &str) -> String;

    /// Sets it to a value, written as an SQL literal.
    fn set(&self, name: &str, literal: &str) -> String;

    /// What to do about an unknown name.
    fn unknown(&self) -> &'static str;

    /// What to do about a setting that cannot change while the server runs.
    fn fixed(&self) -> &'static str;

    /// What to do about a missing right.
    fn denied(&self) -> &'static str;
}

/// How tables get further replicas in another format, such as columns.
pub trait ReplicaWords: Debug + Send + Sync {
    /// A query for the version; [`Self::knows`] reads the answer.
    fn version(&self) -> &'static str;

    /// Whether a server of this version may have replicas.
    fn knows(&self, version: &str) -> bool;

    /// A query for the number of servers that hold replicas; it may fail where the user lacks a right.
    fn servers(&self) -> &'static str;

    /// Asks for so many replicas of a table.
    fn ask(&self, table: &str, count: u32) -> String;

    /// A query for one text, `COUNT AVAILABLE PROGRESS`; no row where the table has none.
    fn look(&self, table: &str) -> String;
}
