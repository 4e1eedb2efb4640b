//! What travels over one connection of gRPC: single calls, each on a stream of its own, batches of commands on one stream, and
//! timestamps on another. Knows no socket.

use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

use perbuck_grpc::endpoint::{Endpoint, Event};
use perbuck_grpc::kvproto::pdpb::{request_header, timestamp, tso_request, tso_response};
use perbuck_grpc::kvproto::tikvpb::{batch_commands_request, batch_commands_response};
use perbuck_grpc::proto::{
    Value, bytes, bytes_tag, elements, fields, numbers, put_message, put_uint, put_varint, uints, varint_length,
};
use perbuck_grpc::{Malformed, PREFIX, Parsed, hpack, message_length, put_prefix};

use crate::wire::call::{Call, Stage};

const BATCH_COMMANDS: &str = "/tikvpb.Tikv/BatchCommands";
const TSO: &str = "/pdpb.PD/Tso";
/// A batch that holds so much is sent: a load would otherwise put dozens of megabytes into one message.
const BATCH_BYTES: usize = 1 << 20;
/// Streams have 31 bits; a connection is closed before it runs out of them.
const LAST_STREAM: u32 = 0x7fff_0000;

/// Requests of a batch that wait for their answers, by number: a slot and how often it was used, so that a late answer is
/// not taken for another one.
#[derive(Default)]
struct Waiting {
    slots: Vec<(u32, Option<Rc<Call>>)>,
    free: Vec<u32>,
}

impl Waiting {
    #[inline]
    fn enter(&mut self, call: &Rc<Call>) -> u64 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push((0, None));
            (self.slots.len() - 1) as u32
        });
        let (uses, entry) = &mut self.slots[slot as usize];
        *uses = uses.wrapping_add(1);
        *entry = Some(Rc::clone(call));
        u64::from(*uses) << 32 | u64::from(slot)
    }

    #[inline]
    fn take(&mut self, number: u64) -> Option<Rc<Call>> {
        let (uses, entry) = self.slots.get_mut(number as u32 as usize)?;
        let call = if u64::from(*uses) == number >> 32 { entry.take()? } else { return None };
        self.free.push(number as u32);
        Some(call)
    }
}

/// A stream of messages in both directions.
#[derive(Default)]
struct MessageStream {
    stream: Option<u32>,
    /// A message that has not come whole.
    incoming: Vec<u8>,
}

pub(crate) struct Streams {
    pub(crate) end: Endpoint,
    next: u32,
    host: String,
    scheme: &'static str,
    blocks: Vec<(&'static str, Vec<u8>)>,
    calls: HashMap<u32, Rc<Call>>,
    batch: MessageStream,
    /// The next batch: room for the prefix, its requests, and their numbers.
    body: Vec<u8>,
    ids: Vec<u8>,
    in_batch: u32,
    batch_max: u32,
    waiting: Waiting,
    tso: MessageStream,
    cluster: u64,
    /// Who wants a timestamp, in order; the first of them have been asked for, in requests of these sizes.
    timestamps: VecDeque<Rc<Call>>,
    asked: VecDeque<u32>,
    in_flight: u32,
    /// Room for a message with its prefix.
    framed: Vec<u8>,
}

impl Streams {
    /// Those of a new connection to `host`; a batch holds at most `batch_max` requests.
    pub(crate) fn new(host: &str, encrypted: bool, batch_max: u32) -> Self {
        Self {
            end: Endpoint::client(),
            next: 1,
            host: host.to_owned(),
            scheme: if encrypted { "https" } else { "http" },
            blocks: Vec::new(),
            calls: HashMap::new(),
            batch: MessageStream::default(),
            body: vec![0; PREFIX],
            ids: Vec::new(),
            in_batch: 0,
            batch_max,
            waiting: Waiting::default(),
            tso: MessageStream::default(),
            cluster: 0,
            timestamps: VecDeque::new(),
            asked: VecDeque::new(),
            in_flight: 0,
            framed: Vec::new(),
        }
    }

    /// Whether the connection has no numbers left for new streams.
    pub(crate) fn exhausted(&self) -> bool {
        self.next > LAST_STREAM
    }

    fn open(&mut self, path: &'static str) -> u32 {
        let index = self.blocks.iter().position(|(known, _)| *known == path).unwrap_or_else(|| {
            let mut block = Vec::new();
            let fields = [(":method", "POST"), (":scheme", self.scheme), (":path", path), (":authority", &self.host)];
            for (name, value) in fields.into_iter().chain([("te", "trailers"), ("content-type", "application/grpc")]) {
                hpack::put(&mut block, name, value);
            }
            self.blocks.push((path, block));
            self.blocks.len() - 1
        });
        let stream = self.next;
        self.next += 2;
        self.end.send_headers(stream, &self.blocks[index].1, false);
        stream
    }

    /// Opens a stream for many messages.
    #[cold]
    fn open_kept(&mut self, path: &'static str) -> u32 {
        let stream = self.open(path);
        self.end.keep_open(stream);
        stream
    }

    pub(crate) fn call(&mut self, path: &'static str, message: &[u8], call: &Rc<Call>) {
        call.start();
        let stream = self.open(path);
        self.framed.clear();
        put_prefix(&mut self.framed, message.len());
        self.framed.extend_from_slice(message);
        self.end.send_data(stream, &self.framed, true);
        self.calls.insert(stream, Rc::clone(call));
    }

    /// Puts a command into the next batch; `tag` is its field in `BatchCommandsRequest.Request`.
    #[inline]
    pub(crate) fn command(&mut self, tag: u32, message: &[u8], call: &Rc<Call>) {
        call.start();
        let number = self.waiting.enter(call);
        put_varint(&mut self.ids, number);
        let (tag, length) = (bytes_tag(tag), message.len() as u64);
        put_varint(&mut self.body, bytes_tag(batch_commands_request::REQUESTS));
        put_varint(&mut self.body, (varint_length(tag) + varint_length(length) + message.len()) as u64);
        put_varint(&mut self.body, tag);
        put_varint(&mut self.body, length);
        self.body.extend_from_slice(message);
        self.in_batch += 1;
        if self.in_batch >= self.batch_max || self.body.len() > BATCH_BYTES {
            self.send_batch();
        }
    }

    pub(crate) fn timestamp(&mut self, cluster: u64, call: &Rc<Call>) {
        call.start();
        self.cluster = cluster;
        self.timestamps.push_back(Rc::clone(call));
    }

    /// Writes down what was put together since the last time.
    #[inline]
    pub(crate) fn flush(&mut self) {
        if self.in_batch > 0 {
            self.send_batch();
        }
        if self.timestamps.len() as u32 > self.in_flight {
            self.ask_timestamps();
        }
    }

    fn send_batch(&mut self) {
        let stream = self.batch.stream.unwrap_or_else(|| self.open_kept(BATCH_COMMANDS));
        self.batch.stream = Some(stream);
        put_varint(&mut self.body, bytes_tag(batch_commands_request::REQUEST_IDS));
        put_varint(&mut self.body, self.ids.len() as u64);
        self.body.extend_from_slice(&self.ids);
        let length = (self.body.len() - PREFIX) as u32;
        self.body[1..PREFIX].copy_from_slice(&length.to_be_bytes());
        self.end.send_data(stream, &self.body, false);
        self.body.truncate(PREFIX);
        self.ids.clear();
        self.in_batch = 0;
    }

    fn ask_timestamps(&mut self) {
        let stream = self.tso.stream.unwrap_or_else(|| self.open_kept(TSO));
        self.tso.stream = Some(stream);
        let count = self.timestamps.len() as u32 - self.in_flight;
        let (framed, cluster) = (&mut self.framed, self.cluster);
        framed.clear();
        framed.resize(PREFIX, 0);
        put_message(framed, tso_request::HEADER, |header| put_uint(header, request_header::CLUSTER_ID, cluster));
        put_uint(framed, tso_request::COUNT, count.into());
        let length = (framed.len() - PREFIX) as u32;
        framed[1..PREFIX].copy_from_slice(&length.to_be_bytes());
        self.end.send_data(stream, framed, false);
        self.asked.push_back(count);
        self.in_flight += count;
    }

    /// Takes what a frame brought.
    #[inline]
    pub(crate) fn take(&mut self, event: &Event<'_>) -> Result<(), String> {
        match *event {
            Event::Nothing => Ok(()),
            Event::Data { stream, bytes, .. } => self.data(stream, bytes).map_err(|why| why.0.to_owned()),
            Event::Headers { stream, block, end } => self.headers(stream, block, end),
            Event::Reset { stream, code } => {
                if self.batch.stream == Some(stream) || self.tso.stream == Some(stream) {
                    return Err(format!("the server gave up a stream (code {code})"));
                }
                if let Some(call) = self.calls.remove(&stream) {
                    call.fail(Stage::Lost, &format!("the server gave up the request (code {code})"));
                }
                Ok(())
            }
            Event::GoAway { code } => Err(format!("the server closes the connection (code {code})")),
        }
    }

    #[inline]
    fn data(&mut self, stream: u32, bytes: &[u8]) -> Parsed<()> {
        if self.batch.stream == Some(stream) {
            let mut incoming = std::mem::take(&mut self.batch.incoming);
            let taken = messages(&mut incoming, bytes, |message| self.answers(message));
            self.batch.incoming = incoming;
            return taken;
        }
        if self.tso.stream == Some(stream) {
            let mut incoming = std::mem::take(&mut self.tso.incoming);
            let taken = messages(&mut incoming, bytes, |message| self.hand_out(message));
            self.tso.incoming = incoming;
            return taken;
        }
        // Late bytes of a call that was given up are dropped.
        if let Some(call) = self.calls.get(&stream) {
            call.add(bytes);
        }
        Ok(())
    }

    /// Hands out the answers of a `BatchCommandsResponse`.
    fn answers(&mut self, message: &[u8]) -> Parsed<()> {
        let mut responses = elements(message, batch_commands_response::RESPONSES);
        for field in fields(message) {
            let (batch_commands_response::REQUEST_IDS, ids) = field? else { continue };
            let mut failed = Ok(());
            numbers(ids, |number| {
                let answer = responses.next().unwrap_or(Err(Malformed("a batch has fewer answers than numbers")));
                let answer = answer.and_then(|response| match fields(response).next() {
                    Some(Ok((_, Value::Bytes(answer)))) => Ok(answer),
                    _ => Err(Malformed("an answer of a batch is empty")),
                });
                match answer {
                    Ok(answer) => {
                        // A call that was given up has none.
                        if let Some(call) = self.waiting.take(number) {
                            call.add(answer);
                            call.end(Stage::Answered, 0);
                        }
                    }
                    Err(why) => failed = Err(why),
                }
            })?;
            failed?;
        }
        Ok(())
    }

    /// Hands out the timestamps of a `TsoResponse`: the last of those that were asked for.
    fn hand_out(&mut self, message: &[u8]) -> Parsed<()> {
        let ([given], [told]) = (uints(message, [tso_response::COUNT])?, bytes(message, [tso_response::TIMESTAMP])?);
        let wanted = [timestamp::PHYSICAL, timestamp::LOGICAL, timestamp::SUFFIX_BITS];
        let [physical, logical, suffix] = uints(told, wanted)?;
        let suffix = suffix.min(16);
        let count = self.asked.pop_front().ok_or(Malformed("timestamps came that nobody asked for"))?;
        let last = (physical << 18).wrapping_add(logical);
        if u64::from(count) != given || last < u64::from(count) << suffix {
            return Err(Malformed("PD gave no timestamps, or not as many as were asked for"));
        }
        self.in_flight -= count;
        for later in (0..u64::from(count)).rev() {
            if let Some(call) = self.timestamps.pop_front() {
                call.number.set(last - (later << suffix));
                call.end(Stage::Answered, 0);
            }
        }
        Ok(())
    }

    fn headers(&mut self, stream: u32, block: &[u8], end: bool) -> Result<(), String> {
        let joined = if block.is_empty() { self.end.joined() } else { Vec::new() };
        let block = if block.is_empty() { &joined } else { block };
        // HTTP's own status is of interest where something else than gRPC answers.
        let (mut status, mut words, mut http) = (None, String::new(), None);
        let read = self.end.decoder.read(block, |name, value| match name {
            b"grpc-status" => status = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok()),
            b"grpc-message" => words = perbuck_net::printable(value),
            b":status" if value != b"200" => http = Some(perbuck_net::printable(value)),
            _ => {}
        });
        read.map_err(|why| why.0.to_owned())?;
        if let Some(http) = http {
            return Err(format!("it answers with status {http} of HTTP"));
        }
        if !end {
            return Ok(());
        }
        self.end.forget(stream);
        let status: u32 = status.unwrap_or(2);
        if self.batch.stream == Some(stream) || self.tso.stream == Some(stream) {
            return Err(format!("the server ended a stream with status {status} of gRPC: {words}"));
        }
        if let Some(call) = self.calls.remove(&stream) {
            match status {
                0 => call.end(Stage::Answered, PREFIX),
                status => call.fail(Stage::Status(status), &words),
            }
        }
        Ok(())
    }

    /// Ends every request that waits: the connection has failed.
    #[cold]
    pub(crate) fn fail_all(&mut self, why: &str) {
        let batched = self.waiting.slots.iter_mut().filter_map(|(_, entry)| entry.take());
        let single = self.calls.drain().map(|(_, call)| call);
        batched.chain(single).chain(self.timestamps.drain(..)).for_each(|call| call.fail(Stage::Lost, why));
    }
}

/// Calls `each` with every whole message of a stream; what is left is kept in `incoming`.
#[inline]
fn messages(incoming: &mut Vec<u8>, bytes: &[u8], each: impl FnMut(&[u8]) -> Parsed<()>) -> Parsed<()> {
    if incoming.is_empty() {
        let taken = whole_messages(bytes, each)?;
        incoming.extend_from_slice(&bytes[taken..]);
    } else {
        incoming.extend_from_slice(bytes);
        let taken = whole_messages(incoming, each)?;
        incoming.drain(..taken);
    }
    Ok(())
}

/// Calls `each` with every whole message; how many bytes they took.
#[inline]
fn whole_messages(bytes: &[u8], mut each: impl FnMut(&[u8]) -> Parsed<()>) -> Parsed<usize> {
    let mut taken = 0;
    while let Some(length) = message_length(&bytes[taken..])? {
        let Some(message) = bytes.get(taken + PREFIX..taken + PREFIX + length) else { break };
        each(message)?;
        taken += PREFIX + length;
    }
    Ok(taken)
}
