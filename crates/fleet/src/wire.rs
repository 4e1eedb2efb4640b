//! TLS over a socket. rustls does the cryptography; here are the locks by which one thread reads while others write.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustls::Connection;

/// Bytes of one read.
const READ: usize = 64 * 1024;

/// What sends, from any thread.
pub(crate) struct Wire {
    tls: Mutex<Connection>,
    /// Locked before `tls`, and held while bytes leave, so that records keep their order.
    out: Mutex<TcpStream>,
    /// To end both directions at once, also while another thread waits for them.
    socket: TcpStream,
}

/// What receives, on one thread.
pub(crate) struct Reading {
    socket: TcpStream,
    room: Vec<u8>,
}

fn held<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A thread that panicked has left a TLS state that is whole: rustls has no other.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Wire {
    pub(crate) fn new(mut tls: Connection, socket: &TcpStream) -> io::Result<(Self, Reading)> {
        tls.set_buffer_limit(None);
        let wire = Self { tls: Mutex::new(tls), out: Mutex::new(socket.try_clone()?), socket: socket.try_clone()? };
        Ok((wire, Reading { socket: socket.try_clone()?, room: vec![0; READ] }))
    }

    /// Sends these bytes, and whatever TLS itself has to say.
    pub(crate) fn send(&self, plain: &[u8]) -> io::Result<()> {
        let mut out = held(&self.out);
        let mut sealed = Vec::new();
        {
            let mut tls = held(&self.tls);
            tls.writer().write_all(plain)?;
            while tls.wants_write() {
                tls.write_tls(&mut sealed)?;
            }
        }
        if sealed.is_empty() {
            return Ok(());
        }
        out.write_all(&sealed)?;
        out.flush()
    }

    /// Appends what has come in; false at the end. Before the handshake is done there may be nothing to append.
    pub(crate) fn receive(&self, reading: &mut Reading, plain: &mut Vec<u8>) -> io::Result<bool> {
        let count = reading.socket.read(&mut reading.room)?;
        let mut sealed = reading.room.get(..count).unwrap_or_default();
        let answers = {
            let mut tls = held(&self.tls);
            while !sealed.is_empty() {
                if tls.read_tls(&mut sealed)? == 0 {
                    // The other side has said that it ends; what follows belongs to nothing.
                    return Ok(false);
                }
                let state = tls.process_new_packets().map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e))?;
                let before = plain.len();
                plain.resize(before + state.plaintext_bytes_to_read(), 0);
                tls.reader().read_exact(&mut plain[before..])?;
            }
            tls.wants_write()
        };
        if answers {
            self.send(&[])?;
        }
        Ok(count > 0)
    }

    pub(crate) fn is_handshaking(&self) -> bool {
        held(&self.tls).is_handshaking()
    }

    /// Bytes that both ends of this connection know, and no other connection has (exported keying material, RFC 5705).
    pub(crate) fn binding(&self) -> io::Result<[u8; 32]> {
        let tls = held(&self.tls);
        tls.export_keying_material([0; 32], b"EXPORTER-perbuck-fleet", None).map_err(io::Error::other)
    }

    pub(crate) fn close(&self) {
        // The other side may have closed it before.
        let _ = self.socket.shutdown(Shutdown::Both);
    }
}
