//! An operation on TiKV allocates nothing once the session is warm, raw or in a transaction.
#![allow(clippy::unwrap_used)] // A panic is how a test fails.

use std::sync::Arc;

use perbuck_event::block_on;
use perbuck_load::driver::{Driver, Effect, Session, SessionId};
use perbuck_load::records::{Action, Records};
use perbuck_load::statement::{Catalogue, Verb};
use perbuck_load::values::{Params, Rows};
use perbuck_tikv::TikvDriver;
use perbuck_tikv::TikvTarget;
use perbuck_tikv_server::Cluster;

/// Writes, reads and changes a row so many times.
async fn operations(address: &str, count: u32) {
    let target = TikvTarget::parse(address.split_once(':').unwrap().1).unwrap();
    let driver = TikvDriver::new(target).unwrap();
    let mut session = driver.connect(SessionId::Own(0)).await.unwrap();
    let mut catalogue = Catalogue::default();
    let mut add = |verb, keep_rows, action| catalogue.add_records("", verb, keep_rows, Records::new("t", action));
    let read = add(Verb::Select, true, Action::Get(0..2));
    let write = add(Verb::Insert, false, Action::Put);
    let change = add(Verb::Update, false, Action::Update(1..2));
    session.prepare(&Arc::new(catalogue)).await.unwrap();
    let (mut params, mut rows) = (Params::default(), Rows::default());
    for _ in 0..count {
        params.clear().text(b"key").text(b"first").text(b"second");
        assert_eq!(session.execute(write, &params, &mut rows).await.unwrap(), Effect::Affected(1));
        params.clear().text(b"third").text(b"key");
        assert_eq!(session.execute(change, &params, &mut rows).await.unwrap(), Effect::Affected(1));
        params.clear().text(b"key");
        session.execute(read, &params, &mut rows).await.unwrap();
        assert_eq!((rows.text(0, 0).unwrap(), rows.text(0, 1).unwrap()), (&b"first"[..], &b"third"[..]));
    }
    session.close().await;
}

#[test]
fn more_operations_need_no_more_allocations() {
    let cluster = Cluster::start(1).unwrap();
    for options in ["type=raw", "type=txn", "type=txn&mode=pessimistic"] {
        let address = format!("tikv://{}/?{options}", cluster.pd());
        let cost = |count| allocation_counter::measure(|| block_on(operations(&address, count)).unwrap()).count_total;
        let (few, many) = (cost(50), cost(1_050));
        // What is left over are answers that arrive in other portions.
        assert!(many <= few + 5, "{options}: {few} allocations, then {many}");
    }
}
