//! What keeps a study from running is found on real servers before the first row is loaded, and all of it together.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::common::maria::Maria;
use crate::common::postgres::Postgres;
use crate::common::{Desk, Ended, QUICK, edited, ended, server};

const RW: &str = "kind = \"sysbench\"\ntable_size = 1000";

/// A study with these contenders, each a name and its lines, and this workload.
fn study(contenders: &[(&str, String)], workload: &str, connections: u32) -> String {
    let all: String = contenders.iter().map(|(name, lines)| format!("[[contender]]\nname = \"{name}\"\n{lines}\n")).collect();
    format!(
        "schema = 1\nname = \"s\"\n{all}[[workload]]\nname = \"w\"\n{workload}\n\
         [sweep]\nconnections = [{connections}]\nwarmup = \"100ms\"\nduration = \"500ms\"\ntrials = 1\n"
    )
}

fn target(url: &str) -> String {
    format!("target = \"{url}\"")
}

fn said(ended: &Ended, code: i32, words: &[&str]) {
    assert_eq!(ended.code, Some(code), "{ended:#?}");
    for words in words {
        assert!(ended.err.contains(words), "{words}: {}", ended.err);
    }
}

/// Two databases with their servers, and users of the first who may do little.
struct Servers {
    desk: Desk,
    maria: Maria,
    postgres: Postgres,
}

impl Servers {
    fn new(name: &str) -> Self {
        let mut desk = Desk::new();
        let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", name);
        let postgres = Postgres::fresh(&mut desk, name);
        desk.set("PERBUCK_M_PASSWORD", &maria.password);
        for contender in ["P", "Q"] {
            desk.set(&format!("PERBUCK_{contender}_PASSWORD"), &postgres.password);
        }
        desk.set("PERBUCK_READER_PASSWORD", "reader-4711");
        Self { desk, maria, postgres }
    }

    /// A user with these rights on the database of MariaDB; the address.
    fn reader(&self, rights: &str, more: &str) -> String {
        let Maria { database, host, port, .. } = &self.maria;
        let user = format!("r_{database}");
        self.maria.sql(&format!(
            "DROP USER IF EXISTS '{user}'@'%'; CREATE USER '{user}'@'%' IDENTIFIED BY 'reader-4711' {more}; \
             GRANT {rights} ON {database}.* TO '{user}'@'%'"
        ));
        format!("mysql://{user}@{host}:{port}/{database}")
    }

    /// What is in both databases.
    fn tables(&self) -> String {
        let postgres = self.postgres.sql("SELECT tablename FROM pg_tables WHERE schemaname = 'public'");
        format!("{}{postgres}", self.maria.sql("SHOW TABLES")).trim().to_owned()
    }

    /// A study of a good contender and this one ends before anything is loaded, by `run`, `prepare` and `check --connect`.
    fn stops(&self, (name, lines): (&str, String), connections: u32, code: i32, words: &[&str]) {
        let good = ("m", target(&self.maria.url()));
        self.desk.write("s.toml", &study(&[good, (name, lines)], RW, connections));
        for command in [&["run", "s.toml"][..], &["check", "--connect", "s.toml"]] {
            said(&self.desk.perbuck(command), code, words);
            assert_eq!(self.tables(), "", "{command:?}");
        }
    }
}

#[test]
fn a_missing_right_stops_before_the_first_row() {
    let s = Servers::new("preflight_right");
    let reader = s.reader("SELECT", "");
    s.stops(("reader", target(&reader)), 2, 3, &["s.toml:8: reader: ", "CREATE command denied", "help: grant the user"]);
    s.desk.perbuck(&["prepare", "s.toml"]);
    assert_eq!(s.tables(), "");
    // PostgreSQL lets the owner alone make tables.
    let user = "CREATE ROLE preflight_reader LOGIN PASSWORD 'reader-4711'";
    s.postgres.admin_sql(&format!("DROP ROLE IF EXISTS preflight_reader; {user}"));
    let url = s.postgres.url().replace("perbuck@", "preflight_reader@");
    s.stops(("reader", target(&url)), 2, 3, &["reader: permission denied for schema public", "help: "]);
    // A right that only `server_settings` needs.
    let all = s.reader("ALL", "");
    let lines = format!("{}\nserver_settings = {{ max_connections = 500 }}", target(&all));
    s.stops(("reader", lines), 2, 3, &["reader: `server_settings.max_connections` at 127.0.0.1:", "help: "]);
}

#[test]
fn rights_that_are_not_needed_are_not_asked_for() {
    let s = Servers::new("preflight_enough");
    s.maria.sysbench(&["oltp_read_write", "--tables=1", "--table-size=1000", "prepare"]);
    let reader = s.reader("SELECT, INSERT, UPDATE, DELETE", "");
    s.desk.write("s.toml", &study(&[("reader", target(&reader))], RW, 2));
    s.desk.good(&["check", "--connect", "s.toml"]);
    s.desk.good(&["run", "s.toml"]);
    assert_eq!(s.desk.records("results/s")[0].workload.data, "foreign");
}

#[test]
fn statements_that_cannot_be_prepared_are_found_on_tables_that_are_there() {
    let s = Servers::new("preflight_statements");
    let make = "CREATE TABLE goods (id INT PRIMARY KEY, price INT)";
    let script = "kind = \"script\"\nfile = \"look.sql\"\nprotocol = \"prepared\"";
    let contenders = [("m", target(&s.maria.url())), ("p", target(&s.postgres.url()))];
    s.desk.write("s.toml", &study(&contenders, script, 2));
    s.desk.write("look.sql", "\\set id 1\nSELECT price FROM goods WHERE id = :id;\nSELECT weight FROM\n goods WHERE id = :id;\n");
    // The tables of the first contender have what is asked for.
    s.maria.sql(&make.replace("price INT", "price INT, weight INT"));
    s.postgres.sql(make);
    for command in [&["check", "--connect", "s.toml"], &["run", "s.toml"][..]] {
        let words = ["p: look.sql:3: ", "\"weight\" does not exist", "were prepared on the data that are there"];
        let ended = s.desk.perbuck(command);
        said(&ended, 3, &words);
        assert!(!ended.err.contains("m: look.sql"), "{ended:#?}");
    }
    s.postgres.sql("ALTER TABLE goods ADD COLUMN weight INT");
    s.desk.good(&["check", "--connect", "s.toml"]);
}

#[test]
fn an_untrusted_certificate_stops_before_the_first_row() {
    let s = Servers::new("preflight_tls");
    let url = format!("{}?tls=verify-ca&ca={}", s.postgres.url(), server("PERBUCK_TEST_OTHER_CA"));
    s.stops(("p", target(&url)), 2, 3, &["s.toml:8: p: ", "a certificate that the target does not accept", "help: "]);
}

#[test]
fn another_product_or_an_old_version_stops_before_the_first_row() {
    let mut s = Servers::new("preflight_version");
    let (mysql9, password) = (server("PERBUCK_TEST_MYSQL9"), server("PERBUCK_TEST_MYSQL9_PASSWORD"));
    s.desk.set("PERBUCK_N_PASSWORD", &password);
    let words = ["n: ", "the server is MySQL (9.", "and the target says MariaDB", "help: write `mysql://` in the target"];
    s.stops(("n", target(&mysql9.replace("mysql://", "mariadb://"))), 2, 3, &words);
    let tidb = s.maria.url().replace("mysql://", "tidb://");
    s.desk.set("PERBUCK_T_PASSWORD", &s.maria.password.clone());
    s.stops(("t", target(&tidb)), 2, 3, &["the server is MariaDB (1", "and the target says TiDB"]);
    // A server that says it is old.
    for sql in [
        "CREATE SCHEMA clothes",
        "CREATE FUNCTION clothes.version() RETURNS text LANGUAGE sql AS $$ SELECT 'PostgreSQL 9.3.1 on x86_64'::text $$",
        "ALTER DATABASE preflight_version SET search_path = public, clothes, pg_catalog",
    ] {
        s.postgres.sql(sql);
    }
    let words = ["PostgreSQL 9.3.1 is older than perbuck can drive", "help: use PostgreSQL 9.5 or later"];
    s.stops(("p", target(&s.postgres.url())), 2, 3, &words);
    // A server that is not there yet: its program tells the version.
    let private = "server = { kind = \"postgres\", version = \"9.6\" }".to_owned();
    s.stops(("private", private), 2, 4, &["the study wants version 9.6, and ", "help: install that version"]);
    let missing = "server = { kind = \"mariadb\", program = \"/no/such/mariadbd\" }".to_owned();
    s.stops(("private", missing), 2, 2, &["/no/such/mariadbd is no program"]);
}

#[test]
fn a_port_of_another_protocol_is_named_at_once() {
    let s = Servers::new("preflight_port");
    let (mysql, postgres) = (s.maria.url(), s.postgres.url());
    let began = Instant::now();
    let wrong = postgres.replace("postgres://", "mysql://");
    let words =
        ["p: 127.0.0.1:", "is a server of PostgreSQL's protocol. Write `postgres://` in the target", "help: check the port"];
    s.stops(("p", target(&wrong)), 2, 3, &words);
    // Two commands, where each alone waited for the ten seconds of `connect_timeout`.
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    for tls in ["disabled", "preferred"] {
        let wrong = format!("{}?tls={tls}", mysql.replace("mysql://", "postgres://"));
        let words = ["is a server of MySQL's protocol. Write `mysql://` in the target", "help: check the port"];
        s.stops(("p", target(&wrong)), 2, 3, &words);
    }
    s.stops(
        ("p", target("postgres://u@127.0.0.1:1/d")),
        2,
        3,
        &["127.0.0.1:1 cannot be reached", "help: check that the server runs"],
    );
}

#[test]
fn more_connections_than_the_server_gives_stop_before_the_first_row() {
    let s = Servers::new("preflight_limit");
    let few = s.reader("ALL", "WITH MAX_USER_CONNECTIONS 5");
    let words = ["let in 5 connections of the 8 that a trial needs, and says that its limit is 5", "help: raise max_connections"];
    s.stops(("reader", target(&few)), 8, 3, &words);
    s.postgres.admin_sql("ALTER DATABASE preflight_limit CONNECTION LIMIT 6");
    let words = ["let in 6 connections of the 8 that a trial needs, and says that its limit is 6"];
    s.stops(("p", target(&s.postgres.url())), 8, 3, &words);
    s.postgres.admin_sql("ALTER DATABASE preflight_limit CONNECTION LIMIT 8");
    s.desk.write("s.toml", &study(&[("p", target(&s.postgres.url()))], RW, 8));
    s.desk.good(&["check", "--connect", "s.toml"]);
}

#[test]
fn too_few_descriptors_and_too_small_a_disk_stop_before_the_first_row() {
    let s = Servers::new("preflight_disk");
    let good = ("m", target(&s.maria.url()));
    s.desk.write("s.toml", &study(std::slice::from_ref(&good), RW, 300));
    let script = format!("ulimit -n 150; exec '{}' run s.toml", env!("CARGO_BIN_EXE_perbuck"));
    let mut limited = s.desk.command(&[]);
    let mut bash = Command::new("bash");
    bash.args(["-c", &script]).current_dir(s.desk.path(".")).envs(limited.get_envs().filter_map(|(k, v)| Some((k, v?))));
    limited = bash;
    let words =
        ["s.toml: 300 connections need ", "file descriptors, and this process may have 150", "help: raise the hard limit"];
    said(&ended(limited.output().unwrap()), 2, &words);
    assert_eq!(s.tables(), "");
    // 40 TB of rows, on the disk of a file, of servers on this machine and of one that would be started here.
    let large = "kind = \"sysbench\"\ntables = 100\ntable_size = 2000000000";
    for (name, lines) in
        [("file", target("sqlite:a.db")), ("m", good.1.clone()), ("private", "server = { kind = \"mariadb\" }".to_owned())]
    {
        s.desk.write("s.toml", &study(&[(name, lines)], large, 2));
        for command in [&["run", "s.toml"][..], &["check", "--connect", "s.toml"]] {
            let words =
                [&format!("s.toml: {name}"), ": the data need more than 38,000,000 MB on the disk of /", "help: free some space"];
            said(&s.desk.perbuck(command), 5, &words);
            assert!(s.tables().is_empty() && !s.desk.path("a.db").exists());
        }
    }
    s.desk.write("s.toml", &study(&[("file", target("sqlite:no/such/a.db"))], RW, 2));
    said(
        &s.desk.perbuck(&["check", "--connect", "s.toml"]),
        3,
        &["no/such/a.db cannot be made", "help: check that its folder exists"],
    );
}

#[test]
fn all_problems_are_told_together_and_a_good_study_leaves_nothing() {
    let s = Servers::new("preflight_all");
    let bad = [
        ("m", target(&s.maria.url().replace("preflight_all", "no_such_database"))),
        ("p", target(&s.postgres.url().replace("perbuck@", "nobody@"))),
        ("q", target("mysql://u@127.0.0.1:1/d")),
    ];
    s.desk.write("s.toml", &study(&bad, RW, 2));
    let words = ["3 problems found", "s.toml:5: m: ", "CREATE DATABASE", "s.toml:8: p: ", "PERBUCK_P_PASSWORD", "s.toml:11: q: "];
    said(&s.desk.perbuck(&["run", "s.toml"]), 3, &words);
    let json = s.desk.perbuck(&["check", "--connect", "--json", "s.toml"]);
    let problems: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    let lines: Vec<_> = problems.as_array().unwrap().iter().map(|p| (p["line"].clone(), p["help"] != "")).collect();
    assert_eq!((json.code, lines), (Some(3), [5, 8, 11].map(|line| (line.into(), true)).to_vec()));

    let good = [("m", target(&s.maria.url())), ("p", target(&s.postgres.url())), ("file", target("sqlite:a.db"))];
    s.desk.write("s.toml", &study(&good, RW, 2));
    let out = s.desk.good(&["check", "--connect", "s.toml"]).out;
    for words in [
        "every target answers",
        "  m: 127.0.0.1:",
        " is 1",
        "  p: 127.0.0.1:",
        " is PostgreSQL ",
        "  file: sqlite:a.db is SQLite 3",
    ] {
        assert!(out.contains(words), "{words}: {out}");
    }
    assert_eq!(s.desk.good(&["check", "--connect", "--json", "s.toml"]).out.trim(), "[]");
    assert!(s.tables().is_empty() && !s.desk.path("a.db").exists());
}

#[test]
fn hosts_of_one_target_that_differ_in_version_are_said() {
    let s = Servers::new("preflight_hosts");
    let (mysql9, password) = (server("PERBUCK_TEST_MYSQL9"), server("PERBUCK_TEST_MYSQL9_PASSWORD"));
    let address = mysql9.split_once('@').unwrap().1.split_once('/').unwrap().0;
    let mut desk = Desk::new();
    desk.set("PERBUCK_READER_PASSWORD", "reader-4711");
    let user = "CREATE USER IF NOT EXISTS 'r_preflight_hosts'@'%' IDENTIFIED BY 'reader-4711'";
    let rights = "GRANT ALL ON preflight_hosts.* TO 'r_preflight_hosts'@'%'";
    let (host, port) = address.split_once(':').unwrap();
    let other = Maria { host: host.into(), port: port.into(), password, database: "preflight_hosts".into() };
    other.in_database("", &format!("CREATE DATABASE IF NOT EXISTS preflight_hosts; {user}; {rights}"));
    let url = s.reader("ALL", "").replace("/preflight_hosts", &format!(",{address}/preflight_hosts"));
    desk.write("s.toml", &study(&[("reader", target(&url))], RW, 2));
    let out = desk.good(&["check", "--connect", "s.toml"]).out;
    assert!(out.contains("reader: its hosts have several versions: 127.0.0.1:"), "{out}");
}

#[test]
fn trials_of_another_version_name_the_keys_that_differ_and_the_folder() {
    let desk = Desk::new();
    desk.write("study.toml", &edited(&QUICK));
    desk.good(&["run", "study.toml", "--results", "elsewhere"]);
    desk.write("study.toml", &edited(&[QUICK[0], QUICK[1], ("\"200ms\"", "\"2s\""), ("sqlite:off.db", "sqlite:other.db")]));
    let words = [
        "elsewhere/small holds trials of another version of this study: contender off.target: sqlite:off.db?synchronous=OFF → \
         sqlite:other.db?synchronous=OFF; sweep.duration: 100.0 ms → 2 s",
        "help: give the study a new `name`, or move elsewhere/small away",
    ];
    said(&desk.perbuck(&["run", "study.toml", "--results", "elsewhere"]), 4, &words);
    said(
        &desk.perbuck(&["compare", "elsewhere/small", "--study", "study.toml"]),
        4,
        &["in elsewhere/small was measured by another"],
    );
}

#[test]
fn what_another_client_calls_tls_and_capitals_of_an_instance_are_explained() {
    let desk = Desk::new();
    for (option, way_out) in [
        ("sslmode=verify-full", "write `tls=verify-identity`"),
        ("sslmode=require", "write `tls=required`"),
        ("ssl-mode=VERIFY_CA", "write `tls=verify-ca`"),
        ("sslmode=nonsense", "write `tls=`, with one of disabled, preferred"),
    ] {
        desk.write("s.toml", &study(&[("p", target(&format!("postgres://u@h/d?{option}")))], RW, 2));
        said(&desk.perbuck(&["check", "s.toml"]), 2, &["it is called `tls`", &format!("help: {way_out}")]);
    }
    for typed in ["M7G.large", "M7G.LARGE"] {
        desk.write("study.toml", &edited(&[("m7g.large", typed)]));
        said(
            &desk.perbuck(&["check", "study.toml"]),
            2,
            &[&format!("`{typed}` has no price"), "help: did you mean `m7g.large`?"],
        );
    }
}
