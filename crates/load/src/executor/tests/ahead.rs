//! Statements are prepared before the start where the workload uses all of them.

use std::sync::atomic::Ordering;

use super::*;

fn ahead(renews_after: Option<u64>) -> TwoSelects {
    TwoSelects { prepares_ahead: true, ..TwoSelects::clone(&TwoSelects::with(renews_after, Pauses::default())) }
}

#[test]
fn every_connection_of_the_start_prepares_ahead_and_no_later_one() {
    for (workload, prepared) in [(ahead(None), 8), (ahead(Some(100)), 8), (TwoSelects::clone(&TwoSelects::new()), 0)] {
        let driver = SimDriver::default();
        let outcome = simulate_with(&spec(8), driver.clone(), &Arc::new(workload), &mut |_| {}).unwrap();
        assert_eq!(driver.prepared.load(Ordering::Relaxed), prepared);
        // It is no statement of the trial.
        assert_eq!(outcome.measured.statements.total(), 2 * transactions(&outcome).completed());
    }
}

#[test]
fn what_cannot_be_prepared_is_left_to_its_first_use_and_a_loss_ends_the_run() {
    for (class, result) in [(ErrorClass::Fatal, Ok(())), (ErrorClass::Failed, Ok(())), (ErrorClass::Lost, Err(()))] {
        let error = SimDriver::error(class, 1146);
        let driver = SimDriver { preparing: Err(error.clone()), ..SimDriver::default() };
        let outcome = simulate_with(&spec(8), driver, &Arc::new(ahead(None)), &mut |_| {});
        assert_eq!(outcome.map(|outcome| assert!(outcome.errors.is_empty())), result.map_err(|()| RunError::Connect(error)));
    }
}
