//! Servers that are broken or mean, as the suite of all drivers has them, and what they can do by this protocol alone.

use perbuck_driver_suite::hostile::{Protocol, assert_error, assert_malformed, error_at};
use perbuck_load::error::{ErrorClass, ErrorCode};

use crate::Mysql;

const GREETING: &[u8] =
    b"\x0a8.0.0\0\x0b\0\0\0abcdefgh\0\0\xa2\x2d\x02\0\x08\x01\x15\0\0\0\0\0\0\0\0\0\0ijklmnopqrst\0mysql_native_password\0";
const OK: &[u8] = b"\0\0\0\x02\0\0\0";
const COLUMN: &[u8] = b"\x03def\x01d\x01t\x01t\x01a\x01a\x0c\x3f\0\x0b\0\0\0\x03\0\0\0\0\0";
const END: &[u8] = b"\xfe\0\0\x02\0\0\0";

/// Packets, the first of them with this number.
pub(crate) fn framed(packets: &[&[u8]], first: u8) -> Vec<u8> {
    let mut out = Vec::new();
    for (packet, number) in packets.iter().zip(first..) {
        out.extend_from_slice(&(packet.len() as u32 | u32::from(number) << 24).to_le_bytes());
        out.extend_from_slice(packet);
    }
    out
}

impl Protocol for Mysql {
    const SCHEME: &'static str = "mysql";
    /// Greeting and login, and the statements.
    const STEPS: usize = 7;
    /// The greeting is unasked for.
    const HEARS_FROM: usize = 1;
    const KINDS: &'static [u8] = &[0, 1, 0xfb, 0xfe, 0xff];

    fn honest(step: usize) -> Vec<u8> {
        match step {
            0 => framed(&[GREETING], 0),
            1 => framed(&[OK], 2),
            2 | 4 => framed(&[b"\0\x07\0\0\0\x01\0\x01\0\0\0\0", COLUMN, COLUMN], 1),
            3 | 5 => framed(&[b"\x01", COLUMN, b"\0\0\x2a\0\0\0", b"\0\x04", END], 1),
            _ => framed(&[b"\x01", COLUMN, b"\x0242", b"\xfb", END], 1),
        }
    }

    fn framed(messages: &[(u8, Vec<u8>)], honest: &[u8]) -> Vec<u8> {
        let packets: Vec<Vec<u8>> = messages.iter().map(|(first, rest)| [&[*first], &rest[..]].concat()).collect();
        framed(&packets.iter().map(Vec::as_slice).collect::<Vec<_>>(), honest[3])
    }

    /// The sequence numbers wrap around, so that the same 256 rows can follow each other.
    fn endless() -> (Vec<u8>, Vec<u8>) {
        let rows = (3..259_u32).flat_map(|n| [6, 0, 0, n as u8, 0, 0, 42, 0, 0, 0]);
        (framed(&[b"\x01", COLUMN], 1), rows.collect())
    }
}

perbuck_driver_suite::tests!(Mysql: hostile::{
    an_honest_server_is_understood,
    silence_is_a_timeout_and_a_closed_connection_is_told_at_every_step,
    rows_without_end_run_into_the_limit,
    an_answer_that_was_given_up_is_not_taken_for_another,
    no_server_makes_the_client_panic_or_hang,
});

#[test]
fn a_request_for_a_file_is_refused() {
    assert_malformed(&error_at::<Mysql>(6, framed(&[b"\xfb/etc/passwd"], 1)));
}

#[test]
fn what_a_server_says_unasked_is_heard() {
    let unasked = framed(&[b"\xff\xbf\x0f#HY000The client was disconnected"], 0);
    let error = error_at::<Mysql>(3, [Mysql::honest(3), unasked].concat());
    assert_error(&error, ErrorClass::Lost, ErrorCode::Number("mysql", 4031));
}

#[test]
fn unknown_methods_and_old_passwords_are_refused() {
    for (request, name) in [(&b"\xfe"[..], "mysql_old_password"), (b"\xfemysql_clear_password\0", "mysql_clear_password")] {
        let error = error_at::<Mysql>(1, framed(&[request], 2));
        assert_error(&error, ErrorClass::Refused, ErrorCode::Word("client", "auth"));
        assert!(error.message.contains(name), "{error}");
    }
}
