//! Two sides over real sockets.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crate::handshake::{Side, tls};
use crate::*;

const SECRET: &str = "0123456789abcdef0123456789abcdef";
const LONG: Duration = Duration::from_secs(10);

/// A clock that is so far ahead.
fn ahead(ns: i64) -> Clock {
    let start = Instant::now();
    Arc::new(move || start.elapsed().as_nanos() as i64 + ns)
}

fn token(text: &str) -> Token {
    Token::of(text).unwrap()
}

/// What both sides say of each other.
fn met(
    of_coordinator: &str,
    of_agent: &'static str,
    free: Result<(), String>,
) -> (Result<Channel, FleetError>, Result<Channel, FleetError>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let agent = thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        accept(&stream, (&token(of_agent), &Build::running()), ahead(300_000_000), move || free)
    });
    let coordinator = reach(&address, (&token(of_coordinator), &Build::running()), ahead(0));
    (coordinator, agent.join().unwrap())
}

fn joined() -> (Channel, Channel) {
    let (coordinator, agent) = met(SECRET, SECRET, Ok(()));
    (coordinator.unwrap(), agent.unwrap())
}

#[test]
fn messages_go_both_ways_in_order_and_long_ones_too() {
    let (coordinator, agent) = joined();
    let long = "x".repeat(3_000_000);
    for text in ["one", "two", long.as_str(), ""] {
        coordinator.send(&text).unwrap();
        assert_eq!(agent.receive::<String>(LONG), Received::Message(text.to_owned()));
        agent.send(&text).unwrap();
        assert_eq!(coordinator.receive::<String>(LONG), Received::Message(text.to_owned()));
    }
    assert_eq!(coordinator.receive::<String>(Duration::from_millis(20)), Received::Nothing);
    // Both at once, and neither waits for the other.
    thread::scope(|scope| {
        for channel in [&coordinator, &agent] {
            scope.spawn(move || (0..200).for_each(|i| channel.send(&format!("{i} {}", "y".repeat(20_000))).unwrap()));
            scope.spawn(move || {
                for i in 0..200 {
                    let Received::Message(text) = channel.receive::<String>(LONG) else { panic!("{i} did not come") };
                    assert!(text.starts_with(&format!("{i} y")));
                }
            });
        }
    });
}

#[test]
fn clocks_that_are_apart_are_found_within_the_error() {
    let (coordinator, agent) = joined();
    let deadline = Instant::now() + LONG;
    let known = || agent.offset().is_some() && coordinator.offset().is_some_and(|o| o.error_ns <= 5_000_000);
    while !known() && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(20));
    }
    let there = coordinator.offset().unwrap();
    // The clocks were started one after the other, within some milliseconds.
    assert!((there.ns - 300_000_000).abs() < 100_000_000 && there.error_ns < 100_000_000, "{there:?}");
    let back = agent.offset().unwrap();
    assert!((there.ns + back.ns).abs() <= there.error_ns + back.error_ns, "{there:?} {back:?}");
}

#[test]
fn another_token_is_refused_by_either_side_and_a_busy_agent_says_so() {
    let (coordinator, agent) = met(SECRET, "another token of some length, as long as it must be", Ok(()));
    assert_eq!((coordinator.err(), agent.err()), (Some(FleetError::Token), Some(FleetError::Token)));
    let (coordinator, agent) = met(SECRET, SECRET, Err("it is busy".to_owned()));
    let refused = || Some(FleetError::Refused("it is busy".to_owned()));
    assert_eq!((coordinator.err(), agent.err()), (refused(), refused()));
    assert!(Token::of("  short ").is_err());
    let made = Token::made().unwrap();
    assert!(made.len() == 64 && made != Token::made().unwrap() && format!("{:?}", token(&made)) == "Token(…)");
}

#[test]
fn another_build_is_refused_by_either_side_with_both_hashes() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let other = || Build { hash: "0123456789abcdef".repeat(4), ..Build::running() };
    let agent = thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        accept(&stream, (&token(SECRET), &other()), ahead(0), || Ok(())).err()
    });
    let said = reach(&address, (&token(SECRET), &Build::running()), ahead(0)).err().unwrap();
    assert!(matches!(agent.join().unwrap(), Some(FleetError::Build(..))));
    let (text, own) = (said.to_string(), Build::running().short().to_owned());
    assert!(text.contains("another build") && text.contains("0123456789ab,") && text.contains(&own), "{text}");
}

#[test]
fn a_side_that_goes_is_heard_of_and_one_that_is_no_perbuck_too() {
    let (coordinator, agent) = joined();
    drop(agent);
    assert_eq!(coordinator.receive::<String>(LONG), Received::Closed("the other side closed the connection".to_owned()));
    assert!(coordinator.send(&"too late").is_err());
    // A server that says something else, and one that is not there.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let other = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
        stream
    });
    assert!(matches!(reach(&address, (&token(SECRET), &Build::running()), ahead(0)), Err(FleetError::Unreachable(_))));
    drop(other.join());
    assert!(matches!(reach(&address, (&token(SECRET), &Build::running()), ahead(0)), Err(FleetError::Absent(_))));
}

#[test]
fn bytes_after_the_end_of_tls_are_no_endless_work() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let agent = thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        accept(&stream, (&token(SECRET), &Build::running()), ahead(0), || Ok(())).err()
    });
    let (mut socket, mut tls) = (TcpStream::connect(address).unwrap(), tls(Side::Coordinator).unwrap());
    while tls.is_handshaking() {
        tls.complete_io(&mut socket).unwrap();
    }
    tls.send_close_notify();
    tls.complete_io(&mut socket).unwrap();
    socket.write_all(b"more").unwrap();
    let began = Instant::now();
    assert!(matches!(agent.join().unwrap(), Some(FleetError::Unreachable(_))));
    assert!(began.elapsed() < LONG);
}

#[test]
fn a_side_that_falls_silent_is_noticed() {
    let (coordinator, _agent) = joined();
    thread::sleep(Duration::from_millis(500));
    assert!(coordinator.silent_for() < Duration::from_millis(400), "{:?}", coordinator.silent_for());
    // One that agrees and then says nothing: its pulse is what is missing.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (stream, _) = listener.accept().unwrap();
    let began = Instant::now();
    assert!(matches!(accept(&stream, (&token(SECRET), &Build::running()), ahead(0), || Ok(())), Err(FleetError::Unreachable(_))));
    assert!(began.elapsed() < LONG);
    drop(silent);
}
