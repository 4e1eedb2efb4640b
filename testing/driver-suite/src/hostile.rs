//! Servers that are broken or mean, at every step of the conversation: the client must say so, in time, and live on.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use perbuck_database::secret::Secret;
use perbuck_database::{Database, Wishes};
use perbuck_event::{block_on, now, timeout_at};
use perbuck_load::driver::{Driver, Effect, Session, SessionId};
use perbuck_load::error::{DriverError, ErrorClass, ErrorCode};
use perbuck_load::statement::{Catalogue, StatementId, Verb};
use perbuck_load::values::{Params, Rows};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use crate::cases;
pub use crate::servers::assert_error;

/// The password that no message may hold.
const PASSWORD: &str = "correct-horse";

/// What a server of a protocol says in these tests.
pub trait Protocol: Database {
    /// What its addresses begin with.
    const SCHEME: &'static str;
    /// Turns of an honest conversation: those of the login, then prepare and execute of a statement whose rows are kept, the
    /// same for one whose rows are counted, and a query.
    const STEPS: usize;
    /// The step from which on the client speaks first.
    const HEARS_FROM: usize;
    /// The first bytes of a server's messages.
    const KINDS: &'static [u8];

    /// What an honest server says at a step.
    fn honest(step: usize) -> Vec<u8>;

    /// Puts messages together, each given by its first byte and the rest, in place of an honest answer.
    fn framed(messages: &[(u8, Vec<u8>)], honest: &[u8]) -> Vec<u8>;

    /// How an answer with rows begins, and rows that can follow each other without end.
    fn endless() -> (Vec<u8>, Vec<u8>);
}

/// A driver for a server on this machine, with short limits.
pub fn driver<P: Database>(scheme: &str, port: u16) -> P::Driver {
    let rest = format!("//root@127.0.0.1:{port}/d?connect_timeout=150ms&read_timeout=80ms&tls=preferred");
    let target = P::parse(scheme, &rest).unwrap().unwrap();
    P::driver(&target, &Secret::new(PASSWORD), &Wishes::default()).unwrap()
}

/// What the client says at one step; it says it in one write.
fn hear(stream: &mut TcpStream) -> std::io::Result<()> {
    let mut heard = [0; 4096];
    if stream.read(&mut heard)? == 0 { Err(std::io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
}

/// A server that says `says(step)` at each step and then does what `ends` does with the connection.
fn serve<P: Protocol>(
    steps: usize,
    says: impl Fn(usize) -> Vec<u8> + Send + 'static,
    ends: impl FnOnce(&mut TcpStream) -> std::io::Result<()> + Send + 'static,
) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept()?;
        for step in 0..steps {
            if step >= P::HEARS_FROM {
                hear(&mut stream)?;
            }
            stream.write_all(&says(step))?;
        }
        ends(&mut stream)
    });
    port
}

/// A server that says `says(step)` at each step and then closes or falls silent.
pub fn server<P: Protocol>(steps: usize, says: impl Fn(usize) -> Vec<u8> + Send + 'static, then_silent: bool) -> u16 {
    serve::<P>(steps, says, move |stream| {
        // Until the client has had enough.
        while then_silent && stream.read(&mut [0; 512])? > 0 {}
        Ok(())
    })
}

fn catalogue() -> (Arc<Catalogue>, StatementId, StatementId) {
    let mut catalogue = Catalogue::default();
    let kept = catalogue.add_read("SELECT a FROM t WHERE id = ?");
    let counted = catalogue.add(Verb::Select, "SELECT a FROM t WHERE id = ?");
    (Arc::new(catalogue), kept, counted)
}

/// The client's side of a conversation: a statement whose rows are kept, one whose rows are counted, and a query; each
/// returns 42 and NULL.
async fn converse(driver: impl Driver) -> Result<(), DriverError> {
    let (catalogue, kept, counted) = catalogue();
    let mut session = driver.connect(SessionId::Own(0)).await?;
    session.prepare(&catalogue).await?;
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

/// What the client makes of a server, whose addresses begin with `scheme`. No error is without words, and none shows the
/// password.
///
/// # Errors
/// The client's.
pub fn conversation<P: Protocol>(scheme: &str, port: u16) -> Result<(), DriverError> {
    let result = block_on(converse(driver::<P>(scheme, port))).unwrap();
    if let Err(error) = &result {
        let text = format!("{error} {error:?}");
        assert!(!text.contains(PASSWORD) && !error.message.is_empty(), "{text}");
    }
    result
}

/// What the client makes of a server whose answer at one step is another.
pub fn error_at<P: Protocol>(step: usize, answer: Vec<u8>) -> DriverError {
    let says = move |t| if t == step { answer.clone() } else { P::honest(t) };
    conversation::<P>(P::SCHEME, server::<P>(P::STEPS, says, true)).unwrap_err()
}

/// Checks that the server was found not to speak the protocol.
#[track_caller]
pub fn assert_malformed(error: &DriverError) {
    // Before the login another server may listen there.
    let class = if error.class == ErrorClass::Refused { ErrorClass::Refused } else { ErrorClass::Fatal };
    assert_error(error, class, ErrorCode::Word("client", "protocol"));
}

/// A server that says what it should.
pub fn an_honest_server_is_understood<P: Protocol>() {
    conversation::<P>(P::SCHEME, server::<P>(P::STEPS, P::honest, true)).unwrap();
}

/// Servers that fall silent or close the connection at each step.
pub fn silence_is_a_timeout_and_a_closed_connection_is_told_at_every_step<P: Protocol>() {
    for step in 0..P::STEPS {
        for (silent, word) in [(true, "timeout"), (false, "closed")] {
            let started = Instant::now();
            let error = conversation::<P>(P::SCHEME, server::<P>(step, P::honest, silent)).unwrap_err();
            assert_error(&error, ErrorClass::Lost, ErrorCode::Word("client", word));
            assert!(started.elapsed() < Duration::from_secs(1), "step {step}: {:?}", started.elapsed());
        }
    }
}

/// Rows that do not end, to the statement whose rows are counted.
pub fn rows_without_end_run_into_the_limit<P: Protocol>() {
    let port = serve::<P>(P::STEPS - 2, P::honest, |stream| {
        let (head, rows) = P::endless();
        hear(stream)?;
        stream.write_all(&head)?;
        loop {
            stream.write_all(&rows)?;
        }
    });
    let error = conversation::<P>(P::SCHEME, port).unwrap_err();
    assert_eq!(error.code, ErrorCode::Word("client", "timeout"), "{error}");
}

/// A future that is dropped half way, as an abort of the run does it.
pub fn an_answer_that_was_given_up_is_not_taken_for_another<P: Protocol>() {
    block_on(async {
        let login = P::STEPS - 5;
        let driver = driver::<P>(P::SCHEME, server::<P>(login, P::honest, true));
        let mut session = driver.connect(SessionId::Own(0)).await.unwrap();
        session.prepare(&catalogue().0).await.unwrap();
        let mut rows = Rows::default();
        let abandoned = timeout_at(now() + Duration::from_millis(5), session.query("SELECT 1", &mut rows)).await;
        assert!(abandoned.is_err());
        for error in [session.query("SELECT 2", &mut rows).await.unwrap_err(), session.rollback().await.unwrap_err()] {
            assert_error(&error, ErrorClass::Lost, ErrorCode::Word("client", "closed"));
        }
        session.close().await;
    })
    .unwrap();
}

/// What a server does at its bad step.
#[derive(Debug, Clone)]
enum Evil {
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
    /// What it says in place of `all`.
    fn says<P: Protocol>(&self, mut all: Vec<u8>) -> Vec<u8> {
        match self {
            Self::Bytes(bytes) => return bytes.clone(),
            Self::Messages(messages) => return P::framed(messages, &all),
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
fn evil(kinds: &'static [u8]) -> impl Strategy<Value = Evil> {
    let bytes = |most| prop::collection::vec(any::<u8>(), 0..most);
    let kind = prop_oneof![prop::sample::select(kinds), any::<u8>()];
    prop_oneof![
        bytes(400).prop_map(Evil::Bytes),
        prop::collection::vec((kind, bytes(40)), 1..8).prop_map(Evil::Messages),
        any::<usize>().prop_map(Evil::Cut),
        prop::collection::vec((any::<usize>(), any::<u8>()), 1..6).prop_map(Evil::Changed),
    ]
}

/// No panic, no hang, and no success where an answer was cut.
pub fn no_server_makes_the_client_panic_or_hang<P: Protocol>() {
    let input = (0..P::STEPS, evil(P::KINDS), prop::bool::weighted(0.1));
    let result = TestRunner::new(cases(400, file!())).run(&input, |(step, evil, silent)| {
        let is = evil.clone();
        let says = move |t| if t == step { is.says::<P>(P::honest(t)) } else { P::honest(t) };
        let started = Instant::now();
        let result = conversation::<P>(P::SCHEME, server::<P>(step + 1, says, silent));
        prop_assert!(started.elapsed() < Duration::from_secs(3), "{:?}", started.elapsed());
        prop_assert!(!matches!(evil, Evil::Cut(_)) || result.is_err());
        Ok(())
    });
    result.unwrap_or_else(|failed| panic!("{failed}"));
}
