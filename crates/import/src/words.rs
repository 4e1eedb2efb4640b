//! Numbers in the lines of logs.

/// The text as a number without sign; digits, with a fraction or an exponent.
pub(crate) fn number(text: &str) -> Option<f64> {
    let value: f64 = text.trim().parse().ok()?;
    (value.is_finite() && value >= 0.0).then_some(value)
}

/// The text as a whole number; YCSB writes some with a fraction of 0.
pub(crate) fn whole(text: &str) -> Option<u64> {
    let text = text.trim();
    text.parse().ok().or_else(|| number(text).filter(|v| v.fract() == 0.0 && *v < 1e15).map(|v| v as u64))
}

/// Key and value of a line such as `total time:   10.0s`.
pub(crate) fn labelled(line: &str) -> Option<(&str, &str)> {
    line.split_once(':').map(|(key, value)| (key.trim(), value.trim()))
}

/// The number at the start of a value such as `10.0012s` or `1234 (55.2 per sec.)`.
pub(crate) fn leading(value: &str) -> Option<f64> {
    let end = value.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(value.len());
    number(&value[..end])
}

/// The same of a whole number.
pub(crate) fn leading_whole(value: &str) -> Option<u64> {
    let end = value.find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len());
    value[..end].parse().ok()
}

/// Name and text of fields such as `Takes(s): 59.9, Count: 12`.
pub(crate) fn fields(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split(',').filter_map(labelled)
}

/// The value of one of these fields.
pub(crate) fn field<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    fields(text).find(|(key, _)| *key == name).map(|(_, value)| value)
}
