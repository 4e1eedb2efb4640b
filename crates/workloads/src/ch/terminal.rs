//! The terminals of a trial: those of TPC-C, and beside them query streams, a marker and its reader.

use std::sync::Arc;

use perbuck_core::run_record::{AuditValue, Measured};
use perbuck_core::units::Seed;
use perbuck_database::Dialect;
use perbuck_load::connection::Connection;
use perbuck_load::driver::{Session, SessionId};
use perbuck_load::latch::Latch;
use perbuck_load::statement::Catalogue;
use perbuck_load::workload::{Done, Operation, Pauses, Terminal, TerminalId, Workload};

use super::Options;
use super::freshness::{Committed, Marker, Reader};
use super::kinds::{FRESHNESS, KINDS, MARKER};
use super::queries;
use super::stream::{Stream, Texts};
use crate::Result;
use crate::tpcc::{Tpcc, TpccTerminal};

/// CH-benCHmark for a number of warehouses, in one dialect.
#[derive(Debug)]
pub struct Ch {
    options: Options,
    tpcc: Tpcc,
    texts: Texts,
    /// What the sessions of queries execute when they open; no statement is prepared there.
    of_queries: Arc<Catalogue>,
    committed: Committed,
}

impl Ch {
    /// The workload for `options`; `data_seed` is the seed that the data were loaded with.
    pub fn new(options: Options, dialect: &'static dyn Dialect, data_seed: Seed) -> Self {
        let mut of_queries = Catalogue::default();
        let set = options.query_session.iter().map(|(name, value)| dialect.set_variable(name, value));
        let settings = dialect.statement_limit(options.limit_s).into_iter().chain(dialect.bytewise_like());
        settings.chain(set).for_each(|sql| of_queries.add_opening(sql));
        Self {
            tpcc: Tpcc::new(options.tpcc.clone(), dialect, data_seed),
            texts: Arc::new(queries::all(dialect)),
            of_queries: Arc::new(of_queries),
            committed: Committed::default(),
            options,
        }
    }

    fn stream(&self, number: u32) -> ChTerminal {
        ChTerminal::Queries(Stream::new(number, &self.options.queries, Arc::clone(&self.texts), self.options.limit()))
    }

    /// The terminal with this number beside those of the load.
    fn beside(&self, extra: u32) -> ChTerminal {
        let (streams, limit) = (self.options.streams_beside(), self.options.limit());
        match extra.checked_sub(streams) {
            None => self.stream(extra),
            Some(0) => ChTerminal::Marker(Marker::new(Arc::clone(&self.committed), limit)),
            Some(_) => ChTerminal::Reader(Reader::new(Arc::clone(&self.committed), limit)),
        }
    }
}

impl Workload for Ch {
    type Terminal = ChTerminal;

    fn catalogue(&self) -> Arc<Catalogue> {
        if self.options.transactions { self.tpcc.catalogue() } else { Arc::clone(&self.of_queries) }
    }

    fn kinds(&self) -> Vec<&str> {
        KINDS.to_vec()
    }

    fn fact_names(&self) -> &'static [&'static [&'static str]] {
        self.tpcc.fact_names()
    }

    fn pauses(&self) -> bool {
        self.tpcc.pauses()
    }

    fn extra_terminals(&self) -> u32 {
        self.options.connections_beside()
    }

    /// The marker is committed where the load works.
    fn session(&self, index: u32, of: u32) -> SessionId {
        let beside = index.checked_sub(of).filter(|extra| *extra != self.options.streams_beside());
        match beside {
            Some(extra) => SessionId::Query(extra),
            None if self.options.transactions => SessionId::Terminal(index),
            None => SessionId::Query(index),
        }
    }

    fn extra_catalogue(&self, _: u32) -> Arc<Catalogue> {
        Arc::clone(&self.of_queries)
    }

    fn audit(&self, measured: &Measured) -> Result<Vec<AuditValue>, String> {
        if self.options.transactions { self.tpcc.audit(measured) } else { Ok(Vec::new()) }
    }

    fn terminal(&self, id: TerminalId) -> ChTerminal {
        match id.index.checked_sub(id.of) {
            Some(extra) => self.beside(extra),
            None if self.options.transactions => ChTerminal::Transactions(Box::new(self.tpcc.terminal(id))),
            None => self.stream(id.index),
        }
    }
}

/// One terminal.
#[derive(Debug)]
#[expect(private_interfaces, reason = "the parts of a terminal belong to this module alone")]
pub enum ChTerminal {
    /// One of TPC-C.
    Transactions(Box<TpccTerminal>),
    /// A query stream.
    Queries(Stream),
    /// What commits the marker.
    Marker(Marker),
    /// What looks for it.
    Reader(Reader),
}

impl Terminal for ChTerminal {
    async fn start<S: Session>(&mut self, connection: &mut Connection<S>) -> Result<()> {
        match self {
            Self::Transactions(terminal) => terminal.start(connection).await,
            Self::Marker(marker) => marker.start(connection).await,
            Self::Queries(_) | Self::Reader(_) => Ok(()),
        }
    }

    fn join(&mut self, latch: Latch) {
        match self {
            Self::Marker(marker) => marker.join(latch),
            Self::Reader(reader) => reader.join(latch),
            Self::Transactions(_) | Self::Queries(_) => {}
        }
    }

    async fn may_start(&mut self, sequence: u64) -> bool {
        match self {
            Self::Marker(marker) => marker.may_start(sequence).await,
            Self::Reader(reader) => reader.may_start(sequence).await,
            Self::Transactions(_) | Self::Queries(_) => {}
        }
        true
    }

    fn kind(&mut self, operation: &Operation) -> u8 {
        match self {
            Self::Transactions(terminal) => terminal.kind(operation),
            Self::Queries(stream) => stream.kind(operation.sequence),
            Self::Marker(_) => MARKER,
            Self::Reader(_) => FRESHNESS,
        }
    }

    fn pauses(&mut self, operation: &Operation) -> Pauses {
        match self {
            Self::Transactions(terminal) => terminal.pauses(operation),
            Self::Queries(_) | Self::Marker(_) | Self::Reader(_) => Pauses::default(),
        }
    }

    async fn transaction<S: Session>(&mut self, connection: &mut Connection<S>, operation: &mut Operation) -> Result<Done> {
        let kind = self.kind(operation);
        match self {
            Self::Transactions(terminal) => return terminal.transaction(connection, operation).await,
            Self::Queries(stream) => stream.run(connection, operation.sequence).await?,
            Self::Marker(marker) => marker.run(connection).await?,
            Self::Reader(reader) => reader.run(connection).await?,
        }
        Ok(Done::committed(kind))
    }
}
