//! What the sessions of one load thread share: the connections to PD and to the stores, and what is known of the regions.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::future::poll_fn;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::time::Duration;

use perbuck_event::{Waiters, now, timeout_at};
use perbuck_grpc::Malformed;
use perbuck_grpc::kvproto::pdpb::{get_region_request, get_store_request};
use perbuck_grpc::proto::{put_bytes, put_uint};
use perbuck_load::error::{DriverError, ErrorClass};
use perbuck_load::watch;

use crate::Settings;
use crate::regions::{Region, Regions};
use crate::retry::{Tries, Why};
use crate::wire::call::{Call, Stage};
use crate::wire::channel::Channel;
use crate::wire::pd::{self, method};
use crate::{keys, malformed_by};
use perbuck_database::endpoint::host_text;

thread_local! {
    /// The hubs of this thread; each lives as long as its sessions.
    static HUBS: RefCell<Vec<Weak<Hub>>> = const { RefCell::new(Vec::new()) };
}

#[derive(Clone)]
pub(crate) struct Pd {
    channel: Rc<Channel>,
    cluster: u64,
}

/// What sessions share.
pub(crate) struct Hub {
    pub(crate) settings: Arc<Settings>,
    pd: RefCell<Option<Pd>>,
    regions: RefCell<Regions>,
    stores: RefCell<HashMap<u64, (String, u16)>>,
    /// By store and number.
    channels: RefCell<HashMap<(u64, u32), Rc<Channel>>>,
    /// Held by a session that opens a connection, or asks PD for a region.
    connecting: Exclusive,
    asking: Exclusive,
}

/// Lets one session at a time do what is then known to all.
#[derive(Default)]
struct Exclusive {
    taken: Cell<bool>,
    waiting: Waiters,
}

/// Holds it as long as it lives; a session that is dropped half way sets it free.
struct Held<'a>(&'a Exclusive);

impl Exclusive {
    async fn take(&self) -> Held<'_> {
        self.waiting.until(|| (!self.taken.replace(true)).then_some(())).await;
        Held(self)
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.taken.set(false);
        self.0.waiting.wake();
    }
}

/// An answer of PD or of a store that is none; where a region ends at a raw key it is one, of another cluster.
pub(crate) fn malformed(address: &str, why: Malformed) -> DriverError {
    if why == keys::RAW_BORDER {
        let message = format!(
            "{address}: the cluster holds keys without transactions, since a region ends at one. TiKV needs a cluster of its own for each: \
             leave out `type=txn` or `api=v2` (`tikv.type`, `tikv.apiversion` of go-ycsb), or name a cluster without such data"
        );
        return crate::refused(ErrorClass::Refused, message);
    }
    malformed_by(address, "PD or TiKV", why)
}

impl Hub {
    /// The hub of this thread for a driver.
    pub(crate) fn of(settings: &Arc<Settings>) -> Rc<Self> {
        HUBS.with_borrow_mut(|hubs| {
            hubs.retain(|hub| hub.strong_count() > 0);
            let known = hubs.iter().filter_map(Weak::upgrade).find(|hub| Arc::ptr_eq(&hub.settings, settings));
            known.unwrap_or_else(|| {
                let hub = Rc::new(Self {
                    settings: Arc::clone(settings),
                    pd: RefCell::default(),
                    regions: RefCell::default(),
                    stores: RefCell::default(),
                    channels: RefCell::default(),
                    connecting: Exclusive::default(),
                    asking: Exclusive::default(),
                });
                hubs.push(Rc::downgrade(&hub));
                hub
            })
        })
    }

    /// Opens a connection within the limit of the target.
    async fn open(&self, host: &str, port: u16) -> Result<Rc<Channel>, DriverError> {
        watch::asks(host_text(host, port), "opening a connection");
        let limit_ms = self.settings.target.connect_timeout_ms;
        let limit = now() + Duration::from_millis(limit_ms.into());
        timeout_at(limit, Channel::open(host, port, &self.settings)).await.unwrap_or_else(|_| {
            let message =
                format!("{} did not accept a session within {limit_ms} ms; check that it is reachable", host_text(host, port));
            Err(DriverError::client(ErrorClass::Lost, "timeout", message))
        })
    }

    /// The connection to PD's leader.
    ///
    /// # Errors
    /// The last of those that its members gave.
    pub(crate) async fn pd(&self) -> Result<Pd, DriverError> {
        if let Some(pd) = self.known_pd() {
            return Ok(pd);
        }
        let _held = self.connecting.take().await;
        if let Some(pd) = self.known_pd() {
            return Ok(pd);
        }
        let mut last = DriverError::client(ErrorClass::Refused, "target", "the target names no PD");
        for (host, port) in &self.settings.target.pds {
            match self.find_leader(host, *port).await {
                Ok(pd) => return Ok(self.pd.borrow_mut().insert(pd).clone()),
                Err(error) if error.class == ErrorClass::Refused => return Err(error),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn known_pd(&self) -> Option<Pd> {
        self.pd.borrow().as_ref().filter(|pd| !pd.channel.is_broken()).cloned()
    }

    /// Asks a member of PD who leads.
    async fn find_leader(&self, host: &str, port: u16) -> Result<Pd, DriverError> {
        let channel = self.open(host, port).await?;
        let answer = self.ask(&channel, method::GET_MEMBERS, &pd::request(0, |_| ())).await?;
        let bad = |why| malformed(channel.address(), why);
        let (cluster, error) = pd::header(&answer).map_err(bad)?;
        let leader = pd::leader(&answer).map_err(bad)?;
        let Some((leader, leader_port)) = leader.filter(|_| error.is_none()) else {
            let why = error.unwrap_or_else(|| "it has no leader".to_owned());
            let message = format!("PD at {} cannot answer: {why}", channel.address());
            return Err(DriverError::client(ErrorClass::Lost, "pd", message));
        };
        if (leader.as_str(), leader_port) == (host, port) {
            return Ok(Pd { channel, cluster });
        }
        Ok(Pd { channel: self.open(&leader, leader_port).await?, cluster })
    }

    /// Whether PD shares this machine.
    pub(crate) fn is_local(&self) -> bool {
        self.known_pd().is_some_and(|pd| pd.channel.is_local())
    }

    /// One call to PD; its answer.
    async fn ask(&self, channel: &Channel, path: &'static str, message: &[u8]) -> Result<Vec<u8>, DriverError> {
        let (call, address) = (Rc::<Call>::default(), channel.address());
        watch::asks(address, path);
        channel.call(path, message, &call);
        let limit = now() + Duration::from_millis(self.settings.target.read_timeout_ms.into());
        let lost = |word, message| Err(DriverError::client(ErrorClass::Lost, word, message));
        match timeout_at(limit, poll_fn(|cx| call.poll_ended(cx.waker()))).await {
            Ok(Stage::Answered) => Ok(call.with(<[u8]>::to_vec)),
            Ok(Stage::Status(code)) => {
                let message = format!("PD at {address} refused: {} (status {code} of gRPC)", call.words());
                let class = if code == 12 { ErrorClass::Fatal } else { ErrorClass::Lost };
                Err(DriverError::client(class, "pd", message))
            }
            Ok(_) => lost("closed", call.words()),
            Err(_) => lost("timeout", format!("PD at {address} did not answer")),
        }
    }

    /// One call to PD's leader, with its header and what `write` adds, retried until the limit of the target.
    ///
    /// # Errors
    /// The last failure.
    async fn ask_pd(&self, path: &'static str, write: impl Fn(&mut Vec<u8>)) -> Result<(String, Vec<u8>), DriverError> {
        let mut tries = Tries::new(self.settings.target.retry_limit_ms, 0);
        loop {
            let error = match self.ask_leader(path, &write).await {
                Ok(answer) => return Ok(answer),
                Err(error) if error.class != ErrorClass::Lost => return Err(error),
                Err(error) => error,
            };
            self.forget_pd();
            tries.retry(Why::Pd, &error.message, &self.settings.counts).await?;
        }
    }

    async fn ask_leader(&self, path: &'static str, write: impl Fn(&mut Vec<u8>)) -> Result<(String, Vec<u8>), DriverError> {
        let pd = self.pd().await?;
        let address = pd.channel.address().to_owned();
        let answer = self.ask(&pd.channel, path, &pd::request(pd.cluster, write)).await?;
        match pd::header(&answer).map_err(|why| malformed(&address, why))? {
            (_, None) => Ok((address, answer)),
            (_, Some(words)) => Err(DriverError::client(ErrorClass::Lost, "pd", format!("PD at {address}: {words}"))),
        }
    }

    /// Asks for a timestamp of the cluster, for `call`; the connection that it comes by.
    pub(crate) async fn ask_timestamp(&self, call: &Rc<Call>) -> Result<Rc<Channel>, DriverError> {
        let pd = match self.known_pd() {
            Some(pd) => pd,
            None => Box::pin(self.pd()).await?,
        };
        pd.channel.timestamp(pd.cluster, call);
        Ok(pd.channel)
    }

    /// PD's leader did not answer, or is none any more.
    pub(crate) fn forget_pd(&self) {
        self.pd.borrow_mut().take();
    }

    /// The region of a key, from what is known, if it is.
    #[inline]
    pub(crate) fn known_region(&self, key: &[u8]) -> Option<Rc<Region>> {
        self.regions.borrow().find(key)
    }

    #[cold]
    pub(crate) async fn ask_region(&self, key: &[u8]) -> Result<Rc<Region>, DriverError> {
        let _held = self.asking.take().await;
        // Another session may have asked for it meanwhile.
        if let Some(known) = self.known_region(key) {
            return Ok(known);
        }
        let space = self.settings.space;
        let mut sought = Vec::new();
        if space.encoded {
            keys::encode(&mut sought, key);
        } else {
            sought.extend_from_slice(key);
        }
        let mut tries = Tries::new(self.settings.target.retry_limit_ms, 0);
        loop {
            // In PD's form.
            let write = |out: &mut Vec<u8>| put_bytes(out, get_region_request::REGION_KEY, &sought);
            let (address, answer) = self.ask_pd(method::GET_REGION, write).await?;
            if let Some(region) = pd::region(&answer, &space).map_err(|why| malformed(&address, why))? {
                return Ok(self.regions.borrow_mut().enter(region));
            }
            tries.retry(Why::Pd, "PD knows no region of the key", &self.settings.counts).await?;
        }
    }

    /// Regions as a store told them, led by it where it has a peer of them.
    pub(crate) fn told(&self, regions: &[&[u8]], store: u64) -> perbuck_grpc::Parsed<()> {
        for message in regions {
            let region = Region::parse(message, None, &self.settings.space)?;
            region.prefer(store, &self.settings.space);
            self.regions.borrow_mut().enter(region);
        }
        Ok(())
    }

    /// What is known of the region does not hold any more.
    pub(crate) fn forget(&self, region: &Rc<Region>) {
        self.regions.borrow_mut().forget(region);
    }

    /// The address of the store does not hold any more.
    pub(crate) fn forget_store(&self, store: u64) {
        self.stores.borrow_mut().remove(&store);
        self.channels.borrow_mut().retain(|(of, _), _| *of != store);
    }

    /// A connection to a store, if it is open.
    #[inline]
    pub(crate) fn known_channel(&self, store: u64, number: u32) -> Option<Rc<Channel>> {
        self.channels.borrow().get(&(store, number)).filter(|channel| !channel.is_broken()).cloned()
    }

    /// Opens a connection to a store.
    ///
    /// # Errors
    /// `Lost` where it cannot be reached now.
    #[cold]
    pub(crate) async fn open_channel(&self, store: u64, number: u32) -> Result<Rc<Channel>, DriverError> {
        let (host, port) = self.address(store).await?;
        let _held = self.connecting.take().await;
        if let Some(channel) = self.known_channel(store, number) {
            return Ok(channel);
        }
        let channel = self.open(&host, port).await?;
        self.channels.borrow_mut().insert((store, number), Rc::clone(&channel));
        Ok(channel)
    }

    async fn address(&self, store: u64) -> Result<(String, u16), DriverError> {
        if let Some(known) = self.stores.borrow().get(&store) {
            return Ok(known.clone());
        }
        let write = |out: &mut Vec<u8>| put_uint(out, get_store_request::STORE_ID, store);
        let (address, answer) = self.ask_pd(method::GET_STORE, write).await?;
        let stores = pd::stores(&answer).map_err(|why| malformed(&address, why))?;
        let Some(found) = stores.iter().find(|s| s.id == store).and_then(|s| pd::host_and_port(&s.address)) else {
            let message = format!("PD at {address} does not know where store {store} is");
            return Err(DriverError::client(ErrorClass::Lost, "pd", message));
        };
        self.stores.borrow_mut().insert(store, found.clone());
        Ok(found)
    }

    /// Where the members of PD are reached.
    pub(crate) async fn members(&self) -> Result<Vec<(String, u16)>, DriverError> {
        let (address, answer) = self.ask_pd(method::GET_MEMBERS, |_| ()).await?;
        pd::members(&answer).map_err(|why| malformed(&address, why))
    }

    /// The cluster's number and every store, as PD knows them.
    pub(crate) async fn cluster(&self) -> Result<(u64, Vec<pd::Store>), DriverError> {
        let (address, answer) = self.ask_pd(method::GET_ALL_STORES, |_| ()).await?;
        let stores = pd::stores(&answer).map_err(|why| malformed(&address, why))?;
        Ok((self.pd().await?.cluster, stores))
    }
}
