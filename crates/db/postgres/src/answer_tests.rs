//! Answers from memory, right and broken: read at once or in pieces they mean the same, and none makes the reader panic,
//! hang, or take memory that the bytes do not justify.

use std::sync::Arc;

use perbuck_event::block_on_simulated;
use perbuck_load::driver::{BulkTable, Effect, Session};
use perbuck_load::error::{DriverError, ErrorClass, ErrorCode};
use perbuck_load::statement::{Catalogue, Verb};
use perbuck_load::values::{Params, Rows};
use proptest::prelude::*;

use crate::hostile_tests::{COLUMNS, READY, message};
use crate::wire::canned::{self, Answers};
use perbuck_driver_suite::{cases, mangled};

const BOUND: &[u8] = b"2\0\0\0\x04";
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
}

/// What a statement with this answer comes to: its effect, rows and cells.
fn ask(answer: &[u8], how: How, at_once: usize) -> Result<(Effect, u64, Vec<String>), DriverError> {
    let described = if how == How::Changes { message(b'n', b"") } else { message(b'T', COLUMNS) };
    let prepared = [&message(b'3', b"")[..], &message(b'1', b""), &message(b't', b"\0\0"), &described, READY].concat();
    let answers = Answers { prepared, executed: answer.to_vec(), text: answer.to_vec(), at_once };
    block_on_simulated(async {
        let mut catalogue = Catalogue::default();
        let id = if how == How::Kept { catalogue.add_read("SELECT c") } else { catalogue.add(Verb::Select, "SELECT c") };
        let mut session = canned::session(answers);
        session.prepare(&Arc::new(catalogue)).await?;
        let mut rows = Rows::default();
        let effect = match how {
            How::Text => session.query("SELECT c", &mut rows).await?,
            How::Copy => {
                let table = BulkTable { name: "t".to_owned(), columns: vec!["a"] };
                Effect::Affected(session.load_rows(&table, Params::default().int(1)).await?)
            }
            _ => session.execute(id, &Params::default(), &mut rows).await?,
        };
        let cells = (0..rows.len() as usize * rows.width() / 2).filter_map(|r| rows.display(r, 1).ok()).collect();
        Ok((effect, rows.len(), cells))
    })
}

fn all(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

#[test]
fn answers_are_understood_at_once_and_byte_by_byte() {
    let rows: Vec<u8> = (0..100).flat_map(|i| row(i, i as usize)).collect();
    for at_once in [usize::MAX, 1, 7, 64] {
        for how in [How::Counted, How::Kept] {
            let (effect, count, cells) = ask(&all(&[BOUND, &rows, &done("SELECT 100"), READY]), how, at_once).unwrap();
            assert_eq!((effect, count), (Effect::ResultSet, 100));
            assert_eq!(cells.len(), if how == How::Kept { 100 } else { 0 });
            assert!(cells.iter().enumerate().all(|(i, cell)| *cell == "7".repeat(i)));
            let failed = ask(&all(&[BOUND, &row(1, 1), NOTICE, DEADLOCK, READY]), how, at_once).unwrap_err();
            assert_eq!((failed.class, failed.code), (ErrorClass::Retry, ErrorCode::State("sqlstate", *b"40P01")));
            // With a warning in between.
            let noted = all(&[NOTICE, BOUND, &row(1, 1), NOTICE, &done("SELECT 1"), NOTICE, READY]);
            assert_eq!(ask(&noted, how, at_once).unwrap().1, 1);
        }
        let changed = ask(&all(&[BOUND, &done("UPDATE 7"), READY]), How::Changes, at_once);
        assert_eq!(changed.unwrap().0, Effect::Affected(7));
        let copied = ask(&all(&[b"G\0\0\0\x09\0\0\x01\0\0", &done("COPY 7"), READY]), How::Copy, at_once);
        assert_eq!(copied.unwrap().0, Effect::Affected(7));
        let described = message(b'T', COLUMNS);
        let one = all(&[&described, &message(b'D', b"\0\x02\0\0\0\x0242\0\0\0\x01x"), &done("SELECT 1")]);
        assert_eq!(ask(&all(&[&one, READY]), How::Text, at_once).unwrap(), (Effect::ResultSet, 1, vec!["x".to_owned()]));
        // Of several results the first with rows counts.
        let several = all(&[&done("UPDATE 3"), &one, &one, &done("UPDATE 4"), READY]);
        assert_eq!(ask(&several, How::Text, at_once).unwrap(), (Effect::ResultSet, 1, vec!["x".to_owned()]));
        assert_eq!(ask(&all(&[&done("UPDATE 3"), &done("UPDATE 4"), READY]), How::Text, at_once).unwrap().0, Effect::Affected(4));
        assert_eq!(ask(&all(&[b"I\0\0\0\x04", READY]), How::Text, at_once).unwrap().0, Effect::Affected(0));
    }
}

#[test]
fn messages_out_of_place_are_refused() {
    let described = message(b'T', COLUMNS);
    for (answer, how) in [
        (all(&[&row(1, 1), &done("SELECT 1"), READY]), How::Counted),
        (all(&[BOUND, BOUND, &done("SELECT 1"), READY]), How::Counted),
        (all(&[BOUND, READY]), How::Counted),
        (all(&[READY]), How::Text),
        (all(&[&done("SELECT 1"), READY]), How::Kept),
        (all(&[BOUND, &done("SELECT 1"), &done("SELECT 1"), READY]), How::Kept),
        (all(&[BOUND, &row(1, 1), &done("UPDATE 1"), READY]), How::Changes),
        (all(&[BOUND, &described, &done("SELECT 0"), READY]), How::Kept),
        (all(&[b"G\0\0\0\x09\0\0\x01\0\0", &done("COPY 7"), READY]), How::Text),
        (all(&[b"H\0\0\0\x09\0\0\x01\0\0", READY]), How::Text),
        (all(&[&described, READY]), How::Text),
        (all(&[BOUND, &done("SELECT 0"), b"Z\0\0\0\x05X"]), How::Kept),
    ] {
        for at_once in [usize::MAX, 1] {
            let error = ask(&answer, how, at_once).unwrap_err();
            assert_eq!(
                (error.class, error.code),
                (ErrorClass::Fatal, ErrorCode::Word("client", "protocol")),
                "{answer:?}: {error}"
            );
        }
    }
}

fn mutilated() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        Just(BOUND.to_vec()),
        Just(READY.to_vec()),
        Just(NOTICE.to_vec()),
        Just(DEADLOCK.to_vec()),
        Just(done("UPDATE 3")),
        Just(message(b'T', COLUMNS)),
        Just(message(b'G', b"\0\0\x01\0\0")),
        (any::<i32>(), 0usize..250).prop_map(|(id, length)| row(id, length)),
        prop::collection::vec(any::<u8>(), 0..60),
    ];
    let honest = (0usize..40, 0usize..200, any::<bool>()).prop_map(|(count, length, bound)| {
        let mut parts = vec![if bound { BOUND.to_vec() } else { message(b'T', COLUMNS) }];
        parts.extend(std::iter::repeat_n(row(5, length), count));
        parts.extend([done("SELECT 1"), READY.to_vec()]);
        parts
    });
    let parts = prop_oneof![prop::collection::vec(part, 0..12), honest];
    mangled(parts.prop_map(|parts| parts.concat()))
}

proptest! {
    #![proptest_config(cases(3000))]
    #[test]
    fn whatever_comes_means_the_same_in_any_pieces_and_takes_no_more_memory(
        bytes in mutilated(),
        how in prop::sample::select(vec![How::Counted, How::Kept, How::Changes, How::Text, How::Copy]),
        at_once in 1usize..50,
    ) {
        let mut whole = None;
        let taken = allocation_counter::measure(|| whole = Some(ask(&bytes, how, usize::MAX)));
        prop_assert!(taken.bytes_max < 512 * 1024, "{} bytes for an answer of {}", taken.bytes_max, bytes.len());
        prop_assert_eq!(whole.unwrap(), ask(&bytes, how, at_once));
    }
}
