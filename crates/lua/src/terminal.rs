//! A terminal: one state of Lua, whose coroutine runs events and asks for statements.

use std::sync::Arc;
use std::time::Duration;

use perbuck_load::connection::Connection;
use perbuck_load::driver::{Effect, Session};
use perbuck_load::error::{DriverError, ErrorClass, ErrorCode};
use perbuck_load::window::Window;
use perbuck_load::workload::{Done, Operation, Terminal, TerminalId};

use crate::connections::{Connections, Prepared, known, verb};
use crate::draws::Draws;
use crate::limit::{self, ENDED, Most};
use crate::raw::{Asked, Coroutine, Resumed};
use crate::script::LuaScript;
use crate::state::{State, Thread, asks, jobs, refused, words};

/// How long after its window a script that still runs is ended, in nanoseconds.
const AFTER_WINDOW_NS: i64 = 1_000_000_000;

type Result<T, E = DriverError> = std::result::Result<T, E>;

/// A state with its coroutine. The coroutine is dropped first.
struct Machine {
    coroutine: Coroutine,
    state: State,
}

/// One terminal of a script.
pub struct LuaTerminal {
    script: Arc<LuaScript>,
    id: TerminalId,
    driver: &'static str,
    machine: Option<Box<Machine>>,
    own: Connections,
    /// Text of the query that is sent.
    query: String,
    /// Text of the cell that is read.
    cell: Vec<u8>,
    /// The failure that the script was told of last.
    failure: Option<DriverError>,
    /// When the script is ended at the latest, by the monotonic clock.
    until_ns: i64,
    /// Whether a hook of the script says that the last failure is ignored.
    hooked: bool,
    over: bool,
}

/// How a job ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Ended {
    /// Whether it returned something, which ends the thread of an event.
    returned: bool,
    /// Whether it asked for anything.
    asked: bool,
}

impl LuaTerminal {
    pub(crate) fn new(script: Arc<LuaScript>, id: TerminalId, driver: &'static str) -> Self {
        Self {
            hooked: false,
            script,
            id,
            driver,
            machine: None,
            own: Connections::default(),
            query: String::new(),
            cell: Vec::new(),
            failure: None,
            until_ns: i64::MAX,
            over: false,
        }
    }

    /// Makes the state, and initialises the thread of the script.
    async fn boot<S: Session>(&mut self, connection: &mut Connection<S>) -> Result<()> {
        let failed = |message: String| DriverError::client(ErrorClass::Fatal, "lua", message);
        limit::watch_this_thread().map_err(failed)?;
        let runs = self.script.applies_load();
        // A command with one thread runs in sysbench's main thread, which has no number.
        let thread = Thread { number: (runs || self.id.of > 1).then_some(self.id.index), of: self.id.of };
        let draws = Draws::new(self.script.random.clone(), self.id.seed, (self.id.index, self.id.of));
        let state = State::new(&self.script, self.driver, thread, draws).map_err(failed)?;
        let mut coroutine = state.coroutine().map_err(|e| failed(words(&e)))?;
        if coroutine.resume(true, &[i64::from(self.id.index)], self.most(&state)) == Resumed::Over {
            return Err(failed(coroutine.failure()));
        }
        self.own.renew(state.reads_rows(), connection).await?;
        self.machine = Some(Box::new(Machine { coroutine, state }));
        if runs { self.run(jobs::THREAD_INIT, connection).await.map(drop) } else { Ok(()) }
    }

    #[inline]
    fn most(&self, state: &State) -> Most {
        Most { until_ns: self.until_ns, held_kib: state.shared.most_kib() }
    }

    /// Runs a job to its end.
    async fn run<S: Session>(&mut self, job: i64, connection: &mut Connection<S>) -> Result<Ended> {
        let Some(mut machine) = self.machine.take() else {
            return Err(DriverError::client(ErrorClass::Fatal, "lua", "the script has no state"));
        };
        let ended = self.steps(&mut machine, job, connection).await;
        // A coroutine that was ended outside of its own protection runs nothing any more.
        if !matches!(ended, Err(ref error) if error.code == ErrorCode::Word("client", ENDED_CODE)) {
            self.machine = Some(machine);
        }
        ended
    }

    async fn steps<S: Session>(&mut self, machine: &mut Machine, job: i64, connection: &mut Connection<S>) -> Result<Ended> {
        let mut reply = [job, 0, 0];
        let mut asked = false;
        loop {
            machine.state.enter();
            let resumed = machine.coroutine.resume(false, &reply, self.most(&machine.state));
            let code = if resumed == Resumed::Yielded { machine.coroutine.number(1) } else { 0 };
            match code {
                asks::EXECUTE => {
                    let answer = self.execute(machine, connection).await;
                    reply = answer.or_else(|error| self.refused(machine, error))?;
                }
                asks::DONE => return Ok(Ended { returned: machine.coroutine.number(2) == 1, asked }),
                asks::RESTART => return Err(self.restarts(machine.coroutine.number(2) == 1)),
                asks::FAILED => {
                    let text = String::from_utf8_lossy(machine.coroutine.text(2)).into_owned();
                    return Err(self.failed(text));
                }
                0 => return Err(self.over(machine.coroutine.failure())),
                _ => {
                    let answer = self.seldom(code, machine, connection).await;
                    reply = answer.or_else(|error| self.refused(machine, error))?;
                }
            }
            asked = true;
        }
    }

    /// The failure after which the event starts again, as sysbench does after each that is ignored.
    #[cold]
    fn restarts(&mut self, hooked: bool) -> DriverError {
        self.hooked = hooked;
        match self.failure.take() {
            Some(failure) if failure.class == ErrorClass::Lost => failure,
            Some(failure) => failure.with_class(ErrorClass::Retry),
            None => script_failed("the script restarts an event that no error of the database ended"),
        }
    }

    /// Runs an event, also where a hook of the script makes an error one that is ignored: the engine knows nothing of those.
    async fn event<S: Session>(&mut self, connection: &mut Connection<S>) -> Result<Ended> {
        loop {
            let ended = self.run(jobs::EVENT, connection).await;
            if !std::mem::take(&mut self.hooked) || limit::now_ns() >= self.until_ns {
                return ended;
            }
            connection.rollback_all().await?;
        }
    }

    /// What the end of the coroutine itself means.
    #[cold]
    fn over(&self, message: String) -> DriverError {
        DriverError::client(ErrorClass::Failed, ENDED_CODE, message)
    }

    /// What an error of the script means that it did not catch: that of the database that caused it, or its own.
    #[cold]
    fn failed(&mut self, text: String) -> DriverError {
        match self.failure.take() {
            Some(failure) if text.contains(&failure.message) => failure,
            _ if text.contains(ENDED) || text.contains("not enough memory") => {
                DriverError::client(ErrorClass::Failed, ENDED_CODE, text)
            }
            _ => script_failed(&text),
        }
    }

    #[inline]
    async fn execute<S: Session>(&mut self, machine: &Machine, connection: &mut Connection<S>) -> Result<[i64; 3]> {
        let stack = &machine.coroutine;
        let answer = match self.own.switch_to_statement(stack.number(2), connection)? {
            Some(Prepared::Known(id)) => {
                let params = connection.bind();
                for at in 3..=stack.count() {
                    match stack.value(at) {
                        Asked::Number(number) => params.int(number as i64),
                        Asked::Text(text) => params.text(text),
                        Asked::Nil | Asked::Other => params.null(),
                    };
                }
                connection.execute(id).await
            }
            Some(word) => word.control(connection).await,
            None => Err(script_failed("the script executes a statement of a connection that it has closed, or opened again")),
        };
        answer.map(|effect| told(effect, connection))
    }

    /// Tells the script of a failure of the database.
    #[cold]
    fn refused(&mut self, machine: &mut Machine, error: DriverError) -> Result<[i64; 3]> {
        let status = if self.script.tolerance.tolerates(&error) { refused::IGNORABLE } else { refused::FATAL };
        // Without memory for the words its coroutine cannot go on.
        machine.state.tell(&error).map_err(|e| self.over(words(&e)))?;
        self.failure = Some(error);
        Ok([status, 0, 0])
    }

    #[cold]
    async fn seldom<S: Session>(&mut self, code: i64, machine: &Machine, connection: &mut Connection<S>) -> Result<[i64; 3]> {
        let stack = &machine.coroutine;
        match code {
            asks::QUERY => {
                self.take_query(stack.text(2))?;
                connection.switch_to(stack.number(3) as usize)?;
                let answer = match known(&self.query) {
                    Some(word) => word.control(connection).await,
                    None => connection.text(verb(&self.query), &self.query).await,
                };
                answer.map(|effect| told(effect, connection))
            }
            asks::PREPARE => {
                self.take_query(stack.text(2))?;
                connection.switch_to(stack.number(3) as usize)?;
                self.own.prepare(&self.query, connection).await.map(|handle| [0, handle, 0])
            }
            asks::FETCH => {
                let row = stack.number(2) as usize;
                connection.switch_to(stack.number(3) as usize)?;
                let rows = connection.rows();
                for column in 0..rows.width() {
                    self.cell.clear();
                    let cell = rows.write(row, column, &mut self.cell)?.then_some(&*self.cell);
                    machine.state.put_cell(column, cell).map_err(|e| script_failed(&words(&e)))?;
                }
                Ok([0, rows.width() as i64, 0])
            }
            asks::SLEEP => {
                perbuck_event::sleep(Duration::from_micros(stack.number(2).max(0) as u64)).await;
                Ok([0; 3])
            }
            asks::CONNECT if self.script.serverless => Err(script_failed(
                "the script connects to a database by a name that its text does not hold; write sysbench.sql there",
            )),
            asks::CONNECT => self.own.connect(connection).await.map(|number| [0, number as i64, 0]),
            asks::CLOSE => {
                let number = stack.number(2) as usize;
                self.own.forget(number, true);
                connection.close_one(number).await;
                Ok([0; 3])
            }
            _ => {
                let number = stack.number(2) as usize;
                self.own.forget(number, false);
                connection.reconnect(number).await.map(|()| [0; 3])
            }
        }
    }

    fn take_query(&mut self, text: &[u8]) -> Result<()> {
        self.query.clear();
        let text = std::str::from_utf8(text).map_err(|e| script_failed(&format!("a query is no UTF-8 text: {e}")))?;
        self.query.push_str(text);
        Ok(())
    }
}

/// The word under which a script that was ended is counted.
const ENDED_CODE: &str = "lua ended";

#[cold]
fn script_failed(message: &str) -> DriverError {
    DriverError::client(ErrorClass::Fatal, "lua", message)
}

/// What a script is told of a statement that succeeded.
#[inline]
fn told<S: Session>(effect: Effect, connection: &Connection<S>) -> [i64; 3] {
    match effect {
        Effect::ResultSet => [1, connection.rows().len() as i64, connection.rows().width() as i64],
        Effect::Affected(rows) => [0, rows as i64, 0],
    }
}

impl Terminal for LuaTerminal {
    async fn start<S: Session>(&mut self, connection: &mut Connection<S>) -> Result<()> {
        if !self.script.applies_load() {
            // To build an index takes longer than any transaction.
            connection.lift_timeout();
        }
        self.boot(connection).await
    }

    async fn finish<S: Session>(&mut self, connection: &mut Connection<S>) -> Result<()> {
        if self.script.applies_load() && self.machine.is_some() {
            self.until_ns = limit::now_ns() + AFTER_WINDOW_NS;
            if self.own.are_lost(connection)
                && let Err(error) = self.own.restore(connection).await
            {
                let line = format!("ALERT: thread_done of thread {} is left out: {error}", self.id.index);
                self.script.console.log(line.as_bytes());
                return Ok(());
            }
            self.run(jobs::THREAD_DONE, connection).await?;
        }
        Ok(())
    }

    fn window(&mut self, window: &Window) {
        let left_ns = window.length_ns.saturating_sub(window.now_ns());
        self.until_ns = limit::now_ns().saturating_add(left_ns).saturating_add(AFTER_WINDOW_NS);
    }

    fn kind(&mut self, _operation: &Operation) -> u8 {
        0
    }

    async fn transaction<S: Session>(&mut self, connection: &mut Connection<S>, operation: &mut Operation) -> Result<Done> {
        if self.machine.is_none() {
            self.boot(connection).await?;
        }
        if self.own.are_lost(connection) {
            self.own.restore(connection).await?;
        }
        if let Some(machine) = &mut self.machine {
            machine.state.draws.get().draw_from(operation.rng.clone());
        }
        let runs = self.script.applies_load();
        let ended = if runs { self.event(connection).await? } else { self.run(jobs::COMMAND, connection).await? };
        self.over = ended.returned || !runs;
        if !ended.asked {
            // Terminals of the same thread want to work, too.
            perbuck_event::yield_now().await;
        }
        Ok(Done::committed(0))
    }

    fn redraws(&self) -> bool {
        true
    }

    fn is_over(&self) -> bool {
        self.over
    }
}
