//! Scripts in Lua through `perbuck sysbench`: sysbench's own files as Lua and built in send the same statements, an own script has sysbench's
//! API, and scripts that never end, allocate without limit or fail are stopped. sysbench's files are those of its package.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::common::maria::{Maria, study};
use crate::common::{Desk, Ended, server};
use perbuck_workloads::sysbench::SCRIPTS;

/// A database of its own, with the options that name it.
pub(crate) struct Database {
    pub(crate) desk: Desk,
    pub(crate) address: Vec<String>,
}

impl Database {
    pub(crate) fn on_mariadb(name: &str) -> Self {
        let mut desk = Desk::new();
        let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", name);
        desk.set("MYSQL_PWD", &maria.password);
        let address = [("host", &maria.host), ("port", &maria.port), ("user", &"root".to_owned()), ("db", &maria.database)]
            .map(|(option, value)| format!("--mysql-{option}={value}"));
        Self { desk, address: address.to_vec() }
    }

    pub(crate) fn on_postgres(name: &str) -> Self {
        let mut desk = Desk::new();
        let postgres = crate::common::postgres::Postgres::fresh(&mut desk, name);
        desk.set("PGPASSWORD", &postgres.password);
        let address = [("host", "127.0.0.1"), ("port", &postgres.port), ("user", "perbuck"), ("db", &postgres.database)]
            .map(|(option, value)| format!("--pgsql-{option}={value}"));
        Self { desk, address: [address.to_vec(), vec!["--db-driver=pgsql".to_owned()]].concat() }
    }

    pub(crate) fn run(&self, words: &[&str]) -> Ended {
        crate::common::ended(self.desk.command(&["sysbench"]).args(&self.address).args(words).output().unwrap())
    }

    fn good(&self, words: &[&str]) -> String {
        let ended = self.run(words);
        assert_eq!(ended.code, Some(0), "{words:?}: {ended:#?}");
        ended.out
    }

    /// Runs an own script, and what it printed.
    fn script(&self, text: &str, words: &[&str]) -> String {
        let path = self.desk.write("own.lua", text);
        self.good(&[&[path.to_str().unwrap(), "--verbosity=1", "--no-record"], words].concat())
    }

    /// The record of the newest run.
    fn newest(&self) -> perbuck_core::run_record::RunRecord {
        let mut records = self.desk.records("state/perbuck/sysbench");
        records.sort_by_key(|record| record.started_unix_ms);
        records.pop().unwrap()
    }
}

/// Statements of a run by kind, and those that the server counted, if it counts any.
fn statements(database: &Database, script: &str, words: &[&str]) -> ([u64; 6], BTreeMap<String, i64>) {
    database.good(&[&[script, "--rand-seed=11", "--time=0"], words, &["run"]].concat());
    let record = database.newest();
    let s = record.measured.statements;
    let counters = record.target.server_counters.into_iter().filter(|(name, _)| name.starts_with("Com_")).collect();
    ([s.select, s.insert, s.update, s.delete, s.begin, s.commit], counters)
}

fn as_lua_and_built_in(database: &Database) {
    for (name, _) in SCRIPTS {
        let bulk = name == "bulk_insert";
        let sizes: &[&str] = match name {
            "bulk_insert" => &[],
            _ if name.starts_with("select_random") => &["--table-size=400"],
            _ => &["--tables=2", "--table-size=400"],
        };
        let events = if bulk { "--events=20000" } else { "--events=40" };
        let [lua, built_in] = [&["--lua", "--threads=1"][..], &["--threads=1"]].map(|engine| {
            let all = |words: &[&'static str]| [sizes, engine, words].concat();
            let file = name;
            database.good(&[&[file], &all(&["prepare"])[..]].concat());
            let counted = statements(database, file, &all(&[events]));
            database.good(&[&[file], &all(&["cleanup"])[..]].concat());
            counted
        });
        assert!(lua.0.iter().sum::<u64>() > 0, "{name}");
        assert_eq!(lua.0, built_in.0, "{name}: selects, inserts, updates, deletes, begins, commits");
        for (counter, count) in &built_in.1 {
            if ["Com_select", "Com_insert", "Com_update", "Com_delete", "Com_begin", "Com_commit"].contains(&counter.as_str()) {
                let other = lua.1.get(counter).copied().unwrap_or(0);
                // Facts of the target are asked for beside the load, alike in both.
                assert!((other - count).abs() <= 2, "{name}: {counter} is {other} as Lua and {count} built in");
            }
        }
    }
}

#[test]
fn the_scripts_of_sysbench_send_the_same_as_lua_and_built_in_on_mariadb() {
    as_lua_and_built_in(&Database::on_mariadb("lua_same"));
}

#[test]
fn the_scripts_of_sysbench_send_the_same_as_lua_and_built_in_on_postgres() {
    as_lua_and_built_in(&Database::on_postgres("lua_same"));
}

const OWN: &str = r#"
sysbench.cmdline.options = { rows = {"Rows", 7}, label = {"A label", "x"}, loud = {"Loud", false} }
local function fill()
  local con = sysbench.sql.driver():connect()
  if sysbench.tid == 0 then con:query("CREATE TABLE own(a INT, b VARCHAR(9))") end
  if sysbench.opt.threads == 1 then
    con:bulk_insert_init("INSERT INTO own VALUES")
    for i = 1, sysbench.opt.rows do con:bulk_insert_next(("(%d, '%s')"):format(i, sysbench.opt.label)) end
    con:bulk_insert_done()
  end
  print("filled", sysbench.opt.rows, sysbench.opt.loud)
end
sysbench.cmdline.commands = { fill = {fill, sysbench.cmdline.PARALLEL_COMMAND} }
function thread_init(tid)
  drv = sysbench.sql.driver()
  con = drv:connect()
  stmt = con:prepare("SELECT a, b FROM own WHERE a <= ? ORDER BY a")
  p = stmt:bind_create(sysbench.sql.type.INT)
  stmt:bind_param(p)
  print("thread", tid, drv:name())
end
function event(tid)
  p:set(2)
  local rs = stmt:execute()
  print("rows", rs.nrows, rs.nfields, unpack(rs:fetch_row(), 1, rs.nfields))
  print("one", con:query_row("SELECT COUNT(*), NULL, MAX(a) FROM own"))
  print(pcall(con.query, con, "SELECT 1 FROM nothing"))
  local co = coroutine.wrap(function() for _ = 1, 2 do coroutine.yield(con:query_row("SELECT 5")) end end)
  print("coroutine", co(), co())
  return true
end
function thread_done(tid) print("done", tid) end
function cleanup() sysbench.sql.driver():connect():query("DROP TABLE own") end
"#;

fn own_script(database: &Database, driver: &str) {
    assert_eq!(database.script(OWN, &["fill"]), "filled\t7\tfalse\n");
    let out = database.script(OWN, &["--loud", "run"]);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines[0], format!("thread\t0\t{driver}"), "{out}");
    assert_eq!(lines[1..3], ["rows\t2\t2\t1\tx", "one\t7\tnil\t7"], "{out}");
    assert!(lines[3].starts_with("FATAL: ") && lines[3].contains("for query 'SELECT 1 FROM nothing'"), "{out}");
    assert!(lines[4].starts_with("false\t") && lines[4].contains("SQL error, errno = "), "{out}");
    assert_eq!(lines[5..], ["coroutine\t5\t5", "done\t0"], "{out}");
    database.script(OWN, &["cleanup"]);
    let unknown = database.run(&[database.desk.path("own.lua").to_str().unwrap(), "--row=3", "run"]);
    assert_eq!((unknown.code, unknown.err.contains("did you mean --rows?")), (Some(1), true), "{unknown:#?}");
}

#[test]
fn a_script_has_the_api_of_sysbench_on_mariadb() {
    own_script(&Database::on_mariadb("lua_api"), "mysql");
}

#[test]
fn a_script_has_the_api_of_sysbench_on_postgres() {
    own_script(&Database::on_postgres("lua_api"), "pgsql");
}

/// How a bad script ended, and how long it took.
fn ended_badly(database: &Database, text: &str) -> (Ended, Duration) {
    let path = database.desk.write("bad.lua", text);
    let begun = Instant::now();
    let ended = database.run(&[path.to_str().unwrap(), "--time=1", "--threads=2", "--no-record", "run"]);
    (ended, begun.elapsed())
}

#[test]
fn bad_scripts_are_stopped_with_their_traceback() {
    let database = Database::on_mariadb("lua_bad");
    for (text, said) in [
        ("function event()\n  local x = 1\n  while true do x = x + 1 end\nend", "ran too long without a query"),
        ("function event()\n  while true do pcall(function() while true do end end) end\nend", "ran too long without a query"),
        (
            "function event()\n  local all = {}\n  while true do all[#all + 1] = ('x'):rep(1e6) .. #all end\nend",
            "not enough memory",
        ),
        ("local function inner() error('this is wrong') end\nfunction event()\n  inner()\nend", "bad.lua:1: this is wrong"),
        ("function event() nothing.field = 1 end", "attempt to index global 'nothing'"),
    ] {
        let (ended, took) = ended_badly(&database, text);
        assert_eq!(ended.code, Some(1), "{text}: {ended:#?}");
        assert!(ended.out.contains("FATAL: ") && ended.out.contains(said), "{text}: {ended:#?}");
        assert!(ended.out.contains("bad.lua:") && ended.out.contains("stack traceback"), "{text}: {ended:#?}");
        // The window of one second, two more, and what starting takes.
        assert!(took < Duration::from_secs(4), "{text}: {took:?}");
    }
    assert!(!server("PERBUCK_TEST_MARIADB").is_empty());
}

#[test]
fn a_script_that_cannot_be_read_runs_nothing() {
    let database = Database::on_mariadb("lua_syntax");
    let path = database.desk.write("bad.lua", "\nfunction event(\nend\n");
    let ended = database.run(&[path.to_str().unwrap(), "run"]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.out.contains("bad.lua:3:"), "{ended:#?}");
    let path = database.desk.write("none.lua", "function other() end");
    let ended = database.run(&[path.to_str().unwrap(), "run"]);
    assert!(ended.out.contains("FATAL: cannot find the event() function in"), "{ended:#?}");
}

#[test]
fn errors_that_are_ignored_restart_the_event() {
    let database = Database::on_mariadb("lua_restart");
    let text = r#"
function thread_init() con = sysbench.sql.driver():connect() end
function prepare()
  local con = sysbench.sql.driver():connect()
  con:query("CREATE TABLE t(a INT PRIMARY KEY)")
  con:query("INSERT INTO t VALUES (1)")
end
function sysbench.hooks.before_restart_event(e) print("again", e.sql_errno) end
local tries = 0
function event()
  tries = tries + 1
  con:query("INSERT INTO t VALUES (" .. (tries < 3 and 1 or tries) .. ")")
  print("tries", tries)
end
"#;
    database.script(text, &["prepare"]);
    let path = database.desk.path("own.lua");
    let out = database.good(&[
        path.to_str().unwrap(),
        "--mysql-ignore-errors=1062",
        "--events=1",
        "--verbosity=1",
        "--no-record",
        "run",
    ]);
    assert_eq!(out, "again\t1062\nagain\t1062\ntries\t3\n");
    let refused = database.run(&[path.to_str().unwrap(), "--events=1", "run"]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.out.contains("1062"), "{refused:#?}");
}

const SHOP: &str = r#"
local names = require("shop.names")
sysbench.cmdline.options = { rows = {"Rows", 10}, step = {"Step", 1}, label = {"Label", "x"} }
function prepare()
  local con = sysbench.sql.driver():connect()
  con:query("CREATE TABLE " .. names.table .. "(id INT PRIMARY KEY, n INT)")
  for id = 1, sysbench.opt.rows do con:query(("INSERT INTO %s VALUES (%d, 0)"):format(names.table, id)) end
end
function thread_init(tid)
  con = sysbench.sql.driver():connect()
  stmt = con:prepare("UPDATE " .. names.table .. " SET n = n + ? WHERE id = ?")
  step, id = stmt:bind_create(sysbench.sql.type.INT), stmt:bind_create(sysbench.sql.type.INT)
  stmt:bind_param(step, id)
  assert(sysbench.opt.threads == 2 and sysbench.opt.label == "two words")
end
function event()
  step:set(sysbench.opt.step)
  id:set(sysbench.rand.uniform(1, sysbench.opt.rows))
  stmt:execute()
end
"#;

#[test]
fn a_study_runs_a_script_with_its_modules_on_tables_that_it_makes() {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "lua_study");
    desk.write("shop.lua", SHOP);
    desk.write("shop/names.lua", "return { table = 'goods' }");
    let workload = "kind = \"lua\"\nfile = \"shop.lua, shop/names.lua\"\noptions = \"step=3 label='two words'\"\n\
                    init = \"shop.lua, shop/names.lua\"\ntables = \"goods\"\ninit_options = \"rows=40\"";
    let sweep = "connections = [2]\nwarmup = \"100ms\"\nduration = \"500ms\"\ntrials = 1";
    desk.write("s.toml", &study(&maria.url(), workload, sweep));
    let ran = desk.perbuck(&["run", "s.toml"]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let record = desk.records("results/s").remove(0);
    assert!(record.measured.statements.update > 0 && record.measured.transactions["event"].failed == 0, "{record:#?}");
    let seen = maria.sql("SELECT COUNT(*), SUM(n) > 0, SUM(n) % 3 FROM goods");
    assert_eq!(seen.split_whitespace().collect::<Vec<_>>(), ["40", "1", "0"]);
    let kept = desk.read("results/s/study.toml");
    assert!(kept.contains("shop/names.lua") && kept.contains("return { table = 'goods' }"), "{kept}");
    // A changed module is another study.
    desk.write("shop/names.lua", "return { table = 'goods', of = 1 }");
    let changed = desk.perbuck(&["run", "s.toml"]);
    assert!(changed.code != Some(0) && changed.err.contains("another version of this study"), "{changed:#?}");
}

/// Rows of rules, for a script that only uses its tables.
const DRAWN: &str = r#"
[[workload.table]]
name = "goods"
rows = 3_000
columns = [{ name = "id", sequence = 1 }, { name = "n", number = [5, 9] }]
"#;

#[test]
fn a_script_runs_on_tables_of_statements_with_rows_that_are_drawn() {
    let mut desk = Desk::new();
    let maria = Maria::fresh(&mut desk, "PERBUCK_TEST_MARIADB", "lua_drawn");
    desk.write("take.lua", &SHOP.replace("require(\"shop.names\")", "{ table = \"goods\" }"));
    desk.write("tables.sql", "CREATE TABLE goods (id INT PRIMARY KEY, n INT NOT NULL);\n");
    desk.write("indexes.sql", "CREATE INDEX goods_n ON goods (n);\n");
    let keys = format!(
        "kind = \"lua\"\nfile = \"take.lua\"\noptions = \"step=0 rows=3000 label='two words'\"\ninit = \"tables.sql\"\n\
                        finish = \"indexes.sql\"\nreset = \"restore\"\n{DRAWN}"
    );
    let sweep = "connections = [2]\nwarmup = \"100ms\"\nduration = \"500ms\"\ntrials = 2";
    desk.write("s.toml", &study(&maria.url(), &keys, sweep));
    let ran = desk.good(&["run", "--verbose", "s.toml"]);
    assert!(ran.err.contains("m, w: loaded 3,000 rows") && ran.err.contains("restored the data in "), "{ran:#?}");
    let seen = maria.sql("SELECT COUNT(*), MIN(id), MAX(id), MIN(n), MAX(n) FROM goods");
    assert_eq!(seen.split_whitespace().collect::<Vec<_>>(), ["3000", "1", "3000", "5", "9"]);
    assert!(maria.sql("SHOW INDEX FROM goods").contains("goods_n"));
    let records = desk.records("results/s");
    assert!(records.iter().all(|r| r.measured.statements.update > 0 && r.measured.transactions["event"].failed == 0));
    assert!(records[0].workload.parameters["table goods"].starts_with("3000 rows"), "{:?}", records[0].workload.parameters);
    // Another rule makes other data.
    desk.write("s.toml", &study(&maria.url(), &keys.replace("[5, 9]", "[5, 8]"), sweep));
    let changed = desk.perbuck(&["run", "s.toml"]);
    assert!(changed.code != Some(0) && changed.err.contains("another version of this study"), "{changed:#?}");
}

#[test]
fn a_study_of_a_wrong_script_is_refused_before_anything_runs() {
    let desk = Desk::new();
    desk.write("t.sql", "CREATE TABLE t (id INT);\n");
    let check = |text: &str, keys: &str| {
        desk.write("mine.lua", text);
        let workload = format!("kind = \"lua\"\nfile = \"mine.lua\"\n{keys}");
        desk.write("s.toml", &study("sqlite:s.db", &workload, "connections = [1]\nduration = \"1s\""));
        desk.perbuck(&["check", "s.toml"])
    };
    let options = "sysbench.cmdline.options = { rows = {'Rows', 10}, fast = {'Fast', false} } function event() end";
    for (text, keys, said) in [
        ("function event(\nend", "", "mine.lua:2: <name> or '...' expected near 'end'"),
        ("\nnothing.x = 1 function event() end", "", "mine.lua:2: attempt to index global 'nothing'"),
        ("while true do end function event() end", "", "it ran too long without a query"),
        ("require('other') function event() end", "", "no module 'other.lua' in the study"),
        ("function other() end", "", "mine.lua has no function `event`"),
        (options, "options = \"row=3\"", "did you mean `rows`?"),
        (options, "options = \"rows=many\"", "the option `rows` is a number, and `many` is none"),
        (options, "options = \"rows\"", "`options` holds `rows`, not NAME=VALUE"),
        (options, "init = \"mine.lua\"", "`init` and `tables` belong together"),
        (options, "init = \"mine.lua\"\ntables = \"t\"", "mine.lua has no command `prepare`"),
        (options, "init = \"t.sql\"\ntables = \"t\"", "`tables` belongs to an `init` in Lua"),
        (options, "init = \"mine.lua\"\ntables = \"t\"\n[[workload.table]]\nname = \"t\"\nrows = 1", "need an `init` in SQL"),
        (options, "init = \"mine.lua\"\ntables = \"t\"\nfinish = \"t.sql\"", "need an `init` in SQL"),
        (options, "init = \"t.SQL\"", "there is no file `t.SQL` beside the study"),
        (options, "init = \"t.sql\"\n[[workload.table]]\nname = \"u\"\nrows = 1", "`init` does not make it"),
    ] {
        let refused = check(text, keys);
        assert!(refused.code == Some(2) && refused.err.contains(said) && refused.err.contains("s.toml:"), "{said}: {refused:#?}");
    }
    assert_eq!(check(options, "options = \"rows=1e3 fast=on\"").code, Some(0));
}
