use std::io::Cursor;
use std::sync::Arc;

use perbuck_core::rng::OpRng;
use perbuck_core::units::Seed;
use perbuck_load::connection::Connection;
use perbuck_load::share::Share;
use perbuck_load::workload::{Operation, Terminal, TerminalId, Workload};

use super::deal::{Choice, Due, deal};
use super::recording::{Act, KINDS};
use super::*;
use crate::script::allocation_tests::OneRow;
use crate::testing::block_on;

fn log(text: &str) -> Result<Recording, Fault> {
    read(vec![LogFile { name: "a.log".to_owned(), text: Cursor::new(text.to_owned()) }], None)
}

/// A row of a log as CSV: a time of the first minute, a session and the cells that matter.
fn row(second: f64, session: &str, severity: &str, message: &str, detail: &str, query: &str) -> String {
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let state = if severity == "LOG" { "00000" } else { "40P01" };
    format!(
        "2026-07-11 10:00:{second:06.3} UTC,\"u\",\"shop\",1,\"h:1\",{session},1,\"x\",2026-07-11 10:00:00 UTC,3/1,0,{severity},{state},{},{},,,,,{},,,\"app\",\"client backend\",,0\n",
        quoted(message),
        quoted(detail),
        quoted(query)
    )
}

fn shown(recording: &Recording) -> Vec<String> {
    let act = |act: Act| match act {
        Act::Begin => "BEGIN".to_owned(),
        Act::Commit => "COMMIT".to_owned(),
        Act::Rollback => "ROLLBACK".to_owned(),
        Act::Text(number) => recording.texts.get(number).to_owned(),
        Act::Prepared(number, start) => {
            let count = usize::from(recording.counts[number as usize]);
            let value = |v: Option<&[u8]>| v.map_or("NULL".to_owned(), |v| String::from_utf8(v.to_vec()).unwrap());
            let values: Vec<String> = recording.values.from(start).take(count).map(value).collect();
            format!("{} [{}]", recording.prepared[number as usize].0, values.join(","))
        }
    };
    let mut all = Vec::new();
    for (number, session) in recording.sessions.iter().enumerate() {
        for (position, transaction) in session.transactions.iter().enumerate() {
            let steps: Vec<String> = session.steps_of(position).iter().map(|step| act(step.act)).collect();
            let kind = KINDS[usize::from(transaction.kind)];
            all.push(format!("{number} {} {kind}: {}", transaction.due_us / 1000, steps.join("; ")));
        }
    }
    all
}

#[test]
fn sessions_keep_their_order_and_their_transactions() {
    let text = [
        row(1.0, "1.a", "LOG", "statement: BEGIN", "", ""),
        row(1.0, "1.b", "LOG", "execute <unnamed>: SELECT c\nFROM t WHERE id = $1", "parameters: $1 = '5'", ""),
        row(1.01, "1.a", "LOG", "execute s1: UPDATE t SET c = $2 WHERE id = $1", "Parameters: $1 = '7', $2 = NULL", ""),
        row(1.02, "1.a", "LOG", "statement: COMMIT;", "", ""),
        row(2.5, "1.b", "LOG", "duration: 500.000 ms  statement: DELETE FROM t WHERE id = 9", "", ""),
        row(2.6, "1.b", "LOG", "statement: COPY t FROM stdin", "", ""),
        row(2.7, "1.b", "LOG", "checkpoint starting: time", "", ""),
        row(3.0, "1.a", "LOG", "statement: BEGIN", "", ""),
        row(3.1, "1.a", "LOG", "statement: INSERT INTO t VALUES (1)", "", ""),
    ];
    let recording = log(&text.concat()).unwrap();
    assert_eq!(
        shown(&recording),
        [
            "0 0 transaction: BEGIN; UPDATE t SET c = ? WHERE id = ? [NULL,7]; COMMIT",
            "0 2000 transaction: BEGIN; INSERT INTO t VALUES (1); ROLLBACK",
            "1 0 select: SELECT c\nFROM t WHERE id = ? [5]",
            "1 1000 delete: DELETE FROM t WHERE id = 9",
        ]
    );
    let summary = &recording.summary;
    let notes: Vec<String> = summary.notes().collect();
    assert_eq!(notes[0], "1 COPY left out, the first at a.log:7");
    assert!(notes[1].starts_with("1 transactions without an end"), "{notes:?}");
    let told = &summary.databases["shop"];
    assert_eq!((told.sessions, told.at_once, told.statements, told.all(), told.writes), (2, 2, 8, 4, true));
    assert_eq!(Summary::read(&summary.text()).as_ref(), Some(summary));
}

#[test]
fn what_failed_in_the_log_is_left_out_and_counted() {
    let text = [
        row(1.0, "1.a", "LOG", "statement: BEGIN", "", ""),
        row(1.1, "1.a", "LOG", "statement: UPDATE t SET a = 1", "", ""),
        row(1.2, "1.a", "ERROR", "deadlock detected", "", "UPDATE t SET a = 1"),
        row(1.3, "1.a", "LOG", "statement: ROLLBACK", "", ""),
        row(1.4, "1.a", "LOG", "statement: SELECT 1/0", "", ""),
        row(1.4, "1.a", "ERROR", "division by zero", "", "SELECT 1/0"),
        row(1.5, "1.a", "LOG", "statement: SELECT 2", "", ""),
        "cut off,".to_owned(),
    ];
    let recording = log(&text.concat()).unwrap();
    assert_eq!(shown(&recording), ["0 0 select: SELECT 2"]);
    let noted: Vec<(&str, u64)> = recording.summary.noted.iter().map(|(what, n)| (what.as_str(), n.count)).collect();
    assert_eq!(
        noted,
        [
            ("lines that are no entry of such a log", 1),
            ("statements that failed with 40P01", 2),
            ("transactions that failed in the log left out", 1)
        ]
    );
    let unknown = log("once upon a time\n").unwrap_err();
    assert!(unknown.message.contains("no log that perbuck knows") && unknown.help.contains("\"csvlog\""), "{unknown:?}");
    assert!(log("").unwrap_err().message.contains("no statement"));
}

#[test]
fn what_is_left_out_of_another_database_moves_no_session() {
    let other = row(1.0, "1.b", "LOG", "statement: COPY t FROM stdin", "", "").replace("\"shop\"", "\"another\"");
    let recording = log(&(other + &row(1.0, "1.a", "LOG", "statement: SELECT 1", "", ""))).unwrap();
    assert_eq!(recording.summary.databases.keys().collect::<Vec<_>>(), ["shop"]);
    assert_eq!(recording.sessions[0].database, 0);
}

#[test]
fn temporary_tables_are_left_out_with_what_uses_them() {
    let statements = ["CREATE TEMP TABLE x (a int)", "INSERT INTO x VALUES (1)", "SELECT 1", "LISTEN c"];
    let rows = statements.map(|sql| row(1.0, "1.a", "LOG", &format!("statement: {sql}"), "", ""));
    let recording = log(&rows.concat()).unwrap();
    assert_eq!(shown(&recording), ["0 0 select: SELECT 1"]);
    assert_eq!(recording.summary.noted.len(), 3);
}

#[test]
fn json_says_the_same() {
    let entry = |message: &str, detail: &str| {
        format!(
            "{{\"timestamp\":\"2026-07-11 10:00:01.000 UTC\",\"user\":\"u\",\"dbname\":\"shop\",\"pid\":1,\"session_id\":\"1.a\",\
             \"line_num\":1,\"error_severity\":\"LOG\",\"message\":{},\"detail\":{},\"backend_type\":\"client backend\"}}\n",
            serde_json::to_string(message).unwrap(),
            serde_json::to_string(detail).unwrap()
        )
    };
    let text = entry("execute a: SELECT \"c\" FROM t WHERE id = $1", "parameters: $1 = 'x''y'") + "{broken\n";
    let recording = log(&text).unwrap();
    assert_eq!(shown(&recording), ["0 0 select: SELECT \"c\" FROM t WHERE id = ? [x'y]"]);
    assert_eq!(recording.summary.noted["lines that are no entry of such a log"].first, "a.log:2");
}

#[test]
fn sessions_are_dealt_to_terminals_that_are_free() {
    let select = |second: f64, session: &str| row(second, session, "LOG", "statement: SELECT 1", "", "");
    // The third session starts when the first has ended.
    let text = [select(1.0, "1.a"), select(1.5, "1.b"), select(2.0, "1.a"), select(3.0, "1.c"), select(4.0, "1.b")].concat();
    let recording = log(&text).unwrap();
    let dealt = |choice, terminals| -> Vec<Vec<(u32, u64)>> {
        let due = |due: &Due| (due.session, due.due_ns / 1_000_000);
        deal(&recording, choice, terminals).lists.iter().map(|list| list.iter().map(due).collect()).collect()
    };
    let choice = Choice { database: 0, reads_only: false, speed: Some(1.0) };
    assert_eq!(recording.summary.databases["shop"].at_once, 2);
    assert_eq!(dealt(choice, 2), [vec![(0, 0), (0, 1000), (2, 2000)], vec![(1, 500), (1, 3000)]]);
    assert_eq!(dealt(Choice { speed: Some(2.0), ..choice }, 1), [vec![(0, 0), (1, 250), (0, 500), (2, 1000), (1, 1500)]]);
    assert_eq!(dealt(Choice { speed: None, ..choice }, 1)[0].len(), 5);
    assert_eq!(dealt(choice, 4)[3], []);
}

/// Of each statement: when it was sent and had been answered, in milliseconds, and whether others wait for its answer.
fn times(recording: &Recording) -> Vec<(i64, i64, bool)> {
    let steps = recording.sessions.iter().flat_map(|session| &session.steps);
    let ms = |us: i64| (us + 500).div_euclid(1000);
    steps.map(|step| (ms(step.began_us), ms(step.ended_us()), step.acts)).collect()
}

#[test]
fn statements_end_where_their_session_says_something_else() {
    let text = [
        row(1.0, "1.a", "LOG", "statement: BEGIN", "", ""),
        row(1.1, "1.a", "LOG", "statement: SELECT a FROM t WHERE id = 1 FOR UPDATE", "", ""),
        row(1.2, "1.a", "LOG", "duration: 90.0 ms", "", ""),
        row(1.3, "1.a", "LOG", "statement: COMMIT", "", ""),
        row(2.5, "1.b", "LOG", "duration: 500.000 ms  statement: DELETE FROM t WHERE id = 9", "", ""),
        row(2.5, "1.b", "LOG", "statement: SELECT 1", "", ""),
        row(3.0, "1.b", "LOG", "disconnection: session time: 0:00:02", "", ""),
    ];
    let recording = log(&text.concat()).unwrap();
    let expected = [(0, 100, false), (100, 200, true), (300, 305, true), (1000, 1500, true), (1500, 2000, false)];
    assert_eq!(times(&recording), expected);
    // Of the same time in the log, those of the first line come first.
    let steps = &recording.sessions[1].steps;
    assert!(steps[0].order_us() == steps[0].ended_us() && steps[0].order_us() < steps[1].order_us(), "{steps:?}");
}

#[test]
fn a_clock_that_is_set_back_does_not_stop() {
    let select = |second: f64| row(second, "1.a", "LOG", "statement: SELECT 1", "", "");
    let recording = log(&[select(30.0), select(29.9995), select(10.0), select(11.0)].concat()).unwrap();
    let began: Vec<i64> = recording.sessions[0].steps.iter().map(|step| step.began_us / 1000).collect();
    assert_eq!(began, [0, 0, -20_000, -19_000]);
}

#[test]
fn a_general_log_is_read_command_by_command() {
    let text = "/usr/sbin/server, Version: 10.11 (Debian 12). started with:\nTcp port: 1  Unix socket: /s\nTime\t\t    Id Command\tArgument\n\
                261127 18:48:05\t    10 Connect\troot@127.0.0.1 on shop using TCP/IP\n\
                \t\t    10 Query\tbegin\n\
                \t\t    10 Query\tinsert into t values (1,'a''b\n# Time: x'),(2,'c')\n\
                \t\t    10 Query\tcommit\n\
                \t\t    10 Prepare\tselect * from t where id=?\n\
                261127 18:48:06\t    10 Execute\tselect * from t where id=1\n\
                \t\t    10 Query\texecute p using @a\n\
                \t\t    10 Execute\tselect 7\n\
                \t\t    10 Quit\t\n\
                \t\t    11 Connect\troot@127.0.0.1 on shop using TCP/IP\n\
                \t\t    11 Query\tset autocommit=0\n\
                \t\t    11 Query\tupdate t set a=1\n";
    let recording = log(text).unwrap();
    assert_eq!(recording.summary.format, "general");
    assert_eq!(
        shown(&recording),
        [
            "0 0 transaction: BEGIN; insert into t values (1,'a''b\n# Time: x'),(2,'c'); COMMIT",
            "0 750 select: select * from t where id=? [1]",
            "0 916 other: execute p using @a",
            "1 1416 other: set autocommit=0",
            "1 1583 transaction: update t set a=1; ROLLBACK",
        ]
    );
}

#[test]
fn a_slow_log_is_read_with_its_row_counts() {
    let entry = |facts: &str, sql: &str| {
        format!(
            "# User@Host: root[root] @  [127.0.0.1]\n# Thread_id: 10  Schema: shop  QC_hit: No\n{facts}SET timestamp=1795805285;\n{sql};\n"
        )
    };
    let facts = |sent, affected| {
        format!(
            "# Query_time: 0.100000  Lock_time: 0.000112  Rows_sent: {sent}  Rows_examined: 9\n# Rows_affected: {affected}  Bytes_sent: 11\n"
        )
    };
    let text = [
        "# Time: 261127 18:48:05\n".to_owned(),
        entry(&facts(0, 2), "use `shop`;\nSET timestamp=1;\ninsert into t values (1,'a;\n# User@Host: x'),(2,'c')"),
        entry(&facts(3, 0), "select * from t"),
        entry(&facts(0, 0), "# administrator command: Quit"),
        "# Time: 261127 18:48:09\n# User@Host: root[root] @  [127.0.0.1]\n# Thread_id: 11  Schema:   QC_hit: No\nselect cut"
            .to_owned(),
    ];
    let recording = log(&text.concat()).unwrap();
    let rows: Vec<u32> = recording.sessions[0].steps.iter().map(|step| step.rows).collect();
    assert_eq!((recording.summary.format.as_str(), rows), ("slow", vec![2, 3]));
    assert_eq!(recording.summary.databases["shop"].with_rows, 2);
    assert_eq!(recording.summary.noted["entries that are cut off left out"].count, 1);
}

#[test]
fn plans_give_statements_their_row_counts() {
    let plan = |sql: &str, rows: u32| {
        format!(
            "duration: 1.0 ms  plan:\nQuery Text: {sql}\nSeq Scan on t  (cost=0.00..1.00 rows=9 width=4) (actual rows={rows} loops=1)"
        )
    };
    let text = [
        // Statements are logged before they run, or after it.
        row(1.0, "1.a", "LOG", "execute <unnamed>: SELECT $1", "parameters: $1 = '1'", ""),
        row(1.0, "1.a", "LOG", &plan("SELECT $1", 1), "", ""),
        row(1.1, "1.a", "LOG", &plan("SELECT 2", 5), "", ""),
        row(1.1, "1.a", "LOG", "duration: 0.1 ms  statement: SELECT 2;", "", ""),
        row(1.2, "1.a", "LOG", "statement: SELECT 3", "", ""),
    ];
    let recording = log(&text.concat()).unwrap();
    let rows: Vec<u32> = recording.sessions[0].steps.iter().map(|step| step.rows).collect();
    assert_eq!((rows, recording.summary.databases["shop"].with_rows), (vec![1, 5, recording::NONE], 2));
}

#[test]
fn a_warm_terminal_allocates_nothing_and_compares_rows() {
    let mut text = String::new();
    for i in 0..400 {
        let plan = "plan:\nQuery Text: SELECT $1\nResult  (cost=0.00..0.01 rows=1 width=4) (actual rows=2 loops=1)";
        text += &row(1.0, "1.a", "LOG", "statement: BEGIN", "", "");
        text += &row(1.0, "1.a", "LOG", "execute a: SELECT $1", "parameters: $1 = 'a value'", "");
        text += &row(1.0, "1.a", "LOG", plan, "", "");
        text += &row(1.0, "1.a", "LOG", &format!("statement: UPDATE t SET a = {i}"), "", "");
        text += &row(1.0, "1.a", "LOG", "statement: COMMIT", "", "");
    }
    let recording = Arc::new(log(&text).unwrap());
    // The text of BEGIN, of the prepared statement, of each UPDATE, and of COMMIT.
    assert_eq!((recording.sessions[0].transactions.len(), recording.prepared.len()), (400, 1));
    let traffic = Traffic::new(Some(recording), Choice { database: 0, reads_only: false, speed: Some(1.0) }, true, "a.log");
    let id = TerminalId { index: 0, of: 2, seed: Seed(1), share: Share::WHOLE };
    let mut terminal = traffic.terminal(id);
    let mut connection = block_on(Connection::open(OneRow, traffic.catalogue())).unwrap();
    let mut run = |from: u64, to: u64| {
        for sequence in from..to {
            let mut operation = Operation { sequence, rng: OpRng::at(id.seed, 0, sequence) };
            terminal.kind(&operation);
            let done = block_on(terminal.transaction(&mut connection, &mut operation)).unwrap();
            assert_eq!(done.facts, [1, 1, 0, 0], "one row came, and two were recorded");
        }
    };
    run(0, 300);
    let counted = allocation_counter::measure(|| run(300, 400));
    assert_eq!(counted.count_total, 0);
}

#[test]
fn a_slow_log_of_statements_in_one_line_says_which_were_prepared() {
    let recording = log(include_str!("samples/written_slow.log")).unwrap();
    assert_eq!(
        shown(&recording),
        [
            "0 0 select: SELECT c  FROM t WHERE id < ? AND w = ? [7,it's \"x\"]",
            "1 300 transaction: BEGIN; DELETE FROM t WHERE w = 'a;b'; COMMIT"
        ]
    );
    let rows: Vec<u32> = recording.sessions[0].steps.iter().map(|step| step.rows).collect();
    assert_eq!((recording.summary.format.as_str(), rows), ("slow", vec![2]));
    assert_eq!(recording.summary.databases.keys().collect::<Vec<_>>(), ["shop"]);
    let noted: Vec<&str> = recording.summary.noted.keys().map(String::as_str).collect();
    assert_eq!(
        noted,
        [
            "entries that are cut off left out",
            "statements of the server itself left out",
            "statements that failed in the log left out"
        ]
    );
}

#[test]
fn a_general_log_of_fields_in_brackets_is_read() {
    let entry = |second: f64, conn: u32, sql: &str| {
        format!(
            "[2026/11/28 03:20:{second:06.3} +00:00] [INFO] [session.go:4193] [GENERAL_LOG] [conn={conn}] [session_alias=] [user=root@127.0.0.1] \
             [schemaVersion=55] [txnStartTS=0] [isPessimistic=false] [currentDB=shop] [sessionTxnMode=PESSIMISTIC] [sql={sql}]\n"
        )
    };
    let text = [
        "[2026/11/28 03:19:59.000 +00:00] [INFO] [meminfo.go:179] [\"use physical memory hook\"] [cgroupMemorySize=9]\n"
            .to_owned(),
        "plain words of another program\n".to_owned(),
        entry(1.0, 7, "\"use `shop`\""),
        entry(1.0, 7, "begin"),
        entry(1.1, 7, "\"SELECT c FROM t WHERE id = ? AND w = '\\\\\\\\' [arguments: 7]\""),
        entry(1.2, 8, "\"SELECT \\\"a]\\\" [arguments\""),
        entry(1.3, 7, "commit"),
        "[2026/11/28 03:20:02.000 +00:00] [INFO] [session.go:4193] [GENERAL_LOG] [conn=7] [sql=\"SELECT cut".to_owned(),
    ];
    let recording = log(&text.concat()).unwrap();
    assert_eq!(
        shown(&recording),
        [
            "0 0 read-only transaction: BEGIN; SELECT c FROM t WHERE id = ? AND w = '\\\\' [7]; COMMIT",
            "1 200 select: SELECT \"a]\" [arguments"
        ]
    );
    assert_eq!(recording.summary.format, "general");
    assert_eq!(recording.summary.noted["lines that are no entry of such a log"].count, 1);
}
