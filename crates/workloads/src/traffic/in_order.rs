//! The statements of a terminal among those of others: where a replay is late, sessions keep the order that they had when they were recorded.
//!
//! A statement waits until those before it are sent. Of those that had an effect and were answered before it was sent, it also waits for the answer, but
//! no longer than the two were apart.

use std::time::Duration;

use perbuck_load::order::{Answer, Held, Member, Next, Rank, Schedule};
use perbuck_load::window::Window;

use super::recording::Step;

/// What a terminal knows of the order.
#[derive(Debug)]
pub(super) struct InOrder {
    member: Member,
    /// Of the first statement, in microseconds of the recording.
    start_us: i64,
    speed: f64,
    schedule: Option<Schedule>,
    held: Duration,
    overtook: u16,
}

impl InOrder {
    pub(super) fn new(member: Member, start_us: i64, speed: f64) -> Self {
        Self { member, start_us, speed, schedule: None, held: Duration::ZERO, overtook: 0 }
    }

    pub(super) fn window(&mut self, window: &Window) {
        self.schedule = Some(Schedule::of(window, self.speed));
    }

    fn us(&self, recorded_us: i64) -> u64 {
        (recorded_us - self.start_us).max(0) as u64
    }

    /// Waits until a statement may be sent, whose transaction may hold locks; what it does next is told to others.
    #[inline]
    pub(super) async fn wait(&mut self, (step, holds): (&Step, bool), after: Option<&Step>) {
        let rank = Rank { sends_us: self.us(step.order_us()), begins_us: self.us(step.began_us), holds };
        // Without a window nothing is due.
        let Some(schedule) = self.schedule else { return };
        let Held { time, overtook } = self.member.wait(rank, schedule).await;
        self.held += time;
        self.overtook = self.overtook.saturating_add(u16::from(overtook));
        if step.acts {
            let late_us = schedule.now_us().saturating_sub(rank.begins_us);
            let then_us = after.map(|step| self.us(step.order_us()));
            self.member.next(Next::Answered(Answer { due_us: self.us(step.ended_us()), late_us, then_us }));
        } else {
            self.before(after);
        }
    }

    /// The next statement is this one.
    #[inline]
    pub(super) fn before(&self, step: Option<&Step>) {
        self.member.next(step.map_or(Next::Nothing, |step| Next::Sends(self.us(step.order_us()))));
    }

    /// How many whole milliseconds statements have waited since this was asked last, and how many went on although others were before them. What is
    /// left of a millisecond counts the next time.
    pub(super) fn count(&mut self) -> [u16; 2] {
        let held_ms = u16::try_from(self.held.as_millis()).unwrap_or(u16::MAX);
        self.held -= Duration::from_millis(held_ms.into());
        [held_ms, std::mem::take(&mut self.overtook)]
    }
}
