//! Which terminal replays which transactions, and when: sessions are dealt to terminals, each as a whole.

use std::sync::Arc;

use perbuck_load::order::Order;

use super::recording::Recording;

/// Which sessions and transactions of a recording are replayed, and how fast.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Choice {
    /// Position of the database.
    pub(super) database: u16,
    pub(super) reads_only: bool,
    /// How many times as fast as recorded; `None` is as fast as it goes.
    pub(super) speed: Option<f64>,
}

/// A transaction of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Due {
    /// When it is due, in nanoseconds from the start.
    pub(super) due_ns: u64,
    pub(super) session: u32,
    pub(super) position: u32,
}

/// The transactions of each terminal, in their order.
#[derive(Debug, Default)]
pub(super) struct Dealt {
    pub(super) lists: Vec<Arc<[Due]>>,
    /// Of the first statement, in microseconds of the recording.
    pub(super) start_us: i64,
    /// What keeps the order between terminals; not where they take no heed of times, nor where transactions of several sessions wait for each
    /// other within one.
    pub(super) order: Option<Arc<Order>>,
}

/// Deals sessions to so many terminals. A session goes to the terminal that has been free for longest when it starts; where all are busy, to
/// that which ends first. Its transactions then stand between others, by their times.
pub(super) fn deal(recording: &Recording, choice: Choice, terminals: u32) -> Dealt {
    let mine = || recording.sessions.iter().enumerate().filter(|(_, s)| s.database == choice.database);
    let start_us = mine().filter_map(|(_, s)| s.transactions.first()).map(|t| t.due_us).min().unwrap_or(0);
    let mut ordered = choice.speed.is_some();
    let mut dealt: Vec<(i64, Vec<Due>)> = (0..terminals).map(|_| (i64::MIN, Vec::new())).collect();
    for (number, session) in mine() {
        let Some((ends_us, list)) = dealt.iter_mut().min_by_key(|(ends_us, _)| *ends_us) else { break };
        let mixes = session.transactions.first().is_some_and(|first| first.due_us < *ends_us);
        for (position, transaction) in session.transactions.iter().enumerate() {
            if choice.reads_only && transaction.writes {
                continue;
            }
            let micros = (transaction.due_us - start_us) as f64;
            let due_ns = choice.speed.map_or(0.0, |speed| micros * 1e3 / speed) as u64;
            list.push(Due { due_ns, session: number as u32, position: position as u32 });
        }
        *ends_us = (*ends_us).max(session.ended_us);
        if mixes {
            ordered = false;
            // Stable, so each session keeps its order; without times sessions follow each other.
            list.sort_by_key(|due| due.due_ns);
        }
    }
    let lists = dealt.into_iter().map(|(_, list)| list.into()).collect();
    Dealt { lists, start_us, order: ordered.then(|| Order::new(terminals)) }
}

/// When the last transaction is due, in nanoseconds from the start.
pub(super) fn last_due_ns(dealt: &Dealt) -> u64 {
    dealt.lists.iter().filter_map(|list| list.last()).map(|due| due.due_ns).max().unwrap_or(0)
}
