//! How two processes agree: TLS, then the versions, then the proofs. The certificate is made for the moment and proves nothing; each side
//! proves that it knows the token, bound to this very connection, so that no third program can stand between them.

use std::fmt;
use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, ClientConnection, Connection, DigitallySignedStruct, ServerConfig, ServerConnection, SignatureScheme,
};
use serde::{Deserialize, Serialize};

use crate::PROTOCOL;
use crate::build::Build;
use crate::channel::{Channel, first_frame, frame, from_bytes};
use crate::clock::Clock;
use crate::token::Token;
use crate::wire::{Reading, Wire};

/// How long the other side may take for each step.
const LIMIT: Duration = Duration::from_secs(5);
/// Before the proof, no frame is longer.
const LONGEST: usize = 64 * 1024;
const COORDINATOR: &str = "perbuck coordinator";
const AGENT: &str = "perbuck agent";

/// Why two processes did not agree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FleetError {
    /// It cannot be reached, or fell silent.
    Unreachable(String),
    /// Its machine answers, and no program listens there.
    Absent(String),
    /// It speaks another version: that one.
    Version(String),
    /// It is another build of the same version: the hashes of both program files, its own first.
    Build(String, String),
    /// It does not know the token, or says that this side does not.
    Token,
    /// It refuses, and says why.
    Refused(String),
}

impl fmt::Display for FleetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(why) | Self::Absent(why) => write!(f, "it cannot be reached: {why}"),
            Self::Version(other) => {
                write!(f, "it is {other}, and this is perbuck {} of protocol {PROTOCOL}", env!("CARGO_PKG_VERSION"))
            }
            Self::Build(other, own) => write!(
                f,
                "it is another build of perbuck {}: the SHA-256 of its program starts with {other}, and here with {own}",
                env!("CARGO_PKG_VERSION")
            ),
            Self::Token => f.write_str("its token is another one"),
            Self::Refused(why) => write!(f, "it refuses: {why}"),
        }
    }
}

impl std::error::Error for FleetError {}

impl From<io::Error> for FleetError {
    fn from(error: io::Error) -> Self {
        use io::ErrorKind::{TimedOut, WouldBlock};
        if error.kind() == io::ErrorKind::ConnectionRefused {
            return Self::Absent(error.to_string());
        }
        let late = matches!(error.kind(), TimedOut | WouldBlock);
        Self::Unreachable(if late { format!("it did not answer within {LIMIT:?}") } else { error.to_string() })
    }
}

/// What is said before anything else is trusted.
#[derive(Debug, Serialize, Deserialize)]
enum Word {
    Hello {
        protocol: u32,
        perbuck: String,
        // Protocol 1 says neither.
        #[serde(default)]
        arch: String,
        #[serde(default)]
        build: String,
    },
    Proof(Vec<u8>),
    Welcome,
    WrongToken,
    Refused(String),
}

/// Which side this process is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Coordinator,
    Agent,
}

/// Reaches an agent at `host:port`.
///
/// # Errors
/// It is not there, or they do not agree.
pub fn reach(address: &str, (token, build): (&Token, &Build), clock: Clock) -> Result<Channel, FleetError> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for one in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&one, LIMIT) {
            Ok(stream) => return agree(Side::Coordinator, &stream, (token, build), clock, || Ok(())),
            Err(error) => last = error,
        }
    }
    Err(last.into())
}

/// Agrees with a coordinator that has connected. `free` says why it is refused, if it is.
///
/// # Errors
/// They do not agree.
pub fn accept(
    stream: &TcpStream,
    (token, build): (&Token, &Build),
    clock: Clock,
    free: impl FnOnce() -> Result<(), String>,
) -> Result<Channel, FleetError> {
    agree(Side::Agent, stream, (token, build), clock, free)
}

fn agree(
    side: Side,
    socket: &TcpStream,
    (token, build): (&Token, &Build),
    clock: Clock,
    free: impl FnOnce() -> Result<(), String>,
) -> Result<Channel, FleetError> {
    socket.set_nodelay(true)?;
    socket.set_read_timeout(Some(LIMIT))?;
    // Also later: a side that takes no bytes for so long is lost.
    socket.set_write_timeout(Some(LIMIT))?;
    let (wire, reading) = Wire::new(tls(side)?, socket)?;
    let mut talk = Talk { until: Instant::now() + LIMIT, wire, reading, bytes: Vec::new(), build };
    let agreed = match side {
        Side::Coordinator => talk.as_coordinator(token),
        Side::Agent => talk.as_agent(token, free),
    };
    if let Err(error) = agreed {
        talk.wire.close();
        return Err(error);
    }
    // From now on a pulse tells whether the other side is there.
    socket.set_read_timeout(None)?;
    Ok(Channel::new(talk.wire, talk.reading, talk.bytes, clock))
}

struct Talk<'a> {
    /// When the two must have agreed.
    until: Instant,
    wire: Wire,
    reading: Reading,
    bytes: Vec<u8>,
    build: &'a Build,
}

impl Talk<'_> {
    fn as_coordinator(&mut self, token: &Token) -> Result<(), FleetError> {
        self.wire.send(&[])?;
        self.greet()?;
        let binding = self.wire.binding()?;
        self.say(&Word::Proof(token.proof(COORDINATOR, &binding)))?;
        match self.hear()? {
            Word::Proof(proof) if token.proves(AGENT, &binding, &proof) => {}
            Word::Refused(why) => return Err(FleetError::Refused(why)),
            _ => return Err(FleetError::Token),
        }
        self.say(&Word::Welcome)
    }

    fn as_agent(&mut self, token: &Token, free: impl FnOnce() -> Result<(), String>) -> Result<(), FleetError> {
        self.greet()?;
        let binding = self.wire.binding()?;
        match self.hear()? {
            Word::Proof(proof) if token.proves(COORDINATOR, &binding, &proof) => {}
            _ => {
                self.say(&Word::WrongToken)?;
                return Err(FleetError::Token);
            }
        }
        if let Err(why) = free() {
            self.say(&Word::Refused(why.clone()))?;
            return Err(FleetError::Refused(why));
        }
        self.say(&Word::Proof(token.proof(AGENT, &binding)))?;
        match self.hear()? {
            Word::Welcome => Ok(()),
            _ => Err(FleetError::Token),
        }
    }

    /// Both say who they are. Of two builds that differ each would draw its share of another plan.
    fn greet(&mut self) -> Result<(), FleetError> {
        let Build { arch, hash } = self.build.clone();
        self.say(&Word::Hello { protocol: PROTOCOL, perbuck: env!("CARGO_PKG_VERSION").to_owned(), arch, build: hash })?;
        match self.hear()? {
            Word::Hello { protocol: PROTOCOL, perbuck, arch, build } if perbuck == env!("CARGO_PKG_VERSION") => {
                let other = Build { arch, hash: build };
                let differ = || FleetError::Build(other.short().to_owned(), self.build.short().to_owned());
                if self.build.differs(&other) { Err(differ()) } else { Ok(()) }
            }
            Word::Hello { protocol, perbuck, .. } => {
                Err(FleetError::Version(format!("perbuck {perbuck} of protocol {protocol}")))
            }
            _ => Err(FleetError::Version("no perbuck".to_owned())),
        }
    }

    fn say(&mut self, word: &Word) -> Result<(), FleetError> {
        while self.wire.is_handshaking() {
            self.more()?;
        }
        let payload = serde_json::to_vec(word).map_err(io::Error::from)?;
        Ok(self.wire.send(&frame(0, &payload))?)
    }

    fn hear(&mut self) -> Result<Word, FleetError> {
        loop {
            if let Some((_, payload)) = first_frame(&self.bytes, LONGEST)? {
                let rest = self.bytes.split_off(payload.end);
                let whole = std::mem::replace(&mut self.bytes, rest);
                return from_bytes(&whole[payload]).map_err(|_| FleetError::Version("no perbuck".to_owned()));
            }
            self.more()?;
        }
    }

    fn more(&mut self) -> Result<(), FleetError> {
        if Instant::now() > self.until {
            return Err(io::Error::from(io::ErrorKind::TimedOut).into());
        }
        if self.wire.receive(&mut self.reading, &mut self.bytes)? {
            return Ok(());
        }
        Err(FleetError::Unreachable("it closed the connection while the two agreed".to_owned()))
    }
}

pub(crate) fn tls(side: Side) -> io::Result<Connection> {
    let provider = Arc::new(ring::default_provider());
    match side {
        Side::Coordinator => {
            let config = ClientConfig::builder_with_provider(provider.clone())
                .with_protocol_versions(&[&rustls::version::TLS13])
                .map_err(io::Error::other)?
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(AnyCertificate(provider)))
                .with_no_client_auth();
            let name = ServerName::try_from("agent.perbuck").map_err(io::Error::other)?;
            Ok(ClientConnection::new(Arc::new(config), name).map_err(io::Error::other)?.into())
        }
        Side::Agent => {
            let made = rcgen::generate_simple_self_signed(vec!["agent.perbuck".to_owned()]).map_err(io::Error::other)?;
            let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
            let config = ServerConfig::builder_with_provider(provider)
                .with_protocol_versions(&[&rustls::version::TLS13])
                .map_err(io::Error::other)?
                .with_no_client_auth()
                .with_single_cert(vec![made.cert.der().clone()], key.into())
                .map_err(io::Error::other)?;
            Ok(ServerConnection::new(Arc::new(config)).map_err(io::Error::other)?.into())
        }
    }
}

/// Takes any certificate whose owner signs the handshake: who it is, the token proves after it.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
