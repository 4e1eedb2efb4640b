//! What the terminals of one trial tell each other: how many steps all of them have made. Terminals of other threads wait for a number of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use perbuck_event::Waiters;

/// The steps that the terminals of a trial have made. Clones count the same steps.
#[derive(Debug, Clone, Default)]
pub struct Latch(Arc<Steps>);

#[derive(Debug, Default)]
struct Steps {
    made: AtomicU32,
    waiting: Waiters,
}

impl Latch {
    /// Makes a step, and wakes those that wait for it.
    pub fn step(&self) {
        // Whoever sees the step also sees what was written before it.
        self.0.made.fetch_add(1, Ordering::Release);
        self.0.waiting.wake();
    }

    /// Waits until so many steps were made. The end of a trial drops those that still wait.
    pub async fn reached(&self, steps: u32) {
        self.0.waiting.until(|| (self.0.made.load(Ordering::Acquire) >= steps).then_some(())).await;
    }
}

/// Lets time pass, such as between two looks at what a server does by itself. The end of a trial cuts it short.
pub async fn rest(time: Duration) {
    perbuck_event::sleep(time).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_waits_for_the_steps_of_others() {
        let latch = Latch::default();
        let others: Vec<_> = (0..3)
            .map(|_| {
                let latch = latch.clone();
                std::thread::spawn(move || latch.step())
            })
            .collect();
        perbuck_event::block_on(latch.reached(3)).unwrap();
        others.into_iter().for_each(|thread| thread.join().unwrap());
        perbuck_event::block_on(async {
            let (waits, sleeps) = (std::pin::pin!(latch.reached(4)), perbuck_event::sleep(Duration::from_millis(5)));
            let ended = perbuck_event::timeout_at(perbuck_event::now() + Duration::from_millis(5), waits).await;
            sleeps.await;
            assert!(ended.is_err(), "three steps are not four");
        })
        .unwrap();
    }
}
