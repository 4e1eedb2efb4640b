//! Regions and the stores that lead them, and what a request to the wrong place is answered.

use std::collections::BTreeMap;
use std::ops::Bound;

use perbuck_grpc::kvproto::errorpb::{epoch_not_match, error, key_not_in_region, not_leader, region_not_found, store_not_match};
use perbuck_grpc::kvproto::kvrpcpb::context;
use perbuck_grpc::kvproto::metapb::{peer, region, region_epoch};
use perbuck_grpc::proto::{put_bytes, put_message, put_uint};

use crate::message::{bytes, uint};

/// A region. Its keys are as PD has them: those of transactions, and all of version 2, in their encoded form.
#[derive(Debug, Clone)]
pub(crate) struct Region {
    pub(crate) id: u64,
    pub(crate) start: Vec<u8>,
    pub(crate) end: Vec<u8>,
    conf_ver: u64,
    version: u64,
    /// Number and store of each copy: one on every store.
    peers: Vec<(u64, u64)>,
    leader: usize,
}

impl Region {
    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        put_uint(out, region::ID, self.id);
        put_bytes(out, region::START_KEY, &self.start);
        put_bytes(out, region::END_KEY, &self.end);
        put_message(out, region::REGION_EPOCH, |epoch| {
            put_uint(epoch, region_epoch::CONF_VER, self.conf_ver);
            put_uint(epoch, region_epoch::VERSION, self.version);
        });
        for (id, store) in &self.peers {
            put_message(out, region::PEERS, |peer| put_peer(peer, *id, *store));
        }
    }

    pub(crate) fn put_leader(&self, out: &mut Vec<u8>) {
        if let Some((id, store)) = self.peers.get(self.leader) {
            put_peer(out, *id, *store);
        }
    }

    pub(crate) fn leader_store(&self) -> u64 {
        self.peers.get(self.leader).map_or(0, |(_, store)| *store)
    }

    fn has(&self, key: &[u8]) -> bool {
        key >= self.start.as_slice() && (self.end.is_empty() || key < self.end.as_slice())
    }
}

fn put_peer(out: &mut Vec<u8>, id: u64, store: u64) {
    put_uint(out, peer::ID, id);
    put_uint(out, peer::STORE_ID, store);
}

/// All regions, by their first keys.
#[derive(Debug)]
pub(crate) struct Regions {
    all: BTreeMap<Vec<u8>, Region>,
    next_id: u64,
}

impl Regions {
    /// One region with a copy on each of so many stores; the first leads.
    pub(crate) fn new(stores: u64) -> Self {
        let peers = (1..=stores).map(|store| (100 + store, store)).collect();
        let first = Region { id: 2, start: Vec::new(), end: Vec::new(), conf_ver: 1, version: 1, peers, leader: 0 };
        Self { all: BTreeMap::from([(Vec::new(), first)]), next_id: 1_000 }
    }

    pub(crate) fn of(&self, key: &[u8]) -> Option<&Region> {
        self.all.range::<[u8], _>((Bound::Unbounded, Bound::Included(key))).next_back().map(|(_, region)| region)
    }

    pub(crate) fn by_id(&self, id: u64) -> Option<&Region> {
        self.all.values().find(|region| region.id == id)
    }

    /// Those from the one of a key on.
    pub(crate) fn from(&self, key: &[u8]) -> impl Iterator<Item = &Region> {
        let start = self.of(key).map(|r| r.start.clone()).unwrap_or_default();
        self.all.range(start..).map(|(_, region)| region)
    }

    /// Splits the region of a key there; false where it begins there already. The new region on the right is led by the store
    /// after, so that leaders are spread.
    pub(crate) fn split(&mut self, key: &[u8]) -> bool {
        let Some(left) = self.of(key).cloned() else { return false };
        if left.start == key {
            return false;
        }
        let mut right = left.clone();
        self.next_id += 10;
        right.id = self.next_id;
        for (i, (peer, _)) in right.peers.iter_mut().enumerate() {
            *peer = self.next_id + 1 + i as u64;
        }
        right.start = key.to_vec();
        right.leader = (left.leader + 1) % left.peers.len();
        right.version += 1;
        let shorter = Region { end: key.to_vec(), version: left.version + 1, ..left };
        self.all.insert(shorter.start.clone(), shorter);
        self.all.insert(right.start.clone(), right);
        true
    }

    /// Lets the next store lead the region of a key that is up; which one.
    pub(crate) fn transfer(&mut self, key: &[u8], up: impl Fn(u64) -> bool) -> u64 {
        let Some(start) = self.of(key).map(|r| r.start.clone()) else { return 0 };
        self.all.get_mut(&start).map_or(0, |region| elect(region, &up))
    }

    /// A store is gone: others lead what it led.
    pub(crate) fn leave(&mut self, store: u64, up: impl Fn(u64) -> bool) {
        for region in self.all.values_mut().filter(|region| region.leader_store() == store) {
            elect(region, &up);
        }
    }

    /// Whether a request is in the right place; else the region error that it is answered.
    pub(crate) fn check(&self, context: &[u8], store: u64, key: &[u8]) -> Result<&Region, Vec<u8>> {
        let (id, epoch) = (uint(context, context::REGION_ID), bytes(context, context::REGION_EPOCH));
        let meant = uint(bytes(context, context::PEER), peer::STORE_ID);
        if meant != store {
            return Err(refusal("another store is meant", error::STORE_NOT_MATCH, |detail| {
                put_uint(detail, store_not_match::REQUEST_STORE_ID, meant);
                put_uint(detail, store_not_match::ACTUAL_STORE_ID, store);
            }));
        }
        let at_key = self.of(key).filter(|region| region.id == id);
        let Some(region) = at_key.or_else(|| self.by_id(id)) else {
            return Err(refusal("no such region", error::REGION_NOT_FOUND, |detail| {
                put_uint(detail, region_not_found::REGION_ID, id);
            }));
        };
        if region.leader_store() != store {
            return Err(refusal("another peer leads", error::NOT_LEADER, |detail| {
                put_uint(detail, not_leader::REGION_ID, id);
                put_message(detail, not_leader::LEADER, |leader| region.put_leader(leader));
            }));
        }
        if (uint(epoch, region_epoch::CONF_VER), uint(epoch, region_epoch::VERSION)) != (region.conf_ver, region.version) {
            return Err(refusal("the region has changed", error::EPOCH_NOT_MATCH, |detail| {
                let after = self.all.values().find(|r| !region.end.is_empty() && r.start == region.end);
                let current = [Some(region), after].into_iter().flatten();
                current.for_each(|r| put_message(detail, epoch_not_match::CURRENT_REGIONS, |m| r.put(m)));
            }));
        }
        if !region.has(key) {
            return Err(refusal("the key lies in another region", error::KEY_NOT_IN_REGION, |detail| {
                put_uint(detail, key_not_in_region::REGION_ID, id);
            }));
        }
        Ok(region)
    }
}

fn elect(region: &mut Region, up: impl Fn(u64) -> bool) -> u64 {
    let count = region.peers.len();
    let next = (1..=count).map(|i| (region.leader + i) % count).find(|i| up(region.peers[*i].1));
    region.leader = next.unwrap_or(region.leader);
    region.leader_store()
}

/// An `errorpb.Error`.
pub(crate) fn refusal(words: &str, field: u32, detail: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    put_bytes(&mut out, error::MESSAGE, words.as_bytes());
    put_message(&mut out, field, detail);
    out
}

/// A key in the form in which PD has those of transactions.
pub(crate) fn encoded(key: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(key.len() + 16);
    let mut groups = key.chunks_exact(8);
    for group in groups.by_ref() {
        out.extend_from_slice(group);
        out.push(0xff);
    }
    let rest = groups.remainder();
    out.extend_from_slice(rest);
    out.resize(out.len() + 8 - rest.len(), 0);
    out.push(0xff - (8 - rest.len()) as u8);
    out
}
