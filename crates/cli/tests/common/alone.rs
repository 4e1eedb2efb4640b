//! One module at a time on the servers of `dev/with-servers`, and of its tests one at a time on a server that it asks for alone.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread::{self, ThreadId};

/// Who uses a server, and how many times over.
static USERS: Mutex<BTreeMap<String, (ThreadId, u32)>> = Mutex::new(BTreeMap::new());
static FREE: Condvar = Condvar::new();

/// The module whose tests use the servers, and how many of them do.
static HOLDER: Mutex<(String, u32)> = Mutex::new((String::new(), 0));
static NEXT: Condvar = Condvar::new();
thread_local! {
    /// What the test on this thread holds. The thread ends with the test.
    static MINE: RefCell<Option<Hold>> = const { RefCell::new(None) };
}

struct Hold;

impl Hold {
    fn of(module: &str) -> Self {
        let holder = HOLDER.lock().unwrap_or_else(PoisonError::into_inner);
        let other = |(whose, tests): &mut (String, u32)| *tests > 0 && whose != module;
        let mut holder = NEXT.wait_while(holder, other).unwrap_or_else(PoisonError::into_inner);
        *holder = (module.to_owned(), holder.1 + 1);
        Self
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        HOLDER.lock().unwrap_or_else(PoisonError::into_inner).1 -= 1;
        NEXT.notify_all();
    }
}

/// Until this test ends, no test of another module gets past here: their databases may have the same names, and their load is foreign to
/// the trials of this. What a thread does that a test started is the work of that test.
pub fn hold_servers() {
    let thread = thread::current();
    let Some((module, _)) = thread.name().and_then(|test| test.split_once("::")) else { return };
    MINE.with_borrow_mut(|mine| {
        mine.get_or_insert_with(|| Hold::of(module));
    });
}

/// A server is this test's alone until it is dropped.
pub struct Alone(String);

impl Alone {
    /// Waits for the server whose variables start with `prefix`; a test may ask for it again.
    pub fn on(prefix: &str) -> Self {
        hold_servers();
        let (me, users) = (thread::current().id(), USERS.lock().unwrap_or_else(PoisonError::into_inner));
        let other = |users: &mut BTreeMap<String, (ThreadId, u32)>| users.get(prefix).is_some_and(|(user, _)| *user != me);
        let mut users = FREE.wait_while(users, other).unwrap_or_else(PoisonError::into_inner);
        users.entry(prefix.to_owned()).or_insert((me, 0)).1 += 1;
        Self(prefix.to_owned())
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        let mut users = USERS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, times)) = users.get_mut(&self.0) {
            *times -= 1;
            if *times == 0 {
                users.remove(&self.0);
            }
        }
        FREE.notify_all();
    }
}
