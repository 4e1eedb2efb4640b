//! perbuck under sysbench's name, by a link; sockets in the file system; the dry run.

use std::process::Command;

use crate::common::maria::Maria;
use crate::common::postgres::Postgres;
use crate::common::{Desk, Ended, ended, server};

/// A link `sysbench` to perbuck, called with these words.
fn sysbench(desk: &Desk, words: &[&str]) -> Ended {
    let link = desk.path("bin/sysbench");
    if !link.exists() {
        std::fs::create_dir_all(desk.path("bin")).unwrap();
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_perbuck"), &link).unwrap();
    }
    let environment: Vec<_> = desk.command(&[]).get_envs().map(|(k, v)| (k.to_owned(), v.unwrap().to_owned())).collect();
    std::fs::create_dir_all(desk.path("work")).unwrap();
    ended(Command::new(link).args(words).current_dir(desk.path("work")).envs(environment).output().unwrap())
}

fn good(ended: Ended) -> String {
    assert!(ended.code == Some(0) && ended.err.is_empty(), "{ended:#?}");
    ended.out
}

const ON_SQLITE: [&str; 3] = ["oltp_read_only", "--db-driver=sqlite", "--tables=2"];
const HEAD: &str = concat!("sysbench 1.0.20 (perbuck ", env!("CARGO_PKG_VERSION"), ")\n\n");

#[test]
fn the_lines_are_those_of_sysbench() {
    let desk = Desk::new();
    assert_eq!(good(sysbench(&desk, &["--version"])), "sysbench 1.0.20\n");
    let words = |more: &[&'static str]| [&ON_SQLITE[..], more].concat();
    let prepared = good(sysbench(&desk, &words(&["--table-size=300", "prepare"])));
    let table = |n| {
        format!(
            "Creating table 'sbtest{n}'...\nInserting 300 records into 'sbtest{n}'\nCreating a secondary index on 'sbtest{n}'...\n"
        )
    };
    assert_eq!(prepared, HEAD.to_owned() + &table(1) + &table(2));
    let ran = good(sysbench(&desk, &words(&["--table-size=300", "--events=20", "run"])));
    let banner = "Running the test with following options:\nNumber of threads: 1\nInitializing random number generator from current time\n\n\n\
                  Initializing worker threads...\n\nThreads started!\n\nSQL statistics:\n    queries performed:\n        \
                  read:                            280\n";
    assert!(ran.starts_with(&(HEAD.to_owned() + banner)), "{ran}");
    let last = ran.trim_end().lines().last().unwrap();
    assert!(last.starts_with("    execution time (avg/stddev):"), "{ran}");
    // The record is there, and nothing where the command was called but the database.
    assert_eq!(desk.records("state/perbuck/sysbench").len(), 1);
    assert_eq!(std::fs::read_dir(desk.path("work")).unwrap().count(), 1);
    let more = sysbench(&desk, &words(&["--events=20", "--verbosity=4", "run"]));
    assert!(more.code == Some(0) && more.out.contains("(seed ") && more.err.contains("record: "), "{more:#?}");
    assert_eq!(
        good(sysbench(&desk, &words(&["cleanup"]))),
        HEAD.to_owned() + "Dropping table 'sbtest1'...\nDropping table 'sbtest2'...\n"
    );
    // The package's own file tells its options.
    let help = good(sysbench(&desk, &["oltp_read_only", "help"]));
    assert!(
        help.starts_with(&(HEAD.to_owned() + "oltp_read_only.lua options:\n")) && help.contains("--skip_trx[=on|off]"),
        "{help}"
    );
    let cpu = sysbench(&desk, &["cpu", "run"]);
    assert!(cpu.code == Some(1) && cpu.out.contains("FATAL: the test 'cpu' measures no database"), "{cpu:#?}");
}

#[test]
fn a_dry_run_needs_no_server_and_keeps_no_record() {
    let desk = Desk::new();
    let words = ["oltp_read_write", "--mysql-dry-run", "--mysql-host=nowhere.invalid", "--events=50", "run"];
    let ran = good(sysbench(&desk, &words));
    assert!(
        ran.contains("total:                           1000\n") && ran.contains("transactions:                        50 "),
        "{ran}"
    );
    assert!(!desk.path("state").exists());
}

#[test]
fn mariadb_is_reached_by_its_socket_with_a_password_or_as_the_user_of_the_system() {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "by_socket");
    let socket = server("PERBUCK_TEST_MARIADB_SOCKET");
    let option = format!("--mysql-socket={socket}");
    let line = [option.as_str(), "--mysql-user=root", "--mysql-db=by_socket", "--table-size=200", "--threads=64", "--events=100"];
    desk.set("MYSQL_PWD", &maria.password);
    for order in ["prepare", "run", "prewarm", "cleanup"] {
        let out = good(sysbench(&desk, &[&line[..], &["oltp_read_write", order]].concat()));
        assert!(order != "run" || out.contains("transactions:                        100 "), "{out}");
    }
    // No connection of 64 came by TCP.
    let record = desk.records("state/perbuck/sysbench").pop().unwrap();
    assert_eq!(record.target.address, format!("mysql://root@{}/by_socket?tls=disabled", socket.replace('/', "%2F")));
    let user = String::from_utf8(Command::new("id").arg("-un").output().unwrap().stdout).unwrap();
    let account = format!("'{}'@'localhost'", user.trim());
    let ways = if user.trim() == "root" {
        format!("mysql_native_password USING PASSWORD('{}') OR unix_socket", maria.password)
    } else {
        "unix_socket".to_owned()
    };
    maria.sql(&format!(
        "CREATE USER IF NOT EXISTS {account}; ALTER USER {account} IDENTIFIED VIA {ways}; GRANT ALL ON by_socket.* TO {account}"
    ));
    let bare = Desk::new();
    let study = maria_study(&format!("mysql://{}@{}/by_socket", user.trim(), socket.replace('/', "%2F")));
    bare.write("s.toml", &study);
    bare.good(&["run", "s.toml"]);
    assert_eq!(bare.records("results/s").len(), 1);
    bare.write("s.toml", &study.replace("by_socket\"", "by_socket?tls=required\""));
    let refused = bare.perbuck(&["check", "s.toml"]);
    assert!(refused.code == Some(2) && refused.err.contains("a socket of this machine has no TLS"), "{refused:#?}");
}

fn maria_study(url: &str) -> String {
    let sweep = "connections = [2]\nwarmup = \"200ms\"\nduration = \"1s\"\ntrials = 1";
    crate::common::maria::study(url, "kind = \"sysbench\"\ntables = 1\ntable_size = 200", sweep)
}

#[test]
fn postgresql_is_reached_by_the_folder_of_its_sockets() {
    let mut desk = Desk::new();
    let postgres = Postgres::fresh(&mut desk, "by_folder");
    let folder = format!("--pgsql-host={}", server("PERBUCK_TEST_POSTGRES_SOCKETS"));
    let port = format!("--pgsql-port={}", postgres.port);
    let line =
        ["--db-driver=pgsql", &folder, &port, "--pgsql-user=perbuck", "--pgsql-db=by_folder", "--table-size=200", "--events=10"];
    desk.set("PGPASSWORD", &postgres.password);
    for order in ["prepare", "run", "cleanup"] {
        let out = good(sysbench(&desk, &[&line[..], &["oltp_read_write", order]].concat()));
        assert!(order != "run" || out.contains("transactions:                        10 "), "{out}");
    }
    let prewarm = sysbench(&desk, &[&line[..], &["oltp_read_write", "prewarm"]].concat());
    assert!(prewarm.code == Some(1) && prewarm.out.trim_end().ends_with("prewarm is currently MySQL only"), "{prewarm:#?}");
}
