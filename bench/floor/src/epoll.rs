//! The loop over epoll: edge-triggered, so that a connection is registered once and never again.

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use crate::connection::Connection;
use crate::measure::{Counts, Shared};
use crate::script::{PACKET, Random, Script};

/// Events of one wait.
const BATCH: usize = 512;
/// One for all connections: an answer is judged before the next one is read. It holds the largest answer four times.
const BUFFER: usize = 64 * 1024;

/// Sends and receives until told to stop and every transaction has ended.
pub(crate) fn run(mut connections: Vec<Connection>, script: &Script, shared: &Shared, seed: u64) -> Result<(), String> {
    let queue = epoll::create(CreateFlags::CLOEXEC).map_err(|e| format!("epoll: {e}"))?;
    let (mut random, mut counts) = (Random::new(seed), Counts::default());
    let (mut buffer, mut packet) = (vec![0; BUFFER], [0; PACKET]);
    let mut events: Vec<Event> = Vec::with_capacity(BATCH);
    for (i, connection) in connections.iter_mut().enumerate() {
        let (data, flags) = (EventData::new_u64(i as u64), EventFlags::IN | EventFlags::ET);
        epoll::add(&queue, &connection.stream, data, flags).map_err(|e| format!("epoll: {e}"))?;
        send_next(connection, script, &mut random, &mut packet)?;
    }
    let mut waiting = connections.len();
    while waiting > 0 {
        events.clear();
        match epoll::wait(&queue, spare_capacity(&mut events), None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(format!("epoll: {error}")),
        }
        let stopping = shared.stopping();
        for event in &events {
            let connection = &mut connections[event.data.u64() as usize];
            if !receive(connection, script, &mut buffer, &mut counts)? {
                continue;
            }
            if stopping && connection.may_stop() {
                waiting -= 1;
            } else {
                send_next(connection, script, &mut random, &mut packet)?;
            }
        }
        shared.publish(&counts);
    }
    Ok(())
}

/// Reads once; what arrives later is a new edge. Only a full buffer may hide bytes that raise no new one.
#[inline]
fn receive(connection: &mut Connection, script: &Script, buffer: &mut [u8], counts: &mut Counts) -> Result<bool, String> {
    loop {
        let bytes = match recv(&connection.stream, &mut *buffer, RecvFlags::empty()) {
            Ok((_, 0)) => return Err("the server closed a connection".into()),
            Ok((_, bytes)) => bytes,
            // The edge of a piece that an earlier read has taken along.
            Err(Errno::AGAIN) => return Ok(false),
            Err(error) => return Err(format!("connection lost: {error}")),
        };
        let whole = connection.receive(script, &buffer[..bytes], counts)?;
        if whole || bytes < buffer.len() {
            return Ok(whole);
        }
    }
}

#[inline]
fn send_next(connection: &mut Connection, script: &Script, random: &mut Random, packet: &mut [u8; PACKET]) -> Result<(), String> {
    let length = connection.write(script, random, packet);
    // The server has read all before: the packet always fits into an empty socket buffer.
    match send(&connection.stream, &packet[..length], SendFlags::NOSIGNAL) {
        Ok(sent) if sent == length => Ok(()),
        Ok(sent) => Err(format!("only {sent} of {length} bytes fitted into the socket's buffer")),
        Err(error) => Err(format!("connection lost: {error}")),
    }
}
