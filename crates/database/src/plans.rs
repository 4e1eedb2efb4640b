//! How a database tells the plan of a query, and what of it is compared.

/// How a database is asked for the plan of a query.
#[derive(Debug, Clone, Copy)]
pub struct PlanWords {
    /// What stands before the query, with the blank between them.
    pub ask: &'static str,
    /// Whether the query runs for it, so that the plan has true numbers; else they are estimates.
    pub runs: bool,
    /// Reads the shape of the plan from the answer, which is a line for each row with tabs between cells; or says why it is no plan.
    pub shape: fn(&str) -> Result<Shape, String>,
}

/// What two plans of one database must have in common to be the same: operators, tables, indexes and their order, without numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// The database whose plan it is. Several may share a dialect.
    pub database: &'static str,
    /// An operator a line, each indented below the one that reads from it.
    pub text: String,
}

impl Shape {
    /// The shape without operators of a database.
    pub fn of(database: &'static str) -> Self {
        Self { database, text: String::new() }
    }

    /// Adds an operator that so many others stand above.
    pub fn add(&mut self, depth: usize, operator: &str) {
        for _ in 0..depth {
            self.text.push_str("  ");
        }
        self.text.push_str(operator.trim());
        self.text.push('\n');
    }

    /// The shape, where it has an operator.
    ///
    /// # Errors
    /// That the answer is no plan.
    pub fn whole(self) -> Result<Self, String> {
        if self.text.is_empty() { Err("the answer is no plan that perbuck can read".to_owned()) } else { Ok(self) }
    }
}
