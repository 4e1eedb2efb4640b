//! The hot loop: what one terminal does from its first transaction to its last.
//!
//! Per operation [`drive`] reads the clock once, allocates nothing and writes to no memory that another thread reads; only
//! in an open loop with several workers does it take the lock of their queue (see [`crate::pacer`]).
//! What is rare in the life of a terminal is in [`crate::terminal`], what happens before and after to all terminals of a worker in
//! [`crate::lifecycle`].

use perbuck_core::rng::OpRng;
use perbuck_event::{rarely, sleep_until, timeout_at};

use crate::connection::Connection;
use crate::driver::Driver;
use crate::listed::Listed;
use crate::pacer::NextStart;
use crate::recorder::{Outcome, Sample};
use crate::terminal::TerminalTask;
use crate::totals::TerminalTotals;
use crate::trial::RunError;
use crate::workload::{Facts, Operation, Pauses, Terminal, Workload};

/// What a terminal has done; kept with its task and handed in when the task ends, however it does.
struct Tally<'a, D: Driver, W> {
    task: &'a TerminalTask<D, W>,
    totals: TerminalTotals,
}

impl<D: Driver, W> Tally<'_, D, W> {
    #[inline]
    fn count(&mut self, outcome: Outcome, started_ns: i64, ended_ns: i64) {
        self.totals.last_ended_ns = ended_ns;
        if outcome != Outcome::Failed && ended_ns >= 0 && ended_ns < self.task.common.window.length_ns {
            self.totals.transactions += 1;
            self.totals.busy_ns += (ended_ns - started_ns).max(0) as u64;
        }
    }
}

impl<D: Driver, W> Drop for Tally<'_, D, W> {
    fn drop(&mut self) {
        if let Some(totals) = self.task.common.terminals.borrow_mut().get_mut(self.task.position as usize) {
            *totals = self.totals;
        }
    }
}

/// The hot loop: wait for the next start, run a transaction to its end, write it down, until the window is over.
#[expect(clippy::manual_async_fn, reason = "an async fn holds each parameter twice: as given, and as the variable it becomes")]
pub(crate) fn drive<D: Driver, W: Workload>(
    task: TerminalTask<D, W>,
    mut terminal: W::Terminal,
    mut connection: Option<Connection<D::Session>>,
) -> impl Future<Output = Result<(), RunError>> {
    async move {
        let common = &*task.common;
        let (mut sequence, mut tally) = (0, Tally { task: &task, totals: TerminalTotals::default() });
        // The start is given a moment ahead, so that all start together.
        let mut now = task.idle_until(-common.window.warmup_ns).await;
        while task.may_go_on(now) || rarely(|| task.check_host(&mut now, &mut connection)).await {
            let (mut intended_ns, mut started_ns) = match task.next_start(now) {
                NextStart::Now if !common.ends && !task.beside => (now, now),
                NextStart::Now => match task.next_of_stream(&mut terminal, sequence).await {
                    Some(times) => times,
                    None => break,
                },
                NextStart::Due(at) => match task.await_arrival(at, now).await {
                    Some(started) => (at, started),
                    None => break,
                },
                NextStart::Idle(until) => {
                    now = task.idle_until(until).await;
                    continue;
                }
            };
            let mut operation = Operation { sequence, rng: task.stream(sequence, 0) };
            let (kind, mut pauses) = (terminal.kind(&operation), Pauses::default());
            if common.pauses {
                pauses = terminal.pauses(&operation);
                // The first one may be longer, so that terminals do not start in step: it is not counted.
                let Some(at) = task.begin_after(now, pauses.before_ns, (sequence > 0).then_some(kind)).await else { break };
                (intended_ns, started_ns) = (at, at);
            }
            if !task.takes_one(started_ns) {
                break;
            }
            let mut retries = 0;
            let (outcome, facts) = loop {
                let Some(open) = connection.as_mut() else { break (Outcome::Failed, Facts::default()) };
                let error = match terminal.transaction(open, &mut operation).await {
                    Ok(done) => break (if done.rolled_back { Outcome::RolledBack } else { Outcome::Committed }, done.facts),
                    Err(error) => error,
                };
                if !rarely(|| task.handle_error(&error, &mut connection, retries)).await? {
                    break (Outcome::Failed, Facts::default());
                }
                retries += 1;
                operation.rng = task.stream(sequence, if terminal.redraws() { retries } else { 0 });
            };
            let statements = connection.as_mut().map(Connection::take_counts).unwrap_or_default();
            if terminal.reconnects_after(sequence) {
                rarely(|| task.renew(&mut connection)).await?;
            }
            let finished_ns = common.window.now_ns();
            tally.count(outcome, started_ns, finished_ns);
            task.ended(Sample { kind, outcome, intended_ns, started_ns, finished_ns, statements, facts }, (sequence, retries));
            now = if connection.is_some() { finished_ns } else { rarely(|| task.reconnect(&mut connection)).await? };
            sequence += 1;
            if task.is_over(&terminal) {
                break;
            }
            if pauses.after_ns > 0 {
                now = task.think(now, pauses.after_ns, kind).await;
            }
        }
        let Some(open) = connection else { return Ok(()) };
        rarely(|| task.end(terminal, open)).await
    }
}

impl<D: Driver, W: Workload> TerminalTask<D, W> {
    /// When the next transaction of a stream is due and starts; `None` where it has none.
    async fn next_of_stream(&self, terminal: &mut W::Terminal, sequence: u64) -> Option<(i64, i64)> {
        let now_ns = self.await_next(terminal, sequence).await?;
        let Some(due) = terminal.due_ns(sequence) else { return Some((now_ns, now_ns)) };
        Some((due as i64, self.await_arrival(due as i64, now_ns).await?))
    }

    /// Whether the terminal ends by itself, which is counted.
    #[inline]
    fn is_over(&self, terminal: &W::Terminal) -> bool {
        let is_over = terminal.is_over();
        if is_over {
            self.common.over.set(self.common.over.get() + 1);
        }
        is_over
    }

    /// Whether nothing but the next transaction is to be done now.
    #[inline]
    fn may_go_on(&self, now_ns: i64) -> bool {
        now_ns < self.host.until_ns.get() && !self.common.stop.requested()
    }

    /// When the next transaction starts; no schedule says so of what runs beside the load.
    #[inline]
    fn next_start(&self, now_ns: i64) -> NextStart {
        let common = &self.common;
        if self.beside { NextStart::Now } else { common.pacer.next_start(&common.window, self.index, now_ns) }
    }

    /// Whether the limit of transactions leaves one to start. What runs beside the load counts for none, and ends with it.
    #[inline]
    fn takes_one(&self, started_ns: i64) -> bool {
        let limit = &self.common.limit;
        if self.beside { !limit.exhausted() } else { started_ns < 0 || limit.take() }
    }

    /// The random stream of an attempt; the first has number 0.
    #[inline]
    fn stream(&self, sequence: u64, attempt: u32) -> OpRng {
        self.streams.at(sequence | u64::from(attempt) << 40)
    }

    /// Waits until an arrival is due and starts it; `None` where the window closed first.
    #[inline]
    async fn await_arrival(&self, due_ns: i64, mut now_ns: i64) -> Option<i64> {
        self.common.taken.borrow_mut()[self.position as usize] = Some(due_ns);
        let free = due_ns > now_ns;
        if free {
            now_ns = self.idle_until(due_ns).await;
        }
        if now_ns >= self.common.window.length_ns || self.common.stop.requested() {
            return None;
        }
        self.common.recorder.borrow_mut().started(due_ns, now_ns, free);
        Some(now_ns)
    }

    /// Waits until a terminal with a last transaction may start the next one; `None` where it has none, or the window closed first.
    async fn await_next(&self, terminal: &mut W::Terminal, sequence: u64) -> Option<i64> {
        let common = &self.common;
        self.idle(timeout_at(common.window.moment(common.window.length_ns), terminal.may_start(sequence)))
            .await
            .is_ok_and(|has_one| has_one && !common.stop.requested())
            .then(|| common.window.now_ns())
    }

    /// Writes a transaction down. Its arrival has ended, if the load has any.
    #[inline]
    fn ended(&self, sample: Sample, (number, retries): (u64, u32)) {
        let Sample { outcome, started_ns, finished_ns, .. } = sample;
        self.common.recorder.borrow_mut().record(sample);
        if let Some(list) = &self.common.list {
            let error = self.failed.take().filter(|_| outcome == Outcome::Failed);
            list.borrow_mut().add(Listed { terminal: self.index, number, sample, retries, error });
        }
        if !self.beside {
            let counts = outcome != Outcome::Failed || self.common.workload.counts_failed();
            self.common.limit.ended(counts, started_ns, finished_ns);
        }
        if let Some(taken) = self.common.taken.borrow_mut().get_mut(self.position as usize) {
            *taken = None;
        }
    }

    /// Pauses before a transaction, which is asked for from then on; `None` where the window closed first. The pause counts
    /// for its kind, if one is given.
    async fn begin_after(&self, now_ns: i64, length_ns: u64, kind: Option<u8>) -> Option<i64> {
        let at = self.pause(now_ns, length_ns).await;
        if let Some(kind) = kind {
            self.common.recorder.borrow_mut().paused(kind, true, at - now_ns, at);
        }
        let begins = at < self.common.window.length_ns && !self.common.stop.requested();
        self.common.taken.borrow_mut()[self.position as usize] = begins.then_some(at);
        begins.then_some(at)
    }

    async fn think(&self, now_ns: i64, length_ns: u64, kind: u8) -> i64 {
        let at = self.pause(now_ns, length_ns).await;
        self.common.recorder.borrow_mut().paused(kind, false, at - now_ns, at);
        at
    }

    /// Lets time pass outside of any transaction, until the window closes at the latest.
    async fn pause(&self, now_ns: i64, length_ns: u64) -> i64 {
        let until = now_ns.saturating_add(i64::try_from(length_ns).unwrap_or(i64::MAX));
        self.idle_until(until.min(self.common.window.length_ns)).await
    }

    async fn idle_until(&self, at_ns: i64) -> i64 {
        self.idle(sleep_until(self.common.window.moment(at_ns))).await;
        self.common.window.now_ns()
    }

    /// Waits with no transaction in flight.
    async fn idle<T>(&self, wait: impl Future<Output = T>) -> T {
        let idle = &self.common.idle;
        idle.set(idle.get() + 1);
        if self.common.is_ending() {
            self.common.draining.wake();
        }
        let waited = wait.await;
        idle.set(idle.get() - 1);
        waited
    }
}
