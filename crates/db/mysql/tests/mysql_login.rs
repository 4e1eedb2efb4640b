//! Logging in to real servers: every method, right and wrong; every TLS mode; and what cannot be reached.
#![allow(clippy::unwrap_used)] // A panic is how a test fails.

mod mysql_support;

use mysql_support::{SERVERS, driver, root, root_driver, run, select, target, variable};
use perbuck_database::secret::Secret;
use perbuck_database::server::ServerTarget;
use perbuck_event::block_on;
use perbuck_load::driver::{Driver, Session, SessionId};
use perbuck_load::error::{Cause, DriverError, ErrorClass, ErrorCode};
use perbuck_mysql::MysqlDriver;

const MARIADB: &str = "PERBUCK_TEST_MARIADB";
const MYSQL9: &str = "PERBUCK_TEST_MYSQL9";

async fn try_login(driver: &MysqlDriver) -> Result<String, DriverError> {
    let mut session = driver.connect(SessionId(0)).await?;
    let user = select(&mut session, "SELECT CURRENT_USER()").await[0][0].clone();
    session.close().await;
    Ok(user)
}

/// Right and wrong password of one account; the wrong one is refused and neither is shown.
async fn right_and_wrong(server: &str, user: &str, password: &str, options: &str) {
    let right = try_login(&driver(server, user, password, options).unwrap()).await;
    assert_eq!(right.as_deref(), Ok(&*format!("{user}@%")), "{server} {options}");
    for wrong in ["wr0ng-password-that-must-not-be-shown", ""] {
        let driver = MysqlDriver::new(target(server, user, options), Secret::new(wrong)).unwrap();
        let error = try_login(&driver).await.unwrap_err();
        assert_eq!(error.class, ErrorClass::Refused, "{server} {user} {options}: {error}");
        assert!(matches!(error.code, ErrorCode::Number("mysql", 1045 | 1698)), "{error}");
        let text = format!("{error} {error:?} {driver:?}");
        assert!(!text.contains("wr0ng") && !text.contains(&variable(password)), "{text}");
        assert!(text.contains("does not let us in"), "{text}");
    }
}

#[test]
fn native_password() {
    block_on(async {
        for options in ["tls=disabled", "tls=required"] {
            right_and_wrong(MARIADB, "native_user", "PERBUCK_TEST_MARIADB_NATIVE_PASSWORD", options).await;
        }
    })
    .unwrap();
}

#[test]
fn ed25519() {
    block_on(async {
        for options in ["tls=disabled", "tls=required"] {
            right_and_wrong(MARIADB, "ed_user", "PERBUCK_TEST_MARIADB_ED25519_PASSWORD", options).await;
        }
    })
    .unwrap();
}

/// The first login after the server's cache is emptied is the full exchange, by RSA or under TLS; the next is the fast
/// one.
#[test]
fn caching_sha2_password() {
    block_on(async {
        let mut admin = root(MYSQL9, "tls=required").await;
        for options in ["tls=disabled", "tls=required"] {
            for _ in 0..2 {
                run(&mut admin, "FLUSH PRIVILEGES").await;
                for _ in 0..3 {
                    right_and_wrong(MYSQL9, "sha2_user", "PERBUCK_TEST_MYSQL9_SHA2_PASSWORD", options).await;
                }
            }
        }
    })
    .unwrap();
}

#[test]
fn an_account_without_a_password() {
    block_on(async {
        for server in SERVERS {
            let mut admin = root(server, "").await;
            let user = format!("empty_{}", std::process::id());
            run(&mut admin, &format!("CREATE USER {user}@'%' IDENTIFIED BY ''")).await;
            run(&mut admin, &format!("GRANT SELECT ON test.* TO {user}@'%'")).await;
            let driver = MysqlDriver::new(target(server, &user, ""), Secret::default()).unwrap();
            let logged_in = try_login(&driver).await;
            run(&mut admin, &format!("DROP USER {user}@'%'")).await;
            assert_eq!(logged_in.as_deref(), Ok(&*format!("{user}@%")));
        }
    })
    .unwrap();
}

async fn cipher(server: &str, options: &str) -> Result<String, DriverError> {
    let password = format!("{server}_TLS_PASSWORD");
    let mut session = driver(server, "tls_user", &password, options)?.connect(SessionId(0)).await?;
    let status = select(&mut session, "SHOW SESSION STATUS LIKE 'Ssl_cipher'").await;
    session.close().await;
    Ok(status[0][1].clone())
}

#[test]
fn tls_modes() {
    block_on(async {
        let (ca, other) = (variable("PERBUCK_TEST_CA"), variable("PERBUCK_TEST_OTHER_CA"));
        for server in SERVERS {
            for options in [
                "tls=preferred".to_owned(),
                "tls=required".to_owned(),
                format!("tls=verify-ca&ca={ca}"),
                format!("tls=verify-identity&ca={ca}"),
                // Without verification the authority does not matter.
                format!("tls=required&ca={other}"),
            ] {
                let cipher = cipher(server, &options).await;
                assert!(cipher.as_ref().is_ok_and(|c| !c.is_empty()), "{server} {options}: {cipher:?}");
            }
            let plain = cipher(server, "tls=disabled").await.unwrap_err();
            assert_eq!(plain.class, ErrorClass::Refused, "{plain}");
            for options in [
                format!("tls=verify-ca&ca={other}"),
                format!("tls=verify-identity&ca={other}"),
                "tls=verify-ca".to_owned(),
                "tls=verify-identity".to_owned(),
            ] {
                let error = cipher(server, &options).await.unwrap_err();
                assert_eq!(
                    (error.class, error.code),
                    (ErrorClass::Refused, ErrorCode::Word("client", "tls")),
                    "{options}: {error}"
                );
                assert!(error.message.contains("127.0.0.1:"), "{error}");
            }
        }
    })
    .unwrap();
}

/// `127.0x1` is 127.0.0.1 for the resolver, a host name for TLS, and not in the certificate.
#[test]
fn a_wrong_host_name_matters_to_verify_identity_only() {
    block_on(async {
        let ca = variable("PERBUCK_TEST_CA");
        for (mode, lets_in) in [("verify-ca", true), ("verify-identity", false)] {
            for host in ["127.0x1", "127.1"] {
                let mut target = target(MARIADB, "root", &format!("tls={mode}&ca={ca}"));
                host.clone_into(&mut target.hosts[0].0);
                let driver = MysqlDriver::new(target, Secret::new(variable("PERBUCK_TEST_MARIADB_PASSWORD"))).unwrap();
                match try_login(&driver).await {
                    Ok(_) => assert!(lets_in, "{host} {mode}"),
                    Err(error) => {
                        assert!(!lets_in, "{host} {mode}: {error}");
                        assert_eq!((error.class, error.code), (ErrorClass::Refused, ErrorCode::Word("client", "tls")), "{error}");
                    }
                }
            }
        }
    })
    .unwrap();
}

#[test]
fn a_bad_file_of_authorities_is_named() {
    let folder = std::env::temp_dir();
    for (name, content) in
        [("missing", None), ("empty", Some("")), ("text", Some("hello")), ("torn", Some("-----BEGIN CERTIFICATE-----\n"))]
    {
        let file = folder.join(format!("perbuck-ca-{}-{name}.pem", std::process::id()));
        if let Some(content) = content {
            std::fs::write(&file, content).unwrap();
        }
        let target = ServerTarget::parse("mysql", &format!("//u@h/d?tls=verify-ca&ca={}", file.display()), 3306).unwrap();
        let error = MysqlDriver::new(target, Secret::default()).unwrap_err();
        let _ = std::fs::remove_file(&file);
        assert_eq!(error.class, ErrorClass::Refused);
        assert!(error.message.contains(&*file.to_string_lossy()), "{error}");
    }
}

#[test]
fn what_cannot_be_reached_is_named_and_hosts_take_turns() {
    block_on(async {
        let mut target = target(MARIADB, "root", "");
        target.hosts.push(("127.0.0.1".to_owned(), 1));
        target.hosts.push(("no-such-host.invalid".to_owned(), 3306));
        let driver = MysqlDriver::new(target, Secret::new(variable("PERBUCK_TEST_MARIADB_PASSWORD"))).unwrap();
        for round in 0..2 {
            driver.connect(SessionId(3 * round)).await.unwrap().close().await;
            for (i, place) in [(1, "127.0.0.1:1"), (2, "no-such-host.invalid:3306")] {
                let error = driver.connect(SessionId(3 * round + i)).await.err().unwrap();
                assert_eq!((error.class, error.code), (ErrorClass::Lost, ErrorCode::Word("client", "unreachable")), "{error}");
                assert!(error.message.contains(place), "{error}");
            }
        }
    })
    .unwrap();
}

#[test]
fn an_unknown_database_is_refused() {
    block_on(async {
        for server in SERVERS {
            let mut target = target(server, "root", "");
            target.database = "no_such_database".to_owned();
            let driver = MysqlDriver::new(target, Secret::new(variable(&format!("{server}_PASSWORD")))).unwrap();
            let error = driver.connect(SessionId(0)).await.err().unwrap();
            assert_eq!((error.class, error.code), (ErrorClass::Refused, ErrorCode::Number("mysql", 1049)), "{error}");
        }
    })
    .unwrap();
}

#[test]
fn facts_and_counters() {
    block_on(async {
        for server in SERVERS {
            let driver = root_driver(server, "");
            let facts = driver.facts().await.unwrap();
            assert!(facts.on_this_machine);
            assert!(!facts.version.is_empty() && facts.variables["version"] == facts.version);
            assert_eq!(facts.variables["innodb_flush_log_at_trx_commit"], "1");
            assert_eq!(facts.variables["innodb_buffer_pool_size"], "268435456");
            assert!(!facts.variables.contains_key("datadir"));
            let pid = std::fs::read_to_string(variable(&format!("{server}_PIDFILE"))).unwrap();
            assert_eq!(facts.local_pid.map(|pid| pid.to_string()).as_deref(), Some(pid.trim()));
            let before = driver.counters().await.unwrap();
            let mut session = driver.connect(SessionId(0)).await.unwrap();
            for _ in 0..10 {
                select(&mut session, "SELECT 1").await;
            }
            session.close().await;
            let after = driver.counters().await.unwrap();
            assert!(after["Com_select"] >= before["Com_select"] + 10);
            assert!(
                after.contains_key("Questions") && after.contains_key("Bytes_sent") && after.contains_key("Handler_read_key")
            );
        }
    })
    .unwrap();
}

#[test]
fn a_port_where_nobody_greets_is_doubted() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let target = ServerTarget::parse("mysql", &format!("//root@127.0.0.1:{port}/test?read_timeout=200ms"), 3306).unwrap();
    let silent = MysqlDriver::new(target, Secret::new(String::new())).unwrap();
    let error = block_on(silent.connect(SessionId(0))).unwrap().err().unwrap();
    assert_eq!((error.class, error.code), (ErrorClass::Lost, ErrorCode::Word("client", "timeout")), "{error}");
    assert!(error.cause == Some(Cause::Timeout) && error.message.ends_with("is this its port?"), "{error}");
}
