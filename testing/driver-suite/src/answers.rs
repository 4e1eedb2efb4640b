//! Answers from memory, right and broken: read at once or in pieces they mean the same, and none makes the reader panic,
//! hang, or take memory that the bytes do not justify.

use std::fmt::Debug;
use std::sync::Arc;

use perbuck_load::driver::{Effect, Session};
use perbuck_load::error::DriverError;
use perbuck_load::statement::{Catalogue, StatementId, Verb};
use perbuck_load::values::{Params, Rows};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use crate::cases;

/// What a statement comes to: its effect, how many rows, and the cells of the last column that were kept.
pub type Outcome = Result<(Effect, u64, Vec<String>), DriverError>;

/// Makes a statement known to a session, whose rows are kept or counted.
///
/// # Errors
/// The session's.
pub async fn prepare<S: Session>(session: &mut S, keep: bool) -> Result<StatementId, DriverError> {
    let mut catalogue = Catalogue::default();
    let id = if keep { catalogue.add_read("SELECT c") } else { catalogue.add(Verb::Select, "SELECT c") };
    session.prepare(&Arc::new(catalogue)).await.map(|()| id)
}

/// Executes a statement without parameters.
///
/// # Errors
/// The session's.
pub async fn execute<S: Session>(session: &mut S, id: StatementId) -> Outcome {
    let mut rows = Rows::default();
    let effect = session.execute(id, &Params::default(), &mut rows).await?;
    Ok(outcome(effect, &rows))
}

/// An effect with its rows.
pub fn outcome(effect: Effect, rows: &Rows) -> (Effect, u64, Vec<String>) {
    let kept = if rows.width() == 0 { 0 } else { rows.len() as usize };
    (effect, rows.len(), (0..kept).filter_map(|row| rows.display(row, rows.width() - 1).ok()).collect())
}

/// Answers with some bytes changed and, now and then, without their end.
fn mangled(answers: impl Strategy<Value = Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    let changes = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4);
    (answers, changes, prop::option::weighted(0.2, any::<prop::sample::Index>())).prop_map(|(mut bytes, changes, cut)| {
        for (at, value) in changes {
            if !bytes.is_empty() {
                let at = at.index(bytes.len());
                bytes[at] = value;
            }
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len() + 1));
        }
        bytes
    })
}

/// Whatever comes means the same in any pieces, and takes no more memory. Answers are made of `parts`, in any order, or are
/// `honest`, and are then mangled; `ask` is what a session makes of such bytes, asked one of these ways.
pub fn pieces<H: Debug + Clone + 'static>(
    parts: impl Strategy<Value = Vec<u8>>,
    honest: impl Strategy<Value = Vec<u8>>,
    ways: &'static [H],
    framed: fn(&[Vec<u8>]) -> Vec<u8>,
    ask: impl Fn(&[u8], H, usize) -> Outcome,
) {
    let broken = prop::collection::vec(parts, 0..12).prop_map(move |parts| framed(&parts));
    let answers = mangled(prop_oneof![broken, honest]);
    let input = (answers, prop::sample::select(ways), 1_usize..50);
    let result = TestRunner::new(cases(3000, file!())).run(&input, |(bytes, how, at_once)| {
        let mut whole = None;
        let taken = allocation_counter::measure(|| whole = Some(ask(&bytes, how.clone(), usize::MAX)));
        prop_assert!(taken.bytes_max < 512 * 1024, "{} bytes for an answer of {}", taken.bytes_max, bytes.len());
        prop_assert_eq!(whole.unwrap(), ask(&bytes, how, at_once));
        Ok(())
    });
    result.unwrap_or_else(|failed| panic!("{failed}"));
}
