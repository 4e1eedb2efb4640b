use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

use crate::tcp::TcpStream;
use crate::{Elapsed, TaskSet, now, sleep, sleep_until, timeout_at, yield_now};

use super::*;

#[test]
fn simulated_time_jumps_from_timer_to_timer_in_order() {
    let wall = Instant::now();
    let order = block_on_simulated(async {
        let start = now();
        let mut tasks = TaskSet::default();
        for seconds in [3600, 5, 60, 5] {
            tasks.spawn(async move {
                sleep(Duration::from_secs(seconds)).await;
                (seconds, now() - start)
            });
        }
        let mut order = Vec::new();
        while let Some(ended) = tasks.next().await {
            order.push(ended);
        }
        order
    });
    assert_eq!(order.iter().map(|(s, _)| *s).collect::<Vec<_>>(), [5, 5, 60, 3600]);
    assert!(order.iter().all(|(s, took)| *took == Duration::from_secs(*s)));
    assert!(wall.elapsed() < Duration::from_secs(5));
}

#[test]
#[should_panic(expected = "no timer is left")]
fn a_simulated_loop_says_when_nothing_can_happen_any_more() {
    block_on_simulated(std::future::pending::<()>());
}

#[test]
fn a_limit_ends_a_wait_and_drops_what_was_waited_for() {
    block_on_simulated(async {
        let start = now();
        let slow = timeout_at(start + Duration::from_secs(2), sleep(Duration::from_secs(9))).await;
        assert_eq!((slow, now() - start), (Err(Elapsed), Duration::from_secs(2)));
        assert_eq!(timeout_at(now() + Duration::from_secs(2), async { 7 }).await, Ok(7));
        sleep_until(start).await;
        assert_eq!(now() - start, Duration::from_secs(2));
    });
}

#[test]
fn a_task_that_yields_lets_the_others_run() {
    let trace = block_on_simulated(async {
        let trace = Rc::new(RefCell::new(Vec::new()));
        let mut tasks = TaskSet::default();
        for name in ["a", "b"] {
            let trace = trace.clone();
            tasks.spawn(async move {
                for i in 0..3 {
                    trace.borrow_mut().push(format!("{name}{i}"));
                    yield_now().await;
                }
            });
        }
        while tasks.next().await.is_some() {}
        trace.take()
    });
    assert_eq!(trace, ["a0", "b0", "a1", "b1", "a2", "b2"]);
}

#[test]
fn tasks_that_are_aborted_or_left_are_dropped() {
    struct Dropped(Rc<Cell<u32>>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
            // A part may use the loop while it goes.
            let _ = sleep(Duration::from_secs(1)).poll_passed();
        }
    }
    let count = Rc::new(Cell::new(0));
    let (held, counted) = (count.clone(), count.clone());
    block_on_simulated(async move {
        let mut tasks = TaskSet::default();
        for _ in 0..3 {
            let part = Dropped(held.clone());
            tasks.spawn(async move {
                sleep(Duration::from_secs(1_000)).await;
                drop(part);
            });
        }
        let mut left = TaskSet::default();
        let part = Dropped(held.clone());
        left.spawn(async move {
            std::future::pending::<()>().await;
            drop(part);
        });
        sleep(Duration::from_secs(1)).await;
        tasks.abort_all();
        assert_eq!((tasks.running(), counted.get()), (0, 3));
        assert_eq!(tasks.next().await, None);
    });
    assert_eq!(count.get(), 4);
}

#[test]
fn timers_of_the_real_clock_are_never_early() {
    block_on(async {
        for _ in 0..200 {
            let at = now() + Duration::from_micros(300);
            sleep_until(at).await;
            assert!(now() >= at);
        }
    })
    .unwrap();
}

#[test]
fn another_thread_can_wake_a_loop_that_sleeps() {
    let (send, receive) = std::sync::mpsc::channel::<Waker>();
    let waker = thread::spawn(move || {
        let waker = receive.recv().unwrap();
        thread::sleep(Duration::from_millis(20));
        waker.wake();
    });
    let mut polls = 0;
    let started = Instant::now();
    block_on(poll_fn(|cx| {
        polls += 1;
        if polls == 1 {
            send.send(cx.waker().clone()).unwrap();
            return Poll::Pending;
        }
        Poll::Ready(())
    }))
    .unwrap();
    waker.join().unwrap();
    assert!(started.elapsed() >= Duration::from_millis(20));
    assert_eq!(polls, 2);
}

/// Sends back what it gets, in pieces, over and over.
fn echo_server(connections: usize) -> (std::net::SocketAddr, thread::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let serve = move || {
        let serving: Vec<_> = (0..connections)
            .map(|_| {
                let (mut stream, _) = listener.accept().unwrap();
                thread::spawn(move || {
                    let mut room = vec![0; 70_000];
                    while let Ok(count @ 1..) = stream.read(&mut room) {
                        let (a, b) = room[..count].split_at(count / 2);
                        stream.write_all(a).unwrap();
                        stream.write_all(b).unwrap();
                    }
                })
            })
            .collect();
        serving.into_iter().for_each(|t| t.join().unwrap());
    };
    (address, thread::spawn(serve))
}

async fn exchange(stream: &mut TcpStream, bytes: &[u8]) -> Vec<u8> {
    let (mut sent, mut back, mut room) = (0, Vec::new(), vec![0; 4096]);
    while back.len() < bytes.len() {
        let count = poll_fn(|_| {
            while sent < bytes.len() {
                match stream.poll_write(&bytes[sent..]) {
                    Poll::Ready(count) => sent += count.unwrap(),
                    Poll::Pending => break,
                }
            }
            stream.poll_read(&mut room)
        })
        .await
        .unwrap();
        assert!(count > 0);
        back.extend_from_slice(&room[..count]);
    }
    back
}

#[test]
fn many_connections_get_back_what_they_send_even_when_the_socket_is_full() {
    let (address, server) = echo_server(8);
    block_on(async {
        let mut tasks = TaskSet::default();
        for i in 0..8u32 {
            tasks.spawn(async move {
                let mut stream = TcpStream::connect(&[address]).await.unwrap();
                for length in [1, 100, 4096, 3_000_000] {
                    let bytes: Vec<u8> = (0..length).map(|j: u32| (i + j) as u8).collect();
                    assert!(exchange(&mut stream, &bytes).await == bytes, "{length} bytes came back changed");
                }
            });
        }
        while tasks.next().await.is_some() {}
    })
    .unwrap();
    server.join().unwrap();
}

#[test]
fn the_end_of_a_connection_is_seen_though_the_last_bytes_came_with_it() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = thread::spawn(move || listener.accept().unwrap().0.write_all(b"bye").unwrap());
    let seen = block_on(async {
        let mut stream = TcpStream::connect(&[address]).await.unwrap();
        sleep(Duration::from_millis(50)).await;
        let mut room = [0; 16];
        let first = poll_fn(|_| stream.poll_read(&mut room)).await.unwrap();
        (first, poll_fn(|_| stream.poll_read(&mut room)).await.unwrap())
    });
    server.join().unwrap();
    assert_eq!(seen.unwrap(), (3, 0));
}

#[test]
fn a_port_without_a_listener_is_an_error_and_the_next_address_is_tried() {
    let (address, server) = echo_server(1);
    let closed = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap()
    };
    block_on(async {
        let refused = TcpStream::connect(&[closed]).await.unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
        assert!(TcpStream::connect(&[]).await.is_err());
        let mut stream = TcpStream::connect(&[closed, address]).await.unwrap();
        assert_eq!(exchange(&mut stream, b"hello").await, b"hello");
        let named = crate::dns::resolve("localhost", 1).await.unwrap();
        assert!(named.iter().all(|a| a.ip().is_loopback() && a.port() == 1) && !named.is_empty());
        assert!(crate::dns::resolve("no.such.host.invalid", 1).await.is_err());
    })
    .unwrap();
    server.join().unwrap();
}
