//! Servers that are broken or mean, at every turn of the conversation: the client must say so, in time, and live on.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use perbuck_event::{block_on, now, timeout_at};
use perbuck_load::driver::{Driver, Effect, Session, SessionId};
use perbuck_load::error::{DriverError, ErrorClass, ErrorCode};
use perbuck_load::statement::{Catalogue, StatementId, Verb};
use perbuck_load::values::{Params, Rows};
use proptest::prelude::*;

use super::{MysqlDriver, MysqlSession};
use crate::net::test_support::cases;
use crate::secret::Secret;
use crate::target::Target;

const PASSWORD: &str = "correct-horse";
const READ_TIMEOUT_MS: u32 = 80;
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

/// What a server does at its bad turn.
#[derive(Debug, Clone)]
enum Evil {
    Bytes(Vec<u8>),
    Packets(Vec<Vec<u8>>),
    Cut(usize),
    Changed(Vec<(usize, u8)>),
}

impl Evil {
    fn says(&self, turn: usize) -> Vec<u8> {
        let mut all = honest(turn);
        match self {
            Self::Bytes(bytes) => bytes.clone(),
            Self::Packets(packets) => framed(&packets.iter().map(Vec::as_slice).collect::<Vec<_>>(), all[3]),
            Self::Cut(at) => {
                all.truncate(at % all.len());
                all
            }
            Self::Changed(changes) => {
                for (at, byte) in changes {
                    let at = at % all.len();
                    all[at] = *byte;
                }
                all
            }
        }
    }
}

fn hear(stream: &mut TcpStream) -> std::io::Result<()> {
    let mut header = [0; 4];
    stream.read_exact(&mut header)?;
    let length = u32::from_le_bytes([header[0], header[1], header[2], 0]);
    let mut payload = vec![0; length as usize];
    stream.read_exact(&mut payload)
}

/// A server that says `says(turn)` at each turn and, after the last one, closes or falls silent.
fn server(turns: usize, says: impl Fn(usize) -> Vec<u8> + Send + 'static, then_silent: bool) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept()?;
        for turn in 0..turns {
            if turn > 0 {
                hear(&mut stream)?;
            }
            stream.write_all(&says(turn))?;
        }
        if then_silent {
            // Until the client has had enough.
            while stream.read(&mut [0; 512])? > 0 {}
        }
        Ok::<(), std::io::Error>(())
    });
    port
}

fn driver(port: u16) -> MysqlDriver {
    let text = format!("mysql://root@127.0.0.1:{port}/d?connect_timeout=150ms&read_timeout={READ_TIMEOUT_MS}ms&tls=preferred");
    let Ok(Target::Mysql(target)) = Target::parse(&text) else { panic!("{text}") };
    MysqlDriver::new(target, Secret::new(PASSWORD)).unwrap()
}

fn catalogue() -> (Arc<Catalogue>, StatementId, StatementId) {
    let mut catalogue = Catalogue::default();
    let kept = catalogue.add_read("SELECT a FROM t WHERE id = ?");
    let counted = catalogue.add(Verb::Select, "SELECT a FROM t WHERE id = ?");
    (Arc::new(catalogue), kept, counted)
}

async fn connect(port: u16) -> Result<MysqlSession, DriverError> {
    let mut session = driver(port).connect(SessionId(0)).await?;
    session.prepare(&catalogue().0).await?;
    Ok(session)
}

/// The client's side of the conversation.
async fn visit(port: u16) -> Result<(), DriverError> {
    let (_, kept, counted) = catalogue();
    let mut session = connect(port).await?;
    let (mut params, mut rows) = (Params::default(), Rows::default());
    params.int(1);
    let first = session.execute(kept, &params, &mut rows).await?;
    let both = (rows.int(0, 0), rows.is_null(1, 0));
    let second = session.execute(counted, &params, &mut rows).await?;
    let counted = rows.len();
    session.query("SELECT a FROM t", &mut rows).await?;
    let sets = (first, second) == (Effect::ResultSet, Effect::ResultSet);
    if sets && (both, counted, rows.len()) == ((Ok(42), Ok(true)), 2, 2) {
        return Ok(());
    }
    Err(DriverError::client(ErrorClass::Failed, "test", "other values than an honest server's"))
}

fn run<T>(future: impl Future<Output = T>) -> (T, Duration) {
    let started = Instant::now();
    let result = block_on(future).unwrap();
    (result, started.elapsed())
}

fn check(error: &DriverError) {
    let text = format!("{error} {error:?}");
    assert!(!text.contains(PASSWORD) && !error.message.is_empty(), "{text}");
}

#[test]
fn an_honest_server_is_understood() {
    run(async { visit(server(TURNS, honest, true)).await.unwrap() });
}

#[test]
fn silence_is_a_timeout_and_a_closed_door_is_one_at_every_turn() {
    for turn in 0..=TURNS - 1 {
        for silent in [true, false] {
            let (result, took) = run(async { visit(server(turn, honest, silent)).await });
            let error = result.unwrap_err();
            check(&error);
            let word = if silent { "timeout" } else { "closed" };
            assert_eq!((error.class, error.code), (ErrorClass::Lost, ErrorCode::Client(word)), "turn {turn}: {error}");
            assert!(took < Duration::from_secs(1), "turn {turn}: {took:?}");
        }
    }
}

#[test]
fn rows_without_end_run_into_the_limit() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || endless(&listener));
    let (result, took) = run(visit(port));
    let error = result.unwrap_err();
    assert_eq!(error.code, ErrorCode::Client("timeout"), "{error}");
    assert!(took < Duration::from_secs(3), "{took:?}");
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
    let (result, _) = run(async { visit(server(TURNS, says, true)).await });
    let error = result.unwrap_err();
    assert_eq!((error.class, error.code), (ErrorClass::Fatal, ErrorCode::Client("protocol")), "{error}");
}

#[test]
fn an_answer_that_was_given_up_is_not_taken_for_another() {
    run(async {
        let mut session = connect(server(2, honest, true)).await.unwrap();
        let mut rows = Rows::default();
        // As an abort of the run does it: the future is dropped half way.
        let abandoned = timeout_at(now() + Duration::from_millis(5), session.query("SELECT 1", &mut rows)).await;
        assert!(abandoned.is_err());
        let error = session.query("SELECT 2", &mut rows).await.unwrap_err();
        assert_eq!((error.class, error.code), (ErrorClass::Lost, ErrorCode::Client("closed")), "{error}");
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
    let (result, _) = run(async { visit(server(TURNS, says, true)).await });
    let error = result.unwrap_err();
    assert_eq!((error.class, error.code), (ErrorClass::Lost, ErrorCode::Mysql(4031)), "{error}");
}

#[test]
fn unknown_methods_and_old_passwords_are_refused() {
    for (request, name) in [(&b"\xfe"[..], "mysql_old_password"), (b"\xfemysql_clear_password\0", "mysql_clear_password")] {
        let says = move |turn| if turn == 1 { framed(&[request], 2) } else { honest(turn) };
        let (result, _) = run(async { visit(server(TURNS, says, true)).await });
        let error = result.unwrap_err();
        check(&error);
        assert_eq!((error.class, error.code), (ErrorClass::Refused, ErrorCode::Client("auth")));
        assert!(error.message.contains(name), "{error}");
    }
}

fn evil() -> impl Strategy<Value = Evil> {
    let bytes = |most| proptest::collection::vec(any::<u8>(), 0..most);
    let first = prop_oneof![Just(0_u8), Just(1), Just(0xfb), Just(0xfe), Just(0xff), any::<u8>()];
    let packet = (first, bytes(40)).prop_map(|(first, rest)| [vec![first], rest].concat());
    prop_oneof![
        bytes(400).prop_map(Evil::Bytes),
        proptest::collection::vec(packet, 1..8).prop_map(Evil::Packets),
        any::<usize>().prop_map(Evil::Cut),
        proptest::collection::vec((any::<usize>(), any::<u8>()), 1..6).prop_map(Evil::Changed),
    ]
}

proptest! {
    #![proptest_config(cases(400))]
    #[test]
    fn no_server_makes_the_client_panic_or_hang(turn in 0..TURNS, evil in evil(), silent in prop::bool::weighted(0.1)) {
        let cut = matches!(evil, Evil::Cut(_));
        let says = move |t| if t == turn { evil.says(t) } else { honest(t) };
        let (result, took) = run(async { visit(server(turn + 1, says, silent)).await });
        prop_assert!(took < Duration::from_secs(3), "{:?}", took);
        prop_assert!(!cut || result.is_err());
        if let Err(error) = result {
            check(&error);
        }
    }
}
