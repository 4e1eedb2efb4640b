//! TiFlash replicas of the tables of a contender (`tiflash_replicas`): asked for after a load, and waited for.

use std::thread;
use std::time::{Duration, Instant};

use perbuck_database::settings::ReplicaWords;
use perbuck_load::stop::StopToken;

use crate::error::LabError;
use crate::progress::Progress;
use crate::stage::Stage;

/// How long TiFlash may make no progress at all: a large table is copied for hours, but something always moves.
const STALL_TIMEOUT: Duration = Duration::from_secs(30 * 60);
const POLL: Duration = Duration::from_millis(500);
const REMOVE: &str = "remove `tiflash_replicas`";

#[derive(Debug, Clone, PartialEq)]
struct Replica {
    count: u32,
    available: bool,
    /// From 0 to 1.
    progress: f64,
}

/// Makes sure that the servers of a contender can have the replicas that it asks for, as far as they tell before there are tables.
///
/// # Errors
/// That it is no TiDB, or has too few TiFlash servers.
pub fn possible(stage: &Stage) -> Result<(), LabError> {
    let Some(wanted) = stage.tiflash_replicas else { return Ok(()) };
    let words = words(stage)?;
    let version = ask(stage, words.version)?.unwrap_or_default();
    if !(words.knows)(&version) {
        return Err(no_replicas(stage, &version));
    }
    // Without the right to ask, the first ALTER TABLE says the same.
    let servers = ask(stage, words.servers).ok().flatten();
    match servers.and_then(|s| s.parse::<u32>().ok()) {
        Some(servers) if servers < wanted => {
            let cluster = format!("the cluster has {servers} TiFlash servers");
            Err(LabError::usage(format!("{}: `tiflash_replicas` is {wanted}, and {cluster}", stage.title), too_few()))
        }
        _ => Ok(()),
    }
}

fn words(stage: &Stage) -> Result<&'static ReplicaWords, LabError> {
    stage.dialect.replicas().ok_or_else(|| no_replicas(stage, stage.dialect.name()))
}

fn no_replicas(stage: &Stage, version: &str) -> LabError {
    let message = format!("{}: `tiflash_replicas` is for TiDB, and {} is {version}", stage.title, stage.address);
    LabError::usage(message, REMOVE)
}

fn ask(stage: &Stage, sql: &str) -> Result<Option<String>, LabError> {
    stage.server.cell_on_host(0, sql).map_err(|e| LabError::target(&stage.title, &e))
}

/// Lets every table have the replicas that the contender asks for, and waits until all are available.
///
/// # Errors
/// The server's answer, that TiFlash makes no progress, or that the user stopped it.
pub fn ready(stage: &Stage, stop: &StopToken, progress: &mut dyn Progress) -> Result<(), LabError> {
    let Some(wanted) = stage.tiflash_replicas else { return Ok(()) };
    let (words, tables, title) = (words(stage)?, &stage.tables, &stage.title);
    // What TiDB says of a table; `None` where it has no replica.
    let state = |table: &String| Ok(ask(stage, &(words.look)(table))?.as_deref().and_then(replica));
    for table in tables {
        if state(table)?.is_none_or(|r| r.count != wanted) {
            let sql = (words.ask)(table, wanted);
            stage.server.execute(&sql, &sql).map_err(|e| e.or_help(&too_few()))?;
        }
    }
    let (mut last, mut moved) = (Vec::new(), Instant::now());
    loop {
        let states = tables.iter().map(state).collect::<Result<Vec<_>, LabError>>()?;
        let missing: Vec<usize> = (0..tables.len()).filter(|i| !is_ready(states[*i].as_ref(), wanted)).collect();
        let Some(first) = missing.first() else {
            let each = if wanted == 1 { "1 TiFlash replica".to_owned() } else { format!("{wanted} TiFlash replicas") };
            progress.line(&format!("{title}: {each} of each of {} tables can be read", tables.len()));
            return Ok(());
        };
        if stop.requested() {
            return Err(LabError::interrupted());
        }
        let percent = states[*first].as_ref().map_or(0.0, |r| r.progress * 100.0);
        let (table, ready, of) = (&tables[*first], tables.len() - missing.len(), tables.len());
        if states != last {
            (last, moved) = (states, Instant::now());
        } else if moved.elapsed() >= STALL_TIMEOUT {
            let message = format!(
                "{title}: TiFlash does not get on with {table}: AVAILABLE is 0 and PROGRESS {percent:.0} %, and nothing has moved for {} minutes ({ready} of {of} tables are ready)",
                STALL_TIMEOUT.as_secs() / 60
            );
            let help = "look at information_schema.tiflash_replica and at the log of TiFlash; the same command goes on waiting";
            return Err(LabError::failed(message, help));
        }
        progress.passing(&format!("{title}: {ready} of {of} tables can be read from TiFlash; {table} is at {percent:.0} %"));
        thread::sleep(POLL);
    }
}

fn too_few() -> String {
    format!("add TiFlash servers to the cluster, ask for fewer replicas, or {REMOVE}")
}

fn is_ready(replica: Option<&Replica>, wanted: u32) -> bool {
    replica.is_some_and(|r| r.count == wanted && r.available)
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
