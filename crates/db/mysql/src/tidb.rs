//! What TiDB alone tells: the components of its cluster, settings that it only keeps, and what happens within it that no client sees.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use perbuck_load::driver::Session;
use perbuck_load::error::{DriverError, ErrorClass};
use perbuck_load::values::Rows;
use perbuck_net::metrics::samples;
use perbuck_net::web;

use crate::session::MysqlSession;

/// A status variable that no other server has.
pub(crate) const ITS_OWN: &str = "ddl_schema_version";
/// The store in TiDB's own process (unistore), which alone tells no version.
const EMBEDDED: &str = "embedded, of no version";
/// How long a status port may take.
const LIMIT: Duration = Duration::from_secs(3);
/// Metrics of a TiDB server that tell what it does again by itself, the label that divides each, and the name in a record.
const INTERNAL: [(&str, &str, &str); 6] = [
    ("tidb_session_retry_num_sum", "", "server_retries_transaction"),
    ("tidb_session_retry_error_total", "type", "server_errors_retry"),
    ("tidb_session_statement_pessimistic_retry_count_sum", "", "server_retries_pessimistic_lock"),
    ("tidb_tikvclient_backoff_seconds_count", "type", "server_retries_backoff"),
    ("tidb_tikvclient_region_err_total", "type", "server_retries_region"),
    ("tidb_server_execute_error_total", "type", "server_errors"),
];

/// Statements that a TiDB server executed for its clients, by type; its own are not among them.
const STATEMENTS: &str = "tidb_executor_statement_total";
/// The types that read or change rows, and those that begin and end transactions, as of MySQL.
const WORK: [&str; 8] = ["Begin", "Commit", "Delete", "Insert", "Replace", "Rollback", "Select", "Update"];

/// Takes settings without effect out of `variables`, and adds what only TiDB tells; what makes it one for functional tests alone.
pub(crate) async fn facts(
    session: &mut MysqlSession,
    noted: &[String],
    variables: &mut BTreeMap<String, String>,
) -> Result<Option<String>, DriverError> {
    let idle = without_effect(session).await?;
    variables.retain(|name, _| !idle(name) || noted.contains(name));
    let asked: Vec<&str> = noted.iter().filter(|name| idle(name)).map(String::as_str).collect();
    if !asked.is_empty() {
        variables.insert("settings without effect on TiDB".to_owned(), asked.join(", "));
    }
    let cluster = topology(session).await?;
    let embedded = cluster.get("cluster tikv").is_some_and(|stores| stores.contains(EMBEDDED));
    variables.extend(cluster);
    if let Err(why) = metrics(session).await? {
        variables.insert("retries within TiDB".to_owned(), format!("not told: {why}"));
    }
    Ok(embedded.then(|| "TiDB keeps its data in the store that is embedded for tests".to_owned()))
}

/// Tells the variables that TiDB keeps for programs that ask for them, and does nothing with.
async fn without_effect(session: &mut MysqlSession) -> Result<impl Fn(&String) -> bool + use<>, DriverError> {
    let mut rows = Rows::default();
    let asked = session.query("SELECT variable_name FROM information_schema.variables_info WHERE is_noop = 'YES'", &mut rows);
    let names: Option<Vec<String>> = match asked.await {
        Ok(_) => Some((0..rows.len() as usize).map(|row| rows.display(row, 0)).collect::<Result<_, _>>()?),
        // Before version 6.0 it does not tell them.
        Err(error) if error.class == ErrorClass::Failed || error.class == ErrorClass::Fatal => None,
        Err(error) => return Err(error),
    };
    Ok(move |name: &String| names.as_ref().map_or(name.starts_with("innodb_"), |names| names.contains(name)))
}

/// The components of a TiDB cluster, by kind: how many of which version. No addresses, which are their owner's business.
async fn topology(session: &mut MysqlSession) -> Result<BTreeMap<String, String>, DriverError> {
    let sql = "SELECT type, version, COUNT(*) FROM information_schema.cluster_info GROUP BY type, version ORDER BY type, version";
    let mut rows = Rows::default();
    match session.query(sql, &mut rows).await {
        Ok(_) => {}
        // It takes the privilege PROCESS, which a benchmark's user need not have.
        Err(error) if error.class == ErrorClass::Failed || error.class == ErrorClass::Fatal => {
            return Ok(BTreeMap::from([("cluster".to_owned(), format!("not told: {}", error.message))]));
        }
        Err(error) => return Err(error),
    }
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    for row in 0..usize::try_from(rows.len()).unwrap_or_default() {
        let version = Some(rows.display(row, 1)?).filter(|v| !v.is_empty()).unwrap_or_else(|| EMBEDDED.to_owned());
        let line = format!("{} × {version}", rows.display(row, 2)?);
        let kind = found.entry(format!("cluster {}", rows.display(row, 0)?)).or_default();
        *kind = if kind.is_empty() { line } else { format!("{kind}, {line}") };
    }
    Ok(found)
}

/// What the TiDB servers did again by themselves since they started, all together; why it is not known.
pub(crate) async fn metrics(session: &mut MysqlSession) -> Result<Result<BTreeMap<String, i64>, String>, DriverError> {
    let mut sums = BTreeMap::new();
    let read = texts(session, "", &mut |text| add(text, &mut sums)).await?;
    Ok(read.map(|()| sums.into_iter().map(|(name, sum): (String, f64)| (name, sum.round() as i64)).collect()))
}

/// How many statements the server of that number has executed for its clients, of those that [`WORK`] counts; why it is not known.
pub(crate) async fn work(session: &mut MysqlSession, server: &str) -> Result<Result<u64, String>, DriverError> {
    let (mut done, mut seen) = (0.0, false);
    let condition = format!(" WHERE ddl_id = '{server}'");
    let mut count = |text: &str| {
        seen = true;
        let counts = |label: Option<&str>| label.is_some_and(|label| WORK.contains(&label));
        let ours = samples(text).filter(|sample| sample.name == STATEMENTS && counts(sample.label("type")));
        done += ours.map(|sample| sample.value).sum::<f64>();
    };
    let read = texts(session, &condition, &mut count).await?;
    let unknown = || "it is not in information_schema.tidb_servers_info".to_owned();
    Ok(read.and_then(|()| if seen { Ok(done.round() as u64) } else { Err(unknown()) }))
}

/// Calls `each` with the metrics of every TiDB server that `condition` leaves; why they cannot be read.
async fn texts(
    session: &mut MysqlSession,
    condition: &str,
    each: &mut dyn FnMut(&str),
) -> Result<Result<(), String>, DriverError> {
    let mut rows = Rows::default();
    let sql = format!("SELECT ip, status_port FROM information_schema.tidb_servers_info{condition}");
    match session.query(&sql, &mut rows).await {
        Ok(_) => {}
        // It takes a privilege that a benchmark's user need not have.
        Err(error) if error.class == ErrorClass::Failed || error.class == ErrorClass::Fatal => {
            return Ok(Err(error.message.clone()));
        }
        Err(error) => return Err(error),
    }
    let connected = session.wire.address().rsplit_once(':').map_or("", |(host, _)| host).trim_matches(['[', ']']).to_owned();
    for row in 0..rows.len() as usize {
        let (told, port) = (rows.display(row, 0)?, rows.display(row, 1)?.parse().unwrap_or(0));
        let at = if is_reached_at(&told) { &told } else { &connected };
        match web::get((at, port), "/metrics", LIMIT).await {
            Ok(text) => each(&text),
            // Its reason holds an address, which is its owner's business.
            Err(_) => return Ok(Err("the status port of a TiDB server does not answer".to_owned())),
        }
    }
    Ok(Ok(()))
}

/// Whether an address that a server tells of itself is one by which others reach it.
fn is_reached_at(address: &str) -> bool {
    let of_any = |ip: IpAddr| ip.is_unspecified() || ip.is_loopback();
    !address.is_empty() && !address.parse().is_ok_and(of_any)
}

fn add(text: &str, sums: &mut BTreeMap<String, f64>) {
    // A reason that was not met yet is as good as one that is not there; what has no reason shows that the server was asked.
    for sample in samples(text).filter(|sample| sample.value > 0.0 || sample.label("type").is_none()) {
        let Some((_, label, name)) = INTERNAL.iter().find(|(metric, ..)| *metric == sample.name) else { continue };
        let reason = sample.label(label).filter(|reason| !reason.is_empty());
        let name = reason.map_or_else(|| (*name).to_owned(), |reason| format!("{name}_{reason}"));
        *sums.entry(name).or_default() += sample.value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retries_are_summed_by_their_reason_over_all_servers() {
        let one = "tidb_session_retry_num_sum 3\ntidb_session_retry_num_count 9\n\
                   tidb_tikvclient_backoff_seconds_count{scope=\"user\",type=\"txnLock\"} 4\n\
                   tidb_tikvclient_backoff_seconds_count{scope=\"internal\",type=\"txnLock\"} 1\n";
        let other = "tidb_session_retry_num_sum 2\ntidb_server_execute_error_total{type=\"kv:9007\"} 7\n";
        let mut sums = BTreeMap::new();
        [one, other].iter().for_each(|text| add(text, &mut sums));
        let expected =
            [("server_retries_transaction", 5.0), ("server_retries_backoff_txnLock", 5.0), ("server_errors_kv:9007", 7.0)];
        assert_eq!(sums, expected.map(|(name, sum)| (name.to_owned(), sum)).into());
        assert!(is_reached_at("10.0.0.7") && is_reached_at("tidb-1") && !is_reached_at("127.0.0.1") && !is_reached_at("::"));
    }
}
