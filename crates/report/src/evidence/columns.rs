//! Columns of whole numbers, short where they are regular: one number, a progression, or all of them.

use perbuck_core::run_record::Interval;
use serde_json::Value;

/// A column of equal length for each number of an interval.
pub(super) fn of_intervals(intervals: &[Interval], out: &mut String) {
    out.push_str(&format!("{{\"n\":{}", intervals.len()));
    for (name, value) in FIELDS {
        let column: Vec<i128> = intervals.iter().map(value).collect();
        out.push_str(&format!(",\"{name}\":"));
        write(&column, out);
    }
    out.push('}');
}

/// A number of an interval.
type Field = fn(&Interval) -> i128;

/// Every number of an interval; [`to_intervals`] sets the same ones.
const FIELDS: [(&str, Field); 11] = [
    ("start_ms", |i| i128::from(i.start_ms)),
    ("length_ms", |i| i128::from(i.length_ms)),
    ("transactions", |i| i128::from(i.transactions)),
    ("statements", |i| i128::from(i.statements)),
    ("errors", |i| i128::from(i.errors)),
    ("due", |i| i128::from(i.due)),
    ("backlog", |i| i128::from(i.backlog)),
    ("p50_ns", |i| i128::from(i.p50_ns)),
    ("p95_ns", |i| i128::from(i.p95_ns)),
    ("p99_ns", |i| i128::from(i.p99_ns)),
    ("max_ns", |i| i128::from(i.max_ns)),
];

/// Reads what [`of_intervals`] wrote.
///
/// # Errors
/// Names the column that is none.
pub(super) fn to_intervals(packed: &Value) -> Result<Vec<Interval>, String> {
    let n = packed.get("n").and_then(Value::as_u64).ok_or("intervals have no length `n`")?;
    // An interval is a second; a year of them is no trial, and asking for more memory than that is no honest page.
    let n = usize::try_from(n).ok().filter(|n| *n <= 366 * 86_400).ok_or("intervals have a length that no trial has")?;
    let column = |name: &str| -> Result<Column, String> {
        packed
            .get(name)
            .and_then(|v| Column::read(v, n))
            .ok_or_else(|| format!("intervals have no column `{name}` of {n} numbers"))
    };
    let all: Vec<Column> = FIELDS.iter().map(|(name, _)| column(name)).collect::<Result<_, _>>()?;
    let unsigned = |k: usize, i: usize| {
        u64::try_from(all[k].at(i)).map_err(|_| format!("intervals: `{}` is negative or too large", FIELDS[k].0))
    };
    let one = |i: usize| {
        Ok(Interval {
            start_ms: i64::try_from(all[0].at(i)).map_err(|_| "intervals: `start_ms` is too large")?,
            length_ms: unsigned(1, i)?,
            transactions: unsigned(2, i)?,
            statements: unsigned(3, i)?,
            errors: unsigned(4, i)?,
            due: unsigned(5, i)?,
            backlog: unsigned(6, i)?,
            p50_ns: unsigned(7, i)?,
            p95_ns: unsigned(8, i)?,
            p99_ns: unsigned(9, i)?,
            max_ns: unsigned(10, i)?,
        })
    };
    (0..n).map(one).collect()
}

/// A column as it was written.
enum Column {
    Same(i128),
    Steps(i128, i128),
    All(Vec<i128>),
}

impl Column {
    fn read(value: &Value, n: usize) -> Option<Self> {
        let number = |v: &Value| v.as_i64().map(i128::from).or_else(|| v.as_u64().map(i128::from));
        if let Some(list) = value.as_array() {
            let all: Vec<i128> = list.iter().map(number).collect::<Option<_>>()?;
            return (all.len() == n).then_some(Self::All(all));
        }
        match (value.get("from"), value.get("step")) {
            (Some(from), Some(step)) => Some(Self::Steps(number(from)?, number(step)?)),
            _ => number(value).map(Self::Same),
        }
    }

    fn at(&self, i: usize) -> i128 {
        match self {
            Self::Same(value) => *value,
            Self::Steps(from, step) => from + step * i as i128,
            Self::All(all) => all[i],
        }
    }
}

fn write(column: &[i128], out: &mut String) {
    let first = column.first().copied().unwrap_or(0);
    let step = column.get(1).map_or(0, |second| second - first);
    let regular = column.windows(2).all(|w| w[1] - w[0] == step);
    if regular && step == 0 {
        out.push_str(&first.to_string());
        return;
    }
    // A reader need not know numbers beyond 64 bits.
    if regular && i64::try_from(first).is_ok() && i64::try_from(step).is_ok() {
        out.push_str(&format!("{{\"from\":{first},\"step\":{step}}}"));
        return;
    }
    out.push('[');
    let mut digits = itoa::Buffer::new();
    for (i, value) in column.iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        out.push_str(digits.format(*value));
    }
    out.push(']');
}
