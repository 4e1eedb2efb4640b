//! A cursor that never goes beyond the message that a server sent.

use super::{Malformed, Parsed};

/// A cursor over one message.
#[derive(Clone)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// A cursor at the start of a message.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// How many bytes are left.
    #[inline]
    pub fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// The next `count` bytes.
    #[inline]
    pub fn take(&mut self, count: usize) -> Parsed<&'a [u8]> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let taken = rest.get(..count).ok_or(Malformed("a message is shorter than the lengths in it"))?;
        self.at += count;
        Ok(taken)
    }

    /// The next bytes, as many as the array has.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Parsed<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    /// The next byte.
    #[inline]
    pub fn u8(&mut self) -> Parsed<u8> {
        Ok(self.array::<1>()?[0])
    }

    /// The next two bytes, the lowest first.
    #[inline]
    pub fn le_u16(&mut self) -> Parsed<u16> {
        self.array().map(u16::from_le_bytes)
    }

    /// The next four bytes, the lowest first.
    #[inline]
    pub fn le_u32(&mut self) -> Parsed<u32> {
        self.array().map(u32::from_le_bytes)
    }

    /// The next eight bytes, the lowest first.
    #[inline]
    pub fn le_u64(&mut self) -> Parsed<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// The next two bytes, the highest first.
    #[inline]
    pub fn be_u16(&mut self) -> Parsed<u16> {
        self.array().map(u16::from_be_bytes)
    }

    /// The next four bytes, the highest first.
    #[inline]
    pub fn be_u32(&mut self) -> Parsed<u32> {
        self.array().map(u32::from_be_bytes)
    }

    /// Text up to a NUL; the end of the message is taken for the NUL, as servers have left it out.
    pub fn nul_bytes(&mut self) -> &'a [u8] {
        let rest = self.rest();
        let text = rest.iter().position(|b| *b == 0).map_or(rest, |nul| &rest[..nul]);
        self.at = self.bytes.len().min(self.at - rest.len() + text.len() + 1);
        text
    }

    /// All that is left.
    pub fn rest(&mut self) -> &'a [u8] {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        self.at = self.bytes.len();
        rest
    }
}
