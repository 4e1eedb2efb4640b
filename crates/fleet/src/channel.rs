//! Messages both ways, with a pulse: each side knows when the other one has fallen silent, and how far its clock is away.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use serde::Serialize;
use serde::de::{DeserializeOwned, Error};

use crate::clock::{Clock, Offset, Trips};
use crate::wire::{Reading, Wire};

/// How often each side asks the other whether it is there.
const PULSE: Duration = Duration::from_millis(100);
/// A frame is at most that long: what a hundred workers saw of a trial is a few megabytes.
const LONGEST: usize = 256 << 20;
/// Length and kind.
pub(crate) const HEAD: usize = 5;

/// How a connection ends that is not cut.
const CLOSED: &str = "the other side closed the connection";

const MESSAGE: u8 = 0;
const ASK: u8 = 1;
const ANSWER: u8 = 2;

/// One side of a connection that both ends have agreed on.
pub struct Channel {
    shared: Arc<Shared>,
    messages: Mutex<Receiver<Vec<u8>>>,
}

struct Shared {
    wire: Wire,
    clock: Clock,
    trips: Mutex<Trips>,
    heard_ns: AtomicI64,
    closed: AtomicBool,
    why: Mutex<String>,
}

/// What came, or not.
#[derive(Debug, PartialEq, Eq)]
pub enum Received<T> {
    /// A message.
    Message(T),
    /// None within the time.
    Nothing,
    /// None will come: why.
    Closed(String),
}

/// The bytes of a frame.
pub(crate) fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEAD + payload.len());
    bytes.extend((payload.len() as u32).to_be_bytes());
    bytes.push(kind);
    bytes.extend(payload);
    bytes
}

/// The first whole frame: its kind, and where its payload lies.
pub(crate) fn first_frame(bytes: &[u8], longest: usize) -> io::Result<Option<(u8, std::ops::Range<usize>)>> {
    let Some(head) = bytes.first_chunk::<HEAD>() else { return Ok(None) };
    let length = u32::from_be_bytes([head[0], head[1], head[2], head[3]]) as usize;
    if length > longest {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("a frame of {length} bytes")));
    }
    Ok((bytes.len() >= HEAD + length).then(|| (head[4], HEAD..HEAD + length)))
}

impl Channel {
    /// Goes on where the handshake ended, with what came after it.
    pub(crate) fn new(wire: Wire, reading: Reading, rest: Vec<u8>, clock: Clock) -> Self {
        let heard_ns = AtomicI64::new(clock());
        let shared = Arc::new(Shared {
            wire,
            clock,
            trips: Mutex::default(),
            heard_ns,
            closed: AtomicBool::new(false),
            why: Mutex::default(),
        });
        let (send, messages) = mpsc::channel();
        let reader = shared.clone();
        thread::spawn(move || match reader.read(reading, rest, &send) {
            Ok(()) => reader.end(CLOSED),
            Err(error) => reader.failed(&error),
        });
        let pulse = shared.clone();
        thread::spawn(move || {
            while !pulse.closed.load(Ordering::Relaxed) {
                let now = (pulse.clock)().to_be_bytes();
                if let Err(error) = pulse.wire.send(&frame(ASK, &now)) {
                    pulse.failed(&error);
                }
                thread::sleep(PULSE);
            }
        });
        Self { shared, messages: Mutex::new(messages) }
    }

    /// Sends a message.
    ///
    /// # Errors
    /// The connection has ended.
    pub fn send(&self, message: &impl Serialize) -> io::Result<()> {
        let payload = serde_json::to_vec(message)?;
        self.shared.wire.send(&frame(MESSAGE, &payload)).inspect_err(|error| self.shared.failed(error))
    }

    /// The next message, waited for that long at most. One that cannot be read ends the connection: the other side speaks another protocol.
    pub fn receive<T: DeserializeOwned>(&self, wait: Duration) -> Received<T> {
        let next = self.messages.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(wait);
        match next {
            Ok(bytes) => match from_bytes(&bytes) {
                Ok(message) => Received::Message(message),
                Err(e) => {
                    self.shared.end(&format!("a message cannot be read: {e}"));
                    Received::Closed(self.shared.why())
                }
            },
            Err(RecvTimeoutError::Timeout) => Received::Nothing,
            Err(RecvTimeoutError::Disconnected) => Received::Closed(self.shared.why()),
        }
    }

    /// For how long nothing came from the other side, which says something ten times a second.
    pub fn silent_for(&self) -> Duration {
        let since = (self.shared.clock)() - self.shared.heard_ns.load(Ordering::Relaxed);
        Duration::from_nanos(since.max(0) as u64)
    }

    /// The other clock minus this one, by the best of the last round trips.
    pub fn offset(&self) -> Option<Offset> {
        self.shared.trips.lock().unwrap_or_else(PoisonError::into_inner).best((self.shared.clock)())
    }

    /// The shortest of the last round trips.
    pub fn round_trip(&self) -> Option<Duration> {
        self.shared.trips.lock().unwrap_or_else(PoisonError::into_inner).shortest()
    }

    /// Ends the connection; the other side hears of it.
    pub fn close(&self) {
        self.shared.end("this side closed the connection");
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        self.close();
    }
}

impl Shared {
    /// Ends by an error of the socket. Who writes to a side that has closed may meet that before the reader does.
    fn failed(&self, error: &io::Error) {
        use io::ErrorKind::{BrokenPipe, ConnectionReset};
        if matches!(error.kind(), BrokenPipe | ConnectionReset) { self.end(CLOSED) } else { self.end(&error.to_string()) }
    }

    fn end(&self, why: &str) {
        if !self.closed.swap(true, Ordering::Relaxed) {
            why.clone_into(&mut self.why.lock().unwrap_or_else(PoisonError::into_inner));
            self.wire.close();
        }
    }

    fn why(&self) -> String {
        self.why.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn read(&self, mut reading: Reading, mut bytes: Vec<u8>, messages: &Sender<Vec<u8>>) -> io::Result<()> {
        loop {
            while let Some((kind, payload)) = first_frame(&bytes, LONGEST)? {
                let rest = bytes.split_off(payload.end);
                bytes.drain(..HEAD);
                self.take(kind, std::mem::replace(&mut bytes, rest), messages)?;
            }
            if !self.wire.receive(&mut reading, &mut bytes)? {
                return Ok(());
            }
            // A long message is no silence.
            self.heard_ns.store((self.clock)(), Ordering::Relaxed);
        }
    }

    fn take(&self, kind: u8, payload: Vec<u8>, messages: &Sender<Vec<u8>>) -> io::Result<()> {
        let now = (self.clock)();
        let number = |at: usize| payload.get(at..at + 8).and_then(|b| b.try_into().ok()).map(i64::from_be_bytes);
        match (kind, number(0), number(8)) {
            (MESSAGE, ..) => {
                // Where no one receives any more, the connection is about to end.
                let _ = messages.send(payload);
            }
            (ASK, Some(sent), _) => {
                let answer = [sent.to_be_bytes(), now.to_be_bytes()].concat();
                self.wire.send(&frame(ANSWER, &answer))?;
            }
            (ANSWER, Some(sent), Some(there)) => {
                self.trips.lock().unwrap_or_else(PoisonError::into_inner).add(sent, there, now);
            }
            _ => return Err(io::Error::new(io::ErrorKind::InvalidData, format!("a frame of the unknown kind {kind}"))),
        }
        Ok(())
    }
}

/// Reads a message by its text, as records are read: a reader of bytes for the same types would be a second one in the program.
pub(crate) fn from_bytes<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, serde_json::Error> {
    serde_json::from_str(str::from_utf8(bytes).map_err(Error::custom)?)
}
