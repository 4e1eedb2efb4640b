//! One end of a connection of HTTP/2, without the socket: it takes frames and says what they bring, and holds the bytes that
//! are to be sent. Both windows of flow control are kept here (RFC 9113, section 5.2).

use std::collections::{HashMap, VecDeque};

use crate::frame::{self, Frame, flag, kind};
use crate::hpack::Decoder;
use crate::{Malformed, Parsed};

/// The window that a connection and its streams start with (section 6.9.2).
const WINDOW: i64 = 65_535;
/// What we let the other side send before we say that we have read it.
const OUR_WINDOW: u32 = 1 << 30;
/// After so many bytes we say it.
const REPORT: u32 = 1 << 26;
/// The longest payload of a frame until the other side allows more (section 6.5.2).
const SHORTEST_LIMIT: usize = 16_384;
/// No header block of gRPC is near it.
const LONGEST_BLOCK: usize = 1 << 16;

/// What a frame brought.
#[derive(Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// A header block, to be read with [`Endpoint::decoder`] before the next frame.
    Headers {
        /// Of this stream.
        stream: u32,
        /// The block; empty where it came in parts: see [`Endpoint::joined`].
        block: &'a [u8],
        /// Whether the stream ends with it.
        end: bool,
    },
    /// Bytes of a stream.
    Data {
        /// Of this stream.
        stream: u32,
        /// The bytes.
        bytes: &'a [u8],
        /// Whether the stream ends with them.
        end: bool,
    },
    /// The other side has given up a stream.
    Reset {
        /// Which one.
        stream: u32,
        /// Why (section 7).
        code: u32,
    },
    /// The other side takes no more streams.
    GoAway {
        /// Why (section 7).
        code: u32,
    },
    /// Nothing for the caller.
    Nothing,
}

/// Bytes that found no room in a window.
#[derive(Debug)]
struct Blocked {
    stream: u32,
    bytes: Vec<u8>,
    sent: usize,
    /// Whether the stream ends after them.
    end: bool,
    /// A frame that follows the bytes: the trailers of a response.
    after: Vec<u8>,
}

/// One end of a connection.
#[derive(Debug)]
pub struct Endpoint {
    /// What is to be sent.
    pub out: Vec<u8>,
    /// Reads header blocks.
    pub decoder: Decoder,
    window: i64,
    initial: i64,
    /// Windows of streams that have used some of theirs and go on.
    windows: HashMap<u32, i64>,
    longest: usize,
    blocked: VecDeque<Blocked>,
    /// Bytes that came in and were not reported, of the connection and of streams that stay open.
    unreported: u32,
    open: Vec<(u32, u32)>,
    /// A header block in parts: its stream and whether that ends with it.
    partial: Option<(u32, bool)>,
    block: Vec<u8>,
}

impl Endpoint {
    /// The end that opens the connection.
    pub fn client() -> Self {
        let mut this = Self::server();
        let settings = std::mem::take(&mut this.out);
        this.out.extend_from_slice(frame::PREFACE);
        this.out.extend_from_slice(&settings);
        this
    }

    /// The other end; what precedes the frames of the client is for the caller to skip.
    pub fn server() -> Self {
        let mut this = Self {
            out: Vec::new(),
            decoder: Decoder::default(),
            window: WINDOW,
            initial: WINDOW,
            windows: HashMap::new(),
            longest: SHORTEST_LIMIT,
            blocked: VecDeque::new(),
            unreported: 0,
            open: Vec::new(),
            partial: None,
            block: Vec::new(),
        };
        let mut settings = Vec::new();
        // ENABLE_PUSH, INITIAL_WINDOW_SIZE and MAX_FRAME_SIZE.
        for (name, value) in [(2u16, 0), (4, OUR_WINDOW), (5, frame::LONGEST as u32)] {
            settings.extend_from_slice(&name.to_be_bytes());
            settings.extend_from_slice(&value.to_be_bytes());
        }
        frame::put(&mut this.out, kind::SETTINGS, 0, 0, &settings);
        this.report(0, OUR_WINDOW - WINDOW as u32);
        this
    }

    /// A stream that stays open, so that what it receives must be reported.
    pub fn keep_open(&mut self, stream: u32) {
        self.open.push((stream, 0));
    }

    /// The stream has ended.
    pub fn forget(&mut self, stream: u32) {
        self.open.retain(|(open, _)| *open != stream);
        self.windows.remove(&stream);
        self.blocked.retain(|b| b.stream != stream);
    }

    /// The header block that came in parts.
    pub fn joined(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.block)
    }

    /// Sends a header block of at most 16 KiB.
    pub fn send_headers(&mut self, stream: u32, block: &[u8], end: bool) {
        let flags = flag::END_HEADERS | if end { flag::END_STREAM } else { 0 };
        match self.blocked.iter_mut().find(|b| b.stream == stream) {
            Some(blocked) => frame::put(&mut blocked.after, kind::HEADERS, flags, stream, block),
            None => {
                frame::put(&mut self.out, kind::HEADERS, flags, stream, block);
                self.windows.remove(&stream);
            }
        }
    }

    /// Sends bytes of a stream, as far as the windows allow; the rest follows when they do.
    pub fn send_data(&mut self, stream: u32, bytes: &[u8], end: bool) {
        let mut sent = 0;
        if self.blocked.is_empty() {
            sent = self.send_some(stream, bytes, end);
        }
        if sent < bytes.len() {
            self.blocked.push_back(Blocked { stream, bytes: bytes[sent..].to_vec(), sent: 0, end, after: Vec::new() });
        }
    }

    /// Sends what the windows allow; how much.
    fn send_some(&mut self, stream: u32, bytes: &[u8], end: bool) -> usize {
        let window = self.windows.get(&stream).copied().unwrap_or(self.initial);
        let allowed = usize::try_from(self.window.min(window)).unwrap_or(0).min(bytes.len());
        let (mut rest, ends) = (&bytes[..allowed], end && allowed == bytes.len());
        while !rest.is_empty() {
            let (part, after) = rest.split_at(rest.len().min(self.longest));
            let flags = if ends && after.is_empty() { flag::END_STREAM } else { 0 };
            frame::put(&mut self.out, kind::DATA, flags, stream, part);
            rest = after;
        }
        self.window -= allowed as i64;
        if ends {
            self.windows.remove(&stream);
        } else if allowed > 0 {
            self.windows.insert(stream, window - allowed as i64);
        }
        allowed
    }

    fn send_blocked(&mut self) {
        for _ in 0..self.blocked.len() {
            let Some(mut blocked) = self.blocked.pop_front() else { break };
            blocked.sent += self.send_some(blocked.stream, &blocked.bytes[blocked.sent..], blocked.end);
            if blocked.sent < blocked.bytes.len() {
                self.blocked.push_back(blocked);
            } else {
                self.out.extend_from_slice(&blocked.after);
                if !blocked.after.is_empty() {
                    self.windows.remove(&blocked.stream);
                }
            }
        }
    }

    /// Takes the frame at the front of `bytes`: how long it is and what it brought; `None` where some of it is missing.
    ///
    /// # Errors
    /// What is no HTTP/2.
    pub fn receive<'a>(&mut self, bytes: &'a [u8]) -> Parsed<Option<(usize, Event<'a>)>> {
        let Some(frame) = Frame::parse(bytes)? else { return Ok(None) };
        let length = frame::HEADER + frame.payload.len();
        if self.partial.is_some() && frame.kind != kind::CONTINUATION {
            return Err(Malformed("a header block is interrupted"));
        }
        let event = match frame.kind {
            kind::DATA => self.data(&frame)?,
            kind::HEADERS | kind::CONTINUATION => self.headers(&frame)?,
            kind::RST_STREAM => {
                self.forget(frame.stream);
                Event::Reset { stream: frame.stream, code: number(frame.payload)? }
            }
            kind::GOAWAY => Event::GoAway { code: number(frame.payload.get(4..).unwrap_or_default())? },
            kind::SETTINGS if frame.flags & flag::ACK == 0 => self.settings(frame.payload)?,
            kind::PING if frame.flags & flag::ACK == 0 => {
                frame::put(&mut self.out, kind::PING, flag::ACK, 0, frame.payload);
                Event::Nothing
            }
            kind::WINDOW_UPDATE => {
                self.widen(frame.stream, i64::from(number(frame.payload)? & 0x7fff_ffff));
                Event::Nothing
            }
            kind::PUSH_PROMISE => return Err(Malformed("a stream is pushed, although perbuck forbade that")),
            // Frames of unknown types are to be ignored (section 4.1).
            _ => Event::Nothing,
        };
        Ok(Some((length, event)))
    }

    fn data<'a>(&mut self, frame: &Frame<'a>) -> Parsed<Event<'a>> {
        let (bytes, end) = (frame.content()?, frame.flags & flag::END_STREAM != 0);
        let length = frame.payload.len() as u32;
        self.unreported += length;
        if self.unreported >= REPORT {
            let count = std::mem::take(&mut self.unreported);
            self.report(0, count);
        }
        if let Some((stream, count)) = self.open.iter_mut().find(|(open, _)| *open == frame.stream) {
            *count += length;
            if *count >= REPORT {
                let (stream, count) = (*stream, std::mem::take(count));
                self.report(stream, count);
            }
        }
        Ok(Event::Data { stream: frame.stream, bytes, end })
    }

    fn report(&mut self, stream: u32, count: u32) {
        frame::put(&mut self.out, kind::WINDOW_UPDATE, 0, stream, &count.to_be_bytes());
    }

    fn headers<'a>(&mut self, frame: &Frame<'a>) -> Parsed<Event<'a>> {
        let (content, last) = (frame.content()?, frame.flags & flag::END_HEADERS != 0);
        let (stream, end) = match self.partial.take() {
            Some((stream, end)) if stream == frame.stream => (stream, end),
            None if frame.kind == kind::HEADERS => {
                self.block.clear();
                let end = frame.flags & flag::END_STREAM != 0;
                if last {
                    return Ok(Event::Headers { stream: frame.stream, block: content, end });
                }
                (frame.stream, end)
            }
            _ => return Err(Malformed("a header block continues before it started")),
        };
        self.block.extend_from_slice(content);
        if self.block.len() > LONGEST_BLOCK {
            return Err(Malformed("a header block is too long"));
        }
        if last {
            return Ok(Event::Headers { stream, block: &[], end });
        }
        self.partial = Some((stream, end));
        Ok(Event::Nothing)
    }

    fn settings(&mut self, payload: &[u8]) -> Parsed<Event<'static>> {
        for setting in payload.chunks(6) {
            let [a, b, value @ ..] = setting else { return Err(Malformed("settings are cut off")) };
            let value = number(value)?;
            match u16::from_be_bytes([*a, *b]) {
                4 => {
                    let change = i64::from(value) - self.initial;
                    self.initial += change;
                    self.windows.values_mut().for_each(|window| *window += change);
                }
                5 => self.longest = (value as usize).clamp(SHORTEST_LIMIT, frame::LONGEST),
                _ => {}
            }
        }
        frame::put(&mut self.out, kind::SETTINGS, flag::ACK, 0, &[]);
        self.send_blocked();
        Ok(Event::Nothing)
    }

    fn widen(&mut self, stream: u32, by: i64) {
        if stream == 0 {
            self.window += by;
        } else if let Some(window) = self.windows.get_mut(&stream) {
            *window += by;
        } else if self.open.iter().any(|(open, _)| *open == stream) || self.blocked.iter().any(|b| b.stream == stream) {
            self.windows.insert(stream, self.initial + by);
        }
        self.send_blocked();
    }
}

fn number(bytes: &[u8]) -> Parsed<u32> {
    bytes.first_chunk().map(|four| u32::from_be_bytes(*four)).ok_or(Malformed("a frame is too short"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Gives one end what the other has to say; the data that arrive, and how often the stream ends.
    fn carry(from: &mut Endpoint, to: &mut Endpoint) -> (Vec<u8>, u32) {
        let bytes = std::mem::take(&mut from.out);
        let mut rest = bytes.strip_prefix(frame::PREFACE.as_slice()).unwrap_or(&bytes);
        let (mut data, mut ends) = (Vec::new(), 0);
        while let Some((length, event)) = to.receive(rest).unwrap() {
            match event {
                Event::Data { bytes, end, .. } => {
                    data.extend_from_slice(bytes);
                    ends += u32::from(end);
                }
                Event::Headers { end, .. } => ends += u32::from(end),
                _ => {}
            }
            rest = &rest[length..];
        }
        assert!(rest.is_empty());
        (data, ends)
    }

    #[test]
    fn more_than_a_window_is_sent_in_parts_and_trailers_come_after_it() {
        let (mut client, mut server) = (Endpoint::client(), Endpoint::server());
        let long: Vec<u8> = (0..300_000u32).map(|i| i as u8).collect();
        server.send_data(1, &long, false);
        server.send_headers(1, b"\x88", true);
        let (first, ends) = carry(&mut server, &mut client);
        assert_eq!((first.len(), ends), (65_535, 0));
        carry(&mut client, &mut server);
        let (rest, ends) = carry(&mut server, &mut client);
        assert_eq!(([first, rest].concat(), ends), (long, 1));
    }

    #[test]
    fn a_long_stream_never_runs_dry() {
        let (mut client, mut server) = (Endpoint::client(), Endpoint::server());
        client.keep_open(1);
        let part = vec![9; 8 << 20];
        let mut arrived = 0;
        for _ in 0..200 {
            server.send_data(1, &part, false);
            arrived += carry(&mut server, &mut client).0.len();
            carry(&mut client, &mut server);
            arrived += carry(&mut server, &mut client).0.len();
        }
        assert_eq!(arrived, 200 * part.len());
    }

    #[test]
    fn header_blocks_in_parts_are_joined_and_nothing_comes_between() {
        let mut end = Endpoint::client();
        let mut bytes = Vec::new();
        frame::put(&mut bytes, kind::HEADERS, flag::END_STREAM, 1, b"\x88");
        frame::put(&mut bytes, kind::CONTINUATION, flag::END_HEADERS, 1, b"\x82");
        let (length, event) = end.receive(&bytes).unwrap().unwrap();
        assert_eq!(event, Event::Nothing);
        let (_, event) = end.receive(&bytes[length..]).unwrap().unwrap();
        assert_eq!(event, Event::Headers { stream: 1, block: &[], end: true });
        assert_eq!(end.joined(), b"\x88\x82");
        end.receive(&bytes).unwrap();
        assert!(end.receive(&bytes).is_err());
        assert_eq!(end.receive(&bytes[..9]), Ok(None));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let mut end = Endpoint::client();
            let mut rest = &bytes[..];
            while let Ok(Some((length, _))) = end.receive(rest) {
                rest = &rest[length..];
            }
        }
    }
}
