//! gRPC as bytes: HTTP/2 (RFC 9113), HPACK (RFC 7541) and the wire format of protocol buffers. No socket, no clock; both
//! ends of a connection use it, the TiKV driver and the server that tests it.
//!
//! - [`endpoint::Endpoint`] is one end of a connection: it takes what came in and says what it was, and holds what is to go out.
//! - [`hpack`] writes and reads header blocks.
//! - [`proto`] writes and reads messages, field by field.
//! - [`kvproto`] has the field numbers of the messages of PD and TiKV.
//!
//! ```
//! use perbuck_grpc::proto::{Value, fields, put_bytes, put_uint};
//! use perbuck_grpc::{PREFIX, message_length, put_prefix};
//!
//! let mut message = Vec::new();
//! put_uint(&mut message, 1, 150);
//! put_bytes(&mut message, 2, b"testing");
//! assert_eq!(message, b"\x08\x96\x01\x12\x07testing");
//! let read: Vec<_> = fields(&message).flatten().collect();
//! assert_eq!(read, [(1, Value::Varint(150)), (2, Value::Bytes(b"testing"))]);
//!
//! let mut sent = Vec::new();
//! put_prefix(&mut sent, message.len());
//! assert_eq!((sent.len(), message_length(&sent)), (PREFIX, Ok(Some(message.len()))));
//! ```
//!
//! Place on the floor plan: a part of TiKV's room (floor 2). It stands on no other crate of perbuck.

pub mod endpoint;
pub mod frame;
pub mod hpack;
mod huffman;
pub mod kvproto;
pub mod proto;

/// The bytes are not what the protocol allows here; the text says what was being read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed(pub &'static str);

/// What reading bytes gives.
pub type Parsed<T> = Result<T, Malformed>;

/// Length of what stands before each message of gRPC: whether it is compressed, and how long it is.
pub const PREFIX: usize = 5;

/// Appends what stands before a message of `length` bytes, which is not compressed.
#[inline]
pub fn put_prefix(out: &mut Vec<u8>, length: usize) {
    out.push(0);
    out.extend_from_slice(&(length as u32).to_be_bytes());
}

/// The length of the message after a prefix, if the prefix is there.
///
/// # Errors
/// A compressed message: perbuck did not say that it could read one.
#[inline]
pub fn message_length(bytes: &[u8]) -> Parsed<Option<usize>> {
    let Some(prefix) = bytes.first_chunk::<PREFIX>() else { return Ok(None) };
    if prefix[0] != 0 {
        return Err(Malformed("a compressed message came, which was not asked for"));
    }
    Ok(Some(u32::from_be_bytes([prefix[1], prefix[2], prefix[3], prefix[4]]) as usize))
}
