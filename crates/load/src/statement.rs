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
    /// PostgreSQL and what speaks its protocol.
    Postgres,
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
    /// What the hot path asks of each, side by side: one cache line for all of them, and not one each.
    briefs: Vec<Brief>,
}

/// What the hot path asks of a statement.
#[derive(Debug, Clone, Copy)]
pub struct Brief {
    /// What it is.
    pub verb: Verb,
    /// Whether the transaction reads the values of its result.
    pub keep_rows: bool,
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
        self.briefs.push(Brief { verb: statement.verb, keep_rows: statement.keep_rows });
        self.statements.push(statement);
        id
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
