//! What the kernel counts of a TCP connection.
#![allow(unsafe_code, reason = "no library that is linked asks for TCP_INFO")]

use std::os::fd::RawFd;
use std::time::Duration;

use crate::segments::Segments;

/// `struct tcp_info` of Linux's <linux/tcp.h> only grows at its end. The C libraries declare different parts of it, so that its
/// numbers are taken by their offsets in bytes.
const TOTAL_RETRANS: usize = 100;
const MIN_RTT: usize = 148;
const DATA_SEGS_OUT: usize = 156;
const ROOM: usize = 256;

/// The counts of one connection since it was opened; none of what is no TCP socket.
pub(crate) fn of(socket: RawFd) -> Segments {
    let number = |info: &[u8; ROOM], at| u64::from(number(info, at));
    let counts = |info| Segments { sent: number(&info, DATA_SEGS_OUT), retransmitted: number(&info, TOTAL_RETRANS) };
    asked(socket).map_or_else(Segments::default, counts)
}

/// The shortest round trip of a packet of one connection; `None` of what is no TCP socket, or before one was measured.
pub(crate) fn round_trip(socket: RawFd) -> Option<Duration> {
    let micros = number(&asked(socket)?, MIN_RTT);
    // Unknown is all bits, or none from a kernel that writes less.
    (micros != 0 && micros != u32::MAX).then(|| Duration::from_micros(micros.into()))
}

fn number(info: &[u8; ROOM], at: usize) -> u32 {
    info.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |four| u32::from_ne_bytes(*four))
}

/// What the kernel says of a TCP socket; a kernel that says less leaves zeros.
///
/// Proof: the kernel checks the descriptor and writes at most `length` bytes to `info`, which has that many; any bytes are right there. A
/// descriptor that is closed, or no TCP socket, is an error, and nothing is written.
fn asked(socket: RawFd) -> Option<[u8; ROOM]> {
    let (mut info, mut length) = ([0_u8; ROOM], ROOM as libc::socklen_t);
    // SAFETY: see above.
    let answer =
        unsafe { libc::getsockopt(socket, libc::IPPROTO_TCP, libc::TCP_INFO, info.as_mut_ptr().cast(), &raw mut length) };
    (answer == 0).then_some(info)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd;
    use std::thread;

    use super::*;

    #[test]
    fn segments_of_a_connection_are_counted_and_nothing_else_is() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        client.set_nodelay(true).unwrap();
        for _ in 0..100 {
            client.write_all(b"?").unwrap();
            server.read_exact(&mut [0]).unwrap();
        }
        assert_eq!(of(client.as_raw_fd()), Segments { sent: 100, retransmitted: 0 });
        assert_eq!(of(server.as_raw_fd()), Segments::default());
        let trip = round_trip(client.as_raw_fd()).unwrap();
        assert!(trip > Duration::ZERO && trip < Duration::from_secs(1), "{trip:?}");
        assert_eq!((round_trip(-1), round_trip(std::io::stdin().as_raw_fd())), (None, None));
        assert_eq!((of(-1), of(std::io::stdin().as_raw_fd())), (Segments::default(), Segments::default()));
    }

    /// A full queue of a listener drops what would open one more connection, which is then sent again.
    #[test]
    fn a_segment_that_is_dropped_is_counted_when_it_is_resent() {
        use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, getsockname, listen, socket_with};
        let listener = socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None).unwrap();
        bind(&listener, &"127.0.0.1:0".parse::<std::net::SocketAddr>().unwrap()).unwrap();
        listen(&listener, 0).unwrap();
        let address: std::net::SocketAddr = getsockname(&listener).unwrap().try_into().unwrap();
        let open = |_| {
            let client = socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::NONBLOCK, None).unwrap();
            // In progress: whether it gets a place in the queue is seen below.
            let _ = connect(&client, &address);
            client
        };
        let clients: Vec<_> = (0..6).map(open).collect();
        let resent = || clients.iter().map(|c| of(c.as_raw_fd()).retransmitted).sum::<u64>();
        assert!((0..600).any(|_| {
            thread::sleep(Duration::from_millis(20));
            resent() > 0
        }));
    }
}
