//! What a connection of each script does, event by event.

mod bulk;
mod insert;
mod oltp;
mod random;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use perbuck_database::Dialect;
use perbuck_load::connection::Connection;
use perbuck_load::driver::{Means, Session};
use perbuck_load::statement::{Catalogue, StatementId, Verb};
use perbuck_load::workload::{Done, Operation, Terminal, TerminalId, Workload};

use super::options::Options;
use super::script::Script;
use crate::Result;
use bulk::Bulk;
use insert::Insert;
use oltp::Oltp;
use random::Random;

/// Rows that the server acknowledged, of `bulk_insert` alone.
const ROWS: usize = 0;

/// One of the scripts with its options.
#[derive(Debug)]
pub struct Sysbench {
    catalogue: Arc<Catalogue>,
    options: Options,
    events: Events,
}

impl Sysbench {
    /// The script of `options`.
    pub fn new(options: &Options, dialect: &'static dyn Dialect) -> Self {
        let mut catalogue = Catalogue::default();
        let events = match options.script {
            Script::Insert => Events::Insert(Box::new(Insert::new(options, dialect, &mut catalogue))),
            Script::RandomPoints | Script::RandomRanges => Events::Random(Box::new(Random::new(options, &mut catalogue))),
            Script::BulkInsert => Events::Bulk(Box::new(Bulk::new(options))),
            _ => Events::Oltp(Arc::new(Oltp::new(options, &mut catalogue))),
        };
        Self { catalogue: Arc::new(catalogue), options: options.clone(), events }
    }
}

impl Workload for Sysbench {
    type Terminal = SysbenchTerminal;

    const NEEDS: Means = Means { values: false, ..Means::ALL };

    fn catalogue(&self) -> Arc<Catalogue> {
        Arc::clone(&self.catalogue)
    }

    /// As in sysbench: its catalogues hold no statement that a script does not use.
    fn prepares_ahead(&self) -> bool {
        true
    }

    fn kinds(&self) -> Vec<&str> {
        self.options.script.kinds().to_vec()
    }

    fn fact_names(&self) -> &'static [&'static [&'static str]] {
        if matches!(self.events, Events::Bulk(_)) { &[&[super::ROWS_ACKNOWLEDGED]] } else { &[] }
    }

    fn terminal(&self, id: TerminalId) -> Self::Terminal {
        let mut events = self.events.clone();
        match &mut events {
            Events::Oltp(_) => {}
            Events::Insert(insert) => insert.assign(id),
            Events::Random(random) => random.assign(id, &self.options),
            Events::Bulk(bulk) => bulk.assign(id),
        }
        SysbenchTerminal { reconnect: u64::from(self.options.reconnect), events }
    }
}

/// The statements of a script, and where a terminal is among its rows: elsewhere, so that a terminal is no larger than it must be.
#[derive(Debug, Clone)]
enum Events {
    /// The same for all terminals, so that a thousand of them read one address in memory.
    Oltp(Arc<Oltp>),
    Insert(Box<Insert>),
    Random(Box<Random>),
    Bulk(Box<Bulk>),
}

/// One connection of a script.
#[derive(Debug, Clone)]
pub struct SysbenchTerminal {
    /// Events from one opening of the connection to the next; 0 is no other.
    reconnect: u64,
    events: Events,
}

impl Terminal for SysbenchTerminal {
    async fn start<S: Session>(&mut self, connection: &mut Connection<S>) -> Result<()> {
        match &mut self.events {
            Events::Oltp(_) | Events::Random(_) => Ok(()),
            Events::Insert(insert) => insert.start(connection).await,
            Events::Bulk(bulk) => bulk.start(connection).await,
        }
    }

    async fn finish<S: Session>(&mut self, connection: &mut Connection<S>) -> Result<()> {
        if let Events::Bulk(bulk) = &mut self.events { bulk.send(connection).await.map(drop) } else { Ok(()) }
    }

    fn kind(&mut self, _operation: &Operation) -> u8 {
        0
    }

    async fn transaction<S: Session>(&mut self, connection: &mut Connection<S>, operation: &mut Operation) -> Result<Done> {
        let mut done = Done::committed(0);
        match &mut self.events {
            Events::Oltp(oltp) => oltp.transaction(connection, &mut operation.rng).await?,
            Events::Insert(insert) => insert.transaction(connection, operation).await?,
            Events::Random(random) => random.transaction(connection, &mut operation.rng).await?,
            Events::Bulk(bulk) => done.facts[ROWS] = bulk.transaction(connection).await?,
        }
        Ok(done)
    }

    /// As in sysbench, whose event draws all its ids again.
    fn redraws(&self) -> bool {
        true
    }

    #[inline]
    fn reconnects_after(&self, sequence: u64) -> bool {
        self.reconnect > 0 && (sequence + 1).is_multiple_of(self.reconnect)
    }
}

/// Adds a statement for each table, `sql` given the table's number from 1. The first id is that on `sbtest1`.
fn for_each_table(
    catalogue: &mut Catalogue,
    tables: u32,
    label: &'static str,
    verb: Verb,
    sql: impl Fn(u32) -> String,
) -> StatementId {
    let first = StatementId(catalogue.statements().len() as u16);
    for table in 1..=tables {
        catalogue.add_named(label, verb, false, sql(table));
    }
    first
}
