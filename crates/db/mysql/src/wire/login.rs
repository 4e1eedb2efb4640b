//! From a connected socket to a session ("Connection Phase"): greeting, TLS, password, and whatever the server asks in
//! between.

use perbuck_load::error::{DriverError, ErrorClass};

use crate::wire::Wire;
use crate::wire::answer::ResultReader;
use crate::wire::auth::{Plugin, rsa_encrypt};
use crate::wire::bytes::put_lenenc_bytes;
use crate::wire::packets::{Done, Greeting};
use crate::wire::protocol::capability;
use perbuck_database::server::TlsMode;
use perbuck_net::link::Link;
use perbuck_net::reach::Access;
use perbuck_net::reader::Reader;
use perbuck_net::{Malformed, printable};

/// utf8mb4_general_ci, which every server of this protocol since MySQL 5.5 knows.
const COLLATION: u8 = 45;
/// The largest value of `max_allowed_packet`.
const MAX_PACKET: u32 = 0x4000_0000;
/// A server may switch the method and ask for more a few times, but not for ever.
const MAX_ROUNDS: usize = 8;

const WANTED: u32 = capability::LONG_PASSWORD
    | capability::LONG_FLAG
    | capability::CONNECT_WITH_DB
    | capability::LOCAL_FILES
    | capability::PROTOCOL_41
    | capability::TRANSACTIONS
    | capability::SECURE_CONNECTION
    | capability::MULTI_RESULTS
    | capability::PS_MULTI_RESULTS
    | capability::PLUGIN_AUTH
    | capability::PLUGIN_AUTH_LENENC
    | capability::DEPRECATE_EOF;

/// Logs in; the reader of answers as was agreed upon.
pub(crate) async fn login(wire: &mut Wire, host: &str, access: &Access, counts_found: bool) -> Result<ResultReader, DriverError> {
    let Access { target, password, tls } = access;
    let greeting = greeting(wire).await?;
    let found = if counts_found { capability::FOUND_ROWS } else { 0 };
    let mut capabilities = greeting.capabilities & (WANTED | found);
    match (tls, greeting.capabilities & capability::SSL != 0) {
        (Some(config), true) => {
            capabilities |= capability::SSL;
            let name = Link::tls_name(host, target.tls)?;
            // "Protocol::SSLRequest" is the beginning of the response that follows under TLS.
            let out = wire.reply();
            put_client(out, capabilities);
            wire.send_reply().await?;
            wire.start_tls(config.clone(), name).await?;
        }
        (Some(_), false) if target.tls != TlsMode::Preferred => return Err(wire.offers_no_tls()),
        _ => {}
    }
    // A default method that we do not know is answered in another; the server then asks for that of the account.
    let plugin = Plugin::named(&greeting.plugin).unwrap_or(Plugin::Native);
    let out = wire.reply();
    put_client(out, capabilities);
    out.extend_from_slice(target.user.as_bytes());
    out.push(0);
    // No answer is longer than 64 bytes, so that both ways of writing its length are the same byte.
    put_lenenc_bytes(out, &plugin.answer(password.bytes(), &greeting.challenge));
    if capabilities & capability::CONNECT_WITH_DB != 0 {
        out.extend_from_slice(target.database.as_bytes());
        out.push(0);
    }
    if capabilities & capability::PLUGIN_AUTH != 0 {
        out.extend_from_slice(plugin.name());
        out.push(0);
    }
    wire.send_reply().await?;
    let dialogue = Dialogue { plugin, challenge: greeting.challenge, access };
    let status = dialogue.run(wire).await?;
    wire.logged_in();
    Ok(ResultReader::new(capabilities, status))
}

async fn greeting(wire: &mut Wire) -> Result<Greeting, DriverError> {
    let packet = wire.packet().await?;
    match wire.bytes(&packet) {
        [0xff, ..] => Err(not_let_in(wire.server_error(&packet), wire.address())),
        payload => Greeting::parse(payload).map_err(|why| wire.malformed(why)),
    }
}

/// The first 32 bytes of "Protocol::HandshakeResponse41".
fn put_client(out: &mut Vec<u8>, capabilities: u32) {
    out.extend_from_slice(&capabilities.to_le_bytes());
    out.extend_from_slice(&MAX_PACKET.to_le_bytes());
    out.push(COLLATION);
    out.extend_from_slice(&[0; 23]);
}

struct Dialogue<'a> {
    plugin: Plugin,
    challenge: Vec<u8>,
    access: &'a Access,
}

impl Dialogue<'_> {
    /// Answers until the server says OK; returns its status flags.
    async fn run(mut self, wire: &mut Wire) -> Result<u16, DriverError> {
        for _ in 0..MAX_ROUNDS {
            let packet = wire.packet().await?;
            let payload = wire.bytes(&packet);
            match payload {
                [0x00, ..] => return Done::parse_ok(payload).map(|done| done.status).map_err(|why| wire.malformed(why)),
                [0xff, ..] => return Err(not_let_in(wire.server_error(&packet), wire.address())),
                [0xfe, request @ ..] => {
                    let request = request.to_vec();
                    self.switch(wire, &request).await?;
                }
                // "Protocol::AuthMoreData" of caching_sha2_password: the cached hash did, an OK follows; or it did not.
                [0x01, 0x03] if self.plugin == Plugin::CachingSha2 => {}
                [0x01, 0x04] if self.plugin == Plugin::CachingSha2 => self.send_password(wire).await?,
                [] => return Err(wire.malformed(Malformed("an empty packet during the login"))),
                _ => return Err(wire.malformed(Malformed("an unknown packet during the login"))),
            }
        }
        Err(wire.malformed(Malformed("the login does not end")))
    }

    /// "Protocol::AuthSwitchRequest": the account wants another method.
    async fn switch(&mut self, wire: &mut Wire, request: &[u8]) -> Result<(), DriverError> {
        let mut r = Reader::new(request);
        let name = r.nul_bytes();
        let Some(plugin) = Plugin::named(name) else {
            let name = if name.is_empty() { "mysql_old_password".to_owned() } else { printable(name) };
            let (address, user) = (wire.address(), &self.access.target.user);
            let message = format!(
                "{address} wants the login method `{name}` for `{user}`, which perbuck does not support; \
                 use an account with mysql_native_password, caching_sha2_password or ed25519"
            );
            return Err(DriverError::client(ErrorClass::Refused, "auth", message));
        };
        self.plugin = plugin;
        // By length, not by the NUL after it: the 32 random bytes of ed25519 may end with one of their own.
        let challenge = r.rest();
        self.challenge = challenge[..challenge.len().min(plugin.challenge_length())].to_vec();
        let answer = plugin.answer(self.access.password.bytes(), &self.challenge);
        wire.reply().extend_from_slice(&answer);
        wire.send_reply().await
    }

    /// The full exchange of caching_sha2_password: the server wants the password itself. Under TLS it is sent as it
    /// is, otherwise for the private key of the server only.
    async fn send_password(&mut self, wire: &mut Wire) -> Result<(), DriverError> {
        self.access.may_send_password(wire)?;
        let password = &self.access.password;
        if wire.socket.is_encrypted() {
            let out = wire.reply();
            out.extend_from_slice(password.bytes());
            out.push(0);
        } else {
            wire.reply().push(2);
            wire.send_reply().await?;
            let packet = wire.packet().await?;
            let key = match wire.bytes(&packet) {
                [0x01, key @ ..] => key,
                [0xff, ..] => return Err(not_let_in(wire.server_error(&packet), wire.address())),
                _ => return Err(wire.malformed(Malformed("a public key was expected"))),
            };
            let encrypted = rsa_encrypt(password.bytes(), &self.challenge, key).map_err(|why| wire.malformed(why))?;
            wire.reply().extend_from_slice(&encrypted);
        }
        let sent = wire.send_reply().await;
        wire.scrub();
        sent
    }
}

/// An error during the login keeps us out whatever its number, unless the server was about to go.
fn not_let_in(mut error: DriverError, address: &str) -> DriverError {
    if matches!(error.class, ErrorClass::Fatal | ErrorClass::Failed | ErrorClass::Retry) {
        error.class = ErrorClass::Refused;
    }
    error.message = format!("{address} refused the login: {}", error.message);
    error
}
