//! The registration of databases, and the list of them: a type, so that a driver and a workload are joined once, by static
//! dispatch.

use std::any::Any;
use std::fmt::{self, Debug};
use std::path::PathBuf;

use perbuck_load::driver::Driver;
use perbuck_load::error::DriverError;

use crate::address::{TargetProblem, gives_password, password_in_target, problem};
use crate::dialect::{Dialect, Feature, Lack};
use crate::secret::Secret;
use crate::server::ServerTarget;
use crate::storage::Storage;

/// File descriptors of a load thread: those of its event loop, its timer and its waker.
pub const PER_THREAD: u32 = 3;

/// A parsed address of some database.
pub trait Target: Any + Debug + Send + Sync {
    /// Its SQL and its features.
    fn dialect(&self) -> &'static dyn Dialect;

    /// Why it lacks a feature; `None` where it has it.
    fn lacks(&self, feature: Feature) -> Option<Lack> {
        self.dialect().lacks_as(self.server().and_then(|server| server.product), feature)
    }

    /// What the canonical address begins with: `mysql`, `sqlite` and so on.
    fn scheme(&self) -> &'static str;

    /// The canonical text of the address, for records. It holds no password, since a target has none.
    fn address(&self) -> String;

    /// The same with another database of this name.
    fn with_database(&self, name: &str) -> Box<dyn Target>;

    /// A copy.
    fn copied(&self) -> Box<dyn Target>;

    /// Its short name: its hosts, or the name of its file.
    fn label(&self) -> String;

    /// What it is, for messages: `the X server`.
    fn described(&self) -> String {
        format!("the {} server", self.dialect().name())
    }

    /// The file beside the database that the perbuck holds which loads it or runs on it; `None` where a row of the database says so.
    fn lease_file(&self) -> Option<PathBuf> {
        None
    }

    /// The servers, their user and their database, where it is of servers that have both.
    fn server(&self) -> Option<&ServerTarget> {
        None
    }

    /// The same for changes.
    fn server_mut(&mut self) -> Option<&mut ServerTarget> {
        None
    }

    /// File descriptors of so many connections from so many threads, beside those of the threads.
    fn descriptors(&self, connections: u32, _threads: u32) -> u64 {
        connections.into()
    }

    /// Sets the limit for an answer, where there is one.
    fn set_read_timeout_ms(&mut self, limit_ms: u32) {
        if let Some(server) = self.server_mut() {
            server.read_timeout_ms = limit_ms;
        }
    }
}

/// An address whose database is known only at run time.
pub type AnyTarget = Box<dyn Target>;

impl Clone for AnyTarget {
    fn clone(&self) -> Self {
        (**self).copied()
    }
}

impl PartialEq for dyn Target {
    fn eq(&self, other: &Self) -> bool {
        self.address() == other.address()
    }
}

impl fmt::Display for dyn Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.address())
    }
}

/// What a workload or a study asks of a driver.
#[derive(Debug, Clone, Default)]
pub struct Wishes {
    /// Whether an UPDATE that finds a row shall count as one that affects it, even if it changes nothing.
    pub counts_found_rows: bool,
    /// Settings of the server, in lower case, whose values are facts of a trial beside the usual ones.
    pub noted_settings: Vec<String>,
    /// Where the servers themselves save copies of the data, if the study names a storage.
    pub backup: Option<Storage>,
}

/// The registration of a database.
pub trait Database: 'static {
    /// Its addresses.
    type Target: Target;
    /// Its driver.
    type Driver: Driver;

    /// What its addresses begin with, as messages list them: `mysql://`.
    const SCHEMES: &'static [&'static str];
    /// An address that shows the form.
    const FORM: &'static str;

    /// Reads an address: its scheme, and the rest after the colon. `None` for a scheme of another database.
    fn parse(scheme: &str, rest: &str) -> Option<Result<Self::Target, TargetProblem>>;

    /// The dialect of most of its databases.
    fn dialect() -> &'static dyn Dialect;

    /// Makes a driver; nothing is connected yet.
    ///
    /// # Errors
    /// A target that the driver cannot use, such as one with an unreadable certificate.
    fn driver(target: &Self::Target, password: &Secret, wishes: &Wishes) -> Result<Self::Driver, DriverError>;
}

/// What a caller does with the driver of a target, whatever the driver's type.
pub trait DriverAction {
    /// The result.
    type Output;

    /// Is called once with the driver.
    fn with_driver<D: Driver>(self, driver: D) -> Self::Output;
}

/// A list of databases: `(Mysql, (Sqlite, ()))`.
pub trait Databases: 'static {
    /// The dialect of each.
    fn dialects() -> Vec<&'static dyn Dialect>;

    /// What messages list: the schemes of each, and the form of its addresses.
    fn list() -> Vec<(&'static [&'static str], &'static str)>;

    /// Reads an address, its scheme and the rest; `None` for a scheme that none has.
    fn read(scheme: &str, rest: &str) -> Option<Result<AnyTarget, TargetProblem>>;

    /// Makes the driver of a target and does something with it; `None` for a target of none of them.
    fn drive<A: DriverAction>(
        target: &dyn Target,
        password: &Secret,
        wishes: &Wishes,
        action: A,
    ) -> Option<Result<A::Output, DriverError>>;

    /// Reads an address.
    ///
    /// # Errors
    /// Says what is wrong and what to write instead. It never quotes what may be a password.
    fn parse(text: &str) -> Result<AnyTarget, TargetProblem> {
        let (schemes, forms): (Vec<_>, Vec<_>) = Self::list().into_iter().unzip();
        let Some((scheme, rest)) = text.split_once(':') else {
            return problem("the target has no scheme", format!("write {}", in_words(&forms, "or")));
        };
        // What stands before the first colon may be a user, of `user:password@host`: it is not quoted.
        let unknown =
            || problem("perbuck does not know the scheme of the target", format!("use {}", in_words(&schemes.concat(), "or")));
        if gives_password(rest) { password_in_target() } else { Self::read(scheme, rest).unwrap_or_else(unknown) }
    }
}

/// `a, b and c`.
fn in_words(words: &[&str], last: &str) -> String {
    match words {
        [] => "nothing".to_owned(),
        [one] => (*one).to_owned(),
        [first @ .., end] => format!("{} {last} {end}", first.join(", ")),
    }
}

impl Databases for () {
    fn dialects() -> Vec<&'static dyn Dialect> {
        Vec::new()
    }

    fn list() -> Vec<(&'static [&'static str], &'static str)> {
        Vec::new()
    }

    fn read(_scheme: &str, _rest: &str) -> Option<Result<AnyTarget, TargetProblem>> {
        None
    }

    fn drive<A: DriverAction>(_: &dyn Target, _: &Secret, _: &Wishes, _: A) -> Option<Result<A::Output, DriverError>> {
        None
    }
}

impl<D: Database, Rest: Databases> Databases for (D, Rest) {
    fn dialects() -> Vec<&'static dyn Dialect> {
        [vec![D::dialect()], Rest::dialects()].concat()
    }

    fn list() -> Vec<(&'static [&'static str], &'static str)> {
        [vec![(D::SCHEMES, D::FORM)], Rest::list()].concat()
    }

    fn read(scheme: &str, rest: &str) -> Option<Result<AnyTarget, TargetProblem>> {
        match D::parse(scheme, rest) {
            Some(target) => Some(target.map(|target| Box::new(target) as AnyTarget)),
            None => Rest::read(scheme, rest),
        }
    }

    fn drive<A: DriverAction>(
        target: &dyn Target,
        password: &Secret,
        wishes: &Wishes,
        action: A,
    ) -> Option<Result<A::Output, DriverError>> {
        let any: &dyn Any = target;
        match any.downcast_ref::<D::Target>() {
            Some(target) => Some(D::driver(target, password, wishes).map(|driver| action.with_driver(driver))),
            None => Rest::drive(target, password, wishes, action),
        }
    }
}
