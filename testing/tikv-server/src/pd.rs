//! PD: members, regions, stores and timestamps; and as much of etcd as client-go asks for.

use std::sync::Arc;

use perbuck_grpc::proto::{put_bytes, put_message, put_uint};

use crate::cluster::{CLUSTER, Shared, Store};
use crate::http::Service;
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
        put_bytes(out, 1, b"pd");
        put_uint(out, 2, MEMBER);
        put_bytes(out, 3, url.as_bytes());
        put_bytes(out, 4, url.as_bytes());
    }

    fn region(&self, out: &mut Vec<u8>, region: Option<&Region>) {
        put_header(out);
        if let Some(region) = region {
            put_message(out, 2, |m| region.put(m));
            put_message(out, 3, |m| region.put_leader(m));
        }
    }
}

fn put_header(out: &mut Vec<u8>) {
    put_message(out, 1, |header| put_uint(header, 1, CLUSTER));
}

fn put_store(out: &mut Vec<u8>, store: &Store) {
    put_uint(out, 1, store.id);
    put_bytes(out, 2, store.address.to_string().as_bytes());
    put_bytes(out, 5, b"7.5.0-perbuck-test");
}

impl Service for Pd {
    fn streams(&self, path: &str) -> bool {
        path == "/pdpb.PD/Tso"
    }

    fn answer(&self, path: &str, message: &[u8], out: &mut Vec<u8>) -> Result<(), (u32, String)> {
        match path {
            "/pdpb.PD/Tso" => {
                let count = uint(message, 2);
                let last = self.shared.timestamps(count);
                put_header(out);
                put_uint(out, 2, count);
                put_message(out, 3, |timestamp| {
                    put_uint(timestamp, 1, last >> 18);
                    put_uint(timestamp, 2, last & ((1 << 18) - 1));
                });
            }
            "/pdpb.PD/GetMembers" => {
                put_header(out);
                (2..=4).for_each(|field| put_message(out, field, |member| self.put_member(member)));
            }
            "/pdpb.PD/GetRegion" => self.region(out, self.shared.read().regions.of(bytes(message, 2))),
            "/pdpb.PD/GetPrevRegion" => {
                let state = self.shared.read();
                let start = state.regions.of(bytes(message, 2)).map(|r| r.start.clone()).unwrap_or_default();
                let before = state.regions.from(b"").take_while(|r| r.start < start).last();
                self.region(out, before);
            }
            "/pdpb.PD/GetRegionByID" => self.region(out, self.shared.read().regions.by_id(uint(message, 2))),
            "/pdpb.PD/ScanRegions" => {
                put_header(out);
                let (end, limit) = (bytes(message, 4), uint(message, 3));
                let limit = if limit == 0 { usize::MAX } else { limit as usize };
                let state = self.shared.read();
                let within = |r: &&Region| end.is_empty() || r.start.as_slice() < end;
                for region in state.regions.from(bytes(message, 2)).take_while(within).take(limit) {
                    put_message(out, 2, |m| region.put(m));
                    put_message(out, 3, |m| region.put_leader(m));
                    put_message(out, 4, |both| {
                        put_message(both, 1, |m| region.put(m));
                        put_message(both, 2, |m| region.put_leader(m));
                    });
                }
            }
            "/pdpb.PD/GetStore" => {
                put_header(out);
                if let Some(store) = self.shared.stores.iter().find(|s| s.id == uint(message, 2)) {
                    put_message(out, 2, |m| put_store(m, store));
                }
            }
            "/pdpb.PD/GetAllStores" => {
                put_header(out);
                self.shared.stores.iter().for_each(|store| put_message(out, 2, |m| put_store(m, store)));
            }
            "/pdpb.PD/GetGCSafePoint" | "/pdpb.PD/UpdateGCSafePoint" => put_header(out),
            // The safe point that client-go keeps in etcd: there is none.
            "/etcdserverpb.KV/Range" => put_message(out, 1, |header| put_uint(header, 1, CLUSTER)),
            "/grpc.health.v1.Health/Check" => put_uint(out, 1, 1),
            other => return Err((12, format!("the test server does not know {other}"))),
        }
        Ok(())
    }
}
