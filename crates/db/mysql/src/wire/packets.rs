//! The packets that a server sends, read field by field.

use crate::wire::bytes::{lenenc, lenenc_bytes};
use crate::wire::protocol::capability;
use perbuck_net::reader::Reader;
use perbuck_net::{Malformed, Parsed};

/// The first packet of a server ("Protocol::HandshakeV10").
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Greeting {
    pub(crate) capabilities: u32,
    pub(crate) challenge: Vec<u8>,
    pub(crate) plugin: Vec<u8>,
}

impl Greeting {
    pub(crate) fn parse(payload: &[u8]) -> Parsed<Self> {
        let mut r = Reader::new(payload);
        if r.u8()? != 10 {
            return Err(Malformed("the greeting is not of protocol version 10"));
        }
        r.nul_bytes();
        r.le_u32()?;
        let mut challenge = r.take(8)?.to_vec();
        r.u8()?;
        let low = r.le_u16()?;
        r.take(3)?;
        let capabilities = u32::from(low) | u32::from(r.le_u16()?) << 16;
        if capabilities & capability::PROTOCOL_41 == 0 || capabilities & capability::SECURE_CONNECTION == 0 {
            return Err(Malformed("the server is older than MySQL 4.1"));
        }
        let length = usize::from(r.u8()?);
        r.take(10)?;
        // At least 13 bytes, the last of them a NUL.
        let second = r.take(length.saturating_sub(8).max(13).min(r.left()))?;
        challenge.extend_from_slice(second.strip_suffix(&[0]).unwrap_or(second));
        let plugin = if capabilities & capability::PLUGIN_AUTH == 0 { &b""[..] } else { r.nul_bytes() };
        Ok(Self { capabilities, challenge, plugin: plugin.to_vec() })
    }
}

/// The end of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Done {
    pub(crate) affected: u64,
    pub(crate) status: u16,
}

impl Done {
    /// "OK_Packet", under the header of its own (0x00) or that of EOF (0xFE).
    #[inline]
    pub(crate) fn parse_ok(payload: &[u8]) -> Parsed<Self> {
        let mut r = Reader::new(payload);
        if !matches!(r.u8()?, 0x00 | 0xfe) {
            return Err(Malformed("an OK packet was expected"));
        }
        Self::read(&mut r)
    }

    /// What follows the header of an OK packet, up to the number of warnings.
    #[inline]
    pub(crate) fn read(r: &mut Reader<'_>) -> Parsed<Self> {
        let affected = lenenc(r)?;
        lenenc(r)?;
        Ok(Self { affected, status: r.le_u16()? })
    }

    /// What ends rows: "EOF_Packet", or an OK packet where the former was declared deprecated.
    #[inline]
    pub(crate) fn parse_end(payload: &[u8], deprecate_eof: bool) -> Parsed<Self> {
        if payload.first() != Some(&0xfe) {
            return Err(Malformed("the end of a result set was expected"));
        }
        if deprecate_eof {
            return Self::parse_ok(payload);
        }
        let mut r = Reader::new(payload);
        r.take(3)?;
        Ok(Self { affected: 0, status: r.le_u16()? })
    }
}

/// "COM_STMT_PREPARE_OK".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PrepareOk {
    pub(crate) id: u32,
    pub(crate) columns: u16,
    pub(crate) params: u16,
}

impl PrepareOk {
    pub(crate) fn parse(payload: &[u8]) -> Parsed<Self> {
        let mut r = Reader::new(payload);
        if r.u8()? != 0 {
            return Err(Malformed("a prepared statement was expected"));
        }
        Ok(Self { id: r.le_u32()?, columns: r.le_u16()?, params: r.le_u16()? })
    }
}

/// What is needed of "Protocol::ColumnDefinition41" to read the column's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Column {
    pub(crate) kind: u8,
    pub(crate) unsigned: bool,
    /// Digits after the point of seconds; 31 where it varies.
    pub(crate) decimals: u8,
}

impl Column {
    pub(crate) fn parse(payload: &[u8]) -> Parsed<Self> {
        const UNSIGNED: u16 = 1 << 5;
        let mut r = Reader::new(payload);
        // Catalogue, schema, table and its original name, column and its original name.
        for _ in 0..6 {
            lenenc_bytes(&mut r)?;
        }
        // The length of what follows, character set, display width.
        lenenc(&mut r)?;
        r.take(6)?;
        Ok(Self { kind: r.u8()?, unsigned: r.le_u16()? & UNSIGNED != 0, decimals: r.u8()? })
    }
}

/// The name of a column ("Protocol::ColumnDefinition41"), which catalogue, schema and two names of its table precede.
pub(crate) fn column_name(definition: &[u8]) -> Parsed<String> {
    let mut r = Reader::new(definition);
    for _ in 0..4 {
        lenenc_bytes(&mut r)?;
    }
    Ok(String::from_utf8_lossy(lenenc_bytes(&mut r)?).into_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_greeting_of_the_protocol_page_is_read() {
        let payload = b"\x0a5.5.2-m2\0\x0b\0\0\0\x64\x76\x48\x40\x49\x2d\x43\x4a\0\xff\xf7\x08\x02\0\x0f\x80\x15\
            \0\0\0\0\0\0\0\0\0\0\x2a\x34\x64\x7c\x63\x5a\x77\x6b\x34\x5e\x5d\x3a\0caching_sha2_password\0";
        let greeting = Greeting::parse(payload).unwrap();
        assert_eq!(greeting.capabilities, 0x800f_f7ff);
        assert_eq!(greeting.challenge, b"\x64\x76\x48\x40\x49\x2d\x43\x4a\x2a\x34\x64\x7c\x63\x5a\x77\x6b\x34\x5e\x5d\x3a");
        assert_eq!(greeting.plugin, b"caching_sha2_password");
        assert!(Greeting::parse(&payload[..30]).is_err());
        assert!(Greeting::parse(b"\x09old\0").is_err());
        assert!(Greeting::parse(b"SSH-2.0-OpenSSH_9.2\r\n").is_err());
    }

    #[test]
    fn ok_end_and_prepared_are_read_byte_by_byte() {
        let done = Done::parse_ok(&[0, 0xfc, 0, 1, 5, 2, 0, 0, 0]);
        assert_eq!(done, Ok(Done { affected: 256, status: 2 }));
        assert_eq!(Done::parse_end(&[0xfe, 0, 0, 0x22, 0], false), Ok(Done { affected: 0, status: 0x22 }));
        assert_eq!(Done::parse_end(&[0xfe, 0, 0, 0x22, 0, 0, 0], true), Ok(Done { affected: 0, status: 0x22 }));
        assert!(Done::parse_end(&[0, 0, 0, 0x22, 0, 0, 0], true).is_err() && Done::parse_ok(&[0, 0]).is_err());
        let prepared = PrepareOk::parse(&[0, 1, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0]);
        assert_eq!(prepared, Ok(PrepareOk { id: 1, columns: 1, params: 2 }));
    }

    #[test]
    fn the_column_of_the_protocol_page_is_read() {
        let payload = b"\x03def\0\0\0\x01?\0\x0c\x3f\0\0\0\0\0\xfd\xa0\0\x1f\0\0";
        assert_eq!(Column::parse(payload), Ok(Column { kind: 0xfd, unsigned: true, decimals: 0x1f }));
        assert!(Column::parse(&payload[..12]).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_make_a_parser_panic(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            let _ = Greeting::parse(&bytes);
            let mut greeting = vec![10];
            greeting.extend_from_slice(&bytes);
            let _ = Greeting::parse(&greeting);
            let _ = (Done::parse_ok(&bytes), Done::parse_end(&bytes, true), Done::parse_end(&bytes, false));
            let _ = (PrepareOk::parse(&bytes), Column::parse(&bytes));
        }
    }
}
