//! A TiKV cluster for tests: PD and several stores on loopback ports, speaking the real services over gRPC, with regions that
//! can be split, leaders that can be moved, stores that can be stopped, and data that can be spoiled.
//!
//! What it is not: there is one set of data for all stores, in memory, so nothing is replicated, elected or written to disk;
//! a leader that moves has lost nothing. Commands that change data are executed one at a time. A key keeps its last 64 versions.
//! PD has one member, which never moves. There is no coprocessor, no time-to-live, no column family, and no merging of regions.
//! Of etcd it answers just what client-go asks for.

mod cluster;
mod http;
mod kv;
mod message;
mod mvcc;
mod pd;
mod regions;
mod tls;
mod txn;

pub use cluster::Cluster;
