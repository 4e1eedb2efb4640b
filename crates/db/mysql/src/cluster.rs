//! What the components of a TiDB cluster tell: how many there are, their machines, the configuration in force, and the metrics of each
//! process. No addresses, which are their owner's business.

use std::collections::{BTreeMap, BTreeSet};

use perbuck_load::driver::{Observed, Session, arch};
use perbuck_load::error::{Cause, DriverError, ErrorClass};
use perbuck_load::values::Rows;
use sha2::{Digest, Sha256};

use crate::session::MysqlSession;

/// The store in TiDB's own process (unistore), which alone tells no version.
pub(crate) const EMBEDDED: &str = "embedded, of no version";
/// Settings of PD, TiDB and TiKV that bear on performance.
const SETTINGS: [(&str, &str); 3] = [
    (
        "pd",
        "replication.location-labels replication.max-replicas schedule.hot-region-schedule-limit schedule.leader-schedule-limit \
         schedule.max-merge-region-size schedule.merge-schedule-limit schedule.region-schedule-limit schedule.replica-schedule-limit",
    ),
    (
        "tidb",
        "performance.max-procs performance.server-memory-quota performance.tcp-no-delay pessimistic-txn.max-retry-count \
         tikv-client.batch-policy tikv-client.copr-cache.capacity-mb tikv-client.grpc-compression-type \
         tikv-client.grpc-connection-count tikv-client.max-batch-size tikv-client.max-batch-wait-time token-limit",
    ),
    (
        "tikv",
        "coprocessor.region-max-size coprocessor.region-split-size in-memory-engine.enable memory-usage-limit \
         pessimistic-txn.in-memory pessimistic-txn.pipelined raft-engine.enable raftdb.max-background-jobs raftstore.apply-pool-size \
         raftstore.hibernate-regions raftstore.store-io-pool-size raftstore.store-pool-size \
         readpool.coprocessor.use-unified-pool readpool.storage.use-unified-pool readpool.unified.max-thread-count \
         readpool.unified.min-thread-count rocksdb.defaultcf.block-size rocksdb.defaultcf.compression-per-level \
         rocksdb.defaultcf.write-buffer-size rocksdb.max-background-jobs rocksdb.max-sub-compactions rocksdb.rate-bytes-per-sec \
         rocksdb.titan.enabled rocksdb.writecf.compression-per-level rocksdb.writecf.write-buffer-size \
         server.grpc-compression-type server.grpc-concurrency server.grpc-raft-conn-num storage.api-version \
         storage.block-cache.capacity storage.enable-async-apply-prewrite storage.engine storage.flow-control.enable \
         storage.io-rate-limit.max-bytes-per-sec storage.scheduler-worker-pool-size",
    ),
];
/// The last part of names of settings that say where something is.
const ADDRESSES: &str = "advertise-address host name port socket status-host status-port temp-dir";

/// Reads rows; why not, where this user may not see them or this version does not have them.
pub(crate) async fn allowed(session: &mut MysqlSession, sql: &str) -> Result<Result<Rows, String>, DriverError> {
    let mut rows = Rows::default();
    match session.query(sql, &mut rows).await {
        Ok(_) => Ok(Ok(rows)),
        Err(error) => match (error.class, error.cause) {
            (ErrorClass::Failed | ErrorClass::Fatal, _) | (_, Some(Cause::NoRight)) => Ok(Err(error.message.clone())),
            _ => Err(error),
        },
    }
}

/// The texts of rows with so many columns.
pub(crate) fn texts<const N: usize>(rows: &Rows) -> Result<Vec<[String; N]>, DriverError> {
    (0..rows.len() as usize)
        .map(|row| {
            let mut cells = [const { String::new() }; N];
            for (column, cell) in cells.iter_mut().enumerate() {
                *cell = rows.display(row, column)?;
            }
            Ok(cells)
        })
        .collect()
}

/// What a cluster is made of, for a record.
#[derive(Default)]
pub(crate) struct Cluster {
    /// Versions and settings, by name.
    pub(crate) variables: BTreeMap<String, String>,
    /// Its machines.
    pub(crate) observed: Vec<Observed>,
}

pub(crate) async fn facts(session: &mut MysqlSession) -> Result<Cluster, DriverError> {
    let mut cluster = Cluster::default();
    // It takes the privilege PROCESS, which a benchmark's user need not have.
    match allowed(session, "SELECT type, instance, version FROM information_schema.cluster_info").await? {
        Ok(rows) => {
            let components = texts(&rows)?;
            cluster.variables.extend(topology(&components));
            cluster.observed.extend(machines(&components));
        }
        Err(why) => {
            cluster.variables.insert("cluster".to_owned(), format!("not told: {why}"));
            return Ok(cluster);
        }
    }
    let sql = "SELECT type, instance, name, value FROM information_schema.cluster_hardware WHERE (device_type = 'cpu' AND name IN \
               ('cpu-arch', 'cpu-logical-cores')) OR (device_type = 'memory' AND name = 'capacity')";
    match allowed(session, sql).await? {
        Ok(rows) => cluster.observed.extend(hardware(&texts(&rows)?)),
        Err(why) => drop(cluster.variables.insert("cluster hardware".to_owned(), format!("not told: {why}"))),
    }
    match allowed(session, "SHOW CONFIG").await? {
        Ok(rows) => {
            let in_force = settings(&texts(&rows)?);
            cluster.observed.extend(copies(&in_force));
            cluster.variables.extend(in_force);
        }
        Err(why) => drop(cluster.variables.insert("cluster settings".to_owned(), format!("not told: {why}"))),
    }
    Ok(cluster)
}

/// The components by kind: how many of which version.
fn topology(components: &[[String; 3]]) -> BTreeMap<String, String> {
    let mut counts: BTreeMap<(&str, &str), u32> = BTreeMap::new();
    for [kind, _, version] in components {
        *counts.entry((kind, version)).or_default() += 1;
    }
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    for ((kind, version), count) in counts {
        let line = format!("{count} × {}", if version.is_empty() { EMBEDDED } else { version });
        let all = found.entry(format!("cluster {kind}")).or_default();
        *all = if all.is_empty() { line } else { format!("{all}, {line}") };
    }
    found
}

/// On how many machines each kind runs, by the hosts of their addresses. An embedded store runs on none of its own.
fn machines(components: &[[String; 3]]) -> Vec<Observed> {
    let mut hosts: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for [kind, instance, version] in components {
        if !version.is_empty() {
            hosts.entry(kind).or_default().insert(instance.rsplit_once(':').map_or(instance, |(host, _)| host));
        }
    }
    let one = |(kind, hosts): (&str, BTreeSet<&str>)| Observed {
        source: "information_schema.cluster_info".to_owned(),
        role: Some(kind.to_owned()),
        machines: u32::try_from(hosts.len()).ok(),
        ..Observed::default()
    };
    hosts.into_iter().map(one).collect()
}

/// The machines of each kind, each described once.
fn hardware(rows: &[[String; 4]]) -> Vec<Observed> {
    let mut by_instance: BTreeMap<(&str, &str), Observed> = BTreeMap::new();
    for [kind, instance, name, value] in rows {
        let machine = by_instance.entry((kind, instance)).or_insert_with(|| Observed {
            source: "information_schema.cluster_hardware".to_owned(),
            role: Some(kind.clone()),
            ..Observed::default()
        });
        match name.as_str() {
            "cpu-arch" => machine.arch = arch(value).map(str::to_owned),
            "cpu-logical-cores" => machine.vcpus = value.parse().ok(),
            _ => machine.memory_bytes = value.parse().ok(),
        }
    }
    let mut machines: Vec<Observed> = by_instance.into_values().collect();
    machines.dedup();
    machines
}

/// The settings of [`SETTINGS`] in force, and one word for all others, so that contenders that differ in those are seen to.
fn settings(rows: &[[String; 4]]) -> BTreeMap<String, String> {
    let mut values: BTreeMap<(&str, &str), BTreeMap<&str, u32>> = BTreeMap::new();
    for [kind, _, name, value] in rows {
        *values.entry((kind, name)).or_default().entry(value).or_default() += 1;
    }
    let (mut found, mut others): (BTreeMap<String, String>, BTreeMap<&str, Sha256>) = (BTreeMap::new(), BTreeMap::new());
    for ((kind, name), values) in &values {
        let text = match values.len() {
            1 => values.keys().map(|value| (*value).to_owned()).collect(),
            _ => values.iter().map(|(value, count)| format!("{count} × {value}")).collect::<Vec<_>>().join(", "),
        };
        let lists = |(of, names): &(&str, &str)| of == kind && names.split(' ').any(|listed| listed == *name);
        if SETTINGS.iter().any(lists) {
            found.insert(format!("{kind} {name}"), text);
        } else if !is_address(name, &text) {
            others.entry(kind).or_default().update(format!("{name}={text}\n"));
        }
    }
    let word = |hash: Sha256| hash.finalize()[..6].iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    found.extend(others.into_iter().map(|(kind, hash)| (format!("{kind} settings, all others"), word(hash))));
    found
}

/// How many copies of the data PD keeps, unless placement rules of tables say otherwise.
fn copies(settings: &BTreeMap<String, String>) -> Option<Observed> {
    let copies = settings.get("pd replication.max-replicas")?.parse().ok()?;
    Some(Observed { source: "SHOW CONFIG".to_owned(), copies: Some(copies), ..Observed::default() })
}

/// Whether a setting says where something is, which differs from cluster to cluster.
fn is_address(name: &str, value: &str) -> bool {
    let last = name.rsplit_once('.').map_or(name, |(_, last)| last);
    let has_port = value.rsplit_once(':').is_some_and(|(_, port)| port.trim_end_matches(['"', ']']).parse::<u16>().is_ok());
    value.contains('/') || has_port || ADDRESSES.split(' ').any(|listed| listed == last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn component(kind: &str, instance: &str, version: &str) -> [String; 3] {
        [kind, instance, version].map(str::to_owned)
    }

    #[test]
    fn a_cluster_is_counted_by_its_processes_and_their_hosts() {
        let all = [
            component("tikv", "10.0.0.1:20160", "8.5.4"),
            component("tikv", "10.0.0.1:20161", "8.5.4"),
            component("tikv", "[fd00::2]:20160", "8.5.3"),
            component("tidb", "10.0.0.4:4000", "8.5.6"),
        ];
        let expected = [("cluster tidb", "1 × 8.5.6"), ("cluster tikv", "1 × 8.5.3, 2 × 8.5.4")];
        assert_eq!(topology(&all), expected.map(|(name, text)| (name.to_owned(), text.to_owned())).into());
        let seen: Vec<String> = machines(&all).iter().map(Observed::text).collect();
        assert_eq!(seen, ["1 machine of tidb", "2 machines of tikv"]);
        let alone = [component("tidb", "127.0.0.1:4000", "8.5.6"), component("tikv", "127.0.0.1:4000", "")];
        assert_eq!(topology(&alone)["cluster tikv"], "1 × embedded, of no version");
        assert_eq!(machines(&alone).len(), 1);
    }

    #[test]
    fn equal_machines_are_described_once() {
        let row = |instance: &str, name: &str, value: &str| ["tikv", instance, name, value].map(str::to_owned);
        let mut rows = Vec::new();
        for instance in ["a:1", "b:1"] {
            rows.extend([row(instance, "cpu-arch", "arm64"), row(instance, "cpu-logical-cores", "4")]);
            rows.push(row(instance, "capacity", "17179869184"));
        }
        let seen = |rows: &[[String; 4]]| hardware(rows).iter().map(Observed::text).collect::<Vec<_>>();
        assert_eq!(seen(&rows), ["tikv on aarch64, 4 vCPU, 16 GiB"]);
        rows.push(row("c:1", "cpu-logical-cores", "2"));
        assert_eq!(seen(&rows), ["tikv on aarch64, 4 vCPU, 16 GiB", "tikv on 2 vCPU"]);
    }

    #[test]
    fn settings_in_force_are_told_and_all_others_by_one_word_that_no_address_changes() {
        let row = |instance: &str, name: &str, value: &str| ["tikv", instance, name, value].map(str::to_owned);
        let cluster = |ports: [u16; 2], pool: &str, other: &str| {
            let mut rows = Vec::new();
            for (port, pool) in ports.into_iter().zip(["2", pool]) {
                let instance = format!("10.0.0.1:{port}");
                rows.push(row(&instance, "raftstore.store-pool-size", pool));
                rows.push(row(&instance, "rocksdb.max-open-files", other));
                rows.push(row(&instance, "server.addr", &instance));
                rows.push(row(&instance, "storage.data-dir", &format!("/data/{port}")));
            }
            settings(&rows)
        };
        let base = cluster([1, 2], "2", "5000");
        assert_eq!(base["tikv raftstore.store-pool-size"], "2");
        assert_eq!((base.len(), base["tikv settings, all others"].len()), (2, 12));
        assert_eq!(cluster([3, 4], "2", "5000"), base, "addresses and folders are no difference");
        assert_eq!(cluster([1, 2], "4", "5000")["tikv raftstore.store-pool-size"], "1 × 2, 1 × 4");
        assert_ne!(cluster([1, 2], "2", "6000")["tikv settings, all others"], base["tikv settings, all others"]);
    }
}
