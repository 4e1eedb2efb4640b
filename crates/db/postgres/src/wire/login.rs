//! From a connected socket to a session ("Start-up"): TLS, who we are, the password, and what the server says of itself.

use std::future::poll_fn;
use std::sync::Arc;

use perbuck_load::error::{DriverError, ErrorClass, ErrorCode};
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use rustls::ClientConfig;

use crate::errors::class_of;
use crate::family::{Family, Said};
use crate::preflight::unless_mysql;
use crate::wire::messages::{Message, kind, put_message, put_sized, put_text, ready_status};
use crate::wire::{Wire, is_aside};
use perbuck_database::server::TlsMode;
use perbuck_net::link::Link;
use perbuck_net::reach::Access;
use perbuck_net::reader::Reader;
use perbuck_net::{Malformed, printable};

/// What we are called in the server's lists.
pub(crate) const APPLICATION: &str = "perbuck";
const PROTOCOL_VERSION: u32 = 3 << 16;
/// The number that stands for a version where TLS is asked for.
const TLS_REQUEST: u32 = 80_877_103;
/// The most messages of a login: a server must not keep it going for ever.
const MAX_MESSAGES: usize = 1_000;

/// Logs in; the state of the transaction, which is idle.
pub(crate) async fn login(wire: &mut Wire, host: &str, family: Family, access: &Access) -> Result<u8, DriverError> {
    let Access { target, tls, .. } = access;
    if let Some(config) = tls {
        negotiate_tls(wire, host, target.tls, config).await?;
    }
    let out = wire.reply();
    put_sized(out, |out| {
        out.extend_from_slice(&PROTOCOL_VERSION.to_be_bytes());
        // Poolers let these settings through, and no others.
        let parameters = [
            ("user", &*target.user),
            ("database", &*target.database),
            ("client_encoding", "UTF8"),
            ("standard_conforming_strings", "on"),
            ("application_name", APPLICATION),
        ];
        for text in parameters.iter().flat_map(|(name, value)| [name, value]) {
            put_text(out, text.as_bytes());
        }
        out.push(0);
    });
    wire.send().await?;
    heard(wire).await?;
    let said = Said::default();
    let dialogue = Dialogue { access, scram: Scram::Unasked, authenticated: false, said };
    let (status, said) = dialogue.run(wire).await?;
    said.check(family, wire.address())?;
    wire.logged_in();
    Ok(status)
}

/// Waits for the first bytes of an answer, which may be those of another protocol.
async fn heard(wire: &mut Wire) -> Result<(), DriverError> {
    poll_fn(|_| wire.poll_receive()).await?;
    unless_mysql(wire)
}

/// Asks for TLS; the answer is a single byte.
async fn negotiate_tls(wire: &mut Wire, host: &str, mode: TlsMode, config: &Arc<ClientConfig>) -> Result<(), DriverError> {
    put_sized(wire.reply(), |out| out.extend_from_slice(&TLS_REQUEST.to_be_bytes()));
    wire.send().await?;
    heard(wire).await?;
    match wire.inbox.arrived().first() {
        Some(b'S') => {
            wire.inbox.take(0, 1);
            let name = Link::tls_name(host, mode)?;
            wire.start_tls(Arc::clone(config), name).await
        }
        Some(b'N') if mode == TlsMode::Preferred => {
            wire.inbox.take(0, 1);
            Ok(())
        }
        Some(b'N') => Err(wire.offers_no_tls()),
        // A server that cannot start a session (too many processes) says why.
        Some(b'E') => {
            let message = wire.message().await?;
            Err(not_let_in(wire.server_error(&message).error, wire.address()))
        }
        _ => Err(wire.malformed(Malformed("its answer to the request for TLS is neither yes nor no"))),
    }
}

fn refused(message: String) -> DriverError {
    DriverError::client(ErrorClass::Refused, "auth", message)
}

/// How far SCRAM is. The server must also prove that it knows the password; otherwise the login ends.
enum Scram {
    Unasked,
    Begun(Box<ScramSha256>),
    Answered(Box<ScramSha256>),
    Proven,
}

struct Dialogue<'a> {
    access: &'a Access,
    scram: Scram,
    authenticated: bool,
    said: Said,
}

impl Dialogue<'_> {
    /// Answers until the server is ready.
    async fn run(mut self, wire: &mut Wire) -> Result<(u8, Said), DriverError> {
        for _ in 0..MAX_MESSAGES {
            let message = wire.any_message().await?;
            match message.kind {
                kind::PARAMETER_STATUS => self.said.hear(wire.body(&message)).map_err(|why| wire.malformed(why))?,
                kind if is_aside(kind) => {}
                kind::AUTHENTICATION if !self.authenticated => self.authenticate(wire, &message).await?,
                kind::ERROR => return Err(not_let_in(wire.server_error(&message).error, wire.address())),
                kind::BACKEND_KEY_DATA if self.authenticated => {}
                kind::READY if self.authenticated => {
                    let status = ready_status(wire.body(&message)).map_err(|why| wire.malformed(why))?;
                    return Ok((status, self.said));
                }
                kind::NEGOTIATE_VERSION => {
                    return Err(wire.malformed(Malformed("it speaks a version before 3.0")));
                }
                _ => return Err(wire.malformed(Malformed("an unknown message during the login"))),
            }
        }
        Err(wire.malformed(Malformed("the login does not end")))
    }

    /// What "Authentication…" asks for.
    async fn authenticate(&mut self, wire: &mut Wire, message: &Message) -> Result<(), DriverError> {
        let body = wire.body(message).to_vec();
        let mut r = Reader::new(&body);
        let method = r.be_u32().map_err(|why| wire.malformed(why))?;
        match (method, &self.scram) {
            (0, Scram::Unasked | Scram::Proven) => {
                self.authenticated = true;
                Ok(())
            }
            (0, _) => Err(wire.malformed(Malformed("it accepted the login without proof that it knows the password"))),
            (3, Scram::Unasked) => self.send_cleartext(wire).await,
            (5, Scram::Unasked) => {
                let salt = r.array().map_err(|why| wire.malformed(why))?;
                let hash = md5_hash(self.access.target.user.as_bytes(), self.known_password(wire)?, salt);
                send_secret(wire, |out| put_text(out, hash.as_bytes())).await
            }
            (10, Scram::Unasked) => self.begin_scram(wire, r.rest()).await,
            (11, Scram::Begun(_)) => self.answer_scram(wire, r.rest()).await,
            (12, Scram::Answered(_)) => self.finish_scram(wire, r.rest()),
            (2 | 7 | 8 | 9, _) => Err(self.unknown_method(wire, "Kerberos, GSSAPI or SSPI")),
            (0..=12, _) => Err(wire.malformed(Malformed("a login message is out of order"))),
            _ => Err(self.unknown_method(wire, &format!("method {method}"))),
        }
    }

    fn unknown_method(&self, wire: &Wire, method: &str) -> DriverError {
        let message = format!(
            "{} wants a login by {method} for `{}`, which perbuck does not support; \
             set scram-sha-256 in pg_hba.conf of the server",
            wire.address(),
            self.access.target.user
        );
        refused(message)
    }

    /// No server has an account with an empty password.
    fn known_password(&self, wire: &Wire) -> Result<&[u8], DriverError> {
        if self.access.password.is_empty() {
            let message =
                format!("{} asks for the password of `{}`, but none was given", wire.address(), self.access.target.user);
            return Err(refused(message));
        }
        Ok(self.access.password.bytes())
    }

    /// The password itself, which the server alone may see.
    async fn send_cleartext(&self, wire: &mut Wire) -> Result<(), DriverError> {
        if !wire.socket.is_encrypted() {
            let message = format!(
                "{} asks for the password of `{}` as clear text, on a connection without TLS. perbuck did not send it. Write \
                 `tls=verify-identity` in the target, or set scram-sha-256 in pg_hba.conf of the server",
                wire.address(),
                self.access.target.user
            );
            return Err(refused(message));
        }
        self.access.may_send_password(wire)?;
        let password = self.known_password(wire)?;
        send_secret(wire, |out| put_text(out, password)).await
    }

    async fn begin_scram(&mut self, wire: &mut Wire, mechanisms: &[u8]) -> Result<(), DriverError> {
        let mut names = mechanisms.split(|b| *b == 0);
        if !names.any(|name| name == SCRAM_SHA_256.as_bytes()) {
            let offered = printable(mechanisms);
            return Err(self.unknown_method(wire, &format!("`{}`", offered.trim())));
        }
        let scram = ScramSha256::new(self.known_password(wire)?, ChannelBinding::unsupported());
        let first = scram.message().to_vec();
        send_secret(wire, |out| {
            put_text(out, SCRAM_SHA_256.as_bytes());
            out.extend_from_slice(&(first.len() as u32).to_be_bytes());
            out.extend_from_slice(&first);
        })
        .await?;
        self.scram = Scram::Begun(Box::new(scram));
        Ok(())
    }

    async fn answer_scram(&mut self, wire: &mut Wire, challenge: &[u8]) -> Result<(), DriverError> {
        let Scram::Begun(mut scram) = std::mem::replace(&mut self.scram, Scram::Unasked) else { return Ok(()) };
        if let Err(why) = scram.update(challenge) {
            return Err(refused(format!("the challenge of {} for the password is unusable: {why}", wire.address())));
        }
        let answer = scram.message().to_vec();
        send_secret(wire, |out| out.extend_from_slice(&answer)).await?;
        self.scram = Scram::Answered(scram);
        Ok(())
    }

    fn finish_scram(&mut self, wire: &Wire, proof: &[u8]) -> Result<(), DriverError> {
        let Scram::Answered(mut scram) = std::mem::replace(&mut self.scram, Scram::Unasked) else { return Ok(()) };
        if scram.finish(proof).is_err() {
            let message = format!(
                "{} did not prove that it knows the password of `{}`; check that it is the right server",
                wire.address(),
                self.access.target.user
            );
            return Err(refused(message));
        }
        self.scram = Scram::Proven;
        Ok(())
    }
}

/// Sends a message of the kind that holds passwords and proofs, and forgets it.
async fn send_secret(wire: &mut Wire, write: impl FnOnce(&mut Vec<u8>)) -> Result<(), DriverError> {
    put_message(wire.reply(), b'p', write);
    let sent = wire.send().await;
    wire.scrub();
    sent
}

/// An error during the login keeps us out whatever its code, unless the server is not there at the moment. All of them
/// end the connection, which is no reason to open it again.
fn not_let_in(mut error: DriverError, address: &str) -> DriverError {
    error.class = match error.code {
        ErrorCode::State("sqlstate", state) if class_of(&state) == ErrorClass::Lost => ErrorClass::Lost,
        _ => ErrorClass::Refused,
    };
    error.message = format!("{address} refused the login: {}", error.message);
    error
}
