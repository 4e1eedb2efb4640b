//! The terminals of a trial. One runs the power test (5.3.3) and then waits out the throughput test (5.3.4), in which each connection of the load
//! is a stream of queries and one more terminal runs the refresh functions.

use std::sync::Arc;

use perbuck_core::units::Seed;
use perbuck_database::Dialect;
use perbuck_load::connection::Connection;
use perbuck_load::driver::Session;
use perbuck_load::error::{DriverError, ErrorClass};
use perbuck_load::latch::Latch;
use perbuck_load::statement::{Catalogue, Verb};
use perbuck_load::workload::{Done, Facts, Operation, Terminal, TerminalId, Workload};

use super::kinds::{FACTS, KINDS, POWER_Q1, POWER_RF1, POWER_RF2, Q1, RF1, RF2, THROUGHPUT};
use super::queries::{self, Answer, Difference, Substitution};
use super::refresher::Refresher;
use super::{Options, Values};
use crate::Result;

/// TPC-H of one size, in one dialect.
#[derive(Debug)]
pub struct Tpch {
    options: Options,
    dialect: &'static dyn Dialect,
    catalogue: Arc<Catalogue>,
    answers: Answers,
}

/// The right answer of each query with the values of validation, where they are wanted; or why they cannot be read.
type Answers = Arc<Result<Vec<Answer>, String>>;

impl Tpch {
    /// The workload for `options`.
    pub fn new(options: Options, dialect: &'static dyn Dialect) -> Self {
        let mut catalogue = Catalogue::default();
        dialect.statement_limit(options.limit_s).into_iter().for_each(|sql| catalogue.add_opening(sql));
        let answers =
            if options.substitution == Values::Validation { queries::right_answers(options.scale) } else { Ok(Vec::new()) };
        Self { options, dialect, catalogue: Arc::new(catalogue), answers: Arc::new(answers) }
    }
}

impl Workload for Tpch {
    type Terminal = TpchTerminal;

    fn catalogue(&self) -> Arc<Catalogue> {
        Arc::clone(&self.catalogue)
    }

    fn kinds(&self) -> Vec<&str> {
        KINDS.to_vec()
    }

    fn fact_names(&self) -> &'static [&'static [&'static str]] {
        &FACTS
    }

    /// A query is sent as often as was asked, whatever the answer is: a wrong one would be wrong again.
    fn counts_failed(&self) -> bool {
        true
    }

    /// That of the power test, and that of the refresh stream.
    fn extra_terminals(&self) -> u32 {
        self.options.connections_beside()
    }

    fn terminal(&self, id: TerminalId) -> TpchTerminal {
        let role = match id.index.checked_sub(id.of) {
            None if self.options.queries.is_empty() => Role::Stream(id.index as usize + 1),
            None => Role::Round(id.index as usize),
            Some(0) => Role::Power,
            Some(_) => Role::Refresh,
        };
        TpchTerminal {
            role,
            streams: id.of,
            seed: id.seed,
            options: self.options.clone(),
            dialect: self.dialect,
            answers: Arc::clone(&self.answers),
            latch: Latch::default(),
            refresher: Refresher::new(self.options.scale),
        }
    }
}

/// What a terminal does in the trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// The power test as stream 0, and then the time of the throughput test.
    Power,
    /// The queries of a stream of the throughput test, numbered from 1.
    Stream(usize),
    /// The refresh functions of the throughput test, a pair for each stream.
    Refresh,
    /// Chosen queries, round after round. The terminal with this number starts with the query at that position.
    Round(usize),
}

/// What one operation of a terminal is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// Query of that number, in a stream.
    Query(usize),
    Insert,
    Delete,
    Throughput,
}

/// One terminal.
#[derive(Debug)]
pub struct TpchTerminal {
    role: Role,
    streams: u32,
    seed: Seed,
    options: Options,
    dialect: &'static dyn Dialect,
    answers: Answers,
    latch: Latch,
    refresher: Refresher,
}

impl TpchTerminal {
    /// The operation with this number; `None` after the last.
    fn step(&self, sequence: u64) -> Option<Step> {
        let at = usize::try_from(sequence).ok()?;
        match self.role {
            Role::Stream(stream) => queries::order(stream).get(at).map(|number| Step::Query(usize::from(*number))),
            Role::Round(first) => Some(Step::Query(self.options.queries[(first + at) % self.options.queries.len()])),
            Role::Refresh => {
                let kind = if at.is_multiple_of(2) { Step::Insert } else { Step::Delete };
                (at < 2 * self.streams as usize).then_some(kind)
            }
            Role::Power => {
                let queries = queries::order(0).iter().map(|number| Step::Query(usize::from(*number)));
                let around = |step| self.options.refresh.then_some(step);
                let all = around(Step::Insert).into_iter().chain(queries).chain(around(Step::Delete)).chain([Step::Throughput]);
                all.into_iter().nth(at)
            }
        }
    }

    fn kind_of(&self, step: Step) -> u8 {
        match (step, self.role == Role::Power) {
            (Step::Query(number), true) => POWER_Q1 + number as u8 - 1,
            (Step::Query(number), false) => Q1 + number as u8 - 1,
            (Step::Insert, true) => POWER_RF1,
            (Step::Insert, false) => RF1,
            (Step::Delete, true) => POWER_RF2,
            (Step::Delete, false) => RF2,
            (Step::Throughput, _) => THROUGHPUT,
        }
    }

    /// The steps on the latch after which the throughput test is over: its start, and the end of each stream.
    fn all_ended(&self) -> u32 {
        1 + self.streams + u32::from(self.options.refresh)
    }

    /// The values of a query that is the operation with this number.
    fn values(&self, number: usize, sequence: u64) -> Substitution {
        let scale = self.options.scale;
        let (stream, round) = match self.role {
            Role::Stream(stream) => (stream as u64, 0),
            Role::Round(first) => (first as u64 + 1, sequence / self.options.queries.len() as u64),
            Role::Power | Role::Refresh => (0, 0),
        };
        match self.options.substitution {
            Values::Random => Substitution::drawn(number, &mut queries::numbers(self.seed, stream, round, number), scale),
            Values::Validation => Substitution::validation(number, scale),
            Values::GoTpc => Substitution::go_tpc(number, scale),
        }
    }

    async fn query<S: Session>(&self, connection: &mut Connection<S>, number: usize, sequence: u64) -> Result<Facts> {
        let values = self.values(number, sequence);
        let sql = queries::statement(&values, self.dialect);
        let rows = connection.run(Verb::Select, &sql, self.options.limit()).await?;
        let right = self.answers.as_ref().as_ref().map_err(|why| damaged(why))?;
        let checked = match right.get(number - 1) {
            Some(right) => {
                queries::compare(number, right, rows, self.dialect).map_err(|difference| wrong(&values, number, &difference))?;
                1
            }
            None => 0,
        };
        let digest = queries::digest(number, rows, self.dialect).map_err(|difference| wrong(&values, number, &difference))?;
        Ok([checked, (digest >> 32) as u16, (digest >> 16) as u16, digest as u16])
    }
}

/// The right answers are a part of the program.
fn damaged(why: &str) -> DriverError {
    DriverError::client(
        ErrorClass::Fatal,
        "right answers",
        format!("the right answers cannot be read: {why}; this is a defect of perbuck"),
    )
}

/// A wrong answer is a failed query, however fast it was (2.1.3).
fn wrong(values: &Substitution, number: usize, difference: &Difference) -> DriverError {
    let values: Vec<String> = values.listed().into_iter().map(|(name, value)| format!("{name} = {value}")).collect();
    let message = format!("the answer of Q{number} with {} is wrong: {difference}", values.join(", "));
    DriverError::client(ErrorClass::Failed, "wrong answer", message)
}

impl Terminal for TpchTerminal {
    async fn start<S: Session>(&mut self, connection: &mut Connection<S>) -> Result<()> {
        let validates = self.options.substitution == Values::Validation && matches!(self.role, Role::Power | Role::Round(0));
        if validates || matches!(self.role, Role::Power | Role::Refresh) {
            self.refresher.find_set(connection).await?;
        }
        if validates {
            self.refresher.is_fresh()?;
        }
        // The first update set of the trial is that of the power test.
        self.refresher.skip(u32::from(self.role == Role::Refresh));
        Ok(())
    }

    fn join(&mut self, latch: Latch) {
        self.latch = latch;
    }

    async fn may_start(&mut self, sequence: u64) -> bool {
        let step = self.step(sequence);
        match (self.role, step) {
            (_, None) if self.role != Role::Power => self.latch.step(),
            (_, Some(Step::Throughput)) => self.latch.step(),
            (Role::Stream(_) | Role::Refresh, Some(_)) if sequence == 0 => self.latch.reached(1).await,
            _ => {}
        }
        step.is_some()
    }

    fn kind(&mut self, operation: &Operation) -> u8 {
        self.step(operation.sequence).map_or(THROUGHPUT, |step| self.kind_of(step))
    }

    async fn transaction<S: Session>(&mut self, connection: &mut Connection<S>, operation: &mut Operation) -> Result<Done> {
        let step = self.step(operation.sequence).unwrap_or(Step::Throughput);
        self.refresher.next(operation.sequence);
        let facts = match step {
            Step::Query(number) => self.query(connection, number, operation.sequence).await?,
            Step::Insert => self.refresher.insert(connection).await?,
            Step::Delete => self.refresher.delete(connection, self.options.limit()).await?,
            Step::Throughput => {
                self.latch.reached(self.all_ended()).await;
                Facts::default()
            }
        };
        Ok(Done { facts, ..Done::committed(self.kind_of(step)) })
    }
}

#[cfg(test)]
mod tests {
    use perbuck_core::rng::OpRng;
    use perbuck_load::share::Share;

    use super::*;
    use crate::testing::SQLITE;
    use crate::tpch::QUERIES;

    fn terminal(index: u32, refresh: bool) -> TpchTerminal {
        let options = Options { refresh, ..Options::default() };
        Tpch::new(options, SQLITE).terminal(TerminalId { index, of: 2, seed: Seed(1), share: Share::WHOLE })
    }

    #[test]
    fn each_terminal_has_its_part_of_the_trial() {
        let kinds = |mut terminal: TpchTerminal| -> Vec<&str> {
            let of = |sequence| {
                terminal.step(sequence)?;
                Some(KINDS[usize::from(terminal.kind(&Operation { sequence, rng: OpRng::new(Seed(1)) }))])
            };
            (0..).map_while(of).collect()
        };
        let power = kinds(terminal(2, true));
        assert_eq!(
            (power.len(), power[0], power[1], power[23], power[24]),
            (25, "power RF1", "power Q14", "power RF2", "throughput test")
        );
        let mut read = kinds(terminal(2, false));
        assert_eq!((read.len(), read[22]), (23, "throughput test"));
        read.sort_unstable();
        read.dedup();
        assert_eq!(read.len(), QUERIES + 1);
        let (first, second) = (kinds(terminal(0, true)), kinds(terminal(1, true)));
        assert_eq!((first.len(), first[0], second[0]), (22, "Q21", "Q6"), "Appendix A");
        assert_eq!(kinds(terminal(3, true)), ["RF1", "RF2", "RF1", "RF2"]);
    }

    #[test]
    fn terminals_of_chosen_queries_start_at_different_ones_and_walk_on_in_their_order() {
        let options = Options { queries: vec![1, 6, 14], refresh: false, ..Options::default() };
        let tpch = Tpch::new(options, SQLITE);
        assert_eq!(tpch.extra_terminals(), 0);
        let steps = |index| {
            let terminal = tpch.terminal(TerminalId { index, of: 4, seed: Seed(1), share: Share::WHOLE });
            (0..4).filter_map(|sequence| terminal.step(sequence)).collect::<Vec<_>>()
        };
        assert_eq!(
            [steps(0), steps(1), steps(3)],
            [[1, 6, 14, 1], [6, 14, 1, 6], [1, 6, 14, 1]].map(|all| all.map(Step::Query).to_vec())
        );
        let terminal = tpch.terminal(TerminalId { index: 0, of: 1, seed: Seed(1), share: Share::WHOLE });
        assert_ne!(terminal.values(6, 1), terminal.values(6, 4), "each round draws its own");
    }
}
