//! Answers to batches, from memory.

use std::sync::Arc;

use perbuck_driver_suite::hostile::{assert_error, assert_malformed};
use perbuck_event::block_on_simulated;
use perbuck_load::batch::Batch;
use perbuck_load::driver::{Effect, Session};
use perbuck_load::error::{DriverError, ErrorClass, ErrorCode};
use perbuck_load::statement::{Catalogue, StatementId, Verb};
use perbuck_load::values::{Params, Rows};

use crate::hostile_tests::{COLUMNS, READY, message};
use crate::wire::canned::{self, Answers};

const BOUND: &[u8] = b"2\0\0\0\x04";
const PARSED: &[u8] = b"1\0\0\0\x04";
const NO_DATA: &[u8] = b"n\0\0\0\x04";
const NOTICE: &[u8] = b"N\0\0\0\x10VNOTICE\0Mx\0\0";
const DEADLOCK: &[u8] = b"E\0\0\0\x1dSERROR\0C40P01\0Mdeadlock\0\0";

fn done(tag: &str) -> Vec<u8> {
    message(b'C', &[tag.as_bytes(), b"\0"].concat())
}

/// What each statement came to, and all of it.
type Told = (Vec<(u16, Option<Effect>)>, Result<(), DriverError>);

async fn end<S: Session>(session: &mut S, rows: &mut Rows, told: &mut Vec<(u16, Option<Effect>)>) -> Result<(), DriverError> {
    session.batch(Batch::End(rows, &mut |id, effect| told.push((id.0, effect)))).await
}

/// A batch of two statements, a point and another statement, with this answer; each statement returns rows where it is prepared.
fn ask(answer: &[&[u8]], unnamed: bool, at_once: usize) -> Told {
    let prepared = [&message(b'3', b"")[..], &message(b'1', b""), &message(b't', b"\0\0"), &message(b'T', COLUMNS), READY];
    let answers = Answers { prepared: prepared.concat(), executed: answer.concat(), text: Vec::new(), at_once };
    let mut catalogue = Catalogue::default();
    if unnamed {
        catalogue.parse_each_time();
    }
    let ids: Vec<StatementId> = ["SELECT 1", "SELECT 2", "SELECT 3"].map(|sql| catalogue.add(Verb::Select, sql)).to_vec();
    let mut told = Vec::new();
    let result = block_on_simulated(async {
        let mut session = canned::session(answers);
        session.prepare(&Arc::new(catalogue)).await?;
        session.batch(Batch::Open(&ids)).await?;
        session.batch(Batch::Add(ids[0], &Params::default())).await?;
        session.batch(Batch::Add(ids[1], &Params::default())).await?;
        session.batch(Batch::Point).await?;
        session.batch(Batch::Add(ids[2], &Params::default())).await?;
        end(&mut session, &mut Rows::default(), &mut told).await
    });
    (told, result)
}

#[test]
fn each_statement_has_its_answer() {
    let row = message(b'D', b"\0\x02\0\0\0\x04\0\0\0\x01\0\0\0\x01x");
    let prepared = [BOUND, &row, &row, &done("SELECT 2")].concat();
    let unnamed = [PARSED, BOUND, &message(b'T', COLUMNS), &row, &done("SELECT 1")].concat();
    let changes = [PARSED, BOUND, NO_DATA, &done("UPDATE 3")].concat();
    for at_once in [usize::MAX, 1, 7] {
        let rows = |id| (id, Some(Effect::ResultSet));
        let found = ask(&[&prepared, &prepared, READY, NOTICE, &prepared, READY], false, at_once);
        assert_eq!(found, (vec![rows(0), rows(1), rows(2)], Ok(())));
        let found = ask(&[&unnamed, &changes, READY, &unnamed, READY], true, at_once);
        assert_eq!(found, (vec![rows(0), (1, Some(Effect::Affected(3))), rows(2)], Ok(())));
        // What follows an error is passed over up to the point.
        let (told, result) = ask(&[BOUND, DEADLOCK, READY, &prepared, READY], false, at_once);
        assert_error(&result.unwrap_err(), ErrorClass::Retry, ErrorCode::State("sqlstate", *b"40P01"));
        assert_eq!(told, [(0, None), rows(2)]);
        // The implicit transaction fails when it is committed: that is no statement's error.
        let (told, result) = ask(&[&prepared, &prepared, DEADLOCK, READY, BOUND, DEADLOCK, READY], false, at_once);
        assert_eq!((told, result.unwrap_err().class), (vec![rows(0), rows(1)], ErrorClass::Retry));
    }
}

#[test]
fn answers_that_fit_no_batch_are_refused() {
    let whole = [BOUND, &done("SELECT 0")].concat();
    for answer in [
        &[READY][..],
        &[&whole[..], READY],
        &[&whole, &whole, &whole, READY],
        &[&whole, &whole, READY, READY],
        &[DEADLOCK, &whole, READY],
        &[PARSED, &whole, READY],
        &[b"Z\0\0\0\x05X"],
    ] {
        assert_malformed(&ask(answer, false, usize::MAX).1.unwrap_err());
    }
}

/// So many batches of two statements on one session.
async fn batches(catalogue: &Arc<Catalogue>, answers: &Answers, count: u64) -> u64 {
    let (mut session, mut rows, mut params, mut told) = (canned::session(answers.clone()), Rows::default(), Params::default(), 0);
    session.prepare(catalogue).await.unwrap();
    params.int(7);
    let id = StatementId(0);
    for _ in 0..count {
        session.batch(Batch::Open(&[id])).await.unwrap();
        session.batch(Batch::Add(id, &params)).await.unwrap();
        session.batch(Batch::Add(id, &params)).await.unwrap();
        session.batch(Batch::End(&mut rows, &mut |_, _| told += 1)).await.unwrap();
    }
    told
}

#[test]
fn more_batches_need_no_more_allocations() {
    let whole = [PARSED, BOUND, NO_DATA, &done("UPDATE 3")].concat();
    let executed = [&whole[..], &whole, READY].concat();
    let answers = Answers { prepared: Vec::new(), executed, text: Vec::new(), at_once: usize::MAX };
    let mut catalogue = Catalogue::default();
    catalogue.parse_each_time();
    catalogue.add(Verb::Update, "UPDATE t SET a = ?");
    let catalogue = Arc::new(catalogue);
    let allocations = |count| {
        let run = || assert_eq!(block_on_simulated(batches(&catalogue, &answers, count)), 2 * count);
        run();
        allocation_counter::measure(run).count_total
    };
    assert_eq!(allocations(20), allocations(1020));
}
