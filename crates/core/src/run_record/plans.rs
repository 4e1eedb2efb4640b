//! The plans that a database chose for the queries of a workload, asked for after a trial.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The schema number of the files of plans that this version writes.
pub const PLANS_SCHEMA: u32 = 1;

/// What a record holds of the plans: their shapes. The plans themselves, with costs, rows and times, are in a file beside it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plans {
    /// What stood before each query.
    pub asked: String,
    /// Whether the queries ran for it; else the plans are estimates alone.
    pub ran: bool,
    /// A plan for each query, in the workload's order.
    pub queries: Vec<PlanShape>,
    /// SHA-256 of the file of plans, in hexadecimal digits.
    pub file_sha256: String,
}

/// The shape of the plan of a query, or why there is none.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanShape {
    /// The query as the workload calls it.
    pub query: String,
    /// The database whose plan it is, as its plan tells. Shapes of two databases cannot be compared.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub database: String,
    /// Operators, tables and indexes, a line each, indented below the operator that reads from them; absent where there is no plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<String>,
    /// Why there is no plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The file of plans beside a record.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanFile {
    /// [`PLANS_SCHEMA`].
    pub schema: u32,
    /// A plan for each query, in the workload's order.
    pub queries: Vec<PlanText>,
}

/// The plan of a query, or why there is none.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanText {
    /// The query as the workload calls it.
    pub query: String,
    /// Its text.
    pub sql: String,
    /// What the database returned: a line for each row, with tabs between cells; absent where it returned none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// Why there is no plan, or no shape of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl PlanFile {
    /// Reads a file of plans.
    ///
    /// # Errors
    /// Says why the text is none of this schema.
    pub fn from_json(text: &str) -> Result<Self, String> {
        let read: Self = serde_json::from_str(text).map_err(|e| format!("is no file of plans: {e}"))?;
        match read.schema {
            PLANS_SCHEMA => Ok(read),
            other => Err(format!("has schema {other}, and this perbuck reads schema {PLANS_SCHEMA}")),
        }
    }

    /// Writes it, pretty-printed with a final newline; the same plans give the same bytes.
    ///
    /// # Errors
    /// Says why it cannot be written.
    pub fn to_json(&self) -> Result<String, String> {
        serde_json::to_string_pretty(self).map(|s| s + "\n").map_err(|e| e.to_string())
    }

    /// Whether these are the queries of a record, and their errors.
    pub fn belongs_to(&self, plans: &Plans) -> bool {
        let named = plans.queries.iter().map(|q| (&q.query, &q.error));
        self.queries.iter().map(|q| (&q.query, &q.error)).eq(named)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_plans_belongs_to_its_record() {
        let named = |query: &str, error: Option<&str>| PlanShape {
            query: query.into(),
            error: error.map(str::to_owned),
            ..PlanShape::default()
        };
        let text = |query: &str, error: Option<&str>| PlanText {
            query: query.into(),
            error: error.map(str::to_owned),
            ..PlanText::default()
        };
        let plans = Plans { queries: vec![named("Q1", None), named("Q2", Some("late"))], ..Plans::default() };
        let file = PlanFile { schema: PLANS_SCHEMA, queries: vec![text("Q1", None), text("Q2", Some("late"))] };
        assert!(file.belongs_to(&plans));
        assert!(!PlanFile { queries: vec![text("Q1", None)], ..file.clone() }.belongs_to(&plans));
        assert!(!PlanFile { queries: vec![text("Q1", None), text("Q2", None)], ..file.clone() }.belongs_to(&plans));
        let written = file.to_json().unwrap();
        assert_eq!(PlanFile::from_json(&written).unwrap(), file);
        let later = written.replace("\"schema\": 1", "\"schema\": 2");
        assert!(PlanFile::from_json(&later).unwrap_err().contains("schema 2"));
        assert!(PlanFile::from_json("{}").unwrap_err().contains("no file of plans"));
    }
}
