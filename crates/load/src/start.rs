//! The common start of all workers.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use perbuck_event::sleep;

use crate::window::Window;

/// Gives all workers the same start, or tells them that there is none.
#[derive(Debug, Clone, Default)]
pub struct StartSignal(Arc<OnceLock<Option<Window>>>);

impl StartSignal {
    /// Gives the start; only the first call counts.
    pub fn give(&self, window: Option<Window>) {
        // Set before: the run was given up, or has begun, and stays so.
        let _ = self.0.set(window);
    }

    /// Waits for the start; `None` is that there is none.
    pub(crate) async fn wait(&self) -> Option<Window> {
        loop {
            match self.0.get() {
                Some(window) => return *window,
                // The start is given some milliseconds ahead.
                None => sleep(Duration::from_millis(1)).await,
            }
        }
    }
}
