//! What is asked of the servers of a stage before a study starts.

use perbuck_database::dialect::Feature;
use perbuck_load::driver::{Driver, Session, SessionId};
use perbuck_load::error::DriverError;
use perbuck_load::preflight::{Distance, HostFacts};
use perbuck_load::values::Rows;

use super::sessions::{Sessions, answer};
use crate::data::{self, DataState};
use crate::error::LabError;

/// What a run does with the data of a stage before its first trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataNeed {
    /// They are there, and are used as they are.
    Kept,
    /// They are there, and may be loaded again.
    Reloaded,
    /// They are missing, or half loaded.
    Missing,
}

/// Questions about one host, or about the database on the first one.
pub trait HostCheck {
    /// What the host at this position says of itself.
    fn host_facts(&self, host: u32) -> Result<HostFacts, DriverError>;
    /// Whether a host of its own answers the queries beside a load.
    fn has_query_host(&self) -> bool;
    /// How far the hosts are, of each kind of round trip the longest; `None` where there is no network or no SQL.
    fn distance(&self) -> Result<Option<Distance>, DriverError>;
    /// Opens so many sessions at the same time and closes them; how many the host let in, and why no more.
    fn open_sessions(&self, host: u32, wanted: u32) -> (u32, Result<(), DriverError>);
    /// What becomes of data in these tables, where a run may reset them.
    fn data_need(&self, tables: &[String], resets: bool) -> Result<DataNeed, LabError>;
    /// Does with a table of its own what a load does with others: makes, fills, indexes, changes and drops it.
    fn try_rights(&self) -> Result<(), DriverError>;
}

impl<D: Driver> HostCheck for Sessions<D> {
    fn host_facts(&self, host: u32) -> Result<HostFacts, DriverError> {
        answer(&self.waiting, "looking at the server", self.driver.preflight(host))
    }

    fn has_query_host(&self) -> bool {
        self.driver.has_query_host()
    }

    fn distance(&self) -> Result<Option<Distance>, DriverError> {
        if self.driver.blocking() || self.notes.dialect.lacks(Feature::Sql).is_some() {
            return Ok(None);
        }
        let doing = "measuring the distance to the server";
        let hosts = 0..(self.driver.hosts().len() as u32).max(1);
        let of_host = |host| self.with_host((host, doing), async |session| Distance::of(session, "SELECT 1").await);
        let furthest = |longest: Option<Distance>, one: Distance| longest.map_or(one, |longest| longest.furthest(one));
        hosts.map(of_host).try_fold(None, |longest, one| Ok(Some(furthest(longest, one?))))
    }

    fn open_sessions(&self, host: u32, wanted: u32) -> (u32, Result<(), DriverError>) {
        let mut count = 0;
        let opened = answer(&self.waiting, "opening the connections of a trial", async {
            let (mut open, mut refused) = (Vec::new(), None);
            while count < wanted && refused.is_none() {
                match self.driver.connect_at(SessionId::Own(0), host).await {
                    Ok(session) => open.push(session),
                    Err(error) => refused = Some(error),
                }
                count = open.len() as u32;
            }
            for session in open {
                session.close().await;
            }
            refused.map_or(Ok(()), Err)
        });
        (count, opened)
    }

    fn data_need(&self, tables: &[String], resets: bool) -> Result<DataNeed, LabError> {
        self.with_session("looking for its data", async |session| match self.notes.read(session).await? {
            Some(DataState::Unfinished) => Ok(DataNeed::Missing),
            Some(_) => Ok(if resets { DataNeed::Reloaded } else { DataNeed::Kept }),
            None => {
                for table in tables {
                    if !data::exists(session, self.notes.dialect, table).await? {
                        return Ok(DataNeed::Missing);
                    }
                }
                Ok(DataNeed::Kept)
            }
        })
    }

    fn try_rights(&self) -> Result<(), DriverError> {
        if self.notes.dialect.lacks(Feature::Sql).is_some() {
            return Ok(());
        }
        // Another perbuck may look at the same database.
        let table = format!("perbuck_preflight_{}", std::process::id());
        let index = format!("{} {table}_k ON {table} (k)", self.notes.dialect.create_index());
        let create = format!("CREATE TABLE {table} (id INT NOT NULL PRIMARY KEY, k INT NOT NULL)");
        let steps = [
            format!("INSERT INTO {table} (id, k) VALUES (1, 1)"),
            index,
            format!("UPDATE {table} SET k = 2 WHERE id = 1"),
            format!("SELECT k FROM {table} WHERE id = 1"),
            format!("DELETE FROM {table} WHERE id = 1"),
        ];
        self.with_host((0, "trying its rights"), async |session| {
            session.query(&create, &mut Rows::default()).await?;
            let mut tried = Ok(());
            for step in &steps {
                if tried.is_ok() {
                    tried = session.query(step, &mut Rows::default()).await.map(drop);
                }
            }
            let dropped = session.drop_table(&table).await;
            tried.and(dropped)
        })
    }
}
