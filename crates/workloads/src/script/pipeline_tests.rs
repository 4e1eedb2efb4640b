//! Pipelines of scripts, on a session that writes down what it is asked.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use perbuck_core::rng::OpRng;
use perbuck_core::units::Seed;
use perbuck_load::batch::Batch;
use perbuck_load::connection::Connection;
use perbuck_load::driver::{Access, BulkTable, Effect, Session};
use perbuck_load::error::{DriverError, ErrorClass};
use perbuck_load::share::Share;
use perbuck_load::statement::{Catalogue, StatementId};
use perbuck_load::values::{Params, Rows, Value};
use perbuck_load::workload::{Operation, Terminal, TerminalId, Workload};

use super::{Options, ScriptTerminal, Scripts};
use crate::benchmark::Benchmark;
use crate::testing::{MYSQL, POSTGRES, SQLITE, block_on, parameters};

/// Writes down what it is asked; the end of a batch fails as often as it is told to.
#[derive(Default)]
struct Scribe {
    catalogue: Arc<Catalogue>,
    log: Rc<RefCell<Vec<String>>>,
    failures: Rc<RefCell<u32>>,
    added: Vec<StatementId>,
}

impl Scribe {
    fn note(&self, text: impl Into<String>) {
        self.log.borrow_mut().push(text.into());
    }
}

impl Session for Scribe {
    async fn prepare(&mut self, catalogue: &Arc<Catalogue>) -> Result<(), DriverError> {
        self.catalogue = Arc::clone(catalogue);
        Ok(())
    }

    async fn execute(&mut self, id: StatementId, _: &Params, _: &mut Rows) -> Result<Effect, DriverError> {
        self.note(self.catalogue.get(id).sql.clone());
        Ok(Effect::Affected(1))
    }

    async fn batch(&mut self, step: Batch<'_>) -> Result<(), DriverError> {
        match step {
            Batch::Open(statements) => self.note(format!("open {}", statements.len())),
            Batch::Add(id, params) => {
                let values: Vec<String> =
                    params.iter().map(|v| if let Value::Int(v) = v { v.to_string() } else { "-".to_owned() }).collect();
                self.note(format!("+ {} [{}]", self.catalogue.get(id).sql, values.join(",")));
                self.added.push(id);
            }
            Batch::Point => self.note("point"),
            Batch::End(_, answered) => {
                self.note("end");
                let added = std::mem::take(&mut self.added);
                let mut left = self.failures.borrow_mut();
                if *left > 0 {
                    *left -= 1;
                    answered(added[0], None);
                    return Err(DriverError::client(ErrorClass::Retry, "test", "told to fail"));
                }
                added.into_iter().for_each(|id| answered(id, Some(Effect::Affected(0))));
            }
        }
        Ok(())
    }

    async fn begin(&mut self, _: Access) -> Result<(), DriverError> {
        self.note("begin");
        Ok(())
    }

    async fn commit(&mut self) -> Result<(), DriverError> {
        self.note("commit");
        Ok(())
    }

    async fn rollback(&mut self) -> Result<bool, DriverError> {
        self.note("rollback");
        Ok(true)
    }

    async fn query(&mut self, sql: &str, _: &mut Rows) -> Result<Effect, DriverError> {
        self.note(sql);
        Ok(Effect::ResultSet)
    }

    async fn insert_rows(&mut self, _: &BulkTable, _: &Params) -> Result<u64, DriverError> {
        Ok(0)
    }

    async fn close(self) {}
}

struct Client {
    terminal: ScriptTerminal,
    connection: Connection<Scribe>,
    log: Rc<RefCell<Vec<String>>>,
    failures: Rc<RefCell<u32>>,
}

const SEED: Seed = Seed(1);

impl Client {
    fn of(script: &str, protocol: &str) -> Self {
        let words = [("file", "a.sql"), ("file a.sql", script), ("protocol", protocol)];
        let scripts = Scripts::new(&Options::checked(&parameters(&words)).unwrap(), POSTGRES);
        let scribe = Scribe::default();
        let (log, failures) = (Rc::clone(&scribe.log), Rc::clone(&scribe.failures));
        let connection = block_on(Connection::open(scribe, scripts.catalogue())).unwrap();
        let terminal = scripts.terminal(TerminalId { index: 0, of: 1, seed: SEED, share: Share::WHOLE });
        Self { terminal, connection, log, failures }
    }

    /// One attempt of the first transaction, and what it asked.
    fn run(&mut self) -> (Result<(), DriverError>, Vec<String>) {
        let mut operation = Operation { sequence: 0, rng: OpRng::at(SEED, 0, 0) };
        let done = block_on(self.terminal.transaction(&mut self.connection, &mut operation));
        (done.map(|_| ()), self.log.take())
    }

    fn error(script: &str, protocol: &str) -> String {
        Self::of(script, protocol).run().0.unwrap_err().into_message()
    }
}

const SCRIPT: &str = "\\set a 1\nSELECT :a;\n\\startpipeline\nBEGIN ISOLATION LEVEL SERIALIZABLE;\n\\set a :a + 1\nUPDATE t SET n = :a;\n\
                      \\if :a = 2\nSELECT 2;\n\\endif\nEND;\n\\syncpipeline\nBEGIN;\nROLLBACK;\n\\endpipeline\nBEGIN;\nSELECT :a;\nEND;\n";

#[test]
fn a_pipeline_is_a_batch_of_all_its_statements() {
    for protocol in ["prepared", "extended"] {
        let mut client = Client::of(SCRIPT, protocol);
        let (done, asked) = client.run();
        assert_eq!(done, Ok(()));
        let expected = [
            "SELECT ?",
            "open 6",
            "+ BEGIN ISOLATION LEVEL SERIALIZABLE []",
            "+ UPDATE t SET n = ? [2]",
            "+ SELECT 2 []",
            "+ END []",
            "point",
            "+ BEGIN []",
            "+ ROLLBACK []",
            "end",
            "begin",
            "SELECT ?",
            "commit",
        ];
        assert_eq!(asked, expected, "{protocol}");
        let counts = client.connection.take_counts();
        assert_eq!((counts.begin, counts.commit, counts.rollback, counts.select, counts.update), (2, 2, 1, 3, 1));
        assert_eq!((counts.write, counts.other, counts.total()), (2, 8, 10));
    }
}

#[test]
fn another_attempt_starts_at_its_pipeline_with_the_variables_of_then() {
    let mut client = Client::of(SCRIPT, "prepared");
    *client.failures.borrow_mut() = 1;
    let (failed, first) = client.run();
    assert_eq!(failed.unwrap_err().class, ErrorClass::Retry);
    let (done, second) = client.run();
    assert_eq!((done, &second[..second.len() - 3]), (Ok(()), &first[1..]));
    // A transaction that was begun before the pipeline is begun again.
    let mut client = Client::of("SELECT 1;\nBEGIN;\n\\startpipeline\nSELECT 2;\n\\endpipeline\nEND;", "prepared");
    *client.failures.borrow_mut() = 1;
    assert_eq!(client.run().1, ["SELECT 1", "begin", "open 1", "+ SELECT 2 []", "end"]);
    assert_eq!(client.run().1, ["begin", "open 1", "+ SELECT 2 []", "end", "commit"]);
    // One that a pipeline begins and that ends after it starts at the pipeline.
    let mut client = Client::of("\\startpipeline\nBEGIN;\nSELECT 2;\n\\endpipeline\nSELECT 3;\nEND;", "extended");
    assert_eq!(client.run().1, ["open 2", "+ BEGIN []", "+ SELECT 2 []", "end", "SELECT 3", "commit"]);
}

#[test]
fn what_a_pipeline_cannot_do_is_told_as_by_pgbench() {
    let wrong = |script: &str| Client::error(script, "prepared");
    let started = "\\startpipeline\nSELECT 1;\n";
    assert_eq!(wrong(&format!("{started}\\startpipeline\n")), "a.sql:3: already in pipeline mode");
    assert_eq!(wrong("SELECT 1;\n\\endpipeline\n"), "a.sql:2: not in pipeline mode");
    assert_eq!(wrong("SELECT 1;\n\\syncpipeline\n"), "a.sql:2: not in pipeline mode");
    assert_eq!(wrong(started), "a.sql: end of script reached with pipeline open");
    assert_eq!(
        wrong("\\startpipeline\nSELECT 1 AS i \\gset\n\\endpipeline\n"),
        "a.sql:2: \\gset is not allowed in pipeline mode"
    );
    assert_eq!(
        wrong("\\startpipeline\nSELECT 1 AS i \\aset\n\\endpipeline\n"),
        "a.sql:2: \\aset is not allowed in pipeline mode"
    );
    let open = "\\startpipeline\nBEGIN;\n\\endpipeline\n";
    assert_eq!(wrong(open), "a.sql: end of script reached without completing the last transaction");
    let simple = Client::error(&format!("{started}\\endpipeline\n"), "simple");
    assert_eq!(simple, "a.sql:1: cannot use pipeline mode with the simple query protocol");
}

#[test]
fn databases_that_answer_each_statement_first_refuse_pipelines() {
    let words = [("file", "a.sql"), ("file a.sql", "SELECT 1;\n\\startpipeline\nSELECT 2;\n\\endpipeline\n")];
    let options = Options::checked(&parameters(&words)).unwrap();
    assert!(options.refusal(POSTGRES).is_none());
    for dialect in [MYSQL, SQLITE] {
        let (why, help) = options.refusal(dialect).unwrap();
        assert!(why.contains("before the answer to the one before, so there is no pipeline as in a.sql:2"), "{why}");
        assert!(help.contains("\\startpipeline"), "{help}");
    }
}
