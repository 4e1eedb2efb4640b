//! Frames of HTTP/2 (RFC 9113, section 4 and 6).

use crate::{Malformed, Parsed};

/// What a client says first.
pub const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Bytes before the payload of a frame.
pub const HEADER: usize = 9;
/// The longest payload that we take: what is announced in our settings.
pub const LONGEST: usize = 1 << 20;

/// Types of frames (section 6).
#[allow(missing_docs, reason = "the names of the specification")]
pub mod kind {
    pub const DATA: u8 = 0;
    pub const HEADERS: u8 = 1;
    pub const RST_STREAM: u8 = 3;
    pub const SETTINGS: u8 = 4;
    pub const PUSH_PROMISE: u8 = 5;
    pub const PING: u8 = 6;
    pub const GOAWAY: u8 = 7;
    pub const WINDOW_UPDATE: u8 = 8;
    pub const CONTINUATION: u8 = 9;
}

/// Flags of frames.
#[allow(missing_docs, reason = "the names of the specification")]
pub mod flag {
    pub const ACK: u8 = 0x1;
    pub const END_STREAM: u8 = 0x1;
    pub const END_HEADERS: u8 = 0x4;
    pub const PADDED: u8 = 0x8;
    pub const PRIORITY: u8 = 0x20;
}

/// A frame.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    /// One of [`kind`].
    pub kind: u8,
    /// Of [`flag`].
    pub flags: u8,
    /// 0 is the connection.
    pub stream: u32,
    /// What it holds, padding included.
    pub payload: &'a [u8],
}

impl<'a> Frame<'a> {
    /// The frame at the front of some bytes, if all of it is there.
    ///
    /// # Errors
    /// One that is longer than we said to take.
    #[inline]
    pub fn parse(bytes: &'a [u8]) -> Parsed<Option<Self>> {
        let Some(header) = bytes.first_chunk::<HEADER>() else { return Ok(None) };
        let length = usize::from(header[0]) << 16 | usize::from(header[1]) << 8 | usize::from(header[2]);
        if length > LONGEST {
            return Err(Malformed("a frame is longer than allowed"));
        }
        let Some(payload) = bytes.get(HEADER..HEADER + length) else { return Ok(None) };
        let stream = u32::from_be_bytes([header[5], header[6], header[7], header[8]]) & 0x7fff_ffff;
        Ok(Some(Self { kind: header[3], flags: header[4], stream, payload }))
    }

    /// The payload without padding and, for HEADERS, priority.
    ///
    /// # Errors
    /// More padding than there is.
    #[inline]
    pub fn content(&self) -> Parsed<&'a [u8]> {
        let mut content = self.payload;
        if self.flags & flag::PADDED != 0 {
            let (padding, rest) = content.split_first().ok_or(Malformed("a padded frame is empty"))?;
            let kept = rest.len().checked_sub(usize::from(*padding)).ok_or(Malformed("a frame is padded beyond its end"))?;
            content = &rest[..kept];
        }
        if self.kind == kind::HEADERS && self.flags & flag::PRIORITY != 0 {
            content = content.get(5..).ok_or(Malformed("a frame of headers is cut off"))?;
        }
        Ok(content)
    }
}

/// Appends the header of a frame.
#[inline]
pub fn put_header(out: &mut Vec<u8>, length: usize, kind: u8, flags: u8, stream: u32) {
    let [_, a, b, c] = (length as u32).to_be_bytes();
    let [w, x, y, z] = stream.to_be_bytes();
    out.extend_from_slice(&[a, b, c, kind, flags, w, x, y, z]);
}

/// Appends a frame.
#[inline]
pub fn put(out: &mut Vec<u8>, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
    put_header(out, payload.len(), kind, flags, stream);
    out.extend_from_slice(payload);
}
