//! One test at a time on each server of `dev/with-servers`.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread::{self, ThreadId};

/// Who uses a server, and how many times over.
static USERS: Mutex<BTreeMap<String, (ThreadId, u32)>> = Mutex::new(BTreeMap::new());
static FREE: Condvar = Condvar::new();

/// A server is this test's alone until it is dropped.
pub struct Alone(String);

impl Alone {
    /// Waits for the server whose variables start with `prefix`; a test may ask for it again.
    pub fn on(prefix: &str) -> Self {
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
