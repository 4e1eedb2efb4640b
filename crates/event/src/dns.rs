//! Names to addresses. The system's resolver blocks, so it runs in a thread of its own, once for many connections.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use crate::sleep;

/// How long an answer is used again: long enough for the connections of a start, short enough to follow a failover.
const KEPT: Duration = Duration::from_secs(5);

type Answer = io::Result<Vec<SocketAddr>>;
/// Hosts and ports with the time of their answer.
type Known = BTreeMap<(String, u16), (Instant, Vec<SocketAddr>)>;

thread_local! {
    /// Look-ups under way: a thousand connections that are opened again ask once.
    static ASKING: RefCell<BTreeSet<(String, u16)>> = const { RefCell::new(BTreeSet::new()) };
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
    loop {
        let known = KNOWN.with_borrow(|known| known.get(&key).filter(|(at, _)| at.elapsed() < KEPT).map(|(_, a)| a.clone()));
        if let Some(addresses) = known {
            return Ok(addresses);
        }
        if ASKING.with_borrow_mut(|asking| asking.insert(key.clone())) {
            break;
        }
        sleep(Duration::from_millis(5)).await;
    }
    let asking = Asking(key.clone());
    let addresses = look_up(key.clone()).await;
    drop(asking);
    let addresses = addresses?;
    KNOWN.with_borrow_mut(|known| known.insert(key, (Instant::now(), addresses.clone())));
    Ok(addresses)
}

/// Ends with the look-up, also where that is given up.
struct Asking((String, u16));

impl Drop for Asking {
    fn drop(&mut self) {
        ASKING.with_borrow_mut(|asking| asking.remove(&self.0));
    }
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
