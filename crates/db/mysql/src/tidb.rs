//! What TiDB alone tells: settings that it only keeps, and the cluster that it is the SQL of.

use std::collections::BTreeMap;

use perbuck_load::driver::{Build, Observed, Session as _, Settling};
use perbuck_load::error::DriverError;
use perbuck_load::values::Rows;

use crate::cluster::{self, EMBEDDED, allowed};
use crate::session::MysqlSession;
use crate::status_ports;

/// A status variable that no other server has.
pub(crate) const ITS_OWN: &str = "ddl_schema_version";

/// Takes settings without effect out of `variables`, and adds what only TiDB tells, with the machines of its cluster to `observed`; what
/// makes it one for functional tests alone.
pub(crate) async fn facts(
    session: &mut MysqlSession,
    noted: &[String],
    (variables, observed): (&mut BTreeMap<String, String>, &mut Vec<Observed>),
) -> Result<Option<String>, DriverError> {
    let idle = without_effect(session).await?;
    variables.retain(|name, _| !idle(name) || noted.contains(name));
    let asked: Vec<&str> = noted.iter().filter(|name| idle(name)).map(String::as_str).collect();
    if !asked.is_empty() {
        variables.insert("settings without effect on TiDB".to_owned(), asked.join(", "));
    }
    let cluster = cluster::facts(session).await?;
    let embedded = cluster.variables.get("cluster tikv").is_some_and(|stores| stores.contains(EMBEDDED));
    variables.extend(cluster.variables);
    observed.extend(cluster.observed);
    let silent = status_ports::counters(session).await?.not_told;
    variables.extend(silent.into_iter().map(|(part, why)| (format!("metrics of {part}"), format!("not told: {why}"))));
    Ok(embedded.then(|| "TiDB keeps its data in the store that is embedded for tests".to_owned()))
}

/// The block caches of all stores together, where all have the same.
pub(crate) fn block_cache(variables: &BTreeMap<String, String>) -> Option<u64> {
    let capacity = variables.get("tikv storage.block-cache.capacity")?;
    let unit = capacity.trim_start_matches(|c: char| c.is_ascii_digit());
    let number: u64 = capacity[..capacity.len() - unit.len()].parse().ok()?;
    let unit = ["B", "KiB", "MiB", "GiB", "TiB"].into_iter().position(|known| known == unit)?;
    let stores: u64 =
        variables.get("cluster tikv")?.split(", ").filter_map(|some| some.split(' ').next()?.parse::<u64>().ok()).sum();
    number.checked_mul(1 << (10 * unit))?.checked_mul(stores)
}

/// What the TiDB server says of its build; of PD and TiKV it says nothing here.
pub(crate) async fn build(session: &mut MysqlSession) -> Result<Build, DriverError> {
    let mut rows = Rows::default();
    session.query("SELECT TIDB_VERSION()", &mut rows).await?;
    Ok(build_in(&rows.display(0, 0)?))
}

/// The commit and the compiler in what `TIDB_VERSION()` returns, a fact a line.
fn build_in(text: &str) -> Build {
    let line = |name: &str| {
        let value = text.lines().find_map(|line| line.trim().strip_prefix(name))?.trim();
        (!value.is_empty() && value != "None").then(|| value.to_owned())
    };
    Build { commit: line("Git Commit Hash:"), compiler: line("GoVersion:"), ..Build::default() }
}

/// How far the cluster is from rest; `None` for a server that is no TiDB, or has no stores of its own.
pub(crate) async fn settling(session: &mut MysqlSession) -> Result<Option<Settling>, DriverError> {
    let mut rows = Rows::default();
    session.query("SELECT VERSION()", &mut rows).await?;
    if rows.display(0, 0)?.contains("TiDB") { status_ports::settling(session).await } else { Ok(None) }
}

/// Tells the variables that TiDB keeps for programs that ask for them, and does nothing with.
async fn without_effect(session: &mut MysqlSession) -> Result<impl Fn(&String) -> bool + use<>, DriverError> {
    let sql = "SELECT variable_name FROM information_schema.variables_info WHERE is_noop = 'YES'";
    // Before version 6.0 it does not tell them.
    let rows = allowed(session, sql).await?.ok();
    let names = |rows| Ok::<_, DriverError>(cluster::texts(&rows)?.into_iter().map(|[name]| name).collect::<Vec<String>>());
    let names: Option<Vec<String>> = rows.map(names).transpose()?;
    Ok(move |name: &String| names.as_ref().map_or(name.starts_with("innodb_"), |names| names.contains(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_block_caches_of_all_stores_are_added_up() {
        let of = |capacity: &str| {
            let variables = [("cluster tikv", "1 × 8.5.3, 2 × 8.5.4"), ("tikv storage.block-cache.capacity", capacity)];
            block_cache(&variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into())
        };
        assert_eq!(of("6GiB"), Some(18 << 30));
        assert_eq!(of("1 × 6GiB, 2 × 8GiB"), None);
        assert_eq!(block_cache(&BTreeMap::new()), None);
    }

    #[test]
    fn commit_and_compiler_are_read_from_what_tidb_says_of_itself() {
        let text = "Release Version: v7.5.0\nEdition: Community\nGit Commit Hash: 069631e2\nGit Branch: heads/refs/tags/v7.5.0\n\
                    UTC Build Time: 2023-11-24 08:50:14\nGoVersion: go1.21.3\nStore: tikv";
        let found = build_in(text);
        assert_eq!((found.commit.as_deref(), found.compiler.as_deref()), (Some("069631e2"), Some("go1.21.3")));
        assert_eq!(build_in("Git Commit Hash: None\n"), Build::default());
    }
}
