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

use super::{PostgresDriver, PostgresSession};
use crate::net::test_support::cases;
use crate::secret::Secret;
use crate::target::Target;

const PASSWORD: &str = "correct-horse";
const READ_TIMEOUT_MS: u32 = 80;
/// What a server says at each turn of an honest conversation: no TLS, its challenge, login, then prepare and execute of
/// a statement whose rows are kept, the same for one whose rows are counted, and a query.
const TURNS: usize = 8;

/// `a integer, c text`.
pub(super) const COLUMNS: &[u8] =
    b"\0\x02a\0\0\0\x40\0\0\x01\0\0\0\x17\0\x04\xff\xff\xff\xff\0\0c\0\0\0\x40\0\0\x02\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0";
pub(super) const READY: &[u8] = b"Z\0\0\0\x05I";

pub(super) fn message(kind: u8, body: &[u8]) -> Vec<u8> {
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

/// What a server does at its bad turn.
#[derive(Debug, Clone)]
enum Evil {
    Bytes(Vec<u8>),
    Messages(Vec<(u8, Vec<u8>)>),
    Cut(usize),
    Changed(Vec<(usize, u8)>),
}

impl Evil {
    fn says(&self, turn: usize) -> Vec<u8> {
        let mut all = honest(turn);
        match self {
            Self::Bytes(bytes) => bytes.clone(),
            Self::Messages(messages) => messages.iter().flat_map(|(kind, body)| message(*kind, body)).collect(),
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

/// Whatever the client says at one turn; it says it in one write.
fn hear(stream: &mut TcpStream) -> std::io::Result<()> {
    let mut heard = [0; 4096];
    if stream.read(&mut heard)? == 0 { Err(std::io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
}

/// A server that says `says(turn)` at each turn and, after the last one, closes or falls silent.
fn server(turns: usize, says: impl Fn(usize) -> Vec<u8> + Send + 'static, then_silent: bool) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept()?;
        for turn in 0..turns {
            hear(&mut stream)?;
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

fn driver(port: u16) -> PostgresDriver {
    let text = format!("postgres://root@127.0.0.1:{port}/d?connect_timeout=150ms&read_timeout={READ_TIMEOUT_MS}ms&tls=preferred");
    let Ok(Target::Postgres(target)) = Target::parse(&text) else { panic!("{text}") };
    PostgresDriver::new(target, Secret::new(PASSWORD)).unwrap()
}

fn catalogue() -> (Arc<Catalogue>, StatementId, StatementId) {
    let mut catalogue = Catalogue::default();
    let kept = catalogue.add_read("SELECT a, c FROM t WHERE id = ?");
    let counted = catalogue.add(Verb::Select, "SELECT a, c FROM t WHERE id = ?");
    (Arc::new(catalogue), kept, counted)
}

async fn connect(port: u16) -> Result<PostgresSession, DriverError> {
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
    let both = (rows.int(0, 0), rows.is_null(1, 1));
    let second = session.execute(counted, &params, &mut rows).await?;
    let counted = rows.len();
    session.query("SELECT a, c FROM t", &mut rows).await?;
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

/// What the client makes of a server whose answer at one turn is another.
fn with_turn(turn: usize, answer: &[u8]) -> DriverError {
    let answer = answer.to_vec();
    let says = move |t| if t == turn { answer.clone() } else { honest(t) };
    let (result, _) = run(async { visit(server(TURNS, says, true)).await });
    let error = result.unwrap_err();
    check(&error);
    error
}

#[test]
fn an_honest_server_is_understood() {
    run(async { visit(server(TURNS, honest, true)).await.unwrap() });
}

#[test]
fn silence_is_a_timeout_and_a_closed_door_is_one_at_every_turn() {
    for turn in 0..TURNS {
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
    let (result, _) = run(async { visit(server(TURNS, says, true)).await });
    let error = result.unwrap_err();
    assert_eq!((error.class, error.code), (ErrorClass::Fatal, ErrorCode::Client("protocol")), "{error}");
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
        assert_eq!((error.class, error.code), (ErrorClass::Refused, ErrorCode::Client("auth")), "{error}");
        assert!(error.message.contains(words), "{error}");
    }
    let error = with_turn(1, &message(b'R', b"\0\0\0\x0c"));
    assert_eq!((error.class, error.code), (ErrorClass::Fatal, ErrorCode::Client("protocol")), "{error}");
}

#[test]
fn what_comes_before_tls_is_not_taken_for_what_comes_under_it() {
    let error = with_turn(0, &[b"S", &message(b'R', b"\0\0\0\0")[..], READY].concat());
    assert_eq!((error.class, error.code), (ErrorClass::Fatal, ErrorCode::Client("protocol")), "{error}");
    let full = message(b'E', b"SFATAL\0VFATAL\0C53300\0Msorry, too many clients already\0\0");
    let error = with_turn(0, &full);
    assert_eq!((error.class, error.code), (ErrorClass::Refused, ErrorCode::SqlState(*b"53300")), "{error}");
}

#[test]
fn an_answer_that_was_given_up_is_not_taken_for_another() {
    run(async {
        let mut session = connect(server(3, honest, true)).await.unwrap();
        let mut rows = Rows::default();
        // As an abort of the run does it: the future is dropped half way.
        let abandoned = timeout_at(now() + Duration::from_millis(5), session.query("SELECT 1", &mut rows)).await;
        assert!(abandoned.is_err());
        for error in [session.query("SELECT 2", &mut rows).await.unwrap_err(), session.rollback().await.unwrap_err()] {
            assert_eq!((error.class, error.code), (ErrorClass::Lost, ErrorCode::Client("closed")), "{error}");
        }
        session.close().await;
    });
}

#[test]
fn what_a_server_says_unasked_is_heard() {
    let stopping = message(b'E', b"SFATAL\0VFATAL\0C57P01\0Mterminating connection\0\0");
    let error = with_turn(4, &[&honest(4)[..], &stopping].concat());
    assert_eq!((error.class, error.code), (ErrorClass::Lost, ErrorCode::SqlState(*b"57P01")), "{error}");
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
        run(async { visit(server(TURNS, says, true)).await.unwrap() });
    }
    let error = with_turn(4, &[&honest(4)[..], &message(b'D', b"\0\0")].concat());
    assert_eq!((error.class, error.code), (ErrorClass::Fatal, ErrorCode::Client("protocol")), "{error}");
}

fn evil() -> impl Strategy<Value = Evil> {
    let bytes = |most| prop::collection::vec(any::<u8>(), 0..most);
    let kind = prop_oneof![prop::sample::select(b"RSKZ12tTDCEN3nIGHA".to_vec()), any::<u8>()];
    prop_oneof![
        bytes(400).prop_map(Evil::Bytes),
        prop::collection::vec((kind, bytes(40)), 1..8).prop_map(Evil::Messages),
        any::<usize>().prop_map(Evil::Cut),
        prop::collection::vec((any::<usize>(), any::<u8>()), 1..6).prop_map(Evil::Changed),
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
