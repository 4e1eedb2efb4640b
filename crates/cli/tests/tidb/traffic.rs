//! Logs of a real TiDB, replayed on the same TiDB.

use perbuck_core::run_record::{RunRecord, TransactionRecord};

use super::common::tidb::Tidb;

const INIT: &str = "CREATE TABLE items (id int PRIMARY KEY, n int NOT NULL, word varchar(40));\n\
                    CREATE TABLE notes (id bigint PRIMARY KEY AUTO_INCREMENT, item int NOT NULL, note varchar(80));\n\
                    INSERT INTO items VALUES (1, 0, 'one'), (2, 0, 'it''s'), (3, 0, 'a \"b\"'), (4, 0, NULL), (5, 0, 'é');\n";

const SCRIPT: &str = "\\set id random(1, 5)\n\\set low random(0, 5)\nSELECT n, word FROM items WHERE id = :id;\n\
                      SELECT id FROM items WHERE id > :low ORDER BY id;\nBEGIN;\n\
                      UPDATE items SET n = n + 1 WHERE id = :id;\nINSERT INTO notes (item, note) VALUES (:id, 'x');\nEND;\n";

/// Statements of a client as text: of several lines, with quotes and comments, one that fails, and some prepared by text.
const TEXTS: &str = "SELECT id,\n\t n\nFROM items /* all\n of them */ WHERE word = 'it''s' OR word = \"a \\\"b\\\"\";\n\
                     INSERT INTO items VALUES (1, 0, 'twice');\n\
                     INSERT INTO notes (item, note) VALUES (7, 'semi;colon [arguments: 3]'), (8, 'a\\nb');\n\
                     PREPARE p FROM 'SELECT id FROM items WHERE id < ? AND n >= ?';\nSET @a = 4, @b = 0;\nEXECUTE p USING @a, @b;\n\
                     DEALLOCATE PREPARE p;\nBEGIN;\nUPDATE items SET n = n + 1 WHERE id = 2;\nROLLBACK;\n";

fn sum(record: &RunRecord, of: impl Fn(&TransactionRecord) -> u64) -> u64 {
    record.measured.transactions.values().map(of).sum()
}

fn fact(record: &RunRecord, name: &str) -> u64 {
    sum(record, |t| t.facts.get(name).copied().unwrap_or(0))
}

/// Applies a load by prepared statements and by texts while all statements are logged in both forms.
fn record(tidb: &Tidb) {
    tidb.desk.write("init.sql", INIT);
    tidb.desk.write("a.sql", SCRIPT);
    tidb.sql("DROP TABLE IF EXISTS items, notes");
    INIT.lines().for_each(|statement| _ = tidb.sql(statement));
    tidb.sql("SET GLOBAL tidb_slow_log_threshold = 0");
    tidb.sql("SET GLOBAL tidb_general_log = 1");
    let port = tidb.port.to_string();
    for protocol in ["prepared", "simple"] {
        let words = ["pgbench", "--driver", "mysql", "-n", "-h", "127.0.0.1", "-p", &port, "-U", "root", "-c", "3", "-t", "20"];
        tidb.desk.good(&[&words[..], &["-M", protocol, "-f", "a.sql", "test"]].concat());
    }
    // One statement fails, and the client goes on.
    let client = tidb.client_with(&["--force", "--comments"], TEXTS);
    assert!(String::from_utf8_lossy(&client.stderr).contains("Duplicate"), "{client:?}");
    tidb.sql("SET GLOBAL tidb_general_log = 0");
    tidb.sql("SET GLOBAL tidb_slow_log_threshold = 300");
    for (from, to) in [("tidb-slow.log", "slow.log"), ("tidb.log", "general.log")] {
        std::fs::copy(tidb.desk.path(from), tidb.desk.path(to)).unwrap();
    }
}

#[test]
fn recorded_statements_have_the_same_row_counts_when_they_are_replayed() {
    let tidb = Tidb::start();
    record(&tidb);
    for (log, word) in [("slow.log", "slow"), ("general.log", "general")] {
        tidb.sql("DROP TABLE IF EXISTS items, notes");
        let workload =
            format!("kind = \"traffic\"\nlog = \"{log}\"\ninit = \"init.sql\"\nspeed = \"max\"\nrecorded_database = \"test\"");
        tidb.desk.write(
            &format!("{word}.toml"),
            &tidb.text("", "", &workload, "trials = 1").replace("name = \"s\"", &format!("name = \"{word}\"")),
        );
        let checked = tidb.desk.good(&["check", &format!("{word}.toml")]);
        assert!(checked.out.contains(&format!("{log} ({word}, ")), "{checked:?}");
        tidb.desk.good(&["run", &format!("{word}.toml")]);
        let record = &tidb.desk.records(&format!("results/{word}"))[0];
        let (compared, diverged, failed) = (fact(record, "compared"), fact(record, "diverged"), sum(record, |t| t.failed));
        assert_eq!(diverged, 0, "{record:?}");
        // 120 transactions of two queries each; the general log has no row counts, nor does it say what failed.
        assert!(if word == "slow" { compared >= 240 } else { compared == 0 }, "{compared}");
        assert_eq!(failed, u64::from(word == "general"), "{:?}", record.errors);
        let sums =
            "SELECT (SELECT SUM(n) FROM items), (SELECT COUNT(*) FROM notes), (SELECT MIN(note) FROM notes WHERE item = 8)";
        assert_eq!(tidb.sql(sums).trim(), "120\t122\ta\\nb");
    }
}
