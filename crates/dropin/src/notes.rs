//! What perbuck noted of the data in a database that a drop-in command changes: those commands work without such notes, and
//! must leave no wrong ones.

use perbuck_lab::data;
use perbuck_lab::error::{ErrorKind, LabError};
use perbuck_lab::stage::Stage;

/// Removes what `perbuck run` noted of the data of workload `kind`, if it did: they are gone or changed.
pub(crate) fn forget(stage: &Stage, kind: &str) -> Result<(), LabError> {
    // On TiKV no other kind of workload has any notes.
    let words = format!("DROP TABLE IF EXISTS {}", data::TABLE);
    noted(stage, words, format!("DELETE FROM {} WHERE workload = '{kind}'", data::TABLE))?;
    // Who works without notes gets no table of them either.
    if stage.server.has_table(data::TABLE)?
        && stage.server.number("looking at perbuck's notes", &format!("SELECT COUNT(*) FROM {}", data::TABLE))? == 0
    {
        stage.server.execute("removing perbuck's notes on the data", &format!("DROP TABLE {}", data::TABLE))?;
    }
    Ok(())
}

/// Notes that these data are no longer as `perbuck run` loaded them, if it did. `command` is our own word.
pub(crate) fn used(stage: &Stage, kind: &str, command: &str) -> Result<(), LabError> {
    let words = format!("UPDATE {} 1 1 '{command}' '{kind}'", data::TABLE);
    noted(stage, words, format!("UPDATE {} SET used_by = '{command}' WHERE workload = '{kind}'", data::TABLE))
}

/// Changes the notes, if there are any; `words` say it to the driver of TiKV.
fn noted(stage: &Stage, words: String, sql: String) -> Result<(), LabError> {
    if !stage.server.has_table(data::TABLE)? {
        return Ok(());
    }
    let said = if stage.driver == "tikv" { words } else { sql };
    stage.server.execute("writing perbuck's notes on the data", &said)
}

/// A load that was interrupted leaves tables that hold a part of their rows; `cleanup` is the command that drops them.
pub(crate) fn half_loaded(error: LabError, cleanup: &str) -> LabError {
    if error.kind() != ErrorKind::Interrupted {
        return error;
    }
    let help = format!("{cleanup} drops them; then run prepare again");
    LabError::new(ErrorKind::Interrupted, "interrupted; the tables hold a part of their rows", help)
}
