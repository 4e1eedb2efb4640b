//! The variables of the sessions of a run: those of `--conn-params`, and those by which go-tpc tunes TiDB.

use perbuck_database::registry::AnyTarget;
use perbuck_lab::error::LabError;
use perbuck_lab::stage::Stage;

use crate::go_tpc::target::Connection;
use crate::refused::Refused;
use crate::target::with_options;

/// What go-tpc (commit 682637f, `cmd/go-tpc/tpch.go`) sets on TiDB from 7.1.
const TUNING: [(&str, &str); 3] = [
    ("tidb_default_string_match_selectivity", "0.1"),
    ("tidb_opt_join_reorder_threshold", "60"),
    ("tidb_prefer_broadcast_join_by_exchange_data_size", "ON"),
];
/// The first version of TiDB that has all of them.
const FIRST: (u32, u32) = (7, 1);

/// The variables of TUNING where the server is a TiDB that has them.
pub(super) fn tuning(stage: &Stage) -> Result<Vec<(String, String)>, LabError> {
    let Some(words) = stage.dialect.replicas() else { return Ok(Vec::new()) };
    let version = stage.server.cell_on_host(0, words.version).map_err(|e| LabError::target(&stage.title, &e))?;
    let tuned = version.is_some_and(|version| (words.knows)(&version) && is_tuned(&version));
    Ok(if tuned { TUNING.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec() } else { Vec::new() })
}

/// `8.0.11-TiDB-v7.5.0`.
fn is_tuned(version: &str) -> bool {
    let after = version.split_once("TiDB-v").map_or("", |(_, after)| after);
    let mut numbers = after.split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
    numbers.next().zip(numbers.next()).is_some_and(|found| found >= FIRST)
}

/// The target whose sessions set these variables, and in place of those of the same name what the command line says.
pub(super) fn target(connection: &Connection, tuned: Vec<(String, String)>) -> Result<AnyTarget, Refused> {
    let parts = connection.session.split('&').filter_map(|part| part.split_once('='));
    let given: Vec<(String, String)> =
        parts.map(|(name, value)| (name.to_owned(), value.trim_matches('\'').to_owned())).collect();
    let kept = tuned.into_iter().filter(|(name, _)| given.iter().all(|(other, _)| !other.eq_ignore_ascii_case(name)));
    let all: Vec<(String, String)> =
        kept.chain(given.iter().cloned()).map(|(name, value)| (format!("set.{name}"), value)).collect();
    if all.is_empty() {
        return Ok(connection.target.clone());
    }
    let options: Vec<(&str, String)> = all.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
    with_options(&connection.target.address(), &options)
}

#[cfg(test)]
mod tests {
    use super::super::golden;
    use super::*;

    fn address(words: &[&str], tuned: Vec<(String, String)>) -> String {
        target(&Connection::of(&golden::read(words).unwrap()).unwrap(), tuned).unwrap().address()
    }

    #[test]
    fn variables_are_a_part_of_the_address() {
        assert_eq!(address(&["run"], Vec::new()), "mysql://root@127.0.0.1:4000/test");
        let replicas = ["run", "--conn-params", "tidb_isolation_read_engines='tiflash'&charset=utf8mb4"];
        assert_eq!(address(&replicas, Vec::new()), "mysql://root@127.0.0.1:4000/test?set.tidb_isolation_read_engines=tiflash");
        let tuned = TUNING.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        let own = address(&["run", "--conn-params", "tidb_opt_join_reorder_threshold=0"], tuned);
        assert!(own.ends_with("set.tidb_opt_join_reorder_threshold=0") && !own.contains("threshold=60"), "{own}");
        assert!(own.contains("set.tidb_default_string_match_selectivity=0.1&"), "{own}");
    }

    #[test]
    fn versions_of_tidb_that_have_the_variables_are_known() {
        let tuned =
            ["8.0.11-TiDB-v7.1.0", "8.0.11-TiDB-v8.5.1-alpha", "8.0.11-TiDB-v7.0.0", "5.7.25-TiDB-v6.5.0", "10.11.14-MariaDB"];
        assert_eq!(tuned.map(is_tuned), [true, true, false, false, false]);
    }
}
