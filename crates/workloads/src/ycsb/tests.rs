//! The workload on a real SQLite.

use std::collections::BTreeMap;

use perbuck_core::units::Seed;
use perbuck_load::error::ErrorClass;
use perbuck_load::share::Share;
use perbuck_load::values::{Params, Value};
use perbuck_load::workload::{Dataset, TerminalId};

use super::kind::{INSERT, READ, READ_MODIFY_WRITE, SCAN};
use super::options::tests::options;
use super::*;
use crate::testing::{Client, Database, SQLITE};

mod shares;

const SEED: Seed = Seed(42);

/// A loaded table and a terminal on it.
struct Loaded {
    data: YcsbData,
    client: Client<YcsbTerminal>,
}

fn loaded(properties: &[(&str, &str)]) -> Loaded {
    let options = options(properties);
    let data = YcsbData::new(options.clone(), SQLITE, SEED);
    let database = Database::load(&data, (0..data.parts()).rev());
    let mut client = Client::new(
        &database,
        &Ycsb::new(options, SQLITE, SEED),
        TerminalId { index: 0, of: 1, seed: SEED, share: Share::WHOLE },
    );
    client.start().unwrap();
    Loaded { data, client }
}

impl Loaded {
    /// Sums of the facts of some operations, by kind.
    fn run(&mut self, operations: u64) -> BTreeMap<u8, (u64, [u64; 4])> {
        let mut sums: BTreeMap<u8, (u64, [u64; 4])> = BTreeMap::new();
        for _ in 0..operations {
            let done = self.client.run_next().unwrap();
            let sum = sums.entry(done.kind).or_default();
            sum.0 += 1;
            sum.1.iter_mut().zip(done.facts).for_each(|(all, one)| *all += u64::from(one));
        }
        sums
    }

    fn text(&self, sql: &str) -> String {
        self.client.database.sqlite.query_row(sql, [], |row| row.get(0)).unwrap()
    }

    /// Names of the checks that fail.
    fn broken(&self) -> Vec<String> {
        self.client.database.broken(&self.data).into_iter().map(|check| check.name).collect()
    }
}

const INTEGRITY: (&str, &str) = ("dataintegrity", "true");

#[test]
fn rows_are_those_of_the_seed_whoever_makes_them() {
    let sizes = [("recordcount", "25000"), ("fieldcount", "2"), ("fieldlength", "20")];
    let (loaded, mut inserted) = (loaded(&sizes), loaded(&[&sizes[..], &[("dotransactions", "false")]].concat()));
    assert_eq!(inserted.client.database.number("SELECT COUNT(*) FROM usertable"), 0);
    assert_eq!(inserted.run(25_000), BTreeMap::from([(INSERT, (25_000, [0; 4]))]));
    let sum = "SELECT group_concat(YCSB_KEY || FIELD0 || FIELD1) FROM (SELECT * FROM usertable ORDER BY YCSB_KEY)";
    assert_eq!(loaded.text(sum), inserted.text(sum));
    assert_eq!((loaded.broken(), inserted.broken()), (Vec::<String>::new(), Vec::new()));
    assert_eq!(loaded.text("SELECT MIN(LENGTH(FIELD0)) || ' ' || MAX(LENGTH(FIELD1)) FROM usertable"), "20 20");
}

#[test]
fn every_workload_finds_every_row_and_every_field_right() {
    for name in ["a", "b", "c", "d", "e", "f"] {
        for compat in ["ycsb", "go-ycsb"] {
            for one in ["true", "false"] {
                let fields = [("readallfields", one), ("writeallfields", one)];
                let all = [("workload", name), INTEGRITY, ("compat", compat), ("recordcount", "200"), fields[0], fields[1]];
                let mut table = loaded(&all);
                for (kind, (count, facts)) in table.run(500) {
                    assert!(
                        count > 0 && facts[0] == 0 && facts[1] == 0,
                        "{name} {compat} {}: {facts:?}",
                        KINDS[usize::from(kind)]
                    );
                    assert!(kind != SCAN || facts[2] > count, "scans return rows");
                }
                assert_eq!(table.broken(), Vec::<String>::new(), "{name} {compat}");
            }
        }
    }
}

#[test]
fn what_others_changed_is_found() {
    for kind in [READ, SCAN, READ_MODIFY_WRITE] {
        let proportion = ["readproportion", "", "", "scanproportion", "readmodifywriteproportion"][usize::from(kind)];
        let mix = [("readproportion", "0"), ("updateproportion", "0"), (proportion, "1")];
        let sequential = [("requestdistribution", "sequential"), ("recordcount", "100"), ("maxscanlength", "1"), INTEGRITY];
        // Where the mix is of reads alone, the later value counts.
        let mut table = loaded(&[&mix[..], &sequential[..]].concat());
        assert_eq!(table.run(100)[&kind], (100, if kind == SCAN { [0, 0, 100, 0] } else { [0; 4] }));
        table.client.database.change("UPDATE usertable SET FIELD7 = 'x' || FIELD7 WHERE YCSB_KEY = 'user6284781860667377211'");
        table.client.database.change("UPDATE usertable SET FIELD9 = NULL WHERE YCSB_KEY = 'user8517097267634966620'");
        table.client.database.change("DELETE FROM usertable WHERE YCSB_KEY = 'user1820151046732198393'");
        let (count, facts) = table.run(100)[&kind];
        assert_eq!(count, 100);
        // A scan that starts at the lost row goes on with the next one, which may be one of the wrong ones.
        assert_eq!(facts[0], 1, "one row is missing");
        assert!(facts[1] == 2 || kind == SCAN && facts[1] == 3, "two rows are wrong: {facts:?}");
        assert_eq!(table.broken(), ["usertable rows", "usertable values"]);
        table.client.database.change("DELETE FROM usertable WHERE YCSB_KEY = 'user6284781860667377211'");
        assert_eq!(table.broken(), ["usertable rows", "usertable keys"]);
    }
}

#[test]
fn missing_rows_are_seen_without_data_integrity_too() {
    let mut table = loaded(&[("recordcount", "100"), ("readproportion", "0.5"), ("updateproportion", "0.5")]);
    assert_eq!(table.run(200).values().map(|(_, f)| f[0]).sum::<u64>(), 0);
    table.client.database.change("DELETE FROM usertable");
    for (kind, (count, facts)) in table.run(200) {
        assert_eq!((count, facts[1]), (facts[0], 0), "{}", KINDS[usize::from(kind)]);
    }
}

#[test]
fn inserts_begin_where_the_records_end_and_tell_of_keys_that_are_there() {
    let mut table = loaded(&[("workload", "d"), ("recordcount", "100"), ("insertproportion", "1"), ("readproportion", "0")]);
    assert_eq!(table.run(37), BTreeMap::from([(INSERT, (37, [0; 4]))]));
    table.client.start().unwrap();
    assert_eq!(table.run(5)[&INSERT], (5, [0; 4]));
    assert_eq!(table.client.database.number("SELECT COUNT(*) FROM usertable"), 142);
    // Another program has inserted the record after next.
    let key = options(&[("recordcount", "1")]).keys().text(143);
    table.client.database.change(&format!("INSERT INTO usertable (YCSB_KEY) VALUES ('{key}')"));
    let results: Vec<bool> = (0..3).map(|_| table.client.run_next().is_ok()).collect();
    assert_eq!(results, [true, false, true], "a duplicate is an error of the run");
    assert_eq!(table.client.database.number("SELECT COUNT(*) FROM usertable"), 145);
}

#[test]
fn a_load_over_a_load_counts_what_was_there() {
    let mut table = loaded(&[("recordcount", "10"), ("dotransactions", "false")]);
    assert_eq!(table.run(10)[&INSERT], (10, [0; 4]));
    table.client.start().unwrap();
    assert_eq!(table.run(10)[&INSERT], (10, [10, 0, 0, 0]));
    assert_eq!(table.client.database.number("SELECT COUNT(*) FROM usertable"), 10);
}

#[test]
fn the_same_seed_sends_the_same_statements() {
    let sent = || {
        let mut table = loaded(&[("workload", "f"), ("recordcount", "50")]);
        table.client.database.log.take();
        table.run(100);
        table.client.database.log.take()
    };
    let (one, two) = (sent(), sent());
    assert!(one == two && one.len() > 100);
}

#[test]
fn golden_rows() {
    let row = |compat: &str| {
        let data = YcsbData::new(options(&[("recordcount", "2"), ("compat", compat), INTEGRITY]), SQLITE, SEED);
        let mut cells = Params::default();
        data.part(0).next_batch(&mut cells);
        let text = |v: Value<'_>| if let Value::Text(t) = v { String::from_utf8(t.to_vec()).unwrap() } else { panic!("{v:?}") };
        cells.iter().skip(11).map(text).collect::<Vec<_>>()
    };
    let ycsb = row("ycsb");
    assert_eq!((ycsb.len(), ycsb[0].as_str()), (11, "user8517097267634966620"));
    assert!(ycsb[10].starts_with("user8517097267634966620:field9:") && ycsb[10].len() == 100);
    let go = row("go-ycsb");
    assert_eq!(go[0], "user6284782960179005422");
    assert!(go[1].starts_with("user6284782960179005422:field0:") && go[1] != ycsb[1]);
}

#[test]
fn a_server_that_has_every_record_ends_the_search_for_the_end() {
    let mut table = loaded(&[("recordcount", "100"), ("workload", "d")]);
    let sqlite = &table.client.database.sqlite;
    // To this order all keys are equal.
    sqlite.create_collation("any", |_, _| std::cmp::Ordering::Equal).unwrap();
    let one_key = "ALTER TABLE usertable RENAME TO kept; CREATE TABLE usertable (YCSB_KEY TEXT COLLATE any);
                     INSERT INTO usertable VALUES ('one')";
    sqlite.execute_batch(one_key).unwrap();
    let error = table.client.start().unwrap_err();
    assert_eq!(error.class, ErrorClass::Fatal);
    assert!(error.message.starts_with("records 100 to 2199023255651 of usertable all count as there"), "{}", error.message);
    let one_is_missing = "DROP TABLE usertable; ALTER TABLE kept RENAME TO usertable";
    table.client.database.sqlite.execute_batch(one_is_missing).unwrap();
    table.client.start().unwrap();
}
