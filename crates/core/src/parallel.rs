//! Work on all processors, whose results do not depend on how many there are.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Pieces that each thread takes: where some take longer than others, no thread waits for long.
const PIECES_PER_THREAD: usize = 16;

/// Does the same with every item on all processors; results and the first error are in the order of the items.
///
/// # Errors
/// The first that the work has.
///
/// # Panics
/// Where the work panics.
pub fn in_parallel<I: Sync, T: Send, E: Send>(items: &[I], work: impl Fn(&I) -> Result<T, E> + Sync) -> Result<Vec<T>, E> {
    let threads = thread::available_parallelism().map_or(1, usize::from).min(items.len().max(1));
    if threads < 2 {
        return items.iter().map(&work).collect();
    }
    let pieces: Vec<&[I]> = items.chunks(items.len().div_ceil(threads * PIECES_PER_THREAD)).collect();
    let next = AtomicUsize::new(0);
    let take = || {
        let mut done: Vec<(usize, Result<Vec<T>, E>)> = Vec::new();
        while let Some((number, piece)) = Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|n| Some((n, pieces.get(n)?))) {
            done.push((number, piece.iter().map(&work).collect()));
        }
        done
    };
    let mut done: Vec<(usize, Result<Vec<T>, E>)> = thread::scope(|scope| {
        // This thread works, too: where the system gives no other, it does everything.
        let start = || thread::Builder::new().spawn_scoped(scope, take).ok();
        let started: Vec<_> = (1..threads).map_while(|_| start()).collect();
        let own = take();
        let theirs = started.into_iter().map(|t| t.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        theirs.flatten().chain(own).collect()
    });
    done.sort_by_key(|(number, _)| *number);
    let mut all = Vec::with_capacity(items.len());
    for (_, piece) in done {
        all.extend(piece?);
    }
    Ok(all)
}

/// Does two things at the same time, or one after the other where the system gives no thread.
///
/// # Panics
/// Where one of them panics.
pub fn both<A, B: Send>(here: impl FnOnce() -> A, there: impl FnOnce() -> B + Send) -> (A, B) {
    // In a place of its own, since a thread that cannot be started drops what it was to do.
    let there = Mutex::new(Some(there));
    let take = || there.lock().unwrap_or_else(PoisonError::into_inner).take();
    thread::scope(|scope| {
        let started = thread::Builder::new().spawn_scoped(scope, || take().map(|there| there()));
        let own = here();
        let other = started.ok().and_then(|t| t.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        let other = other.or_else(|| take().map(|there| there()));
        (own, other.expect("it was done there, or here"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_and_the_first_error_are_in_order() {
        let items: Vec<u32> = (0..1_001).collect();
        let odd = |n: &u32| if *n == 700 || *n == 40 { Err(*n) } else { Ok(n * 2) };
        assert_eq!(in_parallel(&items, |n| Ok::<_, ()>(n * 2)).unwrap(), (0..1_001).map(|n| n * 2).collect::<Vec<_>>());
        assert_eq!(in_parallel(&items, odd), Err(40));
        assert_eq!(in_parallel(&items[..0], odd), Ok(Vec::new()));
        assert_eq!(in_parallel(&items[..3], odd), Ok(vec![0, 2, 4]));
    }
}
