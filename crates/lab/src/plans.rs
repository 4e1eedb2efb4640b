//! The plans that a database chose for the queries of a workload, asked for after a trial and kept beside its record.

use perbuck_core::run_record::{PLANS_SCHEMA, PlanFile, PlanShape, PlanText, Plans};
use perbuck_database::plans::PlanWords;
use perbuck_load::error::Cause;
use perbuck_workloads::{Explained, Plan};

use crate::error::LabError;
use crate::progress::Progress;
use crate::sidecar::{self, Trial};
use crate::stage::Stage;

/// Refuses a study without a query whose plan could be kept, before anything is deployed or loaded.
pub(crate) fn has_queries(plans: &[Plan]) -> Result<(), LabError> {
    if plans.iter().any(|plan| plan.explained().is_some()) {
        return Ok(());
    }
    let message = "--plans: no workload of the study has queries whose plans can be kept";
    Err(LabError::usage(message, "leave --plans out; a workload of analytical queries, such as TPC-H, has them"))
}

/// Says of which contenders no plans will be kept.
pub(crate) fn tell_unread(stages: &[Stage], plans: &[Plan], progress: &mut dyn Progress) {
    for (position, stage) in stages.iter().enumerate() {
        if stage.dialect.plans().is_none() && of_stage(position, plans).is_some() {
            let database = stage.dialect.name();
            progress.alert(&format!("{}: no plans are kept, because perbuck does not read those of {database}", stage.title));
        }
    }
}

/// The workload of the stage at this position, and its queries: contenders stand in the order of the study, workloads within.
fn of_stage(position: usize, plans: &[Plan]) -> Option<(&Plan, Explained)> {
    let plan = plans.get(position % plans.len().max(1))?;
    Some((plan, plan.explained()?))
}

/// Asks for the plan of each query of the workload and keeps them with the trial. One that fails is kept as its error. Each query has a
/// session of its own, as terminals have it, so that none is asked in the state that a failed one left.
///
/// # Errors
/// A request to stop.
pub(crate) fn keep(
    (stage, position): (&Stage, usize),
    plans: &[Plan],
    trial: &mut Trial,
    shown: &mut dyn FnMut(&str),
) -> Result<(), LabError> {
    let Some((words, (plan, Explained { names, limit }))) = stage.dialect.plans().zip(of_stage(position, plans)) else {
        return Ok(());
    };
    let (mut texts, mut shapes) = (Vec::new(), Vec::new());
    for (i, query) in names.iter().enumerate() {
        shown(query);
        let sql = plan.explained_query(i, stage.dialect);
        let asked = stage.trials.explain(&format!("asking for the plan of {query}"), &format!("{}{sql}", words.ask), limit);
        if asked.as_ref().is_err_and(|error| error.cause == Some(Cause::Stopped)) {
            return Err(LabError::interrupted());
        }
        let (text, shape) = read(words, query, &sql, asked.map_err(|error| error.to_string()));
        texts.push(text);
        shapes.push(shape);
    }
    let file = PlanFile { schema: PLANS_SCHEMA, queries: texts };
    let file = file.to_json().map_err(|e| LabError::failed(format!("{}: the plans cannot be written: {e}", stage.title), ""))?;
    let asked = words.ask.trim_end().to_owned();
    trial.record.target.plans = Some(Plans { asked, ran: words.runs, queries: shapes, file_sha256: sidecar::digest(&file) });
    trial.plans = Some(file);
    Ok(())
}

/// What is kept of an answer. One that is no plan is kept, too, with the reason.
fn read(words: &PlanWords, query: &str, sql: &str, asked: Result<String, String>) -> (PlanText, PlanShape) {
    let (plan, shape) = match asked {
        Ok(answer) => {
            let shape = (words.shape)(&answer);
            (Some(answer), shape)
        }
        Err(error) => (None, Err(error)),
    };
    let error = shape.as_ref().err().cloned();
    let text = PlanText { query: query.to_owned(), sql: sql.to_owned(), plan, error: error.clone() };
    let (database, shape) = shape.map_or((String::new(), None), |shape| (shape.database.to_owned(), Some(shape.text)));
    (text, PlanShape { query: query.to_owned(), database, shape, error })
}

#[cfg(test)]
mod tests {
    use perbuck_database::plans::Shape;

    use super::*;

    const WORDS: PlanWords = PlanWords {
        ask: "EXPLAIN ",
        runs: true,
        shape: |answer| {
            let mut shape = Shape::of("X");
            answer.lines().for_each(|line| shape.add(0, line));
            shape.whole()
        },
    };

    #[test]
    fn errors_and_answers_that_are_no_plans_are_kept() {
        let (text, shape) = read(&WORDS, "Q1", "SELECT 1", Ok("scan t".to_owned()));
        assert_eq!((text.plan.as_deref(), text.error), (Some("scan t"), None));
        assert_eq!((shape.database.as_str(), shape.shape.as_deref(), shape.error), ("X", Some("scan t\n"), None));
        let (text, shape) = read(&WORDS, "Q2", "SELECT 2", Err("it took too long (x 1)".to_owned()));
        assert_eq!((text.plan, text.error.as_deref()), (None, Some("it took too long (x 1)")));
        assert_eq!((shape.shape, shape.error), (None, text.error));
        let (text, shape) = read(&WORDS, "Q3", "SELECT 3", Ok(String::new()));
        assert!(text.plan.is_some() && text.error.is_some() && shape.error == text.error);
    }
}
