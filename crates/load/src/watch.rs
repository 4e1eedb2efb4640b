//! Waits for servers outside of trials. Each goes through [`Waiting::on_loop`]: a request to stop ends it, and [`Waits`] says what is
//! waited for.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::{Duration, Instant};

use perbuck_event::{now, sleep, timeout_at};

use crate::driver::{Driver, Session, SessionId};
use crate::error::DriverError;
use crate::loader::{LoadError, on_loop};
use crate::stop::StopToken;
use crate::values::Rows;

/// How often a wait looks for a request to stop.
const LOOK: Duration = Duration::from_millis(50);
/// How long a wait lasts before it is shown.
pub const FIRST: Duration = Duration::from_secs(10);
/// The most time between two lines about the same wait.
const PAUSE_MAX: Duration = Duration::from_secs(60);
/// How long a server may take to say who blocks a session.
const BLOCKERS_TIMEOUT: Duration = Duration::from_secs(3);
/// Characters of a statement that are shown.
const SHOWN_CHARS: usize = 160;

thread_local! {
    /// The wait of this thread.
    static OPEN: RefCell<Option<Arc<Wait>>> = const { RefCell::new(None) };
    /// Whether the first request to stop leaves the waits of this thread alone.
    static FINISHING: Cell<bool> = const { Cell::new(false) };
}

/// Asks a server which sessions block those of perbuck.
pub type Blockers = Arc<dyn Fn() -> Option<String> + Send + Sync>;

/// A target that is waited for.
#[derive(Clone, Default)]
pub struct Waiting {
    /// For messages: `arm, small`.
    pub title: String,
    /// Ends the wait.
    pub stop: StopToken,
    /// Finds the sessions that block perbuck, where the server tells them.
    pub blockers: Option<Blockers>,
}

impl fmt::Debug for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Waiting({})", self.title)
    }
}

impl Waiting {
    /// Runs a future on an event loop of this thread until it ends or the user asks to stop.
    ///
    /// # Errors
    /// The future's, that no event loop could be started, or [`LoadError::Interrupted`].
    pub fn on_loop<T>(&self, doing: &str, future: impl Future<Output = Result<T, LoadError>>) -> Result<T, LoadError> {
        let mut result = Err(LoadError::Interrupted);
        self.wait_for(doing, pin!(async { result = future.await }))?;
        result
    }

    fn wait_for(&self, doing: &str, future: Pin<&mut dyn Future<Output = ()>>) -> Result<(), LoadError> {
        let what = if self.title.is_empty() { doing.to_owned() } else { format!("{}: {doing}", self.title) };
        let _open = self.stop.waits().enter(what, self.blockers.clone());
        on_loop(async {
            until_stopped(&self.stop, future).await;
            Ok(())
        })
    }
}

/// Runs a future until a request to stop; `None` where that came first.
pub(crate) async fn until_stopped<T>(stop: &StopToken, future: impl Future<Output = T>) -> Option<T> {
    // A timer, since a waker that is entered with the token would stay there after the wait.
    let (mut future, mut look) = (pin!(future), sleep(LOOK));
    poll_fn(|cx| {
        loop {
            if stop.ends_waits() && !FINISHING.get() {
                return Poll::Ready(None);
            }
            if look.poll_passed().is_pending() {
                break;
            }
            look = sleep(LOOK);
        }
        future.as_mut().poll(cx).map(Some)
    })
    .await
}

/// The result of a future that ends within so much time; `None` where it does not.
pub async fn within<T>(limit: Duration, future: impl Future<Output = T>) -> Option<T> {
    timeout_at(now() + limit, future).await.ok()
}

/// Until it is dropped, waits of this thread go on after a request to stop: what was changed on a server is restored in them.
#[derive(Debug)]
pub struct Finishing {
    before: bool,
}

impl Finishing {
    /// Starts now.
    #[must_use]
    pub fn start() -> Self {
        Self { before: FINISHING.replace(true) }
    }
}

impl Drop for Finishing {
    fn drop(&mut self) {
        FINISHING.set(self.before);
    }
}

/// Notes what a server is asked on this thread. Outside of a wait it does nothing.
pub fn asks(server: impl fmt::Display, what: &str) {
    OPEN.with_borrow(|open| {
        if let Some(wait) = open {
            *lock(&wait.asked) = (Instant::now(), format!(" on {server} ({})", shown(what)));
        }
    });
}

/// Text of a server or a statement in one line of a terminal.
fn shown(text: &str) -> String {
    // Line breaks, escape sequences and marks of writing direction become spaces.
    let hidden =
        |c: char| c.is_control() || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let plain: String = text.chars().map(|c| if hidden(c) { ' ' } else { c }).take(SHOWN_CHARS + 1).collect();
    if plain.chars().count() <= SHOWN_CHARS {
        return plain;
    }
    plain.chars().take(SHOWN_CHARS).chain(['…']).collect()
}

struct Wait {
    what: String,
    blockers: Option<Blockers>,
    /// What was asked last, and when.
    asked: Mutex<(Instant, String)>,
}

/// What is waited for at this moment, and what would be left on servers if perbuck ended now.
#[derive(Default)]
pub struct Waits {
    open: Mutex<Vec<Arc<Wait>>>,
    left: Mutex<Vec<String>>,
}

impl fmt::Debug for Waits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Waits({})", lock(&self.open).len())
    }
}

/// A wait in progress; it ends when this is dropped.
pub struct Entered<'a> {
    waits: &'a Waits,
    wait: Arc<Wait>,
    before: Option<Arc<Wait>>,
}

impl Waits {
    /// Notes that this thread waits for something from now on.
    pub fn enter(&self, what: String, blockers: Option<Blockers>) -> Entered<'_> {
        let wait = Arc::new(Wait { what, blockers, asked: Mutex::new((Instant::now(), String::new())) });
        lock(&self.open).push(wait.clone());
        let before = OPEN.replace(Some(wait.clone()));
        Entered { waits: self, wait, before }
    }

    /// The wait in which nothing has moved for the longest time.
    fn longest(&self) -> Option<(Instant, Arc<Wait>)> {
        let since = |wait: &Arc<Wait>| (lock(&wait.asked).0, wait.clone());
        lock(&self.open).iter().map(since).min_by_key(|(since, _)| *since)
    }

    /// Notes what would be left on servers if perbuck ended now, as commands that restore it.
    pub fn leave(&self, commands: Vec<String>) {
        *lock(&self.left) = commands;
    }

    /// The commands that restore what would be left on servers if perbuck ended now.
    pub fn left(&self) -> Vec<String> {
        lock(&self.left).clone()
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        lock(&self.waits.open).retain(|wait| !Arc::ptr_eq(wait, &self.wait));
        OPEN.set(self.before.take());
    }
}

/// Says what is waited for when nothing has moved for a while: after 10, 20, 40 and 80 seconds, and then each minute.
#[derive(Debug, Default)]
pub struct Reporter {
    /// The wait that was shown last, by its start, and when the next line is due.
    last: Option<(Instant, Duration)>,
}

impl Reporter {
    /// A line, if one is due. It may ask the server which sessions block perbuck, which takes a few seconds.
    pub fn line(&mut self, waits: &Waits) -> Option<String> {
        let (since, wait) = waits.longest()?;
        let due = self.last.filter(|(of, _)| *of == since).map_or(FIRST, |(_, due)| due);
        if since.elapsed() < due {
            return None;
        }
        let blocked = wait.blockers.as_ref().and_then(|ask| ask()).map(|by| format!("; {by}")).unwrap_or_default();
        // The answer may have come meanwhile.
        let (now_since, _) = waits.longest()?;
        if now_since != since {
            return None;
        }
        let elapsed = since.elapsed();
        self.last = Some((since, next_due(due)));
        let asked = lock(&wait.asked).1.clone();
        Some(unmoved(elapsed, &format!("{}{asked}{blocked}", wait.what)))
    }
}

/// How long a wait lasts when it is shown the next time, after it was shown at `due`.
pub fn next_due(due: Duration) -> Duration {
    (due * 2).min(due + PAUSE_MAX)
}

/// The line that shows a wait.
pub fn unmoved(elapsed: Duration, what: &str) -> String {
    format!("nothing has moved for {} s: {what}", elapsed.as_secs())
}

/// Asks a server of this driver who blocks perbuck: the first of the queries that returns rows tells it, a text in each.
pub fn blockers<D: Driver>(driver: Arc<D>, queries: &'static [&'static str]) -> Blockers {
    Arc::new(move || {
        let asked = on_loop(async {
            Ok(timeout_at(now() + BLOCKERS_TIMEOUT, first_answer(&*driver, queries)).await.ok().and_then(Result::ok).flatten())
        });
        asked.ok().flatten()
    })
}

async fn first_answer<D: Driver>(driver: &D, queries: &[&str]) -> Result<Option<String>, DriverError> {
    let mut session = driver.connect(SessionId::Own(0)).await?;
    let (mut rows, mut found) = (Rows::default(), None);
    for sql in queries {
        // A server without such a view, or without the right to read it, may answer the next query.
        if session.query(sql, &mut rows).await.is_ok() && !rows.is_empty() {
            let texts = (0..rows.len() as usize).map(|row| rows.display(row, 0)).collect::<Result<Vec<_>, _>>()?;
            found = Some(texts.iter().map(|text| shown(text)).collect::<Vec<_>>().join("; "));
            break;
        }
    }
    session.close().await;
    Ok(found)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::thread;

    use super::*;

    #[test]
    fn a_request_ends_a_wait_and_a_second_one_ends_that_of_a_run_that_keeps() {
        for (stop, requests) in [(StopToken::default(), 1), (StopToken::keeping(), 2)] {
            let waiting = Waiting { stop: stop.clone(), ..Waiting::default() };
            let waiter = thread::spawn(move || waiting.on_loop("asking", pending::<Result<(), LoadError>>()));
            for _ in 0..requests {
                assert!(!waiter.is_finished());
                stop.request();
            }
            assert_eq!(waiter.join().unwrap(), Err(LoadError::Interrupted));
            assert!(stop.waits().longest().is_none());
        }
    }

    #[test]
    fn what_is_restored_is_waited_for_after_a_request() {
        let waiting = Waiting::default();
        waiting.stop.request();
        let ask = || waiting.on_loop("restoring", async { Ok(()) });
        let finishing = Finishing::start();
        assert_eq!(ask(), Ok(()));
        drop(finishing);
        assert_eq!(ask(), Err(LoadError::Interrupted));
    }

    #[test]
    fn a_wait_is_shown_with_what_was_asked_and_who_blocks_it() {
        let stop = StopToken::default();
        let (waits, mut reporter) = (stop.waits(), Reporter::default());
        let entered = waits.enter("a, w: counting rows".to_owned(), Some(Arc::new(|| Some("session 7 blocks it".to_owned()))));
        asks("h:1", "SELECT\n\u{1b}[2J1");
        assert_eq!(reporter.line(waits), None);
        let earlier = Instant::now() - Duration::from_secs(21);
        lock(&entered.wait.asked).0 = earlier;
        let line = "nothing has moved for 21 s: a, w: counting rows on h:1 (SELECT  [2J1); session 7 blocks it";
        assert_eq!(reporter.line(waits).as_deref(), Some(line));
        // The next line is due after 20 seconds, and the one after it later.
        assert!(reporter.line(waits).is_some() && reporter.line(waits).is_none());
        drop(entered);
        assert_eq!(reporter.line(waits), None);
        asks("h:1", "outside of a wait");
    }
}
