//! What a server is sent by `-M extended`, message by message.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread::spawn;

use super::*;

/// What each client has sent.
pub(super) type Sent = Arc<Mutex<Vec<Vec<u8>>>>;

/// A port at which the server is reached, too, where all that clients say is written down.
pub(super) fn eavesdrop(server: &str, sent: &Sent) -> String {
    let (server, sent) = (server.parse::<u16>().unwrap(), Arc::clone(sent));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let server = TcpStream::connect(("127.0.0.1", server)).unwrap();
            let (mut from, mut to) = (server.try_clone().unwrap(), client.try_clone().unwrap());
            spawn(move || {
                let _ = std::io::copy(&mut from, &mut to);
                let _ = to.shutdown(Shutdown::Both);
            });
            let mine = {
                let mut all = sent.lock().unwrap();
                all.push(Vec::new());
                all.len() - 1
            };
            let sent = Arc::clone(&sent);
            spawn(move || {
                let (mut client, mut server, mut bytes) = (client, server, [0; 8192]);
                // Both ask for TLS first, whose messages could not be read.
                let mut wants_tls = [0; 8];
                if client.read_exact(&mut wants_tls).is_ok() {
                    assert_eq!(wants_tls[4..], 80_877_103_u32.to_be_bytes());
                    client.write_all(b"N").unwrap();
                }
                while let Ok(length @ 1..) = client.read(&mut bytes) {
                    sent.lock().unwrap()[mine].extend_from_slice(&bytes[..length]);
                    if server.write_all(&bytes[..length]).is_err() {
                        break;
                    }
                }
                let _ = server.shutdown(Shutdown::Both);
            });
        }
    });
    port
}

/// The messages of the extended protocol that a client sent: what each is, and its body without semicolons.
pub(super) fn extended(sent: &[u8]) -> Vec<(char, Vec<u8>)> {
    let length = |at: usize| sent.get(at..at + 4).map(|b| u32::from_be_bytes(b.try_into().unwrap()) as usize);
    // The message of a start has no kind.
    let (mut at, mut all) = (length(0).unwrap_or(0), Vec::new());
    while let Some(length) = length(at + 1) {
        let body: Vec<u8> = sent[at + 5..at + 1 + length].iter().copied().filter(|byte| *byte != b';').collect();
        if b"PBDES".contains(&sent[at]) {
            all.push((char::from(sent[at]), body));
        }
        at += 1 + length;
    }
    all
}

const SCRIPT: &str = "\\set a 3\n\\set d 1.0 / 3\n\\set b :a > 2\nBEGIN;\n\
                      UPDATE pgbench_accounts SET abalance = abalance + :a WHERE aid = :a;\n\
                      SELECT :a::int + 1, :d::float8, :b::bool, :word::text, :nothing::int, 'x;' /* the end */;\nCOMMIT;\n\
                      BEGIN ISOLATION LEVEL REPEATABLE READ;\nSELECT 1;\nROLLBACK;\n";

#[test]
fn the_extended_protocol_is_that_of_pgbench() {
    let mut desk = Desk::new();
    let postgres = Postgres::fresh(&mut desk, "pgbench_extended");
    good(theirs, &desk, &postgres, &["-i", "-q"]);
    desk.write("a.sql", SCRIPT);
    let [ours, theirs] = PROGRAMS.map(|program| {
        let sent = Sent::default();
        let tapped = Postgres { port: eavesdrop(&postgres.port, &sent), ..postgres.clone() };
        let words = ["-n", "-t", "2", "-c", "1", "-M", "extended", "-D", "word=it's", "-f", "a.sql"];
        let out = good(program, &desk, &tapped, &words);
        assert!(out.contains("query mode: extended\n") && out.contains("processed: 2/2\n"), "{out}");
        let all = sent.lock().unwrap();
        let loads: Vec<_> = all.iter().map(|sent| extended(sent)).filter(|messages| !messages.is_empty()).collect();
        assert_eq!(loads.len(), 1, "{loads:?}");
        loads.into_iter().next().unwrap()
    });
    // Two transactions of seven statements, each of five messages.
    assert_eq!(theirs.len(), 2 * 7 * 5);
    for (i, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
        let shown = |(kind, body): &(char, Vec<u8>)| format!("{kind} {}", String::from_utf8_lossy(body).escape_debug());
        assert_eq!(shown(ours), shown(theirs), "message {i}");
    }
    assert_eq!(ours.len(), theirs.len());
}

/// An error within a transaction is told as by pgbench, `\gset` works, and other databases say why they cannot.
#[test]
fn the_extended_protocol_has_the_rest_of_the_language() {
    let mut desk = Desk::new();
    let postgres = Postgres::fresh(&mut desk, "pgbench_extended_rest");
    for (script, code, said) in [
        ("SELECT 3 AS a, 4 AS b \\gset x_\n\\set sum debug(:x_a + :x_b)\n", 0, "command=2): int 7"),
        ("SELECT 8 AS i UNION SELECT 9 ORDER BY 1 \\aset\n\\set i debug(:i)\n", 0, "command=2): int 9"),
        ("SELECT 1 AS i UNION SELECT 2 \\gset\n", 2, "expected one row, got 2"),
        ("SELECT 1 + ;\n", 2, "syntax error"),
        ("SELECT 1 / 0;\n", 2, "division by zero"),
        ("BEGIN;\nSELECT 1;\n", 2, "end of script reached without completing the last transaction"),
    ] {
        desk.write("a.sql", script);
        for program in PROGRAMS {
            let ended = program(&desk, &postgres, &["-n", "-t", "3", "-M", "extended", "-f", "a.sql"]);
            let all = format!("{}{}", ended.out, ended.err);
            assert!(ended.code == Some(code) && all.contains(said), "{script}: {ended:#?}");
        }
    }
    let refused = desk.perbuck(&["pgbench", "-n", "-S", "-M", "extended", "--target", "sqlite:a.db"]);
    assert!(refused.code == Some(1) && refused.err.contains("SQLite has no message that sends"), "{refused:?}");
    assert!(refused.err.contains("prepared"), "{refused:?}");
}
