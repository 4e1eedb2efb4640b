//! Buckets that do not answer, and one whose certificate an authority of the user signed.

use std::fs;
use std::io::Read;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::common::s3::{BUCKET, Gateway, KEY, SECRET};
use crate::common::{Desk, edited, ended, server, signal};

/// A server that takes connections and says nothing, and a command that waits for it.
fn waiting(desk: &mut Desk, words: &[&str]) -> (TcpListener, Child) {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    desk.set("AWS_ENDPOINT_URL", &format!("http://127.0.0.1:{}", silent.local_addr().unwrap().port()));
    desk.set("AWS_ACCESS_KEY_ID", KEY);
    desk.set("AWS_SECRET_ACCESS_KEY", SECRET);
    desk.write("study.toml", &edited(&[]));
    let child = desk.command(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The request is there.
    let (mut asked, _) = silent.accept().unwrap();
    asked.read_exact(&mut [0; 16]).unwrap();
    std::mem::forget(asked);
    (silent, child)
}

#[test]
fn a_bucket_that_does_not_answer_ends_by_ctrl_c() {
    for command in ["save", "restore"] {
        let mut desk = Desk::new();
        let (_silent, child) = waiting(&mut desk, &["data", command, "study.toml", "s3://dead/x"]);
        let began = Instant::now();
        signal(&child, "INT");
        let ended = ended(child.wait_with_output().unwrap());
        assert!(began.elapsed() < Duration::from_secs(2), "{:?}: {ended:#?}", began.elapsed());
        assert_eq!(ended.code, Some(130), "{ended:#?}");
        assert!(ended.err.contains("interrupted") && !desk.path("full.db").exists(), "{ended:#?}");
    }
}

#[test]
fn a_second_ctrl_c_ends_at_once_and_the_wait_is_shown() {
    let mut desk = Desk::new();
    let (_silent, mut child) = waiting(&mut desk, &["data", "save", "study.toml", "s3://dead/x"]);
    std::thread::sleep(Duration::from_secs(12));
    signal(&child, "INT");
    std::thread::sleep(Duration::from_millis(100));
    let began = Instant::now();
    let _ = child.try_wait().unwrap().is_none().then(|| signal(&child, "INT"));
    let ended = ended(child.wait_with_output().unwrap());
    assert!(began.elapsed() < Duration::from_secs(1) && ended.code == Some(130), "{:?}: {ended:#?}", began.elapsed());
    let shown =
        |line: &str| line.contains("nothing has moved for 1") && line.contains("to put full/") && line.contains(" at 127.0.0.1:");
    assert!(ended.err.lines().any(shown), "{ended:#?}");
}

#[test]
fn an_authority_of_the_user_signs_the_certificate_of_a_bucket() {
    let (authority, other) = (server("PERBUCK_TEST_CA"), server("PERBUCK_TEST_OTHER_CA"));
    let own = |name: &str| Path::new(&authority).with_file_name(name).display().to_string();
    let gateway = Gateway::with(&["--cert", &own("server.pem"), "--key", &own("server-key.pem")]);
    let mut desk = Desk::new();
    gateway.tell(&mut desk);
    desk.set("AWS_ENDPOINT_URL", &format!("https://127.0.0.1:{}", gateway.port));
    desk.write("study.toml", &edited(&[]));
    let with = |bundle: &str, words: &[&str]| ended(desk.command(words).env("AWS_CA_BUNDLE", bundle).output().unwrap());
    let archive = format!("s3://{BUCKET}/tls");
    let list = ["data", "list", &archive];
    let stranger = with(&other, &list);
    assert!(stranger.code == Some(3) && stranger.err.contains("did not answer in 5 attempts"), "{stranger:#?}");
    assert!(stranger.err.contains("certificate") && stranger.err.contains("AWS_CA_BUNDLE"), "{stranger:#?}");
    for command in ["save", "restore"] {
        let moved = with(&authority, &["data", command, "study.toml", &archive]);
        assert_eq!(moved.code, Some(0), "{moved:#?}");
    }
    fs::write(desk.path("none.pem"), "nothing").unwrap();
    for (bundle, says) in [("none.pem", "none.pem holds no certificate"), ("missing.pem", "missing.pem cannot be read")] {
        let refused = with(bundle, &list);
        assert!(refused.code == Some(2) && refused.err.contains(says), "{refused:#?}");
    }
}
