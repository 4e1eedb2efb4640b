//! The cluster: PD and stores on ports of their own, one set of data for all, and what a test does to them.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::http::{Service, serve};
use crate::kv::Kv;
use crate::mvcc::Mvcc;
use crate::pd::Pd;
use crate::regions::{Regions, encoded};
use crate::tls;

/// The number of the cluster.
pub(crate) const CLUSTER: u64 = 7_070_707;

/// Everything that requests read and change.
pub(crate) struct State {
    pub(crate) regions: Regions,
    pub(crate) raw: BTreeMap<Vec<u8>, Vec<u8>>,
    pub(crate) mvcc: Mvcc,
    /// Keys whose reads are answered with what they held once.
    pub(crate) stale: HashMap<Vec<u8>, Option<Vec<u8>>>,
}

/// A store.
pub(crate) struct Store {
    pub(crate) id: u64,
    pub(crate) address: SocketAddr,
    up: AtomicBool,
    /// Until then, in milliseconds since 1970, it says that it has too much to do.
    busy_until_ms: AtomicU64,
    connections: Mutex<Vec<TcpStream>>,
    /// What it tells of its status port: a port of this machine, where a test has one; else 0.
    pub(crate) status: AtomicU16,
}

/// What all threads share.
pub(crate) struct Shared {
    state: RwLock<State>,
    pub(crate) stores: Vec<Store>,
    pub(crate) pd: SocketAddr,
    /// The last timestamp that was given.
    tso: Mutex<u64>,
    /// The latest time of a reader: nothing may commit before it any more.
    pub(crate) max_ts: AtomicU64,
    /// Requests that were answered by a region error.
    pub(crate) refused: AtomicU64,
    pub(crate) tls: Option<Arc<ServerConfig>>,
}

pub(crate) fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as u64)
}

impl Store {
    pub(crate) fn is_up(&self) -> bool {
        self.up.load(Ordering::SeqCst)
    }

    pub(crate) fn is_busy(&self) -> bool {
        self.busy_until_ms.load(Ordering::Relaxed) > 0 && self.busy_until_ms.load(Ordering::Relaxed) > now_ms()
    }
}

impl Shared {
    pub(crate) fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// So many timestamps; the last of them.
    pub(crate) fn timestamps(&self, count: u64) -> u64 {
        let mut last = self.tso.lock().unwrap_or_else(PoisonError::into_inner);
        *last = (*last).max(now_ms() << 18) + count;
        *last
    }

    fn store(&self, id: u64) -> Option<&Store> {
        self.stores.iter().find(|store| store.id == id)
    }

    fn is_up(&self, id: u64) -> bool {
        self.store(id).is_some_and(Store::is_up)
    }
}

/// A cluster that runs until the program ends; dropping it closes its ports.
pub struct Cluster {
    shared: Arc<Shared>,
}

impl Cluster {
    /// Starts a cluster of so many stores on free ports of the loopback address.
    ///
    /// # Errors
    /// That there is no free port.
    pub fn start(stores: u64) -> io::Result<Self> {
        Self::start_at(stores, 0)
    }

    /// The same under TLS, with PEM files of an authority, a certificate that it signed and its key; clients must have one, too.
    ///
    /// # Errors
    /// That a file cannot be used, or that there is no free port.
    pub fn start_tls(stores: u64, ca: &Path, cert: &Path, key: &Path) -> io::Result<Self> {
        Self::open(stores, 0, Some(tls::config(ca, cert, key)?))
    }

    /// The same with PD at a given port; 0 is any.
    ///
    /// # Errors
    /// That the port is taken.
    pub fn start_at(stores: u64, pd_port: u16) -> io::Result<Self> {
        Self::open(stores, pd_port, None)
    }

    fn open(stores: u64, pd_port: u16, tls: Option<Arc<ServerConfig>>) -> io::Result<Self> {
        let pd = TcpListener::bind(("127.0.0.1", pd_port))?;
        let listeners = (0..stores.max(1)).map(|_| TcpListener::bind("127.0.0.1:0")).collect::<io::Result<Vec<_>>>()?;
        let store = |(i, listener): (usize, &TcpListener)| {
            Ok(Store {
                id: i as u64 + 1,
                address: listener.local_addr()?,
                up: AtomicBool::new(true),
                busy_until_ms: AtomicU64::new(0),
                status: AtomicU16::new(0),
                connections: Mutex::default(),
            })
        };
        let state =
            State { regions: Regions::new(stores.max(1)), raw: BTreeMap::new(), mvcc: Mvcc::new(), stale: HashMap::new() };
        let shared = Arc::new(Shared {
            state: RwLock::new(state),
            stores: listeners.iter().enumerate().map(store).collect::<io::Result<_>>()?,
            pd: pd.local_addr()?,
            tso: Mutex::new(0),
            max_ts: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            tls,
        });
        let of_pd = Arc::clone(&shared);
        thread::spawn(move || accept(&pd, &of_pd, 0));
        for (i, listener) in listeners.into_iter().enumerate() {
            let of_store = Arc::clone(&shared);
            thread::spawn(move || accept(&listener, &of_store, i as u64 + 1));
        }
        Ok(Self { shared })
    }

    /// `host:port` of PD.
    pub fn pd(&self) -> String {
        self.shared.pd.to_string()
    }

    /// Splits the region of a key there; `transactional` says whose form of keys is meant.
    pub fn split(&self, key: &[u8], transactional: bool) -> bool {
        self.shared.write().regions.split(&border(key, transactional))
    }

    /// Lets the next store that is up lead the region of a key; which one.
    pub fn transfer_leader(&self, key: &[u8], transactional: bool) -> u64 {
        self.shared.write().regions.transfer(&border(key, transactional), |id| self.shared.is_up(id))
    }

    /// Cuts every connection of a store and refuses new ones; others lead what it led.
    pub fn stop_store(&self, id: u64) {
        let Some(store) = self.shared.store(id) else { return };
        store.up.store(false, Ordering::SeqCst);
        let gone = std::mem::take(&mut *store.connections.lock().unwrap_or_else(PoisonError::into_inner));
        // One that is closed already cannot be closed again.
        gone.iter().for_each(|socket| drop(socket.shutdown(Shutdown::Both)));
        self.shared.write().regions.leave(id, |id| self.shared.is_up(id));
    }

    /// Lets a store answer again.
    pub fn start_store(&self, id: u64) {
        if let Some(store) = self.shared.store(id) {
            store.up.store(true, Ordering::SeqCst);
        }
    }

    /// Every store tells that its status port is this one.
    pub fn status_at(&self, port: u16) {
        self.shared.stores.iter().for_each(|store| store.status.store(port, Ordering::Relaxed));
    }

    /// For so long every store says that it has too much to do.
    pub fn be_busy(&self, length: Duration) {
        let until = now_ms() + length.as_millis() as u64;
        self.shared.stores.iter().for_each(|store| store.busy_until_ms.store(until, Ordering::Relaxed));
    }

    /// Changes a byte in the middle of the value of a key; whether it is there.
    pub fn corrupt(&self, key: &[u8]) -> bool {
        let mut state = self.shared.write();
        let spoil = |value: &mut Vec<u8>| {
            let middle = value.len() / 2;
            value.get_mut(middle).map(|byte| *byte ^= 1).is_some()
        };
        let State { raw, mvcc, .. } = &mut *state;
        let in_raw = raw.get_mut(key).is_some_and(spoil);
        let newest = mvcc.get_mut(key).and_then(|entry| entry.newest_mut());
        newest.and_then(Option::as_mut).is_some_and(spoil) || in_raw
    }

    /// Forgets a key; whether it was there.
    pub fn lose(&self, key: &[u8]) -> bool {
        let mut state = self.shared.write();
        let was_raw = state.raw.remove(key).is_some();
        state.mvcc.remove(key).is_some() || was_raw
    }

    /// From now on reads of a key are answered with what it holds now, whatever is written.
    pub fn freeze(&self, key: &[u8]) {
        let mut state = self.shared.write();
        let value = state.raw.get(key).or_else(|| state.mvcc.get(key).and_then(|e| e.read(u64::MAX))).cloned();
        state.stale.insert(key.to_vec(), value);
    }

    /// How many keys there are: of both kinds.
    pub fn keys(&self) -> (usize, usize) {
        let state = self.shared.read();
        (state.raw.len(), state.mvcc.values().filter(|entry| entry.read(u64::MAX).is_some()).count())
    }

    /// Keys that are locked.
    pub fn locks(&self) -> usize {
        self.shared.read().mvcc.values().filter(|entry| entry.lock.is_some()).count()
    }

    /// How many requests were answered by a region error.
    pub fn refused(&self) -> u64 {
        self.shared.refused.load(Ordering::Relaxed)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        (1..=self.shared.stores.len() as u64).for_each(|id| self.stop_store(id));
    }
}

fn border(key: &[u8], transactional: bool) -> Vec<u8> {
    if transactional { encoded(key) } else { key.to_vec() }
}

/// Takes connections: of PD (0), or of a store.
fn accept(listener: &TcpListener, shared: &Arc<Shared>, id: u64) {
    for socket in listener.incoming().flatten() {
        let store = shared.store(id);
        if let Some(store) = store {
            let mut connections = store.connections.lock().unwrap_or_else(PoisonError::into_inner);
            let Ok(copy) = socket.try_clone() else { continue };
            if !store.is_up() {
                // Closed at once: a port cannot be given back and kept.
                continue;
            }
            connections.push(copy);
        }
        let (shared, shared_tls) = (Arc::clone(shared), shared.tls.clone());
        thread::spawn(move || {
            let service: Box<dyn Service> = match id {
                0 => Box::new(Pd::new(shared)),
                id => Box::new(Kv::new(shared, id)),
            };
            // A connection that is cut is no failure of the server.
            let _ = greet(socket, &shared_tls, service.as_ref());
        });
    }
}

fn greet(socket: TcpStream, tls: &Option<Arc<ServerConfig>>, service: &dyn Service) -> io::Result<()> {
    socket.set_nodelay(true)?;
    let Some(config) = tls else { return serve(socket, service) };
    let connection = ServerConnection::new(Arc::clone(config)).map_err(io::Error::other)?;
    serve(StreamOwned::new(connection, socket), service)
}
