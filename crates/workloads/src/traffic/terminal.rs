//! What a connection does: the transactions of its sessions, one after the other.

use std::sync::Arc;

use perbuck_load::connection::Connection;
use perbuck_load::driver::{Access, Effect, Session};
use perbuck_load::error::{DriverError, ErrorClass, ErrorCode};
use perbuck_load::statement::StatementId;
use perbuck_load::window::Window;
use perbuck_load::workload::{Done, Operation, Terminal};

use super::deal::Due;
use super::in_order::InOrder;
use super::lex::{Quotes, template};
use super::recording::{Act, NONE, Recording, Step};
use crate::Result;

/// One connection of recorded traffic.
#[derive(Debug)]
pub struct TrafficTerminal {
    recording: Option<Arc<Recording>>,
    mine: Arc<[Due]>,
    /// Where sessions keep their order among each other.
    order: Option<InOrder>,
    timed: bool,
    access: Access,
    log: Arc<str>,
}

impl TrafficTerminal {
    pub(super) fn new(
        recording: Option<Arc<Recording>>,
        mine: Arc<[Due]>,
        order: Option<InOrder>,
        (timed, access): (bool, Access),
        log: Arc<str>,
    ) -> Self {
        let terminal = Self { recording, mine, order, timed, access, log };
        terminal.next_is(0);
        terminal
    }

    /// The statements of the transaction with this number.
    #[inline]
    fn steps(&self, sequence: u64) -> &[Step] {
        let Some((recording, due)) = self.recording.as_ref().zip(self.mine.get(sequence as usize)) else { return &[] };
        recording.sessions.get(due.session as usize).map_or(&[], |session| session.steps_of(due.position as usize))
    }

    /// Tells other terminals that the transaction with this number comes next.
    #[inline]
    fn next_is(&self, sequence: u64) {
        if let Some(order) = &self.order {
            order.before(self.steps(sequence).first());
        }
    }
}

/// What the statements of a transaction have counted: those that were compared, and those with another number of rows.
type Compared = [u16; 2];

impl Terminal for TrafficTerminal {
    async fn start<S: Session>(&mut self, _connection: &mut Connection<S>) -> Result<()> {
        if self.recording.is_some() {
            return Ok(());
        }
        let message =
            format!("{} was not read: a study that was kept has its summary alone; run the study beside the log", self.log);
        Err(DriverError::client(ErrorClass::Fatal, "recording", message))
    }

    fn window(&mut self, window: &Window) {
        if let Some(order) = &mut self.order {
            order.window(window);
        }
    }

    async fn may_start(&mut self, sequence: u64) -> bool {
        sequence < self.mine.len() as u64
    }

    fn due_ns(&mut self, sequence: u64) -> Option<u64> {
        self.mine.get(sequence as usize).filter(|_| self.timed).map(|due| due.due_ns)
    }

    #[inline]
    fn kind(&mut self, operation: &Operation) -> u8 {
        let due = self.mine.get(operation.sequence as usize);
        let recorded =
            self.recording.as_ref().zip(due).and_then(|(recording, due)| {
                recording.sessions.get(due.session as usize)?.transactions.get(due.position as usize)
            });
        recorded.map_or(0, |transaction| transaction.kind)
    }

    async fn transaction<S: Session>(&mut self, connection: &mut Connection<S>, operation: &mut Operation) -> Result<Done> {
        let kind = self.kind(operation);
        let nothing = Ok(Done::committed(kind));
        let (Some(recording), Some(due)) = (&self.recording, self.mine.get(operation.sequence as usize)) else {
            return nothing;
        };
        let Some(session) = recording.sessions.get(due.session as usize) else { return nothing };
        let rolled_back = session.transactions.get(due.position as usize).is_some_and(|t| t.rolled_back);
        let after = self.mine.get(operation.sequence as usize + 1);
        let after = after.and_then(|due| recording.sessions.get(due.session as usize)?.steps_of(due.position as usize).first());
        let steps = session.steps_of(due.position as usize);
        let sent = send_all(recording, connection, (steps, after), self.order.as_mut(), self.access).await;
        // Of a transaction that failed no other one waits for the rest.
        self.next_is(operation.sequence + 1);
        let [compared, diverged] = sent.map_err(of_the_target)?;
        // A transaction that failed has no facts: what its statements waited counts with the next one.
        let [held_ms, overtook] = self.order.as_mut().map(InOrder::count).unwrap_or_default();
        Ok(Done { kind, rolled_back, facts: [compared, diverged, held_ms, overtook] })
    }
}

/// Sends the statements of a transaction, each in its order; `after` is the first one of the next.
#[inline]
async fn send_all<S: Session>(
    recording: &Recording,
    connection: &mut Connection<S>,
    (steps, after): (&[Step], Option<&Step>),
    mut order: Option<&mut InOrder>,
    access: Access,
) -> Result<Compared> {
    let (mut compared, mut diverged, mut holds) = (0_u16, 0_u16, false);
    for (position, step) in steps.iter().enumerate() {
        let next = steps.get(position + 1).or(after);
        if let Some(order) = &mut order {
            order.wait((step, holds), next).await;
            holds |= step.acts;
        }
        let rows = send(recording, connection, step, access).await?;
        if let Some(order) = order.as_ref().filter(|_| step.acts) {
            order.before(next);
        }
        if let Some(rows) = rows.filter(|_| step.rows != NONE) {
            compared = compared.saturating_add(1);
            diverged = diverged.saturating_add(u16::from(rows != u64::from(step.rows)));
        }
    }
    Ok([compared, diverged])
}

/// Sends a statement; how many rows it returned or changed.
#[inline]
async fn send<S: Session>(
    recording: &Recording,
    connection: &mut Connection<S>,
    step: &Step,
    access: Access,
) -> Result<Option<u64>> {
    let effect = match step.act {
        Act::Begin => return connection.begin(access).await.map(|()| None),
        Act::Commit => return connection.commit().await.map(|()| None),
        Act::Rollback => return connection.rollback().await.map(|()| None),
        Act::Text(number) => connection.text(step.verb, recording.texts.get(number)).await?,
        Act::Prepared(number, values) => {
            let count = recording.counts.get(number as usize).copied().unwrap_or(0);
            let params = connection.bind();
            for value in recording.values.from(values).take(usize::from(count)) {
                match value {
                    Some(text) => params.text(text),
                    None => params.null(),
                };
            }
            connection.execute(StatementId(number as u16)).await?
        }
    };
    Ok(Some(match effect {
        Effect::ResultSet => connection.rows().len(),
        Effect::Affected(rows) => rows,
    }))
}

/// An error of one statement ends its transaction and not the run: another one of the log may succeed. Values of the log do not get into
/// records by its message.
#[cold]
fn of_the_target(error: DriverError) -> DriverError {
    let own = matches!(error.code, ErrorCode::Word("client", _));
    let class = match error.class {
        ErrorClass::Fatal | ErrorClass::Refused if !own => ErrorClass::Failed,
        class => class,
    };
    let (code, cause) = (error.code, error.cause);
    DriverError::new(class, code, template(&error.into_message(), Quotes::Standard)).because(cause)
}
