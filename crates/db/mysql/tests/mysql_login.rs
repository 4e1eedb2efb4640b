//! Logging in to real servers: the suite of all drivers, and methods that are true of this protocol alone.
#![allow(clippy::unwrap_used)] // A panic is how a test fails.

mod mysql_support;

use mysql_support::{MYSQL9, Mysql, Server as _, SharedServer as _, run, variable};
use perbuck_driver_suite::login::{self, right_and_wrong, try_login};
use perbuck_event::block_on;

perbuck_driver_suite::tests!(Mysql: login::{
    passwords_are_checked_by_every_method,
    tls_modes,
    a_wrong_host_name_matters_to_verify_identity_only,
    a_bad_file_of_authorities_is_named,
    what_cannot_be_reached_is_named_and_hosts_are_used_in_order,
    an_unknown_database_and_an_unknown_user_are_refused,
    facts_and_counters,
    a_port_where_no_server_answers_is_doubted,
});

/// The first login after the server's cache is emptied is the full exchange, by RSA or under TLS; the next is the fast
/// one.
#[test]
fn caching_sha2_password() {
    block_on(async {
        let mut admin = MYSQL9.session("tls=required").await;
        for options in ["tls=disabled", "tls=required"] {
            for _ in 0..2 {
                run(&mut admin, "FLUSH PRIVILEGES").await;
                for _ in 0..3 {
                    right_and_wrong(&MYSQL9, "sha2_user", "PERBUCK_TEST_MYSQL9_SHA2_PASSWORD", options).await;
                }
            }
        }
    })
    .unwrap();
}

/// As any MySQL 8 with its own certificate in a network is: a server of the wrong kind would have the password. The account is this
/// test's alone, since a login of another test would be kept in the server's cache.
#[test]
fn the_password_itself_goes_to_a_verified_server() {
    block_on(async {
        let mut admin = MYSQL9.session("tls=required").await;
        let password = "PERBUCK_TEST_MYSQL9_SHA2_PASSWORD";
        let user = format!("verifying_{}", std::process::id());
        let identified = format!("IDENTIFIED WITH caching_sha2_password BY '{}'", variable(password));
        run(&mut admin, &format!("CREATE USER {user}@'%' {identified}")).await;
        run(&mut admin, &format!("GRANT SELECT ON test.* TO {user}@'%'")).await;
        let account = (&*user, password);
        let mut forget = async || _ = run(&mut admin, "FLUSH PRIVILEGES").await;
        login::the_password_itself_goes_to_a_verified_server(&MYSQL9, account, &mut forget).await;
        // Without TLS the server sends a key, which may be anybody's.
        for (options, sent) in [("tls=disabled", false), ("tls=disabled&send_password=always", true)] {
            forget().await;
            let login = login::in_the_network_of(&MYSQL9, account, options).await;
            match login {
                Ok(_) => assert!(sent, "{options}"),
                Err(error) => assert!(!sent && error.message.contains("`send_password=always`"), "{error}"),
            }
        }
        run(&mut admin, &format!("DROP USER {user}@'%'")).await;
    })
    .unwrap();
}

#[test]
fn an_account_without_a_password() {
    block_on(async {
        for server in Mysql::all() {
            let mut admin = server.session("").await;
            let user = format!("empty_{}", std::process::id());
            run(&mut admin, &format!("CREATE USER {user}@'%' IDENTIFIED BY ''")).await;
            run(&mut admin, &format!("GRANT SELECT ON test.* TO {user}@'%'")).await;
            let driver = Mysql::driver_of(&server.target(&user, ""), "").unwrap();
            let logged_in = try_login::<Mysql>(&driver).await;
            run(&mut admin, &format!("DROP USER {user}@'%'")).await;
            assert_eq!(logged_in.as_deref(), Ok(&*format!("{user}@%")));
        }
    })
    .unwrap();
}
