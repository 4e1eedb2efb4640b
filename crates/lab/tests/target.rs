//! Addresses: what is understood, what is refused, and that a password in one is never shown.
#![allow(clippy::unwrap_used)] // A panic is how a test fails.

use perbuck_database::address::TargetProblem;
use perbuck_database::fingerprint::Fingerprint;
use perbuck_database::registry::AnyTarget;
use perbuck_database::server::{ServerTarget, TlsMode};
use perbuck_database::{Database, Databases, Dialect as _};
use perbuck_lab::databases::AllDatabases;
use perbuck_mysql::{Mysql, MysqlDialect, MysqlTarget};
use perbuck_postgres::{Family, Postgres, PostgresTarget};
use perbuck_sqlite::SqliteTarget;
use proptest::prelude::*;

fn mysql(text: &str) -> ServerTarget {
    let (scheme, rest) = text.split_once(':').unwrap();
    Mysql::parse(scheme, rest).unwrap().unwrap_or_else(|problem| panic!("{text}: {problem}")).server
}

fn postgres(text: &str) -> PostgresTarget {
    let (scheme, rest) = text.split_once(':').unwrap();
    Postgres::parse(scheme, rest).unwrap().unwrap_or_else(|problem| panic!("{text}: {problem}"))
}

fn sqlite(text: &str) -> SqliteTarget {
    SqliteTarget::parse(text.strip_prefix("sqlite:").unwrap()).unwrap_or_else(|problem| panic!("{text}: {problem}"))
}

fn refused(text: &str) -> TargetProblem {
    let Err(problem) = AllDatabases::parse(text) else { panic!("{text} was taken") };
    assert!(!problem.message.is_empty() && !problem.help.is_empty());
    problem
}

#[test]
fn defaults_are_what_the_documentation_says() {
    let target = mysql("mysql://root@db/test");
    assert_eq!(target.hosts, [("db".to_owned(), 3306)]);
    assert_eq!((&*target.user, &*target.database, target.tls, target.ca_file), ("root", "test", TlsMode::Preferred, None));
    assert_eq!((target.connect_timeout_ms, target.read_timeout_ms), (10_000, 60_000));
    assert_eq!(mysql("tidb://root@db/test").hosts[0].1, 4000);
    assert_eq!(mysql("mariadb://root@db/test").hosts[0].1, 3306);
    for scheme in ["postgres", "postgresql"] {
        let target = postgres(&format!("{scheme}://perbuck@db,[::1]:6432/test")).server;
        assert_eq!(target.hosts, [("db".to_owned(), 5432), ("::1".to_owned(), 6432)]);
        assert_eq!((target.tls, target.connect_timeout_ms, target.read_timeout_ms), (TlsMode::Preferred, 10_000, 60_000));
    }
    for (scheme, port, family, canonical) in [
        ("cockroach", 26_257, Family::Cockroach, "cockroach://root@db:26257/test"),
        ("cockroachdb", 26_257, Family::Cockroach, "cockroach://root@db:26257/test"),
        ("yugabyte", 5_433, Family::Yugabyte, "yugabyte://root@db:5433/test"),
        ("yugabytedb", 5_433, Family::Yugabyte, "yugabyte://root@db:5433/test"),
    ] {
        let target = AllDatabases::parse(&format!("{scheme}://root@db/test")).unwrap();
        assert_eq!((target.dialect().name(), target.address().as_str()), (family.name(), canonical));
        assert!(*AllDatabases::parse(canonical).unwrap() == *target && canonical.starts_with(target.scheme()));
        let server = postgres(&format!("{scheme}://root@db/test"));
        assert_eq!((*server.dialect, server.server.hosts[0].1), (family, port));
    }
    let target = sqlite("sqlite:bench.db");
    assert_eq!((target.path.to_str(), &*target.synchronous, &*target.journal_mode), (Some("bench.db"), "FULL", "WAL"));
    assert_eq!((target.busy_timeout_ms, target.cache_kib), (60_000, 2_000));
}

#[test]
fn everything_can_be_said() {
    let target =
        mysql("mysql://a%40b@db1:1,[::1]:2,db-3/my%20db?tls=verify-identity&ca=/x/ca%26.pem&connect_timeout=2s&read_timeout=1m");
    assert_eq!(target.hosts, [("db1".to_owned(), 1), ("::1".to_owned(), 2), ("db-3".to_owned(), 3306)].map(|h| h));
    assert_eq!((&*target.user, target.tls), ("a@b", TlsMode::VerifyIdentity));
    assert_eq!(target.ca_file.as_deref().and_then(|p| p.to_str()), Some("/x/ca&.pem"));
    assert_eq!((target.connect_timeout_ms, target.read_timeout_ms), (2_000, 60_000));
    let target = sqlite("sqlite:/a%3Fb/c.db?synchronous=normal&journal_mode=delete&busy_timeout=5s&cache=64MiB");
    assert_eq!((target.path.to_str(), &*target.synchronous, &*target.journal_mode), (Some("/a?b/c.db"), "NORMAL", "DELETE"));
    assert_eq!((target.busy_timeout_ms, target.cache_kib), (5_000, 65_536));
}

#[test]
fn a_password_is_refused_and_never_shown() {
    for text in [
        "mysql://root:hunter2@db/test",
        "mysql://root:hun/hunter2@db/test",
        "mysql://root:hun?hunter2@db/test",
        "mysql://root:hunter2@@db/test",
        "mysql://root:1/hunter2@db/test",
        "mysql://root:#hunter2@db/test",
        "mysql://u@root:hunter2@db/test",
        "tidb://root:hunter2@[::1]/test",
        "postgres://root:hunter2@db/test",
        "postgresql://root@db/test?password=hunter2",
        "mysql://root@db/test?password=hunter2",
        "mysql://root@db/test?tls=required&pwd=hunter2",
        "mysql://root@db/test?set.passwd=hunter2",
        "mysql://root@db/test?tls=required;password=hunter2",
        "mysql://root@db/test;password=hunter2",
        "mysql://root@db/test&password=hunter2",
        "mysql://root@db/test?%70assword=hunter2",
        "mysql://root@db/test?ca=x%26PASSWORD%3Dhunter2",
        "mysql://root@db/test?ssl_password=hunter2",
        "mysql://root@db/test?client_secret=hunter2",
        "mysql://root@password=hunter2/test",
        "sqlite:a.db?password=hunter2",
        "tikv://pd/?read_timeout=password:hunter2",
        "postgres://root;pwd=hunter2/test",
    ] {
        let problem = refused(text);
        assert!(!format!("{problem} {problem:?}").contains("hunter2"), "{text}: {problem}");
        assert!(!format!("{problem} {problem:?}").contains("root"), "{text}: {problem}");
        assert!(problem.help.contains("PERBUCK_<CONTENDER>_PASSWORD") && problem.help.contains("password_file"), "{problem}");
    }
    for text in [
        "root:hunter2@db/test",
        "mysql:root:hunter2",
        "mysql://root:hunter2",
        "hunter2",
        "mysql://root@db:hunter2/test",
        "mysql://root@db:1:hunter2/test",
        "mysql://root@db/test?hunter2",
        "tikv://pd:hunter2",
    ] {
        assert!(!refused(text).to_string().contains("hunter2"), "{text}");
    }
}

#[test]
fn refusals_name_the_way_out() {
    for (text, words) in [
        ("mysql://root@db/test?tlss=required", "did you mean `tls`?"),
        (
            "mysql://root@db/test?colour=red",
            "tls, tls_fingerprint, ca, send_password, connect_timeout, read_timeout, statements, queries, set.NAME",
        ),
        ("mysql://root@db/test?tls=verify", "verify-identity"),
        ("mysql://root@db/test?tls_fingerprint=sha256:12", "openssl x509 -noout -fingerprint -sha256"),
        ("mysql://root@db/test?tls_fingerprint=md5:00", "not the SHA-256"),
        ("mysql://root@db/test?send_password=never", "verified, always"),
        ("mysql://root@db/test?read_timeout=5", "no unit"),
        ("mysql://root@db/test?read_timeout=0s", "out of range"),
        ("mysql://root@db/test?tls=required&tls=disabled", "twice"),
        ("mysql://root@db:70000/test", "`db:70000` is not a host"),
        ("mysql://root@/test", "is not a host"),
        ("mysql://root@db", "names no database"),
        ("mysql://db/test", "names no user"),
        ("mysql://root@db/test?set.=1", "names no variable"),
        ("mysql://root@db/test?set.a%27=1", "names no variable"),
        ("mysql://root@db/test?set.a=%27", "holds a quote"),
        ("mysql://root@db/test?set.a=1&set.A=2", "twice"),
        ("mysql:db", "//"),
        ("sqlite:", "names no file"),
        ("sqlite::memory:", "/dev/shm"),
        ("sqlite:a.db?sinchronous=OFF", "did you mean `synchronous`?"),
        ("sqlite:a.db?synchronous=MAYBE", "OFF, NORMAL, FULL, EXTRA"),
        ("sqlite:a.db?cache=64", "64MiB"),
        ("sqlite:%zz", "two hexadecimal digits"),
        ("postgres://db/test", "write postgres://USER@HOST:PORT/DATABASE"),
        ("postgresql://root@db/test?sslmode=require", "write `tls=required`"),
        ("postgresql://root@db/test?gssencmode=disable", "tls, tls_fingerprint, ca, send_password"),
        ("tikv://u:p@pd:2379", "TiKV has neither"),
        ("tikv://pd:2379/db", "names no PD, or a path after it"),
        ("tikv://pd/?mode=pessimistic", "needs transactions"),
        ("tikv://pd/?keyspace=3", "has no keyspaces"),
        ("tikv://pd/?cert=a.pem", "`cert` or `key` is missing"),
        ("tikv://pd/?ca=a.pem", "need TLS"),
        ("tikv://pd/?connections=0", "`connections` is `0`"),
        ("bench.db", "sqlite:FILE"),
    ] {
        let shown = refused(text).to_string();
        assert!(shown.contains(words), "{text}: {shown}");
    }
}

#[test]
fn words_that_give_no_password_are_names() {
    for text in [
        "mysql://root@db/passwords?ca=/run/secrets/db.pem",
        "mysql://pwd@db/test?send_password=always",
        "sqlite:/home/pwd/secret.db?cache=1MiB",
        "mysql://root@secret-db:3306/test",
        "postgres://root@pwdb:5432,passwd-2:5433/test",
    ] {
        assert!(AllDatabases::parse(text).is_ok(), "{text}");
    }
    let slip = refused("mysql://root@db/test?tlss=required&ca=/run/secrets/db.pem");
    assert!(slip.help.contains("did you mean `tls`?"), "{slip}");
}

#[test]
fn a_certificate_is_named_by_what_openssl_prints() {
    let printed = ["AB"; 32].join(":");
    let bare = "ab".repeat(32);
    for typed in [&printed, &bare] {
        let target = mysql(&format!("mysql://root@db/test?tls_fingerprint=sha256:{typed},sha256:{printed}"));
        assert_eq!((target.tls, target.fingerprints.len(), target.verifies()), (TlsMode::Required, 2, true));
        assert_eq!(
            target.address(),
            format!("mysql://root@db:3306/test?tls=required&tls_fingerprint=sha256:{printed},sha256:{printed}")
        );
    }
    let with = |mode: &str| refused(&format!("mysql://root@db/test?tls={mode}&tls_fingerprint=sha256:{bare}")).to_string();
    for mode in ["disabled", "preferred", "verify-ca", "verify-identity"] {
        assert!(with(mode).contains("goes with `tls=required` alone"), "{mode}");
    }
    let verified = |options: &str| mysql(&format!("mysql://root@db/test?{options}")).verifies();
    assert!(verified("tls=verify-identity") && verified("tls=verify-ca&ca=x.pem"));
    // Every owner of a domain has a certificate of a public authority.
    assert!(!verified("tls=verify-ca") && !verified("tls=required&ca=x.pem") && !verified("tls=preferred"));
}

#[test]
fn another_database_is_beside_the_first() {
    let with = |text: &str| AllDatabases::parse(text).unwrap().with_database("checks").address();
    assert_eq!(with("sqlite:dir/a.db?cache=1MiB"), "sqlite:dir/a-checks.db?cache=1024KiB");
    assert_eq!(with("sqlite:a"), "sqlite:a-checks");
    assert_eq!(with("tidb://root@db/test"), "mysql://root@db:4000/checks");
    assert_eq!(with("postgresql://root@db/test?tls=disabled"), "postgres://root@db:5432/checks?tls=disabled");
}

fn any_target() -> impl Strategy<Value = AnyTarget> {
    let host = prop_oneof![
        "[a-z][a-z0-9.-]{0,12}",
        Just("::1".to_owned()),
        Just("2001:db8::7".to_owned()),
        Just("127.0.0.1".to_owned())
    ];
    let mode = prop::sample::select(vec![
        TlsMode::Disabled,
        TlsMode::Preferred,
        TlsMode::Required,
        TlsMode::VerifyCa,
        TlsMode::VerifyIdentity,
    ]);
    let name = "[^\\p{C}/#]{1,12}";
    let host = (host, 1..=u16::MAX);
    let hosts = (prop::collection::vec(host.clone(), 1..4), prop::option::of(host));
    let settings = prop::collection::btree_map("[a-z][a-z0-9_]{0,8}", "[^\\p{C}'\\\\]{0,12}", 0..3);
    let limits = (1..u32::MAX, 1..u32::MAX, any::<bool>(), settings);
    let trust = (prop::collection::vec(any::<[u8; 32]>().prop_map(Fingerprint), 0..3), any::<bool>());
    let server = (hosts, "[^\\p{C}]{1,12}", name, mode, prop::option::of("[^\\p{C}]{1,20}"), trust, limits).prop_map(
        |((hosts, query_host), user, database, tls, ca, trust, (connect_timeout_ms, read_timeout_ms, as_text, settings))| {
            let (ca_file, settings) = (ca.map(Into::into), settings.into_iter().collect());
            let (scheme, (fingerprints, sends_password)) = ("mysql", trust);
            let tls = if fingerprints.is_empty() { tls } else { TlsMode::Required };
            ServerTarget {
                product: None,
                scheme,
                hosts,
                query_host,
                user,
                database,
                tls,
                ca_file,
                fingerprints,
                sends_password,
                connect_timeout_ms,
                read_timeout_ms,
                as_text,
                settings,
            }
        },
    );
    // Statements as text are MySQL's alone.
    let family = prop::sample::select(vec![&Family::Postgres, &Family::Cockroach, &Family::Yugabyte]);
    let postgres = (server.clone(), family).prop_map(|(server, dialect)| {
        let server = ServerTarget { as_text: false, scheme: dialect.scheme(), ..server };
        Box::new(PostgresTarget { dialect, server }) as AnyTarget
    });
    let synchronous = prop::sample::select(vec!["OFF", "NORMAL", "FULL", "EXTRA"]);
    let journal = prop::sample::select(vec!["WAL", "DELETE", "TRUNCATE", "PERSIST", "MEMORY"]);
    let sqlite = ("[^\\p{C}/:]{1,20}", synchronous, journal, any::<u32>(), 1..=i32::MAX as u32).prop_map(
        |(path, synchronous, journal_mode, busy_timeout_ms, cache_kib)| {
            let (synchronous, journal_mode) = (synchronous.to_owned(), journal_mode.to_owned());
            Box::new(SqliteTarget { path: path.into(), synchronous, journal_mode, busy_timeout_ms, cache_kib }) as AnyTarget
        },
    );
    let mysql = server.prop_map(|server| Box::new(MysqlTarget { dialect: &MysqlDialect, server }) as AnyTarget);
    prop_oneof![mysql, postgres, sqlite]
}

proptest! {
    #[test]
    fn an_address_is_read_as_what_it_was_made_from(target in any_target()) {
        prop_assert_eq!(AllDatabases::parse(&target.address()), Ok(target));
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in "\\PC{0,60}", scheme in "(sqlite:|mysql://|tidb://|postgres://|mysql://u@h/)?") {
        if let Ok(target) = AllDatabases::parse(&format!("{scheme}{text}")) {
            prop_assert_eq!(AllDatabases::parse(&target.address()), Ok(target));
        }
    }

    #[test]
    fn no_password_is_ever_shown(before in "[a-z:/?#]{0,6}", after in "[a-z@:/?#,&=%0-9]{0,12}") {
        let text = format!("mysql://{before}:HUNTER{after}@db/test");
        if let Err(problem) = AllDatabases::parse(&text) {
            prop_assert!(!format!("{problem:?}").contains("HUNTER"), "{}", problem);
        }
    }
}
