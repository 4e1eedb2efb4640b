//! Logging in to real servers: accounts, right and wrong; every TLS mode; what cannot be reached; and what a server tells.

use std::net::{Shutdown, TcpListener, TcpStream, UdpSocket};
use std::process::Command;

use perbuck_database::{Database as _, Target as _};
use perbuck_event::block_on;
use perbuck_load::driver::{Driver, Session, SessionId};
use perbuck_load::error::{Cause, DriverError, ErrorClass, ErrorCode};

use crate::servers::{SharedServer, assert_error, on_each, select, variable};

/// Logs in; the user that the server sees.
///
/// # Errors
/// The driver's.
pub async fn try_login<S: SharedServer>(driver: &S::Driver) -> Result<String, DriverError> {
    let mut session = driver.connect(SessionId::Own(0)).await?;
    let user = select(&mut session, S::USER).await[0][0].clone();
    session.close().await;
    Ok(user)
}

/// Right and wrong password of one account; the wrong one is refused and neither is shown.
pub async fn right_and_wrong<S: SharedServer>(server: &S, user: &str, password: &str, options: &str) {
    let (target, password) = (server.target(user, options), variable(password));
    let right = try_login::<S>(&S::driver_of(&target, &password).unwrap()).await;
    assert_eq!(right, Ok(format!("{user}{}", S::USER_END)), "{server:?} {options}");
    for (wrong, codes) in ["wr0ng-password-that-must-not-be-shown", ""].into_iter().zip(S::WRONG_PASSWORD) {
        let driver = S::driver_of(&target, wrong).unwrap();
        let error = try_login::<S>(&driver).await.unwrap_err();
        assert!(error.class == ErrorClass::Refused && codes.contains(&error.code), "{server:?} {user} {options}: {error:?}");
        let text = format!("{error} {error:?} {driver:?}");
        assert!(!text.contains("wr0ng") && !text.contains(&password), "{text}");
        assert!(text.contains("refused the login") || text.contains("none was given"), "{text}");
    }
}

/// Another way to a server on this machine, by an address that is not a loopback one: for its client it is in the network.
fn in_the_network(port: u16) -> (String, u16) {
    // A socket for datagrams that is connected sends nothing.
    let asked = UdpSocket::bind("0.0.0.0:0").and_then(|socket| socket.connect("192.0.2.1:9").map(|()| socket));
    let here = asked.and_then(|socket| socket.local_addr()).expect("this test needs an address that is not a loopback one").ip();
    let listener = TcpListener::bind((here, 0)).unwrap();
    let ours = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for here in listener.incoming().flatten() {
            let there = TcpStream::connect(("127.0.0.1", port)).unwrap();
            for (mut from, mut to) in [(here.try_clone().unwrap(), there.try_clone().unwrap()), (there, here)] {
                std::thread::spawn(move || {
                    let _ = std::io::copy(&mut from, &mut to);
                    let _ = to.shutdown(Shutdown::Both);
                });
            }
        }
    });
    (here.to_string(), ours)
}

/// Logs in as over a network.
///
/// # Errors
/// The driver's.
pub async fn in_the_network_of<S: SharedServer>(
    server: &S,
    (user, password): (&str, &str),
    options: &str,
) -> Result<String, DriverError> {
    let mut target = server.target(user, options);
    let hosts = &mut target.server_mut().unwrap().hosts;
    *hosts = vec![in_the_network(hosts[0].1)];
    try_login::<S>(&S::driver_of(&target, &variable(password)).unwrap()).await
}

/// An account whose server asks for the password itself, over a network: the password goes to a server that is verified, or where
/// the target says so, and to no other. `forget` lets the server ask for it.
pub async fn the_password_itself_goes_to_a_verified_server<S: SharedServer>(
    server: &S,
    (user, password): (&str, &str),
    forget: &mut impl AsyncFnMut(),
) {
    let hidden = variable(password);
    let mut login = async |options: &str| {
        forget().await;
        in_the_network_of(server, (user, password), options).await
    };
    let ca = variable("PERBUCK_TEST_CA");
    let printed = Command::new("openssl")
        .args(["x509", "-noout", "-fingerprint", "-sha256", "-in", &ca.replace("ca.pem", "server.pem")])
        .output()
        .unwrap();
    let printed = String::from_utf8(printed.stdout).unwrap().trim().split_once('=').unwrap().1.to_owned();
    let pinned = format!("tls_fingerprint=sha256:{printed}");
    for options in ["tls=required".to_owned(), "tls=preferred".to_owned(), format!("tls=required&ca={ca}")] {
        let error = login(&options).await.unwrap_err();
        assert_error(&error, ErrorClass::Refused, ErrorCode::Word("client", "unverified"));
        assert!(error.message.contains(&format!("write `{pinned}`")) && !error.message.contains(&hidden), "{error}");
    }
    for options in [pinned.clone(), format!("tls=verify-ca&ca={ca}"), "tls=required&send_password=always".to_owned()] {
        assert!(login(&options).await.is_ok(), "{server:?} {options}");
    }
    // Another certificate, and one of no authority that is known: the user learns which one it is.
    for options in [format!("tls_fingerprint=sha256:{}", "00".repeat(32)), "tls=verify-identity".to_owned()] {
        let error = login(&options).await.unwrap_err();
        assert_error(&error, ErrorClass::Refused, ErrorCode::Word("client", "tls"));
        assert!(error.message.contains(&format!("write `{pinned}`")), "{error}");
    }
}

/// Every account, with TLS and without.
pub fn passwords_are_checked_by_every_method<S: SharedServer>() {
    on_each(async |server: &S| {
        for (_, user, password) in S::ACCOUNTS.iter().filter(|(of, ..)| *of == server.variable()) {
            for options in ["tls=disabled", "tls=required"] {
                right_and_wrong(server, user, password, options).await;
            }
        }
    });
}

async fn cipher<S: SharedServer>(server: &S, options: &str) -> Result<String, DriverError> {
    let password = variable(&format!("{}_TLS_PASSWORD", server.variable()));
    let driver = S::driver_of(&server.target("tls_user", options), &password)?;
    Ok(driver.facts().await?.variables["connection encryption"].clone())
}

/// An account that must use TLS, in all modes, with the right authority and others.
pub fn tls_modes<S: SharedServer>() {
    on_each(async |server: &S| {
        let (ca, other) = (variable("PERBUCK_TEST_CA"), variable("PERBUCK_TEST_OTHER_CA"));
        for options in [
            "tls=preferred".to_owned(),
            "tls=required".to_owned(),
            format!("tls=verify-ca&ca={ca}"),
            format!("tls=verify-identity&ca={ca}"),
            // Without verification the authority does not matter.
            format!("tls=required&ca={other}"),
        ] {
            let cipher = cipher(server, &options).await;
            assert!(cipher.as_ref().is_ok_and(|c| c.starts_with("TLS_")), "{server:?} {options}: {cipher:?}");
        }
        let plain = cipher(server, "tls=disabled").await.unwrap_err();
        assert_error(&plain, ErrorClass::Refused, S::NO_TLS);
        for options in [
            format!("tls=verify-ca&ca={other}"),
            format!("tls=verify-identity&ca={other}"),
            "tls=verify-ca".to_owned(),
            "tls=verify-identity".to_owned(),
        ] {
            let error = cipher(server, &options).await.unwrap_err();
            assert_error(&error, ErrorClass::Refused, ErrorCode::Word("client", "tls"));
            assert!(error.message.contains("127.0.0.1:"), "{options}: {error}");
        }
        assert_eq!(server.owner("tls=disabled").facts().await.unwrap().variables["connection encryption"], "none");
    });
}

/// `127.0x1` is 127.0.0.1 for the resolver, a host name for TLS, and not in the certificate.
pub fn a_wrong_host_name_matters_to_verify_identity_only<S: SharedServer>() {
    on_each(async |server: &S| {
        let ca = variable("PERBUCK_TEST_CA");
        for host in ["127.0x1", "127.1"] {
            let login = async |mode: &str| {
                let options = format!("tls={mode}&ca={ca}");
                try_login::<S>(&server.with_hosts(&options, |hosts| host.clone_into(&mut hosts[0].0))).await
            };
            assert!(login("verify-ca").await.is_ok(), "{server:?} {host}");
            let error = login("verify-identity").await.unwrap_err();
            assert_error(&error, ErrorClass::Refused, ErrorCode::Word("client", "tls"));
        }
    });
}

/// A file that is missing, and files that hold no certificate.
pub fn a_bad_file_of_authorities_is_named<S: SharedServer>() {
    let scheme = S::Database::SCHEMES[0].trim_end_matches("://");
    for (name, content) in
        [("missing", None), ("empty", Some("")), ("text", Some("hello")), ("torn", Some("-----BEGIN CERTIFICATE-----\n"))]
    {
        let file = std::env::temp_dir().join(format!("perbuck-{scheme}-ca-{}-{name}.pem", std::process::id()));
        if let Some(content) = content {
            std::fs::write(&file, content).unwrap();
        }
        let rest = format!("//u@h/d?tls=verify-ca&ca={}", file.display());
        let error = S::driver_of(&S::Database::parse(scheme, &rest).unwrap().unwrap(), "").err().unwrap();
        let _ = std::fs::remove_file(&file);
        assert_eq!(error.class, ErrorClass::Refused);
        assert!(error.message.contains(&*file.to_string_lossy()), "{error}");
    }
}

/// Connections go to the hosts in their order, whether they can be reached or not.
pub fn what_cannot_be_reached_is_named_and_hosts_are_used_in_order<S: SharedServer>() {
    on_each(async |server: &S| {
        let driver = server.with_hosts("", |hosts| {
            hosts.extend([("127.0.0.1".to_owned(), 1), ("no-such-host.invalid".to_owned(), 3306)]);
        });
        for round in 0..2 {
            driver.connect(SessionId::Own(3 * round)).await.unwrap().close().await;
            for (i, host) in [(1, "127.0.0.1:1"), (2, "no-such-host.invalid:3306")] {
                let error = driver.connect(SessionId::Own(3 * round + i)).await.err().unwrap();
                assert_error(&error, ErrorClass::Lost, ErrorCode::Word("client", "unreachable"));
                assert!(error.message.contains(host), "{error}");
            }
        }
    });
}

/// A database and a user that are not there.
pub fn an_unknown_database_and_an_unknown_user_are_refused<S: SharedServer>() {
    on_each(async |server: &S| {
        let mut elsewhere = server.target(S::OWNER, "");
        "no_such_database".clone_into(&mut elsewhere.server_mut().unwrap().database);
        // MySQL answers an unknown user with a login method drawn at random, which perbuck may not support.
        let drawn = ErrorCode::Word("client", "auth");
        let unknown = [S::WRONG_PASSWORD[0], &[drawn]].concat();
        for (target, codes) in [(elsewhere, vec![S::NO_DATABASE]), (server.target("no_such_user", ""), unknown)] {
            let driver = S::driver_of(&target, &server.password()).unwrap();
            let error = driver.connect(SessionId::Own(0)).await.err().unwrap();
            assert!(error.class == ErrorClass::Refused && codes.contains(&error.code), "{server:?}: {error:?}");
        }
    });
}

/// What a server tells of itself, and what it counts.
pub fn facts_and_counters<S: SharedServer>() {
    on_each(async |server: &S| {
        let driver = server.owner("");
        let facts = driver.facts().await.unwrap();
        assert!(facts.on_this_machine && !facts.version.is_empty(), "{facts:?}");
        S::check_version(&facts);
        let (known, hidden) = S::FACTS;
        for (name, value) in known {
            assert_eq!(facts.variables[*name], *value, "{server:?}: {name}");
        }
        assert!(!facts.variables.contains_key(hidden));
        let pid = std::fs::read_to_string(variable(&format!("{}_PIDFILE", server.variable()))).unwrap();
        assert_eq!(facts.local_pid.map(|pid| pid.to_string()).as_deref(), Some(pid.trim()));
        let before = driver.counters().await.unwrap();
        let mut session = driver.connect(SessionId::Own(0)).await.unwrap();
        for _ in 0..10 {
            select(&mut session, "SELECT 1").await;
        }
        // A session that has been closed has been counted.
        session.close().await;
        let after = driver.counters().await.unwrap();
        let (counted, others) = S::COUNTERS;
        assert!(after[counted] >= before[counted] + 10, "{before:?} {after:?}");
        assert!(others.iter().all(|name| after.contains_key(*name)), "{after:?}");
    });
}

/// A port where the client waits for an answer that does not come.
pub fn a_port_where_no_server_answers_is_doubted<S: SharedServer>() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let scheme = S::Database::SCHEMES[0].trim_end_matches("://");
    let target = S::Database::parse(scheme, &format!("//root@127.0.0.1:{port}/test?read_timeout=200ms")).unwrap().unwrap();
    let silent = S::driver_of(&target, "").unwrap();
    let error = block_on(silent.connect(SessionId::Own(0))).unwrap().err().unwrap();
    assert_error(&error, ErrorClass::Lost, ErrorCode::Word("client", "timeout"));
    assert!(error.cause == Some(Cause::Timeout) && error.message.ends_with("check the port"), "{error}");
}
