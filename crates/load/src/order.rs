//! Terminals that keep an order among each other where they are late: what is sent waits for what should have come before it.
//!
//! Each terminal says what it does next and when that is due. A statement waits for those of other terminals that are due earlier, and due by
//! now. So nothing waits in a trial that keeps its times.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use perbuck_event::{Waiters, timeout_at};

/// How long a statement waits for others at most.
pub const LIMIT: Duration = Duration::from_secs(1);
/// How long it waits while no terminal does anything: then what it waits for may wait for it, by a lock on the server.
pub const STANDSTILL: Duration = Duration::from_millis(100);

/// What a terminal does next, in microseconds of the schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// It sends a statement.
    Sends(u64),
    /// It has the answer of one that others see the effect of.
    Answered(u64),
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
    /// What each terminal does next. One number each, so that a terminal that looks at all reads few lines of memory.
    next: Box<[AtomicU64]>,
    waiting: AtomicU32,
    waiters: Waiters,
}

/// The last bit: no statement waits for it any more.
const PASSED: u64 = 1;
/// The bit before it.
const ANSWERED: u64 = 2;

impl Next {
    fn word(self) -> u64 {
        match self {
            Self::Sends(at_us) => at_us << 2,
            Self::Answered(at_us) => at_us << 2 | ANSWERED,
            Self::Nothing => u64::MAX,
        }
    }
}

impl Rank {
    /// Whether it waits for a terminal whose next is this, where what is due up to `now_us` is.
    #[inline]
    fn waits_for(self, word: u64, now_us: u64) -> bool {
        let at_us = word >> 2;
        let before = if word & ANSWERED == 0 { at_us < self.sends_us } else { at_us <= self.begins_us };
        word & PASSED == 0 && before && at_us <= now_us
    }
}

impl Order {
    /// Of terminals that do nothing yet.
    pub fn new(terminals: u32) -> Arc<Self> {
        let next = (0..terminals).map(|_| AtomicU64::new(Next::Nothing.word())).collect();
        Arc::new(Self { next, waiting: AtomicU32::new(0), waiters: Waiters::default() })
    }

    /// The part of a terminal, until it is dropped.
    pub fn member(self: &Arc<Self>, terminal: u32) -> Member {
        Member { order: Arc::clone(self), terminal: terminal as usize }
    }

    fn set(&self, terminal: usize, next: Next) {
        let Some(word) = self.next.get(terminal) else { return };
        // In one order with the number of those that wait: whoever is not counted yet sees this word.
        word.store(next.word(), Ordering::SeqCst);
        if self.waiting.load(Ordering::SeqCst) > 0 {
            self.waiters.wake();
        }
    }

    /// Another number once any terminal has moved on.
    fn state(&self) -> u64 {
        self.next.iter().fold(0, |sum, next| next.load(Ordering::SeqCst).wrapping_add(sum))
    }

    /// The terminals that another one waits for, with what each does next.
    fn before(&self, terminal: usize, rank: Rank, now_us: u64) -> impl Iterator<Item = (&AtomicU64, u64)> {
        let others = self.next.iter().enumerate().filter(move |(other, _)| *other != terminal);
        others.map(|(_, next)| (next, next.load(Ordering::SeqCst))).filter(move |(_, word)| rank.waits_for(*word, now_us))
    }
}

/// A terminal of an order.
#[derive(Debug)]
pub struct Member {
    order: Arc<Order>,
    terminal: usize,
}

impl Member {
    /// Says what the terminal does next. Times of one terminal ascend.
    #[inline]
    pub fn next(&self, next: Next) {
        self.order.set(self.terminal, next);
    }

    /// Waits until a statement may be sent; `now_us` is the time of the schedule. After [`LIMIT`], or [`STANDSTILL`], no statement waits any
    /// more for what it has waited for.
    #[inline]
    pub async fn wait(&self, rank: Rank, now_us: impl Fn() -> u64) -> Held {
        if self.is_free(rank, now_us()) { Held::default() } else { self.wait_for_others(rank, now_us).await }
    }

    fn is_free(&self, rank: Rank, now_us: u64) -> bool {
        self.order.before(self.terminal, rank, now_us).next().is_none()
    }

    async fn wait_for_others(&self, rank: Rank, now_us: impl Fn() -> u64) -> Held {
        let since = perbuck_event::now();
        let _waits = Waits::of(&self.order.waiting);
        let mut state = self.order.state();
        let overtook = loop {
            let free = self.order.waiters.until(|| self.is_free(rank, now_us()).then_some(()));
            if timeout_at(perbuck_event::now() + STANDSTILL, free).await.is_ok() {
                break false;
            }
            let before = std::mem::replace(&mut state, self.order.state());
            if state == before || perbuck_event::now() - since >= LIMIT {
                break true;
            }
        };
        if overtook {
            for (next, word) in self.order.before(self.terminal, rank, now_us()) {
                // Where it has moved on meanwhile, it is waited for again.
                let _ = next.compare_exchange(word, word | PASSED, Ordering::SeqCst, Ordering::SeqCst);
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

    #[test]
    fn only_what_is_due_is_waited_for() {
        let order = Order::new(3);
        let [mine, other, third] = [0, 1, 2].map(|terminal| order.member(terminal));
        assert!(mine.is_free(at(50), 100), "no statement waits for terminals that have not begun");
        other.next(Next::Sends(40));
        assert!(!mine.is_free(at(50), 100));
        assert!(mine.is_free(at(50), 39), "it is not due yet");
        assert!(mine.is_free(at(40), 100), "of two at the same time neither waits");
        other.next(Next::Answered(50));
        assert!(!mine.is_free(at(50), 100), "its answer came before");
        assert!(mine.is_free(Rank { sends_us: 90, begins_us: 49 }, 100), "both were under way at once");
        other.next(Next::Sends(60));
        third.next(Next::Sends(45));
        assert!(!mine.is_free(at(50), 100) && third.is_free(at(45), 100));
        drop(third);
        assert!(mine.is_free(at(50), 100), "no statement waits for one that has ended");
    }

    #[test]
    fn what_does_not_come_is_waited_for_once() {
        let order = Order::new(2);
        let [mine, other] = [0, 1].map(|terminal| order.member(terminal));
        other.next(Next::Sends(10));
        let held = [20, 30].map(|us| perbuck_event::block_on(mine.wait(at(us), || 100)).unwrap());
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
            let held = perbuck_event::block_on(mine.wait(at(20), || 100)).unwrap();
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
                        let held = perbuck_event::block_on(member.wait(at(us), || u64::MAX)).unwrap();
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
