//! What waits for what, on one thread and on several.

use std::sync::Mutex;

use super::*;

fn at(us: u64) -> Rank {
    Rank { sends_us: us, begins_us: us, holds: false }
}

/// One that has long begun, so that all is due.
fn begun() -> Schedule {
    Schedule { opens: perbuck_event::now().plus_ns(-1_000_000_000_000), speed: 1.0 }
}

#[test]
fn only_what_is_due_is_waited_for() {
    let order = Order::new(3);
    let [mine, other, third] = [0, 1, 2].map(|terminal| order.member(terminal));
    assert!(mine.is_free(at(50), 100), "no statement waits for terminals that have not begun");
    other.next(Next::Sends(40));
    assert!(!mine.is_free(at(50), 100));
    assert!(mine.is_free(at(50), 39), "it is not due yet");
    assert!(mine.is_free(at(40), 100), "of two at the same time neither waits");
    other.next(Next::Sends(60));
    third.next(Next::Sends(45));
    assert!(!mine.is_free(at(50), 100) && third.is_free(at(45), 100));
    drop(third);
    assert!(mine.is_free(at(50), 100), "no statement waits for one that has ended");
}

#[test]
fn an_answer_is_waited_for_only_after_a_late_statement_and_no_longer_than_that_was_late() {
    let order = Order::new(2);
    let [mine, other] = [0, 1].map(|terminal| order.member(terminal));
    let answered = |late_us| Next::Answered(Answer { due_us: 50, late_us, then_us: None });
    other.next(answered(30));
    assert!(!mine.is_free(at(50), 79), "its answer came before");
    assert!(mine.is_free(at(50), 80), "both are as late as each other");
    assert!(mine.is_free(Rank { sends_us: 90, ..at(49) }, 60), "both were under way at once");
    other.next(answered(0));
    assert!(mine.is_free(at(50), 50), "a slow answer alone holds no other terminal");
    other.next(Next::Answered(Answer { due_us: 50, late_us: 0, then_us: Some(60) }));
    assert!(mine.is_free(at(60), 60), "nor does it before its next statement is due");
    assert!(!mine.is_free(at(70), 70), "which comes before this one");
    assert!(mine.is_free(Rank { holds: true, ..at(70) }, 70), "it may wait for what this one holds");
}

#[test]
fn a_statement_goes_on_by_itself_when_it_has_waited_for_an_answer_as_long_as_it_may() {
    let order = Order::new(2);
    let [mine, other] = [0, 1].map(|terminal| order.member(terminal));
    let schedule = Schedule { opens: perbuck_event::now(), speed: 1.0 };
    let answered = Next::Answered(Answer { due_us: 10, late_us: 30_000, then_us: None });
    other.next(answered);
    let held = perbuck_event::block_on(mine.wait(at(10_000), schedule)).unwrap();
    assert!(!held.overtook && schedule.now_us() >= 40_000, "{held:?}");
    // Also where its statement was sent meanwhile.
    let schedule = Schedule { opens: perbuck_event::now().plus_ns(-20_000_000), speed: 1.0 };
    other.next(Next::Sends(10));
    std::thread::scope(|scope| {
        scope.spawn(|| other.next(answered));
        let held = perbuck_event::block_on(mine.wait(at(10_000), schedule)).unwrap();
        assert!(!held.overtook && schedule.now_us() >= 40_000, "{held:?}");
    });
}

#[test]
fn what_does_not_come_is_waited_for_once() {
    let order = Order::new(2);
    let [mine, other] = [0, 1].map(|terminal| order.member(terminal));
    other.next(Next::Sends(10));
    let held = [20, 30].map(|us| perbuck_event::block_on(mine.wait(at(us), begun())).unwrap());
    assert!(held[0].overtook && held[0].time >= STANDSTILL && held[1] == Held::default(), "{held:?}");
    other.next(Next::Sends(25));
    assert!(!mine.is_free(at(30), 100), "it goes on, and is waited for again");
}

#[test]
fn while_others_move_on_it_is_waited_for_longer() {
    let order = Order::new(3);
    let [mine, other, third] = [0, 1, 2].map(|terminal| order.member(terminal));
    other.next(Next::Sends(10));
    let ended = std::sync::atomic::AtomicBool::new(false);
    let held = std::thread::scope(|scope| {
        scope.spawn(|| {
            for us in 1_000.. {
                third.next(Next::Sends(us));
                if ended.load(Ordering::SeqCst) {
                    break;
                }
                std::thread::sleep(STANDSTILL / 20);
            }
        });
        let held = perbuck_event::block_on(mine.wait(at(20), begun())).unwrap();
        ended.store(true, Ordering::SeqCst);
        held
    });
    assert!(held.overtook && held.time >= LIMIT, "{held:?}");
}

#[test]
fn threads_that_are_late_keep_the_order() {
    let (order, sent) = (Order::new(4), Mutex::new(Vec::new()));
    let members: Vec<Member> = (0..4).map(|terminal| order.member(terminal)).collect();
    (0..).zip(&members).for_each(|(terminal, member)| member.next(Next::Sends(terminal)));
    std::thread::scope(|scope| {
        for (terminal, member) in (0..).zip(members) {
            let sent = &sent;
            scope.spawn(move || {
                for us in (terminal..4_000).step_by(4) {
                    let held = perbuck_event::block_on(member.wait(at(us), begun())).unwrap();
                    assert!(!held.overtook, "{us}");
                    sent.lock().unwrap().push(us);
                    member.next(Next::Sends(us + 4));
                }
            });
        }
    });
    assert_eq!(sent.into_inner().unwrap(), (0..4_000).collect::<Vec<_>>());
}
