//! The event loop: one thread, thousands of connections, nothing shared, nothing allocated per operation.
//!
//! It exists because a load generator's own cost is part of what it measures (docs/adr/0001-event-loop.md has the
//! measurement): a general runtime spends about as much on a wake-up as the rest of perbuck does on a transaction. Here
//! readiness of a socket polls the one task that waits for it, without a queue and without an atomic.
//!
//! - [`block_on`] runs a future and everything that it spawns on this thread; [`block_on_simulated`] does so under a
//!   clock that jumps to the next timer, so that a simulated hour takes no time.
//! - [`now`], [`sleep_until`] and [`timeout_at`] use the clock of the loop they run in; a time is a [`Moment`].
//! - [`TaskSet`] spawns tasks and collects their results; [`Waiters`] wakes those that wait for something;
//!   [`tcp::TcpStream`] is a socket; [`dns::resolve`] looks up names.
//!
//! ```
//! use std::time::Duration;
//!
//! use perbuck_event::{TaskSet, block_on_simulated, now, sleep};
//!
//! let ended = block_on_simulated(async {
//!     let start = now();
//!     let mut tasks = TaskSet::default();
//!     for minutes in [60, 1] {
//!         tasks.spawn(async move {
//!             sleep(Duration::from_secs(60 * minutes)).await;
//!             minutes
//!         });
//!     }
//!     (tasks.next().await, tasks.next().await, now() - start)
//! });
//! assert_eq!(ended, (Some(1), Some(60), Duration::from_secs(3600)));
//! ```
//!
//! A task may be polled although nothing happened that it waits for; every future here bears that. Readiness wakes the
//! whole task, so combinators that poll only the parts whose own waker was woken (`FuturesUnordered`) must not hold
//! sockets or sleeps of this crate.
//!
//! Sockets are epoll and timerfd, so they exist on Linux alone. Elsewhere [`block_on`] is an error that says so; the simulated loop runs.
//!
//! Place on the floor plan: floor 0. `load` and the drivers stand on it; it knows no database and no benchmark.

mod clock;
pub mod cpu;
mod current;
pub mod dns;
mod fetch;
mod local;
mod moment;
#[cfg(target_os = "linux")]
mod reactor;
#[cfg(not(target_os = "linux"))]
#[path = "unsupported/reactor.rs"]
mod reactor;
mod segments;
mod tasks;
#[cfg(target_os = "linux")]
pub mod tcp;
#[cfg(not(target_os = "linux"))]
#[path = "unsupported/tcp.rs"]
pub mod tcp;
#[cfg(target_os = "linux")]
mod tcp_info;
mod timer;
mod timers;
mod waiters;
mod wake;

pub use clock::now;
pub use current::{wake_current, yield_now};
pub use local::{block_on, block_on_simulated};
pub use moment::Moment;
pub use segments::Segments;
pub use tasks::{TaskSet, rarely};
pub use timer::{Elapsed, Sleep, sleep, sleep_until, timeout_at};
pub use waiters::Waiters;
