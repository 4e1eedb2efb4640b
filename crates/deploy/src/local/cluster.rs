//! A cluster of PD, TiKV and, where SQL is wanted, TiDB. Each part has one configuration file for all of its processes.

use core::net::{IpAddr, SocketAddr};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::{Kind, Parts, Process, Program, Recipe, Step, Wanted, option, tidb};

pub(super) const PD: Program =
    Program { names: &["pd-server"], folders: &["~/.tiup/components/pd/v*", "/opt/tidb/bin", "/usr/local/bin"] };

pub(super) const TIKV: Program =
    Program { names: &["tikv-server"], folders: &["~/.tiup/components/tikv/v*", "/opt/tidb/bin", "/usr/local/bin"] };

/// The two ports of a process: for its clients, and for its status or its peers.
pub(super) type Ports = [u16; 2];

/// Copies of each region where there are as many stores.
const REPLICAS: usize = 3;

/// Settings that decide where a part lives and who reaches it.
pub(super) fn owned(part: &str) -> &'static [&'static str] {
    match part {
        "pd" => &[
            "advertise_client_urls",
            "advertise_peer_urls",
            "client_urls",
            "data_dir",
            "initial_cluster",
            "initial_cluster_state",
            "join",
            "log.file.filename",
            "name",
            "peer_urls",
        ],
        "tikv" => &[
            "log.file.filename",
            "pd.endpoints",
            "raft_engine.dir",
            "raftdb.wal_dir",
            "raftstore.raftdb_path",
            "rocksdb.wal_dir",
            "server.addr",
            "server.advertise_addr",
            "server.advertise_status_addr",
            "server.status_addr",
            "storage.data_dir",
        ],
        _ => tidb::OWNED,
    }
}

/// The part that a key of `config` is for, and its name there: `tikv.storage.reserve-space` is TiKV's. One without a part is the
/// server's own.
pub(super) fn part_of(kind: Kind, key: &str) -> (&'static str, &str) {
    let named = key.split_once('.').and_then(|(first, rest)| Some((*kind.parts().iter().find(|part| **part == first)?, rest)));
    named.unwrap_or((if kind == Kind::Tikv { "tikv" } else { "tidb" }, key))
}

/// How many processes of each part run, in the order in which they take their ports.
fn counts(kind: Kind, parts: &Parts) -> [usize; 3] {
    let of = |part: &str| parts.get(part).map_or(1, |count| *count as usize);
    match kind {
        Kind::Tidb if parts.is_empty() => [1, 0, 0],
        Kind::Tidb => [of("tidb"), of("pd"), of("tikv")],
        _ => [0, of("pd"), of("tikv")],
    }
}

pub(super) fn ports(kind: Kind, parts: &Parts) -> usize {
    2 * counts(kind, parts).iter().sum::<usize>()
}

/// The parts that run.
pub(super) fn running(kind: Kind, parts: &Parts) -> Vec<&'static str> {
    ["tidb", "pd", "tikv"].into_iter().zip(counts(kind, parts)).filter(|(_, count)| *count > 0).map(|(part, _)| part).collect()
}

/// How many copies of each region PD keeps. With fewer stores than copies it would look for places all the time.
pub(super) fn copies(kind: Kind, parts: &Parts, config: &BTreeMap<String, String>) -> Option<u32> {
    let set = config.iter().find(|(key, _)| kind.setting(key) == "pd.replication.max_replicas");
    let [.., stores] = counts(kind, parts);
    set.map_or(Some(if stores < REPLICAS { 1 } else { REPLICAS as u32 }), |(_, value)| value.parse().ok())
}

/// The ports of the processes of TiDB, PD and TiKV.
fn ports_of(kind: Kind, parts: &Parts, ports: &[u16]) -> Option<[Vec<Ports>; 3]> {
    let (pairs, rest) = ports.as_chunks::<2>();
    let [tidb, pd, tikv] = counts(kind, parts);
    (rest.is_empty() && pairs.len() == tidb + pd + tikv).then(|| {
        let (before, stores) = pairs.split_at(tidb + pd);
        [before[..tidb].to_vec(), before[tidb..].to_vec(), stores.to_vec()]
    })
}

/// Where its clients reach it: `127.0.0.1:4000,127.0.0.1:4001`.
pub(super) fn hosts(kind: Kind, parts: &Parts, (address, ports): (IpAddr, &[u16])) -> Option<String> {
    let [tidb, pd, _] = ports_of(kind, parts, ports)?;
    Some(addresses(address, if kind == Kind::Tidb { &tidb } else { &pd }))
}

fn addresses(address: IpAddr, ports: &[Ports]) -> String {
    ports.iter().map(|[first, _]| SocketAddr::new(address, *first).to_string()).collect::<Vec<_>>().join(",")
}

pub(super) fn tidb(wanted: &Wanted<'_>, programs: &[PathBuf], password: &str) -> Option<Recipe> {
    let [server, pd, tikv] = programs else { return None };
    let [sql, members, stores] = ports_of(Kind::Tidb, wanted.parts, wanted.ports)?;
    let mut steps = vec![settings(Kind::Tidb, "tidb", wanted)];
    steps.extend(checked_settings(Kind::Tidb, wanted, pd, tikv));
    let path = addresses(wanted.address, &members);
    let mut servers: Vec<Process> = (1..)
        .zip(&sql)
        .map(|(n, ports)| {
            let store = [option("store", "tikv"), option("path", &path)];
            tidb::process(wanted, server, (format!("tidb-{n}"), *ports, store))
        })
        .collect();
    servers.first_mut()?.input = tidb::first_statements(wanted, password);
    // The first one makes the system tables.
    let others = servers.split_off(1);
    let mut stages = store_stages(wanted, (pd, &members), (tikv, &stores));
    stages.extend([servers, others]);
    Some(Recipe {
        steps,
        stages,
        quits: false,
        target: Kind::Tidb.target(wanted.parts, (wanted.address, wanted.ports), wanted.options)?,
    })
}

pub(super) fn tikv(wanted: &Wanted<'_>, programs: &[PathBuf]) -> Option<Recipe> {
    let [tikv, pd] = programs else { return None };
    let [_, members, stores] = ports_of(Kind::Tikv, wanted.parts, wanted.ports)?;
    Some(Recipe {
        steps: checked_settings(Kind::Tikv, wanted, pd, tikv).into(),
        stages: store_stages(wanted, (pd, &members), (tikv, &stores)),
        quits: false,
        target: Kind::Tikv.target(wanted.parts, (wanted.address, wanted.ports), wanted.options)?,
    })
}

/// PD, and then TiKV.
fn store_stages(wanted: &Wanted<'_>, (pd, members): (&Path, &[Ports]), (tikv, stores): (&Path, &[Ports])) -> Vec<Vec<Process>> {
    let at = |port: u16| SocketAddr::new(wanted.address, port);
    let url = |port: u16| format!("http://{}", at(port));
    let folder = |name: &str| wanted.folder.join(name);
    let process = |name: String, program: &Path, arguments: Vec<OsString>, ready: (u16, &str)| Process {
        name,
        program: program.to_owned(),
        arguments,
        input: String::new(),
        ready: Some((at(ready.0), ready.1.to_owned())),
    };
    let together: Vec<String> = (1..).zip(members).map(|(n, [_, peers])| format!("pd-{n}={}", url(*peers))).collect();
    let member = |(n, [clients, peers]): (u32, &Ports)| {
        let name = format!("pd-{n}");
        let mut arguments = vec![option("name", &name), option("data-dir", folder(&name)), option("config", folder("pd.toml"))];
        arguments.extend([option("client-urls", url(*clients)), option("peer-urls", url(*peers))]);
        arguments.push(option("initial-cluster", together.join(",")));
        process(name, pd, arguments, (*clients, "/pd/api/v1/leader"))
    };
    let store = |(n, [clients, status]): (u32, &Ports)| {
        let name = format!("tikv-{n}");
        let mut arguments = vec![option("data-dir", folder(&name)), option("config", folder("tikv.toml"))];
        arguments.extend([option("addr", at(*clients).to_string()), option("status-addr", at(*status).to_string())]);
        arguments.push(option("pd-endpoints", addresses(wanted.address, members)));
        process(name, tikv, arguments, (*status, "/status"))
    };
    vec![(1..).zip(members).map(member).collect(), (1..).zip(stores).map(store).collect()]
}

/// The configuration files of PD and TiKV, each checked by its own program: else both start with a setting that they do not know.
fn checked_settings(kind: Kind, wanted: &Wanted<'_>, pd: &Path, tikv: &Path) -> [Step; 4] {
    let check = |program: &Path, file: &str, says: Option<&str>| Step::Run {
        program: program.to_owned(),
        arguments: vec![option("config", wanted.folder.join(file)), OsString::from("--config-check")],
        input: String::new(),
        says: says.map(str::to_owned),
    };
    let (settings_pd, settings_tikv) = (settings(kind, "pd", wanted), settings(kind, "tikv", wanted));
    [settings_pd, check(pd, "pd.toml", Some("config check successful")), settings_tikv, check(tikv, "tikv.toml", None)]
}

/// The configuration file of a part. A study writes keys with dots, `performance.max-procs = 2`; PD reads an older TOML, which has
/// tables alone.
pub(super) fn settings<'a>(kind: Kind, part: &str, wanted: &Wanted<'a>) -> Step {
    let mut tables: BTreeMap<&str, BTreeMap<&str, String>> = BTreeMap::new();
    let mut set = |name: &'a str, value: String| {
        let (table, key) = name.rsplit_once('.').unwrap_or(("", name));
        tables.entry(table).or_default().insert(key, value);
    };
    match part {
        "tidb" => set("tmp-storage-path", quoted(&wanted.folder.join("temp").to_string_lossy())),
        "pd" => set("replication.max-replicas", copies(kind, wanted.parts, wanted.config).unwrap_or(1).to_string()),
        _ => {}
    }
    for (key, value) in wanted.config {
        let (of, name) = part_of(kind, key);
        if of == part {
            set(name, toml_value(value));
        }
    }
    let mut text = String::new();
    for (table, entries) in tables {
        let lines: String = entries.iter().map(|(key, value)| format!("{key} = {value}\n")).collect();
        text += &if table.is_empty() { lines } else { format!("[{table}]\n{lines}") };
    }
    Step::Write { file: format!("{part}.toml"), text }
}

fn toml_value(value: &str) -> String {
    match value {
        "ON" => "true".to_owned(),
        "OFF" => "false".to_owned(),
        number if is_number(number) => number.to_owned(),
        text => quoted(text),
    }
}

/// Whether TOML has it as a number: digits with one dot at most, and no zero before them.
fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, rest) = digits.split_once('.').unwrap_or((digits, "0"));
    let all = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    all(whole) && all(rest) && (whole == "0" || !whole.starts_with('0'))
}

/// A basic string of TOML.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
