//! TiFlash replicas of the tables of a contender (`tiflash_replicas`): asked for behind a load, and waited for.

use std::thread;
use std::time::{Duration, Instant};

use perbuck_database::settings::ReplicaWords;
use perbuck_load::stop::StopToken;

use crate::error::LabError;
use crate::progress::Progress;
use crate::stage::Stage;

/// How long TiFlash may make no progress at all: a large table is copied for hours, but something always moves.
const PATIENCE: Duration = Duration::from_secs(30 * 60);
const LOOK: Duration = Duration::from_millis(500);
const REMOVE: &str = "remove `tiflash_replicas`";

/// How far TiFlash is with a table.
#[derive(Debug, Clone, PartialEq)]
struct Replica {
    count: u32,
    available: bool,
    /// From 0 to 1.
    progress: f64,
}

/// Whether the servers of a contender can have the replicas that it asks for, as far as they tell before there are tables.
///
/// # Errors
/// No TiDB, or fewer TiFlash servers than replicas.
pub(crate) fn possible(stage: &Stage) -> Result<(), LabError> {
    let Some(wanted) = stage.tiflash_replicas else { return Ok(()) };
    let ask = |sql: &str| stage.server.cell_on_host(0, sql);
    let Some(words) = stage.dialect.replicas() else { return Err(no_replicas(stage, stage.dialect.name())) };
    let version = ask(words.version()).map_err(|e| LabError::target(&stage.title, &e))?.unwrap_or_default();
    if !words.knows(&version) {
        return Err(no_replicas(stage, &version));
    }
    // Without the right to ask, the first ALTER TABLE says the same.
    let servers = ask(words.servers()).ok().flatten();
    match servers.and_then(|s| s.parse::<u32>().ok()) {
        Some(servers) if servers < wanted => {
            let message =
                format!("{}: `tiflash_replicas` is {wanted}, and the cluster has {servers} TiFlash servers", stage.title);
            Err(LabError::usage(message, too_few()))
        }
        _ => Ok(()),
    }
}

fn no_replicas(stage: &Stage, version: &str) -> LabError {
    let message = format!("{}: `tiflash_replicas` is for TiDB, and {} is {version}", stage.title, stage.address);
    LabError::usage(message, REMOVE)
}

/// Lets every table have the replicas that the contender asks for, and waits until all are available.
///
/// # Errors
/// A server without TiFlash, a replica that does not become ready, Ctrl-C.
pub(crate) fn ready(stage: &Stage, stop: &StopToken, progress: &mut dyn Progress) -> Result<(), LabError> {
    let Some(wanted) = stage.tiflash_replicas else { return Ok(()) };
    let Some(words) = stage.dialect.replicas() else { return Err(no_replicas(stage, stage.dialect.name())) };
    let tables = &stage.tables;
    for table in tables {
        if look(stage, words, table)?.is_none_or(|r| r.count != wanted) {
            let sql = words.ask(table, wanted);
            stage.server.execute(&sql, &sql).map_err(|e| e.or_help(&too_few()))?;
        }
    }
    let (mut last, mut moved) = (Vec::new(), Instant::now());
    loop {
        let mut states = Vec::new();
        for table in tables {
            states.push(look(stage, words, table)?);
        }
        let missing: Vec<usize> = (0..tables.len()).filter(|i| !is_ready(states[*i].as_ref(), wanted)).collect();
        let Some(first) = missing.first() else {
            let each = if wanted == 1 { "1 TiFlash replica".to_owned() } else { format!("{wanted} TiFlash replicas") };
            progress.line(&format!("{}: {each} of each of {} tables can be read", stage.title, tables.len()));
            return Ok(());
        };
        if stop.requested() {
            return Err(LabError::interrupted());
        }
        let percent = states[*first].as_ref().map_or(0.0, |r| r.progress * 100.0);
        if states != last {
            (last, moved) = (states, Instant::now());
        } else if moved.elapsed() >= PATIENCE {
            let message = format!(
                "{}: TiFlash does not get on with {}: AVAILABLE is 0 and PROGRESS {percent:.0} %, and nothing has moved for {} minutes ({} of {} tables are ready)",
                stage.title,
                tables[*first],
                PATIENCE.as_secs() / 60,
                tables.len() - missing.len(),
                tables.len()
            );
            let help = "look at information_schema.tiflash_replica and at the log of TiFlash; the same command goes on waiting";
            return Err(LabError::failed(message, help));
        }
        let ready = tables.len() - missing.len();
        let now = format!("{ready} of {} tables can be read from TiFlash; {} is at {percent:.0} %", tables.len(), tables[*first]);
        progress.passing(&format!("{}: {now}", stage.title));
        thread::sleep(LOOK);
    }
}

fn too_few() -> String {
    format!("add TiFlash servers to the cluster, ask for fewer replicas, or {REMOVE}")
}

fn is_ready(replica: Option<&Replica>, wanted: u32) -> bool {
    replica.is_some_and(|r| r.count == wanted && r.available)
}

/// What TiDB says of a table; nothing where it has no replica.
fn look(stage: &Stage, words: &dyn ReplicaWords, table: &str) -> Result<Option<Replica>, LabError> {
    let sql = words.look(table);
    let said = stage.server.cell_on_host(0, &sql).map_err(|e| LabError::target(&stage.title, &e))?;
    Ok(said.as_deref().and_then(replica))
}

fn replica(said: &str) -> Option<Replica> {
    let mut words = said.split(' ');
    let count = words.next()?.parse().ok()?;
    let available = words.next()? == "1";
    Some(Replica { count, available, progress: words.next()?.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replica_is_ready_when_it_is_available_in_the_wanted_number() {
        let half = replica("1 0 0.5").unwrap();
        assert_eq!(half, Replica { count: 1, available: false, progress: 0.5 });
        let full = replica("2 1 1").unwrap();
        assert!(is_ready(Some(&full), 2) && !is_ready(Some(&full), 1) && !is_ready(Some(&half), 1) && !is_ready(None, 1));
        assert_eq!(replica("1 1"), None);
    }
}
