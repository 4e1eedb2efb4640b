//! The statements of a workload, known before the first connection is opened.

use crate::records::Records;

/// Position of a statement in its [`Catalogue`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StatementId(pub u16);

/// What the server counts a statement as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// SELECT.
    Select,
    /// INSERT.
    Insert,
    /// UPDATE.
    Update,
    /// DELETE.
    Delete,
    /// Anything else, such as CALL or TRUNCATE.
    Other,
}

/// One statement.
#[derive(Debug, Clone)]
pub struct Statement {
    /// Its text, with `?` for each parameter.
    pub sql: String,
    /// The same as an operation on records, where the database knows no SQL.
    pub records: Option<Records>,
    /// What it is.
    pub verb: Verb,
    /// Whether the transaction reads the values of its result; otherwise rows are only counted.
    pub keep_rows: bool,
}

/// All statements of a workload; prepared once per connection, on first use or ahead.
#[derive(Debug, Clone, Default)]
pub struct Catalogue {
    statements: Vec<Statement>,
    /// What the hot path asks of each, side by side: one cache line for all of them, and not one each.
    briefs: Vec<Brief>,
    /// Kinds of statements, by which their times are reported.
    labels: Vec<&'static str>,
    /// The settings that every session executes when it opens.
    opening: Vec<String>,
    /// Whether no statement stays prepared.
    parsed_each_time: bool,
    /// Steps of the workload whose times are taken where a trial takes times.
    steps: u32,
}

/// What the hot path asks of a statement.
#[derive(Debug, Clone, Copy)]
pub struct Brief {
    /// What it is.
    pub verb: Verb,
    /// Whether the transaction reads the values of its result.
    pub keep_rows: bool,
    /// Position of its kind in [`Catalogue::labels`].
    pub label: u8,
}

impl Verb {
    /// Its name in lower case.
    pub fn word(self) -> &'static str {
        match self {
            Self::Select => "select",
            Self::Insert => "insert",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::Other => "other",
        }
    }
}

impl Catalogue {
    /// Adds a statement whose rows are only counted (or that returns none).
    pub fn add(&mut self, verb: Verb, sql: impl Into<String>) -> StatementId {
        self.add_named(verb.word(), verb, false, sql)
    }

    /// Adds a statement whose times are shown under `label`, together with those of other statements of that label; `keep_rows`
    /// says whether the transaction reads the values of its result.
    pub fn add_named(&mut self, label: &'static str, verb: Verb, keep_rows: bool, sql: impl Into<String>) -> StatementId {
        self.push(label, Statement { sql: sql.into(), records: None, verb, keep_rows })
    }

    /// Adds a query whose values the transaction reads.
    pub fn add_read(&mut self, sql: impl Into<String>) -> StatementId {
        self.add_named(Verb::Select.word(), Verb::Select, true, sql)
    }

    /// As [`Self::add_named`], by an operation on records.
    pub fn add_records(&mut self, label: &'static str, verb: Verb, keep_rows: bool, records: Records) -> StatementId {
        self.push(label, Statement { sql: records.to_string(), records: Some(records), verb, keep_rows })
    }

    /// Adds a statement that every session executes once, when it opens: a setting that its transactions need. It is none of
    /// the trial's, and not counted.
    pub fn add_opening(&mut self, sql: impl Into<String>) {
        self.opening.push(sql.into());
    }

    /// The settings that every session executes when it opens.
    pub fn opening(&self) -> &[String] {
        &self.opening
    }

    /// Has each execution parse its statement again, BEGIN and COMMIT included: none stays prepared. Only for databases whose sessions can.
    pub fn parse_each_time(&mut self) {
        self.parsed_each_time = true;
    }

    /// Whether each execution parses its statement again.
    pub fn parsed_each_time(&self) -> bool {
        self.parsed_each_time
    }

    /// Says how many steps the workload has that [`Connection`](crate::connection::Connection) times: numbered from 0.
    pub fn time_steps(&mut self, steps: u32) {
        self.steps = steps;
    }

    pub(crate) fn steps(&self) -> u32 {
        self.steps
    }

    /// The kinds of statements; at most 256, later ones fall under the last.
    pub fn labels(&self) -> &[&'static str] {
        &self.labels
    }

    /// No statements, and kinds of statements under which later ones are timed.
    pub fn labelled(labels: &[&'static str]) -> Self {
        Self { labels: labels.to_vec(), ..Self::default() }
    }

    fn label(&mut self, label: &'static str) -> u8 {
        let known = self.labels.iter().position(|l| *l == label).unwrap_or(self.labels.len());
        let position = known.min(usize::from(u8::MAX));
        if position == self.labels.len() {
            self.labels.push(label);
        }
        position as u8
    }

    /// Adds a statement whose times are shown under `label`.
    pub fn push(&mut self, label: &'static str, statement: Statement) -> StatementId {
        let id = StatementId(self.statements.len() as u16);
        debug_assert!(self.statements.len() < usize::from(u16::MAX));
        let label = self.label(label);
        self.briefs.push(Brief { verb: statement.verb, keep_rows: statement.keep_rows, label });
        self.statements.push(statement);
        id
    }

    /// Takes the last statement off.
    pub fn pop(&mut self) {
        self.briefs.pop();
        self.statements.pop();
    }

    /// The statement of an id of this catalogue.
    #[inline]
    pub fn get(&self, id: StatementId) -> &Statement {
        &self.statements[usize::from(id.0)]
    }

    /// The brief of an id of this catalogue.
    #[inline]
    pub fn brief(&self, id: StatementId) -> Brief {
        self.briefs[usize::from(id.0)]
    }

    /// All of them in order of their ids.
    pub fn statements(&self) -> &[Statement] {
        &self.statements
    }
}
