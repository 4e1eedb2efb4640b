//! pgbench's four tables: made and filled by `-i`, vacuumed before a run.

use std::time::Instant;

use perbuck_console::say;
use perbuck_lab::error::{ErrorKind, LabError};
use perbuck_lab::stage::Stage;
use perbuck_workloads::script::TABLES;

use super::settings::Vacuum;
use crate::flags::Given;
use crate::refused::Refused;

/// What `-i` does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Steps {
    pub(super) vacuum: bool,
    pub(super) foreign_keys: bool,
}

/// Reads the steps of a load. perbuck makes, fills and keys the tables as one.
pub(super) fn steps(given: &Given) -> Result<Steps, Refused> {
    let typed: String = given.text("init-steps").chars().filter(|c| *c != ' ').collect();
    if let Some(unknown) = typed.chars().find(|c| !"dtgGvpf".contains(*c)) {
        let message = format!("unrecognized initialization step \"{unknown}\"");
        return Err(Refused::usage(message, "the steps are d, t, g, G, v, p and f"));
    }
    let needed: String = typed.chars().filter(|c| "dtgGp".contains(*c)).map(|c| c.to_ascii_lowercase()).collect();
    if needed != "dtgp" {
        let help = "write -I dtgvp, with or without v, and with f for foreign keys";
        return Err(Refused::usage(format!("-I {typed}: perbuck makes, fills and keys the tables in one step"), help));
    }
    Ok(Steps {
        vacuum: typed.contains('v') && !given.switch("no-vacuum"),
        foreign_keys: typed.contains('f') || given.switch("foreign-keys"),
    })
}

/// The foreign keys: table, column, and the table that it refers to.
const KEYS: [(&str, &str, &str); 5] = [
    ("pgbench_tellers", "bid", "pgbench_branches"),
    ("pgbench_accounts", "bid", "pgbench_branches"),
    ("pgbench_history", "bid", "pgbench_branches"),
    ("pgbench_history", "tid", "pgbench_tellers"),
    ("pgbench_history", "aid", "pgbench_accounts"),
];

/// Makes and fills the tables; those that are there are dropped before, as pgbench does.
pub(super) fn initialize(stage: &Stage, steps: Steps, is_postgres: bool) -> Result<(), LabError> {
    let began = Instant::now();
    say("dropping old tables...\ncreating tables...\ngenerating data (client-side)...");
    // The tables of foreign keys last: others refer to them.
    for table in TABLES.iter().rev() {
        stage.server.drop_table(&format!("dropping table {table}"), table, None)?;
    }
    stage.data.fill(None, &mut |_| {})?;
    let filled = began.elapsed();
    if steps.vacuum && is_postgres {
        say("vacuuming...");
        for table in TABLES {
            stage.server.execute(&format!("vacuuming {table}"), &format!("VACUUM ANALYZE {table}"))?;
        }
    }
    // They were made with the tables.
    say("creating primary keys...");
    if steps.foreign_keys {
        say("creating foreign keys...");
        for (table, column, other) in KEYS {
            let sql = format!(
                "ALTER TABLE {table} ADD CONSTRAINT {table}_{column}_fkey FOREIGN KEY ({column}) REFERENCES {other} ({column})"
            );
            stage.server.execute(&format!("adding a foreign key of {table}"), &sql)?;
        }
    }
    let all = began.elapsed();
    say(&format!(
        "done in {:.2} s (drop, create and fill tables {:.2} s, vacuum and keys {:.2} s).",
        all.as_secs_f64(),
        filled.as_secs_f64(),
        (all - filled).as_secs_f64()
    ));
    crate::notes::forget(stage, "script")
}

/// The scale of the tables.
pub(super) fn scale(stage: &Stage) -> Result<u32, LabError> {
    if !stage.server.has_table(TABLES[0])? {
        let message = format!("could not count number of branches: there is no table \"{}\"", TABLES[0]);
        return Err(LabError::new(
            ErrorKind::Refused,
            message,
            "Perhaps you need to do initialization (\"perbuck pgbench -i\") in this database.",
        ));
    }
    let branches = stage.server.number("counting the branches", "SELECT COUNT(*) FROM pgbench_branches")?;
    u32::try_from(branches).ok().filter(|scale| *scale > 0).ok_or_else(|| {
        let message = format!("invalid count(*) from pgbench_branches: \"{branches}\"");
        LabError::new(ErrorKind::Refused, message, "perbuck pgbench -i makes and fills the tables")
    })
}

/// What pgbench does before a run: its history is emptied, and tables are vacuumed.
pub(super) fn vacuum(stage: &Stage, vacuum: Vacuum, (is_postgres, truncates): (bool, bool)) -> Result<(), LabError> {
    if vacuum == Vacuum::None || !stage.server.has_table(TABLES[0])? {
        return Ok(());
    }
    let run = |sql: &str| stage.server.execute("preparing the tables for the run", sql);
    if is_postgres {
        say("starting vacuum...");
        run("VACUUM pgbench_branches")?;
        run("VACUUM pgbench_tellers")?;
    }
    run(if truncates { "TRUNCATE TABLE pgbench_history" } else { "DELETE FROM pgbench_history" })?;
    if is_postgres {
        if vacuum == Vacuum::All {
            say("starting vacuum pgbench_accounts...");
            run("VACUUM ANALYZE pgbench_accounts")?;
        }
        say("end.");
    }
    Ok(())
}
