//! The options of an address, and its percent signs.

use perbuck_core::problem::nearest;
use perbuck_core::units::parse_duration_ns;

use super::{TargetProblem, problem};

pub(super) fn password_in_target<T>() -> Result<T, TargetProblem> {
    problem(
        "the target holds a password (or an `@` that is not written %40); it is not shown here, and would be in every record",
        "leave `:password` out; set PERBUCK_<CONTENDER>_PASSWORD in the environment, or name a file with `password_file`",
    )
}

pub(super) fn with_options(mut address: String, options: &[String]) -> String {
    for (i, option) in options.iter().enumerate() {
        address.push(if i == 0 { '?' } else { '&' });
        address.push_str(option);
    }
    address
}

/// The options as (known key, decoded value). Values of keys that are not known are never quoted.
pub(super) fn options_of<'k>(text: &str, known: &[&'k str]) -> Result<Vec<(&'k str, String)>, TargetProblem> {
    let mut found: Vec<(&str, String)> = Vec::new();
    for option in text.split('&').filter(|o| !o.is_empty()) {
        let (key, value) = option.split_once('=').unwrap_or((option, ""));
        if matches!(key.to_ascii_lowercase().as_str(), "password" | "passwd" | "pwd" | "pass") {
            return password_in_target();
        }
        let Some(key) = known.iter().find(|k| **k == key) else {
            let help = nearest(key, known.iter().copied())
                .map_or_else(|| format!("the options are {}", known.join(", ")), |near| format!("did you mean `{near}`?"));
            return problem(format!("`{key}` is not an option of this target"), help);
        };
        if found.iter().any(|(k, _)| k == key) {
            return problem(format!("the option `{key}` is given twice"), "keep one of them");
        }
        found.push((key, percent_decode(value, &format!("the option `{key}`"))?));
    }
    Ok(found)
}

pub(super) fn one_of(key: &str, value: &str, allowed: &[&str]) -> Result<String, TargetProblem> {
    if allowed.contains(&value) {
        return Ok(value.to_owned());
    }
    problem(format!("`{value}` is not a value of `{key}`"), format!("use one of {}", allowed.join(", ")))
}

pub(super) fn milliseconds(key: &str, value: &str, least: u32) -> Result<u32, TargetProblem> {
    let ns = parse_duration_ns(value).or_else(|why| problem(format!("`{key}`: {why}"), "write a duration such as `10s`"))?;
    match u32::try_from(ns / 1_000_000) {
        Ok(ms) if ms >= least => Ok(ms),
        _ => problem(format!("`{key}`: `{value}` is out of range"), "write a duration from 1ms to 40 days"),
    }
}

pub(super) fn kibibytes(key: &str, value: &str) -> Result<u32, TargetProblem> {
    let units = [("KiB", 1), ("MiB", 1_024), ("GiB", 1_048_576)];
    let found = units.iter().find_map(|(unit, factor)| Some((value.strip_suffix(unit)?.trim().parse::<u32>().ok()?, *factor)));
    match found.and_then(|(number, factor)| number.checked_mul(factor)) {
        // SQLite takes the size as a negative 32-bit number of KiB.
        Some(kib) if kib > 0 && i32::try_from(kib).is_ok() => Ok(kib),
        _ => problem(format!("`{key}`: `{value}` is not a size"), "write a size such as `64MiB`"),
    }
}

pub(super) fn percent_decode(text: &str, what: &str) -> Result<String, TargetProblem> {
    let help = "write a percent sign itself as %25; text is UTF-8 without control characters";
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let mut digit = || bytes.next().and_then(|b| char::from(b).to_digit(16));
        let (Some(high), Some(low)) = (digit(), digit()) else {
            return problem(format!("{what} holds a `%` without two hexadecimal digits"), help);
        };
        out.push((high * 16 + low) as u8);
    }
    match String::from_utf8(out) {
        Ok(decoded) if !decoded.contains(char::is_control) => Ok(decoded),
        _ => problem(format!("{what} holds what text cannot hold"), help),
    }
}

pub(super) fn percent_encode(text: &str, special: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii() && special.contains(c) {
            out.push_str(&format!("%{:02X}", c as u32));
        } else {
            out.push(c);
        }
    }
    out
}
