//! Servers that are broken or mean, as the suite of all drivers has them, and what they can do by this protocol alone.

use perbuck_driver_suite::hostile::{Protocol, assert_error, assert_malformed, conversation, driver, error_at, server};
use perbuck_event::block_on;
use perbuck_load::driver::Driver as _;
use perbuck_load::error::{ErrorClass, ErrorCode};

use crate::Postgres;

/// `a integer, c text`.
pub(crate) const COLUMNS: &[u8] =
    b"\0\x02a\0\0\0\x40\0\0\x01\0\0\0\x17\0\x04\xff\xff\xff\xff\0\0c\0\0\0\x40\0\0\x02\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0";
pub(crate) const READY: &[u8] = b"Z\0\0\0\x05I";

pub(crate) fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut out = vec![kind];
    out.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    out.extend_from_slice(body);
    out
}

impl Protocol for Postgres {
    const SCHEME: &'static str = "postgres";
    /// No TLS, its challenge and the login, and the statements.
    const STEPS: usize = 8;
    const HEARS_FROM: usize = 0;
    const KINDS: &'static [u8] = b"RSKZ12tTDCEN3nIGHA";

    fn honest(step: usize) -> Vec<u8> {
        let setting = message(b'S', b"server_version\x0015.0\0");
        let done = message(b'C', b"SELECT 2\0");
        match step {
            0 => b"N".to_vec(),
            // AuthenticationMD5Password.
            1 => message(b'R', b"\0\0\0\x05salt"),
            2 => [&message(b'R', b"\0\0\0\0")[..], &setting, &message(b'K', b"\0\0\0\x07\0\0\0\x09"), READY].concat(),
            3 | 5 => {
                let parts = [message(b'3', b""), message(b'1', b""), message(b't', b"\0\x01\0\0\0\x17"), message(b'T', COLUMNS)];
                [&parts.concat()[..], READY].concat()
            }
            4 | 6 => {
                let full = message(b'D', b"\0\x02\0\0\0\x04\0\0\0\x2a\0\0\0\x01x");
                let empty = message(b'D', b"\0\x02\xff\xff\xff\xff\xff\xff\xff\xff");
                [&message(b'2', b"")[..], &full, &empty, &done, READY].concat()
            }
            _ => {
                let full = message(b'D', b"\0\x02\0\0\0\x0242\0\0\0\x01x");
                let empty = message(b'D', b"\0\x02\xff\xff\xff\xff\xff\xff\xff\xff");
                [&message(b'T', COLUMNS)[..], &full, &setting, &empty, &done, READY].concat()
            }
        }
    }

    fn framed(messages: &[(u8, Vec<u8>)], _honest: &[u8]) -> Vec<u8> {
        messages.iter().flat_map(|(kind, body)| message(*kind, body)).collect()
    }

    fn endless() -> (Vec<u8>, Vec<u8>) {
        (message(b'2', b""), message(b'D', b"\0\x02\xff\xff\xff\xff\xff\xff\xff\xff").repeat(256))
    }
}

perbuck_driver_suite::tests!(Postgres: hostile::{
    an_honest_server_is_understood,
    silence_is_a_timeout_and_a_closed_connection_is_told_at_every_step,
    rows_without_end_run_into_the_limit,
    an_answer_that_was_given_up_is_not_taken_for_another,
    no_server_makes_the_client_panic_or_hang,
});

#[test]
fn a_server_is_of_the_family_that_the_target_names() {
    let cockroach = message(b'S', b"crdb_version\0CockroachDB CCL v23.1.11 (x86_64-pc-linux-gnu)\0");
    let yugabyte = message(b'S', b"server_version\x0011.2-YB-2.18.0.0-b0\0");
    for (scheme, setting) in [("postgres", Vec::new()), ("cockroach", cockroach), ("yugabyte", yugabyte)] {
        for wanted in ["postgres", "cockroach", "yugabyte"] {
            let setting = setting.clone();
            // Before all else: what is said first counts.
            let says = move |step| if step == 2 { [&setting[..], &Postgres::honest(2)].concat() } else { Postgres::honest(step) };
            match conversation::<Postgres>(wanted, server::<Postgres>(Postgres::STEPS, says, true)) {
                Ok(()) => assert_eq!(wanted, scheme),
                Err(error) => {
                    assert!(wanted != scheme && error.class == ErrorClass::Refused, "{wanted} {scheme}: {error}");
                    assert!(error.message.contains(&format!("`{scheme}://`")), "{error}");
                }
            }
        }
    }
}

/// The facts of CockroachDB, which has SHOW in the place of tables, for a user who may not see the cluster's settings.
#[test]
fn facts_of_cockroach_are_what_it_may_be_asked() {
    let answer = |row: &[&str]| {
        let count = (row.len() as u16).to_be_bytes();
        let columns = b"c\0\0\0\0\0\0\0\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0".repeat(row.len());
        let cells = row.iter().flat_map(|text| [&(text.len() as u32).to_be_bytes()[..], text.as_bytes()].concat());
        let row = message(b'D', &[&count[..], &cells.collect::<Vec<_>>()].concat());
        [&message(b'T', &[&count[..], &columns].concat())[..], &row, &message(b'C', b"SELECT 1\0"), READY].concat()
    };
    let version = "CockroachDB CCL v24.1.0 (x86_64-pc-linux-gnu)";
    let (first, second) = (answer(&[version]), answer(&["default_transaction_isolation", "serializable"]));
    let denied = [&message(b'E', b"SERROR\0C42501\0Monly users with the VIEWCLUSTERSETTING privilege\0\0")[..], READY].concat();
    let says = move |step| match step {
        2 => [&message(b'S', b"crdb_version\0CockroachDB CCL v24.1.0\0")[..], &Postgres::honest(2)].concat(),
        3 => first.clone(),
        4 => second.clone(),
        5 => denied.clone(),
        step => Postgres::honest(step),
    };
    let facts = block_on(driver::<Postgres>("cockroach", server::<Postgres>(6, says, true)).facts()).unwrap().unwrap();
    assert_eq!((facts.version.as_str(), facts.local_pid, facts.on_this_machine), (version, None, true));
    assert_eq!(facts.variables["default_transaction_isolation"], "serializable");
    assert!(facts.variables["cluster settings"].contains("VIEWCLUSTERSETTING"), "{:?}", facts.variables);
    assert_eq!(facts.variables["connection encryption"], "none");
    // Nothing is asked where there is nothing to be told.
    assert!(block_on(driver::<Postgres>("cockroach", 1).counters()).unwrap().unwrap().is_empty());
}

/// AuthenticationSASL, and then straight AuthenticationOk.
#[test]
fn a_server_that_skips_its_part_of_the_proof_is_refused() {
    let error = error_at::<Postgres>(1, message(b'R', b"\0\0\0\x0aSCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0"));
    assert_malformed(&error);
    assert!(error.message.contains("without proof"), "{error}");
}

#[test]
fn methods_that_are_not_known_or_not_safe_are_refused() {
    for (request, words) in [
        (&b"\0\0\0\x03"[..], "as clear text"),
        (b"\0\0\0\x07", "GSSAPI"),
        (b"\0\0\0\x63", "method 99"),
        (b"\0\0\0\x0aSCRAM-SHA-512\0\0", "SCRAM-SHA-512"),
    ] {
        let error = error_at::<Postgres>(1, message(b'R', request));
        assert_error(&error, ErrorClass::Refused, ErrorCode::Word("client", "auth"));
        assert!(error.message.contains(words), "{error}");
    }
    assert_malformed(&error_at::<Postgres>(1, message(b'R', b"\0\0\0\x0c")));
}

#[test]
fn what_comes_before_tls_is_not_taken_for_what_comes_under_it() {
    assert_malformed(&error_at::<Postgres>(0, [b"S", &message(b'R', b"\0\0\0\0")[..], READY].concat()));
    let full = message(b'E', b"SFATAL\0VFATAL\0C53300\0Msorry, too many clients already\0\0");
    assert_error(&error_at::<Postgres>(0, full), ErrorClass::Refused, ErrorCode::State("sqlstate", *b"53300"));
}

#[test]
fn what_a_server_says_unasked_is_heard() {
    let after = |unasked: &[u8]| error_at::<Postgres>(4, [&Postgres::honest(4)[..], unasked].concat());
    let stopping = message(b'E', b"SFATAL\0VFATAL\0C57P01\0Mterminating connection\0\0");
    assert_error(&after(&stopping), ErrorClass::Lost, ErrorCode::State("sqlstate", *b"57P01"));
    assert_malformed(&after(&message(b'D', b"\0\0")));
    // A setting that changes and a warning are no reason to stop, whole or in parts.
    for cut in [0, 3] {
        let aside = [message(b'S', b"TimeZone\0UTC\0"), message(b'N', b"VNOTICE\0Mx\0\0")].concat();
        let (now, later) = aside.split_at(aside.len() - cut);
        let (now, later) = (now.to_vec(), later.to_vec());
        let says = move |step| match step {
            4 => [&Postgres::honest(step)[..], &now].concat(),
            5 => [&later[..], &Postgres::honest(step)].concat(),
            step => Postgres::honest(step),
        };
        conversation::<Postgres>("postgres", server::<Postgres>(Postgres::STEPS, says, true)).unwrap();
    }
}
