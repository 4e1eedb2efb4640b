//! Trials of which several processes apply a share each: each has a workload of its own, and all have one table.

use std::rc::Rc;

use perbuck_load::workload::{NewRecords, Workload};

use super::*;
use crate::testing::block_on;

/// One process with its first terminal.
struct Process {
    workload: Ycsb,
    share: Share,
    client: Client<YcsbTerminal>,
}

impl Process {
    /// Inserts what is missing of its share.
    fn fill(&mut self, up_to: u64) -> u64 {
        block_on(self.workload.fill(&mut self.client.connection, self.share, up_to)).unwrap()
    }

    fn run(&mut self, operations: u32) {
        for _ in 0..operations {
            self.client.run_next().unwrap();
        }
    }

    fn new_records(&self) -> NewRecords {
        self.workload.new_records(self.share).unwrap()
    }
}

/// The processes of one trial, each of which has looked for the end of the records.
fn processes(database: &Rc<Database>, properties: &[(&str, &str)], of: u32) -> Vec<Process> {
    let process = |number| {
        let (workload, share) = (Ycsb::new(options(properties), SQLITE, SEED), Share { number, of });
        let id = TerminalId { index: number, of: 2 * of, seed: SEED, share };
        let mut client = Client::new(database, &workload, id);
        client.start().unwrap();
        Process { workload, share, client }
    };
    (0..of).map(process).collect()
}

fn table(properties: &[(&str, &str)]) -> (YcsbData, Rc<Database>) {
    let data = YcsbData::new(options(properties), SQLITE, SEED);
    let database = Database::load(&data, 0..data.parts());
    (data, database)
}

/// Deletes a record.
fn delete(database: &Database, properties: &[(&str, &str)], record: u64) {
    database.change(&format!("DELETE FROM usertable WHERE YCSB_KEY = '{}'", options(properties).keys().text(record)));
}

fn rows(database: &Database) -> u64 {
    database.number("SELECT COUNT(*) FROM usertable") as u64
}

/// Whether the records below `end` are there, and no other.
fn ends_at(database: &Database, properties: &[(&str, &str)], end: u64) -> bool {
    let keys = options(properties).keys();
    let there =
        |record| database.number(&format!("SELECT COUNT(*) FROM usertable WHERE YCSB_KEY = '{}'", keys.text(record))) == 1;
    rows(database) == end && (0..end).all(there)
}

/// Inserts alone.
const INSERTS: [(&str, &str); 4] =
    [("workload", "d"), ("recordcount", "100"), ("insertproportion", "1"), ("readproportion", "0")];

#[test]
fn shares_insert_no_record_twice_and_read_none_that_is_not_there() {
    for (name, compat) in [("d", "ycsb"), ("d", "go-ycsb"), ("e", "ycsb")] {
        let properties = [("workload", name), ("recordcount", "100"), ("insertproportion", "0.5"), INTEGRITY, ("compat", compat)];
        let (data, database) = table(&properties);
        let mut first = 100;
        // The second trial starts where the first one ended.
        for _ in 0..2 {
            let mut all = processes(&database, &properties, 3);
            for _ in 0..100 {
                for (process, times) in all.iter_mut().zip([4, 1, 2]) {
                    for _ in 0..times {
                        let done = process.client.run_next().unwrap();
                        assert_eq!((done.facts[0], done.facts[1]), (0, 0), "{name}: {done:?}");
                    }
                }
            }
            let inserted = rows(&database) - first;
            let new: Vec<NewRecords> = all.iter().map(Process::new_records).collect();
            assert!(new.iter().all(|n| n.first == first && n.acknowledged >= n.end), "{new:?}");
            let up_to = new.iter().map(|n| n.end).max().unwrap();
            let filled: Vec<u64> = all.iter_mut().map(|process| process.fill(up_to)).collect();
            assert!(filled[0] == 0 && filled[1] > filled[2], "the slowest one has to insert most: {filled:?}");
            assert_eq!(inserted + filled.iter().sum::<u64>(), up_to - first);
            assert!(ends_at(&database, &properties, up_to), "{name} {compat}");
            assert!(all.iter().all(|process| process.new_records().acknowledged >= up_to));
            assert_eq!(all.iter_mut().map(|process| process.fill(up_to)).sum::<u64>(), 0, "and once is enough");
            first = up_to;
        }
        assert_eq!(data.checks().len() - database.broken(&data).len(), data.checks().len(), "{name} {compat}");
    }
}

#[test]
fn a_load_by_shares_ends_with_the_record_that_it_is_told_to() {
    let properties = [("recordcount", "50"), ("dotransactions", "false")];
    let (_, database) = table(&properties);
    let mut all = processes(&database, &properties, 4);
    // As the parts of 50 are: 13, 13, 12 and 12, of which the last two fail to end.
    for (process, times) in all.iter_mut().zip([13, 13, 11, 5]) {
        process.run(times);
    }
    let filled: Vec<u64> = all.iter_mut().map(|process| process.fill(50)).collect();
    assert_eq!((filled.as_slice(), ends_at(&database, &properties, 50)), ([0, 0, 1, 7].as_slice(), true));
}

#[test]
fn an_insert_that_failed_is_made_up_for() {
    let (_, database) = table(&INSERTS);
    let mut all = processes(&database, &INSERTS, 2);
    let key = options(&INSERTS).keys().text(102);
    let refuse = format!(
        "CREATE TRIGGER refuse BEFORE INSERT ON usertable WHEN NEW.YCSB_KEY = '{key}' BEGIN SELECT RAISE(ABORT, 'no'); END"
    );
    all[0].run(1);
    database.sqlite.execute_batch(&refuse).unwrap();
    assert!(all[0].client.run_next().is_err(), "and its number is given back");
    database.sqlite.execute_batch("DROP TRIGGER refuse").unwrap();
    assert_eq!(all[0].new_records(), NewRecords { first: 100, end: 103, acknowledged: 102 });
    assert_eq!((all[0].fill(103), rows(&database)), (1, 102));
    assert_eq!(all[0].new_records(), NewRecords { first: 100, end: 103, acknowledged: 104 });
    // The next trial starts without waiting for the second share: it inserts 101, and then 104, which is of the first share here.
    let mut other = processes(&database, &INSERTS, 2).remove(1);
    assert_eq!(other.new_records().first, 103);
    other.run(1);
    assert_eq!((all[0].fill(108), all[1].fill(108)), (1, 3), "what is there already is no error, alone or among many rows");
    assert!(ends_at(&database, &INSERTS, 108));
}

#[test]
fn records_that_an_earlier_trial_left_out_are_inserted_at_the_start() {
    let (_, database) = table(&INSERTS);
    let mut all = processes(&database, &INSERTS, 1);
    all[0].run(4_000);
    let missing = || (1_500..4_100).filter(|record| record % 4 == 1).chain([130, 2_000, 4_094]);
    // An agent that was lost after a third, and inserts that were cut off. The one far below was counted as missing ever since.
    missing().filter(|record| *record != 130).for_each(|record| delete(&database, &INSERTS, record));
    let left = rows(&database);
    assert_eq!(left, 4_100 - (missing().count() as u64 - 1));
    // Both processes find the same, though the first one has filled by then.
    let mut all = processes(&database, &INSERTS, 2);
    for process in &mut all {
        assert_eq!(
            process.new_records(),
            NewRecords { first: 4_100, end: 4_100, acknowledged: 4_100 + u64::from(process.share.number) }
        );
        assert_eq!(process.client.connection.take_counts().total(), 0, "what a start does is no statement of the trial");
        process.run(1);
    }
    assert!(ends_at(&database, &INSERTS, 4_102));
    // Where nothing is missing a start only asks.
    database.log.take();
    processes(&database, &INSERTS, 1);
    assert_eq!((database.sent("INSERT"), ends_at(&database, &INSERTS, 4_102)), (0, true));
}
