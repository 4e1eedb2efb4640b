//! Loads that are cut off at every single call, and go on.

use super::super::ledger::{Ledger, PartState, read};
use super::*;

/// Statements of one word and numbers.
#[derive(Default)]
struct Words {
    /// How much further a part seems to be than this load has brought it.
    skew: u64,
}

const WORDS: Words = Words { skew: 0 };

impl Ledger for Words {
    fn drop(&self) -> String {
        "ledger drop".to_owned()
    }

    fn create(&self) -> String {
        "ledger create".to_owned()
    }

    fn open(&self, parts: std::ops::Range<u32>) -> String {
        format!("ledger open {} {}", parts.start, parts.end)
    }

    fn read(&self) -> String {
        "ledger read".to_owned()
    }

    fn read_part(&self, part: u32) -> String {
        format!("ledger part {part}")
    }

    fn claim(&self, part: u32) -> String {
        format!("ledger claim {part}")
    }

    fn advance(&self, part: u32, from: PartState, to: PartState) -> String {
        format!("ledger advance {part} {} {} {} {}", from.batches + self.skew, to.batches, to.rows, u8::from(to.done))
    }

    fn made_already(&self, _error: &DriverError) -> bool {
        false
    }
}

/// What the store does about a statement of the ledger. One that is changed within a transaction is noted by its commit.
pub(super) fn ledger(session: &mut ForgetfulSession, words: &str, rows: &mut Rows) -> Effect {
    let mut stored = session.database.stored.lock().unwrap();
    let mut words = words.split(' ');
    let verb = words.next().unwrap();
    let numbers: Vec<u64> = words.map(|w| w.parse().unwrap()).collect();
    let chosen = match (verb, numbers.as_slice()) {
        ("open", [_, end]) => {
            stored.ledger.resize(*end as usize, PartState::default());
            return Effect::Affected(*end);
        }
        ("drop" | "create", []) => {
            stored.ledger.clear();
            return Effect::Affected(0);
        }
        ("claim", [_]) => return Effect::Affected(1),
        ("advance", [part, from, batches, loaded, done]) => {
            let part = *part as usize;
            if stored.ledger[part].batches != *from || stored.ledger[part].done {
                return Effect::Affected(0);
            }
            let state = PartState { batches: *batches, rows: *loaded, done: *done > 0 };
            match session.open.is_empty() {
                true => stored.ledger[part] = state,
                false => session.noted = Some((part, state)),
            }
            return Effect::Affected(1);
        }
        ("part", [part]) => *part as usize..*part as usize + 1,
        ("read", []) => 0..stored.ledger.len(),
        other => panic!("{other:?}"),
    };
    rows.start(true);
    for part in chosen {
        let PartState { batches, rows: loaded, done } = stored.ledger[part];
        [part as i64, batches as i64, loaded as i64, i64::from(done)].into_iter().for_each(|n| rows.push_int(n));
        rows.end_row();
    }
    Effect::ResultSet
}

fn data() -> Numbers {
    Numbers { parts: 2, batches: 6, rows_per_batch: 12, row_bytes: 100_000 }
}

fn states(database: &Forgetful) -> Vec<PartState> {
    on_loop(async {
        let mut session = database.connect(SessionId::Own(0)).await.map_err(server("connecting"))?;
        read(&mut session, &WORDS, 2).await
    })
    .unwrap()
}

/// A load of `data` on a ledger.
fn on_ledger<R>(driver: &Forgetful, data: &Numbers, ledger: &Words, sessions: u32, work: impl Fn(Load<'_, Forgetful>) -> R) -> R {
    work(Load { driver, dataset: data, making: None, ledger: Some(ledger), sessions, waiting: &Waiting::default() })
}

/// Loads until the server dies at call `dies_at`.
fn dying(database: &Forgetful, dies_at: u64, sessions: u32) -> Result<(), LoadError> {
    database.stored.lock().unwrap().dies_at = dies_at;
    let result = on_ledger(database, &data(), &WORDS, sessions, |load| load.run(&mut |_| {}));
    database.stored.lock().unwrap().dies_at = 0;
    result
}

/// Loads until the server dies at call `dies_at`, lives again, and goes on; whether it died at all.
fn cut_off(dies_at: u64, sessions: u32, commits_in_death: bool) -> bool {
    let database = Forgetful { commits_in_death, ..Forgetful::default() };
    let first = dying(&database, dies_at, sessions);
    if first.is_err() {
        let whole = database.stored.lock().unwrap().ledger.len() == 2;
        let (second, last) = on_ledger(&database, &data(), &WORDS, sessions, |load| {
            let mut last = LoadProgress::default();
            let mut show = |p| last = p;
            let second = if whole { load.resume(&states(&database), &mut show) } else { load.run(&mut show) };
            (second, last)
        });
        assert_eq!(second, Ok(()), "died at {dies_at}");
        assert_eq!((last.rows, last.parts, last.of), (144, 2, 2), "died at {dies_at}");
    }
    let stored = database.stored.lock().unwrap();
    stored.holds(2, 36, &format!("after a death at {dies_at}"));
    assert!(stored.ledger.iter().all(|s| s.done && s.rows == 72), "{:?}", stored.ledger);
    first.is_err()
}

#[test]
fn a_load_that_is_cut_off_anywhere_goes_on_and_neither_loses_nor_doubles_a_row() {
    for commits_in_death in [false, true] {
        for sessions in [1, 2] {
            let mut dies_at = 1;
            while cut_off(dies_at, sessions, commits_in_death) {
                dies_at += 1;
            }
            assert!(dies_at > 25, "it makes {dies_at} calls");
        }
    }
}

#[test]
fn a_load_goes_on_after_what_is_noted_and_says_how_much_that_was() {
    let database = Forgetful::default();
    assert!(dying(&database, 24, 1).is_err());
    let before = states_of(&database);
    assert!(before[0].done && !before[1].done, "{before:?}");
    let calls = database.stored.lock().unwrap().calls;
    let last = on_ledger(&database, &data(), &WORDS, 1, |load| {
        let mut last = LoadProgress::default();
        load.resume(&before, &mut |p| last = p).unwrap();
        last
    });
    assert_eq!((last.rows_before, last.parts_before, last.rows), (120, 1, 144));
    assert!(database.stored.lock().unwrap().calls - calls < 12, "finished parts are not touched");
}

fn states_of(database: &Forgetful) -> Vec<PartState> {
    database.stored.lock().unwrap().ledger.clone()
}

#[test]
fn batches_that_are_cut_otherwise_and_another_load_are_refused() {
    let database = Forgetful::default();
    assert!(dying(&database, 14, 1).is_err());
    let states = states_of(&database);
    assert!(states[0].batches > 0, "{states:?}");
    let smaller = Numbers { rows_per_batch: 6, batches: 12, ..data() };
    for (data, ledger, why) in [
        (smaller, WORDS, "rows of part 0 after"),
        // Another load moved on between the claim and the commit.
        (data(), Words { skew: 1 }, "another load changed part 0"),
    ] {
        let refused = on_ledger(&database, &data, &ledger, 1, |load| load.resume(&states, &mut |_| {}));
        assert!(matches!(&refused, Err(LoadError::Ledger(found)) if found.contains(why)), "{refused:?}");
    }
}
