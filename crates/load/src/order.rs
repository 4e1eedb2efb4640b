//! Terminals that keep an order among each other where they are late: what is sent waits for what should have come before it.
//!
//! Each terminal says what it does next and when that is due. A statement waits for those of other terminals that are due earlier, and due by
//! now. For an answer it waits only where that statement was sent late, and no longer than the two are apart by the schedule: a slow answer alone
//! holds no other terminal. So nothing waits in a trial that keeps its times.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use perbuck_event::{Moment, Waiters, timeout_at};

use crate::window::Window;

/// How long a statement waits for others at most.
pub const LIMIT: Duration = Duration::from_secs(1);
/// How long it waits while no terminal does anything: then what it waits for may wait for it, by a lock on the server.
pub const STANDSTILL: Duration = Duration::from_millis(100);

/// What a terminal does next, in microseconds of the schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// It sends a statement.
    Sends(u64),
    /// It has the answer, due then, of one that others see the effect of, and that was sent so late.
    Answered(u64, u64),
    /// Nothing that others wait for.
    Nothing,
}

/// Where a statement stands, in microseconds of the schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rank {
    /// What is sent before this is sent before it.
    pub sends_us: u64,
    /// What was answered up to this is answered before it.
    pub begins_us: u64,
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
    /// Zero where none was before it.
    pub time: Duration,
    /// It went on although others were before it.
    pub overtook: bool,
}

/// The order of so many terminals.
#[derive(Debug)]
pub struct Order {
    /// Side by side, so that a terminal that looks at all reads few lines of memory.
    next: Box<[Slot]>,
    waiting: AtomicU32,
    waiters: Waiters,
}

/// What a terminal does next.
#[derive(Debug)]
struct Slot {
    word: AtomicU64,
    /// How late the statement was sent whose answer comes next.
    late_us: AtomicU64,
}

/// The last bit: no statement waits for it any more.
const PASSED: u64 = 1;
/// The bit before it.
const ANSWERED: u64 = 2;

impl Next {
    fn word(self) -> u64 {
        match self {
            Self::Sends(at_us) => at_us << 2,
            Self::Answered(at_us, _) => at_us << 2 | ANSWERED,
            Self::Nothing => u64::MAX,
        }
    }
}

impl Rank {
    /// Until when it waits for a terminal whose next is this, where what is due up to `now_us` is; `None` where it does not.
    #[inline]
    fn waits_until(self, word: u64, late_us: u64, now_us: u64) -> Option<u64> {
        let at_us = word >> 2;
        let (before, until_us) = match word & ANSWERED {
            0 => (at_us < self.sends_us, u64::MAX),
            _ => (at_us <= self.begins_us, self.begins_us.saturating_add(late_us)),
        };
        (word & PASSED == 0 && before && at_us <= now_us && now_us < until_us).then_some(until_us)
    }
}

impl Order {
    /// Of terminals that do nothing yet.
    pub fn new(terminals: u32) -> Arc<Self> {
        let slot = |_| Slot { word: AtomicU64::new(Next::Nothing.word()), late_us: AtomicU64::new(0) };
        Arc::new(Self { next: (0..terminals).map(slot).collect(), waiting: AtomicU32::new(0), waiters: Waiters::default() })
    }

    /// The part of a terminal, until it is dropped.
    pub fn member(self: &Arc<Self>, terminal: u32) -> Member {
        Member { order: Arc::clone(self), terminal: terminal as usize }
    }

    fn set(&self, terminal: usize, next: Next) {
        let Some(slot) = self.next.get(terminal) else { return };
        if let Next::Answered(_, late_us) = next {
            slot.late_us.store(late_us, Ordering::SeqCst);
        }
        // In one order with the number of those that wait: whoever is not counted yet sees this word.
        slot.word.store(next.word(), Ordering::SeqCst);
        if self.waiting.load(Ordering::SeqCst) > 0 {
            self.waiters.wake();
        }
    }

    /// Another number once any terminal has moved on.
    fn state(&self) -> u64 {
        self.next.iter().fold(0, |sum, next| next.word.load(Ordering::SeqCst).wrapping_add(sum))
    }

    /// The terminals that another one waits for, with what each does next and until when it waits.
    fn before(&self, terminal: usize, rank: Rank, now_us: u64) -> impl Iterator<Item = (&Slot, u64, u64)> {
        let others = self.next.iter().enumerate().filter(move |(other, _)| *other != terminal);
        others.filter_map(move |(_, slot)| {
            let word = slot.word.load(Ordering::SeqCst);
            Some((slot, word, rank.waits_until(word, slot.late_us.load(Ordering::SeqCst), now_us)?))
        })
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

    /// Waits until a statement may be sent. After [`LIMIT`], or [`STANDSTILL`], no statement waits any more for what it has waited for.
    #[inline]
    pub async fn wait(&self, rank: Rank, schedule: Schedule) -> Held {
        if self.is_free(rank, schedule.now_us()) { Held::default() } else { self.wait_for_others(rank, schedule).await }
    }

    fn is_free(&self, rank: Rank, now_us: u64) -> bool {
        self.order.before(self.terminal, rank, now_us).next().is_none()
    }

    async fn wait_for_others(&self, rank: Rank, schedule: Schedule) -> Held {
        let since = perbuck_event::now();
        let _waits = Waits::of(&self.order.waiting);
        let (mut state, mut moved) = (self.order.state(), since);
        let overtook = loop {
            let until_us = self.order.before(self.terminal, rank, schedule.now_us()).map(|(_, _, until_us)| until_us).min();
            let until = schedule.moment(until_us.unwrap_or(u64::MAX)).min(moved + STANDSTILL);
            let free = self.order.waiters.until(|| self.is_free(rank, schedule.now_us()).then_some(()));
            if timeout_at(until, free).await.is_ok() {
                break false;
            }
            let (now, before) = (perbuck_event::now(), std::mem::replace(&mut state, self.order.state()));
            if state != before {
                moved = now;
            }
            if now - moved >= STANDSTILL || now - since >= LIMIT {
                break true;
            }
        };
        if overtook {
            for (slot, word, _) in self.order.before(self.terminal, rank, schedule.now_us()) {
                // Where it has moved on meanwhile, it is waited for again.
                let _ = slot.word.compare_exchange(word, word | PASSED, Ordering::SeqCst, Ordering::SeqCst);
            }
        }
        Held { time: perbuck_event::now() - since, overtook }
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.next(Next::Nothing);
    }
}

/// One that waits is counted.
struct Waits<'a>(&'a AtomicU32);

impl<'a> Waits<'a> {
    fn of(waiting: &'a AtomicU32) -> Self {
        waiting.fetch_add(1, Ordering::SeqCst);
        Self(waiting)
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    fn at(us: u64) -> Rank {
        Rank { sends_us: us, begins_us: us }
    }

    /// One that has long begun, so that all is due.
    fn begun() -> Schedule {
        Schedule { opens: perbuck_event::now().plus_ns(-1_000_000_000_000), speed: 1.0 }
    }

    #[test]
    fn only_what_is_due_is_waited_for() {
        let order = Order::new(3);
        let [mine, other, third] = [0, 1, 2].map(|terminal| order.member(terminal));
        assert!(mine.is_free(at(50), 100), "no statement waits for terminals that have not begun");
        other.next(Next::Sends(40));
        assert!(!mine.is_free(at(50), 100));
        assert!(mine.is_free(at(50), 39), "it is not due yet");
        assert!(mine.is_free(at(40), 100), "of two at the same time neither waits");
        other.next(Next::Sends(60));
        third.next(Next::Sends(45));
        assert!(!mine.is_free(at(50), 100) && third.is_free(at(45), 100));
        drop(third);
        assert!(mine.is_free(at(50), 100), "no statement waits for one that has ended");
    }

    #[test]
    fn an_answer_is_waited_for_only_after_a_late_statement_and_no_longer_than_that_was_late() {
        let order = Order::new(2);
        let [mine, other] = [0, 1].map(|terminal| order.member(terminal));
        other.next(Next::Answered(50, 30));
        assert!(!mine.is_free(at(50), 79), "its answer came before");
        assert!(mine.is_free(at(50), 80), "both are as late as each other");
        assert!(mine.is_free(Rank { sends_us: 90, begins_us: 49 }, 60), "both were under way at once");
        other.next(Next::Answered(50, 0));
        assert!(mine.is_free(at(50), 50), "a slow answer alone holds no other terminal");
        // It wakes by itself when the time has passed.
        let opens = perbuck_event::now();
        other.next(Next::Answered(10, 30_000));
        let held = perbuck_event::block_on(mine.wait(at(10_000), Schedule { opens, speed: 1.0 })).unwrap();
        assert!(!held.overtook && perbuck_event::now() - opens >= Duration::from_millis(40), "{held:?}");
    }

    #[test]
    fn what_does_not_come_is_waited_for_once() {
        let order = Order::new(2);
        let [mine, other] = [0, 1].map(|terminal| order.member(terminal));
        other.next(Next::Sends(10));
        let held = [20, 30].map(|us| perbuck_event::block_on(mine.wait(at(us), begun())).unwrap());
        assert!(held[0].overtook && held[0].time >= STANDSTILL && held[1] == Held::default(), "{held:?}");
        other.next(Next::Sends(25));
        assert!(!mine.is_free(at(30), 100), "it goes on, and is waited for again");
    }

    #[test]
    fn while_others_move_on_it_is_waited_for_longer() {
        let order = Order::new(3);
        let [mine, other, third] = [0, 1, 2].map(|terminal| order.member(terminal));
        other.next(Next::Sends(10));
        let ended = std::sync::atomic::AtomicBool::new(false);
        let held = std::thread::scope(|scope| {
            scope.spawn(|| {
                for us in 1_000.. {
                    third.next(Next::Sends(us));
                    if ended.load(Ordering::SeqCst) {
                        break;
                    }
                    std::thread::sleep(STANDSTILL / 20);
                }
            });
            let held = perbuck_event::block_on(mine.wait(at(20), begun())).unwrap();
            ended.store(true, Ordering::SeqCst);
            held
        });
        assert!(held.overtook && held.time >= LIMIT, "{held:?}");
    }

    #[test]
    fn threads_that_are_late_keep_the_order() {
        let (order, sent) = (Order::new(4), Mutex::new(Vec::new()));
        let members: Vec<Member> = (0..4).map(|terminal| order.member(terminal)).collect();
        (0..).zip(&members).for_each(|(terminal, member)| member.next(Next::Sends(terminal)));
        std::thread::scope(|scope| {
            for (terminal, member) in (0..).zip(members) {
                let sent = &sent;
                scope.spawn(move || {
                    for us in (terminal..4_000).step_by(4) {
                        let held = perbuck_event::block_on(member.wait(at(us), begun())).unwrap();
                        assert!(!held.overtook, "{us}");
                        sent.lock().unwrap().push(us);
                        member.next(Next::Sends(us + 4));
                    }
                });
            }
        });
        assert_eq!(sent.into_inner().unwrap(), (0..4_000).collect::<Vec<_>>());
    }
}
