//! The processes of a TiDB cluster: which there are and how they are reached, so that their status ports can be asked.

use std::collections::BTreeMap;

use perbuck_load::driver::Settling;
use perbuck_load::error::DriverError;
use perbuck_net::cluster::{self, Counted, Metrics, Process, reached_at};

use crate::cluster::{allowed, texts};
use crate::session::MysqlSession;

/// What the processes of the cluster have done since they started.
pub(crate) async fn counters(session: &mut MysqlSession) -> Result<Counted, DriverError> {
    Ok(metrics(session).await?.counted())
}

/// How far the cluster is from rest; `None` where its store is embedded.
pub(crate) async fn settling(session: &mut MysqlSession) -> Result<Option<Settling>, DriverError> {
    Ok(metrics(session).await?.settling())
}

/// What the stores of the cluster take, in all copies.
pub(crate) async fn store_bytes(session: &mut MysqlSession) -> Result<Option<u64>, DriverError> {
    Ok(metrics(session).await?.store_bytes())
}

async fn metrics(session: &mut MysqlSession) -> Result<Metrics, DriverError> {
    let (processes, not_told) = processes(session).await?;
    Ok(Metrics::of(processes, not_told).await)
}

/// The processes of the cluster, and the parts that are not told, with the reason.
pub(crate) async fn processes(session: &mut MysqlSession) -> Result<(Vec<Process>, BTreeMap<String, String>), DriverError> {
    let mut not_told = BTreeMap::new();
    // Embedded stores have no version and no port.
    let all =
        "SELECT type, status_address, instance FROM information_schema.cluster_info WHERE version <> '' ORDER BY type, instance";
    let servers = "SELECT 'tidb', CONCAT(ip, ':', status_port), ddl_id FROM information_schema.tidb_servers_info ORDER BY ddl_id";
    let rows = match allowed(session, all).await? {
        Ok(rows) => Ok(rows),
        // It takes the privilege PROCESS, which a benchmark's user need not have. The TiDB servers are told to everyone.
        Err(why) => {
            not_told.extend(["pd", "tikv"].map(|part| (part.to_owned(), why.clone())));
            allowed(session, servers).await?
        }
    };
    let processes = match rows {
        Ok(rows) => texts(&rows)?.into_iter().map(|[kind, address, identity]| {
            let (host, port) = address.rsplit_once(':').unwrap_or((&address, ""));
            let of_clients = identity.rsplit_once(':').map_or("", |(host, _)| host);
            Process { kind, host: reached(session, [host, of_clients]), port: port.parse().unwrap_or(0), identity }
        }),
        Err(why) => {
            not_told.insert("tidb".to_owned(), why);
            return Ok((Vec::new(), not_told));
        }
    };
    Ok((processes.collect(), not_told))
}

/// How many statements the server of that number has executed for its clients; why it is not known.
pub(crate) async fn work(session: &mut MysqlSession, server: &str) -> Result<Result<u64, String>, DriverError> {
    let sql = format!("SELECT ip, status_port FROM information_schema.tidb_servers_info WHERE ddl_id = '{server}'");
    let rows = match allowed(session, &sql).await? {
        Ok(rows) => rows,
        Err(why) => return Ok(Err(why)),
    };
    let all = texts(&rows)?;
    let Some([host, port]) = all.first() else {
        return Ok(Err("it is not in information_schema.tidb_servers_info".to_owned()));
    };
    let text = cluster::ask(&reached(session, [host]), port.parse().unwrap_or(0)).await;
    Ok(text.map(|text| cluster::executed(&text).round() as u64))
}

/// The host by which a process of the cluster is reached from here: one that it tells, or that of the session.
fn reached<const N: usize>(session: &MysqlSession, told: [&str; N]) -> String {
    let connected = session.wire.address().rsplit_once(':').map_or("", |(host, _)| host);
    reached_at(told, connected)
}
