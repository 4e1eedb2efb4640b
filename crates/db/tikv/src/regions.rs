//! What is known of the regions: which keys each has, who leads it, and what every request to it begins with.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::rc::Rc;

use perbuck_grpc::Parsed;
use perbuck_grpc::kvproto::kvrpcpb::{api_version, context, get_request};
use perbuck_grpc::kvproto::metapb::{self, peer, region_epoch};
use perbuck_grpc::proto::{bytes, elements, put_element, put_message, put_uint, uints};

use crate::keys;

/// A copy of a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Peer {
    pub(crate) id: u64,
    pub(crate) store: u64,
}

impl Peer {
    pub(crate) fn parse(message: &[u8]) -> Parsed<Self> {
        let [id, store] = uints(message, [peer::ID, peer::STORE_ID])?;
        Ok(Self { id, store })
    }
}

/// What requests of a driver have in common.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Space {
    /// Whether the version of the interface is 2.
    pub(crate) v2: bool,
    pub(crate) keyspace: u32,
    /// Whether PD has keys in their encoded form: those of transactions, and all of version 2.
    pub(crate) encoded: bool,
}

/// A region as it was last told.
#[derive(Debug)]
pub(crate) struct Region {
    pub(crate) id: u64,
    conf_ver: u64,
    version: u64,
    start: Vec<u8>,
    /// Empty is the end of all keys.
    pub(crate) end: Vec<u8>,
    peers: Vec<Peer>,
    leader: Cell<Peer>,
    /// The `Context` that requests to the leader carry.
    context: RefCell<Vec<u8>>,
}

impl Region {
    /// Reads a `metapb.Region`; without a leader the first peer is tried.
    pub(crate) fn parse(message: &[u8], leader: Option<Peer>, space: &Space) -> Parsed<Self> {
        let key = |bytes: &[u8]| if space.encoded && !bytes.is_empty() { keys::decode(bytes) } else { Ok(bytes.to_vec()) };
        let [id] = uints(message, [metapb::region::ID])?;
        let wanted = [metapb::region::START_KEY, metapb::region::END_KEY, metapb::region::REGION_EPOCH];
        let [start, end, epoch] = bytes(message, wanted)?;
        let (start, end) = (key(start)?, key(end)?);
        let [conf_ver, version] = uints(epoch, [region_epoch::CONF_VER, region_epoch::VERSION])?;
        let peers: Vec<Peer> = elements(message, metapb::region::PEERS).map(|peer| Peer::parse(peer?)).collect::<Parsed<_>>()?;
        let leader = leader.filter(|l| l.id != 0).or_else(|| peers.first().copied()).unwrap_or_default();
        let region = Self { id, conf_ver, version, start, end, peers, leader: Cell::new(leader), context: RefCell::default() };
        region.write_context(space);
        Ok(region)
    }

    fn write_context(&self, space: &Space) {
        let (mut out, leader) = (self.context.borrow_mut(), self.leader.get());
        out.clear();
        put_uint(&mut out, context::REGION_ID, self.id);
        put_message(&mut out, context::REGION_EPOCH, |epoch| {
            put_uint(epoch, region_epoch::CONF_VER, self.conf_ver);
            put_uint(epoch, region_epoch::VERSION, self.version);
        });
        put_message(&mut out, context::PEER, |message| {
            put_uint(message, peer::ID, leader.id);
            put_uint(message, peer::STORE_ID, leader.store);
        });
        if space.v2 {
            put_uint(&mut out, context::API_VERSION, api_version::V2.into());
            put_uint(&mut out, context::KEYSPACE_ID, space.keyspace.into());
        }
    }

    #[inline]
    pub(crate) fn has(&self, key: &[u8]) -> bool {
        key >= self.start.as_slice() && (self.end.is_empty() || key < self.end.as_slice())
    }

    #[inline]
    pub(crate) fn store(&self) -> u64 {
        self.leader.get().store
    }

    /// Appends the one `Context` of a request to it (kvrpcpb.proto): that of the region, whether the request is a retry, and the
    /// locks that a reader may pass. All of it in one message: TiKV drops the first of two.
    #[inline]
    pub(crate) fn put_context(&self, out: &mut Vec<u8>, is_retry: bool, resolved_locks: &[u64]) {
        let known = self.context.borrow();
        if !is_retry && resolved_locks.is_empty() {
            return put_element(out, get_request::CONTEXT, &known);
        }
        put_message(out, get_request::CONTEXT, |whole| {
            whole.extend_from_slice(&known);
            resolved_locks.iter().for_each(|lock| put_uint(whole, context::RESOLVED_LOCKS, *lock));
            put_uint(whole, context::IS_RETRY_REQUEST, is_retry.into());
        });
    }

    pub(crate) fn led_by(&self, leader: Peer, space: &Space) {
        self.leader.set(leader);
        self.write_context(space);
    }

    /// Its peer on that store is tried first, if it has one.
    pub(crate) fn prefer(&self, store: u64, space: &Space) {
        if let Some(peer) = self.peers.iter().find(|p| p.store == store) {
            self.led_by(*peer, space);
        }
    }

    /// The next peer after the one that did not answer is tried; false where there is none.
    pub(crate) fn try_next(&self, failed_store: u64, space: &Space) -> bool {
        if self.store() != failed_store {
            return true;
        }
        let position = self.peers.iter().position(|p| p.store == failed_store).unwrap_or(0);
        let next = self.peers.get((position + 1) % self.peers.len().max(1)).copied();
        match next.filter(|p| p.store != failed_store) {
            Some(next) => {
                self.led_by(next, space);
                true
            }
            None => false,
        }
    }
}

/// The regions that are known, by their first keys.
#[derive(Debug, Default)]
pub(crate) struct Regions(BTreeMap<Vec<u8>, Rc<Region>>);

impl Regions {
    /// The region of a key, if it is known.
    #[inline]
    pub(crate) fn find(&self, key: &[u8]) -> Option<Rc<Region>> {
        let (_, region) = self.0.range::<[u8], _>((Bound::Unbounded, Bound::Included(key))).next_back()?;
        region.has(key).then(|| Rc::clone(region))
    }

    /// Enters a region; what was told of those keys before is forgotten, unless that is newer.
    pub(crate) fn enter(&mut self, region: Region) -> Rc<Region> {
        let newer = |old: &Region| old.id == region.id && (old.version, old.conf_ver) > (region.version, region.conf_ver);
        let overlaps =
            |old: &Region| (region.end.is_empty() || old.start < region.end) && (old.end.is_empty() || region.start < old.end);
        if let Some(known) = self.find(&region.start).filter(|old| newer(old)) {
            return known;
        }
        self.0.retain(|_, old| !overlaps(old));
        let region = Rc::new(region);
        self.0.insert(region.start.clone(), Rc::clone(&region));
        region
    }

    /// What is known of a region does not hold any more.
    pub(crate) fn forget(&mut self, region: &Rc<Region>) {
        if self.0.get(&region.start).is_some_and(|known| Rc::ptr_eq(known, region)) {
            self.0.remove(&region.start);
        }
    }
}

#[cfg(test)]
mod tests {
    use perbuck_grpc::proto::{Value, fields, put_bytes};

    use super::*;

    const RAW: Space = Space { v2: false, keyspace: 0, encoded: false };

    fn region(id: u64, version: u64, start: &str, end: &str) -> Region {
        let mut message = Vec::new();
        put_uint(&mut message, metapb::region::ID, id);
        put_bytes(&mut message, metapb::region::START_KEY, start.as_bytes());
        put_bytes(&mut message, metapb::region::END_KEY, end.as_bytes());
        put_message(&mut message, metapb::region::REGION_EPOCH, |e| {
            put_uint(e, region_epoch::CONF_VER, 1);
            put_uint(e, region_epoch::VERSION, version);
        });
        for store in 1..=3 {
            put_message(&mut message, metapb::region::PEERS, |p| {
                put_uint(p, peer::ID, id * 10 + store);
                put_uint(p, peer::STORE_ID, store);
            });
        }
        Region::parse(&message, None, &RAW).unwrap()
    }

    fn context(region: &Region) -> Vec<u8> {
        let mut out = Vec::new();
        region.put_context(&mut out, false, &[]);
        out
    }

    #[test]
    fn a_retry_has_one_whole_context() {
        let (region, mut retry) = (region(7, 3, "", ""), Vec::new());
        region.put_context(&mut retry, true, &[21, 22]);
        let contexts: Vec<_> = fields(&retry).map(Result::unwrap).collect();
        let [(1, Value::Bytes(whole))] = contexts[..] else { panic!("{contexts:?}") };
        let parts: Vec<_> = fields(whole).map(Result::unwrap).collect();
        assert_eq!(parts[0], (1, Value::Varint(7)));
        assert_eq!(parts.iter().map(|(number, _)| *number).collect::<Vec<_>>(), [1, 2, 3, 13, 13, 20]);
        let first = context(&region);
        assert!(matches!(fields(&first).next(), Some(Ok((1, Value::Bytes(start)))) if whole.starts_with(start)));
    }

    #[test]
    fn a_split_replaces_what_it_overlaps() {
        let mut known = Regions::default();
        known.enter(region(1, 1, "", ""));
        assert_eq!(known.find(b"x").unwrap().id, 1);
        known.enter(region(1, 2, "", "m"));
        assert!(known.find(b"x").is_none());
        known.enter(region(2, 2, "m", ""));
        assert_eq!([known.find(b"").unwrap().id, known.find(b"lz").unwrap().id, known.find(b"m").unwrap().id], [1, 1, 2]);
        // News that are older than what is known are none.
        assert_eq!(known.enter(region(1, 1, "", "")).version, 2);
        let second = known.find(b"m").unwrap();
        known.forget(&second);
        assert!(known.find(b"m").is_none() && known.find(b"a").is_some());
    }

    #[test]
    fn a_leader_that_is_gone_is_followed_by_the_next_peer() {
        let one = region(7, 1, "", "");
        let before = context(&one);
        assert_eq!(one.store(), 1);
        assert!(one.try_next(1, &RAW) && one.store() == 2);
        assert_ne!(context(&one), before);
        // Another session was faster.
        assert!(one.try_next(1, &RAW) && one.store() == 2);
        one.led_by(Peer { id: 71, store: 1 }, &RAW);
        assert_eq!(context(&one), before);
    }
}
