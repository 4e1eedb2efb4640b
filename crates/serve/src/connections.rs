//! The connections that are open. They are bounded: where one more comes, the one that has waited longest for its client makes room.

use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Connections at the same time, where the system has descriptors and threads for as many.
const MOST: usize = 128;
/// So long the limit stays low after the system had no descriptor or no thread.
const SHORTAGE: Duration = Duration::from_secs(60);

/// Connections at the same time where it has not.
const LEAST: usize = 4;

/// Answers that are made at the same time: each may need as much memory as a report.
const ANSWERS: usize = 4;

/// How long a request waits for its permit.
const PERMIT_TIMEOUT: Duration = Duration::from_secs(30);

/// All connections, in the order in which they came.
pub(super) struct Connections {
    state: Mutex<State>,
    answered: Condvar,
}

struct State {
    open: Vec<Open>,
    most: usize,
    /// When the limit was lowered.
    lowered: Option<Instant>,
    numbers: u64,
    answering: usize,
}

struct Open {
    number: u64,
    stream: Arc<TcpStream>,
    /// Whether it waits for this program, not for its client.
    is_ours: bool,
}

/// A connection that is among the open ones until this is dropped.
pub(super) struct Connection {
    all: Arc<Connections>,
    number: u64,
    pub(super) stream: Arc<TcpStream>,
}

impl Connections {
    pub(super) fn new() -> Self {
        let state = State { open: Vec::new(), most: MOST, lowered: None, numbers: 0, answering: 0 };
        Self { state: Mutex::new(state), answered: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a connection in; `None` where all others wait for their answers.
    pub(super) fn admit(self: &Arc<Self>, stream: TcpStream) -> Option<Connection> {
        let mut state = self.state();
        if state.lowered.is_some_and(|at| at.elapsed() > SHORTAGE) {
            (state.most, state.lowered) = (MOST, None);
        }
        if state.open.len() >= state.most && !state.drop_oldest() {
            return None;
        }
        let (stream, number) = (Arc::new(stream), state.numbers);
        state.numbers += 1;
        state.open.push(Open { number, stream: Arc::clone(&stream), is_ours: false });
        Some(Connection { all: Arc::clone(self), number, stream })
    }

    /// The system has no descriptor, or no thread, for one more: for a minute there are fewer, and what they leave is for the answers.
    pub(super) fn lower(&self) {
        let mut state = self.state();
        (state.most, state.lowered) = ((state.open.len() * 3 / 4).max(LEAST), Some(Instant::now()));
        while state.open.len() > state.most && state.drop_oldest() {}
    }
}

impl State {
    fn drop_oldest(&mut self) -> bool {
        let Some(oldest) = self.open.iter().position(|o| !o.is_ours) else { return false };
        // Its thread reads or writes no more, and closes it.
        let _ = self.open.remove(oldest).stream.shutdown(Shutdown::Both);
        true
    }

    fn of(&mut self, number: u64) -> Option<&mut Open> {
        self.open.iter_mut().find(|o| o.number == number)
    }
}

impl Connection {
    /// Makes the answer when it has one of the permits; `None` where it gets none.
    pub(super) fn answer<T>(&self, make: impl FnOnce() -> T) -> Option<T> {
        let mut state = self.all.state();
        state.of(self.number)?.is_ours = true;
        let since = Instant::now();
        while state.answering >= ANSWERS {
            let Some(left) = PERMIT_TIMEOUT.checked_sub(since.elapsed()) else {
                state.of(self.number)?.is_ours = false;
                return None;
            };
            state = self.all.answered.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.answering += 1;
        drop(state);
        let permit = Permit(self);
        let made = make();
        drop(permit);
        Some(made)
    }
}

/// The permit to make an answer, which also ends where making it panics.
struct Permit<'a>(&'a Connection);

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        let mut state = self.0.all.state();
        state.answering -= 1;
        if let Some(own) = state.of(self.0.number) {
            own.is_ours = false;
        }
        self.0.all.answered.notify_one();
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.all.state().open.retain(|o| o.number != self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn the_oldest_that_waits_for_its_client_makes_room() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let all = Arc::new(Connections::new());
        let connect = || {
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            (client, all.admit(listener.accept().unwrap().0))
        };
        let mut open: Vec<_> = (0..MOST).map(|_| connect()).collect();
        open[0].1.as_ref().unwrap().answer(|| {
            assert!(connect().1.is_some());
            // The first one waits for its answer, so the second one went.
            assert_eq!(all.state().open[0].number, 0);
            assert_eq!(all.state().open[1].number, 2);
        });
        assert_eq!(open[1].0.read(&mut [0]).unwrap(), 0);
        all.state().open.iter_mut().for_each(|o| o.is_ours = true);
        let kept = connect();
        assert!(kept.1.is_some(), "the one that came in the answer is gone");
        all.state().open.iter_mut().for_each(|o| o.is_ours = true);
        assert!(connect().1.is_none());
        drop((open, kept));
        assert!(all.state().open.is_empty());
    }

    #[test]
    fn there_are_fewer_where_the_system_has_no_room() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let all = Arc::new(Connections::new());
        let connect = || {
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            (client, all.admit(listener.accept().unwrap().0))
        };
        let open: Vec<_> = (0..20).map(|_| connect()).collect();
        all.lower();
        assert_eq!(all.state().open.len(), 15);
        let more = connect();
        assert_eq!(all.state().open.len(), 15);
        (0..20).for_each(|_| all.lower());
        assert_eq!(all.state().open.len(), LEAST);
        drop((open, more));
    }

    #[test]
    fn a_panic_ends_the_permit_of_an_answer() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let all = Arc::new(Connections::new());
        let _client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let one = all.admit(listener.accept().unwrap().0).unwrap();
        for _ in 0..2 * ANSWERS {
            let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| one.answer(|| panic!("as a test"))));
            assert!(ended.is_err());
        }
        assert_eq!(one.answer(|| 7), Some(7));
    }
}
