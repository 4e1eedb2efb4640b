//! Rows and checks of the tables.

use perbuck_load::values::Value;

use super::super::options::tests::options;
use super::super::script::SCRIPTS;
use super::*;
use crate::testing::{Database, MYSQL, SQLITE};

fn data(script: &str, words: &[(&str, &str)]) -> SysbenchData {
    SysbenchData::new(options(script, words), MYSQL, Seed(42))
}

/// Every row of the parts taken in that order, by table and id.
fn rows(data: &SysbenchData, parts: impl Iterator<Item = u32>) -> BTreeMap<(usize, i64), Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut cells = Params::default();
    for part in parts {
        let mut part = data.part(part);
        while let Some(table) = part.next_batch(&mut cells) {
            assert!(cells.text_bytes() < 500 * 1024);
            let values: Vec<Value<'_>> = cells.iter().collect();
            for row in values.chunks(4) {
                let [Value::Int(id), Value::Int(k), Value::Text(c), Value::Text(pad)] = row else { panic!("{row:?}") };
                assert_eq!((c.len(), pad.len()), (119, 59));
                assert!((1..=i64::from(data.options.table_size)).contains(k));
                let text = [k.to_string().as_bytes(), c, pad].concat();
                assert!(all.insert((table, *id), text).is_none(), "id {id} twice");
            }
        }
    }
    all
}

#[test]
fn data_are_the_same_in_any_order_of_parts() {
    let data = data("oltp_read_write", &[("tables", "2"), ("table_size", "53456")]);
    assert_eq!(data.parts(), 6);
    let forward = rows(&data, 0..6);
    assert_eq!(forward.len(), 2 * 53_456);
    assert_eq!((forward.keys().next(), forward.keys().last()), (Some(&(0, 1)), Some(&(1, 53_456))));
    assert!(forward == rows(&data, (0..6).rev()));
    assert_ne!(forward[&(0, 7)], forward[&(1, 7)]);
    let other = SysbenchData::new(data.options, MYSQL, Seed(43));
    assert_ne!(forward[&(0, 7)], rows(&other, 0..1)[&(0, 7)]);
}

#[test]
fn the_largest_table_has_its_last_row() {
    let data = data("oltp_read_write", &[("tables", "7000"), ("table_size", "2147483647")]);
    let last = rows(&data, data.parts() - 1..data.parts());
    assert_eq!(last.keys().last(), Some(&(6_999, i64::from(i32::MAX))));
}

#[test]
fn checks_pass_where_they_should_and_can_fail() {
    // The checks of a script that do not hold on a small database after some changes.
    let broken = |script, change| {
        let sizes: &[(&str, &str)] = if script == "bulk_insert" { &[] } else { &[("table_size", "20")] };
        let data = SysbenchData::new(options(script, sizes), SQLITE, Seed(1));
        let database = Database::load(&data, 0..data.parts());
        database.sqlite.execute_batch(change).unwrap();
        database.broken(&data)
    };
    for (script, _) in SCRIPTS {
        assert_eq!(broken(script, ""), [], "{script} after the load");
    }
    const INSERT: &str = "INSERT INTO sbtest1 (k, c, pad) SELECT k, c, pad FROM sbtest1";
    let cases = [
        ("oltp_insert", INSERT, true),
        ("oltp_insert", "DELETE FROM sbtest1 WHERE id = 7", false),
        ("oltp_insert", "INSERT INTO sbtest1 (k, c, pad) VALUES (1, 'short', '')", false),
        ("oltp_delete", "DELETE FROM sbtest1", true),
        ("oltp_delete", INSERT, false),
        ("oltp_delete", "UPDATE sbtest1 SET id = 21 WHERE id = 1", false),
        ("bulk_insert", "INSERT INTO sbtest1 VALUES (1, 1), (2, 2), (9, 9)", true),
        ("bulk_insert", "INSERT INTO sbtest1 VALUES (1, 1), (2, 3)", false),
        ("bulk_insert", "INSERT INTO sbtest1 VALUES (-1, -1)", false),
        ("oltp_update_index", "UPDATE sbtest1 SET k = k + 100", true),
        ("oltp_update_index", "DELETE FROM sbtest1 WHERE id = 7", false),
        ("select_random_points", INSERT, false),
        ("oltp_read_write", "DELETE FROM sbtest1", false),
    ];
    for (script, change, expected) in cases {
        let broken = broken(script, change);
        assert_eq!(broken.is_empty(), expected, "{script}: {change}: {broken:?}");
    }
}
