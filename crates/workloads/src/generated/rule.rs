//! What the values of a column are.

use std::sync::Arc;

use super::pick::Pick;

pub(super) const SECONDS_PER_DAY: u64 = 86_400;

/// What the values of a column are.
#[derive(Debug, Clone)]
pub(super) enum Rule {
    Sequence {
        start: i64,
        step: i64,
        repeat: u64,
    },
    /// From `low` on, in steps of the last of so many digits after the point.
    Number {
        low: i64,
        decimals: u8,
        pick: Pick,
    },
    /// Characters, from `shortest` on.
    Text {
        shortest: u64,
        pick: Pick,
    },
    Date {
        first: u32,
        pick: Pick,
    },
    /// In seconds, from the day with number 0 on.
    Timestamp {
        first: u64,
        pick: Pick,
    },
    Choice {
        values: Arc<[Value]>,
        pick: Pick,
    },
    /// The value of another column in one of its rows.
    Reference {
        table: usize,
        column: usize,
        pick: Pick,
    },
}

/// One of a list of values.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Int(i64),
    Text(Box<str>),
}

impl Rule {
    /// About how many bytes a value has as text.
    pub(super) fn bytes(&self) -> u64 {
        match self {
            Self::Sequence { .. } | Self::Reference { .. } => 8,
            Self::Number { low, pick, .. } => {
                let widest = low.unsigned_abs().max(low.saturating_add_unsigned(pick.n).unsigned_abs());
                u64::from(widest.checked_ilog10().unwrap_or(0)) + 1
            }
            Self::Text { shortest, pick } => shortest + pick.n / 2,
            Self::Date { .. } => 10,
            Self::Timestamp { .. } => 19,
            Self::Choice { values, .. } => {
                let length = |value: &Value| if let Value::Text(text) = value { text.len() as u64 } else { 8 };
                values.iter().map(length).sum::<u64>() / values.len().max(1) as u64
            }
        }
    }
}
