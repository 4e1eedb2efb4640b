//! Answers from memory, right and broken: read at once or in pieces they mean the same, and none makes the reader panic,
//! hang, or take memory that the bytes do not justify.

use std::sync::Arc;

use perbuck_event::block_on_simulated;
use perbuck_load::driver::{Effect, Session};
use perbuck_load::error::{DriverError, ErrorClass};
use perbuck_load::statement::{Catalogue, Verb};
use perbuck_load::values::{Params, Rows};
use proptest::prelude::*;

use crate::MysqlSession;
use crate::wire::canned::Answers;
use perbuck_driver_suite::{cases, mangled};

/// `c char(120)`, as MariaDB describes it.
const COLUMN: &[u8] = b"\x03def\x04test\x07sbtest1\x07sbtest1\x01c\x01c\x0c\x2d\x00\xe0\x01\x00\x00\xfe\x01\x10\x00\x00\x00";
const OK: &[u8] = b"\x00\x07\x00\x02\x00\x00\x00";
const END: &[u8] = b"\xfe\x00\x00\x22\x00\x00\x00";
/// The same with the flag that more results follow.
const MORE: &[u8] = b"\xfe\x00\x00\x0a\x00\x00\x00";

fn packets(all: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    for (i, payload) in all.iter().enumerate() {
        out.extend_from_slice(&(payload.len() as u32 | ((i + 1) as u32) << 24).to_le_bytes());
        out.extend_from_slice(payload);
    }
    out
}

fn row(length: usize) -> Vec<u8> {
    [&[0, 0, length as u8][..], &vec![b'7'; length]].concat()
}

/// What a statement with this answer comes to: its effect, rows and cells.
fn ask(executed: &[u8], keep: bool, at_once: usize) -> Result<(Effect, u64, Vec<String>), DriverError> {
    let prepared = packets(&[b"\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"]);
    let answers = Answers { prepared, executed: executed.to_vec(), text: packets(&[OK]), at_once };
    block_on_simulated(async {
        let mut catalogue = Catalogue::default();
        let id = if keep { catalogue.add_read("SELECT c") } else { catalogue.add(Verb::Select, "SELECT c") };
        let mut session = MysqlSession::canned(answers).await?;
        session.prepare(&Arc::new(catalogue)).await?;
        let mut rows = Rows::default();
        let effect = session.execute(id, &Params::default(), &mut rows).await?;
        let cells = if keep { (0..rows.len() as usize).filter_map(|r| rows.display(r, 0).ok()).collect() } else { Vec::new() };
        Ok((effect, rows.len(), cells))
    })
}

#[test]
fn answers_are_understood_at_once_and_byte_by_byte() {
    let rows: Vec<Vec<u8>> = (0..100).map(row).collect();
    let mut many: Vec<&[u8]> = vec![b"\x01", COLUMN];
    many.extend(rows.iter().map(Vec::as_slice));
    many.push(END);
    let twice: Vec<&[u8]> = vec![b"\x01", COLUMN, &rows[3], MORE, b"\x01", COLUMN, &rows[5], &rows[5], END];
    for at_once in [usize::MAX, 1, 7, 64] {
        for keep in [false, true] {
            assert_eq!(ask(&packets(&[OK]), keep, at_once).unwrap().0, Effect::Affected(7));
            let (effect, count, cells) = ask(&packets(&many), keep, at_once).unwrap();
            assert_eq!((effect, count), (Effect::ResultSet, 100));
            assert_eq!(cells.len(), if keep { 100 } else { 0 });
            assert!(cells.iter().enumerate().all(|(i, cell)| *cell == "7".repeat(i)));
            // Of several results the first with rows counts.
            assert_eq!(ask(&packets(&twice), keep, at_once).unwrap().1, 1);
            let failed = ask(&packets(&[b"\x01", COLUMN, &rows[1], b"\xff\xbd\x04#40001Deadlock found"]), keep, at_once);
            assert_eq!(failed.unwrap_err().class, ErrorClass::Retry);
        }
    }
}

fn mutilated() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        Just(OK.to_vec()),
        Just(END.to_vec()),
        Just(MORE.to_vec()),
        Just(COLUMN.to_vec()),
        Just(b"\x01".to_vec()),
        Just(b"\xff\xbd\x04#40001Deadlock found".to_vec()),
        (0usize..250).prop_map(row),
        prop::collection::vec(any::<u8>(), 0..60),
    ];
    let honest = (0usize..40, 0usize..200).prop_map(|(count, length)| {
        let one = row(length);
        let mut all: Vec<Vec<u8>> = vec![b"\x01".to_vec(), COLUMN.to_vec()];
        all.extend(std::iter::repeat_n(one, count));
        all.push(END.to_vec());
        all
    });
    let parts = prop_oneof![prop::collection::vec(part, 0..12), honest];
    mangled(parts.prop_map(|parts| packets(&parts.iter().map(Vec::as_slice).collect::<Vec<_>>())))
}

proptest! {
    #![proptest_config(cases(3000))]
    #[test]
    fn whatever_comes_means_the_same_in_any_pieces_and_takes_no_more_memory(
        bytes in mutilated(), keep in any::<bool>(), at_once in 1usize..50,
    ) {
        let mut whole = None;
        let taken = allocation_counter::measure(|| whole = Some(ask(&bytes, keep, usize::MAX)));
        prop_assert!(taken.bytes_max < 512 * 1024, "{} bytes for an answer of {}", taken.bytes_max, bytes.len());
        let pieces = ask(&bytes, keep, at_once);
        match (whole.unwrap(), pieces) {
            (Ok(whole), Ok(pieces)) => prop_assert_eq!(whole, pieces),
            (Err(whole), Err(pieces)) => prop_assert_eq!(whole, pieces),
            (whole, pieces) => prop_assert!(false, "{:?} at once, {:?} in pieces of {}", whole, pieces, at_once),
        }
    }
}
