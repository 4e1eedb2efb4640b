//! What PD is asked, and what it answers (pdpb.proto).

use perbuck_grpc::kvproto::metapb;
use perbuck_grpc::kvproto::pdpb::{
    self, get_all_stores_response, get_members_response, get_region_request, get_region_response, get_store_response, member,
    request_header, response_header,
};
use perbuck_grpc::proto::{bytes, elements, put_message, put_uint, uints};
use perbuck_grpc::{Malformed, Parsed};
use perbuck_net::cluster::reached_at;

use crate::regions::{Peer, Region, Space};

pub(crate) mod method {
    pub(crate) const GET_MEMBERS: &str = "/pdpb.PD/GetMembers";
    pub(crate) const GET_REGION: &str = "/pdpb.PD/GetRegion";
    pub(crate) const GET_STORE: &str = "/pdpb.PD/GetStore";
    pub(crate) const GET_ALL_STORES: &str = "/pdpb.PD/GetAllStores";
}

/// A request of a cluster: its header, and what `write` adds.
pub(crate) fn request(cluster: u64, write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    put_message(&mut out, get_region_request::HEADER, |header| put_uint(header, request_header::CLUSTER_ID, cluster));
    write(&mut out);
    out
}

/// The cluster of an answer, and the error that it reports.
pub(crate) fn header(answer: &[u8]) -> Parsed<(u64, Option<String>)> {
    let [header] = bytes(answer, [get_region_response::HEADER])?;
    let ([cluster], [told]) = (uints(header, [response_header::CLUSTER_ID])?, bytes(header, [response_header::ERROR])?);
    let ([code], [words]) = (uints(told, [pdpb::error::TYPE])?, bytes(told, [pdpb::error::MESSAGE])?);
    let error = (code != 0).then(|| format!("error {code} of PD: {}", perbuck_net::printable(words)));
    Ok((cluster, error))
}

/// Where the leader of PD is reached: `host:port`, from GetMembers.
pub(crate) fn leader(answer: &[u8]) -> Parsed<Option<(String, u16)>> {
    let [leader] = bytes(answer, [get_members_response::LEADER])?;
    client_address(leader)
}

/// Where each member of PD is reached, from GetMembers.
pub(crate) fn members(answer: &[u8]) -> Parsed<Vec<(String, u16)>> {
    let all = elements(answer, get_members_response::MEMBERS).map(|member| client_address(member?));
    all.filter_map(Parsed::transpose).collect()
}

fn client_address(message: &[u8]) -> Parsed<Option<(String, u16)>> {
    let Some(url) = elements(message, member::CLIENT_URLS).next() else { return Ok(None) };
    let url = std::str::from_utf8(url?).map_err(|_| Malformed("the address of PD is no text"))?;
    Ok(host_and_port(url.split_once("://").map_or(url, |(_, address)| address).trim_end_matches('/')))
}

/// `host:port` in its parts; an IPv6 address loses its brackets.
pub(crate) fn host_and_port(address: &str) -> Option<(String, u16)> {
    let (host, port) = address.rsplit_once(':')?;
    let host = host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(host);
    Some((host.to_owned(), port.parse().ok()?))
}

/// The region of an answer; `None` where PD knows none now.
pub(crate) fn region(answer: &[u8], space: &Space) -> Parsed<Option<Region>> {
    let [region, leader] = bytes(answer, [get_region_response::REGION, get_region_response::LEADER])?;
    let leader = Peer::parse(leader)?;
    (!region.is_empty()).then(|| Region::parse(region, Some(leader), space)).transpose()
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Store {
    pub(crate) id: u64,
    /// `host:port`.
    pub(crate) address: String,
    /// 0 is up, 1 offline, 2 gone for good.
    pub(crate) state: u64,
    pub(crate) version: String,
    /// `host:port`, or with a scheme before it; empty where it tells none.
    pub(crate) status_address: String,
    /// Whether it is one of TiFlash, which keeps copies in columns and leads no region.
    pub(crate) in_columns: bool,
}

/// The stores of an answer, of one store or of all.
pub(crate) fn stores(answer: &[u8]) -> Parsed<Vec<Store>> {
    const { assert!(get_store_response::STORE == get_all_stores_response::STORES) };
    let store = |message: Parsed<&[u8]>| {
        let message = message?;
        let [id, state] = uints(message, [metapb::store::ID, metapb::store::STATE])?;
        let fields = [metapb::store::ADDRESS, metapb::store::VERSION, metapb::store::STATUS_ADDRESS];
        let [address, version, status_address] = bytes(message, fields)?.map(perbuck_net::printable);
        let is_flash = |label: Parsed<&[u8]>| {
            let [key, value] = bytes(label?, [metapb::store_label::KEY, metapb::store_label::VALUE])?;
            Ok::<_, Malformed>(key == b"engine" && value.starts_with(b"tiflash"))
        };
        let labels: Vec<bool> = elements(message, metapb::store::LABELS).map(is_flash).collect::<Parsed<_>>()?;
        Ok(Store { id, address, state, version, status_address, in_columns: labels.contains(&true) })
    };
    elements(answer, get_all_stores_response::STORES).map(store).collect()
}

/// Where the status port of a store is, as it or its address tells, or else at `pd`.
pub(crate) fn status_port(store: &Store, pd: &str) -> Option<(String, u16)> {
    let told = &store.status_address;
    let (host, port) = host_and_port(told.split_once("://").map_or(told.as_str(), |(_, address)| address))?;
    let (of_clients, _) = host_and_port(&store.address).unwrap_or_default();
    Some((reached_at([host.as_str(), &of_clients], pd), port))
}

#[cfg(test)]
mod tests {
    use perbuck_grpc::proto::put_bytes;

    use super::*;

    #[test]
    fn the_leader_is_found_by_any_form_of_its_address() {
        for (url, address) in [
            ("http://10.0.0.1:2379", ("10.0.0.1", 2379)),
            ("https://pd-0.pd:2379/", ("pd-0.pd", 2379)),
            ("http://[::1]:5", ("::1", 5)),
        ] {
            let mut answer = Vec::new();
            put_message(&mut answer, 1, |h| put_uint(h, 1, 77));
            [2, 3].into_iter().for_each(|field| put_message(&mut answer, field, |m| put_bytes(m, 4, url.as_bytes())));
            assert_eq!(members(&answer).unwrap(), [(address.0.to_owned(), address.1)]);
            assert_eq!(leader(&answer).unwrap().unwrap(), (address.0.to_owned(), address.1));
            assert_eq!(header(&answer).unwrap(), (77, None));
        }
    }

    #[test]
    fn a_store_of_tiflash_is_told_by_its_label() {
        let mut answer = Vec::new();
        for label in ["tikv", "tiflash"] {
            put_message(&mut answer, get_all_stores_response::STORES, |store| {
                put_uint(store, metapb::store::ID, 7);
                put_message(store, metapb::store::LABELS, |m| {
                    put_bytes(m, metapb::store_label::KEY, b"engine");
                    put_bytes(m, metapb::store_label::VALUE, label.as_bytes());
                });
            });
        }
        let in_columns: Vec<bool> = stores(&answer).unwrap().iter().map(|store| store.in_columns).collect();
        assert_eq!(in_columns, [false, true]);
    }

    #[test]
    fn a_status_port_is_where_the_store_is() {
        let at = |address: &str, status_address: &str| {
            let (address, status_address) = (address.to_owned(), status_address.to_owned());
            status_port(&Store { address, status_address, ..Store::default() }, "pd-0")
        };
        let is = |host: &str, port| Some((host.to_owned(), port));
        assert_eq!(at("10.0.0.1:20160", "10.0.0.7:20180"), is("10.0.0.7", 20180));
        assert_eq!(at("10.0.0.1:20160", "127.0.0.1:20180"), is("10.0.0.1", 20180), "its default");
        assert_eq!(at("127.0.0.1:20160", "http://[::]:20180"), is("pd-0", 20180));
        assert_eq!(at("10.0.0.1:20160", ""), None);
    }

    #[test]
    fn an_error_in_the_header_is_one() {
        let mut answer = Vec::new();
        put_message(&mut answer, 1, |h| {
            put_uint(h, 1, 5);
            put_message(h, 2, |e| {
                put_uint(e, 1, 2);
                put_bytes(e, 2, b"not bootstrapped");
            });
        });
        assert_eq!(header(&answer).unwrap(), (5, Some("error 2 of PD: not bootstrapped".to_owned())));
    }
}
