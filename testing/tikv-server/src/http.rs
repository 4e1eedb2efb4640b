//! A connection of gRPC as a server sees it: one thread, one read, every answer to it in one write.

use std::collections::HashMap;
use std::io::{self, Read, Write};

use perbuck_grpc::endpoint::{Endpoint, Event};
use perbuck_grpc::frame::PREFACE;
use perbuck_grpc::{PREFIX, hpack, message_length, put_prefix};

/// What one read takes, at most.
const READ: usize = 256 * 1024;

/// What answers at the address.
pub(crate) trait Service {
    /// Whether messages of this method are answered one by one while the stream stays open.
    fn streams(&self, path: &str) -> bool;

    /// Answers one message; a status of gRPC and its words where it cannot.
    fn answer(&self, path: &str, message: &[u8], out: &mut Vec<u8>) -> Result<(), (u32, String)>;
}

/// A stream of requests.
struct Stream {
    path: String,
    body: Vec<u8>,
    streams: bool,
}

/// Serves a connection until it ends.
///
/// # Errors
/// Those of the socket, and what is no HTTP/2.
pub(crate) fn serve(mut socket: impl Read + Write, service: &dyn Service) -> io::Result<()> {
    let mut end = Endpoint::server();
    let mut streams: HashMap<u32, Stream> = HashMap::new();
    let (mut buffer, mut filled, mut greeted) = (vec![0; READ], 0, false);
    loop {
        let count = socket.read(&mut buffer[filled..])?;
        if count == 0 {
            return Ok(());
        }
        filled += count;
        let mut taken = 0;
        if !greeted {
            if filled < PREFACE.len() {
                continue;
            }
            if !buffer.starts_with(PREFACE) {
                return Err(io::Error::from(io::ErrorKind::InvalidData));
            }
            (greeted, taken) = (true, PREFACE.len());
        }
        let broken = |why: perbuck_grpc::Malformed| io::Error::new(io::ErrorKind::InvalidData, why.0);
        while let Some((length, event)) = end.receive(&buffer[taken..filled]).map_err(broken)? {
            take(&mut end, &mut streams, &event, service).map_err(broken)?;
            taken += length;
        }
        buffer.copy_within(taken..filled, 0);
        filled -= taken;
        if filled == buffer.len() {
            buffer.resize(2 * buffer.len(), 0);
        }
        socket.write_all(&end.out)?;
        end.out.clear();
    }
}

fn take(
    end: &mut Endpoint,
    streams: &mut HashMap<u32, Stream>,
    event: &Event<'_>,
    service: &dyn Service,
) -> perbuck_grpc::Parsed<()> {
    match *event {
        Event::Headers { stream, block, end: last } => {
            let joined = if block.is_empty() { end.joined() } else { block.to_vec() };
            let mut path = String::new();
            end.decoder.read(&joined, |name, value| {
                if name == b":path" {
                    path = String::from_utf8_lossy(value).into_owned();
                }
            })?;
            let open = service.streams(&path);
            if open {
                end.keep_open(stream);
                let block = response_headers();
                end.send_headers(stream, &block, false);
            }
            streams.insert(stream, Stream { path, body: Vec::new(), streams: open });
            if last {
                finish(end, streams, stream, service);
            }
        }
        Event::Data { stream, bytes, end: last } => {
            let Some(open) = streams.get_mut(&stream) else { return Ok(()) };
            open.body.extend_from_slice(bytes);
            if open.streams {
                let mut body = std::mem::take(&mut open.body);
                let path = open.path.clone();
                let mut used = 0;
                while let Some(length) = message_length(&body[used..])? {
                    let Some(message) = body.get(used + PREFIX..used + PREFIX + length) else { break };
                    respond(end, stream, service, &path, message);
                    used += PREFIX + length;
                }
                body.drain(..used);
                if let Some(open) = streams.get_mut(&stream) {
                    open.body = body;
                }
            }
            if last {
                finish(end, streams, stream, service);
            }
        }
        Event::Reset { stream, .. } => drop(streams.remove(&stream)),
        Event::GoAway { .. } | Event::Nothing => {}
    }
    Ok(())
}

/// Answers one message of a stream that stays open.
fn respond(end: &mut Endpoint, stream: u32, service: &dyn Service, path: &str, message: &[u8]) {
    let mut out = vec![0; PREFIX];
    match service.answer(path, message, &mut out) {
        Ok(()) => {
            let length = (out.len() - PREFIX) as u32;
            out[1..PREFIX].copy_from_slice(&length.to_be_bytes());
            end.send_data(stream, &out, false);
        }
        Err((status, words)) => {
            let block = trailers(status, &words);
            end.send_headers(stream, &block, true);
        }
    }
}

/// The client has said all: a single call is answered, and a stream that stayed open ends.
fn finish(end: &mut Endpoint, streams: &mut HashMap<u32, Stream>, stream: u32, service: &dyn Service) {
    let Some(closed) = streams.remove(&stream) else { return };
    if closed.streams {
        let block = trailers(0, "");
        return end.send_headers(stream, &block, true);
    }
    let mut answer = Vec::new();
    let message = closed.body.get(PREFIX..).unwrap_or_default();
    let done = service.answer(&closed.path, message, &mut answer);
    let block = response_headers();
    end.send_headers(stream, &block, false);
    let (status, words) = match done {
        Ok(()) => {
            let mut framed = Vec::with_capacity(PREFIX + answer.len());
            put_prefix(&mut framed, answer.len());
            framed.extend_from_slice(&answer);
            end.send_data(stream, &framed, false);
            (0, String::new())
        }
        Err(refused) => refused,
    };
    let block = trailers(status, &words);
    end.send_headers(stream, &block, true);
}

fn response_headers() -> Vec<u8> {
    let mut block = Vec::new();
    hpack::put(&mut block, ":status", "200");
    hpack::put(&mut block, "content-type", "application/grpc");
    block
}

fn trailers(status: u32, words: &str) -> Vec<u8> {
    let mut block = Vec::new();
    hpack::put(&mut block, "grpc-status", &status.to_string());
    if !words.is_empty() {
        hpack::put(&mut block, "grpc-message", words);
    }
    block
}
