//! What the addresses of all databases have in common: why one is refused, options, percent signs.

use std::fmt;

use perbuck_core::problem::nearest;
use perbuck_core::units::parse_duration_ns;
use percent_encoding::{percent_decode_str, percent_encode_byte};

/// Why an address is refused. Neither part ever quotes what may be a password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetProblem {
    /// What is wrong.
    pub message: String,
    /// The way out.
    pub help: String,
}

impl fmt::Display for TargetProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n    help: {}", self.message, self.help)
    }
}

impl std::error::Error for TargetProblem {}

/// A refusal of an address: always an error.
pub fn problem<T>(message: impl Into<String>, help: impl Into<String>) -> Result<T, TargetProblem> {
    Err(TargetProblem { message: message.into(), help: help.into() })
}

/// The refusal of an address that may hold a password: always an error, which quotes nothing.
pub fn password_in_target<T>() -> Result<T, TargetProblem> {
    problem(
        "the target holds a password, or an `@` that is not written %40. perbuck refuses it, because targets are written into every record",
        "remove `:password`; set PERBUCK_<CONTENDER>_PASSWORD in the environment, or name a file with `password_file`",
    )
}

/// Whether an address gives a password in an odd place: a message may quote what stands there, and a name may hold it.
pub fn gives_password(text: &str) -> bool {
    let text = percent_decode_str(text).decode_utf8_lossy().to_lowercase().replace("send_password=", "");
    let after = |word| text.split(word).skip(1);
    let rest_of_name = |c: char| c.is_ascii_alphanumeric() || " _-".contains(c);
    let is_port = |rest: &str| {
        let digits = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        digits.len() < rest.len() && (digits.is_empty() || digits.starts_with([',', '/', '?']))
    };
    let gives = |rest: &str| {
        let rest = rest.trim_start_matches(rest_of_name);
        rest.starts_with('=') || rest.strip_prefix(':').is_some_and(|value| !is_port(value))
    };
    ["passw", "pwd", "secret"].into_iter().flat_map(after).any(gives)
}

/// An address followed by its options.
pub fn with_options(address: String, options: &[String]) -> String {
    if options.is_empty() { address } else { format!("{address}?{}", options.join("&")) }
}

/// The options as (known key, decoded value). Values of keys that are not known are never quoted.
///
/// # Errors
/// The first option that is not known, comes twice, or cannot be decoded.
pub fn options_of<'k>(text: &str, known: &[&'k str]) -> Result<Vec<(&'k str, String)>, TargetProblem> {
    let mut found: Vec<(&str, String)> = Vec::new();
    for option in text.split('&').filter(|o| !o.is_empty()) {
        let Some((key, value)) = option.split_once('=') else {
            return problem("an option of the target has no `=`", format!("the options are {}", known.join(", ")));
        };
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

/// One of some words; any other is refused.
pub fn one_of(key: &str, value: &str, allowed: &[&str]) -> Result<String, TargetProblem> {
    if allowed.contains(&value) {
        return Ok(value.to_owned());
    }
    problem(format!("`{value}` is not a value of `{key}`"), format!("use one of {}", allowed.join(", ")))
}

/// A duration of at least so many milliseconds; what is none, or out of range, is refused.
pub fn milliseconds(key: &str, value: &str, least: u32) -> Result<u32, TargetProblem> {
    let ns = parse_duration_ns(value).or_else(|why| problem(format!("`{key}`: {why}"), "write a duration such as `10s`"))?;
    match u32::try_from(ns / 1_000_000) {
        Ok(ms) if ms >= least => Ok(ms),
        _ => problem(format!("`{key}`: `{value}` is out of range"), "write a duration from 1ms to 40 days"),
    }
}

/// A size such as `64MiB`; what is none is refused.
pub fn kibibytes(key: &str, value: &str) -> Result<u32, TargetProblem> {
    let units = [("KiB", 1), ("MiB", 1_024), ("GiB", 1_048_576)];
    let found = units.iter().find_map(|(unit, factor)| Some((value.strip_suffix(unit)?.trim().parse::<u32>().ok()?, *factor)));
    match found.and_then(|(number, factor)| number.checked_mul(factor)) {
        // SQLite takes the size as a negative 32-bit number of KiB.
        Some(kib) if kib > 0 && i32::try_from(kib).is_ok() => Ok(kib),
        _ => problem(format!("`{key}`: `{value}` is not a size"), "write a size such as `64MiB`"),
    }
}

/// Text without its percent signs; `what` names it. A sign without its digits is refused, and what text cannot hold.
pub fn percent_decode(text: &str, what: &str) -> Result<String, TargetProblem> {
    let help = "write a percent sign as %25, and other characters as percent signs with two hexadecimal digits";
    let coded = |rest: &str| rest.as_bytes().first_chunk::<2>().is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit));
    if !text.split('%').skip(1).all(coded) {
        return problem(format!("{what} holds a `%` without two hexadecimal digits"), help);
    }
    match percent_decode_str(text).decode_utf8() {
        Ok(decoded) if !decoded.contains(char::is_control) => Ok(decoded.into_owned()),
        _ => problem(format!("{what} holds a control character, or is not UTF-8"), help),
    }
}

/// Text in which these characters (of ASCII) are written by a percent sign. All others stay, so that people can read them.
pub fn percent_encode(text: &str, special: &str) -> String {
    let encode = |c: char| if special.contains(c) { percent_encode_byte(c as u8).to_owned() } else { c.to_string() };
    text.chars().map(encode).collect()
}
