//! Logging in to a real PostgreSQL: every method, right and wrong; every TLS mode; and what cannot be reached.
#![allow(clippy::unwrap_used)] // A panic is how a test fails.

mod postgres_support;

use perbuck_database::secret::Secret;
use perbuck_event::block_on;
use perbuck_load::driver::{Driver, Session, SessionId};
use perbuck_load::error::{DriverError, ErrorClass, ErrorCode};
use perbuck_postgres::PostgresDriver;
use postgres_support::{OWNER, admin, driver, owner_driver, run, select, state, target, variable};

async fn try_login(driver: &PostgresDriver) -> Result<String, DriverError> {
    let mut session = driver.connect(SessionId(0)).await?;
    let user = select(&mut session, "SELECT current_user").await[0][0].clone();
    session.close().await;
    Ok(user)
}

/// Right and wrong password of one account; the wrong one is refused and neither is shown.
async fn right_and_wrong(user: &str, password: &str, options: &str) {
    let right = try_login(&driver(user, password, options).unwrap()).await;
    assert_eq!(right.as_deref(), Ok(user), "{options}");
    for (wrong, code) in [("wr0ng-password-that-must-not-be-shown", state(b"28P01")), ("", ErrorCode::Word("client", "auth"))] {
        let driver = PostgresDriver::new(target(user, options), Secret::new(wrong)).unwrap();
        let error = try_login(&driver).await.unwrap_err();
        assert_eq!((error.class, error.code), (ErrorClass::Refused, code), "{user} {options}: {error}");
        let text = format!("{error} {error:?} {driver:?}");
        assert!(!text.contains("wr0ng") && !text.contains(&variable(password)), "{text}");
        assert!(text.contains("does not let us in") || text.contains("none was given"), "{text}");
    }
}

#[test]
fn scram_and_md5() {
    block_on(async {
        for options in ["tls=disabled", "tls=required"] {
            right_and_wrong("perbuck", OWNER, options).await;
            right_and_wrong("md5_user", "PERBUCK_TEST_POSTGRES_MD5_PASSWORD", options).await;
        }
    })
    .unwrap();
}

#[test]
fn a_password_in_the_clear_is_sent_under_tls_only() {
    block_on(async {
        let password = "PERBUCK_TEST_POSTGRES_CLEAR_PASSWORD";
        right_and_wrong("clear_user", password, "tls=required").await;
        let error = try_login(&driver("clear_user", password, "tls=disabled").unwrap()).await.unwrap_err();
        assert_eq!((error.class, error.code), (ErrorClass::Refused, ErrorCode::Word("client", "auth")), "{error}");
        assert!(error.message.contains("in the clear") && error.message.contains("tls=verify-identity"), "{error}");
    })
    .unwrap();
}

#[test]
fn who_is_trusted_is_asked_nothing() {
    block_on(async {
        for password in ["", "whatever"] {
            let driver = PostgresDriver::new(target("trust_user", ""), Secret::new(password)).unwrap();
            assert_eq!(try_login(&driver).await.as_deref(), Ok("trust_user"));
        }
    })
    .unwrap();
}

/// RFC 4013 prepares passwords; the server does the same when it stores one.
#[test]
fn passwords_may_be_any_text() {
    block_on(async {
        let mut admin = admin().await;
        let user = format!("odd_{}", std::process::id());
        for password in ["päß wörd", "\u{2168}\u{a0}\u{ad}x", "😀", "a'b\"c\\d"] {
            run(&mut admin, &format!("CREATE ROLE {user} LOGIN PASSWORD '{}'", password.replace('\'', "''"))).await;
            let driver = PostgresDriver::new(target(&user, ""), Secret::new(password)).unwrap();
            let logged_in = try_login(&driver).await;
            run(&mut admin, &format!("DROP ROLE {user}")).await;
            assert_eq!(logged_in.as_deref(), Ok(&*user), "{password}");
        }
    })
    .unwrap();
}

async fn cipher(options: &str) -> Result<String, DriverError> {
    let driver = driver("tls_user", "PERBUCK_TEST_POSTGRES_TLS_PASSWORD", options)?;
    Ok(driver.facts().await?.variables["connection encryption"].clone())
}

#[test]
fn tls_modes() {
    block_on(async {
        let (ca, other) = (variable("PERBUCK_TEST_CA"), variable("PERBUCK_TEST_OTHER_CA"));
        for options in [
            "tls=preferred".to_owned(),
            "tls=required".to_owned(),
            format!("tls=verify-ca&ca={ca}"),
            format!("tls=verify-identity&ca={ca}"),
            // Without verification the authority does not matter.
            format!("tls=required&ca={other}"),
        ] {
            let cipher = cipher(&options).await;
            assert!(cipher.as_ref().is_ok_and(|c| c.starts_with("TLS_")), "{options}: {cipher:?}");
        }
        let plain = cipher("tls=disabled").await.unwrap_err();
        assert_eq!((plain.class, plain.code), (ErrorClass::Refused, state(b"28000")), "{plain}");
        for options in [
            format!("tls=verify-ca&ca={other}"),
            format!("tls=verify-identity&ca={other}"),
            "tls=verify-ca".to_owned(),
            "tls=verify-identity".to_owned(),
        ] {
            let error = cipher(&options).await.unwrap_err();
            assert_eq!((error.class, error.code), (ErrorClass::Refused, ErrorCode::Word("client", "tls")), "{options}: {error}");
            assert!(error.message.contains("127.0.0.1:"), "{error}");
        }
        let facts = owner_driver("tls=disabled").facts().await.unwrap();
        assert_eq!(facts.variables["connection encryption"], "none");
    })
    .unwrap();
}

/// `127.0x1` is 127.0.0.1 for the resolver, a host name for TLS, and not in the certificate.
#[test]
fn a_wrong_host_name_matters_to_verify_identity_only() {
    block_on(async {
        let ca = variable("PERBUCK_TEST_CA");
        for (mode, lets_in) in [("verify-ca", true), ("verify-identity", false)] {
            let mut target = target("perbuck", &format!("tls={mode}&ca={ca}"));
            "127.0x1".clone_into(&mut target.server.hosts[0].0);
            let driver = PostgresDriver::new(target, Secret::new(variable(OWNER))).unwrap();
            match try_login(&driver).await {
                Ok(_) => assert!(lets_in, "{mode}"),
                Err(error) => {
                    assert!(!lets_in, "{mode}: {error}");
                    assert_eq!((error.class, error.code), (ErrorClass::Refused, ErrorCode::Word("client", "tls")), "{error}");
                }
            }
        }
    })
    .unwrap();
}

#[test]
fn what_cannot_be_reached_is_named_and_hosts_take_turns() {
    block_on(async {
        let mut target = target("perbuck", "");
        target.server.hosts.push(("127.0.0.1".to_owned(), 1));
        let driver = PostgresDriver::new(target, Secret::new(variable(OWNER))).unwrap();
        for round in 0..2 {
            driver.connect(SessionId(2 * round)).await.unwrap().close().await;
            let error = driver.connect(SessionId(2 * round + 1)).await.err().unwrap();
            assert_eq!((error.class, error.code), (ErrorClass::Lost, ErrorCode::Word("client", "unreachable")), "{error}");
            assert!(error.message.contains("127.0.0.1:1"), "{error}");
        }
    })
    .unwrap();
}

#[test]
fn an_unknown_database_and_an_unknown_user_are_refused() {
    block_on(async {
        let mut elsewhere = target("perbuck", "");
        "no_such_database".clone_into(&mut elsewhere.server.database);
        for (target, code) in [(elsewhere, b"3D000"), (target("no_such_user", ""), b"28P01")] {
            let error =
                PostgresDriver::new(target, Secret::new(variable(OWNER))).unwrap().connect(SessionId(0)).await.err().unwrap();
            assert_eq!((error.class, error.code), (ErrorClass::Refused, state(code)), "{error}");
        }
    })
    .unwrap();
}

#[test]
fn too_many_connections_are_refused_with_a_way_out() {
    block_on(async {
        let mut admin = admin().await;
        run(&mut admin, "ALTER ROLE trust_user CONNECTION LIMIT 0").await;
        let driver = PostgresDriver::new(target("trust_user", "tls=disabled"), Secret::default()).unwrap();
        let error = driver.connect(SessionId(0)).await.err();
        run(&mut admin, "ALTER ROLE trust_user CONNECTION LIMIT -1").await;
        let error = error.unwrap();
        assert_eq!((error.class, error.code), (ErrorClass::Refused, state(b"53300")), "{error}");
        assert!(error.message.contains("raise max_connections"), "{error}");
    })
    .unwrap();
}

#[test]
fn facts_and_counters() {
    block_on(async {
        let driver = owner_driver("");
        let facts = driver.facts().await.unwrap();
        assert!(facts.on_this_machine && facts.version.starts_with("PostgreSQL "), "{facts:?}");
        for (name, value) in
            [("shared_buffers", "256MB"), ("fsync", "on"), ("synchronous_commit", "on"), ("max_connections", "1100")]
        {
            assert_eq!(facts.variables[name], value);
        }
        assert!(!facts.variables.contains_key("data_directory"));
        let pid = std::fs::read_to_string(variable("PERBUCK_TEST_POSTGRES_PIDFILE")).unwrap();
        assert_eq!(facts.local_pid.map(|pid| pid.to_string()).as_deref(), Some(pid.trim()));
        let before = driver.counters().await.unwrap();
        let mut session = driver.connect(SessionId(0)).await.unwrap();
        for _ in 0..10 {
            select(&mut session, "SELECT 1").await;
        }
        // A session that has been closed has been counted.
        session.close().await;
        let after = driver.counters().await.unwrap();
        assert!(after["xact_commit"] >= before["xact_commit"] + 10, "{before:?} {after:?}");
        assert!(after.contains_key("blks_hit") && after.contains_key("deadlocks"));
    })
    .unwrap();
}
