//! Names to addresses. The system's resolver blocks, so it runs in a thread of its own, once for many connections.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::waiters::Waiters;

/// How long an answer is used again: long enough for the connections of a start, short enough to follow a failover.
const KEPT: Duration = Duration::from_secs(5);

type Answer = io::Result<Vec<SocketAddr>>;
type Key = (String, u16);

thread_local! {
    /// Look-ups in flight, with the tasks that wait for their end: a thousand connections that are opened again ask once.
    static ASKING: RefCell<BTreeMap<Key, Rc<Waiters>>> = const { RefCell::new(BTreeMap::new()) };
    /// Addresses, with the time of their answer.
    static KNOWN: RefCell<BTreeMap<Key, (Instant, Vec<SocketAddr>)>> = const { RefCell::new(BTreeMap::new()) };
}

/// The addresses of a host, in the order of the system's preference.
///
/// # Errors
/// The resolver's, or that no thread could be started for it.
pub async fn resolve(host: &str, port: u16) -> Answer {
    if let Ok(ip) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(ip, port)]);
    }
    let key = (host.to_owned(), port);
    let asking = loop {
        let known = KNOWN.with_borrow(|known| known.get(&key).filter(|(at, _)| at.elapsed() < KEPT).map(|(_, a)| a.clone()));
        if let Some(addresses) = known {
            return Ok(addresses);
        }
        let Some(waiting) = ASKING.with_borrow(|asking| asking.get(&key).cloned()) else { break Asking::start(&key) };
        let has_ended = || ASKING.with_borrow(|asking| asking.get(&key).is_none_or(|now| !Rc::ptr_eq(now, &waiting)));
        waiting.until(|| has_ended().then_some(())).await;
    };
    let addresses = look_up(key.clone()).await;
    drop(asking);
    let addresses = addresses?;
    KNOWN.with_borrow_mut(|known| known.insert(key, (Instant::now(), addresses.clone())));
    Ok(addresses)
}

/// A look-up in flight. Its end, also where it is given up, wakes the tasks that wait: one of them asks if there is no answer.
struct Asking(Key);

impl Asking {
    fn start(key: &Key) -> Self {
        ASKING.with_borrow_mut(|asking| asking.insert(key.clone(), Rc::default()));
        Self(key.clone())
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        if let Some(waiting) = ASKING.with_borrow_mut(|asking| asking.remove(&self.0)) {
            waiting.wake();
        }
    }
}

async fn look_up(key: Key) -> Answer {
    let lookup: Arc<(Mutex<Option<Answer>>, Waiters)> = Arc::default();
    let theirs = lookup.clone();
    thread::Builder::new().name("resolver".to_owned()).spawn(move || {
        let answer = (key.0.as_str(), key.1).to_socket_addrs().map(Iterator::collect);
        *theirs.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(answer);
        theirs.1.wake();
    })?;
    lookup.1.until(|| lookup.0.lock().unwrap_or_else(PoisonError::into_inner).take()).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{TaskSet, block_on, now, timeout_at, yield_now};

    /// A look-up that another task has begun ends without an answer: of those that wait one asks, and all have its answer.
    #[test]
    fn the_end_of_a_look_up_wakes_the_tasks_that_wait() {
        let answers = block_on(async {
            let key = ("localhost".to_owned(), 2);
            let given_up = Asking::start(&key);
            let mut tasks = TaskSet::default();
            for _ in 0..3 {
                tasks.spawn(async { timeout_at(now() + Duration::from_secs(20), resolve("localhost", 2)).await });
            }
            while ASKING.with_borrow(|asking| asking[&key].count() < 3) {
                yield_now().await;
            }
            assert_eq!(tasks.running(), 3);
            drop(given_up);
            [tasks.next().await, tasks.next().await, tasks.next().await]
        });
        for answer in answers.unwrap() {
            assert!(answer.unwrap().unwrap().unwrap().iter().all(|a| a.ip().is_loopback() && a.port() == 2));
        }
        assert!(ASKING.with_borrow(BTreeMap::is_empty));
    }
}
