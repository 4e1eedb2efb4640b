//! TiKV, raw and transactional: our own client, because a load generator's own cost is part of what it measures
//! (docs/adr/0002-tikv-client.md). Sessions of one load thread share the connections to each store; what they ask within one
//! pass of the event loop leaves as one batch of commands in one write.
//!
//! From the bottom: `call` is one request, `streams` and `channel` are a connection of gRPC, `pd` and `answers` read messages,
//! `keys`, `regions` and `hub` find the store of a key, `retry` and `request` send a request until it is answered, `raw` and
//! `txn` are the two ways to read and write, `row` is go-ycsb's layout, `rows` reads and writes by it, `session` is what the
//! engine sees.

use std::collections::BTreeMap;
use std::sync::Arc;

use perbuck_database::address::TargetProblem;
use perbuck_database::secret::Secret;
use perbuck_database::{Database, Dialect, Wishes};
use perbuck_grpc::Malformed;
use perbuck_load::driver::{DataSize, Driver, Means, SessionId, Settling, TargetFacts};
use perbuck_load::error::{DriverError, ErrorClass, ErrorCode};
use perbuck_load::meter::Meter;
use rustls::ClientConfig;

use perbuck_net::certificates::{TlsOptions, config_for_grpc};
use perbuck_net::cluster::{Metrics, Process};
use perbuck_net::ports::Ports;

mod dialect;
mod hub;
mod keys;
mod later;
mod pairs;
mod raw;
mod regions;
mod request;
mod retry;
mod row;
mod rows;
mod session;
mod target;
mod txn;
mod wire;

pub use dialect::TikvDialect;
pub use rows::TikvSession;
pub use target::TikvTarget;

/// The registration of TiKV.
#[derive(Debug)]
pub struct Tikv;

impl Database for Tikv {
    type Target = TikvTarget;
    type Driver = TikvDriver;

    const SCHEMES: &'static [&'static str] = &["tikv://"];
    const FORM: &'static str = "tikv://PD:PORT/";

    fn parse(scheme: &str, rest: &str) -> Option<Result<TikvTarget, TargetProblem>> {
        (scheme == "tikv").then(|| TikvTarget::parse(rest))
    }

    fn dialect() -> &'static dyn Dialect {
        &TikvDialect
    }

    fn driver(target: &TikvTarget, _password: &Secret, _wishes: &Wishes) -> Result<TikvDriver, DriverError> {
        TikvDriver::new(target.clone())
    }
}

use hub::Hub;
use regions::Space;
use retry::Counts;
use wire::pd::{self, Store};

/// What all sessions of a driver have in common.
struct Settings {
    target: TikvTarget,
    tls: Option<Arc<ClientConfig>>,
    counts: Counts,
    space: Space,
    /// What every key starts with.
    prefix: Vec<u8>,
}

/// A way to reach one TiKV cluster, through its PD.
pub struct TikvDriver {
    settings: Arc<Settings>,
}

impl TikvDriver {
    /// Makes a driver; nothing is connected yet.
    ///
    /// # Errors
    /// `Refused` where a file of certificates cannot be used; the message names it.
    pub fn new(target: TikvTarget) -> Result<Self, DriverError> {
        let own = target.own_certificate.as_ref().map(|(cert, key)| (cert.as_path(), key.as_path()));
        let (mode, ca_file) = (target.tls, target.ca_file.as_deref());
        let tls = config_for_grpc(TlsOptions { mode, ca_file, fingerprints: None, own })?;
        let (v2, keyspace) = (target.api_v2, target.keyspace);
        let mut prefix = if v2 {
            let [_, a, b, c] = keyspace.to_be_bytes();
            vec![if target.transactional { b'x' } else { b'r' }, a, b, c]
        } else {
            Vec::new()
        };
        prefix.extend_from_slice(target.prefix.as_bytes());
        let space = Space { v2, keyspace, encoded: target.transactional || v2 };
        let settings = Settings { target, tls, counts: Counts::default(), space, prefix };
        Ok(Self { settings: Arc::new(settings) })
    }
}

impl Driver for TikvDriver {
    type Session = TikvSession;

    const MEANS: Means = Means { statements: false, ..Means::ALL };

    async fn connect(&self, id: SessionId) -> Result<TikvSession, DriverError> {
        let hub = Hub::of(&self.settings);
        hub.pd().await?;
        Ok(TikvSession::new(hub, id.index()))
    }

    async fn facts(&self) -> Result<TargetFacts, DriverError> {
        let hub = Hub::of(&self.settings);
        let (cluster, stores) = hub.cluster().await?;
        let up: Vec<_> = stores.iter().filter(|s| s.state == 0 && !s.in_columns).collect();
        let mut versions: Vec<&str> = up.iter().map(|s| s.version.as_str()).collect();
        versions.sort_unstable();
        versions.dedup();
        let mut variables =
            BTreeMap::from([("cluster_id".to_owned(), cluster.to_string()), ("stores".to_owned(), up.len().to_string())]);
        variables.extend(up.iter().map(|s| (format!("store {}", s.id), format!("{} {}", s.address, s.version))));
        let version = format!("TiKV {}", versions.join(", "));
        let silent = self.metrics().await?.not_told;
        variables.extend(silent.into_iter().map(|(part, why)| (format!("metrics of {part}"), format!("not told: {why}"))));
        Ok(TargetFacts { version, variables, on_this_machine: hub.is_local(), ..TargetFacts::default() })
    }

    /// How often this client sent requests again, by reason, and what the processes of the cluster tell.
    async fn counters(&self) -> Result<BTreeMap<String, i64>, DriverError> {
        let mut counted = self.settings.counts.named();
        counted.extend(self.metrics().await?.counted().sums);
        Ok(counted)
    }

    async fn data_size(&self, _tables: &[String]) -> Result<DataSize, DriverError> {
        Ok(DataSize { store_bytes: self.metrics().await?.store_bytes(), ..DataSize::default() })
    }

    async fn meter(&self, _connections: u32) -> Result<Option<Box<dyn Meter>>, DriverError> {
        let (processes, not_told) = self.processes().await?;
        Ok(Some(Box::new(Ports::open(processes, not_told).await)))
    }

    async fn settling(&self) -> Result<Option<Settling>, DriverError> {
        Ok(self.metrics().await?.settling())
    }
}

impl TikvDriver {
    /// What PD and the stores tell at their status ports.
    async fn metrics(&self) -> Result<Metrics, DriverError> {
        let (processes, not_told) = self.processes().await?;
        Ok(Metrics::of(processes, not_told).await)
    }

    /// PD, at the port that clients use, and the stores; and the parts that are not told, with the reason.
    async fn processes(&self) -> Result<(Vec<Process>, BTreeMap<String, String>), DriverError> {
        let hub = Hub::of(&self.settings);
        let (_, stores) = hub.cluster().await?;
        let process = |kind: &str, host: &str, port, identity| {
            let (kind, host) = (kind.to_owned(), host.to_owned());
            Process { kind, host, port, identity }
        };
        // Its leader alone counts what it schedules.
        let pds = hub.members().await?;
        let of_pd = pds.iter().map(|(host, port)| process("pd", host, *port, format!("{host}:{port}")));
        let of_store = |store: &Store| {
            let (host, port) = pd::status_port(store, &self.settings.target.pds[0].0).unwrap_or_default();
            process("tikv", &host, port, store.id.to_string())
        };
        let up = stores.iter().filter(|store| store.state == 0 && !store.in_columns);
        let processes = of_pd.chain(up.map(of_store)).collect();
        // With TLS, status ports want the certificates of the cluster.
        let why = "perbuck reads status ports without TLS only";
        let not_told = self.settings.tls.iter().flat_map(|_| ["pd", "tikv"]).map(|part| (part.to_owned(), why.to_owned()));
        Ok((processes, not_told.collect()))
    }
}

/// The error of a request that a store refused.
fn refused(class: ErrorClass, message: String) -> DriverError {
    DriverError::new(class, ErrorCode::Word("tikv", "refused"), message)
}

/// The answer of `peer` is not a message of the expected format.
fn malformed_by(peer: &str, whose: &str, why: Malformed) -> DriverError {
    let message = format!("{peer} sent an answer that is not in the format of {whose}: {}", why.0);
    DriverError::client(ErrorClass::Fatal, "protocol", message)
}

/// The nearer of the end of a region and that of a range; empty is the end of all keys.
fn nearer<'a>(region_end: &'a [u8], end: &'a [u8]) -> &'a [u8] {
    if region_end.is_empty() || (!end.is_empty() && end < region_end) { end } else { region_end }
}
