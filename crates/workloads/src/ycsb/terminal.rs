//! What a connection does, operation by operation. Each is one statement that commits for itself, a read-modify-write two.

use std::sync::Arc;

use perbuck_core::rng::OpRng;
use perbuck_core::units::Seed;
use perbuck_database::dialect::Dialect;
use perbuck_load::connection::Connection;
use perbuck_load::driver::{Effect, Means, Session};
use perbuck_load::error::{Cause, ErrorClass};
use perbuck_load::share::Share;
use perbuck_load::statement::{Catalogue, StatementId};
use perbuck_load::values::Rows;
use perbuck_load::workload::{Done, Facts, NewRecords, Operation, Terminal, TerminalId, Workload};

use super::counter::Counter;
use super::draw::{self, Mix, ScanLengths};
use super::kind::{INSERT, READ, READ_MODIFY_WRITE, SCAN, UPDATE};
use super::options::Options;
use super::row::Records;
use super::schema::Statements;
use crate::Result;

/// The kinds of operation, in go-ycsb's words.
pub const KINDS: [&str; 5] = ["READ", "UPDATE", "INSERT", "SCAN", "READ_MODIFY_WRITE"];

/// What else is counted of each kind: `missing`, where the row that must be there was not; `wrong`, where a row had a field of
/// another value than it must have, or came out of order; `duplicate`, where the row of a load was there already; rows of scans.
const FACTS: [&[&str]; 5] =
    [&["missing", "wrong"], &["missing"], &["duplicate"], &["missing", "wrong", "rows"], &["missing", "wrong"]];
const MISSING: usize = 0;
const WRONG: usize = 1;
const ROWS: usize = 2;
const DUPLICATE: usize = 0;

/// The core workload with its properties.
#[derive(Debug)]
pub struct Ycsb {
    catalogue: Arc<Catalogue>,
    shared: Arc<Shared>,
}

/// What all terminals use. Nothing of it changes but the counter, and that only by inserts.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) statements: Statements,
    pub(super) records: Records,
    mix: Mix,
    scans: ScanLengths,
    pub(super) counter: Counter,
    pub(super) dialect: &'static dyn Dialect,
    /// The first record that a run inserts.
    pub(super) first_new: u64,
    /// Whether the operations are the inserts of a load.
    loads: bool,
    pub(super) options: Options,
}

impl Ycsb {
    /// The workload for `options`; `data_seed` is the seed that the data are loaded with.
    pub fn new(options: Options, dialect: &'static dyn Dialect, data_seed: Seed) -> Self {
        let mut catalogue = Catalogue::default();
        let loads = !options.dotransactions;
        let first_new = if loads { options.insertstart } else { options.recordcount };
        let shared = Shared {
            statements: Statements::new(&options, dialect, &mut catalogue),
            records: Records::new(&options, data_seed),
            mix: Mix::new(if loads { [0.0, 0.0, 1.0, 0.0, 0.0] } else { options.proportions }),
            scans: ScanLengths::new(&options),
            counter: Counter::new(first_new, options.grows()),
            dialect,
            first_new,
            loads,
            options,
        };
        Self { catalogue: Arc::new(catalogue), shared: Arc::new(shared) }
    }
}

impl Shared {
    /// The fields that an operation is about, first and how many, one at random or all; and its statement, of that about all and
    /// those about one.
    #[inline]
    fn fields(
        &self,
        rng: &mut OpRng,
        all: bool,
        (about_all, about_one): (StatementId, StatementId),
    ) -> (StatementId, usize, usize) {
        let width = self.records.width();
        if all {
            return (about_all, 0, width);
        }
        let field = rng.below(width as u64) as usize;
        (StatementId(about_one.0 + field as u16), field, 1)
    }

    /// Whether some fields of a row, the first of which is at `(row, column)`, have the values that they must have;
    /// `expected` is room for one.
    fn verify(
        &self,
        rows: &Rows,
        (row, column): (usize, usize),
        key: &[u8],
        (first, count): (usize, usize),
        expected: &mut Vec<u8>,
    ) -> bool {
        (0..count).all(|i| {
            self.records.expected(expected, key, first + i);
            // NULL, or a number, is no text.
            rows.text(row, column + i).is_ok_and(|value| value == expected.as_slice())
        })
    }
}

impl Workload for Ycsb {
    type Terminal = YcsbTerminal;

    const NEEDS: Means = Means { statements: false, values: false, ..Means::ALL };

    fn catalogue(&self) -> Arc<Catalogue> {
        Arc::clone(&self.catalogue)
    }

    fn kinds(&self) -> Vec<&str> {
        KINDS.to_vec()
    }

    fn fact_names(&self) -> &'static [&'static [&'static str]] {
        &FACTS
    }

    fn terminal(&self, id: TerminalId) -> YcsbTerminal {
        let records = draw::Records::new(&self.shared.options);
        YcsbTerminal { shared: Arc::clone(&self.shared), id, records, key: Vec::new(), expected: Vec::new() }
    }

    fn new_records(&self, share: Share) -> Option<NewRecords> {
        self.shared.options.grows().then(|| self.shared.new_records(share))
    }

    async fn fill<S: Session>(&self, connection: &mut Connection<S>, share: Share, up_to: u64) -> Result<u64> {
        self.shared.fill(connection, share, up_to).await
    }
}

/// One connection.
#[derive(Debug)]
pub struct YcsbTerminal {
    shared: Arc<Shared>,
    id: TerminalId,
    records: draw::Records,
    /// Room for a key, and for what a field should be.
    key: Vec<u8>,
    expected: Vec<u8>,
}

impl Terminal for YcsbTerminal {
    /// The first terminal of each share finds where the records end that earlier runs inserted; none inserts before all have. So the
    /// shares, which are in different processes, find the same.
    async fn start<S: Session>(&mut self, connection: &mut Connection<S>) -> Result<()> {
        if self.id.is_first() && self.shared.options.grows() {
            let first = if self.shared.loads { self.shared.first_new } else { self.shared.end_of_records(connection).await? };
            self.shared.counter.restart(first);
        }
        Ok(())
    }

    #[inline]
    fn kind(&mut self, operation: &Operation) -> u8 {
        self.shared.mix.draw(&mut operation.rng.clone())
    }

    async fn transaction<S: Session>(&mut self, connection: &mut Connection<S>, operation: &mut Operation) -> Result<Done> {
        // Drawn before by `kind`; the stream goes on after it.
        let kind = self.shared.mix.draw(&mut operation.rng);
        let rng = &mut operation.rng;
        let mut facts = Facts::default();
        if kind == INSERT {
            facts[DUPLICATE] = u16::from(self.insert(connection, rng).await?);
            return Ok(Done { facts, ..Done::committed(kind) });
        }
        self.draw_key(rng, operation.sequence);
        if kind == SCAN {
            self.scan(connection, rng, &mut facts).await?;
        }
        if kind == READ || kind == READ_MODIFY_WRITE {
            self.read(connection, rng, &mut facts).await?;
        }
        // As in YCSB, what a read-modify-write did not find is not changed.
        if kind == UPDATE || (kind == READ_MODIFY_WRITE && facts[MISSING] == 0) {
            facts[MISSING] = u16::from(!self.update(connection, rng).await?);
        }
        Ok(Done { facts, ..Done::committed(kind) })
    }
}

impl YcsbTerminal {
    /// Puts the key of the operation's record into its room.
    #[inline]
    fn draw_key(&mut self, rng: &mut OpRng, sequence: u64) {
        let number = sequence * u64::from(self.id.of) + u64::from(self.id.index);
        let counter = &self.shared.counter;
        let stripe = counter.stripe(self.id.share);
        let record = self.records.draw(rng, stripe.end(counter.end()), number);
        self.key.clear();
        self.shared.records.keys.write(&mut self.key, stripe.own(record));
    }

    async fn read<S: Session>(&mut self, connection: &mut Connection<S>, rng: &mut OpRng, facts: &mut Facts) -> Result<()> {
        let Self { shared, key, expected, .. } = self;
        let statements = (shared.statements.read_all, shared.statements.read_one);
        let (statement, first, count) = shared.fields(rng, shared.options.readallfields, statements);
        connection.bind().text(key);
        connection.execute(statement).await?;
        let rows = connection.rows();
        facts[MISSING] = u16::from(rows.is_empty());
        if shared.records.integrity && !rows.is_empty() {
            facts[WRONG] = u16::from(rows.len() != 1 || !shared.verify(rows, (0, 0), key, (first, count), expected));
        }
        Ok(())
    }

    async fn scan<S: Session>(&mut self, connection: &mut Connection<S>, rng: &mut OpRng, facts: &mut Facts) -> Result<()> {
        let Self { shared, key, expected, .. } = self;
        let length = shared.scans.draw(rng);
        let statements = (shared.statements.scan_all, shared.statements.scan_one);
        let (statement, first, count) = shared.fields(rng, shared.options.readallfields, statements);
        connection.bind().text(key).int(length as i64);
        connection.execute(statement).await?;
        let rows = connection.rows();
        let found = rows.len();
        facts[ROWS] = u16::try_from(found).unwrap_or(u16::MAX);
        // The record that it starts at is there, so that nothing is less than there must be.
        facts[MISSING] = u16::from(found == 0);
        if !shared.records.integrity {
            return Ok(());
        }
        facts[WRONG] = u16::from(found > length);
        for row in 0..found as usize {
            // NULL, or a number, is no key.
            let right = rows.text(row, 0).is_ok_and(|found| {
                let ordered = if row == 0 { found >= key.as_slice() } else { found > key.as_slice() };
                facts[MISSING] |= u16::from(row == 0 && found != key.as_slice());
                key.clear();
                key.extend_from_slice(found);
                ordered && shared.verify(rows, (row, 1), key, (first, count), expected)
            });
            facts[WRONG] = facts[WRONG].saturating_add(u16::from(!right));
        }
        Ok(())
    }

    /// Whether there was a row to update.
    async fn update<S: Session>(&mut self, connection: &mut Connection<S>, rng: &mut OpRng) -> Result<bool> {
        let Self { shared, key, .. } = self;
        let statements = (shared.statements.update_all, shared.statements.update_one);
        let (statement, first, count) = shared.fields(rng, shared.options.writeallfields, statements);
        let cells = connection.bind();
        for field in first..first + count {
            shared.records.field(cells, rng, key, field);
        }
        cells.text(key);
        Ok(connection.execute(statement).await? != Effect::Affected(0))
    }

    /// Inserts the next record; whether its key was there already, which only a load takes for an answer.
    async fn insert<S: Session>(&mut self, connection: &mut Connection<S>, rng: &mut OpRng) -> Result<bool> {
        let Self { shared, key, id, .. } = self;
        let (number, returned) = shared.counter.take();
        let record = shared.counter.stripe(id.share).record(number);
        let mut retries = 0;
        loop {
            shared.records.row(connection.bind(), key, record);
            let error = match connection.execute(shared.statements.insert).await {
                Ok(_) => return shared.counter.acknowledge(number, record).map(|()| false),
                Err(error) => error,
            };
            if error.cause == Some(Cause::DuplicateKey) {
                shared.counter.acknowledge(number, record)?;
                // One that was tried before, and whose answer was lost, is our own.
                return if returned || retries > 0 {
                    Ok(false)
                } else if shared.loads {
                    Ok(true)
                } else {
                    Err(error)
                };
            }
            let passes = matches!(error.class, ErrorClass::Retry | ErrorClass::Failed);
            if !shared.loads || !passes || retries == shared.options.insertion_retries {
                shared.counter.give_back(number);
                return Err(error);
            }
            retries += 1;
            // 0.8 to 1.2 times the interval, as in YCSB.
            let milliseconds = f64::from(shared.options.insertion_retry_interval_s) * 1000.0 * (0.8 + 0.4 * rng.unit_f64());
            connection.pause_ms(milliseconds as u64).await;
        }
    }
}
