//! The asynchronous runtime below the blocking calls.

use std::future::Future;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

use crate::error::{ApiError, ErrorKind};

/// A runtime of this thread alone. Between calls it stands still.
pub(crate) struct EventLoop(Option<Runtime>);

impl EventLoop {
    pub(crate) fn new() -> Result<Self, ApiError> {
        match Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => Ok(Self(Some(runtime))),
            Err(error) => {
                Err(ApiError::new(ErrorKind::Other, format!("cannot make an event loop: {error}"), "raise `ulimit -n`"))
            }
        }
    }

    /// Waits for the work, but no longer than the limit.
    pub(crate) fn within<T>(&self, limit: Duration, work: impl Future<Output = T>) -> Option<T> {
        self.0.as_ref()?.block_on(async { tokio::time::timeout(limit, work).await.ok() })
    }
}

impl Drop for EventLoop {
    fn drop(&mut self) {
        // A program that gives credentials, or a resolver of names, may hang; to wait for it would hang this one.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
