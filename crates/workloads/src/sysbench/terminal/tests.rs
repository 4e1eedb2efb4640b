//! The events of every script, on tables of SQLite whatever the dialect: all have the same statements.

use std::rc::Rc;

use perbuck_core::units::Seed;
use perbuck_load::error::{DriverError, ErrorClass};
use perbuck_load::share::Share;

use super::oltp::Kind;
use super::*;
use crate::Result;
use crate::sysbench::options::tests::options;
use crate::testing::{Client, DIALECTS, Database, MYSQL, SQLITE, block_on};

/// Terminal `index` of `of`, on tables of twenty rows, up to that id.
fn client(
    options: &Options,
    dialect: &'static dyn Dialect,
    (index, of): (u32, u32),
    last_id: i64,
) -> Result<Client<SysbenchTerminal>> {
    let workload = Sysbench::new(options, dialect);
    assert_eq!(workload.kinds(), [options.script.name()]);
    let database = Database::empty();
    for n in 1..=options.table_count() {
        let ids = format!("WITH RECURSIVE ids(id) AS (SELECT {last_id} UNION ALL SELECT id - 1 FROM ids LIMIT 20)");
        let create = format!("CREATE TABLE sbtest{n} (id INTEGER PRIMARY KEY, k, c, pad)");
        database.sqlite.execute_batch(&format!("{create}; {ids} INSERT INTO sbtest{n} (id) SELECT id FROM ids")).unwrap();
    }
    let mut client = Client::new(&database, &workload, TerminalId { index, of, seed: Seed(1), share: Share::WHOLE });
    client.start()?;
    assert_eq!(sent(&mut client).1, [0; 3], "a start is no statement of the trial");
    Ok(client)
}

fn try_event(client: &mut Client<SysbenchTerminal>, sequence: u64) -> Result<()> {
    client.run(sequence).map(|done| assert_eq!(done, Done::committed(0)))
}

fn finish(client: &mut Client<SysbenchTerminal>) -> Result<()> {
    block_on(client.terminal.finish(&mut client.connection))
}

/// The statements since the last call, and their (read, write, other) counts.
fn sent(client: &mut Client<SysbenchTerminal>) -> (Vec<String>, [u64; 3]) {
    let counts = client.connection.take_counts();
    (client.database.log.take(), [counts.read, counts.write, counts.other].map(u64::from))
}

/// The statements of event `sequence` of one terminal of eight, and its (read, write, other) counts.
fn event(options: &Options, sequence: u64) -> (Vec<String>, [u64; 3]) {
    let mut client = client(options, MYSQL, (3, 8), 20).unwrap();
    try_event(&mut client, sequence).unwrap();
    sent(&mut client)
}

/// The number after `sbtest` in a statement.
fn table_of(statement: &str) -> u32 {
    let rest = statement.split("sbtest").nth(1).unwrap();
    rest.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap()
}

fn numbers(statement: &str) -> Vec<i64> {
    let condition = statement.split("id").nth(1).unwrap();
    condition.split(|c: char| !c.is_ascii_digit()).filter_map(|word| word.parse().ok()).collect()
}

#[test]
fn an_event_has_as_many_statements_as_in_sysbench() {
    let counts = |script: &str, words: &[(&str, &str)]| event(&options(script, &[&[("table_size", "20")], words].concat()), 0).1;
    for (script, expected) in [
        ("oltp_read_write", [14, 4, 2]),
        ("oltp_read_only", [14, 0, 2]),
        ("oltp_write_only", [0, 4, 2]),
        ("oltp_point_select", [1, 0, 0]),
        ("oltp_update_index", [0, 1, 0]),
        ("oltp_update_non_index", [0, 1, 0]),
        ("oltp_insert", [0, 1, 0]),
        ("oltp_delete", [0, 1, 0]),
        ("select_random_points", [1, 0, 0]),
        ("select_random_ranges", [1, 0, 0]),
    ] {
        assert_eq!(counts(script, &[]), expected, "{script}");
        assert_eq!(counts(script, &[("skip_trx", "on")]), [expected[0], expected[1], 0], "{script} without transactions");
    }
    assert_eq!(counts("oltp_update_index", &[("index_updates", "3")]), [0, 3, 0]);
    assert_eq!(counts("oltp_update_non_index", &[("non_index_updates", "2")]), [0, 2, 0]);
    assert_eq!(counts("oltp_read_only", &[("range_selects", "off")]), [10, 0, 2]);
    let numbers = [("simple_ranges", "3"), ("delete_inserts", "2"), ("index_updates", "0"), ("sum_ranges", "0")];
    assert_eq!(counts("oltp_read_write", &numbers), [15, 5, 2]);
}

#[test]
fn statements_come_in_sysbenchs_order_and_words() {
    let (sent, _) = event(&options("oltp_read_write", &[("point_selects", "1")]), 5);
    let expected = [
        "BEGIN IMMEDIATE",
        "SELECT c FROM sbtest1 WHERE id=",
        "SELECT c FROM sbtest1 WHERE id BETWEEN ",
        "SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN ",
        "SELECT c FROM sbtest1 WHERE id BETWEEN … ORDER BY c",
        "SELECT DISTINCT c FROM sbtest1 WHERE id BETWEEN … ORDER BY c",
        "UPDATE sbtest1 SET k=k+1 WHERE id=",
        "UPDATE sbtest1 SET c='… WHERE id=",
        "DELETE FROM sbtest1 WHERE id=",
        "INSERT INTO sbtest1 (id, k, c, pad) VALUES (",
        "COMMIT",
    ];
    let is = |(sql, words): (&String, &str)| {
        let (start, rest) = words.split_once('…').unwrap_or((words, ""));
        sql.starts_with(start) && sql.contains(rest)
    };
    assert!(sent.len() == expected.len() && sent.iter().zip(expected).all(is), "{sent:?}");
    assert_eq!(event(&options("oltp_read_only", &[]), 0).0[0], "BEGIN");
}

#[test]
fn a_table_is_drawn_for_each_group() {
    let options = options("oltp_read_write", &[("tables", "50"), ("delete_inserts", "2")]);
    let mut different = 0;
    for sequence in 0..20 {
        let (sent, _) = event(&options, sequence);
        let tables: Vec<u32> = sent[1..sent.len() - 1].iter().map(|s| table_of(s)).collect();
        assert!(tables.iter().all(|t| (1..=50).contains(t)));
        assert!(tables[..10].iter().all(|t| *t == tables[0]), "ten points on one table: {tables:?}");
        let pairs = &tables[tables.len() - 4..];
        assert!(pairs.iter().all(|t| *t == pairs[0]), "DELETE and INSERT share theirs: {tables:?}");
        different += u32::from(tables[0] != tables[10]);
    }
    assert!(different > 15, "other groups draw their own");
}

#[test]
fn every_table_of_a_group_has_its_statement() {
    let options = options("oltp_read_write", &[("tables", "3")]);
    let workload = Sysbench::new(&options, SQLITE);
    assert_eq!(workload.catalogue().statements().len(), 9 * 3);
    let Events::Oltp(oltp) = &workload.events else { panic!("{:?}", workload.events) };
    let group = oltp.groups.iter().find(|group| group.kind == Kind::TextAndId).unwrap();
    for table in 0..3u16 {
        let sql = &workload.catalogue().get(group.on(table)).sql.clone();
        assert_eq!(sql, &format!("UPDATE sbtest{} SET c=? WHERE id=?", table + 1));
    }
    let full = self::options("oltp_read_write", &[("tables", "7000")]);
    let workload = Sysbench::new(&full, SQLITE);
    let Events::Oltp(oltp) = &workload.events else { panic!("{:?}", workload.events) };
    assert_eq!(table_of(&workload.catalogue().get(oltp.inserts.on(6_999)).sql), 7_000);
}

#[test]
fn ranges_and_pairs_keep_their_ids() {
    let options = options("oltp_read_write", &[("range_size", "30"), ("table_size", "100")]);
    for sequence in 0..50 {
        let (sent, _) = event(&options, sequence);
        for range in sent.iter().filter(|s| s.contains("BETWEEN")) {
            let [start, end] = numbers(range)[..] else { panic!("{range}") };
            assert!((1..=100).contains(&start) && end == start + 29, "{range}");
        }
        let delete = sent.iter().position(|s| s.starts_with("DELETE")).unwrap();
        let id = numbers(&sent[delete])[0];
        let insert = &sent[delete + 1];
        assert!(insert.contains(&format!("VALUES ({id}, ")), "{insert}");
        let texts: Vec<usize> = insert.split('\'').skip(1).step_by(2).map(str::len).collect();
        assert_eq!(texts, [119, 59]);
    }
}

#[test]
fn an_event_is_a_function_of_its_operation() {
    let options = options("oltp_read_write", &[("tables", "4"), ("rand_type", "special")]);
    assert_eq!(event(&options, 9), event(&options, 9));
    assert_ne!(event(&options, 9).0, event(&options, 10).0);
}

#[test]
fn new_rows_are_numbered_by_the_database_or_above_what_it_has() {
    let insert = |dialect, words: &[(&str, &str)]| {
        let options = options("oltp_insert", &[&[("tables", "4")], words].concat());
        let mut client = client(&options, dialect, (1, 2), 500).unwrap();
        try_event(&mut client, 0).unwrap();
        sent(&mut client).0.remove(0)
    };
    for dialect in DIALECTS {
        let text = insert(dialect, &[]);
        assert!(text.contains(" (k, c, pad) VALUES ("), "{text}");
        let text = insert(dialect, &[("auto_inc", "off")]);
        let (_, id) = text.split_once(" (id, k, c, pad) VALUES (").unwrap();
        assert!(id.split(',').next().unwrap().parse::<i64>().unwrap() > 500, "{text}");
    }
    assert!(insert(SQLITE, &[("secondary", "on")]).contains("(id, k, c, pad)"), "nothing numbers its rows");
    assert!(insert(MYSQL, &[("secondary", "on")]).contains(" (k, c, pad)"));
}

#[test]
fn inserted_tables_are_drawn_evenly() {
    let options = options("oltp_insert", &[("tables", "4")]);
    let mut client = client(&options, MYSQL, (0, 1), 0).unwrap();
    (0..400).for_each(|sequence| try_event(&mut client, sequence).unwrap());
    let mut counts = [0; 4];
    sent(&mut client).0.iter().for_each(|sql| counts[table_of(sql) as usize - 1] += 1);
    assert!(counts.iter().all(|c| (60..140).contains(c)), "{counts:?}");
}

#[test]
fn values_of_k_are_asked_for_together() {
    let points = options("select_random_points", &[("random_points", "3"), ("table_size", "50")]);
    let (sent, _) = event(&points, 1);
    let (head, list) = sent[0].split_once(" IN (").unwrap();
    assert_eq!(head, "SELECT id, k, c, pad FROM sbtest1 WHERE k");
    let values: Vec<i64> = list.trim_end_matches(')').split(", ").map(|v| v.parse().unwrap()).collect();
    assert!(values.len() == 3 && values.iter().all(|v| (1..=50).contains(v)), "{values:?}");
    let ranges = options("select_random_ranges", &[("number_of_ranges", "2"), ("delta", "7")]);
    let (sent, _) = event(&ranges, 1);
    let (head, tail) = sent[0].split_once(" WHERE ").unwrap();
    assert_eq!(head, "SELECT COUNT(k) FROM sbtest1");
    for range in tail.split(" OR ") {
        let (low, high) = range.trim_start_matches("k BETWEEN ").split_once(" AND ").unwrap();
        assert_eq!(high.parse::<i64>().unwrap(), low.parse::<i64>().unwrap() + 7);
    }
    assert_eq!(tail.matches("BETWEEN").count(), 2);
}

#[test]
fn slices_are_for_comparison_alone() {
    let asked = |words: &[(&str, &str)], index| -> (i64, i64) {
        let sizes = [("random_points", "2000"), ("table_size", "100")];
        let options = options("select_random_points", &[&sizes, words].concat());
        let mut client = client(&options, MYSQL, (index, 3), 0).unwrap();
        try_event(&mut client, 0).unwrap();
        let list = sent(&mut client).0.remove(0);
        let list = list.split_once(" IN (").unwrap().1.trim_end_matches(')').to_owned();
        let values: Vec<i64> = list.split(", ").map(|v| v.parse().unwrap()).collect();
        (*values.iter().min().unwrap(), *values.iter().max().unwrap())
    };
    assert_eq!(asked(&[], 1), (1, 100));
    // Thirds of 100 without their fractions; the first begins with 0, and neighbours share an end.
    let slices = [0, 1, 2].map(|index| asked(&[("compat", "sysbench-1.1")], index));
    assert_eq!(slices, [(0, 33), (33, 66), (66, 100)]);
}

#[test]
fn connections_are_renewed_after_so_many_events() {
    let renewed = |events| {
        let client = client(&options("oltp_point_select", &[("reconnect", events)]), MYSQL, (0, 1), 0).unwrap();
        (0..7).filter(|sequence| client.terminal.reconnects_after(*sequence)).collect::<Vec<u64>>()
    };
    assert_eq!([renewed("0"), renewed("1"), renewed("3")], [vec![], (0..7).collect(), vec![2, 5]]);
}

#[test]
fn bulk_rows_go_on_after_the_last_one_and_are_sent_together() {
    let options = options("bulk_insert", &[("threads", "2")]);
    let mut client = client(&options, MYSQL, (1, 2), 700).unwrap();
    // 26 bytes of INSERT; 300 rows with ids of three digits and a comma take ten each (the first nine), 9 000 of four
    // twelve, 90 000 of five fourteen, up to 524 288 bytes less the closing zero.
    let first = 299 + 9_000 + (524_287 - 26 - (299 * 10 - 1) - 9_000 * 12) / 14;
    for sequence in 0..first {
        try_event(&mut client, sequence).unwrap();
    }
    assert_eq!(sent(&mut client), (Vec::new(), [0, 0, 0]));
    // What the server acknowledged counts with the event that sent it.
    let acknowledged = u16::try_from(first).unwrap();
    assert_eq!(client.run(first).unwrap().facts, [acknowledged, 0, 0, 0]);
    let batch = format!("{first} rows into sbtest2, 701 to {}", 700 + first);
    assert_eq!(sent(&mut client), (vec![batch], [0, 1, 0]));
    finish(&mut client).unwrap();
    let last = 701 + first;
    assert_eq!(sent(&mut client), (vec![format!("1 rows into sbtest2, {last} to {last}")], [0, 1, 0]));
    finish(&mut client).unwrap();
    assert_eq!(sent(&mut client), (Vec::new(), [0; 3]), "nothing is sent twice");
}

#[test]
fn bulk_rows_are_kept_for_another_try_and_never_dropped_in_silence() {
    let options = options("bulk_insert", &[]);
    let mut client = client(&options, MYSQL, (0, 1), 0).unwrap();
    try_event(&mut client, 0).unwrap();
    let database = Rc::clone(&client.database);
    let refuse = |class| database.refusal.replace(Some(DriverError::client(class, "test", "no")));
    refuse(ErrorClass::Lost);
    assert_eq!(finish(&mut client).unwrap_err().class, ErrorClass::Lost);
    finish(&mut client).unwrap();
    assert_eq!(sent(&mut client).0, ["1 rows into sbtest1, 1 to 1"]);
    try_event(&mut client, 1).unwrap();
    refuse(ErrorClass::Failed);
    assert_eq!(finish(&mut client).unwrap_err().class, ErrorClass::Fatal);
}

#[test]
fn a_terminal_without_a_table_or_without_ids_says_so() {
    let bulk = options("bulk_insert", &[("threads", "2")]);
    let Err(error) = client(&bulk, MYSQL, (2, 4), 0) else { panic!("there is no third table") };
    assert!(error.class == ErrorClass::Fatal && error.message.contains("`threads`"), "{error}");
    let mut client = client(&bulk, MYSQL, (0, 2), i64::from(i32::MAX)).unwrap();
    assert!(try_event(&mut client, 0).unwrap_err().message.contains("2147483647"));
}
