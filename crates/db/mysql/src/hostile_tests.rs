//! Servers that are broken or mean, at every turn of the conversation: the client must say so, in time, and live on.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use perbuck_event::{now, timeout_at};
use perbuck_load::driver::Session;
use perbuck_load::error::{ErrorClass, ErrorCode};
use perbuck_load::values::Rows;
use proptest::prelude::*;

use crate::MysqlDriver;
use perbuck_database::secret::Secret;
use perbuck_database::server::ServerTarget;
use perbuck_driver_suite::{
    self, PASSWORD, address, cases, check, connect, evil, run, silence_and_closed_doors, visit, visit_evil,
};

/// What a server says at each turn of an honest conversation: greeting, login, then prepare and execute of a statement
/// whose rows are kept, the same for one whose rows are counted, and a query.
const TURNS: usize = 7;

fn framed(packets: &[&[u8]], first: u8) -> Vec<u8> {
    let mut out = Vec::new();
    for (packet, number) in packets.iter().zip(first..) {
        out.extend_from_slice(&(packet.len() as u32 | u32::from(number) << 24).to_le_bytes());
        out.extend_from_slice(packet);
    }
    out
}

const GREETING: &[u8] =
    b"\x0a8.0.0\0\x0b\0\0\0abcdefgh\0\0\xa2\x2d\x02\0\x08\x01\x15\0\0\0\0\0\0\0\0\0\0ijklmnopqrst\0mysql_native_password\0";
const OK: &[u8] = b"\0\0\0\x02\0\0\0";
const COLUMN: &[u8] = b"\x03def\x01d\x01t\x01t\x01a\x01a\x0c\x3f\0\x0b\0\0\0\x03\0\0\0\0\0";
const END: &[u8] = b"\xfe\0\0\x02\0\0\0";

fn honest(turn: usize) -> Vec<u8> {
    match turn {
        0 => framed(&[GREETING], 0),
        1 => framed(&[OK], 2),
        2 | 4 => framed(&[b"\0\x07\0\0\0\x01\0\x01\0\0\0\0", COLUMN, COLUMN], 1),
        3 | 5 => framed(&[b"\x01", COLUMN, b"\0\0\x2a\0\0\0", b"\0\x04", END], 1),
        _ => framed(&[b"\x01", COLUMN, b"\x0242", b"\xfb", END], 1),
    }
}

fn server(turns: usize, says: impl Fn(usize) -> Vec<u8> + Send + 'static, then_silent: bool) -> u16 {
    // The greeting is unasked for.
    perbuck_driver_suite::server(1, turns, says, then_silent)
}

fn driver(port: u16) -> MysqlDriver {
    let text = address("mysql", port);
    let target = ServerTarget::parse("mysql", text.split_once(':').unwrap().1, 1).unwrap();
    MysqlDriver::new(target, Secret::new(PASSWORD)).unwrap()
}

#[test]
fn an_honest_server_is_understood() {
    run(async { visit(driver(server(TURNS, honest, true))).await.unwrap() });
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
    let mut heard = [0; 4096];
    for turn in 0..5 {
        stream.write_all(&honest(turn))?;
        if stream.read(&mut heard)? == 0 {
            return Ok(());
        }
    }
    let mut head = honest(5);
    head.truncate(4 + 1 + 4 + COLUMN.len());
    stream.write_all(&head)?;
    // The sequence numbers wrap around, so that the same 256 rows can follow each other for ever.
    let rows: Vec<u8> = (3..259_u32).flat_map(|n| [6, 0, 0, n as u8, 0, 0, 42, 0, 0, 0]).collect();
    loop {
        stream.write_all(&rows)?;
    }
}

#[test]
fn a_request_for_a_file_is_refused() {
    let says = |turn| if turn == 6 { framed(&[b"\xfb/etc/passwd"], 1) } else { honest(turn) };
    let (result, _) = run(async { visit(driver(server(TURNS, says, true))).await });
    let error = result.unwrap_err();
    assert_eq!((error.class, error.code), (ErrorClass::Fatal, ErrorCode::Word("client", "protocol")), "{error}");
}

#[test]
fn an_answer_that_was_given_up_is_not_taken_for_another() {
    run(async {
        let mut session = connect(&driver(server(2, honest, true))).await.unwrap();
        let mut rows = Rows::default();
        // As an abort of the run does it: the future is dropped half way.
        let abandoned = timeout_at(now() + Duration::from_millis(5), session.query("SELECT 1", &mut rows)).await;
        assert!(abandoned.is_err());
        let error = session.query("SELECT 2", &mut rows).await.unwrap_err();
        assert_eq!((error.class, error.code), (ErrorClass::Lost, ErrorCode::Word("client", "closed")), "{error}");
        session.close().await;
    });
}

#[test]
fn what_a_server_says_unasked_is_heard() {
    let says = |turn| {
        let mut all = honest(turn);
        if turn == 3 {
            all.extend(framed(&[b"\xff\xbf\x0f#HY000The client was disconnected"], 0));
        }
        all
    };
    let (result, _) = run(async { visit(driver(server(TURNS, says, true))).await });
    let error = result.unwrap_err();
    assert_eq!((error.class, error.code), (ErrorClass::Lost, ErrorCode::Number("mysql", 4031)), "{error}");
}

#[test]
fn unknown_methods_and_old_passwords_are_refused() {
    for (request, name) in [(&b"\xfe"[..], "mysql_old_password"), (b"\xfemysql_clear_password\0", "mysql_clear_password")] {
        let says = move |turn| if turn == 1 { framed(&[request], 2) } else { honest(turn) };
        let (result, _) = run(async { visit(driver(server(TURNS, says, true))).await });
        let error = result.unwrap_err();
        check(&error);
        assert_eq!((error.class, error.code), (ErrorClass::Refused, ErrorCode::Word("client", "auth")));
        assert!(error.message.contains(name), "{error}");
    }
}

proptest! {
    #![proptest_config(cases(400))]
    #[test]
    fn no_server_makes_the_client_panic_or_hang(
        turn in 0..TURNS, evil in evil(&[0, 1, 0xfb, 0xfe, 0xff]), silent in prop::bool::weighted(0.1),
    ) {
        let is = evil.clone();
        let frame = |packets: &[(u8, Vec<u8>)], all: &[u8]| {
            let payloads: Vec<Vec<u8>> = packets.iter().map(|(first, rest)| [&[*first], &rest[..]].concat()).collect();
            framed(&payloads.iter().map(Vec::as_slice).collect::<Vec<_>>(), all[3])
        };
        let says = move |t| if t == turn { is.says(honest(t), frame) } else { honest(t) };
        visit_evil(&evil, driver(server(turn + 1, says, silent)))?;
    }
}
