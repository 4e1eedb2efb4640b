//! PostgreSQL's metrics while a load is applied: the statistics of its views, and what its sessions wait for. Names are those of
//! postgres_exporter; of views that it does not read, view and column. Every version has other columns, so they are asked for first.

use std::collections::{BTreeMap, BTreeSet};

use perbuck_load::driver::{Driver as _, Session, SessionId};
use perbuck_load::error::DriverError;
use perbuck_load::meter::{Later, Meter, Reading};
use perbuck_load::values::Rows;

use crate::session::PostgresSession;
use crate::{PostgresDriver, preflight};

/// A view of one row, its columns that are read, what their names end with at the exporter, and the row.
type View = (&'static str, &'static str, &'static str, &'static str);

const VIEWS: [View; 4] = [
    (
        "pg_stat_database",
        "active_time blk_read_time blk_write_time blks_hit blks_read conflicts deadlocks idle_in_transaction_time session_time \
         sessions temp_bytes temp_files tup_deleted tup_fetched tup_inserted tup_returned tup_updated xact_commit xact_rollback",
        "",
        " WHERE datname = current_database()",
    ),
    (
        "pg_stat_bgwriter",
        "buffers_alloc buffers_backend buffers_backend_fsync buffers_checkpoint buffers_clean checkpoint_sync_time \
         checkpoint_write_time checkpoints_req checkpoints_timed maxwritten_clean",
        "_total",
        "",
    ),
    (
        "pg_stat_checkpointer",
        "buffers_written num_requested num_timed restartpoints_done restartpoints_req restartpoints_timed sync_time write_time",
        "_total",
        "",
    ),
    ("pg_stat_wal", "wal_buffers_full wal_bytes wal_fpi wal_records wal_sync wal_sync_time wal_write wal_write_time", "", ""),
];
/// The view of all reads and writes, from version 16 on, by who did them and to what.
const IO: &str = "pg_stat_io";
const IO_COLUMNS: &str = "\
    evictions extend_bytes extend_time extends fsync_time fsyncs hits read_bytes read_time reads reuses write_bytes write_time \
    writeback_time writebacks writes";
/// Sessions of the database that do something, by what they wait for.
const ACTIVITY: &str = "\
    SELECT state, COALESCE(wait_event_type, ''), COALESCE(wait_event, ''), COUNT(*)::float8 FROM pg_stat_activity \
    WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid() AND state <> 'idle' \
    GROUP BY 1, 2, 3";

/// Sessions with the servers of all hosts.
struct ViewMeter {
    sessions: Vec<PostgresSession>,
    queries: Queries,
    not_told: BTreeMap<String, String>,
}

/// What a version of the server is asked.
#[derive(Debug, Default, Clone, PartialEq)]
struct Queries {
    /// One row of numbers with these names.
    row: (String, Vec<String>),
    /// Rows of who, what and numbers with these names.
    io: Option<(String, Vec<String>)>,
    activity: bool,
}

/// Opens the sessions. Hosts may be names of one server, which counts once.
pub(crate) async fn open(driver: &PostgresDriver, connections: u32) -> Result<Option<Box<dyn Meter>>, DriverError> {
    let hosts = driver.hosts().len() as u32;
    let mut meter = ViewMeter { sessions: Vec::new(), queries: Queries::default(), not_told: BTreeMap::new() };
    let mut known = Vec::new();
    for host in 0..hosts {
        let mut session = driver.connect_at(SessionId::Own(hosts), host).await?;
        let mut rows = Rows::default();
        session.query("SELECT pg_postmaster_start_time()::text", &mut rows).await?;
        let server = rows.display(0, 0)?;
        if known.contains(&server) {
            session.close().await;
            continue;
        }
        if let Some(why) = no_room(&mut session, connections.div_ceil(hosts)).await? {
            session.close().await;
            meter.end().await;
            meter.not_told.insert("metrics".to_owned(), why);
            return Ok(Some(Box::new(meter)));
        }
        if meter.sessions.is_empty() {
            meter.queries = Queries::of(&columns(&mut session).await?);
        }
        known.push(server);
        meter.sessions.push(session);
    }
    Ok(Some(Box::new(meter)))
}

/// Why a session for the metrics would take a connection that the load needs. That session is among those that are connected.
async fn no_room(session: &mut PostgresSession, connections: u32) -> Result<Option<String>, DriverError> {
    let Some(most) = preflight::sessions_max(session).await? else { return Ok(None) };
    let mut rows = Rows::default();
    // Before version 10 the view has sessions of clients alone.
    session.query("SELECT COUNT(*) FROM pg_stat_activity WHERE datname IS NOT NULL", &mut rows).await?;
    let connected = u32::try_from(rows.int(0, 0)?).unwrap_or(u32::MAX);
    let full = connected.saturating_add(connections) > most;
    Ok(full.then(|| format!("the server takes {most} connections of the user at most, so none was left for reading them")))
}

/// The columns of the views that this version has, as `view.column`.
async fn columns(session: &mut PostgresSession) -> Result<BTreeSet<String>, DriverError> {
    let mut rows = Rows::default();
    let views: Vec<&str> = VIEWS.iter().map(|view| view.0).chain([IO, "pg_stat_activity"]).collect();
    let sql = format!(
        "SELECT c.relname || '.' || a.attname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid \
         WHERE c.relnamespace = 'pg_catalog'::regnamespace AND a.attnum > 0 AND c.relname IN ('{}')",
        views.join("', '")
    );
    session.query(&sql, &mut rows).await?;
    (0..rows.len() as usize).map(|row| rows.display(row, 0)).collect()
}

impl Queries {
    fn of(has: &BTreeSet<String>) -> Self {
        let there = |view: &str, column: &&str| has.contains(&format!("{view}.{column}"));
        let (mut selected, mut from, mut names) = (Vec::new(), Vec::new(), Vec::new());
        for (view, list, ending, row) in VIEWS {
            let columns: Vec<&str> = list.split(' ').filter(|column| there(view, column)).collect();
            if columns.is_empty() {
                continue;
            }
            selected.extend(columns.iter().map(|column| format!("{view}.{column}::float8")));
            from.push(format!("(SELECT * FROM {view}{row}) AS {view}"));
            names.extend(columns.iter().map(|column| format!("{view}_{}{ending}", column.trim_start_matches("wal_"))));
        }
        let row = format!("SELECT {} FROM {}", selected.join(", "), from.join(", "));
        let of_io: Vec<&str> = IO_COLUMNS.split(' ').filter(|column| there(IO, column)).collect();
        let io = (!of_io.is_empty()).then(|| {
            let sums: Vec<String> = of_io.iter().map(|column| format!("SUM({column})::float8")).collect();
            let sql = format!("SELECT backend_type, object, {} FROM {IO} GROUP BY 1, 2", sums.join(", "));
            (sql, of_io.iter().map(|column| format!("{IO}_{column}")).collect())
        });
        Self { row: (row, names), io, activity: there("pg_stat_activity", &"backend_type") }
    }
}

impl ViewMeter {
    async fn readings(&mut self) -> Result<Reading, DriverError> {
        let mut sum = Reading::default();
        for session in &mut self.sessions {
            sum.add(self.queries.ask(session).await?);
        }
        Ok(sum)
    }

    async fn end(&mut self) {
        for session in self.sessions.drain(..) {
            session.close().await;
        }
    }
}

impl Queries {
    async fn ask(&self, session: &mut PostgresSession) -> Result<Reading, DriverError> {
        let (mut found, mut rows) = (Reading::default(), Rows::default());
        let (sql, names) = &self.row;
        session.query(sql, &mut rows).await?;
        for (column, name) in names.iter().enumerate().filter(|_| !rows.is_empty()) {
            found.counters.extend(number(&rows, (0, column))?.map(|value| (name.clone(), value)));
        }
        if let Some((sql, names)) = &self.io {
            session.query(sql, &mut rows).await?;
            for row in 0..rows.len() as usize {
                let labels = format!("{{backend_type=\"{}\",object=\"{}\"}}", rows.display(row, 0)?, rows.display(row, 1)?);
                for (column, name) in names.iter().enumerate() {
                    let value = number(&rows, (row, column + 2))?.filter(|value| *value != 0.0);
                    found.counters.extend(value.map(|value| (format!("{name}{labels}"), value)));
                }
            }
        }
        if self.activity {
            session.query(ACTIVITY, &mut rows).await?;
            for row in 0..rows.len() as usize {
                let [state, kind, event] = [0, 1, 2].map(|column| rows.display(row, column));
                let labels = format!("state=\"{}\",wait_event_type=\"{}\",wait_event=\"{}\"", state?, kind?, event?);
                let count = number(&rows, (row, 3))?.unwrap_or_default();
                found.gauges.insert(format!("pg_stat_activity_count{{{labels}}}"), count);
            }
        }
        Ok(found)
    }
}

/// A cell as a number; `None` of NULL, which a column has that does not apply.
fn number(rows: &Rows, (row, column): (usize, usize)) -> Result<Option<f64>, DriverError> {
    if rows.is_null(row, column)? { Ok(None) } else { Ok(rows.display(row, column)?.parse().ok()) }
}

impl Meter for ViewMeter {
    fn not_told(&self) -> BTreeMap<String, String> {
        self.not_told.clone()
    }

    fn read(&mut self) -> Later<'_, Result<Reading, DriverError>> {
        Box::pin(self.readings())
    }

    fn close(mut self: Box<Self>) -> Later<'static, ()> {
        Box::pin(async move { self.end().await })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_sorted_and_hold_nothing_twice() {
        for list in VIEWS.iter().map(|view| view.1).chain([IO_COLUMNS]) {
            assert!(list.split(' ').is_sorted_by(|a, b| a < b), "{list}");
        }
    }

    #[test]
    fn a_version_is_asked_for_what_it_has() {
        let has = |all: &[&str]| all.iter().map(|name| (*name).to_owned()).collect();
        let old =
            Queries::of(&has(&["pg_stat_database.xact_commit", "pg_stat_bgwriter.checkpoints_req", "pg_stat_activity.state"]));
        let sql = "SELECT pg_stat_database.xact_commit::float8, pg_stat_bgwriter.checkpoints_req::float8 FROM \
                   (SELECT * FROM pg_stat_database WHERE datname = current_database()) AS pg_stat_database, \
                   (SELECT * FROM pg_stat_bgwriter) AS pg_stat_bgwriter";
        let names = ["pg_stat_database_xact_commit", "pg_stat_bgwriter_checkpoints_req_total"].map(str::to_owned);
        assert_eq!(old, Queries { row: (sql.to_owned(), names.to_vec()), io: None, activity: false });
        let new = Queries::of(&has(&["pg_stat_wal.wal_bytes", "pg_stat_io.fsyncs", "pg_stat_activity.backend_type"]));
        assert_eq!((new.row.1, new.activity), (vec!["pg_stat_wal_bytes".to_owned()], true));
        let io = "SELECT backend_type, object, SUM(fsyncs)::float8 FROM pg_stat_io GROUP BY 1, 2";
        assert_eq!(new.io, Some((io.to_owned(), vec!["pg_stat_io_fsyncs".to_owned()])));
    }
}
