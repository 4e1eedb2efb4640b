//! Scripts in Lua that open several connections in a thread, or open one again. What they print, and how often they connect again, is as
//! under sysbench itself.

use std::process::Command;

use crate::common::maria::Maria;
use crate::common::postgres::Postgres;
use crate::common::{Desk, Ended, ended};

/// A database of its own, with the options that name it, the words for the number of a connection, and the variable of the password.
struct Database {
    desk: Desk,
    address: Vec<String>,
    number: &'static str,
    password: (&'static str, String),
}

impl Database {
    fn on_mariadb(name: &str) -> Self {
        let mut desk = Desk::new();
        let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", name);
        desk.set("MYSQL_PWD", &maria.password);
        let address = [("host", &maria.host), ("port", &maria.port), ("user", &"root".to_owned()), ("db", &maria.database)]
            .map(|(option, value)| format!("--mysql-{option}={value}"));
        Self {
            desk,
            address: address.to_vec(),
            number: "CONNECTION_ID()",
            password: ("--mysql-password", maria.password.clone()),
        }
    }

    fn on_postgres(name: &str) -> Self {
        let mut desk = Desk::new();
        let postgres = Postgres::fresh(&mut desk, name);
        desk.set("PGPASSWORD", &postgres.password);
        let address = [("host", "127.0.0.1"), ("port", &postgres.port), ("user", "perbuck"), ("db", &postgres.database)]
            .map(|(option, value)| format!("--pgsql-{option}={value}"));
        let address = [address.to_vec(), vec!["--db-driver=pgsql".to_owned()]].concat();
        Self { desk, address, number: "pg_backend_pid()", password: ("--pgsql-password", postgres.password.clone()) }
    }

    fn ours(&self, words: &[&str]) -> Ended {
        ended(self.desk.command(&["sysbench"]).args(&self.address).args(words).arg("--no-record").output().unwrap())
    }

    /// sysbench itself, whose databases are of this test alone.
    fn peer(&self, words: &[&str]) -> Ended {
        let password = format!("{}={}", self.password.0, self.password.1);
        ended(Command::new("sysbench").args(&self.address).arg(password).args(words).output().unwrap())
    }

    /// What both told of a run. Debian's sysbench, with the library of MariaDB, dies of a fault in memory when it opens a connection again.
    fn both(&self, words: &[&str]) -> [Vec<String>; 2] {
        let (ours, peer) = (self.ours(words), self.peer(words));
        assert_eq!(ours.code, Some(0), "{words:?}: {ours:#?}");
        assert!(peer.code == Some(0) || peer.code.is_none(), "{words:?}: {peer:#?}");
        [told(&ours.out), told(&peer.out)]
    }
}

const TWO: &str = r#"
function prepare()
  local con = sysbench.sql.driver():connect()
  con:query("CREATE TABLE two(a INT PRIMARY KEY)")
  con:query("INSERT INTO two VALUES (1), (2), (3)")
end
function cleanup() sysbench.sql.driver():connect():query("DROP TABLE two") end

local function number(con) return con:query_row("SELECT NUMBER") end
local function prepared()
  up_to = reader:prepare("SELECT a FROM two WHERE a <= ? ORDER BY a DESC")
  most = up_to:bind_create(sysbench.sql.type.INT)
  up_to:bind_param(most)
  insert = writer:prepare("INSERT INTO two VALUES (?)")
  new = insert:bind_create(sysbench.sql.type.INT)
  insert:bind_param(new)
end
function thread_init()
  drv = sysbench.sql.driver()
  reader, writer = drv:connect(), drv:connect()
  prepared()
end
function event()
  print("apart", number(reader) ~= number(writer))
  local rs = reader:query("SELECT a FROM two ORDER BY a")
  writer:query("BEGIN")
  new:set(100)
  insert:execute()
  local other = writer:query("SELECT a + 50 FROM two ORDER BY a DESC")
  -- Each connection keeps its own result.
  print("rows", rs.nrows, rs:fetch_row()[1], other.nrows, other:fetch_row()[1], rs:fetch_row()[1])
  print("unseen", reader:query_row("SELECT COUNT(*) FROM two"), writer:query_row("SELECT COUNT(*) FROM two"))
  writer:query("COMMIT")
  most:set(1000)
  print("seen", up_to:execute().nrows)
  writer:query("DELETE FROM two WHERE a = 100")

  local before, kept = number(writer), number(reader)
  insert:close()
  writer:reconnect()
  print("again", number(writer) ~= before, number(reader) == kept)
  reader:disconnect()
  print("closed", (pcall(reader.query, reader, "SELECT 1")))
  reader = drv:connect()
  print("new", number(reader) ~= kept, number(reader) ~= number(writer))
  prepared()
  most:set(2)
  print("prepared", up_to:execute().nrows)
end
function thread_done()
  print("at the end", number(reader) ~= number(writer))
end
"#;

/// Lines that a script printed, and those of the summary that count.
fn told(out: &str) -> Vec<String> {
    let counts = ["total:", "read:", "write:", "other:", "reconnects:", "ignored errors:"];
    let of_script =
        |line: &&str| line.contains('\t') || line.starts_with("ALERT") || counts.iter().any(|c| line.trim().starts_with(c));
    // A rate is of the run's time.
    out.lines()
        .filter(of_script)
        .map(|line| line.split('(').next().unwrap().split_whitespace().collect::<Vec<_>>().join(" "))
        .collect()
}

fn several_connections(database: &Database) -> [Vec<String>; 2] {
    let path = database.desk.write("two.lua", &TWO.replace("NUMBER", database.number));
    let path = path.to_str().unwrap();
    database.peer(&[path, "prepare"]);
    let [ours, peer] = database.both(&[path, "--events=1", "run"]);
    for line in ["rows 3 1 4 150 2", "again true true", "reconnects: 1", "at the end true"] {
        assert!(ours.iter().any(|found| found == line), "{line}: {ours:?}");
    }
    [ours, peer]
}

#[test]
fn a_script_has_several_connections_and_reconnects_on_mariadb() {
    let [ours, peer] = several_connections(&Database::on_mariadb("lua_two"));
    assert!(peer.len() >= 4 && ours.starts_with(&peer), "{ours:?} {peer:?}");
}

#[test]
fn a_script_has_several_connections_and_reconnects_on_postgres() {
    let [ours, mut peer] = several_connections(&Database::on_postgres("lua_two"));
    // sysbench opens none again there.
    peer.retain(|line| line != "ALERT: reconnect is not supported by the current driver");
    for (said, done) in [("again false true", "again true true"), ("reconnects: 0", "reconnects: 1")] {
        let at = peer.iter().position(|line| line == said).unwrap();
        done.clone_into(&mut peer[at]);
    }
    assert_eq!(ours, peer);
}

#[test]
fn a_loss_opens_both_connections() {
    let database = Database::on_mariadb("lua_lost");
    let text = r#"
function thread_init()
  drv = sysbench.sql.driver()
  victim, killer = drv:connect(), drv:connect()
  one, two = victim:prepare("SELECT 1"), killer:prepare("SELECT 2")
end
local events = 0
function event()
  events = events + 1
  if events == 2 then killer:query("KILL " .. victim:query_row("SELECT CONNECTION_ID()")) end
  print("event", events, one:execute().nrows, two:execute().nrows)
end
"#;
    let path = database.desk.write("lost.lua", text);
    let [ours, peer] = database.both(&[path.to_str().unwrap(), "--mysql-ignore-errors=all", "--events=3", "run"]);
    assert!(!peer.is_empty() && ours.starts_with(&peer), "{ours:?} {peer:?}");
    assert_eq!(ours[..3], ["event 1 1 1", "event 3 1 1", "event 4 1 1"], "{ours:?}");
    assert!(ours.contains(&"reconnects: 1".to_owned()), "{ours:?}");
}

#[test]
fn a_connection_that_the_server_refuses_is_an_error_of_the_script() {
    let database = Database::on_mariadb("lua_many");
    let text = "function event()\n  local all = {}\n  for i = 1, 5000 do all[i] = sysbench.sql.driver():connect() end\nend";
    let path = database.desk.write("many.lua", text);
    let refused = database.ours(&[path.to_str().unwrap(), "--events=1", "run"]);
    assert_eq!(refused.code, Some(1), "{refused:#?}");
    assert!(refused.out.contains("Too many connections"), "{refused:#?}");
}
