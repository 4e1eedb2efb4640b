//! `prepare`, with the lines of go-tpc: the tables of TPC-C where they are not there, those of the queries, and their replicas.

use perbuck_console::print;
use perbuck_lab::error::{ErrorKind, LabError};
use perbuck_lab::stage::Stage;
use perbuck_lab::{replica, tiflash};
use perbuck_load::stop::StopToken;
use perbuck_workloads::ch::{Options, read_marker, write_marker};

use super::settings::Settings;
use crate::agents::Said;
use crate::go_tpc::tables::Tables;
use crate::tpcc::tables::has_warehouses;

/// Both data sets in a database, each with its own command.
pub(super) struct Both<'a> {
    /// The tables of TPC-C.
    pub(super) transactions: Tables<'a>,
    /// Those of the queries.
    pub(super) queries: Tables<'a>,
}

impl Both<'_> {
    /// Makes, fills and checks what is missing, and waits for the replicas of all tables. Tables of TPC-C stay as they are, also with
    /// `--dropdata`: in go-tpc it drops nothing, and they may have taken hours to load.
    pub(super) fn prepare(&self, options: &Options, settings: &Settings, stop: &StopToken) -> Result<(), LabError> {
        let Self { transactions, queries } = self;
        // Before anything is loaded that could not have replicas, or beside which the other tables could not be made.
        tiflash::possible(queries.stage)?;
        let (sessions, drop_data) = (settings.tpcc.sessions, settings.tpcc.drop_data);
        if queries.stage.data.unfinished()?.is_none() {
            queries
                .whole("go on with the study that loaded, or drop its tables by perbuck tpcc cleanup and perbuck ch cleanup")?;
            if !drop_data {
                queries.absent()?;
            }
        }
        if are_there(transactions)? {
            kept(transactions, options, settings)?;
        } else {
            transactions.fill(sessions, false, &format!("{} warehouses", options.tpcc.warehouses))?;
            transactions.conditions(&|_| true)?;
        }
        queries.fill(sessions, drop_data, "the queries' tables")?;
        tiflash::ready(transactions.stage, stop, &mut Said)?;
        tiflash::ready(queries.stage, stop, &mut Said)?;
        print("Finished\n")
    }
}

/// Whether all tables are there, and whole; an error where a part of them is.
fn are_there(tables: &Tables<'_>) -> Result<bool, LabError> {
    if tables.stage.data.unfinished()?.is_some() {
        return Ok(false);
    }
    tables.whole("give the options of that load, or load again by perbuck tpcc prepare --dropdata")?;
    let (mut there, mut missing) = (Vec::new(), Vec::new());
    for name in &tables.stage.tables {
        let list = if tables.stage.server.has_table(name)? { &mut there } else { &mut missing };
        list.push(name);
    }
    let (Some(one), Some(other)) = (there.first(), missing.first()) else { return Ok(missing.is_empty()) };
    let message = format!("table {one} of TPC-C is there, and {other} is missing; nothing was changed");
    let help = "perbuck tpcc prepare --dropdata loads all of them, or name another database with --db";
    Err(LabError::new(ErrorKind::Refused, message, help))
}

/// Looks at tables that stay, and gathers their statistics where that is asked for.
fn kept(tables: &Tables<'_>, options: &Options, settings: &Settings) -> Result<(), LabError> {
    let server = &tables.stage.server;
    if settings.warehouses {
        has_warehouses(tables.stage, &options.tpcc)?;
    }
    let found = server.number("counting the warehouses", "SELECT COUNT(*) FROM warehouse")?;
    print(&format!("the tables of TPC-C are there, with {found} warehouses: they stay as they are\n"))?;
    for name in tables.stage.tables.iter().filter(|_| settings.analyze) {
        let Some(sql) = tables.stage.dialect.statistics(name) else { continue };
        print(&format!("analyzing table {name}\n"))?;
        server.execute(&format!("gathering the statistics of {name}"), &sql)?;
        print(&format!("analyze table {name} done\n"))?;
    }
    Ok(())
}

/// Finds out whether a run has all its tables, those of the queries where there are query streams.
pub(super) fn are_ready(stage: &Stage, options: &Options) -> Result<(), LabError> {
    has_warehouses(stage, &options.tpcc)?;
    if options.query_streams > 0 || !options.transactions {
        stage.server.number("looking for the tables of the queries", "SELECT COUNT(*) FROM ch_marker")?;
    }
    Ok(())
}

/// Waits until the server of the queries has what was committed where the transactions run, if it is another one.
pub(super) fn have_all_rows(stage: &Stage, stop: &StopToken) -> Result<(), LabError> {
    if !stage.server.has_query_host() {
        return Ok(());
    }
    let look = read_marker();
    let number = stage.server.number("looking at the marker", &look)? + 1;
    let mark = replica::Mark { write: write_marker(number).into(), look: look.into(), written: number.to_string() };
    replica::wait(stage, &mark, stop, &mut Said)
}
