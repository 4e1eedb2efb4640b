//! Logging in to a real PostgreSQL: the suite of all drivers, and what is true of it alone.
#![allow(clippy::unwrap_used)] // A panic is how a test fails.

mod postgres_support;

use perbuck_driver_suite::login::{self, right_and_wrong, try_login};
use perbuck_event::block_on;
use perbuck_load::driver::{Driver, SessionId};
use perbuck_load::error::{ErrorClass, ErrorCode};
use postgres_support::{Postgres, SERVER, SharedServer as _, assert_error, run, state, variable};

perbuck_driver_suite::tests!(Postgres: login::{
    passwords_are_checked_by_every_method,
    tls_modes,
    a_wrong_host_name_matters_to_verify_identity_only,
    a_bad_file_of_authorities_is_named,
    what_cannot_be_reached_is_named_and_hosts_are_used_in_order,
    an_unknown_database_and_an_unknown_user_are_refused,
    facts_and_counters,
    a_port_where_no_server_answers_is_doubted,
});

#[test]
fn a_password_in_the_clear_is_sent_under_tls_only() {
    block_on(async {
        let password = "PERBUCK_TEST_POSTGRES_CLEAR_PASSWORD";
        right_and_wrong(&SERVER, "clear_user", password, "tls=required").await;
        let error = try_login::<Postgres>(
            &Postgres::driver_of(&SERVER.target("clear_user", "tls=disabled"), &variable(password)).unwrap(),
        )
        .await
        .unwrap_err();
        assert_error(&error, ErrorClass::Refused, ErrorCode::Word("client", "auth"));
        assert!(error.message.contains("as clear text") && error.message.contains("tls=verify-identity"), "{error}");
    })
    .unwrap();
}

#[test]
fn the_password_itself_goes_to_a_verified_server() {
    block_on(async {
        let account = ("clear_user", "PERBUCK_TEST_POSTGRES_CLEAR_PASSWORD");
        login::the_password_itself_goes_to_a_verified_server(&SERVER, account, &mut async || ()).await;
    })
    .unwrap();
}

#[test]
fn who_is_trusted_is_asked_nothing() {
    block_on(async {
        for password in ["", "whatever"] {
            let driver = Postgres::driver_of(&SERVER.target("trust_user", ""), password).unwrap();
            assert_eq!(try_login::<Postgres>(&driver).await.as_deref(), Ok("trust_user"));
        }
    })
    .unwrap();
}

/// RFC 4013 prepares passwords; the server does the same when it stores one.
#[test]
fn passwords_may_be_any_text() {
    block_on(async {
        let mut admin = SERVER.admin().await;
        let user = format!("odd_{}", std::process::id());
        for password in ["päß wörd", "\u{2168}\u{a0}\u{ad}x", "😀", "a'b\"c\\d"] {
            run(&mut admin, &format!("CREATE ROLE {user} LOGIN PASSWORD '{}'", password.replace('\'', "''"))).await;
            let driver = Postgres::driver_of(&SERVER.target(&user, ""), password).unwrap();
            let logged_in = try_login::<Postgres>(&driver).await;
            run(&mut admin, &format!("DROP ROLE {user}")).await;
            assert_eq!(logged_in.as_deref(), Ok(&*user), "{password}");
        }
    })
    .unwrap();
}

#[test]
fn too_many_connections_are_refused_with_a_way_out() {
    block_on(async {
        let mut admin = SERVER.admin().await;
        run(&mut admin, "ALTER ROLE trust_user CONNECTION LIMIT 0").await;
        let driver = Postgres::driver_of(&SERVER.target("trust_user", "tls=disabled"), "").unwrap();
        let error = driver.connect(SessionId::Own(0)).await.err();
        run(&mut admin, "ALTER ROLE trust_user CONNECTION LIMIT -1").await;
        let error = error.unwrap();
        assert_error(&error, ErrorClass::Refused, state(b"53300"));
        assert!(error.message.contains("raise max_connections"), "{error}");
    })
    .unwrap();
}
