//! PD: members, regions, stores and timestamps; and as much of etcd as client-go asks for.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use perbuck_grpc::kvproto::metapb;
use perbuck_grpc::kvproto::pdpb::{
    self, get_all_stores_response, get_members_response, get_region_by_id_request, get_region_request, get_region_response,
    get_store_request, get_store_response, member, response_header, scan_regions_request, scan_regions_response, timestamp,
    tso_request, tso_response,
};
use perbuck_grpc::proto::{put_bytes, put_message, put_uint};

use crate::cluster::{CLUSTER, Shared, Store};
use crate::http::Service;
use crate::kv::HEALTH;
use crate::message::{bytes, uint};
use crate::regions::Region;

const MEMBER: u64 = 1;

/// PD as one connection sees it.
pub(crate) struct Pd {
    shared: Arc<Shared>,
}

impl Pd {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    fn put_member(&self, out: &mut Vec<u8>) {
        let scheme = if self.shared.tls.is_some() { "https" } else { "http" };
        let url = format!("{scheme}://{}", self.shared.pd);
        put_bytes(out, member::NAME, b"pd");
        put_uint(out, member::MEMBER_ID, MEMBER);
        put_bytes(out, member::PEER_URLS, url.as_bytes());
        put_bytes(out, member::CLIENT_URLS, url.as_bytes());
    }

    fn region(&self, out: &mut Vec<u8>, region: Option<&Region>) {
        put_header(out);
        if let Some(region) = region {
            put_message(out, get_region_response::REGION, |m| region.put(m));
            put_message(out, get_region_response::LEADER, |m| region.put_leader(m));
        }
    }
}

fn put_header(out: &mut Vec<u8>) {
    put_message(out, get_region_response::HEADER, |header| put_uint(header, response_header::CLUSTER_ID, CLUSTER));
}

fn put_store(out: &mut Vec<u8>, store: &Store) {
    put_uint(out, metapb::store::ID, store.id);
    put_bytes(out, metapb::store::ADDRESS, store.address.to_string().as_bytes());
    put_bytes(out, metapb::store::VERSION, b"7.5.0-perbuck-test");
    let status = store.status.load(Ordering::Relaxed);
    if status > 0 {
        put_bytes(out, metapb::store::STATUS_ADDRESS, format!("127.0.0.1:{status}").as_bytes());
    }
}

impl Service for Pd {
    fn streams(&self, path: &str) -> bool {
        path == "/pdpb.PD/Tso"
    }

    fn answer(&self, path: &str, message: &[u8], out: &mut Vec<u8>) -> Result<(), (u32, String)> {
        match path {
            "/pdpb.PD/Tso" => {
                let count = uint(message, tso_request::COUNT);
                let last = self.shared.timestamps(count);
                put_header(out);
                put_uint(out, tso_response::COUNT, count);
                put_message(out, tso_response::TIMESTAMP, |message| {
                    put_uint(message, timestamp::PHYSICAL, last >> 18);
                    put_uint(message, timestamp::LOGICAL, last & ((1 << 18) - 1));
                });
            }
            "/pdpb.PD/GetMembers" => {
                put_header(out);
                let fields = [get_members_response::MEMBERS, get_members_response::LEADER, get_members_response::ETCD_LEADER];
                fields.into_iter().for_each(|field| put_message(out, field, |member| self.put_member(member)));
            }
            "/pdpb.PD/GetRegion" => {
                self.region(out, self.shared.read().regions.of(bytes(message, get_region_request::REGION_KEY)));
            }
            "/pdpb.PD/GetPrevRegion" => {
                let state = self.shared.read();
                let start =
                    state.regions.of(bytes(message, get_region_request::REGION_KEY)).map(|r| r.start.clone()).unwrap_or_default();
                let before = state.regions.from(b"").take_while(|r| r.start < start).last();
                self.region(out, before);
            }
            "/pdpb.PD/GetRegionByID" => {
                self.region(out, self.shared.read().regions.by_id(uint(message, get_region_by_id_request::REGION_ID)));
            }
            "/pdpb.PD/ScanRegions" => {
                put_header(out);
                let (end, limit) = (bytes(message, scan_regions_request::END_KEY), uint(message, scan_regions_request::LIMIT));
                let limit = if limit == 0 { usize::MAX } else { limit as usize };
                let state = self.shared.read();
                let within = |r: &&Region| end.is_empty() || r.start.as_slice() < end;
                for region in state.regions.from(bytes(message, scan_regions_request::START_KEY)).take_while(within).take(limit) {
                    put_message(out, scan_regions_response::REGION_METAS, |m| region.put(m));
                    put_message(out, scan_regions_response::LEADERS, |m| region.put_leader(m));
                    put_message(out, scan_regions_response::REGIONS, |both| {
                        put_message(both, pdpb::region::REGION, |m| region.put(m));
                        put_message(both, pdpb::region::LEADER, |m| region.put_leader(m));
                    });
                }
            }
            "/pdpb.PD/GetStore" => {
                put_header(out);
                if let Some(store) = self.shared.stores.iter().find(|s| s.id == uint(message, get_store_request::STORE_ID)) {
                    put_message(out, get_store_response::STORE, |m| put_store(m, store));
                }
            }
            "/pdpb.PD/GetAllStores" => {
                put_header(out);
                let stores = self.shared.stores.iter();
                stores.for_each(|store| put_message(out, get_all_stores_response::STORES, |m| put_store(m, store)));
            }
            // The safe point that client-go keeps in etcd: there is none. Header and cluster have PD's numbers there.
            "/pdpb.PD/GetGCSafePoint" | "/pdpb.PD/UpdateGCSafePoint" | "/etcdserverpb.KV/Range" => put_header(out),
            "/grpc.health.v1.Health/Check" => put_uint(out, HEALTH.0, HEALTH.1),
            other => return Err((12, format!("the test server does not know {other}"))),
        }
        Ok(())
    }
}
