//! The columns of a CSV file.

use std::sync::Arc;

use perbuck_core::problem::nearest;

use super::rule::Value;

/// What is wrong with a file, or with what is asked of it: its line, what, and the way out.
pub(super) type Fault = (u64, String, String);

/// The sum of the weights up to each value.
pub(super) type Sums = Arc<[f64]>;

/// A column by its name in the first line, and another one as weights.
pub(super) fn column(text: &str, column: &str, weights: Option<&str>) -> Result<(Arc<[Value]>, Option<Sums>), Fault> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let wrong = |error: csv::Error| {
        let line = error.position().map_or(1, csv::Position::line);
        let why = match error.kind() {
            csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
                format!("the line has {len} cells, and the first line has {expected_len}")
            }
            _ => error.to_string(),
        };
        (line, why, "give every line as many cells as the first one, which names the columns".to_owned())
    };
    let names: Vec<String> = reader.headers().map_err(wrong)?.iter().map(|name| name.trim().to_owned()).collect();
    let position = |wanted: &str| {
        names.iter().position(|name| name == wanted).ok_or_else(|| {
            let help = match nearest(wanted, names.iter().map(String::as_str)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("its columns are: {}", names.join(", ")),
            };
            (1, format!("there is no column `{wanted}`"), help)
        })
    };
    let (at, weight_at) = (position(column)?, weights.map(position).transpose()?);
    let (mut values, mut sums, mut sum) = (Vec::new(), Vec::new(), 0.0);
    for record in reader.records() {
        let record = record.map_err(wrong)?;
        values.push(Value::Text(record.get(at).unwrap_or_default().into()));
        if let Some(weight_at) = weight_at {
            let cell = record.get(weight_at).unwrap_or_default().trim();
            let weight = cell.parse().ok().filter(|weight: &f64| weight.is_finite() && *weight >= 0.0).ok_or_else(|| {
                let line = record.position().map_or(1, csv::Position::line);
                (line, format!("`{cell}` is no weight"), "a weight is a number, at least 0".to_owned())
            })?;
            sum += weight;
            sums.push(sum);
        }
    }
    if values.is_empty() {
        return Err((1, "there is no line after the first one".to_owned(), "add a line for each value".to_owned()));
    }
    if weight_at.is_some() && sum == 0.0 {
        return Err((1, "all weights are 0".to_owned(), "give a line a weight above 0".to_owned()));
    }
    Ok((values.into(), weight_at.map(|_| sums.into())))
}
