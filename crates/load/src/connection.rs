//! A session with its buffers and counters: what terminals work with.

use std::sync::Arc;

use perbuck_core::run_record::StatementCounts;

use crate::driver::{Access, Effect, Session};
use crate::error::DriverError;
use crate::statement::{Catalogue, StatementId, Verb};
use crate::values::{Params, Rows};

/// Statements of one transaction; see [`StatementCounts`] for the fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs, reason = "the fields of `StatementCounts`, half as wide")]
pub struct Counts {
    pub read: u32,
    pub write: u32,
    pub other: u32,
    pub select: u32,
    pub insert: u32,
    pub update: u32,
    pub delete: u32,
    pub begin: u32,
    pub commit: u32,
    pub rollback: u32,
}

impl Counts {
    /// All statements.
    #[inline]
    pub fn total(&self) -> u64 {
        u64::from(self.read) + u64::from(self.write) + u64::from(self.other)
    }

    /// Adds them to a sum.
    #[inline]
    pub fn add_to(&self, sum: &mut StatementCounts) {
        sum.read += u64::from(self.read);
        sum.write += u64::from(self.write);
        sum.other += u64::from(self.other);
        sum.select += u64::from(self.select);
        sum.insert += u64::from(self.insert);
        sum.update += u64::from(self.update);
        sum.delete += u64::from(self.delete);
        sum.begin += u64::from(self.begin);
        sum.commit += u64::from(self.commit);
        sum.rollback += u64::from(self.rollback);
    }
}

/// One connection of a worker. Every statement passes through here and is counted.
pub struct Connection<S> {
    session: S,
    catalogue: Arc<Catalogue>,
    params: Params,
    rows: Rows,
    counts: Counts,
}

impl<S: Session> Connection<S> {
    /// Makes the catalogue known to the session.
    ///
    /// # Errors
    /// The server's answer.
    pub async fn open(mut session: S, catalogue: Arc<Catalogue>) -> Result<Self, DriverError> {
        session.prepare(&catalogue).await?;
        let (params, rows) = (Params::default(), Rows::default());
        Ok(Self { session, catalogue, params, rows, counts: Counts::default() })
    }

    /// The parameters of the next statement, emptied.
    #[inline]
    pub fn bind(&mut self) -> &mut Params {
        self.params.clear()
    }

    /// Executes with the parameters bound before.
    ///
    /// # Errors
    /// The server's answer, or the loss of the connection.
    #[inline]
    pub async fn execute(&mut self, id: StatementId) -> Result<Effect, DriverError> {
        // Counted when sent: a server counts a statement that fails, too (Com_update of a deadlock victim).
        match self.catalogue.brief(id).verb {
            Verb::Select => self.counts.select += 1,
            Verb::Insert => self.counts.insert += 1,
            Verb::Update => self.counts.update += 1,
            Verb::Delete => self.counts.delete += 1,
        }
        let effect = self.session.execute(id, &self.params, &mut self.rows).await?;
        // sysbench's classes: a result set is a read, a changed row a write, anything else "other".
        match effect {
            Effect::ResultSet => self.counts.read += 1,
            Effect::Affected(0) => self.counts.other += 1,
            Effect::Affected(_) => self.counts.write += 1,
        }
        Ok(effect)
    }

    /// The rows of the last statement.
    #[inline]
    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    /// Begins a transaction.
    ///
    /// # Errors
    /// As [`Self::execute`].
    pub async fn begin(&mut self, access: Access) -> Result<(), DriverError> {
        self.counts.begin += 1;
        self.session.begin(access).await?;
        self.counts.other += 1;
        Ok(())
    }

    /// Commits.
    ///
    /// # Errors
    /// As [`Self::execute`].
    pub async fn commit(&mut self) -> Result<(), DriverError> {
        self.counts.commit += 1;
        self.session.commit().await?;
        self.counts.other += 1;
        Ok(())
    }

    /// Rolls back.
    ///
    /// # Errors
    /// As [`Self::execute`].
    pub async fn rollback(&mut self) -> Result<(), DriverError> {
        self.counts.rollback += 1;
        self.session.rollback().await?;
        self.counts.other += 1;
        Ok(())
    }

    /// The counters since the last call.
    #[inline]
    pub fn take_counts(&mut self) -> Counts {
        std::mem::take(&mut self.counts)
    }

    /// Closes the connection in the way of the protocol.
    pub async fn close(self) {
        self.session.close().await;
    }
}
