//! Checks of what is stored.

use super::failure::{LoadError, server};
use crate::driver::Session;
use crate::error::{DriverError, ErrorClass};
use crate::values::Rows;
use crate::workload::Check;

/// What a check found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckResult {
    /// Its name.
    pub name: String,
    /// What must hold.
    pub what: String,
    /// How many things were compared.
    pub compared: u64,
    /// The first offending rows, as `column value, …`.
    pub violations: Vec<String>,
    /// False where the condition holds for fresh data only and these are not fresh. Nothing was compared then.
    pub applies: bool,
}

impl CheckResult {
    /// Whether it holds or does not apply. A check that compared nothing does not hold.
    pub fn holds(&self) -> bool {
        !self.applies || (self.compared > 0 && self.violations.is_empty())
    }
}

/// Makes a session ready for checks. A server that refuses a setting takes longer for the same answer, so only a lost
/// connection is an error.
pub async fn make_room<S: Session>(session: &mut S, settings: &[&str]) -> Result<(), LoadError> {
    for sql in settings {
        match session.query(sql, &mut Rows::default()).await {
            Err(error) if error.class == ErrorClass::Lost => return Err(server("preparing to check")(error)),
            _ => {}
        }
    }
    Ok(())
}

/// Runs one check.
pub async fn run_check<S: Session>(session: &mut S, check: &Check) -> Result<CheckResult, LoadError> {
    let doing = || server(format!("checking condition {}", check.name));
    let (name, what) = (check.name.clone(), check.what.clone());
    let mut rows = Rows::default();
    if let Some(used) = &check.unless_used {
        session.query(used, &mut rows).await.map_err(doing())?;
        if rows.int(0, 0).map_err(doing())? > 0 {
            return Ok(CheckResult { name, what, compared: 0, violations: Vec::new(), applies: false });
        }
    }
    check.compared.ask(session, &mut rows).await.map_err(doing())?;
    let compared = rows.int(0, 0).map_err(doing())?.max(0) as u64;
    check.violations.ask(session, &mut rows).await.map_err(doing())?;
    let cell = |row, (i, column)| Ok(format!("{column} {}", rows.display(row, i)?));
    let line = |row| Ok(check.columns.iter().enumerate().map(|c| cell(row, c)).collect::<Result<Vec<_>, _>>()?.join(", "));
    let violations = (0..rows.len() as usize).map(line).collect::<Result<_, DriverError>>().map_err(doing())?;
    Ok(CheckResult { name, what, compared, violations, applies: true })
}
