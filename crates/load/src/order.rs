//! Terminals that keep an order among each other where they are late: what is sent waits for what should have come before it.
//!
//! Each terminal says what it does next and when that is due. A statement waits for those of other terminals that are due earlier, and due by
//! now. For an answer it waits only where that statement was sent late, and no longer than the two are apart by the schedule: a slow answer alone
//! holds no other terminal until the next statement of its own is due, and none that may hold what it waits for. So nothing waits in a trial that
//! keeps its times.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use perbuck_event::{Moment, Waiters, timeout_at};

use crate::window::Window;

/// How long a statement waits for others at most.
pub const LIMIT: Duration = Duration::from_secs(1);
/// How long it waits while no terminal does anything: then what it waits for may wait for it, by a lock on the server.
pub const STANDSTILL: Duration = Duration::from_millis(100);
/// How often it looks whether any does.
const LOOK: Duration = Duration::from_millis(20);

/// What a terminal does next, in microseconds of the schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// It sends a statement.
    Sends(u64),
    /// It has an answer.
    Answered(Answer),
    /// Nothing that others wait for.
    Nothing,
}

/// The answer of a statement that others see the effect of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// When it is due.
    pub due_us: u64,
    /// How late its statement was sent.
    pub late_us: u64,
    /// When the terminal sends its next statement, if it does.
    pub then_us: Option<u64>,
}

/// Where a statement stands, in microseconds of the schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rank {
    /// What is sent before this is sent before it.
    pub sends_us: u64,
    /// What was answered up to this is answered before it.
    pub begins_us: u64,
    /// Whether its terminal may hold what others wait for, such as locks of its transaction.
    pub holds: bool,
}

/// How the microseconds of a schedule lie in time.
#[derive(Debug, Clone, Copy)]
pub struct Schedule {
    /// Its start.
    pub opens: Moment,
    /// How many times as fast as its microseconds it goes.
    pub speed: f64,
}

impl Schedule {
    /// That of a window.
    pub fn of(window: &Window, speed: f64) -> Self {
        Self { opens: window.opens, speed }
    }

    /// The time by it.
    #[inline]
    pub fn now_us(&self) -> u64 {
        (perbuck_event::now().ns_since(self.opens).max(0) as f64 / 1e3 * self.speed) as u64
    }

    fn moment(&self, at_us: u64) -> Moment {
        self.opens.plus_ns((at_us as f64 * 1e3 / self.speed) as i64)
    }
}

/// How long a statement has waited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Held {
    /// Until it went on.
    pub time: Duration,
    /// Whether it went on although others were still before it.
    pub overtook: bool,
}

/// The order of so many terminals.
#[derive(Debug)]
pub struct Order {
    /// Side by side, so that a terminal that looks at all reads few lines of memory.
    next: Box<[Slot]>,
    followers: Box<[Followers]>,
}

/// What a terminal does next.
#[derive(Debug)]
struct Slot {
    word: AtomicU64,
    /// Of the answer that comes next.
    late_us: AtomicU64,
    then_us: AtomicU64,
}

/// Statements that wait for a terminal.
#[derive(Debug, Default)]
struct Followers {
    count: AtomicU32,
    waiters: Waiters,
}

/// A terminal that a statement waits for.
#[derive(Debug, Clone, Copy)]
struct Before {
    terminal: usize,
    word: u64,
    until_us: u64,
}

/// The last bit: no statement waits for it any more.
const PASSED: u64 = 1;
/// The bit before it.
const ANSWERED: u64 = 2;

impl Next {
    fn word(self) -> u64 {
        match self {
            Self::Sends(at_us) => at_us << 2,
            Self::Answered(answer) => answer.due_us << 2 | ANSWERED,
            Self::Nothing => u64::MAX,
        }
    }
}

impl Slot {
    fn set(&self, next: Next) {
        if let Next::Answered(answer) = next {
            self.late_us.store(answer.late_us, Ordering::SeqCst);
            self.then_us.store(answer.then_us.unwrap_or(u64::MAX), Ordering::SeqCst);
        }
        // In one order with the number of those that wait: whoever is not counted yet sees this word.
        self.word.store(next.word(), Ordering::SeqCst);
    }

    fn word(&self) -> u64 {
        self.word.load(Ordering::SeqCst)
    }

    /// Until when a statement waits for a terminal with this word, where what is due up to `now_us` is; `None` where it does not.
    #[inline]
    fn holds_until(&self, word: u64, rank: Rank, now_us: u64) -> Option<u64> {
        let sends = |at_us: u64| (at_us < rank.sends_us && at_us <= now_us).then_some(u64::MAX);
        let at_us = word >> 2;
        if word & PASSED != 0 {
            None
        } else if word & ANSWERED == 0 {
            sends(at_us)
        } else {
            let until_us = rank.begins_us.saturating_add(self.late_us.load(Ordering::SeqCst));
            let answered = at_us <= rank.begins_us && at_us <= now_us && now_us < until_us;
            // An answer that does not come may wait for what this terminal holds.
            let then = sends(self.then_us.load(Ordering::SeqCst)).filter(|_| !rank.holds);
            then.or(answered.then_some(until_us))
        }
    }
}

impl Order {
    /// Of terminals that do nothing yet.
    pub fn new(terminals: u32) -> Arc<Self> {
        let nothing = AtomicU64::new;
        let slot = |_| Slot { word: nothing(Next::Nothing.word()), late_us: nothing(0), then_us: nothing(u64::MAX) };
        let followers = (0..terminals).map(|_| Followers::default()).collect();
        Arc::new(Self { next: (0..terminals).map(slot).collect(), followers })
    }

    /// The part of a terminal, until it is dropped.
    pub fn member(self: &Arc<Self>, terminal: u32) -> Member {
        Member { order: Arc::clone(self), terminal: terminal as usize }
    }

    fn set(&self, terminal: usize, next: Next) {
        let Some((slot, followers)) = self.next.get(terminal).zip(self.followers.get(terminal)) else { return };
        slot.set(next);
        if followers.count.load(Ordering::SeqCst) > 0 {
            followers.waiters.wake();
        }
    }

    /// Another number once any terminal has moved on.
    fn state(&self) -> u64 {
        self.next.iter().fold(0, |sum, slot| slot.word().wrapping_add(sum))
    }

    /// The terminals that another one waits for.
    fn before(&self, mine: usize, rank: Rank, now_us: u64) -> impl Iterator<Item = Before> {
        let others = self.next.iter().enumerate().filter(move |(other, _)| *other != mine);
        others.filter_map(move |(terminal, slot)| {
            let word = slot.word();
            Some(Before { terminal, word, until_us: slot.holds_until(word, rank, now_us)? })
        })
    }

    /// From now on no statement waits for these, unless they have moved on meanwhile.
    fn pass(&self, before: impl Iterator<Item = Before>) {
        for Before { terminal, word, .. } in before {
            let _ = self.next[terminal].word.compare_exchange(word, word | PASSED, Ordering::SeqCst, Ordering::SeqCst);
            self.followers[terminal].waiters.wake();
        }
    }
}

/// A terminal of an order.
#[derive(Debug)]
pub struct Member {
    order: Arc<Order>,
    terminal: usize,
}

impl Member {
    /// Says what the terminal does next.
    #[inline]
    pub fn next(&self, next: Next) {
        self.order.set(self.terminal, next);
    }

    /// Waits until a statement may be sent: [`LIMIT`] at most, and [`STANDSTILL`] where nothing moves.
    #[inline]
    pub async fn wait(&self, rank: Rank, schedule: Schedule) -> Held {
        if self.is_free(rank, schedule.now_us()) { Held::default() } else { self.wait_for_others(rank, schedule).await }
    }

    fn is_free(&self, rank: Rank, now_us: u64) -> bool {
        self.order.before(self.terminal, rank, now_us).next().is_none()
    }

    async fn wait_for_others(&self, rank: Rank, schedule: Schedule) -> Held {
        let since = perbuck_event::now();
        let (mut state, mut moved) = (self.order.state(), since);
        loop {
            let (now, before) = (perbuck_event::now(), std::mem::replace(&mut state, self.order.state()));
            if state != before {
                moved = now;
            }
            let all = || self.order.before(self.terminal, rank, schedule.now_us());
            // Whoever comes right before it moves last, so few statements wait for the same terminal.
            let Some(last) = all().max_by_key(|other| other.word) else {
                return Held { time: now - since, overtook: false };
            };
            if now - moved >= STANDSTILL {
                self.order.pass(all());
                return Held { time: now - since, overtook: true };
            }
            if now - since >= LIMIT {
                // Others move. The first may be the one that does not.
                self.order.pass(all().min_by_key(|other| other.word).into_iter());
                return Held { time: now - since, overtook: true };
            }
            let until_us = all().map(|other| other.until_us).min().unwrap_or(u64::MAX);
            self.moves(last, schedule.moment(until_us).min(now + LOOK).min(since + LIMIT)).await;
        }
    }

    /// Waits until another terminal moves on, or until then.
    async fn moves(&self, other: Before, until: Moment) {
        let (slot, followers) = (&self.order.next[other.terminal], &self.order.followers[other.terminal]);
        let _counted = Counted::of(&followers.count);
        let moved = followers.waiters.until(|| (slot.word() != other.word).then_some(()));
        // Either way the statement looks again.
        let _ = timeout_at(until, moved).await;
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.next(Next::Nothing);
    }
}

/// One that waits is counted.
struct Counted<'a>(&'a AtomicU32);

impl<'a> Counted<'a> {
    fn of(count: &'a AtomicU32) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests;
