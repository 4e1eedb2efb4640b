//! CockroachDB and YugabyteDB, of which no program can be had here: a real PostgreSQL that says it is one of them. It shows
//! what perbuck makes of the answer, and that the statements made for them do what those for PostgreSQL do, as far as PostgreSQL
//! takes them (a key with ASC, `SHOW ALL` in brackets and an index after `@` it does not). It shows nothing of the databases.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use crate::common::maria::study;
use crate::common::postgres::Postgres;
use crate::common::{Desk, Ended};

/// What CockroachDB says of itself while it lets a client in, and to `version()`.
const COCKROACH: (&str, &str) = ("crdb_version", "CockroachDB CCL v23.1.11 (x86_64-pc-linux-gnu)");
/// The same of YugabyteDB.
const YUGABYTE: (&str, &str) = ("server_version", "15.2-YB-2.25.0.0-b489");

/// A PostgreSQL in the clothes of another.
struct Dressed {
    desk: Desk,
    postgres: Postgres,
    port: String,
}

impl Dressed {
    /// A fresh database whose `version()` and login tell another name, and which has CockroachDB's numbers of rows.
    fn new(name: &str, (setting, version): (&'static str, &'static str)) -> Self {
        let mut desk = Desk::new();
        let postgres = Postgres::fresh(&mut desk, name);
        for variable in ["PGPASSWORD", "PERBUCK_YCSB_PASSWORD"] {
            desk.set(variable, &postgres.password);
        }
        for sql in [
            "CREATE SCHEMA clothes",
            &format!("CREATE FUNCTION clothes.version() RETURNS text LANGUAGE sql AS $$ SELECT '{version}'::text $$"),
            "CREATE SEQUENCE clothes.numbers",
            // 63 bits in no order.
            "CREATE FUNCTION clothes.unique_rowid() RETURNS bigint LANGUAGE sql AS \
             $$ SELECT hashint8extended(nextval('clothes.numbers'), 0) & 9223372036854775807 $$",
            &format!("ALTER DATABASE {name} SET search_path = public, clothes, pg_catalog"),
        ] {
            postgres.sql(sql);
        }
        let port = between(postgres.port.clone(), setting_message(setting, version));
        Self { desk, postgres, port }
    }

    fn url(&self, scheme: &str) -> String {
        format!("{scheme}://perbuck@127.0.0.1:{}/{}?tls=disabled", self.port, self.postgres.database)
    }

    /// Runs a drop-in command on it.
    fn run(&self, command: &str, words: &[&str]) -> Ended {
        let (port, database) = (&*self.port, &*self.postgres.database);
        let address = match command {
            "tpcc" => ["-H", "127.0.0.1", "-P", port, "-U", "perbuck", "-D", database].map(str::to_owned).to_vec(),
            _ => [("host", "127.0.0.1"), ("port", port), ("user", "perbuck"), ("db", database), ("sslmode", "disable")]
                .map(|(option, value)| format!("--pgsql-{option}={value}"))
                .to_vec(),
        };
        let address: Vec<&str> = address.iter().map(String::as_str).collect();
        self.desk.perbuck(&[&[command][..], &address, words].concat())
    }

    fn good(&self, command: &str, words: &[&str]) -> Ended {
        let ended = self.run(command, words);
        assert_eq!(ended.code, Some(0), "{command} {words:?}: {ended:#?}");
        ended
    }
}

/// ParameterStatus.
fn setting_message(name: &str, value: &str) -> Vec<u8> {
    let body = format!("{name}\0{value}\0");
    [b"S", &(body.len() as u32 + 4).to_be_bytes()[..], body.as_bytes()].concat()
}

/// A port where the server says `first` before all else.
fn between(server_port: String, first: Vec<u8>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let Ok(server) = TcpStream::connect(format!("127.0.0.1:{server_port}")) else { return };
            let (from_client, to_server) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            let first = first.clone();
            thread::spawn(move || pass_on(from_client, to_server, Vec::new()));
            thread::spawn(move || pass_on(server, client, first));
        }
    });
    port
}

fn pass_on(mut from: TcpStream, mut to: TcpStream, first: Vec<u8>) {
    let (mut buffer, mut first) = (vec![0; 1 << 16], Some(first));
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        if to.write_all(&first.take().unwrap_or_default()).and_then(|()| to.write_all(&buffer[..count])).is_err() {
            break;
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Both);
}

#[test]
fn a_server_that_is_another_than_the_target_says_is_refused() {
    let dressed = Dressed::new("family_refused", COCKROACH);
    let refused = dressed.run("sysbench", &["--db-driver=pgsql", "oltp_read_only", "prepare"]);
    assert_ne!(refused.code, Some(0));
    let text = format!("{}{}", refused.out, refused.err);
    assert!(text.contains("is CockroachDB (CockroachDB CCL v23.1.11"), "{text}");
    assert!(text.contains("the target says PostgreSQL") && text.contains("`cockroach://`"), "{text}");
    let tpcc = dressed.run("tpcc", &["check", "-d", "yugabyte", "--conn-params", "sslmode=disable"]);
    assert!(tpcc.code == Some(3) && tpcc.err.contains("the target says YugabyteDB") && !tpcc.err.contains("help:"), "{tpcc:#?}");
    // And the real one is none of both.
    let plain = dressed.postgres.url().replace("postgres://", "cockroach://");
    dressed.desk.write("s.toml", &study(&plain, "kind = \"tpcc\"", "connections = [1]\nduration = \"1s\"\ntrials = 1"));
    let refused = dressed.desk.perbuck(&["run", "s.toml"]);
    assert_eq!(refused.code, Some(3), "{refused:#?}");
    assert!(refused.err.contains("is PostgreSQL (") && refused.err.contains("`postgres://`"), "{}", refused.err);
    assert_eq!(dressed.postgres.sql("SELECT COUNT(*) FROM pg_tables WHERE schemaname = 'public'").trim(), "0");
}

#[test]
fn sysbench_inserts_rows_that_cockroach_numbers() {
    let dressed = Dressed::new("family_sysbench", COCKROACH);
    let sizes = ["--db-driver=cockroach", "--tables=1", "--table-size=500"];
    dressed.good("sysbench", &[&sizes[..], &["oltp_insert", "prepare"]].concat());
    let ran =
        dressed.good("sysbench", &[&sizes[..], &["--threads=4", "--events=200", "--time=0", "oltp_insert", "run"]].concat());
    assert!(ran.out.contains("total number of events:              200"), "{ran:#?}");
    assert_eq!(dressed.postgres.sql("SELECT COUNT(*), MAX(id) > 2147483647, MIN(id) FROM sbtest1").trim(), "700\tt\t1");
    dressed.good("sysbench", &[&sizes[..], &["oltp_insert", "cleanup"]].concat());
    // With the checks of a study: what the data are and that they still hold.
    let workload = "kind = \"sysbench\"\nscript = \"oltp_insert\"\ntables = 2\ntable_size = 500";
    let sweep = "connections = [4]\nwarmup = \"100ms\"\nduration = \"500ms\"\ntrials = 1";
    dressed.desk.write("s.toml", &study(&dressed.url("cockroach"), workload, sweep));
    dressed.desk.good(&["run", "s.toml"]);
    let record = dressed.desk.records("results/s").remove(0);
    assert_eq!((&*record.target.driver, record.target.server_cpu_ns), ("cockroach", None));
    assert!(record.target.version.starts_with("CockroachDB CCL") && record.target.server_counters.is_empty());
    assert!(record.target.variables["session variables"].starts_with("not readable: "), "{:?}", record.target.variables);
    assert!(record.measured.transactions["oltp_insert"].committed > 20 && dressed.desk.path("results/s/checked").exists());
}

/// Serialization failures are real ones, and tried again.
fn tpcc(dressed: &Dressed, kind: &str, prepare: &[&str]) {
    let at = ["-d", kind, "--conn-params", "sslmode=disable", "--warehouses=1"];
    dressed.good("tpcc", &[&["prepare"][..], &at, prepare].concat());
    let run = ["run", "-T", "4", "--time=3s", "--interval=1s", "--isolation=6"];
    dressed.good("tpcc", &[&run[..], &at].concat());
    let record = dressed.desk.records("state/perbuck/tpcc").remove(0);
    assert_eq!(record.target.driver, kind);
    assert!(record.errors.keys().all(|code| code.starts_with("sqlstate 40")), "{:?}", record.errors);
    let committed: u64 = record.measured.transactions.values().map(|t| t.committed).sum();
    assert!(committed > 20, "{record:#?}");
    assert_eq!(dressed.good("tpcc", &[&["check"][..], &at].concat()).out.matches(" holds: ").count(), 11);
    let dirty = dressed.run("tpcc", &[&["run", "--isolation=1"][..], &at].concat());
    assert!(dirty.code != Some(0) && dirty.err.contains("DB does not support"), "{dirty:#?}");
    dressed.good("tpcc", &[&["cleanup"][..], &at].concat());
}

#[test]
fn tpcc_is_loaded_run_and_consistent_in_the_words_for_cockroach() {
    tpcc(&Dressed::new("family_tpcc_crdb", COCKROACH), "cockroach", &[]);
}

#[test]
fn tpcc_is_loaded_run_and_consistent_in_the_words_for_yugabyte() {
    tpcc(&Dressed::new("family_tpcc_yb", YUGABYTE), "yugabyte", &["--parts=1"]);
}

/// As YugabyteDB is unless its servers are started otherwise.
#[test]
fn a_level_that_is_not_the_one_asked_for_ends_the_run() {
    let dressed = Dressed::new("family_isolation", YUGABYTE);
    dressed.postgres.sql(
        "CREATE FUNCTION clothes.current_setting(text, boolean) RETURNS text LANGUAGE sql AS $$ SELECT 'repeatable read'::text $$",
    );
    let at = ["-d", "yugabyte", "--conn-params", "sslmode=disable", "--warehouses=1"];
    dressed.good("tpcc", &[&["prepare", "--no-check"][..], &at].concat());
    let run = |level| dressed.run("tpcc", &[&["run", "-T", "2", "--time=1s", level][..], &at].concat());
    let ended = run("--isolation=2");
    assert!(
        ended.code != Some(0) && ended.err.contains("isolation level READ COMMITTED, but YugabyteDB uses REPEATABLE READ"),
        "{ended:#?}"
    );
    assert!(
        ended.err.contains("yb_enable_read_committed_isolation") && !dressed.desk.path("state/perbuck/tpcc").exists(),
        "{ended:#?}"
    );
    assert_eq!(run("--isolation=4").code, Some(0));
}

#[test]
fn ycsb_knows_the_name_that_go_ycsb_gives_to_cockroach() {
    let dressed = Dressed::new("family_ycsb", COCKROACH);
    let (port, db) = (format!("pg.port={}", dressed.port), format!("pg.db={}", dressed.postgres.database));
    let base =
        ["--no-record", "-p", &port, "-p", "pg.user=perbuck", "-p", &db, "-p", "dataintegrity=true", "-p", "recordcount=300"];
    for (order, workload) in [("load", "workloada"), ("run", "workloade"), ("run", "workloadf")] {
        let ended = dressed.desk.perbuck(&[&["ycsb", order, "cdb", "-P", workload][..], &base].concat());
        assert!(
            ended.code == Some(0) && !ended.out.contains("_ERROR") && !ended.out.contains("_WRONG"),
            "{workload}: {ended:#?}"
        );
    }
}
