//! Events of logs whose clock has whole seconds: those of one second are spread over it in their order.

use super::builder::{At, Builder, Said};

/// What happened in the second at hand.
#[derive(Debug)]
enum Event {
    Begin(u64),
    End(u64),
    Statement(Kept, u64),
}

/// A statement of its own.
#[derive(Debug, Default)]
pub(super) struct Kept {
    pub(super) session: u64,
    pub(super) database: String,
    pub(super) sql: String,
    /// The prepared text of which `sql` is an execution, with its values.
    pub(super) prepared: Option<(String, Vec<Option<String>>)>,
    pub(super) rows: Option<u64>,
    /// How long it took, where the log is written at the end of a statement.
    pub(super) took_us: Option<i64>,
}

/// The events of the time at hand.
#[derive(Debug, Default)]
pub(super) struct Spread {
    time_us: i64,
    /// Whether the clock has fractions of a second.
    exact: bool,
    events: Vec<Event>,
}

impl Spread {
    /// The clock of the log says this; what was before is passed on.
    pub(super) fn time(&mut self, (time_us, exact): (i64, bool), builder: &mut Builder, file: &str) {
        if time_us != self.time_us {
            self.pass_on(builder, file);
            (self.time_us, self.exact) = (time_us, exact);
        }
    }

    pub(super) fn begin(&mut self, session: u64) {
        self.events.push(Event::Begin(session));
    }

    pub(super) fn end(&mut self, session: u64) {
        self.events.push(Event::End(session));
    }

    pub(super) fn statement(&mut self, kept: Kept, line: u64) {
        self.events.push(Event::Statement(kept, line));
    }

    /// Whether the events have a time.
    pub(super) fn has_time(&self) -> bool {
        self.time_us != 0
    }

    /// Gives what is kept to the recording.
    pub(super) fn pass_on(&mut self, builder: &mut Builder, file: &str) {
        let count = self.events.len().max(1) as i64;
        for (i, event) in (0..).zip(self.events.drain(..)) {
            let offset_us = if self.exact { 0 } else { i * 1_000_000 / count };
            match event {
                Event::Begin(session) => builder.begin(session),
                Event::End(session) => builder.end(session),
                Event::Statement(kept, line) => {
                    let Kept { session, database, sql, prepared, rows, took_us } = &kept;
                    let said = Said {
                        session: *session,
                        database,
                        logged_us: self.time_us + offset_us,
                        took_us: *took_us,
                        sql,
                        template: prepared.as_ref().map(|(template, _)| template.as_str()),
                        values: prepared.as_ref().map(|(_, values)| values.as_slice()),
                        rows: *rows,
                    };
                    builder.statement(&said, At { file, line });
                }
            }
        }
    }
}
