//! Events recorded by a session that answers everything.

use std::cell::RefCell;
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use perbuck_core::units::Seed;
use perbuck_load::driver::{BulkTable, Effect};
use perbuck_load::values::{Params, Rows, Value};

use super::super::options::tests::options;
use super::*;

/// What was sent: text with values in place of `?`, and BEGIN and COMMIT.
type Log = Rc<RefCell<Vec<String>>>;

struct Recording {
    catalogue: Arc<Catalogue>,
    log: Log,
}

impl Recording {
    fn note(&self, text: &str) {
        self.log.borrow_mut().push(text.to_owned());
    }
}

impl Session for Recording {
    async fn prepare(&mut self, catalogue: &Arc<Catalogue>) -> Result<(), DriverError> {
        self.catalogue = Arc::clone(catalogue);
        Ok(())
    }

    async fn execute(&mut self, id: StatementId, params: &Params, rows: &mut Rows) -> Result<Effect, DriverError> {
        let statement = self.catalogue.get(id);
        let mut text = String::new();
        let mut pieces = statement.sql.split('?');
        text.push_str(pieces.next().unwrap());
        assert_eq!(params.len(), statement.sql.matches('?').count());
        for (value, piece) in params.iter().zip(pieces) {
            match value {
                Value::Int(v) => text.push_str(&v.to_string()),
                Value::Text(t) => text.push_str(&format!("'{}'", String::from_utf8_lossy(t))),
                other => panic!("{other:?}"),
            }
            text.push_str(piece);
        }
        self.note(&text);
        rows.start(false);
        Ok(if statement.verb == Verb::Select { Effect::ResultSet } else { Effect::Affected(1) })
    }

    async fn begin(&mut self, access: Access) -> Result<(), DriverError> {
        self.note(if access == Access::Write { "BEGIN write" } else { "BEGIN read" });
        Ok(())
    }

    async fn commit(&mut self) -> Result<(), DriverError> {
        self.note("COMMIT");
        Ok(())
    }

    async fn rollback(&mut self) -> Result<(), DriverError> {
        self.note("ROLLBACK");
        Ok(())
    }

    async fn query(&mut self, _sql: &str, _rows: &mut Rows) -> Result<Effect, DriverError> {
        Ok(Effect::Affected(0))
    }

    async fn insert_rows(&mut self, _table: &BulkTable, _cells: &Params) -> Result<u64, DriverError> {
        Ok(0)
    }

    async fn close(self) {}
}

/// The recording session never waits, so one poll finishes.
fn now<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("the fake session waited"),
    }
}

/// The statements of event `sequence`, and its (read, write, other) counts.
fn event(options: &Options, sequence: u64) -> (Vec<String>, [u64; 3]) {
    let workload = Sysbench::new(options, Dialect::Mysql);
    let log = Log::default();
    let session = Recording { catalogue: Arc::default(), log: Rc::clone(&log) };
    let mut connection = now(Connection::open(session, workload.catalogue())).unwrap();
    let mut terminal = workload.terminal(TerminalId { index: 3, of: 8, seed: Seed(1) });
    let mut operation = Operation { sequence, rng: OpRng::at(Seed(1), 3, sequence) };
    assert_eq!(terminal.kind(&operation), 0);
    let done = now(terminal.transaction(&mut connection, &mut operation)).unwrap();
    assert_eq!(done, Done { kind: 0, rolled_back: false });
    let counts = connection.take_counts();
    (log.take(), [counts.read, counts.write, counts.other].map(u64::from))
}

/// The number behind `sbtest` in a statement.
fn table_of(statement: &str) -> u32 {
    let rest = statement.split("sbtest").nth(1).unwrap();
    rest.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap()
}

/// All numbers of a statement's condition.
fn numbers(statement: &str) -> Vec<i64> {
    let condition = statement.split("id").nth(1).unwrap();
    condition.split(|c: char| !c.is_ascii_digit()).filter_map(|word| word.parse().ok()).collect()
}

#[test]
fn an_event_has_as_many_statements_as_in_sysbench() {
    for (script, expected) in [
        ("oltp_read_write", [14, 4, 2]),
        ("oltp_read_only", [14, 0, 2]),
        ("oltp_write_only", [0, 4, 2]),
        ("oltp_point_select", [1, 0, 0]),
    ] {
        assert_eq!(event(&options(script, &[], &[]), 0).1, expected, "{script}");
        let workload = Sysbench::new(&options(script, &[], &[]), Dialect::Mysql);
        assert_eq!(workload.kinds(), [script]);
        let [read, write, other] = event(&options(script, &[], &[("skip_trx", "on")]), 0).1;
        assert_eq!([read, write, other], [expected[0], expected[1], 0], "{script} without transactions");
    }
    assert_eq!(event(&options("oltp_read_only", &[], &[("range_selects", "off")]), 0).1, [10, 0, 2]);
    let numbers = [("simple_ranges", 3), ("delete_inserts", 2), ("index_updates", 0), ("sum_ranges", 0)];
    assert_eq!(event(&options("oltp_read_write", &numbers, &[]), 0).1, [15, 5, 2]);
}

#[test]
fn statements_come_in_sysbenchs_order_and_words() {
    let (sent, _) = event(&options("oltp_read_write", &[("point_selects", 1)], &[]), 5);
    let shape = |s: &String| -> String {
        let quoted = s.split('\'').enumerate().map(|(i, piece)| if i % 2 == 1 { "?" } else { piece });
        let words: String = quoted.collect();
        // Ids and k are what remains of digits once the table's number is set apart.
        let words = words.replace("sbtest1", "sbtestN").replace("k+1", "k+one");
        let mut out = String::new();
        for c in words.chars() {
            let c = if c.is_ascii_digit() { '?' } else { c };
            if !(c == '?' && out.ends_with('?')) {
                out.push(c);
            }
        }
        out.replace("k+one", "k+1")
    };
    let expected = [
        "BEGIN write",
        "SELECT c FROM sbtestN WHERE id=?",
        "SELECT c FROM sbtestN WHERE id BETWEEN ? AND ?",
        "SELECT SUM(k) FROM sbtestN WHERE id BETWEEN ? AND ?",
        "SELECT c FROM sbtestN WHERE id BETWEEN ? AND ? ORDER BY c",
        "SELECT DISTINCT c FROM sbtestN WHERE id BETWEEN ? AND ? ORDER BY c",
        "UPDATE sbtestN SET k=k+1 WHERE id=?",
        "UPDATE sbtestN SET c=? WHERE id=?",
        "DELETE FROM sbtestN WHERE id=?",
        "INSERT INTO sbtestN (id, k, c, pad) VALUES (?, ?, ?, ?)",
        "COMMIT",
    ];
    assert_eq!(sent.iter().map(shape).collect::<Vec<_>>(), expected);
    assert_eq!(event(&options("oltp_read_only", &[], &[]), 0).0[0], "BEGIN read");
}

#[test]
fn a_table_is_drawn_for_each_group() {
    let options = options("oltp_read_write", &[("tables", 50), ("delete_inserts", 2)], &[]);
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
    let options = options("oltp_read_write", &[("tables", 3)], &[]);
    let workload = Sysbench::new(&options, Dialect::Sqlite);
    assert_eq!(workload.catalogue().statements().len(), 9 * 3);
    let group = workload.terminal.non_index_updates;
    for table in 0..3u16 {
        let sql = &workload.catalogue().get(group.on(table)).sql.clone();
        assert_eq!(sql, &format!("UPDATE sbtest{} SET c=? WHERE id=?", table + 1));
    }
    let full = self::options("oltp_read_write", &[("tables", 7_000)], &[]);
    let workload = Sysbench::new(&full, Dialect::Sqlite);
    assert_eq!(table_of(&workload.catalogue().get(workload.terminal.inserts.on(6_999)).sql), 7_000);
}

#[test]
fn ranges_and_pairs_keep_their_ids() {
    let options = options("oltp_read_write", &[("range_size", 30), ("table_size", 100)], &[]);
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
    let options = options("oltp_read_write", &[("tables", 4)], &[("rand_type", "special")]);
    assert_eq!(event(&options, 9), event(&options, 9));
    assert_ne!(event(&options, 9).0, event(&options, 10).0);
}
