//! The statements of a workload, known before the first connection is opened.

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
}

/// Which SQL a target speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// MySQL, MariaDB, TiDB.
    Mysql,
    /// SQLite.
    Sqlite,
}

/// One statement with `?` for each parameter.
#[derive(Debug, Clone)]
pub struct Statement {
    /// Its text.
    pub sql: String,
    /// What it is.
    pub verb: Verb,
    /// Whether the transaction reads the values of its result; otherwise rows are only counted.
    pub keep_rows: bool,
}

/// All statements of a workload; prepared once per connection, on first use.
#[derive(Debug, Clone, Default)]
pub struct Catalogue {
    statements: Vec<Statement>,
}

impl Catalogue {
    /// Adds a statement whose rows are only counted (or that returns none).
    pub fn add(&mut self, verb: Verb, sql: impl Into<String>) -> StatementId {
        self.push(Statement { sql: sql.into(), verb, keep_rows: false })
    }

    /// Adds a query whose values the transaction reads.
    pub fn add_read(&mut self, sql: impl Into<String>) -> StatementId {
        self.push(Statement { sql: sql.into(), verb: Verb::Select, keep_rows: true })
    }

    fn push(&mut self, statement: Statement) -> StatementId {
        let id = StatementId(self.statements.len() as u16);
        debug_assert!(self.statements.len() < usize::from(u16::MAX));
        self.statements.push(statement);
        id
    }

    /// The statement of an id of this catalogue.
    #[inline]
    pub fn get(&self, id: StatementId) -> &Statement {
        &self.statements[usize::from(id.0)]
    }

    /// All of them in order of their ids.
    pub fn statements(&self) -> &[Statement] {
        &self.statements
    }
}
