//! Answers from memory, as the suite of all drivers breaks them.

use std::sync::Arc;

use perbuck_driver_suite::answers::{Outcome, execute, outcome, pieces, prepare};
use perbuck_driver_suite::hostile::{assert_error, assert_malformed};
use perbuck_event::block_on_simulated;
use perbuck_load::driver::{BulkTable, Effect, Session};
use perbuck_load::error::{ErrorClass, ErrorCode};
use perbuck_load::statement::{Catalogue, Verb};
use perbuck_load::values::{Params, Rows};
use proptest::prelude::*;

use crate::hostile_tests::{COLUMNS, READY, message};
use crate::wire::canned::{self, Answers};

const BOUND: &[u8] = b"2\0\0\0\x04";
const PARSED: &[u8] = b"1\0\0\0\x04";
const NO_DATA: &[u8] = b"n\0\0\0\x04";
const COPY_IN: &[u8] = b"G\0\0\0\x09\0\0\x01\0\0";
const NOTICE: &[u8] = b"N\0\0\0\x10VNOTICE\0Mx\0\0";
const DEADLOCK: &[u8] = b"E\0\0\0\x1dSERROR\0C40P01\0Mdeadlock\0\0";

fn done(tag: &str) -> Vec<u8> {
    message(b'C', &[tag.as_bytes(), b"\0"].concat())
}

/// A row of an int4 and a text of sevens.
fn row(id: i32, length: usize) -> Vec<u8> {
    let mut body = b"\0\x02\0\0\0\x04".to_vec();
    body.extend_from_slice(&id.to_be_bytes());
    body.extend_from_slice(&(length as u32).to_be_bytes());
    body.extend(std::iter::repeat_n(b'7', length));
    message(b'D', &body)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    Counted,
    Kept,
    /// A statement that was described as one without rows.
    Changes,
    Text,
    Copy,
    /// A statement that is parsed for this execution, whose rows are counted or kept.
    Unnamed(bool),
}

/// What a statement with this answer comes to.
fn ask(answer: &[&[u8]], how: How, at_once: usize) -> Outcome {
    let answer = answer.concat();
    let described = if how == How::Changes { message(b'n', b"") } else { message(b'T', COLUMNS) };
    let prepared = [&message(b'3', b"")[..], &message(b'1', b""), &message(b't', b"\0\0"), &described, READY].concat();
    let answers = Answers { prepared, executed: answer.clone(), text: answer, at_once };
    block_on_simulated(async {
        let mut session = canned::session(answers);
        if let How::Unnamed(keep) = how {
            let mut catalogue = Catalogue::default();
            catalogue.parse_each_time();
            let id = if keep { catalogue.add_read("SELECT c") } else { catalogue.add(Verb::Select, "SELECT c") };
            session.prepare(&Arc::new(catalogue)).await?;
            return execute(&mut session, id).await;
        }
        let id = prepare(&mut session, how == How::Kept).await?;
        let mut rows = Rows::default();
        let effect = match how {
            How::Text => session.query("SELECT c", &mut rows).await?,
            How::Copy => {
                let table = BulkTable { name: "t".to_owned(), columns: ["a"].map(str::to_owned).to_vec() };
                Effect::Affected(session.load_rows(&table, Params::default().int(1)).await?)
            }
            How::Counted | How::Kept | How::Changes | How::Unnamed(_) => return execute(&mut session, id).await,
        };
        Ok(outcome(effect, &rows))
    })
}

#[test]
fn answers_are_understood_at_once_and_byte_by_byte() {
    let rows: Vec<u8> = (0..100).flat_map(|i| row(i, i as usize)).collect();
    let sevens: Vec<String> = (0..100).map(|i| "7".repeat(i)).collect();
    let (three, four, seven, empty) = (&*done("UPDATE 3"), &*done("UPDATE 4"), &*done("UPDATE 7"), b"I\0\0\0\x04");
    let one = [&message(b'T', COLUMNS)[..], &message(b'D', b"\0\x02\0\0\0\x0242\0\0\0\x01x"), &done("SELECT 1")].concat();
    for at_once in [usize::MAX, 1, 7, 64] {
        for how in [How::Counted, How::Kept] {
            let cells = if how == How::Kept { sevens.clone() } else { Vec::new() };
            let many = ask(&[BOUND, &rows, &done("SELECT 100"), READY], how, at_once);
            assert_eq!(many, Ok((Effect::ResultSet, 100, cells)));
            let failed = ask(&[BOUND, &row(1, 1), NOTICE, DEADLOCK, READY], how, at_once).unwrap_err();
            assert_error(&failed, ErrorClass::Retry, ErrorCode::State("sqlstate", *b"40P01"));
            // With a warning in between.
            let noted: [&[u8]; 7] = [NOTICE, BOUND, &row(1, 1), NOTICE, &done("SELECT 1"), NOTICE, READY];
            assert_eq!(ask(&noted, how, at_once).unwrap().1, 1);
        }
        for (answer, how, affected) in [
            (&[BOUND, seven, READY][..], How::Changes, 7),
            (&[COPY_IN, &done("COPY 7"), READY], How::Copy, 7),
            (&[three, four, READY], How::Text, 4),
            (&[empty, READY], How::Text, 0),
            (&[PARSED, BOUND, NO_DATA, seven, READY], How::Unnamed(false), 7),
            (&[PARSED, NOTICE, BOUND, NO_DATA, empty, READY], How::Unnamed(true), 0),
        ] {
            assert_eq!(ask(answer, how, at_once).unwrap().0, Effect::Affected(affected), "{answer:?}");
        }
        for keep in [false, true] {
            let unnamed = ask(&[PARSED, BOUND, &one, READY], How::Unnamed(keep), at_once);
            assert_eq!(unnamed, Ok((Effect::ResultSet, 1, if keep { vec!["x".to_owned()] } else { Vec::new() })));
            for before in [&[][..], &[PARSED], &[PARSED, BOUND], &[PARSED, BOUND, &message(b'T', COLUMNS)]] {
                let failed = ask(&[before, &[DEADLOCK, READY]].concat(), How::Unnamed(keep), at_once).unwrap_err();
                assert_error(&failed, ErrorClass::Retry, ErrorCode::State("sqlstate", *b"40P01"));
            }
        }
        // Of several results the first with rows counts.
        for answer in [&[&one[..], READY][..], &[three, &one, &one, four, READY]] {
            assert_eq!(ask(answer, How::Text, at_once), Ok((Effect::ResultSet, 1, vec!["x".to_owned()])), "{answer:?}");
        }
    }
}

#[test]
fn messages_out_of_order_are_refused() {
    let (described, row) = (&*message(b'T', COLUMNS), &*row(1, 1));
    let (none, one, updated) = (&*done("SELECT 0"), &*done("SELECT 1"), &*done("UPDATE 1"));
    for (answer, how) in [
        (&[row, one, READY][..], How::Counted),
        (&[BOUND, BOUND, one, READY], How::Counted),
        (&[BOUND, READY], How::Counted),
        (&[READY], How::Text),
        (&[one, READY], How::Kept),
        (&[BOUND, one, one, READY], How::Kept),
        (&[BOUND, row, updated, READY], How::Changes),
        (&[BOUND, described, none, READY], How::Kept),
        (&[COPY_IN, &done("COPY 7"), READY], How::Text),
        (&[b"H\0\0\0\x09\0\0\x01\0\0", READY], How::Text),
        (&[described, READY], How::Text),
        (&[BOUND, none, b"Z\0\0\0\x05X"], How::Kept),
        (&[BOUND, described, none, READY], How::Unnamed(false)),
        (&[PARSED, described, none, READY], How::Unnamed(true)),
        (&[PARSED, BOUND, none, READY], How::Unnamed(true)),
        (&[PARSED, BOUND, NO_DATA, row, one, READY], How::Unnamed(false)),
        (&[PARSED, BOUND, NO_DATA, READY], How::Unnamed(false)),
        (&[PARSED, BOUND, described, READY], How::Unnamed(false)),
        (&[PARSED, PARSED, BOUND, NO_DATA, updated, READY], How::Unnamed(false)),
    ] {
        for at_once in [usize::MAX, 1] {
            assert_malformed(&ask(answer, how, at_once).unwrap_err());
        }
    }
}

#[test]
fn whatever_comes_means_the_same_in_any_pieces_and_takes_no_more_memory() {
    let described = &message(b'T', COLUMNS);
    let fixed = [PARSED, BOUND, NO_DATA, READY, NOTICE, DEADLOCK, COPY_IN, &done("UPDATE 3"), described].map(<[u8]>::to_vec);
    let part = prop_oneof![
        7 => prop::sample::select(fixed.to_vec()),
        1 => (any::<i32>(), 0usize..250).prop_map(|(id, length)| row(id, length)),
        1 => prop::collection::vec(any::<u8>(), 0..60),
    ];
    let honest = (0usize..40, 0usize..200, 0..3).prop_map(|(count, length, way)| {
        let head = match way {
            0 => BOUND.to_vec(),
            1 => message(b'T', COLUMNS),
            _ => [PARSED, BOUND, &message(b'T', COLUMNS)].concat(),
        };
        [&head[..], &row(5, length).repeat(count), &done("SELECT 1"), READY].concat()
    });
    let ways = &[How::Counted, How::Kept, How::Changes, How::Text, How::Copy, How::Unnamed(false), How::Unnamed(true)];
    pieces(part, honest, ways, <[Vec<u8>]>::concat, |answer, how, at_once| ask(&[answer], how, at_once));
}
