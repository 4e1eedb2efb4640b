//! Terminals: each is bound to one warehouse and one district for life and deals its transactions from a deck.

use std::sync::Arc;

use perbuck_core::rng::OpRng;
use perbuck_core::run_record::{AuditValue, Measured};
use perbuck_core::units::Seed;
use perbuck_database::Dialect;
use perbuck_database::dialect::IsolationQuestion;
use perbuck_load::connection::Connection;
use perbuck_load::driver::{Effect, Session};
use perbuck_load::error::{DriverError, ErrorClass};
use perbuck_load::statement::{Catalogue, StatementId};
use perbuck_load::values::Rows;
use perbuck_load::workload::{Done, Operation, Pauses, Terminal, TerminalId, Workload};

use super::compat::hints;
use super::deck::{self, Deck};
use super::nurand::{Constants, load_constant};
use super::pauses::Clockwork;
use super::{DISTRICTS, Isolation, Options, audit, delivery, new_order, order_status, payment, stock_level};
use crate::Result;

/// The five transactions for a number of warehouses, in one dialect.
#[derive(Debug)]
pub struct Tpcc {
    options: Options,
    dialect: &'static dyn Dialect,
    catalogue: Arc<Catalogue>,
    statements: Statements,
    c_load: i64,
}

#[derive(Debug, Clone, Copy)]
struct Statements {
    new_order: new_order::Statements,
    payment: payment::Statements,
    order_status: order_status::Statements,
    delivery: delivery::Statements,
    stock_level: stock_level::Statements,
    /// Those of many rows, where they are wanted.
    batch: Option<(new_order::Batch, delivery::Batch)>,
}

impl Tpcc {
    /// The workload for `options`. `data_seed` is the seed that the data were loaded with: the constant for C_LAST
    /// must keep its distance from the load's (2.1.6.1).
    pub fn new(options: Options, dialect: &'static dyn Dialect, data_seed: Seed) -> Self {
        let mut catalogue = Catalogue::default();
        let go_tpc = options.go_tpc;
        let batch = (options.batch || go_tpc)
            .then(|| (new_order::Batch::new(&mut catalogue, dialect, go_tpc), delivery::Batch::new(&mut catalogue, dialect)));
        let statements = Statements {
            new_order: new_order::Statements::new(&mut catalogue, dialect),
            payment: payment::Statements::new(&mut catalogue, dialect, go_tpc),
            order_status: order_status::Statements::new(&mut catalogue, go_tpc),
            delivery: delivery::Statements::new(&mut catalogue, dialect),
            stock_level: stock_level::Statements::new(&mut catalogue, hints(&options, dialect)),
            batch,
        };
        options.session_statements(dialect).into_iter().for_each(|sql| catalogue.add_opening(sql));
        Self { options, dialect, catalogue: Arc::new(catalogue), statements, c_load: load_constant(data_seed) }
    }
}

impl Workload for Tpcc {
    type Terminal = TpccTerminal;

    fn catalogue(&self) -> Arc<Catalogue> {
        Arc::clone(&self.catalogue)
    }

    fn kinds(&self) -> Vec<&str> {
        deck::KINDS.to_vec()
    }

    fn fact_names(&self) -> &'static [&'static [&'static str]] {
        audit::FACTS
    }

    fn pauses(&self) -> bool {
        self.options.wait
    }

    fn audit(&self, measured: &Measured) -> Result<Vec<AuditValue>, String> {
        let Options { warehouses, wait, .. } = self.options;
        let ran = audit::Ran { warehouses, waited: wait, window_ns: measured.window_ns };
        audit::audit(&measured.transactions, ran).map(|found| found.values)
    }

    fn terminal(&self, id: TerminalId) -> TpccTerminal {
        let mut scope = Scope::of(id, self.options.warehouses, self.c_load);
        let mut deck = Deck::new(id.seed, id.index);
        let mut weights = self.options.weights;
        if self.options.go_tpc {
            (scope.go_tpc, scope.constants) = (true, Constants::like_go_tpc(id.seed));
            weights = weights.or(Some(deck::GO_TPC));
        }
        if let Some(weights) = weights {
            deck = Deck::weighted(id.seed, id.index, weights);
        }
        TpccTerminal {
            scope,
            deck,
            clockwork: Clockwork::new(id.seed, id.index),
            statements: self.statements,
            scratch: Scratch::default(),
            // One asks for all of them: every session was told the same.
            told: self.options.isolation.filter(|_| id.index == 0).map(|level| (self.dialect, level)),
        }
    }
}

/// What a terminal draws its inputs from: the scale, its own district and the constants of the run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scope {
    warehouses: i64,
    /// W_ID of the terminal (2.4.1.1).
    pub(super) warehouse: i64,
    /// D_ID of the terminal, which Stock-Level alone uses (2.8.1.1).
    pub(super) district: i64,
    pub(super) constants: Constants,
    pub(super) go_tpc: bool,
}

impl Scope {
    /// Terminal *i* of a trial sits at warehouse 1 + *i* mod W, district 1 + (*i* / W) mod 10. With the ten terminals
    /// per warehouse of 4.2.2 every district has exactly one; fewer or more spread evenly over the warehouses.
    pub(super) fn of(id: TerminalId, warehouses: u32, c_load: i64) -> Self {
        Self {
            warehouses: i64::from(warehouses),
            warehouse: i64::from(id.index % warehouses) + 1,
            district: i64::from(id.index / warehouses) % DISTRICTS + 1,
            constants: Constants::for_run(id.seed, c_load),
            go_tpc: false,
        }
    }

    /// Where the next transaction happens: in the terminal's own district, but go-tpc draws one each time.
    fn for_transaction(&self, rng: &mut OpRng) -> Self {
        if !self.go_tpc {
            return *self;
        }
        let (warehouse, district) = (rng.between(1, self.warehouses), Self::any_district(rng));
        Self { warehouse, district, ..*self }
    }

    /// A district of a warehouse, uniformly (2.4.1.2, 2.5.1.2, 2.6.1.2).
    pub(super) fn any_district(rng: &mut OpRng) -> i64 {
        rng.between(1, DISTRICTS)
    }

    /// A warehouse other than the terminal's, uniformly; the terminal's where there is no other (2.4.1.5, 2.5.1.2).
    pub(super) fn other_warehouse(&self, rng: &mut OpRng) -> i64 {
        if self.warehouses == 1 {
            return self.warehouse;
        }
        let drawn = rng.between(1, self.warehouses - 1);
        if drawn >= self.warehouse { drawn + 1 } else { drawn }
    }
}

/// Executes a statement whose parameters are all whole numbers.
#[inline]
pub(super) fn send<'c, S: Session, const N: usize>(
    connection: &'c mut Connection<S>,
    statement: StatementId,
    values: [i64; N],
) -> impl Future<Output = Result<Effect>> + use<'c, S, N> {
    let cells = connection.bind();
    for value in values {
        cells.int(value);
    }
    connection.execute(statement)
}

/// The data lack what the specification puts there.
pub(super) fn missing(what: &str) -> DriverError {
    DriverError::client(ErrorClass::Fatal, "data", format!("{what}; load the data again"))
}

/// Text that must outlive the result it came in; kept so that its memory is used again.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    pub(super) dist_info: Vec<u8>,
    pub(super) h_data: Vec<u8>,
    pub(super) c_data: Vec<u8>,
}

/// One terminal.
#[derive(Debug)]
pub struct TpccTerminal {
    scope: Scope,
    deck: Deck,
    clockwork: Clockwork,
    statements: Statements,
    scratch: Scratch,
    /// The isolation level that the sessions were told, for the one terminal that looks whether they have it.
    told: Option<(&'static dyn Dialect, Isolation)>,
}

impl Terminal for TpccTerminal {
    async fn start<S: Session>(&mut self, connection: &mut Connection<S>) -> Result<()> {
        let Some((dialect, level)) = self.told else { return Ok(()) };
        match dialect.isolation_in_effect() {
            Some(question) => same_isolation(dialect, question, &level.sql(), connection.ask(question.ask).await?),
            None => Ok(()),
        }
    }

    fn kind(&mut self, operation: &Operation) -> u8 {
        self.deck.card(operation.sequence)
    }

    fn pauses(&mut self, operation: &Operation) -> Pauses {
        let kind = self.deck.card(operation.sequence);
        self.clockwork.pauses(operation.sequence, kind)
    }

    async fn transaction<S: Session>(&mut self, connection: &mut Connection<S>, operation: &mut Operation) -> Result<Done> {
        let kind = self.deck.card(operation.sequence);
        let (rng, statements) = (&mut operation.rng, &self.statements);
        let scope = &self.scope.for_transaction(rng);
        let mut done = Done::committed(kind);
        // Every input is drawn before the first statement: what is sent never depends on what others committed, and
        // a retried operation sends the same. Data that lack a row of the specification are a fatal error.
        match kind {
            deck::NEW_ORDER => {
                let input = new_order::Input::draw(rng, scope);
                let (common, scratch) = (&statements.new_order, &mut self.scratch);
                let total = match &statements.batch {
                    Some((batch, _)) => batch.run(common, connection, &input, scratch).await?,
                    None => common.run(connection, &input, scratch).await?,
                };
                (done.rolled_back, done.facts) = (total.is_none(), input.facts());
            }
            deck::PAYMENT => {
                let input = payment::Input::draw(rng, scope);
                statements.payment.run(connection, &input, &mut self.scratch).await?;
                done.facts = input.facts();
            }
            deck::ORDER_STATUS => {
                let input = order_status::Input::draw(rng, scope);
                statements.order_status.run(connection, &input).await?;
                done.facts = input.facts();
            }
            deck::DELIVERY => {
                let input = delivery::Input::draw(rng, scope);
                let skipped = match &statements.batch {
                    Some((_, batch)) => batch.run(&statements.delivery, connection, &input).await?,
                    None => statements.delivery.run(connection, &input).await?,
                };
                done.facts = [skipped, skipped.min(1), 0, 0];
            }
            _ => {
                let input = stock_level::Input::draw(rng, scope);
                statements.stock_level.run(connection, &input).await?;
            }
        }
        Ok(done)
    }
}

/// Compares an answer to [`Dialect::isolation_in_effect`] with the level that the sessions were set to, such as `READ COMMITTED`. Where they
/// differ, the results would be those of another level than the record says.
fn same_isolation(dialect: &dyn Dialect, question: IsolationQuestion, told: &str, answer: &Rows) -> Result<()> {
    if answer.is_empty() || answer.is_null(0, 0)? {
        return Ok(());
    }
    let found = answer.display(0, 0)?.to_uppercase();
    if found == told {
        return Ok(());
    }
    let name = dialect.name();
    let switch = question.switch.map(|switch| format!("{switch}, or ")).unwrap_or_default();
    let message =
        format!("perbuck asked for isolation level {told}, but {name} uses {found}; {switch}ask for the level that it uses");
    Err(DriverError::client(ErrorClass::Fatal, "isolation", message))
}

#[cfg(test)]
pub(super) mod tests {
    use std::collections::BTreeMap;

    use perbuck_load::share::Share;
    use perbuck_load::values::Rows;

    use super::*;
    use crate::testing::COCKROACH;

    pub(in crate::tpcc) fn scope(index: u32, warehouses: u32) -> Scope {
        Scope::of(TerminalId { index, of: 1, seed: Seed(1), share: Share::WHOLE }, warehouses, load_constant(Seed(2)))
    }

    #[test]
    fn ten_terminals_per_warehouse_sit_at_every_district_once() {
        let mut terminals = BTreeMap::new();
        for index in 0..70 {
            let scope = scope(index, 7);
            *terminals.entry((scope.warehouse, scope.district)).or_insert(0) += 1;
        }
        assert!(terminals.len() == 70 && terminals.values().all(|n| *n == 1));
        assert_eq!((scope(70, 7).warehouse, scope(70, 7).district), (1, 1), "and then from the start");
        let few: Vec<i64> = (0..3).map(|i| scope(i, 7).warehouse).collect();
        assert_eq!(few, [1, 2, 3]);
    }

    #[test]
    fn the_other_warehouse_is_any_but_the_own() {
        let mut rng = OpRng::new(Seed(3));
        let scope = scope(2, 5);
        let mut seen = [0u32; 6];
        for _ in 0..40_000 {
            seen[scope.other_warehouse(&mut rng) as usize] += 1;
        }
        assert_eq!((seen[0], seen[3]), (0, 0));
        assert!([1, 2, 4, 5].iter().all(|w| seen[*w].abs_diff(10_000) < 5 * 87), "{seen:?}");
        assert_eq!(self::scope(0, 1).other_warehouse(&mut rng), 1);
    }

    #[test]
    fn another_level_than_the_one_asked_for_is_an_error() {
        let answer = |level: Option<&str>| {
            let mut rows = Rows::default();
            rows.start(true);
            match level {
                Some(level) => rows.push_text(level.as_bytes()),
                None => rows.push_null(),
            }
            rows.end_row();
            rows
        };
        let told = |level, found| same_isolation(COCKROACH, COCKROACH.isolation_in_effect().unwrap(), level, &answer(found));
        assert!(told("READ COMMITTED", Some("read committed")).is_ok());
        assert!(told("READ COMMITTED", None).is_ok(), "it does not tell");
        let error = told("READ COMMITTED", Some("serializable")).unwrap_err();
        assert_eq!(error.class, ErrorClass::Fatal);
        assert!(error.message.contains("CockroachDB uses SERIALIZABLE; enable"), "{error}");
    }
}
