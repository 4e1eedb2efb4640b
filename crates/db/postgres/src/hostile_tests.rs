//! Servers that are broken or mean, at every turn of the conversation: the client must say so, in time, and live on.

use std::io::Write;
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use perbuck_event::{now, timeout_at};
use perbuck_load::driver::{Driver, Session};
use perbuck_load::error::{DriverError, ErrorClass, ErrorCode};
use perbuck_load::values::Rows;
use proptest::prelude::*;

use crate::PostgresDriver;
use crate::target::PostgresTarget;
use perbuck_database::secret::Secret;
use perbuck_driver_suite::{
    self, PASSWORD, address, cases, check, connect, evil, hear, run, silence_and_closed_doors, visit, visit_evil,
};

/// What a server says at each turn of an honest conversation: no TLS, its challenge, login, then prepare and execute of
/// a statement whose rows are kept, the same for one whose rows are counted, and a query.
const TURNS: usize = 8;

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

fn honest(turn: usize) -> Vec<u8> {
    let setting = message(b'S', b"server_version\x0015.0\0");
    let done = message(b'C', b"SELECT 2\0");
    match turn {
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

fn server(turns: usize, says: impl Fn(usize) -> Vec<u8> + Send + 'static, then_silent: bool) -> u16 {
    perbuck_driver_suite::server(0, turns, says, then_silent)
}

fn driver(port: u16) -> PostgresDriver {
    driver_of("postgres", port)
}

fn driver_of(scheme: &str, port: u16) -> PostgresDriver {
    let text = address(scheme, port);
    let (scheme, rest) = text.split_once(':').unwrap();
    let target = PostgresTarget::parse(scheme, rest).unwrap().unwrap();
    PostgresDriver::new(target, Secret::new(PASSWORD)).unwrap()
}

/// What the client makes of a server whose answer at one turn is another.
fn with_turn(turn: usize, answer: &[u8]) -> DriverError {
    let answer = answer.to_vec();
    let says = move |t| if t == turn { answer.clone() } else { honest(t) };
    let (result, _) = run(async { visit(driver(server(TURNS, says, true))).await });
    let error = result.unwrap_err();
    check(&error);
    error
}

#[test]
fn an_honest_server_is_understood() {
    run(async { visit(driver(server(TURNS, honest, true))).await.unwrap() });
}

#[test]
fn a_server_is_of_the_family_that_the_target_names() {
    let cockroach = message(b'S', b"crdb_version\0CockroachDB CCL v23.1.11 (x86_64-pc-linux-gnu)\0");
    let yugabyte = message(b'S', b"server_version\x0011.2-YB-2.18.0.0-b0\0");
    for (scheme, setting) in [("postgres", Vec::new()), ("cockroach", cockroach), ("yugabyte", yugabyte)] {
        for wanted in ["postgres", "cockroach", "yugabyte"] {
            let setting = setting.clone();
            // Before all else: what is said first counts.
            let says = move |turn| if turn == 2 { [&setting[..], &honest(2)].concat() } else { honest(turn) };
            let (result, _) = run(async { visit(driver_of(wanted, server(TURNS, says, true))).await });
            match result {
                Ok(()) => assert_eq!(wanted, scheme),
                Err(error) => {
                    check(&error);
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
    let cell = |text: &str| [&(text.len() as u32).to_be_bytes()[..], text.as_bytes()].concat();
    let answer = |rows: &[&[&str]]| {
        let columns: Vec<u8> =
            (0..rows[0].len()).flat_map(|_| b"c\0\0\0\0\0\0\0\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0".to_vec()).collect();
        let mut all = message(b'T', &[&(rows[0].len() as u16).to_be_bytes()[..], &columns].concat());
        for row in rows {
            let cells: Vec<u8> = row.iter().flat_map(|text| cell(text)).collect();
            all.extend(message(b'D', &[&(row.len() as u16).to_be_bytes()[..], &cells].concat()));
        }
        [&all[..], &message(b'C', b"SELECT 1\0"), READY].concat()
    };
    let version = "CockroachDB CCL v24.1.0 (x86_64-pc-linux-gnu)";
    let (first, second) = (answer(&[&[version]]), answer(&[&["default_transaction_isolation", "serializable"]]));
    let denied = [&message(b'E', b"SERROR\0C42501\0Monly users with the VIEWCLUSTERSETTING privilege\0\0")[..], READY].concat();
    let says = move |turn| match turn {
        2 => [&message(b'S', b"crdb_version\0CockroachDB CCL v24.1.0\0")[..], &honest(2)].concat(),
        3 => first.clone(),
        4 => second.clone(),
        5 => denied.clone(),
        turn => honest(turn),
    };
    let facts = run(async { driver_of("cockroach", server(6, says, true)).facts().await }).0.unwrap();
    assert_eq!((facts.version.as_str(), facts.local_pid, facts.on_this_machine), (version, None, true));
    assert_eq!(facts.variables["default_transaction_isolation"], "serializable");
    assert!(facts.variables["cluster settings"].contains("VIEWCLUSTERSETTING"), "{:?}", facts.variables);
    assert_eq!(facts.variables["connection encryption"], "none");
    // Nothing is asked where there is nothing to be told.
    assert!(run(async { driver_of("cockroach", 1).counters().await }).0.unwrap().is_empty());
}

#[test]
fn silence_is_a_timeout_and_a_closed_door_is_one_at_every_turn() {
    silence_and_closed_doors(TURNS, |turn, silent| driver(server(turn, honest, silent)));
}

#[test]
fn rows_without_end_run_into_the_limit() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || endless(&listener));
    let (result, _) = run(visit(driver(port)));
    let error = result.unwrap_err();
    assert_eq!(error.code, ErrorCode::Word("client", "timeout"), "{error}");
}

fn endless(listener: &TcpListener) -> std::io::Result<()> {
    let (mut stream, _) = listener.accept()?;
    for turn in 0..6 {
        hear(&mut stream)?;
        stream.write_all(&honest(turn))?;
    }
    hear(&mut stream)?;
    stream.write_all(&message(b'2', b""))?;
    let rows = message(b'D', b"\0\x02\xff\xff\xff\xff\xff\xff\xff\xff").repeat(256);
    loop {
        stream.write_all(&rows)?;
    }
}

#[test]
fn a_server_that_skips_its_part_of_the_proof_is_refused() {
    // AuthenticationSASL, and then straight AuthenticationOk.
    let says = |turn| match turn {
        1 => message(b'R', b"\0\0\0\x0aSCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0"),
        turn => honest(turn),
    };
    let (result, _) = run(async { visit(driver(server(TURNS, says, true))).await });
    let error = result.unwrap_err();
    assert_eq!((error.class, error.code), (ErrorClass::Fatal, ErrorCode::Word("client", "protocol")), "{error}");
    assert!(error.message.contains("without having proved"), "{error}");
}

#[test]
fn methods_that_are_not_known_or_not_safe_are_refused() {
    for (request, words) in [
        (&b"\0\0\0\x03"[..], "in the clear"),
        (b"\0\0\0\x07", "GSSAPI"),
        (b"\0\0\0\x63", "method 99"),
        (b"\0\0\0\x0aSCRAM-SHA-512\0\0", "SCRAM-SHA-512"),
    ] {
        let error = with_turn(1, &message(b'R', request));
        assert_eq!((error.class, error.code), (ErrorClass::Refused, ErrorCode::Word("client", "auth")), "{error}");
        assert!(error.message.contains(words), "{error}");
    }
    let error = with_turn(1, &message(b'R', b"\0\0\0\x0c"));
    assert_eq!((error.class, error.code), (ErrorClass::Fatal, ErrorCode::Word("client", "protocol")), "{error}");
}

#[test]
fn what_comes_before_tls_is_not_taken_for_what_comes_under_it() {
    let error = with_turn(0, &[b"S", &message(b'R', b"\0\0\0\0")[..], READY].concat());
    assert_eq!((error.class, error.code), (ErrorClass::Fatal, ErrorCode::Word("client", "protocol")), "{error}");
    let full = message(b'E', b"SFATAL\0VFATAL\0C53300\0Msorry, too many clients already\0\0");
    let error = with_turn(0, &full);
    assert_eq!((error.class, error.code), (ErrorClass::Refused, ErrorCode::State("sqlstate", *b"53300")), "{error}");
}

#[test]
fn an_answer_that_was_given_up_is_not_taken_for_another() {
    run(async {
        let mut session = connect(&driver(server(3, honest, true))).await.unwrap();
        let mut rows = Rows::default();
        // As an abort of the run does it: the future is dropped half way.
        let abandoned = timeout_at(now() + Duration::from_millis(5), session.query("SELECT 1", &mut rows)).await;
        assert!(abandoned.is_err());
        for error in [session.query("SELECT 2", &mut rows).await.unwrap_err(), session.rollback().await.unwrap_err()] {
            assert_eq!((error.class, error.code), (ErrorClass::Lost, ErrorCode::Word("client", "closed")), "{error}");
        }
        session.close().await;
    });
}

#[test]
fn what_a_server_says_unasked_is_heard() {
    let stopping = message(b'E', b"SFATAL\0VFATAL\0C57P01\0Mterminating connection\0\0");
    let error = with_turn(4, &[&honest(4)[..], &stopping].concat());
    assert_eq!((error.class, error.code), (ErrorClass::Lost, ErrorCode::State("sqlstate", *b"57P01")), "{error}");
    // A setting that changes and a warning are no reason to stop, whole or in parts.
    for cut in [0, 3] {
        let aside = [message(b'S', b"TimeZone\0UTC\0"), message(b'N', b"VNOTICE\0Mx\0\0")].concat();
        let (now, later) = aside.split_at(aside.len() - cut);
        let (now, later) = (now.to_vec(), later.to_vec());
        let says = move |turn| match turn {
            4 => [&honest(turn)[..], &now].concat(),
            5 => [&later[..], &honest(turn)].concat(),
            turn => honest(turn),
        };
        run(async { visit(driver(server(TURNS, says, true))).await.unwrap() });
    }
    let error = with_turn(4, &[&honest(4)[..], &message(b'D', b"\0\0")].concat());
    assert_eq!((error.class, error.code), (ErrorClass::Fatal, ErrorCode::Word("client", "protocol")), "{error}");
}

proptest! {
    #![proptest_config(cases(400))]
    #[test]
    fn no_server_makes_the_client_panic_or_hang(
        turn in 0..TURNS, evil in evil(b"RSKZ12tTDCEN3nIGHA"), silent in prop::bool::weighted(0.1),
    ) {
        let is = evil.clone();
        let frame = |messages: &[(u8, Vec<u8>)], _: &[u8]| messages.iter().flat_map(|(kind, body)| message(*kind, body)).collect();
        let says = move |t| if t == turn { is.says(honest(t), frame) } else { honest(t) };
        visit_evil(&evil, driver(server(turn + 1, says, silent)))?;
    }
}
