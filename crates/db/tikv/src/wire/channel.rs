//! A connection to PD or to a store, shared by the sessions of one load thread. A task of its own carries its bytes: requests
//! that sessions put together within one pass of the event loop leave in one write, and answers come in one read.

use std::cell::RefCell;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll, Waker, ready};

use perbuck_event::TaskSet;
use perbuck_load::error::DriverError;
use rustls::pki_types::ServerName;

use crate::Settings;
use crate::wire::call::{Call, Stage};
use crate::wire::streams::Streams;
use perbuck_database::endpoint::host_text;
use perbuck_net::buffer::Buffer;
use perbuck_net::stream::{Socket, SocketFault};
use perbuck_net::watchdog::LONG_READ_TIMEOUT;
use perbuck_net::{tls_failure, unreachable};

pub(crate) struct Channel {
    shared: Rc<Shared>,
    /// Ends with the channel.
    _carrier: TaskSet<()>,
}

struct Shared {
    state: RefCell<State>,
    address: String,
    local: bool,
}

struct State {
    streams: Streams,
    carrier: Option<Waker>,
    /// The carrier has been woken and not yet polled.
    woken: bool,
    broken: Option<String>,
}

impl Channel {
    /// Connects.
    ///
    /// # Errors
    /// `Lost` where the server cannot be reached, `Refused` where TLS fails.
    pub(crate) async fn open(host: &str, port: u16, settings: &Settings) -> Result<Rc<Self>, DriverError> {
        let address = host_text(host, port);
        // Requests have limits of their own; a connection may be idle.
        let connected = Socket::connect(host, port, LONG_READ_TIMEOUT).await;
        let mut socket = connected.map_err(|why| unreachable(&address, &why))?;
        if let Some(config) = &settings.tls {
            let name = ServerName::try_from(host.to_owned()).ok();
            let started = socket.start_tls(config.clone(), name).await;
            started.map_err(|error| tls_failure(&address, &error))?;
        }
        let streams = Streams::new(&address, settings.tls.is_some(), settings.target.batch_size.max(1));
        let state = State { streams, carrier: None, woken: false, broken: None };
        let local = socket.peer_is_local();
        let shared = Rc::new(Shared { state: RefCell::new(state), address, local });
        let mut carrier = TaskSet::default();
        carrier.spawn(carry(shared.clone(), socket));
        Ok(Rc::new(Self { shared, _carrier: carrier }))
    }

    /// `host:port`, for messages.
    pub(crate) fn address(&self) -> &str {
        &self.shared.address
    }

    /// Whether the server shares this machine.
    pub(crate) fn is_local(&self) -> bool {
        self.shared.local
    }

    /// Whether the connection failed, or has no room for further requests.
    #[inline]
    pub(crate) fn is_broken(&self) -> bool {
        let state = self.shared.state.borrow();
        state.broken.is_some() || state.streams.exhausted()
    }

    /// Sends one call on a stream of its own.
    pub(crate) fn call(&self, path: &'static str, message: &[u8], call: &Rc<Call>) {
        self.with(call, |streams| streams.call(path, message, call));
    }

    /// Puts a command into the next batch.
    #[inline]
    pub(crate) fn command(&self, tag: u32, message: &[u8], call: &Rc<Call>) {
        self.with(call, |streams| streams.command(tag, message, call));
    }

    #[inline]
    pub(crate) fn timestamp(&self, cluster: u64, call: &Rc<Call>) {
        self.with(call, |streams| streams.timestamp(cluster, call));
    }

    #[inline]
    fn with(&self, call: &Rc<Call>, send: impl FnOnce(&mut Streams)) {
        let mut state = self.shared.state.borrow_mut();
        if let Some(why) = &state.broken {
            return call.fail(Stage::Lost, why);
        }
        send(&mut state.streams);
        // After every session that is ready now, so that their requests leave together.
        if !std::mem::replace(&mut state.woken, true)
            && let Some(carrier) = &state.carrier
        {
            carrier.wake_by_ref();
        }
    }
}

/// The bytes on their way.
struct Carrier {
    shared: Rc<Shared>,
    socket: Socket,
    inbox: Buffer,
    outbox: Vec<u8>,
    sent: usize,
}

async fn carry(shared: Rc<Shared>, socket: Socket) {
    let mut inbox = Buffer::default();
    inbox.logged_in();
    let mut carrier = Carrier { shared, socket, inbox, outbox: Vec::new(), sent: 0 };
    let why = poll_fn(|cx| carrier.poll(cx)).await;
    let mut state = carrier.shared.state.borrow_mut();
    let why = format!("the connection to {} was lost: {why}", carrier.shared.address);
    state.streams.fail_all(&why);
    state.broken = Some(why);
}

impl Carrier {
    /// Ready only when the connection is gone, with the reason.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<String> {
        let mut state = self.shared.state.borrow_mut();
        if state.carrier.is_none() {
            state.carrier = Some(cx.waker().clone());
        }
        state.woken = false;
        loop {
            if let Err(fault) = send(&mut self.socket, &mut state.streams, &mut self.outbox, &mut self.sent) {
                return Poll::Ready(words(fault));
            }
            self.inbox.rest();
            if let Err(fault) = ready!(self.socket.poll_readable()) {
                return Poll::Ready(words(fault));
            }
            let room = match self.inbox.room() {
                Ok(room) => room,
                Err(why) => return Poll::Ready(why.0.to_owned()),
            };
            match self.socket.try_read(room) {
                Ok(Some(count)) => self.inbox.filled(count),
                Ok(None) => continue,
                Err(fault) => return Poll::Ready(words(fault)),
            }
            if let Err(why) = take(&mut state.streams, &mut self.inbox) {
                return Poll::Ready(why);
            }
        }
    }
}

/// Sends what there is; what finds no room waits for the next pass.
#[inline]
fn send(socket: &mut Socket, streams: &mut Streams, outbox: &mut Vec<u8>, sent: &mut usize) -> Result<(), SocketFault> {
    loop {
        if *sent == outbox.len() {
            outbox.clear();
            *sent = 0;
            streams.flush();
            std::mem::swap(outbox, &mut streams.end.out);
            if outbox.is_empty() {
                return Ok(());
            }
        }
        match socket.poll_write_all(outbox, sent) {
            Poll::Ready(taken) => taken?,
            Poll::Pending => return Ok(()),
        }
    }
}

/// Takes every whole frame that came.
#[inline]
fn take(streams: &mut Streams, inbox: &mut Buffer) -> Result<(), String> {
    loop {
        let length = match streams.end.receive(inbox.arrived()) {
            Ok(Some((length, event))) => streams.take(&event).map(|()| length)?,
            Ok(None) => return Ok(()),
            Err(why) => return Err(format!("it does not speak HTTP/2: {}", why.0)),
        };
        inbox.take(length, 0);
    }
}

fn words(fault: SocketFault) -> String {
    match fault {
        SocketFault::Closed => "the server closed it".to_owned(),
        SocketFault::Overdue => "the server sent nothing for two days".to_owned(),
        SocketFault::Io(error) => error.to_string(),
    }
}
