//! The servers' own metrics, read once a second while a load is applied.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;

use crate::error::DriverError;

/// Of one family, the part of a name before its labels, a reading may hold many; drivers leave out what is zero.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reading {
    /// What only grows while a server runs, by the name that exporters for Prometheus give it. One that is missing is zero so far.
    pub counters: BTreeMap<String, f64>,
    /// Everything else. One that is missing is zero.
    pub gauges: BTreeMap<String, f64>,
}

impl Reading {
    /// Adds what another server told.
    pub fn add(&mut self, other: Self) {
        for (mine, theirs) in [(&mut self.counters, other.counters), (&mut self.gauges, other.gauges)] {
            theirs.into_iter().for_each(|(name, value)| *mine.entry(name).or_default() += value);
        }
    }
}

/// An answer that comes later, on the thread that asks.
pub type Later<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// Reads servers again and again, on connections of its own. Readings are a second apart, so what a call costs to dispatch is nothing.
pub trait Meter {
    /// What the servers do not tell, and why, by its source.
    fn not_told(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    /// What the servers say now.
    ///
    /// # Errors
    /// A server's answer, or the loss of a connection. After an error it is not read again.
    fn read(&mut self) -> Later<'_, Result<Reading, DriverError>>;

    /// Closes its connections in the way of the protocol.
    fn close(self: Box<Self>) -> Later<'static, ()>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_several_servers_tell_is_added_up() {
        let of = |all: &[(&str, f64)]| all.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        let mut sum = Reading { counters: of(&[("a", 1.0)]), gauges: of(&[("g", 2.0)]) };
        sum.add(Reading { counters: of(&[("a", 2.0), ("b", 5.0)]), gauges: of(&[("g", 1.0)]) });
        assert_eq!(sum, Reading { counters: of(&[("a", 3.0), ("b", 5.0)]), gauges: of(&[("g", 3.0)]) });
    }
}
