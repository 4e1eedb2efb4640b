//! What perbuck noted of the data in a database that a drop-in command changes: those commands work without such notes, and
//! must not leave wrong ones behind.

use crate::data;
use crate::error::{CliError, Exit};
use crate::stage::Stage;

/// Removes what `perbuck run` noted of the data of workload `kind`, if it did: they are gone or changed.
///
/// # Errors
/// The server's answer.
pub(in crate::commands) fn forget(stage: &dyn Stage, kind: &str) -> Result<(), CliError> {
    // On TiKV no other kind of workload has any notes.
    let words = format!("DROP TABLE IF EXISTS {}", data::TABLE);
    noted(stage, words, format!("DELETE FROM {} WHERE workload = '{kind}'", data::TABLE))?;
    // Who works without notes gets no table of them either.
    if stage.has_table(data::TABLE)?
        && stage.number("looking at perbuck's notes", &format!("SELECT COUNT(*) FROM {}", data::TABLE))? == 0
    {
        stage.execute("removing perbuck's notes on the data", &format!("DROP TABLE {}", data::TABLE))?;
    }
    Ok(())
}

/// Notes that these data are no longer as `perbuck run` loaded them, if it did. `command` is our own word.
///
/// # Errors
/// The server's answer.
pub(in crate::commands) fn used(stage: &dyn Stage, kind: &str, command: &str) -> Result<(), CliError> {
    let words = format!("UPDATE {} 1 1 '{command}' '{kind}'", data::TABLE);
    noted(stage, words, format!("UPDATE {} SET used_by = '{command}' WHERE workload = '{kind}'", data::TABLE))
}

/// Changes the notes, if there are any; `words` say it to the driver of TiKV.
fn noted(stage: &dyn Stage, words: String, sql: String) -> Result<(), CliError> {
    if !stage.has_table(data::TABLE)? {
        return Ok(());
    }
    let said = if stage.driver() == "tikv" { words } else { sql };
    stage.execute("writing perbuck's notes on the data", &said)
}

/// A load that was interrupted leaves tables that hold a part of their rows; `cleanup` is the command that drops them.
pub(in crate::commands) fn half_loaded(error: CliError, cleanup: &str) -> CliError {
    if error.exit() != Exit::Interrupted {
        return error;
    }
    let help = format!("{cleanup} drops them; then prepare makes them anew");
    CliError::new(Exit::Interrupted, "interrupted; the tables hold a part of their rows", help)
}
