//! Scripts on tables of SQLite.

use perbuck_core::units::Seed;
use perbuck_load::share::Share;
use perbuck_load::workload::{TerminalId, Workload};

use super::*;
use crate::benchmark::Benchmark;
use crate::params::ParamProblem;
use crate::script::{BUILTINS, Options, ScriptData, Scripts, TABLES};
use crate::testing::{Client, Database, MYSQL, POSTGRES, SQLITE, block_on, parameters};

const ID: TerminalId = TerminalId { index: 3, of: 8, seed: Seed(1), share: Share::WHOLE };

fn read(words: &[(&str, &str)]) -> std::result::Result<Options, Vec<ParamProblem>> {
    Options::checked(&parameters(words))
}

fn client_of(script: &str, words: &[(&str, &str)]) -> Client<ScriptTerminal> {
    let options = read(&[&[("file", "a.sql"), ("file a.sql", script)], words].concat()).unwrap();
    let database = Database::empty();
    database
        .sqlite
        .execute_batch("CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER); INSERT INTO t VALUES (1, 10), (2, 20)")
        .unwrap();
    Client::new(&database, &Scripts::new(&options, SQLITE), ID)
}

/// The statements of one transaction of a script.
fn sent(script: &str, words: &[(&str, &str)]) -> Vec<String> {
    let mut client = client_of(script, words);
    client.run_next().unwrap();
    client.database.log.take()
}

#[test]
fn variables_are_parameters_or_text() {
    let script = "\\set a 1 + 1\nSELECT n FROM t WHERE id = :a AND n > :low;\nSELECT :client_id, :none;";
    let words = [("variables", "low=5, unused=1")];
    assert_eq!(sent(script, &words), ["SELECT n FROM t WHERE id = 2 AND n > 5", "SELECT 3, NULL"]);
    let simple = [("variables", "low=5"), ("protocol", "simple")];
    assert_eq!(sent("SELECT n FROM t WHERE id = :low + ':low';", &simple), ["SELECT n FROM t WHERE id = 5 + '5'"]);
}

#[test]
fn results_become_variables() {
    for protocol in ["prepared", "simple"] {
        let words = [("protocol", protocol)];
        let script = "SELECT n AS found, 'x' AS word FROM t WHERE id = 2 \\gset p_\nSELECT n FROM t WHERE n = :p_found;";
        let found = sent(script, &words);
        assert_eq!(found.last().unwrap(), "SELECT n FROM t WHERE n = 20", "{protocol}");
        let script = "SELECT n AS a FROM t ORDER BY id \\aset\nSELECT 1 AS b WHERE 1 = 0 \\aset\n\\if :a = 20\nSELECT :a;\n\\endif\nSELECT :b;";
        let ended = client_of(script, &words).run_next();
        let expected = if protocol == "prepared" { Ok(Done::committed(0)) } else { Err("sqlite") };
        assert_eq!(ended.is_ok(), expected.is_ok(), "a variable without a value is NULL as parameter, and no text");
    }
    let failure = |script: &str| client_of(script, &[]).run_next().unwrap_err().message.clone();
    assert_eq!(failure("SELECT 1;\nSELECT n FROM t \\gset"), "a.sql:2: expected one row, got 2");
    assert_eq!(failure("SELECT n FROM t WHERE 1 = 0 \\gset"), "a.sql:1: expected one row, got 0");
    assert_eq!(failure("SELECT n AS \"bad name!\" FROM t WHERE id = 1 \\gset"), "a.sql:1: error storing into variable bad name!");
    assert_eq!(failure("SELECT 1 \\aset\n\\set i 1 / 0"), "a.sql:1: error storing into variable 1");
    assert_eq!(failure("SELECT 1 AS i \\gset\n\\set i 1 / 0"), "a.sql:2: division by zero");
    assert_eq!(failure("\\set i :nosuch"), "a.sql:1: undefined variable \"nosuch\"");
    assert_eq!(failure("BEGIN;\nSELECT 1;"), "a.sql: end of script reached without completing the last transaction");
}

#[test]
fn conditions_choose_statements() {
    let script = "\\if :client_id = 3\nSELECT 'third';\n\\else\nSELECT 'other';\n\\endif\nSELECT 'all';";
    assert_eq!(sent(script, &[]), ["SELECT 'third'", "SELECT 'all'"]);
    assert_eq!(sent(script, &[("variables", "client_id=1")]), ["SELECT 'other'", "SELECT 'all'"]);
}

#[test]
fn another_attempt_starts_at_its_transaction() {
    let script = "\\set n 1\nUPDATE t SET n = n + :n WHERE id = 1;\nBEGIN;\n\\set n :n + random(1, 1000)\nUPDATE t SET n = :n WHERE id = 2;\nEND;";
    let mut client = client_of(script, &[]);
    client.database.fail_commit.set(true);
    assert_eq!(client.run(0).unwrap_err().class, ErrorClass::Retry);
    block_on(client.connection.rollback()).unwrap();
    let first = client.database.log.take();
    client.database.fail_commit.set(false);
    client.run(0).unwrap();
    let second = client.database.log.take();
    assert_eq!(first.iter().filter(|sql| sql.contains("id = 1")).count(), 1);
    assert_eq!(second[0], "BEGIN IMMEDIATE", "what was committed before is not sent again");
    let update = |log: &[String]| log.iter().find(|sql| sql.contains("id = 2")).cloned().unwrap();
    assert_eq!(update(&first), update(&second), "the same numbers are drawn");
    // Another operation starts at the start of the script.
    client.run(1).unwrap();
    assert!(client.database.log.take()[0].contains("id = 1"));
}

#[test]
fn scripts_share_transactions_by_their_weights() {
    let words = [("file", "a.sql@3, b.sql, a.sql@0"), ("file a.sql", "SELECT 'a';"), ("file b.sql", "SELECT 'b';")];
    let options = read(&words).unwrap();
    let scripts = Scripts::new(&options, SQLITE);
    assert_eq!(scripts.kinds(), ["a.sql", "b.sql", "a.sql #2"]);
    let mut client = Client::new(&Database::empty(), &scripts, ID);
    let kinds: Vec<u8> = (0..4000).map(|_| client.run_next().unwrap().kind).collect();
    let share = kinds.iter().filter(|kind| **kind == 0).count() as f64 / 4000.0;
    assert!((share - 0.75).abs() < 0.035 && !kinds.contains(&2), "{share}");
}

#[test]
fn wrong_parameters_are_told_with_file_and_line() {
    let problems = |words: &[(&str, &str)]| {
        let found = read(words).err().unwrap_or_default();
        assert!(found.iter().all(|problem| !problem.help.is_empty()));
        found.into_iter().map(|problem| problem.message).collect::<Vec<_>>()
    };
    let with = |text: &str| problems(&[("file", "a.sql"), ("file a.sql", text)]);
    assert_eq!(
        with("SELECT 1;\n\\set i 1 +\n\\foo"),
        [
            "a.sql:2: syntax error in command \"set\": the expression ends too early",
            "a.sql:3: invalid command in command \"foo\""
        ]
    );
    assert_eq!(with("\\set x 1\nSELECT ':x', '12:30';"), ["a.sql:2: variable `:x` stands within quotes"]);
    assert_eq!(with(&"SELECT 1;".repeat(501)), ["a.sql has more than 500 statements, or too many variables"]);
    assert_eq!(problems(&[]), ["a script needs its `file`"]);
    assert_eq!(problems(&[("file", "builtin:nothing")]), ["there is no script `builtin:nothing`"]);
    assert_eq!(problems(&[("file", "builtin:select-only@0")]), ["`file`: all weights are 0"]);
    assert_eq!(problems(&[("file", "builtin:select-only"), ("variables", "1a=2")]), ["`1a=2` defines no variable"]);
    let init = |text: &str| problems(&[("file", "builtin:select-only"), ("init", "i.sql"), ("file i.sql", text)]);
    assert_eq!(init("CREATE TABLE t (id int);\nINSERT INTO t VALUES (1);"), Vec::<String>::new());
    assert_eq!(init("INSERT INTO t VALUES (1);"), ["i.sql makes no table"]);
    assert_eq!(init("CREATE TABLE t (id int);\n\\set a 1"), ["i.sql:2: a meta command in `init`"]);
}

#[test]
fn a_wrong_statement_is_found_before_any_load() {
    let started = |script: &str| client_of(script, &[]).start().map_err(|error| error.message.clone());
    assert_eq!(started("SELECT n FROM t WHERE id = :client_id;"), Ok(()));
    let options = read(&[("file", "a.sql"), ("file a.sql", "SELECT 1;")]).unwrap();
    assert!(Scripts::new(&options, SQLITE).prepares_ahead());
    // A script that makes its own tables cannot be prepared before it has run.
    let makes = read(&[("file", "a.sql"), ("file a.sql", "CREATE TEMP TABLE x (id int);\nSELECT * FROM x;")]).unwrap();
    assert!(!Scripts::new(&makes, SQLITE).prepares_ahead());
}

#[test]
fn the_scripts_of_pgbench_keep_the_sums_of_its_tables() {
    let files = "builtin:tpcb-like, builtin:simple-update, builtin:select-only";
    let options = read(&[("file", files), ("scale", "1")]).unwrap();
    assert!(options.writes() && !read(&[("file", "builtin:select-only"), ("scale", "1")]).unwrap().writes());
    let data = ScriptData::new(options.clone(), SQLITE, Seed(1));
    let database = Database::load(&data, 0..4);
    assert_eq!(database.number("SELECT COUNT(*) FROM pgbench_accounts"), 100_000);
    assert_eq!(database.number("SELECT COUNT(DISTINCT aid) + MIN(aid) + MAX(aid) FROM pgbench_accounts"), 200_001);
    assert!(database.broken(&data).is_empty());
    let mut client = Client::new(&database, &Scripts::new(&options, SQLITE), ID);
    (0..300).for_each(|_| _ = client.run_next().unwrap());
    assert!(database.broken(&data).is_empty() && database.number("SELECT COUNT(*) FROM pgbench_history") > 100);
    database.change("UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = 1");
    assert_eq!(database.broken(&data).len(), 1);
    assert_eq!((BUILTINS.len(), TABLES.len()), (3, 4));
}

#[test]
fn statements_that_are_parsed_each_time_need_a_database_that_can() {
    let with = |protocol: &str, script: &str| read(&[("file", "a.sql"), ("file a.sql", script), ("protocol", protocol)]).unwrap();
    let options = with("extended", "BEGIN ISOLATION LEVEL SERIALIZABLE;\nSELECT 1;\nEND;");
    assert!(options.refusal(POSTGRES).is_none() && with("prepared", "SELECT 1;").refusal(MYSQL).is_none());
    let (why, help) = options.refusal(SQLITE).unwrap();
    assert!(why.starts_with("SQLite has no message that") && help.contains("`protocol = \"prepared\"`"), "{why}: {help}");
    let of = |protocol: &str| {
        let scripts = Scripts::new(&with(protocol, "BEGIN ISOLATION LEVEL SERIALIZABLE;\nSELECT 1;\nEND;"), POSTGRES);
        let catalogue = scripts.catalogue();
        (catalogue.parsed_each_time(), catalogue.statements().len(), scripts.prepares_ahead())
    };
    // A BEGIN with words of its own is a text where statements are prepared.
    assert_eq!([of("extended"), of("prepared"), of("simple")], [(true, 2, false), (false, 1, true), (false, 0, false)]);
}

#[test]
fn joined_statements_are_one_text_where_the_database_takes_them() {
    let options = read(&[("file", "a.sql"), ("file a.sql", "SELECT 1 \\; SELECT 2;"), ("protocol", "simple")]).unwrap();
    let is_one = |dialect| Scripts::new(&options, dialect).shared.joins;
    assert_eq!([POSTGRES, MYSQL, SQLITE].map(is_one), [true, false, false]);
    assert_eq!(sent("SELECT 1 \\; SELECT 2;", &[("protocol", "simple")]), ["SELECT 1", "SELECT 2"]);
}
