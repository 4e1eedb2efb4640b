//! What perbuck noted of the data in a database that a drop-in command changes: those commands work without such notes, and
//! must leave no wrong ones.

use perbuck_lab::data;
use perbuck_lab::error::{ErrorKind, LabError};
use perbuck_lab::stage::Stage;
use perbuck_load::query::Query;
use perbuck_load::records::Action;

const WRITING: &str = "writing perbuck's notes on the data";

/// Removes what `perbuck run` noted of the data of workload `kind`, if it did: they are gone or changed.
pub(crate) fn forget(stage: &Stage, kind: &str) -> Result<(), LabError> {
    // On TiKV no other kind of workload has any notes.
    let on_tikv = || stage.server.drop_table(WRITING, data::TABLE, None);
    noted(stage, on_tikv, &format!("DELETE FROM {} WHERE workload = '{kind}'", data::TABLE))?;
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
    let used_by = Query::records(data::TABLE, Action::Update(1..2), [command, kind]);
    let sql = format!("UPDATE {} SET used_by = '{command}' WHERE workload = '{kind}'", data::TABLE);
    noted(stage, || stage.server.query(WRITING, &used_by), &sql)
}

/// Changes the notes, if there are any.
fn noted(stage: &Stage, on_tikv: impl Fn() -> Result<(), LabError>, sql: &str) -> Result<(), LabError> {
    if !stage.server.has_table(data::TABLE)? {
        return Ok(());
    }
    if stage.driver == "tikv" { on_tikv() } else { stage.server.execute(WRITING, sql) }
}

/// A load that was interrupted leaves tables that hold a part of their rows; `cleanup` is the command that drops them.
pub(crate) fn half_loaded(error: LabError, cleanup: &str) -> LabError {
    if error.kind() != ErrorKind::Interrupted {
        return error;
    }
    let help = format!("{cleanup} drops them; then run prepare again");
    LabError::new(ErrorKind::Interrupted, "interrupted; the tables hold a part of their rows", help)
}
