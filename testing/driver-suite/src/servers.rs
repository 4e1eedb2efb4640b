//! What a database supplies to the tests on real servers, which are those of `dev/with-servers`, and what these tests share.

use std::fmt::Debug;
use std::sync::Arc;

use perbuck_database::secret::Secret;
use perbuck_database::{Database, Target as _, Wishes};
use perbuck_event::block_on;
use perbuck_load::driver::{Driver, Effect, Session, SessionId, TargetFacts};
use perbuck_load::error::{DriverError, ErrorClass, ErrorCode};
use perbuck_load::statement::{Catalogue, StatementId};
use perbuck_load::values::{Params, Rows};

/// A database to be tested: a server, or a file.
pub trait Server: Sized + Debug {
    /// Its driver.
    type Driver: Driver + Debug;

    /// Types of columns: each with a literal, and the value for people.
    const TYPES: &'static [(&'static str, &'static str, &'static str)];
    /// Columns beside `id` for parameters; `i`, `d`, `t` and `b` are a whole number, a decimal, a text and bytes.
    const PARAMETERS: &'static str;
    /// Updates of a row to the same value again, by its id: how many rows each affects.
    const UPDATES: &'static [(i64, u64)];
    /// The type of a column of bytes, and lengths of its values.
    const LARGE: (&'static str, &'static [usize]);
    /// Columns beside `id` for rows in bulk, of which the last may be NULL: a decimal, a text, and something else.
    const BULK: (&'static str, [&'static str; 3]);
    /// The statement that lets rows of a session be odd in another way.
    const MODES: &'static [&'static str] = &[];
    /// What follows CREATE TABLE.
    const TABLE_WORDS: &'static str = "";
    /// The error of a table that is not there.
    const NO_TABLE: ErrorCode;
    /// The error of a key that is there.
    const DUPLICATE: ErrorCode;
    /// The client's errors of too few values, and of a row that is not whole.
    const WRONG_COUNT: [&'static str; 2] = ["parameters"; 2];

    /// The servers that most tests run on.
    fn all() -> Vec<Self>;

    /// A driver for the database of the tests.
    fn driver(&self, options: &str) -> Self::Driver;

    /// Rows for [`Self::PARAMETERS`] with what they are for people, the id first. The first has `-12.30` and `\0\xff\x80`.
    fn parameters() -> Vec<(Params, Vec<&'static str>)>;

    /// Statements that fail, on a table (`id` is its key, `v` has three characters) with one row, `1, 'a'`.
    fn errors(table: &str) -> Vec<(String, ErrorClass, ErrorCode)>;

    /// Text with everything that could end a value, a row or an escape, and bytes for the last column.
    fn odd(row: i64) -> (String, &'static [u8]);

    /// A session.
    fn session(&self, options: &str) -> impl Future<Output = <Self::Driver as Driver>::Session> {
        async { self.driver(options).connect(SessionId::Own(0)).await.unwrap() }
    }
}

/// A server that many clients share, each of whom logs in.
pub trait SharedServer: Server<Driver = <Self::Database as Database>::Driver> {
    /// The registration of its database.
    type Database: Database<Driver: Debug>;

    /// The user who owns the database of the tests.
    const OWNER: &'static str;
    /// The error of the transaction that a server chose to end a deadlock.
    const DEADLOCK: ErrorCode;
    /// The error of a connection that another one ended, where the server tells.
    const KILLED: ErrorCode;
    /// A query for the number of a connection.
    const CONNECTION: &'static str;
    /// A query for the user.
    const USER: &'static str;
    /// What follows the name of a user there.
    const USER_END: &'static str;
    /// Accounts of the servers, each with a method of its own: the server, the user, and the variable of the password.
    const ACCOUNTS: &'static [(&'static str, &'static str, &'static str)];
    /// The errors of a wrong password and of none.
    const WRONG_PASSWORD: [&'static [ErrorCode]; 2];
    /// The error of an account that must use TLS and does not.
    const NO_TLS: ErrorCode;
    /// The error of a database that is not there.
    const NO_DATABASE: ErrorCode;
    /// Settings that are facts, with their values on the servers of the tests, and one that is none.
    const FACTS: (&'static [(&'static str, &'static str)], &'static str);
    /// A counter of statements or transactions, and others that are there.
    const COUNTERS: (&'static str, &'static [&'static str]);

    /// The variable that holds its address.
    fn variable(&self) -> &'static str;

    /// A statement that waits.
    fn sleep(seconds: f64) -> String;

    /// A statement that ends a connection of this number.
    fn kill(connection: &str) -> String;

    /// Checks the version.
    fn check_version(facts: &TargetFacts);

    /// A session of a user who may end connections of others.
    fn admin(&self) -> impl Future<Output = <Self::Driver as Driver>::Session>;

    /// The target, for another user, with options.
    fn target(&self, user: &str, options: &str) -> <Self::Database as Database>::Target {
        let text = variable(self.variable()).replace(&format!("{}@", Self::OWNER), &format!("{user}@"));
        let (scheme, rest) = text.split_once(':').unwrap();
        Self::Database::parse(scheme, &format!("{rest}?{options}")).unwrap().unwrap()
    }

    /// The owner's password.
    fn password(&self) -> String {
        variable(&format!("{}_PASSWORD", self.variable()))
    }

    /// The driver of a target.
    ///
    /// # Errors
    /// As those of [`Database::driver`].
    fn driver_of(target: &<Self::Database as Database>::Target, password: &str) -> Result<Self::Driver, DriverError> {
        Self::Database::driver(target, &Secret::new(password), &Wishes::default())
    }

    /// The owner's driver.
    fn owner(&self, options: &str) -> Self::Driver {
        Self::driver_of(&self.target(Self::OWNER, options), &self.password()).unwrap()
    }

    /// The owner's driver with other hosts.
    fn with_hosts(&self, options: &str, change: impl FnOnce(&mut Vec<(String, u16)>)) -> Self::Driver {
        let mut target = self.target(Self::OWNER, options);
        change(&mut target.server_mut().unwrap().hosts);
        Self::driver_of(&target, &self.password()).unwrap()
    }
}

/// Runs a test on each server.
pub(crate) fn on_each<S: Server>(test: impl AsyncFn(&S)) {
    block_on(async {
        for server in S::all() {
            test(&server).await;
        }
    })
    .unwrap();
}

/// An environment variable of `dev/with-servers`.
pub fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set: run this test under dev/with-servers"))
}

/// Checks class and code of an error.
#[track_caller]
pub fn assert_error(error: &DriverError, class: ErrorClass, code: ErrorCode) {
    assert_eq!((error.class, error.code), (class, code), "{error}");
}

/// A table of this test alone.
pub async fn table<S: Server>(session: &mut impl Session, name: &str, columns: &str) -> String {
    let name = format!("{name}_{}", std::process::id());
    run(session, &format!("DROP TABLE IF EXISTS {name}")).await;
    assert_eq!(run(session, &format!("CREATE TABLE {name} ({columns}){}", S::TABLE_WORDS)).await, Effect::Affected(0));
    name
}

/// Runs a statement whose rows do not matter.
pub async fn run(session: &mut impl Session, sql: &str) -> Effect {
    session.query(sql, &mut Rows::default()).await.unwrap_or_else(|error| panic!("{sql}: {error}"))
}

/// The cells of a query, for people.
pub async fn select(session: &mut impl Session, sql: &str) -> Vec<Vec<String>> {
    let mut rows = Rows::default();
    session.query(sql, &mut rows).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    cells(&rows)
}

/// How many rows a table has.
pub async fn count(session: &mut impl Session, table: &str) -> i64 {
    select(session, &format!("SELECT COUNT(*) FROM {table}")).await[0][0].parse().unwrap()
}

/// The error of a statement that must fail.
pub async fn error_of(session: &mut impl Session, sql: &str) -> DriverError {
    session.query(sql, &mut Rows::default()).await.unwrap_err()
}

/// The cells of kept rows, for people.
pub fn cells(rows: &Rows) -> Vec<Vec<String>> {
    let cell = |row, column| rows.display(row, column).unwrap();
    (0..rows.len() as usize).map(|row| (0..rows.width()).map(|column| cell(row, column)).collect()).collect()
}

/// A catalogue of one read whose rows are kept.
pub async fn prepare_read(session: &mut impl Session, sql: &str) -> StatementId {
    let mut catalogue = Catalogue::default();
    let id = catalogue.add_read(sql);
    session.prepare(&Arc::new(catalogue)).await.unwrap();
    id
}

/// Parameters.
pub fn bound(fill: impl FnOnce(&mut Params)) -> Params {
    let mut params = Params::default();
    fill(&mut params);
    params
}
