//! Field numbers of the messages of PD and TiKV, and numbers of their enumerations, by the names of their `.proto` files
//! (github.com/pingcap/kvproto). `build.rs` makes them of `kvproto.proto`, an excerpt of the published definitions; so the driver
//! and the test server, which share them, cannot share a wrong one.
//!
//! ```
//! use perbuck_grpc::kvproto::kvrpcpb::get_request;
//! use perbuck_grpc::proto::{put_bytes, put_element, put_uint};
//!
//! let mut out = Vec::new();
//! put_element(&mut out, get_request::CONTEXT, b"");
//! put_bytes(&mut out, get_request::KEY, b"k");
//! put_uint(&mut out, get_request::VERSION, 7);
//! assert_eq!(out, b"\x0a\x00\x12\x01k\x18\x07");
//! ```

include!(concat!(env!("OUT_DIR"), "/kvproto.rs"));
