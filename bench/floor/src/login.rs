//! The blocking part, before the clock runs: login with `mysql_native_password`, then preparing.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use sha1::{Digest, Sha1};

const PLUGIN: &[u8] = b"mysql_native_password";
/// LONG_PASSWORD, CONNECT_WITH_DB, PROTOCOL_41, TRANSACTIONS, SECURE_CONNECTION, PLUGIN_AUTH. Without DEPRECATE_EOF a
/// result set always ends in the same nine bytes.
const CAPABILITIES: u32 = 0x1 | 0x8 | 0x200 | 0x2000 | 0x8000 | 0x8_0000;
const STMT_PREPARE: u8 = 0x16;

/// Where and as whom to log in.
#[derive(Default)]
pub(crate) struct Server {
    /// `HOST:PORT`
    pub(crate) address: String,
    pub(crate) user: String,
    pub(crate) password: String,
    pub(crate) database: String,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Not the password.
        write!(f, "{}@{}/{}", self.user, self.address, self.database)
    }
}

/// A session that still blocks.
pub(crate) struct Session {
    reader: BufReader<TcpStream>,
}

impl Session {
    /// Connects and logs in.
    pub(crate) fn open(server: &Server) -> Result<Self, String> {
        let stream = TcpStream::connect(&server.address).map_err(|e| format!("cannot connect: {e}"))?;
        stream.set_nodelay(true).map_err(|e| e.to_string())?;
        let mut session = Self { reader: BufReader::new(stream) };
        session.log_in(server)?;
        Ok(session)
    }

    fn log_in(&mut self, server: &Server) -> Result<(), String> {
        let (number, greeting) = self.read()?;
        let scramble = scramble(&greeting).ok_or("the greeting is not one of protocol 10")?;
        let mut out = CAPABILITIES.to_le_bytes().to_vec();
        out.extend_from_slice(&[0, 0, 0, 1, 45]);
        out.extend_from_slice(&[0; 23]);
        let mut text = |bytes: &[u8]| out.extend(bytes.iter().copied().chain([0]));
        text(server.user.as_bytes());
        let proof = proof(&server.password, &scramble);
        out.push(proof.len() as u8);
        out.extend_from_slice(&proof);
        out.extend(server.database.bytes().chain([0]));
        out.extend(PLUGIN.iter().copied().chain([0]));
        self.write(number + 1, &out)?;
        let (number, answer) = self.read()?;
        let Some(switch) = answer.strip_prefix(&[0xfe]) else { return Ok(()) };
        let nonce = switch.strip_prefix(PLUGIN).and_then(|rest| rest.get(1..21));
        let nonce = nonce.ok_or("the account does not log in with mysql_native_password")?;
        self.write(number + 1, &self::proof(&server.password, nonce))?;
        self.read().map(|_| ())
    }

    /// Prepares a statement and returns its number.
    pub(crate) fn prepare(&mut self, sql: &str) -> Result<u32, String> {
        self.write(0, &[&[STMT_PREPARE], sql.as_bytes()].concat())?;
        let (_, ok) = self.read()?;
        let [0, a, b, c, d, columns, 0, params, 0, ..] = ok[..] else { return Err(format!("strange answer to PREPARE {sql}")) };
        // Definitions, then an EOF, for parameters and for columns.
        for definitions in [params, columns].into_iter().filter(|n| *n > 0) {
            for _ in 0..=definitions {
                self.read()?;
            }
        }
        Ok(u32::from_le_bytes([a, b, c, d]))
    }

    /// The socket, no longer blocking.
    pub(crate) fn finish(self) -> Result<TcpStream, String> {
        if !self.reader.buffer().is_empty() {
            return Err("the server said more than was asked".into());
        }
        let stream = self.reader.into_inner();
        stream.set_nonblocking(true).map_err(|e| e.to_string())?;
        Ok(stream)
    }

    fn read(&mut self) -> Result<(u8, Vec<u8>), String> {
        let mut header = [0; 4];
        self.reader.fill_buf().map_err(|e| e.to_string())?;
        self.reader.read_exact(&mut header).map_err(|e| format!("connection lost: {e}"))?;
        let mut packet = vec![0; u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize];
        self.reader.read_exact(&mut packet).map_err(|e| format!("connection lost: {e}"))?;
        match packet.first() {
            Some(0xff) => Err(String::from_utf8_lossy(packet.get(3..).unwrap_or_default()).into_owned()),
            _ => Ok((header[3], packet)),
        }
    }

    fn write(&mut self, number: u8, payload: &[u8]) -> Result<(), String> {
        let mut packet = (payload.len() as u32).to_le_bytes().to_vec();
        packet[3] = number;
        packet.extend_from_slice(payload);
        self.reader.get_mut().write_all(&packet).map_err(|e| format!("connection lost: {e}"))
    }
}

/// The twenty random bytes of a greeting: eight after the version and the thread, twelve further on.
fn scramble(greeting: &[u8]) -> Option<Vec<u8>> {
    let rest = greeting.strip_prefix(&[10])?;
    let rest = rest.get(rest.iter().position(|b| *b == 0)? + 1 + 4..)?;
    Some([rest.get(..8)?, rest.get(27..39)?].concat())
}

/// `SHA1(password) XOR SHA1(scramble + SHA1(SHA1(password)))`
fn proof(password: &str, scramble: &[u8]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let once = Sha1::digest(password);
    let mask = Sha1::new().chain_update(scramble).chain_update(Sha1::digest(once)).finalize();
    once.iter().zip(mask).map(|(a, b)| a ^ b).collect()
}
