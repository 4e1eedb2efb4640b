//! One variable of one server: read, set and restored.

use std::thread;
use std::time::{Duration, Instant};

use perbuck_database::settings::{Background, SettingWords};
use perbuck_load::error::{Cause, DriverError, ErrorClass};

use super::journal::Change;
use crate::stage::Stage;

/// The words for settings; a study that has some was refused for targets that lack them.
pub(super) fn words(stage: &Stage) -> Result<&'static SettingWords, DriverError> {
    stage.dialect.server_settings().map_err(|lack| DriverError::client(ErrorClass::Fatal, "settings", lack.why))
}

/// The value of a global variable, as text, so that no digit of it is lost; nothing is NULL.
pub(super) fn read(stage: &Stage, host: u32, name: &str) -> Result<Option<String>, DriverError> {
    whole_text(name, stage.server.cell_on_host(host, &(words(stage)?.read)(name))?)
}

fn whole_text(name: &str, value: Option<String>) -> Result<Option<String>, DriverError> {
    if value.as_deref().is_some_and(|value| value.contains(char::REPLACEMENT_CHARACTER)) {
        // It could not be restored.
        let message = format!("the value of {name} is no text, so it is left as it is");
        return Err(DriverError::client(ErrorClass::Fatal, "settings", message));
    }
    Ok(value)
}

pub(super) fn set(stage: &Stage, host: u32, name: &str, value: Option<&str>) -> Result<(), DriverError> {
    let (mut result, words) = (Ok(()), words(stage)?);
    for literal in literals(value) {
        result = stage.server.cell_on_host(host, &(words.set)(name, &literal)).map(|_| ());
        match &result {
            Err(error) if error.cause == Some(Cause::SettingType) => {}
            _ => break,
        }
    }
    result?;
    match words.background.as_ref().filter(|background| background.name.eq_ignore_ascii_case(name)) {
        Some(background) => until_ended(stage, host, background),
        None => Ok(()),
    }
}

/// How long a server may carry out a change in the background, and how often it is asked.
const BACKGROUND_TIMEOUT: Duration = Duration::from_secs(20 * 60);
const POLL: Duration = Duration::from_millis(100);

/// Waits until a server has carried out a change; where it never tells how far it is, the change is taken as done.
fn until_ended(stage: &Stage, host: u32, background: &Background) -> Result<(), DriverError> {
    let began = Instant::now();
    loop {
        let Some(text) = how_far(stage, host, background)? else { return Ok(()) };
        if (background.ended)(&text) {
            return Ok(());
        }
        if began.elapsed() > BACKGROUND_TIMEOUT {
            let minutes = BACKGROUND_TIMEOUT.as_secs() / 60;
            let message = format!("{} is still being changed after {minutes} minutes; the server says: {text}", background.name);
            return Err(DriverError::client(ErrorClass::Fatal, "settings", message));
        }
        thread::sleep(POLL);
    }
}

/// What the first query says that the server knows; `None` where it knows none, or says nothing.
fn how_far(stage: &Stage, host: u32, background: &Background) -> Result<Option<String>, DriverError> {
    for query in background.queries {
        match stage.server.cell_on_host(host, query) {
            Ok(None) => {}
            Ok(told) => return Ok(told),
            Err(error) if error.class == ErrorClass::Lost || error.cause == Some(Cause::Stopped) => return Err(error),
            // Another version keeps it elsewhere.
            Err(_) => {}
        }
    }
    Ok(None)
}

/// Restores the old value of a variable, if it has another one; returns whether it had.
pub(super) fn restore(stage: &Stage, host: u32, change: &Change) -> Result<bool, DriverError> {
    let moved = read(stage, host, &change.name)? != change.was;
    if moved {
        set(stage, host, &change.name, change.was.as_deref())?;
    }
    Ok(moved)
}

/// A value as a user would write it into SQL.
pub(super) fn literal(value: Option<&str>) -> String {
    literals(value).swap_remove(0)
}

/// A value in SQL. Servers want numbers bare, but for the few texts that look like numbers; nothing is escaped, because no
/// value holds a quote or a backslash.
fn literals(value: Option<&str>) -> Vec<String> {
    let Some(value) = value else { return vec!["NULL".to_owned()] };
    let quoted = format!("'{value}'");
    if is_number(value) { vec![value.to_owned(), quoted] } else { vec![quoted] }
}

fn is_number(value: &str) -> bool {
    let digits = value.strip_prefix('-').unwrap_or(value);
    // `-inf` and `-nan` are numbers to Rust, and names to a server.
    digits.starts_with(|c: char| c.is_ascii_digit()) && digits.parse::<f64>().is_ok()
}

/// Whether a value can be written into SQL as it is: between quotes it ends nothing and begins nothing, in every mode of a server.
pub(super) fn is_plain(value: &str) -> bool {
    !value.contains(['\'', '\\']) && !value.contains(char::is_control)
}

pub(super) fn shown(value: &Option<String>) -> &str {
    value.as_deref().unwrap_or("NULL")
}

/// Whether a server took a value as it was asked for: servers say 1 for ON, and write numbers in their own way.
pub(super) fn taken(wanted: &str, became: Option<&str>) -> bool {
    let plain = |value: &str| match value.to_ascii_uppercase().as_str() {
        "ON" | "TRUE" => "1".to_owned(),
        "OFF" | "FALSE" => "0".to_owned(),
        other => other.parse::<f64>().map_or_else(|_| other.to_owned(), |number| number.to_string()),
    };
    became.is_some_and(|became| plain(wanted) == plain(became))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_is_no_text_is_not_taken() {
        let read = |value: &str| whole_text("long_query_time", Some(value.to_owned()));
        assert_eq!(read("10.000000").unwrap().as_deref(), Some("10.000000"));
        let why = read("10.\u{fffd}\u{fffd}00").unwrap_err().to_string();
        assert!(why.contains("the value of long_query_time is no text"), "{why}");
    }

    #[test]
    fn numbers_are_bare_and_texts_quoted() {
        assert_eq!(literals(Some("OFF")), ["'OFF'"]);
        assert_eq!(literals(Some("-1.5")), ["-1.5", "'-1.5'"]);
        assert_eq!(literals(Some("00:00 +0000")), ["'00:00 +0000'"]);
        assert_eq!((literals(Some("inf")), literals(Some("-inf"))), (vec!["'inf'".to_owned()], vec!["'-inf'".to_owned()]));
        assert_eq!((literals(Some("")), literals(None)), (vec!["''".to_owned()], vec!["NULL".to_owned()]));
    }

    #[test]
    fn a_value_is_taken_in_the_words_of_the_server() {
        assert!(taken("OFF", Some("0")) && taken("on", Some("1")) && taken("0.50", Some("0.5")) && taken("ROW", Some("row")));
        assert!(!taken("5", Some("100")) && !taken("x", None));
    }
}
