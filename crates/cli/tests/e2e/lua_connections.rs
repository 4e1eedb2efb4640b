//! Scripts in Lua that open several connections in a thread, or open one again. What they print, and how often they connect again, is as
//! under sysbench itself.

use std::process::Command;

use crate::common::{Ended, ended};
use crate::lua::Database;

impl Database {
    fn ours(&self, words: &[&str]) -> Ended {
        self.run(&[words, &["--no-record"]].concat())
    }

    /// sysbench itself, which takes a password as an option only. The databases are of one test alone.
    fn peer(&self, words: &[&str]) -> Ended {
        let mut command = Command::new("sysbench");
        for (name, option) in [("MYSQL_PWD", "mysql"), ("PGPASSWORD", "pgsql")] {
            let ours = self.desk.command(&[]);
            if let Some((_, Some(password))) = ours.get_envs().find(|(key, _)| *key == name) {
                command.arg(format!("--{option}-password={}", password.to_str().unwrap()));
            }
        }
        ended(command.args(&self.address).args(words).output().unwrap())
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

fn several_connections(database: &Database, number: &str) -> [Vec<String>; 2] {
    let path = database.desk.write("two.lua", &TWO.replace("NUMBER", number));
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
    let [ours, peer] = several_connections(&Database::on_mariadb("lua_two"), "CONNECTION_ID()");
    assert!(peer.len() >= 4 && ours.starts_with(&peer), "{ours:?} {peer:?}");
}

#[test]
fn a_script_has_several_connections_and_reconnects_on_postgres() {
    let [ours, mut peer] = several_connections(&Database::on_postgres("lua_two"), "pg_backend_pid()");
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
fn a_connection_that_is_closed_holds_no_locks_and_has_no_rows() {
    let database = Database::on_mariadb("lua_closed");
    let text = r#"
function event()
  local drv = sysbench.sql.driver()
  local one, two = drv:connect(), drv:connect()
  one:query("DROP TABLE IF EXISTS held")
  one:query("CREATE TABLE held(a INT PRIMARY KEY, b INT)")
  one:query("INSERT INTO held VALUES (1, 1)")
  one:query("BEGIN")
  one:query("UPDATE held SET b = 2 WHERE a = 1")
  local rows = one:query("SELECT b FROM held")
  one:disconnect()
  two:query("SET innodb_lock_wait_timeout = 1")
  two:query("UPDATE held SET b = b + 10 WHERE a = 1")
  print("updated", two:query_row("SELECT b FROM held"))
  print("no rows", pcall(rows.fetch_row, rows) and rows:fetch_row() or nil)
  local again = drv:connect()
  print("other", again:query_row("SELECT 3"), two:query_row("SELECT 4"))
end
"#;
    let path = database.desk.write("closed.lua", text);
    let [ours, peer] = database.both(&[path.to_str().unwrap(), "--events=1", "run"]);
    let words = |all: &[String]| all.iter().filter(|line| !line.starts_with("ALERT")).take(3).cloned().collect::<Vec<_>>();
    assert_eq!(words(&ours), ["updated 11", "no rows nil", "other 3 4"], "{ours:?}");
    assert!(peer.is_empty() || words(&peer)[0] == "updated 11", "{peer:?}");
}

#[test]
fn connections_that_a_script_drops_are_closed() {
    let database = Database::on_mariadb("lua_dropped");
    let text = r#"
local most = 0
function event()
  local con = sysbench.sql.driver():connect()
  local open = con:query_row("SELECT COUNT(*) FROM information_schema.processlist WHERE db = DATABASE()")
  most = math.max(most, tonumber(open))
end
function thread_done() print("most", most < 30) end
"#;
    let path = database.desk.write("dropped.lua", text);
    let ran = database.ours(&[path.to_str().unwrap(), "--events=2000", "--time=0", "run"]);
    assert!(ran.code == Some(0) && ran.out.contains("most\ttrue"), "{ran:#?}");
}

#[test]
fn a_statement_from_before_a_reconnect_is_no_transaction() {
    let database = Database::on_mariadb("lua_stale");
    let text = r#"
function thread_init()
  con = sysbench.sql.driver():connect()
  stmt = con:prepare("SELECT 1")
end
function event()
  con:reconnect()
  stmt:execute()
end
"#;
    let path = database.desk.write("stale.lua", text);
    let ended = database.ours(&[path.to_str().unwrap(), "--time=1", "run"]);
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    assert!(ended.out.contains("a statement of a connection that it has closed, or opened again"), "{ended:#?}");
    let ignored = database.ours(&[path.to_str().unwrap(), "--time=1", "--mysql-ignore-errors=all", "run"]);
    assert!(ignored.out.contains("transactions:                        0 "), "{ignored:#?}");
}

#[test]
fn a_connection_that_the_server_refuses_is_an_error_of_the_script() {
    let database = Database::on_mariadb("lua_many");
    let text = r#"
function prepare()
  local con = sysbench.sql.driver():connect()
  con:query("CREATE OR REPLACE USER lua_few@'%' IDENTIFIED BY 'few' WITH MAX_USER_CONNECTIONS 20")
  con:query("GRANT ALL ON " .. con:query_row("SELECT DATABASE()") .. ".* TO lua_few@'%'")
end
function cleanup() sysbench.sql.driver():connect():query("DROP USER lua_few@'%'") end
function event()
  local all = {}
  for i = 1, 30 do all[i] = sysbench.sql.driver():connect() end
end
"#;
    let path = database.desk.write("many.lua", text);
    let path = path.to_str().unwrap();
    let words = |command| [path, "--verbosity=1", command];
    assert_eq!(database.ours(&words("prepare")).code, Some(0));
    let refused = database.ours(&[&words("run")[..], &["--events=1", "--mysql-user=lua_few", "--mysql-password=few"]].concat());
    assert_eq!(database.ours(&words("cleanup")).code, Some(0));
    assert_eq!(refused.code, Some(1), "{refused:#?}");
    assert!(refused.out.contains("max_user_connections"), "{refused:#?}");
}
