//! What the servers of a target executed during a trial, for perbuck and for other clients.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How far a server may have counted less than perbuck sent until its counters cannot be those of all its work.
const LAG: u64 = 100;

/// What the servers of a target executed by their own counters, summed over all hosts and databases; in a record during the trial, else
/// since the servers started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "unit", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ServerWork {
    /// Statements that read or change rows, and those that begin and end transactions.
    Statements {
        /// Of all clients.
        all: u64,
        /// Of perbuck, its bookkeeping included.
        own: u64,
    },
    /// Transactions, those of one statement included.
    Transactions {
        /// Of all clients.
        all: u64,
        /// Of perbuck, its bookkeeping included.
        own: u64,
    },
    /// Not known.
    Unknown {
        /// Why.
        why: String,
    },
}

impl ServerWork {
    /// That it is not known.
    pub fn unknown(why: impl Into<String>) -> Self {
        Self::Unknown { why: why.into() }
    }

    /// What was executed between an earlier reading and this one.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let between = |(all, own): (u64, u64), (all_then, own_then): (u64, u64)| {
            let own = own.saturating_sub(own_then);
            let all = all.checked_sub(all_then).ok_or("its counters were reset, as by a restart")?;
            let few = all + (own / 100).max(LAG) < own;
            if few {
                Err("its counters rose by less than perbuck sent, as those of one server of several that a proxy serves")
            } else {
                Ok((all, own))
            }
        };
        let made = match (self, earlier) {
            (Self::Statements { all, own }, Self::Statements { all: a, own: o }) => {
                between((*all, *own), (*a, *o)).map(|(all, own)| Self::Statements { all, own })
            }
            (Self::Transactions { all, own }, Self::Transactions { all: a, own: o }) => {
                between((*all, *own), (*a, *o)).map(|(all, own)| Self::Transactions { all, own })
            }
            (Self::Unknown { .. }, _) => return self.clone(),
            (_, Self::Unknown { .. }) => return earlier.clone(),
            _ => Err("its counters changed their unit"),
        };
        made.unwrap_or_else(Self::unknown)
    }

    /// The same where other processes of perbuck sent so many of them.
    #[must_use]
    pub fn with_own(self, more: u64) -> Self {
        match self {
            Self::Statements { all, own } => Self::Statements { all, own: own.saturating_add(more) },
            Self::Transactions { all, own } => Self::Transactions { all, own: own.saturating_add(more) },
            unknown @ Self::Unknown { .. } => unknown,
        }
    }

    /// What other clients had executed, of all, and the unit; `None` where it is not known.
    pub fn foreign(&self) -> Option<(u64, u64, &'static str)> {
        match self {
            Self::Statements { all, own } => Some((all.saturating_sub(*own), *all, "statements")),
            Self::Transactions { all, own } => Some((all.saturating_sub(*own), *all, "transactions")),
            Self::Unknown { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_perbuck_did_not_send_is_foreign() {
        let at = |all, own| ServerWork::Statements { all, own };
        assert_eq!(at(24_000, 9_000).since(&at(1_000, 300)).foreign(), Some((14_300, 23_000, "statements")));
        // A statement that failed before it was executed is counted by perbuck alone.
        assert_eq!(at(8_995, 9_000).since(&at(0, 0)).foreign(), Some((0, 8_995, "statements")));
    }

    #[test]
    fn counters_of_a_part_of_the_work_and_of_another_server_say_nothing() {
        let at = |all, own| ServerWork::Transactions { all, own };
        let why = |work: ServerWork| match work {
            ServerWork::Unknown { why } => why,
            other => panic!("{other:?}"),
        };
        assert!(why(at(5_000, 9_000).since(&at(0, 0))).contains("proxy"));
        assert!(why(at(10, 9_000).since(&at(2_000, 0))).contains("restart"));
        assert!(why(ServerWork::Statements { all: 1, own: 1 }.since(&at(0, 0))).contains("unit"));
        assert_eq!(why(at(1, 1).since(&ServerWork::unknown("no right"))), "no right");
    }
}
