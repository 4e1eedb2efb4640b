//! Answers from memory, as the suite of all drivers breaks them.

use perbuck_driver_suite::answers::{Outcome, execute, pieces, prepare};
use perbuck_event::block_on_simulated;
use perbuck_load::driver::Effect;
use perbuck_load::error::ErrorClass;
use proptest::prelude::*;

use crate::MysqlSession;
use crate::hostile_tests::framed;
use crate::wire::canned::Answers;

/// `c char(120)`, as MariaDB describes it.
const COLUMN: &[u8] = b"\x03def\x04test\x07sbtest1\x07sbtest1\x01c\x01c\x0c\x2d\x00\xe0\x01\x00\x00\xfe\x01\x10\x00\x00\x00";
const COUNT: &[u8] = b"\x01";
const OK: &[u8] = b"\x00\x07\x00\x02\x00\x00\x00";
const END: &[u8] = b"\xfe\x00\x00\x22\x00\x00\x00";
/// The same with the flag that more results follow.
const MORE: &[u8] = b"\xfe\x00\x00\x0a\x00\x00\x00";
const DEADLOCK: &[u8] = b"\xff\xbd\x04#40001Deadlock found";

fn row(length: usize) -> Vec<u8> {
    [&[0, 0, length as u8][..], &vec![b'7'; length]].concat()
}

/// What a statement with this answer comes to.
fn ask(executed: &[u8], keep: bool, at_once: usize) -> Outcome {
    let prepared = framed(&[b"\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"], 1);
    let answers = Answers { prepared, executed: executed.to_vec(), text: framed(&[OK], 1), at_once };
    block_on_simulated(async {
        let mut session = MysqlSession::canned(answers).await?;
        let id = prepare(&mut session, keep).await?;
        execute(&mut session, id).await
    })
}

#[test]
fn answers_are_understood_at_once_and_byte_by_byte() {
    let rows: Vec<Vec<u8>> = (0..100).map(row).collect();
    let many: Vec<&[u8]> = [COUNT, COLUMN].into_iter().chain(rows.iter().map(Vec::as_slice)).chain([END]).collect();
    let sevens: Vec<String> = (0..100).map(|i| "7".repeat(i)).collect();
    for at_once in [usize::MAX, 1, 7, 64] {
        for keep in [false, true] {
            let ask = |packets: &[&[u8]]| ask(&framed(packets, 1), keep, at_once);
            assert_eq!(ask(&[OK]).unwrap().0, Effect::Affected(7));
            let cells = if keep { sevens.clone() } else { Vec::new() };
            assert_eq!(ask(&many), Ok((Effect::ResultSet, 100, cells)));
            // Of several results the first with rows counts.
            let twice = [COUNT, COLUMN, &rows[3], MORE, COUNT, COLUMN, &rows[5], &rows[5], END];
            assert_eq!(ask(&twice).unwrap().1, 1);
            assert_eq!(ask(&[COUNT, COLUMN, &rows[1], DEADLOCK]).unwrap_err().class, ErrorClass::Retry);
        }
    }
}

#[test]
fn whatever_comes_means_the_same_in_any_pieces_and_takes_no_more_memory() {
    let packets = |parts: &[Vec<u8>]| framed(&parts.iter().map(Vec::as_slice).collect::<Vec<_>>(), 1);
    let part = prop_oneof![
        6 => prop::sample::select(&[OK, END, MORE, COLUMN, COUNT, DEADLOCK][..]).prop_map(<[u8]>::to_vec),
        1 => (0usize..250).prop_map(row),
        1 => prop::collection::vec(any::<u8>(), 0..60),
    ];
    let honest = (0usize..40, 0usize..200).prop_map(|(count, length)| {
        let one = row(length);
        framed(&[&[COUNT, COLUMN][..], &vec![&one[..]; count], &[END]].concat(), 1)
    });
    pieces(part, honest, &[false, true], packets, ask);
}
