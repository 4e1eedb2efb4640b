//! What the tests of the protocols share: a server that says what it is told to, a client that visits it, and answers that
//! were broken on the way.
#![allow(clippy::unwrap_used, clippy::missing_panics_doc, reason = "a test fails by it")]

pub mod servers;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use perbuck_event::block_on;
use perbuck_load::driver::{Driver, Effect, Session, SessionId};
use perbuck_load::error::{DriverError, ErrorClass, ErrorCode};
use perbuck_load::statement::{Catalogue, StatementId, Verb};
use perbuck_load::values::{Params, Rows};
use proptest::prelude::*;

/// The password that no message may hold.
pub const PASSWORD: &str = "correct-horse";

/// So many cases, unless `bench/fuzz-protocol` wants more.
pub fn cases(usual: u32) -> ProptestConfig {
    let wanted = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok());
    ProptestConfig { cases: wanted.unwrap_or(usual), ..ProptestConfig::default() }
}

/// The target of a server on this machine, with short limits.
pub fn address(scheme: &str, port: u16) -> String {
    format!("{scheme}://root@127.0.0.1:{port}/d?connect_timeout=150ms&read_timeout=80ms&tls=preferred")
}

/// Whatever the client says at one turn; it says it in one write.
pub fn hear(stream: &mut TcpStream) -> std::io::Result<()> {
    let mut heard = [0; 4096];
    if stream.read(&mut heard)? == 0 { Err(std::io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
}

/// A server that hears the client from the turn `hears_from` on, says `says(turn)` at each turn and, after the last one,
/// closes or falls silent.
pub fn server(hears_from: usize, turns: usize, says: impl Fn(usize) -> Vec<u8> + Send + 'static, then_silent: bool) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept()?;
        for turn in 0..turns {
            if turn >= hears_from {
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

fn catalogue() -> (Arc<Catalogue>, StatementId, StatementId) {
    let mut catalogue = Catalogue::default();
    let kept = catalogue.add_read("SELECT a FROM t WHERE id = ?");
    let counted = catalogue.add(Verb::Select, "SELECT a FROM t WHERE id = ?");
    (Arc::new(catalogue), kept, counted)
}

/// A session that knows its statements.
pub async fn connect<D: Driver>(driver: &D) -> Result<D::Session, DriverError> {
    let mut session = driver.connect(SessionId(0)).await?;
    session.prepare(&catalogue().0).await?;
    Ok(session)
}

/// The client's side of a conversation: a statement whose rows are kept, one whose rows are counted, and a query; each
/// returns 42 and NULL.
pub async fn visit<D: Driver>(driver: D) -> Result<(), DriverError> {
    let (_, kept, counted) = catalogue();
    let mut session = connect(&driver).await?;
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

/// Runs to the end; how long it took.
pub fn run<T>(future: impl Future<Output = T>) -> (T, Duration) {
    let started = Instant::now();
    let result = block_on(future).unwrap();
    (result, started.elapsed())
}

/// No error is without words, and none shows the password.
pub fn check(error: &DriverError) {
    let text = format!("{error} {error:?}");
    assert!(!text.contains(PASSWORD) && !error.message.is_empty(), "{text}");
}

/// Visits servers that fall silent or close the door at each turn of a conversation.
pub fn silence_and_closed_doors<D: Driver>(turns: usize, driver: impl Fn(usize, bool) -> D) {
    for turn in 0..turns {
        for silent in [true, false] {
            let (result, took) = run(async { visit(driver(turn, silent)).await });
            let error = result.unwrap_err();
            check(&error);
            let word = if silent { "timeout" } else { "closed" };
            assert_eq!((error.class, error.code), (ErrorClass::Lost, ErrorCode::Word("client", word)), "turn {turn}: {error}");
            assert!(took < Duration::from_secs(1), "turn {turn}: {took:?}");
        }
    }
}

/// What a server does at its bad turn.
#[derive(Debug, Clone)]
pub enum Evil {
    /// It says just this.
    Bytes(Vec<u8>),
    /// Messages of its own, each by what it is and the rest.
    Messages(Vec<(u8, Vec<u8>)>),
    /// It stops there.
    Cut(usize),
    /// These bytes are others.
    Changed(Vec<(usize, u8)>),
}

impl Evil {
    /// What it says instead of `all`; `framed` puts its messages together.
    pub fn says(&self, mut all: Vec<u8>, framed: impl Fn(&[(u8, Vec<u8>)], &[u8]) -> Vec<u8>) -> Vec<u8> {
        match self {
            Self::Bytes(bytes) => return bytes.clone(),
            Self::Messages(messages) => return framed(messages, &all),
            Self::Cut(at) => all.truncate(at % all.len()),
            Self::Changed(changes) => {
                for (at, byte) in changes {
                    let at = at % all.len();
                    all[at] = *byte;
                }
            }
        }
        all
    }
}

/// Evil of every kind; messages begin with these bytes as a rule.
pub fn evil(kinds: &'static [u8]) -> impl Strategy<Value = Evil> {
    let bytes = |most| prop::collection::vec(any::<u8>(), 0..most);
    let kind = prop_oneof![prop::sample::select(kinds), any::<u8>()];
    prop_oneof![
        bytes(400).prop_map(Evil::Bytes),
        prop::collection::vec((kind, bytes(40)), 1..8).prop_map(Evil::Messages),
        any::<usize>().prop_map(Evil::Cut),
        prop::collection::vec((any::<usize>(), any::<u8>()), 1..6).prop_map(Evil::Changed),
    ]
}

/// Visits a server that is evil at one turn: no panic, no hang, and no success where the answer was cut.
pub fn visit_evil<D: Driver>(evil: &Evil, driver: D) -> Result<(), TestCaseError> {
    let (result, took) = run(visit(driver));
    prop_assert!(took < Duration::from_secs(3), "{:?}", took);
    prop_assert!(!matches!(evil, Evil::Cut(_)) || result.is_err());
    if let Err(error) = result {
        check(&error);
    }
    Ok(())
}

/// Answers with some bytes changed and, now and then, without their end.
pub fn mangled(answers: impl Strategy<Value = Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    let changes = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4);
    (answers, changes, prop::option::weighted(0.2, any::<prop::sample::Index>())).prop_map(|(mut bytes, changes, cut)| {
        for (at, value) in changes {
            if !bytes.is_empty() {
                let at = at.index(bytes.len());
                bytes[at] = value;
            }
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len() + 1));
        }
        bytes
    })
}
