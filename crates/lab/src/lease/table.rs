//! The lease of a database on servers: one row that says who holds it, and a number that its holder raises every few seconds. No
//! clock is compared: whoever waits watches whether the number changes.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use perbuck_database::Dialect;
use perbuck_database::dialect::Feature;
use perbuck_load::driver::{Effect, SessionId};
use perbuck_load::error::{Cause, DriverError, ErrorClass};
use perbuck_load::query::Query;

use super::Holder;
use crate::error::LabError;
use crate::stage::{Server, Stage};

/// The table, of one row.
pub(crate) const TABLE: &str = "perbuck_lease";
const COLUMNS: &str = "name VARCHAR(64) NOT NULL PRIMARY KEY, beat VARCHAR(64) NOT NULL, holder VARCHAR(400) NOT NULL";
const NAME: &str = "run";
const DOING: &str = "asking for the lease of its database";
/// How long a renewal and a release may take: neither may hold a run.
const RENEWAL_LIMIT: Duration = Duration::from_secs(5);
const RELEASE_LIMIT: Duration = Duration::from_secs(1);
/// Without SQL a row is written whatever it holds, so it is read again after this: the last one who wrote has it.
const SETTLING: Duration = Duration::from_millis(300);

/// The row of a database, as one contender reaches it.
#[derive(Clone)]
pub(super) struct Table {
    pub(super) title: String,
    pub(super) address: String,
    server: Arc<dyn Server>,
    dialect: &'static dyn Dialect,
}

/// What a row holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    /// The number that its holder raises.
    pub(super) beat: String,
    text: String,
}

impl Row {
    pub(super) fn holder(&self) -> Option<Holder> {
        Holder::read(&self.text)
    }

    /// Whether it can stand in a statement: another program may have written it.
    fn is_plain(&self) -> bool {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, ' ' | '.' | '-' | '_');
        self.beat.chars().chain(self.text.chars()).all(plain)
    }
}

impl Table {
    pub(super) fn of(stage: &Stage) -> Self {
        let Stage { title, address, server, dialect, .. } = stage;
        Self { title: title.clone(), address: address.clone(), server: server.clone(), dialect: *dialect }
    }

    fn has_sql(&self) -> bool {
        self.dialect.lacks(Feature::Sql).is_none()
    }

    fn ask(&self, query: impl Into<Query>, limit: Option<Duration>) -> Result<(Effect, Vec<String>), DriverError> {
        self.server.row((SessionId::Own(0), DOING), &query.into(), limit)
    }

    /// Whether there is a table for it.
    pub(super) fn exists(&self) -> Result<bool, LabError> {
        self.server.has_table(TABLE)
    }

    /// Makes the table where there is none.
    pub(super) fn make(&self) -> Result<(), LabError> {
        if !self.has_sql() || self.exists()? {
            return Ok(());
        }
        let made = self.server.execute("making the lease of its database", &format!("CREATE TABLE {TABLE} ({COLUMNS})"));
        match made {
            // Another perbuck made it in between.
            Err(_) if self.exists()? => Ok(()),
            made => made,
        }
    }

    /// What the row holds; `None` where it is free.
    pub(super) fn read(&self, limit: Option<Duration>) -> Result<Option<Row>, DriverError> {
        let cells = match self.ask(self.dialect.row_of(TABLE, ["beat", "holder"], ("name", NAME)), limit) {
            Ok((_, cells)) => cells,
            Err(error) if error.cause == Some(Cause::NoTable) => return Ok(None),
            Err(error) => return Err(error),
        };
        Ok(<[String; 2]>::try_from(cells).ok().map(|[beat, text]| Row { beat, text }))
    }

    /// Puts `own` into the row if it still is as it was read. Whether it did.
    pub(super) fn claim(&self, was: Option<&Row>, own: &Holder) -> Result<bool, LabError> {
        let text = own.text();
        let claimed = match was {
            _ if !self.has_sql() => {
                let written = self.ask(self.dialect.upsert(TABLE, ["name", "beat", "holder"], [NAME, "0", &text]), None);
                thread::sleep(SETTLING);
                written.and_then(|_| Ok(self.read(None)?.is_some_and(|row| row.text == text)))
            }
            None => self.ask(format!("INSERT INTO {TABLE} VALUES ('{NAME}', '0', '{text}')"), None).map(|_| true),
            Some(row) if !row.is_plain() => {
                let message = format!("{}: {TABLE} in its database holds what perbuck did not write", self.title);
                return Err(LabError::refused(message, format!("look at it, then remove it: DROP TABLE {TABLE}")));
            }
            Some(Row { beat, text: old }) => {
                let same = format!("name = '{NAME}' AND beat = '{beat}' AND holder = '{old}'");
                let taken = self.ask(format!("UPDATE {TABLE} SET beat = '0', holder = '{text}' WHERE {same}"), None);
                taken.map(|(effect, _)| effect == Effect::Affected(1))
            }
        };
        claimed.or_else(|error| match error.cause {
            Some(Cause::DuplicateKey | Cause::NoTable) => Ok(false),
            _ if error.class == ErrorClass::Retry => Ok(false),
            _ => Err(LabError::target(&self.title, &error)),
        })
    }

    /// What writes the row into other data that take the place of these.
    pub(super) fn notes(&self, own: &Holder) -> [Query; 2] {
        let row = self.dialect.upsert(TABLE, ["name", "beat", "holder"], [NAME, "0", &own.text()]);
        [format!("CREATE TABLE IF NOT EXISTS {TABLE} ({COLUMNS})").into(), row]
    }

    /// Raises the number; another holder that has taken the lease meanwhile. A row that is gone is written again.
    pub(super) fn renew(&self, own: &Holder, beat: u64) -> Result<Option<Row>, DriverError> {
        let (limit, text) = (Some(RENEWAL_LIMIT), own.text());
        if self.has_sql() {
            let sql = format!("UPDATE {TABLE} SET beat = '{beat}' WHERE name = '{NAME}' AND holder = '{text}'");
            if self.ask(sql, limit)?.0 == Effect::Affected(1) {
                return Ok(None);
            }
        }
        match self.read(limit)? {
            Some(row) if row.text != text => Ok(Some(row)),
            _ => {
                let written = self.dialect.upsert(TABLE, ["name", "beat", "holder"], [NAME, &beat.to_string(), &text]);
                self.ask(written, limit).map(|_| None)
            }
        }
    }

    /// Gives the lease back, if it is still that of `own`. Where that fails, the lease ends with its heartbeat.
    pub(super) fn release(&self, own: &Holder) {
        let limit = Some(RELEASE_LIMIT);
        if matches!(self.read(limit), Ok(Some(row)) if row.text == own.text()) {
            // While the row is there no one else has the lease, so the table can go with it.
            drop(self.server.drop_table(DOING, TABLE, limit));
        }
    }
}
