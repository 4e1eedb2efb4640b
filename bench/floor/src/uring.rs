//! The loop over `io_uring`: one system call a batch submits all sends and takes all completions.
#![allow(unsafe_code, reason = "the kernel reads and writes memory that an entry names; io-uring has no safe interface")]

use std::alloc::{Layout, alloc_zeroed, handle_alloc_error};
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, RawFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::squeue::{Entry, Flags};
use io_uring::types::{BufRingEntry, Fixed};
use io_uring::{IoUring, cqueue, opcode};

use crate::args::UringOptions;
use crate::connection::Connection;
use crate::measure::{Counts, Shared};
use crate::script::{PACKET, Random, Script};

/// Entries of the submission queue: two a connection fit for 2000 connections; more are submitted in between.
const ENTRIES: u32 = 4096;
/// Receive buffers in the common pool, a power of two.
const POOL: u16 = 1024;
/// The largest answer of the scripts is 12.5 KB; a longer one comes in pieces.
const BUFFER: usize = 16 * 1024;
const GROUP: u16 = 1;
const MSG_NOSIGNAL: i32 = 0x4000;
const ENOBUFS: i32 = 105;
/// In the user data of a send: its completion is only seen when it fails.
const SEND: u64 = 1 << 63;

/// Sends and receives until told to stop and every transaction has ended.
pub(crate) fn run(
    connections: Vec<Connection>,
    script: &Script,
    shared: &Shared,
    seed: u64,
    options: UringOptions,
) -> Result<(), String> {
    // Closing a ring ends its requests only later. The process ends after this loop, so the memory that they name stays.
    let mut uring = ManuallyDrop::new(Uring::new(connections, options, seed)?);
    for i in 0..uring.connections.len() {
        if options.multishot {
            uring.push(&Uring::receive_for_ever(i))?;
        }
        uring.query(i, script)?;
    }
    let mut counts = Counts::default();
    let mut waiting = uring.connections.len();
    while waiting > 0 {
        uring.ring.submit_and_wait(1).map_err(|e| format!("io_uring: {e}"))?;
        let stopping = shared.stopping();
        // Taken out first, since the ring is lent out while its completions are read.
        let mut batch = std::mem::take(&mut uring.batch);
        batch.extend(uring.ring.completion().map(|c| (c.user_data(), c.result(), c.flags())));
        for (data, result, flags) in batch.drain(..) {
            if !uring.complete(data, result, flags, script, &mut counts)? {
                continue;
            }
            if stopping && uring.connections[data as usize].may_stop() {
                waiting -= 1;
            } else {
                uring.query(data as usize, script)?;
            }
        }
        uring.batch = batch;
        shared.publish(&counts);
    }
    Ok(())
}

/// The ring and all memory that the kernel may use through it.
struct Uring {
    ring: IoUring,
    packets: Box<[[u8; PACKET]]>,
    /// One a connection where receives are linked, none where they share the pool.
    buffers: Vec<Box<[u8]>>,
    pool: Pool,
    connections: Vec<Connection>,
    random: Random,
    batch: Vec<(u64, i32, u32)>,
    multishot: bool,
}

impl Uring {
    fn new(connections: Vec<Connection>, options: UringOptions, seed: u64) -> Result<Self, String> {
        let failed = |e: std::io::Error| format!("io_uring: {e}");
        let mut builder = IoUring::builder();
        builder.setup_single_issuer().setup_submit_all().setup_cqsize(ENTRIES * 2);
        if options.deferred {
            builder.setup_defer_taskrun();
        } else {
            builder.setup_coop_taskrun();
        }
        let ring = builder.build(ENTRIES).map_err(failed)?;
        let sockets: Vec<RawFd> = connections.iter().map(|c| c.stream.as_raw_fd()).collect();
        ring.submitter().register_files(&sockets).map_err(failed)?;
        let pool = Pool::new();
        if options.multishot {
            // SAFETY: the memory is page-aligned, as large as asked, and never freed.
            unsafe { ring.submitter().register_buf_ring_with_flags(pool.entries.as_ptr() as u64, POOL, GROUP, 0) }
                .map_err(failed)?;
        }
        let own = if options.multishot { 0 } else { connections.len() };
        Ok(Self {
            ring,
            packets: vec![[0; PACKET]; connections.len()].into(),
            buffers: (0..own).map(|_| vec![0; BUFFER].into()).collect(),
            pool,
            connections,
            random: Random::new(seed),
            batch: Vec::with_capacity(ENTRIES as usize),
            multishot: options.multishot,
        })
    }

    /// Queues an entry. Callers name only memory that `self` owns, that does not move, and that nothing touches until
    /// the entry's completion.
    fn push(&mut self, entry: &Entry) -> Result<(), String> {
        loop {
            // SAFETY: the memory that entries name is as the comment above says: a packet is written only when the
            // answer to the one before it is there, a buffer is read only after the completion of its one receive.
            if unsafe { self.ring.submission().push(entry) }.is_ok() {
                return Ok(());
            }
            self.ring.submit().map_err(|e| format!("io_uring: {e}"))?;
        }
    }

    fn receive_for_ever(i: usize) -> Entry {
        opcode::RecvMulti::new(Fixed(i as u32), GROUP).build().user_data(i as u64)
    }

    fn receive_once(&mut self, i: usize) -> Entry {
        let buffer = &mut self.buffers[i];
        opcode::Recv::new(Fixed(i as u32), buffer.as_mut_ptr(), buffer.len() as u32).build().user_data(i as u64)
    }

    /// Sends a connection's next query, and receives its answer where no receive is there already.
    fn query(&mut self, i: usize, script: &Script) -> Result<(), String> {
        let packet = &mut self.packets[i];
        let length = self.connections[i].write(script, &mut self.random, packet) as u32;
        let send = opcode::Send::new(Fixed(i as u32), packet.as_ptr(), length).flags(MSG_NOSIGNAL);
        let send = send.build().user_data(SEND | i as u64);
        if self.multishot {
            return self.push(&send.flags(Flags::SKIP_SUCCESS));
        }
        // A chain that is cut in two by a submission would not be one.
        let queue = self.ring.submission();
        let free = queue.capacity() - queue.len();
        drop(queue);
        if free < 2 {
            self.ring.submit().map_err(|e| format!("io_uring: {e}"))?;
        }
        self.push(&send.flags(Flags::SKIP_SUCCESS | Flags::IO_LINK))?;
        let receive = self.receive_once(i);
        self.push(&receive)
    }

    /// Takes in a completion; true when a connection's answer is whole.
    fn complete(&mut self, data: u64, result: i32, flags: u32, script: &Script, counts: &mut Counts) -> Result<bool, String> {
        let i = (data & !SEND) as usize;
        if self.multishot && data & SEND == 0 && !cqueue::more(flags) && (result > 0 || result == -ENOBUFS) {
            // Ended because the pool was empty for a moment.
            self.push(&Self::receive_for_ever(i))?;
            if result < 0 {
                return Ok(false);
            }
        }
        if data & SEND != 0 || result <= 0 {
            return Err(format!("connection lost: {}", std::io::Error::from_raw_os_error(-result)));
        }
        let bytes = result as usize;
        let connection = &mut self.connections[i];
        let Some(id) = cqueue::buffer_select(flags) else {
            let whole = connection.receive(script, &self.buffers[i][..bytes], counts)?;
            if !whole {
                let receive = self.receive_once(i);
                self.push(&receive)?;
            }
            return Ok(whole);
        };
        let whole = connection.receive(script, self.pool.bytes(id, bytes), counts)?;
        self.pool.give_back(id);
        Ok(whole)
    }
}

/// Buffers that the kernel picks from, and the ring through which it gets them back; never freed.
struct Pool {
    entries: NonNull<BufRingEntry>,
    memory: Box<[u8]>,
    tail: u16,
}

impl Pool {
    fn layout() -> Layout {
        // A page is what the kernel demands; on any page size up to 64 KB.
        Layout::from_size_align(size_of::<BufRingEntry>() * usize::from(POOL), 65536).unwrap_or_else(|_| Layout::new::<u64>())
    }

    fn new() -> Self {
        // SAFETY: the layout is not empty; zeroes are a valid entry, which is plain integers.
        let entries = unsafe { alloc_zeroed(Self::layout()) }.cast::<BufRingEntry>();
        let Some(entries) = NonNull::new(entries) else { handle_alloc_error(Self::layout()) };
        // Not touched before the kernel writes to it: what is never used costs no memory.
        let mut pool = Self { entries, memory: vec![0; BUFFER * usize::from(POOL)].into(), tail: 0 };
        (0..POOL).for_each(|id| pool.give_back(id));
        pool
    }

    fn bytes(&self, id: u16, bytes: usize) -> &[u8] {
        &self.memory[usize::from(id) * BUFFER..][..bytes]
    }

    /// Lets the kernel fill a buffer again.
    fn give_back(&mut self, id: u16) {
        let address = self.memory[usize::from(id) * BUFFER..].as_mut_ptr() as u64;
        // SAFETY: the index is below POOL, so the entry is inside the allocation; the kernel reads an entry only when
        // the tail has passed it, and there are never more than POOL between its head and the tail, since each buffer
        // is given back once for each time the kernel has taken it.
        let entry = unsafe { self.entries.add(usize::from(self.tail & (POOL - 1))).as_mut() };
        entry.set_addr(address);
        entry.set_len(BUFFER as u32);
        entry.set_bid(id);
        self.tail = self.tail.wrapping_add(1);
        // SAFETY: the pointer is that of the first entry, whose last two bytes are the ring's tail: aligned, and shared
        // with the kernel alone, which only reads it.
        let tail = unsafe { AtomicU16::from_ptr(BufRingEntry::tail(self.entries.as_ptr()).cast_mut()) };
        tail.store(self.tail, Ordering::Release);
    }
}
