//! Names to addresses. The system's resolver blocks, so it runs in a thread of its own, once for many connections.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

/// How long an answer is used again: long enough for the connections of a start, short enough to follow a failover.
const KEPT: Duration = Duration::from_secs(5);

type Answer = io::Result<Vec<SocketAddr>>;
/// Hosts and ports with the time of their answer.
type Known = BTreeMap<(String, u16), (Instant, Vec<SocketAddr>)>;

thread_local! {
    /// Look-ups in flight, with who waits for their end: a thousand connections that are opened again ask once.
    static ASKING: RefCell<BTreeMap<(String, u16), Vec<Waker>>> = const { RefCell::new(BTreeMap::new()) };
    static KNOWN: RefCell<Known> = const { RefCell::new(Known::new()) };
}

#[derive(Default)]
struct Lookup {
    answer: Option<Answer>,
    waiting: Option<Waker>,
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
        match Asking::begin(&key) {
            Some(asking) => break asking,
            None => ended(&key).await,
        }
    };
    let addresses = look_up(key.clone()).await;
    drop(asking);
    let addresses = addresses?;
    KNOWN.with_borrow_mut(|known| known.insert(key, (Instant::now(), addresses.clone())));
    Ok(addresses)
}

/// A look-up in flight. Its end, also where it is given up, wakes who waits: one of them asks again where there is no answer.
struct Asking((String, u16));

impl Asking {
    /// `None` where another task asks already.
    fn begin(key: &(String, u16)) -> Option<Self> {
        ASKING.with_borrow_mut(|asking| match asking.entry(key.clone()) {
            Entry::Occupied(_) => None,
            Entry::Vacant(entry) => {
                entry.insert(Vec::new());
                Some(Self(key.clone()))
            }
        })
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        let waiting = ASKING.with_borrow_mut(|asking| asking.remove(&self.0));
        waiting.into_iter().flatten().for_each(Waker::wake);
    }
}

/// Waits for the end of the look-up that another task has begun.
async fn ended(key: &(String, u16)) {
    poll_fn(|cx| {
        ASKING.with_borrow_mut(|asking| match asking.get_mut(key) {
            Some(waiting) => {
                waiting.push(cx.waker().clone());
                Poll::Pending
            }
            None => Poll::Ready(()),
        })
    })
    .await;
}

async fn look_up(key: (String, u16)) -> Answer {
    let lookup = Arc::new(Mutex::new(Lookup::default()));
    let theirs = lookup.clone();
    thread::Builder::new().name("resolver".to_owned()).spawn(move || {
        let answer = (key.0.as_str(), key.1).to_socket_addrs().map(Iterator::collect);
        let mut lookup = theirs.lock().unwrap_or_else(PoisonError::into_inner);
        lookup.answer = Some(answer);
        if let Some(waiting) = lookup.waiting.take() {
            waiting.wake();
        }
    })?;
    poll_fn(|cx| {
        let mut lookup = lookup.lock().unwrap_or_else(PoisonError::into_inner);
        match lookup.answer.take() {
            Some(answer) => Poll::Ready(answer),
            None => {
                lookup.waiting = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    })
    .await
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by it")]
mod tests {
    use super::*;
    use crate::{TaskSet, block_on, now, timeout_at, yield_now};

    /// A look-up that another task has begun ends without an answer: of those that wait one asks, and all have its answer.
    #[test]
    fn the_end_of_a_look_up_wakes_whoever_waits() {
        let answers = block_on(async {
            let key = ("localhost".to_owned(), 2);
            let given_up = Asking::begin(&key).unwrap();
            let mut tasks = TaskSet::default();
            for _ in 0..3 {
                tasks.spawn(async { timeout_at(now() + Duration::from_secs(20), resolve("localhost", 2)).await });
            }
            while ASKING.with_borrow(|asking| asking[&key].len() < 3) {
                yield_now().await;
            }
            assert!(Asking::begin(&key).is_none() && tasks.running() == 3);
            drop(given_up);
            [tasks.next().await, tasks.next().await, tasks.next().await]
        });
        for answer in answers.unwrap() {
            assert!(answer.unwrap().unwrap().unwrap().iter().all(|a| a.ip().is_loopback() && a.port() == 2));
        }
        assert!(ASKING.with_borrow(BTreeMap::is_empty));
    }
}
