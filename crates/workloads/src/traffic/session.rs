//! A session while its log is read: where its transactions start and end.

use perbuck_load::statement::Verb;

use super::plan::Logged;
use super::recording::{Act, NONE, READS, Session, Step, Transaction, WRITES};
use super::statement::Sent;
use crate::script::Control;

/// A session that is being read.
#[derive(Debug, Default)]
pub(super) struct Open {
    pub(super) session: Session,
    /// Whether a transaction is open, and what is known of it.
    pub(super) transaction: Option<Doing>,
    /// Whether each statement is its own transaction unless one is begun.
    manual: bool,
    pub(super) temporary: Vec<String>,
    /// The last statement's text: an error names the statement that it is about.
    pub(super) last: Option<u32>,
    /// A plan that came before its statement.
    pub(super) planned: Option<Logged>,
}

/// What is known of an open transaction.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Doing {
    writes: bool,
    /// Whether a savepoint was set, so that an error does not end it.
    pub(super) savepoint: bool,
    /// A statement of it failed: it is left out when it ends.
    pub(super) failed: bool,
}

/// How a transaction ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    Kept,
    Failed,
}

impl Open {
    /// The last statement has been answered by then, if the log does not say when.
    pub(super) fn answered(&mut self, at_us: i64) {
        if let Some(last) = self.session.steps.last_mut().filter(|last| last.took_us == NONE) {
            last.took_us = u32::try_from((at_us - last.began_us).max(0)).unwrap_or(NONE - 1);
        }
    }

    /// Adds a statement; says how a transaction that it ended did.
    pub(super) fn add(&mut self, step: Step, sent: Sent) -> Option<Ended> {
        let at_us = step.began_us;
        let due_us = self.session.transactions.last().map_or(at_us, |last| at_us.max(last.due_us));
        self.session.ended_us = self.session.ended_us.max(at_us);
        // BEGIN within a transaction ends that one, or does nothing.
        let opens = matches!(sent.control, Control::Begin | Control::Opens);
        let before = if opens && self.transaction.is_some() { self.close(false) } else { None };
        let alone = self.transaction.is_none();
        if alone {
            let first = self.session.steps.len() as u32;
            self.session.transactions.push(Transaction {
                due_us,
                first,
                kind: kind_of(step.verb),
                writes: sent.writes,
                rolled_back: false,
            });
            if opens || self.manual && !sent.sets {
                self.transaction = Some(Doing::default());
            }
        }
        self.session.steps.push(step);
        if let Some(doing) = &mut self.transaction {
            doing.writes |= sent.writes;
            doing.savepoint |= sent.savepoint;
        }
        if let Some(on) = sent.autocommit {
            self.manual = !on;
        }
        if !opens && matches!(sent.control, Control::Commit | Control::Rollback | Control::Ends) {
            return self.close(step.act == Act::Rollback).or(before);
        }
        before
    }

    /// Ends the open transaction.
    fn close(&mut self, rolled_back: bool) -> Option<Ended> {
        let doing = self.transaction.take()?;
        if doing.failed {
            self.take_back();
            return Some(Ended::Failed);
        }
        let last = self.session.transactions.last_mut()?;
        last.kind = if doing.writes { WRITES } else { READS };
        (last.writes, last.rolled_back) = (doing.writes, rolled_back);
        Some(Ended::Kept)
    }

    /// The log ends within a transaction, or its session does: the server rolled it back.
    pub(super) fn close_unended(&mut self) {
        if self.transaction.is_some() {
            let began_us = self.session.steps.last().map_or(self.session.ended_us, Step::ended_us);
            self.session.steps.push(Step {
                act: Act::Rollback,
                verb: Verb::Other,
                rows: NONE,
                began_us,
                took_us: 0,
                acts: true,
                at_end: false,
            });
            self.close(true);
        }
    }

    /// Takes the last transaction back.
    pub(super) fn take_back(&mut self) {
        if let Some(last) = self.session.transactions.pop() {
            self.session.steps.truncate(last.first as usize);
        }
    }
}

fn kind_of(verb: Verb) -> u8 {
    match verb {
        Verb::Select => 0,
        Verb::Insert => 1,
        Verb::Update => 2,
        Verb::Delete => 3,
        Verb::Other => 4,
    }
}
